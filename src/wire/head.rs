//! The head of a request, as offsets into its bytes.

use super::headers::{Headers, find};
use super::{Field, Fields, Span};

/// The head of a request. All spans count from the request's first byte.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// The method token, as sent.
    pub method: Span,
    /// The whole target; empty without one.
    pub target: Span,
    /// The target up to its first `?`; empty without a target. [`Head::path`] resolves that to `/`.
    pub path: Span,
    /// What follows the target's first `?`.
    pub query: Option<Span>,
    /// Whether the request line has a target. The reference client leaves it out for `/` (D1).
    pub has_target: bool,
    /// The headers with a meaning of their own.
    pub fields: Fields,
    /// Number of headers.
    pub header_count: u32,
    /// All header lines, without the empty line behind them.
    pub header_lines: Span,
    /// Bytes of the head with the empty line: the body begins here.
    pub len: u32,
    /// Bytes of the body; 0 without Content-Length.
    pub content_length: u64,
}

impl Head {
    pub(super) const fn new() -> Head {
        Head {
            method: Span::EMPTY,
            target: Span::EMPTY,
            path: Span::EMPTY,
            query: None,
            has_target: false,
            fields: Fields::new(),
            header_count: 0,
            header_lines: Span::EMPTY,
            len: 0,
            content_length: 0,
        }
    }

    /// Back to a new head, but for the spans of the fields: those are stale, not cleared.
    pub(super) fn clear(&mut self) {
        self.fields.clear();
        (self.method, self.target, self.path, self.query) = (Span::EMPTY, Span::EMPTY, Span::EMPTY, None);
        (self.has_target, self.header_count, self.header_lines) = (false, 0, Span::EMPTY);
        (self.len, self.content_length) = (0, 0);
    }

    /// The path, `/` when the request line has none (D1). `buf` begins with the request.
    #[inline]
    pub fn path<'b>(&self, buf: &'b [u8]) -> &'b [u8] {
        if self.has_target { self.path.of(buf) } else { b"/" }
    }

    /// The raw query, if there is a `?`.
    #[inline]
    pub fn query<'b>(&self, buf: &'b [u8]) -> Option<&'b [u8]> {
        self.query.map(|span| span.of(buf))
    }

    /// The value of a known header.
    #[inline]
    pub fn field<'b>(&self, field: Field, buf: &'b [u8]) -> Option<&'b [u8]> {
        self.fields.value(field, buf)
    }

    /// All headers as they came. Nothing is stored for them: the lines were checked when the head was parsed, and are
    /// taken apart again for the few who ask.
    pub fn headers<'b>(&self, buf: &'b [u8]) -> Headers<'b> {
        Headers::new(self.header_lines.of(buf))
    }

    /// The value of the first header of that name, whatever its case.
    pub fn header<'b>(&self, name: &[u8], buf: &'b [u8]) -> Option<&'b [u8]> {
        find(self.headers(buf), name)
    }

    /// Bytes of the whole request: head and body.
    pub const fn request_len(&self) -> u64 {
        self.len as u64 + self.content_length
    }
}
