//! Gate: path grammar and method leakage (460), redirects, method policy (405), routing (404 / 405).
//!
//! D7 makes a path that any endpoint matches exempt from 460, so the leak check runs only where routing fails, or
//! where something that comes after 460 would speak first (a redirect, the policy). The order an outsider sees is
//! D2's all the same.

use super::refusal::Refusal;
use super::request::Request;
use super::{Engine, Scratch, Trail};
use crate::registry::{MethodId, Segment, split_segments};
use crate::wire::check_path;

/// Finds the endpoint, or says which of 460, 405 and 404 it is.
#[inline]
pub(super) fn find<'r>(
    engine: &'r Engine<'_>,
    scratch: &mut Scratch,
    request: &Request<'r>,
    trail: &mut Trail<'r>,
) -> Result<(), Refusal<'r>> {
    let Some(method) = trail.method else { return Err(Refusal::Method(request.method())) };
    route(engine, &mut scratch.segments, method, request.path(), trail)
}

/// The same for a method and a path that no request line names: a step's.
#[inline]
pub(super) fn route<'r>(
    engine: &'r Engine<'_>,
    segments: &mut Vec<Segment>,
    mut method: MethodId,
    path: &'r [u8],
    trail: &mut Trail<'r>,
) -> Result<(), Refusal<'r>> {
    let registry = engine.registry;
    check_path(path).map_err(Refusal::Path)?;
    split(engine, path, segments);

    let mut row = registry.method(method);
    let mut redirected = false;
    if !row.redirects.is_empty() {
        refuse_leak(engine, path, segments)?;
        if let Some((to, to_path)) = redirect(engine, method, path) {
            redirected = true;
            (method, row) = (to, registry.method(to));
            trail.method = Some(method);
            if !to_path.is_empty() {
                trail.path = to_path.as_bytes();
                split(engine, trail.path, segments);
            }
        }
    }
    if !row.admitted {
        if !redirected {
            refuse_leak(engine, path, segments)?;
        }
        return Err(Refusal::PolicyRefused);
    }
    trail.endpoint = registry.router.route(row.routes, trail.path, segments, &registry.text);
    match trail.endpoint {
        Some(_) => Ok(()),
        None => Err(miss(engine, segments, trail.path, redirected)),
    }
}

/// Finds the endpoint of another path that the request turns out to name: a literal one without verbs in it.
#[cold]
pub(super) fn find_literal<'r>(
    engine: &'r Engine<'_>,
    segments: &mut Vec<Segment>,
    trail: &mut Trail<'r>,
) -> Result<(), Refusal<'r>> {
    let registry = engine.registry;
    split(engine, trail.path, segments);
    let routes = trail.method.map(|method| registry.method(method).routes);
    trail.endpoint =
        routes.and_then(|routes| registry.router.route(routes, trail.path, segments, &registry.text));
    match trail.endpoint {
        Some(_) => Ok(()),
        None => Err(miss(engine, segments, trail.path, true)),
    }
}

/// Splits a path as far as routing needs it.
#[inline]
pub(super) fn split(engine: &Engine<'_>, path: &[u8], segments: &mut Vec<Segment>) {
    // A path deeper than every template matches none; one segment too many tells.
    split_segments(path, engine.registry.router.deepest as usize + 1, segments);
}

/// Which refusal a path without an endpoint for its method gets.
#[cold]
fn miss<'r>(engine: &'r Engine<'_>, segments: &[Segment], path: &'r [u8], redirected: bool) -> Refusal<'r> {
    if is_known(engine, path, segments) {
        return Refusal::MethodNotAllowed;
    }
    // A redirect's target was checked when it was compiled.
    match engine.registry.leak.first_leak(path).filter(|_| !redirected) {
        Some(segment) => Refusal::Leak(segment),
        None => Refusal::NotFound,
    }
}

/// 460 for a path that carries a verb and that no endpoint matches.
#[cold]
fn refuse_leak<'r>(engine: &'r Engine<'_>, path: &'r [u8], segments: &[Segment]) -> Result<(), Refusal<'r>> {
    match engine.registry.leak.first_leak(path) {
        Some(segment) if !is_known(engine, path, segments) => Err(Refusal::Leak(segment)),
        _ => Ok(()),
    }
}

fn is_known(engine: &Engine<'_>, path: &[u8], segments: &[Segment]) -> bool {
    let registry = engine.registry;
    let mut known = false;
    registry.router.known(path, segments, &registry.text, &mut |_| known = true);
    known
}

/// The first redirect entry in file order that matches the pair as requested (D4, D23).
#[cold]
fn redirect<'r>(engine: &'r Engine<'_>, method: MethodId, path: &[u8]) -> Option<(MethodId, &'r str)> {
    let registry = engine.registry;
    let entries = registry.method(method).redirects.of(&registry.redirects);
    let entry = entries
        .iter()
        .find(|entry| entry.from_path.is_empty() || registry.str(entry.from_path).as_bytes() == path)?;
    Some((entry.to, registry.str(entry.to_path)))
}
