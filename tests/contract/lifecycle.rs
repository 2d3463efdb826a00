//! Lifecycles and INSPECT (facts pages 8 and 9; D31): what may become of an agent, who may read about it, and what
//! happens while nothing can be put on record.

use crate::common::records::{Record, START, sha256};
use crate::common::{Answer, Wire, answers};
use crate::support::{Deployment, Endpoint, Req, TESTER, id_of_genesis, sealed, verdict};
use agtp::audit::{Access, AuditId, ChainKey, Entry, Head, LedgerOptions, LifecycleAuth, Memory, Sink};
use agtp::engine::Engine;
use agtp::identity::{PeerIdentity, parse_agent_id};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Waker;

const OTHER: &str = "2222222222222222222222222222222222222222222222222222222222222222";
const RETIRED: &str = "3333333333333333333333333333333333333333333333333333333333333333";

fn deployment() -> Deployment {
    Deployment::new()
        .agent("other", &json!({"agent_id": OTHER, "requires": {"scopes": ["test:*"]}}))
        .agent("retired", &json!({"agent_id": RETIRED, "status": "retired"}))
        .endpoint(&Endpoint::echo("FIND /room"))
}

fn open(sink: Arc<dyn Sink>) -> LedgerOptions {
    LedgerOptions { lifecycle_auth: LifecycleAuth::Open, ..LedgerOptions::into_sink(sink) }
}

fn engine() -> Engine<'static> {
    deployment().engine().with_audit(open(Arc::new(Memory::new())))
}

fn call(engine: &Engine<'_>, method: &str, body: Value) -> Answer {
    Req::new(method).body(body.to_string()).ask(engine)
}

fn as_other(engine: &Engine<'_>) -> (u16, String) {
    verdict(&Req::anonymous("FIND /room").header("Agent-ID", OTHER).ask(engine))
}

#[test]
fn a_status_is_in_force_at_once_on_connections_that_are_open() {
    let engine = engine();
    let mut open = Wire::new(&engine);
    let mut ask = || {
        let request = Req::anonymous("FIND /room").header("Agent-ID", OTHER).bytes();
        verdict(&answers(&open.send(&request)).remove(0))
    };
    assert_eq!(ask().0, 200);
    for (method, status, then) in [
        ("DEACTIVATE", "suspended", (503, "agent-suspended")),
        ("ACTIVATE", "active", (200, "")),
        ("DEACTIVATE", "suspended", (503, "agent-suspended")),
        ("REINSTATE", "active", (200, "")),
        ("DEPRECATE", "deprecated", (200, "")),
        ("REVOKE", "retired", (410, "agent-revoked")),
    ] {
        let body = json!({"agent_id": OTHER, "reason": "because", "actor": "desk"});
        let answer = call(&engine, method, body.clone());
        assert_eq!(answer.status, 200, "{answer:?}");
        assert_eq!((&answer.body["status"], &answer.body["noop"]), (&json!(status), &json!(false)));
        assert_eq!(ask(), (then.0, then.1.to_owned()), "after {method}");
        // A repeat says so and changes nothing.
        let repeat = call(&engine, method, body);
        assert_eq!(repeat.body, json!({"agent_id": OTHER, "status": status, "noop": true}));
    }
}

#[test]
fn retirement_is_for_good() {
    let engine = engine();
    for method in ["REINSTATE", "ACTIVATE", "DEACTIVATE", "DEPRECATE"] {
        let answer = call(&engine, method, json!({"agent_id": RETIRED}));
        assert_eq!(verdict(&answer), (422, "lifecycle-conflict".to_owned()), "{method}");
        assert_eq!(answer.body["error"]["agent_status"], "retired");
    }
    let answer = call(&engine, "REVOKE", json!({"agent_id": RETIRED, "reason": "again"}));
    assert_eq!(answer.body["noop"], true);
    // Nor does a mark end a suspension.
    assert_eq!(call(&engine, "DEACTIVATE", json!({"agent_id": OTHER})).status, 200);
    assert_eq!(call(&engine, "DEPRECATE", json!({"agent_id": OTHER})).status, 422);
    assert_eq!(as_other(&engine).0, 503);
}

