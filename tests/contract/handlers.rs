//! Handlers, what becomes of their answers, and `Idempotency-Key` (draft: Field Semantics, Schema Strictness; D13, D26).

use crate::common::{Answer, Wire, answers};
use crate::support::*;
use agtp::engine::{Engine, Event, Function};
use agtp::handler::{Context, EndpointError, Reply};
use serde_json::json;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{LazyLock, Mutex};

type Outcome = Result<(), EndpointError>;

fn incomplete(_: &Context<'_>, reply: &mut Reply<'_>) -> Outcome {
    reply.object(|o| {
        o.str("secret", "the vault is open");
    });
    Ok(())
}

fn mistyped(_: &Context<'_>, reply: &mut Reply<'_>) -> Outcome {
    reply.object(|o| {
        o.str("done", "the vault is open");
    });
    Ok(())
}

fn complete(_: &Context<'_>, reply: &mut Reply<'_>) -> Outcome {
    reply.object(|o| {
        o.bool("done", true).str("more", "than declared");
    });
    Ok(())
}

/// Two answers of equal length, of which the schema accepts one.
fn either(ctx: &Context<'_>, reply: &mut Reply<'_>) -> Outcome {
    reply.object(|o| match ctx.input().opt_str("with") {
        Some(_) => _ = o.str("done", "no"),
        None => _ = o.bool("done", true),
    });
    Ok(())
}

fn twice(_: &Context<'_>, reply: &mut Reply<'_>) -> Outcome {
    reply.object(|o| {
        o.bool("done", true).bool("done", true);
    });
    Ok(())
}

fn nothing(_: &Context<'_>, _: &mut Reply<'_>) -> Outcome {
    Ok(())
}

fn silent(_: &Context<'_>, reply: &mut Reply<'_>) -> Outcome {
    reply.object(|o| {
        o.str("dropped", "by no_content");
    });
    reply.no_content();
    Ok(())
}

fn accepted(ctx: &Context<'_>, reply: &mut Reply<'_>) -> Outcome {
    reply.accepted();
    complete(ctx, reply)
}

fn named(ctx: &Context<'_>, reply: &mut Reply<'_>) -> Outcome {
    reply.object(|o| {
        o.str("dropped", "by the error");
    });
    match ctx.input().opt_str("with") {
        Some("details") => {
            reply.details(|o| {
                o.str("room", "12").u64("until", 3);
            });
            Err(EndpointError::named("room_unavailable").message("room 12 is taken"))
        }
        Some(name) => Err(EndpointError::named(name.to_owned()).message("the vault is open")),
        None => Err(EndpointError::named("room_unavailable")),
    }
}

fn internal(_: &Context<'_>, _: &mut Reply<'_>) -> Outcome {
    Err(EndpointError::internal("the vault is open"))
}

fn panics(_: &Context<'_>, reply: &mut Reply<'_>) -> Outcome {
    reply.object(|o| {
        o.str("half", "the vault is open");
    });
    reply.details(|o| {
        o.str("half", "the vault is open");
    });
    panic!("the vault is open")
}

const PLAIN: &str = "2222222222222222222222222222222222222222222222222222222222222222";

fn functions() -> Vec<Function> {
    vec![
        Function::plain("test::incomplete", incomplete),
        Function::plain("test::mistyped", mistyped),
        Function::plain("test::complete", complete),
        Function::plain("test::either", either),
        Function::plain("test::twice", twice),
        Function::plain("test::nothing", nothing),
        Function::plain("test::silent", silent),
        Function::plain("test::accepted", accepted),
        Function::plain("test::named", named),
        Function::plain("test::internal", internal),
        Function::plain("test::panics", panics),
    ]
}

static LOG: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn log(event: Event<'_>) {
    LOG.lock().expect("a log").push(event.to_string());
}

static HANDLERS: LazyLock<Engine<'static>> = LazyLock::new(|| {
    let output = json!({"type": "object", "properties": {"done": {"type": "boolean"}}, "required": ["done"]});
    let mut deployment = Deployment::new();
    for function in functions() {
        let name = function.name().trim_start_matches("test::");
        let endpoint = Endpoint::echo(&format!("EXECUTE /do-{name}"))
            .taking(&["with"])
            .function(function.name())
            .line("errors = [\"room_unavailable\", \"other\"]");
        deployment = deployment.endpoint(&endpoint.output(output.clone()));
    }
    let any = Endpoint::echo("EXECUTE /do-anything").function("test::nothing");
    deployment.endpoint(&any).engine_with(&functions()).with_log(log)
});

fn execute(line: &str) -> Answer {
    Req::new(format!("EXECUTE /do-{line}")).ask(&HANDLERS)
}

