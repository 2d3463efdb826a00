//! Deployments under another catalog: what is left out, and what a change of catalogs would break.

use super::*;
use crate::catalog::{CatalogDiff, Verb};

/// The canonical catalog as version 2.0.0, some verbs removed and some added.
fn evolved(removed: &[&str], added: &[&str]) -> Catalog {
    let mut catalog = Catalog { version: "2.0.0".to_owned(), ..Catalog::builtin() };
    let model = catalog.verb("BOOK").unwrap().clone();
    catalog.verbs.retain(|verb| !removed.contains(&verb.name.as_str()));
    let new = |name: &&str| Verb { name: (*name).to_owned(), ..model.clone() };
    catalog.verbs.extend(added.iter().map(new));
    catalog.verbs.sort_by(|a, b| a.name.cmp(&b.name));
    catalog
}

/// The canonical document as version 2.0.0 without some verbs.
fn document(removed: &[&str]) -> String {
    let text = include_str!("../../../../catalog/methods.json").replacen("1.0.0", "2.0.0", 1);
    let kept = text
        .lines()
        .filter(|line| !removed.iter().any(|name| line.trim_start().starts_with(&format!("\"{name}\":"))));
    kept.collect::<Vec<_>>().join("\n")
}

fn impact_of(files: &[(&str, &str)], removed: &[&str], added: &[&str]) -> Impact {
    let old = Catalog::builtin();
    let new = evolved(removed, added);
    impact(&Directory::new(files).root, &CatalogDiff::between(&old, &new)).unwrap()
}

const POLICY: &str = r#"[catalog]
file = "methods.json"
[policies.methods]
allow = [
  "BOOK",
  "FIND",
]
disallow = ["AUCTION"]
custom = ["TELEPORT", "QUOTE"]
[policies.methods.aliases]
GET = "BOOK"
BOOK = "FIND"
[[policies.methods.redirects]]
from_method = "AUCTION"
to_method = "BOOK"
[[policies.methods.redirects]]
from_method = "FIND"
to_method = "QUOTE"
"#;

const RECIPES: &str = r#"[[recipe]]
name = "trip"
[[recipe.steps]]
method = "QUERY"
[[recipe.steps]]
method = "BOOK"
[[recipe]]
name = "look"
steps = [{ method = "QUERY" }]
"#;

#[test]
fn every_use_of_a_removed_verb_is_found_with_its_line() {
    let composed = endpoint_at("FIND", "/trips").replace(
        "\"registered_function\"\nfunction = \"rooms::book_room\"",
        "\"composition\"\nrecipe = \"trip\"",
    );
    let successor = edited(
        "[endpoint.handler]",
        "[endpoint.deprecated]\ndeprecated_in = \"1\"\nsuccessor = { method = \"AUCTION\" }\n[endpoint.handler]",
    )
    .replace("\"BOOK\"", "\"FIND\"");
    let found = impact_of(
        &[
            ("agtp-server.toml", POLICY),
            ("agtp-recipes.toml", RECIPES),
            ("endpoints/a.toml", ENDPOINT),
            ("endpoints/b.toml", &composed),
            ("endpoints/c.toml", &successor),
            ("endpoints/d.toml", &endpoint_at("QUOTE", "/quotes")),
        ],
        &["BOOK", "AUCTION", "QUOTE"],
        &["TELEPORT"],
    );
    let at = |source: &Source| format!("{}:{}", source.file, source.line);
    let endpoints: Vec<_> = found
        .endpoints
        .iter()
        .map(|conflict| format!("{} {} {}", at(&conflict.source), conflict.field, conflict.method))
        .collect();
    let expected =
        ["endpoints/a.toml:2 method BOOK", "endpoints/c.toml:28 deprecated.successor.method AUCTION"];
    assert_eq!(endpoints, expected);
    assert_eq!(found.endpoints[0].path.as_deref(), Some("/rooms/{room_id}"));
    let expected = RecipeConflict {
        source: Source { file: "agtp-recipes.toml".to_owned(), line: 6 },
        recipe: "trip".to_owned(),
        step: 2,
        method: "BOOK".to_owned(),
        successor: None,
        used_by: vec!["endpoints/b.toml".to_owned()],
    };
    assert_eq!(found.recipes, [expected]);
    let policies: Vec<_> = found
        .policies
        .iter()
        .map(|c| format!("{} {} {} {}", c.source.line, c.directive, c.verb, c.effect.as_str()))
        .collect();
    let expected = [
        "9 custom TELEPORT refuses-to-start",
        "5 allow BOOK skipped",
        "8 disallow AUCTION skipped",
        "11 aliases BOOK refuses-to-start",
        "14 redirects.from_method AUCTION skipped",
        "15 redirects.to_method BOOK skipped",
    ];
    assert_eq!(policies, expected, "QUOTE is custom and stays");
    assert_eq!((found.endpoint_files, found.recipe_count), (4, 2));
    assert_eq!(found.conflicts(), 9);
    assert!(found.unread.faults.is_empty(), "{}", found.unread);
}

