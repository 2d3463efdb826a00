//! What the compiler reads off a schema: the scalar types a path or query value is converted to (D8), and whether an
//! output schema constrains anything.

use crate::registry::Scalar;
use serde_json::{Map, Value};

/// How many `$ref`s and alternatives are followed; a cycle ends here.
const DEEPEST: u8 = 16;

/// What a path or query value for the top-level property `name` is converted to.
pub(super) fn property_scalar(schema: &Value, name: &str) -> Scalar {
    match schema.get("properties").and_then(|properties| properties.get(name)) {
        Some(property) => types(schema, property, DEEPEST).scalar(),
        None => Scalar::String,
    }
}

/// The top-level properties that are converted, by name.
pub(super) fn converted_properties(schema: &Value) -> Vec<(&str, Scalar)> {
    let properties = schema.get("properties").and_then(Value::as_object);
    let scalar = |(name, property): (_, &Value)| (name, types(schema, property, DEEPEST).scalar());
    let all = properties.into_iter().flatten().map(|(name, property)| scalar((name.as_str(), property)));
    all.filter(|(_, scalar)| *scalar != Scalar::String).collect()
}

/// The JSON types a schema allows, as far as they matter to a string from the wire.
#[derive(Clone, Copy, Default)]
struct Types {
    number: bool,
    boolean: bool,
    string: bool,
}

impl Types {
    /// No declared type: a string stays a string.
    const ANY: Types = Types { number: true, boolean: true, string: true };

    fn named(name: &str) -> Types {
        Types {
            number: matches!(name, "integer" | "number"),
            boolean: name == "boolean",
            string: name == "string",
        }
    }

    fn or(self, other: Types) -> Types {
        Types {
            number: self.number || other.number,
            boolean: self.boolean || other.boolean,
            string: self.string || other.string,
        }
    }

    fn scalar(self) -> Scalar {
        match self {
            Types { string: true, .. } => Scalar::String,
            Types { number: true, boolean: true, .. } => Scalar::NumberOrBoolean,
            Types { number: true, .. } => Scalar::Number,
            Types { boolean: true, .. } => Scalar::Boolean,
            _ => Scalar::String,
        }
    }
}

fn types(root: &Value, schema: &Value, depth: u8) -> Types {
    if depth == 0 {
        return Types::ANY;
    }
    match schema.get("type") {
        Some(Value::String(name)) => return Types::named(name),
        Some(Value::Array(names)) => return union(names.iter().filter_map(Value::as_str).map(Types::named)),
        _ => {}
    }
    if let Some(target) = schema.get("$ref").and_then(Value::as_str) {
        let target = target.strip_prefix('#').and_then(|pointer| root.pointer(&unescape(pointer)));
        return target.map_or(Types::ANY, |target| types(root, target, depth - 1));
    }
    let alternatives = schema.get("anyOf").or_else(|| schema.get("oneOf")).and_then(Value::as_array);
    alternatives.map_or(Types::ANY, |list| union(list.iter().map(|s| types(root, s, depth - 1))))
}

fn union(types: impl Iterator<Item = Types>) -> Types {
    types.fold(Types::default(), Types::or)
}

/// A JSON Pointer in a URI fragment is percent-encoded (RFC 6901, section 6).
fn unescape(pointer: &str) -> String {
    let mut bytes = Vec::with_capacity(pointer.len());
    let mut rest = pointer;
    while let Some((before, after)) = rest.split_once('%') {
        bytes.extend_from_slice(before.as_bytes());
        match after.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(b'%');
                rest = after;
            }
        }
    }
    bytes.extend_from_slice(rest.as_bytes());
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Whether a schema says more than "an object". When in doubt it does.
pub(super) fn constrains_objects(schema: &Value) -> bool {
    !schema.as_object().is_some_and(accepts_just_objects)
}

fn accepts_just_objects(keywords: &Map<String, Value>) -> bool {
    let empty = |value: &Value| {
        value.as_object().is_some_and(Map::is_empty) || value.as_array().is_some_and(Vec::is_empty)
    };
    let harmless = |(keyword, value): (&String, &Value)| match keyword.as_str() {
        "type" => value == "object",
        "properties" | "required" => empty(value),
        "additionalProperties" => *value == Value::Bool(true) || empty(value),
        "$schema" | "$id" | "$comment" | "$defs" | "title" | "description" | "examples" | "default" => true,
        _ => false,
    };
    keywords.contains_key("type") && keywords.iter().all(harmless)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn scalars_follow_the_declared_type() {
        let schema = json!({
            "$defs": {"count": {"type": "integer"}, "again": {"$ref": "#/$defs/count"}, "a b": {"type": "boolean"},
                      "loop": {"$ref": "#/$defs/loop"}},
            "properties": {
                "int": {"type": "integer"}, "num": {"type": "number"}, "bool": {"type": "boolean"},
                "str": {"type": "string"}, "obj": {"type": "object"}, "free": {}, "enum": {"enum": [1]},
                "nullable": {"type": ["integer", "null"]}, "both": {"type": ["number", "boolean"]},
                "texty": {"type": ["integer", "string"]}, "ref": {"$ref": "#/$defs/again"},
                "encoded": {"$ref": "#/$defs/a%20b"}, "loop": {"$ref": "#/$defs/loop"},
                "far": {"$ref": "https://example.org/x"},
                "any": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
            }
        });
        let found: Vec<_> = converted_properties(&schema);
        let expected = [
            ("any", Scalar::Number),
            ("bool", Scalar::Boolean),
            ("both", Scalar::NumberOrBoolean),
            ("encoded", Scalar::Boolean),
            ("int", Scalar::Number),
            ("nullable", Scalar::Number),
            ("num", Scalar::Number),
            ("ref", Scalar::Number),
        ];
        assert_eq!(found, expected);
        assert_eq!(property_scalar(&schema, "int"), Scalar::Number);
        assert_eq!(property_scalar(&schema, "str"), Scalar::String);
        assert_eq!(property_scalar(&schema, "nowhere"), Scalar::String);
    }

    #[test]
    fn only_a_bare_object_schema_constrains_nothing() {
        for free in [
            json!({"type": "object"}),
            json!({"type": "object", "additionalProperties": true, "properties": {}, "required": []}),
            json!({"type": "object", "description": "anything", "additionalProperties": {}}),
        ] {
            assert!(!constrains_objects(&free), "{free}");
        }
        for bound in [
            json!({"type": "object", "additionalProperties": false}),
            json!({"type": "object", "required": ["a"]}),
            json!({"type": "object", "properties": {"a": {}}}),
            json!({"type": "object", "minProperties": 1}),
            json!({"type": "array"}),
            json!(false),
            json!({}),
        ] {
            assert!(constrains_objects(&bound), "{bound}");
        }
    }
}
