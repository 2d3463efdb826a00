//! One request over one connection.

use super::super::control::Control;
use super::super::metrics::CONTENT_TYPE as METRICS;
use super::super::upstream::{HyperIo, Whole};
use futures_io::{AsyncRead, AsyncWrite};
use hyper::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use std::convert::Infallible;
use std::future::{Future, ready};
use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

/// For everything: to ask, and to be answered.
const PATIENCE: Duration = Duration::from_secs(5);

/// Bytes of a request's head; the least that hyper takes.
const MOST_HEAD: usize = 8 << 10;

const MOST_HEADERS: usize = 64;

const TEXT: &str = "text/plain; charset=utf-8";

/// Answers the connection's request and closes it.
pub(super) fn serve(stream: TcpStream, control: &Control) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    let stream = Timed { stream, deadline: Instant::now() + PATIENCE };
    let connection = hyper::server::conn::http1::Builder::new()
        // Without, it would read on to see whether the client goes away, and that blocks.
        .half_close(true)
        .keep_alive(false)
        .header_read_timeout(None)
        .max_buf_size(MOST_HEAD)
        .max_headers(MOST_HEADERS)
        .serve_connection(
            HyperIo(stream),
            service_fn(|request| ready(Ok::<_, Infallible>(answer(&request, control)))),
        );
    block_on(connection).map_err(io::Error::other)
}

fn answer<B>(request: &Request<B>, control: &Control) -> Response<Whole> {
    let path = request.uri().path();
    if !matches!(path, "/metrics" | "/healthz") {
        return text(StatusCode::NOT_FOUND, TEXT, "there are /metrics and /healthz\n");
    }
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        let mut refusal = text(StatusCode::METHOD_NOT_ALLOWED, TEXT, "ask with GET or HEAD\n");
        refusal.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        return refusal;
    }
    match path {
        "/metrics" => text(StatusCode::OK, METRICS, control.metrics.expose()),
        _ if control.is_stopping() => text(StatusCode::SERVICE_UNAVAILABLE, TEXT, "stopping\n"),
        _ => text(StatusCode::OK, TEXT, "serving\n"),
    }
}

fn text(status: StatusCode, media: &'static str, body: impl Into<String>) -> Response<Whole> {
    let mut response = Response::new(Whole::new(Some(body.into().into_bytes())));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(media));
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// A stream that blocks, until its deadline.
struct Timed {
    stream: TcpStream,
    deadline: Instant,
}

impl Timed {
    /// What is left of the time; a client that sends a byte now and then gets no more of it.
    fn left(&self) -> io::Result<Option<Duration>> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(Some(left)) }
    }
}

impl AsyncRead for Timed {
    fn poll_read(self: Pin<&mut Self>, _: &mut Context<'_>, into: &mut [u8]) -> Poll<io::Result<usize>> {
        self.stream.set_read_timeout(self.left()?)?;
        Poll::Ready((&self.stream).read(into))
    }
}

impl AsyncWrite for Timed {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.stream.set_write_timeout(self.left()?)?;
        Poll::Ready((&self.stream).write(bytes))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(self.stream.shutdown(Shutdown::Write))
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Runs a future on this thread. All that it waits for blocks, so that it is seldom polled twice.
fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park_timeout(PATIENCE),
        }
    }
}
