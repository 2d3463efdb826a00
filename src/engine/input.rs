//! Gate: input (draft: Query Strings, Schema Strictness; D8, D15, D16).
//!
//! One simd-json parse of the body where it lies; path and query values are appended to the same tape. What the
//! validator and the handler see is that tape: nothing is copied into another representation.

use super::idempotency::{Claim, Fingerprint, Running};
use super::invoke::Outcome;
use super::refusal::{self, Refusal};
use super::request::Request;
use super::respond::Answer;
use super::waiting::{Started, Work};
use super::{Engine, Scratch, Trail, invoke, target};
use crate::json::{Document, Scalar, TapeBuffers, Value, parse_scalar};
use crate::registry::{Binding, Builtin, Endpoint, LegacyForm, Scalar as Conversion, Segment};
use crate::wire::{Field, RawPair, Status, decode, needs_decoding, pairs as pairs_of};
use bumpalo::Bump;
use bumpalo::collections::Vec as BumpVec;
use std::sync::Arc;

/// Reads, merges and validates the input, then runs the endpoint on it.
#[inline]
pub(super) fn read_and_run<'r>(
    engine: &'r Engine<'_>,
    scratch: &mut Scratch,
    request: &Request<'r>,
    body: &mut [u8],
    body_len: usize,
    trail: &mut Trail<'r>,
) -> Result<Outcome<'r>, Refusal<'r>> {
    let Some(endpoint) = trail.endpoint.map(|id| engine.registry.endpoint(id)) else {
        return Err(Refusal::NotFound);
    };
    let Scratch {
        bump, segments, input, output, body: out, details, extra, held, check, nest, upstream, ..
    } = scratch;
    check_content_type(request, body_len)?;
    let sent = body.get(..body_len).unwrap_or(&[]);
    let legacy = LegacyExtra::of(engine, request, trail, bump, sent);
    let ticket = Ticket::of(request, endpoint, sent);
    let mut document = parse(engine, input, body, body_len)?;
    let mut running = None;
    let result = if !document.is_object() {
        Err(Refusal::InputNotObject)
    } else {
        merge_query(engine, bump, request, endpoint, &mut document);
        merge_path(engine, bump, segments, trail.path, endpoint, &mut document);
        legacy.merge(&mut document);
        let moved = target::resolve(engine, segments, request, trail, &mut document);
        let endpoint = trail.endpoint.map_or(endpoint, |id| engine.registry.endpoint(id));
        // A proposal is refused whatever it says (draft: Policies Block, synthesis_enabled).
        let valid = endpoint.binding == Binding::Builtin(Builtin::Propose)
            || engine.schema(endpoint.input).is_some_and(|schema| schema.is_valid(document.root()));
        if let Err(refusal) = moved {
            Err(refusal)
        } else if !valid {
            Err(invoke::input_invalid(engine, endpoint, document.root()))
        } else if let Some(ended) =
            ticket.and_then(|ticket| ticket.claim(engine, request, trail, document.root(), out, &mut running))
        {
            ended
        } else {
            let upstream = upstream.as_ref();
            let mut sinks = invoke::Sinks { output, body: out, details, extra, held, check, nest, upstream };
            invoke::run(engine, &mut sinks, request, trail, endpoint, document.root())
        }
    };
    input.recycle(document);
    match running {
        None => result,
        Some(running) => match result {
            Ok(Outcome::Later(mut started)) => {
                started.running = Some(running);
                Ok(Outcome::Later(started))
            }
            Ok(Outcome::Answer(answer)) => {
                keep(engine, scratch, request, trail, running, Ok(answer)).map(Outcome::Answer)
            }
            Err(refusal) => keep(engine, scratch, request, trail, running, Err(refusal)).map(Outcome::Answer),
        },
    }
}

/// What a request with an `Idempotency-Key` shows for itself.
struct Ticket<'r> {
    key: &'r str,
    fingerprint: Fingerprint,
}

impl<'r> Ticket<'r> {
    /// Only handlers have effects that must not be repeated.
    #[inline]
    fn of(request: &Request<'r>, endpoint: &Endpoint, body: &[u8]) -> Option<Self> {
        let key = request.field(Field::IdempotencyKey).filter(|key| !key.is_empty())?;
        let query = request.head.query(request.bytes).unwrap_or(&[]);
        let handled = !matches!(endpoint.binding, Binding::Builtin(_));
        handled.then(|| Ticket { key, fingerprint: Fingerprint::of(query, body) })
    }

