//! One endpoint file (facts page 4; draft: The Endpoint Primitive).

use super::document::{Block, DECLARATION, Document, Entry, Faults};
use super::{Context, handler, schema};
use crate::catalog::{CATEGORIES, LEGACY, is_method_name};
use crate::compiler::check::path;
use crate::compiler::ir::{Deprecation, EndpointDecl, HandlerDecl, Semantic, Source, Template};
use crate::compiler::rules;
use crate::identity::is_scope;
use serde_json::Value;

const KEYS: [&str; 13] = [
    "method",
    "path",
    "description",
    "namespace",
    "required_scopes",
    "semantic",
    "input",
    "output",
    "input_schema",
    "output_schema",
    "errors",
    "deprecated",
    "handler",
];

/// What a file declares, as far as it could be read: enough to compare it with others even when it has faults.
#[derive(Debug)]
pub(super) struct Candidate {
    /// Where its path is declared.
    pub(super) path_source: Source,
    /// Its method, if it has the form of one.
    pub(super) method: Option<String>,
    /// Its path, if it follows the grammar.
    pub(super) path: Option<Template>,
    /// Its scopes.
    pub(super) required_scopes: Vec<String>,
    /// The recipe it is composed by, and where that is named.
    pub(super) recipe: Option<(String, Source)>,
    /// The whole declaration, if nothing is wrong with it.
    pub(super) decl: Option<EndpointDecl>,
}

impl Candidate {
    /// Method and path, if it has both.
    pub(super) fn title(&self) -> Option<String> {
        Some(format!("{} {}", self.method.as_ref()?, self.path.as_ref()?.text))
    }
}

/// Reads one file; nothing if it is no TOML or has no endpoint.
pub(super) fn read(file: &str, text: &str, context: &Context<'_>, faults: &Faults) -> Option<Candidate> {
    let errors_before = faults.errors();
    let document = Document::new(file, text, &DECLARATION, faults);
    let table = document.parse(&rules::TOML_SYNTAX)?;
    let root = document.root(&table);
    root.only(&["endpoint"]);
    let block = root.require("endpoint")?.table()?;
    let mut candidate = endpoint(&block, context);
    if faults.errors() > errors_before {
        candidate.decl = None;
    }
    Some(candidate)
}

/// Reads everything, whatever is wrong on the way.
fn endpoint(block: &Block<'_>, context: &Context<'_>) -> Candidate {
    block.only(&KEYS);
    let method = method(block, context);
    let (path_source, path) = template(block, context, method.as_deref());
    let description = block.require("description").and_then(|entry| entry.text());
    let namespace = block.get("namespace").and_then(|entry| entry.text());
    let semantic = semantic(block);
    let input_schema = schema::input(block, context.schemas);
    let output_schema = schema::output(block, context.schemas);
    check_parameters(&path_source, path.as_ref(), input_schema.as_ref(), block);
    let errors = errors(block);
    let required_scopes = scopes(block);
    let deprecated = block.get("deprecated").and_then(|entry| deprecation(&entry, context));
    let handler_block = block.require("handler").and_then(|entry| entry.table());
    let timeout_ms = handler_block.as_ref().map(handler::timeout_ms);
    let schemas = handler::Schemas { input: input_schema.as_ref(), output: output_schema.as_ref() };
    let handler = handler(handler_block.as_ref(), &errors, schemas, context);
    let recipe = recipe(block, handler.as_ref());
    let decl = || {
        Some(EndpointDecl {
            source: block.source(),
            method: method.clone()?,
            path: path.clone()?,
            description: description?.to_owned(),
            namespace: namespace.map(str::to_owned),
            semantic: semantic?,
            input_schema: input_schema?,
            output_schema: output_schema?,
            errors,
            required_scopes: required_scopes.clone(),
            deprecated,
            handler: handler?,
            timeout_ms: timeout_ms?,
        })
    };
    let decl = decl();
    Candidate { path_source, method, path, required_scopes, recipe, decl }
}

fn handler(
    block: Option<&Block<'_>>,
    errors: &[String],
    schemas: handler::Schemas<'_>,
    context: &Context<'_>,
) -> Option<HandlerDecl> {
    let errors: Vec<_> = errors.iter().map(String::as_str).collect();
    handler::read(block?, &errors, schemas, context)
}

/// The recipe that a composition names, and where.
fn recipe(block: &Block<'_>, handler: Option<&HandlerDecl>) -> Option<(String, Source)> {
    match handler? {
        HandlerDecl::Composition(recipe) => Some((recipe.clone(), block.get("handler")?.source())),
        _ => None,
    }
}

/// The method, if it has the form of one: an unknown one still collides with others.
fn method(block: &Block<'_>, context: &Context<'_>) -> Option<String> {
    let entry = block.require("method")?;
    let name = entry.string()?;
    if !is_method_name(name) {
        let message = format!("method \"{name}\" is no method name");
        entry.fault(&rules::METHOD_FORM, message, "a method name is 3 to 32 letters A to Z, nothing else");
        return None;
    }
    match context.vocabulary.dropped(name) {
        Some(dropped) => report_dropped(block, &entry, name, &dropped),
        None => check_method(&entry, name, context),
    }
    Some(name.to_owned())
}

