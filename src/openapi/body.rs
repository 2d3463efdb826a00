//! The request body: its properties beside the parameters, or one property that is the whole of it.

use super::document::{Document, elements, members};
use super::operation::Operation;
use super::parameters::Input;
use super::schemas::Schemas;
use serde_json::{Map, Value};

/// The media type of HTML forms, which an external service can send flat.
const FORM: &str = "application/x-www-form-urlencoded";

/// What is said about a schema and does not change which values it takes.
const ANNOTATIONS: [&str; 12] = [
    "title",
    "description",
    "examples",
    "default",
    "deprecated",
    "xml",
    "externalDocs",
    "$comment",
    "type",
    "properties",
    "required",
    "additionalProperties",
];

/// Adds the body of an operation to its input. The error says why it cannot be sent.
pub(super) fn read(
    document: &Document,
    operation: &Operation<'_>,
    schemas: &mut Schemas<'_>,
    input: &mut Input,
) -> Result<(), String> {
    let Some(declared) = operation.body.get("requestBody") else { return Ok(()) };
    let body = members(Some(document.follow(declared)?.value));
    let is_required = body.get("required") == Some(&Value::Bool(true));
    let content = members(body.get("content"));
    if let Some((media, object)) = json_media(content) {
        let schema = schemas.resolved(object.get("schema").unwrap_or(&Value::Bool(true)));
        if content.len() > 1 {
            let others: Vec<_> =
                content.keys().map(|media| base(media)).filter(|other| *other != media).collect();
            input.reviews.push(format!("the body is sent as {media}, not as {}", others.join(" or ")));
        }
        if media.ends_with("json") && media != "application/json" {
            input.headers.push(("Content-Type".to_owned(), media.to_owned()));
        }
        return json(operation, schema, is_required, input);
    }
    if let Some((_, object)) = content.iter().find(|(media, _)| base(media) == FORM) {
        let schema = schemas.resolved(object.get("schema").unwrap_or(&Value::Bool(true)));
        if !matches!(operation.http, "POST" | "PUT" | "PATCH")
            && !members(schema.get("properties")).is_empty()
        {
            return Err(format!("a {} with a form is not sent", operation.http));
        }
        return form(&schema, members(object.get("encoding")), is_required, schemas, input);
    }
    let media: Vec<_> = content.keys().map(String::as_str).collect();
    match media.as_slice() {
        [] if is_required => Err("its body has no content type".to_owned()),
        [] => Ok(()),
        media => Err(format!("its body is {}, and only JSON and flat forms are sent", media.join(" or "))),
    }
}

/// A media type without its parameters, in small letters.
pub(super) fn base(media: &str) -> String {
    media.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// The JSON among the content types: `application/json`, else `…+json`, else `*/*`.
pub(super) fn json_media(content: &Map<String, Value>) -> Option<(String, &Value)> {
    let of = |wanted: &dyn Fn(&str) -> bool| {
        content.iter().map(|(media, object)| (base(media), object)).find(|(media, _)| wanted(media))
    };
    of(&|media| media == "application/json")
        .or_else(|| of(&|media| media.ends_with("+json") || media == "text/json"))
        .or_else(|| of(&|media| media == "*/*" || media == "application/*"))
}

fn json(
    operation: &Operation<'_>,
    schema: Value,
    is_required: bool,
    input: &mut Input,
) -> Result<(), String> {
    if matches!(operation.http, "GET" | "HEAD" | "OPTIONS") {
        let message = format!("a {} with a body means nothing in HTTP", operation.http);
        if is_required {
            return Err(message);
        }
        input.reviews.push(format!("{message}; it is not sent"));
        return Ok(());
    }
    let flat = operation.http != "DELETE" && is_flat(&schema, operation.is_exported(), input);
    let (true, Value::Object(mut members)) = (flat, schema.clone()) else {
        let ours = input.add("body", "body", schema, is_required);
        input.transform.retain(|(name, _)| *name != ours);
        input.place.push((ours, "body".to_owned()));
        return Ok(());
    };
    let names = elements(members.get("required")).to_vec();
    if !is_required && !names.is_empty() {
        let message =
            "the body may be left out upstream; here the properties it requires are always required";
        input.reviews.push(message.to_owned());
    }
    for (name, schema) in super::document::members(members.get("properties")) {
        let required = names.iter().any(|known| known == name);
        input.add(name, name, schema.clone(), required);
    }
    members.retain(|keyword, _| {
        operation.is_exported()
            && !["type", "properties", "required", "additionalProperties"].contains(&keyword.as_str())
    });
    input.more = members;
    Ok(())
}

/// Whether a body's properties can stand beside the parameters. A map, or a body with conditions on the whole of it,
/// stays whole; so does one whose names are taken.
fn is_flat(schema: &Value, exported: bool, input: &Input) -> bool {
    let Some(members) = schema.as_object() else { return false };
    let properties = super::document::members(members.get("properties"));
    let plain = |keyword: &String| ANNOTATIONS.contains(&keyword.as_str()) || keyword.starts_with("x-");
    let object = members.get("type").is_none_or(|kind| kind == "object");
    let closed = members.get("additionalProperties").is_none_or(|more| more == &Value::Bool(false));
    let free = properties.keys().all(|name| !input.properties.contains_key(name));
    object && closed && free && (exported || members.keys().all(plain) && !properties.is_empty())
}

/// A form: each property is one field. What has structure has no place in it.
fn form(
    schema: &Value,
    encoding: &Map<String, Value>,
    is_required: bool,
    schemas: &mut Schemas<'_>,
    input: &mut Input,
) -> Result<(), String> {
    let properties = members(schema.get("properties"));
    let names = elements(schema.get("required"));
    if properties.is_empty() {
        return if is_required { Err("its body is a form without fields".to_owned()) } else { Ok(()) };
    }
    for (name, schema) in properties {
        let required = names.iter().any(|known| known == name);
        let style = encoding.get(name).and_then(|encoding| encoding.get("style"));
        if !is_field(schema, style.is_none_or(|style| style == "form"), schemas, 4) {
            let message = format!("form field \"{name}\" has structure, which a flat form has no place for");
            if required {
                return Err(message);
            }
            input.reviews.push(format!("{message}; it is left out"));
            continue;
        }
        input.add(name, name, schema.clone(), required);
    }
    input.headers.push(("Content-Type".to_owned(), FORM.to_owned()));
    Ok(())
}

/// Whether a field is a scalar, or a list that is written by repeating the field.
fn is_field(schema: &Value, repeats: bool, schemas: &mut Schemas<'_>, depth: usize) -> bool {
    if depth == 0 {
        return false;
    }
    if let Some(target) = schemas.definition(schema) {
        return is_field(&target, repeats, schemas, depth - 1);
    }
    let kinds = match schema.get("type") {
        Some(Value::String(kind)) => vec![kind.as_str()],
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
        _ if schema.get("enum").is_some() => return true,
        _ => {
            let branches = [elements(schema.get("anyOf")), elements(schema.get("oneOf"))].concat();
            let mut each = branches.iter().map(|branch| is_field(branch, repeats, schemas, depth - 1));
            return !branches.is_empty() && each.all(|field| field);
        }
    };
    kinds.iter().all(|kind| *kind != "object" && (*kind != "array" || repeats))
}
