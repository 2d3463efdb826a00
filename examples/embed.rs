//! The engine without the server: a deployment in memory, one request in, one answer out.
//!
//! `cargo run --example embed`
//!
//! An appliance would compile its deployment in its build script instead (`agtp::compiler::build`), and then needs
//! nothing of the `compiler` feature at run time.

use agtp::compiler::{self, ManifestTimes, ReadOptions};
use agtp::engine::{Core, Engine, Function, Now, PADDING, Session, Step};
use agtp::handler::{Context, EndpointError, Reply};
use std::error::Error;

const ENDPOINT: &str = r#"
[endpoint]
method = "GREET"
path = "/guests/{name}"
description = "Greets a guest."
required_scopes = ["guests:greet"]

[endpoint.semantic]
intent = "Greet a guest by name."
actor = "agent"
outcome = "The guest feels welcome."
capability = "notification"
confidence = 0.9
impact = "informational"
is_idempotent = true

[[endpoint.input.required]]
name = "name"
type = "string"
description = "Who is greeted."

[[endpoint.output]]
name = "greeting"
type = "string"
description = "The greeting."

[endpoint.handler]
type = "registered_function"
function = "guests::greet"
"#;

const AGENT: &str = r#"{
  "agent_id": "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff",
  "name": "doorman",
  "status": "active",
  "requires": { "scopes": ["guests:greet"] }
}"#;

const REQUEST: &[u8] = b"AGTP/1.0 GREET /guests/Ada\r\n\
    Agent-ID: 00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\r\n\
    Authority-Scope: guests:greet\r\n\
    \r\n";

fn greet(ctx: &Context<'_>, reply: &mut Reply<'_>) -> Result<(), EndpointError> {
    let name = ctx.input().str("name")?;
    reply.object(|o| {
        o.str("greeting", "Welcome!").str("to", name);
    });
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let documents = [("endpoints/greet-guest.toml", ENDPOINT), ("agents/doorman.agent.json", AGENT)];
    let reading = compiler::read_documents(&documents, &ReadOptions::default());
    let deployment = reading.deployment.ok_or_else(|| reading.report.to_string())?;
    let compiled = compiler::lower(&deployment, &ManifestTimes::default())?;

    // One engine for all threads; a core for each thread; a session for each connection.
    let functions = [Function::plain("guests::greet", greet)];
    let engine = Engine::new(&compiled.registry, &compiled.agents, &functions)
        .map_err(|error| format!("the engine cannot be made: {error:?}"))?;
    let mut core = Core::new(&engine, 0x5eed);
    let mut session = Session::new();

    // The engine parses in place, and wants some bytes behind the input that it may look at.
    let mut input = REQUEST.to_vec();
    input.resize(REQUEST.len() + PADDING, 0);
    let mut output = Vec::new();
    let now = Now { unix_ms: 1_767_603_661_000 };
    match engine.step(&mut core, &mut session, now, &mut input, REQUEST.len(), &mut output) {
        Step::Answered { consumed, close } => {
            println!("{consumed} bytes consumed, close: {close}\n\n{}", String::from_utf8_lossy(&output));
        }
        Step::Waiting { .. } => println!("an asynchronous function is at work: poll the session"),
        Step::NeedMore => println!("the request is not complete"),
    }
    Ok(())
}
