//! `Idempotency-Key`: a repeated request is answered from memory (draft: Required Semantic Block Fields; D13).
//!
//! Keyed by agent, method, path and key. The first request runs; a repeat gets its status and body under a fresh
//! Response-ID; the same key with other input is 409. A repeat that arrives while the first still runs, on whichever
//! core, is put off until that has ended, so a handler runs once and no core stands still. Answers of 5xx are not kept:
//! those are worth trying again.
//!
//! Memory is bounded: entries older than [`KEPT_FOR_MS`] go, and the oldest go first when there are too many. A request
//! without the header pays one test of a bit.

use super::Now;
use crate::wire::Status;
use std::collections::hash_map::DefaultHasher;
use std::collections::{HashMap, VecDeque};
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// How long an answer is kept, milliseconds: a day.
const KEPT_FOR_MS: u64 = 24 * 60 * 60 * 1000;

/// Independently locked parts, so that cores seldom meet. A power of two.
const SHARDS: usize = 64;

/// Most bytes of keys and bodies in one shard: 64 MiB in all. Stops a client that makes up keys.
const SHARD_BYTES: usize = 1024 * 1024;

/// What an entry costs beside its key and body, bytes, roughly.
const ENTRY_BYTES: usize = 256;

/// Answers by key, shared by all cores.
pub(super) struct Idempotency {
    shards: Box<[Arc<Shard>]>,
}

#[derive(Default)]
struct Shard {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    entries: HashMap<Arc<[u8]>, Entry>,
    /// Keys in the order they were finished, for expiry.
    finished: VecDeque<(u64, Arc<[u8]>)>,
    bytes: usize,
    /// Who waits for a running entry to end: all are woken whenever one does, and look again.
    waiting: Vec<Waker>,
}

struct Entry {
    /// Of the input.
    fingerprint: Fingerprint,
    /// `None` while the first request runs.
    answer: Option<(Status, Box<[u8]>)>,
    finished_ms: u64,
}

/// 128 bits of the input: query and body as sent.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Fingerprint(u64, u64);

impl Fingerprint {
    /// Taken before the body is unescaped in place.
    pub(super) fn of(query: &[u8], body: &[u8]) -> Self {
        let half = |salt: u8| {
            let mut hasher = DefaultHasher::new();
            (salt, query, body).hash(&mut hasher);
            hasher.finish()
        };
        Fingerprint(half(1), half(2))
    }
}

/// What becomes of a request that carries a key.
pub(super) enum Claim {
    /// It is the first: run it, then [`finish`](Running::finish).
    First(Running),
    /// It is a repeat of a request that still runs: [`poll`](Repeat::poll) it.
    Busy(Repeat),
    /// It is a repeat; the body was copied to the buffer given.
    Repeat(Status),
    /// The key belongs to other input.
    Conflict,
}

/// The right to run. Dropped without an answer, as when a handler panics, the key is free again.
pub(super) struct Running {
    shard: Arc<Shard>,
    key: Arc<[u8]>,
    fingerprint: Fingerprint,
}

/// A request that waits for the one it repeats.
pub(super) struct Repeat {
    shard: Arc<Shard>,
    key: Arc<[u8]>,
    fingerprint: Fingerprint,
}

impl Idempotency {
    pub(super) fn new() -> Self {
        Idempotency { shards: (0..SHARDS).map(|_| Arc::default()).collect() }
    }

    /// Claims a key. Lengths go into the stored key, so that no two sets of parts are one.
    pub(super) fn claim(
        &self,
        parts: [&[u8]; 4],
        fingerprint: Fingerprint,
        now: Now,
        body: &mut Vec<u8>,
    ) -> Claim {
        let mut key = Vec::with_capacity(parts.iter().map(|part| part.len() + 4).sum());
        for part in parts {
            key.extend_from_slice(&(part.len() as u32).to_le_bytes());
            key.extend_from_slice(part);
        }
        let key: Arc<[u8]> = key.into();
        let mut hasher = DefaultHasher::new();
        key.hash(&mut hasher);
        let shard = Arc::clone(&self.shards[hasher.finish() as usize % SHARDS]);
        let mut state = lock(&shard.state);
        state.expire(now);
        let found = state.claim(&key, fingerprint, body);
        drop(state);
        match found {
            Found::Nothing => Claim::First(Running { shard, key, fingerprint }),
            Found::Running => Claim::Busy(Repeat { shard, key, fingerprint }),
            Found::Answer(status) => Claim::Repeat(status),
            Found::Other => Claim::Conflict,
        }
    }
}

