//! `agtp catalog diff`, also a program of its own under the draft's name for it, `agtp-catalog-diff` (draft: Tooling).

use super::output::{self, Colours, visible};
use super::{Failure, Outcome, finish};
use crate::catalog::{Catalog, CatalogDiff, Change, Verb};
use crate::compiler::ir::Source;
use crate::compiler::{
    Effect, EndpointConflict, Impact, PathConflict, PolicyConflict, RecipeConflict, impact,
};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// What was done and what machines get, for `--help`.
const AFTER_HELP: &str = "\
Exit code:
  0  nothing would break; without --against-deployment always, whatever was removed
  1  something of the deployment would break
  2  a catalog, the deployment or a file of it cannot be read (1 if what can be read would break already)

--json prints one object; keys are only ever added to it and to its elements:
  old_version, new_version  strings
  added, removed            verbs: \"NAME\"
  newly_deprecated          {name, deprecated_in, removed_in, successor}
  endpoint_conflicts        {file, line, field, method, path, successor}: an endpoint declares a removed method;
                            field is \"method\" or \"deprecated.successor.method\"
  recipe_conflicts          {file, line, recipe, step, method, successor, used_by}: a step names a removed method;
                            step counts from 1, used_by lists the files of endpoints composed by the recipe
  policy_conflicts          {file, line, directive, verb, effect}: directive is allow, disallow, aliases, custom,
                            redirects.from_method or redirects.to_method; effect is \"skipped\" or
                            \"refuses-to-start\"; custom is in conflict with an added verb, the others with a removed one
  path_grammar_conflicts    {file, line, field, method, path, segment, verb}: a segment of an endpoint's path is an
                            added verb; field is \"path\" or \"deprecated.successor.path\"
The four lists of conflicts are empty without --against-deployment. What a declaration leaves out is null.";

/// Arguments of `agtp catalog diff`.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Args {
    /// The catalog in use: a methods.json, or `builtin` for the one compiled in
    #[arg(value_name = "OLD")]
    old: String,
    /// The catalog to change to, in the same way
    #[arg(value_name = "NEW")]
    new: String,
    /// Look for what the change would break of this deployment
    #[arg(long, value_name = "DIR")]
    against_deployment: Option<PathBuf>,
    /// For machines
    #[arg(long)]
    json: bool,
}

/// Compares two catalogs of AGTP methods, and looks for what the change would break of a deployment.
#[derive(Debug, clap::Parser)]
#[command(name = "agtp-catalog-diff", version, max_term_width = 110)]
struct Program {
    #[command(flatten)]
    args: Args,
}

/// The program `agtp-catalog-diff`.
pub fn catalog_diff() -> ExitCode {
    finish("agtp-catalog-diff", |program: Program| run(program.args))
}

/// Runs `agtp catalog diff`.
pub(super) fn run(args: Args) -> Outcome {
    let (old, new) = match (load(&args.old), load(&args.new)) {
        (Ok(old), Ok(new)) => (old, new),
        (old, new) => {
            let faults = [old.err(), new.err()].into_iter().flatten().flatten();
            faults.for_each(|fault| output::complain(format_args!("{fault}")));
            return Ok(ExitCode::from(2));
        }
    };
    let diff = CatalogDiff::between(&old, &new);
    let found = args.against_deployment.as_deref().map(|dir| impact(dir, &diff)).transpose();
    let found = found.map_err(Failure)?;
    let text = if args.json {
        machine(&diff, found.as_ref()).to_string() + "\n"
    } else {
        let deployment = args.against_deployment.as_deref().zip(found.as_ref());
        page(&diff, deployment, Colours::of(&io::stdout()))
    };
    output::print(text.as_bytes())?;
    Ok(found.map_or(ExitCode::SUCCESS, |found| verdict(&found)))
}

/// What breaks is known for certain; that nothing does only if everything was read.
fn verdict(found: &Impact) -> ExitCode {
    let unread = &found.unread.faults;
    if !unread.is_empty() {
        unread.iter().for_each(|fault| output::complain(format_args!("{fault}")));
        output::complain(format_args!("these files were not looked at"));
    }
    match (found.is_breaking(), unread.is_empty()) {
        (true, _) => ExitCode::from(1),
        (false, false) => ExitCode::from(2),
        (false, true) => ExitCode::SUCCESS,
    }
}

/// The catalog under a name, or every fault of it.
pub(super) fn load(name: &str) -> Result<Catalog, Vec<String>> {
    if name == "builtin" {
        return Ok(Catalog::builtin());
    }
    let text = std::fs::read_to_string(name)
        .map_err(|error| vec![format!("agtp: {}", Failure::file(Path::new(name), &error).0)])?;
    Catalog::parse(&text)
        .map_err(|faults| faults.iter().map(|fault| format!("{}:{fault}", visible(name))).collect())
}

