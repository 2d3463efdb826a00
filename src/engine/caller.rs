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
    let agent = engine.agents.find(&id).ok_or(Refusal::UnknownAgent)?;
    if old_name && engine.warn_once(Warning::OldAgentHeader, Some(agent)) {
        (engine.log)(Event::OldAgentHeader { agent: engine.agents.str(agent.name) });
    }
    match agent.status {
        Status::Active | Status::Deprecated => Ok(Some(agent)),
        Status::Suspended | Status::Retired => Err(Refusal::AgentStatus(agent)),
    }
}

/// The agent a request names, if it is known, whether or not it may act: for what an answer says about it.
#[cold]
pub(super) fn named<'r>(engine: &'r Engine<'_>, request: &Request<'r>) -> Option<&'r Agent> {
    let (digits, _) = request.agent_id()?;
    engine.agents.find(&parse_agent_id(digits)?)
}
