//! An input schema as parameters and a request body.

use super::places::Place;
use crate::openapi::document::{elements, members, text};
use serde_json::{Map, Value, json};

/// What every input schema has, and an operation says by its parameters.
const OF_EVERY_INPUT: [&str; 4] = ["type", "properties", "required", "additionalProperties"];

/// What a root may say beside that and still fit a query: it is noted.
const ANNOTATIONS: [&str; 4] = ["title", "description", "examples", "$comment"];

/// An input in the form that HTTP has for it.
#[derive(Debug, Default)]
pub(super) struct Shape {
    pub(super) parameters: Vec<Value>,
    pub(super) body: Option<Value>,
    /// Keywords of the root that stand nowhere else.
    pub(super) annotations: Map<String, Value>,
}

fn in_path(path: &str, name: &str) -> bool {
    path.split('/')
        .any(|segment| segment.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) == Some(name))
}

/// Whether all that is not in the path can stand in a query: scalars, and lists of them.
pub(super) fn fits_query(input: &Value, path: &str) -> bool {
    let members = members(Some(input));
    let known = |key: &String| [&OF_EVERY_INPUT[..], &ANNOTATIONS[..]].concat().contains(&key.as_str());
    let properties = super::members(members.get("properties"));
    members.keys().all(known)
        && properties.iter().all(|(name, schema)| in_path(path, name) || is_field(schema, true))
}

fn is_field(schema: &Value, list: bool) -> bool {
    let kinds = match schema.get("type") {
        Some(Value::String(kind)) => vec![kind.as_str()],
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => return false,
    };
    kinds.iter().all(|kind| match *kind {
        "object" => false,
        "array" => list && schema.get("items").is_some_and(|items| is_field(items, false)),
        _ => true,
    })
}

/// The parameters and the body of an operation at `place`, whose path parameters may have other names.
pub(super) fn shape(input: &Value, path: &str, place: &Place, renamed: &[(String, String)]) -> Shape {
    let root = members(Some(input));
    let required = elements(root.get("required"));
    let in_query = matches!(place.http.as_str(), "GET" | "DELETE");
    let mut shape = Shape::default();
    let mut rest = Map::new();
    for (name, schema) in members(root.get("properties")) {
        let is_required = required.iter().any(|known| known == name);
        if in_path(path, name) {
            let here = renamed.iter().find(|(_, ours)| ours == name).map_or(name, |(here, _)| here);
            shape.parameters.push(parameter(here, "path", true, schema));
        } else if in_query {
            shape.parameters.push(parameter(name, "query", is_required, schema));
        } else {
            rest.insert(name.clone(), schema.clone());
        }
    }
    let more = root.iter().filter(|(key, _)| !OF_EVERY_INPUT.contains(&key.as_str()));
    let more: Map<_, _> = more.map(|(key, value)| (key.clone(), value.clone())).collect();
    if in_query {
        shape.annotations = more;
    } else if !rest.is_empty() || !more.is_empty() {
        shape.body = Some(body(rest, more, required));
    }
    shape
}

fn parameter(name: &str, place: &str, required: bool, schema: &Value) -> Value {
    let mut parameter = json!({"name": name, "in": place, "required": required, "schema": schema});
    if let Some(description) = text(members(Some(schema)), "description") {
        parameter["description"] = description.into();
    }
    parameter
}

fn body(properties: Map<String, Value>, more: Map<String, Value>, required: &[Value]) -> Value {
    let kept = required.iter().filter(|name| name.as_str().is_some_and(|name| properties.contains_key(name)));
    let names: Vec<_> = kept.cloned().collect();
    let is_required = !names.is_empty();
    let mut schema = more;
    schema.insert("type".to_owned(), "object".into());
    schema.insert("properties".to_owned(), properties.into());
    schema.insert("required".to_owned(), names.into());
    schema.insert("additionalProperties".to_owned(), false.into());
    json!({"required": is_required, "content": {"application/json": {"schema": schema}}})
}
