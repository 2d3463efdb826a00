//! The binding to an HTTPS upstream (draft: External Service).

use super::Context;
use super::document::{Block, Entry};
use super::handler::{Schemas, is_identifier, require_errors};
use super::place;
use crate::compiler::ir::{ExternalDecl, HandlerDecl};
use crate::compiler::{rules, suggest};
use crate::wire::is_header_value;
use serde_json::{Map, Value};

/// What every external service must be able to answer (draft: External Service).
pub(in crate::compiler) const UPSTREAM_ERRORS: [&str; 5] = [
    "upstream_timeout",
    "upstream_connection_error",
    "upstream_malformed_response",
    "upstream_authentication_failed",
    "upstream_error",
];

const METHODS: [&str; 7] = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"];

const KEYS: [&str; 11] = [
    "type",
    "url",
    "method",
    "headers",
    "input_transform",
    "input_place",
    "output_transform",
    "output_body",
    "error_map",
    "timeout_seconds",
    "deferred",
];

/// Headers that frame a message or belong to one hop: they are the transport's.
const TRANSPORT_HEADERS: [&str; 12] = [
    "host",
    "content-length",
    "transfer-encoding",
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "upgrade",
    "accept-encoding",
];

/// Reads the block of an external service. What is wrong with a part is reported, and costs the endpoint.
pub(super) fn read(
    block: &Block<'_>,
    errors: &[&str],
    schemas: Schemas<'_>,
    context: &Context<'_>,
) -> Option<HandlerDecl> {
    block.only(&KEYS);
    require_errors(block, errors, &UPSTREAM_ERRORS, "external_service");
    let url = block.require("url").and_then(|entry| url(&entry, schemas.input));
    let method = block.require("method").and_then(|entry| entry.one_of(&METHODS, &rules::UPSTREAM_METHOD));
    let headers = entries(block, "headers");
    headers.iter().for_each(|entry| check_header(entry, context));
    let error_map = entries(block, "error_map");
    error_map.iter().for_each(|entry| check_error_map(entry, errors));
    let input_transform = entries(block, "input_transform");
    let input_place = entries(block, "input_place");
    let place = |name: &str| place::of(name, url, &input_place);
    check_transform(&input_transform, "input", schemas.input, &place);
    place::check(&input_place, &place::Around::new(&input_transform, &headers, schemas.input));
    let output_transform = entries(block, "output_transform");
    check_transform(&output_transform, "output", schemas.output, &|_| "");
    let output_body = place::output_body(block, &output_transform, schemas.output);
    Some(HandlerDecl::External(Box::new(ExternalDecl {
        url: url?.to_owned(),
        method: method?.to_owned(),
        headers: pairs(&headers),
        input_transform: pairs(&input_transform),
        input_place: pairs(&input_place),
        output_transform: pairs(&output_transform),
        output_body,
        error_map: pairs(&error_map),
        deferred: block.get("deferred").and_then(|entry| entry.boolean()).unwrap_or(false),
    })))
}

fn entries<'d>(block: &Block<'d>, key: &str) -> Vec<Entry<'d>> {
    block.get(key).and_then(|entry| entry.table()).map(|table| table.entries()).unwrap_or_default()
}

/// Keys and values. Of a value that is no string the check has told.
fn pairs(entries: &[Entry<'_>]) -> Vec<(String, String)> {
    let strings = entries.iter().filter(|entry| entry.is_string());
    strings.filter_map(|entry| Some((entry.key.to_owned(), entry.string()?.to_owned()))).collect()
}

pub(super) fn properties(schema: Option<&Value>) -> Option<&Map<String, Value>> {
    schema?.get("properties")?.as_object()
}

/// An https url with a host; `{param}` in the rest of it is filled from the input (D30).
fn url<'d>(entry: &Entry<'d>, input: Option<&Value>) -> Option<&'d str> {
    let url = entry.text()?;
    let Some(rest) = url.strip_prefix("https://") else {
        let message = format!("upstream \"{url}\" is not https");
        entry.fault(&rules::UPSTREAM_URL, message, "an upstream is reached over https:// only");
        return None;
    };
    if !is_authority(rest.split(['/', '?', '#']).next().unwrap_or("")) {
        let message = format!("upstream \"{url}\" has no plain host");
        let help = "write https://host/path, without user name or parameters in the host";
        entry.fault(&rules::UPSTREAM_URL, message, help);
    }
    if !rest.bytes().all(is_url_byte) {
        let message = format!("upstream \"{url}\" holds a character no url has");
        entry.fault(&rules::UPSTREAM_URL, message, "percent-encode it; a fragment is never sent");
    }
    check_parameters(entry, rest, input);
    Some(url)
}

/// A name or an address, and perhaps a port.
fn is_authority(authority: &str) -> bool {
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, port),
        _ => (authority, "443"),
    };
    let inner = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let sound = match inner {
        Some(address) => address.parse::<std::net::Ipv6Addr>().is_ok(),
        None => !host.is_empty() && host.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._".contains(&b)),
    };
    sound && port.parse::<u16>().is_ok_and(|port| port > 0)
}

/// What RFC 3986 has in a path and a query, and the braces of parameters.
fn is_url_byte(byte: u8) -> bool {
    byte.is_ascii_graphic() && !b"#\"<>\\^`|".contains(&byte)
}

