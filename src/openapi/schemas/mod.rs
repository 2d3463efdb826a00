//! Schemas of OpenAPI 3.0 and 3.1 as JSON Schema 2020-12 that stands by itself.
//!
//! A reference becomes one into the schema's own `$defs`, each target converted once, so circles stay circles. `allOf`
//! is flattened where its branches agree. What the compiler would refuse (a pattern that is no regular expression, a
//! `type` that is none) is set aside under `x-openapi-…`, with a word to the reviewer.

mod keywords;
mod merge;

use super::document::{Dialect, Document, members};
use super::refs;
use merge::merge;
use serde_json::{Map, Value, json};
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, VecDeque};

/// Bytes of JSON that one schema has at most; what lies deeper is cut. Some documents reach everything from everywhere.
const MOST_BYTES: usize = 48 << 10;

/// Which way a schema's values go: read-only properties are not sent, write-only ones not received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    Request,
    Response,
}

impl Direction {
    /// The keyword of properties that do not go this way.
    const fn hidden(self) -> &'static str {
        match self {
            Direction::Request => "readOnly",
            Direction::Response => "writeOnly",
        }
    }
}

/// What is known of patterns, which thousands of schemas share.
#[derive(Debug, Default)]
pub(super) struct Patterns(RefCell<HashMap<String, bool>>);

impl Patterns {
    /// Whether the compiler takes it for a regular expression.
    fn is_sound(&self, pattern: &str) -> bool {
        if let Some(&known) = self.0.borrow().get(pattern) {
            return known;
        }
        let sound = jsonschema::draft202012::options().build(&json!({"pattern": pattern})).is_ok();
        self.0.borrow_mut().insert(pattern.to_owned(), sound);
        sound
    }
}

/// Converts the schemas of one direction of one operation.
#[derive(Debug)]
pub(super) struct Schemas<'d> {
    document: &'d Document,
    patterns: &'d Patterns,
    direction: Direction,
    /// Pointers and the names their targets have in `$defs`.
    names: HashMap<String, String>,
    /// What is yet to be converted.
    queue: VecDeque<(String, String)>,
    defs: BTreeMap<String, Value>,
    /// Pointers whose targets are being taken apart.
    open: Vec<String>,
    bytes: usize,
    cut: usize,
    /// What a person should know, each once.
    pub(super) reviews: Vec<String>,
}

