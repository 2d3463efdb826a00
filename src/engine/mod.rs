//! The engine: bytes in, bytes out. No runtime, socket, clock or file access.
//!
//! [`Engine::step`] answers the first request of a buffer. On its way a request passes the gates in the order of D2,
//! one module each, and `Engine::pass` reads as their list. A gate either lets the request on or returns a
//! `Refusal`; refusals are only rendered once they reach the end, so the accepting path builds none.
//!
//! Everything a request needs lives in the [`Core`]: buffers that are reset and not freed. After warm-up nothing on
//! the function path touches the heap.

mod attribution;
mod authority;
mod builtin;
mod caller;
mod compose;
mod discover;
mod event;
mod external;
#[doc(hidden)]
pub mod fuzz;
mod idempotency;
mod input;
mod inspect;
mod invoke;
mod lifecycle;
mod observe;
mod place;
mod refusal;
mod request;
mod respond;
mod suggest;
mod target;
mod vocabulary;
mod waiting;

pub use event::{EndpointName, Event};
pub use observe::{Answered, Observer};
pub use suggest::{MOST_SUGGESTIONS, closest};

use crate::audit::{Held, Ledger, LedgerOptions};
pub use crate::handler::Function;
use crate::handler::{Handler, Upstream};
use crate::identity::{Agents, PeerIdentity};
use crate::json::{Schema, TapeBuffers};
use crate::registry::{Binding, EndpointId, MethodId, Registry, SchemaId, Segment};
use crate::wire::{HeadParser, Parsed, ResponseIds};
use bumpalo::Bump;
use invoke::Outcome;
use refusal::Refusal;
use request::Request;
use respond::Answer;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};
use waiting::Waiting;

/// Bytes that must follow the input in its buffer. Their content does not matter and is not changed: the JSON parser
/// reads whole vectors past the end of a body.
pub const PADDING: usize = crate::json::PADDING;

/// Why an engine could not be made. One line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineError(String);

impl std::fmt::Display for EngineError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for EngineError {}

/// Answers requests from one registry. Shared by all cores; nothing in it changes but the set of agents already
/// warned about an old header name.
pub struct Engine<'d> {
    registry: &'d Registry,
    agents: &'d Agents,
    /// One per row of [`Registry::functions`].
    functions: Box<[Handler]>,
    /// One per row of [`Registry::schemas`].
    schemas: Box<[Schema]>,
    log: Box<dyn Fn(Event<'_>) + Send + Sync>,
    /// [`Warning::COUNT`] bits per agent row, and as many before them for callers without Agent-ID.
    warned: Box<[AtomicU64]>,
    idempotency: idempotency::Idempotency,
    /// One per row of [`Registry::externals`]. Those with variables are nothing until these are resolved.
    upstream_headers: Box<[Option<external::Headers>]>,
    /// Only a certificate verifies an identity.
    certificates_required: bool,
    /// Makes a record of every answer. Nothing is attributed without.
    ledger: Option<Box<Ledger>>,
}

/// What a caller is warned of once, in the log.
#[derive(Clone, Copy)]
enum Warning {
    /// It names itself in `Target-Agent`.
    OldAgentHeader,
    /// It selects a discovery surface by the `target` of a body.
    TargetInBody,
}

impl Warning {
    const COUNT: usize = 2;
}

/// The time of a batch of requests, given by the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Now {
    /// Milliseconds since the Unix epoch.
    pub unix_ms: u64,
}

/// What one core reuses from request to request.
pub struct Core {
    ids: ResponseIds,
    scratch: Scratch,
    /// Told of each answer.
    observer: Option<Rc<dyn Observer>>,
}

