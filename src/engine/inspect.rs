//! INSPECT: records, heads of chains, lifecycles (facts page 8).

use super::refusal::Refusal;
use super::respond::Answer;
use super::{Engine, Trail};
use crate::audit::{Access, ChainKey, Ledger, hex, payload_text, record_name};
use crate::identity::{Agent, AgentId, parse_agent_id};
use crate::json::{ObjectWriter, Value, write_object};
use crate::wire::Status;

/// What `chain_head` is asked for the chain of requests that name no known agent.
const NOBODY: &str = "nobody";

/// Events that a lifecycle lists without `limit`, and at most.
const USUAL_EVENTS: u64 = 20;
const MOST_EVENTS: u64 = 1000;

/// Answers `INSPECT /`. The schema has seen to it that a target has what it needs.
pub(super) fn run<'r>(
    engine: &'r Engine<'_>,
    trail: &Trail<'r>,
    input: Value<'_>,
    body: &mut Vec<u8>,
) -> Result<Answer<'r>, Refusal<'r>> {
    let Some(ledger) = &engine.ledger else { return Err(Refusal::NotServed) };
    let text = |key| input.get(key).and_then(|value: Value<'_>| value.as_str()).unwrap_or_default();
    match text("target") {
        "audit" => record(ledger, trail, text("audit_id"), body)?,
        "chain_head" => head(engine, ledger, trail, text("agent_id"), body)?,
        _ => {
            let limit = input.get("limit").and_then(|limit| limit.as_u64()).unwrap_or(USUAL_EVENTS);
            lifecycle(engine, ledger, trail, (text("agent_id"), limit.min(MOST_EVENTS)), body)?;
        }
    }
    Ok(Answer::rendered(Status::Ok))
}

/// Whether a caller may read what is about an agent.
fn admit<'r>(ledger: &Ledger, trail: &Trail<'_>, about: Option<&AgentId>) -> Result<(), Refusal<'r>> {
    let own = about.is_some() && trail.agent.map(|caller| &caller.id) == about;
    match ledger.read_acl() {
        Access::Public => Ok(()),
        Access::AgentOnly if own => Ok(()),
        Access::AgentOnly | Access::OperatorOnly => Err(Refusal::RecordsWithheld),
    }
}

fn record<'r>(
    ledger: &Ledger,
    trail: &Trail<'_>,
    audit_id: &str,
    body: &mut Vec<u8>,
) -> Result<(), Refusal<'r>> {
    if ledger.read_acl() == Access::OperatorOnly {
        // Nobody learns whether there is one.
        return Err(Refusal::RecordsWithheld);
    }
    let id = parse_agent_id(audit_id.as_bytes()).ok_or(Refusal::RecordNotFound)?;
    let record = ledger.sink().find(&id).ok_or(Refusal::RecordNotFound)?;
    let payload = payload_text(&record).unwrap_or_default();
    let about: serde_json::Value = serde_json::from_str(&payload).unwrap_or_default();
    let about = about.get("agent_id").and_then(|id| parse_agent_id(id.as_str()?.as_bytes()));
    admit(ledger, trail, about.as_ref())?;
    body.clear();
    write_object(body, |o| {
        o.str("audit_id", audit_id);
        write_entry(o, "attribution_record", &record, &payload);
    });
    Ok(())
}

fn write_entry(o: &mut ObjectWriter<'_>, name: &str, record: &[u8], payload: &str) {
    o.bytes_lossy(name, record).raw("payload", if payload.is_empty() { "null" } else { payload });
}

fn head<'r>(
    engine: &Engine<'_>,
    ledger: &Ledger,
    trail: &Trail<'_>,
    agent_id: &str,
    body: &mut Vec<u8>,
) -> Result<(), Refusal<'r>> {
    let agent = match agent_id {
        NOBODY => None,
        _ => Some(named(engine, agent_id)?),
    };
    admit(ledger, trail, agent.map(|agent| &agent.id))?;
    let head = ledger.head(agent.map(|agent| engine.row_of(agent)));
    if head.len == 0 {
        return Err(Refusal::RecordNotFound);
    }
    body.clear();
    write_object(body, |o| {
        o.str("agent_id", agent_id).bytes_lossy("audit_id", &hex(&head.id)).u64("length", head.len);
    });
    Ok(())
}

fn lifecycle<'r>(
    engine: &Engine<'_>,
    ledger: &Ledger,
    trail: &Trail<'_>,
    (agent_id, limit): (&str, u64),
    body: &mut Vec<u8>,
) -> Result<(), Refusal<'r>> {
    let agent = named(engine, agent_id)?;
    admit(ledger, trail, Some(&agent.id))?;
    let events = ledger.sink().newest(&ChainKey::lifecycle_of(&agent.id), limit as usize);
    body.clear();
    write_object(body, |o| {
        o.str("agent_id", agent_id).str("status", engine.status_of(agent).as_str());
        o.array("events", |list| {
            for event in &events {
                let payload = payload_text(event).unwrap_or_default();
                list.object(|o| {
                    o.bytes_lossy("event_id", &hex(&record_name(event)));
                    write_entry(o, "event_record", event, &payload);
                });
            }
        });
    });
    Ok(())
}

/// The agent that a parameter names.
pub(super) fn named<'e, 'r>(engine: &'e Engine<'_>, agent_id: &str) -> Result<&'e Agent, Refusal<'r>> {
    let id = parse_agent_id(agent_id.as_bytes()).ok_or(Refusal::AgentNotFound)?;
    engine.agents.find(&id).ok_or(Refusal::AgentNotFound)
}
