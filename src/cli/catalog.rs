//! `agtp catalog`: the vocabulary, for people and machines.

use super::output::{self, Colours};
use super::{Failure, catalog_diff, output::print};
use crate::catalog::{CATEGORIES, Catalog, Verb};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Commands of `agtp catalog`.
#[derive(Debug, clap::Subcommand)]
pub(super) enum Command {
    /// List the verbs, all or those of a category
    List {
        /// One of the nine categories
        #[arg(long, value_parser = clap::builder::PossibleValuesParser::new(CATEGORIES))]
        category: Option<String>,
        #[command(flatten)]
        source: Source,
        /// For machines
        #[arg(long)]
        json: bool,
    },
    /// Show what a verb means
    Show {
        /// The verb, in any case
        verb: String,
        #[command(flatten)]
        source: Source,
        /// For machines
        #[arg(long)]
        json: bool,
    },
    /// Find verbs whose name or description holds a text
    Search {
        /// The text, in any case
        text: String,
        #[command(flatten)]
        source: Source,
        /// For machines
        #[arg(long)]
        json: bool,
    },
    /// Compare two catalogs, and find what the change would break of a deployment
    Diff(catalog_diff::Args),
}

/// Which catalog is looked at; without either, the one compiled in.
#[derive(Debug, clap::Args)]
pub(super) struct Source {
    /// A catalog document, or `builtin` for the one compiled in
    #[arg(long, value_name = "FILE")]
    catalog: Option<String>,
    /// The catalog that a deployment is served under: the [catalog] file of its agtp-server.toml
    #[arg(long, value_name = "DIR", conflicts_with = "catalog")]
    deployment: Option<PathBuf>,
}

impl Source {
    /// The catalog; nothing after its faults were told.
    fn load(&self) -> Result<Option<Catalog>, Failure> {
        let name = match (&self.catalog, &self.deployment) {
            (Some(name), _) => Some(name.clone()),
            (None, Some(directory)) => catalog_of(directory)?,
            (None, None) => None,
        };
        let catalog = catalog_diff::load(name.as_deref().unwrap_or("builtin"));
        let told =
            |faults: Vec<String>| faults.iter().for_each(|fault| output::complain(format_args!("{fault}")));
        Ok(catalog.map_err(told).ok())
    }
}

/// The catalog file that a deployment's settings name, if they do.
fn catalog_of(deployment: &Path) -> Result<Option<String>, Failure> {
    if !deployment.is_dir() {
        return Err(Failure(format!("{}: no such directory", deployment.display())));
    }
    let file = deployment.join("agtp-server.toml");
    let text = match std::fs::read_to_string(&file) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Failure::file(&file, &error)),
    };
    let settings: toml::Table = text.parse().map_err(|error: toml::de::Error| {
        Failure(format!("{} is no TOML: {}; `agtp check` says where", file.display(), error.message()))
    })?;
    let named = settings.get("catalog").and_then(|catalog| catalog.get("file"));
    match named.map(|name| name.as_str().ok_or("it is a path, in quotes")) {
        None => Ok(None),
        Some(Ok(name)) => Ok(Some(deployment.join(name).display().to_string())),
        Some(Err(why)) => Err(Failure(format!("{}: [catalog] file: {why}", file.display()))),
    }
}

/// Runs `agtp catalog`.
pub(super) fn run(command: Command) -> Result<ExitCode, Failure> {
    let source = match &command {
        Command::Diff(_) => None,
        Command::List { source, .. } | Command::Search { source, .. } | Command::Show { source, .. } => {
            Some(source)
        }
    };
    let loaded = source.map_or(Ok(None), Source::load)?;
    match (command, loaded) {
        (Command::Diff(args), _) => catalog_diff::run(args),
        (_, None) => Ok(ExitCode::from(2)),
        (Command::Show { verb, json, .. }, Some(catalog)) => show(&catalog, &verb, json),
        (Command::List { category, json, .. }, Some(catalog)) => {
            several(&catalog, &list(&catalog, category.as_deref()), json)
        }
        (Command::Search { text, json, .. }, Some(catalog)) => {
            several(&catalog, &search(&catalog, &text), json)
        }
    }
}

/// Prints verbs; exit code 1 if there are none.
fn several(catalog: &Catalog, verbs: &[&Verb], json: bool) -> Result<ExitCode, Failure> {
    let text = if json { machine(catalog, verbs) } else { table(catalog, verbs, Colours::of(&io::stdout())) };
    print(text.as_bytes())?;
    if verbs.is_empty() {
        output::complain(format_args!("no verb matches; try another word, or `agtp catalog list`"));
    }
    Ok(if verbs.is_empty() { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

fn list<'c>(catalog: &'c Catalog, category: Option<&str>) -> Vec<&'c Verb> {
    let belongs =
        |verb: &&Verb| category.is_none_or(|wanted| verb.categories.iter().any(|name| name == wanted));
    catalog.verbs.iter().filter(belongs).collect()
}

/// Names that hold the text first, then descriptions that do.
fn search<'c>(catalog: &'c Catalog, text: &str) -> Vec<&'c Verb> {
    let (upper, lower) = (text.to_uppercase(), text.to_lowercase());
    let (mut by_name, rest): (Vec<_>, Vec<_>) =
        catalog.verbs.iter().partition(|verb| verb.name.contains(&upper));
    by_name.extend(rest.into_iter().filter(|verb| verb.description.to_lowercase().contains(&lower)));
    by_name
}

