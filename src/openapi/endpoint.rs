//! One operation as one endpoint.

use super::document::{Document, elements, members, text};
use super::operation::Operation;
use super::parameters::Input;
use super::paths::{Layout, Translated};
use super::responses::{self, Output, UPSTREAM_ERRORS};
use super::schemas::{Direction, Patterns, Schemas};
use super::security::{self, Secured};
use super::servers::Base;
use super::verbs::{self, Choice, Clues};
use super::{parameters, servers};
use crate::catalog::Catalog;
use serde_json::{Map, Value};

/// What the whole document gives to each of its operations.
pub(super) struct Whole<'d> {
    pub(super) document: &'d Document,
    pub(super) catalog: &'d Catalog,
    pub(super) layout: &'d Layout,
    pub(super) patterns: &'d Patterns,
    pub(super) base: &'d Base,
    /// What the names of environment variables begin with.
    pub(super) prefix: &'d str,
    /// The document's version, for deprecations.
    pub(super) version: &'d str,
}

/// The semantic block.
#[derive(Clone, Debug, Default)]
pub(super) struct Semantic {
    pub(super) intent: String,
    pub(super) actor: String,
    pub(super) outcome: String,
    pub(super) capability: String,
    pub(super) confidence: f64,
    pub(super) impact: String,
    pub(super) is_idempotent: bool,
}

/// An endpoint to be written.
#[derive(Debug)]
pub(super) struct Endpoint {
    pub(super) operation: String,
    pub(super) choice: Choice,
    pub(super) path: String,
    pub(super) description: String,
    pub(super) namespace: Option<String>,
    pub(super) required_scopes: Vec<String>,
    pub(super) semantic: Semantic,
    /// Whether an export said all that a person would have to judge.
    pub(super) is_exported: bool,
    pub(super) input_schema: Map<String, Value>,
    pub(super) output_schema: Map<String, Value>,
    pub(super) errors: Vec<String>,
    pub(super) deprecated: Option<Map<String, Value>>,
    pub(super) http: &'static str,
    pub(super) url: String,
    pub(super) headers: Vec<(String, String)>,
    pub(super) variables: Vec<String>,
    pub(super) input: Input,
    pub(super) output: Output,
    /// What a person should look at: the key it is about, and what it is.
    pub(super) reviews: Vec<(&'static str, String)>,
}

/// Makes the endpoint of an operation. The error says why there can be none.
pub(super) fn make(whole: &Whole<'_>, operation: &Operation<'_>) -> Result<Endpoint, String> {
    if operation.http == "TRACE" {
        return Err("TRACE is no method of an external service".to_owned());
    }
    let extension = operation.extension();
    let mut translated = whole.layout.translate(whole.catalog, operation.path)?;
    adopt(&mut translated, extension);
    let base = servers::of_operation(operation).unwrap_or_else(|| Ok(whole.base.clone()))?;
    let mut request = Schemas::new(whole.document, whole.patterns, Direction::Request);
    let mut input = parameters::read(whole.document, operation, &translated, &mut request)?;
    let mut input_schema = input.schema();
    request.close(&mut input_schema);
    let mut response = Schemas::new(whole.document, whole.patterns, Direction::Response);
    let mut output = responses::read(whole.document, operation, &mut response)?;
    let mut output_schema = std::mem::take(&mut output.schema);
    response.close(&mut output_schema);
    let secured = security::read(whole.document, operation, whole.prefix);
    let headers = headers(&mut input, &mut input_schema, &output, &secured)?;
    let choice = choice(whole.catalog, operation, &translated);
    let mut endpoint = Endpoint {
        operation: operation.title(),
        path: text(extension, "path").unwrap_or(&translated.path).to_owned(),
        description: description(operation),
        namespace: namespace(operation, extension),
        required_scopes: strings(extension.get("required_scopes")),
        semantic: semantic(whole.catalog, operation, &choice),
        is_exported: extension.contains_key("semantic"),
        errors: errors(&output, extension),
        deprecated: deprecated(operation, whole.version),
        http: operation.http,
        url: format!("{}{}", base.url, translated.url_path),
        headers,
        variables: secured.variables,
        reviews: Vec::new(),
        choice,
        input_schema,
        output_schema,
        input,
        output,
    };
    let own_server = base != *whole.base;
    endpoint.reviews =
        reviews(&mut endpoint, [translated.reviews, request.reviews, response.reviews, secured.reviews]);
    if own_server {
        endpoint.reviews.push(("url", format!("the operation has a server of its own, {}", base.url)));
    }
    Ok(endpoint)
}

/// Path and names of path parameters as an export noted them.
fn adopt(translated: &mut Translated, extension: &Map<String, Value>) {
    if extension.contains_key("path") {
        // How HTTP writes it is nothing to review.
        translated.reviews.clear();
    }
    for (theirs, original) in members(extension.get("parameters")) {
        let Some(original) = original.as_str() else { continue };
        for (_, ours) in translated.parameters.iter_mut().filter(|(name, _)| name == theirs) {
            let placeholder = format!("{{{original}}}");
            translated.url_path = translated.url_path.replace(&format!("{{{ours}}}"), &placeholder);
            translated.path = translated.path.replace(&format!("{{{ours}}}"), &placeholder);
            original.clone_into(ours);
        }
    }
}

/// The headers that every request has. What authenticates is not the caller's to set.
fn headers(
    input: &mut Input,
    schema: &mut Map<String, Value>,
    output: &Output,
    secured: &Secured,
) -> Result<Vec<(String, String)>, String> {
    let mut headers = std::mem::take(&mut input.headers);
    headers.extend(secured.headers.iter().cloned());
    headers.extend(output.accept.iter().map(|media| ("Accept".to_owned(), media.clone())));
    let upstream = |ours: &str| {
        let renamed = input.transform.iter().find(|(name, _)| name == ours);
        renamed.map_or(ours.to_owned(), |(_, theirs)| theirs.clone())
    };
    let placed = input.place.iter().filter(|(_, place)| place == "header").map(|(ours, _)| ours.clone());
    let placed: Vec<_> = placed.map(|ours| (upstream(&ours), ours)).collect();
    for (header, ours) in placed {
        if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case(&header)) {
            continue;
        }
        input.properties.remove(&ours);
        input.required.retain(|name| *name != ours);
        input.place.retain(|(name, _)| *name != ours);
        input.transform.retain(|(name, _)| *name != ours);
        schema.insert("properties".to_owned(), input.properties.clone().into());
        schema.insert("required".to_owned(), input.required.clone().into());
        input.reviews.push(format!(
            "header parameter \"{header}\" is sent by the server, as the security scheme has it"
        ));
    }
    Ok(headers)
}

