//! A sink without a store.

use super::chain::{AuditId, ChainKey, Entry, Head, Sink};
use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Waker;

/// Independently locked parts, by chain, so that cores seldom meet. A power of two.
const SHARDS: usize = 16;

/// Bytes of records that a [`Memory`] keeps by default: of an agent that is alone in its part, about the last 800.
const KEPT_BYTES: usize = 16 << 20;

/// Keeps the newest records in memory, and nothing when the process ends. Every answer may be sent at once.
pub struct Memory {
    shards: Box<[Mutex<Shard>]>,
    /// Bytes that each of them keeps.
    most: usize,
}

#[derive(Default)]
struct Shard {
    rows: VecDeque<Row>,
    /// The records of the rows, one behind the other.
    bytes: VecDeque<u8>,
    /// Chains are of the deployment's agents, so there is no end of them to guard against.
    heads: HashMap<ChainKey, Head>,
}

struct Row {
    chain: ChainKey,
    id: AuditId,
    len: usize,
}

impl Memory {
    /// Keeps at most as many records as fit 16 MiB.
    pub fn new() -> Memory {
        Memory::keeping(KEPT_BYTES)
    }

    /// Keeps at most as many records as fit this many bytes; they are divided among the chains.
    pub fn keeping(bytes: usize) -> Memory {
        Memory { shards: (0..SHARDS).map(|_| Mutex::default()).collect(), most: bytes / SHARDS }
    }

    fn shard(&self, chain: &ChainKey) -> Option<MutexGuard<'_, Shard>> {
        let sum = chain.as_bytes().iter().fold(0usize, |sum, byte| sum.wrapping_mul(31) + usize::from(*byte));
        self.shards.get(sum % SHARDS).map(lock)
    }
}

fn lock(shard: &Mutex<Shard>) -> MutexGuard<'_, Shard> {
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Default for Memory {
    fn default() -> Self {
        Memory::new()
    }
}

impl Shard {
    /// The records, the oldest first.
    fn records(&self) -> impl Iterator<Item = (&Row, Vec<u8>)> {
        let mut start = 0;
        self.rows.iter().map(move |row| {
            let range = start..start + row.len;
            start = range.end;
            (row, self.bytes.range(range).copied().collect())
        })
    }

    fn drop_oldest(&mut self) {
        if let Some(row) = self.rows.pop_front() {
            self.bytes.drain(..row.len.min(self.bytes.len()));
        }
    }
}

impl Sink for Memory {
    fn append(&self, entry: &Entry<'_>) -> Option<u64> {
        let mut shard = self.shard(entry.chain)?;
        while !shard.rows.is_empty() && shard.bytes.len() + entry.record.len() > self.most {
            shard.drop_oldest();
        }
        shard.rows.push_back(Row { chain: *entry.chain, id: *entry.id, len: entry.record.len() });
        shard.bytes.extend(entry.record);
        shard.heads.insert(*entry.chain, Head { id: *entry.id, len: entry.position + 1 });
        Some(0)
    }

    fn settled(&self) -> u64 {
        u64::MAX
    }

    fn wake_when_settled(&self, _number: u64, waker: &Waker) {
        waker.wake_by_ref();
    }

    fn is_failing(&self) -> bool {
        false
    }

    fn head(&self, chain: &ChainKey) -> Option<Head> {
        self.shard(chain)?.heads.get(chain).copied()
    }

    fn find(&self, id: &AuditId) -> Option<Vec<u8>> {
        self.shards
            .iter()
            .find_map(|shard| lock(shard).records().find(|(row, _)| row.id == *id).map(|(_, record)| record))
    }

    fn newest(&self, chain: &ChainKey, most: usize) -> Vec<Vec<u8>> {
        let Some(shard) = self.shard(chain) else { return Vec::new() };
        let of_chain = shard.records().filter(|(row, _)| row.chain == *chain).map(|(_, record)| record);
        let mut found: Vec<_> = of_chain.collect();
        found.reverse();
        found.truncate(most);
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry<'a>(chain: &'a ChainKey, id: &'a AuditId, record: &'a [u8]) -> Entry<'a> {
        Entry { chain, position: 0, id, unix_ms: 0, record, binding: false }
    }

    #[test]
    fn the_newest_records_are_kept_and_found() {
        let memory = Memory::keeping(SHARDS * 100);
        let (chain, other) = (ChainKey::of_agent(&[1; 32]), ChainKey::NOBODY);
        for number in 0..10u8 {
            let (id, record) = ([number; 32], [number; 30]);
            let entry = Entry { position: number.into(), ..entry(&chain, &id, &record) };
            assert_eq!(memory.append(&entry), Some(0));
        }
        assert_eq!(memory.append(&entry(&other, &[99; 32], b"other")), Some(0));
        assert_eq!(memory.find(&[9; 32]).as_deref(), Some([9; 30].as_slice()));
        assert_eq!(memory.find(&[6; 32]), None);
        assert_eq!(memory.newest(&chain, 2), [vec![9; 30], vec![8; 30]]);
        assert_eq!(memory.newest(&chain, 9).len(), 3);
        assert_eq!(memory.head(&chain), Some(Head { id: [9; 32], len: 10 }));
        assert_eq!(memory.find(&[99; 32]).as_deref(), Some(b"other".as_slice()));
        assert_eq!(memory.head(&ChainKey::of_agent(&[2; 32])), None);
    }
}