impl Repeat {
    /// What has become of the request that is repeated. While it runs, the waker is kept.
    pub(super) fn poll(&self, context: &Context<'_>, body: &mut Vec<u8>) -> Poll<Claim> {
        let mut state = lock(&self.shard.state);
        let (shard, key) = (Arc::clone(&self.shard), Arc::clone(&self.key));
        Poll::Ready(match state.claim(&self.key, self.fingerprint, body) {
            Found::Running => {
                if !state.waiting.iter().any(|waker| waker.will_wake(context.waker())) {
                    state.waiting.push(context.waker().clone());
                }
                return Poll::Pending;
            }
            // It failed, so it is this request's turn.
            Found::Nothing => Claim::First(Running { shard, key, fingerprint: self.fingerprint }),
            Found::Answer(status) => Claim::Repeat(status),
            Found::Other => Claim::Conflict,
        })
    }
}

/// What stands under a key.
enum Found {
    /// Nothing: the key is now marked as running.
    Nothing,
    Running,
    /// An answer; its body was copied.
    Answer(Status),
    /// Other input.
    Other,
}

impl Running {
    /// Keeps the answer for repeats, unless it is worth trying again.
    pub(super) fn finish(self, status: Status, body: &[u8], now: Now) {
        if status.code() >= 500 {
            return;
        }
        let mut state = lock(&self.shard.state);
        state.bytes += self.key.len() + body.len() + ENTRY_BYTES;
        state.finished.push_back((now.unix_ms, Arc::clone(&self.key)));
        let entry = Entry {
            fingerprint: self.fingerprint,
            answer: Some((status, body.into())),
            finished_ms: now.unix_ms,
        };
        state.entries.insert(Arc::clone(&self.key), entry);
        state.expire(now);
        // `drop` sees that there is an answer, and wakes who waits.
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let mut state = lock(&self.shard.state);
        if state.entries.get(&self.key).is_some_and(|entry| entry.answer.is_none()) {
            state.entries.remove(&self.key);
        }
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        waiting.into_iter().for_each(Waker::wake);
    }
}

impl State {
    fn claim(&mut self, key: &Arc<[u8]>, fingerprint: Fingerprint, body: &mut Vec<u8>) -> Found {
        match self.entries.get(key) {
            None => {
                let entry = Entry { fingerprint, answer: None, finished_ms: 0 };
                self.entries.insert(Arc::clone(key), entry);
                Found::Nothing
            }
            Some(entry) if entry.fingerprint != fingerprint => Found::Other,
            Some(Entry { answer: Some((status, stored)), .. }) => {
                body.clear();
                body.extend_from_slice(stored);
                Found::Answer(*status)
            }
            Some(Entry { answer: None, .. }) => Found::Running,
        }
    }

    /// Drops what is too old, then the oldest while there is too much.
    fn expire(&mut self, now: Now) {
        while let Some((finished_ms, key)) = self.finished.front() {
            let old = now.unix_ms.saturating_sub(*finished_ms) >= KEPT_FOR_MS;
            if !old && self.bytes <= SHARD_BYTES {
                return;
            }
            if let Some(Entry { answer: Some((_, body)), finished_ms: kept, .. }) = self.entries.get(key)
                && kept == finished_ms
            {
                self.bytes = self.bytes.saturating_sub(key.len() + body.len() + ENTRY_BYTES);
                self.entries.remove(key);
            }
            self.finished.pop_front();
        }
    }
}

