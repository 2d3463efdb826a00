//! Schemas that refer within themselves, made to stand in a document.
//!
//! `#/$defs/x` would be looked for at the root of the document. Such a schema becomes a component as it is, and its
//! references lead there.

use serde_json::{Map, Value, json};

/// The document's schemas.
#[derive(Debug, Default)]
pub(super) struct Components(Map<String, Value>);

/// Keywords that hold values, not schemas.
const VALUES: [&str; 5] = ["enum", "const", "default", "examples", "example"];

impl Components {
    /// A schema with references that lead somewhere, from wherever it is put.
    pub(super) fn adopt(&mut self, name: &str, schema: &Value) -> Value {
        if schema.is_null() {
            return json!({});
        }
        if !refers(schema) {
            return schema.clone();
        }
        let plain = |letter: char| if letter.is_ascii_alphanumeric() || letter == '_' { letter } else { '.' };
        let base: String = name.chars().map(plain).collect();
        let mut name = base.clone();
        let mut number = 2;
        while self.0.contains_key(&name) {
            name = format!("{base}-{number}");
            number += 1;
        }
        let mut schema = schema.clone();
        lead(&mut schema, &format!("#/components/schemas/{name}"));
        self.0.insert(name, schema.clone());
        if let Some(members) = schema.as_object_mut() {
            members.remove("$defs");
        }
        schema
    }

    /// Adds the components to the document, if there are any.
    pub(super) fn finish(self, document: &mut Value) {
        if !self.0.is_empty() {
            document["components"] = json!({"schemas": self.0});
        }
    }
}

fn refers(schema: &Value) -> bool {
    match schema {
        Value::Object(members) => members.iter().any(|(key, value)| match value {
            Value::String(text) => key == "$ref" && text.starts_with('#'),
            value => !VALUES.contains(&key.as_str()) && refers(value),
        }),
        Value::Array(list) => list.iter().any(refers),
        _ => false,
    }
}

fn lead(schema: &mut Value, to: &str) {
    match schema {
        Value::Object(members) => {
            for (key, value) in members {
                match value {
                    Value::String(text) if key == "$ref" && (text == "#" || text.starts_with("#/")) => {
                        text.replace_range(..1, to);
                    }
                    value if !VALUES.contains(&key.as_str()) => lead(value, to),
                    _ => {}
                }
            }
        }
        Value::Array(list) => list.iter_mut().for_each(|item| lead(item, to)),
        _ => {}
    }
}
