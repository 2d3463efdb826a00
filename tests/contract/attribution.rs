//! Attribution records (facts page 8): on every answer, chained agent by agent, whatever the way through the engine.

use crate::common::records::{Record, START, in_order, sha256};
use crate::common::{Door, Wire, answers};
use crate::support::{Deployment, Endpoint, Req, TESTER, assert_well_formed};
use agtp::audit::{LedgerOptions, Memory};
use agtp::engine::{Engine, Function};
use agtp::functions;
use agtp::handler::{Context, EndpointError, OwnedContext, OwnedReply, Reply};
use serde_json::json;
use std::sync::{Arc, LazyLock};

const OTHER: &str = "2222222222222222222222222222222222222222222222222222222222222222";
const RETIRED: &str = "3333333333333333333333333333333333333333333333333333333333333333";

static DOOR: LazyLock<Arc<Door>> = LazyLock::new(Arc::default);

fn adds(ctx: &Context<'_>, reply: &mut Reply<'_>) -> Result<(), EndpointError> {
    let len = ctx.input().u64("len")?;
    reply.attribute(|o| {
        o.str("note", &"n".repeat(len as usize));
    })
}

async fn adds_later(_: OwnedContext) -> Result<OwnedReply, EndpointError> {
    DOOR.pass().await;
    OwnedReply::object(|_| {}).attributed(|o| {
        o.bool("later", true);
    })
}

fn attributed() -> Engine<'static> {
    let functions: Vec<Function> = functions! { "test::adds" => adds, "test::adds_later" => adds_later };
    let settings = "[policies]\nscope_required_for_invocation = false\n\
        [policies.methods]\nlegacy = [\"DELETE\"]\n[policies.methods.aliases]\nORDER = \"BOOK\"\n\
        [[policies.methods.redirects]]\nfrom_method = \"RESERVE\"\nfrom_path = \"/room\"\nto_method = \"BOOK\"\n";
    Deployment::with_settings(settings)
        .agent(
            "other",
            &json!({"agent_id": OTHER, "owner_id": "Owner \"O\"", "requires": {"scopes": ["test:*"]}}),
        )
        .agent("retired", &json!({"agent_id": RETIRED, "status": "retired"}))
        .endpoint(&Endpoint::echo("BOOK /room").taking(&["n"]))
        .endpoint(&Endpoint::echo("FIND /room"))
        .endpoint(
            &Endpoint::echo("FIND /adds")
                .properties(json!({"len": {"type": "integer"}}))
                .function("test::adds"),
        )
        .endpoint(&Endpoint::echo("FIND /later").taking(&["n"]).function("test::adds_later"))
        .engine_with(&functions)
        .with_audit(LedgerOptions::into_sink(Arc::new(Memory::new())))
}

