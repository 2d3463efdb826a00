//! The static routing trie (draft: Path Pattern Matching; D6).
//!
//! All tries share one arena of nodes and one perfect-hashed table of literal edges, keyed by (node, segment): the
//! cost of a step does not grow with the number of endpoints. Each method has its own trie, so a template of another
//! method never shadows; one more trie over all templates answers "is this path known" (405).
//!
//! "Fewest parameters wins" is global, so the walk is a depth-first search that goes literal first and prunes by the
//! fewest parameters any leaf below a node can still cost. Ties cannot happen: the compiler refuses them.

use super::{EndpointId, NodeId, PathId, PerfectHash, Table, Text};

/// One node.
#[derive(Clone, Copy, Debug)]
pub struct Node {
    /// How many literal edges leave it; 0 saves the probe.
    pub literals: u32,
    /// The child behind the parameter edge, or [`NodeId::NONE`].
    pub param: NodeId,
    /// What ends here: an [`EndpointId`] in a method's trie, a [`PathId`] in the trie of all templates, or `u32::MAX`.
    pub leaf: u32,
    /// The fewest parameter edges between here and any leaf below (0 when this node is one).
    pub fewest: u16,
}

/// One literal edge; `from == NodeId::NONE` marks a slot nobody uses.
#[derive(Clone, Copy, Debug)]
pub struct Edge {
    /// The node it leaves.
    pub from: NodeId,
    /// The node it reaches.
    pub to: NodeId,
    /// The first eight bytes of the segment, zero-padded, little-endian: all of it up to eight bytes.
    pub word: u64,
    /// The segment.
    pub segment: Text,
}

/// One segment of a request path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// First byte in the path.
    pub start: u32,
    /// Number of bytes.
    pub len: u32,
    /// First eight bytes, zero-padded.
    pub word: u64,
    /// Hash of the bytes and the length.
    pub hash: u64,
}

impl Segment {
    /// Its bytes.
    #[inline]
    pub fn of(self, path: &[u8]) -> &[u8] {
        path.get(self.start as usize..(self.start + self.len) as usize).unwrap_or(&[])
    }
}

/// The tries of a registry.
#[derive(Clone, Debug)]
pub struct Router {
    /// All nodes.
    pub nodes: Table<Node>,
    /// From [`hash_edge`] to an edge slot.
    pub hash: PerfectHash,
    /// Literal edges.
    pub edges: Table<Edge>,
    /// Root of the trie of all templates.
    pub all: NodeId,
    /// Segments of the deepest template.
    pub deepest: u32,
}

const MIX: u64 = 0xd6e8_feb8_6659_fd93;