    /// The answer, if the key has one; else the right to run is in `running`.
    fn claim<'e>(
        self,
        engine: &'e Engine<'_>,
        request: &Request<'_>,
        trail: &Trail<'_>,
        input: Value<'_>,
        body: &mut Vec<u8>,
        running: &mut Option<Running>,
    ) -> Option<Result<Outcome<'e>, Refusal<'e>>> {
        let agent = trail.agent.map_or(&[][..], |agent| &agent.id);
        // The method as requested: a PUT served as EXECUTE brings other input than an EXECUTE.
        let parts = [agent, request.method(), trail.path, self.key.as_bytes()];
        match engine.idempotency.claim(parts, self.fingerprint, request.now, body) {
            Claim::First(first) => {
                *running = Some(first);
                None
            }
            Claim::Busy(repeat) => {
                let work = Work::Repeat { repeat, input: invoke::as_json(input) };
                let started = Started { request: Arc::new(invoke::owned(request)), work, running: None };
                Some(Ok(Outcome::Later(Box::new(started))))
            }
            Claim::Repeat(status) => Some(Ok(Outcome::Answer(Answer::rendered(status)))),
            Claim::Conflict => Some(Err(Refusal::IdempotencyConflict)),
        }
    }
}

/// Keeps an answer for repeats of its request. A named error is an answer too.
#[cold]
pub(super) fn keep<'r>(
    engine: &'r Engine<'_>,
    scratch: &mut Scratch,
    request: &Request<'r>,
    trail: &Trail<'r>,
    running: Running,
    result: Result<Answer<'r>, Refusal<'r>>,
) -> Result<Answer<'r>, Refusal<'r>> {
    let answer = match result {
        Err(refusal @ Refusal::Named { .. }) => {
            Answer::error(refusal::render(engine, scratch, request, trail, &refusal))
        }
        result => result?,
    };
    let body = if answer.status == Status::NoContent { &[] } else { scratch.body.as_slice() };
    running.finish(answer.status, body, request.now);
    Ok(answer)
}

/// Absent, `application/json`, or anything `+json` (D21). Without a body it does not matter.
#[inline]
fn check_content_type<'r>(request: &Request<'r>, body_len: usize) -> Result<(), Refusal<'r>> {
    match request.bytes_of(Field::ContentType) {
        // The usual two need no taking apart.
        None | Some(b"application/vnd.agtp+json" | b"application/json") => Ok(()),
        Some(_) if body_len == 0 => Ok(()),
        Some(_) => match request.field(Field::ContentType) {
            Some(value) if !is_json(value) => Err(Refusal::UnsupportedContentType(value)),
            _ => Ok(()),
        },
    }
}

pub(super) fn is_json(content_type: &str) -> bool {
    let media = content_type.split(';').next().unwrap_or("").trim_ascii().as_bytes();
    let suffix = |end: &[u8]| {
        media.len() > end.len() && media.last_chunk::<5>().is_some_and(|last| last.eq_ignore_ascii_case(end))
    };
    media.eq_ignore_ascii_case(b"application/json") || (suffix(b"+json") && media.contains(&b'/'))
}

#[inline]
fn parse<'b, 'r>(
    engine: &Engine<'_>,
    buffers: &mut TapeBuffers,
    body: &'b mut [u8],
    body_len: usize,
) -> Result<Document<'b>, Refusal<'r>> {
    match body_len {
        0 => Ok(buffers.empty()),
        _ => buffers.parse(body, body_len, engine.registry.limits.json_depth as usize).map_err(Refusal::Json),
    }
}

/// A query parameter, decoded.
struct Pair<'b> {
    key: &'b str,
    value: &'b str,
    /// Position in the query.
    position: u32,
    /// Whether the body has this key too.
    beaten: bool,
}

/// Query parameters: below the body, the last of equal keys (draft: Query Strings).
///
/// Sorted once, so that neither many parameters nor a wide body cost more than `n log n`.
fn merge_query<'b>(
    engine: &Engine<'_>,
    bump: &'b Bump,
    request: &Request<'b>,
    endpoint: &Endpoint,
    document: &mut Document<'b>,
) {
    let Some(query) = request.head.query(request.bytes) else { return };
    let mut pairs = BumpVec::new_in(bump);
    for RawPair { key, value } in pairs_of(query) {
        if let (Some(key), Some(value)) = (decoded(bump, key, true), decoded(bump, value, true)) {
            pairs.push(Pair { key, value, position: pairs.len() as u32, beaten: false });
        }
    }
    if pairs.is_empty() {
        return;
    }
    // Unstable sorting needs no memory; the position keeps the last of equal keys in front of the earlier ones.
    pairs.sort_unstable_by(|a, b| a.key.cmp(b.key).then(b.position.cmp(&a.position)));
    let mut previous = None;
    pairs.retain(|pair| previous.replace(pair.key) != Some(pair.key));
    for (key, _) in document.root().members() {
        if let Ok(index) = pairs.binary_search_by(|pair| pair.key.cmp(key)) {
            pairs[index].beaten = true;
        }
    }
    for pair in pairs.iter().filter(|pair| !pair.beaten) {
        document.push(pair.key, parse_scalar(pair.value, conversion(engine, endpoint, pair.key)));
    }
}

