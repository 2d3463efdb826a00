//! One step: the gates, the handler, and what came of it.

use super::Composing;
use super::state::State;
use crate::engine::invoke::{self, Outcome, Sinks};
use crate::engine::refusal::{self, Refusal, Violations};
use crate::engine::respond::{Answer, Body};
use crate::engine::waiting::Started;
use crate::engine::{PADDING, Scratch, Trail, attribution, authority, input, place};
use crate::json::{TapeBuffers, Value, Violation, push_string};
use crate::registry::{EndpointId, MethodId, ParamSource, Piece, Step, StepParam};
use crate::wire::Status;
use std::task::{Context, Poll};

/// What a step came to. Its result, or the body it was refused with, is in the body buffer.
pub(super) enum Ended {
    Well,
    Failed(Status),
    Later(Inner),
}

/// A step that is waited for, and where it was.
pub(super) struct Inner {
    pub(super) started: Started,
    endpoint: EndpointId,
    method: MethodId,
    path: Box<[u8]>,
}

impl Inner {
    /// Polls it. When it is ready, its result or the body it was refused with is in the body buffer.
    pub(super) fn poll(
        &mut self,
        composing: &Composing<'_, '_, '_>,
        scratch: &mut Scratch,
        context: &mut Context<'_>,
    ) -> Poll<Result<(), Status>> {
        let Composing { engine, request, .. } = *composing;
        let trail = Trail {
            agent: composing.trail.agent,
            token: Some(self.method),
            endpoint: Some(self.endpoint),
            method: Some(self.method),
            path: &self.path,
            admitted: true,
        };
        let endpoint = engine.registry.endpoint(self.endpoint);
        let polled = engine.go_on(scratch, request, &trail, endpoint, &mut self.started, context);
        let settled = polled.map(|result| composing.settle(scratch, &trail, result));
        scratch.bump.reset();
        settled
    }
}

impl<'r> Composing<'_, '_, 'r> {
    /// Runs a step.
    pub(super) fn step(&self, scratch: &mut Scratch, state: &mut State, step: &Step) -> Ended {
        // The trail borrows the path and the tape borrows the input while the state is looked at.
        let (mut path, mut input) = (std::mem::take(&mut state.path), std::mem::take(&mut state.input));
        let mut trail = Trail {
            agent: self.trail.agent,
            token: Some(step.method),
            endpoint: step.endpoint,
            method: Some(step.method),
            path: b"/",
            admitted: false,
        };
        let placed = self.write_path(scratch, state, step, &mut path, &mut input);
        trail.path = &path;
        let result = placed.and_then(|()| self.pass(scratch, state, step, &mut trail, &mut input));
        let ended = match result {
            Ok(Outcome::Later(started)) => Ended::Later(Inner {
                started: *started,
                endpoint: trail.endpoint.unwrap_or(EndpointId(0)),
                method: trail.method.unwrap_or(step.method),
                path: trail.path.into(),
            }),
            Ok(Outcome::Answer(answer)) => self.settle(scratch, &trail, Ok(answer)).into(),
            Err(refusal) => self.settle(scratch, &trail, Err(refusal)).into(),
        };
        scratch.bump.reset();
        (state.path, state.input) = (path, input);
        ended
    }

