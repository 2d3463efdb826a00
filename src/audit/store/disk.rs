//! The database: what is where, and how it is read and written.
//!
//! | keyspace  | key                                   | value                                          |
//! |-----------|---------------------------------------|------------------------------------------------|
//! | `entries` | chain (33 bytes), position (8)        | time (8), compact JWS                          |
//! | `names`   | first 16 bytes of an entry's name     | chain, position                                |
//! | `state`   | `format`                              | [`FORMAT`]                                     |
//! |           | `bytes`                               | bytes of all records (8)                       |
//! |           | `anchor`, chain                       | entries taken away (8), name of the last (32)  |
//!
//! Numbers are big-endian, so that keys sort as they count.

use super::StoredChain;
use super::prune::prune;
use super::queue::{self, Batch};
use crate::audit::chain::{AuditId, ChainKey, Head};
use fjall::{Database, Keyspace, KeyspaceCreateOptions, KvPair, PersistMode};
use sha2::{Digest, Sha256};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock};

/// Where in the operator's directory the database is: it may be a volume of its own, with things in it that are not ours.
const STORE: &str = "store";

/// What the tables are like.
const FORMAT: &[u8] = b"1";

/// Memory for blocks that were read: reading is rare.
const CACHE_BYTES: u64 = 4 << 20;

/// Memory for what is not sorted into files yet. Smaller costs more sorting.
const MEMTABLE_BYTES: u64 = 8 << 20;

/// What is sorted into files and still in journals may take so much of the disk beside the records. The least that can be
/// set.
const JOURNAL_BYTES: u64 = 64 << 20;

/// Bytes of a name that find it again; the whole name is compared then.
const NAME_BYTES: usize = 16;

/// Why the store does not work. One line.
#[derive(Debug)]
pub struct StoreError(String);

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for StoreError {}

impl StoreError {
    pub(super) fn io(error: std::io::Error) -> StoreError {
        StoreError(error.to_string())
    }
}

impl From<fjall::Error> for StoreError {
    fn from(error: fjall::Error) -> StoreError {
        StoreError(match error {
            fjall::Error::Io(error) => error.to_string(),
            fjall::Error::Locked => {
                "another process uses it; a server that runs is asked over its address".to_owned()
            }
            fjall::Error::Poisoned => "writing to it failed before".to_owned(),
            other => format!("{other:?}"),
        })
    }
}

type Result<T> = std::result::Result<T, StoreError>;

/// An open database. Its files are closed when the last handle goes.
#[derive(Clone)]
pub(super) struct Tables {
    pub(super) database: Database,
    pub(super) entries: Keyspace,
    pub(super) names: Keyspace,
    pub(super) state: Keyspace,
}

pub(super) struct Disk {
    dir: PathBuf,
    /// Nothing while it could not be opened again.
    tables: RwLock<Option<Tables>>,
    /// The tests' full disk.
    #[cfg(test)]
    pub(super) full: std::sync::atomic::AtomicBool,
}

impl Disk {
    pub(super) fn open(dir: &Path) -> Result<Disk> {
        let store = dir.join(STORE);
        if !store.is_dir() {
            create(&store)?;
        }
        Ok(Disk {
            tables: RwLock::new(Some(Tables::open(&store)?)),
            dir: store,
            #[cfg(test)]
            full: false.into(),
        })
    }

    /// Whether there is one in a directory.
    pub(super) fn is_there(dir: &Path) -> bool {
        dir.join(STORE).is_dir()
    }

    /// Opens the database anew: after a failed write it takes no more.
    pub(super) fn reopen(&self) -> Result<()> {
        let mut tables = self.tables.write().unwrap_or_else(PoisonError::into_inner);
        // Two cannot be open at once.
        *tables = None;
        *tables = Some(Tables::open(&self.dir)?);
        Ok(())
    }

    fn tables(&self) -> Result<Tables> {
        let tables = self.tables.read().unwrap_or_else(PoisonError::into_inner);
        tables.clone().ok_or_else(|| StoreError("it is closed after a failure".to_owned()))
    }

