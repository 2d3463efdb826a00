//! `Idempotency-Key` through the engine (D13).

mod common;

use agtp::engine::{Engine, Function};
use agtp::handler::{Context, EndpointError, Reply};
use common::{Answer, Folder, Wire, answers, echo_endpoint, engine_of};
use std::sync::atomic::{AtomicU64, Ordering};

const AGENTS: [&str; 2] = [
    "1111111111111111111111111111111111111111111111111111111111111111",
    "2222222222222222222222222222222222222222222222222222222222222222",
];

static RUNS: AtomicU64 = AtomicU64::new(0);

/// Answers with the number of its run, or fails as the input asks.
fn counted(ctx: &Context<'_>, reply: &mut Reply<'_>) -> Result<(), EndpointError> {
    let run = RUNS.fetch_add(1, Ordering::SeqCst);
    match ctx.input().opt_str("fail") {
        Some("named") => Err(EndpointError::named("sold_out")),
        Some("internal") => Err(EndpointError::internal("on purpose")),
        Some("panic") => panic!("on purpose"),
        Some("nothing") => {
            reply.no_content();
            Ok(())
        }
        _ => {
            reply.object(|o| {
                o.u64("run", run);
            });
            Ok(())
        }
    }
}

fn engine() -> Engine<'static> {
    let agent = |id: &str| format!(r#"{{"agent_id":"{id}","name":"a{}","status":"active"}}"#, &id[..1]);
    let fail = r#""fail":{"type":"string"},"n":{"type":"integer"}"#;
    let endpoint = |method, path| {
        echo_endpoint(method, path, "errors = [\"sold_out\"]", fail).replace("\"echo\"", "\"counted\"")
    };
    let folder = Folder::with(&[
        ("agtp-server.toml", "[policies]\nscope_required_for_invocation = false\n"),
        ("endpoints/buy.toml", &endpoint("BUY", "/things")),
        ("endpoints/sell.toml", &endpoint("SELL", "/things")),
        ("agents/a.agent.json", &agent(AGENTS[0])),
        ("agents/b.agent.json", &agent(AGENTS[1])),
    ]);
    engine_of(folder.path(), &[Function::plain("counted", counted)])
}

fn send(wire: &mut Wire<'_>, agent: &str, line: &str, key: &str, body: &str) -> Answer {
    let request = format!(
        "AGTP/1.0 {line}\r\nAgent-ID: {agent}\r\nIdempotency-Key: {key}\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    answers(&wire.send(request.as_bytes())).remove(0)
}

#[test]
fn a_repeat_gets_the_stored_answer_under_a_fresh_response_id() {
    let engine = engine();
    let mut wire = Wire::new(&engine);
    let first = send(&mut wire, AGENTS[0], "BUY /things", "k1", r#"{"n":1}"#);
    let again = send(&mut wire, AGENTS[0], "BUY /things", "k1", r#"{"n":1}"#);
    assert_eq!((first.status, &first.body), (200, &again.body));
    assert_ne!(first.header("Response-ID"), again.header("Response-ID"));

    let other = send(&mut wire, AGENTS[0], "BUY /things", "k1", r#"{"n":2}"#);
    assert_eq!((other.status, other.code()), (409, "idempotency-conflict"));
    // The query is input too.
    assert_eq!(send(&mut wire, AGENTS[0], "BUY /things?n=1", "k1", "").status, 409);
}

#[test]
fn keys_belong_to_an_agent_a_method_and_a_path() {
    let engine = engine();
    let mut wire = Wire::new(&engine);
    let mut runs = Vec::new();
    for (agent, line, key) in [
        (AGENTS[0], "BUY /things", "k"),
        (AGENTS[1], "BUY /things", "k"),
        (AGENTS[0], "SELL /things", "k"),
        (AGENTS[0], "BUY /things", "K"),
    ] {
        let answer = send(&mut wire, agent, line, key, "{}");
        assert_eq!(answer.status, 200);
        runs.push(answer.body["run"].as_u64().unwrap());
    }
    runs.dedup();
    assert_eq!(runs.len(), 4, "each of them ran");
    // Without a key, or with an empty one, every request runs.
    assert_ne!(
        send(&mut wire, AGENTS[0], "BUY /things", "", "{}").body,
        send(&mut wire, AGENTS[0], "BUY /things", "", "{}").body
    );
}

#[test]
fn named_errors_and_204_are_answers_and_failures_of_the_server_are_not() {
    let engine = engine();
    let mut wire = Wire::new(&engine);
    let before = RUNS.load(Ordering::SeqCst);
    let named = send(&mut wire, AGENTS[0], "BUY /things", "named", r#"{"fail":"named"}"#);
    let again = send(&mut wire, AGENTS[0], "BUY /things", "named", r#"{"fail":"named"}"#);
    assert_eq!((named.status, named.code(), &named.body), (422, "sold_out", &again.body));
    for _ in 0..2 {
        let nothing = send(&mut wire, AGENTS[0], "BUY /things", "nothing", r#"{"fail":"nothing"}"#);
        assert_eq!((nothing.status, nothing.raw.len(), nothing.header("Content-Type")), (204, 0, None));
    }
    assert!(RUNS.load(Ordering::SeqCst) >= before + 2);
    for kind in ["internal", "panic"] {
        let body = format!(r#"{{"fail":"{kind}"}}"#);
        assert_eq!(send(&mut wire, AGENTS[0], "BUY /things", kind, &body).status, 500);
        // The key is free again, even for other input.
        assert_eq!(send(&mut wire, AGENTS[0], "BUY /things", kind, "{}").status, 200);
    }
    // What fails its schema never claims the key.
    assert_eq!(send(&mut wire, AGENTS[0], "BUY /things", "invalid", r#"{"no":1}"#).status, 422);
    assert_eq!(send(&mut wire, AGENTS[0], "BUY /things", "invalid", "{}").status, 200);
}

#[test]
fn the_same_key_on_several_cores_at_once_runs_once() {
    let engine = engine();
    let barrier = std::sync::Barrier::new(4);
    let bodies: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    let mut wire = Wire::new(&engine);
                    barrier.wait();
                    (0..50)
                        .map(|key| send(&mut wire, AGENTS[0], "BUY /things", &format!("c{key}"), "{}").body)
                        .collect::<Vec<_>>()
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(bodies.windows(2).all(|pair| pair[0] == pair[1]), "every core got the answer of the one run");
}
