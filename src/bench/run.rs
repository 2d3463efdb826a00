//! A run from its first connection to its last answer.

use super::core::Load;
use super::cpu::thread_time;
use super::pace::Pace;
use super::plan::{BenchError, Phase, Plan, Watch};
use super::tally::{Tally, Times};
use super::worker::{Worker, nanos};
use std::io;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// What a run came to.
#[derive(Clone, Debug)]
pub struct Measured {
    /// What counts.
    pub tally: Tally,
    /// What does not.
    pub warmup: Tally,
    /// Answers that came while it was measured; those under way at its end came later.
    pub in_time: u64,
    /// How long was measured.
    pub seconds: f64,
    /// From dialling to the first request, TLS handshake included.
    pub connect: Times,
    /// The part of a core that the busiest thread of the generator used, where the system says.
    pub cpu_share: Option<f64>,
    /// What went wrong first.
    pub first_fault: Option<String>,
    /// Requests without an answer when the run was over.
    pub unanswered: u64,
    /// Whether it was ended before its time.
    pub was_stopped: bool,
}

/// Measures. `watch` follows the run, and may end it before its time.
///
/// # Errors
/// When no connection comes about, or the system refuses something.
pub fn run(plan: &Plan, watch: &Watch) -> Result<Measured, BenchError> {
    let measured = run_all(plan, watch);
    watch.enter(Phase::Over);
    measured
}

fn run_all(plan: &Plan, watch: &Watch) -> Result<Measured, BenchError> {
    let epoch = Instant::now();
    let threads = plan.threads();
    let workers = (0..threads).map(|thread| Worker::new(plan, watch, thread, epoch));
    let workers = workers.collect::<Result<Vec<_>, _>>()?;
    let meeting = Meeting { barrier: Barrier::new(threads), is_connected: AtomicBool::new(false) };
    let parts = std::thread::scope(|scope| {
        let spawn = |(thread, worker)| {
            let meeting = &meeting;
            scope.spawn(move || part(plan, watch, worker, thread, meeting))
        };
        let handles: Vec<_> = workers.into_iter().enumerate().map(spawn).collect();
        let panicked = |_| Err(BenchError::system("a thread")(io::Error::other("it panicked")));
        let parts: Vec<_> = handles.into_iter().map(|part| part.join().unwrap_or_else(panicked)).collect();
        parts.into_iter().collect::<Result<Vec<_>, _>>()
    })?;
    let mut measured = parts.into_iter().reduce(Measured::and);
    if let Some(measured) = &mut measured {
        measured.was_stopped = watch.is_stopped();
    }
    measured.ok_or_else(|| BenchError::Unreachable("no thread was started".to_owned()))
}

/// Where threads wait until all have their connections.
struct Meeting {
    barrier: Barrier,
    is_connected: AtomicBool,
}

/// What one thread does.
fn part(
    plan: &Plan,
    watch: &Watch,
    mut worker: Worker<'_>,
    thread: usize,
    meeting: &Meeting,
) -> Result<Measured, BenchError> {
    let connected = worker.connect();
    if matches!(connected, Ok(true)) {
        meeting.is_connected.store(true, Ordering::Relaxed);
    }
    // Whatever it came to, the others wait for this thread.
    meeting.barrier.wait();
    connected?;
    if !meeting.is_connected.load(Ordering::Relaxed) {
        let why = worker.first_fault.unwrap_or_else(|| "no connection came about".to_owned());
        return Err(BenchError::Unreachable(why));
    }
    measure(plan, watch, worker, thread)
}

fn measure(
    plan: &Plan,
    watch: &Watch,
    mut worker: Worker<'_>,
    thread: usize,
) -> Result<Measured, BenchError> {
    let memory = |_| BenchError::system("setting up a histogram")(io::ErrorKind::OutOfMemory.into());
    let start_ns = worker.now_ns();
    let warm_ns = start_ns.saturating_add(nanos(plan.warmup));
    let end_ns = warm_ns.saturating_add(nanos(plan.duration));
    watch.enter(Phase::WarmingUp);
    worker.start(match plan.rate {
        None => Load::Closed,
        Some(rate) => Load::Open(Pace::new(rate, thread, plan.threads(), start_ns, end_ns)),
    });
    worker.run_until(warm_ns)?;
    let warmup = worker.core.next_phase().map_err(memory)?;
    worker.forget_noted();
    watch.enter(Phase::Measuring);
    let (counted_ns, cpu) = (worker.now_ns(), thread_time());
    worker.run_until(end_ns)?;
    let (ended_ns, cpu) = (worker.now_ns(), thread_time().zip(cpu));
    worker.core.end(ended_ns);
    let in_time = worker.core.tally().answers;
    worker.drain()?;
    // Whoever stops a run does not wait for the answers under way.
    let unanswered = if watch.is_stopped() { 0 } else { worker.core.in_flight() };
    let seconds = Duration::from_nanos(ended_ns - counted_ns).as_secs_f64();
    Ok(Measured {
        tally: worker.core.next_phase().map_err(memory)?,
        warmup,
        in_time,
        seconds,
        connect: worker.connect,
        cpu_share: cpu.map(|(end, start)| end.saturating_sub(start).as_secs_f64() / seconds.max(1e-9)),
        first_fault: worker.first_fault,
        unanswered,
        was_stopped: false,
    })
}

impl Measured {
    /// Two threads' parts as one.
    fn and(mut self, other: Measured) -> Measured {
        self.tally.add(&other.tally);
        self.warmup.add(&other.warmup);
        self.connect.add(&other.connect);
        self.in_time += other.in_time;
        self.unanswered += other.unanswered;
        self.seconds = self.seconds.max(other.seconds);
        self.cpu_share = self.cpu_share.zip(other.cpu_share).map(|(a, b)| a.max(b));
        self.first_fault = self.first_fault.or(other.first_fault);
        self
    }

    /// Answers a second.
    pub fn rate(&self) -> f64 {
        if self.seconds > 0.0 { self.in_time as f64 / self.seconds } else { 0.0 }
    }
}

#[cfg(test)]
#[path = "run_tests.rs"]
mod tests;
