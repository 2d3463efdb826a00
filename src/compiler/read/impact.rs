//! What another catalog would break of a deployment (draft: Tooling, Operator Notes on Catalog Versioning).
//!
//! Only what a change of catalogs touches is read, and leniently: whatever else is wrong with a file, its methods and
//! paths are still compared with the verbs that come and go.

use super::document::{Block, DECLARATION, Document, Entry, Faults, SETTINGS};
use super::files::{self, Origin, Tree};
use super::{RECIPES_FILE, SETTINGS_FILE, settings};
use crate::catalog::{Catalog, CatalogDiff};
use crate::compiler::check::vocabulary::bare;
use crate::compiler::fault::{Report, Rule};
use crate::compiler::ir::Source;
use crate::compiler::rules;
use std::collections::BTreeSet;
use std::path::Path;

/// What a change of catalogs would break of a deployment.
#[derive(Clone, Debug, Default)]
pub struct Impact {
    /// Endpoints that name a removed verb.
    pub endpoints: Vec<EndpointConflict>,
    /// Recipes that name a removed verb.
    pub recipes: Vec<RecipeConflict>,
    /// Entries of the method policy that name a removed verb, or claim an added one.
    pub policies: Vec<PolicyConflict>,
    /// Paths that an added verb makes illegal.
    pub paths: Vec<PathConflict>,
    /// Files that could not be looked at, and why.
    pub unread: Report,
    /// Number of endpoint files that were looked at.
    pub endpoint_files: usize,
    /// Number of recipes that were looked at.
    pub recipe_count: usize,
}

impl Impact {
    /// Whether anything would break.
    pub fn is_breaking(&self) -> bool {
        self.conflicts() > 0
    }

    /// Number of conflicts of all kinds.
    pub fn conflicts(&self) -> usize {
        self.endpoints.len() + self.recipes.len() + self.policies.len() + self.paths.len()
    }
}

/// An endpoint that would be left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndpointConflict {
    /// Where the verb stands.
    pub source: Source,
    /// The key it stands under: `method`, or `deprecated.successor.method`.
    pub field: &'static str,
    /// The removed verb.
    pub method: String,
    /// The endpoint's path, as far as it has one.
    pub path: Option<String>,
    /// What the old catalog recommends instead.
    pub successor: Option<String>,
}

/// A recipe that would be left out, with the endpoints composed by it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecipeConflict {
    /// Where the step is declared.
    pub source: Source,
    /// The recipe's name; empty if it has none.
    pub recipe: String,
    /// Which step, counted from 1.
    pub step: usize,
    /// The removed verb.
    pub method: String,
    /// What the old catalog recommends instead.
    pub successor: Option<String>,
    /// Files of the endpoints that use the recipe.
    pub used_by: Vec<String>,
}

/// A policy entry that would be skipped, or would keep the server from starting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyConflict {
    /// Where the entry stands.
    pub source: Source,
    /// Which one: `allow`, `disallow`, `custom`, `aliases`, `redirects.from_method` or `redirects.to_method`.
    pub directive: &'static str,
    /// The removed verb; the added one for `custom`.
    pub verb: String,
    /// What comes of it.
    pub effect: Effect,
}

/// What comes of a policy entry under the new catalog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It is skipped with a warning (draft: Catalog-Graceful Skip Semantics).
    Skipped,
    /// The server refuses to start (D23).
    Refused,
}

impl Effect {
    /// In a word, for machines.
    pub const fn as_str(self) -> &'static str {
        match self {
            Effect::Skipped => "skipped",
            Effect::Refused => "refuses-to-start",
        }
    }
}

/// A path with a segment that becomes a method name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathConflict {
    /// Where the path stands.
    pub source: Source,
    /// The key it stands under: `path`, `deprecated.successor.path`, `redirects.from_path` or `redirects.to_path`.
    pub field: &'static str,
    /// The method of the endpoint or of the request that is redirected, as far as there is one.
    pub method: Option<String>,
    /// The path.
    pub path: String,
    /// The segment.
    pub segment: String,
    /// The added verb that it is.
    pub verb: String,
}

