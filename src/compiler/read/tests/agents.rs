//! Identity documents and Genesis.

use super::*;
use crate::compiler::genesis::issue;
use crate::compiler::ir::AgentDecl;
use crate::compiler::key::SigningKey;
use crate::identity::Status;
use serde_json::{Map, Value, json};

fn issued(issuer: u8) -> Map<String, Value> {
    let claims = json!({
        "owner": "acme", "archetype": "assistant", "governance_zone": "z", "issued_at": "2026-01-01T00:00:00Z",
        "scope": ["booking:*"], "trust_tier": 1, "verification_path": "dns-anchored",
    });
    issue(claims.as_object().unwrap().clone(), &SigningKey::from_seed(&[issuer; 32]))
}

fn id() -> String {
    issued(1)["agent_id"].as_str().unwrap().to_owned()
}

/// The Genesis as it lies on disk: a line for each member.
fn signed() -> String {
    serde_json::to_string_pretty(&issued(1)).unwrap()
}

fn identity(rest: &str) -> String {
    format!("{{\n\"agent_id\": \"{}\",\n\"name\": \"lauren\"{rest}\n}}", id())
}

fn agent(identity: &str, genesis: Option<&str>) -> AgentDecl {
    let mut files = vec![("agents/a.agent.json", identity)];
    files.extend(genesis.map(|genesis| ("agents/a.genesis.json", genesis)));
    let reading = reading(&files);
    assert_eq!(reading.report.errors(), 0, "{}", reading.report);
    reading.deployment.unwrap().agents.remove(0)
}

#[test]
fn a_genesis_is_the_default_of_its_identity_document() {
    let agent = agent(&identity(""), Some(&signed()));
    assert_eq!(agent.grants, ["booking:*"]);
    assert_eq!((agent.trust_tier, agent.verification_path.as_str()), (1, "dns-anchored"));
    assert_eq!((agent.trust_warning, agent.owner_id.as_deref()), (None, Some("acme")));
    assert_eq!(agent.status, Status::Active);
    let genesis = agent.genesis.unwrap();
    assert_eq!(genesis, crate::compiler::canonical::of_value(&issued(1).into()));
}

#[test]
fn an_explicit_value_beats_the_genesis() {
    let rest = r#", "trust_tier": 3, "verification_path": "hybrid", "owner_id": "me", "trust_warning": "careful",
        "requires": {"scopes": [], "methods": ["BOOK"], "wildcards": false, "else": 1}, "status": "suspended",
        "skills": ["Books.", "Cancels."], "shoe_size": 43"#;
    let agent = agent(&identity(rest), Some(&signed()));
    assert_eq!((agent.trust_tier, agent.verification_path.as_str()), (3, "hybrid"));
    assert_eq!((agent.trust_warning.as_deref(), agent.owner_id.as_deref()), (Some("careful"), Some("me")));
    assert!(agent.grants.is_empty(), "an empty list is explicit");
    assert_eq!((agent.methods.len(), agent.status), (1, Status::Suspended));
    assert_eq!(agent.skills_summary, "Books.; Cancels.");
}

#[test]
fn without_either_the_posture_is_incomplete() {
    let bare = agent(&identity(""), None);
    assert_eq!((bare.trust_tier, bare.verification_path.as_str()), (2, "org-asserted"));
    assert_eq!(bare.trust_warning.as_deref(), Some("verification-incomplete"));
    assert_eq!((bare.owner_id, bare.genesis), (None, None));
    assert_eq!(
        agent(&identity(", \"trust_warning\": null"), None).trust_warning,
        None,
        "absence may be explicit"
    );
    assert_eq!(agent(&identity(", \"trust_tier\": 1"), None).trust_warning, None);
}

#[test]
fn the_skills_summary_ends_between_characters() {
    let skills = format!(", \"skills\": [\"{}\"]", "é".repeat(300));
    assert_eq!(agent(&identity(&skills), None).skills_summary, "é".repeat(200));
}

/// The faults of an agent whose Genesis this is, by member: `signature genesis-signature`.
fn faults_with(genesis: &str) -> Vec<String> {
    let (document, name) = (identity(""), "agents/a.genesis.json");
    let reading = reading(&[("agents/a.agent.json", &document), (name, genesis)]);
    let faults: Vec<_> = reading.report.faults.iter().filter(|fault| fault.source.file == name).collect();
    assert_eq!(reading.deployment.unwrap().agents.len(), usize::from(faults.is_empty()), "{genesis}");
    let member = |line: u32| genesis.lines().nth(line as usize - 1).unwrap().split('"').nth(1).unwrap_or("");
    faults.iter().map(|fault| format!("{} {}", member(fault.source.line), fault.code)).collect()
}

/// A Genesis on disk, one member of it replaced.
fn with(member: &str, value: impl Into<Value>) -> String {
    let mut genesis = issued(1);
    genesis.insert(member.to_owned(), value.into());
    serde_json::to_string_pretty(&genesis).unwrap()
}

fn without(member: &str) -> String {
    let mut genesis = issued(1);
    genesis.remove(member);
    serde_json::to_string_pretty(&genesis).unwrap()
}

#[test]
fn a_genesis_that_is_not_the_agent_s_keeps_it_out() {
    assert!(faults_with(&signed()).is_empty());
    assert!(faults_with(&without("agent_id")).is_empty());
    assert_eq!(faults_with(&with("agent_id", "0".repeat(64))), ["agent_id genesis-mismatch"]);
    assert_eq!(faults_with("{"), [" json-syntax"]);
    assert_eq!(faults_with("[]"), [" wrong-type"]);
    let twice = signed().replacen("\n}", ",\n\"owner\": \"acme\"}", 1);
    assert_eq!(faults_with(&twice), ["owner duplicate-key"]);
    // Sound in itself, but another agent's.
    let other = serde_json::to_string_pretty(&issued(2)).unwrap();
    assert_eq!(faults_with(&other), [" genesis-mismatch", "agent_id genesis-mismatch"]);
}

