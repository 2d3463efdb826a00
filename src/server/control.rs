//! What the cores of a server share: counters, and the word that it is to stop.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering};

/// Counters of a running server.
#[derive(Debug, Default)]
pub struct Stats {
    open: AtomicUsize,
    accepted: AtomicU64,
    refused: AtomicU64,
}

impl Stats {
    /// Connections open now.
    pub fn open(&self) -> usize {
        self.open.load(Ordering::Relaxed)
    }

    /// Connections accepted since the start.
    pub fn accepted(&self) -> u64 {
        self.accepted.load(Ordering::Relaxed)
    }

    /// Connections closed at once because `max_connections` were open (D32).
    pub fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }
}

/// A place among the open connections, freed when dropped.
pub(super) struct Place(Arc<Control>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.stats.open.fetch_sub(1, Ordering::Relaxed);
    }
}

const RUNNING: u8 = 0;
const STOPPING: u8 = 1;

/// Shared by all cores and the handles of a server.
pub(super) struct Control {
    pub(super) stats: Stats,
    max_connections: usize,
    state: AtomicU8,
    /// One for each core.
    wakers: Vec<mio::Waker>,
}

impl Control {
    pub(super) fn new(max_connections: usize, wakers: Vec<mio::Waker>) -> Control {
        Control { stats: Stats::default(), max_connections, state: AtomicU8::new(RUNNING), wakers }
    }

    /// Counts a connection just accepted; `None` when there are too many already (D32).
    pub(super) fn admit(self: &Arc<Self>) -> Option<Place> {
        // Taken first and given back, so that two cores cannot both take the last place.
        let place = Place(Arc::clone(self));
        if self.stats.open.fetch_add(1, Ordering::Relaxed) < self.max_connections {
            self.stats.accepted.fetch_add(1, Ordering::Relaxed);
            return Some(place);
        }
        self.stats.refused.fetch_add(1, Ordering::Relaxed);
        None
    }

    /// Tells every core to finish what is in flight. Repeating it changes nothing.
    pub(super) fn stop(&self) {
        if self.state.swap(STOPPING, Ordering::Release) == RUNNING {
            for waker in &self.wakers {
                // Fails only when the core is gone already.
                let _ = waker.wake();
            }
        }
    }

    /// Has a core take a turn of its loop.
    pub(super) fn wake(&self, core: usize) {
        if let Some(waker) = self.wakers.get(core) {
            // Fails only when the core is gone already.
            let _ = waker.wake();
        }
    }

    pub(super) fn is_stopping(&self) -> bool {
        self.state.load(Ordering::Acquire) == STOPPING
    }
}
