//! Requests whose answer is to come: an asynchronous handler runs, or the request repeats one that does.
//!
//! The engine knows no runtime. A request that cannot be answered at once is kept in its [`Session`], and whoever drives
//! the connection polls it with a waker of theirs: [`Engine::poll`] until it is ready, or [`Engine::expire`] when it took
//! too long. Meanwhile the connection's later requests wait, so that answers keep their order.

use super::compose::{self, Composition};
use super::idempotency::{Claim, Repeat, Running};
use super::invoke::{self, Outcome, Sinks};
use super::refusal::Refusal;
use super::request::Request;
use super::respond::{self, Answer};
use super::{Core, Engine, Now, PADDING, Scratch, Session, Trail, external, input};
use crate::handler::{EndpointError, Exchange, Later, OwnedHead, OwnedReply};
use crate::registry::{Endpoint, EndpointId, MethodId};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::{Context, Poll};

/// Work that was begun and not finished.
pub(super) struct Started {
    pub(super) request: Arc<OwnedHead>,
    pub(super) work: Work,
    /// The right to the request's `Idempotency-Key`.
    pub(super) running: Option<Running>,
}

/// What is waited for.
pub(super) enum Work {
    /// An asynchronous handler.
    Function(Later),
    /// An upstream's answer; the row of [`Registry::externals`](crate::registry::Registry::externals).
    External { exchange: Exchange, row: usize },
    /// The request that this one repeats. Should that fail, this one runs on its validated input.
    Repeat { repeat: Repeat, input: Vec<u8> },
    /// A composition that has come to a step which is waited for.
    Composition(Box<Composition>),
}

/// A request that waits, with all that its answer is made from.
pub(super) struct Waiting {
    started: Started,
    /// Its answer is the connection's first.
    first: bool,
    /// Row in the agents' table.
    agent: Option<u32>,
    token: Option<MethodId>,
    endpoint: EndpointId,
    method: Option<MethodId>,
    path: Box<[u8]>,
}