    /// The gates that an outside request passes, but for those that the composition's own request has passed.
    fn pass<'s>(
        &self,
        scratch: &mut Scratch,
        state: &State,
        step: &Step,
        trail: &mut Trail<'s>,
        text: &mut Vec<u8>,
    ) -> Result<Outcome<'s>, Refusal<'s>>
    where
        'r: 's,
    {
        let engine = self.engine;
        match step.endpoint {
            Some(_) => place::split(engine, trail.path, &mut scratch.segments),
            None => place::route(engine, &mut scratch.segments, step.method, trail.path, trail)?,
        }
        authority::check(engine, self.request, trail)?;
        attribution::admit(engine, trail)?;
        let Some(endpoint) = trail.endpoint.map(|id| engine.registry.endpoint(id)) else {
            return Err(Refusal::NotFound);
        };
        self.write_input(scratch, state, step, text);
        let len = text.len();
        text.resize(len + PADDING, 0);
        let Scratch {
            bump,
            segments,
            input: tape,
            output,
            body,
            details,
            extra,
            held,
            check,
            nest,
            upstream,
            ..
        } = scratch;
        let mut document = tape.parse(text, len, usize::MAX).map_err(Refusal::Json)?;
        input::merge_path(engine, bump, segments, trail.path, endpoint, &mut document);
        let valid = engine.schema(endpoint.input).is_some_and(|schema| schema.is_valid(document.root()));
        let outcome = if valid {
            let mut sinks =
                Sinks { output, body, details, extra, held, check, nest, upstream: upstream.as_ref() };
            invoke::run(engine, &mut sinks, self.request, trail, endpoint, document.root())
        } else {
            Err(invoke::input_invalid(engine, endpoint, document.root()))
        };
        tape.recycle(document);
        outcome
    }

    /// Brings a step's result into the body buffer: nothing to say is an empty object. A refusal is rendered there.
    fn settle(
        &self,
        scratch: &mut Scratch,
        trail: &Trail<'_>,
        result: Result<Answer<'_>, Refusal<'_>>,
    ) -> Result<(), Status> {
        let body = match result {
            Ok(answer) => answer.body,
            Err(refusal) => {
                return Err(refusal::render(self.engine, scratch, self.request, trail, &refusal));
            }
        };
        match body {
            Body::Rendered => return Ok(()),
            Body::Fixed(text) => scratch.body.splice(.., text.bytes()),
            Body::Absent => scratch.body.splice(.., "{}".bytes()),
        };
        Ok(())
    }

    /// The path of a step; each parameter in it is one segment, whatever it holds.
    fn write_path<'s>(
        &self,
        scratch: &mut Scratch,
        state: &State,
        step: &Step,
        path: &mut Vec<u8>,
        json: &mut Vec<u8>,
    ) -> Result<(), Refusal<'s>> {
        let registry = self.engine.registry;
        path.clear();
        if step.pieces.is_empty() {
            path.extend_from_slice(step.path.bytes(&registry.text));
            return Ok(());
        }
        for piece in step.pieces.of(&registry.step_pieces) {
            match piece {
                Piece::Literal(text) => path.extend_from_slice(text.bytes(&registry.text)),
                Piece::Param(row) => {
                    let Some(param) = registry.step_params.get(*row as usize) else { continue };
                    json.clear();
                    self.write_value(scratch, state, *row, param, json);
                    push_segment(&mut scratch.output, json, path)
                        .map_err(|message| no_segment(registry.str(param.name), message))?;
                }
            }
        }
        Ok(())
    }

    /// The input that a step is sent. What there is no value for is left out; the step's schema says whether it may be.
    fn write_input(&self, scratch: &mut Scratch, state: &State, step: &Step, out: &mut Vec<u8>) {
        let registry = self.engine.registry;
        out.clear();
        out.push(b'{');
        let rows = step.params.start..;
        for (row, param) in
            rows.zip(step.params.of(&registry.step_params)).filter(|(_, param)| !param.in_path)
        {
            let before = out.len();
            if before > 1 {
                out.push(b',');
            }
            push_string(out, registry.str(param.name));
            out.push(b':');
            if !self.write_value(scratch, state, row, param, out) {
                out.truncate(before);
            }
        }
        out.push(b'}');
    }

    /// Appends the value of a parameter, if it has one.
    fn write_value(
        &self,
        scratch: &mut Scratch,
        state: &State,
        row: u32,
        param: &StepParam,
        out: &mut Vec<u8>,
    ) -> bool {
        let text = &self.engine.registry.text;
        let value = match param.source {
            ParamSource::Proposal(_) => state.proposal(row),
            ParamSource::Constant(json) => Some(json.bytes(text)),
            ParamSource::Previous { step, pointer } => match state.result(step as usize) {
                Some(result) if !pointer.is_empty() => {
                    return write_part(scratch, result, pointer.of(text), out);
                }
                result => result,
            },
        };
        out.extend_from_slice(value.unwrap_or(&[]));
        value.is_some()
    }
}

impl From<Result<(), Status>> for Ended {
    fn from(result: Result<(), Status>) -> Self {
        result.map_or_else(Ended::Failed, |()| Ended::Well)
    }
}

/// Appends what a JSON Pointer leads to in a result.
fn write_part(scratch: &mut Scratch, result: &[u8], pointer: &str, out: &mut Vec<u8>) -> bool {
    let Scratch { output, check, .. } = scratch;
    check.clear();
    check.extend_from_slice(result);
    check.extend_from_slice(&[0; PADDING]);
    let Ok(document) = output.parse(check, result.len(), usize::MAX) else { return false };
    let found = document.root().pointer(pointer);
    if let Some(value) = found {
        value.write_json(out);
    }
    let found = found.is_some();
    output.recycle(document);
    found
}

/// Appends a value as one segment of a path, or says why it cannot be one.
fn push_segment(
    buffers: &mut TapeBuffers,
    json: &mut Vec<u8>,
    path: &mut Vec<u8>,
) -> Result<(), &'static str> {
    let len = json.len();
    if len == 0 {
        return Err("there is no value for this part of the step's path");
    }
    json.resize(len + PADDING, 0);
    let document = buffers.parse(json, len, usize::MAX).map_err(|_| "the value is not I-JSON")?;
    let start = path.len();
    let written = encode(document.root(), path);
    buffers.recycle(document);
    match path.get(start..) {
        _ if !written => Err("only a string, a number or a boolean can be a part of a path"),
        Some(b"" | b"." | b"..") => Err("an empty text, `.` and `..` cannot be a part of a path"),
        _ => Ok(()),
    }
}

/// Appends a scalar with everything percent-encoded but the unreserved characters; false for what is no scalar.
fn encode(value: Value<'_>, path: &mut Vec<u8>) -> bool {
    let Some(text) = value.as_str() else {
        let scalar = value.as_number().is_some() || value.as_bool().is_some();
        if scalar {
            value.write_json(path);
        }
        return scalar;
    };
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => path.push(byte),
            _ => {
                let digit = |nibble: u8| nibble + if nibble < 10 { b'0' } else { b'A' - 10 };
                path.extend_from_slice(&[b'%', digit(byte >> 4), digit(byte & 0xf)]);
            }
        }
    }
    true
}

fn no_segment<'r>(name: &str, message: &str) -> Refusal<'r> {
    Refusal::InputInvalid(Violations(vec![Violation {
        field: format!("/{name}"),
        schema_path: String::new(),
        message: message.to_owned(),
    }]))
}