/// Nothing panics while holding the lock; were it so all the same, the state is whole between any two statements.
fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    const NOW: Now = Now { unix_ms: 1_000 };

    fn parts(key: &[u8]) -> [&[u8]; 4] {
        [b"agent", b"BOOK", b"/rooms/12", key]
    }

    fn run(store: &Idempotency, key: &[u8], input: &[u8], now: Now) -> Result<(Status, Vec<u8>), ()> {
        let mut body = Vec::new();
        match store.claim(parts(key), Fingerprint::of(b"", input), now, &mut body) {
            Claim::First(running) => {
                let answer = [b"answer to ".as_slice(), input].concat();
                running.finish(Status::Ok, &answer, now);
                Ok((Status::Ok, answer))
            }
            Claim::Repeat(status) => Ok((status, body)),
            Claim::Conflict => Err(()),
            Claim::Busy(_) => panic!("nothing else runs"),
        }
    }

    #[test]
    fn a_repeat_is_answered_from_memory_and_other_input_conflicts() {
        let store = Idempotency::new();
        let first = run(&store, b"k", b"a", NOW);
        assert_eq!(run(&store, b"k", b"a", NOW), first);
        assert_eq!(run(&store, b"k", b"b", NOW), Err(()));
        assert!(run(&store, b"other", b"b", NOW).is_ok());
        // Parts do not run into each other.
        let mut body = Vec::new();
        let shifted: [&[u8]; 4] = [b"agentB", b"OOK", b"/rooms/12", b"k"];
        assert!(matches!(store.claim(shifted, Fingerprint::of(b"", b"z"), NOW, &mut body), Claim::First(_)));
    }

    #[test]
    fn answers_expire_after_a_day_and_failures_are_not_kept() {
        let store = Idempotency::new();
        run(&store, b"k", b"a", NOW).unwrap();
        let just_before = Now { unix_ms: NOW.unix_ms + KEPT_FOR_MS - 1 };
        assert_eq!(run(&store, b"k", b"b", just_before), Err(()));
        assert!(run(&store, b"k", b"b", Now { unix_ms: NOW.unix_ms + KEPT_FOR_MS }).is_ok());

        let mut body = Vec::new();
        for status in [Status::ServerError, Status::Unavailable] {
            match store.claim(parts(b"fails"), Fingerprint::of(b"", b""), NOW, &mut body) {
                Claim::First(running) => running.finish(status, b"", NOW),
                _ => panic!("a 5xx was kept"),
            }
        }
    }

    #[test]
    fn memory_is_bounded_and_the_oldest_go_first() {
        let store = Idempotency::new();
        let big = vec![b'x'; SHARD_BYTES / 8];
        for round in 0..(SHARDS * 16) {
            run(&store, format!("k{round}").as_bytes(), &big, NOW).unwrap();
        }
        for shard in &store.shards {
            let state = lock(&shard.state);
            assert!(state.bytes <= SHARD_BYTES);
            assert_eq!(state.entries.len(), state.finished.len());
        }
    }

    #[test]
    fn a_panicking_handler_frees_its_key() {
        let store = Idempotency::new();
        let mut body = Vec::new();
        let claim = store.claim(parts(b"k"), Fingerprint::of(b"", b"a"), NOW, &mut body);
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _running = claim;
            panic!("as a handler does");
        }));
        assert!(panicked.is_err());
        assert!(run(&store, b"k", b"b", NOW).is_ok());
    }

    #[test]
    fn concurrent_repeats_run_once() {
        let (store, runs) = (Idempotency::new(), AtomicUsize::new(0));
        let barrier = std::sync::Barrier::new(8);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let mut body = Vec::new();
                    barrier.wait();
                    let claim = store.claim(parts(b"k"), Fingerprint::of(b"", b"a"), NOW, &mut body);
                    match wait(claim, &mut body) {
                        Claim::First(running) => {
                            runs.fetch_add(1, Ordering::SeqCst);
                            std::thread::yield_now();
                            running.finish(Status::Ok, b"once", NOW);
                        }
                        Claim::Repeat(_) => assert_eq!(body, b"once"),
                        Claim::Conflict | Claim::Busy(_) => panic!("same input, and it was waited for"),
                    }
                });
            }
        });
        assert_eq!(runs.load(Ordering::SeqCst), 1);
    }

    /// Wakes the thread that waits.
    struct Unpark(std::thread::Thread);

    impl std::task::Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }

    fn wait(claim: Claim, body: &mut Vec<u8>) -> Claim {
        let Claim::Busy(repeat) = claim else { return claim };
        let waker = Arc::new(Unpark(std::thread::current())).into();
        loop {
            match repeat.poll(&Context::from_waker(&waker), body) {
                Poll::Ready(claim) => return claim,
                Poll::Pending => std::thread::park(),
            }
        }
    }

    #[test]
    fn a_repeat_runs_when_the_first_failed() {
        let store = Idempotency::new();
        let mut body = Vec::new();
        let print = Fingerprint::of(b"", b"a");
        let Claim::First(first) = store.claim(parts(b"k"), print, NOW, &mut body) else {
            panic!("it is free")
        };
        let Claim::Busy(repeat) = store.claim(parts(b"k"), print, NOW, &mut body) else { panic!("it runs") };
        let (woken, waker) = counting();
        let context = Context::from_waker(&waker);
        assert!(repeat.poll(&context, &mut body).is_pending());
        assert!(repeat.poll(&context, &mut body).is_pending());
        first.finish(Status::ServerError, b"", NOW);
        assert_eq!(woken.0.load(Ordering::SeqCst), 1, "one waker is kept, however often it is polled");
        assert!(matches!(repeat.poll(&context, &mut body), Poll::Ready(Claim::First(_))));
    }

    struct Count(AtomicUsize);

    impl std::task::Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    fn counting() -> (Arc<Count>, Waker) {
        let count = Arc::new(Count(AtomicUsize::new(0)));
        (Arc::clone(&count), count.into())
    }
}
