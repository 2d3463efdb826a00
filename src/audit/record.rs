//! The payload of a record and its compact JWS (facts page 8; RFC 7515, 7.1).

use super::chain::{AuditId, hex};
use super::push_rfc3339;
use crate::json::{ObjectWriter, write_object};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};
use std::io::Write as _;

/// What a core makes records in.
#[derive(Default)]
pub(crate) struct Scratch {
    payload: Vec<u8>,
}

/// What a record says of an answer.
pub(crate) struct Facts<'a> {
    pub(crate) unix_ms: u64,
    /// SHA-256 of the request as received.
    pub(crate) request_hash: &'a [u8; 32],
    pub(crate) status: u16,
    pub(crate) session_id: Option<&'a str>,
    pub(crate) task_id: Option<&'a str>,
    pub(crate) request_id: Option<&'a str>,
    pub(crate) response_id: &'a [u8],
    /// Of a state-changing method.
    pub(crate) action_id: Option<&'a [u8]>,
    /// When the method served is another.
    pub(crate) requested_method: Option<&'a str>,
    /// An object that the handler made; empty if it made none.
    pub(crate) extra: &'a [u8],
}

/// Bytes of a payload between its last whole group of three and the name of the previous record.
const MOST_CARRIED: usize = 2;

/// What ends a payload behind the name of the previous record.
const END: &[u8; 2] = b"\"}";

/// Bytes of a payload that are not known before the chain is locked.
const TAIL: usize = MOST_CARRIED + 64 + END.len();

/// A record but for the name of the previous one: all that can be done outside a chain's lock.
pub(super) struct Begun {
    hasher: Sha256,
    /// Where in the output the compact JWS begins.
    start: usize,
    /// Where what is hashed already ends.
    hashed: usize,
    /// Bytes of the payload that are not encoded yet.
    carried: [u8; MOST_CARRIED],
    carried_len: usize,
}

/// Appends the encoded header and as much of the payload as can be.
///
/// `server` and `caller` are members rendered before: `"server_id":…` and `"agent_id":…,"owner_id":…`.
pub(super) fn begin(
    scratch: &mut Scratch,
    header: &str,
    (server, caller): (&str, &str),
    facts: &Facts<'_>,
    out: &mut Vec<u8>,
) -> Begun {
    let payload = &mut scratch.payload;
    payload.clear();
    write_payload(payload, (server, caller), facts);
    encode_all_but_the_name(payload, header, out)
}

/// Encodes a payload that ends where the name of the previous entry is to stand.
pub(super) fn encode_all_but_the_name(payload: &[u8], header: &str, out: &mut Vec<u8>) -> Begun {
    let start = out.len();
    out.extend_from_slice(header.as_bytes());
    let (groups, rest) = payload.split_at(payload.len() / 3 * 3);
    append_base64(groups, out);
    let mut hasher = Sha256::new();
    hasher.update(out.get(start..).unwrap_or_default());
    let mut carried = [0; MOST_CARRIED];
    carried.iter_mut().zip(rest).for_each(|(place, byte)| *place = *byte);
    Begun { hasher, start, hashed: out.len(), carried, carried_len: rest.len() }
}

fn write_payload(payload: &mut Vec<u8>, (server, caller): (&str, &str), facts: &Facts<'_>) {
    payload.push(b'{');
    payload.extend_from_slice(server.as_bytes());
    payload.extend_from_slice(b",\"issued_at\":\"");
    push_rfc3339(payload, facts.unix_ms);
    payload.extend_from_slice(b"\",\"request_hash\":\"");
    payload.extend_from_slice(&hex(facts.request_hash));
    payload.extend_from_slice(b"\",\"status\":");
    crate::wire::push_decimal(payload, facts.status.into());
    payload.push(b',');
    payload.extend_from_slice(caller.as_bytes());
    for (name, value) in [
        (",\"session_id\":", facts.session_id),
        (",\"task_id\":", facts.task_id),
        (",\"request_id\":", facts.request_id),
    ] {
        if let Some(value) = value {
            payload.extend_from_slice(name.as_bytes());
            crate::json::push_string(payload, value);
        }
    }
    payload.extend_from_slice(b",\"response_id\":\"");
    payload.extend_from_slice(facts.response_id);
    if let Some(action_id) = facts.action_id {
        payload.extend_from_slice(b"\",\"action_id\":\"");
        payload.extend_from_slice(action_id);
    }
    payload.extend_from_slice(b"\",\"audit_record_version\":\"1\"");
    if let Some(method) = facts.requested_method {
        payload.extend_from_slice(b",\"requested_method\":");
        crate::json::push_string(payload, method);
    }
    if !facts.extra.is_empty() {
        payload.extend_from_slice(b",\"extra\":");
        payload.extend_from_slice(facts.extra);
    }
    payload.extend_from_slice(b",\"previous_audit_id\":\"");
}

