//! The thread that writes.

use super::queue::Receiver;
use super::sink::{Sink, Wrote};
use super::{Level, Shared, line};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// After writing, lines gather for so long: a busy server is written for fifty times a second.
const GATHER: Duration = Duration::from_millis(20);

/// What found no place is tried again after so long.
const RETRY: Duration = Duration::from_millis(100);

/// Between two words about lines that were let go.
const NOTICE: Duration = Duration::from_secs(1);

pub(super) struct Writer {
    shared: Arc<Shared>,
    sink: Sink,
    receivers: Vec<Receiver>,
    /// Taken out of the queues, and not written.
    pending: Vec<u8>,
    /// Lines let go that were told.
    told: u64,
    noticed: Option<Instant>,
}

impl Writer {
    pub(super) fn new(shared: Arc<Shared>, sink: Sink) -> Writer {
        Writer { shared, sink, receivers: Vec::new(), pending: Vec::new(), told: 0, noticed: None }
    }

    /// Writes until the log is closed and all is written that can be.
    pub(super) fn run(mut self) {
        loop {
            let closing = self.shared.closing.load(Ordering::Acquire);
            self.receivers.append(&mut self.shared.incoming());
            if self.shared.reopen.swap(false, Ordering::AcqRel) {
                self.reopen();
            }
            let mut written = self.write_pending();
            for index in 0..self.receivers.len() {
                written &= self.pending.is_empty() && self.write_next(index);
            }
            self.receivers.retain(|receiver| !receiver.is_over());
            if closing {
                return self.give_up();
            }
            self.pause(written);
        }
    }

    fn pause(&mut self, written: bool) {
        if !written {
            // Not to be cut short by those who find their queue filling.
            return std::thread::sleep(RETRY);
        }
        std::thread::park_timeout(GATHER);
        let shared = Arc::clone(&self.shared);
        let waiting = || shared.is_called() || self.receivers.iter().any(|receiver| !receiver.is_empty());
        shared.wake.sleep_unless(waiting);
    }

    /// Writes what one queue holds; false when not all of it went.
    fn write_next(&mut self, index: usize) -> bool {
        if let Some(receiver) = self.receivers.get_mut(index) {
            receiver.take(&mut self.pending);
        }
        self.write_pending()
    }

    fn write_pending(&mut self) -> bool {
        if self.pending.is_empty() {
            return true;
        }
        match self.sink.write(&self.pending) {
            Wrote::All => {
                self.pending.clear();
                self.notice();
                true
            }
            Wrote::Some(done) => {
                self.pending.drain(..done);
                false
            }
            Wrote::Failed(done) => {
                self.let_go(done);
                false
            }
        }
    }

    /// Counts the lines from there on as lost, the one that was cut among them.
    fn let_go(&mut self, done: usize) {
        let rest = self.pending.get(done..).unwrap_or_default();
        let lines = memchr::memchr_iter(b'\n', rest).count() as u64;
        self.shared.lost.fetch_add(lines, Ordering::Relaxed);
        self.pending.clear();
    }

    /// Once lines can be written again, says how many were not.
    fn notice(&mut self) {
        let dropped = self.shared.dropped();
        if dropped == self.told || self.noticed.is_some_and(|at| at.elapsed() < NOTICE) {
            return;
        }
        let missing = dropped - self.told;
        let mut notice = String::new();
        line::message(
            &mut notice,
            self.shared.format,
            Level::Warn,
            &format!("{missing} log lines were dropped"),
        );
        if self.sink.write(notice.as_bytes()) == Wrote::All {
            self.told = dropped;
            self.noticed = Some(Instant::now());
        }
    }

    fn reopen(&mut self) {
        let Err(error) = self.sink.reopen() else { return };
        let mut complaint = String::new();
        let text = format!("the log file in use stays, for it cannot be opened again: {error}");
        line::message(&mut complaint, self.shared.format, Level::Warn, &text);
        self.pending.extend_from_slice(complaint.as_bytes());
    }

    /// Nobody waits any longer for what could not be written.
    fn give_up(mut self) {
        self.let_go(0);
        self.shared.finished();
    }
}
