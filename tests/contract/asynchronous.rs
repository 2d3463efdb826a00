//! Asynchronous functions: the same contract, and answers that come later.

use super::common::{Answer, Door, Wire, answers};
use super::support::{Deployment, Endpoint, Req, TESTER, assert_well_formed, verdict};
use agtp::engine::{Engine, Event};
use agtp::functions;
use agtp::handler::{Context, EndpointError, OwnedContext, OwnedReply, Reply};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex};

#[derive(Deserialize, Serialize)]
struct Stay {
    guest: String,
    nights: u32,
    extras: Option<Vec<String>>,
}

static DOOR: LazyLock<Arc<Door>> = LazyLock::new(Arc::default);
static RUNS: AtomicUsize = AtomicUsize::new(0);
static LOG: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Counts how often it is dropped, as what a handler holds across an `await` is when its request is given up.
struct Held;

static DROPPED: AtomicUsize = AtomicUsize::new(0);

impl Drop for Held {
    fn drop(&mut self) {
        DROPPED.fetch_add(1, Ordering::SeqCst);
    }
}

async fn wait(_: OwnedContext) -> Result<OwnedReply, EndpointError> {
    RUNS.fetch_add(1, Ordering::SeqCst);
    let _held = Held;
    DOOR.pass().await;
    done()
}

async fn forever(_: OwnedContext) -> Result<OwnedReply, EndpointError> {
    let _held = Held;
    std::future::pending::<()>().await;
    done()
}

async fn show(ctx: OwnedContext) -> Result<OwnedReply, EndpointError> {
    let guest = ctx.input().str("guest")?;
    std::future::ready(()).await;
    let whole = ctx.context();
    Ok(OwnedReply::object(|o| {
        o.str("guest", guest).value("input", ctx.input().value()).str("method", whole.method());
        o.str("path", whole.path()).str("agent", whole.agent_id().unwrap_or_default());
        o.str("name", whole.agent_name().unwrap_or_default())
            .str("task", whole.task_id().unwrap_or_default());
        o.str("header", whole.header("x-colour").unwrap_or_default()).u64("time", whole.unix_ms());
        o.bool("known", whole.agent_key().is_some());
        o.str("scopes", &whole.scopes().collect::<Vec<_>>().join(" "));
    }))
}

async fn typed(ctx: OwnedContext) -> Result<OwnedReply, EndpointError> {
    let mut stay: Stay = ctx.input().deserialize()?;
    stay.nights += 1;
    OwnedReply::serialize(&stay)
}

fn plainly_typed(ctx: &Context<'_>, reply: &mut Reply<'_>) -> Result<(), EndpointError> {
    reply.serialize(&ctx.input().deserialize::<Stay>()?)
}

async fn list(_: OwnedContext) -> Result<OwnedReply, EndpointError> {
    OwnedReply::serialize(&[1, 2])
}

async fn ends(ctx: OwnedContext) -> Result<OwnedReply, EndpointError> {
    std::future::ready(()).await;
    match ctx.input().str("how")? {
        "named" => Err(EndpointError::named("sold_out").message("Too late.").details(|o| {
            o.u64("left", 0);
        })),
        "undeclared" => Err(EndpointError::named("no_such_error")),
        "internal" => Err(EndpointError::internal("the reason")),
        "panic" => panic!("the secret"),
        "wrong" => Ok(OwnedReply::object(|o| {
            o.str("done", "yes");
        })),
        "nothing" => Ok(OwnedReply::no_content()),
        "accepted" => done().map(OwnedReply::accepted),
        _ => done(),
    }
}

fn panics_at_once(_: OwnedContext) -> std::future::Ready<Result<OwnedReply, EndpointError>> {
    panic!("before there is a future")
}

fn done() -> Result<OwnedReply, EndpointError> {
    Ok(OwnedReply::object(|o| {
        o.bool("done", true);
    }))
}

fn log(event: Event<'_>) {
    LOG.lock().unwrap().push(event.to_string());
}

