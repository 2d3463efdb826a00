//! Duplicate keys (D15; RFC 7493, 2.3), compared as decoded, without allocating and without quadratic work.

use simd_json::Node;

/// Objects up to this many members are compared pairwise, and only where a one-word filter saw a collision.
const FEW: usize = 16;

/// A key of a large object, for sorting: most comparisons end at the prefix and never touch the string.
#[derive(Clone, Copy, Debug)]
pub(super) struct KeyRef {
    /// The first eight bytes, big-endian, zeros behind a shorter key.
    prefix: u64,
    /// Its node.
    node: u32,
}

/// The node of a key that its object had already. Every object of the tape is looked at; each key is visited once.
pub(super) fn duplicate(nodes: &[Node<'_>], scratch: &mut Vec<KeyRef>) -> Option<usize> {
    nodes.iter().enumerate().find_map(|(index, node)| match node {
        Node::Object { len: 2..=FEW, .. } => among_few(nodes, index),
        Node::Object { len, .. } if *len > FEW => among_many(nodes, index, scratch),
        _ => None,
    })
}

/// The keys of the object at `object`, with their nodes.
pub(super) fn keys<'n, 'a>(
    nodes: &'n [Node<'a>],
    object: usize,
) -> impl Iterator<Item = (usize, &'a str)> + use<'n, 'a> {
    let mut left = match nodes.get(object) {
        Some(Node::Object { len, .. }) => *len,
        _ => 0,
    };
    let mut next = object + 1;
    std::iter::from_fn(move || {
        left = left.checked_sub(1)?;
        let (index, key) = (next, key_at(nodes, next)?);
        next += 1 + span(nodes.get(next + 1)?);
        Some((index, key))
    })
}

fn key_at<'a>(nodes: &[Node<'a>], index: usize) -> Option<&'a str> {
    match nodes.get(index) {
        Some(Node::String(key)) => Some(key),
        _ => None,
    }
}

/// How many nodes a value takes, its own included.
#[inline]
pub(super) fn span(node: &Node<'_>) -> usize {
    match node {
        Node::Object { count, .. } | Node::Array { count, .. } => count + 1,
        _ => 1,
    }
}

fn among_few(nodes: &[Node<'_>], object: usize) -> Option<usize> {
    let mut seen = 0_u64;
    for (index, key) in keys(nodes, object) {
        let bit = 1_u64 << filter_bit(key.as_bytes());
        if seen & bit != 0 && keys(nodes, object).any(|(earlier, other)| earlier < index && other == key) {
            return Some(index);
        }
        seen |= bit;
    }
    None
}

/// One of 64 bits that equal keys share: length and both ends tell the keys of real objects apart well.
fn filter_bit(key: &[u8]) -> u32 {
    let first = key.first().copied().unwrap_or(0);
    let last = key.last().copied().unwrap_or(0);
    let mixed = (key.len() as u32).wrapping_mul(0x9E37_79B1)
        ^ u32::from(first).wrapping_mul(0x85EB_CA6B)
        ^ u32::from(last).wrapping_mul(0xC2B2_AE35);
    mixed >> 26
}

/// Sorts the keys, so that equal ones become neighbours. Sorting by content rather than by a hash leaves nothing to
/// attack: the work is bounded by the bytes of the body times the logarithm of the number of keys.
#[cold]
fn among_many(nodes: &[Node<'_>], object: usize, scratch: &mut Vec<KeyRef>) -> Option<usize> {
    scratch.clear();
    scratch.extend(
        keys(nodes, object).map(|(index, key)| KeyRef { prefix: prefix(key.as_bytes()), node: index as u32 }),
    );
    let text = |key: &KeyRef| key_at(nodes, key.node as usize);
    scratch.sort_unstable_by(|a, b| a.prefix.cmp(&b.prefix).then_with(|| text(a).cmp(&text(b))));
    let twins = scratch.windows(2).find_map(|pair| match pair {
        [a, b] if a.prefix == b.prefix && text(a) == text(b) => Some(a.node.max(b.node)),
        _ => None,
    });
    twins.map(|node| node as usize)
}

fn prefix(key: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    for (slot, byte) in bytes.iter_mut().zip(key) {
        *slot = *byte;
    }
    u64::from_be_bytes(bytes)
}
