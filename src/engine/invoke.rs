//! Past the gates: the handler runs, and its answer is held to the output schema.

use super::event::EndpointName;
use super::refusal::{Refusal, Violations};
use super::request::Request;
use super::respond::Answer;
use super::{Engine, Event, HandlerFn, Trail, builtin};
use crate::handler::{Context, EndpointError, Failure, Reply};
use crate::json::{TapeBuffers, Value};
use crate::registry::{Binding, Endpoint};
use crate::wire::Status;
use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Most violations a 422 lists (facts page 3).
const MOST_VIOLATIONS: usize = 16;

/// Where an answer is made.
pub(super) struct Sinks<'s> {
    pub(super) output: &'s mut TapeBuffers,
    pub(super) body: &'s mut Vec<u8>,
    pub(super) details: &'s mut Vec<u8>,
    pub(super) check: &'s mut Vec<u8>,
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
) -> Result<Answer<'r>, Refusal<'r>> {
    match endpoint.binding {
        Binding::Function(index) => {
            let Some(function) = engine.functions.get(index as usize) else {
                return Err(Refusal::HandlerFailed);
            };
            let status = call(engine, sinks, request, trail, endpoint, input, *function)?;
            if status != Status::NoContent {
                check_output(engine, sinks, endpoint)?;
            }
            Ok(Answer::rendered(status))
        }
        Binding::Builtin(builtin) => builtin::run(engine, request, trail, builtin, input),
        // The compiler lets neither through yet; an embedder's own tables might.
        Binding::Composition(_) | Binding::External(_) => Err(Refusal::HandlerFailed),
    }
}

fn call<'r>(
    engine: &'r Engine<'_>,
    sinks: &mut Sinks<'_>,
    request: &Request<'r>,
    trail: &Trail<'r>,
    endpoint: &'r Endpoint,
    input: Value<'_>,
    function: HandlerFn,
) -> Result<Status, Refusal<'r>> {
    let context = Context {
        input,
        method: trail.method.map_or("", |id| engine.registry.method_name(id)),
        path: trail.path,
        head: request.head,
        bytes: request.bytes,
        agent: trail.agent,
        agents: engine.agents,
        now: request.now,
    };
    let mut reply = Reply::new(sinks.body, sinks.details);
    // The buffers a panicking handler leaves behind are cleared before their next use.
    match catch_unwind(AssertUnwindSafe(|| function(&context, &mut reply))) {
        Ok(Ok(())) => Ok(reply.finish()),
        Ok(Err(error)) => Err(failed(engine, endpoint, error)),
        Err(panic) => {
            log_failure(engine, endpoint, panic_text(&*panic));
            Err(Refusal::HandlerFailed)
        }
    }
}

/// A named error the endpoint declares is the caller's to see; everything else is a 500 and a log line.
#[cold]
fn failed<'r>(engine: &'r Engine<'_>, endpoint: &'r Endpoint, error: EndpointError) -> Refusal<'r> {
    let registry = engine.registry;
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

fn log_failure(engine: &Engine<'_>, endpoint: &Endpoint, reason: &str) {
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
fn output_invalid<'r>(engine: &Engine<'_>, endpoint: &Endpoint, violation: (&str, &str)) -> Refusal<'r> {
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
