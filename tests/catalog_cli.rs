//! The catalog's evolution, as an operator sees it: `agtp catalog diff`, `agtp-catalog-diff`, and a deployment served
//! under another catalog.

mod common;

use common::{Folder, ask, echo_endpoint, functions, times};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Output, Stdio};

const AGENT: &str = "bd0813b1a3a29598fb30b9723143930576c00d8f48bf635690264b8d89c8440d";

/// The canonical catalog as another version, with something done to its verbs.
fn catalog(version: &str, edit: impl FnOnce(&mut serde_json::Map<String, Value>)) -> String {
    let mut catalog: Value = serde_json::from_str(include_str!("../catalog/methods.json")).unwrap();
    catalog["version"] = json!(version);
    edit(catalog["verbs"].as_object_mut().unwrap());
    serde_json::to_string_pretty(&catalog).unwrap()
}

/// Version 1.1.0: BOOK is deprecated, TELEPORT is new.
fn next_minor() -> String {
    catalog("1.1.0", |verbs| {
        verbs["BOOK"]["deprecated_in"] = json!("1.1.0");
        verbs["BOOK"]["removed_in"] = json!("2.0.0");
        verbs["BOOK"]["successor"] = json!("RESERVE");
        verbs.insert(
            "TELEPORT".to_owned(),
            json!({"categories": ["transaction"], "description": "Be there."}),
        );
    })
}

/// Version 2.0.0: BOOK is gone, FIND deprecated, TELEPORT still there.
fn next_major() -> String {
    catalog("2.0.0", |verbs| {
        verbs.remove("BOOK");
        verbs["FIND"]["deprecated_in"] = json!("2.0.0");
        verbs["FIND"]["successor"] = json!("LOOKUP");
        verbs.insert(
            "TELEPORT".to_owned(),
            json!({"categories": ["transaction"], "description": "Be there."}),
        );
    })
}

const SETTINGS: &str = r#"[catalog]
file = "methods.json"
[policies]
scope_required_for_invocation = false
[policies.methods]
disallow = ["BOOK", "AUCTION"]
[[policies.methods.redirects]]
from_method = "SEARCH"
to_method = "FIND"
[[policies.methods.redirects]]
from_method = "SPOT"
to_method = "BOOK"
"#;

const RECIPES: &str = "[[recipe]]\nname = \"trip\"\n[[recipe.steps]]\nmethod = \"BOOK\"\npath = \"/rooms\"\n";

