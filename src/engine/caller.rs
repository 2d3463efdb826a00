//! Gate: who calls (facts pages 2, 3, 7; D2).

use super::refusal::Refusal;
use super::request::Request;
use super::{Engine, Event, Warning};
use crate::identity::{Agent, Status, parse_agent_id};
use crate::wire::Field;

/// `Delegation-Chain` is reserved: 501.
#[inline]
pub(super) fn refuse_delegation<'r>(request: &Request<'r>) -> Result<(), Refusal<'r>> {
    match request.bytes_of(Field::DelegationChain) {
        Some(_) => Err(Refusal::Delegation),
        None => Ok(()),
    }
}

/// The agent a request names, `None` when it names none.
#[inline]
pub(super) fn identify<'r>(
    engine: &'r Engine<'_>,
    request: &Request<'r>,
) -> Result<Option<&'r Agent>, Refusal<'r>> {
    let Some((digits, old_name)) = request.agent_id() else { return Ok(None) };
    let id = parse_agent_id(digits).ok_or(Refusal::InvalidAgentId)?;
    // Before the lookup: what is known of an agent is not for somebody who is shown to be another.
    if request.peer.is_some_and(|peer| !peer.is(&id)) {
        return Err(Refusal::CertificateMismatch);
    }
    let agent = engine.agents.find(&id).ok_or(Refusal::UnknownAgent)?;
    if old_name && engine.warn_once(Warning::OldAgentHeader, Some(agent)) {
        (engine.log)(Event::OldAgentHeader { agent: engine.agents.str(agent.name) });
    }
    match engine.status_of(agent) {
        Status::Active | Status::Deprecated => Ok(Some(agent)),
        status @ (Status::Suspended | Status::Retired) => Err(Refusal::AgentStatus(status)),
    }
}

/// The agent a request names, if it is known, whether or not it may act: for what an answer says about it. Not if the
/// certificate is another's.
#[cold]
pub(super) fn named<'r>(engine: &'r Engine<'_>, request: &Request<'r>) -> Option<&'r Agent> {
    let (digits, _) = request.agent_id()?;
    let id = parse_agent_id(digits)?;
    request.peer.is_none_or(|peer| peer.is(&id)).then(|| engine.agents.find(&id))?
}
