//! Reads a deployment directory and reports all that is wrong with it.
//!
//! One file after the other, each to its end: a fault never hides the next one. What is left without a fault is the
//! deployment that can be served (D25).

mod agents;
mod compositions;
mod document;
mod endpoint;
pub(super) mod external;
mod files;
pub(super) mod handler;
mod impact;
mod place;
mod policy;
mod recipes;
mod schema;
mod settings;

use super::check::ambiguity;
use super::check::path;
use super::check::schema::SchemaChecker;
use super::check::vocabulary::Vocabulary;
use super::fault::Report;
use super::ir::{Deployment, MethodPolicy, RecipeDecl, Settings, Source};
use super::rules;
use crate::catalog::Catalog;
pub use agents::{check_genesis, read_agent};
use document::{Block, Document, Faults};
use endpoint::Candidate;
use files::{Origin, Tree};
use std::collections::HashMap;
use std::fmt;
use std::path::Path;

pub use impact::{Effect, EndpointConflict, Impact, PathConflict, PolicyConflict, RecipeConflict, impact};

/// How to read a deployment.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReadOptions<'o> {
    /// The registered functions. With them, a name that none has is a fault; without, the Rust compiler is the one to
    /// say so.
    pub known_functions: Option<&'o [&'o str]>,
    /// Whether the environment has a variable. With it, a `${VAR}` that it has not is a fault (draft: External Service).
    /// A deployment is compiled elsewhere than it is served, so that it is asked at start only.
    pub has_variable: Option<fn(&str) -> bool>,
}

/// What became of a deployment directory.
#[derive(Clone, Debug)]
pub struct Reading {
    /// What is valid; nothing if the directory or its configuration is unusable (D25).
    pub deployment: Option<Deployment>,
    /// Every fault.
    pub report: Report,
    /// What the deployment would have without its faults: endpoints and recipes, in file order.
    pub left_out: Vec<LeftOut>,
    /// Why the directory cannot be read at all.
    pub unusable: Option<String>,
}

/// A declaration that has a fault, or leans on one that has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// Where it is declared.
    pub source: Source,
    /// Method and path of an endpoint, `recipe NAME`; nothing if it says neither.
    pub what: Option<String>,
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.what {
            Some(what) => write!(f, "{what} ({})", self.source.file),
            None => f.write_str(&self.source.file),
        }
    }
}

/// Reads the deployment in `dir`.
pub fn read(dir: &Path, options: &ReadOptions<'_>) -> Reading {
    if let Some(unusable) = files::unusable(dir) {
        let (report, left_out) = (Report::default(), Vec::new());
        return Reading { deployment: None, report, left_out, unusable: Some(unusable) };
    }
    read_from(Origin::Directory(dir), options)
}

/// Reads a deployment that is in memory: the names of its documents, relative to the deployment, and their texts.
pub fn read_documents(documents: &[(&str, &str)], options: &ReadOptions<'_>) -> Reading {
    // Of two with one name the first counts.
    let documents = documents.iter().rev().copied().collect();
    read_from(Origin::Documents(&documents), options)
}

fn read_from(origin: Origin<'_>, options: &ReadOptions<'_>) -> Reading {
    let faults = Faults::default();
    let (deployment, left_out) = deployment(&Tree { origin, faults: &faults }, options);
    let report = Report::new(faults.into_inner());
    let usable = !report.has_configuration_faults();
    Reading { deployment: usable.then_some(deployment), report, left_out, unusable: None }
}

/// What an endpoint is checked against.
#[derive(Debug)]
struct Context<'c> {
    vocabulary: &'c Vocabulary<'c>,
    settings: &'c Settings,
    recipes: &'c [RecipeDecl],
    schemas: &'c SchemaChecker,
    options: &'c ReadOptions<'c>,
}

const SETTINGS_FILE: &str = "agtp-server.toml";
const RECIPES_FILE: &str = "agtp-recipes.toml";

