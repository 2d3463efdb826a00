//! Reading a tape: borrowed, typed access.

use super::escape::push_string;
use super::keys::span;
use super::{Number, unique};
use simd_json::{Node, StaticNode};
use std::fmt;

/// One value of a document: a view of its nodes, as cheap to copy as a slice.
#[derive(Clone, Copy)]
pub struct Value<'a> {
    /// The value's node and, behind it, those of its parts and nothing else.
    nodes: &'a [Node<'a>],
}

/// What a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool,
    /// A number, integers included.
    Number,
    /// A string.
    String,
    /// An array.
    Array,
    /// An object.
    Object,
}

impl<'a> Value<'a> {
    /// The value that `nodes` holds from its first to its last.
    #[inline]
    pub(super) fn of(nodes: &'a [Node<'a>]) -> Value<'a> {
        Value { nodes }
    }

    /// The node; a value without one, which no tape has, reads as null.
    #[inline]
    pub(super) fn node(self) -> Node<'a> {
        self.nodes.first().copied().unwrap_or(Node::Static(StaticNode::Null))
    }

    /// Where the value lies, to tell it from others of the same document.
    #[inline]
    pub(super) fn address(self) -> usize {
        self.nodes.as_ptr() as usize
    }

    /// What the value is.
    #[inline]
    pub fn kind(self) -> Kind {
        match self.node() {
            Node::String(_) => Kind::String,
            Node::Object { .. } => Kind::Object,
            Node::Array { .. } => Kind::Array,
            Node::Static(StaticNode::Bool(_)) => Kind::Bool,
            Node::Static(StaticNode::Null) => Kind::Null,
            Node::Static(_) => Kind::Number,
        }
    }

    /// The string.
    #[inline]
    pub fn as_str(self) -> Option<&'a str> {
        match self.node() {
            Node::String(text) => Some(text),
            _ => None,
        }
    }

    /// The number.
    #[inline]
    pub fn as_number(self) -> Option<Number> {
        match self.node() {
            Node::Static(StaticNode::U64(value)) => Some(Number::U64(value)),
            Node::Static(StaticNode::I64(value)) => Some(Number::I64(value)),
            Node::Static(StaticNode::F64(value)) => Some(Number::F64(value)),
            _ => None,
        }
    }

    /// The number as an unsigned integer, see [`Number::as_u64`].
    pub fn as_u64(self) -> Option<u64> {
        self.as_number()?.as_u64()
    }

    /// The number as a signed integer, see [`Number::as_i64`].
    pub fn as_i64(self) -> Option<i64> {
        self.as_number()?.as_i64()
    }

    /// The number as the nearest double.
    pub fn as_f64(self) -> Option<f64> {
        Some(self.as_number()?.as_f64())
    }

    /// The boolean.
    #[inline]
    pub fn as_bool(self) -> Option<bool> {
        match self.node() {
            Node::Static(StaticNode::Bool(value)) => Some(value),
            _ => None,
        }
    }

    /// Whether it is `null`.
    #[inline]
    pub fn is_null(self) -> bool {
        matches!(self.node(), Node::Static(StaticNode::Null))
    }

    /// The object.
    #[inline]
    pub fn as_object(self) -> Option<Object<'a>> {
        match self.node() {
            Node::Object { len, .. } => Some(Object { len, nodes: self.parts() }),
            _ => None,
        }
    }

    /// The array.
    #[inline]
    pub fn as_array(self) -> Option<Array<'a>> {
        match self.node() {
            Node::Array { len, .. } => Some(Array { len, nodes: self.parts() }),
            _ => None,
        }
    }

    /// The value under `key`, if this is an object that has it.
    #[inline]
    pub fn get(self, key: &str) -> Option<Value<'a>> {
        self.as_object()?.get(key)
    }

    /// The members, in the order they were written; of anything but an object, none.
    #[inline]
    pub fn members(self) -> Members<'a> {
        self.as_object().unwrap_or_default().members()
    }

    /// The elements; of anything but an array, none.
    #[inline]
    pub fn elements(self) -> Elements<'a> {
        self.as_array().unwrap_or_default().elements()
    }

    /// The value a JSON Pointer (RFC 6901) names; the empty pointer is this one.
    pub fn pointer(self, pointer: &str) -> Option<Value<'a>> {
        let Some(tokens) = pointer.strip_prefix('/') else { return pointer.is_empty().then_some(self) };
        tokens.split('/').try_fold(self, |value, token| value.step(token))
    }

    fn step(self, token: &str) -> Option<Value<'a>> {
        match self.kind() {
            Kind::Object => self.members().find(|(key, _)| is_token(token, key)).map(|(_, value)| value),
            Kind::Array if token == "0" || !token.starts_with(['0', '+']) => {
                self.elements().nth(token.parse().ok()?)
            }
            _ => None,
        }
    }

    /// Appends the value as JSON: strings escaped no more than necessary, integers exact, doubles in their shortest
    /// form, members in the order they were written.
    pub fn write_json(self, out: &mut Vec<u8>) {
        match self.node() {
            Node::String(text) => push_string(out, text),
            Node::Static(StaticNode::Null) => out.extend_from_slice(b"null"),
            Node::Static(StaticNode::Bool(true)) => out.extend_from_slice(b"true"),
            Node::Static(StaticNode::Bool(false)) => out.extend_from_slice(b"false"),
            Node::Static(_) => self.as_number().unwrap_or(Number::U64(0)).write_json(out),
            Node::Object { .. } => {
                write_parts(out, b"{}", self.members(), |out, (key, value)| {
                    push_string(out, key);
                    out.push(b':');
                    value.write_json(out);
                });
            }
            Node::Array { .. } => {
                write_parts(out, b"[]", self.elements(), |out, value| value.write_json(out))
            }
        }
    }

    #[inline]
    fn parts(self) -> &'a [Node<'a>] {
        self.nodes.get(1..).unwrap_or(&[])
    }
}

