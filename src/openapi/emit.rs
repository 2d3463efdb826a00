//! Endpoints and settings as TOML that a person reads, reviews and keeps.

use super::endpoint::Endpoint;
use serde_json::{Map, Value as Json};
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, Value};

/// The file of an endpoint.
pub(super) fn endpoint(endpoint: &Endpoint) -> String {
    let mut block = Table::new();
    put(&mut block, "method", endpoint.choice.verb.as_str());
    put(&mut block, "path", endpoint.path.as_str());
    put(&mut block, "description", endpoint.description.as_str());
    if let Some(namespace) = &endpoint.namespace {
        put(&mut block, "namespace", namespace.as_str());
    }
    if !endpoint.required_scopes.is_empty() {
        put(&mut block, "required_scopes", Value::Array(endpoint.required_scopes.iter().collect()));
    }
    put(&mut block, "errors", list(&endpoint.errors));
    put(&mut block, "input_schema", json(&endpoint.input_schema));
    put(&mut block, "output_schema", json(&endpoint.output_schema));
    block.insert("semantic", Item::Table(semantic(endpoint)));
    if let Some(deprecated) = &endpoint.deprecated {
        block.insert("deprecated", Item::Table(table(deprecated)));
    }
    block.insert("handler", Item::Table(handler(endpoint)));
    for (about, message) in &endpoint.reviews {
        remark(&mut block, about, message);
    }
    let mut document = DocumentMut::new();
    document.insert("endpoint", Item::Table(block));
    format!("# Made by agtp import-openapi from {}.\n{document}", one_line(&endpoint.operation))
}

fn put(table: &mut Table, key: &str, value: impl Into<Value>) {
    table.insert(key, Item::Value(value.into()));
}

/// A schema as a text of JSON, indented.
fn json(schema: &Map<String, Json>) -> String {
    // A map of values never fails to be written.
    let text = serde_json::to_string_pretty(schema).unwrap_or_default();
    format!("{text}\n")
}

/// One name on each line.
fn list(names: &[String]) -> Value {
    let mut array: Array = names.iter().collect();
    for value in array.iter_mut() {
        value.decor_mut().set_prefix("\n    ");
    }
    array.set_trailing("\n");
    array.set_trailing_comma(true);
    Value::Array(array)
}

fn semantic(endpoint: &Endpoint) -> Table {
    let semantic = &endpoint.semantic;
    let mut table = Table::new();
    for (key, text) in [
        ("intent", &semantic.intent),
        ("actor", &semantic.actor),
        ("outcome", &semantic.outcome),
        ("capability", &semantic.capability),
    ] {
        put(&mut table, key, text.as_str());
    }
    put(&mut table, "confidence", semantic.confidence);
    put(&mut table, "impact", semantic.impact.as_str());
    put(&mut table, "is_idempotent", semantic.is_idempotent);
    table
}

/// A table of texts and tables of texts.
fn table(members: &Map<String, Json>) -> Table {
    let mut table = Table::new();
    for (key, value) in members {
        match value {
            Json::String(text) => put(&mut table, key, text.as_str()),
            Json::Object(inner) => {
                let texts = inner.iter().filter_map(|(key, value)| Some((key.as_str(), value.as_str()?)));
                put(&mut table, key, Value::InlineTable(texts.collect()));
            }
            _ => {}
        }
    }
    table
}

fn handler(endpoint: &Endpoint) -> Table {
    let mut table = Table::new();
    put(&mut table, "type", "external_service");
    put(&mut table, "url", endpoint.url.as_str());
    put(&mut table, "method", endpoint.http);
    let pairs = [
        ("headers", &endpoint.headers),
        ("input_transform", &endpoint.input.transform),
        ("input_place", &endpoint.input.place),
    ];
    for (key, pairs) in pairs.into_iter().filter(|(_, pairs)| !pairs.is_empty()) {
        put(&mut table, key, inline(pairs));
    }
    if let Some(whole) = &endpoint.output.whole {
        put(&mut table, "output_body", whole.as_str());
    }
    if !endpoint.output.error_map.is_empty() {
        put(&mut table, "error_map", inline(&endpoint.output.error_map));
    }
    put(&mut table, "timeout_seconds", 30);
    table
}

fn inline(pairs: &[(String, String)]) -> InlineTable {
    pairs.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect()
}

/// Puts a remark above the key that it is about, or above the whole.
fn remark(block: &mut Table, about: &str, message: &str) {
    let line = format!("# REVIEW: {}\n", one_line(message));
    let decor = match about {
        "semantic" | "deprecated" => block.get_mut(about).and_then(Item::as_table_mut).map(Table::decor_mut),
        "url" | "headers" => {
            let handler = block.get_mut("handler").and_then(Item::as_table_mut);
            // Without credentials there are no headers to stand above.
            let key = |table: &Table| {
                if table.contains_key(about) { about.to_owned() } else { "method".to_owned() }
            };
            return handler.into_iter().for_each(|table| {
                let key = key(table);
                prefix_key(table, &key, &line);
            });
        }
        about => return prefix_key(block, about, &line),
    };
    if let Some(decor) = decor {
        let before = decor.prefix().and_then(|prefix| prefix.as_str()).unwrap_or("\n").to_owned();
        decor.set_prefix(format!("{before}{line}"));
    }
}

fn prefix_key(table: &mut Table, key: &str, line: &str) {
    if let Some(mut key) = table.key_mut(key) {
        let decor = key.leaf_decor_mut();
        let before = decor.prefix().and_then(|prefix| prefix.as_str()).unwrap_or_default().to_owned();
        decor.set_prefix(format!("{before}{line}"));
    }
}

/// Text as it may stand in a comment.
pub(super) fn one_line(text: &str) -> String {
    let clean: String = text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
    clean.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What the settings of an imported deployment say.
pub(super) struct Settings<'s> {
    pub(super) title: &'s str,
    pub(super) version: &'s str,
    pub(super) base: &'s str,
    pub(super) documentation: Option<&'s str>,
    pub(super) source: &'s str,
    pub(super) variables: &'s [String],
    pub(super) reviews: Vec<String>,
}

/// `agtp-server.toml`, which names the API that the endpoints stand for (draft: Wrap-and-Expose).
pub(super) fn settings(settings: &Settings<'_>) -> String {
    let mut server = Table::new();
    put(&mut server, "server_id", "localhost");
    put(&mut server, "operator", one_line(settings.title));
    let mut api = Table::new();
    put(&mut api, "name", one_line(settings.title));
    put(&mut api, "version", one_line(settings.version));
    put(&mut api, "base_url", settings.base);
    if let Some(url) = settings.documentation {
        put(&mut api, "http_documentation", url);
    }
    let mut document = DocumentMut::new();
    document.insert("server", Item::Table(server));
    document.insert("apis", Item::ArrayOfTables([api].into_iter().collect()));
    let mut head = format!("# Made by agtp import-openapi from {}.\n", one_line(settings.source));
    for review in &settings.reviews {
        head.push_str(&format!("# REVIEW: {}\n", one_line(review)));
    }
    if !settings.variables.is_empty() {
        head.push_str(
            "#\n# Set these before the server starts; an endpoint whose variable is not set is not served:\n",
        );
        settings.variables.iter().for_each(|variable| head.push_str(&format!("#   {variable}\n")));
    }
    format!("{head}\n{document}")
}