/// The buffers of a core.
#[derive(Default)]
struct Scratch {
    /// Decoded path and query values.
    bump: Bump,
    /// Segments of the path in work.
    segments: Vec<Segment>,
    /// Methods that a 405 lists.
    allowed: Vec<MethodId>,
    input: TapeBuffers,
    output: TapeBuffers,
    /// The body being rendered.
    body: Vec<u8>,
    /// `details` of a named error.
    details: Vec<u8>,
    /// What the handler adds to the attribution record.
    extra: Vec<u8>,
    /// What attribution records are made in.
    record: crate::audit::Scratch,
    /// By what the answers written since the last look are held back.
    held: Held,
    /// The copy of the body that output validation parses in place.
    check: Vec<u8>,
    /// What the steps of a composition work in.
    nest: compose::Nest,
    /// What carries requests to upstreams.
    upstream: Option<Rc<dyn Upstream>>,
}

/// The endpoints that are external services, with their rows of [`Registry::externals`].
fn externals(registry: &Registry) -> impl Iterator<Item = (&crate::registry::Endpoint, usize)> {
    registry.endpoints.iter().filter_map(|endpoint| match endpoint.binding {
        Binding::External(row) => Some((endpoint, row as usize)),
        _ => None,
    })
}

/// What the engine remembers of one connection between requests: how far a head was parsed, whether anything was
/// answered yet, and the request whose answer is to come.
pub struct Session {
    parser: HeadParser,
    answered: bool,
    waiting: Option<Box<Waiting>>,
    peer: Option<Box<PeerIdentity>>,
    /// By what its answers are held back.
    held: Held,
}

/// What a step came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The input holds no whole request yet: call again with the same bytes and more behind them.
    NeedMore,
    /// The request was taken and its answer is to come: [`poll`](Engine::poll) the session before the next step. Drop
    /// `consumed` bytes from the front of the input.
    Waiting {
        /// Bytes of the request.
        consumed: usize,
    },
    /// One answer was appended to the output. Drop `consumed` bytes from the front of the input.
    Answered {
        /// Bytes of the request.
        consumed: usize,
        /// The connection must close once the answer is written: after a wire fault the framing is in doubt (D17).
        close: bool,
    },
}

/// What is known of a request while it passes the gates; the response headers are made from it, whatever the outcome.
#[derive(Default)]
struct Trail<'e> {
    agent: Option<&'e crate::identity::Agent>,
    /// The method row the token named.
    token: Option<MethodId>,
    endpoint: Option<EndpointId>,
    /// Method and path in effect: after alias and redirect.
    method: Option<MethodId>,
    path: &'e [u8],
    /// Nothing stands between it and what it changes but its input.
    admitted: bool,
}

impl<'d> Engine<'d> {
    /// Binds a registry's functions and compiles its schemas. The name `echo` needs no function: it is
    /// [`crate::handler::echo`] unless `functions` says otherwise.
    ///
    /// # Errors
    /// When an endpoint names a function that is not among `functions`, or a schema does not compile. A registry that
    /// went through the compiler with the same functions has neither.
    pub fn new(
        registry: &'d Registry,
        agents: &'d Agents,
        functions: &[Function],
    ) -> Result<Self, EngineError> {
        let bind = |name: &crate::registry::Text| {
            let name = registry.str(*name);
            let found = functions.iter().find(|function| function.name == name).cloned();
            let found =
                found.or_else(|| (name == "echo").then(|| Function::plain("echo", crate::handler::echo)));
            found.map(|function| function.handler).ok_or_else(|| {
                EngineError(format!(
                    "no function is registered under `{name}`: add it to the functions given to Engine::new"
                ))
            })
        };
        let compile = |text: &crate::registry::Text| {
            Schema::compile(registry.str(*text))
                .map_err(|fault| EngineError(format!("a schema does not compile: {fault}")))
        };
        let engine = Engine {
            registry,
            agents,
            functions: registry.functions.iter().map(bind).collect::<Result<_, _>>()?,
            schemas: registry.schemas.iter().map(compile).collect::<Result<_, _>>()?,
            log: Box::new(|_| {}),
            warned: (0..=agents.agents.len() * Warning::COUNT / 64 + 1).map(|_| AtomicU64::new(0)).collect(),
            idempotency: idempotency::Idempotency::new(),
            upstream_headers: registry.externals.iter().map(|_| None).collect(),
            certificates_required: false,
            ledger: None,
        };
        Ok(engine.with_constant_headers())
    }

