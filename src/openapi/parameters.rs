//! Parameters and request body as one input schema, and where each property goes at the upstream.

use super::body;
use super::document::{Document, elements, members, text};
use super::operation::Operation;
use super::paths::{Translated, plain_name};
use super::schemas::Schemas;
use serde_json::{Map, Value, json};

/// Headers that belong to the message or to one hop, or that OpenAPI describes elsewhere.
const NOT_PARAMETERS: [&str; 15] = [
    "accept",
    "accept-encoding",
    "authorization",
    "connection",
    "content-length",
    "content-type",
    "host",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// The input of an endpoint.
#[derive(Debug, Default)]
pub(super) struct Input {
    pub(super) properties: Map<String, Value>,
    pub(super) required: Vec<String>,
    /// Keywords of the root beyond those of every input.
    pub(super) more: Map<String, Value>,
    pub(super) transform: Vec<(String, String)>,
    pub(super) place: Vec<(String, String)>,
    pub(super) headers: Vec<(String, String)>,
    pub(super) reviews: Vec<String>,
}

impl Input {
    /// Adds a property under a name that is free, and returns that.
    pub(super) fn add(&mut self, name: &str, upstream: &str, schema: Value, required: bool) -> String {
        let mut ours = name.to_owned();
        while self.properties.contains_key(&ours) {
            ours.push_str("_2");
        }
        if ours != upstream {
            self.transform.push((ours.clone(), upstream.to_owned()));
        }
        if required {
            self.required.push(ours.clone());
        }
        self.properties.insert(ours.clone(), schema);
        ours
    }

    /// The input schema.
    pub(super) fn schema(&self) -> Map<String, Value> {
        let mut schema = self.more.clone();
        schema.insert("type".to_owned(), "object".into());
        schema.insert("properties".to_owned(), self.properties.clone().into());
        schema.insert("required".to_owned(), self.required.clone().into());
        schema.insert("additionalProperties".to_owned(), false.into());
        schema
    }
}

/// One parameter.
struct Parameter<'d> {
    name: &'d str,
    place: &'d str,
    object: &'d Map<String, Value>,
}

impl Parameter<'_> {
    fn is_required(&self) -> bool {
        self.place == "path" || self.object.get("required") == Some(&Value::Bool(true))
    }

    fn flag(&self, key: &str) -> Option<bool> {
        self.object.get(key).and_then(Value::as_bool)
    }
}

/// The input of an operation. The error says why it cannot be called.
pub(super) fn read(
    document: &Document,
    operation: &Operation<'_>,
    translated: &Translated,
    schemas: &mut Schemas<'_>,
) -> Result<Input, String> {
    let mut input = Input::default();
    let parameters = parameters(document, operation, &mut input)?;
    for (theirs, ours) in &translated.parameters {
        let declared =
            parameters.iter().find(|parameter| parameter.place == "path" && parameter.name == theirs);
        let schema = match declared {
            Some(parameter) => in_path(parameter, schemas, &mut input)?,
            None => {
                input
                    .reviews
                    .push(format!("path parameter {{{theirs}}} is not declared; it is taken for a string"));
                json!({"type": "string"})
            }
        };
        input.properties.insert(ours.clone(), schema);
        input.required.push(ours.clone());
    }
    for parameter in &parameters {
        if let Err(why) = place(parameter, operation.http, translated, schemas, &mut input) {
            let message = format!("{} parameter \"{}\" {why}", parameter.place, parameter.name);
            if parameter.is_required() {
                return Err(message);
            }
            input.reviews.push(format!("{message}; it is left out"));
        }
    }
    body::read(document, operation, schemas, &mut input)?;
    let noted = members(operation.extension().get("input")).iter();
    input.more.extend(noted.map(|(key, value)| (key.clone(), value.clone())));
    Ok(input)
}

/// The parameters of the operation and those of its path that it does not replace.
fn parameters<'d>(
    document: &'d Document,
    operation: &Operation<'d>,
    input: &mut Input,
) -> Result<Vec<Parameter<'d>>, String> {
    let mut all: Vec<Parameter<'d>> = Vec::new();
    let lists = [elements(operation.body.get("parameters")), elements(operation.item.get("parameters"))];
    for declared in lists.into_iter().flatten() {
        let object = members(Some(document.follow(declared)?.value));
        let (Some(name), Some(place)) = (text(object, "name"), text(object, "in")) else {
            input.reviews.push("a parameter has no name or no place; it is left out".to_owned());
            continue;
        };
        if !all.iter().any(|known| known.name == name && known.place == place) {
            all.push(Parameter { name, place, object });
        }
    }
    Ok(all)
}

/// The schema of a parameter, with what the parameter says of itself.
fn schema(parameter: &Parameter<'_>, schemas: &mut Schemas<'_>) -> Value {
    let content = members(parameter.object.get("content")).values().next();
    let declared = parameter.object.get("schema").or_else(|| content.and_then(|media| media.get("schema")));
    let mut schema = declared.map_or_else(|| json!({}), |declared| schemas.resolved(declared));
    if let (Some(members), Some(description)) =
        (schema.as_object_mut(), text(parameter.object, "description"))
    {
        members.insert("description".to_owned(), description.into());
    }
    if let (Some(members), Some(example)) = (schema.as_object_mut(), parameter.object.get("example")) {
        members.entry("examples").or_insert_with(|| json!([example]));
    }
    schema
}

