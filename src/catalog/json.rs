//! JSON documents with the line of every value and key, duplicate keys included.
//!
//! `serde_json` decides what is JSON; a second walk over the same text, which may then assume valid input, keeps what
//! a [`Value`] forgets: lines, repeated keys, and numbers as they were written.

use serde_json::{Map, Value};
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// A value and the line it begins on.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Line, counted from 1.
    pub line: u32,
    /// What it is.
    pub kind: Kind,
}

/// What a [`Node`] is.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number as it was written.
    Number(String),
    /// A string, unescaped.
    String(String),
    /// An array.
    Array(Vec<Node>),
    /// An object, members in document order, repeated keys included.
    Object(Vec<Member>),
}

/// A member of an object.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    /// Its key, unescaped.
    pub key: String,
    /// The line of the key.
    pub line: u32,
    /// Its value.
    pub value: Node,
}

/// Why a text is no JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    /// Line, counted from 1.
    pub line: u32,
    /// What is wrong there.
    pub message: String,
}

/// A key that an object has twice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DuplicateKey<'n> {
    /// The key.
    pub key: &'n str,
    /// The line of the repetition.
    pub line: u32,
    /// The line of its first use.
    pub first_line: u32,
}

impl Node {
    /// Reads one JSON document.
    pub fn parse(text: &str) -> Result<Node, SyntaxError> {
        match serde_json::from_str::<Value>(text) {
            Ok(_) => Ok(Walk { text, at: 0, line: 1 }.value()),
            Err(error) => Err(SyntaxError {
                line: u32::try_from(error.line()).unwrap_or(u32::MAX),
                message: without_position(&error.to_string()).to_owned(),
            }),
        }
    }

    /// The members, if this is an object.
    pub fn members(&self) -> Option<&[Member]> {
        match &self.kind {
            Kind::Object(members) => Some(members),
            _ => None,
        }
    }

    /// The items, if this is an array.
    pub fn items(&self) -> Option<&[Node]> {
        match &self.kind {
            Kind::Array(items) => Some(items),
            _ => None,
        }
    }

    /// The text, if this is a string.
    pub fn as_str(&self) -> Option<&str> {
        match &self.kind {
            Kind::String(text) => Some(text),
            _ => None,
        }
    }

    /// The first member with this key.
    pub fn member(&self, key: &str) -> Option<&Member> {
        self.members()?.iter().find(|member| member.key == key)
    }

    /// The value of the first member with this key.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.member(key).map(|member| &member.value)
    }

    /// What it is, in a word with its article.
    pub fn type_name(&self) -> &'static str {
        match self.kind {
            Kind::Null => "null",
            Kind::Bool(_) => "a boolean",
            Kind::Number(_) => "a number",
            Kind::String(_) => "a string",
            Kind::Array(_) => "an array",
            Kind::Object(_) => "an object",
        }
    }

    /// The same as a [`Value`]; of a repeated key the last one counts.
    pub fn to_value(&self) -> Value {
        match &self.kind {
            Kind::Null => Value::Null,
            Kind::Bool(value) => Value::Bool(*value),
            Kind::Number(text) => serde_json::from_str(text).unwrap_or(Value::Null),
            Kind::String(text) => Value::String(text.clone()),
            Kind::Array(items) => Value::Array(items.iter().map(Node::to_value).collect()),
            Kind::Object(members) => {
                let entries = members.iter().map(|member| (member.key.clone(), member.value.to_value()));
                Value::Object(entries.collect::<Map<_, _>>())
            }
        }
    }

    /// Every key that an object in here has twice, in document order.
    pub fn duplicate_keys(&self) -> Vec<DuplicateKey<'_>> {
        let mut found = Vec::new();
        self.collect_duplicates(&mut found);
        found
    }

    fn collect_duplicates<'n>(&'n self, found: &mut Vec<DuplicateKey<'n>>) {
        match &self.kind {
            Kind::Array(items) => items.iter().for_each(|item| item.collect_duplicates(found)),
            Kind::Object(members) => {
                let mut first_lines = HashMap::new();
                for Member { key, line, value } in members {
                    match first_lines.entry(key.as_str()) {
                        Entry::Vacant(vacant) => _ = vacant.insert(*line),
                        Entry::Occupied(first) => {
                            found.push(DuplicateKey { key, line: *line, first_line: *first.get() });
                        }
                    }
                    value.collect_duplicates(found);
                }
            }
            _ => {}
        }
    }

    /// Renumbers the lines, for a document that stands inside of another.
    pub fn map_lines(&mut self, to: &impl Fn(u32) -> u32) {
        self.line = to(self.line);
        match &mut self.kind {
            Kind::Array(items) => items.iter_mut().for_each(|item| item.map_lines(to)),
            Kind::Object(members) => {
                for member in members {
                    member.line = to(member.line);
                    member.value.map_lines(to);
                }
            }
            _ => {}
        }
    }

    /// The line of the deepest value or key that a JSON Pointer reaches.
    pub fn line_at(&self, pointer: &str) -> u32 {
        let mut node = self;
        let mut line = self.line;
        for token in pointer.split('/').skip(1) {
            let token = token.replace("~1", "/").replace("~0", "~");
            let next = match &node.kind {
                Kind::Object(_) => node.member(&token).map(|member| (member.line, &member.value)),
                Kind::Array(items) => {
                    token.parse().ok().and_then(|index: usize| items.get(index)).map(|item| (item.line, item))
                }
                _ => None,
            };
            let Some((next_line, next_node)) = next else { break };
            (line, node) = (next_line, next_node);
        }
        line
    }
}