#[test]
fn every_answer_carries_a_record_and_each_agent_has_one_chain() {
    let engine = attributed();
    let requests = [
        Req::new("BOOK /room"),
        Req::new("FIND /room"),
        Req::anonymous("DISCOVER"),
        Req::anonymous("FIND /room"),
        Req::new("FIND /nowhere"),
        Req::new("CANCEL /room"),
        Req::new("BOKO /room"),
        Req::new("FIND /fetch/1"),
        Req::new("BOOK /room").body("{"),
        Req::new("BOOK /room").body("[]"),
        Req::new("BOOK /room").body(r#"{"unknown":1}"#),
        Req::new("PROPOSE").body("{}"),
        Req::new("BOOK /room").header("Delegation-Chain", "x"),
        Req::new("BOOK /room").header("Authority-Scope", "other:all"),
        Req::anonymous("BOOK /room").header("Agent-ID", OTHER),
        Req::anonymous("BOOK /room").header("Agent-ID", RETIRED),
        Req::anonymous("BOOK /room").header("Agent-ID", &"9".repeat(64)),
        Req::anonymous("BOOK /room").header("Agent-ID", "short"),
    ];
    let mut chains = [(Some(TESTER), vec![]), (Some(OTHER), vec![]), (Some(RETIRED), vec![]), (None, vec![])];
    for request in &requests {
        let answer = request.ask(&engine);
        let record = Record::of(&answer);
        assert_eq!(record.text("request_hash"), sha256(&request.bytes()), "{}", request.shown());
        assert_eq!(record.header, json!({"alg": "none"}));
        assert!(record.signature.is_empty());
        let of = chains.iter_mut().find(|(agent, _)| record.payload["agent_id"] == json!(agent));
        of.expect("a chain").1.push(record);
    }
    // What is no request, and what never becomes one.
    let broken = b"AGTP/1.0 BOOK /room\r\nAgent-ID : x\r\n\r\n";
    let mut wire = Wire::new(&engine);
    let record = Record::of(&answers(&wire.send(broken))[0]);
    assert_eq!(
        (record.text("request_hash"), &record.payload["agent_id"]),
        (sha256(broken).as_str(), &json!(null))
    );
    chains[3].1.push(record);
    let mut wire = Wire::new(&engine);
    let half = format!("AGTP/1.0 BOOK /room\r\nAgent-ID: {TESTER}\r\nTask");
    assert!(wire.send(half.as_bytes()).is_empty());
    let record = Record::of(&answers(&wire.time_out())[0]);
    assert_eq!(record.text("request_hash"), sha256(half.as_bytes()));
    chains[0].1.push(record);
    assert_eq!(chains.iter().map(|(_, records)| records.len()).collect::<Vec<_>>(), [13, 1, 1, 5]);
    for (_, records) in &chains {
        let ids: Vec<_> = in_order(records).iter().map(|record| &record.id).collect();
        assert_eq!(
            ids,
            records.iter().map(|record| &record.id).collect::<Vec<_>>(),
            "in the order of the answers"
        );
    }
}

#[test]
fn a_record_says_who_asked_for_what_and_when() {
    let engine = attributed();
    let request = Req::anonymous("BOOK /room")
        .header("Agent-ID", OTHER)
        .header("Session-ID", "s \"1\"")
        .header("Task-ID", "t\t1")
        .header("Request-ID", "r\\1")
        .body(r#"{"n":"\u00e4"}"#);
    let answer = request.ask(&engine);
    let Record { payload, .. } = Record::of(&answer);
    let expected = json!({
        "server_id": "server.example", "issued_at": "2027-01-15T08:00:00.000Z", "request_hash": sha256(&request.bytes()),
        "status": 200, "agent_id": OTHER, "owner_id": "Owner \"O\"", "session_id": "s \"1\"", "task_id": "t\t1",
        "request_id": "r\\1", "response_id": answer.header("Response-ID"), "previous_audit_id": START,
        "audit_record_version": "1",
    });
    // Whether it changes state is the endpoint's impact; here it is informational.
    assert_eq!(payload, expected);
}

#[test]
fn an_alias_an_action_and_what_the_handler_adds_are_on_record() {
    let engine = attributed();
    let of = |request: &Req| Record::of(&request.ask(&engine)).payload;
    assert_eq!(of(&Req::new("ORDER /room"))["requested_method"], "ORDER");
    assert_eq!(of(&Req::new("ORDER /nowhere"))["requested_method"], "ORDER");
    assert_eq!(of(&Req::new("DELETE /room"))["requested_method"], "DELETE");
    // A redirect is no alias.
    assert_eq!(of(&Req::new("RESERVE /room"))["requested_method"], json!(null));
    assert_eq!(of(&Req::new("BOOK /room"))["action_id"], json!(null));
    let notified = Req::new("NOTIFY").body(r#"{"recipient":"a","content":"b"}"#);
    let both = answers(&Wire::new(&engine).send(&notified.bytes().repeat(2)));
    let [first, second] = [&both[0], &both[1]].map(|answer| Record::of(answer).payload);
    let id = |payload: &serde_json::Value| payload["action_id"].as_str().expect("an action id").to_owned();
    assert_eq!(id(&first).len(), 36);
    assert_ne!(id(&first), id(&second));
    assert_ne!(first["response_id"], first["action_id"]);
    assert_eq!(of(&Req::new("FIND /adds?len=3"))["extra"], json!({"note": "nnn"}));
    // It is this answer's alone.
    assert_eq!(of(&Req::new("FIND /room"))["extra"], json!(null));
    let fits = agtp::audit::EXTRA_BYTES - r#"{"note":""}"#.len();
    assert_eq!(of(&Req::new(format!("FIND /adds?len={fits}")))["status"], 200);
    let too_long = of(&Req::new(format!("FIND /adds?len={}", fits + 1)));
    assert_eq!((&too_long["status"], &too_long["extra"]), (&json!(500), &json!(null)));
}

#[test]
fn an_answer_that_came_later_and_a_repeat_are_on_record_too() {
    let engine = attributed();
    let request = Req::new("FIND /later").header("Idempotency-Key", "k").body(r#"{"n":"\u00e4"}"#);
    let mut wire = Wire::new(&engine);
    wire.begin(&request.bytes());
    assert!(wire.poll().is_none());
    // Others go ahead meanwhile.
    let between = Record::of(&Req::new("FIND /room").ask(&engine));
    let mut given_up = Wire::new(&engine);
    given_up.begin(&Req::new("FIND /later").bytes());
    let timed_out = Record::of(&answers(&given_up.expire())[0]);
    assert_eq!(timed_out.payload["status"], 408);
    DOOR.open();
    let answer = answers(&wire.poll().expect("an answer")).remove(0);
    assert_well_formed(&answer);
    let later = Record::of(&answer);
    assert_eq!(later.payload["extra"], json!({"later": true}));
    assert_eq!(later.text("request_hash"), sha256(&request.bytes()));
    let repeat = answers(&wire.send(&request.bytes())).remove(0);
    assert_eq!(repeat.body, answer.body);
    let repeated = Record::of(&repeat);
    assert_ne!(repeated.text("response_id"), later.text("response_id"));
    // What the handler added belongs to the answer that it made.
    assert_eq!(repeated.payload["extra"], json!(null));
    let records = [between, timed_out, later, repeated];
    assert_eq!(in_order(&records).len(), 4);
}

#[test]
fn cores_that_serve_one_agent_at_once_make_one_chain() {
    let engine = attributed();
    const EACH: usize = 300;
    let ask = || {
        let mut wire = Wire::new(&engine);
        let requests = Req::new("FIND /room").bytes().repeat(EACH);
        answers(&wire.send(&requests)).iter().map(Record::of).collect::<Vec<_>>()
    };
    let records = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(ask)).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("records")).collect::<Vec<_>>()
    });
    assert_eq!(in_order(&records).len(), 4 * EACH);
}

#[test]
fn without_a_ledger_nothing_is_attributed() {
    let engine = Deployment::new().echoes(&["FIND /room"]).engine();
    let answer = Req::new("FIND /room").ask(&engine);
    assert_eq!((answer.header("Attribution-Record"), answer.header("Audit-ID")), (None, None));
}
