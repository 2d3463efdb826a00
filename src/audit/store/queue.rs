//! Entries on their way to the disk.

use crate::audit::chain::{AuditId, ChainKey, Entry, Head};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError, RwLock};
use std::task::Waker;
use std::thread::Thread;

/// Independently locked parts, by chain, so that cores seldom meet. A power of two.
const SHARDS: usize = 16;

/// While more bytes than this are queued, answers wait for their records whatever the durability: who makes records
/// faster than the disk takes them is slowed down, and memory stays bounded.
const HIGH_WATER_BYTES: usize = 16 << 20;

/// Entries one behind the other, and nothing between them.
pub(super) type Batch = Vec<Vec<u8>>;

/// What the cores and the committer share.
pub(super) struct Queue {
    shards: Box<[Mutex<Shard>]>,
    /// What is being written.
    in_flight: RwLock<Batch>,
    bytes: AtomicUsize,
    /// The last commit that is done.
    settled: AtomicU64,
    failing: AtomicBool,
    unstored: AtomicU64,
    stopped: AtomicBool,
    waiting: Mutex<Vec<(u64, Waker)>>,
    consumer: OnceLock<Thread>,
    consumer_sleeps: AtomicBool,
    /// Whether answers wait for the commit of their records.
    always: bool,
}

struct Shard {
    bytes: Vec<u8>,
    /// The number of the commit that takes it.
    commit: u64,
}

/// An entry as it stands in a batch.
#[derive(Clone, Copy)]
pub(super) struct Queued<'b> {
    pub(super) chain: ChainKey,
    pub(super) position: u64,
    pub(super) unix_ms: u64,
    pub(super) id: AuditId,
    pub(super) record: &'b [u8],
}

impl Queue {
    pub(super) fn new(always: bool) -> Queue {
        let shard = || Mutex::new(Shard { bytes: Vec::new(), commit: 1 });
        Queue {
            shards: (0..SHARDS).map(|_| shard()).collect(),
            in_flight: RwLock::new(vec![Vec::new(); SHARDS]),
            bytes: AtomicUsize::new(0),
            settled: AtomicU64::new(0),
            failing: AtomicBool::new(false),
            unstored: AtomicU64::new(0),
            stopped: AtomicBool::new(false),
            waiting: Mutex::default(),
            consumer: OnceLock::new(),
            consumer_sleeps: AtomicBool::new(false),
            always,
        }
    }

    /// Takes an entry; gives the number of the commit that its answer waits for.
    pub(super) fn append(&self, entry: &Entry<'_>) -> Option<u64> {
        let dropped = self.is_stopped() || (self.is_failing() && !entry.binding);
        if dropped {
            self.unstored.fetch_add(1, Ordering::Relaxed);
            return None;
        }
        let mut shard = lock(self.shard(entry.chain)?);
        let before = shard.bytes.len();
        push(&mut shard.bytes, entry);
        let commit = shard.commit;
        // Counted before the lock goes, so that what is taken was counted.
        let queued = self.bytes.fetch_add(shard.bytes.len() - before, Ordering::Relaxed);
        drop(shard);
        if self.consumer_sleeps.swap(false, Ordering::AcqRel) {
            self.wake_consumer();
        }
        Some(if self.always || queued > HIGH_WATER_BYTES { commit } else { 0 })
    }

    /// Moves all that is queued to what is in flight. False when that is nothing.
    pub(super) fn take(&self, commit: u64) -> bool {
        let mut in_flight = self.in_flight.write().unwrap_or_else(PoisonError::into_inner);
        let mut taken = 0;
        for (shard, place) in self.shards.iter().zip(in_flight.iter_mut()) {
            let mut shard = lock(shard);
            place.clear();
            std::mem::swap(&mut shard.bytes, place);
            shard.commit = commit + 1;
            taken += place.len();
        }
        self.bytes.fetch_sub(taken, Ordering::Relaxed);
        taken > 0
    }

    /// What was in flight is on the disk, where it is looked for from now on.
    pub(super) fn land(&self) {
        self.in_flight.write().unwrap_or_else(PoisonError::into_inner).iter_mut().for_each(Vec::clear);
    }

