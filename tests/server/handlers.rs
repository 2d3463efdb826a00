//! A deployment whose handlers misbehave, or say where they run.

use super::common::{Door, Folder, echo_endpoint, engine_of};
use agtp::engine::{Engine, Function};
use agtp::handler::{Context, EndpointError, OwnedContext, OwnedReply, Reply};
use std::collections::HashMap;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Barrier, LazyLock, Mutex};
use std::task::Poll;

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
        Function::asynchronous("test::door", door),
        Function::asynchronous("test::never", never),
        Function::asynchronous("test::stumble", stumble),
        Function::asynchronous("test::linger", linger),
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
            ("endpoints/door.toml", &bound("door")),
            ("endpoints/never.toml", &format!("{}\ntimeout_seconds = 0.01\n", bound("never"))),
            ("endpoints/stumble.toml", &bound("stumble")),
            ("endpoints/linger.toml", &bound("linger")),
            ("endpoints/plain.toml", &echo_endpoint("FETCH", "/plain", "", r#""text":{"type":"string"}"#)),
        ]);
        engine_of(folder.path(), &functions())
    });
    &ENGINE
}

/// The door that `FETCH /door?text={name}` waits at. Each test opens doors of its own.
pub fn door_named(name: &str) -> Arc<Door> {
    static DOORS: LazyLock<Mutex<HashMap<String, Arc<Door>>>> = LazyLock::new(Mutex::default);
    Arc::clone(DOORS.lock().unwrap().entry(name.to_owned()).or_default())
}

/// Says when `FETCH /linger` began, and when what it holds is dropped.
pub static LINGERING: LazyLock<(Sender<&'static str>, Mutex<Receiver<&'static str>>)> = LazyLock::new(|| {
    let (sender, receiver) = channel();
    (sender, Mutex::new(receiver))
});

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

fn answer(text: &str) -> Result<OwnedReply, EndpointError> {
    Ok(OwnedReply::object(|o| {
        o.str("text", text);
    }))
}

async fn door(ctx: OwnedContext) -> Result<OwnedReply, EndpointError> {
    let name = ctx.input().str("text")?;
    door_named(name).pass().await;
    answer(name)
}

async fn never(_: OwnedContext) -> Result<OwnedReply, EndpointError> {
    std::future::pending::<()>().await;
    answer("never")
}

/// Is woken at once a few times, on the core's own thread; then it panics or answers.
async fn stumble(ctx: OwnedContext) -> Result<OwnedReply, EndpointError> {
    for _ in 0..3 {
        let mut woken = false;
        std::future::poll_fn(|context| {
            if std::mem::replace(&mut woken, true) {
                return Poll::Ready(());
            }
            context.waker().wake_by_ref();
            Poll::Pending
        })
        .await;
    }
    match ctx.input().opt_str("text") {
        Some("fall") => panic!("the handler was told to panic"),
        _ => answer("steady"),
    }
}

struct Farewell;

impl Drop for Farewell {
    fn drop(&mut self) {
        LINGERING.0.send("dropped").unwrap();
    }
}

async fn linger(_: OwnedContext) -> Result<OwnedReply, EndpointError> {
    let _farewell = Farewell;
    LINGERING.0.send("begun").unwrap();
    std::future::pending::<()>().await;
    answer("never")
}

fn core(_: &Context<'_>, reply: &mut Reply<'_>) -> Result<(), EndpointError> {
    reply.object(|o| {
        o.str("core", std::thread::current().name().unwrap_or_default());
    });
    Ok(())
}