    /// Upstreams whose headers have no variables can be served as they are.
    fn with_constant_headers(mut self) -> Self {
        for (endpoint, row) in externals(self.registry) {
            let Some(external) = self.registry.externals.get(row) else { continue };
            if let (Some(place), Ok(headers)) = (
                self.upstream_headers.get_mut(row),
                external::resolve(self.registry, endpoint, external, &|_| None),
            ) {
                *place = Some(headers);
            }
        }
        self
    }

    /// Resolves each `${VAR}` of the upstreams' headers (draft: External Service). Without this, an endpoint that needs
    /// one fails its requests.
    ///
    /// # Errors
    /// When a variable is missing or holds what no header can: the error names the endpoint's file and the variable.
    pub fn with_variables(mut self, variable: impl Fn(&str) -> Option<String>) -> Result<Self, EngineError> {
        for (endpoint, row) in externals(self.registry) {
            let Some(external) = self.registry.externals.get(row) else { continue };
            let headers = external::resolve(self.registry, endpoint, external, &variable)?;
            if let Some(place) = self.upstream_headers.get_mut(row) {
                *place = Some(headers);
            }
        }
        Ok(self)
    }

    /// Attributes every answer: a record of it rides in `Attribution-Record` and becomes part of the agent's chain. Serves
    /// INSPECT and the methods of agents' lifecycles too, which are kept in the same place. Where a sink makes answers wait
    /// for their records, ask [`is_held`](Self::is_held) before sending any.
    #[must_use]
    pub fn with_audit(mut self, options: LedgerOptions) -> Self {
        let server_id = self.registry.str(self.registry.server_id);
        self.ledger = Some(Box::new(Ledger::new(server_id, self.agents, options)));
        self
    }

    /// Sends the engine's events to `log` instead of nowhere.
    #[must_use]
    pub fn with_log(mut self, log: impl Fn(Event<'_>) + Send + Sync + 'static) -> Self {
        self.log = Box::new(log);
        self
    }

    /// Takes an identity for verified only if a certificate proves it, which decides what
    /// [`Disclosure::Authenticated`](crate::registry::Disclosure::Authenticated) discloses (D28). For servers that require
    /// certificates of their clients.
    #[must_use]
    pub fn with_certificates_required(mut self) -> Self {
        self.certificates_required = true;
        self
    }

    /// The agents it knows.
    pub fn agents(&self) -> &'d Agents {
        self.agents
    }

