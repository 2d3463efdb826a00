//! Attribution: a record of every answer, chained agent by agent (facts page 8).
//!
//! [`Ledger`] makes the records. It does no I/O: where a record goes is a [`Sink`]'s business, what signs it a
//! [`Sign`]'s. What is here without the feature `audit` is enough for an engine in an appliance: records without
//! signature, or by a signer of its own, into a bounded [`Memory`].
//!
//! # Chains
//!
//! Each record names the one before it, so those of one agent are made one after the other, on whichever cores they
//! are answered. What can be done beforehand is done before the chain's lock is taken: all of the payload but the
//! name of the previous record is written, encoded and hashed, and under the lock only the rest is. A signature covers
//! that name, so it is made under the lock too; agents do not wait for each other.
//!
//! Requests that no agent of the deployment can be named for (no Agent-ID, a malformed or an unknown one) are
//! recorded too, with `agent_id` null, in one chain of their own.

mod chain;
#[cfg(feature = "audit")]
mod ed25519;
mod ledger;
mod lifecycle;
mod memory;
mod record;
#[cfg(feature = "audit")]
mod store;
mod time;
#[cfg(feature = "audit")]
mod verify;

pub use chain::{AuditId, ChainKey, Entry, Head, Sign, Sink};
#[cfg(feature = "audit")]
pub use ed25519::{Ed25519, NoPrivateKey};
pub use ledger::{Access, Ledger, LedgerOptions, LifecycleAuth, OnFailure};
pub use memory::Memory;
#[cfg(feature = "audit")]
pub use store::{Durability, Retention, Store, StoreError, StoreOptions, StoredChain};
pub use time::push_rfc3339;
#[cfg(feature = "audit")]
pub use verify::{Break, ChainCheck, Claims};

pub(crate) use chain::hex;
pub(crate) use ledger::Held;
pub(crate) use lifecycle::{Came, Change, Wish};
pub(crate) use record::{Facts, Scratch, name as record_name, payload_text};

/// Most bytes of what a handler adds to a record: it travels in a header, and clients bound those.
pub const EXTRA_BYTES: usize = 2048;
