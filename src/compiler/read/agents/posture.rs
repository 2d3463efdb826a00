//! What a server says about an agent.

use super::reader::Reader;
use crate::catalog::json::Kind;

/// What a server says about an agent: an explicit value in the identity document, else the Genesis value, else the
/// default (facts page 7).
pub(super) struct Posture {
    pub(super) trust_tier: u8,
    pub(super) verification_path: String,
    pub(super) trust_warning: Option<String>,
    pub(super) owner_id: Option<String>,
}

impl Posture {
    pub(super) fn resolve(identity: &Reader<'_>, genesis: Option<&Reader<'_>>) -> Posture {
        let in_genesis = |key| genesis.and_then(|genesis| genesis.header_value(key));
        let trust_tier = identity.tier().or_else(|| genesis?.tier()).unwrap_or(2);
        let path = identity.verification_path().or_else(|| genesis?.verification_path());
        let owner = identity.header_value("owner_id").or_else(|| in_genesis("owner_id"));
        Posture {
            trust_tier,
            verification_path: path.unwrap_or_else(|| "org-asserted".to_owned()),
            trust_warning: Posture::warning(identity, in_genesis("trust_warning"), trust_tier),
            owner_id: owner.or_else(|| in_genesis("owner")),
        }
    }

    /// An explicit `null` is the operator's decision that there is none.
    fn warning(identity: &Reader<'_>, in_genesis: Option<String>, tier: u8) -> Option<String> {
        let explicit = identity.node.get("trust_warning");
        if explicit.is_some_and(|node| node.kind == Kind::Null) {
            return None;
        }
        let incomplete = (tier == 2).then(|| "verification-incomplete".to_owned());
        identity.header_value("trust_warning").or(in_genesis).or(incomplete)
    }
}