#[test]
fn paths_collide_with_added_verbs_however_they_are_written() {
    let paths = |path: &str| {
        let found =
            impact_of(&[("endpoints/a.toml", &endpoint_at("FIND", path))], &[], &["TELEPORT", "ABDUCT"]);
        assert!(found.endpoints.is_empty());
        found.paths.into_iter().map(|conflict| (conflict.segment, conflict.verb)).collect::<Vec<_>>()
    };
    for segment in ["teleport", "Tele-Port", "tele_port", "%74eleport"] {
        let expected = [(segment.to_owned(), "TELEPORT".to_owned())];
        assert_eq!(paths(&format!("/a/{segment}/{{teleport}}")), expected);
    }
    assert_eq!(paths("/abduct/teleport").len(), 2);
    for path in ["/", "/teleports", "/{teleport}", "/find", "/tele.port"] {
        assert_eq!(paths(path), [], "{path}");
    }
}

#[test]
fn paths_of_redirects_collide_too() {
    let settings = "[[policies.methods.redirects]]\nfrom_method = \"FIND\"\nfrom_path = \"/teleport\"\n\
                    to_method = \"FIND\"\nto_path = \"/rooms/tele-port\"\n";
    let found = impact_of(&[("agtp-server.toml", settings)], &[], &["TELEPORT"]);
    let told: Vec<_> = found.paths.iter().map(|conflict| (conflict.source.line, conflict.field)).collect();
    assert_eq!(told, [(3, "redirects.from_path"), (5, "redirects.to_path")]);
    assert!(found.paths.iter().all(|conflict| conflict.method.as_deref() == Some("FIND")));
    assert!(found.is_breaking());
}

#[test]
fn other_faults_hide_nothing_and_unread_files_are_told() {
    let faulty = "[endpoint]\nmethod = \"BOOK\"\npath = \"rooms//teleport?\"\nnonsense = 1\nhandler = 3\n";
    let found = impact_of(
        &[
            ("endpoints/a.toml", faulty),
            ("endpoints/b.toml", "[endpoint"),
            ("endpoints/c.toml", "endpoint = 1\n"),
            ("endpoints/d.toml", "[endpoint]\nmethod = 1\npath = []\ndeprecated = \"no\"\n"),
            ("endpoints/e.toml", "[endpoint]\npath = \"/a/teleport\"\n"),
            ("agtp-recipes.toml", "[[recipe]]\nsteps = [1, { method = \"BOOK\" }, { method = 2 }]\n"),
            (
                "agtp-server.toml",
                "[policies]\nmethods = { allow = \"*\", disallow = \"BOOK\", aliases = 3, redirects = 4 }\n",
            ),
        ],
        &["BOOK"],
        &["TELEPORT"],
    );
    assert_eq!((found.endpoints.len(), found.recipes.len(), found.policies.len()), (1, 1, 0));
    assert_eq!(found.paths.len(), 1);
    assert_eq!((found.paths[0].method.as_deref(), found.paths[0].path.as_str()), (None, "/a/teleport"));
    assert_eq!(shown(&found.unread.faults), ["endpoints/b.toml:1 toml-syntax"]);
    let none = Directory::new(&[]).root.join("none");
    let catalog = Catalog::builtin();
    assert!(impact(&none, &CatalogDiff::between(&catalog, &catalog)).is_err());
}