/// Looks for what a change of catalogs would break of the deployment in `dir`.
///
/// # Errors
/// Why `dir` cannot be read at all.
pub fn impact(dir: &Path, diff: &CatalogDiff<'_>) -> Result<Impact, String> {
    match files::unusable(dir) {
        Some(unusable) => Err(unusable),
        None => Ok(impact_on(Origin::Directory(dir), diff)),
    }
}

fn impact_on(origin: Origin<'_>, diff: &CatalogDiff<'_>) -> Impact {
    let faults = Faults::default();
    let tree = Tree { origin, faults: &faults };
    let mut scan =
        Scan { diff, custom: BTreeSet::new(), impact: Impact::default(), compositions: Vec::new() };
    // The custom methods first: a removed verb that is among them stays a method of this server.
    with_root(&tree, SETTINGS_FILE, &rules::SETTINGS_SYNTAX, |root| scan.policy(root));
    for name in tree.names("endpoints", ".toml").unwrap_or_default() {
        with_root(&tree, &name, &rules::TOML_SYNTAX, |root| scan.endpoint(&name, root));
    }
    with_root(&tree, RECIPES_FILE, &rules::TOML_SYNTAX, |root| scan.recipes(root));
    let mut impact = scan.impact;
    let mut unread = faults.into_inner();
    unread.retain(|fault| UNREAD.iter().any(|rule| rule.code == fault.code));
    impact.unread = Report::new(unread);
    impact
}

/// The faults that keep a file from being looked at; all others are none of a scan's business.
const UNREAD: [&Rule; 4] =
    [&rules::UNREADABLE_FILE, &rules::NOT_UTF8, &rules::TOML_SYNTAX, &rules::SETTINGS_SYNTAX];

fn with_root(tree: &Tree<'_>, name: &str, syntax: &Rule, look: impl FnOnce(&Block<'_>)) {
    let Some(text) = tree.text(name) else { return };
    let flavor = if name == SETTINGS_FILE { &SETTINGS } else { &DECLARATION };
    let document = Document::new(name, &text, flavor, tree.faults);
    if let Some(table) = document.parse(syntax) {
        look(&document.root(&table));
    }
}

struct Scan<'c> {
    diff: &'c CatalogDiff<'c>,
    custom: BTreeSet<String>,
    impact: Impact,
    /// Recipe names and the endpoint files that use them.
    compositions: Vec<(String, String)>,
}

