//! Flattens an aho-corasick automaton over the verbs into the table that [`LeakAutomaton`] walks.
//!
//! `aho-corasick` has no serialised form, so the compiler walks its NFA anchored, letter by letter from the start
//! state. Anchored, no failure transition is taken: the states reached are the prefixes of the verbs. A match state
//! also lists the verbs that are mere suffixes of what was walked (`XREPORT` lists `REPORT`), so a state accepts only
//! when a listed verb is as long as the walk.

use super::LowerError;
use crate::registry::{LeakAutomaton, NORMAL_CLASSES};
use aho_corasick::automaton::{Automaton, StateID};
use aho_corasick::nfa::noncontiguous::NFA;
use aho_corasick::{Anchored, MatchKind};
use std::collections::HashMap;

/// Row 0 is dead, row 1 the start.
const START: u16 = 1;

/// The automaton of these names (`A` to `Z` only).
pub(super) fn automaton(names: &[&str]) -> Result<LeakAutomaton, LowerError> {
    let nfa = NFA::builder().match_kind(MatchKind::Standard).prefilter(false).build(names);
    let nfa = nfa.map_err(|error| LowerError::Automaton(error.to_string()))?;
    let mut flat = Flattener { nfa: &nfa, rows: HashMap::new(), reached: Vec::new() };
    flat.run()
}

struct Flattener<'n> {
    nfa: &'n NFA,
    rows: HashMap<StateID, u16>,
    /// States in row order (row 1 first), with the length of the walk to them.
    reached: Vec<(StateID, usize)>,
}

impl Flattener<'_> {
    fn run(&mut self) -> Result<LeakAutomaton, LowerError> {
        let start = self.nfa.start_state(Anchored::Yes);
        self.row(start.map_err(|error| LowerError::Automaton(error.to_string()))?, 0)?;
        let mut next = vec![0; NORMAL_CLASSES * 2];
        let mut accepting = vec![0u64];
        let mut row = usize::from(START);
        while let Some(&(state, depth)) = self.reached.get(row - 1) {
            next.resize((row + 1) * NORMAL_CLASSES, 0);
            accepting.resize(row / 64 + 1, 0);
            if self.ends_at(state, depth) {
                accepting[row / 64] |= 1 << (row % 64);
            }
            for letter in 0..NORMAL_CLASSES {
                next[row * NORMAL_CLASSES + letter] = self.step(state, depth, letter as u8)?;
            }
            row += 1;
        }
        Ok(LeakAutomaton { next: next.into(), accepting: accepting.into() })
    }

    fn step(&mut self, state: StateID, depth: usize, letter: u8) -> Result<u16, LowerError> {
        let target = self.nfa.next_state(Anchored::Yes, state, b'A' + letter);
        if self.nfa.is_dead(target) { Ok(0) } else { self.row(target, depth + 1) }
    }

    fn row(&mut self, state: StateID, depth: usize) -> Result<u16, LowerError> {
        if let Some(&row) = self.rows.get(&state) {
            return Ok(row);
        }
        self.reached.push((state, depth));
        let too_many =
            LowerError::TooMany { what: "states of the leak automaton", most: usize::from(u16::MAX) };
        let row = u16::try_from(self.reached.len()).map_err(|_| too_many)?;
        self.rows.insert(state, row);
        Ok(row)
    }

    fn ends_at(&self, state: StateID, depth: usize) -> bool {
        self.nfa.is_match(state)
            && (0..self.nfa.match_len(state))
                .any(|index| self.nfa.pattern_len(self.nfa.match_pattern(state, index)) == depth)
    }
}
