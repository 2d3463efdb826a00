//! `[policies.methods]` (draft: Method Policy; D3, D5, D23).

use super::document::{Block, Entry};
use crate::catalog::{Catalog, LEGACY, is_method_name};
use crate::compiler::check::path;
use crate::compiler::check::vocabulary::Vocabulary;
use crate::compiler::ir::{MethodPolicy, RedirectDecl, Source};
use crate::compiler::{rules, suggest};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// `custom`, which everything else is checked against.
pub(super) fn custom(block: &Block<'_>, catalog: &Catalog) -> Vec<String> {
    let mut custom: Vec<String> = Vec::new();
    for (item, name) in strings(block, "custom") {
        if !has_method_form(&item, name) || custom.iter().any(|known| known == name) {
            continue;
        }
        if catalog.verb(name).is_some() || LEGACY.contains(&name) {
            let set = if LEGACY.contains(&name) { "a legacy verb" } else { "a verb of the catalog" };
            let message = format!("custom method {name} is {set}");
            item.fault(
                &rules::CUSTOM_COLLIDES,
                message,
                "leave it out, or give the method a name of its own",
            );
            continue;
        }
        custom.push(name.to_owned());
    }
    custom
}

/// The whole policy, and where each redirect's `from_path` stands.
pub(super) fn read(
    block: Option<&Block<'_>>,
    custom: &[String],
    vocabulary: &Vocabulary<'_>,
) -> (MethodPolicy, Vec<Source>) {
    let mut policy = MethodPolicy {
        custom: custom.to_vec(),
        aliases: seed(vocabulary.catalog),
        aliases_are_seed: true,
        ..MethodPolicy::default()
    };
    let Some(block) = block else { return (policy, Vec::new()) };
    block.only(&["allow", "disallow", "legacy", "custom", "aliases", "redirects"]);
    policy.allow = allow(block, vocabulary);
    policy.disallow = disallow(block, vocabulary);
    if let Some(entry) = block.get("legacy") {
        (policy.legacy, policy.legacy_as_written) = legacy(&entry);
    }
    if let Some(table) = block.get("aliases").and_then(|entry| entry.table()) {
        policy.aliases = aliases(&table, vocabulary);
        policy.aliases_are_seed = false;
    }
    let mut sources = Vec::new();
    for redirect in block.get("redirects").map(|entry| entry.tables()).unwrap_or_default() {
        if let Some(decl) = self::redirect(&redirect, vocabulary) {
            sources.push(redirect.get("from_path").map_or(redirect.source(), |entry| entry.source()));
            policy.redirects.push(decl);
        }
    }
    (policy, sources)
}

/// The legacy verbs to their preferred forms (draft: Policy Shape).
fn seed(catalog: &Catalog) -> Vec<(String, String)> {
    let pairs = catalog.legacy.iter().map(|legacy| (legacy.name.clone(), legacy.preferred.clone()));
    let mut seed: Vec<_> = pairs.collect();
    seed.sort();
    seed
}

fn strings<'d>(block: &Block<'d>, key: &str) -> Vec<(Entry<'d>, &'d str)> {
    block.get(key).map(|entry| entry.strings()).unwrap_or_default()
}

fn has_method_form(item: &Entry<'_>, name: &str) -> bool {
    let formed = is_method_name(name);
    if !formed {
        let message = format!("\"{name}\" is no method name");
        item.fault(
            &rules::POLICY_METHOD_FORM,
            message,
            "a method name is 3 to 32 letters A to Z, nothing else",
        );
    }
    formed
}

/// A method the policy may name; one that the catalog lacks is skipped with a warning.
fn known_method(item: &Entry<'_>, name: &str, vocabulary: &Vocabulary<'_>) -> Option<String> {
    if !has_method_form(item, name) {
        return None;
    }
    if !vocabulary.is_method(name) {
        let version = &vocabulary.catalog.version;
        let message = format!("{name} is neither in catalog {version} nor custom: the entry has no effect");
        let help = match vocabulary.dropped(name) {
            Some(dropped) => format!("{dropped}; remove the entry"),
            None => vocabulary.did_you_mean(name),
        };
        item.fault(&rules::POLICY_METHOD_SKIPPED, message, help);
        return None;
    }
    Some(name.to_owned())
}

fn allow(block: &Block<'_>, vocabulary: &Vocabulary<'_>) -> Option<Vec<String>> {
    let entry = block.get("allow")?;
    if entry.is_string() {
        entry.one_of(&["*"], &rules::SETTING_VALUE);
        return None;
    }
    let names = entry.strings().into_iter();
    Some(names.filter_map(|(item, name)| known_method(&item, name, vocabulary)).collect())
}

