//! The contract, asked of the engine from outside: what the draft and the companion facts promise an agent, case by
//! case. Expectations are written from the specification; where there are many, a plain model beside them computes
//! what is right.

#![allow(unreachable_pub, reason = "a test crate exports nothing")]

#[path = "../common/mod.rs"]
mod common;

mod asynchronous;
mod attribution;
mod authority;
mod builtins;
mod certificates;
mod compositions;
mod discover;
mod external;
mod handlers;
mod input;
mod lifecycle;
mod observer;
mod paths;
mod policy;
mod policy_matrix;
mod requirements;
mod support;
mod vocabulary;
mod wire;
