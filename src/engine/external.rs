//! External services: the request to an upstream from validated input, and an answer from what came back (draft:
//! External Service; D19, D30). The caller sees named errors only; the log is told the cause.

use super::invoke::{self, Sinks};
use super::refusal::{Refusal, Violations};
use super::respond::Answer;
use super::{Engine, EngineError};
use crate::handler::{UpstreamFailure, UpstreamRequest, UpstreamResponse};
use crate::json::{PADDING, Value, Violation, write_object};
use crate::registry::{Endpoint, External, Registry, Rows};
use crate::wire::{Status, is_header_value};
use std::fmt::Write as _;

/// Bytes of an upstream's answer that are taken at most.
const RESPONSE_LIMIT: usize = 8 << 20;

/// The headers of an upstream, with their variables resolved.
pub(super) type Headers = Box<[(String, String)]>;

/// Resolves each `${VAR}`. The names of variables are in the error, their values are not.
pub(super) fn resolve(
    registry: &Registry,
    endpoint: &Endpoint,
    external: &External,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<Headers, EngineError> {
    let resolved = |(name, value): (&str, &str)| {
        let value = substitute(value, variable).map_err(|variable| {
            let source = registry.str(endpoint.source);
            EngineError(format!("{source}: the environment has no usable {variable}, which {name} needs"))
        })?;
        Ok((name.to_owned(), value))
    };
    pairs(registry, external.headers).map(resolved).collect()
}

/// The value with its variables filled in, or the name of the first that is missing or cannot be sent in a header.
fn substitute<'v>(value: &'v str, variable: &dyn Fn(&str) -> Option<String>) -> Result<String, &'v str> {
    let mut pieces = value.split("${");
    let mut filled = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let (name, rest) = piece.split_once('}').ok_or(piece)?;
        let text = variable(name).filter(|text| is_header_value(text)).ok_or(name)?;
        filled.push_str(&text);
        filled.push_str(rest);
    }
    Ok(filled)
}

fn pairs(registry: &Registry, rows: Rows) -> impl Iterator<Item = (&str, &str)> {
    rows.of(&registry.pairs).iter().map(|pair| (registry.str(pair.key), registry.str(pair.value)))
}

/// The upstream's name for an input property.
fn renamed<'n>(registry: &'n Registry, external: &External, name: &'n str) -> &'n str {
    pairs(registry, external.input_transform).find(|(key, _)| *key == name).map_or(name, |(_, value)| value)
}

/// The request to the upstream. Nothing of the caller is in it but the input.
pub(super) fn prepare<'r>(
    registry: &Registry,
    external: &External,
    headers: &[(String, String)],
    input: Value<'_>,
) -> Result<UpstreamRequest, Refusal<'r>> {
    let template = registry.str(external.url);
    let mut url = fill(template, input)?;
    let placed = |name: &str| template.contains(&format!("{{{name}}}"));
    let left = || input.members().filter(|(name, _)| !placed(name));
    let method = registry.str(external.method);
    let mut headers = headers.to_vec();
    let mut body = None;
    let usual = if matches!(method, "GET" | "HEAD" | "DELETE") { "query" } else { "member" };
    let place = |name: &str| {
        pairs(registry, external.input_place).find(|(key, _)| *key == name).map_or(usual, |(_, place)| place)
    };
    for (name, value) in left() {
        match place(name) {
            "query" => add_query(&mut url, renamed(registry, external, name), value),
            "header" => add_input_header(&mut headers, renamed(registry, external, name), name, value)?,
            "body" => body = Some(invoke::as_json(value)),
            _ => {}
        }
    }
    let has_whole_body = pairs(registry, external.input_place).any(|(_, place)| place == "body");
    if usual == "member" && !has_whole_body && is_form(&headers) {
        let mut fields = "?".to_owned();
        for (name, value) in left().filter(|(name, _)| place(name) == "member") {
            add_query(&mut fields, renamed(registry, external, name), value);
        }
        body = fields.get(1..).map(|fields| fields.as_bytes().to_vec());
    } else if usual == "member" && !has_whole_body {
        let mut json = Vec::new();
        write_object(&mut json, |object| {
            let members = left().filter(|(name, _)| place(name) == "member");
            members.for_each(|(name, value)| _ = object.value(renamed(registry, external, name), value));
        });
        body = Some(json);
    }
    if body.is_some() {
        add_header(&mut headers, "Content-Type", "application/json");
    }
    add_header(&mut headers, "Accept", "application/json");
    add_header(&mut headers, "User-Agent", concat!("agtp/", env!("CARGO_PKG_VERSION")));
    Ok(UpstreamRequest {
        method: method.to_owned(),
        url,
        headers,
        body,
        timeout_ms: external.timeout_ms,
        response_limit: RESPONSE_LIMIT,
    })
}