/// A deployment that has something of everything, under a catalog.
fn deployment(catalog: &str) -> Folder {
    let (book, find) = (echo_endpoint("BOOK", "/rooms", "", ""), echo_endpoint("FIND", "/rooms", "", ""));
    let arrive = echo_endpoint("CHECK", "/gates/tele-port", "", "");
    let agent =
        format!(r#"{{"agent_id":"{AGENT}","name":"a","status":"active","requires":{{"scopes":[]}}}}"#);
    Folder::with(&[
        ("methods.json", catalog),
        ("agtp-server.toml", SETTINGS),
        ("agtp-recipes.toml", RECIPES),
        ("endpoints/arrive.toml", &arrive),
        ("endpoints/book.toml", &book),
        ("endpoints/find.toml", &find),
        ("agents/a.agent.json", &agent),
    ])
}

fn run(program: &str, arguments: &[&str]) -> Output {
    Command::new(program).args(arguments).output().unwrap()
}

/// Exit code, stdout and stderr of the draft's tool.
fn diff(arguments: &[&str]) -> (i32, String, String) {
    taken(run(env!("CARGO_BIN_EXE_agtp-catalog-diff"), arguments))
}

fn taken(output: Output) -> (i32, String, String) {
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

fn path_of(folder: &Folder, name: &str) -> String {
    folder.path().join(name).display().to_string()
}

#[test]
fn a_diff_alone_breaks_nothing() {
    let files = Folder::with(&[("a.json", &next_minor()), ("b.json", &next_major())]);
    let (a, b) = (path_of(&files, "a.json"), path_of(&files, "b.json"));
    let (code, shown, complaints) = diff(&[&a, &b]);
    let expected = "\
catalog 1.1.0 -> 2.0.0

removed (1)
  BOOK  deprecated since 1.1.0; use RESERVE

newly deprecated (1)
  FIND  since 2.0.0; use LOOKUP

--against-deployment DIR shows what the change would break
";
    assert_eq!((code, shown.as_str(), complaints.as_str()), (0, expected, ""));
    let (code, shown, _) = diff(&["builtin", &a]);
    assert!(code == 0 && shown.contains("added (1)\n  TELEPORT  Be there.\n"), "{shown}");
    assert!(shown.contains("BOOK  since 1.1.0, removed in 2.0.0; use RESERVE"), "{shown}");
    let (code, shown, _) = diff(&["builtin", &b]);
    assert!(code == 0 && shown.contains("BOOK is removed without having been deprecated"), "{shown}");
}

#[test]
fn both_programs_say_the_same() {
    let files = Folder::with(&[("b.json", &next_major())]);
    let b = path_of(&files, "b.json");
    for rest in [&[][..], &["--json"], &["--against-deployment", env!("CARGO_MANIFEST_DIR")]] {
        let arguments = [&["builtin", b.as_str()], rest].concat();
        let whole = run(env!("CARGO_BIN_EXE_agtp"), &[&["catalog", "diff"], arguments.as_slice()].concat());
        assert_eq!(taken(whole), diff(&arguments), "{rest:?}");
    }
}

#[test]
fn machines_get_the_documented_keys() {
    let folder = deployment(&next_major());
    let new = path_of(&folder, "methods.json");
    let (code, shown, complaints) =
        diff(&["builtin", &new, "--json", "--against-deployment", &folder.path().display().to_string()]);
    assert_eq!((code, complaints.as_str()), (1, ""));
    let expected = json!({
        "old_version": "1.0.0",
        "new_version": "2.0.0",
        "added": ["TELEPORT"],
        "removed": ["BOOK"],
        "newly_deprecated": [
            {"name": "FIND", "deprecated_in": "2.0.0", "removed_in": null, "successor": "LOOKUP"},
        ],
        "path_grammar_conflicts": [{
            "file": "endpoints/arrive.toml", "line": 3, "field": "path", "method": "CHECK",
            "path": "/gates/tele-port", "segment": "tele-port", "verb": "TELEPORT",
        }],
        "endpoint_conflicts": [{
            "file": "endpoints/book.toml", "line": 2, "field": "method", "method": "BOOK", "path": "/rooms",
            "successor": null,
        }],
        "recipe_conflicts": [{
            "file": "agtp-recipes.toml", "line": 4, "recipe": "trip", "step": 1, "method": "BOOK",
            "successor": null, "used_by": [],
        }],
        "policy_conflicts": [
            {"file": "agtp-server.toml", "line": 6, "directive": "disallow", "verb": "BOOK", "effect": "skipped"},
            {"file": "agtp-server.toml", "line": 12, "directive": "redirects.to_method", "verb": "BOOK",
             "effect": "skipped"},
        ],
    });
    assert_eq!(serde_json::from_str::<Value>(&shown).unwrap(), expected);
}

#[test]
fn people_get_file_and_line_and_no_colours_in_a_pipe() {
    let folder = deployment(&next_major());
    let (new, dir) = (path_of(&folder, "methods.json"), folder.path().display().to_string());
    let (code, shown, _) = diff(&["builtin", &new, "--against-deployment", &dir]);
    assert_eq!(code, 1);
    for line in [
        "  endpoints/book.toml:2  BOOK /rooms: left out",
        "  agtp-recipes.toml:4  step 1 of trip is BOOK: left out",
        "  agtp-server.toml:6   disallow names BOOK: skipped",
        "  endpoints/arrive.toml:3  CHECK /gates/tele-port: segment \"tele-port\" is the added verb TELEPORT; left out",
        "5 conflicts",
    ] {
        assert!(shown.lines().any(|shown| shown == line), "{line}\n{shown}");
    }
    assert!(!shown.contains('\x1b'));
    let (code, shown, _) = diff(&["builtin", "builtin", "--against-deployment", &dir]);
    assert!(code == 0 && shown.ends_with("nothing in it would break\n"), "{shown}");
}

#[test]
fn all_faults_of_both_catalogs_are_told() {
    let bad = next_major().replacen("\"version\": \"2.0.0\"", "\"version\": \"two\"", 1).replacen(
        "\"CHECK\"",
        "\"check\"",
        1,
    );
    let files = Folder::with(&[("a.json", "{"), ("b.json", &bad)]);
    let (a, b) = (path_of(&files, "a.json"), path_of(&files, "b.json"));
    let (code, shown, complaints) = diff(&[&a, &b, "--json"]);
    assert_eq!((code, shown.as_str()), (2, ""));
    for part in [
        format!("{a}:1: error[catalog-syntax]"),
        format!("{b}:"),
        "error[catalog-version]".to_owned(),
        "error[catalog-verb-form]".to_owned(),
    ] {
        assert!(complaints.contains(&part), "{part}\n{complaints}");
    }
    let (code, _, complaints) = diff(&["/nowhere/a.json", "/nowhere/b.json"]);
    assert!(code == 2 && complaints.lines().count() == 2, "{complaints}");
    for arguments in [&["builtin"][..], &[], &["builtin", "builtin", "--against-deployment", "/nowhere"]] {
        let (code, shown, complaints) = diff(arguments);
        assert!(code == 2 && shown.is_empty() && !complaints.is_empty(), "{arguments:?}");
    }
}

#[test]
fn a_file_that_cannot_be_read_is_no_clean_bill() {
    let folder = Folder::with(&[("b.json", &next_major()), ("endpoints/a.toml", "[endpoint")]);
    let (new, dir) = (path_of(&folder, "b.json"), folder.path().display().to_string());
    let (code, shown, complaints) = diff(&["builtin", &new, "--against-deployment", &dir]);
    assert!(code == 2 && shown.contains("catalog 1.0.0 -> 2.0.0"), "{shown}");
    assert!(complaints.contains("endpoints/a.toml:1: error[toml-syntax]"), "{complaints}");
    std::fs::write(Path::new(&dir).join("endpoints/b.toml"), echo_endpoint("BOOK", "/rooms", "", ""))
        .unwrap();
    assert_eq!(diff(&["builtin", &new, "--against-deployment", &dir]).0, 1, "what breaks, breaks");
}

/// An engine for what is valid of a deployment, and the report of the rest.
fn serve(folder: &Folder) -> (agtp::engine::Engine<'static>, String, Vec<String>) {
    let functions = functions();
    let names: Vec<_> = functions.iter().map(|function| function.name()).collect();
    let options = agtp::compiler::ReadOptions { known_functions: Some(&names), ..Default::default() };
    let reading = agtp::compiler::read(folder.path(), &options);
    let deployment = reading.deployment.expect("a usable deployment");
    let compiled = Box::leak(Box::new(agtp::compiler::lower(&deployment, &times()).unwrap()));
    let engine = agtp::engine::Engine::new(&compiled.registry, &compiled.agents, &functions).unwrap();
    let left_out = reading.left_out.iter().map(ToString::to_string).collect();
    (engine, reading.report.to_string(), left_out)
}

fn request(line: &str, agent: &str, more: &str) -> Vec<u8> {
    format!("AGTP/1.0 {line}\r\nAgent-ID: {agent}\r\n{more}\r\n").into_bytes()
}

#[test]
fn under_a_major_catalog_the_valid_rest_is_served() {
    let (engine, report, left_out) = serve(&deployment(&next_major()));
    assert_eq!(
        left_out,
        [
            "CHECK /gates/tele-port (endpoints/arrive.toml)",
            "BOOK /rooms (endpoints/book.toml)",
            "recipe trip (agtp-recipes.toml)",
        ]
    );
    for part in [
        "endpoints/book.toml:2: error[method-not-in-catalog]: BOOK /rooms is left out: catalog 2.0.0 has no BOOK",
        "agtp-recipes.toml:4: error[method-not-in-catalog]: the recipe is left out: catalog 2.0.0 has no BOOK",
        "agtp-server.toml:6: warning[policy-method-skipped]: BOOK ",
        "agtp-server.toml:12: warning[policy-method-skipped]: BOOK ",
    ] {
        assert!(report.contains(part), "{part}\n{report}");
    }
    assert_eq!(report.matches("policy-method-skipped").count(), 2, "AUCTION stays disallowed\n{report}");
    let removed = ask(&engine, &request("BOOK /rooms", AGENT, ""));
    assert_eq!((removed.status, &removed.body["error"]["catalog_version"]), (459, &json!("2.0.0")));
    assert_eq!(removed.header("AGTP-Catalog-Warning"), None);
    assert_eq!(ask(&engine, &request("FIND /rooms", AGENT, "")).status, 200);
    assert_eq!(ask(&engine, &request("AUCTION /rooms", AGENT, "")).status, 405);
    assert_eq!(ask(&engine, &request("FIND /gates/tele-port", AGENT, "")).status, 460);
    let manifest = ask(&engine, b"AGTP/1.0 DISCOVER\r\n\r\n");
    assert_eq!(manifest.body["catalog_version"], json!("2.0.0"));
    assert_eq!(manifest.body["catalog_versions_supported"], json!(["2.0.0"]));
    assert_eq!(manifest.header("AGTP-Methods-Version"), Some(METHODS_VERSION));
}

/// The version of the specification, which is no catalog version.
const METHODS_VERSION: &str = "1.0";

#[test]
fn a_deprecated_verb_is_served_with_its_warning_whatever_the_answer() {
    let (engine, ..) = serve(&deployment(&next_major()));
    let unknown = "0".repeat(64);
    let body = "Content-Length: 9\r\n\r\n{\"x\": 1}\n";
    let body = |bytes: Vec<u8>| [bytes.strip_suffix(b"\r\n").unwrap(), body.as_bytes()].concat();
    for (status, request) in [
        (200, request("FIND /rooms", AGENT, "")),
        (404, request("FIND /nowhere", AGENT, "")),
        (405, request("FIND /agents", AGENT, "")),
        (460, request("FIND /fetch", AGENT, "")),
        (401, request("FIND /rooms", &unknown, "")),
        (400, request("FIND /rooms", "nobody", "")),
        (501, request("FIND /rooms", AGENT, "Delegation-Chain: x\r\n")),
        (455, request("FIND /rooms", AGENT, "Authority-Scope: rooms:find\r\n")),
        (262, b"AGTP/1.0 FIND /rooms\r\n\r\n".to_vec()),
        (422, body(request("FIND /rooms", AGENT, ""))),
        // As if FIND had been requested.
        (200, request("SEARCH /rooms", AGENT, "")),
    ] {
        let answer = ask(&engine, &request);
        let shown = String::from_utf8_lossy(&request).into_owned();
        assert_eq!(answer.status, status, "{shown}");
        let warning = answer.header("AGTP-Catalog-Warning");
        assert_eq!(warning, Some("deprecated; successor=LOOKUP"), "{shown}");
    }
    let fresh = ask(&engine, &request("LOOKUP /rooms", AGENT, ""));
    assert_eq!((fresh.status, fresh.header("AGTP-Catalog-Warning")), (405, None));
}

#[test]
fn serve_says_what_it_leaves_out() {
    let folder = deployment(&next_major());
    let dir = folder.path().display().to_string();
    let arguments = ["serve", "--deployment", &dir, "--insecure", "--listen", "127.0.0.1:0", "--cores", "1"];
    let (code, _, complaints) =
        taken(run(env!("CARGO_BIN_EXE_agtp"), &[&arguments[..], &["--strict"]].concat()));
    assert!(code == 2 && complaints.contains("method-not-in-catalog"), "{complaints}");
    let mut server = Command::new(env!("CARGO_BIN_EXE_agtp"))
        .args(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut ready = String::new();
    let read = BufReader::new(server.stdout.take().unwrap()).read_line(&mut ready);
    server.kill().unwrap();
    let complaints = String::from_utf8(server.wait_with_output().unwrap().stderr).unwrap();
    assert!(read.is_ok() && ready.starts_with("listening on agtp://127.0.0.1:"), "{ready}{complaints}");
    let told = "left out: CHECK /gates/tele-port (endpoints/arrive.toml), BOOK /rooms (endpoints/book.toml), \
                recipe trip (agtp-recipes.toml)";
    assert!(complaints.lines().any(|line| line == told), "{complaints}");
}

#[test]
fn a_catalog_may_stand_beside_the_settings_of_what_was_compiled_in() {
    let settings = "[catalog]\nfile = \"methods.json\"\n";
    let folder = Folder::with(&[("own.toml", settings), ("methods.json", &next_major())]);
    let own = path_of(&folder, "own.toml");
    let arguments = ["serve", "--config", &own, "--strict", "--insecure", "--listen", "127.0.0.1:0"];
    let (code, _, complaints) = taken(run(env!("CARGO_BIN_EXE_agtp"), &arguments));
    assert!(code == 2 && complaints.contains("catalog 2.0.0 has no BOOK"), "{complaints}");
}

/// Exit code, stdout and stderr of `agtp catalog`.
fn catalog_command(arguments: &[&str]) -> (i32, String, String) {
    taken(run(env!("CARGO_BIN_EXE_agtp"), &[&["catalog"], arguments].concat()))
}

#[test]
fn another_catalog_can_be_looked_at() {
    let folder = deployment(&next_major());
    let (file, dir) = (path_of(&folder, "methods.json"), folder.path().display().to_string());
    for source in [["--catalog", file.as_str()], ["--deployment", dir.as_str()]] {
        let command = |arguments: &[&str]| catalog_command(&[arguments, &source[..]].concat());
        let (code, shown, complaints) = command(&["list", "--json"]);
        let listed: Value = serde_json::from_str(&shown).unwrap();
        assert_eq!((code, complaints.as_str()), (0, ""));
        assert_eq!(
            (&listed["catalog_version"], listed["verbs"].as_array().unwrap().len()),
            (&json!("2.0.0"), 425)
        );
        let (code, shown, _) = command(&["show", "teleport"]);
        assert_eq!((code, shown.as_str()), (0, "TELEPORT  transaction\n  Be there.\n"));
        let (code, shown, _) = command(&["show", "FIND"]);
        assert!(
            code == 0 && shown.contains("  deprecated in 2.0.0\n") && shown.contains("  successor LOOKUP\n"),
            "{shown}"
        );
        let (code, shown, complaints) = command(&["show", "BOOK"]);
        assert!(code == 1 && shown.is_empty() && complaints.contains("not in catalog 2.0.0"), "{complaints}");
        let (code, shown, _) = command(&["search", "be there"]);
        assert!(code == 0 && shown.starts_with("TELEPORT "), "{shown}");
    }
    // Without a name it is the one compiled in, also for a deployment that names none.
    let plain = Folder::with(&[("agtp-server.toml", "[server]\n")]);
    for source in [&[][..], &["--catalog", "builtin"], &["--deployment", &plain.path().display().to_string()]]
    {
        assert_eq!(catalog_command(&[&["show", "BOOK"], source].concat()).0, 0, "{source:?}");
        assert_eq!(catalog_command(&[&["show", "TELEPORT"], source].concat()).0, 1, "{source:?}");
    }
}

#[test]
fn a_catalog_that_cannot_be_read_says_why() {
    let missing = Folder::with(&[("agtp-server.toml", "[catalog]\nfile = \"no.json\"\n")]);
    let broken = Folder::with(&[("agtp-server.toml", "[catalog\n"), ("methods.json", "{")]);
    let typed = Folder::with(&[("agtp-server.toml", "[catalog]\nfile = 7\n")]);
    let dir = |folder: &Folder| folder.path().display().to_string();
    for (source, part) in [
        (["--deployment", &dir(&missing)], "no.json"),
        (["--deployment", &dir(&broken)], "is no TOML"),
        (["--deployment", &dir(&typed)], "[catalog] file: it is a path"),
        (["--deployment", &path_of(&broken, "nowhere")], "no such directory"),
        (["--catalog", &path_of(&broken, "methods.json")], "methods.json:1"),
        (["--catalog", &path_of(&broken, "nothing.json")], "nothing.json"),
    ] {
        let (code, shown, complaints) = catalog_command(&[&["list"], &source[..]].concat());
        assert!(code == 2 && shown.is_empty() && complaints.contains(part), "{source:?}: {complaints}");
    }
    assert_eq!(
        catalog_command(&["list", "--catalog", "builtin", "--deployment", "."]).0,
        2,
        "one or the other"
    );
}
