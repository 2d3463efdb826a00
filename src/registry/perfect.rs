//! The displacement step of a perfect hash, as `phf` generates it, over hashes of our own.
//!
//! `phf`'s own SipHash costs more than the rest of a look-up together (27 ns against 6 for 425 verbs). Keys here are
//! an operator's, not an attacker's, so a multiply and a fold do; the displacement tables still come from
//! `phf_generator`. The slot count is a power of two (padded with empty slots) and the bucket is taken by
//! multiplication, so a look-up divides by nothing.

use super::Table;

/// The three independent numbers a displacement needs. `bucket` is uniform over 32 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HashParts {
    /// Selects the displacement pair.
    pub bucket: u32,
    /// First factor.
    pub f1: u32,
    /// Second summand.
    pub f2: u32,
}

/// Spreads a key's 64-bit hash over the three numbers, under the seed that the generator found.
#[inline]
pub const fn hash_parts(hash: u64, seed: u64) -> HashParts {
    let a = (hash ^ seed).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let b = (a ^ (a >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    let b = b ^ (b >> 32);
    HashParts { bucket: (a >> 32) as u32, f1: b as u32, f2: (b >> 32) as u32 }
}

/// A perfect hash from 64-bit hashes to slots.
#[derive(Clone, Debug)]
pub struct PerfectHash {
    /// The seed the generator settled on.
    pub seed: u64,
    /// Displacement pairs, one per bucket. Never empty.
    pub displacements: Table<(u32, u32)>,
    /// Slot count less one; the count is a power of two.
    pub mask: u32,
}

impl PerfectHash {
    /// The bucket of a hash: a uniform 32-bit number scaled to the number of displacement pairs.
    #[inline]
    pub fn bucket(bucket: u32, buckets: usize) -> usize {
        ((u64::from(bucket) * buckets as u64) >> 32) as usize
    }

    /// The one slot that can hold a key with this hash.
    #[inline]
    pub fn slot(&self, hash: u64) -> usize {
        let parts = hash_parts(hash, self.seed);
        let (d1, d2) = self.displacements[Self::bucket(parts.bucket, self.displacements.len())];
        let slot = d2.wrapping_add(parts.f1.wrapping_mul(d1)).wrapping_add(parts.f2);
        (slot & self.mask) as usize
    }
}
