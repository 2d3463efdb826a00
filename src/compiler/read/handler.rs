//! The handler binding of an endpoint (draft: Handler Binding).

use super::Context;
use super::document::Block;
use super::external;
use crate::compiler::ir::HandlerDecl;
use crate::compiler::{rules, suggest};
use serde_json::Value;

/// The endpoint's input and output schema, as far as they are sound.
#[derive(Clone, Copy)]
pub(super) struct Schemas<'s> {
    pub(super) input: Option<&'s Value>,
    pub(super) output: Option<&'s Value>,
}

/// Reads `[endpoint.handler]`. `errors` are the endpoint's error names.
pub(super) fn read(
    block: &Block<'_>,
    errors: &[&str],
    schemas: Schemas<'_>,
    context: &Context<'_>,
) -> Option<HandlerDecl> {
    let kinds = ["registered_function", "composition", "external_service"];
    let entry = block.require("type")?;
    match entry.one_of(&kinds, &rules::HANDLER_TYPE)? {
        "registered_function" => function(block, context),
        "composition" => composition(block, errors, context),
        _ => external::read(block, errors, schemas, context),
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

pub(super) fn require_errors(block: &Block<'_>, errors: &[&str], required: &[&str], kind: &str) {
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

pub(super) fn is_identifier(part: &str) -> bool {
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