    /// The registry it answers from.
    pub fn registry(&self) -> &'d Registry {
        self.registry
    }

    /// Upper bound on the bytes of one request: a buffer that holds this many and no whole request cannot occur.
    pub fn request_limit(&self) -> usize {
        let limits = &self.registry.limits;
        // Request line and final CRLF, the headers with theirs, the empty line, the body.
        limits.request_line_bytes as usize + 2 + limits.header_bytes as usize + 2 + limits.body_bytes as usize
    }

    /// Answers the first request in `buffer[..len]`, appending to `out`.
    ///
    /// `buffer` must be at least [`PADDING`] bytes longer than `len`. The body's bytes are unescaped in place; no
    /// byte after the request is changed.
    pub fn step(
        &self,
        core: &mut Core,
        session: &mut Session,
        now: Now,
        buffer: &mut [u8],
        len: usize,
        out: &mut Vec<u8>,
    ) -> Step {
        if session.waiting.is_some() {
            return Step::Waiting { consumed: 0 };
        }
        let first = !session.answered;
        let parsed = session.parser.advance(buffer.get(..len).unwrap_or(&[]), &self.registry.limits);
        let head_len = match parsed {
            Parsed::NeedMore => return Step::NeedMore,
            Parsed::Wrong(fault) => {
                let hash = self.hash_of(buffer.get(..len).unwrap_or(&[]));
                let request = Request::new(session.parser.head(), buffer, now)
                    .with_peer(session.peer.as_deref())
                    .hashed(hash.as_ref());
                self.refuse(core, first, &request, &self.bare_trail(&request), &Refusal::Wire(fault), out);
                session.held.merge(core.scratch.held.take());
                session.answered = true;
                return Step::Answered { consumed: len, close: true };
            }
            Parsed::Done => session.parser.head().len as usize,
        };
        let body_len = session.parser.head().content_length as usize;
        let consumed = head_len + body_len;
        if len < consumed || buffer.len() < consumed + PADDING {
            return Step::NeedMore;
        }
        // Before the body is unescaped in place.
        let hash = self.hash_of(buffer.get(..consumed).unwrap_or(&[]));
        let (head, rest) = buffer.split_at_mut(head_len);
        let request = Request::new(session.parser.head(), head, now)
            .with_peer(session.peer.as_deref())
            .hashed(hash.as_ref());
        let put_off = self.answer(core, first, &request, rest, body_len, out);
        if let Some(waiting) = put_off {
            session.waiting = Some(waiting);
        }
        session.held.merge(core.scratch.held.take());
        session.answered = true;
        session.parser.reset();
        match session.waiting {
            None => Step::Answered { consumed, close: false },
            Some(_) => Step::Waiting { consumed },
        }
    }

    /// Appends a 408 for a request that is incomplete at its deadline (D18). `input` is what there is of it: the bytes
    /// of the last [`step`](Self::step). The connection must close afterwards.
    pub fn time_out(
        &self,
        core: &mut Core,
        session: &mut Session,
        now: Now,
        input: &[u8],
        out: &mut Vec<u8>,
    ) {
        let hash = self.hash_of(input);
        let request = Request::new(session.parser.head(), input, now)
            .with_peer(session.peer.as_deref())
            .hashed(hash.as_ref());
        self.refuse(core, !session.answered, &request, &self.bare_trail(&request), &Refusal::TimedOut, out);
        session.held.merge(core.scratch.held.take());
        session.answered = true;
    }

    fn answer(
        &self,
        core: &mut Core,
        first: bool,
        request: &Request<'_>,
        body: &mut [u8],
        body_len: usize,
        out: &mut Vec<u8>,
    ) -> Option<Box<Waiting>> {
        let mut trail = Trail { path: request.path(), ..Trail::default() };
        match self.pass(&mut core.scratch, request, body, body_len, &mut trail) {
            Ok(Outcome::Answer(answer)) => respond::write(self, core, first, request, &trail, &answer, out),
            Ok(Outcome::Later(started)) => {
                core.scratch.bump.reset();
                return self.put_off(first, &trail, *started);
            }
            Err(refusal) => {
                if refusal.precedes_vocabulary() {
                    self.complete_trail(&mut core.scratch, request, &mut trail);
                }
                self.refuse(core, first, request, &trail, &refusal, out);
            }
        }
        core.scratch.bump.reset();
        None
    }

    /// The gates, in the order of D2. (Wire faults never get here.)
    fn pass<'r>(
        &'r self,
        scratch: &mut Scratch,
        request: &Request<'r>,
        body: &mut [u8],
        body_len: usize,
        trail: &mut Trail<'r>,
    ) -> Result<Outcome<'r>, Refusal<'r>> {
        caller::refuse_delegation(request)?; //                                   501
        trail.agent = caller::identify(self, request)?; //                        400 401 410 503
        vocabulary::resolve(self, request, trail)?; //                            459
        place::find(self, scratch, request, trail)?; //                           460 405 404
        authority::check(self, request, trail)?; //                               262 455
        attribution::admit(self, trail)?; //                                      503
        input::read_and_run(self, scratch, request, body, body_len, trail) //     400 422, then the handler
    }

    fn refuse(
        &self,
        core: &mut Core,
        first: bool,
        request: &Request<'_>,
        trail: &Trail<'_>,
        refusal: &Refusal<'_>,
        out: &mut Vec<u8>,
    ) {
        let status = refusal::render(self, &mut core.scratch, request, trail, refusal);
        respond::write(self, core, first, request, trail, &Answer::error(status), out);
    }

    /// The trust headers of a known agent and the advisory headers of a deprecated verb or endpoint ride on every
    /// answer, so a request refused for its caller is still looked up; what that finds wrong is not reported.
    #[cold]
    fn complete_trail<'r>(&'r self, scratch: &mut Scratch, request: &Request<'r>, trail: &mut Trail<'r>) {
        trail.agent = caller::named(self, request);
        let found = vocabulary::resolve(self, request, trail);
        let _refused = found.and_then(|()| place::find(self, scratch, request, trail));
    }

    /// What is known of a request whose head is not whole: the agent, if that header was read.
    #[cold]
    fn bare_trail<'r>(&'r self, request: &Request<'r>) -> Trail<'r> {
        Trail { agent: caller::named(self, request), ..Trail::default() }
    }

    fn schema(&self, id: SchemaId) -> Option<&Schema> {
        self.schemas.get(id.0 as usize)
    }

    /// The row of one of [`Agents::agents`].
    fn row_of(&self, agent: &crate::identity::Agent) -> usize {
        let base = self.agents.agents.as_ptr() as usize;
        (std::ptr::from_ref(agent) as usize - base) / size_of::<crate::identity::Agent>()
    }

    /// The status of one of [`Agents::agents`] that is in force.
    #[inline]
    fn status_of(&self, agent: &crate::identity::Agent) -> crate::identity::Status {
        let changed = self.ledger.as_ref().and_then(|ledger| ledger.status(self.row_of(agent)));
        changed.unwrap_or(agent.status)
    }

    /// Remembers that a caller was warned of something; true the first time.
    fn warn_once(&self, warning: Warning, caller: Option<&crate::identity::Agent>) -> bool {
        let place = caller.map_or(0, |agent| self.row_of(agent) + 1) * Warning::COUNT + warning as usize;
        let bit = 1 << (place % 64);
        self.warned.get(place / 64).is_some_and(|word| word.fetch_or(bit, Ordering::Relaxed) & bit == 0)
    }
}

