//! What carries requests to HTTPS upstreams. The engine prepares them and reads what comes back; the socket is another's.

use std::fmt;
use std::pin::Pin;

/// A request to an upstream.
#[derive(Clone, PartialEq, Eq)]
pub struct UpstreamRequest {
    /// The HTTP method.
    pub method: String,
    /// `https://…`, with query.
    pub url: String,
    /// Header names and values. Those that frame the message are the transport's to add.
    pub headers: Vec<(String, String)>,
    /// The body, if there is one.
    pub body: Option<Vec<u8>>,
    /// Milliseconds until the answer must be whole.
    pub timeout_ms: u32,
    /// Bytes of body that are taken at most, after decoding.
    pub response_limit: usize,
}

impl fmt::Debug for UpstreamRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Neither headers nor url nor body: they may hold what no log should.
        f.debug_struct("UpstreamRequest").field("method", &self.method).finish_non_exhaustive()
    }
}

/// What an upstream answered.
#[derive(Clone, PartialEq, Eq)]
pub struct UpstreamResponse {
    /// The HTTP status.
    pub status: u16,
    /// The `Content-Type`.
    pub content_type: Option<String>,
    /// The body, decoded.
    pub body: Vec<u8>,
}

/// Why there is no answer. The texts are for the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UpstreamFailure {
    /// It took too long.
    Timeout,
    /// It cannot be reached, or the connection broke: name look-up, TCP or TLS.
    Connection(String),
    /// What came is no HTTP, too long, or not encoded as it says.
    Malformed(String),
}

impl fmt::Display for UpstreamFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            UpstreamFailure::Timeout => f.write_str("it did not answer in time"),
            UpstreamFailure::Connection(why) => write!(f, "the connection failed: {why}"),
            UpstreamFailure::Malformed(why) => write!(f, "the answer is malformed: {why}"),
        }
    }
}

/// The answer to come of an upstream.
pub type Exchange = Pin<Box<dyn Future<Output = Result<UpstreamResponse, UpstreamFailure>>>>;

/// Sends requests to upstreams, from one core.
pub trait Upstream {
    /// Sends a request. Dropping what is returned gives it up. A redirect is an answer like any other (D19).
    fn send(&self, request: UpstreamRequest) -> Exchange;
}