    /// What is in flight.
    pub(super) fn with_in_flight<R>(&self, read: impl FnOnce(&Batch) -> R) -> R {
        read(&self.in_flight.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// All up to this commit is done: lets go what waited for it.
    pub(super) fn settle(&self, commit: u64) {
        self.settled.store(commit, Ordering::Release);
        let woken: Vec<_> = lock(&self.waiting).extract_if(.., |(number, _)| *number <= commit).collect();
        woken.into_iter().for_each(|(_, waker)| waker.wake());
    }

    /// Begins or ends to fail; whoever waits looks again, and waits on if need be.
    pub(super) fn set_failing(&self, failing: bool) {
        self.failing.store(failing, Ordering::Release);
        lock(&self.waiting).iter().for_each(|(_, waker)| waker.wake_by_ref());
    }

    pub(super) fn is_failing(&self) -> bool {
        self.failing.load(Ordering::Acquire)
    }

    pub(super) fn settled(&self) -> u64 {
        self.settled.load(Ordering::Acquire)
    }

    pub(super) fn wake_when_settled(&self, number: u64, waker: &Waker) {
        lock(&self.waiting).push((number, waker.clone()));
    }

    pub(super) fn unstored(&self) -> u64 {
        self.unstored.load(Ordering::Relaxed)
    }

    pub(super) fn set_consumer(&self, thread: Thread) {
        let _ = self.consumer.set(thread);
    }

    pub(super) fn stop(&self) {
        self.stopped.store(true, Ordering::Release);
        self.wake_consumer();
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Acquire)
    }

    /// The consumer finds nothing to do: the next entry is to wake it.
    pub(super) fn announce_sleep(&self) {
        self.consumer_sleeps.store(true, Ordering::Release);
    }

    /// Bytes queued and not taken.
    pub(super) fn is_empty(&self) -> bool {
        self.shards.iter().all(|shard| lock(shard).bytes.is_empty())
    }

    fn wake_consumer(&self) {
        if let Some(thread) = self.consumer.get() {
            thread.unpark();
        }
    }

    fn shard(&self, chain: &ChainKey) -> Option<&Mutex<Shard>> {
        let sum = chain.as_bytes().iter().fold(0usize, |sum, byte| sum.wrapping_mul(31) + usize::from(*byte));
        self.shards.get(sum % SHARDS)
    }

    /// Looks at what is in flight and queued, in this order of age, of the shard of a chain or of all.
    fn look<R>(&self, chain: Option<&ChainKey>, mut see: impl FnMut(Queued<'_>) -> Option<R>) -> Option<R> {
        let own = chain.and_then(|chain| self.shard(chain)).map(std::ptr::from_ref);
        // The flight is held while the queues are looked at, so that nothing slips from these to there unseen.
        let in_flight = self.in_flight.read().unwrap_or_else(PoisonError::into_inner);
        for (shard, flying) in self.shards.iter().zip(in_flight.iter()) {
            if own.is_some_and(|own| !std::ptr::eq(own, shard)) {
                continue;
            }
            let shard = lock(shard);
            if let Some(found) = entries(flying).chain(entries(&shard.bytes)).find_map(&mut see) {
                return Some(found);
            }
        }
        None
    }

    pub(super) fn find(&self, id: &AuditId) -> Option<Vec<u8>> {
        self.look(None, |entry| (entry.id == *id).then(|| entry.record.to_vec()))
    }

    pub(super) fn head(&self, chain: &ChainKey) -> Option<Head> {
        let mut head = None;
        self.look(Some(chain), |entry| {
            if entry.chain == *chain {
                head = Some(Head { id: entry.id, len: entry.position + 1 });
            }
            None::<()>
        });
        head
    }

    /// The newest first, with their positions.
    pub(super) fn newest(&self, chain: &ChainKey, most: usize) -> Vec<(u64, Vec<u8>)> {
        let mut found = Vec::new();
        self.look(Some(chain), |entry| {
            if entry.chain == *chain {
                found.push((entry.position, entry.record.to_vec()));
            }
            None::<()>
        });
        found.reverse();
        found.truncate(most);
        found
    }
}

fn push(bytes: &mut Vec<u8>, entry: &Entry<'_>) {
    bytes.extend_from_slice(entry.chain.as_bytes());
    bytes.extend_from_slice(&entry.position.to_be_bytes());
    bytes.extend_from_slice(&entry.unix_ms.to_be_bytes());
    bytes.extend_from_slice(entry.id);
    bytes.extend_from_slice(&(entry.record.len() as u32).to_be_bytes());
    bytes.extend_from_slice(entry.record);
}

/// The entries of a part of a batch.
pub(super) fn entries(mut bytes: &[u8]) -> impl Iterator<Item = Queued<'_>> {
    std::iter::from_fn(move || {
        let (chain, rest) = bytes.split_first_chunk::<33>()?;
        let (position, rest) = rest.split_first_chunk()?;
        let (unix_ms, rest) = rest.split_first_chunk()?;
        let (id, rest) = rest.split_first_chunk::<32>()?;
        let (len, rest) = rest.split_first_chunk()?;
        let (record, rest) = rest.split_at_checked(u32::from_be_bytes(*len) as usize)?;
        bytes = rest;
        let (position, unix_ms) = (u64::from_be_bytes(*position), u64::from_be_bytes(*unix_ms));
        Some(Queued { chain: ChainKey::from_bytes(*chain)?, position, unix_ms, id: *id, record })
    })
}

/// Nothing panics while holding a lock; were it so all the same, what it guards is whole.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
