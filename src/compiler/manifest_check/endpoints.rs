//! The endpoints of a manifest: each whole, none showing more than it should, no two in each other's way.

use super::reader::{At, Kind};
use crate::catalog::{CATEGORIES, LEGACY, is_method_name};
use crate::compiler::check::schema::{self, SchemaChecker};
use crate::compiler::check::vocabulary::Vocabulary;
use crate::compiler::check::{ambiguity, path};
use crate::compiler::ir::{Template, TemplateSegment};
use crate::compiler::read::external::UPSTREAM_ERRORS;
use crate::compiler::rules;
use crate::identity::is_scope;
use serde_json::Value;

/// Fields of a projected endpoint (draft: Required Fields).
const FIELDS: [&str; 11] = [
    "method",
    "path",
    "description",
    "namespace",
    "semantic",
    "input_schema",
    "output_schema",
    "errors",
    "handler",
    "required_scopes",
    "deprecated",
];

/// What endpoints are checked against.
#[derive(Debug)]
pub(super) struct Judge<'v> {
    vocabulary: &'v Vocabulary<'v>,
    known_catalog: bool,
    schemas: SchemaChecker,
}

impl<'v> Judge<'v> {
    pub(super) fn new(vocabulary: &'v Vocabulary<'v>, known_catalog: bool) -> Judge<'v> {
        Judge { vocabulary, known_catalog, schemas: SchemaChecker::default() }
    }

    /// Whether the method of an endpoint or an alias can be one.
    pub(super) fn method(&self, method: &At<'_>) {
        let name = method.text();
        if !is_method_name(name) {
            let help = "a method name is 3 to 32 letters A to Z, nothing else";
            method.fault(&rules::METHOD_FORM, format!("\"{name}\" is no method name"), help);
        } else if LEGACY.contains(&name) {
            let message = format!("{name} is a legacy verb");
            method.fault(&rules::METHOD_LEGACY, message, "use the catalog's verb for it");
        } else if self.known_catalog && !self.vocabulary.is_method(name) {
            let message = format!("{name} is neither in the catalog nor a custom method");
            method.fault(&rules::METHOD_UNKNOWN, message, self.vocabulary.did_you_mean(name));
        }
    }

    /// Whether a path is one, and carries no verb.
    fn path(&self, method: Option<&str>, at: &At<'_>) -> Option<Template> {
        let (template, findings) = path::parse(at.text());
        findings.into_iter().for_each(|finding| at.found(finding));
        for segment in at.text().split('/').filter(|segment| !segment.contains(['{', '}'])) {
            if let Some(verb) = self.vocabulary.carried(segment) {
                let message = format!("segment \"{segment}\" is the method name {verb}");
                at.fault(&rules::PATH_CARRIES_VERB, message, "name the resource there");
            }
        }
        // What stands at the root is the protocol's.
        if let (Some(method), Some(template)) = (method, &template)
            && !template.segments.is_empty()
        {
            path::reserved(method, template, &built_ins()).into_iter().for_each(|finding| at.found(finding));
        }
        template
    }
}

/// The reserved paths themselves: whose endpoint is there, a manifest does not say.
fn built_ins() -> Vec<String> {
    path::RESERVED.iter().map(|root| format!("/{root}")).collect()
}

/// Checks all endpoints.
pub(super) fn check(root: &At<'_>, judge: &Judge<'_>) {
    let Some(list) = root.require("endpoints", Kind::List) else { return };
    let list = list.under(&rules::MANIFEST_ENDPOINT);
    let endpoints = list.items().filter(|endpoint| endpoint.is(Kind::Object));
    let places: Vec<_> = endpoints.filter_map(|at| Some((endpoint(&at, judge)?, at))).collect();
    let keys: Vec<_> = places.iter().map(|((method, template), _)| (*method, template)).collect();
    for (((method, template), at), rival) in places.iter().zip(ambiguity::rivals(&keys)) {
        let Some((_, other)) = rival.and_then(|rival| keys.get(rival)) else { continue };
        let (rule, what) = match other.text == template.text {
            true => (&rules::ENDPOINT_DUPLICATE, "is listed twice".to_owned()),
            false => (&rules::PATH_AMBIGUOUS, format!("matches paths that {} matches as well", other.text)),
        };
        at.fault(rule, format!("{method} {} {what}", template.text), "tell them apart by a literal segment");
    }
    for built_in in ["/", "/methods"] {
        if !keys.iter().any(|(method, template)| *method == "DISCOVER" && template.text == built_in) {
            let message = format!("DISCOVER {built_in} is missing");
            list.fault(&rules::MANIFEST_BUILT_INS, message, "built-in endpoints are listed like any other");
        }
    }
}

