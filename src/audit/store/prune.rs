//! Retention: the oldest records go, and each chain remembers where what is left of it begins.

use super::StoreError;
use super::disk::{Stored, Tables, name_key};
use crate::audit::chain::{ChainKey, Head};
use sha2::{Digest, Sha256};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// Rows that are taken away in one transaction.
const AT_ONCE: usize = 1000;

/// Takes the oldest records away while `goes` says so of the time of one and the bytes of all that are left; how many
/// there were. Lifecycles stay.
pub(super) fn prune(tables: &Tables, goes: &dyn Fn(u64, u64) -> bool) -> Result<u64, StoreError> {
    let mut left = tables.bytes()?;
    let chains: Vec<_> = tables.chains()?.into_iter().filter(|chain| !chain.is_lifecycle()).collect();
    let mut rows: Vec<_> = chains.iter().map(|chain| tables.entries.prefix(chain.as_bytes())).collect();
    // The oldest record of each chain; the next one of a chain takes its place.
    let mut oldest = BinaryHeap::new();
    let mut heads = BTreeMap::new();
    for (index, rows) in rows.iter_mut().enumerate() {
        if let Some(row) = rows.next() {
            push(&mut oldest, &mut heads, index, Stored::read(row.into_inner()?)?);
        }
    }
    let (mut gone, mut total) = (Gone::default(), 0);
    while let Some(Reverse((unix_ms, index))) = oldest.pop() {
        let Some(entry) = heads.remove(&index).filter(|_| goes(unix_ms, left)) else { break };
        left = left.saturating_sub(entry.record().len() as u64);
        if let Some(chain) = chains.get(index) {
            gone.add(chain, &entry);
        }
        total += 1;
        if gone.keys.len() >= AT_ONCE {
            std::mem::take(&mut gone).commit(tables, left)?;
        }
        if let Some(row) = rows.get_mut(index).and_then(Iterator::next) {
            push(&mut oldest, &mut heads, index, Stored::read(row.into_inner()?)?);
        }
    }
    gone.commit(tables, left)?;
    Ok(total)
}

fn push(
    oldest: &mut BinaryHeap<Reverse<(u64, usize)>>,
    heads: &mut BTreeMap<usize, Stored>,
    index: usize,
    entry: Stored,
) {
    oldest.push(Reverse((entry.unix_ms, index)));
    heads.insert(index, entry);
}

/// Rows to be taken away in one transaction.
#[derive(Default)]
struct Gone {
    keys: Vec<([u8; 41], [u8; 32])>,
    anchors: BTreeMap<ChainKey, Head>,
}

impl Gone {
    fn add(&mut self, chain: &ChainKey, entry: &Stored) {
        let id: [u8; 32] = Sha256::digest(entry.record()).into();
        self.keys.push((super::disk::entry_key(chain, entry.position), id));
        self.anchors.insert(*chain, Head { id, len: entry.position + 1 });
    }

    fn commit(self, tables: &Tables, left: u64) -> Result<(), StoreError> {
        if self.keys.is_empty() {
            return Ok(());
        }
        let mut write = tables.database.batch();
        for (key, id) in &self.keys {
            write.remove(&tables.entries, *key);
            write.remove(&tables.names, name_key(id));
        }
        for (chain, anchor) in &self.anchors {
            let value = [anchor.len.to_be_bytes().as_slice(), &anchor.id].concat();
            write.insert(&tables.state, super::disk::anchor_key(chain), value);
        }
        write.insert(&tables.state, "bytes", left.to_be_bytes());
        Ok(write.commit()?)
    }
}
