//! Every MUST of the draft has a test, and every test that is named exists.
//!
//! `requirements.toml` is the table. A requirement without a test fails here, as does a test that was renamed, removed
//! or ignored; what is not proved is listed by name with its reason.

#![allow(unreachable_pub, reason = "a test crate exports nothing")]

use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// How often MUST, MUST NOT, SHALL and REQUIRED stand in the draft.
const KEYWORDS: usize = 113;

/// Requirements that are not served yet. Serving one lowers the number; nothing should raise it.
const OPEN: usize = 4;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    section: Vec<Section>,
}

/// A section of the draft.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Section {
    title: String,
    keywords: usize,
    rows: Vec<Row>,
}

/// One requirement.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    id: String,
    /// In our words.
    says: String,
    #[serde(default = "one")]
    keywords: usize,
    #[serde(default)]
    tests: Vec<String>,
    not_ours: Option<String>,
    open: Option<String>,
}

fn one() -> usize {
    1
}

fn table() -> Table {
    toml::from_str(include_str!("requirements.toml")).expect("a table of requirements")
}

fn rows(table: &Table) -> impl Iterator<Item = &Row> {
    table.section.iter().flat_map(|section| &section.rows)
}

#[test]
fn every_keyword_of_the_draft_is_accounted_for() {
    let table = table();
    for section in &table.section {
        let counted: usize = section.rows.iter().map(|row| row.keywords).sum();
        assert_eq!(counted, section.keywords, "rows of `{}` against the keywords it has", section.title);
    }
    assert_eq!(table.section.iter().map(|section| section.keywords).sum::<usize>(), KEYWORDS);
}

#[test]
fn every_requirement_is_proved_or_says_why_not() {
    let table = table();
    let mut ids = BTreeSet::new();
    for row in rows(&table) {
        assert!(ids.insert(&row.id), "`{}` stands twice", row.id);
        assert!(!row.says.is_empty(), "`{}` says nothing", row.id);
        let reasons = usize::from(!row.tests.is_empty())
            + usize::from(row.not_ours.is_some())
            + usize::from(row.open.is_some());
        assert_eq!(reasons, 1, "`{}` ({}) has tests, or one reason for having none", row.id, row.says);
        for reason in [&row.not_ours, &row.open].into_iter().flatten() {
            println!("not proved: {}: {} ({reason})", row.id, row.says);
        }
    }
    assert_eq!(rows(&table).filter(|row| row.open.is_some()).count(), OPEN);
}

#[test]
fn every_test_that_is_named_is_run() {
    let table = table();
    let mut functions = BTreeMap::new();
    for name in rows(&table).flat_map(|row| &row.tests) {
        let (file, function) = name.split_once("::").expect("file::function");
        let tests = functions.entry(file).or_insert_with(|| tests_of(file));
        assert!(tests.contains(function), "{file} has no test `{function}`, or ignores it");
    }
}

/// The tests of a source file: functions under `#[test]`, and those in `proptest!`, which are written the same way.
fn tests_of(file: &str) -> BTreeSet<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    let source = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{file}: {error}"));
    let (mut tests, mut attributes) = (BTreeSet::new(), Vec::new());
    for line in source.lines().map(str::trim) {
        if line.starts_with("#[") {
            attributes.push(line);
            continue;
        }
        if let Some(signature) = line.strip_prefix("fn ") {
            let name = signature.split('(').next().unwrap_or_default();
            let ignored = attributes.iter().any(|attribute| attribute.starts_with("#[ignore"));
            if attributes.contains(&"#[test]") && !ignored {
                tests.insert(name.to_owned());
            }
        }
        if !line.starts_with("//") {
            attributes.clear();
        }
    }
    tests
}

#[test]
fn the_reader_of_sources_is_not_fooled() {
    let tests = tests_of("tests/requirements/main.rs");
    assert!(tests.contains("every_test_that_is_named_is_run"));
    assert!(!tests.contains("tests_of") && !tests.contains("one"));
}
