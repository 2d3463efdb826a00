//! One schema object: its keywords, each in the form that 2020-12 has for it.

use super::{Direction, Schemas, merge};
use crate::openapi::document::{Dialect, elements};
use serde_json::{Map, Value, json};

const TYPES: [&str; 7] = ["string", "integer", "number", "boolean", "object", "array", "null"];

/// What a keyword holds.
#[derive(Clone, Copy)]
enum Form {
    Schema,
    Schemas,
    Named,
    Count,
    Number,
    Bool,
    Text,
    List,
}

/// The form of each keyword that the compiler looks at. `allOf`, `type`, `required` and others have rules of their own.
fn form(keyword: &str) -> Option<Form> {
    Some(match keyword {
        "additionalProperties"
        | "not"
        | "items"
        | "contains"
        | "propertyNames"
        | "if"
        | "then"
        | "else"
        | "unevaluatedItems"
        | "unevaluatedProperties"
        | "contentSchema" => Form::Schema,
        "anyOf" | "oneOf" | "prefixItems" => Form::Schemas,
        "properties" | "patternProperties" | "dependentSchemas" => Form::Named,
        "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties"
        | "minContains" | "maxContains" => Form::Count,
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf" => Form::Number,
        "uniqueItems" | "deprecated" | "readOnly" | "writeOnly" => Form::Bool,
        "title" | "description" | "$comment" | "contentEncoding" | "contentMediaType" => Form::Text,
        "enum" | "examples" => Form::List,
        _ => return None,
    })
}

/// Keywords that would change what the rest of the schema means, or where it is.
const FOREIGN: [&str; 8] = [
    "$schema",
    "$id",
    "$anchor",
    "$dynamicRef",
    "$dynamicAnchor",
    "$vocabulary",
    "$recursiveRef",
    "$recursiveAnchor",
];

type Members = Map<String, Value>;

