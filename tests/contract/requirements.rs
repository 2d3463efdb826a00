//! Demands of the draft that no other module asks about.

use crate::common::{self, Folder, echo_endpoint};
use crate::support::*;
use agtp::engine::Function;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicU32, Ordering};

static CALLS: AtomicU32 = AtomicU32::new(0);

/// (draft: Validation Timing)
#[test]
fn no_handler_runs_before_everything_is_validated() {
    let counting = Function::plain("test::counting", |_, reply| {
        CALLS.fetch_add(1, Ordering::Relaxed);
        reply.object(|_| {});
        Ok(())
    });
    let endpoint = Endpoint::echo("BOOK /rooms/{room}")
        .properties(json!({"room": {"type": "string"}, "nights": {"type": "integer", "minimum": 1}}))
        .required(json!(["nights"]))
        .scopes(&["test:book"])
        .function("test::counting");
    let settings = "[policies]\nscope_required_for_invocation = true\n";
    let engine = Deployment::with_settings(settings).endpoint(&endpoint).engine_with(&[counting]);
    let book = |body: &str| Req::new("BOOK /rooms/12").header("Authority-Scope", "test:book").body(body);
    let refused = [
        (422, book("{}")),
        (422, book(r#"{"nights":0}"#)),
        (422, book(r#"{"nights":"1"}"#)),
        (422, book(r#"{"nights":1,"undeclared":1}"#)),
        (422, book("[1]")),
        (400, book(r#"{"nights":1"#)),
        (400, book(r#"{"nights":1,"nights":2}"#)),
        (262, Req::new("BOOK /rooms/12").body(r#"{"nights":1}"#)),
        (455, Req::new("BOOK /rooms/12").header("Authority-Scope", "other:book").body(r#"{"nights":1}"#)),
        (262, Req::anonymous("BOOK /rooms/12").body(r#"{"nights":1}"#)),
    ];
    for (status, request) in refused {
        assert_eq!(request.ask(&engine).status, status, "{}", request.shown());
        assert_eq!(CALLS.load(Ordering::Relaxed), 0, "{}", request.shown());
    }
    assert_eq!(book(r#"{"nights":1}"#).ask(&engine).status, 200);
    assert_eq!(CALLS.load(Ordering::Relaxed), 1);
}

/// (draft: Server Block)
#[test]
fn the_server_s_id_outlives_revisions_of_the_manifest() {
    let manifest = |version: &str, places: &[&str]| {
        let settings = format!("document_version = {version:?}\n");
        Req::anonymous("DISCOVER").ask(&Deployment::with_settings(&settings).echoes(places).engine()).body
    };
    let (old, new) = (manifest("1", &[]), manifest("2", &["BOOK /rooms"]));
    assert_ne!(old["document_version"], new["document_version"]);
    assert_ne!(old["endpoints"], new["endpoints"]);
    for manifest in [old, new] {
        assert_eq!(manifest["server"]["server_id"], "server.example");
    }
}

/// (draft: DISCOVER /)
#[test]
fn every_entry_of_the_directory_has_a_path_and_the_tier_of_who_answers_it() {
    let engine = Deployment::new().echoes(&["DISCOVER /rooms", "DISCOVER /halls/{hall}"]).engine();
    let answer = Req::new("DISCOVER /").ask(&engine);
    assert_eq!(answer.status, 200);
    let entries = answer.body["directory"].as_array().expect("an array");
    assert!(!entries.is_empty());
    for entry in entries {
        let path = entry["path"].as_str().expect("a path");
        let operators = path.starts_with("/rooms") || path.starts_with("/halls");
        assert_eq!(entry["tier"], if operators { "B" } else { "A" }, "{entry}");
    }
}

/// (draft: DISCOVER /tools)
#[test]
fn each_tool_has_a_name_and_what_else_was_configured() {
    let settings = "[[tools]]\nname = \"calculator\"\n[[tools]]\nname = \"clock\"\ndescription = \"Tells.\"\nagent_id = \"1\"\n";
    let answer = Req::new("DISCOVER /tools").ask(&Deployment::with_settings(settings).engine());
    let expected =
        json!([{"name": "calculator"}, {"name": "clock", "description": "Tells.", "agent_id": "1"}]);
    assert_eq!((answer.status, answer.body), (200, expected));
    let none = Req::new("DISCOVER /tools").ask(&Deployment::new().engine());
    assert_eq!(none.status, 404, "who has no tools does not expose them");
}

/// (draft: DISCOVER /agents)
#[test]
fn what_is_said_of_an_agent_is_the_same_wherever_it_is_said() {
    const TIER_ONE: &str = "4444444444444444444444444444444444444444444444444444444444444444";
    const WARNED: &str = "5555555555555555555555555555555555555555555555555555555555555555";
    let engine = Deployment::new()
        .agent("one", &json!({
            "agent_id": TIER_ONE, "trust_tier": 1, "verification_path": "dns-anchored", "owner_id": "acme.example",
        }))
        .agent("warned", &json!({"agent_id": WARNED, "trust_tier": 2, "trust_warning": "under-review"}))
        .engine();
    let listed = Req::new("DISCOVER /agents").ask(&engine).body;
    let listed = listed.as_array().expect("an array");
    assert_eq!(listed.len(), 3);
    for entry in listed {
        let id = entry["agent_id"].as_str().expect("an id");
        let own = Req::anonymous("DISCOVER /methods").header("Agent-ID", id).ask(&engine);
        let said = |name: &str| own.header(name).map_or(Value::Null, Value::from);
        assert_eq!(entry["trust_tier"].to_string(), said("Trust-Tier").as_str().expect("a tier"), "{entry}");
        for (member, header) in [("verification_path", "Verification-Path"), ("owner_id", "Owner-ID")] {
            assert_eq!(entry.get(member).cloned().unwrap_or_default(), said(header), "{entry}");
        }
        if entry["trust_tier"] == 2 {
            assert_eq!(entry["trust_warning"], said("Trust-Warning"), "{entry}");
        }
    }
}

/// What is wrong with a deployment, and whether it is served at all.
fn reading(files: &[(&str, &str)]) -> (String, bool) {
    let folder = Folder::with(files);
    let names: Vec<_> = common::functions().iter().map(|function| function.name().to_owned()).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let options = agtp::compiler::ReadOptions { known_functions: Some(&names), ..Default::default() };
    let reading = agtp::compiler::read(folder.path(), &options);
    (reading.report.to_string(), reading.deployment.is_some())
}

/// (draft: Policy Shape, Catalog-Graceful Skip Semantics)
#[test]
fn faulty_aliases_and_legacy_verbs_refuse_to_start() {
    for (policy, rule) in [
        ("[policies.methods.aliases]\nGRAB = \"TAKEN\"\nTAKEN = \"FETCH\"\n", "alias-chain"),
        ("[policies.methods.aliases]\nGRAB = \"GRAB\"\n", "alias-chain"),
        ("[policies.methods.aliases]\nGRAB = \"HOLD\"\nHOLD = \"GRAB\"\n", "alias-chain"),
        ("[policies.methods.aliases]\nGRAB = \"GET\"\n", "alias-target"),
        ("[policies.methods]\nlegacy = [\"GETT\"]\n", "legacy-unknown-verb"),
        ("[policies.methods]\nlegacy = [\"HEAD\"]\n", "legacy-unknown-verb"),
    ] {
        let (report, served) = reading(&[("agtp-server.toml", policy)]);
        assert!(!served && report.contains(rule), "{policy}\n{report}");
    }
    let skipped = "[policies.methods]\ndisallow = [\"BOKO\"]\n";
    let (report, served) = reading(&[("agtp-server.toml", skipped)]);
    assert!(served && report.contains("policy-method-skipped"), "{report}");
}

/// (draft: Permissiveness, Path Grammar ABNF, Path Pattern Matching)
#[test]
fn templates_that_cannot_be_told_apart_or_read_are_not_registered() {
    let param = r#""id": {}"#;
    for path in [
        "/a/{?id}",
        "/a/{+id}",
        "/a/{#id}",
        "/a/{id*}",
        "/a/{id:3}",
        "/a/{/id}",
        "/a/{.id}",
        "/a/{;id}",
        "/a/{&id}",
        "/a/x-{id}",
        "/a/{id}-x",
        "/a/{}",
        "/a/{id}/b/{id}",
        "/a/{other}",
    ] {
        let endpoint = echo_endpoint("BOOK", path, "", param).replace("\"echo\"", "\"hotel::search\"");
        let (report, served) = reading(&[("endpoints/a.toml", &endpoint)]);
        assert!(served, "an endpoint's fault is no reason not to serve the others");
        assert!(report.contains("endpoints/a.toml:3: error[path-"), "{path}\n{report}");
    }
}

/// (D29)
#[test]
fn floor_methods_refuse_undeclared_parameters() {
    let engine = Deployment::new().engine();
    for method in FLOOR {
        let answer = Req::new(format!("{method} /?nobody_declares_this=1")).ask(&engine);
        let errors = answer.body["error"]["errors"].to_string();
        let proposal = method == "PROPOSE" && answer.status == 463;
        assert!(
            proposal || (answer.status == 422 && errors.contains("nobody_declares_this")),
            "{method} {answer:?}"
        );
    }
}