/// Whether the operator has said that bodies are forms: then members are fields, as they would stand in a query.
fn is_form(headers: &[(String, String)]) -> bool {
    let content_type = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("Content-Type"));
    content_type.is_some_and(|(_, media)| {
        media
            .split(';')
            .next()
            .unwrap_or_default()
            .trim()
            .eq_ignore_ascii_case("application/x-www-form-urlencoded")
    })
}

/// Adds a header, unless the operator has said what it is to be.
fn add_header(headers: &mut Vec<(String, String)>, name: &str, value: &str) {
    if !headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(name)) {
        headers.push((name.to_owned(), value.to_owned()));
    }
}

/// Adds what the caller says as a header: one value, null not at all. Nothing in it can end the line (D14).
fn add_input_header<'r>(
    headers: &mut Vec<(String, String)>,
    header: &str,
    name: &str,
    value: Value<'_>,
) -> Result<(), Refusal<'r>> {
    if value.is_null() {
        return Ok(());
    }
    let text = text_of(value);
    if !is_header_value(&text) {
        return Err(unplaceable(name, "it cannot stand in a header of the upstream's request"));
    }
    headers.push((header.to_owned(), text));
    Ok(())
}

/// The url with its parameters filled in. Each stays within its segment (D19).
fn fill<'r>(template: &str, input: Value<'_>) -> Result<String, Refusal<'r>> {
    let path_len = template.find('?').unwrap_or(template.len());
    let (path, query) = template.split_at(path_len);
    let mut url = String::with_capacity(template.len() + 32);
    for (index, segment) in path.split('/').enumerate() {
        if index > 0 {
            url.push('/');
        }
        let start = url.len();
        let first = fill_piece(segment, input, &mut url)?;
        if let (Some(name), "" | "." | "..") = (first, url.get(start..).unwrap_or("")) {
            return Err(unplaceable(name, "it cannot be a segment of the upstream's path"));
        }
    }
    fill_piece(query, input, &mut url)?;
    Ok(url)
}

/// Appends a piece of the url and returns the name of its first parameter.
fn fill_piece<'t, 'r>(
    piece: &'t str,
    input: Value<'_>,
    url: &mut String,
) -> Result<Option<&'t str>, Refusal<'r>> {
    let mut parts = piece.split('{');
    url.push_str(parts.next().unwrap_or_default());
    let mut first = None;
    for part in parts {
        let (name, rest) = part.split_once('}').unwrap_or((part, ""));
        let value = input.get(name).filter(|value| value.as_object().is_none() && value.as_array().is_none());
        let value = value.filter(|value| !value.is_null());
        let value = value.ok_or_else(|| unplaceable(name, "a string, a number or a boolean is needed"))?;
        push_encoded(url, &text_of(value));
        url.push_str(rest);
        first = first.or(Some(name));
    }
    Ok(first)
}

#[cold]
fn unplaceable<'r>(name: &str, message: &str) -> Refusal<'r> {
    let field = format!("/{}", name.replace('~', "~0").replace('/', "~1"));
    let violation = Violation { field, schema_path: String::new(), message: message.to_owned() };
    Refusal::InputInvalid(Violations(vec![violation]))
}

/// A value as the text that stands in a url: a string bare, anything else as JSON.
fn text_of(value: Value<'_>) -> String {
    value
        .as_str()
        .map_or_else(|| String::from_utf8_lossy(&invoke::as_json(value)).into_owned(), str::to_owned)
}

/// Appends text as unreserved characters and escapes (RFC 3986, 2.3).
fn push_encoded(url: &mut String, text: &str) {
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            url.push(char::from(byte));
        } else {
            // Writing to a string does not fail.
            let _ = write!(url, "%{byte:02X}");
        }
    }
}

/// Appends a property to the query; an array once for each element, null not at all.
fn add_query(url: &mut String, name: &str, value: Value<'_>) {
    if value.is_null() {
        return;
    }
    if value.as_array().is_some() {
        return value.elements().for_each(|element| add_one(url, name, element));
    }
    add_one(url, name, value);
}

fn add_one(url: &mut String, name: &str, value: Value<'_>) {
    url.push(match url.find('?') {
        None => '?',
        Some(_) if url.ends_with(['?', '&']) => return add_last(url, name, value),
        Some(_) => '&',
    });
    add_last(url, name, value);
}

