//! The thread of a core.

use super::config::{Runtime, Terms};
use super::control::Control;
use super::gate::Gate;
use super::metrics::CoreMetrics;
use super::service::Service;
use super::shard::Shard;
use super::{epoll, pin};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Duration;

/// Before a failed loop starts again, so that a failure that repeats does not spin.
const PAUSE: Duration = Duration::from_millis(100);

/// What a core's service is made from.
pub(super) struct Seat {
    /// Which core it is, from 0.
    pub(super) index: usize,
    /// Random.
    pub(super) seed: u64,
    /// The core's counters.
    pub(super) metrics: Arc<CoreMetrics>,
}

/// What a core's thread is given.
pub(super) struct Setup<F> {
    /// Which core it is, from 0.
    pub(super) index: usize,
    pub(super) gate: Gate,
    pub(super) control: Arc<Control>,
    /// Epoll or io_uring.
    pub(super) runtime: Runtime,
    pub(super) terms: Terms,
    /// Makes the service.
    pub(super) make: Arc<F>,
    /// The processor to stay on.
    pub(super) pin: Option<usize>,
}

impl<F, S> Setup<F>
where
    F: Fn(Seat) -> S,
    S: Service,
{
    /// Runs the core until the server stops, and says when it is ready.
    ///
    /// The loop itself should not panic. If it does, the connections it had are lost, but a core that stayed away would
    /// leave new ones waiting in its backlog for ever.
    pub(super) fn run(mut self, ready: Sender<()>) -> io::Result<()> {
        if let Some(index) = self.pin {
            pin::pin(index);
        }
        let mut ready = Some(ready);
        loop {
            let outcome = catch_unwind(AssertUnwindSafe(|| self.run_loop(&mut ready)));
            match outcome {
                Ok(result) => return result,
                Err(_) if ready.is_some() => return Err(io::Error::other("it panicked at its start")),
                Err(_) => {
                    self.control.metrics.core(self.index).restarts.add(1);
                    std::thread::sleep(PAUSE);
                }
            }
        }
    }

    fn run_loop(&mut self, ready: &mut Option<Sender<()>>) -> io::Result<()> {
        let metrics = self.control.metrics.core(self.index);
        let service = (self.make)(Seat { index: self.index, seed: seed()?, metrics });
        let mut announce = || {
            if let Some(ready) = ready.take() {
                // Nobody listens any more when another core has failed; then this one is told to stop.
                let _ = ready.send(());
            }
        };
        let (control, terms) = (Arc::clone(&self.control), self.terms.clone());
        let mut shard = Shard::new(self.index, &mut self.gate, service, control, terms)?;
        match self.runtime {
            #[cfg(target_os = "linux")]
            Runtime::Uring => {
                let executor = super::uring::executor()?;
                announce();
                super::uring::run(&executor, &mut shard)
            }
            _ => {
                announce();
                epoll::run(&mut shard)
            }
        }
    }
}

fn seed() -> io::Result<u64> {
    getrandom::u64().map_err(|error| io::Error::other(format!("no randomness: {error}")))
}
