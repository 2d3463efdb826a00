//! What a connection asks for answers: the engine, or a toy in the tests.

use super::log::Log;
use super::metrics::Awaited;
use super::observe::Watch;
use super::thread::Seat;
use super::upstream::{Transport, UpstreamRoots};
use crate::engine::{Core, Engine, Now, Session, Step};
use crate::identity::PeerIdentity;
use mio::net::TcpStream;
use std::net::IpAddr;
use std::rc::Rc;
use std::task::{Context, Poll};

/// Answers requests for all connections of one core.
pub(super) trait Service {
    /// What is remembered of one connection between requests.
    type Session;

    /// A new connection's.
    fn session(&self) -> Self::Session;

    /// Remembers what the client has proved about itself.
    fn set_peer(&mut self, session: &mut Self::Session, peer: PeerIdentity);
    /// A new connection's that wants to know whose it is.
    fn session_with(&self, _stream: &TcpStream) -> Self::Session {
        self.session()
    }

    /// Answers the first request in `buffer[..len]`, as [`Engine::step`] does.
    fn step(
        &mut self,
        session: &mut Self::Session,
        now: Now,
        buffer: &mut [u8],
        len: usize,
        out: &mut Vec<u8>,
    ) -> Step;

    /// Goes on with the request that waits in the session, as [`Engine::poll`] does.
    fn poll(
        &mut self,
        session: &mut Self::Session,
        now: Now,
        context: &mut Context<'_>,
        out: &mut Vec<u8>,
    ) -> Poll<()>;

    /// Gives that request up, as [`Engine::expire`] does.
    fn expire(&mut self, session: &mut Self::Session, now: Now, out: &mut Vec<u8>);

    /// How long that request may take.
    fn patience_ms(&self, session: &Self::Session) -> Option<u32>;

    /// Whether what was answered must not be sent yet, as [`Engine::is_held`] says.
    fn is_held(&self, session: &Self::Session) -> bool {
        let _ = session;
        false
    }

    /// Waits until it may be, as [`Engine::poll_release`] does.
    fn poll_release(&mut self, session: &mut Self::Session, context: &Context<'_>) -> Poll<()> {
        let _ = (session, context);
        Poll::Ready(())
    }

    /// Appends the answer to a request that is incomplete at its deadline (D18); `input` is what there is of it.
    fn time_out(&mut self, session: &mut Self::Session, now: Now, input: &[u8], out: &mut Vec<u8>);

    /// Whether the head of the request in work is complete.
    fn in_body(&self, session: &Self::Session) -> bool;

    /// No request is longer than this.
    fn request_limit(&self) -> usize;
}

/// The engine with one core's scratch.
pub(super) struct EngineService<'e> {
    engine: &'e Engine<'e>,
    core: Core,
    watch: Rc<Watch>,
}

/// What the service remembers of one connection.
#[derive(Default)]
pub(super) struct EngineSession {
    session: Session,
    /// Counts the request that waits.
    awaited: Option<Box<Awaited>>,
    /// Whose connection it is, if that is logged.
    client: Option<IpAddr>,
}

impl<'e> EngineService<'e> {
    pub(super) fn new(
        engine: &'e Engine<'e>,
        seat: Seat,
        roots: Option<&UpstreamRoots>,
        log: Option<&Log>,
    ) -> Self {
        let watch = Rc::new(Watch::new(seat.index, seat.metrics, log.and_then(Log::access)));
        let core = Core::new(engine, seat.seed).with_observer(Rc::clone(&watch) as _);
        let core = match roots {
            Some(roots) => core.with_upstream(Rc::new(Transport::new(roots))),
            None => core,
        };
        EngineService { engine, core, watch }
    }
}

impl Service for EngineService<'_> {
    type Session = EngineSession;

    fn session(&self) -> EngineSession {
        EngineSession::default()
    }

    fn session_with(&self, stream: &TcpStream) -> EngineSession {
        let address = if self.watch.logs() { stream.peer_addr().ok() } else { None };
        EngineSession { client: address.map(|address| address.ip().to_canonical()), ..self.session() }
    }

    fn set_peer(&mut self, session: &mut EngineSession, peer: PeerIdentity) {
        session.session.set_peer(peer);
    }

    fn step(
        &mut self,
        session: &mut EngineSession,
        now: Now,
        buffer: &mut [u8],
        len: usize,
        out: &mut Vec<u8>,
    ) -> Step {
        self.watch.begin(session.client);
        let step = self.engine.step(&mut self.core, &mut session.session, now, buffer, len, out);
        if let Step::Waiting { .. } = step {
            session.awaited.get_or_insert_with(|| self.watch.put_off());
        }
        step
    }

    fn poll(
        &mut self,
        session: &mut EngineSession,
        now: Now,
        context: &mut Context<'_>,
        out: &mut Vec<u8>,
    ) -> Poll<()> {
        self.watch.go_on(session.client, session.awaited.as_deref());
        let polled = self.engine.poll(&mut self.core, &mut session.session, now, context, out);
        if polled.is_ready() {
            session.awaited = None;
        }
        polled
    }

    fn expire(&mut self, session: &mut EngineSession, now: Now, out: &mut Vec<u8>) {
        self.watch.go_on(session.client, session.awaited.take().as_deref());
        self.engine.expire(&mut self.core, &mut session.session, now, out);
    }

    fn patience_ms(&self, session: &EngineSession) -> Option<u32> {
        self.engine.patience_ms(&session.session)
    }

    fn is_held(&self, session: &EngineSession) -> bool {
        self.engine.is_held(&session.session)
    }

    fn poll_release(&mut self, session: &mut EngineSession, context: &Context<'_>) -> Poll<()> {
        self.engine.poll_release(&mut session.session, context)
    }

    fn time_out(&mut self, session: &mut EngineSession, now: Now, input: &[u8], out: &mut Vec<u8>) {
        self.watch.cut_short(session.client);
        self.engine.time_out(&mut self.core, &mut session.session, now, input, out);
    }

    fn in_body(&self, session: &EngineSession) -> bool {
        session.session.in_body()
    }

    fn request_limit(&self) -> usize {
        self.engine.request_limit()
    }
}
