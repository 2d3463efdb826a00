//! Figures for operators. Each core counts in memory of its own, which shares no cache line with another core's, and
//! whoever wants to know reads all of them.

mod counter;
mod expose;

pub(super) use counter::Counter;
pub(super) use expose::CONTENT_TYPE;

use counter::{Counters, Histogram, Named};

use super::log::Log;
use crate::engine::{Answered, Engine};
use crate::wire::Status;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

/// Codes of refusals that a server has besides the errors that its endpoints declare; a few more than there are.
const CODES: usize = 64;

/// The counters of a running server.
#[derive(Debug)]
pub struct Metrics {
    started: SystemTime,
    cores: Box<[Arc<CoreMetrics>]>,
    /// Method and path template, by [`EndpointId`](crate::registry::EndpointId).
    endpoints: Box<[(String, String)]>,
    log: Option<Log>,
}

/// What one core counts. Only its thread may write.
#[derive(Debug)]
#[repr(align(128))]
pub(super) struct CoreMetrics {
    pub(super) accepted: Counter,
    pub(super) closed: Counter,
    /// Connections closed at once because there were too many.
    pub(super) over_limit: Counter,
    /// Connections closed at once because their address had too many.
    pub(super) over_address_limit: Counter,
    /// Times that nothing was accepted for a while, for want of descriptors or memory.
    pub(super) accept_pauses: Counter,
    pub(super) handshakes_full: Counter,
    pub(super) handshakes_resumed: Counter,
    pub(super) handshakes_failed: Counter,
    pub(super) received: Counter,
    pub(super) sent: Counter,
    /// Requests whose answer was to come, and those of them that are over.
    pub(super) awaited: Counter,
    pub(super) awaited_over: Counter,
    /// Failures of the core's loop.
    pub(super) restarts: Counter,
    statuses: Counters,
    endpoints: Counters,
    codes: Named,
    /// Of requests answered at once.
    pub(super) inline: Histogram,
    /// Of those that were awaited.
    pub(super) late: Histogram,
}

impl Metrics {
    /// All at nothing.
    pub(super) fn new(cores: usize, engine: Option<&Engine<'_>>, log: Option<Log>) -> Metrics {
        let registry = engine.map(Engine::registry);
        let endpoints: Box<[_]> = registry.map_or_else(Default::default, |registry| {
            let name = |endpoint: &crate::registry::Endpoint| {
                (registry.method_name(endpoint.method).to_owned(), registry.str(endpoint.path).to_owned())
            };
            registry.endpoints.iter().map(name).collect()
        });
        let codes = CODES + registry.map_or(0, |registry| registry.errors.len());
        let core = || Arc::new(CoreMetrics::new(endpoints.len(), codes));
        let cores = (0..cores).map(|_| core()).collect();
        Metrics { started: SystemTime::now(), cores, endpoints, log }
    }

    /// Times that a core's loop failed and began anew, without the connections it had.
    pub fn restarts(&self) -> u64 {
        self.cores.iter().map(|core| core.restarts.get()).sum()
    }

    /// Times that accepting paused because descriptors or memory had run out.
    pub fn accept_pauses(&self) -> u64 {
        self.cores.iter().map(|core| core.accept_pauses.get()).sum()
    }

    /// The counters of a core.
    pub(super) fn core(&self, index: usize) -> Arc<CoreMetrics> {
        let core = self.cores.get(index).map(Arc::clone);
        core.unwrap_or_else(|| Arc::new(CoreMetrics::new(0, 0)))
    }
}

impl CoreMetrics {
    fn new(endpoints: usize, codes: usize) -> CoreMetrics {
        CoreMetrics {
            accepted: Counter::default(),
            closed: Counter::default(),
            over_limit: Counter::default(),
            over_address_limit: Counter::default(),
            accept_pauses: Counter::default(),
            handshakes_full: Counter::default(),
            handshakes_resumed: Counter::default(),
            handshakes_failed: Counter::default(),
            received: Counter::default(),
            sent: Counter::default(),
            awaited: Counter::default(),
            awaited_over: Counter::default(),
            restarts: Counter::default(),
            statuses: Counters::new(Status::ALL.len()),
            endpoints: Counters::new(endpoints),
            codes: Named::new(codes),
            inline: Histogram::new(),
            late: Histogram::new(),
        }
    }

    /// Counts an answer.
    #[inline]
    pub(super) fn answered(&self, answered: &Answered<'_>) {
        self.statuses.add(answered.status().row(), 1);
        if let Some(endpoint) = answered.endpoint() {
            self.endpoints.add(endpoint.0 as usize, 1);
        }
        if let Some(code) = answered.code() {
            self.codes.add(code);
        }
    }

    /// Counts a handshake that is done.
    pub(super) fn handshake(&self, resumed: bool) {
        if resumed { self.handshakes_resumed.add(1) } else { self.handshakes_full.add(1) }
    }
}

/// Counts a connection for as long as it lives.
pub(super) struct Counted(Arc<CoreMetrics>);

impl Counted {
    pub(super) fn new(metrics: &Arc<CoreMetrics>) -> Counted {
        metrics.accepted.add(1);
        Counted(Arc::clone(metrics))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.closed.add(1);
    }
}

/// Counts a request whose answer is to come, until it is there or nobody wants it any more.
pub(super) struct Awaited {
    metrics: Arc<CoreMetrics>,
    /// When it was taken up.
    pub(super) since: Instant,
}

impl Awaited {
    pub(super) fn new(metrics: &Arc<CoreMetrics>, since: Instant) -> Awaited {
        metrics.awaited.add(1);
        Awaited { metrics: Arc::clone(metrics), since }
    }
}

impl Drop for Awaited {
    fn drop(&mut self) {
        self.metrics.awaited_over.add(1);
    }
}
