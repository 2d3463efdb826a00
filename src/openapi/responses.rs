//! What an operation answers: the output schema from its successes, error names from its failures.

use super::body::{base, json_media};
use super::document::{Document, elements, members};
use super::operation::Operation;
use super::schemas::Schemas;
use serde_json::{Map, Value, json};

/// What every external service must be able to answer (draft: External Service).
pub(super) const UPSTREAM_ERRORS: [&str; 5] = [
    "upstream_timeout",
    "upstream_connection_error",
    "upstream_malformed_response",
    "upstream_authentication_failed",
    "upstream_error",
];

/// Names of statuses. What the upstream thinks of our credentials has one of its own.
const NAMES: [(u16, &str); 22] = [
    (400, "bad_request"),
    (401, "upstream_authentication_failed"),
    (402, "payment_required"),
    (403, "upstream_authentication_failed"),
    (404, "not_found"),
    (405, "method_not_allowed"),
    (406, "not_acceptable"),
    (408, "request_timeout"),
    (409, "conflict"),
    (410, "gone"),
    (412, "precondition_failed"),
    (413, "content_too_large"),
    (415, "unsupported_media_type"),
    (422, "unprocessable"),
    (423, "locked"),
    (428, "precondition_required"),
    (429, "rate_limited"),
    (500, "server_error"),
    (501, "not_implemented"),
    (502, "bad_gateway"),
    (503, "unavailable"),
    (504, "gateway_timeout"),
];

/// What an operation answers.
#[derive(Debug, Default)]
pub(super) struct Output {
    pub(super) schema: Map<String, Value>,
    /// The property that is the whole body.
    pub(super) whole: Option<String>,
    /// The media type to ask for, if it is not `application/json`.
    pub(super) accept: Option<String>,
    pub(super) errors: Vec<String>,
    pub(super) error_map: Vec<(String, String)>,
    pub(super) reviews: Vec<String>,
}

/// What an operation answers. The error says why it cannot be served.
pub(super) fn read(
    document: &Document,
    operation: &Operation<'_>,
    schemas: &mut Schemas<'_>,
) -> Result<Output, String> {
    let mut output = Output::default();
    let responses = members(operation.body.get("responses"));
    let successes = successes(responses, &mut output)?;
    let mut bodies = Vec::new();
    let mut empty = false;
    let mut foreign = Vec::new();
    for (status, response) in successes {
        let response = members(Some(document.follow(response)?.value));
        let content = members(response.get("content"));
        beside_the_body(status, response, &mut output);
        if content.is_empty() || status == "204" || operation.http == "HEAD" {
            empty = true;
            continue;
        }
        let Some((media, object)) = json_media(content) else {
            let media: Vec<_> = content.keys().map(|media| base(media)).collect();
            foreign.push(format!("status {status} answers {}, which is no JSON", media.join(" or ")));
            continue;
        };
        if media.ends_with("json") && media != "application/json" {
            output.accept = Some(media);
        }
        let schema = schemas.resolved(object.get("schema").unwrap_or(&Value::Bool(true)));
        if !bodies.contains(&schema) {
            bodies.push(schema);
        }
    }
    if let (Some(why), true) = (foreign.first(), bodies.is_empty() && !empty) {
        return Err(format!("{why}: an external service answers JSON"));
    }
    output.reviews.append(&mut foreign);
    let exported = operation.is_exported();
    output.shape(bodies, empty, exported, schemas);
    match exported.then(|| own_errors(operation)) {
        Some(own) => output.own_failure(&own),
        None => output.failures(responses),
    }
    Ok(output)
}

/// The errors of an exported endpoint, without those that every external service has.
fn own_errors<'d>(operation: &Operation<'d>) -> Vec<&'d str> {
    let errors = elements(operation.extension().get("errors")).iter().filter_map(Value::as_str);
    errors.filter(|name| !UPSTREAM_ERRORS.contains(name)).collect()
}

