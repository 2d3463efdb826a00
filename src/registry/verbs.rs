//! Token to method: a perfect hash over the catalog, the legacy five, the custom methods and the alias names.

use super::{Method, MethodId, PerfectHash, Table};

/// The longest method name (draft: Method Rules), bytes.
const LONGEST: usize = 32;

/// One slot of the verb set.
#[derive(Clone, Copy, Debug)]
pub struct VerbSlot {
    /// [`token_words`] of the name. Up to 16 bytes they and the length are the name; a longer one is compared whole.
    pub words: (u64, u64),
    /// Length of the name in bytes; 0 marks a slot nobody uses.
    pub len: u8,
    /// The method.
    pub method: MethodId,
}

/// The perfect-hash set of method names.
#[derive(Clone, Debug)]
pub struct VerbSet {
    /// From [`hash_token`] to a slot.
    pub hash: PerfectHash,
    /// As many as the mask says.
    pub slots: Table<VerbSlot>,
}

/// First and last eight bytes of a token (overlapping below sixteen); below eight, both halves packed into one word.
/// Together with the length they are injective up to 16 bytes.
#[inline]
pub fn token_words(token: &[u8]) -> (u64, u64) {
    if let (Some(first), Some(last)) = (token.first_chunk::<8>(), token.last_chunk::<8>()) {
        return (u64::from_le_bytes(*first), u64::from_le_bytes(*last));
    }
    if let (Some(first), Some(last)) = (token.first_chunk::<4>(), token.last_chunk::<4>()) {
        return (u64::from(u32::from_le_bytes(*first)), u64::from(u32::from_le_bytes(*last)));
    }
    let mut word = 0;
    for &byte in token {
        word = word << 8 | u64::from(byte);
    }
    (word, 0)
}

/// The hash the verb set is built over.
#[inline]
pub const fn hash_token(words: (u64, u64), len: usize) -> u64 {
    words.0.wrapping_mul(0xff51_afd7_ed55_8ccd) ^ words.1.rotate_left(23) ^ ((len as u64) << 56)
}

impl VerbSet {
    /// The method that `token` names, byte for byte (D11: no case folding).
    #[inline]
    pub fn lookup(&self, token: &[u8], methods: &[Method], text: &str) -> Option<MethodId> {
        if token.len() > LONGEST || token.len() < 3 {
            return None;
        }
        let words = token_words(token);
        let slot = self.slots.get(self.hash.slot(hash_token(words, token.len())))?;
        if usize::from(slot.len) != token.len() || slot.words != words {
            return None;
        }
        let whole = token.len() <= 16
            || methods.get(usize::from(slot.method.0)).is_some_and(|m| m.name.of(text).as_bytes() == token);
        whole.then_some(slot.method)
    }
}
