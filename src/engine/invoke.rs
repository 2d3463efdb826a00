//! Past the gates: the handler runs, and its answer is held to the output schema.

use super::compose::Nest;
use super::event::EndpointName;
use super::refusal::{Refusal, Violations};
use super::request::Request;
use super::respond::Answer;
use super::waiting::{Started, Work};
use super::{Engine, Event, Trail, builtin, compose, external};
use crate::audit::Held;
use crate::handler::{
    AsyncHandler, Caller, Context, EndpointError, Failure, Handler, OwnedContext, OwnedHead, PlainHandler,
    Reply, Upstream,
};
use crate::json::{TapeBuffers, Value};
use crate::registry::{Binding, Endpoint};
use crate::wire::Status;
use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;

/// Most violations a 422 lists (facts page 3).
const MOST_VIOLATIONS: usize = 16;

/// Where an answer is made.
pub(super) struct Sinks<'s> {
    pub(super) output: &'s mut TapeBuffers,
    pub(super) body: &'s mut Vec<u8>,
    pub(super) details: &'s mut Vec<u8>,
    /// What the handler adds to the attribution record.
    pub(super) extra: &'s mut Vec<u8>,
    /// By what the answer is held back: a change of an agent's lifecycle.
    pub(super) held: &'s mut Held,
    pub(super) check: &'s mut Vec<u8>,
    pub(super) nest: &'s mut Nest,
    /// What carries requests to upstreams.
    pub(super) upstream: Option<&'s Rc<dyn Upstream>>,
}

/// What running an endpoint comes to, unless it is refused.
pub(super) enum Outcome<'r> {
    /// Its answer.
    Answer(Answer<'r>),
    /// The answer is to come.
    Later(Box<Started>),
}

/// Runs an endpoint on valid input.
#[inline]
pub(super) fn run<'r>(
    engine: &'r Engine<'_>,
    sinks: &mut Sinks<'_>,
    request: &Request<'r>,
    trail: &Trail<'r>,
    endpoint: &'r Endpoint,
    input: Value<'_>,
) -> Result<Outcome<'r>, Refusal<'r>> {
    match endpoint.binding {
        Binding::Function(index) => match engine.functions.get(index as usize) {
            Some(Handler::Plain(function)) => {
                let status = call(engine, sinks, request, trail, endpoint, input, &**function)?;
                checked(engine, sinks, endpoint, status).map(Outcome::Answer)
            }
            Some(Handler::Async(function)) => {
                start(engine, request, trail, endpoint, input, &**function).map(Outcome::Later)
            }
            None => Err(Refusal::HandlerFailed),
        },
        Binding::Builtin(builtin) => {
            builtin::run(engine, request, trail, builtin, input, (sinks.body, sinks.held))
                .map(Outcome::Answer)
        }
        Binding::Composition(recipe) => compose::run(engine, sinks, request, trail, endpoint, recipe, input),
        Binding::External(row) => {
            call_out(engine, sinks, request, endpoint, row as usize, input).map(Outcome::Later)
        }
    }
}

/// A handler's answer, once its body is found to be what the contract says.
pub(super) fn checked<'r>(
    engine: &Engine<'_>,
    sinks: &mut Sinks<'_>,
    endpoint: &Endpoint,
    status: Status,
) -> Result<Answer<'r>, Refusal<'r>> {
    if status != Status::NoContent {
        check_output(engine, sinks, endpoint)?;
    }
    Ok(Answer::rendered(status))
}

/// Makes the future of an asynchronous handler's answer. It owns what it works on: the buffers of the connection and of
/// the core are others' as soon as it waits.
fn start<'r>(
    engine: &'r Engine<'_>,
    request: &Request<'r>,
    trail: &Trail<'r>,
    endpoint: &'r Endpoint,
    input: Value<'_>,
    function: &AsyncHandler,
) -> Result<Box<Started>, Refusal<'r>> {
    let head = Arc::new(owned(request));
    let method = trail.method.map_or("", |id| engine.registry.method_name(id));
    let caller = trail.agent.map(|agent| (agent.id, engine.agents.str(agent.name).into()));
    let context = OwnedContext::new(Arc::clone(&head), method, trail.path, caller, as_json(input));
    match catch_unwind(AssertUnwindSafe(|| function(context))) {
        Ok(later) => Ok(Box::new(Started { request: head, work: Work::Function(later), running: None })),
        Err(panic) => Err(panicked(engine, endpoint, &*panic)),
    }
}

/// Sends a request to an upstream.
fn call_out<'r>(
    engine: &'r Engine<'_>,
    sinks: &Sinks<'_>,
    request: &Request<'r>,
    endpoint: &'r Endpoint,
    row: usize,
    input: Value<'_>,
) -> Result<Box<Started>, Refusal<'r>> {
    let headers = engine.upstream_headers.get(row).and_then(Option::as_ref);
    let (Some(external), Some(headers), Some(upstream)) =
        (engine.registry.externals.get(row), headers, sinks.upstream)
    else {
        log_failure(engine, endpoint, "it was given no upstream, or a variable of its headers is unresolved");
        return Err(Refusal::HandlerFailed);
    };
    let exchange = upstream.send(external::prepare(engine.registry, external, headers, input)?);
    let work = Work::External { exchange, row };
    Ok(Box::new(Started { request: Arc::new(owned(request)), work, running: None }))
}

/// The request's head, apart from the connection's buffer.
pub(super) fn owned(request: &Request<'_>) -> OwnedHead {
    OwnedHead {
        head: request.head.clone(),
        bytes: request.bytes.into(),
        hash: request.hash.copied(),
        now: request.now,
        peer: request.peer.copied(),
    }
}