fn choice(catalog: &Catalog, operation: &Operation<'_>, translated: &Translated) -> Choice {
    if let Some(verb) = text(operation.extension(), "method") {
        let reason = "the document says so".to_owned();
        return Choice { verb: verb.to_owned(), alternatives: Vec::new(), reason, confidence: 1.0 };
    }
    let clues = Clues {
        http: operation.http,
        carried: translated.carried.as_deref(),
        operation_id: operation.text("operationId"),
        summary: operation.text("summary"),
        item: translated.is_item(),
    };
    verbs::choose(catalog, clues)
}

fn description(operation: &Operation<'_>) -> String {
    let texts = [operation.text("description"), operation.text("summary")];
    texts.into_iter().flatten().next().map_or_else(|| format!("{}.", operation.title()), str::to_owned)
}

fn namespace(operation: &Operation<'_>, extension: &Map<String, Value>) -> Option<String> {
    if operation.is_exported() {
        return text(extension, "namespace").map(str::to_owned);
    }
    let tag = elements(operation.body.get("tags")).first().and_then(Value::as_str).map(str::trim);
    tag.filter(|tag| !tag.is_empty()).map(str::to_owned)
}

fn strings(list: Option<&Value>) -> Vec<String> {
    elements(list).iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

fn errors(output: &Output, extension: &Map<String, Value>) -> Vec<String> {
    let mut errors = strings(extension.get("errors"));
    let more = output.errors.iter().map(String::as_str).chain(UPSTREAM_ERRORS);
    for name in more {
        if !errors.iter().any(|known| known == name) {
            errors.push(name.to_owned());
        }
    }
    errors
}

/// The semantic block: as an export noted it, else as far as HTTP and prose tell.
fn semantic(catalog: &Catalog, operation: &Operation<'_>, choice: &Choice) -> Semantic {
    let noted = members(operation.extension().get("semantic"));
    let said = |key: &str, otherwise: String| text(noted, key).map_or(otherwise, str::to_owned);
    let reads = matches!(operation.http, "GET" | "HEAD" | "OPTIONS");
    let impact = match operation.http {
        _ if reads || verbs::reads(catalog, &choice.verb) => "informational",
        "PUT" | "PATCH" => "reversible",
        _ => "irreversible",
    };
    let idempotent = reads || matches!(operation.http, "PUT" | "DELETE");
    Semantic {
        intent: said("intent", intent(operation)),
        actor: said("actor", "agent".to_owned()),
        outcome: said("outcome", outcome(operation)),
        capability: said("capability", verbs::category(catalog, &choice.verb).to_owned()),
        confidence: noted.get("confidence").and_then(Value::as_f64).unwrap_or(choice.confidence),
        impact: said("impact", impact.to_owned()),
        is_idempotent: noted.get("is_idempotent").and_then(Value::as_bool).unwrap_or(idempotent),
    }
}

fn intent(operation: &Operation<'_>) -> String {
    let prose = operation.text("summary").or_else(|| operation.text("description"));
    let line = prose.and_then(|prose| prose.lines().map(str::trim).find(|line| !line.is_empty()));
    match line {
        Some(line) => format!("{}.", line.trim_end_matches('.')),
        None => format!("Do what {} does.", operation.title()),
    }
}

fn outcome(operation: &Operation<'_>) -> String {
    let responses = members(operation.body.get("responses"));
    let success = responses.iter().find(|(status, _)| status.starts_with('2'));
    let described = success.and_then(|(_, response)| text(members(Some(response)), "description"));
    let line = described.and_then(|text| text.lines().map(str::trim).find(|line| !line.is_empty()));
    match line.filter(|line| line.contains(' ')) {
        Some(line) => format!("{}.", line.trim_end_matches('.')),
        None => format!("The answer to {} is returned.", operation.title()),
    }
}

fn deprecated(operation: &Operation<'_>, version: &str) -> Option<Map<String, Value>> {
    if let Some(Value::Object(noted)) = operation.extension().get("deprecated") {
        return Some(noted.clone());
    }
    let flagged = operation.body.get("deprecated") == Some(&Value::Bool(true));
    flagged.then(|| Map::from_iter([("deprecated_in".to_owned(), version.into())]))
}

/// All that a person has to judge, under the key that it is about.
fn reviews(endpoint: &mut Endpoint, gathered: [Vec<String>; 4]) -> Vec<(&'static str, String)> {
    let mut reviews = Vec::new();
    if !endpoint.is_exported {
        let choice = &endpoint.choice;
        let others = match choice.alternatives.get(..choice.alternatives.len().min(3)).unwrap_or_default() {
            [] => String::new(),
            others => format!("; or {}", others.join(", ")),
        };
        reviews.push(("method", format!("{} because {}{others}", choice.verb, choice.reason)));
        let message = "intent, outcome and impact are guesses until a person has confirmed them";
        reviews.push(("semantic", message.to_owned()));
        if endpoint.deprecated.is_some() {
            reviews.push((
                "deprecated",
                "the version of the document, not the one that deprecated it".to_owned(),
            ));
        }
    }
    let [path, request, response, secured] = gathered;
    let of = |about: &'static str, messages: Vec<String>| {
        messages.into_iter().map(move |message| (about, message))
    };
    reviews.extend(of("path", path));
    reviews.extend(of("input_schema", request));
    reviews.extend(of("input_schema", std::mem::take(&mut endpoint.input.reviews)));
    reviews.extend(of("output_schema", response));
    reviews.extend(of("output_schema", std::mem::take(&mut endpoint.output.reviews)));
    reviews.extend(of("headers", secured));
    reviews
}