    /// Writes a batch, all of it or nothing, as durably as asked.
    pub(super) fn write(&self, batch: &Batch, mode: PersistMode) -> Result<()> {
        #[cfg(test)]
        if self.full.load(std::sync::atomic::Ordering::SeqCst) {
            return Err(StoreError("No space left on device".to_owned()));
        }
        self.tables()?.write(batch, mode)
    }

    /// Has what was written flushed to the disk.
    pub(super) fn flush(&self) -> Result<()> {
        Ok(self.tables()?.database.persist(PersistMode::SyncData)?)
    }

    pub(super) fn head(&self, chain: &ChainKey) -> Result<Option<Head>> {
        let tables = self.tables()?;
        let Some(last) = tables.entries.prefix(chain.as_bytes()).next_back() else {
            return Ok(Some(tables.anchor(chain)?).filter(|anchor| anchor.len > 0));
        };
        let entry = Stored::read(last.into_inner()?)?;
        Ok(Some(Head { id: Sha256::digest(entry.record()).into(), len: entry.position + 1 }))
    }

    pub(super) fn find(&self, id: &AuditId) -> Result<Option<Vec<u8>>> {
        let tables = self.tables()?;
        let Some(place) = tables.names.get(name_key(id))? else { return Ok(None) };
        let Some(entry) = tables.entries.get(&place)? else { return Ok(None) };
        let record = entry.get(8..).unwrap_or_default();
        let is_it = <[u8; 32]>::from(Sha256::digest(record)) == *id;
        Ok(is_it.then(|| record.to_vec()))
    }

    /// The last entries of a chain before a position, the newest first.
    pub(super) fn newest(&self, chain: &ChainKey, before: u64, most: usize) -> Result<Vec<Vec<u8>>> {
        let tables = self.tables()?;
        let range = entry_key(chain, 0)..entry_key(chain, before);
        let newest = tables.entries.range(range).rev().take(most);
        newest.map(|row| Ok(Stored::read(row.into_inner()?)?.record().to_vec())).collect()
    }

    pub(super) fn for_each_chain(&self, visit: &mut dyn FnMut(StoredChain<'_>) -> Result<()>) -> Result<()> {
        let tables = self.tables()?;
        for key in tables.chains()? {
            let rows = tables.entries.prefix(key.as_bytes());
            let mut entries = rows.map(|row| {
                let stored = Stored::read(row.into_inner()?)?;
                Ok((stored.position, stored.record().to_vec()))
            });
            visit(StoredChain { key, anchor: tables.anchor(&key)?, entries: &mut entries })?;
        }
        Ok(())
    }

    /// Takes the oldest records away while `goes` says so of the time of a record and the bytes of all that are left.
    pub(super) fn prune(&self, goes: &dyn Fn(u64, u64) -> bool) -> Result<u64> {
        prune(&self.tables()?, goes)
    }

    /// Bytes of all records.
    pub(super) fn bytes(&self) -> Result<u64> {
        self.tables()?.bytes()
    }

    #[cfg(test)]
    pub(super) fn set_format(&self, format: &[u8]) -> Result<()> {
        Ok(self.tables()?.state.insert("format", format)?)
    }
}

/// Makes an empty database. It is made beside its place and moved there when it is whole, so that a process that is killed
/// meanwhile leaves nothing in the way of the next.
fn create(store: &Path) -> Result<()> {
    let beside = store.with_extension("new");
    match std::fs::remove_dir_all(&beside) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(StoreError::io(error)),
        _ => drop(Tables::open(&beside)?),
    }
    std::fs::rename(&beside, store).map_err(StoreError::io)?;
    let parent = store.parent().map(std::fs::File::open).transpose();
    parent.and_then(|parent| parent.map_or(Ok(()), |parent| parent.sync_all())).map_err(StoreError::io)
}

