//! A manifest as an OpenAPI 3.1 document (draft: OpenAPI as an Export Target).
//!
//! Paths and schemas stay what they are. A verb becomes the HTTP method of its alias or legacy verb, else that of its
//! category: reading is GET as long as the input fits a query, modification is PATCH, everything else POST. What HTTP has
//! no place for stands under `x-agtp`, from where an import takes it back.

mod inputs;
mod places;
mod refs;

use super::document::{elements, members, text};
use super::operation::EXTENSION;
use crate::catalog::Catalog;
use crate::compiler::RESERVED_ROOTS;
use inputs::{Shape, shape};
use places::{Place, Places};
use refs::Components;
use serde_json::{Map, Value, json};

/// How to export.
#[derive(Clone, Copy, Debug, Default)]
pub struct ExportOptions<'o> {
    /// Where the manifest was fetched; without it, where the server says it is.
    pub manifest_url: Option<&'o str>,
}

/// Renders a manifest's operator endpoints. The protocol's own have no HTTP face. The error is one line.
pub fn export(manifest: &Value, options: &ExportOptions<'_>) -> Result<Value, String> {
    let endpoints = manifest.get("endpoints").and_then(Value::as_array);
    let endpoints = endpoints.ok_or("it has no \"endpoints\" array, so it is no manifest")?;
    let server = members(manifest.get("server"));
    let host = text(server, "domain").or_else(|| text(server, "server_id")).unwrap_or("localhost");
    let manifest_url = options.manifest_url.map_or_else(|| format!("agtp://{host}/"), str::to_owned);
    let mut paths: Map<String, Value> = Map::new();
    let (mut components, mut places) = (Components::default(), Places::new(aliases(manifest)));
    let embedded = elements(manifest.get("embedded_methods"));
    for endpoint in endpoints.iter().map(|endpoint| members(Some(endpoint))) {
        let (Some(method), Some(path)) = (text(endpoint, "method"), text(endpoint, "path")) else {
            return Err("an endpoint of the manifest has no method or no path".to_owned());
        };
        if is_builtin(method, path, embedded) {
            continue;
        }
        let (place, operation) = operation(endpoint, method, path, &mut places, &mut components);
        let item = paths.entry(place.path).or_insert_with(|| json!({}));
        if let Some(item) = item.as_object_mut() {
            item.insert(place.http.to_ascii_lowercase(), operation);
        }
    }
    let mut document = json!({
        "openapi": "3.1.0",
        "info": info(manifest, server, host, &manifest_url),
        "servers": [{"url": format!("https://{host}")}],
        "paths": paths,
    });
    components.finish(&mut document);
    Ok(document)
}

/// The operator's HTTP verbs: verb of the catalog to HTTP method.
fn aliases(manifest: &Value) -> Vec<(String, String)> {
    let aliases = members(manifest.pointer("/policies/methods/aliases"));
    let of = |(http, verb): (&String, &Value)| Some((verb.as_str()?.to_owned(), http.clone()));
    let http = |(_, http): &(String, String)| crate::catalog::LEGACY.contains(&http.as_str());
    let operators = aliases.iter().filter_map(of).filter(http);
    let legacy = Catalog::builtin().legacy.into_iter().map(|legacy| (legacy.preferred, legacy.name));
    operators.chain(legacy).collect()
}

fn is_builtin(method: &str, path: &str, embedded: &[Value]) -> bool {
    let root = path == "/" && embedded.iter().any(|known| known == method);
    root || method == "DISCOVER" && path.strip_prefix('/').is_some_and(|root| RESERVED_ROOTS.contains(&root))
}

fn info(manifest: &Value, server: &Map<String, Value>, host: &str, manifest_url: &str) -> Value {
    let title = text(server, "operator").unwrap_or(host);
    let catalog = manifest.get("catalog_version").and_then(Value::as_str).unwrap_or("1.0.0");
    let description = format!(
        "Derived from the AGTP-METHODS manifest at {manifest_url} (catalog {catalog}), which is the authoritative \
         description of this service."
    );
    let mut info = json!({
        "title": title,
        "version": manifest.get("document_version").and_then(Value::as_str).unwrap_or("1"),
        "description": description,
        "x-agtp-derived": true,
        "x-agtp-manifest": manifest_url,
    });
    if let Some(contact) = text(server, "contact") {
        let key = if contact.contains('@') { "email" } else { "name" };
        info["contact"] = json!({key: contact});
    }
    info
}

