//! The answer: status line, headers, body (facts page 2, Response).
//!
//! Assembled from pre-rendered pieces: what depends only on status and configuration is one copy, and so are the
//! trust headers of a known agent and the two advisory headers.

use super::observe::Answered;
use super::request::Request;
use super::{Core, Engine, Scratch, Trail, attribution};
use crate::registry::Text;
use crate::wire::{Field, Status, push_decimal};

/// An answer, before it is bytes.
pub(super) struct Answer<'r> {
    pub(super) status: Status,
    pub(super) body: Body<'r>,
    pub(super) media: Media,
    /// Further header lines, rendered.
    pub(super) headers: &'r str,
}

/// Where the body is.
#[derive(Clone, Copy)]
pub(super) enum Body<'r> {
    /// In the core's body buffer.
    Rendered,
    /// Rendered when the registry was compiled.
    Fixed(&'r str),
    /// There is none.
    Absent,
}

/// What the body is.
#[derive(Clone, Copy)]
pub(super) enum Media {
    /// `application/vnd.agtp+json`
    Method,
    /// `application/vnd.agtp.manifest+json`
    Manifest,
}

impl<'r> Answer<'r> {
    pub(super) fn of(status: Status, body: Body<'r>) -> Self {
        Answer { status, body, media: Media::Method, headers: "" }
    }

    /// A handler's answer.
    pub(super) fn rendered(status: Status) -> Self {
        let body = if status == Status::NoContent { Body::Absent } else { Body::Rendered };
        Answer::of(status, body)
    }

    /// A refusal, already rendered.
    pub(super) fn error(status: Status) -> Self {
        Answer::of(status, Body::Rendered)
    }
}

/// Room for all header lines but the echoed ones, so that the buffer grows once if at all.
const USUAL_HEAD: usize = 1024;

/// Appends the answer to `out`.
#[inline]
pub(super) fn write(
    engine: &Engine<'_>,
    core: &mut Core,
    first: bool,
    request: &Request<'_>,
    trail: &Trail<'_>,
    answer: &Answer<'_>,
    out: &mut Vec<u8>,
) {
    let registry = engine.registry;
    let Core { ids, scratch, observer } = core;
    let Scratch { body, extra, record, held, .. } = scratch;
    let body = match answer.body {
        Body::Rendered => body.as_slice(),
        Body::Fixed(text) => text.as_bytes(),
        Body::Absent => &[],
    };
    let start = out.len();
    out.reserve(USUAL_HEAD + body.len());
    let head = registry.heads.get(answer.status.row()).copied().unwrap_or_default();
    out.extend_from_slice(head.bytes(&registry.text));
    let response_id = ids.next(request.now.unix_ms);
    out.extend_from_slice(&response_id);
    out.extend_from_slice(b"\r\n");
    write_echoes(request, out);
    if let Some(agent) = trail.agent {
        out.extend_from_slice(agent.trust_headers.bytes(&engine.agents.text));
    }
    if first {
        out.extend_from_slice(registry.supported_methods.bytes(&registry.text));
    }
    write_advisories(engine, trail, out);
    out.extend_from_slice(answer.headers.as_bytes());
    if let Some(ledger) = engine.ledger.as_deref().filter(|ledger| ledger.attributes()) {
        let answered = attribution::Answered { status: answer.status, response_id, ids, extra };
        held.merge(attribution::write(engine, ledger, record, request, trail, answered, out));
    }
    extra.clear();
    write_framing(answer, body, out);
    if let Some(observer) = observer {
        let bytes = out.len() - start;
        let (status, response_id) = (answer.status, response_id.as_slice());
        observer.answered(&Answered { engine, request, trail, status, response_id, body, bytes });
    }
}

/// The always-echoed three, verbatim.
#[inline]
fn write_echoes(request: &Request<'_>, out: &mut Vec<u8>) {
    let field = |field| request.head.field(field, request.bytes);
    let agent = field(Field::AgentId).or_else(|| field(Field::TargetAgent));
    for (name, value) in [
        ("Agent-ID: ", agent),
        ("Task-ID: ", field(Field::TaskId)),
        ("Request-ID: ", field(Field::RequestId)),
    ] {
        if let Some(value) = value {
            out.extend_from_slice(name.as_bytes());
            out.extend_from_slice(value);
            out.extend_from_slice(b"\r\n");
        }
    }
}

/// `AGTP-Catalog-Warning` and `AGTP-Endpoint-Warning`, on success and failure alike.
#[inline]
fn write_advisories(engine: &Engine<'_>, trail: &Trail<'_>, out: &mut Vec<u8>) {
    let registry = engine.registry;
    if let Some(token) = trail.token {
        let mut warning = registry.method(token).catalog_warning;
        // A redirected request is processed as if its target had been requested (draft: Policy Shape).
        if let Some(method) = trail.method.filter(|method| *method != token && warning == Text::EMPTY) {
            warning = registry.method(method).catalog_warning;
        }
        out.extend_from_slice(warning.bytes(&registry.text));
    }
    if let Some(endpoint) = trail.endpoint {
        out.extend_from_slice(registry.endpoint(endpoint).endpoint_warning.bytes(&registry.text));
    }
}

/// `Content-Length` frames every answer; one without a body carries no `Content-Type`.
#[inline]
fn write_framing(answer: &Answer<'_>, body: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(match (answer.body, answer.media) {
        (Body::Absent, _) => b"Content-Length: ".as_slice(),
        (_, Media::Method) => b"Content-Type: application/vnd.agtp+json\r\nContent-Length: ",
        (_, Media::Manifest) => b"Content-Type: application/vnd.agtp.manifest+json\r\nContent-Length: ",
    });
    push_decimal(out, body.len() as u64);
    out.extend_from_slice(b"\r\n\r\n");
    out.extend_from_slice(body);
}