#[test]
fn what_breaks_is_what_is_left_out_when_read() {
    let catalog = document(&["BOOK", "AUCTION"]);
    let composed = endpoint_at("FIND", "/trips")
        .replace(
            "\"registered_function\"\nfunction = \"rooms::book_room\"",
            "\"composition\"\nrecipe = \"trip\"",
        )
        .replace("[\"room_unavailable\"]", "[\"composition_failed\"]");
    let settings = POLICY
        .replace("GET = \"BOOK\"\n", "")
        .replace("custom = [\"TELEPORT\", \"QUOTE\"]", "custom = [\"TELEPORT\"]");
    let reading = reading(&[
        ("methods.json", &catalog),
        ("agtp-server.toml", &settings),
        ("agtp-recipes.toml", RECIPES),
        ("endpoints/a.toml", ENDPOINT),
        ("endpoints/b.toml", &composed),
        ("endpoints/c.toml", &endpoint_at("FIND", "/rooms")),
        ("endpoints/d.toml", "["),
    ]);
    let faults = shown(&reading.report.faults);
    let expected = [
        "agtp-recipes.toml:6 method-not-in-catalog",
        "agtp-server.toml:5 policy-method-skipped",
        "agtp-server.toml:8 policy-method-skipped",
        "agtp-server.toml:13 policy-method-skipped",
        "agtp-server.toml:14 policy-method-skipped",
        "endpoints/a.toml:2 method-not-in-catalog",
        "endpoints/d.toml:1 toml-syntax",
    ];
    assert_eq!(faults, expected);
    let left_out: Vec<_> = reading.left_out.iter().map(ToString::to_string).collect();
    let expected = [
        "BOOK /rooms/{room_id} (endpoints/a.toml)",
        "FIND /trips (endpoints/b.toml)",
        "endpoints/d.toml",
        "recipe trip (agtp-recipes.toml)",
    ];
    assert_eq!(left_out, expected);
    let deployment = reading.deployment.unwrap();
    assert_eq!(deployment.endpoints.len(), 1);
    assert_eq!(deployment.settings.methods.allow, Some(vec!["FIND".to_owned()]));
    assert_eq!(deployment.settings.methods.redirects.len(), 1);
    let fault = reading.report.faults.iter().find(|fault| fault.source.file == "endpoints/a.toml").unwrap();
    assert_eq!(
        fault.message,
        "BOOK /rooms/{room_id} is left out: catalog 2.0.0 has no BOOK, unlike the canonical 1.0.0"
    );
}

#[test]
fn an_alias_to_a_removed_verb_refuses_and_a_removed_verb_may_be_kept_as_a_custom_one() {
    let read = |policy: &str| {
        let settings = format!("[catalog]\nfile = \"methods.json\"\n{policy}");
        reading(&[
            ("methods.json", &document(&["BOOK"])),
            ("agtp-server.toml", &settings),
            ("endpoints/a.toml", ENDPOINT),
        ])
    };
    let refused = read("[policies.methods.aliases]\nHOLD = \"BOOK\"\n");
    assert!(refused.deployment.is_none());
    let kept = read("[policies.methods]\ncustom = [\"BOOK\"]\n");
    assert_eq!(kept.report.errors(), 0, "{}", kept.report);
    assert_eq!(kept.deployment.unwrap().endpoints.len(), 1);
    assert!(kept.left_out.is_empty());
}
