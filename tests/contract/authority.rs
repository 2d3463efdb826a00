//! Who may do what: the caller gate and the authority gate as one table against a plain model (draft: Field Semantics,
//! Policies Block, Status Codes; D24), and what is said about a known agent.

use crate::common::Answer;
use crate::support::*;
use agtp::engine::{Engine, Event};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicU32, Ordering};

const ACTIVE: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
const POOR: &str = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";
const OLD: &str = "cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc";
const SUSPENDED: &str = "dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd";
const RETIRED: &str = "eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee";
const UNKNOWN: &str = "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff";

const GRANTS: [&str; 2] = ["booking:room", "billing:*"];

/// What the `Agent-ID` header says, if there is one.
const CALLERS: &[Option<&str>] = &[
    None,
    Some(ACTIVE),
    Some(POOR),
    Some(OLD),
    Some(SUSPENDED),
    Some(RETIRED),
    Some(UNKNOWN),
    Some(""),
    Some("active"),
    Some("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"),
    Some("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"),
    Some("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"),
    Some("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"),
    Some("gaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"),
];

/// What the `Authority-Scope` header says, if there is one.
const CLAIMS: &[Option<&str>] = &[
    None,
    Some(""),
    Some(","),
    Some("booking:room"),
    Some("booking:room,billing:*"),
    Some("billing:*, booking:room"),
    Some("billing:*"),
    Some("billing:refund"),
    Some(" billing:refund ,\tbooking:room,"),
    Some("booking:*"),
    Some("admin:all"),
    Some("booking:room,admin:all"),
    Some("*:*"),
    Some("*"),
    Some("booking"),
    Some("booking:room,:all"),
    Some("booking:room;billing:refund"),
];

/// What is asked for.
struct Target {
    line: &'static str,
    body: &'static str,
    kind: Kind,
    requires: &'static [&'static str],
    /// The status once nothing stands in the way.
    status: u16,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    /// The operator's.
    Endpoint,
    /// A DISCOVER built-in.
    Discovery,
    /// A floor method that reads, or that is refused on principle.
    Reading,
    /// A floor method that changes state.
    Changing,
}