impl<'c> Scan<'c> {
    /// The old entry of a verb that the deployment loses.
    fn removed(&self, name: &str) -> Option<&'c crate::catalog::Verb> {
        let verb = self.diff.old.verb(name).filter(|_| self.diff.new.verb(name).is_none());
        verb.filter(|_| !self.custom.contains(name))
    }

    /// The added verb that a path segment becomes.
    fn added(&self, segment: &str) -> Option<&'c str> {
        let token = bare(segment).filter(|_| !segment.contains(['{', '}']))?;
        let new: &Catalog = self.diff.new;
        let verb = new.verb(&token).filter(|_| self.diff.old.verb(&token).is_none());
        verb.map(|verb| verb.name.as_str())
    }

    fn endpoint(&mut self, file: &str, root: &Block<'_>) {
        self.impact.endpoint_files += 1;
        let Some(block) = table(root, "endpoint") else { return };
        let method = block.get("method").and_then(|entry| entry.string());
        let path = block.get("path").and_then(|entry| entry.string());
        self.endpoint_method(&block, "method", path);
        self.endpoint_path(&block, "path", method);
        if let Some(successor) = table(&block, "deprecated").and_then(|block| table(&block, "successor")) {
            self.endpoint_method(&successor, "deprecated.successor.method", path);
            self.endpoint_path(&successor, "deprecated.successor.path", method);
        }
        let recipe = table(&block, "handler").and_then(|handler| handler.get("recipe")?.string());
        self.compositions.extend(recipe.map(|recipe| (recipe.to_owned(), file.to_owned())));
    }

    fn endpoint_method(&mut self, block: &Block<'_>, field: &'static str, path: Option<&str>) {
        let Some(entry) = block.get("method") else { return };
        let Some(verb) = entry.string().and_then(|name| self.removed(name)) else { return };
        self.impact.endpoints.push(EndpointConflict {
            source: entry.source(),
            field,
            method: verb.name.clone(),
            path: path.map(str::to_owned),
            successor: verb.successor.clone(),
        });
    }

    fn endpoint_path(&mut self, block: &Block<'_>, field: &'static str, method: Option<&str>) {
        if let Some(entry) = block.get("path") {
            self.path(&entry, field, method);
        }
    }

    fn path(&mut self, entry: &Entry<'_>, field: &'static str, method: Option<&str>) {
        let Some(path) = entry.string() else { return };
        for segment in path.split('/') {
            let Some(verb) = self.added(segment) else { continue };
            self.impact.paths.push(PathConflict {
                source: entry.source(),
                field,
                method: method.map(str::to_owned),
                path: path.to_owned(),
                segment: segment.to_owned(),
                verb: verb.to_owned(),
            });
        }
    }

    fn recipes(&mut self, root: &Block<'_>) {
        let recipes = root.get("recipe").map(|entry| entry.tables()).unwrap_or_default();
        self.impact.recipe_count += recipes.len();
        for recipe in &recipes {
            let name = recipe.get("name").and_then(|entry| entry.string()).unwrap_or_default();
            let steps = recipe.get("steps").map(|entry| entry.tables()).unwrap_or_default();
            for (index, step) in steps.iter().enumerate() {
                self.recipe_step(name, index + 1, step);
            }
        }
    }

    fn recipe_step(&mut self, recipe: &str, step: usize, block: &Block<'_>) {
        let Some(entry) = block.get("method") else { return };
        let Some(verb) = entry.string().and_then(|name| self.removed(name)) else { return };
        let users = self.compositions.iter().filter(|(name, _)| name == recipe);
        self.impact.recipes.push(RecipeConflict {
            source: entry.source(),
            recipe: recipe.to_owned(),
            step,
            method: verb.name.clone(),
            successor: verb.successor.clone(),
            used_by: users.map(|(_, file)| file.clone()).collect(),
        });
    }

    fn policy(&mut self, root: &Block<'_>) {
        let Some(block) = settings::methods(root) else { return };
        for (item, name) in strings(&block, "custom") {
            self.custom.insert(name.to_owned());
            if self.diff.new.verb(name).is_some() && self.diff.old.verb(name).is_none() {
                self.policy_conflict(&item, "custom", name, Effect::Refused);
            }
        }
        for directive in ["allow", "disallow"] {
            for (item, name) in strings(&block, directive) {
                self.policy_entry(&item, directive, name, Effect::Skipped);
            }
        }
        for entry in table(&block, "aliases").map(|table| table.entries()).unwrap_or_default() {
            if let Some(target) = entry.string() {
                self.policy_entry(&entry, "aliases", target, Effect::Refused);
            }
        }
        for redirect in block.get("redirects").map(|entry| entry.tables()).unwrap_or_default() {
            self.redirect(&redirect);
        }
    }

    fn redirect(&mut self, block: &Block<'_>) {
        for (key, directive) in
            [("from_method", "redirects.from_method"), ("to_method", "redirects.to_method")]
        {
            let Some(entry) = block.get(key) else { continue };
            if let Some(name) = entry.string() {
                self.policy_entry(&entry, directive, name, Effect::Skipped);
            }
        }
        // A request for a path that carries a verb is 460 before any redirect (D23).
        let method = block.get("from_method").and_then(|entry| entry.string());
        for (key, field) in [("from_path", "redirects.from_path"), ("to_path", "redirects.to_path")] {
            if let Some(entry) = block.get(key) {
                self.path(&entry, field, method);
            }
        }
    }

    fn policy_entry(&mut self, entry: &Entry<'_>, directive: &'static str, name: &str, effect: Effect) {
        if self.removed(name).is_some() {
            self.policy_conflict(entry, directive, name, effect);
        }
    }

    fn policy_conflict(&mut self, entry: &Entry<'_>, directive: &'static str, verb: &str, effect: Effect) {
        let (source, verb) = (entry.source(), verb.to_owned());
        self.impact.policies.push(PolicyConflict { source, directive, verb, effect });
    }
}

fn table<'d>(block: &Block<'d>, key: &str) -> Option<Block<'d>> {
    block.get(key).and_then(|entry| entry.table())
}

/// The strings of an array, if it is one: `allow` may be `"*"`.
fn strings<'d>(block: &Block<'d>, key: &str) -> Vec<(Entry<'d>, &'d str)> {
    block.get(key).map(|entry| entry.strings()).unwrap_or_default()
}