/// What of a success is not handed on: an answer of an external service is its JSON.
fn beside_the_body(status: &str, response: &Map<String, Value>, output: &mut Output) {
    for (key, what) in [("headers", "header"), ("links", "link")] {
        let names: Vec<_> = members(response.get(key)).keys().map(String::as_str).collect();
        if !names.is_empty() {
            let message = format!("{what}(s) {} of status {status} are not handed on", names.join(", "));
            output.reviews.push(message);
        }
    }
    let content = members(response.get("content"));
    let others: Vec<_> =
        content.keys().map(|media| base(media)).filter(|media| !media.ends_with("json")).collect();
    if !others.is_empty() && others.len() < content.len() {
        output
            .reviews
            .push(format!("of status {status} only JSON is asked for, not {}", others.join(" or ")));
    }
}

/// The responses that are successes; `default` is one if there is no other.
fn successes<'r>(
    responses: &'r Map<String, Value>,
    output: &mut Output,
) -> Result<Vec<(&'r str, &'r Value)>, String> {
    let found: Vec<_> = responses
        .iter()
        .filter(|(status, _)| status.starts_with('2'))
        .map(|(status, body)| (status.as_str(), body))
        .collect();
    if !found.is_empty() {
        return Ok(found);
    }
    if let Some(default) = responses.get("default") {
        output
            .reviews
            .push("only a \"default\" response is described; it is taken for the success".to_owned());
        return Ok(vec![("default", default)]);
    }
    if responses.keys().any(|status| status.starts_with('3')) {
        return Err("it answers with a redirect, and redirects are not followed".to_owned());
    }
    output.reviews.push("no success is described; any object is taken".to_owned());
    Ok(Vec::new())
}

impl Output {
    /// The output schema: an object, or one property that is the whole body.
    fn shape(&mut self, mut bodies: Vec<Value>, empty: bool, exported: bool, schemas: &mut Schemas<'_>) {
        let one = match bodies.len() {
            0 => json!({"type": "object", "additionalProperties": true}),
            1 => bodies.remove(0),
            count => {
                self.reviews.push(format!("{count} successes answer differently; the output is any of them"));
                json!({"anyOf": bodies})
            }
        };
        self.schema = match one {
            Value::Object(members) if exported => members,
            one if exported || schemas.is_object(&one) => self.object(one, empty),
            one => self.wrapped(one, empty),
        };
    }

    fn object(&mut self, schema: Value, empty: bool) -> Map<String, Value> {
        let required =
            schema.get("required").or(schema.get("anyOf")).or(schema.get("oneOf")).or(schema.get("allOf"));
        let schema = if empty && required.is_some() {
            self.reviews
                .push("a success may be without a body; the output may be an empty object".to_owned());
            json!({"anyOf": [schema, {"maxProperties": 0}]})
        } else {
            schema
        };
        let Value::Object(mut members) = schema else { return Map::new() };
        members.entry("type").or_insert_with(|| "object".into());
        members
    }

    /// An answer that is no object gets a name.
    fn wrapped(&mut self, schema: Value, empty: bool) -> Map<String, Value> {
        let name = if schema.get("type").is_some_and(|kind| kind == "array") { "items" } else { "value" };
        let required: &[&str] = if empty { &[] } else { &[name] };
        self.whole = Some(name.to_owned());
        let schema = json!({"type": "object", "properties": {name: schema}, "required": required});
        schema.as_object().cloned().unwrap_or_default()
    }

    /// An export has one status for all of an endpoint's errors.
    fn own_failure(&mut self, own: &[&str]) {
        match own {
            [] => {}
            [one] => self.error_map.push(("422".to_owned(), (*one).to_owned())),
            all => {
                let message = format!("status 422 may be any of {}, and is upstream_error", all.join(", "));
                self.reviews.push(message);
            }
        }
    }

    fn failures(&mut self, responses: &Map<String, Value>) {
        for status in responses.keys().filter(|status| status.starts_with(['4', '5'])) {
            let code = status.parse::<u16>().ok().filter(|_| status.len() == 3);
            let Some(code) = code else {
                self.reviews.push(format!(
                    "responses \"{status}\" have no name of their own: they are upstream_error"
                ));
                continue;
            };
            let known = NAMES.iter().find(|(known, _)| *known == code);
            let name = known.map_or_else(|| format!("status_{code}"), |(_, name)| (*name).to_owned());
            if !UPSTREAM_ERRORS.contains(&name.as_str()) && !self.errors.contains(&name) {
                self.errors.push(name.clone());
            }
            self.error_map.push((status.clone(), name));
        }
    }
}