fn deployment(tree: &Tree<'_>, options: &ReadOptions<'_>) -> (Deployment, Vec<LeftOut>) {
    let text = tree.text(SETTINGS_FILE).unwrap_or_default();
    let document = Document::new(SETTINGS_FILE, &text, &document::SETTINGS, tree.faults);
    let table = document.parse(&rules::SETTINGS_SYNTAX);
    let root = table.as_ref().map(|table| document.root(table));
    let catalog = catalog(tree, root.as_ref());
    let methods = root.as_ref().and_then(settings::methods);
    let custom = methods.as_ref().map(|block| policy::custom(block, &catalog)).unwrap_or_default();
    let vocabulary = Vocabulary::new(&catalog, &custom);
    let mut settings = settings::read(root.as_ref());
    let redirect_sources;
    (settings.methods, redirect_sources) = policy::read(methods.as_ref(), &custom, &vocabulary);
    let recipes = tree.text(RECIPES_FILE);
    let recipes = recipes.map(|text| recipes::read(RECIPES_FILE, &text, &vocabulary, tree.faults));
    let context = Context {
        vocabulary: &vocabulary,
        settings: &settings,
        recipes: recipes.as_deref().unwrap_or(&[]),
        schemas: &SchemaChecker::default(),
        options,
    };
    let names = endpoint_files(tree);
    let mut candidates = candidates(tree, &names, &context);
    check_redirects(&settings.methods, &redirect_sources, &candidates, &vocabulary, tree.faults);
    drop_unserved(&mut candidates, &context, tree.faults);
    let left_out = left_out(&names, &candidates, context.recipes);
    let endpoints = candidates.into_iter().filter_map(|candidate| candidate.decl).collect();
    let recipes = recipes.unwrap_or_default().into_iter().filter(|recipe| recipe.sound).collect();
    let agents = agents::read_all(tree);
    (Deployment { root: tree.root(), settings, endpoints, agents, catalog, recipes }, left_out)
}

/// The catalog that `[catalog] file` names, else the canonical one. Of a faulty document what is valid is used, so that
/// the rest of the deployment is checked against what the operator meant.
fn catalog(tree: &Tree<'_>, root: Option<&Block<'_>>) -> Catalog {
    let Some((entry, file)) = root.and_then(settings::catalog_file) else { return Catalog::builtin() };
    let errors_before = tree.faults.errors();
    let Some(text) = tree.text(file) else {
        if tree.faults.errors() == errors_before {
            let message = format!("there is no catalog \"{file}\"");
            entry.fault(&rules::UNREADABLE_FILE, message, "the file is looked for beside agtp-server.toml");
        }
        return Catalog::builtin();
    };
    let (catalog, faults) = Catalog::parse_lenient(&text);
    for fault in faults {
        let source = Source { file: file.to_owned(), line: fault.line };
        let message = format!("{} ({})", fault.message, fault.code);
        tree.faults.add(&rules::CATALOG_FAULT, source, message, fault.help);
    }
    catalog.unwrap_or_else(Catalog::builtin)
}

fn endpoint_files(tree: &Tree<'_>) -> Vec<String> {
    let names = tree.names("endpoints", ".toml").unwrap_or_default();
    if names.is_empty() {
        let source = Source { file: "endpoints".to_owned(), line: 0 };
        let message = "no endpoint is declared: only the built-in ones are served";
        tree.faults.add(&rules::NO_ENDPOINTS, source, message, "write endpoints/NAME.toml");
    }
    names
}

fn candidates(tree: &Tree<'_>, names: &[String], context: &Context<'_>) -> Vec<Candidate> {
    let read = |name: &String| endpoint::read(name, &tree.text(name)?, context, tree.faults);
    names.iter().filter_map(read).collect()
}

/// Of the endpoints only those keep their declaration that nothing is wrong with, by themselves, beside one another, and
/// in the recipes they are composed by.
fn drop_unserved(candidates: &mut [Candidate], context: &Context<'_>, faults: &Faults) {
    let broken: Vec<_> = candidates
        .iter()
        .map(|candidate| {
            let errors_before = faults.errors();
            compositions::check(candidate, candidates, context, faults);
            faults.errors() > errors_before || compositions::has_faulty_recipe(candidate, context)
        })
        .collect();
    for (candidate, _) in candidates.iter_mut().zip(broken).filter(|(_, broken)| *broken) {
        candidate.decl = None;
    }
    for (index, rival) in rivals(candidates) {
        if let (Some(candidate), Some(rival)) = (candidates.get(index), candidates.get(rival)) {
            report_rival(candidate, rival, faults);
        }
        if let Some(candidate) = candidates.get_mut(index) {
            candidate.decl = None;
        }
    }
    compositions::drop_dependents(candidates, context);
}