fn machine(diff: &CatalogDiff<'_>, found: Option<&Impact>) -> Value {
    fn list<T>(items: Option<&[T]>, object: impl Fn(&T) -> Value) -> Vec<Value> {
        items.unwrap_or_default().iter().map(object).collect()
    }
    let names = |verbs: &[&Verb]| verbs.iter().map(|verb| verb.name.clone()).collect::<Vec<_>>();
    json!({
        "old_version": diff.old.version,
        "new_version": diff.new.version,
        "added": names(&diff.added),
        "removed": names(&diff.removed),
        "newly_deprecated": diff.newly_deprecated.iter().map(|verb| deprecation_json(verb)).collect::<Vec<_>>(),
        "path_grammar_conflicts": list(found.map(|found| found.paths.as_slice()), path_json),
        "endpoint_conflicts": list(found.map(|found| found.endpoints.as_slice()), endpoint_json),
        "recipe_conflicts": list(found.map(|found| found.recipes.as_slice()), recipe_json),
        "policy_conflicts": list(found.map(|found| found.policies.as_slice()), policy_json),
    })
}

fn deprecation_json(verb: &Verb) -> Value {
    json!({
        "name": verb.name,
        "deprecated_in": verb.deprecated_in,
        "removed_in": verb.removed_in,
        "successor": verb.successor,
    })
}

fn endpoint_json(conflict: &EndpointConflict) -> Value {
    json!({
        "file": conflict.source.file,
        "line": conflict.source.line,
        "field": conflict.field,
        "method": conflict.method,
        "path": conflict.path,
        "successor": conflict.successor,
    })
}

fn recipe_json(conflict: &RecipeConflict) -> Value {
    json!({
        "file": conflict.source.file,
        "line": conflict.source.line,
        "recipe": conflict.recipe,
        "step": conflict.step,
        "method": conflict.method,
        "successor": conflict.successor,
        "used_by": conflict.used_by,
    })
}

fn policy_json(conflict: &PolicyConflict) -> Value {
    json!({
        "file": conflict.source.file,
        "line": conflict.source.line,
        "directive": conflict.directive,
        "verb": conflict.verb,
        "effect": conflict.effect.as_str(),
    })
}

fn path_json(conflict: &PathConflict) -> Value {
    json!({
        "file": conflict.source.file,
        "line": conflict.source.line,
        "field": conflict.field,
        "method": conflict.method,
        "path": conflict.path,
        "segment": conflict.segment,
        "verb": conflict.verb,
    })
}

/// All of it, for people.
fn page(diff: &CatalogDiff<'_>, deployment: Option<(&Path, &Impact)>, colours: Colours) -> String {
    let mut page = Page { text: String::new(), colours };
    page.heading(&format!("catalog {} -> {}", diff.old.version, diff.new.version));
    if diff.is_empty() {
        page.text.push_str("the same verbs, with the same descriptions, categories and deprecations\n");
    }
    page.section("added", diff.added.iter().map(|verb| (verb.name.clone(), verb.description.clone())));
    page.section("removed", diff.removed.iter().map(|verb| (verb.name.clone(), farewell(verb))));
    let deprecated = diff.newly_deprecated.iter();
    page.section("newly deprecated", deprecated.map(|verb| (verb.name.clone(), prospect(verb))));
    page.section("changed", diff.changed.iter().map(|change| (change.name.to_owned(), aspects(change))));
    page.warnings("against the versioning scheme", diff.notes());
    match deployment {
        Some((dir, found)) => page.deployment(dir, found),
        None if diff.added.is_empty() && diff.removed.is_empty() => {}
        None => page.text.push_str("\n--against-deployment DIR shows what the change would break\n"),
    }
    page.text
}

/// What was known of a verb that is removed.
fn farewell(verb: &Verb) -> String {
    let since = match &verb.deprecated_in {
        Some(version) => format!("deprecated since {version}"),
        None => "never deprecated".to_owned(),
    };
    since + &instead(verb.successor.as_deref())
}

/// What is known of a deprecated verb's future.
fn prospect(verb: &Verb) -> String {
    let since = format!("since {}", verb.deprecated_in.as_deref().unwrap_or("?"));
    let until = verb.removed_in.as_ref().map_or(String::new(), |version| format!(", removed in {version}"));
    since + &until + &instead(verb.successor.as_deref())
}

fn instead(successor: Option<&str>) -> String {
    successor.map_or(String::new(), |successor| format!("; use {successor}"))
}

fn aspects(change: &Change<'_>) -> String {
    change.aspects.iter().map(|aspect| aspect.as_str()).collect::<Vec<_>>().join(", ")
}

struct Page {
    text: String,
    colours: Colours,
}

impl Page {
    fn heading(&mut self, heading: &str) {
        let Colours { strong, reset, .. } = self.colours;
        let _ = writeln!(self.text, "{strong}{}{reset}", visible(heading));
    }

