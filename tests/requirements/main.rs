//! What the draft demands and what the companion decisions settle, each with the tests that prove it.
//!
//! `requirements.toml` and `decisions.toml` are the tables; this reads them. A demand without a test fails here, and so
//! does a test that was renamed, removed or ignored. Counts are pinned, so that a row or an exemption comes or goes
//! knowingly.

use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Rows and exemptions of a table. Whoever changes one of them says so here.
#[derive(Debug, PartialEq)]
struct Pinned {
    rows: usize,
    open: usize,
    not_ours: usize,
}

const REQUIREMENTS: Pinned = Pinned { rows: 145, open: 5, not_ours: 22 };
const DECISIONS: Pinned = Pinned { rows: 56, open: 1, not_ours: 0 };

/// The keywords of the draft that demand (MUST, MUST NOT, SHALL, REQUIRED) and that recommend (SHOULD, SHOULD NOT),
/// outside its definition of these words.
const KEYWORDS: (usize, usize) = (108, 33);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    section: Vec<Section>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Section {
    /// As the draft calls it.
    title: String,
    /// How many rows there are, so that none gets lost.
    rows: usize,
    /// Demanding keywords counted in the section's text.
    #[serde(default)]
    musts: usize,
    /// Recommending keywords counted in the section's text.
    #[serde(default)]
    shoulds: usize,
    rule: Vec<Rule>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    id: String,
    level: Level,
    binds: Party,
    rule: String,
    /// How many keywords of the text the row stands for: several rows may share one, and one row may stand for two.
    #[serde(default = "one")]
    keywords: usize,
    #[serde(default)]
    tests: Vec<String>,
    /// Why nothing can be proven yet. Tests that prove a part of it are named all the same.
    open: Option<String>,
    /// Why it binds nobody who is part of this project.
    not_ours: Option<String>,
}

#[derive(Deserialize, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Level {
    #[serde(rename = "MUST")]
    Must,
    #[serde(rename = "MUST NOT")]
    MustNot,
    #[serde(rename = "SHOULD")]
    Should,
    #[serde(rename = "SHOULD NOT")]
    ShouldNot,
}

#[derive(Deserialize, Debug)]
#[serde(rename_all = "lowercase")]
enum Party {
    Server,
    Compiler,
    Client,
    Catalog,
    Operator,
    Protocol,
}

fn one() -> usize {
    1
}

impl Level {
    fn demands(self) -> bool {
        matches!(self, Level::Must | Level::MustNot)
    }
}

