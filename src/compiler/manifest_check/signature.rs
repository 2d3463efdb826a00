//! The signature of a manifest (draft: Manifest Signature).
//!
//! A manifest must not be rejected for its signature alone: without a key, what is wrong with one is a warning. Who gives
//! a key asks whether the manifest is signed with it, and a no is an error.

use super::reader::At;
use crate::catalog::json::{Kind, Node};
use crate::compiler::canonical;
use crate::compiler::jws::{Envelope, MEMBER};
use crate::compiler::key::PublicKey;
use crate::compiler::rules;
use std::fmt;

/// What is known of a signature. The name of its key is the signature's own claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SignatureState {
    /// There is none.
    Absent,
    /// Its form is sound; whether it is genuine was not asked.
    Present(Option<String>),
    /// It was made with the given key.
    Verified(Option<String>),
    /// It is malformed, or was not made with the given key.
    Invalid,
}

impl SignatureState {
    /// In one word.
    pub const fn as_str(&self) -> &'static str {
        match self {
            SignatureState::Absent => "absent",
            SignatureState::Present(_) => "unverified",
            SignatureState::Verified(_) => "verified",
            SignatureState::Invalid => "invalid",
        }
    }

    /// What the signature calls its key.
    pub fn key_id(&self) -> Option<&str> {
        match self {
            SignatureState::Present(key_id) | SignatureState::Verified(key_id) => key_id.as_deref(),
            _ => None,
        }
    }
}

impl fmt::Display for SignatureState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SignatureState::Absent => f.write_str("signature: none"),
            SignatureState::Invalid => f.write_str("signature: invalid"),
            SignatureState::Verified(_) => f.write_str("signature: verified"),
            SignatureState::Present(_) => {
                f.write_str("signature: present, form checked only; give the server's public key with --key")
            }
        }?;
        self.key_id().map_or(Ok(()), |key_id| write!(f, " (key {key_id:?})"))
    }
}

/// Checks the signature of a manifest, against a key if there is one.
pub(super) fn check(root: &At<'_>, node: &Node, key: Option<&PublicKey>) -> SignatureState {
    let rule = if key.is_some() { &rules::MANIFEST_SIGNATURE } else { &rules::MANIFEST_UNSIGNED };
    let fault = |message, help: &str| root.fault_at(&format!("/{MEMBER}"), rule, message, help);
    let Some(value) = root.value.get(MEMBER).filter(|value| !value.is_null()) else {
        fault("the manifest is not signed".to_owned(), "sign it: [signing] key in agtp-server.toml");
        return SignatureState::Absent;
    };
    let checked = Envelope::parse(value).and_then(|envelope| {
        let Some(key) = key else { return Ok(SignatureState::Present(envelope.key_id)) };
        envelope.verify(&signed_part(node), key)?;
        Ok(SignatureState::Verified(envelope.key_id))
    });
    checked.unwrap_or_else(|why| {
        fault(
            format!("the signature does not hold: {why}"),
            "trust the manifest no more than an unsigned one",
        );
        SignatureState::Invalid
    })
}

/// The canonical manifest without its signature. Numbers are taken as they were written.
fn signed_part(node: &Node) -> String {
    let members = node.members().unwrap_or(&[]).iter().filter(|member| member.key != MEMBER);
    canonical::of_node(&Node { line: node.line, kind: Kind::Object(members.cloned().collect()) })
}