#[rustfmt::skip]
const TARGETS: &[Target] = &[
    Target { line: "FETCH /lobby", body: "", kind: Kind::Endpoint, requires: &[], status: 200 },
    Target { line: "FETCH /room", body: "", kind: Kind::Endpoint, requires: &["booking:room"], status: 200 },
    Target { line: "FETCH /refunds", body: "", kind: Kind::Endpoint, requires: &["billing:refund"], status: 200 },
    Target { line: "FETCH /bills", body: "", kind: Kind::Endpoint, requires: &["billing:*"], status: 200 },
    Target { line: "FETCH /both", body: "", kind: Kind::Endpoint, requires: &["booking:room", "billing:refund"], status: 200 },
    Target { line: "FETCH /admin", body: "", kind: Kind::Endpoint, requires: &["admin:all"], status: 200 },
    Target { line: "FETCH /mixed", body: "", kind: Kind::Endpoint, requires: &["booking:room", "admin:all"], status: 200 },
    Target { line: "DISCOVER", body: "", kind: Kind::Discovery, requires: &[], status: 200 },
    Target { line: "DISCOVER /", body: "", kind: Kind::Discovery, requires: &[], status: 200 },
    Target { line: "DISCOVER /methods", body: "", kind: Kind::Discovery, requires: &[], status: 200 },
    Target { line: "DISCOVER /agents", body: "", kind: Kind::Discovery, requires: &[], status: 200 },
    Target { line: "DISCOVER /genesis", body: "", kind: Kind::Discovery, requires: &[], status: 404 },
    Target { line: "DISCOVER /lobby", body: "", kind: Kind::Endpoint, requires: &[], status: 200 },
    Target { line: "PROPOSE /", body: r#"{"endpoint":{}}"#, kind: Kind::Reading, requires: &[], status: 463 },
    Target { line: "QUERY /", body: r#"{"intent":"x"}"#, kind: Kind::Reading, requires: &[], status: 501 },
    Target { line: "DESCRIBE /", body: "", kind: Kind::Reading, requires: &[], status: 501 },
    Target { line: "INSPECT /", body: r#"{"target":"audit","audit_id":"a"}"#, kind: Kind::Reading, requires: &[], status: 501 },
    Target { line: "SUMMARIZE /", body: r#"{"source":"x"}"#, kind: Kind::Reading, requires: &[], status: 501 },
    Target { line: "PLAN /", body: r#"{"goal":"x"}"#, kind: Kind::Reading, requires: &[], status: 501 },
    Target { line: "EXECUTE /", body: r#"{"action":"x"}"#, kind: Kind::Changing, requires: &[], status: 501 },
    Target { line: "DELEGATE /", body: r#"{"target_agent_id":"x","task":1,"authority_scope":"a:b","delegation_token":"t"}"#, kind: Kind::Changing, requires: &[], status: 501 },
    Target { line: "ESCALATE /", body: r#"{"task_id":"t","reason":"r","context":1}"#, kind: Kind::Changing, requires: &[], status: 501 },
    Target { line: "CONFIRM /", body: r#"{"target_id":"t","status":"s"}"#, kind: Kind::Changing, requires: &[], status: 501 },
    Target { line: "SUSPEND /", body: r#"{"session_id":"s"}"#, kind: Kind::Changing, requires: &[], status: 501 },
    Target { line: "NOTIFY /", body: r#"{"recipient":"r","content":"c"}"#, kind: Kind::Changing, requires: &[], status: 501 },
    Target { line: "ACTIVATE /", body: r#"{"agent_id":"a"}"#, kind: Kind::Changing, requires: &[], status: 501 },
    Target { line: "DEACTIVATE /", body: r#"{"agent_id":"a"}"#, kind: Kind::Changing, requires: &[], status: 501 },
    Target { line: "REINSTATE /", body: r#"{"agent_id":"a"}"#, kind: Kind::Changing, requires: &[], status: 501 },
    Target { line: "REVOKE /", body: r#"{"agent_id":"a","reason":"r"}"#, kind: Kind::Changing, requires: &[], status: 501 },
    Target { line: "DEPRECATE /", body: r#"{"agent_id":"a"}"#, kind: Kind::Changing, requires: &[], status: 501 },
];

#[derive(Clone, Copy, Debug)]
struct Settings {
    scope_required: bool,
    anonymous_discovery: bool,
}

fn engine(settings: Settings) -> Engine<'static> {
    let Settings { scope_required, anonymous_discovery } = settings;
    let toml = format!(
        "[policies]\nscope_required_for_invocation = {scope_required}\nanonymous_discovery = {anonymous_discovery}\n"
    );
    let agent =
        |id: &str, status: &str| json!({"agent_id": id, "status": status, "requires": {"scopes": GRANTS}});
    let mut deployment = Deployment::with_settings(&toml)
        .agent("active", &agent(ACTIVE, "active"))
        .agent("poor", &json!({"agent_id": POOR}))
        .agent("old", &agent(OLD, "deprecated"))
        .agent("suspended", &agent(SUSPENDED, "suspended"))
        .agent("retired", &agent(RETIRED, "retired"));
    for target in TARGETS.iter().filter(|target| target.kind == Kind::Endpoint) {
        deployment = deployment.endpoint(&Endpoint::echo(target.line).scopes(target.requires));
    }
    deployment.engine()
}

/// What an answer comes to, with the detail that facts page 3 asks for.
#[derive(Debug, PartialEq)]
enum Outcome {
    Served(u16),
    /// `error.code` of a 400.
    Bad(String),
    Unauthenticated,
    /// Status and `agent_status`.
    Status(u16, String),
    /// `type`, and the scopes `details` names.
    Required(String, Vec<String>),
    /// `missing_scopes`.
    Exceeded(Vec<String>),
}

fn required(kind: &str, scopes: &[&str]) -> Outcome {
    Outcome::Required(kind.to_owned(), scopes.iter().map(|scope| (*scope).to_owned()).collect())
}

/// The model: the draft's obtainability rule and D24, read aloud.
fn expected(settings: Settings, caller: Option<&str>, claim: Option<&str>, target: &Target) -> Outcome {
    let grants = match caller {
        None if target.kind != Kind::Discovery => return required("credentials-missing", &[]),
        None if settings.anonymous_discovery => return Outcome::Served(target.status),
        None => return required("anonymous-discovery-disabled", &[]),
        Some(SUSPENDED) => return Outcome::Status(503, "suspended".to_owned()),
        Some(RETIRED) => return Outcome::Status(410, "retired".to_owned()),
        Some(UNKNOWN) => return Outcome::Unauthenticated,
        Some(ACTIVE | OLD) => &GRANTS[..],
        Some(POOR) => &[],
        Some(_) => return Outcome::Bad("invalid-agent-id".to_owned()),
    };
    let claim: Vec<&str> =
        claim.unwrap_or("").split(',').map(str::trim).filter(|item| !item.is_empty()).collect();
    let is_scope = |item: &&str| match item.split_once(':') {
        Some((domain, action)) => {
            domain.chars().all(|c| c.is_ascii_alphanumeric())
                && !domain.is_empty()
                && !action.is_empty()
                && !action.contains(';')
        }
        None => false,
    };
    if !claim.iter().all(is_scope) {
        return Outcome::Bad("bad-request".to_owned());
    }
    let covers = |have: &[&str], want: &str| {
        let domain = want.split(':').next().unwrap_or("");
        have.iter().any(|have| *have == want || *have == format!("{domain}:*"))
    };
    let beyond = |scopes: &[&'static str]| -> Vec<&str> {
        scopes.iter().copied().filter(|scope| !covers(grants, scope)).collect()
    };
    let excess: Vec<String> =
        claim.iter().filter(|scope| !covers(grants, scope)).map(|scope| (*scope).to_owned()).collect();
    let omitted: Vec<&str> = target.requires.iter().copied().filter(|scope| !covers(&claim, scope)).collect();
    let ungranted = beyond(&omitted);
    let needs_claim = settings.scope_required && matches!(target.kind, Kind::Endpoint | Kind::Changing);
    if !excess.is_empty() {
        Outcome::Exceeded(excess)
    } else if !ungranted.is_empty() {
        Outcome::Exceeded(ungranted.into_iter().map(str::to_owned).collect())
    } else if !omitted.is_empty() || (needs_claim && claim.is_empty()) {
        required("scope-required", &omitted)
    } else {
        Outcome::Served(target.status)
    }
}

fn owned(value: &Value) -> Vec<String> {
    strings(value).into_iter().map(str::to_owned).collect()
}

fn outcome(answer: &Answer, caller: Option<&str>) -> Outcome {
    let error = &answer.body["error"];
    match (answer.status, answer.code()) {
        (400, code) => {
            assert!(error["detail"].is_string(), "{answer:?}");
            Outcome::Bad(code.to_owned())
        }
        (401, "agent-unauthenticated") => {
            assert!(error["reason"].is_string(), "{answer:?}");
            assert_eq!(error["agent_id"].as_str(), caller);
            Outcome::Unauthenticated
        }
        (410, "agent-revoked") | (503, "agent-suspended") => {
            assert_eq!(error["agent_id"].as_str(), caller);
            Outcome::Status(answer.status, error["agent_status"].as_str().expect("a status").to_owned())
        }
        (262, "authorization-required") => {
            assert!(error["explanation"].is_string() && error["details"].is_object(), "{answer:?}");
            let missing = error["details"].get("missing_scopes").map(owned).unwrap_or_default();
            Outcome::Required(error["type"].as_str().expect("a type").to_owned(), missing)
        }
        (455, "scope-violation") => {
            assert_eq!(error["reason"], "scope-exceeded");
            Outcome::Exceeded(owned(&error["missing_scopes"]))
        }
        (status, _) => Outcome::Served(status),
    }
}

#[test]
fn authority_is_what_the_model_says() {
    for scope_required in [true, false] {
        for anonymous_discovery in [true, false] {
            let settings = Settings { scope_required, anonymous_discovery };
            let engine = engine(settings);
            for target in TARGETS {
                for caller in CALLERS {
                    for claim in CLAIMS {
                        let request = Req::anonymous(target.line)
                            .maybe("Agent-ID", *caller)
                            .maybe("Authority-Scope", *claim)
                            .body(target.body);
                        let answer = request.ask(&engine);
                        let expected = expected(settings, *caller, *claim, target);
                        assert_eq!(outcome(&answer, *caller), expected, "{settings:?} {}", request.shown());
                    }
                }
            }
        }
    }
}

#[test]
fn a_caller_without_authority_learns_nothing_of_the_body() {
    let engine = engine(Settings { scope_required: true, anonymous_discovery: true });
    let callers: [(&str, Option<&str>, Option<&str>, u16); 6] = [
        ("FETCH /lobby", None, None, 262),
        ("FETCH /room", Some(ACTIVE), None, 262),
        ("FETCH /room", Some(ACTIVE), Some("admin:all"), 455),
        ("FETCH /admin", Some(ACTIVE), Some("booking:room"), 455),
        ("FETCH /lobby", Some(UNKNOWN), None, 401),
        ("FETCH /room", Some(ACTIVE), Some("booking:room"), 400),
    ];
    for (line, caller, claim, status) in callers {
        for (body, media) in
            [("{", None), ("{\"a\":1,\"a\":2}", None), ("{}x", None), ("<a/>", Some("text/xml"))]
        {
            let request = Req::anonymous(line)
                .maybe("Agent-ID", caller)
                .maybe("Authority-Scope", claim)
                .maybe("Content-Type", media)
                .body(body);
            assert_eq!(request.ask(&engine).status, status, "{}", request.shown());
        }
        let undeclared = Req::anonymous(format!("{line}?nobody_declares_this=1"));
        let undeclared = undeclared.maybe("Agent-ID", caller).maybe("Authority-Scope", claim).ask(&engine);
        assert_eq!(undeclared.status, if status == 400 { 422 } else { status }, "{line}");
    }
}

// What is said about a known agent.

/// Trust headers in the order of `TRUST`.
const TRUST: [&str; 4] = ["Owner-ID", "Trust-Tier", "Verification-Path", "Trust-Warning"];

fn trust(answer: &Answer) -> [Option<&str>; 4] {
    TRUST.map(|name| answer.header(name))
}

/// An identity document, the Genesis beside it, and the trust headers that follow.
type Posture = (Value, Option<Value>, [Option<&'static str>; 4]);

fn postures() -> Vec<Posture> {
    let genesis = sealed(json!({
        "owner_id": "acme.example", "scope": ["test:*"], "trust_tier": 3, "verification_path": "log-anchored",
    }));
    let of_genesis = |extra: Value| {
        let mut document = extra;
        document["agent_id"] = id_of_genesis(&genesis).into();
        document
    };
    let incomplete = Some("verification-incomplete");
    vec![
        (json!({"agent_id": ACTIVE}), None, [None, Some("2"), Some("org-asserted"), incomplete]),
        (
            json!({"agent_id": ACTIVE, "owner_id": "o.example", "trust_tier": 1, "verification_path": "dns-anchored"}),
            None,
            [Some("o.example"), Some("1"), Some("dns-anchored"), None],
        ),
        (
            json!({"agent_id": ACTIVE, "trust_tier": 1, "verification_path": "hybrid", "trust_warning": "audited"}),
            None,
            [None, Some("1"), Some("hybrid"), None],
        ),
        (
            json!({"agent_id": ACTIVE, "trust_tier": 2, "trust_warning": "key-rotation-due"}),
            None,
            [None, Some("2"), Some("org-asserted"), Some("key-rotation-due")],
        ),
        (
            of_genesis(json!({})),
            Some(genesis.clone()),
            [Some("acme.example"), Some("3"), Some("log-anchored"), None],
        ),
        (
            of_genesis(json!({"owner_id": "o.example", "trust_tier": 2})),
            Some(genesis.clone()),
            [Some("o.example"), Some("2"), Some("log-anchored"), incomplete],
        ),
    ]
}

fn deployment_of(document: &Value, genesis: Option<&Value>, status: &str) -> Engine<'static> {
    let mut document = document.clone();
    document["status"] = status.into();
    let mut deployment =
        Deployment::with_settings("[catalog]\nfile = \"small.json\"\n").agent("subject", &document);
    if let Some(genesis) = genesis {
        deployment = deployment.file("agents/subject.genesis.json", &genesis.to_string());
    }
    deployment
        .file("small.json", &small_catalog(&["BOOK"]).to_string())
        .endpoint(&Endpoint::echo("FETCH /lobby"))
        .endpoint(&Endpoint::echo("FETCH /admin").scopes(&["admin:all"]))
        .engine()
}

#[test]
fn trust_posture_rides_on_every_answer_to_a_known_agent() {
    for (document, genesis, expected) in postures() {
        let engine = deployment_of(&document, genesis.as_ref(), "active");
        let id = document["agent_id"].as_str().expect("an id");
        let ask = |line: &str| Req::anonymous(line).header("Agent-ID", id);
        let answers = [
            (200, ask("DISCOVER /methods")),
            (200, ask("DISCOVER")),
            (262, ask("FETCH /lobby")),
            (455, ask("FETCH /admin")),
            (455, ask("FETCH /lobby").header("Authority-Scope", "admin:all")),
            (400, ask("FETCH /lobby").header("Authority-Scope", "nonsense")),
            (404, ask("FETCH /nowhere")),
            (405, ask("BOOK /lobby")),
            (459, ask("BOKO /lobby")),
            (460, ask("FETCH /fetch")),
            (460, ask("FETCH /lobby/")),
            (400, ask("DISCOVER /methods").body("{")),
            (422, ask("DISCOVER /methods?a=1")),
            (463, ask("PROPOSE /")),
            (501, ask("DESCRIBE /")),
            (501, ask("DISCOVER /methods").header("Delegation-Chain", "x")),
        ];
        for (status, request) in answers {
            let answer = request.ask(&engine);
            assert_eq!((answer.status, trust(&answer)), (status, expected), "{document} {}", request.shown());
            assert_eq!(answer.header("Agent-ID"), Some(id));
        }
        for (state, status) in [("suspended", 503), ("retired", 410), ("deprecated", 200)] {
            let engine = deployment_of(&document, genesis.as_ref(), state);
            let answer = ask("DISCOVER /methods").ask(&engine);
            assert_eq!((answer.status, trust(&answer)), (status, expected), "{document}, {state}");
        }
        for stranger in [Some(UNKNOWN), Some("nonsense"), None] {
            let answer = Req::anonymous("FETCH /lobby").maybe("Agent-ID", stranger).ask(&engine);
            assert_eq!(trust(&answer), [None; 4], "{stranger:?}");
            assert_eq!(answer.header("Agent-ID"), stranger, "echoed verbatim, known or not");
        }
    }
}

#[test]
fn a_warning_taken_off_by_the_operator_stays_off() {
    let document = json!({"agent_id": ACTIVE, "trust_tier": 2, "trust_warning": null});
    let engine = deployment_of(&document, None, "active");
    let answer = Req::anonymous("DISCOVER /methods").header("Agent-ID", ACTIVE).ask(&engine);
    assert_eq!(trust(&answer), [None, Some("2"), Some("org-asserted"), None]);
}

#[test]
fn scopes_come_from_the_identity_document_else_from_the_genesis() {
    let genesis = sealed(json!({"owner": "acme.example", "scope": ["admin:all"]}));
    let id = id_of_genesis(&genesis);
    for (document, status) in [
        (json!({"agent_id": id}), 200),
        (json!({"agent_id": id, "requires": {"wildcards": false}}), 200),
        (json!({"agent_id": id, "requires": {"scopes": ["test:*"]}}), 455),
        (json!({"agent_id": id, "requires": {"scopes": []}}), 455),
    ] {
        let engine = deployment_of(&document, Some(&genesis), "active");
        let request =
            Req::anonymous("FETCH /admin").header("Agent-ID", &id).header("Authority-Scope", "admin:all");
        let answer = request.ask(&engine);
        assert_eq!(answer.status, status, "{document}");
        assert_eq!(
            answer.header("Owner-ID"),
            Some("acme.example"),
            "`owner` is the older name of `owner_id`"
        );
    }
}

static OLD_NAMES: AtomicU32 = AtomicU32::new(0);

fn count_old_names(event: Event<'_>) {
    if matches!(event, Event::OldAgentHeader { .. }) {
        OLD_NAMES.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn target_agent_is_the_old_name_of_agent_id() {
    let engine =
        engine(Settings { scope_required: true, anonymous_discovery: false }).with_log(count_old_names);
    let scoped = |line: &str| Req::anonymous(line).header("Authority-Scope", "booking:room");
    assert_eq!(scoped("FETCH /room").header("Agent-ID", ACTIVE).ask(&engine).status, 200);
    assert_eq!(OLD_NAMES.load(Ordering::Relaxed), 0);
    for _ in 0..3 {
        let answer = scoped("FETCH /room").header("Target-Agent", ACTIVE).ask(&engine);
        assert_eq!((answer.status, answer.header("Trust-Tier")), (200, Some("2")));
    }
    assert_eq!(OLD_NAMES.load(Ordering::Relaxed), 1, "one warning per agent");
    assert_eq!(scoped("FETCH /room").header("Target-Agent", OLD).ask(&engine).status, 200);
    assert_eq!(OLD_NAMES.load(Ordering::Relaxed), 2);
    for (old, status) in [(UNKNOWN, 401), ("nonsense", 400), (SUSPENDED, 503), (RETIRED, 410)] {
        assert_eq!(scoped("FETCH /room").header("Target-Agent", old).ask(&engine).status, status, "{old}");
    }
    // The new name wins, whichever comes first.
    let both = |first: (&str, &str), second: (&str, &str)| {
        scoped("FETCH /room").header(first.0, first.1).header(second.0, second.1).ask(&engine)
    };
    for answer in [
        both(("Agent-ID", ACTIVE), ("Target-Agent", UNKNOWN)),
        both(("Target-Agent", SUSPENDED), ("Agent-ID", ACTIVE)),
    ] {
        assert_eq!((answer.status, answer.header("Agent-ID")), (200, Some(ACTIVE)));
    }
    assert_eq!(both(("Target-Agent", ACTIVE), ("Agent-ID", UNKNOWN)).status, 401);
}

#[test]
fn an_agents_methods_are_enforced_where_the_operator_says_so() {
    let agent =
        json!({"agent_id": ACTIVE, "requires": {"methods": ["FETCH", "DISCOVER"], "scopes": ["test:*"]}});
    let free = json!({"agent_id": POOR, "requires": {"scopes": ["test:*"]}});
    for (enforced, other) in [(true, 403), (false, 200)] {
        let settings = format!(
            "[policies]\nscope_required_for_invocation = false\nenforce_agent_methods = {enforced}\n"
        );
        let engine = Deployment::with_settings(&settings)
            .agent("held", &agent)
            .agent("free", &free)
            .echoes(&["FETCH /lobby", "BOOK /lobby"])
            .engine();
        let ask = |id: &str, line: &str| Req::anonymous(line).header("Agent-ID", id).ask(&engine);
        assert_eq!(ask(ACTIVE, "FETCH /lobby").status, 200);
        assert_eq!(ask(ACTIVE, "GET /lobby").status, 200, "the resolved method counts");
        assert_eq!(ask(ACTIVE, "DISCOVER").status, 200);
        let book = ask(ACTIVE, "BOOK /lobby");
        assert_eq!(book.status, other);
        assert!(book.status == 200 || book.code() == "forbidden", "{book:?}");
        assert_eq!(ask(ACTIVE, "BOOK /nowhere").status, 404, "routing comes first");
        assert_eq!(ask(POOR, "BOOK /lobby").status, 200, "a document that lists none holds to none");
    }
}