/// A removed verb costs the endpoint, and the report says which one (draft: Removal Behavior).
fn report_dropped(block: &Block<'_>, entry: &Entry<'_>, name: &str, dropped: &str) {
    let path = block.get("path").filter(Entry::is_string).and_then(|path| path.string());
    let endpoint = path.map_or(name.to_owned(), |path| format!("{name} {path}"));
    let help = format!("declare it with a verb of this catalog, or list {name} in policies.methods.custom");
    entry.fault(&rules::METHOD_NOT_IN_CATALOG, format!("{endpoint} is left out: {dropped}"), help);
}

fn check_method(entry: &Entry<'_>, name: &str, context: &Context<'_>) {
    let vocabulary = context.vocabulary;
    if LEGACY.contains(&name) {
        let preferred = vocabulary.catalog.legacy_verb(name).map_or("its verb", |legacy| &legacy.preferred);
        let message = format!("{name} is a legacy verb, which no endpoint may be declared with");
        let help = format!("use {preferred}; policies.methods.aliases lets callers keep {name}");
        entry.fault(&rules::METHOD_LEGACY, message, help);
        return;
    }
    let methods = &context.settings.methods;
    if !vocabulary.is_method(name) {
        let message =
            format!("method {name} is neither in catalog {} nor custom", vocabulary.catalog.version);
        let alias = methods.aliases.iter().find(|(alias, _)| alias == name);
        let help = match alias {
            Some((_, target)) => format!("{name} is an alias; declare the endpoint with {target}"),
            None => vocabulary.did_you_mean(name),
        };
        entry.fault(&rules::METHOD_UNKNOWN, message, help);
        return;
    }
    if let Some(verb) = vocabulary.catalog.verb(name).filter(|verb| verb.deprecated_in.is_some()) {
        let help = match &verb.successor {
            Some(successor) => format!("move to {successor}"),
            None => "its description in the catalog may say what to use instead".to_owned(),
        };
        entry.fault(&rules::METHOD_DEPRECATED, format!("method {name} is deprecated"), help);
    }
    let floor = vocabulary.catalog.is_floor(name);
    let listed = |list: &[String]| list.iter().any(|method| method == name);
    if listed(&methods.disallow) || !floor && methods.allow.as_deref().is_some_and(|allow| !listed(allow)) {
        let message = format!("policies.methods refuses {name}, so this endpoint answers 405");
        entry.fault(&rules::METHOD_REFUSED, message, "admit the method, or remove the endpoint");
    }
}

/// The path, and where it is declared. One that carries a method name still collides with others.
fn template(block: &Block<'_>, context: &Context<'_>, method: Option<&str>) -> (Source, Option<Template>) {
    let Some(entry) = block.require("path") else { return (block.source(), None) };
    let source = entry.source();
    let Some(text) = entry.string() else { return (source, None) };
    let template = parse_path(&entry, text, context);
    let limit = context.settings.limits.request_line_bytes as usize;
    if text.len() > limit {
        let message = format!("the path has {} bytes, a request line at most {limit}", text.len());
        entry.fault(&rules::PATH_TOO_LONG, message, "shorten it, or raise limits.request_line_bytes");
    }
    if let (Some(method), Some(template)) = (method, &template)
        && let Some(finding) = path::reserved(method, template, &context.settings.builtins_override)
    {
        entry.fault(finding.rule, finding.message, finding.help);
    }
    (source, template)
}

/// A path template, checked for grammar and for method names in its literal segments.
fn parse_path(entry: &Entry<'_>, text: &str, context: &Context<'_>) -> Option<Template> {
    let (template, findings) = path::parse(text);
    for finding in findings {
        entry.fault(finding.rule, finding.message, finding.help);
    }
    // Also of a path with other faults, so that all of them are seen at once.
    for piece in text.split('/').filter(|piece| !piece.contains(['{', '}'])) {
        if let Some(verb) = context.vocabulary.carried(piece) {
            let message = format!("segment \"{piece}\" is the method name {verb}");
            let help = "name the resource there; the method of the request says what is done with it";
            entry.fault(&rules::PATH_CARRIES_VERB, message, help);
        }
    }
    template
}

fn check_parameters(source: &Source, path: Option<&Template>, input: Option<&Value>, block: &Block<'_>) {
    let (Some(path), Some(input)) = (path, input) else { return };
    let properties = input.get("properties").and_then(Value::as_object);
    for name in path::parameters(path) {
        if properties.is_none_or(|properties| !properties.contains_key(name)) {
            let message = format!("path parameter {{{name}}} is no input property");
            let help = format!("declare \"{name}\" as an input field, or rename the parameter");
            block.fault_at(source.line, &rules::PATH_UNDECLARED_PARAMETER, message, help);
        }
    }
}

