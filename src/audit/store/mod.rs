//! Records on disk, in an embedded database (fjall, a log-structured merge tree), written by a thread of its own.
//!
//! ```text
//! cores ─▶ queue ─▶ committer ─▶ disk
//!            │          └▶ settled ─▶ wakes the connections that hold answers back
//!            └ sharded by chain: entries of one chain stay in order
//! ```
//!
//! Everything that is queued while a commit runs goes into the next one, so that one flush of the disk serves all
//! connections. A commit is atomic and takes whole queues, so what is on disk is at any time a beginning of every
//! chain: a crash cuts chains short and never leaves a gap.

mod committer;
mod disk;
mod prune;
mod queue;
#[cfg(test)]
mod tests;

use super::chain::{AuditId, ChainKey, Entry, Head, Sink};
use committer::Committer;
use disk::Disk;
use queue::Queue;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Waker;
use std::thread::JoinHandle;

pub use disk::StoreError;

/// When an answer may be sent that a record tells of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Durability {
    /// Once the record is on the disk: it survives a loss of power.
    Always,
    /// At once. The record is given to the system within milliseconds and the disk is flushed every second: a loss of
    /// power costs the last second, a crash of the process some milliseconds.
    #[default]
    Interval,
    /// At once. The record is given to the system within milliseconds, which flushes when it likes.
    Os,
}

/// How long records are kept. An agent's lifecycle is kept for ever: it is the agent's status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Retention {
    /// Records older than this go, milliseconds.
    pub max_age_ms: Option<u64>,
    /// While there are more bytes of records, the oldest go.
    pub max_bytes: Option<u64>,
}

/// How a store works.
#[derive(Clone, Copy, Debug)]
pub struct StoreOptions {
    /// When answers may be sent.
    pub durability: Durability,
    /// What is kept.
    pub retention: Retention,
    /// Told that records cannot be stored, and that they can again. Once each.
    pub log: fn(&str),
}

impl Default for StoreOptions {
    fn default() -> Self {
        let (durability, retention) = Default::default();
        StoreOptions { durability, retention, log: |_| {} }
    }
}

/// Keeps records on disk, in an embedded database. A thread of its own writes what all cores have queued, in one
/// commit after the other. Dropped or [closed](Store::close), it writes what is queued and ends.
pub struct Store {
    disk: Arc<Disk>,
    queue: Arc<Queue>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Store {
    /// Opens the store in a directory, which is made if it is not there.
    ///
    /// # Errors
    /// When the directory cannot be written, or its store is in use by another process.
    pub fn open(dir: &Path, options: StoreOptions) -> Result<Store, StoreError> {
        let disk = Arc::new(Disk::open(dir)?);
        let queue = Arc::new(Queue::new(options.durability == Durability::Always));
        let committer = Committer::new(Arc::clone(&disk), Arc::clone(&queue), options);
        let thread = std::thread::Builder::new().name("agtp-audit".to_owned());
        let (guarded, log) = (Arc::clone(&queue), options.log);
        let work = move || {
            if catch_unwind(AssertUnwindSafe(|| committer.run())).is_err() {
                log("audit: the store broke down; records are not kept any more");
                guarded.set_failing(true);
            }
        };
        let thread = thread.spawn(work).map_err(StoreError::io)?;
        queue.set_consumer(thread.thread().clone());
        Ok(Store { disk, queue, thread: Mutex::new(Some(thread)) })
    }

    /// Whether there is a store in a directory.
    pub fn is_there(dir: &Path) -> bool {
        Disk::is_there(dir)
    }

    /// Writes what is queued, flushes it and ends. Repeating it changes nothing. Records made afterwards are not kept.
    pub fn close(&self) {
        self.queue.stop();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            // The thread has no way to panic; were it so, there would be nothing left to do.
            let _ = thread.join();
        }
    }

    /// Records that were not kept because they could not be stored.
    pub fn unstored(&self) -> u64 {
        self.queue.unstored()
    }

    /// Every chain, from the oldest entry that is kept to the newest one stored.
    ///
    /// # Errors
    /// When the disk cannot be read.
    pub fn for_each_chain(
        &self,
        visit: &mut dyn FnMut(StoredChain<'_>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        self.disk.for_each_chain(visit)
    }
}

/// A chain as it is stored.
pub struct StoredChain<'s> {
    /// Which.
    pub key: ChainKey,
    /// What was before the first entry that is kept: nothing, or what retention took away.
    pub anchor: Head,
    /// The entries, in order: position and record.
    pub entries: &'s mut dyn Iterator<Item = Result<(u64, Vec<u8>), StoreError>>,
}

impl Drop for Store {
    fn drop(&mut self) {
        self.close();
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store").field("failing", &self.queue.is_failing()).finish_non_exhaustive()
    }
}

impl Sink for Store {
    fn append(&self, entry: &Entry<'_>) -> Option<u64> {
        self.queue.append(entry)
    }

    fn settled(&self) -> u64 {
        self.queue.settled()
    }

    fn wake_when_settled(&self, number: u64, waker: &Waker) {
        self.queue.wake_when_settled(number, waker);
    }

    fn is_failing(&self) -> bool {
        self.queue.is_failing()
    }

    fn head(&self, chain: &ChainKey) -> Option<Head> {
        let stored = || self.disk.head(chain).ok().flatten();
        self.queue.head(chain).or_else(stored)
    }

    // Entries go from the queue to the disk, so looking there in this order misses none.
    fn find(&self, id: &AuditId) -> Option<Vec<u8>> {
        self.queue.find(id).or_else(|| self.disk.find(id).ok().flatten())
    }

    fn newest(&self, chain: &ChainKey, most: usize) -> Vec<Vec<u8>> {
        let queued = self.queue.newest(chain, most);
        let mut records: Vec<_> = queued.iter().map(|(_, record)| record.clone()).collect();
        let before = queued.last().map_or(u64::MAX, |(position, _)| *position);
        records.extend(self.disk.newest(chain, before, most - records.len()).unwrap_or_default());
        records
    }
}