fn operation(
    endpoint: &Map<String, Value>,
    method: &str,
    path: &str,
    places: &mut Places,
    components: &mut Components,
) -> (Place, Value) {
    let null = Value::Null;
    let schema = |key: &str| endpoint.get(key).unwrap_or(&null);
    let input = components.adopt(&format!("{method}{path}.input"), schema("input_schema"));
    let output = components.adopt(&format!("{method}{path}.output"), schema("output_schema"));
    let (place, renamed) = places.find(method, path, inputs::fits_query(&input, path));
    let Shape { parameters, body, annotations } = shape(&input, path, &place, &renamed);
    let mut operation = Map::new();
    operation.insert("operationId".to_owned(), operation_id(method, path).into());
    let semantic = members(endpoint.get("semantic"));
    for (key, value) in
        [("summary", text(semantic, "intent")), ("description", text(endpoint, "description"))]
    {
        operation.extend(value.map(|value| (key.to_owned(), value.into())));
    }
    operation.extend(text(endpoint, "namespace").map(|tag| ("tags".to_owned(), json!([tag]))));
    if endpoint.get("deprecated").is_some_and(|deprecated| !deprecated.is_null()) {
        operation.insert("deprecated".to_owned(), true.into());
    }
    if !parameters.is_empty() {
        operation.insert("parameters".to_owned(), parameters.into());
    }
    operation.extend(body.map(|body| ("requestBody".to_owned(), body)));
    operation.insert("responses".to_owned(), responses(endpoint, semantic, output));
    let mut extension = extension(endpoint, &renamed);
    if !annotations.is_empty() {
        extension.insert("input".to_owned(), annotations.into());
    }
    operation.insert(EXTENSION.to_owned(), extension.into());
    (place, operation.into())
}

fn operation_id(method: &str, path: &str) -> String {
    let mut id = method.to_ascii_lowercase();
    for part in path.split(['/', '{', '}']).filter(|part| !part.is_empty()) {
        id.push('_');
        id.extend(part.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '_' }));
    }
    id
}

/// What HTTP has no place for.
fn extension(endpoint: &Map<String, Value>, renamed: &[(String, String)]) -> Map<String, Value> {
    let keys = ["method", "path", "namespace", "semantic", "errors", "required_scopes", "deprecated"];
    let kept = keys.iter().filter_map(|key| Some(((*key).to_owned(), endpoint.get(*key)?.clone())));
    let mut extension: Map<String, Value> = kept.filter(|(_, value)| !value.is_null()).collect();
    if !renamed.is_empty() {
        let renamed: Map<_, _> =
            renamed.iter().map(|(here, ours)| (here.clone(), ours.as_str().into())).collect();
        extension.insert("parameters".to_owned(), renamed.into());
    }
    extension
}

fn responses(endpoint: &Map<String, Value>, semantic: &Map<String, Value>, output: Value) -> Value {
    let outcome = text(semantic, "outcome").unwrap_or("The answer.");
    let error = |code: Value| {
        json!({"application/json": {"schema": {
            "type": "object",
            "required": ["error"],
            "properties": {"error": {
                "type": "object",
                "required": ["code", "message"],
                "properties": {"code": code, "message": {"type": "string"}},
            }},
        }}})
    };
    let mut responses = json!({
        "200": {"description": outcome, "content": {"application/json": {"schema": output}}},
        "default": {"description": "A refusal of the protocol.", "content": error(json!({"type": "string"}))},
    });
    let errors: Vec<_> = elements(endpoint.get("errors")).iter().filter_map(Value::as_str).collect();
    if !errors.is_empty() {
        let code = json!({"type": "string", "enum": errors});
        let description = format!("One of the endpoint's errors: {}.", errors.join(", "));
        responses["422"] = json!({"description": description, "content": error(code)});
    }
    responses
}