/// A value as JSON text.
pub(super) fn as_json(value: Value<'_>) -> Vec<u8> {
    let mut json = Vec::new();
    value.write_json(&mut json);
    json
}

fn call<'r>(
    engine: &'r Engine<'_>,
    sinks: &mut Sinks<'_>,
    request: &Request<'r>,
    trail: &Trail<'r>,
    endpoint: &'r Endpoint,
    input: Value<'_>,
    function: &PlainHandler,
) -> Result<Status, Refusal<'r>> {
    let context = Context {
        input,
        method: trail.method.map_or("", |id| engine.registry.method_name(id)),
        path: trail.path,
        head: request.head,
        bytes: request.bytes,
        caller: trail.agent.map(|agent| Caller::of(agent, engine.agents)),
        peer: request.peer,
        now: request.now,
    };
    let mut reply = Reply::new(sinks.body, sinks.details, sinks.extra);
    // The buffers a panicking handler leaves behind are cleared before their next use.
    match catch_unwind(AssertUnwindSafe(|| function(&context, &mut reply))) {
        Ok(Ok(())) => Ok(reply.finish()),
        Ok(Err(error)) => Err(failed(engine, sinks, endpoint, error)),
        Err(panic) => Err(panicked(engine, endpoint, &*panic)),
    }
}

/// A panic costs its request, and says why in the log.
#[cold]
pub(super) fn panicked<'r>(
    engine: &Engine<'_>,
    endpoint: &Endpoint,
    panic: &(dyn std::any::Any + Send),
) -> Refusal<'r> {
    log_failure(engine, endpoint, panic_text(panic));
    Refusal::HandlerFailed
}

/// A named error the endpoint declares is the caller's to see; everything else is a 500 and a log line.
#[cold]
pub(super) fn failed<'r>(
    engine: &'r Engine<'_>,
    sinks: &mut Sinks<'_>,
    endpoint: &'r Endpoint,
    error: EndpointError,
) -> Refusal<'r> {
    let registry = engine.registry;
    if !error.details.is_empty() {
        sinks.details.clone_from(&error.details);
    }
    match error.failure {
        Failure::Named { name, message } => {
            let declared =
                endpoint.errors.of(&registry.errors).iter().find(|error| registry.str(**error) == name);
            match declared {
                Some(error) => Refusal::Named { name: registry.str(*error), message },
                None => {
                    (engine.log)(Event::UndeclaredError {
                        endpoint: name_of(engine, endpoint),
                        error: &name,
                    });
                    Refusal::HandlerFailed
                }
            }
        }
        Failure::Internal { reason } => {
            log_failure(engine, endpoint, &reason);
            Refusal::HandlerFailed
        }
    }
}

pub(super) fn log_failure(engine: &Engine<'_>, endpoint: &Endpoint, reason: &str) {
    (engine.log)(Event::HandlerFailed { endpoint: name_of(engine, endpoint), reason });
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<&'static str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("it panicked")
}

fn name_of<'e>(engine: &'e Engine<'_>, endpoint: &Endpoint) -> EndpointName<'e> {
    let registry = engine.registry;
    EndpointName {
        method: registry.method_name(endpoint.method),
        path: registry.str(endpoint.path),
        source: registry.str(endpoint.source),
    }
}

/// Parses the rendered body like a request's and validates it (draft: Schema Strictness).
#[inline]
fn check_output<'r>(
    engine: &Engine<'_>,
    sinks: &mut Sinks<'_>,
    endpoint: &Endpoint,
) -> Result<(), Refusal<'r>> {
    if !endpoint.output_constrained {
        // The writer only makes objects, and any object will do.
        return Ok(());
    }
    // Parsing unescapes in place, so it works on a copy, which also brings the padding.
    sinks.check.clear();
    sinks.check.extend_from_slice(sinks.body);
    sinks.check.extend_from_slice(&[0; super::PADDING]);
    let Ok(document) = sinks.output.parse(sinks.check, sinks.body.len(), usize::MAX) else {
        return Err(output_invalid(
            engine,
            endpoint,
            ("", "it is not I-JSON: a key stands twice in one object"),
        ));
    };
    let schema = engine.schema(endpoint.output);
    let result = match schema.is_some_and(|schema| schema.is_valid(document.root())) {
        true => Ok(()),
        false => {
            let first = schema.and_then(|schema| schema.report(document.root(), 1).into_iter().next());
            let (field, message) = first.map_or_else(Default::default, |found| (found.field, found.message));
            Err(output_invalid(engine, endpoint, (&field, &message)))
        }
    };
    sinks.output.recycle(document);
    result
}

#[cold]
pub(super) fn output_invalid<'r>(
    engine: &Engine<'_>,
    endpoint: &Endpoint,
    violation: (&str, &str),
) -> Refusal<'r> {
    (engine.log)(Event::OutputInvalid { endpoint: name_of(engine, endpoint), violation });
    Refusal::OutputInvalid
}

/// What a 422 says about input that fails its schema. Allocates: nothing else does on the way to an answer.
#[cold]
pub(super) fn input_invalid<'r>(engine: &Engine<'_>, endpoint: &Endpoint, input: Value<'_>) -> Refusal<'r> {
    let schema = engine.schema(endpoint.input);
    Refusal::InputInvalid(Violations(
        schema.map_or_else(Vec::new, |schema| schema.report(input, MOST_VIOLATIONS)),
    ))
}

/// A message of a named error.
pub(super) type Message = Option<Cow<'static, str>>;