impl Schemas<'_> {
    /// Converts a schema that is no reference.
    pub(super) fn members(&mut self, schema: &Members) -> Value {
        let mut out = Map::new();
        for (keyword, value) in schema {
            self.keyword(keyword, value, &mut out);
        }
        if self.document.dialect == Dialect::V30 {
            exclusive(schema, &mut out);
        }
        self.hide(&mut out);
        let flat = match schema.get("allOf") {
            Some(branches) => self.all_of(branches, out),
            None => Value::Object(out),
        };
        // Sloppy documents of 3.1 say it too.
        if schema.get("nullable") == Some(&Value::Bool(true)) { nullable(flat) } else { flat }
    }

    fn keyword(&mut self, keyword: &str, value: &Value, out: &mut Members) {
        let kept = match keyword {
            // Done with the whole schema in view; definitions are carried over where they are referred to.
            "allOf" | "nullable" | "$defs" | "definitions" => return,
            "exclusiveMinimum" | "exclusiveMaximum" if value.is_boolean() => return,
            "type" => self.types(value),
            "required" => value.is_array().then(|| names(value)),
            "format" => return self.format(value, out),
            "pattern" => value.as_str().filter(|pattern| self.patterns.is_sound(pattern)).map(Into::into),
            "example" => {
                out.entry("examples").or_insert_with(|| json!([value]));
                return;
            }
            "discriminator" => Some(self.discriminator(value)),
            _ if FOREIGN.contains(&keyword) => None,
            _ => match form(keyword) {
                Some(form) => self.of_form(form, value),
                None => Some(value.clone()),
            },
        };
        match kept {
            Some(kept) => _ = out.insert(keyword.to_owned(), kept),
            None => self.set_aside(keyword, value, out),
        }
    }

    /// Keeps what cannot stand where it stood.
    fn set_aside(&mut self, keyword: &str, value: &Value, out: &mut Members) {
        let name = format!("x-openapi-{}", keyword.trim_start_matches('$'));
        self.review(format!(
            "\"{keyword}\" is set aside as \"{name}\": it is not usable in JSON Schema 2020-12"
        ));
        out.insert(name, value.clone());
    }

    fn of_form(&mut self, form: Form, value: &Value) -> Option<Value> {
        match form {
            Form::Schema => (value.is_object() || value.is_boolean()).then(|| self.convert(value)),
            Form::Schemas => {
                let schemas = value.as_array().filter(|schemas| !schemas.is_empty())?;
                Some(schemas.iter().map(|schema| self.convert(schema)).collect())
            }
            Form::Named => {
                let named = value.as_object()?;
                Some(named.iter().map(|(name, schema)| (name.clone(), self.convert(schema))).collect())
            }
            Form::Count => {
                let count = value.as_f64().filter(|count| *count >= 0.0 && count.fract() == 0.0)?;
                Some(json!(count as u64))
            }
            Form::Number => value.is_number().then(|| value.clone()),
            Form::Bool => value.is_boolean().then(|| value.clone()),
            Form::Text => value.is_string().then(|| value.clone()),
            Form::List => value.as_array().filter(|list| !list.is_empty()).map(|_| value.clone()),
        }
    }

    fn types(&mut self, value: &Value) -> Option<Value> {
        let known = |value: &Value| value.as_str().is_some_and(|name| TYPES.contains(&name));
        match value {
            Value::Array(list) if !list.is_empty() && list.iter().all(known) => Some(unique(list)),
            value if known(value) => Some(value.clone()),
            _ => None,
        }
    }

    /// A format that is checked is kept; `int32` and its like say how a value is stored, and are noted.
    fn format(&mut self, value: &Value, out: &mut Members) {
        let Some(name) = value.as_str() else { return self.set_aside("format", value, out) };
        let options = jsonschema::draft202012::options();
        let known = options.is_known_format(jsonschema::Draft::Draft202012, name);
        out.insert(if known { "format" } else { "x-openapi-format" }.to_owned(), value.clone());
    }

    /// The mapping of a discriminator names schemas, which are in `$defs` now.
    fn discriminator(&mut self, value: &Value) -> Value {
        let mut value = value.clone();
        let mapping = value.get_mut("mapping").and_then(Value::as_object_mut);
        for target in mapping.into_iter().flat_map(Map::values_mut) {
            let name = target.as_str().unwrap_or_default();
            let pointer = name.strip_prefix('#').map_or(format!("/components/schemas/{name}"), str::to_owned);
            if self.document.root.pointer(&pointer).is_some() {
                *target = format!("#/$defs/{}", self.name(&pointer)).into();
            }
        }
        value
    }

    /// Properties that do not go this way are not required; nor can they be sent.
    fn hide(&mut self, out: &mut Members) {
        let keyword = self.direction.hidden();
        let Some(properties) = out.get_mut("properties").and_then(Value::as_object_mut) else { return };
        let hidden: Vec<_> = properties
            .iter()
            .filter(|(_, schema)| schema.get(keyword) == Some(&Value::Bool(true)))
            .map(|(name, _)| name.clone())
            .collect();
        if self.direction == Direction::Request {
            properties.retain(|name, _| !hidden.contains(name));
        }
        if let Some(required) = out.get_mut("required").and_then(Value::as_array_mut) {
            required.retain(|name| !hidden.iter().any(|hidden| name == hidden));
        }
    }

    /// `allOf` and what stands beside it, as one schema if its branches agree.
    fn all_of(&mut self, branches: &Value, beside: Members) -> Value {
        let branches = elements(Some(branches));
        let mut flat = Some(Value::Object(beside.clone()));
        for branch in branches {
            let inlined = self.inlined(branch).ok().flatten();
            flat = flat.zip(inlined).and_then(|(flat, branch)| merge(&branch, &flat));
        }
        if let Some(flat) = flat {
            return flat;
        }
        let kept: Vec<_> = branches.iter().map(|branch| self.convert(branch)).collect();
        let mut out = beside;
        out.insert("allOf".to_owned(), kept.into());
        Value::Object(out)
    }
}

/// Required names, each once: strings are all that can be.
fn names(value: &Value) -> Value {
    let names: Vec<_> = elements(Some(value)).iter().filter(|name| name.is_string()).cloned().collect();
    unique(&names)
}

fn unique(list: &[Value]) -> Value {
    let mut seen: Vec<Value> = Vec::new();
    for value in list.iter().filter(|value| value.is_string()) {
        if !seen.contains(value) {
            seen.push(value.clone());
        }
    }
    seen.into()
}

/// In 3.0 a limit is exclusive by a second keyword.
fn exclusive(schema: &Members, out: &mut Members) {
    for (flag, limit) in [("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")] {
        if schema.get(flag) == Some(&Value::Bool(true))
            && let Some(value) = out.remove(limit)
        {
            out.insert(flag.to_owned(), value);
        }
    }
}

/// The schema, or null.
fn nullable(mut schema: Value) -> Value {
    let Some(members) = schema.as_object_mut() else { return schema };
    let simple =
        !["allOf", "anyOf", "oneOf", "not", "$ref", "const"].iter().any(|key| members.contains_key(*key));
    let Some(kind) = members.get_mut("type").filter(|_| simple) else {
        let typed = members.contains_key("type") || !simple || members.contains_key("enum");
        return if typed { json!({"anyOf": [schema, {"type": "null"}]}) } else { schema };
    };
    match kind {
        Value::Array(kinds) if !kinds.contains(&json!("null")) => kinds.push("null".into()),
        Value::String(name) if name != "null" => *kind = json!([name, "null"]),
        _ => {}
    }
    if let Some(values) = members.get_mut("enum").and_then(Value::as_array_mut)
        && !values.contains(&Value::Null)
    {
        values.push(Value::Null);
    }
    schema
}
