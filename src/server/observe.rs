//! What becomes of a core's answers besides being sent: they are counted, timed and logged.

use super::log::{AccessLog, Where};
use super::metrics::{Awaited, CoreMetrics};
use crate::engine::{Answered, Observer};
use std::cell::{Cell, RefCell};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// One request of so many is timed, unless there is an access log: reading the clock twice costs a tenth of what a short
/// request does.
const TIMED: u32 = 16;

/// How long the request in work is taking.
#[derive(Clone, Copy, Default)]
enum Timing {
    #[default]
    Off,
    /// Since it was taken up.
    Inline(Instant),
    /// Since it was taken up, which was in an earlier turn.
    Awaited(Instant),
}

/// Sees all answers of a core.
pub(super) struct Watch {
    core: usize,
    metrics: Arc<CoreMetrics>,
    timing: Cell<Timing>,
    /// Requests until one is timed.
    untimed: Cell<u32>,
    /// Whose request is in work.
    client: Cell<Option<IpAddr>>,
    log: Option<RefCell<AccessLog>>,
}

impl Watch {
    pub(super) fn new(core: usize, metrics: Arc<CoreMetrics>, log: Option<AccessLog>) -> Watch {
        let log = log.map(RefCell::new);
        Watch { core, metrics, timing: Cell::default(), untimed: Cell::new(0), client: Cell::new(None), log }
    }

    /// Whether answers are logged, with whom they are for.
    pub(super) fn logs(&self) -> bool {
        self.log.is_some()
    }

    /// A request may be answered now.
    #[inline]
    pub(super) fn begin(&self, client: Option<IpAddr>) {
        self.client.set(client);
        let timed = self.untimed.get() == 0;
        self.timing.set(if timed { Timing::Inline(Instant::now()) } else { Timing::Off });
    }

    /// The request's answer is to come.
    pub(super) fn put_off(&self) -> Box<Awaited> {
        let since = match self.timing.take() {
            Timing::Inline(since) | Timing::Awaited(since) => since,
            // Later by as long as its gates took, which is next to nothing beside what it waits for.
            Timing::Off => Instant::now(),
        };
        Box::new(Awaited::new(&self.metrics, since))
    }

    /// A request that was put off may be answered now.
    pub(super) fn go_on(&self, client: Option<IpAddr>, awaited: Option<&Awaited>) {
        self.client.set(client);
        self.timing.set(awaited.map_or(Timing::Off, |awaited| Timing::Awaited(awaited.since)));
    }

    /// A request that is not whole is answered.
    pub(super) fn cut_short(&self, client: Option<IpAddr>) {
        self.client.set(client);
        self.timing.set(Timing::Off);
    }

    /// How long the answer took, if that was measured.
    fn took(&self) -> Option<Duration> {
        let every = if self.logs() { 1 } else { TIMED };
        self.untimed.set(self.untimed.get().checked_sub(1).unwrap_or(every - 1));
        let (since, histogram) = match self.timing.take() {
            Timing::Off => return None,
            Timing::Inline(since) => (since, &self.metrics.inline),
            Timing::Awaited(since) => (since, &self.metrics.late),
        };
        let took = since.elapsed();
        histogram.add(took);
        Some(took)
    }
}

impl Observer for Watch {
    fn answered(&self, answered: &Answered<'_>) {
        let took = self.took();
        self.metrics.answered(answered);
        // Nothing below logs an answer, so that it is free.
        if let Some(Ok(mut log)) = self.log.as_ref().map(RefCell::try_borrow_mut) {
            log.answered(answered, Where { core: self.core, client: self.client.get(), took });
        }
    }
}
