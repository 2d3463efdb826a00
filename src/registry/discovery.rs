//! Ranked discovery: which endpoints and agents a text is about (draft: Manifest Retrieval; D28).
//!
//! An inverted index, made when the registry is compiled. A posting says that a word stands in what a candidate says of
//! itself, and in how telling a place. Words weigh by their rarity (inverse document frequency), so
//!
//! ```text
//!            sum over the words of the query that the candidate has: rarity * weight
//!   score = ------------------------------------------------------------------------
//!            sum over all words of the query:                        rarity * MOST_WEIGHT
//! ```
//!
//! which is 1 when every word stands in the candidate's most telling place, and is whole numbers up to the last
//! division. Equal scores keep the order of the candidates, so the same question has the same answer everywhere.
//!
//! The work of a question is bounded whatever it says and however many candidates there are: at most [`MOST_WORDS`]
//! words count, and a word that many candidates have lists its [`MOST_POSTINGS`] best ones (champion lists). Such a word
//! tells candidates apart so little that the rarer words of a question decide.

use super::{EndpointId, Rows, Table, Text, Word};
use std::cmp::Ordering;

/// Distinct words of a question that count; the first ones do.
pub const MOST_WORDS: usize = 32;

/// Candidates that one word lists.
pub const MOST_POSTINGS: usize = 512;

/// The weight of the most telling place.
pub const MOST_WEIGHT: u32 = 4;

/// Most results of a question.
pub const MOST_RESULTS: usize = 100;

/// What a score of 1 is counted in.
pub const SCORE_UNITS: u64 = 10_000;

/// Who or what can be discovered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// An endpoint.
    Endpoint(EndpointId),
    /// A row of [`crate::identity::Agents::agents`].
    Agent(u32),
}

/// Something to be discovered, and what is said of it.
#[derive(Clone, Copy, Debug)]
pub struct Candidate {
    /// What it is.
    pub subject: Subject,
    /// `METHOD /template`, or the agent's name.
    pub name: Text,
    /// One line about it.
    pub description: Text,
    /// An endpoint's `capability`; empty for agents.
    pub capability: Text,
    /// An endpoint's `impact`; empty for agents.
    pub impact: Text,
}

/// A word that candidates have.
#[derive(Clone, Copy, Debug)]
pub struct IndexedWord {
    /// The word.
    pub word: Text,
    /// `1000 * ln(1 + candidates / candidates that have it)`.
    pub rarity: u32,
    /// Rows of [`Discovery::postings`], by candidate.
    pub postings: Rows,
}

/// That a candidate has a word: the candidate's row times 8, plus the weight of the place (1 to [`MOST_WEIGHT`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Posting(pub u32);

impl Posting {
    /// Candidates that a posting can tell apart.
    pub const MOST_CANDIDATES: usize = (u32::MAX >> 3) as usize;

    /// A posting.
    pub const fn new(candidate: u32, weight: u32) -> Posting {
        Posting(candidate << 3 | weight)
    }

    /// Row of [`Discovery::candidates`].
    pub const fn candidate(self) -> u32 {
        self.0 >> 3
    }

    /// How telling the place is.
    pub const fn weight(self) -> u32 {
        self.0 & 7
    }
}

/// The index.
#[derive(Clone, Debug)]
pub struct Discovery {
    /// Words, sorted.
    pub words: Table<IndexedWord>,
    /// Postings, word by word.
    pub postings: Table<Posting>,
    /// The operator's endpoints, then built-ins, then agents, each in the order they are listed elsewhere.
    pub candidates: Table<Candidate>,
    /// The rarity of a word nobody has.
    pub unknown_rarity: u32,
}

/// A question: its first distinct words.
#[derive(Clone, Debug)]
pub struct Question {
    words: [Word; MOST_WORDS],
    len: usize,
}

impl Default for Question {
    fn default() -> Question {
        Question { words: [Word::NONE; MOST_WORDS], len: 0 }
    }
}

