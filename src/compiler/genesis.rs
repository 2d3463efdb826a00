//! The Agent Genesis: the document that an Agent-ID is the digest of, signed by who issued it (facts page 7, D31).

use super::canonical;
use super::key::{PublicKey, SigningKey};
use crate::catalog::json::{Kind, Node};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

/// The members that the digest and the signature leave out: the signature itself and, since it cannot contain its own
/// hash, the id.
const UNSIGNED: [&str; 2] = ["signature", "agent_id"];

/// The bytes that the id is the digest of and that the signature covers.
pub(super) fn signed_bytes(genesis: &Node) -> String {
    let members = genesis.members().unwrap_or(&[]).iter();
    let signed = members.filter(|member| !UNSIGNED.contains(&member.key.as_str()));
    canonical::of_node(&Node { line: 1, kind: Kind::Object(signed.cloned().collect()) })
}

/// The Agent-ID of a Genesis's signed bytes.
pub(super) fn agent_id(signed_bytes: &str) -> String {
    Sha256::digest(signed_bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What is wrong with the signature of a Genesis: of which member, what, and what would be right.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct SignatureFinding {
    /// `issuer_public_key` or `signature`.
    pub(super) member: &'static str,
    pub(super) message: String,
    pub(super) help: &'static str,
}

/// Checks the signature of a Genesis against the key it names.
pub(super) fn check_signature(genesis: &Node, signed_bytes: &str) -> Result<(), SignatureFinding> {
    const KEY_HELP: &str = "write the issuer's Ed25519 public key: 32 bytes in base64url";
    const SIGNATURE_HELP: &str = "sign the canonical form again, or restore what was signed";
    let text = |member: &'static str, help| {
        let missing = SignatureFinding { member, message: format!("the Genesis has no {member}"), help };
        genesis.get(member).and_then(Node::as_str).ok_or(missing)
    };
    let finding = |member, message, help| SignatureFinding { member, message, help };
    let (key, signature) = (text("issuer_public_key", KEY_HELP)?, text("signature", SIGNATURE_HELP)?);
    let key = PublicKey::from_base64url(key)
        .map_err(|error| finding("issuer_public_key", format!("issuer_public_key is {error}"), KEY_HELP))?;
    key.verify(signed_bytes.as_bytes(), signature).map_err(|error| {
        finding("signature", format!("the signature of the Genesis is {error}"), SIGNATURE_HELP)
    })
}

/// Makes a Genesis of what is claimed: adds the issuer's key, the id and the signature.
pub fn issue(claims: Map<String, Value>, issuer: &SigningKey) -> Map<String, Value> {
    let mut genesis = claims;
    genesis.retain(|key, _| !UNSIGNED.contains(&key.as_str()));
    genesis.insert("issuer_public_key".to_owned(), issuer.public().to_base64url().into());
    let bytes = canonical::of_value(&Value::Object(genesis.clone()));
    genesis.insert("agent_id".to_owned(), agent_id(&bytes).into());
    genesis.insert("signature".to_owned(), issuer.sign(bytes.as_bytes()).into());
    genesis
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn issued() -> Map<String, Value> {
        let claims = json!({"owner_id": "acme", "scope": ["booking:*"], "trust_tier": 2, "signature": "old"});
        issue(claims.as_object().unwrap().clone(), &SigningKey::from_seed(&[7; 32]))
    }

    fn check(genesis: &Map<String, Value>) -> Result<(), SignatureFinding> {
        let node = Node::parse(&serde_json::to_string_pretty(genesis).unwrap()).unwrap();
        check_signature(&node, &signed_bytes(&node))
    }

    #[test]
    fn what_is_issued_verifies() {
        let genesis = issued();
        assert_eq!(check(&genesis), Ok(()));
        let node = Node::parse(&Value::Object(genesis.clone()).to_string()).unwrap();
        assert_eq!(genesis["agent_id"], agent_id(&signed_bytes(&node)));
    }

    #[test]
    fn whatever_is_tampered_with_is_noticed() {
        let other = SigningKey::from_seed(&[8; 32]);
        let signature = issued()["signature"].as_str().unwrap().to_owned();
        for (member, value, at) in [
            ("owner_id", json!("acmee"), "signature"),
            ("trust_tier", json!(1), "signature"),
            ("anything", json!(null), "signature"),
            ("issuer_public_key", json!(other.public().to_base64url()), "signature"),
            ("issuer_public_key", json!(3), "issuer_public_key"),
            ("issuer_public_key", json!("AAAA"), "issuer_public_key"),
            ("issuer_public_key", json!("a b"), "issuer_public_key"),
            ("signature", json!(null), "signature"),
            ("signature", json!(&signature[1..]), "signature"),
            ("signature", json!(format!("{signature}=")), "signature"),
            ("signature", json!(other.sign(b"else")), "signature"),
        ] {
            let mut genesis = issued();
            genesis.insert(member.to_owned(), value.clone());
            assert_eq!(check(&genesis).unwrap_err().member, at, "{member}: {value}");
        }
        for position in 0..signature.len() {
            let mut letters = signature.clone().into_bytes();
            letters[position] = if letters[position] == b'A' { b'B' } else { b'A' };
            let mut genesis = issued();
            genesis.insert("signature".to_owned(), String::from_utf8(letters).unwrap().into());
            assert!(check(&genesis).is_err(), "letter {position}");
        }
    }
}
