//! The two ways to declare a schema, compiled to one JSON Schema with the lines of the file (facts page 4).

use super::document::{Block, Entry};
use crate::catalog::json::{Kind, Member, Node};
use crate::compiler::check::schema::{SchemaChecker, lax};
use crate::compiler::rules;
use serde_json::Value;
use std::collections::HashMap;

const TYPES: [&str; 6] = ["string", "integer", "number", "boolean", "object", "array"];

/// `input_schema`, or the field tables of `input`, or no input at all.
pub(super) fn input(endpoint: &Block<'_>, checker: &SchemaChecker) -> Option<Value> {
    let declared = one_way(endpoint, "input_schema", "input")?;
    let node = match declared {
        Declared::Full(entry) => full(&entry)?,
        Declared::Fields(entry) => input_fields(&entry)?,
        Declared::Nothing => object_schema(0, Vec::new(), Vec::new(), false),
    };
    let schema = checked(endpoint, &node, checker);
    for (pointer, finding) in lax(&schema) {
        endpoint.fault_at(node.line_at(&pointer), finding.rule, finding.message, finding.help);
    }
    Some(schema)
}

/// `output_schema`, or the field tables of `output`, or any object.
pub(super) fn output(endpoint: &Block<'_>, checker: &SchemaChecker) -> Option<Value> {
    let declared = one_way(endpoint, "output_schema", "output")?;
    let node = match declared {
        Declared::Full(entry) => full(&entry)?,
        Declared::Fields(entry) => output_fields(&entry),
        Declared::Nothing => {
            return Some(serde_json::json!({"type": "object", "additionalProperties": true}));
        }
    };
    Some(checked(endpoint, &node, checker))
}

enum Declared<'d> {
    Full(Entry<'d>),
    Fields(Entry<'d>),
    Nothing,
}

/// Which of the two ways an endpoint uses; nothing, and a fault, if both.
fn one_way<'d>(endpoint: &Block<'d>, full: &str, fields: &str) -> Option<Declared<'d>> {
    match (endpoint.get(full), endpoint.get(fields)) {
        (Some(entry), Some(_)) => {
            let message = format!("both {full} and {fields} are declared");
            entry.fault(&rules::DECLARED_TWICE, message, "keep one of them");
            None
        }
        (Some(entry), None) => Some(Declared::Full(entry)),
        (None, Some(entry)) => Some(Declared::Fields(entry)),
        (None, None) => Some(Declared::Nothing),
    }
}

/// A JSON document in a string, or a TOML table.
fn full(entry: &Entry<'_>) -> Option<Node> {
    let node = if entry.is_string() {
        entry.json_text()?
    } else {
        entry.table()?;
        entry.to_json()?
    };
    if node.members().is_none() {
        let message = format!("{} is {}", entry.name(), node.type_name());
        entry.fault(&rules::WRONG_TYPE, message, "write a JSON Schema that is an object");
        return None;
    }
    Some(node)
}

/// Reports what is wrong with a schema, and hands it on.
fn checked(endpoint: &Block<'_>, node: &Node, checker: &SchemaChecker) -> Value {
    for duplicate in node.duplicate_keys() {
        let message = format!("key \"{}\" stands twice in one object", duplicate.key);
        let help = format!("it stands on line {} already; keep one of them", duplicate.first_line);
        endpoint.fault_at(duplicate.line, &rules::DUPLICATE_KEY, message, help);
    }
    let schema = node.to_value();
    for (pointer, finding) in checker.check(&schema) {
        endpoint.fault_at(node.line_at(&pointer), finding.rule, finding.message, finding.help);
    }
    schema
}

fn input_fields(input: &Entry<'_>) -> Option<Node> {
    let block = input.table()?;
    block.only(&["required", "optional"]);
    let mut properties = Vec::new();
    let mut required = Vec::new();
    let mut names = HashMap::new();
    for (key, is_required) in [("required", true), ("optional", false)] {
        for field in block.get(key).map(|entry| entry.tables()).unwrap_or_default() {
            field.only(&["name", "type", "description", "format", "enum", "schema"]);
            let Some(property) = property(&field, &mut names) else { continue };
            if is_required {
                required.push(string(property.line, &property.key));
            }
            properties.push(property);
        }
    }
    Some(object_schema(input.source().line, properties, required, false))
}