/// What was declared and will not be served (draft: Removal Behavior: the operator is told which).
fn left_out(names: &[String], candidates: &[Candidate], recipes: &[RecipeDecl]) -> Vec<LeftOut> {
    let by_file: HashMap<_, _> =
        candidates.iter().map(|candidate| (candidate.path_source.file.as_str(), candidate)).collect();
    let endpoint = |name: &String| match by_file.get(name.as_str()) {
        Some(candidate) if candidate.decl.is_some() => None,
        Some(candidate) => Some(LeftOut { source: candidate.path_source.clone(), what: candidate.title() }),
        None => Some(LeftOut { source: Source { file: name.clone(), line: 0 }, what: None }),
    };
    let recipe = |recipe: &RecipeDecl| LeftOut {
        source: recipe.source.clone(),
        what: Some(format!("recipe {}", recipe.name)),
    };
    let faulty = recipes.iter().filter(|recipe| !recipe.sound).map(recipe);
    names.iter().filter_map(endpoint).chain(faulty).collect()
}

/// Pairs of rows: an endpoint, and the first that it is ambiguous with.
fn rivals(candidates: &[Candidate]) -> Vec<(usize, usize)> {
    let (rows, keys): (Vec<_>, Vec<_>) = candidates
        .iter()
        .enumerate()
        .filter_map(|(row, candidate)| Some((row, (candidate.method.as_deref()?, candidate.path.as_ref()?))))
        .unzip();
    let rivals = ambiguity::rivals(&keys).into_iter().zip(&rows);
    rivals.filter_map(|(rival, row)| Some((*row, *rows.get(rival?)?))).collect()
}

fn report_rival(candidate: &Candidate, rival: &Candidate, faults: &Faults) {
    let (Some(method), Some(path), Some(other)) = (&candidate.method, &candidate.path, &rival.path) else {
        return;
    };
    let Source { file, line } = &rival.path_source;
    let source = candidate.path_source.clone();
    if path.text == other.text {
        let message = format!("{method} {} is declared in {file}:{line} too", path.text);
        faults.add(&rules::ENDPOINT_DUPLICATE, source, message, "remove one; until then neither is served");
        return;
    }
    let message = format!(
        "{method} {} and {method} {} ({file}:{line}) match common paths with equally many parameters",
        path.text, other.text
    );
    let help = "tell them apart by a literal segment; until then neither is served";
    faults.add(&rules::PATH_AMBIGUOUS, source, message, help);
}

/// A redirect from a path that is 460 before redirects are looked at does nothing (D23). A path that some endpoint
/// matches is never 460 (D7).
fn check_redirects(
    policy: &MethodPolicy,
    sources: &[Source],
    candidates: &[Candidate],
    vocabulary: &Vocabulary<'_>,
    faults: &Faults,
) {
    for (redirect, source) in policy.redirects.iter().zip(sources) {
        let Some(from) = &redirect.from_path else { continue };
        let Some(verb) = from.split('/').find_map(|segment| vocabulary.carried(segment)) else { continue };
        let known = candidates.iter().filter_map(|candidate| candidate.path.as_ref());
        if known.into_iter().any(|template| path::matches(template, from)) {
            continue;
        }
        let message =
            format!("redirect from \"{from}\" has no effect: the path carries the method name {verb}");
        let help = "such a request is refused with 460 first; redirect from another path";
        faults.add(&rules::REDIRECT_USELESS, source.clone(), message, help);
    }
}

/// Whether a text can be the value of a response header: printable ASCII, no white space at the ends (D14).
fn is_header_safe(text: &str) -> bool {
    !text.is_empty() && text == text.trim() && text.bytes().all(|byte| (b' '..=b'~').contains(&byte))
}

#[cfg(test)]
mod tests;
