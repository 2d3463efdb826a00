//! Two schemas as one that takes what both take.

use serde_json::{Map, Value};

/// The two as one; nothing if that cannot be said without `allOf`. Where annotations differ the second's stay.
pub(super) fn merge(first: &Value, second: &Value) -> Option<Value> {
    match (first, second) {
        (Value::Bool(true), other) | (other, Value::Bool(true)) => Some(other.clone()),
        (Value::Object(first), Value::Object(second)) => objects(first, second).map(Value::Object),
        _ => None,
    }
}

fn objects(first: &Map<String, Value>, second: &Map<String, Value>) -> Option<Map<String, Value>> {
    if [first, second].iter().any(|schema| schema.contains_key("$ref"))
        && !first.is_empty()
        && !second.is_empty()
    {
        return None;
    }
    let mut merged = first.clone();
    for (keyword, value) in second {
        let both = match merged.get(keyword) {
            None => value.clone(),
            Some(known) if known == value => value.clone(),
            Some(known) => keyword_of_both(keyword, known, value)?,
        };
        merged.insert(keyword.clone(), both);
    }
    Some(merged)
}

fn keyword_of_both(keyword: &str, first: &Value, second: &Value) -> Option<Value> {
    match keyword {
        "properties" => properties(first.as_object()?, second.as_object()?).map(Value::Object),
        "required" => Some(union(second.as_array()?, first.as_array()?).into()),
        "type" => types(first, second),
        "enum" => {
            let (first, second) = (first.as_array()?, second.as_array()?);
            let common: Vec<_> = first.iter().filter(|value| second.contains(value)).cloned().collect();
            (!common.is_empty()).then(|| common.into())
        }
        "minimum" | "exclusiveMinimum" | "minLength" | "minItems" | "minProperties" => larger(first, second),
        "maximum" | "exclusiveMaximum" | "maxLength" | "maxItems" | "maxProperties" => smaller(first, second),
        "title" | "description" | "default" | "examples" | "deprecated" | "readOnly" | "writeOnly"
        | "$comment" | "discriminator" | "xml" | "externalDocs" => Some(second.clone()),
        // Closed for one branch is closed for all when they are one, which is what those who write it mean.
        "additionalProperties" => match (first, second) {
            (Value::Bool(true), other) | (other, Value::Bool(true)) => Some(other.clone()),
            _ => None,
        },
        _ if keyword.starts_with("x-") => Some(second.clone()),
        _ => None,
    }
}

fn properties(first: &Map<String, Value>, second: &Map<String, Value>) -> Option<Map<String, Value>> {
    let mut merged = first.clone();
    for (name, schema) in second {
        let both = match merged.get(name) {
            None => schema.clone(),
            Some(known) if known == schema => schema.clone(),
            Some(known) => merge(known, schema)?,
        };
        merged.insert(name.clone(), both);
    }
    Some(merged)
}

fn union(first: &[Value], second: &[Value]) -> Vec<Value> {
    let more = second.iter().filter(|name| !first.contains(name));
    first.iter().chain(more).cloned().collect()
}

/// The types that both have. An integer is a number.
fn types(first: &Value, second: &Value) -> Option<Value> {
    let list = |value: &Value| match value {
        Value::Array(list) => list.clone(),
        one => vec![one.clone()],
    };
    let (first, second) = (list(first), list(second));
    let has = |list: &[Value], name: &Value| {
        list.contains(name) || name == "integer" && list.contains(&"number".into())
    };
    let common =
        first.iter().filter(|name| has(&second, name)).chain(second.iter().filter(|name| has(&first, name)));
    let mut names: Vec<Value> = Vec::new();
    for name in common {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    match names.as_slice() {
        [] => None,
        [one] => Some(one.clone()),
        _ => Some(names.into()),
    }
}

fn larger(first: &Value, second: &Value) -> Option<Value> {
    Some(if first.as_f64()? >= second.as_f64()? { first.clone() } else { second.clone() })
}

fn smaller(first: &Value, second: &Value) -> Option<Value> {
    Some(if first.as_f64()? <= second.as_f64()? { first.clone() } else { second.clone() })
}