impl Core {
    /// A core's scratch. `seed` must be random and differ from core to core: Response-IDs are drawn from it.
    pub fn new(engine: &Engine<'_>, seed: u64) -> Core {
        let mut scratch = Scratch::default();
        scratch.segments.reserve(engine.registry.router.deepest as usize + 1);
        Core { ids: ResponseIds::new(seed), scratch, observer: None }
    }

    /// Reaches upstreams through this. Without, an external service cannot be reached.
    #[must_use]
    pub fn with_upstream(mut self, upstream: Rc<dyn Upstream>) -> Core {
        self.scratch.upstream = Some(upstream);
        self
    }

    /// Tells this of each answer.
    #[must_use]
    pub fn with_observer(mut self, observer: Rc<dyn Observer>) -> Core {
        self.observer = Some(observer);
        self
    }
}

impl Session {
    /// A new connection.
    pub const fn new() -> Session {
        Session { parser: HeadParser::new(), answered: false, waiting: None, peer: None, held: Held::NONE }
    }

    /// The client proved this about itself, by a certificate, before its first request.
    pub fn set_peer(&mut self, peer: PeerIdentity) {
        self.peer = Some(Box::new(peer));
    }

    /// Whether the head of the request in work is complete, so that only its body is awaited.
    pub const fn in_body(&self) -> bool {
        self.parser.head().len > 0
    }
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let waiting = self.waiting.is_some();
        f.debug_struct("Session")
            .field("answered", &self.answered)
            .field("waiting", &waiting)
            .finish_non_exhaustive()
    }
}

impl Default for Session {
    fn default() -> Self {
        Self::new()
    }
}
