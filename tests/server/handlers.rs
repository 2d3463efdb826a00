//! A deployment whose handlers misbehave, or say where they run.

use super::common::{Folder, echo_endpoint, engine_of};
use agtp::engine::{Engine, Function};
use agtp::handler::{Context, EndpointError, Reply};
use std::sync::{Barrier, LazyLock};

/// Met by [`wait`] when it begins and again before it answers.
pub static MEETING: Barrier = Barrier::new(2);

/// Length of the answer of `FETCH /large`, in bytes without its frame.
pub const LARGE_BYTES: usize = 4 << 20;

const AGENT_ID: &str = "7a0000000000000000000000000000000000000000000000000000000000000a";

fn functions() -> Vec<Function> {
    vec![
        Function::plain("echo", agtp::handler::echo),
        Function::plain("test::fail", fail),
        Function::plain("test::large", large),
        Function::plain("test::wait", wait),
        Function::plain("test::core", core),
    ]
}

const SETTINGS: &str = r#"
[server]
server_id = "tests.example"
[policies]
scope_required_for_invocation = false
"#;

/// An engine with `FETCH /fail`, `/large`, `/wait`, `/core` and `/plain`.
pub fn engine() -> &'static Engine<'static> {
    static ENGINE: LazyLock<Engine<'static>> = LazyLock::new(|| {
        let bound = |name: &str| {
            let text = echo_endpoint("FETCH", &format!("/{name}"), "", r#""text":{"type":"string"}"#);
            text.replace("\"echo\"", &format!("\"test::{name}\""))
        };
        let agent = format!(
            r#"{{"agent_id":"{AGENT_ID}","name":"tester","description":"Tests.","principal":"Tests","principal_id":"t",
                "status":"active","skills":[],"requires":{{"methods":["FETCH"],"scopes":["test:run"],"wildcards":false}},
                "scopes_accepted":[],"issuer":"tests.example","issued_at":"2026-01-01T00:00:00Z"}}"#
        );
        let folder = Folder::with(&[
            ("agtp-server.toml", SETTINGS),
            ("agents/tester.agent.json", &agent),
            ("endpoints/fail.toml", &bound("fail")),
            ("endpoints/large.toml", &bound("large")),
            ("endpoints/wait.toml", &bound("wait")),
            ("endpoints/core.toml", &bound("core")),
            ("endpoints/plain.toml", &echo_endpoint("FETCH", "/plain", "", r#""text":{"type":"string"}"#)),
        ]);
        engine_of(folder.path(), &functions())
    });
    &ENGINE
}

/// `FETCH /{name}`, to be recognised by its Request-ID.
pub fn fetch(name: &str, request_id: impl std::fmt::Display) -> Vec<u8> {
    format!("AGTP/1.0 FETCH /{name}\r\nAgent-ID: {AGENT_ID}\r\nRequest-ID: {request_id}\r\n\r\n").into_bytes()
}

fn fail(_: &Context<'_>, reply: &mut Reply<'_>) -> Result<(), EndpointError> {
    reply.object(|o| {
        o.str("half", "written");
    });
    panic!("the handler was told to panic");
}

fn large(_: &Context<'_>, reply: &mut Reply<'_>) -> Result<(), EndpointError> {
    let text = "x".repeat(LARGE_BYTES);
    reply.object(|o| {
        o.str("text", &text);
    });
    Ok(())
}

fn wait(_: &Context<'_>, reply: &mut Reply<'_>) -> Result<(), EndpointError> {
    MEETING.wait();
    MEETING.wait();
    reply.object(|o| {
        o.str("waited", "yes");
    });
    Ok(())
}

fn core(_: &Context<'_>, reply: &mut Reply<'_>) -> Result<(), EndpointError> {
    reply.object(|o| {
        o.str("core", std::thread::current().name().unwrap_or_default());
    });
    Ok(())
}
