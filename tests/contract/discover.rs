//! `DISCOVER /` with `criteria` (D1, D28, D29) and the deprecated `target=` form (draft: Legacy DISCOVER target= Body
//! Form).

use crate::support::*;
use agtp::engine::{Engine, Event};
use serde_json::{Value, json};
use std::sync::Mutex;

const PORTER: &str = "2222222222222222222222222222222222222222222222222222222222222222";
const RETIRED: &str = "3333333333333333333333333333333333333333333333333333333333333333";

fn hotel(settings: &str) -> Deployment {
    Deployment::with_settings(settings)
        .agent("porter", &json!({"agent_id": PORTER, "skills": ["Carries luggage to the rooms"], "description": "The porter."}))
        .agent("oldporter", &json!({"agent_id": RETIRED, "skills": ["Carried luggage"], "status": "retired"}))
        .echoes(&["BOOK /rooms/{room}", "FETCH /invoices", "CANCEL /stays/{stay}"])
}

fn discover(engine: &Engine<'_>, body: &Value) -> Vec<Value> {
    let answer = Req::new("DISCOVER /").body(body.to_string()).ask(engine);
    assert_eq!(
        (answer.status, answer.header("Content-Type")),
        (200, Some("application/vnd.agtp+json")),
        "{body}"
    );
    assert_eq!(answer.body.as_object().expect("an object").len(), 1);
    answer.body["candidates"].as_array().expect("candidates").clone()
}

fn names(candidates: &[Value]) -> Vec<&str> {
    candidates.iter().map(|candidate| candidate["name"].as_str().expect("a name")).collect()
}

#[test]
fn candidates_are_ranked_best_first() {
    let engine = hotel("").engine();
    let candidates = discover(&engine, &json!({"criteria": "I want to book a room"}));
    assert_eq!(names(&candidates)[0], "BOOK /rooms/{room}");
    assert!(names(&candidates).contains(&"porter"));
    let scores: Vec<_> =
        candidates.iter().map(|candidate| candidate["score"].as_f64().expect("a score")).collect();
    assert!(
        scores.is_sorted_by(|a, b| a >= b) && scores.iter().all(|score| *score > 0.0 && *score <= 1.0),
        "{scores:?}"
    );
    assert_eq!(scores[0], 1.0, "every word is in its method and path");
    assert_eq!(
        candidates[0],
        json!({"kind": "endpoint", "name": "BOOK /rooms/{room}", "description": "Serves a test.", "score": 1.0,
               "method": "BOOK", "path": "/rooms/{room}", "capability": "analysis", "impact": "informational"})
    );
    let porter = discover(&engine, &json!({"criteria": "carry my luggage"}));
    assert_eq!(porter.len(), 1, "who is retired is no candidate: {porter:?}");
    assert_eq!(porter[0]["agent_id"], PORTER);
    assert_eq!((&porter[0]["kind"], &porter[0]["description"]), (&json!("agent"), &json!("The porter.")));
    assert!(discover(&engine, &json!({"criteria": "zeppelin"})).is_empty());
    assert!(discover(&engine, &json!({"criteria": ""})).is_empty());
    // The inventories are endpoints too; floor methods that are not served are not offered.
    assert_eq!(names(&discover(&engine, &json!({"criteria": "list agents"})))[0], "DISCOVER /agents");
    assert!(
        !names(&discover(&engine, &json!({"criteria": "propose an endpoint", "max_results": 100})))
            .contains(&"PROPOSE /")
    );
}

#[test]
fn criteria_may_be_text_or_hold_texts() {
    let engine = hotel("").engine();
    let expected = discover(&engine, &json!({"criteria": "book room"}));
    for criteria in [
        json!(["book", "room"]),
        json!({"action": "book", "object": "room"}),
        json!([{"what": ["book"]}, 7, null, {"then": {"where": "room"}}]),
        json!("room BOOKING, rooms; books!"),
    ] {
        assert_eq!(discover(&engine, &json!({"criteria": criteria})), expected, "{criteria}");
    }
    let by_query = Req::new("DISCOVER /?criteria=book+room&max_results=2").ask(&engine);
    assert_eq!(by_query.body["candidates"], json!(expected[..2]));
}

