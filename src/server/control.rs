//! What the cores of a server share: counters, and the word that it is to stop.

use super::config::ServerConfig;
use super::crowd::{Crowd, Network};
use super::metrics::Metrics;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering};

/// Counters of a running server.
#[derive(Debug, Default)]
pub struct Stats {
    open: AtomicUsize,
    accepted: AtomicU64,
    refused: AtomicU64,
    crowded: AtomicU64,
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

    /// Connections closed at once because their address held `max_connections_per_address`.
    pub fn crowded(&self) -> u64 {
        self.crowded.load(Ordering::Relaxed)
    }
}

/// Why a connection is not taken in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Full {
    /// The server has all that it may have.
    Server,
    /// Its address has.
    Address,
}

/// A place among the open connections, freed when dropped.
pub(super) struct Place {
    control: Arc<Control>,
    /// Who has it, if that is counted.
    network: Option<Network>,
}

impl Drop for Place {
    fn drop(&mut self) {
        if let (Some(crowd), Some(network)) = (&self.control.crowd, self.network) {
            crowd.leave(network);
        }
        self.control.stats.open.fetch_sub(1, Ordering::Relaxed);
    }
}

const RUNNING: u8 = 0;
const STOPPING: u8 = 1;

/// Shared by all cores and the handles of a server.
pub(super) struct Control {
    pub(super) stats: Stats,
    pub(super) metrics: Metrics,
    max_connections: usize,
    /// Counts the connections of each address, when that is limited.
    crowd: Option<Crowd>,
    state: AtomicU8,
    /// One for each core.
    wakers: Vec<mio::Waker>,
}

impl Control {
    pub(super) fn new(config: &ServerConfig, wakers: Vec<mio::Waker>, metrics: Metrics) -> Control {
        Control {
            stats: Stats::default(),
            metrics,
            max_connections: config.max_connections,
            crowd: config.max_connections_per_address.map(Crowd::new),
            state: AtomicU8::new(RUNNING),
            wakers,
        }
    }

    /// Counts a connection just accepted, unless there are too many already (D32), or too many from there.
    pub(super) fn admit(self: &Arc<Self>, from: IpAddr) -> Result<Place, Full> {
        // Taken first and given back, so that two cores cannot both take the last place.
        let mut place = Place { control: Arc::clone(self), network: None };
        if self.stats.open.fetch_add(1, Ordering::Relaxed) >= self.max_connections {
            self.stats.refused.fetch_add(1, Ordering::Relaxed);
            return Err(Full::Server);
        }
        if let Some(crowd) = &self.crowd {
            let network = Network::of(from);
            if !crowd.enter(network) {
                self.stats.crowded.fetch_add(1, Ordering::Relaxed);
                return Err(Full::Address);
            }
            place.network = Some(network);
        }
        self.stats.accepted.fetch_add(1, Ordering::Relaxed);
        Ok(place)
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