fn check_parameters(entry: &Entry<'_>, rest: &str, input: Option<&Value>) {
    let Some(names) = parameters(rest) else {
        let help = "write {name}, the name of an input property, and no other braces";
        entry.fault(&rules::UPSTREAM_URL, "a parameter of the url is malformed", help);
        return;
    };
    let Some(input) = input else { return };
    let required = input.get("required").and_then(Value::as_array);
    for name in names {
        if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
            let message = format!("url parameter {{{name}}} is no plain name");
            entry.fault(&rules::UPSTREAM_URL, message, "name it with letters, digits and \"_\"");
        } else if properties(Some(input)).is_none_or(|properties| !properties.contains_key(name)) {
            let message = format!("url parameter {{{name}}} is no input property");
            entry.fault(&rules::UPSTREAM_URL, message, format!("declare \"{name}\" as an input field"));
        } else if required.is_none_or(|required| !required.iter().any(|item| item == name)) {
            let message = format!("url parameter {{{name}}} is an optional input property");
            let help = format!("require \"{name}\": without it there would be no url");
            entry.fault(&rules::UPSTREAM_URL, message, help);
        }
    }
}

/// The names in braces; nothing if braces do not pair up.
fn parameters(url: &str) -> Option<Vec<&str>> {
    let mut pieces = url.split('{');
    let mut names = Vec::new();
    if pieces.next().is_some_and(|before| before.contains('}')) {
        return None;
    }
    for piece in pieces {
        let (name, after) = piece.split_once('}')?;
        if name.is_empty() || after.contains('}') {
            return None;
        }
        names.push(name);
    }
    Some(names)
}

fn check_header(entry: &Entry<'_>, context: &Context<'_>) {
    check_header_name(entry, entry.key);
    let Some(value) = entry.string() else { return };
    if !is_header_value(value) {
        let message = format!("the value of {} cannot be sent", entry.key);
        entry.fault(&rules::UPSTREAM_HEADER, message, "use printable ASCII");
    }
    let Some(variables) = variables(value) else {
        let message = format!("the value of {} has a malformed placeholder", entry.key);
        let help = "write ${NAME}, a name of letters, digits and \"_\"";
        entry.fault(&rules::UPSTREAM_PLACEHOLDER, message, help);
        return;
    };
    let Some(has_variable) = context.options.has_variable else { return };
    for variable in variables.into_iter().filter(|variable| !has_variable(variable)) {
        let message = format!("the environment has no usable {variable}, which {} needs", entry.key);
        let help = format!("set {variable} to printable ASCII before the server starts");
        entry.fault(&rules::UPSTREAM_VARIABLE, message, help);
    }
}

pub(super) fn check_header_name(entry: &Entry<'_>, name: &str) {
    let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if name.is_empty() || !name.bytes().all(token) {
        let message = format!("\"{name}\" is no header name");
        entry.fault(&rules::UPSTREAM_HEADER, message, "use letters, digits and \"-\"");
    }
    if TRANSPORT_HEADERS.iter().any(|transport| transport.eq_ignore_ascii_case(name)) {
        let message = format!("{name} is for the server to say");
        entry.fault(&rules::UPSTREAM_HEADER, message, "remove it; it is sent where it is needed");
    }
}

/// The names in `${…}`; nothing if one is malformed.
fn variables(value: &str) -> Option<Vec<&str>> {
    let pieces = value.split("${").skip(1);
    pieces.map(|rest| rest.split_once('}').map(|(name, _)| name).filter(|name| is_identifier(name))).collect()
}

fn check_error_map(entry: &Entry<'_>, errors: &[&str]) {
    let status = entry.key.parse::<u16>().ok().filter(|_| entry.key.len() == 3);
    if !status.is_some_and(|status| (400..600).contains(&status)) {
        let message = format!("\"{}\" is no HTTP status of a failure", entry.key);
        let help =
            "write three digits from 400 to 599 in quotes, as in \"404\"; a redirect is upstream_error";
        entry.fault(&rules::UPSTREAM_ERROR_MAP, message, help);
    }
    let Some(name) = entry.text() else { return };
    if !errors.contains(&name) {
        let message = format!("error_map names \"{name}\", which the endpoint does not declare");
        entry.fault(&rules::UPSTREAM_ERROR_MAP, message, format!("add \"{name}\" to the endpoint's errors"));
    }
}

/// A transform renames declared properties, and no two of them come to one name in one place at the upstream.
fn check_transform<'p>(
    entries: &[Entry<'_>],
    side: &str,
    schema: Option<&Value>,
    place: &dyn Fn(&str) -> &'p str,
) {
    let declared = properties(schema);
    let mut taken: Vec<(&str, &str)> = Vec::new();
    if let Some(declared) = declared {
        let renamed = |name: &str| entries.iter().any(|entry| entry.key == name);
        let kept = declared.keys().map(String::as_str).filter(|name| !renamed(name));
        taken.extend(kept.map(|name| (place(name), name)));
    }
    for entry in entries {
        if let (Some(schema), None) = (schema, declared.and_then(|declared| declared.get(entry.key))) {
            let names: Vec<_> = properties(Some(schema)).into_iter().flat_map(Map::keys).collect();
            let names: Vec<_> = names.into_iter().map(String::as_str).collect();
            let message = format!("\"{}\" is no {side} property", entry.key);
            entry.fault(&rules::UPSTREAM_TRANSFORM, message, suggest::did_you_mean(entry.key, &names));
        }
        let Some(name) = entry.text() else { continue };
        let at = (place(entry.key), name);
        if taken.contains(&at) {
            let message = format!("two {side} properties are \"{name}\" at the upstream");
            entry.fault(&rules::UPSTREAM_TRANSFORM, message, "give each a name of its own");
        }
        taken.push(at);
    }
}