impl<'d> Schemas<'d> {
    pub(super) fn new(document: &'d Document, patterns: &'d Patterns, direction: Direction) -> Schemas<'d> {
        Schemas {
            document,
            patterns,
            direction,
            names: HashMap::new(),
            queue: VecDeque::new(),
            defs: BTreeMap::new(),
            open: Vec::new(),
            bytes: 0,
            cut: 0,
            reviews: Vec::new(),
        }
    }

    fn review(&mut self, message: String) {
        if !self.reviews.contains(&message) {
            self.reviews.push(message);
        }
    }

    /// Converts a schema; a reference at its top is replaced by what it refers to.
    pub(super) fn resolved(&mut self, schema: &Value) -> Value {
        match self.inlined(schema) {
            Ok(Some(resolved)) => resolved,
            // A schema that is itself again says nothing.
            Ok(None) => Value::Bool(true),
            Err(fault) => {
                self.review(format!("{fault}; any value is taken there"));
                Value::Bool(true)
            }
        }
    }

    /// The target of a schema's references, converted; nothing if it is being taken apart already.
    fn inlined(&mut self, schema: &Value) -> Result<Option<Value>, String> {
        let document = self.document;
        let Some(reference) = schema.get("$ref").and_then(Value::as_str) else {
            return Ok(Some(self.convert(schema)));
        };
        let pointer = refs::pointer(reference)?;
        let target = document.at(reference, &pointer)?;
        if self.open.contains(&pointer) {
            return Ok(None);
        }
        self.open.push(pointer);
        let inlined = self.inlined(target);
        self.open.pop();
        Ok(inlined?.map(|inlined| self.beside_reference(schema, inlined)))
    }

    /// What stands beside a reference applies too; in 3.0 only its description does.
    fn beside_reference(&mut self, schema: &Value, target: Value) -> Value {
        let members = members(Some(schema)).iter().filter(|(key, _)| *key != "$ref");
        let kept: Map<_, _> = members
            .filter(|(key, _)| self.document.dialect == Dialect::V31 || *key == "description")
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        if kept.is_empty() {
            return target;
        }
        let beside = self.convert(&Value::Object(kept));
        match merge(&target, &beside) {
            Some(merged) => merged,
            None => json!({"allOf": [target, beside]}),
        }
    }

    /// A schema that is a reference, as one into `$defs`.
    fn referring(&mut self, schema: &Map<String, Value>, reference: &str) -> Value {
        let pointer = match refs::pointer(reference) {
            Ok(pointer) if self.document.root.pointer(&pointer).is_some() => pointer,
            Ok(_) => return self.astray(format!("reference \"{reference}\" leads nowhere")),
            Err(fault) => return self.astray(fault),
        };
        let name = self.name(&pointer);
        let mut out = Map::new();
        out.insert("$ref".to_owned(), format!("#/$defs/{name}").into());
        let beside = schema.iter().filter(|(key, _)| *key != "$ref");
        let kept = beside.filter(|(key, _)| self.document.dialect == Dialect::V31 || *key == "description");
        let kept: Map<_, _> = kept.map(|(key, value)| (key.clone(), value.clone())).collect();
        if let Value::Object(kept) = self.convert(&Value::Object(kept)) {
            out.extend(kept);
        }
        Value::Object(out)
    }

    fn astray(&mut self, fault: String) -> Value {
        self.review(format!("{fault}; any value is taken there"));
        json!({"$comment": fault})
    }

    /// The name of a pointer's target in `$defs`: its last part, made unique.
    fn name(&mut self, pointer: &str) -> String {
        if let Some(name) = self.names.get(pointer) {
            return name.clone();
        }
        let last = pointer.rsplit('/').next().unwrap_or_default();
        let plain = |letter: char| {
            if letter.is_ascii_alphanumeric() || "-_.".contains(letter) { letter } else { '_' }
        };
        let mut name: String = last.chars().map(plain).collect();
        if name.is_empty() {
            name.push_str("schema");
        }
        let mut number = 2;
        let base = name.clone();
        while self.names.values().any(|taken| *taken == name) {
            name = format!("{base}-{number}");
            number += 1;
        }
        self.names.insert(pointer.to_owned(), name.clone());
        self.queue.push_back((pointer.to_owned(), name.clone()));
        name
    }

    /// Converts a schema. References stay references.
    pub(super) fn convert(&mut self, schema: &Value) -> Value {
        match schema {
            Value::Bool(_) => schema.clone(),
            Value::Object(members) => match members.get("$ref").and_then(Value::as_str) {
                Some(reference) if members.get("nullable") == Some(&Value::Bool(true)) => {
                    // 3.0 says that nothing beside a reference counts, and everybody writes this.
                    let target = self.referring(members, reference);
                    json!({"anyOf": [target, {"type": "null"}]})
                }
                Some(reference) => self.referring(members, reference),
                None => self.members(members),
            },
            _ => {
                self.review("a schema that is no object stands for any value".to_owned());
                Value::Bool(true)
            }
        }
    }

    /// Adds `$defs` to a finished schema: what it refers to, breadth first, until it is large enough.
    pub(super) fn close(&mut self, schema: &mut Map<String, Value>) {
        self.bytes = Value::Object(schema.clone()).to_string().len();
        let document = self.document;
        while let Some((pointer, name)) = self.queue.pop_front() {
            if self.bytes > MOST_BYTES {
                self.cut += 1;
                let comment = format!("cut: {pointer} is not carried over, any value is taken here");
                self.defs.insert(name, json!({"$comment": comment}));
                continue;
            }
            let target = document.root.pointer(&pointer).unwrap_or(&Value::Null);
            self.open.push(pointer);
            let converted = self.convert(target);
            self.open.pop();
            self.bytes += converted.to_string().len();
            self.defs.insert(name, converted);
        }
        if self.cut > 0 {
            let (cut, most) = (self.cut, MOST_BYTES >> 10);
            self.review(format!(
                "the schema reaches more than {most} KiB of others: {cut} of them take any value"
            ));
        }
        if !self.defs.is_empty() {
            schema.insert("$defs".to_owned(), std::mem::take(&mut self.defs).into_iter().collect());
        }
    }

    /// What a reference into `$defs` stands for, if it is converted already or can be now.
    pub(super) fn definition(&mut self, schema: &Value) -> Option<Value> {
        let name = schema.get("$ref")?.as_str()?.strip_prefix("#/$defs/")?.to_owned();
        let pointer =
            self.names.iter().find(|(_, known)| **known == name).map(|(pointer, _)| pointer.clone())?;
        if self.open.contains(&pointer) {
            return None;
        }
        let target = self.document.root.pointer(&pointer)?;
        self.open.push(pointer);
        let converted = self.convert(target);
        self.open.pop();
        Some(converted)
    }

    /// Whether every value that a converted schema takes is an object.
    pub(super) fn is_object(&mut self, schema: &Value) -> bool {
        self.is_object_within(schema, 8)
    }

    fn is_object_within(&mut self, schema: &Value, depth: usize) -> bool {
        let Some(members) = schema.as_object().filter(|_| depth > 0) else { return false };
        if let Some(kind) = members.get("type") {
            return kind == "object" || kind == &json!(["object"]);
        }
        if members.contains_key("$ref") {
            let target = self.definition(schema);
            return target.is_some_and(|target| self.is_object_within(&target, depth - 1));
        }
        let all = |this: &mut Self, key: &str| {
            let branches = super::document::elements(members.get(key));
            !branches.is_empty() && branches.iter().all(|branch| this.is_object_within(branch, depth - 1))
        };
        let some = super::document::elements(members.get("allOf")).iter();
        let mut some =
            some.map(|branch| self.is_object_within(branch, depth - 1)).collect::<Vec<_>>().into_iter();
        some.any(|object| object) || all(self, "oneOf") || all(self, "anyOf")
    }
}
