//! What a chain is made of, and what the ledger asks of its surroundings.

use crate::identity::AgentId;
use std::task::Waker;

/// Names a record: SHA-256 of the whole compact JWS (facts page 8).
pub type AuditId = [u8; 32];

/// Which chain: a byte for its kind, and the agent. Keys of one kind sort by agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChainKey([u8; 33]);

impl ChainKey {
    /// Records of requests that no known agent is named for.
    pub const NOBODY: ChainKey = ChainKey([0; 33]);

    const RECORDS: u8 = 1;
    const LIFECYCLE: u8 = 2;

    /// An agent's records.
    pub fn of_agent(agent: &AgentId) -> ChainKey {
        ChainKey::tagged(Self::RECORDS, agent)
    }

    /// The events of an agent's lifecycle.
    pub fn lifecycle_of(agent: &AgentId) -> ChainKey {
        ChainKey::tagged(Self::LIFECYCLE, agent)
    }

    /// The bytes of a key, as a store keeps them.
    pub const fn as_bytes(&self) -> &[u8; 33] {
        &self.0
    }

    /// A key from its bytes, if they are one's.
    pub fn from_bytes(bytes: [u8; 33]) -> Option<ChainKey> {
        let key = ChainKey(bytes);
        let sound = matches!(bytes[0], Self::RECORDS | Self::LIFECYCLE) || key == Self::NOBODY;
        sound.then_some(key)
    }

    /// The agent whose chain it is.
    pub fn agent(&self) -> Option<AgentId> {
        let [kind, agent @ ..] = self.0;
        (kind != 0).then_some(agent)
    }

    /// Whether its entries are events of a lifecycle, not records of answers.
    pub const fn is_lifecycle(&self) -> bool {
        self.0[0] == Self::LIFECYCLE
    }

    fn tagged(kind: u8, agent: &AgentId) -> ChainKey {
        let mut key = [kind; 33];
        if let Some(rest) = key.last_chunk_mut::<32>() {
            *rest = *agent;
        }
        ChainKey(key)
    }
}

/// Where a chain has got to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Head {
    /// The last entry; zeros before the first.
    pub id: AuditId,
    /// Entries so far.
    pub len: u64,
}

/// An entry on its way to a sink.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    /// Its chain.
    pub chain: &'a ChainKey,
    /// Its place there, counted from 0.
    pub position: u64,
    /// Its name.
    pub id: &'a AuditId,
    /// When it was made, milliseconds since 1970.
    pub unix_ms: u64,
    /// The compact JWS.
    pub record: &'a [u8],
    /// It must be kept even while the sink fails: what it tells of has been done.
    pub binding: bool,
}

/// Takes the entries of all chains, from all cores.
///
/// The ledger holds a chain's lock while it appends, so a chain's entries come in their order, and calls must be short.
pub trait Sink: Send + Sync {
    /// Takes an entry. The answer it belongs to may be sent once [`settled`](Self::settled) has reached the number
    /// returned; 0 is at once. Nothing is returned for an entry that is not kept: it does not become part of its chain.
    fn append(&self, entry: &Entry<'_>) -> Option<u64>;

    /// Up to where entries are as durable as the operator wants them.
    fn settled(&self) -> u64;

    /// Calls the waker once [`settled`](Self::settled) has reached that number, or the sink begins to fail.
    fn wake_when_settled(&self, number: u64, waker: &Waker);

    /// Whether entries cannot be stored at present.
    fn is_failing(&self) -> bool;

    /// Where a chain had got to when the process started.
    fn head(&self, chain: &ChainKey) -> Option<Head>;

    /// The entry of that name.
    fn find(&self, id: &AuditId) -> Option<Vec<u8>>;

    /// The last entries of a chain, the newest first.
    fn newest(&self, chain: &ChainKey, most: usize) -> Vec<Vec<u8>>;
}

/// Makes Ed25519 signatures.
pub trait Sign: Send + Sync {
    /// What the key is called in the `kid` of a record.
    fn key_id(&self) -> &str;

    /// The signature of some bytes.
    fn sign(&self, message: &[u8]) -> [u8; 64];
}

/// Bytes as lowercase hexadecimal digits.
pub(crate) fn hex(bytes: &[u8; 32]) -> [u8; 64] {
    let mut digits = [0; 64];
    for (pair, byte) in digits.as_chunks_mut::<2>().0.iter_mut().zip(bytes) {
        *pair = [digit(byte >> 4), digit(byte & 0xf)];
    }
    digits
}

const fn digit(nibble: u8) -> u8 {
    // No table and no branch: this compiles to vector code.
    nibble + b'0' + (b'a' - b'0' - 10) * (nibble > 9) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_survive_their_bytes_and_no_agent_is_nobody() {
        let zero = [0; 32];
        let keys = [
            ChainKey::NOBODY,
            ChainKey::of_agent(&zero),
            ChainKey::lifecycle_of(&zero),
            ChainKey::of_agent(&[7; 32]),
        ];
        for (index, key) in keys.iter().enumerate() {
            assert_eq!(ChainKey::from_bytes(*key.as_bytes()), Some(*key));
            assert!(keys.iter().skip(index + 1).all(|other| other != key));
        }
        assert_eq!((keys[0].agent(), keys[3].agent()), (None, Some([7; 32])));
        assert!(keys[2].is_lifecycle() && !keys[1].is_lifecycle());
        assert_eq!((ChainKey::from_bytes([3; 33]), ChainKey::from_bytes([9; 33])), (None, None));
    }

    #[test]
    fn hexadecimal_digits_are_lowercase() {
        let bytes = std::array::from_fn(|index| (index * 8 + 7) as u8);
        let expected: String = bytes.iter().map(|byte: &u8| format!("{byte:02x}")).collect();
        assert_eq!(hex(&bytes).as_slice(), expected.as_bytes());
    }
}
