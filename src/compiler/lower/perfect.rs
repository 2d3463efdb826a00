//! Displacement tables from `phf_generator`, over hashes of our own.
//!
//! The generator reduces a bucket number with `% buckets` and a slot with `% keys`. Feeding it buckets that are scaled
//! already makes the first a no-op, and padding the keys to a power of two makes the second a mask: exactly what
//! [`PerfectHash::slot`] computes.

use crate::registry::{PerfectHash, hash_parts};
use std::collections::{HashMap, HashSet};

/// A perfect hash and, for each slot, the key that lives there.
pub(super) struct Placement {
    pub(super) hash: PerfectHash,
    pub(super) slots: Vec<Option<usize>>,
}

/// Two keys (by position) with the same 64-bit hash: no seed can part them.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Duplicate(pub(super) usize, pub(super) usize);

/// Keys per bucket that `phf_generator` aims at; the number of displacement pairs follows from it.
const KEYS_PER_BUCKET: usize = 3;

/// Places keys, given by their 64-bit hashes.
pub(super) fn place(hashes: &[u64]) -> Result<Placement, Duplicate> {
    refuse_duplicates(hashes)?;
    let padded = padded(hashes);
    let buckets = padded.len().div_ceil(KEYS_PER_BUCKET);
    let state = phf_generator::generate_hash_with_hash_fn(&padded, |&hash, &seed| {
        let parts = hash_parts(hash, seed);
        // `Hashes` cannot be built outside phf_shared, only changed.
        let mut hashes = phf_shared::hash(&0u8, &seed);
        hashes.g = PerfectHash::bucket(parts.bucket, buckets) as u32;
        (hashes.f1, hashes.f2) = (parts.f1, parts.f2);
        hashes
    });
    let slots = state.map.iter().map(|&key| (key < hashes.len()).then_some(key)).collect();
    let mask = (padded.len() - 1) as u32;
    Ok(Placement { hash: PerfectHash { seed: state.key, displacements: state.disps.into(), mask }, slots })
}

fn refuse_duplicates(hashes: &[u64]) -> Result<(), Duplicate> {
    let mut seen = HashMap::with_capacity(hashes.len());
    for (position, hash) in hashes.iter().enumerate() {
        if let Some(first) = seen.insert(hash, position) {
            return Err(Duplicate(first, position));
        }
    }
    Ok(())
}

/// The hashes and as many others as make their number a power of two.
fn padded(hashes: &[u64]) -> Vec<u64> {
    let taken: HashSet<u64> = hashes.iter().copied().collect();
    let len = hashes.len().max(1).next_power_of_two();
    let fillers = (1u64..).map(split_mix).filter(|filler| !taken.contains(filler));
    hashes.iter().copied().chain(fillers).take(len).collect()
}

/// Steele, Lea and Flood's SplitMix64 finaliser: a bijection, so distinct inputs give distinct fillers.
fn split_mix(counter: u64) -> u64 {
    let z = counter.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_is_found_in_its_slot_whatever_their_number() {
        for count in (0..40).chain([425, 1000]) {
            let hashes: Vec<u64> = (0..count).map(|n| split_mix(n as u64 + 1_000_000)).collect();
            let placement = place(&hashes).unwrap();
            assert_eq!(placement.slots.len(), placement.hash.mask as usize + 1);
            for (key, &hash) in hashes.iter().enumerate() {
                assert_eq!(placement.slots[placement.hash.slot(hash)], Some(key), "{key} of {count}");
            }
        }
    }

    #[test]
    fn equal_hashes_are_refused_rather_than_searched_for_ever() {
        assert_eq!(place(&[7, 8, 7]).err(), Some(Duplicate(0, 2)));
    }

    #[test]
    fn a_key_that_equals_a_filler_is_no_duplicate() {
        let hashes = [split_mix(1), split_mix(2), 5];
        let placement = place(&hashes).unwrap();
        assert_eq!(placement.slots.iter().flatten().count(), 3);
    }
}