fn endpoint<'m>(endpoint: &At<'m>, judge: &Judge<'_>) -> Option<(&'m str, Template)> {
    let method = endpoint.require("method", Kind::Filled);
    method.iter().for_each(|method| judge.method(method));
    let method = method.map(|method| method.text());
    let template = endpoint.require("path", Kind::Filled).and_then(|path| judge.path(method, &path));
    endpoint.require("description", Kind::Filled);
    endpoint.optional("namespace", Kind::Text);
    endpoint.require("semantic", Kind::Object).iter().for_each(semantic);
    schemas(endpoint, template.as_ref(), judge);
    let kind = endpoint.require("handler", Kind::Object).and_then(|handler| handler_type(&handler));
    errors(endpoint, kind);
    let scopes = endpoint.optional("required_scopes", Kind::List);
    for scope in scopes.iter().flat_map(At::texts).filter(|scope| !is_scope(scope.text())) {
        let message = format!("scope \"{}\" is malformed", scope.text());
        scope.fault(&rules::SCOPE_FORM, message, "write domain:action, as in booking:room");
    }
    endpoint.optional("deprecated", Kind::Object).iter().for_each(deprecated);
    for (key, member) in endpoint.members().filter(|(key, _)| !FIELDS.contains(key)) {
        let help = "an endpoint shows the draft's fields and nothing internal";
        member.fault(&rules::MANIFEST_UNKNOWN, format!("\"{key}\" is no field of an endpoint"), help);
    }
    Some((method?, template?))
}

/// Draft: Required Semantic Block Fields.
fn semantic(block: &At<'_>) {
    let block = block.clone().under(&rules::MANIFEST_SEMANTIC);
    for key in ["intent", "actor", "outcome"] {
        block.require(key, Kind::Filled);
    }
    if let Some(capability) = block.require("capability", Kind::Text) {
        capability.one_of(&rules::SEMANTIC_CAPABILITY, &CATEGORIES);
    }
    if let Some(confidence) = block.require("confidence", Kind::Number)
        && !confidence.value.as_f64().is_some_and(|number| (0.0..=1.0).contains(&number))
    {
        let message = format!("confidence is {}", confidence.value);
        confidence.fault(&rules::SEMANTIC_CONFIDENCE, message, "it lies between 0.0 and 1.0");
    }
    if let Some(impact) = block.require("impact", Kind::Text) {
        impact.one_of(&rules::SEMANTIC_IMPACT, &["informational", "reversible", "irreversible"]);
    }
    block.require("is_idempotent", Kind::Flag);
}

fn schemas(endpoint: &At<'_>, template: Option<&Template>, judge: &Judge<'_>) {
    let input = endpoint.require("input_schema", Kind::Object);
    let output = endpoint.require("output_schema", Kind::Object);
    for schema in input.iter().chain(&output) {
        for (pointer, finding) in judge.schemas.check(schema.value) {
            schema.fault_at(&pointer, finding.rule, finding.message, finding.help);
        }
    }
    let Some(input) = input else { return };
    for (pointer, finding) in schema::lax(input.value) {
        input.fault_at(&pointer, finding.rule, finding.message, finding.help);
    }
    let declared = |name: &str| input.value.pointer("/properties").is_some_and(|all| all.get(name).is_some());
    let segments = template.iter().flat_map(|template| &template.segments);
    for segment in segments {
        if let TemplateSegment::Param(name) = segment
            && !declared(name)
        {
            let message = format!("path parameter {{{name}}} is no input property");
            input.fault(&rules::PATH_UNDECLARED_PARAMETER, message, "declare it under properties");
        }
    }
}

/// Draft: Endpoint Projection: the type of a handler and nothing else of it.
fn handler_type<'m>(handler: &At<'m>) -> Option<&'m str> {
    for (key, member) in handler.members().filter(|(key, _)| *key != "type") {
        let message = format!("\"{key}\" of a handler is shown");
        member.fault(&rules::MANIFEST_PROJECTION, message, "show nothing of a handler but its type");
    }
    let kind = handler.require("type", Kind::Text)?;
    kind.one_of(&rules::HANDLER_TYPE, &["registered_function", "composition", "external_service"]);
    Some(kind.text())
}

/// Draft: Field Semantics, Handler Binding.
fn errors(endpoint: &At<'_>, handler: Option<&str>) {
    let Some(errors) = endpoint.require("errors", Kind::List) else { return };
    let names = errors.texts();
    for name in names.iter().filter(|name| name.text().is_empty()) {
        name.fault(&rules::ERROR_NAME, "an error has no name", "name it, as in room_unavailable");
    }
    let required = match handler {
        Some("composition") => &["composition_failed"][..],
        Some("external_service") => &UPSTREAM_ERRORS[..],
        _ => &[],
    };
    for missing in required.iter().filter(|code| names.iter().all(|name| name.text() != **code)) {
        let message = format!("the handler's kind requires the error \"{missing}\"");
        errors.fault(&rules::ERROR_REQUIRED, message, "add it to errors");
    }
}

/// Draft: Endpoint Deprecation.
fn deprecated(block: &At<'_>) {
    block.require("deprecated_in", Kind::Filled);
    block.optional("removed_in", Kind::Filled);
    let Some(successor) = block.optional("successor", Kind::Object) else { return };
    let named = ["method", "path"].map(|key| successor.optional(key, Kind::Filled));
    let absent = |key: &str| successor.value.get(key).is_none_or(Value::is_null);
    if named.iter().all(Option::is_none) && absent("method") && absent("path") {
        let message = "the successor names neither method nor path";
        successor.fault(&rules::SUCCESSOR_EMPTY, message, "name one of them, or leave the successor out");
    }
}
