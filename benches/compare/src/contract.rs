//! What BOOK of the sample deployment promises, as one would write it with serde_json and jsonschema: who asks, under
//! which authority, what goes in, what comes out. For the peers; the schemas are those of `endpoints/book-room.toml`.

use crate::Failure;
use crate::hotel::{Booking, Hotel};
use crate::request::CONCIERGE;
use jsonschema::{Draft, Validator};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

/// What the endpoint requires.
const SCOPE: &str = "booking:room";

pub struct Contract {
    /// Scopes by agent.
    agents: HashMap<[u8; 32], Vec<&'static str>>,
    input: Validator,
    output: Validator,
    hotel: Hotel,
    answers: AtomicU64,
}

pub struct Answer {
    pub status: u16,
    pub body: Vec<u8>,
    pub response_id: String,
}

impl Contract {
    pub fn new() -> Result<Contract, Failure> {
        let concierge = agent(CONCIERGE).ok_or("the concierge has no id")?;
        let validator = |schema: Value| {
            let options = jsonschema::options().with_draft(Draft::Draft202012).should_validate_formats(true);
            options.build(&schema).map_err(|error| error.to_string())
        };
        Ok(Contract {
            agents: HashMap::from([(concierge, vec!["booking:*", "reservations:*"])]),
            input: validator(input())?,
            output: validator(output())?,
            hotel: Hotel::new(),
            answers: AtomicU64::new(0),
        })
    }

    /// The answer to a request.
    pub fn answer(&self, agent_id: Option<&str>, scopes: Option<&str>, room: &str, body: &[u8]) -> Answer {
        let (status, value) = match self.book(agent_id, scopes, room, body) {
            Ok(value) => (200, value),
            Err((status, error)) => (status, json!({"error": error})),
        };
        let number = self.answers.fetch_add(1, Ordering::Relaxed);
        Answer { status, body: value.to_string().into_bytes(), response_id: format!("{number:032x}") }
    }

    fn book(
        &self,
        agent_id: Option<&str>,
        scopes: Option<&str>,
        room: &str,
        body: &[u8],
    ) -> Result<Value, (u16, &'static str)> {
        let agent = agent(agent_id.ok_or((262, "agent-required"))?).ok_or((400, "malformed-agent-id"))?;
        let granted = self.agents.get(&agent).ok_or((401, "unknown-agent"))?;
        authorise(granted, scopes.ok_or((262, "scope-required"))?)?;
        let mut input: Value = serde_json::from_slice(body).map_err(|_| (400, "malformed-json"))?;
        let members = input.as_object_mut().ok_or((422, "invalid-input"))?;
        members.insert("room_id".to_owned(), room.into());
        if !self.input.is_valid(&input) {
            return Err((422, "invalid-input"));
        }
        let booked = self.hotel.book(&booking(agent, &input)).map_err(|error| (422, error))?;
        let output = json!({
            "reservation_id": format!("rsv-{:06}", booked.number),
            "room_id": room,
            "status": "confirmed",
            "check_in": input["check_in"],
            "check_out": booked.check_out,
            "total_price": booked.total_price,
            "currency": "EUR",
        });
        if self.output.is_valid(&output) { Ok(output) } else { Err((500, "invalid-output")) }
    }
}

fn booking(agent: [u8; 32], input: &Value) -> Booking<'_> {
    let text = |name: &str| input[name].as_str();
    let number = |name: &str| input[name].as_u64().and_then(|number| u32::try_from(number).ok());
    Booking {
        agent,
        room: text("room_id").unwrap_or_default(),
        check_in: text("check_in").unwrap_or_default(),
        nights: number("nights").unwrap_or(1),
        guests: number("guests").unwrap_or(1),
        room_type: text("room_type"),
        breakfast: input["breakfast"].as_bool().unwrap_or(false),
        guest_name: text("guest_name").unwrap_or_default(),
        notes: text("notes").unwrap_or_default(),
    }
}

/// The bytes of 64 hexadecimal digits.
fn agent(id: &str) -> Option<[u8; 32]> {
    let mut agent = [0; 32];
    let (pairs, rest) = id.as_bytes().as_chunks::<2>();
    if pairs.len() != agent.len() || !rest.is_empty() {
        return None;
    }
    for (byte, [high, low]) in agent.iter_mut().zip(pairs) {
        *byte = (digit(*high)? << 4) | digit(*low)?;
    }
    Some(agent)
}

