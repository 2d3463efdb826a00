//! The store by itself: what is written comes back, in whole chains.

use super::committer::prune;
use super::disk::Disk;
use super::*;
use crate::audit::ledger::{Ledger, LedgerOptions, OnFailure};
use crate::audit::verify::ChainCheck;
use crate::audit::{Facts, Held, Scratch};
use crate::identity::Agents;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{Thread, current, park_timeout};
use std::time::{Duration, Instant};

/// A directory of its own, removed when dropped.
struct Dir(PathBuf);

impl Dir {
    fn new() -> Dir {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        Dir(std::env::temp_dir().join(format!("agtp-store-{}-{count}", std::process::id())))
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn always() -> StoreOptions {
    StoreOptions { durability: Durability::Always, ..StoreOptions::default() }
}

fn ledger(store: &Arc<Store>, on_failure: OnFailure) -> Ledger {
    let sink = Arc::clone(store) as Arc<dyn Sink>;
    Ledger::new("s", &Agents::NONE, LedgerOptions { on_failure, ..LedgerOptions::into_sink(sink) })
}

/// Makes a record in nobody's chain; its name is returned.
fn record(ledger: &Ledger, unix_ms: u64, binding: bool) -> (String, Held) {
    let facts = Facts {
        unix_ms,
        request_hash: &[0; 32],
        status: 200,
        session_id: None,
        task_id: None,
        request_id: None,
        response_id: b"r",
        action_id: binding.then_some(b"a".as_slice()),
        requested_method: None,
        extra: b"",
    };
    let mut out = Vec::new();
    let held = ledger.write(&mut Scratch::default(), None, &facts, &mut out);
    let out = String::from_utf8(out).unwrap();
    let id = out.trim_end().rsplit("Audit-ID: ").next().unwrap().to_owned();
    (id, held)
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Waits until the answers may be sent.
fn wait(ledger: &Ledger, mut held: Held) {
    let waker: Waker = Arc::new(Unpark(current())).into();
    while ledger.poll_release(&mut held, &Context::from_waker(&waker)) == Poll::Pending {
        let parked = Instant::now();
        park_timeout(Duration::from_secs(20));
        assert!(parked.elapsed() < Duration::from_secs(20), "it was not woken");
    }
}

/// Proves every chain; positions of the first and one behind the last entry of the only one.
fn proved(store: &Store) -> (u64, u64) {
    let mut found = Vec::new();
    let walked = store.for_each_chain(&mut |chain| {
        let mut check = ChainCheck::new(chain.key, chain.anchor, &[]);
        for entry in chain.entries {
            let (position, record) = entry?;
            check.next(position, &record).unwrap_or_else(|why| panic!("entry {position}: {why}"));
        }
        found.push((chain.anchor.len, check.head().len));
        Ok(())
    });
    walked.unwrap();
    assert_eq!(found.len(), 1, "{found:?}");
    found[0]
}

fn parsed(id: &str) -> AuditId {
    crate::identity::parse_agent_id(id.as_bytes()).unwrap()
}

#[test]
fn a_chain_goes_on_after_a_restart() {
    let dir = Dir::new();
    for round in 0..3 {
        let store = Arc::new(Store::open(&dir.0, always()).unwrap());
        let ledger = ledger(&store, OnFailure::Refuse);
        for number in 0..10 {
            let (id, held) = record(&ledger, number, false);
            assert!(store.find(&parsed(&id)).is_some(), "what is queued is found too");
            wait(&ledger, held);
            assert!(store.find(&parsed(&id)).is_some());
        }
        assert_eq!(proved(&store), (0, 10 * (round + 1)));
        assert_eq!(store.newest(&ChainKey::NOBODY, 3).len(), 3);
        assert_eq!(store.find(&[7; 32]), None);
        assert!(Store::open(&dir.0, always()).unwrap_err().to_string().contains("another process"));
    }
}

#[test]
fn what_need_not_be_durable_is_not_waited_for_and_is_there_once_closed() {
    for durability in [Durability::Interval, Durability::Os] {
        let dir = Dir::new();
        let options = StoreOptions { durability, ..StoreOptions::default() };
        let store = Arc::new(Store::open(&dir.0, options).unwrap());
        let ledger = ledger(&store, OnFailure::Refuse);
        for number in 0..1000 {
            let (_, held) = record(&ledger, number, true);
            assert!(ledger.releases(held));
        }
        store.close();
        assert_eq!(proved(&store), (0, 1000));
        // Nothing is kept after the end, nor does it become part of a chain.
        let head = ledger.head(None);
        record(&ledger, 0, false);
        assert_eq!((ledger.head(None), store.unstored()), (head, 1));
    }
}

/// Half of what the last write left is thrown away: whatever is left is a beginning of the chain.
#[test]
fn a_torn_last_write_cuts_the_chain_short_and_leaves_no_gap() {
    let dir = Dir::new();
    let store = Arc::new(Store::open(&dir.0, always()).unwrap());
    let ledger = ledger(&store, OnFailure::Refuse);
    let held = (0..20).map(|number| record(&ledger, number, false).1).last().unwrap();
    wait(&ledger, held);
    let whole = proved(&store).1;
    drop((ledger, store));
    let journal = std::fs::read_dir(dir.0.join("store")).unwrap().flatten();
    let journal = journal.map(|entry| entry.path()).find(|path| path.extension().is_some_and(|e| e == "jnl"));
    let journal = journal.expect("a journal");
    let bytes = std::fs::read(&journal).unwrap();
    let end = bytes.iter().rposition(|byte| *byte != 0).unwrap() + 1;
    for cut in [end - 1, end - 100, end / 2] {
        std::fs::write(&journal, &bytes[..cut]).unwrap();
        let store = Store::open(&dir.0, always()).unwrap();
        let mut left = 0;
        let _ = store.for_each_chain(&mut |chain| {
            let mut check = ChainCheck::new(chain.key, chain.anchor, &[]);
            for entry in chain.entries {
                let (position, record) = entry?;
                check.next(position, &record).unwrap();
            }
            left = check.head().len;
            Ok(())
        });
        assert!(left <= whole, "{left} of {whole}");
    }
}

#[test]
fn retention_takes_the_oldest_and_the_rest_is_proved_from_where_it_begins() {
    let dir = Dir::new();
    let store = Arc::new(Store::open(&dir.0, always()).unwrap());
    let ledger = ledger(&store, OnFailure::Refuse);
    let now = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_millis() as u64;
    let old: Vec<_> = (0..10).map(|number| record(&ledger, number, false)).collect();
    let new: Vec<_> = (0..10).map(|number| record(&ledger, now + number, false)).collect();
    wait(&ledger, new[9].1);
    let by_age = Retention { max_age_ms: Some(86_400_000), max_bytes: None };
    assert_eq!(prune(&store.disk, by_age).unwrap(), 10);
    assert_eq!(proved(&store), (10, 20));
    assert!(store.find(&parsed(&old[9].0)).is_none() && store.find(&parsed(&new[0].0)).is_some());
    let bytes = store.disk.bytes().unwrap();
    let by_size = Retention { max_age_ms: None, max_bytes: Some(bytes / 2) };
    let gone = prune(&store.disk, by_size).unwrap();
    assert!((5..=6).contains(&gone), "{gone}");
    assert!(store.disk.bytes().unwrap() <= bytes / 2);
    assert_eq!(proved(&store), (10 + gone, 20));
    // Of a chain of which nothing is left, the head is remembered.
    assert_eq!(prune(&store.disk, Retention { max_bytes: Some(0), ..by_size }).unwrap(), 10 - gone);
    let head = ledger.head(None);
    drop((ledger, store));
    let store = Store::open(&dir.0, always()).unwrap();
    assert_eq!(store.head(&ChainKey::NOBODY), Some(head));
    assert_eq!(proved(&store), (20, 20));
}

#[test]
fn while_the_disk_is_full_what_changes_state_waits_and_the_rest_goes_on() {
    let dir = Dir::new();
    let store = Arc::new(Store::open(&dir.0, always()).unwrap());
    let strict = ledger(&store, OnFailure::Refuse);
    wait(&strict, record(&strict, 0, true).1);
    store.disk.full.store(true, Ordering::SeqCst);
    let (safe, binding) = (record(&strict, 1, false).1, record(&strict, 2, true).1);
    wait(&strict, safe);
    assert!(store.is_failing() && strict.refuses_changes());
    assert!(!strict.releases(binding), "what was changed is on no record yet");
    // From now on nothing else is kept, and the chain does not count on it.
    let (id, held) = record(&strict, 3, false);
    assert!(strict.releases(held) && store.find(&parsed(&id)).is_none());
    assert_eq!(store.unstored(), 1);
    store.disk.full.store(false, Ordering::SeqCst);
    wait(&strict, binding);
    while store.is_failing() {
        std::thread::yield_now();
    }
    wait(&strict, record(&strict, 4, true).1);
    assert_eq!(proved(&store), (0, 4));
}

#[test]
fn an_operator_may_want_everything_to_go_on() {
    let dir = Dir::new();
    let store = Arc::new(Store::open(&dir.0, always()).unwrap());
    let ledger = ledger(&store, OnFailure::Serve);
    store.disk.full.store(true, Ordering::SeqCst);
    wait(&ledger, record(&ledger, 0, true).1);
    assert!(store.is_failing() && !ledger.refuses_changes());
    assert!(ledger.releases(record(&ledger, 1, true).1));
    assert_eq!(store.unstored(), 1);
}

#[test]
fn what_is_half_made_or_another_s_is_not_in_the_way() {
    let dir = Dir::new();
    let left = dir.0.join("store.new");
    std::fs::create_dir_all(&left).unwrap();
    std::fs::write(left.join("0.jnl"), "half").unwrap();
    std::fs::write(dir.0.join("notes.txt"), "mine").unwrap();
    assert!(!Store::is_there(&dir.0));
    drop(Store::open(&dir.0, always()).unwrap());
    assert!(Store::is_there(&dir.0) && !left.exists() && dir.0.join("notes.txt").exists());
}

#[test]
fn what_a_newer_version_has_written_is_left_alone() {
    let dir = Dir::new();
    drop(Store::open(&dir.0, always()).unwrap());
    let disk = Disk::open(&dir.0).unwrap();
    disk.set_format(b"2").unwrap();
    drop(disk);
    let error = Store::open(&dir.0, always()).unwrap_err().to_string();
    assert!(error.contains("newer version") && !error.contains('\n'), "{error}");
}
