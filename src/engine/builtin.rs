//! The endpoints every server has (draft: Server Metadata via AGTP Methods; D1, D28).

use super::refusal::Refusal;
use super::request::Request;
use super::respond::{Answer, Body, Media};
use super::{Engine, Trail, discover, inspect, lifecycle};
use crate::audit::{Change, Held};
use crate::identity::{Agent, parse_agent_id};
use crate::json::Value;
use crate::registry::{Builtin, Disclosure, Text};
use crate::wire::{Field, Status};

/// The media type that always selects the manifest (D1).
const MANIFEST: &str = "application/vnd.agtp.manifest+json";

/// Answers a built-in endpoint.
pub(super) fn run<'r>(
    engine: &'r Engine<'_>,
    request: &Request<'r>,
    trail: &Trail<'r>,
    builtin: Builtin,
    input: Value<'_>,
    (body, held): (&mut Vec<u8>, &mut Held),
) -> Result<Answer<'r>, Refusal<'r>> {
    let documents = &engine.registry.documents;
    let mut change = |change| lifecycle::run(engine, request, trail, change, input, (body, held));
    match builtin {
        Builtin::Root => root(engine, request, trail, input, body),
        Builtin::Methods => Ok(fixed(engine, documents.methods)),
        Builtin::Agents if discloses(engine, request, trail) => Ok(fixed(engine, documents.agents)),
        Builtin::Agents => Ok(Answer::of(Status::Ok, Body::Fixed("[]"))),
        Builtin::Genesis => genesis(engine, trail, input),
        Builtin::Tools => Ok(fixed(engine, documents.tools)),
        Builtin::Apis => Ok(fixed(engine, documents.apis)),
        Builtin::Patterns => Ok(fixed(engine, documents.patterns)),
        Builtin::Contracts => Ok(fixed(engine, documents.contracts)),
        Builtin::Propose => Err(Refusal::SynthesisDisabled),
        Builtin::Inspect => inspect::run(engine, trail, input, body),
        Builtin::Activate => change(Change::Activate),
        Builtin::Deactivate => change(Change::Deactivate),
        Builtin::Reinstate => change(Change::Reinstate),
        Builtin::Revoke => change(Change::Revoke),
        Builtin::Deprecate => change(Change::Deprecate),
        Builtin::FloorUnserved => Err(Refusal::NotServed),
    }
}

fn fixed<'r>(engine: &'r Engine<'_>, document: Text) -> Answer<'r> {
    Answer::of(Status::Ok, Body::Fixed(engine.registry.str(document)))
}

/// `DISCOVER /`: the manifest for a caller without Agent-ID or one that asks for it, else the candidates that criteria
/// select, else the directory.
fn root<'r>(
    engine: &'r Engine<'_>,
    request: &Request<'r>,
    trail: &Trail<'r>,
    input: Value<'_>,
    body: &mut Vec<u8>,
) -> Result<Answer<'r>, Refusal<'r>> {
    if trail.agent.is_none() || request.field(Field::Accept).is_some_and(accepts_manifest) {
        return Ok(manifest(engine, request, trail));
    }
    match input.get("criteria") {
        Some(criteria) => {
            discover::rank(engine, input, criteria, body);
            Ok(Answer::rendered(Status::Ok))
        }
        None => Ok(fixed(engine, engine.registry.documents.directory)),
    }
}

fn accepts_manifest(accept: &str) -> bool {
    let media = |item: &str| item.split(';').next().unwrap_or("").trim_ascii().eq_ignore_ascii_case(MANIFEST);
    accept.split(',').any(media)
}

fn manifest<'r>(engine: &'r Engine<'_>, request: &Request<'r>, trail: &Trail<'r>) -> Answer<'r> {
    let documents = &engine.registry.documents;
    let (body, headers) = match discloses(engine, request, trail) {
        true => (documents.manifest, documents.manifest_headers),
        false => (documents.manifest_withheld, documents.manifest_withheld_headers),
    };
    Answer {
        status: Status::Ok,
        body: Body::Fixed(engine.registry.str(body)),
        media: Media::Manifest,
        headers: engine.registry.str(headers),
    }
}

/// Whether this caller is told which agents there are.
fn discloses(engine: &Engine<'_>, request: &Request<'_>, trail: &Trail<'_>) -> bool {
    match engine.registry.disclosure {
        Disclosure::Public => true,
        Disclosure::Authenticated if engine.certificates_required => {
            trail.agent.is_some_and(|agent| request.peer.is_some_and(|peer| peer.is(&agent.id)))
        }
        Disclosure::Authenticated => trail.agent.is_some(),
        Disclosure::Private => false,
    }
}

/// `DISCOVER /genesis`: of `?agent_id=`, else of the caller (D28).
fn genesis<'r>(
    engine: &'r Engine<'_>,
    trail: &Trail<'r>,
    input: Value<'_>,
) -> Result<Answer<'r>, Refusal<'r>> {
    let agent: Option<&Agent> = match input.get("agent_id").and_then(|id| id.as_str()) {
        Some(id) => {
            let id = parse_agent_id(id.as_bytes()).ok_or(Refusal::AgentNotFound)?;
            Some(engine.agents.find(&id).ok_or(Refusal::AgentNotFound)?)
        }
        None => trail.agent,
    };
    match agent.map(|agent| engine.agents.str(agent.genesis)).filter(|genesis| !genesis.is_empty()) {
        Some(genesis) => Ok(Answer::of(Status::Ok, Body::Fixed(genesis))),
        None => Err(Refusal::GenesisNotFound),
    }
}