/// The hash an edge is found under.
#[inline]
pub const fn hash_edge(from: NodeId, segment_hash: u64) -> u64 {
    segment_hash ^ (from.0 as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Splits a path that begins with `/` into segments, hashing each, and stops after `limit` of them. Returns the whole
/// number of segments, or `limit + 1` when there are more. The root path has none.
#[inline]
pub fn split_segments(path: &[u8], limit: usize, segments: &mut Vec<Segment>) -> usize {
    segments.clear();
    if path.len() <= 1 {
        return 0;
    }
    let mut start = 1;
    loop {
        if segments.len() == limit {
            return limit + 1;
        }
        let segment = scan(path, start);
        segments.push(segment);
        start += segment.len as usize + 1;
        if start > path.len() {
            return segments.len();
        }
    }
}

/// The segment that begins at `start`: its end is looked for and its bytes are hashed in the same pass, eight at a time.
/// (A search for each `/` by memchr and a second pass for the hash took half as long again.)
#[inline]
fn scan(path: &[u8], start: usize) -> Segment {
    let (mut at, mut hash, mut first) = (start, 0, None);
    loop {
        let rest = path.get(at..).unwrap_or(&[]);
        let word = rest.first_chunk().map_or_else(|| partial_word(rest), |chunk| u64::from_le_bytes(*chunk));
        let len = bytes_before_slash(word).min(rest.len());
        if len < WORD {
            let tail = word & ((1 << (len * 8)) - 1);
            let end = at + len;
            let len = (end - start) as u32;
            return Segment {
                start: start as u32,
                len,
                word: first.unwrap_or(tail),
                hash: fold(fold(hash, tail), u64::from(len)),
            };
        }
        first.get_or_insert(word);
        hash = fold(hash, word);
        at += WORD;
    }
}

/// Bytes of a word.
const WORD: usize = 8;

#[inline]
const fn fold(hash: u64, word: u64) -> u64 {
    (hash.rotate_left(29) ^ word).wrapping_mul(MIX)
}

/// How many bytes of a little-endian word stand before its first `/`; eight when there is none.
#[inline]
const fn bytes_before_slash(word: u64) -> usize {
    const ONES: u64 = u64::from_le_bytes([1; WORD]);
    // A byte of `zeros` is zero where the word has a slash; the lowest flag that the subtraction leaves is exact.
    let zeros = word ^ (ONES * b'/' as u64);
    let flags = zeros.wrapping_sub(ONES) & !zeros & (ONES * 0x80);
    (flags.trailing_zeros() / 8) as usize
}

#[inline]
fn partial_word(bytes: &[u8]) -> u64 {
    bytes.iter().take(WORD).enumerate().fold(0, |word, (index, &byte)| word | u64::from(byte) << (index * 8))
}

impl Segment {
    /// The segment a literal of a template makes; the compiler builds its edges from it.
    pub fn literal(bytes: &[u8]) -> Segment {
        scan(bytes, 0)
    }
}

/// The search for the most specific leaf.
struct Search<'s> {
    path: &'s [u8],
    segments: &'s [Segment],
    text: &'s str,
    fewest: u32,
    leaf: u32,
}

impl Router {
    /// The endpoint of one method's trie that matches, the one with the fewest parameters (D6).
    #[inline]
    pub fn route(&self, root: NodeId, path: &[u8], segments: &[Segment], text: &str) -> Option<EndpointId> {
        if root == NodeId::NONE {
            return None;
        }
        let mut search = Search { path, segments, text, fewest: u32::MAX, leaf: u32::MAX };
        self.walk(root, 0, 0, &mut search);
        (search.leaf != u32::MAX).then_some(EndpointId(search.leaf))
    }

    fn walk(&self, node: NodeId, depth: usize, params: u32, search: &mut Search<'_>) {
        let Some(node_row) = self.nodes.get(node.0 as usize) else { return };
        if params + u32::from(node_row.fewest) >= search.fewest {
            return;
        }
        let Some(&segment) = search.segments.get(depth) else {
            if node_row.leaf != u32::MAX {
                search.fewest = params;
                search.leaf = node_row.leaf;
            }
            return;
        };
        if let Some(child) = self.literal_child(node, node_row, segment, search.path, search.text) {
            self.walk(child, depth + 1, params, search);
        }
        if node_row.param != NodeId::NONE && segment.len > 0 {
            self.walk(node_row.param, depth + 1, params + 1, search);
        }
    }

    /// Calls `found` for every template that matches, whatever its method.
    pub fn known(&self, path: &[u8], segments: &[Segment], text: &str, found: &mut dyn FnMut(PathId)) {
        if self.all != NodeId::NONE {
            self.walk_all(self.all, 0, path, segments, text, found);
        }
    }

    fn walk_all(
        &self,
        node: NodeId,
        depth: usize,
        path: &[u8],
        segments: &[Segment],
        text: &str,
        found: &mut dyn FnMut(PathId),
    ) {
        let Some(node_row) = self.nodes.get(node.0 as usize) else { return };
        let Some(&segment) = segments.get(depth) else {
            if node_row.leaf != u32::MAX {
                found(PathId(node_row.leaf));
            }
            return;
        };
        if let Some(child) = self.literal_child(node, node_row, segment, path, text) {
            self.walk_all(child, depth + 1, path, segments, text, found);
        }
        if node_row.param != NodeId::NONE && segment.len > 0 {
            self.walk_all(node_row.param, depth + 1, path, segments, text, found);
        }
    }

    #[inline]
    fn literal_child(
        &self,
        node: NodeId,
        node_row: &Node,
        segment: Segment,
        path: &[u8],
        text: &str,
    ) -> Option<NodeId> {
        if node_row.literals == 0 {
            return None;
        }
        let edge = self.edges.get(self.hash.slot(hash_edge(node, segment.hash)))?;
        if edge.from != node || edge.word != segment.word || edge.segment.len != segment.len {
            return None;
        }
        (segment.len <= 8 || edge.segment.bytes(text) == segment.of(path)).then_some(edge.to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn split(path: &str, limit: usize) -> (usize, Vec<String>) {
        let mut segments = vec![Segment::default(); 3];
        let count = split_segments(path.as_bytes(), limit, &mut segments);
        let bytes = segments.iter().map(|segment| segment.of(path.as_bytes()));
        (count, bytes.map(|bytes| String::from_utf8_lossy(bytes).into_owned()).collect())
    }

    proptest! {
        #[test]
        fn splitting_is_that_of_str(path in "/[ab/]{0,12}", limit in 0usize..8) {
            let expected: Vec<&str> = if path == "/" { vec![] } else { path[1..].split('/').collect() };
            let (count, segments) = split(&path, limit);
            if expected.len() > limit {
                prop_assert_eq!(count, limit + 1);
            } else {
                prop_assert_eq!(count, expected.len());
                prop_assert_eq!(segments, expected);
            }
        }

        #[test]
        fn a_segment_is_hashed_by_its_bytes_wherever_it_stands(segment in "[a-z]{0,30}", prefix in "[a-z]{0,9}") {
            let path = format!("/{prefix}/{segment}");
            let mut segments = Vec::new();
            split_segments(path.as_bytes(), 2, &mut segments);
            let literal = Segment::literal(segment.as_bytes());
            prop_assert_eq!((segments[1].hash, segments[1].word), (literal.hash, literal.word));
        }
    }
}