#[test]
fn parameters_are_as_declared() {
    let engine = hotel("").engine();
    for body in [
        json!({"criteria": 7}),
        json!({"criteria": null}),
        json!({"criteria": "room", "undeclared": 1}),
        json!({"criteria": "room", "max_results": 0}),
        json!({"criteria": "room", "max_results": "many"}),
        json!({"criteria": "room", "filter": {"color": "red"}}),
        json!({"criteria": "room", "filter": {"kind": "thing"}}),
        json!({"criteria": "room", "filter": 1}),
        json!({"filter": "agent"}),
        json!({"max_results": 3}),
        json!({"agent_id": TESTER}),
    ] {
        let answer = Req::new("DISCOVER /").body(body.to_string()).ask(&engine);
        assert_eq!(verdict(&answer), (422, "input-validation-failed".to_owned()), "{body}");
    }
    let all = discover(&engine, &json!({"criteria": "list room book luggage", "max_results": 1_000_000}));
    for (filter, kept) in [
        (json!("agent"), ("kind", "agent")),
        (json!({"kind": "endpoint"}), ("kind", "endpoint")),
        (json!({"method": "BOOK"}), ("method", "BOOK")),
        (json!("discovery"), ("capability", "discovery")),
        (json!({"kind": "endpoint", "impact": "informational"}), ("impact", "informational")),
    ] {
        let filtered = discover(
            &engine,
            &json!({"criteria": "list room book luggage", "filter": filter, "max_results": 100}),
        );
        let expected: Vec<_> = all.iter().filter(|candidate| candidate[kept.0] == kept.1).cloned().collect();
        assert_eq!(filtered, expected, "{filter}: a filter leaves out and changes no score");
    }
    for most in 1..4 {
        assert_eq!(
            discover(&engine, &json!({"criteria": "list room book luggage", "max_results": most})),
            all[..most]
        );
    }
}

