//! Bodies to and from upstreams, each whole and within its limit.

use crate::handler::UpstreamFailure;
use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use std::convert::Infallible;
use std::future::poll_fn;
use std::io::Read as _;
use std::pin::Pin;
use std::task::{Context, Poll};

/// The body of a request, or of an answer.
pub(in crate::server) struct Whole(Option<Bytes>);

impl Whole {
    pub(in crate::server) fn new(body: Option<Vec<u8>>) -> Whole {
        Whole(body.map(Bytes::from))
    }
}

impl Body for Whole {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.0.take().map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.0.as_ref().map_or(0, |bytes| bytes.len() as u64))
    }
}

/// Reads a response's body to its end.
pub(super) async fn read(mut body: Incoming, limit: usize) -> Result<Vec<u8>, UpstreamFailure> {
    let mut bytes = Vec::new();
    while let Some(frame) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
        let frame = frame.map_err(|error| UpstreamFailure::Connection(describe(&error)))?;
        let Ok(data) = frame.into_data() else { continue };
        if data.len() > limit - bytes.len() {
            return Err(too_long(limit));
        }
        bytes.extend_from_slice(&data);
    }
    Ok(bytes)
}

/// Undoes the encoding of a body. Its limit is of what comes out: a few bytes can stand for very many.
pub(super) fn decode(body: Vec<u8>, encoding: &str, limit: usize) -> Result<Vec<u8>, UpstreamFailure> {
    if body.is_empty() || encoding.is_empty() || encoding.eq_ignore_ascii_case("identity") {
        return Ok(body);
    }
    if !encoding.eq_ignore_ascii_case("gzip") && !encoding.eq_ignore_ascii_case("x-gzip") {
        return Err(UpstreamFailure::Malformed(format!(
            "its Content-Encoding {encoding:?} was not asked for"
        )));
    }
    let mut bytes = Vec::new();
    let decoder = flate2::read::MultiGzDecoder::new(body.as_slice());
    let decoded = decoder.take(limit as u64 + 1).read_to_end(&mut bytes);
    decoded.map_err(|error| UpstreamFailure::Malformed(format!("its body is not gzip: {error}")))?;
    if bytes.len() > limit { Err(too_long(limit)) } else { Ok(bytes) }
}

fn too_long(limit: usize) -> UpstreamFailure {
    UpstreamFailure::Malformed(format!("its body is longer than {limit} bytes"))
}

/// An error with what caused it.
pub(super) fn describe(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |error| error.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}