fn show(catalog: &Catalog, name: &str, json: bool) -> Result<ExitCode, Failure> {
    let name = name.to_uppercase();
    let text = match (catalog.verb(&name), catalog.legacy_verb(&name)) {
        (Some(verb), _) if json => verb_json(catalog, verb).to_string() + "\n",
        (Some(verb), _) => page(catalog, verb, Colours::of(&io::stdout())),
        (None, Some(legacy)) if json => {
            let legacy = json!({
                "name": legacy.name, "legacy": true, "preferred": legacy.preferred, "description": legacy.description,
            });
            legacy.to_string() + "\n"
        }
        (None, Some(legacy)) => {
            format!("{}  legacy, use {}\n  {}\n", legacy.name, legacy.preferred, legacy.description)
        }
        (None, None) => {
            output::complain(format_args!(
                "{name} is not in catalog {}; {}",
                catalog.version,
                nearest(catalog, &name)
            ));
            return Ok(ExitCode::from(1));
        }
    };
    print(text.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

/// What to try instead of an unknown name: verbs that share its beginning, as far as some do.
fn nearest(catalog: &Catalog, name: &str) -> String {
    for end in (2..=name.len()).rev() {
        let Some(beginning) = name.get(..end) else { continue };
        let near =
            catalog.verbs.iter().map(|verb| verb.name.as_str()).filter(|verb| verb.starts_with(beginning));
        let near: Vec<_> = near.take(5).collect();
        if !near.is_empty() {
            return format!("near it: {}", near.join(", "));
        }
    }
    "try `agtp catalog search TEXT`".to_owned()
}

fn table(catalog: &Catalog, verbs: &[&Verb], colours: Colours) -> String {
    let width = verbs.iter().map(|verb| verb.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for verb in verbs {
        let (strong, reset) = (colours.strong, colours.reset);
        let mark = if catalog.is_floor(&verb.name) { '*' } else { ' ' };
        let _ = writeln!(text, "{strong}{:width$}{reset} {mark} {}", verb.name, verb.description);
    }
    text
}

fn page(catalog: &Catalog, verb: &Verb, colours: Colours) -> String {
    let mut text =
        format!("{}{}{}  {}", colours.strong, verb.name, colours.reset, verb.categories.join(", "));
    if catalog.is_floor(&verb.name) {
        text.push_str("  floor: every server serves it");
    }
    let _ = write!(text, "\n  {}\n", verb.description);
    let facts = [
        ("deprecated in", &verb.deprecated_in),
        ("removed in", &verb.removed_in),
        ("successor", &verb.successor),
    ];
    for (label, value) in facts {
        if let Some(value) = value {
            let _ = writeln!(text, "  {label} {value}");
        }
    }
    text
}

fn machine(catalog: &Catalog, verbs: &[&Verb]) -> String {
    let verbs: Vec<_> = verbs.iter().map(|verb| verb_json(catalog, verb)).collect();
    json!({ "catalog_version": catalog.version, "verbs": verbs }).to_string() + "\n"
}

fn verb_json(catalog: &Catalog, verb: &Verb) -> Value {
    json!({
        "name": verb.name,
        "categories": verb.categories,
        "description": verb.description,
        "floor": catalog.is_floor(&verb.name),
        "deprecated_in": verb.deprecated_in,
        "removed_in": verb.removed_in,
        "successor": verb.successor,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_whole_or_of_one_category() {
        let catalog = Catalog::builtin();
        assert_eq!(list(&catalog, None).len(), 425);
        let transactions = list(&catalog, Some("transaction"));
        assert!(transactions.iter().any(|verb| verb.name == "BOOK"));
        assert!(transactions.len() < 425);
    }

    #[test]
    fn names_are_found_before_descriptions() {
        let catalog = Catalog::builtin();
        let found = search(&catalog, "book");
        let names: Vec<_> = found.iter().map(|verb| verb.name.as_str()).collect();
        assert!(names.starts_with(&["BOOK", "REBOOK"]), "{names:?}");
        assert!(search(&catalog, "no such text").is_empty());
    }

    #[test]
    fn an_unknown_name_brings_those_near_it() {
        let catalog = Catalog::builtin();
        assert_eq!(nearest(&catalog, "BOOKING"), "near it: BOOK");
        assert!(nearest(&catalog, "ÉÉÉ").contains("search"));
    }

    #[test]
    fn machines_get_every_fact() {
        let catalog = Catalog::builtin();
        let value: Value = serde_json::from_str(&machine(&catalog, &list(&catalog, None))).unwrap();
        assert_eq!(value["catalog_version"], "1.0.0");
        let query = value["verbs"].as_array().unwrap().iter().find(|verb| verb["name"] == "QUERY").unwrap();
        assert_eq!(query["floor"], true);
        assert_eq!(query["successor"], Value::Null);
    }
}
