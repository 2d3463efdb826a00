//! Reads and checks a catalog document.

use super::json::{Member, Node};
use super::{CATEGORIES, Catalog, Category, FLOOR, LEGACY, Legacy, Verb, is_method_name, semver};
use std::fmt;

/// Something wrong with a catalog document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CatalogFault {
    /// Line, counted from 1.
    pub line: u32,
    /// Which rule, in kebab-case.
    pub code: &'static str,
    /// What is wrong.
    pub message: String,
    /// What would be right.
    pub help: String,
}

impl fmt::Display for CatalogFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: error[{}]: {}\n  help: {}", self.line, self.code, self.message, self.help)
    }
}

const TOP_LEVEL: [&str; 5] = ["version", "embedded", "legacy", "categories", "verbs"];
const VERB_KEYS: [&str; 5] = ["categories", "description", "deprecated_in", "removed_in", "successor"];

pub(super) fn load(text: &str) -> (Option<Catalog>, Vec<CatalogFault>) {
    let mut loader = Loader::default();
    let catalog = match Node::parse(text) {
        Err(error) => {
            loader.fault(error.line, "catalog-syntax", error.message, "the catalog is one JSON object");
            None
        }
        Ok(root) if root.members().is_none() => {
            let message = format!("the catalog is {}", root.type_name());
            loader.fault(root.line, "catalog-shape", message, "the catalog is one JSON object");
            None
        }
        Ok(root) => Some(loader.catalog(&root)),
    };
    loader.faults.sort_by_key(|fault| fault.line);
    (catalog, loader.faults)
}

#[derive(Default)]
struct Loader {
    faults: Vec<CatalogFault>,
}

impl Loader {
    fn fault(&mut self, line: u32, code: &'static str, message: impl Into<String>, help: impl Into<String>) {
        self.faults.push(CatalogFault { line, code, message: message.into(), help: help.into() });
    }

    fn catalog(&mut self, root: &Node) -> Catalog {
        for duplicate in root.duplicate_keys() {
            let message = format!("key \"{}\" stands twice in one object", duplicate.key);
            let help = format!("it stands on line {} already; keep one of them", duplicate.first_line);
            self.fault(duplicate.line, "catalog-duplicate-key", message, help);
        }
        self.only_keys(root, &TOP_LEVEL, "the catalog");
        for key in TOP_LEVEL {
            if root.get(key).is_none() {
                let help = format!("a catalog has the five keys {}", TOP_LEVEL.join(", "));
                self.fault(root.line, "catalog-missing-key", format!("\"{key}\" is missing"), help);
            }
        }
        let catalog = Catalog {
            version: self.version(root),
            embedded: self.embedded(root),
            legacy: self.legacy(root),
            categories: self.categories(root),
            verbs: self.verbs(root),
        };
        self.cross_check(root, &catalog);
        catalog
    }

    fn only_keys(&mut self, node: &Node, known: &[&str], what: &str) {
        for member in node.members().unwrap_or(&[]) {
            if !known.contains(&member.key.as_str()) {
                let message = format!("{what} has an unknown key \"{}\"", member.key);
                self.fault(
                    member.line,
                    "catalog-unknown-key",
                    message,
                    format!("known keys: {}", known.join(", ")),
                );
            }
        }
    }

    fn version(&mut self, root: &Node) -> String {
        let Some(node) = root.get("version") else { return String::new() };
        let version = node.as_str().unwrap_or("");
        if semver(version).is_none() {
            self.fault(
                node.line,
                "catalog-version",
                "\"version\" is no semantic version",
                "write MAJOR.MINOR.PATCH, as in \"1.0.0\"",
            );
        }
        version.to_owned()
    }

    /// The strings of an array; what is no string is a fault.
    fn strings(&mut self, node: &Node, what: &str) -> Vec<String> {
        let Some(items) = node.items() else {
            let message = format!("{what} is {}", node.type_name());
            self.fault(node.line, "catalog-shape", message, "an array of strings is expected");
            return Vec::new();
        };
        let mut strings = Vec::with_capacity(items.len());
        for item in items {
            match item.as_str() {
                Some(text) => strings.push(text.to_owned()),
                None => {
                    let message = format!("{what} holds {}", item.type_name());
                    self.fault(item.line, "catalog-shape", message, "an array of strings is expected");
                }
            }
        }
        strings
    }

    /// A string member; absent is `None`, anything else but a string a fault.
    fn text(&mut self, node: &Node, key: &str, what: &str) -> Option<String> {
        let member = node.member(key)?;
        if let Some(text) = member.value.as_str() {
            return Some(text.to_owned());
        }
        let message = format!("\"{key}\" of {what} is {}", member.value.type_name());
        self.fault(member.line, "catalog-shape", message, "a string is expected");
        None
    }