impl Engine<'_> {
    /// Goes on with the request that waits in `session`, after a step that came to
    /// [`Step::Waiting`](super::Step::Waiting). When it is ready, its answer was appended to `out` and the next step can
    /// be taken; else the waker in `context` is called once it pays to poll again. Without a request that waits, it is
    /// ready.
    pub fn poll(
        &self,
        core: &mut Core,
        session: &mut Session,
        now: Now,
        context: &mut Context<'_>,
        out: &mut Vec<u8>,
    ) -> Poll<()> {
        let Some(mut waiting) = session.waiting.take() else { return Poll::Ready(()) };
        let Waiting { started, first, agent, token, endpoint, method, path } = &mut *waiting;
        let head = Arc::clone(&started.request);
        let request = Request::new(&head.head, &head.bytes, now)
            .with_peer(head.peer.as_ref())
            .hashed(head.hash.as_ref());
        let trail = Trail {
            agent: agent.and_then(|row| self.agents.agents.get(row as usize)),
            token: *token,
            endpoint: Some(*endpoint),
            method: *method,
            path,
            admitted: true,
        };
        let endpoint = self.registry.endpoint(*endpoint);
        let polled = self.go_on(&mut core.scratch, &request, &trail, endpoint, started, context);
        core.scratch.bump.reset();
        let Poll::Ready(result) = polled else {
            session.waiting = Some(waiting);
            return Poll::Pending;
        };
        let result = match started.running.take() {
            Some(running) => input::keep(self, &mut core.scratch, &request, &trail, running, result),
            None => result,
        };
        match result {
            Ok(answer) => respond::write(self, core, *first, &request, &trail, &answer, out),
            Err(refusal) => self.refuse(core, *first, &request, &trail, &refusal, out),
        }
        session.held.merge(core.scratch.held.take());
        Poll::Ready(())
    }

    /// Gives the request up that waits in `session`: it is answered with 408, and what its handler was doing is
    /// dropped. The connection goes on, for the request was whole.
    pub fn expire(&self, core: &mut Core, session: &mut Session, now: Now, out: &mut Vec<u8>) {
        let Some(waiting) = session.waiting.take() else { return };
        let head = &waiting.started.request;
        let trail = Trail {
            agent: waiting.agent.and_then(|row| self.agents.agents.get(row as usize)),
            token: waiting.token,
            endpoint: Some(waiting.endpoint),
            method: waiting.method,
            path: &waiting.path,
            admitted: true,
        };
        let request = Request::new(&head.head, &head.bytes, now)
            .with_peer(head.peer.as_ref())
            .hashed(head.hash.as_ref());
        let refusal = match waiting.started.work {
            Work::External { .. } => Refusal::Named { name: "upstream_timeout", message: None },
            Work::Function(_) | Work::Composition(_) | Work::Repeat { .. } => Refusal::HandlerTimedOut,
        };
        core.scratch.details.clear();
        self.refuse(core, waiting.first, &request, &trail, &refusal, out);
        session.held.merge(core.scratch.held.take());
    }

    /// Milliseconds that the request that waits in `session` may take from when it began to.
    pub fn patience_ms(&self, session: &Session) -> Option<u32> {
        let waiting = session.waiting.as_ref()?;
        Some(self.registry.endpoint(waiting.endpoint).timeout_ms)
    }

    /// A request that was begun, for its session.
    pub(super) fn put_off(&self, first: bool, trail: &Trail<'_>, started: Started) -> Option<Box<Waiting>> {
        // Only an endpoint's handler is waited for.
        let endpoint = trail.endpoint?;
        Some(Box::new(Waiting {
            started,
            first,
            agent: trail.agent.map(|agent| self.row_of(agent) as u32),
            token: trail.token,
            endpoint,
            method: trail.method,
            path: trail.path.into(),
        }))
    }

    /// Goes on with work that was begun.
    pub(super) fn go_on<'r>(
        &'r self,
        scratch: &mut Scratch,
        request: &Request<'r>,
        trail: &Trail<'r>,
        endpoint: &'r Endpoint,
        started: &mut Started,
        context: &mut Context<'_>,
    ) -> Poll<Result<Answer<'r>, Refusal<'r>>> {
        loop {
            let more = match &mut started.work {
                Work::Function(later) => {
                    let polled = catch_unwind(AssertUnwindSafe(|| later.as_mut().poll(context)));
                    return match polled {
                        Ok(polled) => polled.map(|ended| self.ended(scratch, endpoint, ended)),
                        Err(panic) => Poll::Ready(Err(invoke::panicked(self, endpoint, &*panic))),
                    };
                }
                Work::Composition(composition) => {
                    return compose::poll(self, scratch, request, trail, endpoint, composition, context);
                }
                Work::External { exchange, row } => {
                    let Some(external) = self.registry.externals.get(*row) else {
                        return Poll::Ready(Err(Refusal::HandlerFailed));
                    };
                    let polled = catch_unwind(AssertUnwindSafe(|| exchange.as_mut().poll(context)));
                    let ended = match polled {
                        Ok(Poll::Pending) => return Poll::Pending,
                        Ok(Poll::Ready(ended)) => ended,
                        Err(panic) => return Poll::Ready(Err(invoke::panicked(self, endpoint, &*panic))),
                    };
                    let Scratch { output, body, details, extra, held, check, nest, .. } = scratch;
                    let mut sinks = Sinks { output, body, details, extra, held, check, nest, upstream: None };
                    return Poll::Ready(external::interpret(self, &mut sinks, endpoint, external, ended));
                }
                Work::Repeat { repeat, input } => match repeat.poll(context, &mut scratch.body) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(Claim::Repeat(status)) => return Poll::Ready(Ok(Answer::rendered(status))),
                    Poll::Ready(Claim::Conflict) => return Poll::Ready(Err(Refusal::IdempotencyConflict)),
                    // It was polled, so it is neither.
                    Poll::Ready(Claim::Busy(_)) => return Poll::Ready(Err(Refusal::HandlerFailed)),
                    Poll::Ready(Claim::First(running)) => {
                        started.running = Some(running);
                        let input = std::mem::take(input);
                        match self.run_on(scratch, request, trail, endpoint, input) {
                            Ok(Outcome::Later(more)) => more,
                            Ok(Outcome::Answer(answer)) => return Poll::Ready(Ok(answer)),
                            Err(refusal) => return Poll::Ready(Err(refusal)),
                        }
                    }
                },
            };
            started.work = more.work;
        }
    }

    /// Runs an endpoint on validated input that was put aside as JSON.
    fn run_on<'r>(
        &'r self,
        scratch: &mut Scratch,
        request: &Request<'r>,
        trail: &Trail<'r>,
        endpoint: &'r Endpoint,
        mut json: Vec<u8>,
    ) -> Result<Outcome<'r>, Refusal<'r>> {
        let Scratch { input, output, body, details, extra, held, check, nest, upstream, .. } = scratch;
        let len = json.len();
        json.resize(len + PADDING, 0);
        let document = input.parse(&mut json, len, usize::MAX).map_err(Refusal::Json)?;
        let mut sinks =
            Sinks { output, body, details, extra, held, check, nest, upstream: upstream.as_ref() };
        let outcome = invoke::run(self, &mut sinks, request, trail, endpoint, document.root());
        input.recycle(document);
        outcome
    }

    /// What an asynchronous handler came to.
    fn ended<'r>(
        &'r self,
        scratch: &mut Scratch,
        endpoint: &'r Endpoint,
        ended: Result<OwnedReply, EndpointError>,
    ) -> Result<Answer<'r>, Refusal<'r>> {
        let Scratch { output, body, details, extra, held, check, nest, upstream, .. } = scratch;
        details.clear();
        let mut sinks =
            Sinks { output, body, details, extra, held, check, nest, upstream: upstream.as_ref() };
        match ended {
            Ok(reply) => {
                sinks.body.clear();
                sinks.body.extend_from_slice(&reply.body);
                sinks.extra.clear();
                sinks.extra.extend_from_slice(&reply.extra);
                invoke::checked(self, &mut sinks, endpoint, reply.status)
            }
            Err(error) => Err(invoke::failed(self, &mut sinks, endpoint, error)),
        }
    }
}
