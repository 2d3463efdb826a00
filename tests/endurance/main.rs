//! What clients do to a server and what must hold meanwhile, and that its memory returns to its level afterwards.
//!
//! The tests share one counter of heap bytes, so that they run one at a time.

#![allow(unreachable_pub, reason = "a test crate exports nothing")]

#[path = "../common/mod.rs"]
mod common;
mod crowd;
mod faults;
#[path = "../server/handlers.rs"]
#[allow(dead_code, reason = "another test crate uses the rest")]
mod handlers;
mod heap;
#[path = "../server/rig.rs"]
#[allow(dead_code, reason = "another test crate uses the rest")]
mod rig;
#[path = "../server/secure.rs"]
#[allow(dead_code, reason = "another test crate uses the rest")]
mod secure;

use agtp::server::{Running, ServerConfig};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Begins a test: alone, and as a client.
fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    heap::be_client();
    LazyLock::force(&secure::SHOWN);
    handlers::engine();
    turn
}

/// Each transport, on one core: what one core holds does not depend on how the kernel spreads connections.
fn transports() -> impl Iterator<Item = ServerConfig> {
    rig::configs().into_iter().filter(|config| config.cores == 1)
}

fn name(config: &ServerConfig) -> String {
    format!("{} over {}", if config.tls.is_some() { "TLS" } else { "plaintext" }, config.runtime)
}

/// Waits for what no socket tells.
#[track_caller]
fn wait_until(condition: impl Fn() -> bool) {
    let started = Instant::now();
    while !condition() {
        assert!(started.elapsed() < rig::PATIENCE, "it does not come true");
        std::thread::yield_now();
    }
}

#[track_caller]
fn wait_for_nobody(running: &Running) {
    wait_until(|| running.stats().open() == 0);
}