static ENGINE: LazyLock<Engine<'static>> = LazyLock::new(|| {
    let functions = functions! {
        "test::wait" => wait,
        "test::forever" => forever,
        "test::show" => show,
        "test::typed" => typed,
        "test::plainly_typed" => plainly_typed,
        "test::list" => list,
        "test::ends" => ends,
        "test::panics_at_once" => panics_at_once,
    };
    let output = json!({"type": "object", "properties": {"done": {"type": "boolean"}}, "required": ["done"]});
    let stay = json!({"guest": {"type": "string"}, "nights": {"type": "integer"}, "extras": {}});
    Deployment::new()
        .endpoint(&Endpoint::echo("BOOK /plain").taking(&["n"]))
        .endpoint(&Endpoint::echo("BOOK /wait").taking(&["n"]).function("test::wait").output(output.clone()))
        .endpoint(&Endpoint::echo("BOOK /forever").function("test::forever").table("timeout_seconds = 1.5"))
        .endpoint(
            &Endpoint::echo("BOOK /show/{guest}")
                .taking(&["n"])
                .scopes(&["test:book"])
                .function("test::show"),
        )
        .endpoint(&Endpoint::echo("BOOK /typed").properties(stay.clone()).function("test::typed"))
        .endpoint(&Endpoint::echo("BOOK /plainly-typed").properties(stay).function("test::plainly_typed"))
        .endpoint(&Endpoint::echo("BOOK /numbers").function("test::list"))
        .endpoint(
            &Endpoint::echo("BOOK /ends")
                .taking(&["how"])
                .function("test::ends")
                .output(output)
                .line("errors = [\"sold_out\"]"),
        )
        .endpoint(&Endpoint::echo("BOOK /panics").function("test::panics_at_once"))
        .engine_with(&functions)
        .with_log(log)
});

fn only(bytes: &[u8]) -> Answer {
    let mut answers = answers(bytes);
    assert_eq!(answers.len(), 1);
    assert_well_formed(&answers[0]);
    answers.remove(0)
}

