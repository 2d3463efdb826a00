//! The handler binding of an endpoint (draft: Handler Binding).

use super::Context;
use super::document::{Block, Entry};
use crate::compiler::ir::HandlerDecl;
use crate::compiler::{rules, suggest};
use serde_json::Value;

/// What every external service must be able to answer (draft: External Service).
pub(in crate::compiler) const UPSTREAM_ERRORS: [&str; 5] = [
    "upstream_timeout",
    "upstream_connection_error",
    "upstream_malformed_response",
    "upstream_authentication_failed",
    "upstream_error",
];

const UPSTREAM_METHODS: [&str; 7] = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"];

/// Reads `[endpoint.handler]`. `errors` are the endpoint's error names, `input` its input schema.
pub(super) fn read(
    block: &Block<'_>,
    errors: &[&str],
    input: Option<&Value>,
    context: &Context<'_>,
) -> Option<HandlerDecl> {
    let kinds = ["registered_function", "composition", "external_service"];
    let entry = block.require("type")?;
    match entry.one_of(&kinds, &rules::HANDLER_TYPE)? {
        "registered_function" => function(block, context),
        "composition" => composition(block, errors, context),
        _ => {
            let handler = external(block, errors, input);
            not_served_yet(&entry, "external_service");
            handler
        }
    }
}

/// How long an answer may take that is waited for, milliseconds: `timeout_seconds`, by default 30.
pub(super) fn timeout_ms(block: &Block<'_>) -> u32 {
    const DEFAULT_SECONDS: f64 = 30.0;
    const MOST_SECONDS: f64 = 86_400.0;
    let Some(entry) = block.get("timeout_seconds") else { return (DEFAULT_SECONDS * 1000.0) as u32 };
    let seconds = entry.number().unwrap_or(DEFAULT_SECONDS);
    if !(seconds > 0.0 && seconds <= MOST_SECONDS) {
        let message = format!("timeout_seconds is {seconds}");
        let help = "write a positive number of seconds, a day (86400) at most";
        entry.fault(&rules::HANDLER_TIMEOUT, message, help);
    }
    // A time-out of less than a millisecond is one of a millisecond.
    ((seconds * 1000.0) as u32).max(1)
}

/// An endpoint that nothing would answer is refused rather than left silent.
fn not_served_yet(entry: &Entry<'_>, kind: &str) {
    let message = format!("this version does not serve {kind} handlers yet");
    entry.fault(&rules::HANDLER_NOT_SERVED, message, "bind a registered_function until it does");
}

fn require_errors(block: &Block<'_>, errors: &[&str], required: &[&str], kind: &str) {
    for name in required.iter().filter(|name| !errors.contains(name)) {
        let message = format!("{kind} endpoints must declare the error \"{name}\"");
        block.fault(&rules::ERROR_REQUIRED, message, format!("add \"{name}\" to the endpoint's errors"));
    }
}

/// A function path; `module` and `function` apart, and dots between the parts, are accepted too.
fn function(block: &Block<'_>, context: &Context<'_>) -> Option<HandlerDecl> {
    block.only(&["type", "function", "module", "timeout_seconds"]);
    let module = block.get("module").and_then(|entry| entry.text());
    let entry = block.require("function")?;
    let function = entry.text()?;
    let name = match module {
        Some(module) => normalise(&format!("{module}::{function}")),
        None => normalise(function),
    };
    if !name.split("::").all(is_identifier) {
        let message = format!("\"{name}\" is no function path");
        entry.fault(
            &rules::FUNCTION_NAME,
            message,
            "write identifiers joined by \"::\", as in rooms::book_room",
        );
        return None;
    }
    if let Some(known) = context.options.known_functions
        && !known.iter().any(|function| normalise(function) == name)
    {
        let message = format!("no function is registered as \"{name}\"");
        entry.fault(&rules::UNBOUND_FUNCTION, message, suggest::did_you_mean(&name, known));
    }
    Some(HandlerDecl::Function(name))
}

fn normalise(function: &str) -> String {
    function.replace('.', "::")
}