    /// Two columns under a title with their number; nothing if there are no rows.
    fn section(&mut self, title: &str, rows: impl Iterator<Item = (String, String)>) {
        let rows: Vec<_> = rows.map(|(left, right)| (visible(&left), visible(&right))).collect();
        let Some(width) = rows.iter().map(|(left, _)| left.chars().count()).max() else { return };
        self.text.push('\n');
        self.heading(&format!("{title} ({})", rows.len()));
        for (left, right) in rows {
            let _ = writeln!(self.text, "  {left:width$}  {right}");
        }
    }

    fn warnings(&mut self, title: &str, notes: Vec<String>) {
        let Colours { warning, reset, .. } = self.colours;
        if !notes.is_empty() {
            let _ = writeln!(self.text, "\n{warning}{title}{reset}");
        }
        for note in notes {
            let _ = writeln!(self.text, "  {}", visible(&note));
        }
    }

    fn deployment(&mut self, dir: &Path, found: &Impact) {
        let (files, recipes) =
            (counted(found.endpoint_files, "endpoint"), counted(found.recipe_count, "recipe"));
        self.text.push('\n');
        self.heading(&format!("deployment {}: {files}, {recipes}", dir.display()));
        self.section("endpoint conflicts", found.endpoints.iter().map(endpoint_row));
        self.section("recipe conflicts", found.recipes.iter().map(recipe_row));
        self.section("policy conflicts", found.policies.iter().map(policy_row));
        self.section("path grammar conflicts", found.paths.iter().map(path_row));
        let verdict = match found.conflicts() {
            0 => "nothing in it would break".to_owned(),
            conflicts => counted(conflicts, "conflict"),
        };
        let _ = writeln!(self.text, "\n{verdict}");
    }
}

fn place(source: &Source) -> String {
    format!("{}:{}", source.file, source.line)
}

fn endpoint_row(conflict: &EndpointConflict) -> (String, String) {
    let EndpointConflict { method, path, successor, .. } = conflict;
    let mut what = match conflict.field {
        "method" => format!("{method} {}", path.as_deref().unwrap_or("")).trim_end().to_owned(),
        field => format!("{field} is {method}"),
    };
    what += ": left out";
    (place(&conflict.source), what + &instead(successor.as_deref()))
}

fn recipe_row(conflict: &RecipeConflict) -> (String, String) {
    let RecipeConflict { recipe, step, method, used_by, .. } = conflict;
    let mut what = format!("step {step} of {recipe} is {method}: left out");
    if !used_by.is_empty() {
        what += &format!(", with {}", used_by.join(", "));
    }
    (place(&conflict.source), what + &instead(conflict.successor.as_deref()))
}

fn policy_row(conflict: &PolicyConflict) -> (String, String) {
    let PolicyConflict { directive, verb, .. } = conflict;
    let what = match conflict.effect {
        Effect::Skipped => format!("{directive} names {verb}: skipped"),
        Effect::Refused => format!("{directive} names {verb}: the server refuses to start"),
    };
    (place(&conflict.source), what)
}

fn path_row(conflict: &PathConflict) -> (String, String) {
    let PathConflict { method, path, segment, verb, .. } = conflict;
    let path = match (conflict.field, method) {
        ("path", Some(method)) => format!("{method} {path}"),
        ("path", None) => path.clone(),
        (field, _) => format!("{field} is {path}"),
    };
    (place(&conflict.source), format!("{path}: segment \"{segment}\" is the added verb {verb}; left out"))
}

fn counted(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_arguments_are_consistent() {
        Program::command().debug_assert();
    }

    #[test]
    fn without_a_deployment_there_are_no_conflicts_and_a_hint() {
        let old = Catalog::builtin();
        let mut new = Catalog { version: "2.0.0".to_owned(), ..Catalog::builtin() };
        new.verbs.retain(|verb| verb.name != "BOOK");
        let diff = CatalogDiff::between(&old, &new);
        let shown = page(&diff, None, Colours::PLAIN);
        let expected = "\
catalog 1.0.0 -> 2.0.0

removed (1)
  BOOK  never deprecated

against the versioning scheme
  BOOK is removed without having been deprecated

--against-deployment DIR shows what the change would break
";
        assert_eq!(shown, expected);
        assert!(page(&diff, None, Colours::TERMINAL).contains("\x1b[1mremoved (1)\x1b[0m\n"));
        let machine = machine(&diff, None);
        assert_eq!(machine["removed"], json!(["BOOK"]));
        assert_eq!(machine["endpoint_conflicts"], json!([]));
        assert_eq!(machine.as_object().unwrap().len(), 9);
    }

    #[test]
    fn the_same_catalog_says_so() {
        let catalog = Catalog::builtin();
        let shown = page(&CatalogDiff::between(&catalog, &catalog), None, Colours::PLAIN);
        assert!(shown.starts_with("catalog 1.0.0 -> 1.0.0\nthe same verbs"), "{shown}");
        assert_eq!(shown.lines().count(), 2);
    }
}