impl Tables {
    fn open(dir: &Path) -> Result<Tables> {
        let database = Database::builder(dir)
            .cache_size(CACHE_BYTES)
            .max_journaling_size(JOURNAL_BYTES)
            .worker_threads(1)
            .open()?;
        let options = || KeyspaceCreateOptions::default().max_memtable_size(MEMTABLE_BYTES);
        let open = |name| database.keyspace(name, options);
        let (entries, names, state) = (open("entries")?, open("names")?, open("state")?);
        match state.get("format")? {
            None => state.insert("format", FORMAT)?,
            Some(format) if &*format == FORMAT => {}
            Some(_) => return Err(StoreError("a newer version of agtp has written it".to_owned())),
        }
        Ok(Tables { database, entries, names, state })
    }

    fn write(&self, batch: &Batch, mode: PersistMode) -> Result<()> {
        let mut write = self.database.batch();
        let mut bytes = self.bytes()?;
        for entry in batch.iter().flat_map(|part| queue::entries(part)) {
            let key = entry_key(&entry.chain, entry.position);
            let value = [&entry.unix_ms.to_be_bytes(), entry.record].concat();
            bytes += entry.record.len() as u64;
            write.insert(&self.names, name_key(&entry.id), key);
            write.insert(&self.entries, key, value);
        }
        write.insert(&self.state, "bytes", bytes.to_be_bytes());
        write.commit()?;
        Ok(self.database.persist(mode)?)
    }

    /// Bytes of all records.
    pub(super) fn bytes(&self) -> Result<u64> {
        let stored = self.state.get("bytes")?;
        Ok(stored.and_then(|bytes| bytes.first_chunk().copied()).map_or(0, u64::from_be_bytes))
    }

    /// What retention took away of a chain.
    fn anchor(&self, chain: &ChainKey) -> Result<Head> {
        let Some(anchor) = self.state.get(anchor_key(chain))? else { return Ok(Head::default()) };
        let head = anchor
            .split_first_chunk()
            .and_then(|(len, id)| Some(Head { len: u64::from_be_bytes(*len), id: id.try_into().ok()? }));
        head.ok_or_else(corrupt)
    }

    /// The chains there are, those too of which nothing is left.
    pub(super) fn chains(&self) -> Result<Vec<ChainKey>> {
        let mut chains = Vec::new();
        for row in self.state.prefix("anchor") {
            chains.extend(chain_of(row.key()?.get("anchor".len()..).unwrap_or_default()));
        }
        let mut next = self.entries.first_key_value();
        while let Some(row) = next {
            let chain = chain_of(&row.key()?).ok_or_else(corrupt)?;
            chains.push(chain);
            next = self.entries.range(entry_key(&chain, u64::MAX)..).next();
        }
        chains.sort_unstable();
        chains.dedup();
        Ok(chains)
    }
}

/// A row of `entries`.
pub(super) struct Stored {
    pub(super) position: u64,
    pub(super) unix_ms: u64,
    value: fjall::Slice,
}

impl Stored {
    pub(super) fn read((key, value): KvPair) -> Result<Stored> {
        let position = key.last_chunk().copied().map(u64::from_be_bytes);
        let unix_ms = value.first_chunk().copied().map(u64::from_be_bytes);
        let (Some(position), Some(unix_ms)) = (position, unix_ms) else { return Err(corrupt()) };
        Ok(Stored { position, unix_ms, value })
    }

    pub(super) fn record(&self) -> &[u8] {
        self.value.get(8..).unwrap_or_default()
    }
}

fn corrupt() -> StoreError {
    StoreError("a row of it is none that agtp writes".to_owned())
}

pub(super) fn entry_key(chain: &ChainKey, position: u64) -> [u8; 41] {
    let mut key = [0; 41];
    let parts = chain.as_bytes().iter().copied().chain(position.to_be_bytes());
    key.iter_mut().zip(parts).for_each(|(place, byte)| *place = byte);
    key
}

pub(super) fn anchor_key(chain: &ChainKey) -> Vec<u8> {
    [b"anchor".as_slice(), chain.as_bytes()].concat()
}

pub(super) fn name_key(id: &AuditId) -> &[u8] {
    id.get(..NAME_BYTES).unwrap_or(id)
}

/// The chain that a key begins with.
fn chain_of(key: &[u8]) -> Option<ChainKey> {
    ChainKey::from_bytes(*key.first_chunk()?)
}
