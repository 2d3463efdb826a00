//! What a connection asks for answers: the engine, or a toy in the tests.

use super::upstream::{Transport, UpstreamRoots};
use crate::engine::{Core, Engine, Now, Session, Step};
use std::rc::Rc;
use std::task::{Context, Poll};

/// Answers requests for all connections of one core.
pub(super) trait Service {
    /// What is remembered of one connection between requests.
    type Session;

    /// A new connection's.
    fn session(&self) -> Self::Session;

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
}

impl<'e> EngineService<'e> {
    /// `seed` must be random.
    pub(super) fn new(engine: &'e Engine<'e>, seed: u64, roots: Option<&UpstreamRoots>) -> Self {
        let core = Core::new(engine, seed);
        let core = match roots {
            Some(roots) => core.with_upstream(Rc::new(Transport::new(roots))),
            None => core,
        };
        EngineService { engine, core }
    }
}

impl Service for EngineService<'_> {
    type Session = Session;

    fn session(&self) -> Session {
        Session::new()
    }

    fn step(
        &mut self,
        session: &mut Session,
        now: Now,
        buffer: &mut [u8],
        len: usize,
        out: &mut Vec<u8>,
    ) -> Step {
        self.engine.step(&mut self.core, session, now, buffer, len, out)
    }

    fn poll(
        &mut self,
        session: &mut Session,
        now: Now,
        context: &mut Context<'_>,
        out: &mut Vec<u8>,
    ) -> Poll<()> {
        self.engine.poll(&mut self.core, session, now, context, out)
    }

    fn expire(&mut self, session: &mut Session, now: Now, out: &mut Vec<u8>) {
        self.engine.expire(&mut self.core, session, now, out);
    }

    fn patience_ms(&self, session: &Session) -> Option<u32> {
        self.engine.patience_ms(session)
    }

    fn time_out(&mut self, session: &mut Session, now: Now, input: &[u8], out: &mut Vec<u8>) {
        self.engine.time_out(&mut self.core, session, now, input, out);
    }

    fn in_body(&self, session: &Session) -> bool {
        session.in_body()
    }

    fn request_limit(&self) -> usize {
        self.engine.request_limit()
    }
}