/// Path parameters: above everything (D8).
#[inline]
pub(super) fn merge_path<'b>(
    engine: &'b Engine<'_>,
    bump: &'b Bump,
    segments: &[Segment],
    path: &'b [u8],
    endpoint: &Endpoint,
    document: &mut Document<'b>,
) {
    for param in endpoint.params.of(&engine.registry.params) {
        let Some(segment) = segments.get(usize::from(param.segment)) else { continue };
        let Some(value) = decoded(bump, segment.of(path), false) else { continue };
        document.set(engine.registry.str(param.name), parse_scalar(value, param.scalar));
    }
}

/// A raw path segment or query part as a string: borrowed when there is nothing to decode. `None` only for what the
/// wire checks let through to nobody: bad escapes and invalid UTF-8.
#[inline]
fn decoded<'b>(bump: &'b Bump, raw: &'b [u8], plus_is_space: bool) -> Option<&'b str> {
    if !needs_decoding(raw, plus_is_space) {
        return std::str::from_utf8(raw).ok();
    }
    let buffer = bump.alloc_slice_copy(raw);
    decode(raw, buffer, plus_is_space).ok()
}

fn conversion(engine: &Engine<'_>, endpoint: &Endpoint, key: &str) -> Conversion {
    let properties = endpoint.properties.of(&engine.registry.properties);
    let found = properties.iter().find(|property| engine.registry.str(property.name) == key);
    found.map_or(Conversion::String, |property| property.scalar)
}

/// What a verb admitted by `legacy` adds to the input of the EXECUTE it stands for (draft: Legacy Verb Support; D3).
enum LegacyExtra<'b> {
    Nothing,
    Action(&'static str),
    IdempotencyKey(&'b str),
}

impl<'b> LegacyExtra<'b> {
    fn of(
        engine: &Engine<'_>,
        request: &Request<'b>,
        trail: &Trail<'_>,
        bump: &'b Bump,
        body: &[u8],
    ) -> LegacyExtra<'b> {
        let form = trail.token.map_or(LegacyForm::Plain, |id| engine.registry.method(id).legacy_form);
        match form {
            LegacyForm::Plain => LegacyExtra::Nothing,
            LegacyForm::Delete => LegacyExtra::Action("delete"),
            LegacyForm::Modify => LegacyExtra::Action("modify"),
            LegacyForm::IdempotencyKey => LegacyExtra::IdempotencyKey(
                request
                    .field(Field::IdempotencyKey)
                    .unwrap_or_else(|| derived_key(request, trail, bump, body)),
            ),
        }
    }

    fn merge(self, document: &mut Document<'b>) {
        match self {
            LegacyExtra::Nothing => {}
            LegacyExtra::Action(action) => document.set("action", Scalar::Str(action)),
            LegacyExtra::IdempotencyKey(key) => document.set("idempotency_key", Scalar::Str(key)),
        }
    }
}

/// The key of a PUT that brings none: a hash of agent, path and body (D23), so that a repeat has the same.
fn derived_key<'b>(request: &Request<'_>, trail: &Trail<'_>, bump: &'b Bump, body: &[u8]) -> &'b str {
    let agent = request.agent_id().map_or(&[][..], |(id, _)| id);
    let mut hash = 0xcbf2_9ce4_8422_2325_u128 << 64 | 0x6c62_272e_07bb_0142;
    for byte in agent.iter().chain(trail.path).chain(body) {
        // FNV-1a, 128 bits.
        hash = (hash ^ u128::from(*byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
    }
    let mut key = bumpalo::collections::String::with_capacity_in(32, bump);
    for shift in (0..32).rev() {
        let digit = (hash >> (shift * 4)) as u8 & 0xf;
        key.push(char::from(b"0123456789abcdef"[usize::from(digit)]));
    }
    key.into_bump_str()
}

#[cfg(test)]
mod tests {
    use super::is_json;

    #[test]
    fn json_content_types() {
        for yes in [
            "application/json",
            "Application/JSON; charset=utf-8",
            "application/vnd.agtp+json",
            "a/b+JSON ;x",
        ] {
            assert!(is_json(yes), "{yes}");
        }
        for no in [
            "",
            "text/plain",
            "application/jsonp",
            "+json",
            "application/xml",
            "json",
            "text/\u{e9}\u{e9}\u{e9}",
        ] {
            assert!(!is_json(no), "{no}");
        }
    }
}
