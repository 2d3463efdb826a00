//! Finds method names in path segments (draft: Path Rules; D7, D22).
//!
//! The automaton is an anchored aho-corasick automaton over every verb, walked once by the compiler and flattened
//! into one table of `u16`: row = state, column = byte class. A segment leaks when the walk over all its bytes ends in
//! an accepting state: whole segments only, case-insensitively, `-` and `_` skipped, percent-escapes decoded.

use super::Table;

/// Number of columns of the table: the letters A to Z.
pub const NORMAL_CLASSES: usize = 26;

/// The flattened automaton. State 0 is dead, state 1 is the start.
#[derive(Clone, Debug)]
pub struct LeakAutomaton {
    /// `next[state * 26 + letter]`: the state after that letter, 0 when no verb goes on that way.
    pub next: Table<u16>,
    /// One bit per state, in state order, lowest bit first: set when a verb ends there.
    pub accepting: Table<u64>,
}

/// A walk over one segment.
#[derive(Clone, Copy, Debug)]
pub struct LeakWalk {
    state: u16,
}

impl LeakWalk {
    /// At the start of a segment.
    pub const START: LeakWalk = LeakWalk { state: 1 };
}

impl LeakAutomaton {
    /// One decoded byte further.
    #[inline]
    pub fn step(&self, walk: LeakWalk, byte: u8) -> LeakWalk {
        let letter = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a',
            b'-' | b'_' => return walk,
            _ => return LeakWalk { state: 0 },
        };
        let row = usize::from(walk.state) * NORMAL_CLASSES + usize::from(letter);
        LeakWalk { state: self.next.get(row).copied().unwrap_or(0) }
    }

    /// Whether what was walked is a method name.
    #[inline]
    pub fn accepts(&self, walk: LeakWalk) -> bool {
        let state = usize::from(walk.state);
        self.accepting.get(state / 64).is_some_and(|word| word >> (state % 64) & 1 == 1)
    }

    /// Whether a raw path segment is a method name, as it stands or percent-decoded. A bad escape is no letter.
    pub fn segment_leaks(&self, segment: &[u8]) -> bool {
        let mut walk = LeakWalk::START;
        let mut rest = segment;
        while let Some((&byte, tail)) = rest.split_first() {
            let (byte, tail) = match (byte, tail) {
                (b'%', [high, low, tail @ ..]) => match (hex(*high), hex(*low)) {
                    (Some(high), Some(low)) => (high << 4 | low, tail),
                    _ => return false,
                },
                (b'%', _) => return false,
                (byte, tail) => (byte, tail),
            };
            walk = self.step(walk, byte);
            if walk.state == 0 {
                return false;
            }
            rest = tail;
        }
        self.accepts(walk)
    }

    /// The first leaking segment of a path that begins with `/`, as it stands on the wire.
    pub fn first_leak<'p>(&self, path: &'p [u8]) -> Option<&'p [u8]> {
        let path = path.strip_prefix(b"/")?;
        path.split(|&byte| byte == b'/').find(|segment| self.segment_leaks(segment))
    }
}

const fn hex(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    }
}