#[test]
fn parameters_are_held_to_their_schemas() {
    let engine = engine();
    for (method, body, expected) in [
        ("REVOKE", json!({"agent_id": OTHER}), (422, "/reason")),
        ("ACTIVATE", json!({}), (422, "/agent_id")),
        ("ACTIVATE", json!({"agent_id": OTHER, "more": 1}), (422, "/more")),
        ("ACTIVATE", json!({"agent_id": "9".repeat(64)}), (404, "")),
        ("ACTIVATE", json!({"agent_id": "short"}), (404, "")),
        ("INSPECT", json!({}), (422, "/target")),
        ("INSPECT", json!({"target": "weather"}), (422, "/target")),
        ("INSPECT", json!({"target": "audit"}), (422, "/audit_id")),
        ("INSPECT", json!({"target": "chain_head"}), (422, "/agent_id")),
        ("INSPECT", json!({"target": "lifecycle"}), (422, "/agent_id")),
        ("INSPECT", json!({"target": "lifecycle", "agent_id": OTHER, "limit": 0}), (422, "/limit")),
        ("INSPECT", json!({"target": "audit", "audit_id": "9".repeat(64)}), (404, "")),
        ("INSPECT", json!({"target": "audit", "audit_id": "x"}), (404, "")),
        ("INSPECT", json!({"target": "chain_head", "agent_id": OTHER}), (404, "")),
        ("INSPECT", json!({"target": "chain_head", "agent_id": "9".repeat(64)}), (404, "")),
        ("INSPECT", json!({"target": "lifecycle", "agent_id": "9".repeat(64)}), (404, "")),
    ] {
        let answer = call(&engine, method, body.clone());
        let fields = answer.body["error"]["details"].to_string();
        assert_eq!(answer.status, expected.0, "{method} {body}: {answer:?}");
        let shown = answer.body.to_string();
        assert!(shown.contains(&format!("\"{}\"", expected.1)) || expected.1.is_empty(), "{shown} {fields}");
    }
}

#[test]
fn records_heads_and_events_are_read_back_and_make_chains() {
    let engine = engine();
    let first = Record::of(&Req::new("FIND /room").ask(&engine));
    let found = call(&engine, "INSPECT", json!({"target": "audit", "audit_id": first.id}));
    assert_eq!(found.body["attribution_record"], first.jws);
    assert_eq!(found.body["payload"], first.payload);
    let head = call(&engine, "INSPECT", json!({"target": "chain_head", "agent_id": TESTER}));
    assert_eq!(head.body, json!({"agent_id": TESTER, "audit_id": Record::of(&found).id, "length": 2}));
    let nobody = Record::of(&Req::anonymous("DISCOVER").ask(&engine));
    let head = call(&engine, "INSPECT", json!({"target": "chain_head", "agent_id": "nobody"}));
    assert_eq!(head.body["audit_id"], nobody.id);

    let lifecycle = |limit: u64| {
        let body = json!({"target": "lifecycle", "agent_id": OTHER, "limit": limit});
        call(&engine, "INSPECT", body).body
    };
    assert_eq!(lifecycle(5), json!({"agent_id": OTHER, "status": "active", "events": []}));
    let mut ids = vec![];
    for method in ["DEACTIVATE", "REINSTATE", "REVOKE"] {
        let body = json!({"agent_id": OTHER, "reason": "r", "actor": "a"});
        let answer = call(&engine, method, body);
        ids.push(answer.body["event_id"].as_str().unwrap().to_owned());
    }
    let read = lifecycle(5);
    assert_eq!(
        (read["status"].as_str(), lifecycle(2)["events"].as_array().unwrap().len()),
        (Some("retired"), 2)
    );
    let mut previous = START.to_owned();
    for (event, id) in read["events"].as_array().unwrap().iter().rev().zip(&ids) {
        let jws = event["event_record"].as_str().unwrap();
        assert_eq!((event["event_id"].as_str(), sha256(jws.as_bytes())), (Some(id.as_str()), id.clone()));
        assert_eq!(event["payload"]["previous_event_id"], previous);
        assert_eq!(Record::parse(jws).payload, event["payload"]);
        previous = id.clone();
    }
    let last = &read["events"][0]["payload"];
    assert_eq!(
        *last,
        json!({
            "server_id": "server.example", "issued_at": "2027-01-15T08:00:00.000Z", "method": "REVOKE", "agent_id": OTHER,
            "previous_status": "active", "status": "retired", "reason": "r", "actor": "a", "requested_by": TESTER,
            "lifecycle_event_version": "1", "previous_event_id": ids[1],
        })
    );
}