#[test]
fn an_answer_that_satisfies_its_schema_is_passed_on_with_what_else_it_holds() {
    assert_eq!(execute("complete").body, json!({"done": true, "more": "than declared"}));
    let accepted = execute("accepted");
    assert_eq!((accepted.status, accepted.body), (202, json!({"done": true, "more": "than declared"})));
    let anything = execute("anything");
    assert_eq!((anything.status, anything.body), (200, json!({})), "a handler that writes nothing says {{}}");
}

#[test]
fn no_content_has_neither_body_nor_type_nor_schema() {
    let answer = execute("silent");
    assert_eq!((answer.status, answer.raw.len()), (204, 0));
    assert_eq!((answer.header("Content-Type"), answer.header("Content-Length")), (None, Some("0")));
}

#[test]
fn a_faulty_answer_is_withheld_and_only_the_log_knows_why() {
    for (name, code, logged) in [
        ("incomplete", "output-validation-failed", "done"),
        ("mistyped", "output-validation-failed", "/done"),
        ("twice", "output-validation-failed", "twice"),
        ("nothing", "output-validation-failed", "done"),
        ("internal", "handler-failed", "the vault is open"),
        ("panics", "handler-failed", "the vault is open"),
        ("named?with=undeclared", "handler-failed", "undeclared"),
        ("named?with=room_unavailabl", "handler-failed", "room_unavailabl"),
        ("named?with=", "handler-failed", "errors list"),
    ] {
        let answer = execute(name);
        assert_eq!(verdict(&answer), (500, code.to_owned()), "{name}");
        let members: Vec<_> = answer.body["error"].as_object().expect("an object").keys().collect();
        assert_eq!(members, ["code", "message"], "{name}");
        let shown = format!("{}{:?}", answer.body, answer.headers);
        for secret in ["vault", "secret", "done", "undeclared", "test::", ".toml", "src/", "panicked"] {
            assert!(!shown.contains(secret), "{name} reveals {secret}: {shown}");
        }
        let place = format!("EXECUTE /do-{}", name.split('?').next().expect("a name"));
        let log = LOG.lock().expect("a log");
        assert!(log.iter().any(|line| line.contains(&place) && line.contains(logged)), "{name}: {log:?}");
    }
}

#[test]
fn a_named_error_is_422_under_its_own_name() {
    let bare = execute("named");
    assert_eq!(verdict(&bare), (422, "room_unavailable".to_owned()));
    let error = &bare.body["error"];
    assert_eq!((&error["method"], &error["path"]), (&json!("EXECUTE"), &json!("/do-named")));
    assert_eq!(error["details"], json!({}));
    let detailed = execute("named?with=details");
    assert_eq!(detailed.body["error"]["details"], json!({"room": "12", "until": 3}));
    assert_eq!(detailed.body["error"]["message"], "room 12 is taken");
    assert_eq!(verdict(&execute("named?with=other")), (422, "other".to_owned()));
    assert_eq!(
        execute("named").body["error"]["details"],
        json!({}),
        "nothing is left over from an earlier request"
    );
}

#[test]
fn a_panic_costs_its_own_request_alone() {
    let mut wire = Wire::new(&HANDLERS);
    let names = ["panics", "complete", "panics", "named", "internal", "silent", "incomplete", "complete"];
    let requests: Vec<u8> =
        names.iter().flat_map(|name| Req::new(format!("EXECUTE /do-{name}")).bytes()).collect();
    for _ in 0..3 {
        let answers = answers(&wire.send(&requests));
        let statuses: Vec<_> = answers.iter().map(|answer| answer.status).collect();
        assert_eq!(statuses, [500, 200, 500, 422, 500, 204, 500, 200]);
        assert_eq!(answers[3].body["error"]["details"], json!({}), "what a panicking handler left is gone");
        assert!(!wire.closed);
    }
}

#[test]
fn each_answer_is_validated_by_itself() {
    let mut wire = Wire::new(&HANDLERS);
    let lines = ["", "?with=no", "", "?with=no", "?with=no", ""];
    let requests: Vec<u8> =
        lines.iter().flat_map(|query| Req::new(format!("EXECUTE /do-either{query}")).bytes()).collect();
    let statuses: Vec<_> = answers(&wire.send(&requests)).iter().map(|answer| answer.status).collect();
    assert_eq!(statuses, [200, 500, 200, 500, 500, 200]);
}

