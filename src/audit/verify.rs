//! Proves a chain: names, links, signatures (facts page 8).

use super::chain::{AuditId, ChainKey, Head, hex};
use aws_lc_rs::signature::{ED25519, UnparsedPublicKey};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::fmt;

/// What is wrong with an entry of a chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Break {
    /// Entries are missing before it.
    Gap {
        /// The position it should have.
        expected: u64,
    },
    /// It is no compact JWS whose header and payload are JSON objects.
    Malformed,
    /// It names another entry as the one before.
    Link,
    /// It is of another agent.
    Agent,
    /// It is not signed, and keys were given.
    Unsigned,
    /// No key that was given has signed it.
    Signature,
}

impl fmt::Display for Break {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Break::Gap { expected } => write!(f, "entry {expected} of its chain is missing"),
            Break::Malformed => f.write_str("it is no compact JWS with a JSON header and payload"),
            Break::Link => f.write_str("it does not name the entry before it"),
            Break::Agent => f.write_str("it is of another agent"),
            Break::Unsigned => f.write_str("it is not signed"),
            Break::Signature => f.write_str("its signature is not by the key given"),
        }
    }
}

/// Walks a chain from an anchor on.
#[derive(Debug)]
pub struct ChainCheck<'k> {
    key: ChainKey,
    keys: &'k [[u8; 32]],
    at: Head,
    signed: u64,
    checked: u64,
}

/// What an entry says, as far as a walk needs it.
#[derive(Debug)]
pub struct Claims {
    /// Its name.
    pub id: AuditId,
    /// The name of the entry before it.
    pub previous: String,
    /// Its payload.
    pub payload: Value,
    /// Whether it says that it is signed.
    pub signed: bool,
}

impl Claims {
    /// Reads an entry of a chain.
    pub fn read(record: &[u8], lifecycle: bool) -> Option<Claims> {
        let mut parts = std::str::from_utf8(record).ok()?.split('.');
        let (header, payload, _, None) = (parts.next()?, parts.next()?, parts.next()?, parts.next()) else {
            return None;
        };
        let json = |part: &str| serde_json::from_slice::<Value>(&URL_SAFE_NO_PAD.decode(part).ok()?).ok();
        let (header, payload) = (json(header)?, json(payload)?);
        let previous = if lifecycle { "previous_event_id" } else { "previous_audit_id" };
        let previous = payload.get(previous)?.as_str()?.to_owned();
        let signed = match header.get("alg")?.as_str()? {
            "EdDSA" => true,
            "none" => false,
            _ => return None,
        };
        Some(Claims { id: Sha256::digest(record).into(), previous, payload, signed })
    }
}

