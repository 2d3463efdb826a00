//! Who calls: the agents a server knows, what they may claim, and what is said about them.
//!
//! Like the registry, the table is either compiled in or built at start, and a request only looks things up.

mod peer;
mod scope;

pub use peer::PeerIdentity;
pub use scope::{ScopeList, covers, is_scope};

use crate::registry::{Rows, Table, Text};
use std::borrow::Cow;

/// A canonical Agent-ID: SHA-256 of the agent's Genesis (facts page 7).
pub type AgentId = [u8; 32];

/// Status of an identity document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Status {
    /// Served.
    #[default]
    Active,
    /// 503 `agent-suspended`.
    Suspended,
    /// 410 `agent-revoked`.
    Retired,
    /// Served.
    Deprecated,
}

impl Status {
    /// As in the identity document.
    pub const fn as_str(self) -> &'static str {
        match self {
            Status::Active => "active",
            Status::Suspended => "suspended",
            Status::Retired => "retired",
            Status::Deprecated => "deprecated",
        }
    }
}

/// One agent.
#[derive(Clone, Copy, Debug)]
pub struct Agent {
    /// Its id.
    pub id: AgentId,
    /// Its operator-assigned short name.
    pub name: Text,
    /// Its status.
    pub status: Status,
    /// Granted scopes: rows of [`Agents::scopes`].
    pub grants: Rows,
    /// The grants as one `Authority-Scope` value: a claim equal to it needs no comparison scope by scope.
    pub grants_value: Text,
    /// Methods of `requires.methods`: rows of [`Agents::methods`], used only with `enforce_agent_methods` (D23).
    pub methods: Rows,
    /// `Owner-ID`, `Trust-Tier`, `Verification-Path`, `Trust-Warning` lines as far as they apply, rendered.
    pub trust_headers: Text,
    /// The Genesis in canonical form, `signature` included; empty when none is loaded.
    pub genesis: Text,
}

/// The agents of a deployment. Strings are ranges of [`Agents::text`].
#[derive(Clone, Debug)]
pub struct Agents {
    /// All strings.
    pub text: Cow<'static, str>,
    /// Open-addressed index by [`Agents::home`]: agent row + 1, 0 when free. Its length is a power of
    /// two and at least twice the number of agents, so probes are short and end.
    pub index: Table<u32>,
    /// The agents, sorted by id.
    pub agents: Table<Agent>,
    /// Granted scopes.
    pub scopes: Table<Text>,
    /// Required methods.
    pub methods: Table<Text>,
}

impl Agents {
    /// No agents.
    pub const NONE: Agents = Agents {
        text: Cow::Borrowed(""),
        index: Cow::Borrowed(&[0, 0]),
        agents: Cow::Borrowed(&[]),
        scopes: Cow::Borrowed(&[]),
        methods: Cow::Borrowed(&[]),
    };

    /// Where in an index of `len` slots (a power of two) the search for an id begins.
    #[inline]
    pub fn home(id: &AgentId, len: usize) -> usize {
        const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
        // An id without a Genesis may be anything, a counter say: every byte has to count. Nobody but the operator adds
        // agents, so there is no need for a secret.
        let words = id.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word));
        let hash = words.fold(0u64, |hash, word| (hash.rotate_left(29) ^ word).wrapping_mul(SPREAD));
        let hash = (hash ^ (hash >> 32)).wrapping_mul(SPREAD);
        (hash >> 32) as usize & (len - 1)
    }

    /// The agent with this id.
    #[inline]
    pub fn find(&self, id: &AgentId) -> Option<&Agent> {
        let mut slot = Self::home(id, self.index.len());
        loop {
            let agent = self.agents.get(self.index[slot].checked_sub(1)? as usize)?;
            if agent.id == *id {
                return Some(agent);
            }
            slot = (slot + 1) & (self.index.len() - 1);
        }
    }

    /// The agent with this operator-assigned name; the first in id order if there are several.
    pub fn by_name(&self, name: &str) -> Option<&Agent> {
        self.agents.iter().find(|agent| self.str(agent.name) == name)
    }

    /// The string a range names.
    #[inline]
    pub fn str(&self, text: Text) -> &str {
        text.of(&self.text)
    }

    /// The scopes an agent's document grants.
    pub fn grants<'a>(&'a self, agent: &Agent) -> impl Iterator<Item = &'a str> + Clone + use<'a> {
        agent.grants.of(&self.scopes).iter().map(|scope| self.str(*scope))
    }
}

/// Reads the 64 lowercase hexadecimal digits of an Agent-ID.
#[inline]
pub fn parse_agent_id(digits: &[u8]) -> Option<AgentId> {
    let digits: &[u8; 64] = digits.try_into().ok()?;
    // Two loops without branches, which compile to vector code: 64 digits to 64 nibbles, then pairs to bytes.
    let mut nibbles = [0u8; 64];
    let mut bad = 0;
    for (nibble, digit) in nibbles.iter_mut().zip(digits) {
        let (number, letter) = (digit.wrapping_sub(b'0'), digit.wrapping_sub(b'a'));
        let (is_number, is_letter) = (u8::from(number < 10), u8::from(letter < 6));
        bad |= 1 ^ (is_number | is_letter);
        *nibble = if is_number == 1 { number } else { letter.wrapping_add(10) };
    }
    let mut id = [0; 32];
    for (byte, pair) in id.iter_mut().zip(nibbles.as_chunks::<2>().0) {
        *byte = pair[0] << 4 | (pair[1] & 0xf);
    }
    (bad == 0).then_some(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agent_ids_are_64_lowercase_hex_digits_and_nothing_else() {
        let good = b"00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
        assert_eq!(parse_agent_id(good).map(|id| (id[1], id[31])), Some((0x11, 0xff)));
        for position in 0..64 {
            for byte in 0..=255u8 {
                let mut digits = *good;
                digits[position] = byte;
                let hex = byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
                assert_eq!(parse_agent_id(&digits).is_some(), hex, "byte {byte:#x} at {position}");
            }
        }
        assert!(parse_agent_id(&good[..63]).is_none());
    }
}