impl Question {
    /// Adds a word, unless it is there already or there are enough.
    pub fn add(&mut self, word: Word) {
        if !self.is_full()
            && !self.words().contains(&word)
            && let Some(place) = self.words.get_mut(self.len)
        {
            *place = word;
            self.len += 1;
        }
    }

    /// Whether further words would not count.
    pub fn is_full(&self) -> bool {
        self.len == MOST_WORDS
    }

    fn words(&self) -> &[Word] {
        self.words.get(..self.len).unwrap_or(&[])
    }
}

/// One result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hit {
    /// Row of [`Discovery::candidates`].
    pub candidate: u32,
    /// In [`SCORE_UNITS`], never 0.
    pub score: u64,
}

/// The best results so far, best first.
#[derive(Clone, Debug)]
pub struct Ranking {
    hits: [Hit; MOST_RESULTS],
    len: usize,
    most: usize,
}

impl Ranking {
    /// An empty ranking of at most so many results, and of no more than [`MOST_RESULTS`].
    pub fn new(most: usize) -> Ranking {
        Ranking { hits: [Hit::default(); MOST_RESULTS], len: 0, most: most.min(MOST_RESULTS) }
    }

    /// The results, best first.
    pub fn hits(&self) -> &[Hit] {
        self.hits.get(..self.len).unwrap_or(&[])
    }

    /// Takes a result if it is among the best. Of equal ones the earlier stays in front.
    fn offer(&mut self, hit: Hit) {
        let place = self.hits().partition_point(|held| held.score >= hit.score);
        if place < self.most {
            self.len = (self.len + 1).min(self.most);
            if let Some(tail) = self.hits.get_mut(place..self.len) {
                tail.rotate_right(1);
                tail.iter_mut().take(1).for_each(|place| *place = hit);
            }
        }
    }
}

/// The postings of one word that are not looked at yet.
#[derive(Clone, Copy, Default)]
struct Cursor<'d> {
    rest: &'d [Posting],
    rarity: u64,
}

impl Cursor<'_> {
    fn next(&self) -> Option<u32> {
        self.rest.first().map(|posting| posting.candidate())
    }

    /// What the word adds to this candidate's score.
    fn take(&mut self, candidate: u32) -> u64 {
        match self.rest.split_first() {
            Some((posting, rest)) if posting.candidate() == candidate => {
                self.rest = rest;
                self.rarity * u64::from(posting.weight())
            }
            _ => 0,
        }
    }
}

impl Discovery {
    /// Ranks the candidates that `accepts` lets through. Candidates come one by one in their order: a merge of the
    /// words' postings, which needs no memory.
    pub fn rank(
        &self,
        text: &str,
        question: &Question,
        accepts: impl Fn(&Candidate) -> bool,
        ranking: &mut Ranking,
    ) {
        let mut cursors = [Cursor::default(); MOST_WORDS];
        let mut all = 0;
        for (cursor, word) in cursors.iter_mut().zip(question.words()) {
            *cursor = self.cursor(text, word);
            all += cursor.rarity * u64::from(MOST_WEIGHT);
        }
        while let Some(candidate) = cursors.iter().filter_map(Cursor::next).min() {
            let sum: u64 = cursors.iter_mut().map(|cursor| cursor.take(candidate)).sum();
            if self.candidates.get(candidate as usize).is_some_and(&accepts) {
                let score = (sum * SCORE_UNITS / all.max(1)).max(1);
                ranking.offer(Hit { candidate, score });
            }
        }
    }

    fn cursor(&self, text: &str, word: &Word) -> Cursor<'_> {
        let order = |row: &IndexedWord| -> Ordering { row.word.of(text).cmp(word.as_str()) };
        match self.words.binary_search_by(order).ok().and_then(|row| self.words.get(row)) {
            Some(row) => Cursor { rest: row.postings.of(&self.postings), rarity: u64::from(row.rarity) },
            None => Cursor { rest: &[], rarity: u64::from(self.unknown_rarity) },
        }
    }
}