#[test]
fn handlers_see_the_request_they_answer() {
    fn show(ctx: &Context<'_>, reply: &mut Reply<'_>) -> Outcome {
        let scopes: Vec<_> = ctx.scopes().collect();
        reply.object(|o| {
            o.str("method", ctx.method()).str("path", ctx.path());
            o.str("agent_id", ctx.agent_id().unwrap_or("-"))
                .str("agent_name", ctx.agent_name().unwrap_or("-"));
            o.str("session", ctx.session_id().unwrap_or("-")).str("task", ctx.task_id().unwrap_or("-"));
            o.str("request", ctx.request_id().unwrap_or("-"))
                .str("authorization", ctx.authorization().unwrap_or("-"));
            o.str("cart", ctx.header("cart-digest").unwrap_or("-"))
                .str("none", ctx.header("X-None").unwrap_or("-"));
            o.str("scopes", &scopes.join(" ")).u64("unix_ms", ctx.unix_ms());
        });
        Ok(())
    }
    let functions = [Function::plain("test::show", show)];
    let engine = Deployment::new()
        .endpoint(&Endpoint::echo("FETCH /rooms/{room}").function("test::show"))
        .engine_with(&functions);
    let answer = Req::new("GET /rooms/%31?")
        .header("authority-scope", "test:a , test:b")
        .header("SESSION-ID", "s-1")
        .header("Task-ID", "t-1")
        .header("Authorization", "Bearer x")
        .header("Cart-Digest", "c-1")
        .ask(&engine);
    let expected = json!({
        "method": "FETCH", "path": "/rooms/%31", "agent_id": TESTER, "agent_name": "tester", "session": "s-1", "task": "t-1",
        "request": "-", "authorization": "Bearer x", "cart": "c-1", "none": "-", "scopes": "test:a test:b",
        "unix_ms": 1_800_000_000_000u64,
    });
    assert_eq!(answer.body, expected);
}

static RUNS: AtomicU64 = AtomicU64::new(0);

#[test]
fn an_idempotency_key_runs_a_request_once() {
    let functions = [Function::plain("test::count", |ctx, reply| {
        let run = RUNS.fetch_add(1, Ordering::Relaxed);
        reply.object(|o| {
            o.u64("run", run).value("input", ctx.input().value());
        });
        Ok(())
    })];
    let settings = "[policies]\nscope_required_for_invocation = false\n[policies.methods]\nlegacy = \"*\"\n";
    let counting = |place: &str| Endpoint::echo(place).taking(&["note", "action"]).function("test::count");
    let engine = Deployment::with_settings(settings)
        .agent("plain", &json!({"agent_id": PLAIN}))
        .endpoint(&counting("BOOK /rooms"))
        .endpoint(&counting("FETCH /rooms"))
        .endpoint(&counting("EXECUTE /rooms"))
        .endpoint(&counting("BOOK /rooms/{room}"))
        .engine_with(&functions);
    let ask = |agent: &str, line: &str, key: &str, body: &str| {
        Req::anonymous(line).header("Agent-ID", agent).header("Idempotency-Key", key).body(body).ask(&engine)
    };
    let first = ask(TESTER, "BOOK /rooms", "k", r#"{"note":1}"#);
    let again = ask(TESTER, "BOOK /rooms", "k", r#"{"note":1}"#);
    assert_eq!((first.status, &first.raw), (200, &again.raw));
    let conflict = ask(TESTER, "BOOK /rooms", "k", r#"{"note":2}"#);
    assert_eq!(verdict(&conflict), (409, "idempotency-conflict".to_owned()));
    assert_eq!(RUNS.load(Ordering::Relaxed), 1);
    // Agent, method, path and key tell requests apart.
    for other in [
        ask(PLAIN, "BOOK /rooms", "k", r#"{"note":1}"#),
        ask(TESTER, "FETCH /rooms", "k", r#"{"note":1}"#),
        ask(TESTER, "BOOK /rooms/1", "k", r#"{"note":1}"#),
        ask(TESTER, "BOOK /rooms/2", "k", r#"{"note":1}"#),
        ask(TESTER, "BOOK /rooms", "l", r#"{"note":1}"#),
    ] {
        assert_eq!(other.status, 200, "{other:?}");
        assert_ne!(other.raw, first.raw);
    }
    assert_eq!(RUNS.load(Ordering::Relaxed), 6);
    // A request that never ran claims nothing.
    assert_eq!(ask(TESTER, "BOOK /rooms", "m", r#"{"extra":2}"#).status, 422);
    assert_eq!(ask(TESTER, "BOOK /rooms", "m", r#"{"note":2}"#).status, 200);
    // Nobody gets a stored answer without passing the gates.
    assert_eq!(
        Req::anonymous("BOOK /rooms")
            .header("Idempotency-Key", "k")
            .body(r#"{"note":1}"#)
            .ask(&engine)
            .status,
        262
    );
    // PATCH and DELETE are both EXECUTE, and no repeat of each other.
    assert_eq!(ask(TESTER, "PATCH /rooms", "k", "").body["input"], json!({"action": "modify"}));
    assert_eq!(ask(TESTER, "DELETE /rooms", "k", "").body["input"], json!({"action": "delete"}));
    assert_eq!(ask(TESTER, "EXECUTE /rooms", "k", "").body["input"], json!({}));
}
