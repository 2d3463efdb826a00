//! Builds the tries of [`Router`].

use super::text::{Interner, index};
use super::{LowerError, perfect};
use crate::compiler::ir::{Template, TemplateSegment};
use crate::registry::{Edge, Node, NodeId, Router, Segment, Text, hash_edge};
use std::collections::HashMap;

/// No leaf.
const NO_LEAF: u32 = u32::MAX;

/// Tries under construction, in one arena. A node's children come after it.
#[derive(Default)]
pub(super) struct Tries<'d> {
    nodes: Vec<Growing>,
    /// Literal edges in the order they were added.
    edges: Vec<(NodeId, &'d str, NodeId)>,
    children: HashMap<(NodeId, &'d str), NodeId>,
    deepest: usize,
}

struct Growing {
    literals: u32,
    param: NodeId,
    leaf: u32,
    parent: NodeId,
    /// Whether a parameter edge leads here.
    is_param: bool,
}

impl<'d> Tries<'d> {
    /// A new, empty trie.
    pub(super) fn root(&mut self) -> NodeId {
        self.node(NodeId::NONE, false)
    }

    fn node(&mut self, parent: NodeId, is_param: bool) -> NodeId {
        self.nodes.push(Growing { literals: 0, param: NodeId::NONE, leaf: NO_LEAF, parent, is_param });
        NodeId(index(self.nodes.len() - 1))
    }

    /// Adds a template, and returns the leaf that holds its place: `leaf`, or the one that was there before.
    pub(super) fn insert(&mut self, root: NodeId, template: &'d Template, leaf: u32) -> u32 {
        self.deepest = self.deepest.max(template.segments.len());
        let end = template.segments.iter().fold(root, |node, segment| match segment {
            TemplateSegment::Literal(literal) => self.literal_child(node, literal),
            TemplateSegment::Param(_) => self.param_child(node),
        });
        let end = &mut self.nodes[end.0 as usize];
        if end.leaf == NO_LEAF {
            end.leaf = leaf;
        }
        end.leaf
    }

    fn literal_child(&mut self, from: NodeId, literal: &'d str) -> NodeId {
        if let Some(&child) = self.children.get(&(from, literal)) {
            return child;
        }
        let child = self.node(from, false);
        self.nodes[from.0 as usize].literals += 1;
        self.children.insert((from, literal), child);
        self.edges.push((from, literal, child));
        child
    }

    fn param_child(&mut self, from: NodeId) -> NodeId {
        if self.nodes[from.0 as usize].param == NodeId::NONE {
            let child = self.node(from, true);
            self.nodes[from.0 as usize].param = child;
        }
        self.nodes[from.0 as usize].param
    }

    /// The finished tables; `all` is the root of the trie of all templates.
    pub(super) fn finish(self, all: NodeId, text: &mut Interner) -> Result<Router, LowerError> {
        let segments: Vec<_> =
            self.edges.iter().map(|(_, literal, _)| Segment::literal(literal.as_bytes())).collect();
        let hashes: Vec<u64> = self
            .edges
            .iter()
            .zip(&segments)
            .map(|((from, ..), segment)| hash_edge(*from, segment.hash))
            .collect();
        let placement = perfect::place(&hashes).map_err(|perfect::Duplicate(first, second)| {
            LowerError::HashCollision(self.edges[first].1.to_owned(), self.edges[second].1.to_owned())
        })?;
        let free = Edge { from: NodeId::NONE, to: NodeId::NONE, word: 0, segment: Text::EMPTY };
        let mut edges = Vec::with_capacity(placement.slots.len());
        for key in &placement.slots {
            edges.push(key.map_or(free, |key| {
                let (from, literal, to) = self.edges[key];
                Edge { from, to, word: segments[key].word, segment: text.add(literal) }
            }));
        }
        let deepest = index(self.deepest);
        Ok(Router { nodes: self.nodes().into(), hash: placement.hash, edges: edges.into(), all, deepest })
    }

    /// The nodes with `fewest`, children before parents.
    fn nodes(&self) -> Vec<Node> {
        let mut fewest = vec![u16::MAX; self.nodes.len()];
        for (row, node) in self.nodes.iter().enumerate().rev() {
            if node.leaf != NO_LEAF {
                fewest[row] = 0;
            }
            if node.parent != NodeId::NONE {
                let here = fewest[row].saturating_add(u16::from(node.is_param));
                let parent = &mut fewest[node.parent.0 as usize];
                *parent = here.min(*parent);
            }
        }
        let row = |(node, fewest): (&Growing, u16)| Node {
            literals: node.literals,
            param: node.param,
            leaf: node.leaf,
            fewest,
        };
        self.nodes.iter().zip(fewest).map(row).collect()
    }
}