fn disallow(block: &Block<'_>, vocabulary: &Vocabulary<'_>) -> Vec<String> {
    let mut disallow = Vec::new();
    for (item, name) in strings(block, "disallow") {
        let Some(name) = known_method(&item, name, vocabulary) else { continue };
        if vocabulary.catalog.is_floor(&name) {
            let message =
                format!("{name} is a floor method, which every server serves: the entry has no effect");
            item.fault(&rules::FLOOR_DISALLOWED, message, "leave it out");
            continue;
        }
        disallow.push(name);
    }
    disallow
}

/// `"NONE"`, `"*"` or a list of the five; a typo is never skipped (draft: Catalog-Graceful Skip Semantics).
fn legacy(entry: &Entry<'_>) -> (Vec<String>, Option<Value>) {
    if entry.is_string() {
        let written = entry.one_of(&["NONE", "*"], &rules::LEGACY_UNKNOWN);
        let verbs = if written == Some("*") { LEGACY.map(str::to_owned).to_vec() } else { Vec::new() };
        return (verbs, written.map(Value::from));
    }
    let mut verbs = Vec::new();
    for (item, name) in entry.strings() {
        if LEGACY.contains(&name) {
            verbs.push(name.to_owned());
            continue;
        }
        let message = format!("\"{name}\" is no legacy verb");
        item.fault(&rules::LEGACY_UNKNOWN, message, suggest::did_you_mean(name, &LEGACY));
    }
    verbs.dedup();
    let written = json!(verbs);
    (verbs, Some(written))
}

/// Alias to method, in one hop.
fn aliases(table: &Block<'_>, vocabulary: &Vocabulary<'_>) -> Vec<(String, String)> {
    let entries = table.entries();
    let targets: BTreeMap<_, _> =
        entries.iter().filter_map(|entry| Some((entry.key, entry.string()?))).collect();
    for entry in &entries {
        if let Some(target) = targets.get(entry.key) {
            check_alias(entry, target, &targets, vocabulary);
        }
    }
    targets.into_iter().map(|(alias, target)| (alias.to_owned(), target.to_owned())).collect()
}

fn check_alias(entry: &Entry<'_>, target: &str, targets: &BTreeMap<&str, &str>, vocabulary: &Vocabulary<'_>) {
    let alias = entry.key;
    if !has_method_form(entry, alias) {
        return;
    }
    if targets.contains_key(target) {
        let (chain, circular) = chain(alias, targets);
        let kind = if circular { "goes in a circle" } else { "is a chain" };
        let message = format!("alias {alias} {kind}: {}", chain.join(" -> "));
        let help = "an alias names a method, never another alias";
        entry.fault(&rules::ALIAS_CHAIN, message, help);
    } else if !vocabulary.is_method(target) {
        let message = format!("alias {alias} leads to {target}, which is no method here");
        entry.fault(&rules::ALIAS_TARGET, message, vocabulary.did_you_mean(target));
    } else if vocabulary.is_method(alias) {
        let message = format!("alias {alias} hides the method {alias}, which is served as {target}");
        entry.fault(&rules::ALIAS_SHADOWS, message, "redirect it instead, if callers may still use it");
    }
}

/// The names an alias leads through, and whether they lead back to one of them.
fn chain<'n>(alias: &'n str, targets: &BTreeMap<&'n str, &'n str>) -> (Vec<&'n str>, bool) {
    let mut chain = vec![alias];
    let mut at = alias;
    while let Some(next) = targets.get(at) {
        let circular = chain.contains(next);
        chain.push(next);
        if circular {
            return (chain, true);
        }
        at = next;
    }
    (chain, false)
}

fn redirect(block: &Block<'_>, vocabulary: &Vocabulary<'_>) -> Option<RedirectDecl> {
    block.only(&["from_method", "from_path", "to_method", "to_path"]);
    let method = |key| {
        let entry = block.require(key)?;
        let name = entry.string()?;
        known_method(&entry, name, vocabulary)
    };
    let (from_method, to_method) = (method("from_method"), method("to_method"));
    let path = |key| block.get(key).and_then(|entry| literal_path(&entry));
    let (from_path, to_path) = (path("from_path"), path("to_path"));
    Some(RedirectDecl { from_method: from_method?, from_path, to_method: to_method?, to_path })
}

fn literal_path(entry: &Entry<'_>) -> Option<String> {
    let text = entry.string()?;
    let (template, findings) = path::parse(text);
    for finding in findings {
        entry.fault(&rules::REDIRECT_PATH, finding.message, finding.help);
    }
    let template = template?;
    if path::parameters(&template).next().is_some() {
        let message = format!("redirect path \"{text}\" has a parameter");
        entry.fault(&rules::REDIRECT_PATH, message, "redirects go from and to literal paths");
    }
    Some(template.text)
}