    /// The members of an object under a top-level key; each key once, so that a repeated one is not checked twice.
    fn entries<'n>(&mut self, root: &'n Node, key: &str) -> Vec<&'n Member> {
        let Some(node) = root.get(key) else { return Vec::new() };
        let Some(members) = node.members() else {
            let message = format!("\"{key}\" is {}", node.type_name());
            self.fault(node.line, "catalog-shape", message, "an object from name to entry is expected");
            return Vec::new();
        };
        let mut seen = std::collections::HashSet::new();
        members.iter().filter(|member| seen.insert(member.key.as_str())).collect()
    }

    fn embedded(&mut self, root: &Node) -> Vec<String> {
        let Some(node) = root.get("embedded") else { return Vec::new() };
        let embedded = self.strings(node, "\"embedded\"");
        self.exactly(node.line, "embedded", &embedded, &FLOOR);
        embedded
    }

    /// Compares a set of names with the one the draft fixes.
    fn exactly(&mut self, line: u32, key: &'static str, names: &[String], fixed: &[&str]) {
        let code = match key {
            "embedded" => "catalog-embedded",
            "legacy" => "catalog-legacy",
            _ => "catalog-categories",
        };
        let help = format!("\"{key}\" names exactly these {}: {}", fixed.len(), fixed.join(", "));
        for missing in fixed.iter().filter(|name| !names.iter().any(|have| have == *name)) {
            self.fault(line, code, format!("\"{key}\" lacks {missing}"), help.clone());
        }
        for extra in names.iter().filter(|name| !fixed.contains(&name.as_str())) {
            self.fault(line, code, format!("\"{key}\" names {extra}"), help.clone());
        }
        let distinct: std::collections::HashSet<_> = names.iter().collect();
        if distinct.len() != names.len() {
            self.fault(line, code, format!("\"{key}\" names something twice"), help);
        }
    }

    fn legacy(&mut self, root: &Node) -> Vec<Legacy> {
        let mut legacy = Vec::new();
        for member in self.entries(root, "legacy") {
            let preferred = match member.value.as_str() {
                Some(short_form) => Some(short_form.to_owned()),
                None => self.text(&member.value, "preferred", &member.key),
            };
            if preferred.is_none() {
                self.fault(
                    member.line,
                    "catalog-legacy",
                    format!("{} has no preferred verb", member.key),
                    "add \"preferred\" with the catalog verb to use instead",
                );
            }
            legacy.push(Legacy {
                name: member.key.clone(),
                preferred: preferred.unwrap_or_default(),
                description: self.text(&member.value, "description", &member.key).unwrap_or_default(),
            });
        }
        if let Some(node) = root.get("legacy") {
            let names: Vec<_> = legacy.iter().map(|entry| entry.name.clone()).collect();
            self.exactly(node.line, "legacy", &names, &LEGACY);
        }
        legacy
    }

    /// A map from name to entry, or just the names.
    fn categories(&mut self, root: &Node) -> Vec<Category> {
        let Some(node) = root.get("categories") else { return Vec::new() };
        let categories: Vec<_> = if node.items().is_some() {
            let names = self.strings(node, "\"categories\"");
            names.into_iter().map(|name| Category { name, description: String::new() }).collect()
        } else {
            let entries = self.entries(root, "categories");
            entries.into_iter().map(|member| self.category(member)).collect()
        };
        let names: Vec<_> = categories.iter().map(|category| category.name.clone()).collect();
        self.exactly(node.line, "categories", &names, &CATEGORIES);
        categories
    }

    fn category(&mut self, member: &Member) -> Category {
        let description = match member.value.as_str() {
            Some(short_form) => short_form.to_owned(),
            None => self.text(&member.value, "description", &member.key).unwrap_or_default(),
        };
        Category { name: member.key.clone(), description }
    }

    fn verbs(&mut self, root: &Node) -> Vec<Verb> {
        let entries = self.entries(root, "verbs");
        let mut verbs: Vec<_> = entries.into_iter().filter_map(|member| self.verb(member)).collect();
        verbs.sort_by(|a, b| a.name.cmp(&b.name));
        verbs
    }

    /// One verb; `None` when its name cannot be used at all.
    fn verb(&mut self, member: &Member) -> Option<Verb> {
        let name = &member.key;
        if !is_method_name(name) {
            let message = format!("\"{name}\" is no method name");
            self.fault(
                member.line,
                "catalog-verb-form",
                message,
                "a method name is 3 to 32 letters A to Z, nothing else",
            );
            return None;
        }
        if LEGACY.contains(&name.as_str()) {
            let message = format!("{name} is an HTTP method, not a verb");
            self.fault(
                member.line,
                "catalog-http-verb",
                message,
                "move it to \"legacy\" with its preferred verb",
            );
            return None;
        }
        let entry = &member.value;
        if entry.members().is_none() {
            let message = format!("the entry of {name} is {}", entry.type_name());
            self.fault(
                member.line,
                "catalog-shape",
                message,
                "an object with categories and description is expected",
            );
            return Some(bare_verb(name));
        }
        self.only_keys(entry, &VERB_KEYS, name);
        Some(Verb {
            name: name.clone(),
            categories: self.verb_categories(member),
            description: self.verb_description(member),
            deprecated_in: self.verb_version(entry, "deprecated_in", name),
            removed_in: self.verb_version(entry, "removed_in", name),
            successor: self.text(entry, "successor", name),
        })
    }

    fn verb_categories(&mut self, member: &Member) -> Vec<String> {
        let name = &member.key;
        let help = format!("name one or more of {}", CATEGORIES.join(", "));
        let Some(entry) = member.value.member("categories") else {
            self.fault(member.line, "catalog-verb-categories", format!("{name} has no categories"), help);
            return Vec::new();
        };
        let categories = self.strings(&entry.value, &format!("\"categories\" of {name}"));
        if entry.value.items().is_some_and(<[Node]>::is_empty) {
            self.fault(
                entry.line,
                "catalog-verb-categories",
                format!("{name} has no categories"),
                help.clone(),
            );
        }
        for unknown in categories.iter().filter(|category| !CATEGORIES.contains(&category.as_str())) {
            let message = format!("{name} has an unknown category \"{unknown}\"");
            self.fault(entry.line, "catalog-verb-categories", message, help.clone());
        }
        categories
    }

    fn verb_description(&mut self, member: &Member) -> String {
        let text = self.text(&member.value, "description", &member.key);
        let blank = text.as_deref().is_none_or(|text| text.trim().is_empty());
        let mistyped = text.is_none() && member.value.get("description").is_some();
        if blank && !mistyped {
            let line = member.value.member("description").map_or(member.line, |entry| entry.line);
            let message = format!("{} has no description", member.key);
            self.fault(line, "catalog-verb-description", message, "say in one line what the verb does");
        }
        text.unwrap_or_default()
    }

    fn verb_version(&mut self, entry: &Node, key: &str, name: &str) -> Option<String> {
        let version = self.text(entry, key, name)?;
        if semver(&version).is_none() {
            let line = entry.member(key).map_or(entry.line, |member| member.line);
            let message = format!("\"{key}\" of {name} is \"{version}\", no semantic version");
            self.fault(line, "catalog-verb-version", message, "write MAJOR.MINOR.PATCH, as in \"2.0.0\"");
        }
        Some(version)
    }

    /// What one part of the catalog says about another.
    fn cross_check(&mut self, root: &Node, catalog: &Catalog) {
        for name in catalog.embedded.iter().filter(|name| catalog.verb(name).is_none()) {
            let line = root.get("embedded").map_or(root.line, |node| node.line);
            let message = format!("{name} is embedded but no verb");
            self.fault(line, "catalog-embedded", message, format!("add {name} to \"verbs\""));
        }
        let unknown = |name: &str| !name.is_empty() && catalog.verb(name).is_none();
        for entry in catalog.legacy.iter().filter(|entry| unknown(&entry.preferred)) {
            let line = root.get("legacy").map_or(root.line, |node| node.line_at(&format!("/{}", entry.name)));
            let message = format!("{} prefers {}, which is no verb", entry.name, entry.preferred);
            self.fault(line, "catalog-legacy", message, "name a verb of this catalog");
        }
        for verb in &catalog.verbs {
            self.check_deprecation(root, catalog, verb);
        }
    }

    fn check_deprecation(&mut self, root: &Node, catalog: &Catalog, verb: &Verb) {
        let line_of = |key: &str| {
            root.get("verbs").map_or(root.line, |node| node.line_at(&format!("/{}/{key}", verb.name)))
        };
        if let Some(successor) = &verb.successor
            && (catalog.verb(successor).is_none() || *successor == verb.name)
        {
            let message = format!("the successor of {} is {successor}, which is no other verb", verb.name);
            self.fault(line_of("successor"), "catalog-successor", message, "name a verb of this catalog");
        }
        let version = |text: &Option<String>| text.as_deref().and_then(semver);
        if let (Some(deprecated), Some(removed)) = (version(&verb.deprecated_in), version(&verb.removed_in))
            && removed <= deprecated
        {
            let message = format!("{} is removed before it is deprecated", verb.name);
            self.fault(
                line_of("removed_in"),
                "catalog-verb-version",
                message,
                "\"removed_in\" comes after \"deprecated_in\"",
            );
        }
    }
}

fn bare_verb(name: &str) -> Verb {
    Verb {
        name: name.to_owned(),
        categories: Vec::new(),
        description: String::new(),
        deprecated_in: None,
        removed_in: None,
        successor: None,
    }
}
