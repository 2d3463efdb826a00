//! Close matches of an unknown method (459): at most three, nearest first.
//!
//! Bounded work and no memory: one pass over the vocabulary with Myers' bit-parallel edit distance (G. Myers, 1999:
//! one machine word holds a column of the matrix), which skips names whose length alone rules them out.

use crate::registry::{Method, MethodId, Registry};

/// Most suggestions of one 459 (facts page 3).
pub const MOST_SUGGESTIONS: usize = 3;

/// Longest part of a token that is compared: bits of a machine word. No method name is longer than 32.
const LONGEST: usize = 64;

/// The nearest methods, nearest first; equally near ones in the order of their names.
///
/// A name is near when no more than half of the longer of both differs. A legacy verb's preferred form comes first
/// whatever its distance. Letters compare without case, since `book` most likely means BOOK.
pub fn closest(registry: &Registry, token: &[u8]) -> [Option<MethodId>; MOST_SUGGESTIONS] {
    let mut best = Best::default();
    let preferred = preferred_form(registry, token);
    let pattern = Pattern::new(&token[..token.len().min(LONGEST)]);
    for (row, method) in registry.methods.iter().enumerate() {
        let id = MethodId(row as u16);
        if is_candidate(method) && preferred != Some(id) {
            let name = registry.str(method.name).as_bytes();
            let longer = name.len().max(pattern.len);
            // What the lengths alone differ by is the least the names can.
            let least = name.len().abs_diff(pattern.len);
            if least < best.limit() && least * 2 <= longer {
                let distance = pattern.distance(name);
                if distance * 2 <= longer {
                    best.offer(distance, id);
                }
            }
        }
    }
    best.with_first(preferred)
}

fn is_candidate(method: &Method) -> bool {
    (method.catalog || method.custom) && method.recognized
}

/// FETCH for GET, and so on, also for `get`.
fn preferred_form(registry: &Registry, token: &[u8]) -> Option<MethodId> {
    let legacy = registry
        .methods
        .iter()
        .find(|method| method.legacy && registry.str(method.name).as_bytes().eq_ignore_ascii_case(token))?;
    Some(legacy.preferred).filter(|id| is_candidate(registry.method(*id)))
}

/// The nearest so far, kept sorted.
#[derive(Default)]
struct Best {
    found: [Option<(usize, MethodId)>; MOST_SUGGESTIONS],
}

impl Best {
    /// Distances from here on are of no interest.
    fn limit(&self) -> usize {
        self.found[MOST_SUGGESTIONS - 1].map_or(usize::MAX, |(distance, _)| distance)
    }

    fn offer(&mut self, distance: usize, id: MethodId) {
        let mut candidate = (distance, id);
        for place in &mut self.found {
            match place {
                Some(held) if *held <= candidate => {}
                Some(held) => std::mem::swap(held, &mut candidate),
                None => {
                    *place = Some(candidate);
                    return;
                }
            }
        }
    }

    fn with_first(self, first: Option<MethodId>) -> [Option<MethodId>; MOST_SUGGESTIONS] {
        let mut found = self.found.iter().flatten().map(|(_, id)| *id);
        let mut ids = first.into_iter().chain(&mut found);
        [ids.next(), ids.next(), ids.next()]
    }
}

/// A token prepared for comparison: for each letter, where it occurs.
struct Pattern {
    /// Bit `i` of row `c` says that byte `i` is the letter `c` (its low five bits, A = 1); row 0 stays empty.
    occurs: [u64; 32],
    len: usize,
}

impl Pattern {
    fn new(token: &[u8]) -> Self {
        let mut occurs = [0; 32];
        for (index, byte) in token.iter().enumerate().filter(|(_, byte)| byte.is_ascii_alphabetic()) {
            occurs[usize::from(byte & 31)] |= 1 << index;
        }
        Pattern { occurs, len: token.len() }
    }

    /// Edit distance to a name, which is letters only: insertions, deletions and substitutions.
    fn distance(&self, name: &[u8]) -> usize {
        let Some(last) = self.len.checked_sub(1) else { return name.len() };
        let (mut plus, mut minus, mut distance) = (u64::MAX, 0u64, self.len as u64);
        for byte in name {
            let equal = self.occurs[usize::from(byte & 31)];
            let vertical = equal | minus;
            let horizontal = ((equal & plus).wrapping_add(plus) ^ plus) | equal;
            let up = minus | !(horizontal | plus);
            let down = plus & horizontal;
            distance = distance + (up >> last & 1) - (down >> last & 1);
            let (up, down) = (up << 1 | 1, down << 1);
            plus = down | !(vertical | up);
            minus = up & vertical;
        }
        distance as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The matrix, filled cell by cell.
    fn naive(a: &[u8], b: &[u8]) -> usize {
        let mut row: Vec<usize> = (0..=b.len()).collect();
        for (i, x) in a.iter().enumerate() {
            let mut diagonal = row[0];
            row[0] = i + 1;
            for (j, y) in b.iter().enumerate() {
                let substituted = diagonal + usize::from(x != y);
                diagonal = row[j + 1];
                row[j + 1] = substituted.min(row[j] + 1).min(diagonal + 1);
            }
        }
        row[b.len()]
    }

    proptest! {
        #[test]
        fn bit_parallel_distance_is_the_matrix_distance(a in "[A-E]{0,64}", b in "[A-E]{0,40}") {
            prop_assert_eq!(Pattern::new(a.as_bytes()).distance(b.as_bytes()), naive(a.as_bytes(), b.as_bytes()));
        }
    }
}