fn output_fields(output: &Entry<'_>) -> Node {
    let mut properties = Vec::new();
    let mut required = Vec::new();
    let mut names = HashMap::new();
    for field in output.tables() {
        field.only(&["name", "type", "description", "format", "enum", "schema", "required"]);
        let is_required = field.get("required").and_then(|entry| entry.boolean()).unwrap_or(true);
        let Some(property) = property(&field, &mut names) else { continue };
        if is_required {
            required.push(string(property.line, &property.key));
        }
        properties.push(property);
    }
    object_schema(output.source().line, properties, required, true)
}

fn object_schema(line: u32, properties: Vec<Member>, required: Vec<Node>, open: bool) -> Node {
    let members = vec![
        member("type", string(line, "object")),
        member("properties", Node { line, kind: Kind::Object(properties) }),
        member("required", Node { line, kind: Kind::Array(required) }),
        member("additionalProperties", Node { line, kind: Kind::Bool(open) }),
    ];
    Node { line, kind: Kind::Object(members) }
}

/// One field table as a property. `names` holds the lines of those before it.
fn property(field: &Block<'_>, names: &mut HashMap<String, u32>) -> Option<Member> {
    let entry = field.require("name");
    let name = entry.as_ref().and_then(Entry::text);
    let schema = property_schema(field);
    let (entry, name) = (entry?, name?);
    if let Some(first) = names.insert(name.to_owned(), entry.source().line) {
        let message = format!("field \"{name}\" is declared twice");
        entry.fault(&rules::FIELD_DUPLICATE, message, format!("it stands on line {first} already"));
        return None;
    }
    let line = field.source().line;
    Some(Member { key: name.to_owned(), line, value: Node { line, kind: Kind::Object(schema) } })
}

/// The keywords of a field: those of its inline `schema`, and its own.
fn property_schema(field: &Block<'_>) -> Vec<Member> {
    let mut keywords = inline_schema(field);
    let inline = keywords.len();
    let type_name = field_type(field, inline > 0);
    for key in ["type", "description", "format", "enum"] {
        let Some(entry) = field.get(key) else { continue };
        if keywords.iter().take(inline).any(|keyword| keyword.key == key) {
            let message = format!("both the field and its schema set \"{key}\"");
            entry.fault(&rules::DECLARED_TWICE, message, "keep one of them");
            continue;
        }
        let value = match key {
            "type" => type_name.map(|name| string(entry.source().line, name)),
            "enum" => field_enum(&entry, type_name),
            _ => entry.text().map(|text| string(entry.source().line, text)),
        };
        keywords.extend(value.map(|value| member(key, value)));
    }
    keywords
}

fn inline_schema(field: &Block<'_>) -> Vec<Member> {
    let node = field.get("schema").and_then(|entry| full(&entry));
    match node.map(|node| node.kind) {
        Some(Kind::Object(members)) => members,
        _ => Vec::new(),
    }
}

/// A field says its type itself, or leaves it to its inline schema.
fn field_type(field: &Block<'_>, has_schema: bool) -> Option<&'static str> {
    let entry =
        if has_schema || field.get("schema").is_some() { field.get("type") } else { field.require("type") };
    entry?.one_of(&TYPES, &rules::FIELD_TYPE)
}

fn field_enum(entry: &Entry<'_>, type_name: Option<&str>) -> Option<Node> {
    let items = entry.items();
    if items.is_empty() {
        entry.fault(&rules::FIELD_ENUM, format!("{} is empty", entry.name()), "list the allowed values");
        return None;
    }
    let mut values = Vec::new();
    for item in items {
        let Some(value) = item.to_json() else { continue };
        if type_name.is_some_and(|type_name| !is_of_type(&value, type_name)) {
            let message = format!("{} holds {}", entry.name(), value.type_name());
            let help = format!("the field's type is \"{}\"", type_name.unwrap_or_default());
            item.fault(&rules::FIELD_ENUM, message, help);
        }
        values.push(value);
    }
    Some(Node { line: entry.source().line, kind: Kind::Array(values) })
}

fn is_of_type(value: &Node, type_name: &str) -> bool {
    match &value.kind {
        Kind::String(_) => type_name == "string",
        Kind::Bool(_) => type_name == "boolean",
        Kind::Number(text) => {
            type_name == "number"
                || type_name == "integer" && text.parse().is_ok_and(|n: f64| n.fract() == 0.0)
        }
        Kind::Array(_) => type_name == "array",
        Kind::Object(_) => type_name == "object",
        Kind::Null => false,
    }
}

fn member(key: &str, value: Node) -> Member {
    Member { key: key.to_owned(), line: value.line, value }
}

fn string(line: u32, text: &str) -> Node {
    Node { line, kind: Kind::String(text.to_owned()) }
}
