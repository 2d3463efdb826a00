//! HTTP/1.1 over TLS, with connections that are used again.

use super::body::{self, Whole, describe};
use super::lookup;
use super::reactor::{Reactor, sleep};
use super::roots::UpstreamRoots;
use super::socket::{HyperIo, Socket};
use crate::handler::{Exchange, Upstream, UpstreamFailure, UpstreamRequest, UpstreamResponse};
use futures_rustls::TlsConnector;
use futures_util::future::{Either, select};
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE, HOST, HeaderName};
use hyper::http::uri::Authority;
use hyper::{Request, Uri};
use rustls::pki_types::ServerName;
use std::cell::RefCell;
use std::collections::HashMap;
use std::pin::pin;
use std::rc::Rc;
use std::time::Duration;

/// Idle connections kept for each upstream.
const MOST_IDLE: usize = 16;

/// Bytes of a failure's body that are received and thrown away for the sake of the connection.
const MOST_DRAINED: usize = 64 << 10;

/// Time for a connection to be done with an exchange whose outcome is known.
const DRAIN_TIME: Duration = Duration::from_secs(5);

/// A core's way to upstreams. Its connections run on the core's reactor.
#[derive(Clone)]
pub(in crate::server) struct Transport(Rc<Inner>);

struct Inner {
    tls: TlsConnector,
    /// By authority. There are as many as endpoints name.
    idle: RefCell<HashMap<String, Vec<Sender>>>,
}

type Sender = SendRequest<Whole>;

impl Transport {
    pub(in crate::server) fn new(roots: &UpstreamRoots) -> Transport {
        Transport(Rc::new(Inner { tls: roots.connector(), idle: RefCell::default() }))
    }
}

impl Upstream for Transport {
    fn send(&self, request: UpstreamRequest) -> Exchange {
        let inner = Rc::clone(&self.0);
        Box::pin(async move {
            let time = sleep(Duration::from_millis(request.timeout_ms.into()));
            match select(pin!(Inner::exchange(&inner, request)), time).await {
                Either::Left((answer, _)) => answer,
                Either::Right(_) => Err(UpstreamFailure::Timeout),
            }
        })
    }
}

impl Inner {
    async fn exchange(
        self: &Rc<Self>,
        request: UpstreamRequest,
    ) -> Result<UpstreamResponse, UpstreamFailure> {
        let limit = request.response_limit;
        let (authority, mut request) = prepare(request)?;
        // An idle connection may have been closed by its other end; then the request comes back unsent.
        let (sender, response) = loop {
            let idle = self.take_idle(authority.as_str());
            let fresh = idle.is_none();
            let mut sender = match idle {
                Some(sender) => sender,
                None => self.connect(&authority).await?,
            };
            match sender.try_send_request(request).await {
                Ok(response) => break (sender, response),
                Err(mut failed) => match failed.take_message() {
                    Some(unsent) if !fresh => request = unsent,
                    _ => return Err(failure(&failed.into_error())),
                },
            }
        };
        let (head, body) = response.into_parts();
        let text = |name: HeaderName| head.headers.get(name).and_then(|value| value.to_str().ok());
        let content_type = text(CONTENT_TYPE).map(str::to_owned);
        let status = head.status.as_u16();
        if !head.status.is_success() {
            // Of a failure nothing but its status is used: its body may be anything, and may never end.
            self.release(authority, sender, Some(body));
            return Ok(UpstreamResponse { status, content_type, body: Vec::new() });
        }
        let body = body::read(body, limit).await?;
        self.release(authority, sender, None);
        let body = body::decode(body, text(CONTENT_ENCODING).unwrap_or_default(), limit)?;
        Ok(UpstreamResponse { status, content_type, body })
    }

    /// Keeps a connection for the next request, once it has done its part with this one: all of the request is sent, and
    /// the rest of the answer was received. Nobody waits for that, and it is not waited for long.
    fn release(self: &Rc<Self>, authority: Authority, mut sender: Sender, rest: Option<Incoming>) {
        let (inner, Some(reactor)) = (Rc::clone(self), Reactor::current()) else { return };
        reactor.spawn(async move {
            let done = async move {
                if let Some(rest) = rest {
                    body::read(rest, MOST_DRAINED).await.ok()?;
                }
                sender.ready().await.ok()?;
                Some(sender)
            };
            if let Either::Left((Some(sender), _)) = select(pin!(done), sleep(DRAIN_TIME)).await {
                inner.put_idle(authority.as_str(), sender);
            }
        });
    }

    fn take_idle(&self, authority: &str) -> Option<Sender> {
        let mut idle = self.idle.borrow_mut();
        let idle = idle.get_mut(authority)?;
        // The one used last is the least likely to have been closed.
        std::iter::from_fn(|| idle.pop()).find(Sender::is_ready)
    }

    fn put_idle(&self, authority: &str, sender: Sender) {
        let mut idle = self.idle.borrow_mut();
        let idle = idle.entry(authority.to_owned()).or_default();
        idle.retain(|sender| !sender.is_closed());
        if idle.len() < MOST_IDLE {
            idle.push(sender);
        }
    }

    async fn connect(&self, authority: &Authority) -> Result<Sender, UpstreamFailure> {
        let broken = |error: &dyn std::error::Error| UpstreamFailure::Connection(describe(error));
        let Some(reactor) = Reactor::current() else {
            return Err(UpstreamFailure::Connection("this is no core's thread".to_owned()));
        };
        let host = authority.host();
        let addresses = lookup::resolve(host, authority.port_u16().unwrap_or(443)).await;
        let socket = Socket::connect(&reactor, &addresses.map_err(|error| broken(&error))?).await;
        let bare = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        let name = ServerName::try_from(bare).map_err(|error| broken(&error))?;
        let stream = self.tls.connect(name, socket.map_err(|error| broken(&error))?).await;
        let stream = HyperIo(stream.map_err(|error| broken(&error))?);
        let (sender, connection) = handshake(stream).await.map_err(|error| failure(&error))?;
        // How it ended is told to whoever used it.
        reactor.spawn(async move { _ = connection.await });
        Ok(sender)
    }
}

/// The request as hyper takes it, and whom it is for.
fn prepare(request: UpstreamRequest) -> Result<(Authority, Request<Whole>), UpstreamFailure> {
    let unsendable = |what: &str| UpstreamFailure::Connection(format!("the request has no usable {what}"));
    let uri: Uri = request.url.parse().map_err(|_| unsendable("url"))?;
    let authority = uri.authority().cloned().ok_or_else(|| unsendable("host"))?;
    let target = uri.path_and_query().map_or("/", |target| target.as_str());
    let mut builder = Request::builder().method(request.method.as_str()).uri(target);
    builder = builder.header(HOST, authority.as_str()).header(ACCEPT_ENCODING, "gzip");
    for (name, value) in &request.headers {
        builder = builder.header(name.as_str(), value.as_str());
    }
    let request = builder.body(Whole::new(request.body)).map_err(|_| unsendable("method or header"))?;
    Ok((authority, request))
}

fn failure(error: &hyper::Error) -> UpstreamFailure {
    let why = describe(error);
    if error.is_parse() { UpstreamFailure::Malformed(why) } else { UpstreamFailure::Connection(why) }
}
