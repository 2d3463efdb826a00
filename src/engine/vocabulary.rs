//! Gate: is the method a word (draft: Method Rules, Policy Shape; D3, D11).

use super::refusal::Refusal;
use super::request::Request;
use super::{Engine, Trail};

/// Resolves the token: alias or legacy form in one hop, 459 when nobody knows it.
#[inline]
pub(super) fn resolve<'r>(
    engine: &'r Engine<'_>,
    request: &Request<'r>,
    trail: &mut Trail<'r>,
) -> Result<(), Refusal<'r>> {
    let token = request.method();
    let id = engine.registry.lookup(token).ok_or(Refusal::Method(token))?;
    let method = engine.registry.method(id);
    if !method.recognized {
        return Err(Refusal::Method(token));
    }
    trail.token = Some(id);
    trail.method = Some(method.dispatch);
    Ok(())
}