#[test]
fn a_genesis_that_does_not_verify_keeps_its_agent_out() {
    let tampered = [" genesis-mismatch", "signature genesis-signature"];
    assert_eq!(faults_with(&with("owner", "acmee")), tampered);
    assert_eq!(faults_with(&with("more", 1)), tampered);
    let key = SigningKey::from_seed(&[2; 32]).public().to_base64url();
    assert_eq!(faults_with(&with("issuer_public_key", key)), tampered);
    let foreign = issued(2)["signature"].clone();
    assert_eq!(faults_with(&with("signature", foreign)), ["signature genesis-signature"]);
    assert_eq!(faults_with(&with("signature", "c2ln")), ["signature genesis-signature"]);
    assert_eq!(faults_with(&with("signature", 7)), ["signature genesis-signature"]);
    assert_eq!(faults_with(&without("signature")), [" genesis-signature"]);
    assert_eq!(faults_with(&without("issuer_public_key")), [" genesis-mismatch", " genesis-key"]);
    let short = [" genesis-mismatch", "issuer_public_key genesis-key"];
    assert_eq!(faults_with(&with("issuer_public_key", "AAAA")), short);
}

#[test]
fn many_agents_are_read_by_several_threads_as_by_one() {
    let issuer = SigningKey::from_seed(&[3; 32]);
    let mut files = Vec::new();
    for number in 0..700 {
        let claims = json!({"owner_id": "acme", "serial": number});
        let genesis = issue(claims.as_object().unwrap().clone(), &issuer);
        let document = json!({"agent_id": genesis["agent_id"], "name": format!("agent-{number}")});
        files.push((format!("agents/{number:03}.agent.json"), document.to_string()));
        let mut genesis = Value::Object(genesis);
        if number % 100 == 7 {
            genesis["signature"] = "".into();
        }
        files.push((format!("agents/{number:03}.genesis.json"), genesis.to_string()));
    }
    let files: Vec<_> = files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let reading = reading(&files);
    let faults: Vec<_> =
        shown(&reading.report.faults).into_iter().filter(|f| f.starts_with("agents/")).collect();
    let expected: Vec<_> = (0..7).map(|n| format!("agents/{n}07.genesis.json:1 genesis-signature")).collect();
    assert_eq!(faults, expected);
    assert_eq!(reading.deployment.unwrap().agents.len(), 693);
}

#[test]
fn each_fault_of_an_identity_document_has_its_line() {
    let check = |text: &str, expected: &[&str]| {
        let found = faults(&[("agents/a.agent.json", text)]);
        let expected: Vec<_> = expected.iter().map(|fault| format!("agents/a.agent.json:{fault}")).collect();
        assert_eq!(found, expected, "{text}");
    };
    check("{}", &["1 missing-field", "1 missing-field"]);
    check("{\n}x", &["2 json-syntax"]);
    check(&identity("").replace("\"name\": \"lauren\"", "\"name\": \"\""), &["3 empty-field"]);
    let id = id();
    check(&identity("").replace(&id, &id.to_uppercase()), &["2 agent-id-form"]);
    check(&identity("").replace(&id, &id[1..]), &["2 agent-id-form"]);
    let cases: &[(&str, &str)] = &[
        ("\"name\": \"b\"", "duplicate-key"),
        ("\"status\": \"gone\"", "agent-value"),
        ("\"status\": 1", "wrong-type"),
        ("\"skills\": \"x\"", "wrong-type"),
        ("\"requires\": []", "wrong-type"),
        ("\"requires\": {\"scopes\": [\"booking\"]}", "scope-form"),
        ("\"requires\": {\"methods\": [\"book\"]}", "method-form"),
        ("\"requires\": {\"wildcards\": 1}", "wrong-type"),
        ("\"scopes_accepted\": [\"booking\"]", "scope-form"),
        ("\"trust_tier\": 4", "agent-value"),
        ("\"trust_tier\": \"1\"", "agent-value"),
        ("\"verification_path\": \"dns\"", "agent-value"),
        ("\"trust_warning\": \"a\\r\\nb\"", "not-header-safe"),
        ("\"owner_id\": \"é\"", "not-header-safe"),
    ];
    for (rest, code) in cases {
        check(&identity(&format!(",\n{rest}")), &[&format!("4 {code}")]);
    }
}

#[test]
fn agents_are_unique_and_sorted() {
    let other = format!("{{\"agent_id\": \"{}\", \"name\": \"morgan\"}}", "0".repeat(64));
    let same_name = format!("{{\"agent_id\": \"{}\", \"name\": \"morgan\"}}", "f".repeat(64));
    let reading = reading(&[
        ("agents/a.agent.json", &identity("")),
        ("agents/b.agent.json", &identity("")),
        ("agents/c.agent.json", &other),
        ("agents/d.agent.json", &same_name),
        ("agents/e.genesis.json", "{}"),
    ]);
    let found: Vec<_> =
        shown(&reading.report.faults).into_iter().filter(|fault| fault.starts_with("agents/")).collect();
    assert_eq!(
        found,
        [
            "agents/b.agent.json:1 agent-duplicate",
            "agents/d.agent.json:1 agent-name-duplicate",
            "agents/e.genesis.json:0 genesis-orphan",
        ]
    );
    let agents = reading.deployment.unwrap().agents;
    assert!(agents.len() == 3 && agents.windows(2).all(|pair| pair[0].agent_id < pair[1].agent_id));
}
