//! A request head with its bytes.

use super::Now;
use crate::identity::PeerIdentity;
use crate::wire::{Field, Head};

/// The head of a request, resolved against the bytes it was parsed from.
#[derive(Clone, Copy)]
pub(super) struct Request<'r> {
    pub(super) head: &'r Head,
    pub(super) bytes: &'r [u8],
    pub(super) now: Now,
    /// What the client's certificate proves; nothing without one.
    pub(super) peer: Option<&'r PeerIdentity>,
    /// SHA-256 of the request as received, when answers are attributed.
    pub(super) hash: Option<&'r [u8; 32]>,
}

impl<'r> Request<'r> {
    pub(super) fn new(head: &'r Head, bytes: &'r [u8], now: Now) -> Self {
        Request { head, bytes, now, peer: None, hash: None }
    }

    /// The same, from a client that showed this.
    pub(super) fn with_peer(self, peer: Option<&'r PeerIdentity>) -> Self {
        Request { peer, ..self }
    }

    /// The same with its hash.
    pub(super) fn hashed(self, hash: Option<&'r [u8; 32]>) -> Self {
        Request { hash, ..self }
    }

    /// The method token as on the wire.
    #[inline]
    pub(super) fn method(&self) -> &'r [u8] {
        self.head.method.of(self.bytes)
    }

    /// The path as on the wire; `/` when the request line had no target (D1).
    #[inline]
    pub(super) fn path(&self) -> &'r [u8] {
        self.head.path(self.bytes)
    }

    /// A known header's value. Values are printable ASCII, which the parser saw to.
    #[inline]
    pub(super) fn field(&self, field: Field) -> Option<&'r str> {
        std::str::from_utf8(self.bytes_of(field)?).ok()
    }

    /// `Agent-ID`, or its old name `Target-Agent`; the new name wins (D21). Second: whether the old name was used.
    #[inline]
    pub(super) fn agent_id(&self) -> Option<(&'r [u8], bool)> {
        match self.bytes_of(Field::AgentId) {
            Some(id) => Some((id, false)),
            None => self.bytes_of(Field::TargetAgent).map(|id| (id, true)),
        }
    }

    /// A known header's value as it came. What only compares needs no string.
    #[inline]
    pub(super) fn bytes_of(&self, field: Field) -> Option<&'r [u8]> {
        self.head.field(field, self.bytes)
    }
}