/// Members of an event of a lifecycle, up to the name of the previous one.
pub(super) fn begin_event(
    scratch: &mut Scratch,
    header: &str,
    out: &mut Vec<u8>,
    write: impl FnOnce(&mut ObjectWriter<'_>),
) -> Begun {
    let payload = &mut scratch.payload;
    payload.clear();
    write_object(payload, write);
    // Its closing bracket is what ends the payload.
    payload.pop();
    payload.extend_from_slice(b",\"previous_event_id\":\"");
    encode_all_but_the_name(payload, header, out)
}

impl Begun {
    /// Completes the record with the name of the previous one and the signature, if it gets one; gives its own name.
    #[inline]
    pub(super) fn finish(
        mut self,
        previous: &AuditId,
        sign: Option<&dyn super::Sign>,
        out: &mut Vec<u8>,
    ) -> AuditId {
        let mut tail = [0; TAIL];
        let digits = hex(previous);
        let mut rest = tail.as_mut_slice();
        for part in [self.carried.get(..self.carried_len).unwrap_or_default(), &digits, END] {
            // It never fails: the tail has room for the longest.
            let _ = rest.write_all(part);
        }
        let unused = rest.len();
        append_base64(tail.get(..TAIL - unused).unwrap_or_default(), out);
        let signature = sign.map(|sign| sign.sign(out.get(self.start..).unwrap_or_default()));
        out.push(b'.');
        if let Some(signature) = signature {
            append_base64(&signature, out);
        }
        self.hasher.update(out.get(self.hashed..).unwrap_or_default());
        self.hasher.finalize().into()
    }

    /// Where it begins.
    pub(super) fn start(&self) -> usize {
        self.start
    }
}

/// The name of a record.
pub(crate) fn name(record: &[u8]) -> AuditId {
    Sha256::digest(record).into()
}

/// The decoded payload of a compact JWS.
pub(crate) fn payload_text(record: &[u8]) -> Option<String> {
    let payload = record.split(|byte| *byte == b'.').nth(1)?;
    String::from_utf8(URL_SAFE_NO_PAD.decode(payload).ok()?).ok()
}

/// The same, parsed.
pub(super) fn payload(record: &[u8]) -> Option<serde_json::Value> {
    serde_json::from_str(&payload_text(record)?).ok()
}

/// Appends bytes in base64url without padding.
fn append_base64(bytes: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    out.resize(start + bytes.len().div_ceil(3) * 4, 0);
    let space = out.get_mut(start..).unwrap_or_default();
    // There is room for whole groups of four, which is all it can need.
    let written = URL_SAFE_NO_PAD.encode_slice(bytes, space).unwrap_or(0);
    out.truncate(start + written);
}

/// The encoded header of every record with its dot: by whom it is signed.
pub(super) fn header(sign: Option<&dyn super::Sign>) -> String {
    let mut header = Vec::new();
    write_object(&mut header, |o| match sign {
        Some(sign) => {
            o.str("alg", "EdDSA").str("typ", "JWT").str("kid", sign.key_id());
        }
        None => {
            o.str("alg", "none");
        }
    });
    let mut header = URL_SAFE_NO_PAD.encode(header);
    header.push('.');
    header
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts<'a>(hash: &'a [u8; 32], request_id: &'a str) -> Facts<'a> {
        Facts {
            unix_ms: 0,
            request_hash: hash,
            status: 200,
            session_id: None,
            task_id: None,
            request_id: Some(request_id),
            response_id: b"0",
            action_id: None,
            requested_method: None,
            extra: b"",
        }
    }

    /// The payload's length modulo three decides how it is cut: all three ways give the encoding of the whole.
    #[test]
    fn a_record_made_in_two_parts_is_the_encoding_of_its_payload() {
        let (hash, previous) = ([0xab; 32], [0xcd; 32]);
        for request_id in ["", "1", "12", "123", "with \"quotes\" and \\"] {
            let mut out = b"before".to_vec();
            let header = header(None);
            let members = ("\"server_id\":\"s\"", "\"agent_id\":null,\"owner_id\":null");
            let facts = facts(&hash, request_id);
            let begun = begin(&mut Scratch::default(), &header, members, &facts, &mut out);
            let start = begun.start();
            let id = begun.finish(&previous, None, &mut out);
            let record = &out[start..];
            assert_eq!(id, <[u8; 32]>::from(Sha256::digest(record)));
            let text = std::str::from_utf8(record).unwrap();
            let [head, payload, ""] = text.split('.').collect::<Vec<_>>()[..] else { panic!("{text}") };
            assert_eq!(URL_SAFE_NO_PAD.decode(head).unwrap(), br#"{"alg":"none"}"#);
            let payload: serde_json::Value =
                serde_json::from_slice(&URL_SAFE_NO_PAD.decode(payload).unwrap()).unwrap();
            assert_eq!(payload["request_id"], request_id);
            assert_eq!(payload["previous_audit_id"], "cd".repeat(32));
            assert_eq!(payload["request_hash"], "ab".repeat(32));
        }
    }
}
