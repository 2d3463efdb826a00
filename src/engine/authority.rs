//! Gate: authority (draft: Field Semantics, required_scopes; D24).
//!
//! A claim beyond the grant is 455 whether or not the endpoint needs it. Of the scopes an endpoint requires, one that
//! the claim omits is 262 when the identity document grants it (the agent could have claimed it) and 455 when it does
//! not. 455 speaks before 262.

use super::refusal::Refusal;
use super::request::Request;
use super::{Engine, Trail};
use crate::identity::{Agent, ScopeList, covers};
use crate::registry::Endpoint;
use crate::wire::Field;

/// Whether the caller may invoke the endpoint with what it claims.
#[inline]
pub(super) fn check<'r>(
    engine: &'r Engine<'_>,
    request: &Request<'r>,
    trail: &Trail<'r>,
) -> Result<(), Refusal<'r>> {
    let registry = engine.registry;
    let Some(endpoint) = trail.endpoint.map(|id| registry.endpoint(id)) else {
        return Err(Refusal::NotFound);
    };
    let Some(agent) = trail.agent else { return check_anonymous(engine, endpoint) };
    if registry.policies.enforce_agent_methods {
        check_method(engine, agent, trail)?;
    }
    let claimed = request.bytes_of(Field::AuthorityScope).unwrap_or(&[]);
    if !claimed.is_empty() && claimed == agent.grants_value.bytes(&engine.agents.text) {
        return check_full_claim(engine, agent, endpoint);
    }
    let claim = ScopeList(request.field(Field::AuthorityScope).unwrap_or(""));
    check_claim(engine, agent, claim)?;
    let mut omitted = false;
    for scope in endpoint.required_scopes.of(&registry.scopes) {
        let scope = registry.str(*scope);
        if !claim.covers(scope) {
            omitted = true;
            if !granted(engine, agent, scope) {
                return Err(Refusal::ScopeNotGranted);
            }
        }
    }
    let claims_nothing = registry.policies.scope_required_for_invocation
        && endpoint.needs_scope_header
        && claim.iter().next().is_none();
    if omitted || claims_nothing { Err(Refusal::ScopeRequired) } else { Ok(()) }
}

/// The usual case: the caller claims all it is granted, as `agtp call` does. Then what it claims is what it has.
#[inline]
fn check_full_claim<'r>(engine: &Engine<'_>, agent: &Agent, endpoint: &Endpoint) -> Result<(), Refusal<'r>> {
    let registry = engine.registry;
    let mut required = endpoint.required_scopes.of(&registry.scopes).iter();
    match required.all(|scope| granted(engine, agent, registry.str(*scope))) {
        true => Ok(()),
        false => Err(Refusal::ScopeNotGranted),
    }
}

fn check_anonymous<'r>(engine: &Engine<'_>, endpoint: &Endpoint) -> Result<(), Refusal<'r>> {
    match (endpoint.anonymous, engine.registry.policies.anonymous_discovery) {
        (true, true) => Ok(()),
        (true, false) => Err(Refusal::AnonymousDiscoveryDisabled),
        (false, _) => Err(Refusal::CredentialsMissing),
    }
}

/// Whether the agent's document lists the method in effect (D23). A document that lists none holds to none.
#[cold]
fn check_method<'r>(engine: &Engine<'_>, agent: &Agent, trail: &Trail<'_>) -> Result<(), Refusal<'r>> {
    let methods = agent.methods.of(&engine.agents.methods);
    let method = trail.method.map_or("", |id| engine.registry.method_name(id));
    match methods.is_empty() || methods.iter().any(|listed| engine.agents.str(*listed) == method) {
        true => Ok(()),
        false => Err(Refusal::MethodNotListed),
    }
}

fn check_claim<'r>(engine: &Engine<'_>, agent: &Agent, claim: ScopeList<'r>) -> Result<(), Refusal<'r>> {
    if let Some(item) = claim.malformed() {
        return Err(Refusal::MalformedScope(item));
    }
    match claim.iter().all(|scope| granted(engine, agent, scope)) {
        true => Ok(()),
        false => Err(Refusal::ClaimBeyondGrant),
    }
}

/// Whether an agent's document grants a scope.
pub(super) fn granted(engine: &Engine<'_>, agent: &Agent, scope: &str) -> bool {
    engine.agents.grants(agent).any(|grant| covers(grant, scope))
}
