//! Attribution records, taken apart without the code that makes them.

use super::Answer;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::collections::HashMap;

/// 64 zeros: what the first record of a chain names as the one before.
pub const START: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// A record.
#[derive(Debug, Clone)]
pub struct Record {
    /// The compact JWS.
    pub jws: String,
    /// Its name.
    pub id: String,
    /// The decoded header.
    pub header: Value,
    /// The decoded payload.
    pub payload: Value,
    /// The signature; empty without.
    pub signature: Vec<u8>,
}

/// Lowercase hexadecimal SHA-256.
pub fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Record {
    /// Takes a compact JWS apart.
    pub fn parse(jws: &str) -> Record {
        let parts: Vec<&str> = jws.split('.').collect();
        let [header, payload, signature] = parts[..] else { panic!("no compact JWS: {jws}") };
        let decode = |part: &str| URL_SAFE_NO_PAD.decode(part).expect("base64url without padding");
        let json = |part: &str| serde_json::from_slice(&decode(part)).expect("JSON");
        Record {
            id: sha256(jws.as_bytes()),
            header: json(header),
            payload: json(payload),
            signature: decode(signature),
            jws: jws.to_owned(),
        }
    }

    /// The record that an answer carries; its Audit-ID must be right.
    pub fn of(answer: &Answer) -> Record {
        let record = Record::parse(answer.header("Attribution-Record").expect("an Attribution-Record"));
        assert_eq!(answer.header("Audit-ID"), Some(record.id.as_str()));
        assert_eq!(record.payload["status"], answer.status);
        assert_eq!(record.payload["response_id"], answer.header("Response-ID").expect("a Response-ID"));
        record
    }

    /// A text member.
    pub fn text(&self, key: &str) -> &str {
        self.payload[key].as_str().unwrap_or_else(|| panic!("{key} in {}", self.payload))
    }

    /// What is signed.
    pub fn signing_input(&self) -> &str {
        self.jws.rsplit_once('.').expect("two dots").0
    }
}

/// Puts the records of one chain, in any order, into theirs. Panics unless they are one chain from its start, without
/// a fork, a gap or a record twice.
pub fn in_order(records: &[Record]) -> Vec<&Record> {
    let mut by_previous = HashMap::new();
    for record in records {
        let twin = by_previous.insert(record.text("previous_audit_id"), record);
        assert!(twin.is_none(), "two records follow {}", record.text("previous_audit_id"));
    }
    let mut chain = Vec::new();
    let mut at = START;
    while let Some(record) = by_previous.remove(at) {
        at = &record.id;
        chain.push(record);
    }
    assert!(by_previous.is_empty(), "{} records are outside of the chain", by_previous.len());
    chain
}
