//! Endpoint rows and the tables that hang on them.

use super::builtins::Entry;
use super::floor;
use super::methods::{Names, warning_line};
use super::schemas::{constrains_objects, converted_properties, property_scalar};
use super::text::{Interner, index};
use crate::compiler::ir::{Deprecation, EndpointDecl, ExternalDecl, HandlerDecl, TemplateSegment};
use crate::registry::{
    Binding, Builtin, Endpoint, External, MethodId, Pair, Param, Property, Rows, SchemaId, Text,
};
use serde_json::Value;
use std::collections::HashMap;

/// The tables that hang on endpoints.
#[derive(Default)]
pub(super) struct EndpointTables {
    pub(super) endpoints: Vec<Endpoint>,
    pub(super) params: Vec<Param>,
    pub(super) properties: Vec<Property>,
    pub(super) scopes: Vec<Text>,
    pub(super) errors: Vec<Text>,
    pub(super) schemas: Vec<Text>,
    pub(super) functions: Vec<FunctionUse>,
    /// Names of the recipes in use, in binding order.
    pub(super) recipes: Vec<String>,
    pub(super) externals: Vec<External>,
    pub(super) pairs: Vec<Pair>,
    /// By where the schema's text starts.
    schema_ids: HashMap<u32, SchemaId>,
    function_rows: HashMap<String, u32>,
}

/// A registered function and the declaration that names it first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionUse {
    /// `rooms::book_room`.
    pub name: String,
    /// `endpoints/book-room.toml`.
    pub file: String,
}

impl EndpointTables {
    /// Appends the rows of one endpoint.
    pub(super) fn push(&mut self, entry: &Entry<'_>, names: &Names<'_>, text: &mut Interner) {
        let decl = &*entry.decl;
        let floor = entry.builtin.and(floor::find(&decl.method));
        let endpoint = Endpoint {
            // The declaration was checked, so its method has a row.
            method: names.id(&decl.method).unwrap_or(MethodId(0)),
            path: text.add(&decl.path.text),
            binding: entry.builtin.map_or_else(|| self.binding(decl, text), Binding::Builtin),
            params: self.path_params(decl, text),
            properties: self.converted(decl, text),
            input: self.schema(&decl.input_schema, text),
            output: self.schema(&decl.output_schema, text),
            output_constrained: constrains_objects(&decl.output_schema),
            required_scopes: text.add_rows(&mut self.scopes, decl.required_scopes.iter().map(String::as_str)),
            errors: text.add_rows(&mut self.errors, decl.errors.iter().map(String::as_str)),
            needs_scope_header: floor.is_none_or(floor::FloorMethod::changes_state),
            anonymous: entry.builtin.is_some_and(Builtin::is_discovery),
            changes_state: floor
                .map_or(decl.semantic.impact != "informational", |floor| floor.changes_state()),
            timeout_ms: patience_ms(decl),
            endpoint_warning: text.add(&decl.deprecated.as_ref().map(endpoint_warning).unwrap_or_default()),
            source: text.add(&decl.source.file),
        };
        self.endpoints.push(endpoint);
    }

    fn binding(&mut self, decl: &EndpointDecl, text: &mut Interner) -> Binding {
        match &decl.handler {
            HandlerDecl::Function(name) => Binding::Function(self.function(name, &decl.source.file)),
            HandlerDecl::Composition(recipe) => {
                let known = self.recipes.iter().position(|known| known == recipe);
                let row = known.unwrap_or_else(|| {
                    self.recipes.push(recipe.clone());
                    self.recipes.len() - 1
                });
                Binding::Composition(index(row))
            }
            HandlerDecl::External(external) => {
                let row = self.external(external, decl.timeout_ms, text);
                self.externals.push(row);
                Binding::External(index(self.externals.len() - 1))
            }
        }
    }

    fn external(&mut self, decl: &ExternalDecl, timeout_ms: u32, text: &mut Interner) -> External {
        External {
            url: text.add(&decl.url),
            method: text.add(&decl.method),
            headers: self.pairs(&decl.headers, text),
            input_transform: self.pairs(&decl.input_transform, text),
            input_place: self.pairs(&decl.input_place, text),
            output_transform: self.pairs(&decl.output_transform, text),
            output_body: text.add(decl.output_body.as_deref().unwrap_or_default()),
            error_map: self.pairs(&decl.error_map, text),
            timeout_ms,
            deferred: decl.deferred,
        }
    }

    fn pairs(&mut self, pairs: &[(String, String)], text: &mut Interner) -> Rows {
        let start = index(self.pairs.len());
        self.pairs
            .extend(pairs.iter().map(|(key, value)| Pair { key: text.add(key), value: text.add(value) }));
        Rows { start, end: index(self.pairs.len()) }
    }

    fn function(&mut self, name: &str, file: &str) -> u32 {
        if let Some(&row) = self.function_rows.get(name) {
            return row;
        }
        let row = index(self.functions.len());
        self.functions.push(FunctionUse { name: name.to_owned(), file: file.to_owned() });
        self.function_rows.insert(name.to_owned(), row);
        row
    }

    fn path_params(&mut self, decl: &EndpointDecl, text: &mut Interner) -> Rows {
        let start = index(self.params.len());
        for (segment, part) in decl.path.segments.iter().enumerate() {
            if let TemplateSegment::Param(name) = part {
                let scalar = property_scalar(&decl.input_schema, name);
                self.params.push(Param { name: text.add(name), segment: segment as u16, scalar });
            }
        }
        Rows { start, end: index(self.params.len()) }
    }

    fn converted(&mut self, decl: &EndpointDecl, text: &mut Interner) -> Rows {
        let start = index(self.properties.len());
        let properties = converted_properties(&decl.input_schema).into_iter();
        self.properties.extend(properties.map(|(name, scalar)| Property { name: text.add(name), scalar }));
        Rows { start, end: index(self.properties.len()) }
    }

    fn schema(&mut self, schema: &Value, text: &mut Interner) -> SchemaId {
        let compact = text.add(&schema.to_string());
        *self.schema_ids.entry(compact.start).or_insert_with(|| {
            self.schemas.push(compact);
            SchemaId(index(self.schemas.len() - 1))
        })
    }
}

/// How long an answer is waited for. An upstream has its own time, and the transport a second more to say that it is
/// over.
fn patience_ms(decl: &EndpointDecl) -> u32 {
    match decl.handler {
        HandlerDecl::External(_) => decl.timeout_ms.saturating_add(1000),
        _ => decl.timeout_ms,
    }
}

/// The `AGTP-Endpoint-Warning` line (draft: Endpoint Deprecation; facts page 2).
fn endpoint_warning(deprecation: &Deprecation) -> String {
    let successor = [deprecation.successor_method.as_deref(), deprecation.successor_path.as_deref()];
    let successor = successor.into_iter().flatten().collect::<Vec<_>>().join(" ");
    let successor = Some(successor.as_str()).filter(|successor| !successor.is_empty());
    warning_line("AGTP-Endpoint-Warning", successor, deprecation.removed_in.as_deref())
}