#[test]
fn what_policy_refuses_and_disclosure_hides_is_no_candidate() {
    let refusing = hotel("[policies.methods]\ndisallow = [\"BOOK\"]\n").engine();
    assert!(!names(&discover(&refusing, &json!({"criteria": "book room"}))).contains(&"BOOK /rooms/{room}"));
    for (disclosure, told) in [("public", true), ("authenticated", true), ("private", false)] {
        let engine = hotel(&format!("[agents]\ndisclosure = \"{disclosure}\"\n")).engine();
        let found = discover(&engine, &json!({"criteria": "porter luggage"}));
        assert_eq!(names(&found).contains(&"porter"), told, "{disclosure}");
        if !told {
            assert_eq!(found, Vec::<Value>::new(), "nor does a score tell of them");
        }
    }
    // Without Agent-ID it is the manifest, and nobody is ranked.
    let anonymous = Req::anonymous("DISCOVER /").body(r#"{"criteria":"room"}"#).ask(&refusing);
    assert!(anonymous.body.get("agtp_version").is_some());
}

#[test]
fn the_same_question_has_the_same_answer_everywhere() {
    let ask = |engine: &Engine<'_>| {
        Req::new("DISCOVER /")
            .body(r#"{"criteria":"serve a test for agents","max_results":100}"#)
            .ask(engine)
            .raw
    };
    let engine = hotel("").engine();
    let first = ask(&engine);
    assert_eq!(ask(&engine), first);
    assert_eq!(ask(&hotel("").engine()), first);
}

#[test]
fn a_huge_question_is_answered_like_its_beginning() {
    let engine = hotel("").engine();
    let mut huge = "book room ".to_owned();
    huge.push_str(&"book room ".repeat(100_000));
    assert_eq!(names(&discover(&engine, &json!({"criteria": huge})))[0], "BOOK /rooms/{room}");
    let distinct: String = (0..100_000).map(|n| format!("w{n} ")).collect();
    discover(&engine, &json!({"criteria": distinct}));
    discover(&engine, &json!({"criteria": "\u{e9}".repeat(300_000)}));
    discover(&engine, &json!({"criteria": vec![0; 400_000]}));
    let deep = format!(r#"{{"criteria":{}"room"{}}}"#, "[".repeat(60), "]".repeat(60));
    assert_eq!(Req::new("DISCOVER /").body(deep).ask(&engine).status, 200);
}

#[test]
fn a_target_in_the_body_is_the_path_it_names() {
    let engine = hotel("[[tools]]\nname = \"calculator\"\n").engine();
    for asker in [None, Some(TESTER)] {
        let ask = |line: &str, body: &str| {
            Req::anonymous(line).maybe("Agent-ID", asker).body(body).ask_and_close(&engine)
        };
        for target in ["methods", "agents", "tools", "apis", "genesis"] {
            let by_body = ask("DISCOVER /", &format!(r#"{{"target":"{target}"}}"#));
            let by_path = ask(&format!("DISCOVER /{target}"), "");
            assert_eq!((by_body.0.status, &by_body.0.raw), (by_path.0.status, &by_path.0.raw), "{target}");
            let both = ask(&format!("DISCOVER /{target}"), &format!(r#"{{"target":"{target}"}}"#));
            assert_eq!((both.0.status, &both.0.raw), (by_path.0.status, &by_path.0.raw), "{target}");
        }
        for (path, target) in
            [("/methods", "agents"), ("/agents", "nonsense"), ("/patterns", "methods"), ("/tools", "")]
        {
            let (answer, closed) = ask(&format!("DISCOVER {path}"), &json!({"target": target}).to_string());
            assert_eq!(verdict(&answer), (400, "conflicting-target".to_owned()), "{path} {target}");
            let error = &answer.body["error"];
            assert_eq!((&error["path"], &error["target"]), (&json!(path), &json!(target)));
            assert!(error["detail"].is_string() && !closed);
        }
        for (path, body) in [
            ("/", r#"{"target":"nonsense"}"#),
            ("/", r#"{"target":"patterns"}"#),
            ("/", r#"{"target":7}"#),
            ("/methods", r#"{"target":7}"#),
            ("/", r#"{"target":"methods","undeclared":1}"#),
            ("/", r#"{"target":"methods","criteria":"room"}"#),
        ] {
            assert_eq!(ask(&format!("DISCOVER {path}"), body).0.status, 422, "{path} {body}");
        }
    }
}

#[test]
fn a_target_reaches_what_the_operator_put_in_place_of_a_built_in() {
    let settings = "[policies]\nbuiltins_override = [\"/tools\"]\n";
    let tools = Endpoint::echo("DISCOVER /tools").taking(&["shelf"]).scopes(&["test:tools"]);
    let engine = Deployment::with_settings(settings).endpoint(&tools).engine();
    let ask = |scope: Option<&str>, body: &str| {
        Req::new("DISCOVER /").maybe("Authority-Scope", scope).body(body).ask(&engine)
    };
    assert_eq!(
        ask(Some("test:tools"), r#"{"target":"tools","shelf":"3"}"#).body,
        json!({"input": {"shelf": "3"}, "method": "DISCOVER", "path": "/tools"})
    );
    assert_eq!(ask(None, r#"{"target":"tools"}"#).status, 262, "its scopes hold for either form");
    assert_eq!(ask(Some("test:tools"), r#"{"target":"tools","undeclared":3}"#).status, 422);
}

#[test]
fn the_old_form_is_warned_of_once_per_agent() {
    static SEEN: Mutex<Vec<String>> = Mutex::new(Vec::new());
    let engine = hotel("").engine().with_log(|event| {
        if matches!(event, Event::TargetInBody { .. } | Event::OldAgentHeader { .. }) {
            SEEN.lock().expect("not poisoned").push(event.to_string());
        }
    });
    let seen = || std::mem::take(&mut *SEEN.lock().expect("not poisoned"));
    let ask = |asker: Option<&str>, header: &str| {
        Req::anonymous("DISCOVER /").maybe(header, asker).body(r#"{"target":"methods"}"#).ask(&engine);
    };
    for _ in 0..3 {
        ask(Some(TESTER), "Agent-ID");
    }
    let warnings = seen();
    assert!(
        warnings.len() == 1 && warnings[0].contains("`tester`") && warnings[0].contains("target"),
        "{warnings:?}"
    );
    ask(Some(PORTER), "Target-Agent");
    ask(Some(PORTER), "Target-Agent");
    assert_eq!(seen().len(), 2, "one for each thing that is old");
    ask(None, "Agent-ID");
    ask(None, "Agent-ID");
    assert_eq!(seen().len(), 1, "callers without Agent-ID count as one");
    // What is refused or new is not warned of.
    Req::new("DISCOVER /methods").ask(&engine);
    assert!(seen().is_empty());
}
