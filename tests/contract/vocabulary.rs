//! Which tokens are methods: 459 and what stands beside it (draft: Method Rules, Legacy Verb Support, Policy Shape;
//! D3, D11).

use crate::support::*;
use agtp::engine::Engine;
use serde_json::{Value, json};
use std::sync::LazyLock;

static ENGINE: LazyLock<Engine<'static>> =
    LazyLock::new(|| Deployment::new().echoes(&["BOOK /rooms", "FETCH /rooms"]).engine());

fn ask(line: &str) -> crate::common::Answer {
    Req::new(line).ask(&ENGINE)
}

#[test]
fn the_catalog_document_is_the_catalog() {
    let facts = include_str!("catalog-1.0.0.txt");
    let facts: Vec<_> = facts.lines().collect();
    assert_eq!(verbs(), facts);
    assert_eq!(verbs().len(), 425);
}

#[test]
fn every_verb_is_a_method_wherever_it_is_sent() {
    let mut floor = FLOOR.to_vec();
    floor.sort_unstable();
    for verb in verbs() {
        let known = ask(&format!("{verb} /rooms"));
        if verb == "BOOK" || verb == "FETCH" {
            assert_eq!(known.status, 200, "{verb}");
        } else {
            assert_eq!(verdict(&known), (405, "method-not-allowed".to_owned()), "{verb}");
            let expected = json!(["BOOK", "FETCH"]);
            assert_eq!(known.body["error"]["allowed_methods_for_path"], expected, "{verb}");
            assert_eq!(known.body["error"]["redirects_for_path"], json!({}), "{verb}");
        }
        let unknown = ask(&format!("{verb} /nowhere"));
        assert_eq!(verdict(&unknown), (404, "endpoint-not-found".to_owned()), "{verb}");
        assert_eq!(unknown.body["error"]["method"], *verb);
        assert_eq!(unknown.body["error"]["path"], "/nowhere");
        let root = ask(&format!("{verb} /"));
        if floor.contains(&verb.as_str()) {
            // Served, refused for its missing parameters, or not served yet; PROPOSE is refused on principle.
            assert!([200, 422, 463, 501].contains(&root.status), "{verb}: {root:?}");
        } else {
            assert_eq!(verdict(&root), (405, "method-not-allowed".to_owned()), "{verb}");
            let mut allowed = strings(&root.body["error"]["allowed_methods_for_path"]);
            allowed.sort_unstable();
            assert_eq!(allowed, floor, "{verb}");
        }
    }
}