/// `serde_json` ends its messages with the position, which is reported beside the message here.
fn without_position(message: &str) -> &str {
    message.split(" at line ").next().unwrap_or(message)
}

/// The walk over a text that `serde_json` has accepted, so that every expectation below holds. Where one would not,
/// it stops early rather than panics.
struct Walk<'t> {
    text: &'t str,
    at: usize,
    line: u32,
}

impl Walk<'_> {
    fn peek(&self) -> u8 {
        self.text.as_bytes().get(self.at).copied().unwrap_or(0)
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), b' ' | b'\t' | b'\r' | b'\n') {
            self.line += u32::from(self.peek() == b'\n');
            self.at += 1;
        }
    }

    /// Steps over the next token if it is this one.
    fn eat(&mut self, byte: u8) -> bool {
        self.skip_space();
        let found = self.peek() == byte;
        self.at += usize::from(found);
        found
    }

    fn value(&mut self) -> Node {
        self.skip_space();
        let line = self.line;
        let kind = match self.peek() {
            b'{' => self.object(),
            b'[' => self.array(),
            b'"' => Kind::String(self.string()),
            _ => self.word(),
        };
        Node { line, kind }
    }

    fn object(&mut self) -> Kind {
        self.at += 1;
        let mut members = Vec::new();
        while !self.eat(b'}') && self.at < self.text.len() {
            self.eat(b',');
            self.skip_space();
            let line = self.line;
            let key = self.string();
            self.eat(b':');
            members.push(Member { key, line, value: self.value() });
        }
        Kind::Object(members)
    }

    fn array(&mut self) -> Kind {
        self.at += 1;
        let mut items = Vec::new();
        while !self.eat(b']') && self.at < self.text.len() {
            self.eat(b',');
            items.push(self.value());
        }
        Kind::Array(items)
    }

    fn string(&mut self) -> String {
        let start = self.at;
        self.at += 1;
        while self.at < self.text.len() && self.peek() != b'"' {
            self.at += 1 + usize::from(self.peek() == b'\\');
        }
        self.at += 1;
        let token = self.text.get(start..self.at).unwrap_or("\"\"");
        serde_json::from_str(token).unwrap_or_default()
    }

    fn word(&mut self) -> Kind {
        let start = self.at;
        while matches!(self.peek(), b'a'..=b'z' | b'0'..=b'9' | b'+' | b'-' | b'.' | b'E') {
            self.at += 1;
        }
        match self.text.get(start..self.at).unwrap_or("null") {
            "null" => Kind::Null,
            "true" => Kind::Bool(true),
            "false" => Kind::Bool(false),
            number => Kind::Number(number.to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_duplicates_and_values_are_kept() {
        let text = "{\n \"a\": [1, 2.50e3,\n  {\"b\": null}],\n \"a\": \"x\\n\\u00e9\\\"\",\n \"c\": {}\n}";
        let node = Node::parse(text).unwrap();
        assert_eq!(node.to_value()["a"], Value::String("x\né\"".to_owned()));
        assert_eq!(node.get("a").unwrap().items().unwrap()[1].kind, Kind::Number("2.50e3".to_owned()));
        assert_eq!(node.duplicate_keys(), [DuplicateKey { key: "a", line: 4, first_line: 2 }]);
        assert_eq!((node.line_at("/a/2/b"), node.line_at("/c/none"), node.line_at("")), (3, 5, 1));
    }

    #[test]
    fn what_is_no_json_is_refused_with_its_line() {
        let error = Node::parse("{\n\"a\": 1,\n}").unwrap_err();
        assert_eq!(error.line, 3);
        assert!(!error.message.contains("line"), "{}", error.message);
        assert!(Node::parse("\"\\ud800\"").is_err(), "a lone surrogate");
        assert!(Node::parse("1e999").is_err(), "a number that is no double");
        assert!(Node::parse(&"[".repeat(100_000)).is_err(), "nesting is bounded");
    }

    proptest::proptest! {
        #[test]
        fn agrees_with_serde_json(text in "[\\[\\]{}:,\"a-c0-9 \n.eE+-]{0,40}") {
            if let Ok(value) = serde_json::from_str::<Value>(&text) {
                proptest::prop_assert_eq!(Node::parse(&text).unwrap().to_value(), value);
            } else {
                proptest::prop_assert!(Node::parse(&text).is_err());
            }
        }
    }
}