fn semantic(block: &Block<'_>) -> Option<Semantic> {
    let semantic = block.require("semantic")?.table()?;
    semantic.only(&["intent", "actor", "outcome", "capability", "confidence", "impact", "is_idempotent"]);
    let text = |key| semantic.require(key).and_then(|entry| entry.text()).map(str::to_owned);
    let (intent, actor, outcome) = (text("intent"), text("actor"), text("outcome"));
    let word = |key, words: &[&'static str], rule| {
        semantic.require(key).and_then(|entry| entry.one_of(words, rule)).map(str::to_owned)
    };
    let capability = word("capability", &CATEGORIES, &rules::SEMANTIC_CAPABILITY);
    let confidence = semantic.require("confidence").and_then(|entry| confidence(&entry));
    let impact = word("impact", &["informational", "reversible", "irreversible"], &rules::SEMANTIC_IMPACT);
    let is_idempotent = semantic.require("is_idempotent").and_then(|entry| entry.boolean());
    Some(Semantic {
        intent: intent?,
        actor: actor?,
        outcome: outcome?,
        capability: capability?,
        confidence: confidence?,
        impact: impact?,
        is_idempotent: is_idempotent?,
    })
}

fn confidence(entry: &Entry<'_>) -> Option<f64> {
    let confidence = entry.number()?;
    if !(0.0..=1.0).contains(&confidence) {
        let message = format!("confidence is {confidence}");
        entry.fault(&rules::SEMANTIC_CONFIDENCE, message, "write a number from 0.0 to 1.0");
        return None;
    }
    Some(confidence)
}

/// `errors = […]`, or a table with `list`.
fn errors(block: &Block<'_>) -> Vec<String> {
    let Some(entry) = block.get("errors") else { return Vec::new() };
    let list = if entry.is_table() {
        let Some(table) = entry.table() else { return Vec::new() };
        table.only(&["list"]);
        table.require("list")
    } else {
        Some(entry)
    };
    let names = list.map(|list| list.distinct_strings()).unwrap_or_default();
    for (item, name) in &names {
        if !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte)) {
            let message = format!("error name \"{name}\" is no token");
            item.fault(
                &rules::ERROR_NAME,
                message,
                "use letters, digits, \"_\" and \"-\", as in room_unavailable",
            );
        }
    }
    names.into_iter().map(|(_, name)| name.to_owned()).collect()
}

fn scopes(block: &Block<'_>) -> Vec<String> {
    let scopes = block.get("required_scopes").map(|entry| entry.distinct_strings()).unwrap_or_default();
    for (item, scope) in scopes.iter().filter(|(_, scope)| !is_scope(scope)) {
        let message = format!("scope \"{scope}\" is malformed");
        item.fault(&rules::SCOPE_FORM, message, "write domain:action, as in booking:room");
    }
    scopes.into_iter().map(|(_, scope)| scope.to_owned()).collect()
}

fn deprecation(entry: &Entry<'_>, context: &Context<'_>) -> Option<Deprecation> {
    let block = entry.table()?;
    block.only(&["deprecated_in", "removed_in", "successor"]);
    let deprecated_in = block.require("deprecated_in").and_then(|entry| version(&entry));
    let removed_in = block.get("removed_in").and_then(|entry| version(&entry));
    let successor = block.get("successor").and_then(|entry| entry.table());
    let (successor_method, successor_path) = match &successor {
        Some(successor) => self::successor(successor, context),
        None => (None, None),
    };
    Some(Deprecation { deprecated_in: deprecated_in?, removed_in, successor_method, successor_path })
}

/// Versions are sent in `AGTP-Endpoint-Warning`, where `;` separates.
fn version(entry: &Entry<'_>) -> Option<String> {
    let version = entry.text()?;
    if !super::is_header_safe(version) || version.contains([';', ' ']) {
        let message = format!("{} cannot be sent in a header", entry.name());
        entry.fault(&rules::NOT_HEADER_SAFE, message, "use printable ASCII without spaces and \";\"");
        return None;
    }
    Some(version.to_owned())
}

fn successor(block: &Block<'_>, context: &Context<'_>) -> (Option<String>, Option<String>) {
    block.only(&["method", "path"]);
    let (method, path) = (block.get("method"), block.get("path"));
    if method.is_none() && path.is_none() {
        block.fault(&rules::SUCCESSOR_EMPTY, "the successor names nothing", "name a method, a path, or both");
    }
    let method = method.and_then(|entry| {
        let name = entry.string()?;
        if let Some(dropped) = context.vocabulary.dropped(name) {
            let message =
                format!("the endpoint is left out: {dropped}, which its successor is declared with");
            entry.fault(&rules::METHOD_NOT_IN_CATALOG, message, "name another successor, or none");
        } else if !context.vocabulary.is_method(name) {
            let message = format!("the successor's method {name} is unknown");
            entry.fault(&rules::METHOD_UNKNOWN, message, context.vocabulary.did_you_mean(name));
        }
        Some(name.to_owned())
    });
    let path = path.and_then(|entry| {
        let text = entry.string()?;
        parse_path(&entry, text, context).map(|template| template.text)
    });
    (method, path)
}
