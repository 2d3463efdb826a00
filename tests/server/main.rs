//! The server from outside: real sockets, both runtimes, one core and two, against the engine alone.
//!
//! Nothing here depends on timing: a test waits for bytes that must come, and only a hung server makes it fail by the
//! clock ([`rig::PATIENCE`]).

#![allow(unreachable_pub, reason = "a test crate exports nothing")]

#[path = "../common/mod.rs"]
mod common;

mod admin;
mod closing;
mod corpus;
mod crowd;
mod encrypted;
mod faults;
mod framing;
mod handlers;
mod logs;
mod mutual;
#[allow(dead_code, reason = "another test crate uses the rest")]
mod rig;
mod secure;
mod start;
mod upstreams;
mod waiting;
