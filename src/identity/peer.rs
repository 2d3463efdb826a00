//! What a connection proves about who is at its other end.

use super::AgentId;

/// What a client's verified certificate says (D31).
///
/// Made by whoever terminates the encryption, and given to the connection's
/// [`Session`](crate::engine::Session::set_peer).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerIdentity {
    /// The agent that the certificate names. `None` when it names none, or more than one: then it proves no `Agent-ID`.
    pub agent_id: Option<AgentId>,
    /// SHA-256 of the certificate's raw Ed25519 public key, by which an issuer is recognised; `None` for a key of another
    /// kind.
    pub key_fingerprint: Option<[u8; 32]>,
}

impl PeerIdentity {
    /// Whether the certificate is that of this agent.
    pub fn is(&self, agent: &AgentId) -> bool {
        self.agent_id.as_ref() == Some(agent)
    }
}