#[test]
fn access_is_what_the_operator_says() {
    for (read_acl, own, others) in
        [(Access::Public, 200, 200), (Access::AgentOnly, 200, 403), (Access::OperatorOnly, 403, 403)]
    {
        let options = LedgerOptions { read_acl, ..open(Arc::new(Memory::new())) };
        let engine = deployment().engine().with_audit(options);
        let mine = Record::of(&Req::new("FIND /room").ask(&engine)).id;
        let request = Req::anonymous("FIND /room").header("Agent-ID", OTHER);
        let theirs = Record::of(&request.ask(&engine)).id;
        let inspect = |body: Value| call(&engine, "INSPECT", body).status;
        for (id, agent, expected) in [(mine, TESTER, own), (theirs, OTHER, others)] {
            assert_eq!(inspect(json!({"target": "audit", "audit_id": id})), expected, "{read_acl:?} {agent}");
            for target in ["chain_head", "lifecycle"] {
                assert_eq!(
                    inspect(json!({"target": target, "agent_id": agent})),
                    expected,
                    "{read_acl:?} {agent}"
                );
            }
        }
        let anonymous = Req::anonymous("INSPECT").body(r#"{"target":"chain_head","agent_id":"nobody"}"#);
        assert_eq!(anonymous.ask(&engine).status, 262);
    }
}

#[test]
fn without_a_certificate_only_development_changes_anything() {
    let options = LedgerOptions::into_sink(Arc::new(Memory::new()));
    let engine = deployment().engine().with_audit(options);
    for agent_id in [OTHER, &"9".repeat(64)] {
        let answer = call(&engine, "DEACTIVATE", json!({"agent_id": agent_id}));
        assert_eq!(verdict(&answer), (401, "agent-unauthenticated".to_owned()));
        assert_eq!(answer.body["error"]["reason"], "certificate-required");
    }
    assert_eq!(as_other(&engine).0, 200);
    assert_eq!(call(&deployment().engine(), "DEACTIVATE", json!({"agent_id": OTHER})).status, 501);
}

#[test]
fn with_a_certificate_the_issuer_changes_its_agents_and_nobody_else_s() {
    let genesis = sealed(json!({"owner": "acme.example", "scope": ["test:*"]}));
    let subject = id_of_genesis(&genesis);
    let key = genesis["issuer_public_key"].as_str().unwrap();
    let issuer = Sha256::digest(URL_SAFE_NO_PAD.decode(key).unwrap()).into();
    let engine = deployment()
        .agent("subject", &json!({"agent_id": subject}))
        .file("agents/subject.genesis.json", &genesis.to_string())
        .engine()
        .with_audit(LedgerOptions::into_sink(Arc::new(Memory::new())));
    let ask = |key_fingerprint, agent_id: &str| {
        let peer = PeerIdentity { agent_id: parse_agent_id(TESTER.as_bytes()), key_fingerprint };
        let request = Req::new("DEACTIVATE").body(json!({"agent_id": agent_id}).to_string()).bytes();
        verdict(&answers(&Wire::new(&engine).proven(peer).send(&request)).remove(0))
    };
    let forbidden = (403, "forbidden".to_owned());
    assert_eq!(ask(Some([5; 32]), &subject), forbidden, "another key");
    assert_eq!(ask(Some(issuer), OTHER), forbidden, "an agent without a Genesis has no issuer");
    assert_eq!(ask(None, &subject).0, 401, "a key that is no Ed25519 key");
    assert_eq!(ask(Some(issuer), &subject).0, 200);
    let of_subject = Req::anonymous("FIND /room").header("Agent-ID", &subject).ask(&engine);
    assert_eq!(verdict(&of_subject), (503, "agent-suspended".to_owned()));
}

#[test]
fn a_status_survives_a_restart_whatever_attribution_is() {
    let sink: Arc<dyn Sink> = Arc::new(Memory::new());
    let start = |attribution| {
        deployment().engine().with_audit(LedgerOptions { attribution, ..open(Arc::clone(&sink)) })
    };
    let answer = call(&start(false), "DEACTIVATE", json!({"agent_id": OTHER}));
    assert_eq!((answer.status, answer.header("Attribution-Record")), (200, None));
    assert_eq!(as_other(&start(true)), (503, "agent-suspended".to_owned()));
    assert_eq!(call(&start(true), "REINSTATE", json!({"agent_id": OTHER})).status, 200);
    assert_eq!(as_other(&start(false)).0, 200);
}

/// Takes everything until it breaks; from then on it takes what is binding and settles nothing.
#[derive(Default)]
struct Fragile {
    inner: Memory,
    broken: AtomicBool,
}

impl Fragile {
    fn is_broken(&self) -> bool {
        self.broken.load(Ordering::SeqCst)
    }
}

impl Sink for Fragile {
    fn append(&self, entry: &Entry<'_>) -> Option<u64> {
        if self.is_broken() && !entry.binding {
            return None;
        }
        self.inner.append(entry)
    }

    fn settled(&self) -> u64 {
        0
    }

    fn wake_when_settled(&self, _number: u64, _waker: &Waker) {}

    fn is_failing(&self) -> bool {
        self.is_broken()
    }

    fn head(&self, chain: &ChainKey) -> Option<Head> {
        self.inner.head(chain)
    }

    fn find(&self, id: &AuditId) -> Option<Vec<u8>> {
        self.inner.find(id)
    }

    fn newest(&self, chain: &ChainKey, most: usize) -> Vec<Vec<u8>> {
        self.inner.newest(chain, most)
    }
}

#[test]
fn while_nothing_can_be_kept_nothing_is_changed_and_the_rest_goes_on() {
    use agtp::audit::OnFailure;
    for (on_failure, expected) in [(OnFailure::Refuse, 503), (OnFailure::Serve, 200)] {
        let sink = Arc::new(Fragile::default());
        let options = LedgerOptions { on_failure, ..open(Arc::clone(&sink) as Arc<dyn Sink>) };
        let files = deployment().endpoint(&Endpoint::echo("BOOK /room").impact("reversible"));
        let engine = files.engine().with_audit(options);
        let ask = |line: &str| Req::new(line).ask(&engine);
        let before = Record::of(&ask("BOOK /room"));
        assert_eq!(before.payload["status"], 200);
        sink.broken.store(true, Ordering::SeqCst);
        assert_eq!(ask("BOOK /room").status, expected, "{on_failure:?}");
        assert_eq!(ask("FIND /room").status, 200);
        // Who may not do it is told so first.
        let beyond = Req::new("BOOK /room").header("Authority-Scope", "other:all").ask(&engine);
        assert_eq!(beyond.status, 455);
        sink.broken.store(false, Ordering::SeqCst);
        let after = Record::of(&ask("BOOK /room"));
        assert_eq!(after.text("previous_audit_id"), before.id, "what was not kept is no part of the chain");
    }
}