fn is_identifier(part: &str) -> bool {
    !part.is_empty()
        && !part.starts_with(|first: char| first.is_ascii_digit())
        && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

fn composition(block: &Block<'_>, errors: &[&str], context: &Context<'_>) -> Option<HandlerDecl> {
    block.only(&["type", "recipe", "timeout_seconds"]);
    require_errors(block, errors, &["composition_failed"], "composition");
    let entry = block.require("recipe")?;
    let name = entry.text()?;
    if !context.recipes.iter().any(|recipe| recipe.name == name) {
        let names: Vec<_> = context.recipes.iter().map(|recipe| recipe.name.as_str()).collect();
        let help = match names.as_slice() {
            [] => "declare it in agtp-recipes.toml".to_owned(),
            names => suggest::did_you_mean(name, names),
        };
        entry.fault(&rules::UNKNOWN_RECIPE, format!("there is no recipe \"{name}\""), help);
    }
    Some(HandlerDecl::Composition(name.to_owned()))
}

fn external(block: &Block<'_>, errors: &[&str], input: Option<&Value>) -> Option<HandlerDecl> {
    block.only(&[
        "type",
        "url",
        "method",
        "headers",
        "input_transform",
        "output_transform",
        "error_map",
        "timeout_seconds",
        "deferred",
    ]);
    require_errors(block, errors, &UPSTREAM_ERRORS, "external_service");
    if let Some(entry) = block.require("url") {
        url(&entry, input);
    }
    if let Some(entry) = block.require("method") {
        entry.one_of(&UPSTREAM_METHODS, &rules::UPSTREAM_METHOD);
    }
    for header in entries(block, "headers") {
        check_header(&header);
    }
    for transform in ["input_transform", "output_transform"] {
        entries(block, transform).iter().for_each(|entry| _ = entry.text());
    }
    for entry in entries(block, "error_map") {
        error_map(&entry, errors);
    }
    block.get("deferred").map(|entry| entry.boolean());
    Some(HandlerDecl::External(block.to_json()))
}

fn entries<'d>(block: &Block<'d>, key: &str) -> Vec<Entry<'d>> {
    block.get(key).and_then(|entry| entry.table()).map(|table| table.entries()).unwrap_or_default()
}

/// An https url with a host; `{param}` in its path is filled from the input (D30).
fn url(entry: &Entry<'_>, input: Option<&Value>) {
    let Some(url) = entry.text() else { return };
    let Some(rest) = url.strip_prefix("https://") else {
        let message = format!("upstream \"{url}\" is not https");
        entry.fault(&rules::UPSTREAM_URL, message, "an upstream is reached over https:// only");
        return;
    };
    let host = rest.split(['/', '?', '#']).next().unwrap_or("");
    let host_char = |letter: char| letter.is_ascii_alphanumeric() || "-.:[]".contains(letter);
    if host.is_empty() || !host.chars().all(host_char) {
        let message = format!("upstream \"{url}\" has no plain host");
        entry.fault(
            &rules::UPSTREAM_URL,
            message,
            "write https://host/path, without user name or parameters in the host",
        );
    }
    if !rest.bytes().all(|byte| byte.is_ascii_graphic()) || rest.contains('#') {
        let message = format!("upstream \"{url}\" holds a character no url has");
        entry.fault(&rules::UPSTREAM_URL, message, "percent-encode it; a fragment is never sent");
    }
    for name in url_parameters(rest) {
        let properties = input.and_then(|input| input.get("properties"));
        if properties.is_some_and(|properties| properties.get(name).is_none()) {
            let message = format!("url parameter {{{name}}} is no input property");
            entry.fault(&rules::UPSTREAM_URL, message, format!("declare \"{name}\" as an input field"));
        }
    }
}

fn url_parameters(url: &str) -> impl Iterator<Item = &str> {
    url.split('{').skip(1).map(|rest| rest.split('}').next().unwrap_or(rest))
}

fn check_header(entry: &Entry<'_>) {
    let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if entry.key.is_empty() || !entry.key.bytes().all(token) {
        let message = format!("\"{}\" is no header name", entry.key);
        entry.fault(&rules::UPSTREAM_HEADER, message, "use letters, digits and \"-\"");
    }
    let Some(value) = entry.string() else { return };
    if !value.bytes().all(|byte| byte == b'\t' || (b' '..=b'~').contains(&byte)) {
        let message = format!("the value of {} cannot be sent", entry.key);
        entry.fault(&rules::UPSTREAM_HEADER, message, "use printable ASCII");
    }
    if !placeholders_are_whole(value) {
        let message = format!("the value of {} has a malformed placeholder", entry.key);
        entry.fault(
            &rules::UPSTREAM_PLACEHOLDER,
            message,
            "write ${NAME}, a name of letters, digits and \"_\"",
        );
    }
}

/// Whether each `${` begins a `${NAME}`.
fn placeholders_are_whole(value: &str) -> bool {
    value.split("${").skip(1).all(|rest| rest.split_once('}').is_some_and(|(name, _)| is_identifier(name)))
}

fn error_map(entry: &Entry<'_>, errors: &[&str]) {
    let status = entry.key.parse::<u16>().ok().filter(|_| entry.key.len() == 3);
    if !status.is_some_and(|status| (100..600).contains(&status)) {
        let message = format!("\"{}\" is no HTTP status", entry.key);
        entry.fault(&rules::UPSTREAM_ERROR_MAP, message, "write three digits in quotes, as in \"404\"");
    }
    let Some(name) = entry.text() else { return };
    if !errors.contains(&name) {
        let message = format!("error_map names \"{name}\", which the endpoint does not declare");
        entry.fault(&rules::UPSTREAM_ERROR_MAP, message, format!("add \"{name}\" to the endpoint's errors"));
    }
}
