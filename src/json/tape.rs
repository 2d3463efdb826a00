//! Request bodies as tapes: flat lists of nodes that borrow their strings from the body.

use super::keys::{self, KeyRef, span};
use super::{JsonFault, PADDING, Reason, Scalar, Value};
use simd_json::{Buffers, Node, Tape};

/// Tapes with more room than this are given back to the system after use, so that a burst of the largest bodies does
/// not stay in memory for good. 64 Ki nodes are 1.5 MiB, a body of about 300 KiB.
const RETAINED_NODES: usize = 64 * 1024;

/// Everything parsing needs, reused from document to document: one per core.
///
/// [`parse`](Self::parse) or [`empty`](Self::empty) hands a [`Document`] out, [`recycle`](Self::recycle) takes its
/// memory back. A document that is dropped instead costs the next one an allocation, nothing else.
pub struct TapeBuffers {
    parser: Buffers,
    depth: usize,
    nodes: Vec<Node<'static>>,
    keys: Vec<KeyRef>,
}

impl TapeBuffers {
    /// Empty buffers. They grow with the first documents.
    pub fn new() -> TapeBuffers {
        TapeBuffers {
            parser: Buffers::new(0),
            depth: simd_json::DEFAULT_MAX_DEPTH,
            nodes: Vec::new(),
            keys: Vec::new(),
        }
    }

    /// Parses `input[..len]`, unescaping strings in place. `input` goes on for at least [`PADDING`] bytes after `len`,
    /// whose content does not matter and does not change. `depth` containers may be open at once.
    ///
    /// The document is I-JSON (D15), and its numbers are finite: see [`super::Number`].
    ///
    /// # Errors
    /// What is wrong with the bytes; they may have been unescaped in part.
    #[inline]
    pub fn parse<'a>(
        &mut self,
        input: &'a mut [u8],
        len: usize,
        depth: usize,
    ) -> Result<Document<'a>, JsonFault> {
        let start = input.as_ptr() as usize;
        self.limit_depth(depth);
        let mut tape = Tape(std::mem::take(&mut self.nodes));
        let parsed = simd_json::fill_tape_padded(input, len, &mut self.parser, &mut tape);
        let document = Document { nodes: tape.0 };
        let fault = match parsed {
            Ok(()) => self.duplicate_key(&document.nodes, start),
            Err(error) => Some(error.into()),
        };
        match fault {
            None => Ok(document),
            Some(fault) => {
                self.recycle(document);
                Err(fault)
            }
        }
    }

    /// The document `{}`, which an absent body counts as (D15).
    #[inline]
    pub fn empty<'a>(&mut self) -> Document<'a> {
        let mut nodes: Vec<Node<'a>> = std::mem::take(&mut self.nodes);
        nodes.clear();
        nodes.push(Node::Object { len: 0, count: 0 });
        Document { nodes }
    }

    /// Takes the memory of a document back for the next one.
    #[inline]
    pub fn recycle(&mut self, document: Document<'_>) {
        if document.nodes.capacity() > RETAINED_NODES {
            self.shed();
            return;
        }
        self.nodes = Tape(document.nodes).reset().0;
    }

    /// Lets go of the memory that an unusually large document needed.
    #[cold]
    fn shed(&mut self) {
        *self = TapeBuffers {
            parser: Buffers::with_max_depth(0, self.depth),
            depth: self.depth,
            ..TapeBuffers::new()
        };
    }

    /// The parser takes its limit when it is made; one core's documents all have the same.
    fn limit_depth(&mut self, depth: usize) {
        if depth != self.depth {
            self.parser = Buffers::with_max_depth(0, depth);
            self.depth = depth;
        }
    }

    #[inline]
    fn duplicate_key(&mut self, nodes: &[Node<'_>], start: usize) -> Option<JsonFault> {
        let found = keys::duplicate(nodes, &mut self.keys)?;
        let offset = match nodes.get(found) {
            Some(Node::String(key)) => (key.as_ptr() as usize).saturating_sub(start),
            _ => 0,
        };
        Some(JsonFault::at(Reason::DuplicateKey, offset))
    }
}

impl Default for TapeBuffers {
    fn default() -> TapeBuffers {
        TapeBuffers::new()
    }
}

/// One parsed document, and what is merged into it.
///
/// Invariant: the first node is the root and spans all others, which is what makes adding a member to a root object
/// two pushes and a count.
pub struct Document<'a> {
    nodes: Vec<Node<'a>>,
}

impl<'a> Document<'a> {
    /// The value of the document.
    #[inline]
    pub fn root(&self) -> Value<'_> {
        Value::of(&self.nodes)
    }

    /// Whether the root is an object, which input must be (D15).
    #[inline]
    pub fn is_object(&self) -> bool {
        matches!(self.nodes.first(), Some(Node::Object { .. }))
    }

    /// Whether the root object has this key.
    pub fn contains(&self, key: &str) -> bool {
        self.value_node(key).is_some()
    }

    /// Sets a member of the root object, in place of the one with this key if there is one, whatever its type: how a
    /// path parameter beats the body (D8). Does nothing when the root is not an object.
    ///
    /// Costs a walk over the root's keys.
    pub fn set(&mut self, key: &'a str, value: Scalar<'a>) {
        match self.value_node(key) {
            Some(index) => self.replace(index, value),
            None => self.push(key, value),
        }
    }

    /// Sets a member of the root object unless it has one with this key: how the body beats a query parameter (D8).
    /// Costs a walk over the root's keys.
    pub fn set_missing(&mut self, key: &'a str, value: Scalar<'a>) {
        if !self.contains(key) {
            self.push(key, value);
        }
    }

    /// Takes a member out of the root object. Costs a walk over the root's keys.
    pub fn remove(&mut self, key: &str) {
        let Some(value) = self.value_node(key) else { return };
        let nodes = 1 + self.nodes.get(value).map_or(0, span);
        self.nodes.drain(value - 1..value - 1 + nodes);
        if let Some(Node::Object { len, count }) = self.nodes.first_mut() {
            *len -= 1;
            *count -= nodes;
        }
    }

    /// Adds a member that the root object is known not to have. Does nothing when the root is not an object.
    #[inline]
    pub fn push(&mut self, key: &'a str, value: Scalar<'a>) {
        let Some(Node::Object { len, count }) = self.nodes.first_mut() else { return };
        *len += 1;
        *count += 2;
        self.nodes.push(Node::String(key));
        self.nodes.push(value.into());
    }

    /// The node of the value under `key`.
    fn value_node(&self, key: &str) -> Option<usize> {
        keys::keys(&self.nodes, 0).find(|(_, found)| *found == key).map(|(index, _)| index + 1)
    }

    fn replace(&mut self, index: usize, value: Scalar<'a>) {
        let Some(node) = self.nodes.get_mut(index) else { return };
        let parts = span(node) - 1;
        *node = value.into();
        if parts > 0 {
            self.nodes.drain(index + 1..index + 1 + parts);
            if let Some(Node::Object { count, .. }) = self.nodes.first_mut() {
                *count -= parts;
            }
        }
    }
}

const _: () = assert!(PADDING == 64, "the engine's buffers end in 64 spare bytes");