/// Whether a value of this schema may be of a type.
fn may_be(schema: &Value, kind: &str) -> bool {
    match schema.get("type") {
        Some(Value::String(name)) => name == kind,
        Some(Value::Array(names)) => names.iter().any(|name| name == kind),
        _ => {
            schema.get("properties").is_some() && kind == "object"
                || schema.get("items").is_some() && kind == "array"
        }
    }
}

/// A property that the caller writes as text.
fn as_text(schema: &Value, how: &str) -> Value {
    let described = schema.get("description").and_then(Value::as_str).unwrap_or("Several values.");
    json!({"type": "string", "description": format!("{} ({how})", described.trim_end_matches('.'))})
}

fn in_path(parameter: &Parameter<'_>, schemas: &mut Schemas<'_>, input: &mut Input) -> Result<Value, String> {
    let name = parameter.name;
    if let Some(style) = text(parameter.object, "style").filter(|style| *style != "simple") {
        return Err(format!("path parameter \"{name}\" is written in style \"{style}\""));
    }
    let schema = schema(parameter, schemas);
    if may_be(&schema, "object") {
        return Err(format!("path parameter \"{name}\" is an object"));
    }
    if may_be(&schema, "array") {
        input
            .reviews
            .push(format!("path parameter \"{name}\" is a list: callers write its values with commas"));
        return Ok(as_text(&schema, "values separated by commas"));
    }
    Ok(schema)
}

/// Puts a query or header parameter into the input. The error says why it cannot be sent.
fn place(
    parameter: &Parameter<'_>,
    http: &str,
    translated: &Translated,
    schemas: &mut Schemas<'_>,
    input: &mut Input,
) -> Result<(), String> {
    match parameter.place {
        "path" if translated.parameters.iter().any(|(theirs, _)| theirs == parameter.name) => Ok(()),
        "path" => {
            input.reviews.push(format!("path parameter \"{}\" is not in the path", parameter.name));
            Ok(())
        }
        "query" => in_query(parameter, http, schemas, input),
        "header" => in_header(parameter, schemas, input),
        "cookie" => Err("is a cookie, which is not sent to upstreams".to_owned()),
        other => Err(format!("is in \"{other}\", which is no place of OpenAPI 3")),
    }
}

fn in_query(
    parameter: &Parameter<'_>,
    http: &str,
    schemas: &mut Schemas<'_>,
    input: &mut Input,
) -> Result<(), String> {
    let mut schema = schema(parameter, schemas);
    let style = text(parameter.object, "style").unwrap_or("form");
    let explode = parameter.flag("explode").unwrap_or(style == "form");
    let is_json = parameter.object.contains_key("content");
    if may_be(&schema, "object") && !is_json {
        return Err(format!("is an object in style \"{style}\""));
    }
    if may_be(&schema, "array") && (is_json || !explode || style != "form") {
        let how = match (is_json, style) {
            (true, _) => "a JSON array",
            (_, "spaceDelimited") => "values separated by spaces",
            (_, "pipeDelimited") => "values separated by |",
            _ => "values separated by commas",
        };
        input
            .reviews
            .push(format!("query parameter \"{}\" is written by callers as text: {how}", parameter.name));
        schema = as_text(&schema, how);
    }
    if parameter.flag("allowReserved") == Some(true) {
        let message =
            format!("query parameter \"{}\" is percent-encoded, although it need not be", parameter.name);
        input.reviews.push(message);
    }
    let ours = input.add(parameter.name, parameter.name, schema, parameter.is_required());
    if !matches!(http, "GET" | "HEAD" | "DELETE") {
        input.place.push((ours, "query".to_owned()));
    }
    Ok(())
}

fn in_header(parameter: &Parameter<'_>, schemas: &mut Schemas<'_>, input: &mut Input) -> Result<(), String> {
    let name = parameter.name;
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if !name.bytes().all(is_token) {
        return Err("is no header name".to_owned());
    }
    if NOT_PARAMETERS.iter().any(|known| name.eq_ignore_ascii_case(known)) {
        let message = format!("header parameter \"{name}\" is the server's to send");
        input.reviews.push(message);
        return Ok(());
    }
    let mut schema = schema(parameter, schemas);
    if may_be(&schema, "object") {
        return Err("is an object".to_owned());
    }
    if may_be(&schema, "array") {
        input.reviews.push(format!("header parameter \"{name}\" is written by callers with commas"));
        schema = as_text(&schema, "values separated by commas");
    }
    let ours = input.add(&plain_name(name).to_ascii_lowercase(), name, schema, parameter.is_required());
    input.place.push((ours, "header".to_owned()));
    Ok(())
}
