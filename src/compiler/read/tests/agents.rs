//! Identity documents and Genesis.

use super::*;
use crate::catalog::json::Node;
use crate::compiler::canonical;
use crate::identity::Status;
use sha2::{Digest, Sha256};

const GENESIS: &str = r#"{
  "owner": "acme", "archetype": "assistant", "governance_zone": "z", "issued_at": "2026-01-01T00:00:00Z",
  "scope": ["booking:*"], "trust_tier": 1, "verification_path": "dns-anchored"
}"#;

fn digest(genesis: &str) -> String {
    let canonical = canonical::of_node(&Node::parse(genesis).unwrap());
    Sha256::digest(canonical).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The Genesis as it lies on disk: with its signature.
fn signed() -> String {
    GENESIS.replacen('{', "{\"signature\": \"c2ln\",", 1)
}

fn identity(rest: &str) -> String {
    format!("{{\n\"agent_id\": \"{}\",\n\"name\": \"lauren\"{rest}\n}}", digest(GENESIS))
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
    assert!(
        genesis.starts_with("{\"archetype\":") && genesis.contains("\"signature\":\"c2ln\""),
        "{genesis}"
    );
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

#[test]
fn a_genesis_that_is_not_the_agent_s_keeps_it_out() {
    let own_id = |id: &str| signed().replacen('{', &format!("{{\"agent_id\": \"{id}\","), 1);
    let check = |genesis: &str, expected: &[&str]| {
        let files = [("agents/a.agent.json", identity("")), ("agents/a.genesis.json", genesis.to_owned())];
        let reading = reading(&files.each_ref().map(|(name, text)| (*name, text.as_str())));
        let faults = shown(&reading.report.faults);
        assert_eq!(faults.iter().filter(|fault| fault.starts_with("agents/")).collect::<Vec<_>>(), expected);
        assert_eq!(reading.deployment.unwrap().agents.len(), usize::from(expected.is_empty()));
    };
    check(&own_id(&digest(GENESIS)), &[]);
    check(&own_id(&digest("{}")), &["agents/a.genesis.json:1 genesis-mismatch"]);
    check(&signed().replace("acme", "acmee"), &["agents/a.genesis.json:1 genesis-mismatch"]);
    check("{", &["agents/a.genesis.json:1 json-syntax"]);
    check("[]", &["agents/a.genesis.json:1 wrong-type"]);
    let twice = signed().replacen("\n}", ",\n\"owner\": \"acme\"}", 1);
    check(&twice, &["agents/a.genesis.json:4 duplicate-key"]);
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
    let id = digest(GENESIS);
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
