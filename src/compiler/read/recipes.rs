//! `agtp-recipes.toml` (facts page 4).

use super::document::{Block, DECLARATION, Document, Entry, Faults};
use crate::catalog::is_method_name;
use crate::compiler::check::path;
use crate::compiler::check::vocabulary::Vocabulary;
use crate::compiler::ir::{RecipeDecl, StepDecl, Template};
use crate::compiler::rules;
use serde_json::json;
use std::collections::HashMap;

/// The recipes of a file. Faulty ones are kept as far as they go, so that endpoints that name them are not blamed too.
pub(super) fn read(file: &str, text: &str, vocabulary: &Vocabulary<'_>, faults: &Faults) -> Vec<RecipeDecl> {
    let document = Document::new(file, text, &DECLARATION, faults);
    let Some(table) = document.parse(&rules::TOML_SYNTAX) else { return Vec::new() };
    let root = document.root(&table);
    root.only(&["recipe"]);
    let mut lines = HashMap::new();
    let blocks = root.get("recipe").map(|entry| entry.tables()).unwrap_or_default();
    let read = |block: &Block<'_>| {
        let errors_before = faults.errors();
        let mut recipe = recipe(block, vocabulary, &mut lines)?;
        recipe.sound = faults.errors() == errors_before;
        Some(recipe)
    };
    blocks.iter().filter_map(read).collect()
}

fn recipe(
    block: &Block<'_>,
    vocabulary: &Vocabulary<'_>,
    lines: &mut HashMap<String, u32>,
) -> Option<RecipeDecl> {
    block.only(&["name", "version", "description", "pattern", "steps", "aggregation"]);
    let name = block.require("name").and_then(|entry| recipe_name(&entry, lines));
    let text = |key| block.get(key).and_then(|entry: Entry<'_>| entry.text());
    let (version, description) = (text("version"), text("description"));
    if let Some(pattern) = block.get("pattern").and_then(|entry| entry.table()) {
        check_pattern(&pattern, vocabulary);
    }
    let steps = block.require("steps").map(|entry| entry.tables()).unwrap_or_default();
    if steps.is_empty() && block.get("steps").is_some() {
        block.fault(&rules::RECIPE_EMPTY, "the recipe has no steps", "add [[recipe.steps]]");
    }
    let steps = steps.iter().filter_map(|step| self::step(step, vocabulary)).collect();
    if let Some(aggregation) = block.get("aggregation").and_then(|entry| entry.table()) {
        aggregation.only(&["mode"]);
        aggregation
            .require("mode")
            .map(|mode| mode.one_of(&["last", "merge", "list"], &rules::RECIPE_CHOICE));
    }
    Some(RecipeDecl {
        source: block.source(),
        name: name?,
        version: version.unwrap_or("1").to_owned(),
        description: description.map(str::to_owned),
        steps,
        sound: true,
    })
}

fn recipe_name(entry: &Entry<'_>, lines: &mut HashMap<String, u32>) -> Option<String> {
    let name = entry.text()?;
    if let Some(first) = lines.insert(name.to_owned(), entry.source().line) {
        let message = format!("recipe \"{name}\" is declared twice");
        entry.fault(&rules::RECIPE_DUPLICATE, message, format!("it stands on line {first} already"));
    }
    Some(name.to_owned())
}

fn check_pattern(block: &Block<'_>, vocabulary: &Vocabulary<'_>) {
    block.only(&["name_exact", "path_exact", "path_regex", "has_parameters"]);
    if let Some(entry) = block.get("name_exact")
        && let Some(name) = entry.text()
        && !is_method_name(name)
    {
        let message = format!("name_exact \"{name}\" is no method name");
        entry.fault(&rules::METHOD_FORM, message, vocabulary.did_you_mean(name));
    }
    if let Some(entry) = block.get("path_exact") {
        parse_path(&entry);
        if block.get("path_regex").is_some() {
            let message = "both path_exact and path_regex are declared";
            entry.fault(&rules::DECLARED_TWICE, message, "keep one of them");
        }
    }
    if let Some(entry) = block.get("path_regex")
        && let Some(pattern) = entry.text()
        && jsonschema::draft202012::new(&json!({"pattern": pattern})).is_err()
    {
        let message = format!("path_regex \"{pattern}\" is no regular expression");
        entry.fault(&rules::RECIPE_PATTERN, message, "correct the pattern");
    }
    if let Some(entry) = block.get("has_parameters")
        && !entry.is_boolean()
    {
        entry.strings();
    }
}

fn parse_path(entry: &Entry<'_>) -> Option<Template> {
    let (template, findings) = path::parse(entry.string()?);
    for finding in findings {
        entry.fault(finding.rule, finding.message, finding.help);
    }
    template
}

fn step(block: &Block<'_>, vocabulary: &Vocabulary<'_>) -> Option<StepDecl> {
    block.only(&["method", "path", "capture_as", "parameters"]);
    let method = block.require("method").and_then(|entry| {
        let name = entry.text()?;
        if let Some(dropped) = vocabulary.dropped(name) {
            let help = format!(
                "take the step with a verb of this catalog, or list {name} in policies.methods.custom"
            );
            entry.fault(&rules::METHOD_NOT_IN_CATALOG, format!("the recipe is left out: {dropped}"), help);
        } else if !vocabulary.is_method(name) {
            let message = format!("the step's method {name} is unknown");
            entry.fault(&rules::METHOD_UNKNOWN, message, vocabulary.did_you_mean(name));
        }
        Some(name.to_owned())
    });
    let path_entry = block.get("path");
    let path = match &path_entry {
        Some(entry) => parse_path(entry),
        None => path::parse("/").0,
    };
    block.get("capture_as").map(|entry| entry.text());
    let parameters = block.get("parameters").and_then(|entry| entry.table());
    let parameters = parameters.map(|table| table.entries()).unwrap_or_default();
    parameters.iter().for_each(check_parameter);
    if let (Some(entry), Some(path)) = (&path_entry, &path) {
        for name in path::parameters(path).filter(|name| !parameters.iter().any(|known| known.key == *name)) {
            let message = format!("nothing fills {{{name}}}");
            let help = format!("add [recipe.steps.parameters.{name}]");
            entry.fault(&rules::STEP_PARAMETER, message, help);
        }
    }
    Some(StepDecl { source: block.source(), method: method?, path: path? })
}

fn check_parameter(entry: &Entry<'_>) {
    let Some(block) = entry.table() else { return };
    block.only(&["kind", "value"]);
    let kinds = ["proposal", "constant", "previous_step"];
    let kind = block.require("kind").and_then(|kind| kind.one_of(&kinds, &rules::RECIPE_CHOICE));
    let value = block.require("value");
    if let (Some("proposal" | "previous_step"), Some(value)) = (kind, value) {
        value.text();
    }
}
