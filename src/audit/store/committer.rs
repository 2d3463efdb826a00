//! The thread that writes.

use super::disk::{Disk, StoreError};
use super::queue::Queue;
use super::{Durability, Retention, StoreOptions};
use fjall::PersistMode;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

/// How long entries gather when no answer waits for them.
const GATHER: Duration = Duration::from_millis(2);

/// How often the disk is flushed under [`Durability::Interval`].
const FLUSH_EVERY: Duration = Duration::from_secs(1);

/// How long after a failure it is tried again.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// How often it is looked for what is too old or too much.
const PRUNE_EVERY: Duration = Duration::from_secs(60);

/// Once there is too much, so much more goes that it need not be looked at for a while: a tenth.
const ROOM_SHARE: u64 = 10;

pub(super) struct Committer {
    disk: Arc<Disk>,
    queue: Arc<Queue>,
    options: StoreOptions,
    /// The number of the commit in work. One that finds nothing queued is one too: entries are told the number of the
    /// commit that will take them.
    commit: u64,
    /// Something was written that was not flushed.
    unflushed: bool,
    flushed: Instant,
    pruned: Option<Instant>,
}

impl Committer {
    pub(super) fn new(disk: Arc<Disk>, queue: Arc<Queue>, options: StoreOptions) -> Committer {
        Committer { disk, queue, options, commit: 0, unflushed: false, flushed: Instant::now(), pruned: None }
    }

    /// Writes until the queue is stopped and empty.
    pub(super) fn run(mut self) {
        loop {
            let stopping = self.queue.is_stopped();
            self.commit += 1;
            let anything = self.queue.take(self.commit);
            if anything && !self.commit() {
                return;
            }
            self.queue.settle(self.commit);
            if !anything {
                if stopping {
                    break;
                }
                self.idle();
            }
            self.keep_up();
        }
        if self.unflushed
            && let Err(why) = self.disk.flush()
        {
            (self.options.log)(&format!("audit: the last records may not be on the disk: {why}"));
        }
    }

    /// Writes what is in flight, however long that takes. False when it was stopped meanwhile.
    fn commit(&mut self) -> bool {
        let mut failed = false;
        while let Err(why) = self.write(failed) {
            if !failed {
                (self.options.log)(&format!(
                    "audit: records cannot be stored: {why}; it is tried every second"
                ));
                self.queue.set_failing(true);
                failed = true;
            }
            if self.queue.is_stopped() {
                (self.options.log)("audit: the last records were not stored");
                return false;
            }
            thread::park_timeout(RETRY_AFTER);
        }
        self.queue.land();
        if failed {
            self.queue.set_failing(false);
            let lost = self.queue.unstored();
            (self.options.log)(&format!(
                "audit: records are stored again; {lost} of answers that changed nothing were not"
            ));
        }
        true
    }

    fn write(&mut self, failed_before: bool) -> Result<(), StoreError> {
        if failed_before {
            self.disk.reopen()?;
        }
        let mode = match self.options.durability {
            Durability::Always => PersistMode::SyncData,
            Durability::Interval | Durability::Os => PersistMode::Buffer,
        };
        self.queue.with_in_flight(|batch| self.disk.write(batch, mode))?;
        self.unflushed = self.options.durability != Durability::Always;
        Ok(())
    }

    /// Nothing is queued: sleeps until something is, or something else is due.
    fn idle(&self) {
        self.queue.announce_sleep();
        // What came before the announcement woke nobody.
        if self.queue.is_empty() && !self.queue.is_stopped() {
            match self.patience() {
                Some(patience) => thread::park_timeout(patience),
                None => thread::park(),
            }
        }
        if self.options.durability != Durability::Always && !self.queue.is_stopped() {
            thread::sleep(GATHER);
        }
    }

    /// How long it may sleep.
    fn patience(&self) -> Option<Duration> {
        let flush = (self.unflushed && self.options.durability == Durability::Interval)
            .then(|| FLUSH_EVERY.saturating_sub(self.flushed.elapsed()));
        let prune = (self.options.retention != Retention::default())
            .then(|| self.pruned.map_or(Duration::ZERO, |at| PRUNE_EVERY.saturating_sub(at.elapsed())));
        [flush, prune].into_iter().flatten().min()
    }

    /// Flushes and prunes, if that is due.
    fn keep_up(&mut self) {
        let interval = self.options.durability == Durability::Interval;
        if interval && self.unflushed && self.flushed.elapsed() >= FLUSH_EVERY {
            self.flushed = Instant::now();
            // A failure shows when the next batch is written.
            self.unflushed = self.disk.flush().is_err();
        }
        let due = self.pruned.is_none_or(|at| at.elapsed() >= PRUNE_EVERY);
        if due && self.options.retention != Retention::default() {
            self.pruned = Some(Instant::now());
            if let Err(why) = prune(&self.disk, self.options.retention) {
                (self.options.log)(&format!("audit: old records could not be taken away: {why}"));
            }
        }
    }
}

/// Takes away what is too old, then the oldest of what is too much.
pub(super) fn prune(disk: &Disk, retention: Retention) -> Result<u64, StoreError> {
    let now = SystemTime::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_millis() as u64);
    let oldest = retention.max_age_ms.map_or(0, |age| now.saturating_sub(age));
    let by_age = disk.prune(&|unix_ms, _| unix_ms < oldest)?;
    let Some(most) = retention.max_bytes else { return Ok(by_age) };
    if disk.bytes()? <= most {
        return Ok(by_age);
    }
    let target = most - most / ROOM_SHARE;
    Ok(by_age + disk.prune(&|_, left| left > target)?)
}