impl<'k> ChainCheck<'k> {
    /// A walk that begins behind `anchor`. Without keys, signatures are not looked at.
    pub fn new(key: ChainKey, anchor: Head, keys: &'k [[u8; 32]]) -> ChainCheck<'k> {
        ChainCheck { key, keys, at: anchor, signed: 0, checked: 0 }
    }

    /// Checks the next entry.
    ///
    /// # Errors
    /// When the chain is broken there.
    pub fn next(&mut self, position: u64, record: &[u8]) -> Result<(), Break> {
        if position != self.at.len {
            return Err(Break::Gap { expected: self.at.len });
        }
        let claims = Claims::read(record, self.key.is_lifecycle()).ok_or(Break::Malformed)?;
        if claims.previous.as_bytes() != hex(&self.at.id) {
            return Err(Break::Link);
        }
        let agent = self.key.agent().map(|agent| hex(&agent));
        let claimed = claims.payload.get("agent_id").and_then(Value::as_str).map(str::as_bytes);
        if claimed != agent.as_ref().map(<[u8; 64]>::as_slice) {
            return Err(Break::Agent);
        }
        if !self.keys.is_empty() {
            verify(self.keys, claims.signed, record)?;
        }
        self.signed += u64::from(claims.signed);
        self.checked += 1;
        self.at = Head { id: claims.id, len: position + 1 };
        Ok(())
    }

    /// How far it has got.
    pub fn head(&self) -> Head {
        self.at
    }

    /// Entries that were found to be right.
    pub fn checked(&self) -> u64 {
        self.checked
    }

    /// Those of them that say they are signed.
    pub fn signed(&self) -> u64 {
        self.signed
    }
}

fn verify(keys: &[[u8; 32]], signed: bool, record: &[u8]) -> Result<(), Break> {
    if !signed {
        return Err(Break::Unsigned);
    }
    let dot = record.iter().rposition(|byte| *byte == b'.').ok_or(Break::Malformed)?;
    let (message, signature) = (record.get(..dot), record.get(dot + 1..));
    let signature = URL_SAFE_NO_PAD.decode(signature.unwrap_or_default()).map_err(|_| Break::Signature)?;
    let message = message.unwrap_or_default();
    let by = |key: &[u8; 32]| UnparsedPublicKey::new(&ED25519, key).verify(message, &signature).is_ok();
    if keys.iter().any(by) { Ok(()) } else { Err(Break::Signature) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::{Ed25519, Facts, Ledger, LedgerOptions, Memory, Scratch};
    use crate::identity::Agents;
    use std::sync::Arc;

    const PEM: &str = "-----BEGIN PRIVATE KEY-----\n\
        MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n-----END PRIVATE KEY-----\n";

    /// Five records of nobody's chain.
    fn chain(signed: bool) -> (Vec<Vec<u8>>, [u8; 32]) {
        let key = Arc::new(Ed25519::from_pem(PEM, None).unwrap());
        let public = key.public_key().try_into().unwrap();
        let options = LedgerOptions::into_sink(Arc::new(Memory::new()));
        let options = if signed { LedgerOptions { signer: Some(key), ..options } } else { options };
        let ledger = Ledger::new("s", &Agents::NONE, options);
        for number in 0..5 {
            let facts = Facts {
                unix_ms: number,
                request_hash: &[0; 32],
                status: 200,
                session_id: None,
                task_id: None,
                request_id: None,
                response_id: b"r",
                action_id: None,
                requested_method: None,
                extra: b"",
            };
            ledger.write(&mut Scratch::default(), None, &facts, &mut Vec::new());
        }
        let mut records = ledger.sink().newest(&ChainKey::NOBODY, 5);
        records.reverse();
        (records, public)
    }

    /// Where a chain breaks, and why.
    fn walk(records: &[Vec<u8>], keys: &[[u8; 32]]) -> Option<(usize, Break)> {
        let mut check = ChainCheck::new(ChainKey::NOBODY, Head::default(), keys);
        let broken = |(position, record): (usize, &Vec<u8>)| {
            check.next(position as u64, record).err().map(|why| (position, why))
        };
        records.iter().enumerate().find_map(broken)
    }

    /// The same record with its payload changed and its signature left as it was.
    fn forged(record: &[u8], from: &str, to: &str) -> Vec<u8> {
        let text = std::str::from_utf8(record).unwrap();
        let parts: Vec<_> = text.split('.').collect();
        let payload = String::from_utf8(URL_SAFE_NO_PAD.decode(parts[1]).unwrap()).unwrap();
        assert!(payload.contains(from), "{payload}");
        format!("{}.{}.{}", parts[0], URL_SAFE_NO_PAD.encode(payload.replace(from, to)), parts[2]).into()
    }

    #[test]
    fn a_whole_chain_is_found_to_be_whole() {
        for signed in [false, true] {
            let (records, key) = chain(signed);
            assert_eq!(walk(&records, &[]), None);
            let with_key = walk(&records, &[[9; 32], key]);
            assert_eq!(with_key, (!signed).then_some((0, Break::Unsigned)));
        }
    }

    #[test]
    fn the_first_break_is_named_with_its_reason() {
        let (records, key) = chain(true);
        let changed = |change: &dyn Fn(&mut Vec<Vec<u8>>), keys: &[[u8; 32]]| {
            let mut records = records.clone();
            change(&mut records);
            walk(&records, keys)
        };
        // Without keys a change shows in the record behind it, with one in the record itself.
        let altered = |records: &mut Vec<Vec<u8>>| records[2] = forged(&records[2], "200", "500");
        assert_eq!(changed(&altered, &[]), Some((3, Break::Link)));
        assert_eq!(changed(&altered, &[key]), Some((2, Break::Signature)));
        let removed = |records: &mut Vec<Vec<u8>>| drop(records.remove(1));
        assert_eq!(changed(&removed, &[]), Some((1, Break::Link)));
        let swapped = |records: &mut Vec<Vec<u8>>| records.swap(3, 4);
        assert_eq!(changed(&swapped, &[]), Some((3, Break::Link)));
        let first_gone = |records: &mut Vec<Vec<u8>>| drop(records.remove(0));
        assert_eq!(changed(&first_gone, &[]), Some((0, Break::Link)));
        let of_another = "\"agent_id\":\"00\"";
        let given = |records: &mut Vec<Vec<u8>>| {
            records[4] = forged(&records[4], "\"agent_id\":null", of_another);
        };
        assert_eq!(changed(&given, &[]), Some((4, Break::Agent)));
        for nonsense in [&b""[..], b"a.b", b"a.b.c", b"e30.e30.", b"e30.e30..", b"\xff"] {
            let spoiled = |records: &mut Vec<Vec<u8>>| records[0] = nonsense.to_vec();
            assert_eq!(changed(&spoiled, &[]), Some((0, Break::Malformed)), "{nonsense:?}");
        }
        let mut check = ChainCheck::new(ChainKey::NOBODY, Head::default(), &[]);
        assert_eq!(check.next(1, &records[1]), Err(Break::Gap { expected: 0 }));
        assert_eq!(walk(&records, &[[9; 32]]), Some((0, Break::Signature)));
    }
}