fn digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    }
}

/// Whether the agent has what it claims, and claims what the endpoint requires.
fn authorise(granted: &[&str], claimed: &str) -> Result<(), (u16, &'static str)> {
    let mut suffices = false;
    for scope in claimed.split(',').map(str::trim) {
        if !granted.iter().any(|granted| covers(granted, scope)) {
            return Err((455, "scope-violation"));
        }
        suffices |= covers(scope, SCOPE);
    }
    if suffices { Ok(()) } else { Err((262, "scope-required")) }
}

fn covers(wide: &str, narrow: &str) -> bool {
    wide == narrow || wide.strip_suffix('*').is_some_and(|prefix| narrow.starts_with(prefix))
}

fn input() -> Value {
    json!({
        "type": "object",
        "properties": {
            "room_id": {"type": "string", "minLength": 1, "maxLength": 16},
            "guest_name": {"type": "string", "minLength": 1, "maxLength": 60},
            "check_in": {"type": "string", "format": "date"},
            "nights": {"type": "integer", "minimum": 1, "maximum": 30},
            "guests": {"type": "integer", "minimum": 1, "maximum": 4},
            "room_type": {"type": "string", "enum": ["single", "double", "suite"]},
            "breakfast": {"type": "boolean"},
            "notes": {"type": "string", "maxLength": 120},
        },
        "required": ["room_id", "guest_name", "check_in", "nights"],
    })
}

fn output() -> Value {
    json!({
        "type": "object",
        "properties": {
            "reservation_id": {"type": "string"},
            "room_id": {"type": "string"},
            "status": {"type": "string", "enum": ["confirmed"]},
            "check_in": {"type": "string", "format": "date"},
            "check_out": {"type": "string", "format": "date"},
            "total_price": {"type": "number"},
            "currency": {"type": "string"},
        },
        "required": ["reservation_id", "room_id", "status", "check_in", "check_out", "total_price", "currency"],
    })
}

/// Headers that every answer of ours has too. (Ours also lists the methods it supports, 250 bytes; the peers are
/// spared that.)
pub const HEADERS: [(&str, &str); 6] = [
    ("server-id", "hotel.example"),
    ("agtp-methods-version", "1.0"),
    ("agent-id", CONCIERGE),
    ("owner-id", "hotel.example"),
    ("trust-tier", "1"),
    ("verification-path", "dns-anchored"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::{SCOPES, request};
    use agtp::bench::Protocol;

    #[test]
    fn the_contract_is_that_of_the_sample() {
        let contract = Contract::new().unwrap();
        let request = request(Protocol::Http);
        let at = request.windows(4).position(|bytes| bytes == b"\r\n\r\n").unwrap();
        let body = &request[at + 4..];
        let status = |agent, scopes, room, body: &[u8]| contract.answer(agent, scopes, room, body).status;
        let answer = contract.answer(Some(CONCIERGE), Some(SCOPES), "12", body);
        assert_eq!(
            serde_json::from_slice::<Value>(&answer.body).unwrap(),
            json!({"reservation_id": "rsv-000001", "room_id": "12", "status": "confirmed", "check_in": "2027-03-14",
                "check_out": "2027-03-17", "total_price": 441, "currency": "EUR"}),
        );
        assert_eq!(
            status(Some(CONCIERGE), Some(SCOPES), "12", body),
            200,
            "a repeat is the same reservation"
        );
        assert_eq!(status(None, Some(SCOPES), "12", body), 262);
        assert_eq!(status(Some(&"0".repeat(64)), Some(SCOPES), "12", body), 401);
        assert_eq!(status(Some(CONCIERGE), Some("rooms:read"), "12", body), 455);
        assert_eq!(status(Some(CONCIERGE), Some("reservations:read"), "12", body), 262);
        assert_eq!(status(Some(CONCIERGE), Some(SCOPES), "99", body), 422);
        assert_eq!(status(Some(CONCIERGE), Some(SCOPES), "12", b"{"), 400);
        assert_eq!(status(Some(CONCIERGE), Some(SCOPES), "12", b"{\"nights\":3}"), 422);
    }
}