#[test]
fn sees_what_a_plain_one_sees() {
    let answer = Req::new("BOOK /show/Ad%61?n=%C3%A9")
        .header("Authority-Scope", "test:book")
        .header("Task-ID", "t-1")
        .header("X-Colour", "blue")
        .body(r#"{"n":["\u00e4",1.5]}"#)
        .ask(&ENGINE);
    assert_eq!(answer.status, 200, "{answer:?}");
    let expected = json!({
        "guest": "Ada", "input": {"n": ["ä", 1.5], "guest": "Ada"}, "method": "BOOK", "path": "/show/Ad%61",
        "agent": TESTER, "name": "tester", "task": "t-1", "header": "blue", "time": 1_800_000_000_000_u64,
        "known": true, "scopes": "test:book",
    });
    assert_eq!(answer.body, expected);
    assert_eq!(answer.header("Task-ID"), Some("t-1"));
    assert!(answer.header("Supported-Methods").is_some(), "it is the connection's first answer");
}

#[test]
fn is_not_begun_before_every_gate_is_passed() {
    let cases = [
        ("BOOK /show/x/y", "{}", (404, "endpoint-not-found")),
        ("FETCH /show/x", "{}", (405, "method-not-allowed")),
        ("BOOK /show/x", "{}", (262, "authorization-required")),
        ("BOOK /ends", r#"{"other":1}"#, (422, "input-validation-failed")),
        ("BOOK /ends", "{", (400, "invalid-json")),
    ];
    for (line, body, (status, code)) in cases {
        assert_eq!(verdict(&Req::new(line).body(body).ask(&ENGINE)), (status, code.to_owned()), "{line}");
    }
}

#[test]
fn serde_reads_the_input_and_writes_the_answer() {
    let body = r#"{"guest":"Ada","nights":2.0,"extras":["tea"]}"#;
    let answer = Req::new("BOOK /typed").body(body).ask(&ENGINE);
    assert_eq!(answer.body, json!({"guest": "Ada", "nights": 3, "extras": ["tea"]}));
    let answer = Req::new("BOOK /plainly-typed").body(r#"{"guest":"Ada","nights":2}"#).ask(&ENGINE);
    assert_eq!(answer.body, json!({"guest": "Ada", "nights": 2, "extras": null}));

    // The type wants what the schema does not promise; an answer is an object.
    for line in ["BOOK /typed", "BOOK /plainly-typed", "BOOK /numbers"] {
        assert_eq!(verdict(&Req::new(line).ask(&ENGINE)), (500, "handler-failed".to_owned()), "{line}");
    }
    let log = LOG.lock().unwrap().join("\n");
    assert!(log.contains("missing field `guest`") && log.contains("it is no object"), "{log}");
}

#[test]
fn ends_are_answered_as_a_plain_functions() {
    let ask = |how: &str| Req::new("BOOK /ends").body(json!({ "how": how }).to_string()).ask(&ENGINE);
    let named = ask("named");
    assert_eq!(verdict(&named), (422, "sold_out".to_owned()));
    assert_eq!(named.body["error"]["message"], "Too late.");
    assert_eq!(named.body["error"]["details"], json!({"left": 0}));
    assert_eq!(verdict(&ask("undeclared")), (500, "handler-failed".to_owned()));
    assert_eq!(verdict(&ask("internal")), (500, "handler-failed".to_owned()));
    assert_eq!(verdict(&ask("wrong")), (500, "output-validation-failed".to_owned()));
    let panicked = ask("panic");
    assert_eq!(verdict(&panicked), (500, "handler-failed".to_owned()));
    assert!(!String::from_utf8_lossy(&panicked.raw).contains("secret"));
    assert_eq!(ask("nothing").status, 204);
    assert_eq!(ask("accepted").status, 202);
    assert_eq!(ask("well").body, json!({"done": true}));
    assert_eq!(verdict(&Req::new("BOOK /panics").ask(&ENGINE)), (500, "handler-failed".to_owned()));
    let log = LOG.lock().unwrap().join("\n");
    assert!(log.contains("the secret") && log.contains("before there is a future"), "{log}");
}

#[test]
fn answers_keep_the_order_of_their_requests() {
    let tagged = |line: &str, tag: usize| Req::new(line).header("Request-ID", &tag.to_string()).bytes();
    let lines = ["BOOK /plain", "BOOK /ends?how=well", "NOPE /", "BOOK /ends?how=panic", "BOOK /plain"];
    let batch: Vec<u8> = lines.iter().enumerate().flat_map(|(tag, line)| tagged(line, tag)).collect();
    let answers = answers(&Wire::new(&ENGINE).send(&batch));
    let statuses: Vec<_> = answers.iter().map(|answer| answer.status).collect();
    assert_eq!(statuses, [200, 200, 459, 500, 200]);
    for (tag, answer) in answers.iter().enumerate() {
        assert_eq!(answer.header("Request-ID"), Some(tag.to_string().as_str()));
        assert_eq!(answer.header("Supported-Methods").is_some(), tag == 0);
    }
}

#[test]
fn what_takes_too_long_is_dropped_and_answered_408() {
    let mut wire = Wire::new(&ENGINE);
    wire.begin(&Req::new("BOOK /forever").header("Request-ID", "r").bytes());
    assert_eq!(wire.patience_ms(), Some(1500));
    assert!(wire.poll().is_none());
    let before = DROPPED.load(Ordering::SeqCst);
    let answer = only(&wire.expire());
    assert_eq!(verdict(&answer), (408, "timeout".to_owned()));
    assert_eq!(answer.header("Request-ID"), Some("r"));
    assert!(DROPPED.load(Ordering::SeqCst) > before, "what it held is dropped");
    assert_eq!(wire.patience_ms(), None);
    // The request was whole, so the connection goes on.
    assert_eq!(only(&wire.send(&Req::new("BOOK /plain").bytes())).status, 200);
}

#[test]
fn a_repeat_waits_for_the_first_and_gets_its_answer() {
    let request = |key: &str, n: u32| {
        Req::new("BOOK /wait").header("Idempotency-Key", key).body(json!({ "n": n }).to_string()).bytes()
    };
    let before = RUNS.load(Ordering::SeqCst);
    let (mut first, mut second, mut other) = (Wire::new(&ENGINE), Wire::new(&ENGINE), Wire::new(&ENGINE));
    first.begin(&request("k", 1));
    second.begin(&request("k", 1));
    assert_eq!(
        only(&other.send(&request("k", 2))).status,
        409,
        "another input under the key of one that runs"
    );
    assert!(first.poll().is_none() && second.poll().is_none());

    // The first is given up: it is the second's turn.
    first.expire();
    assert!(second.poll().is_none());
    first.begin(&request("k", 1));
    assert!(first.poll().is_none());
    DOOR.open();
    assert!(first.poll().is_none(), "it repeats the second now");
    assert_eq!(only(&second.poll().unwrap()).status, 200);
    assert_eq!(only(&first.poll().unwrap()).body, json!({"done": true}));
    assert_eq!(RUNS.load(Ordering::SeqCst) - before, 2);
}
