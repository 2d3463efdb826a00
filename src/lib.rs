//! Server, engine and toolbox for the Agent Transfer Protocol's method layer (AGTP-METHODS).
//!
//! AGTP is an HTTP-shaped text protocol for AI agents. A server declares endpoints: a verb of a versioned catalog, a
//! path template, a semantic block, JSON Schemas, named errors, scopes and a handler. The contract is the protocol's
//! to enforce, before any handler runs.
//!
//! # The way of a request
//!
//! ```text
//!  bytes ─▶ wire ──────▶ engine ────────────────────────────────────────────────▶ handler ─▶ output schema ─▶ bytes
//!           head, in     caller ─▶ vocabulary ─▶ place ────────▶ authority ─▶ input
//!           place        400 401   459           460 405 404     262 455      400 422
//!           400 413      410 503
//!                           │          │           │                │          │
//!                        identity   registry: verbs, tries,      identity    json: tape, schema
//!                                   leak automaton, policy
//! ```
//!
//! The [`registry`] is compiled ahead of all that, by `build.rs` or at start: a perfect hash over the verbs, a static
//! trie per method, an automaton that finds verbs in paths, pre-rendered replies. A request borrows from the bytes it
//! came in; what it needs beyond is a core's scratch, which is reset and not freed.
//!
//! # A first program
//!
//! ```no_run
//! use agtp::compiler::{ManifestTimes, ReadOptions, lower, read};
//! use agtp::engine::{Core, Engine, Function, Now, PADDING, Session, Step};
//!
//! let functions = [Function::plain("echo", agtp::handler::echo)];
//! let reading = read("my-deployment".as_ref(), &ReadOptions::default());
//! print!("{}", reading.report);
//! let deployment = reading.deployment.expect("a usable deployment");
//! let compiled = lower(&deployment, &ManifestTimes::default()).expect("tables");
//! let engine = Engine::new(&compiled.registry, &compiled.agents, &functions).expect("bound functions");
//!
//! let (mut core, mut session, mut out) = (Core::new(&engine, 42), Session::new(), Vec::new());
//! let mut buffer = b"AGTP/1.0 DISCOVER /methods\r\n\r\n".to_vec();
//! let len = buffer.len();
//! buffer.resize(len + PADDING, 0);
//! let step = engine.step(&mut core, &mut session, Now { unix_ms: 0 }, &mut buffer, len, &mut out);
//! assert_eq!(step, Step::Answered { consumed: len, close: false });
//! ```
//!
//! # Features
//!
//! * none: the engine alone ([`engine`], [`registry`], [`wire`], [`json`], [`identity`], [`audit`], [`handler`]), without runtime,
//!   socket, clock or file access, on any platform.
//! * `audit`: attribution records that are signed and stored ([`audit`]; without, they can be made and kept in memory).
//! * `compiler`: deployment directories to registries, for build scripts and at start.
//! * `client`: a blocking client.
//! * `server`: thread-per-core servers on glommio (io_uring) and mio (epoll).
//! * `cli` (default): the `agtp` command with the sample deployment compiled in, and its load generator, `bench`.

#[cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::todo))]
pub mod audit;
#[cfg(feature = "cli")]
#[cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::todo))]
pub mod bench;
#[cfg(feature = "compiler")]
pub mod catalog;
#[cfg(feature = "cli")]
pub mod cli;
#[cfg(feature = "client")]
pub mod client;
#[cfg(feature = "compiler")]
pub mod compiler;
// On the request path a panic is a crash that somebody else can trigger.
#[cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::todo))]
pub mod engine;
pub mod handler;
#[cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::todo))]
pub mod identity;
#[cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::todo))]
pub mod json;
#[cfg(feature = "cli")]
pub mod openapi;
#[cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::todo))]
pub mod registry;
#[cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::todo))]
#[cfg(feature = "server")]
pub mod server;
#[cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::todo))]
pub mod wire;
