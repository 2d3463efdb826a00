//! The deprecated `target` member of a DISCOVER body (draft: Legacy DISCOVER target= Body Form).
//!
//! `DISCOVER /` with `target` is the request for the reserved path of that name, whoever serves it; at a reserved path
//! it may only repeat the path. Either way it is taken out of the input, which is then held to the schema of the
//! endpoint that answers.

use super::refusal::Refusal;
use super::request::Request;
use super::{Engine, Event, Trail, Warning, authority, place};
use crate::json::Document;
use crate::registry::{Binding, Builtin, Segment};

/// The targets there ever were.
const TARGETS: [&str; 5] = ["/methods", "/agents", "/genesis", "/tools", "/apis"];

/// Goes to the endpoint that the body names, if this is a built-in DISCOVER and the body does.
#[inline]
pub(super) fn resolve<'r>(
    engine: &'r Engine<'_>,
    segments: &mut Vec<Segment>,
    request: &Request<'r>,
    trail: &mut Trail<'r>,
    document: &mut Document<'_>,
) -> Result<(), Refusal<'r>> {
    let binding = trail.endpoint.map(|id| engine.registry.endpoint(id).binding);
    match binding {
        Some(Binding::Builtin(builtin)) if builtin.is_discovery() => {
            go(engine, segments, request, trail, document, builtin)
        }
        _ => Ok(()),
    }
}

fn go<'r>(
    engine: &'r Engine<'_>,
    segments: &mut Vec<Segment>,
    request: &Request<'r>,
    trail: &mut Trail<'r>,
    document: &mut Document<'_>,
    builtin: Builtin,
) -> Result<(), Refusal<'r>> {
    // What is no string is left to the schema, which says so.
    let Some(target) = document.root().get("target").and_then(|target| target.as_str()) else {
        return Ok(());
    };
    if builtin != Builtin::Root {
        if trail.path.strip_prefix(b"/") != Some(target.as_bytes()) {
            return Err(Refusal::ConflictingTarget(target.into()));
        }
    } else {
        let named = TARGETS.iter().find(|path| path.strip_prefix('/') == Some(target));
        let Some(path) = named else { return Ok(()) };
        trail.path = path.as_bytes();
        place::find_literal(engine, segments, trail)?;
        authority::check(engine, request, trail)?;
    }
    document.remove("target");
    if engine.warn_once(Warning::TargetInBody, trail.agent) {
        (engine.log)(Event::TargetInBody { agent: trail.agent.map(|agent| engine.agents.str(agent.name)) });
    }
    Ok(())
}
