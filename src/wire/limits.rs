//! Size limits of a request (D9).

/// Size limits of a request, all configurable under `[limits]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Longest request line, bytes without CRLF. Stops a client that never ends its first line. -> 400
    pub request_line_bytes: u32,
    /// All header lines together, bytes with their CRLFs. Stops head-sized memory per connection. -> 400
    pub header_bytes: u32,
    /// Number of headers. Bounds the work per head. -> 400
    pub header_count: u32,
    /// Longest body, bytes. Bounds the memory of one request. -> 413
    pub body_bytes: u32,
    /// Deepest JSON nesting. Bounds the parser's stack. -> 400
    pub json_depth: u32,
}

impl Limits {
    /// The values of D9.
    pub const DEFAULT: Limits = Limits {
        request_line_bytes: 8 * 1024,
        header_bytes: 16 * 1024,
        header_count: 64,
        body_bytes: 1024 * 1024,
        json_depth: 64,
    };
}

impl Default for Limits {
    fn default() -> Self {
        Self::DEFAULT
    }
}