fn add_last(url: &mut String, name: &str, value: Value<'_>) {
    push_encoded(url, name);
    url.push('=');
    push_encoded(url, &text_of(value));
}

/// What the endpoint answers to what the upstream did. A mistake in the answer is the upstream's, never the caller's.
pub(super) fn interpret<'r>(
    engine: &'r Engine<'_>,
    sinks: &mut Sinks<'_>,
    endpoint: &'r Endpoint,
    external: &External,
    ended: Result<UpstreamResponse, UpstreamFailure>,
) -> Result<Answer<'r>, Refusal<'r>> {
    sinks.details.clear();
    let response = ended.map_err(|failure| {
        let name = match failure {
            UpstreamFailure::Timeout => "upstream_timeout",
            UpstreamFailure::Connection(_) => "upstream_connection_error",
            UpstreamFailure::Malformed(_) => "upstream_malformed_response",
        };
        refuse(engine, endpoint, name, &failure.to_string())
    })?;
    let status = response.status;
    if !(200..300).contains(&status) {
        let name = error_of(engine.registry, external, status);
        return Err(refuse(engine, endpoint, name, &format!("it answered {status}")));
    }
    if let Err(why) = take_body(engine, sinks, external, response) {
        return Err(refuse(engine, endpoint, "upstream_malformed_response", &why));
    }
    // The log has been told of the output, and 500 would blame this server.
    invoke::checked(engine, sinks, endpoint, Status::Ok).map_err(|_| named("upstream_malformed_response"))
}

/// The error that an upstream's status stands for. A redirect is nothing else, whatever a map says (D30).
fn error_of<'r>(registry: &'r Registry, external: &External, status: u16) -> &'r str {
    let mapped = pairs(registry, external.error_map).find(|(key, _)| key.parse() == Ok(status));
    match (mapped, status) {
        (_, 300..=399) => "upstream_error",
        (Some((_, name)), _) => name,
        (None, 401 | 403) => "upstream_authentication_failed",
        (None, _) => "upstream_error",
    }
}

fn named<'r>(name: &'r str) -> Refusal<'r> {
    Refusal::Named { name, message: None }
}

#[cold]
fn refuse<'r>(engine: &Engine<'_>, endpoint: &Endpoint, name: &'r str, why: &str) -> Refusal<'r> {
    invoke::log_failure(engine, endpoint, &format!("{name}: the upstream: {why}"));
    named(name)
}

/// Puts the upstream's object into the answer's body, under this side's names.
fn take_body(
    engine: &Engine<'_>,
    sinks: &mut Sinks<'_>,
    external: &External,
    response: UpstreamResponse,
) -> Result<(), String> {
    let UpstreamResponse { status, content_type, mut body } = response;
    sinks.body.clear();
    if status == 204 || body.is_empty() {
        sinks.body.extend_from_slice(b"{}");
        return Ok(());
    }
    let content_type = content_type.unwrap_or_default();
    if !super::input::is_json(&content_type) {
        return Err(format!("its Content-Type {content_type:?} is not JSON"));
    }
    let len = body.len();
    body.resize(len + PADDING, 0);
    let depth = engine.registry.limits.json_depth as usize;
    let document = sinks.output.parse(&mut body, len, depth).map_err(|fault| fault.to_string())?;
    let whole = engine.registry.str(external.output_body);
    let is_object = document.is_object() || !whole.is_empty();
    if whole.is_empty() {
        rename(engine.registry, external, document.root(), sinks.body);
    } else {
        write_object(sinks.body, |out| _ = out.value(whole, document.root()));
    }
    sinks.output.recycle(document);
    if is_object { Ok(()) } else { Err("its body is no JSON object".to_owned()) }
}

/// Writes an object with the members that `output_transform` names under their new names. Another member that has one
/// of those names already would stand twice, and is left out.
fn rename(registry: &Registry, external: &External, object: Value<'_>, body: &mut Vec<u8>) {
    let transform = || pairs(registry, external.output_transform);
    let taken = |name: &str| transform().any(|(ours, theirs)| ours == name && object.get(theirs).is_some());
    write_object(body, |out| {
        for (name, value) in object.members() {
            match transform().find(|(_, theirs)| *theirs == name) {
                Some((ours, _)) => _ = out.value(ours, value),
                None if taken(name) => {}
                None => _ = out.value(name, value),
            }
        }
    });
}