#[test]
fn a_floor_method_at_root_with_its_parameters_is_answered_by_the_protocol() {
    let cases = [
        ("QUERY", json!({"intent": "x"}), 501),
        ("DISCOVER", json!({}), 200),
        ("DESCRIBE", json!({}), 501),
        ("INSPECT", json!({"audit_id": "x", "target": "audit"}), 501),
        ("SUMMARIZE", json!({"source": "x"}), 501),
        ("PLAN", json!({"goal": "x"}), 501),
        ("PROPOSE", json!({"endpoint": {}}), 463),
        ("EXECUTE", json!({"action": "x"}), 501),
        (
            "DELEGATE",
            json!({"target_agent_id": "x", "task": "t", "authority_scope": "a:b", "delegation_token": "t"}),
            501,
        ),
        ("ESCALATE", json!({"task_id": "t", "reason": "r", "context": {}}), 501),
        ("CONFIRM", json!({"target_id": "t", "status": "s"}), 501),
        ("SUSPEND", json!({"session_id": "s"}), 501),
        ("NOTIFY", json!({"recipient": "r", "content": "c"}), 501),
        ("ACTIVATE", json!({"agent_id": "a"}), 501),
        ("DEACTIVATE", json!({"agent_id": "a"}), 501),
        ("REINSTATE", json!({"agent_id": "a"}), 501),
        ("REVOKE", json!({"agent_id": "a", "reason": "r"}), 501),
        ("DEPRECATE", json!({"agent_id": "a"}), 501),
    ];
    assert_eq!(cases.clone().map(|(method, ..)| method), FLOOR);
    for (method, body, status) in cases {
        let with = |body: &Value| Req::new(format!("{method} /")).body(body.to_string()).ask(&ENGINE);
        assert_eq!(with(&body).status, status, "{method}");
        let mut undeclared = body.clone();
        undeclared["undeclared_by_anyone"] = json!(1);
        // D29; a proposal is refused whatever it says.
        let refused = if method == "PROPOSE" { 463 } else { 422 };
        assert_eq!(with(&undeclared).status, refused, "{method}: undeclared parameters are refused");
        let Some(first) = body.as_object().and_then(|body| body.keys().next()) else { continue };
        if method != "PROPOSE" {
            let mut incomplete = body.clone();
            incomplete.as_object_mut().expect("an object").remove(first);
            assert_eq!(with(&incomplete).status, 422, "{method} without {first}");
        }
    }
    // The reason of a revocation is not optional.
    let unreasoned = Req::new("REVOKE /").body(r#"{"agent_id":"a"}"#).ask(&ENGINE);
    assert_eq!(unreasoned.body["error"]["field"], "/reason");
}

/// Levenshtein distance, by its definition: the matrix row by row.
fn distance(a: &str, b: &str) -> usize {
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for (row, x) in a.bytes().enumerate() {
        let mut next = vec![row + 1];
        for (column, y) in b.bytes().enumerate() {
            let substituted = above[column] + usize::from(x != y);
            next.push(substituted.min(above[column + 1] + 1).min(next[column] + 1));
        }
        above = next;
    }
    above[b.len()]
}

/// What a 459 should suggest: of the methods that at least half of the letters agree with, the three nearest, equally
/// near ones by name. Case is no difference: `book` most likely means BOOK. A method name has 32 letters at most, so of
/// a longer token no more than its beginning can decide.
fn nearest(token: &str, but: &str) -> Vec<String> {
    let token = token[..token.len().min(64)].to_ascii_uppercase();
    let ranked = verbs().iter().map(|verb| (distance(&token, verb), verb));
    let is_near =
        |(distance, verb): &(usize, &String)| distance * 2 <= verb.len().max(token.len()) && *verb != but;
    let mut ranked: Vec<_> = ranked.filter(is_near).collect();
    ranked.sort();
    ranked.into_iter().take(3).map(|(_, verb)| verb.clone()).collect()
}

fn assert_violation(token: &str) {
    let answer = ask(&format!("{token} /rooms"));
    assert_eq!(verdict(&answer), (459, "method-violation".to_owned()), "{token}");
    let error = &answer.body["error"];
    assert_eq!(error["method"], token);
    assert_eq!(error["catalog_version"], "1.0.0");
    assert_eq!(strings(&error["suggestions"]), nearest(token, ""), "{token}: nearest first, ties by name");
}

#[test]
fn tokens_that_break_the_lexical_rule_are_violations_with_suggestions() {
    let long = ["A".repeat(33), "FETCH".repeat(7), "B".repeat(65), "Q".repeat(8000)];
    let short = ["A", "GO", "B", "QU"];
    let formed = [
        "book", "Book", "bOOK", "fetch", "B00K", "BOOK1", "1BOOK", "BO-OK", "BO_OK", "BOOK-", "-BOOK",
        "BOOK.", "BOOK,", "BOOK:", "BOOK/", "BO%4FK", "*", "BOOK*", "{BOOK}", "query", "discover", "get2",
        "123", "!!!",
    ];
    for token in long.iter().map(String::as_str).chain(short).chain(formed) {
        assert_violation(token);
    }
}

#[test]
fn words_that_nobody_registered_are_violations_with_the_nearest_verbs() {
    for token in [
        "BOKO",
        "BOOKS",
        "BOK",
        "FECTH",
        "RESERVATION",
        "ROOMS",
        "HEAD",
        "OPTIONS",
        "XYZZY",
        "ZZZ",
        "QUERRY",
        "DISCOVERS",
        "ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEF",
    ] {
        assert_violation(token);
    }
}

#[test]
fn every_verb_misspelt_is_a_violation_that_suggests_it() {
    let verbs = verbs();
    for verb in verbs {
        let wrong = [format!("{verb}X"), verb[1..].to_owned(), verb.to_ascii_lowercase()];
        let wrong = &wrong[verb.len() % 3];
        if !verbs.contains(wrong) {
            assert_violation(wrong);
        }
    }
}

#[test]
fn legacy_verbs_nobody_wants_are_violations_with_the_preferred_form_first() {
    let wiped = "[policies]\nscope_required_for_invocation = false\n[policies.methods.aliases]\n";
    let engine =
        Deployment::with_settings(wiped).echoes(&["FETCH /rooms", "EXECUTE /rooms", "QUERY /rooms"]).engine();
    for (verb, preferred) in LEGACY {
        for token in [verb.to_owned(), verb.to_ascii_lowercase()] {
            let answer = Req::new(format!("{token} /rooms")).ask(&engine);
            assert_eq!(verdict(&answer), (459, "method-violation".to_owned()), "{token}");
            let error = &answer.body["error"];
            assert_eq!(error["method"], *token);
            assert_eq!(error["catalog_version"], "1.0.0");
            let suggestions = strings(&error["suggestions"]);
            assert_eq!(suggestions.first(), Some(&preferred), "{token}");
            let rest: Vec<_> = nearest(&token, preferred).into_iter().take(2).collect();
            assert_eq!(suggestions[1..], rest, "{token}");
        }
    }
}

#[test]
fn the_seeded_aliases_serve_legacy_verbs_under_their_preferred_forms() {
    let engine = Deployment::new()
        .echoes(&["FETCH /rooms", "CREATE /rooms", "REPLACE /rooms", "REMOVE /rooms", "MODIFY /rooms"])
        .engine();
    for (verb, preferred) in LEGACY {
        let answer = Req::new(format!("{verb} /rooms")).ask(&engine);
        assert_eq!(answer.status, 200, "{verb}");
        assert_eq!(answer.body, json!({"input": {}, "method": preferred, "path": "/rooms"}), "{verb}");
        // The resolved method is what is looked up: there is no alias beyond one hop, and no folding of case.
        assert_eq!(Req::new(format!("{} /rooms", verb.to_ascii_lowercase())).ask(&engine).status, 459);
        assert_eq!(Req::new(format!("{verb} /nowhere")).ask(&engine).body["error"]["method"], preferred);
    }
}

const LEGACY_PLACES: [&str; 7] = [
    "QUERY /rooms",
    "EXECUTE /rooms",
    "FETCH /rooms",
    "CREATE /rooms",
    "REPLACE /rooms",
    "REMOVE /rooms",
    "MODIFY /rooms",
];

fn legacy_engine(methods: &str) -> Engine<'static> {
    let settings =
        format!("[policies]\nscope_required_for_invocation = false\n[policies.methods]\n{methods}");
    let mut deployment = Deployment::with_settings(&settings);
    for place in LEGACY_PLACES {
        let endpoint = Endpoint::echo(place).taking(&["action", "idempotency_key", "note"]);
        deployment = deployment.endpoint(&endpoint);
    }
    deployment.engine()
}

