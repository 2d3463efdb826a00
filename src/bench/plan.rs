//! What is to be measured.

use super::Protocol;
use crate::client::Trust;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::time::Duration;

/// What is to be measured, and how.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Where the server is; connections take turns among them.
    pub addresses: Vec<SocketAddr>,
    /// Whom it has to prove to be.
    pub host: String,
    /// Who may vouch for it; plaintext without.
    pub trust: Option<Trust>,
    /// The request, sent over and over.
    pub request: Vec<u8>,
    /// Connections, at least 1.
    pub connections: usize,
    /// Most requests under way on one connection, at least 1.
    pub depth: u32,
    /// Threads, of which each has its share of the connections.
    pub threads: usize,
    /// How long is measured.
    pub duration: Duration,
    /// How long requests are sent before that.
    pub warmup: Duration,
    /// How long an answer, or a connection, is waited for.
    pub timeout: Duration,
    /// Requests a second, sent when they are due (open loop). Without, as many as are answered (closed loop).
    pub rate: Option<f64>,
    /// What answers begin with.
    #[doc(hidden)]
    pub protocol: Protocol,
}

impl Plan {
    /// One connection, one request at a time, for ten seconds after one of warm-up.
    pub fn new(addresses: Vec<SocketAddr>, host: &str, request: Vec<u8>) -> Plan {
        Plan {
            addresses,
            host: host.to_owned(),
            trust: None,
            request,
            connections: 1,
            depth: 1,
            threads: 1,
            duration: Duration::from_secs(10),
            warmup: Duration::from_secs(1),
            timeout: Duration::from_secs(10),
            rate: None,
            protocol: Protocol::Agtp,
        }
    }

    /// Threads that have connections.
    pub(super) fn threads(&self) -> usize {
        self.threads.clamp(1, self.connections.max(1))
    }

    /// The connections of a thread.
    pub(super) fn connections_of(&self, thread: usize) -> usize {
        let (connections, threads) = (self.connections.max(1), self.threads());
        connections / threads + usize::from(thread < connections % threads)
    }
}

/// Where a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Connections are opened.
    Connecting,
    /// Requests are sent, and nothing counts yet.
    WarmingUp,
    /// It counts.
    Measuring,
    /// The last answers are waited for.
    Ending,
    /// It is over.
    Over,
}

/// A run as others see it, and stop it, while it is under way.
#[derive(Debug)]
pub struct Watch {
    stopped: AtomicBool,
    phase: AtomicU8,
    answers: AtomicU64,
    errors: AtomicU64,
}

impl Watch {
    /// Of a run that has not begun.
    pub const fn new() -> Watch {
        Watch {
            stopped: AtomicBool::new(false),
            phase: AtomicU8::new(0),
            answers: AtomicU64::new(0),
            errors: AtomicU64::new(0),
        }
    }

    /// Ends the run; what was measured until then is its result. May be called from anywhere.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// Whether it was ended before its time.
    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// Where it is.
    pub fn phase(&self) -> Phase {
        match self.phase.load(Ordering::Relaxed) {
            0 => Phase::Connecting,
            1 => Phase::WarmingUp,
            2 => Phase::Measuring,
            3 => Phase::Ending,
            _ => Phase::Over,
        }
    }

    /// The answers so far, those of the warm-up too.
    pub fn answers(&self) -> u64 {
        self.answers.load(Ordering::Relaxed)
    }

    /// The errors so far.
    pub fn errors(&self) -> u64 {
        self.errors.load(Ordering::Relaxed)
    }

    pub(super) fn enter(&self, phase: Phase) {
        self.phase.fetch_max(phase as u8, Ordering::Relaxed);
    }

    pub(super) fn note(&self, answers: u64, errors: u64) {
        self.answers.fetch_add(answers, Ordering::Relaxed);
        self.errors.fetch_add(errors, Ordering::Relaxed);
    }
}

impl Default for Watch {
    fn default() -> Self {
        Self::new()
    }
}

/// Why nothing was measured. Displays as one line.
#[derive(Debug)]
pub enum BenchError {
    /// No connection came about; what the last attempt came to.
    Unreachable(String),
    /// The system refused something.
    System {
        /// What it was for.
        what: &'static str,
        /// What it said.
        cause: io::Error,
    },
}

impl BenchError {
    pub(super) fn system(what: &'static str) -> impl Fn(io::Error) -> BenchError {
        move |cause| BenchError::System { what, cause }
    }
}

impl fmt::Display for BenchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BenchError::Unreachable(why) => f.write_str(why),
            BenchError::System { what, cause } => write!(f, "{what} failed: {cause}"),
        }
    }
}

impl std::error::Error for BenchError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_connection_has_one_thread_and_every_thread_a_connection() {
        for (connections, threads) in [(1, 1), (1, 4), (7, 3), (64, 2), (0, 0)] {
            let mut plan = Plan::new(Vec::new(), "", Vec::new());
            (plan.connections, plan.threads) = (connections, threads);
            let shares: Vec<_> = (0..plan.threads()).map(|thread| plan.connections_of(thread)).collect();
            assert_eq!(shares.iter().sum::<usize>(), connections.max(1));
            assert!(shares.iter().all(|share| *share > 0), "{shares:?}");
        }
    }

    #[test]
    fn phases_follow_each_other_on_whichever_thread_is_first() {
        let watch = Watch::new();
        assert_eq!(watch.phase(), Phase::Connecting);
        watch.enter(Phase::Measuring);
        watch.enter(Phase::WarmingUp);
        assert_eq!(watch.phase(), Phase::Measuring);
    }
}
