//! `agtp-recipes.toml` (facts page 4).

use super::document::{Block, DECLARATION, Document, Entry, Faults};
use crate::catalog::is_method_name;
use crate::compiler::check::path;
use crate::compiler::check::vocabulary::Vocabulary;
use crate::compiler::ir::{ParameterDecl, ParameterValue, RecipeDecl, StepDecl, Template};
use crate::compiler::{rules, suggest};
use crate::registry::Aggregation;
use serde_json::json;
use std::collections::{BTreeMap, HashMap};

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
    let pattern = block.get("pattern").and_then(|entry| entry.table());
    if let Some(pattern) = &pattern {
        check_pattern(pattern, vocabulary);
    }
    let blocks = block.require("steps").map(|entry| entry.tables()).unwrap_or_default();
    if blocks.is_empty() && block.get("steps").is_some() {
        block.fault(&rules::RECIPE_EMPTY, "the recipe has no steps", "add [[recipe.steps]]");
    }
    let mut captures = Captures::default();
    let steps =
        blocks.iter().enumerate().filter_map(|(row, block)| step(row, block, vocabulary, &mut captures));
    Some(RecipeDecl {
        source: block.source(),
        steps: steps.collect(),
        aggregation: aggregation(block),
        name: name?,
        version: version.unwrap_or("1").to_owned(),
        description: description.map(str::to_owned),
        pattern: pattern.map(|pattern| pattern.to_json()),
        sound: true,
    })
}

/// Without a say, a recipe answers with its last result.
fn aggregation(block: &Block<'_>) -> Aggregation {
    let Some(table) = block.get("aggregation").and_then(|entry| entry.table()) else {
        return Aggregation::Last;
    };
    table.only(&["mode"]);
    let mode = table.require("mode");
    match mode.and_then(|mode| mode.one_of(&["last", "merge", "list"], &rules::RECIPE_CHOICE)) {
        Some("merge") => Aggregation::Merge,
        Some("list") => Aggregation::List,
        _ => Aggregation::Last,
    }
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

/// The results that later steps may use: their names, and which step they are of, counted from 0.
type Captures = BTreeMap<String, usize>;

fn step(
    row: usize,
    block: &Block<'_>,
    vocabulary: &Vocabulary<'_>,
    captures: &mut Captures,
) -> Option<StepDecl> {
    block.only(&["method", "path", "capture_as", "parameters"]);
    let method = block.require("method").and_then(|entry| method(&entry, vocabulary));
    let path_entry = block.get("path");
    let path = match &path_entry {
        Some(entry) => parse_path(entry),
        None => path::parse("/").0,
    };
    let entries = block.get("parameters").and_then(|entry| entry.table()).map(|table| table.entries());
    let entries = entries.unwrap_or_default();
    let parameters = entries.iter().filter_map(|entry| parameter(entry, captures)).collect();
    if let (Some(entry), Some(path)) = (&path_entry, &path) {
        for name in path::parameters(path).filter(|name| !entries.iter().any(|known| known.key == *name)) {
            let message = format!("nothing fills {{{name}}}");
            let help = format!("add [recipe.steps.parameters.{name}]");
            entry.fault(&rules::STEP_PARAMETER, message, help);
        }
    }
    // Its own parameters were read before: a step cannot use its own result.
    let capture_as = block.get("capture_as").and_then(|entry| capture(row, &entry, captures));
    Some(StepDecl { source: block.source(), method: method?, path: path?, capture_as, parameters })
}

fn method(entry: &Entry<'_>, vocabulary: &Vocabulary<'_>) -> Option<String> {
    let name = entry.text()?;
    if let Some(dropped) = vocabulary.dropped(name) {
        let help =
            format!("take the step with a verb of this catalog, or list {name} in policies.methods.custom");
        entry.fault(&rules::METHOD_NOT_IN_CATALOG, format!("the recipe is left out: {dropped}"), help);
    } else if !vocabulary.is_method(name) {
        let message = format!("the step's method {name} is unknown");
        entry.fault(&rules::METHOD_UNKNOWN, message, vocabulary.did_you_mean(name));
    }
    Some(name.to_owned())
}

fn capture(row: usize, entry: &Entry<'_>, captures: &mut Captures) -> Option<String> {
    let name = entry.text()?;
    if name.contains(['.', '/']) {
        let message = format!("capture_as \"{name}\" holds \".\" or \"/\"");
        entry.fault(&rules::CAPTURE_NAME, message, "those begin the address of a part of a result");
        return None;
    }
    if let Some(first) = captures.insert(name.to_owned(), row) {
        let message = format!("the results of two steps are captured as \"{name}\"");
        let help = format!("step {} does already; take another name", first + 1);
        entry.fault(&rules::CAPTURE_DUPLICATE, message, help);
    }
    Some(name.to_owned())
}

fn parameter(entry: &Entry<'_>, captures: &Captures) -> Option<ParameterDecl> {
    let block = entry.table()?;
    block.only(&["kind", "value"]);
    let kinds = ["proposal", "constant", "previous_step"];
    let kind = block.require("kind").and_then(|kind| kind.one_of(&kinds, &rules::RECIPE_CHOICE));
    let value = block.require("value")?;
    let value = match kind? {
        "constant" => ParameterValue::Constant(value.to_json()?.to_value()),
        "proposal" => ParameterValue::Proposal(value.text()?.to_owned()),
        _ => previous(&value, captures)?,
    };
    Some(ParameterDecl { source: entry.source(), name: entry.key.to_owned(), value })
}

/// An earlier result, or a part of it: `facts`, `facts.items`, or `facts/items/0` with a JSON Pointer behind the name.
fn previous(entry: &Entry<'_>, captures: &Captures) -> Option<ParameterValue> {
    let address = entry.text()?;
    let end = address.find(['.', '/']).unwrap_or(address.len());
    let (name, part) = address.split_at(end);
    let Some(&step) = captures.get(name) else {
        let message = format!("no earlier step captures its result as \"{name}\"");
        let names: Vec<_> = captures.keys().map(String::as_str).collect();
        let help = match names.as_slice() {
            [] => format!("write capture_as = \"{name}\" in the step it is the result of"),
            _ => suggest::did_you_mean(name, &names),
        };
        entry.fault(&rules::CAPTURE_UNKNOWN, message, help);
        return None;
    };
    let pointer = match part.strip_prefix('.') {
        Some(members) => members
            .split('.')
            .map(|member| format!("/{}", member.replace('~', "~0").replace('/', "~1")))
            .collect(),
        None => part.to_owned(),
    };
    Some(ParameterValue::Previous { step, pointer })
}