#[test]
fn legacy_verbs_opted_into_are_dispatched_as_the_drafts_legacy_section_says() {
    let engine = legacy_engine("legacy = \"*\"\n");
    let ask = |verb: &str, key: Option<&str>, body: &str| {
        let answer = Req::new(format!("{verb} /rooms")).maybe("Idempotency-Key", key).body(body).ask(&engine);
        assert_eq!(answer.status, 200, "{verb}: {answer:?}");
        answer.body
    };
    let note = r#"{"note":1}"#;
    let expect = |method: &str, input: Value| json!({"input": input, "method": method, "path": "/rooms"});
    assert_eq!(ask("GET", None, note), expect("QUERY", json!({"note": 1})));
    assert_eq!(ask("POST", None, note), expect("EXECUTE", json!({"note": 1})));
    assert_eq!(ask("DELETE", None, note), expect("EXECUTE", json!({"note": 1, "action": "delete"})));
    assert_eq!(ask("PATCH", None, note), expect("EXECUTE", json!({"note": 1, "action": "modify"})));
    assert_eq!(ask("DELETE", None, ""), expect("EXECUTE", json!({"action": "delete"})));
    // What the verb means is not the caller's to change.
    assert_eq!(ask("PATCH", None, r#"{"action":"delete"}"#), expect("EXECUTE", json!({"action": "modify"})));
    assert_eq!(
        ask("PUT", Some("k-1"), note),
        expect("EXECUTE", json!({"note": 1, "idempotency_key": "k-1"}))
    );
    // Without the header: a hash of agent, path and body, so that a repeat has the same key and nothing else does.
    let derived = |body: &str| ask("PUT", None, body)["input"]["idempotency_key"].clone();
    assert!(derived(note).as_str().is_some_and(|key| !key.is_empty()));
    assert_eq!(derived(note), derived(note));
    assert_ne!(derived(note), derived(r#"{"note":2}"#));
    assert_ne!(derived(note), derived(""));
    // The plain EXECUTE gets nothing added.
    assert_eq!(ask("EXECUTE", Some("k-1"), note), expect("EXECUTE", json!({"note": 1})));
}

#[test]
fn a_derived_idempotency_key_tells_agents_and_paths_apart() {
    const OTHER: &str = "2222222222222222222222222222222222222222222222222222222222222222";
    let settings =
        "[policies]\nscope_required_for_invocation = false\n[policies.methods]\nlegacy = [\"PUT\"]\n";
    let engine = Deployment::with_settings(settings)
        .agent("other", &json!({"agent_id": OTHER}))
        .endpoint(&Endpoint::echo("EXECUTE /rooms").taking(&["idempotency_key"]))
        .endpoint(&Endpoint::echo("EXECUTE /suites").taking(&["idempotency_key"]))
        .engine();
    let key = |agent: &str, path: &str| {
        let answer = Req::anonymous(format!("PUT {path}")).header("Agent-ID", agent).ask(&engine);
        answer.body["input"]["idempotency_key"].as_str().expect("a key").to_owned()
    };
    let keys = [key(TESTER, "/rooms"), key(OTHER, "/rooms"), key(TESTER, "/suites"), key(OTHER, "/suites")];
    for (row, one) in keys.iter().enumerate() {
        assert!(!keys[..row].contains(one), "{keys:?}");
    }
}

#[test]
fn an_operators_alias_beats_a_legacy_opt_in_which_beats_the_seed() {
    let method = |engine: &Engine<'_>, verb: &str| {
        let answer = Req::new(format!("{verb} /rooms")).ask(engine);
        match answer.status {
            200 => answer.body["method"].as_str().expect("a method").to_owned(),
            status => status.to_string(),
        }
    };
    let methods = |settings: &str| {
        let engine = legacy_engine(settings);
        LEGACY.map(|(verb, _)| method(&engine, verb)).join(" ")
    };
    assert_eq!(methods(""), "FETCH CREATE REPLACE REMOVE MODIFY", "the seed");
    assert_eq!(methods("legacy = \"NONE\"\n"), "FETCH CREATE REPLACE REMOVE MODIFY", "the seed");
    assert_eq!(methods("legacy = \"*\"\n"), "QUERY EXECUTE EXECUTE EXECUTE EXECUTE", "legacy beats the seed");
    assert_eq!(
        methods("legacy = [\"GET\", \"PATCH\"]\n"),
        "QUERY CREATE REPLACE REMOVE EXECUTE",
        "verb by verb"
    );
    let alias = "[policies.methods.aliases]\nGET = \"CREATE\"\n";
    assert_eq!(methods(&format!("legacy = \"*\"\n{alias}")), "CREATE EXECUTE EXECUTE EXECUTE EXECUTE");
    assert_eq!(
        methods(&format!("legacy = [\"GET\"]\n{alias}")),
        "CREATE 459 459 459 459",
        "the table replaces the seed"
    );
    assert_eq!(methods(alias), "CREATE 459 459 459 459");
    // An alias of the operator's takes the legacy form's addition away too.
    let engine = legacy_engine("legacy = \"*\"\n[policies.methods.aliases]\nDELETE = \"EXECUTE\"\n");
    assert_eq!(Req::new("DELETE /rooms").ask(&engine).body["input"], json!({}));
}

#[test]
fn aliases_resolve_in_one_hop_before_the_catalog_is_asked() {
    let settings = "[policies]\nscope_required_for_invocation = false\n[policies.methods.aliases]\nORDER = \"BOOK\"\nXYZ = \"BOOK\"\n";
    let engine = Deployment::with_settings(settings).echoes(&["BOOK /rooms"]).engine();
    for alias in ["ORDER", "XYZ"] {
        assert_eq!(Req::new(format!("{alias} /rooms")).ask(&engine).body["method"], "BOOK");
    }
    // An alias is a name for dispatch and no method: it is no word of the path grammar, nor a suggestion.
    assert_eq!(Req::new("BOOK /xyz").ask(&engine).status, 404);
    let suggestions = Req::new("XYY /rooms").ask(&engine).body["error"]["suggestions"].clone();
    assert!(!strings(&suggestions).contains(&"XYZ"), "{suggestions}");
}

#[test]
fn custom_methods_are_methods_of_this_server_alone() {
    let settings = "[policies]\nscope_required_for_invocation = false\n[policies.methods]\ncustom = [\"FROBNICATE\", \"ZORK\"]\n";
    let engine = Deployment::with_settings(settings).echoes(&["FROBNICATE /rooms"]).engine();
    let answer = Req::new("FROBNICATE /rooms").ask(&engine);
    assert_eq!(answer.body, json!({"input": {}, "method": "FROBNICATE", "path": "/rooms"}));
    assert_eq!(Req::new("ZORK /rooms").ask(&engine).status, 405, "known without an endpoint");
    assert_eq!(Req::new("ZORK /nowhere").ask(&engine).status, 404);
    assert_eq!(Req::new("FROBNICATE /rooms").ask(&ENGINE).status, 459, "elsewhere it is no word");
    let close = Req::new("FROBNICAT /rooms").ask(&engine);
    assert_eq!(close.status, 459);
    assert_eq!(strings(&close.body["error"]["suggestions"]).first(), Some(&"FROBNICATE"));
    let leak = Req::new("ZORK /rooms/frob-nicate").ask(&engine);
    assert_eq!((leak.status, leak.body["error"]["segment"].as_str()), (460, Some("frob-nicate")));
}