impl Table {
    fn read(name: &str) -> Table {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/requirements").join(name);
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
        toml::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    fn rules(&self) -> impl Iterator<Item = &Rule> {
        self.section.iter().flat_map(|section| &section.rule)
    }

    fn keywords(&self) -> (usize, usize) {
        self.section.iter().fold((0, 0), |sum, section| (sum.0 + section.musts, sum.1 + section.shoulds))
    }

    /// Its counts; the exempted rows are printed by name.
    fn counts(&self) -> Pinned {
        for rule in self.rules() {
            for (state, reason) in [("open", &rule.open), ("not ours", &rule.not_ours)] {
                if let Some(reason) = reason {
                    println!("{} ({:?}): {state}: {reason}", rule.id, rule.binds);
                }
            }
        }
        Pinned {
            rows: self.rules().count(),
            open: self.rules().filter(|rule| rule.open.is_some()).count(),
            not_ours: self.rules().filter(|rule| rule.not_ours.is_some()).count(),
        }
    }
}

impl Section {
    /// What is wrong with its counts.
    fn complaints(&self) -> Vec<String> {
        let stands_for = |demanding: bool| -> usize {
            let rules = self.rule.iter().filter(|rule| rule.level.demands() == demanding);
            rules.map(|rule| rule.keywords).sum()
        };
        let mut complaints = Vec::new();
        for (what, stated, found) in [
            ("rows", self.rows, self.rule.len()),
            ("demanding keywords", self.musts, stands_for(true)),
            ("recommending keywords", self.shoulds, stands_for(false)),
        ] {
            if stated != found {
                complaints
                    .push(format!("section {:?}: {stated} {what} are stated, {found} found", self.title));
            }
        }
        complaints
    }
}

impl Rule {
    /// What is wrong with the row.
    fn complaints(&self, sources: &mut Sources) -> Vec<String> {
        let id = &self.id;
        let mut complaints = Vec::new();
        if self.rule.is_empty() {
            complaints.push(format!("{id}: no summary"));
        }
        match (self.tests.is_empty(), &self.open, &self.not_ours) {
            (true, None, None) => complaints.push(format!("{id}: no test proves {:?}", self.rule)),
            (_, Some(_), Some(_)) => complaints.push(format!("{id}: both open and not ours")),
            (false, _, Some(_)) => complaints.push(format!("{id}: not ours, and yet with tests")),
            (_, Some(reason), _) | (_, _, Some(reason)) if reason.is_empty() => {
                complaints.push(format!("{id}: an exemption needs a reason"));
            }
            _ => {}
        }
        let missing = self.tests.iter().filter(|test| !sources.have(test));
        complaints.extend(missing.map(|test| format!("{id}: {test} is no test, or is ignored")));
        complaints
    }
}

/// The tests of each source file that was asked about.
#[derive(Default)]
struct Sources(BTreeMap<String, BTreeSet<String>>);

impl Sources {
    /// Whether `path::name` is a test that runs.
    fn have(&mut self, test: &str) -> bool {
        let Some((path, name)) = test.rsplit_once("::") else { return false };
        let tests = self.0.entry(path.to_owned()).or_insert_with(|| {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
            tests_in(&std::fs::read_to_string(path).unwrap_or_default())
        });
        tests.contains(name)
    }
}

/// The names of the functions under `#[test]` and not under `#[ignore]`, also those in `proptest!`.
fn tests_in(source: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let (mut tested, mut ignored) = (false, false);
    for line in source.lines().map(str::trim) {
        if line.starts_with("#[") || line.starts_with("//") {
            tested |= line == "#[test]";
            ignored |= line.starts_with("#[ignore");
            continue;
        }
        if let Some(name) = line.strip_prefix("fn ").and_then(|rest| rest.split('(').next())
            && tested
            && !ignored
        {
            names.insert(name.to_owned());
        }
        (tested, ignored) = (false, false);
    }
    names
}

fn complaints(table: &Table) -> Vec<String> {
    let mut sources = Sources::default();
    let mut complaints: Vec<String> = table.section.iter().flat_map(Section::complaints).collect();
    let mut ids = BTreeSet::new();
    let mut titles = BTreeSet::new();
    complaints.extend(
        table
            .section
            .iter()
            .filter(|section| !titles.insert(&section.title))
            .map(|s| format!("twice: {}", s.title)),
    );
    for rule in table.rules() {
        if !ids.insert(&rule.id) {
            complaints.push(format!("{}: the id is taken", rule.id));
        }
        complaints.extend(rule.complaints(&mut sources));
    }
    complaints
}

#[test]
fn every_demand_of_the_draft_has_a_test() {
    let table = Table::read("requirements.toml");
    assert_eq!(complaints(&table), [""; 0]);
    assert_eq!(table.counts(), REQUIREMENTS);
    assert_eq!(table.keywords(), KEYWORDS);
}

#[test]
fn every_decision_has_a_test() {
    let table = Table::read("decisions.toml");
    assert_eq!(complaints(&table), [""; 0]);
    assert_eq!(table.counts(), DECISIONS);
}

#[test]
fn what_is_no_proof_is_noticed() {
    let source = "#[test]\nfn a() {\n}\n#[test]\n#[ignore = \"slow\"]\nfn b() {}\nfn c() {}\n    #[test]\n    // why\n    fn d(x in 0..1) {}\n";
    assert_eq!(tests_in(source), ["a", "d"].map(str::to_owned).into());
    let row = |rest: &str| {
        let text = format!(
            "[[section]]\ntitle = \"T\"\nrows = 1\nmusts = 1\n[[section.rule]]\nid = \"t-1\"\nlevel = \"MUST\"\nbinds = \"server\"\nrule = \"r\"\n{rest}"
        );
        complaints(&toml::from_str(&text).expect("a table")).len()
    };
    let this = "tests = [\"tests/requirements/main.rs::what_is_no_proof_is_noticed\"]\n";
    let cases = [
        (this.to_owned(), 0),
        (String::new(), 1),
        ("tests = [\"tests/requirements/main.rs::complaints\"]".to_owned(), 1),
        ("tests = [\"tests/nowhere.rs::a\"]".to_owned(), 1),
        ("open = \"later\"".to_owned(), 0),
        ("open = \"\"".to_owned(), 1),
        ("not_ours = \"\"".to_owned(), 1),
        ("open = \"later\"\nnot_ours = \"never\"".to_owned(), 1),
        (format!("{this}not_ours = \"never\""), 1),
        (format!("{this}keywords = 2"), 1),
    ];
    for (rest, expected) in cases {
        assert_eq!(row(&rest), expected, "{rest}");
    }
}