/// The comma-separated parts of a container between its brackets.
fn write_parts<T>(
    out: &mut Vec<u8>,
    brackets: &[u8; 2],
    parts: impl Iterator<Item = T>,
    write: impl Fn(&mut Vec<u8>, T),
) {
    out.push(brackets[0]);
    for (index, part) in parts.enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write(out, part);
    }
    out.push(brackets[1]);
}

/// Whether a reference token of a JSON Pointer, with `~` as `~0` and `/` as `~1`, is this key.
fn is_token(token: &str, key: &str) -> bool {
    let mut key = key.bytes();
    let mut token = token.bytes();
    while let Some(byte) = token.next() {
        let meant = match byte {
            b'~' => match token.next() {
                Some(b'0') => b'~',
                Some(b'1') => b'/',
                _ => return false,
            },
            byte => byte,
        };
        if key.next() != Some(meant) {
            return false;
        }
    }
    key.next().is_none()
}

/// Equality of JSON Schema: numbers by value, objects whatever the order of their members.
impl PartialEq for Value<'_> {
    fn eq(&self, other: &Value<'_>) -> bool {
        unique::equal(*self, *other)
    }
}

/// JSON text.
impl fmt::Debug for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = Vec::new();
        self.write_json(&mut text);
        f.write_str(&String::from_utf8_lossy(&text))
    }
}

/// An object of a document.
#[derive(Clone, Copy, Default)]
pub struct Object<'a> {
    len: usize,
    /// Key, value, key, value, each value followed by its parts.
    nodes: &'a [Node<'a>],
}

impl<'a> Object<'a> {
    /// How many members it has.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The value under `key`.
    #[inline]
    pub fn get(&self, key: &str) -> Option<Value<'a>> {
        self.members().find(|(name, _)| *name == key).map(|(_, value)| value)
    }

    /// The members, in the order they were written.
    #[inline]
    pub fn members(&self) -> Members<'a> {
        Members { nodes: self.nodes }
    }
}

/// An array of a document.
#[derive(Clone, Copy, Default)]
pub struct Array<'a> {
    len: usize,
    nodes: &'a [Node<'a>],
}

impl<'a> Array<'a> {
    /// How many elements it has.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The elements.
    #[inline]
    pub fn elements(&self) -> Elements<'a> {
        Elements { nodes: self.nodes }
    }

    /// The elements with their places, for [`Self::at`].
    pub(super) fn places(&self) -> impl Iterator<Item = (usize, Value<'a>)> {
        let mut next = 0;
        self.elements().map(move |element| {
            let place = next;
            next += element.nodes.len();
            (place, element)
        })
    }

    /// The element at a place.
    pub(super) fn at(&self, place: usize) -> Option<Value<'a>> {
        Elements { nodes: self.nodes.get(place..)? }.next()
    }
}

/// The members of an object.
#[derive(Clone)]
pub struct Members<'a> {
    nodes: &'a [Node<'a>],
}

impl<'a> Members<'a> {
    /// The next member with its key as a value.
    #[inline]
    pub(super) fn next_nodes(&mut self) -> Option<(Value<'a>, Value<'a>)> {
        let key = Value::of(self.nodes.get(..1)?);
        let rest = self.nodes.get(1..)?;
        let (value, rest) = rest.split_at_checked(span(rest.first()?))?;
        self.nodes = rest;
        Some((key, Value::of(value)))
    }
}

impl<'a> Iterator for Members<'a> {
    type Item = (&'a str, Value<'a>);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let (key, value) = self.next_nodes()?;
        Some((key.as_str()?, value))
    }
}

/// The elements of an array.
#[derive(Clone)]
pub struct Elements<'a> {
    nodes: &'a [Node<'a>],
}

impl<'a> Iterator for Elements<'a> {
    type Item = Value<'a>;

    #[inline]
    fn next(&mut self) -> Option<Value<'a>> {
        let (value, rest) = self.nodes.split_at_checked(span(self.nodes.first()?))?;
        self.nodes = rest;
        Some(Value::of(value))
    }
}
