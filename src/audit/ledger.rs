//! Makes the records and keeps the heads of the chains.

use super::chain::{AuditId, ChainKey, Entry, Head, Sign, Sink, hex};
use super::lifecycle::Statuses;
use super::record::{self, Begun, Facts, Scratch};
use crate::identity::{Agent, Agents};
use crate::json::push_string;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

/// Who may read records (facts page 8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Access {
    /// Every authorised agent.
    #[default]
    Public,
    /// An agent its own.
    AgentOnly,
    /// Nobody over the protocol: the operator reads the store.
    OperatorOnly,
}

/// Who may change an agent's status (D31).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum LifecycleAuth {
    /// Every authorised agent; for development on a loopback address.
    Open,
    /// Who shows a certificate of the key that issued the agent's Genesis.
    #[default]
    GenesisIssuer,
}

/// What becomes of requests while records cannot be stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum OnFailure {
    /// Those that change state are answered with 503; the others go on, their records are not stored.
    #[default]
    Refuse,
    /// All go on.
    Serve,
}

/// How records are made, and where they go.
pub struct LedgerOptions {
    /// Whether answers get records. Lifecycles are kept either way.
    pub attribution: bool,
    /// Where they go.
    pub sink: Arc<dyn Sink>,
    /// Signs them; without, they say `alg: none`.
    pub signer: Option<Arc<dyn Sign>>,
    /// Who may read them.
    pub read_acl: Access,
    /// Who may change an agent's status.
    pub lifecycle_auth: LifecycleAuth,
    /// What happens while they cannot be stored.
    pub on_failure: OnFailure,
}

impl LedgerOptions {
    /// Unsigned records into this sink, all else as it is by default.
    pub fn into_sink(sink: Arc<dyn Sink>) -> LedgerOptions {
        let (read_acl, lifecycle_auth, on_failure) = Default::default();
        LedgerOptions { attribution: true, sink, signer: None, read_acl, lifecycle_auth, on_failure }
    }
}

/// A chain's head, on a cache line of its own: cores that serve different agents do not disturb each other.
#[repr(align(64))]
struct Chain {
    key: ChainKey,
    head: Mutex<Head>,
}

/// Up to which numbers of a [`Sink`] a connection's answers are held back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Held {
    /// By any of its records.
    any: u64,
    /// By one of a state-changing request.
    binding: u64,
    /// Up to where its waker is registered.
    asked: u64,
}

impl Held {
    /// By a record of what was changed.
    pub(super) const fn binding(number: u64) -> Held {
        Held { any: number, binding: number, asked: 0 }
    }

    /// By nothing.
    pub(crate) const NONE: Held = Held { any: 0, binding: 0, asked: 0 };

    /// What it was, leaving nothing.
    #[inline]
    pub(crate) fn take(&mut self) -> Held {
        std::mem::take(self)
    }

    /// Adds what another is held by.
    pub(crate) fn merge(&mut self, other: Held) {
        self.any = self.any.max(other.any);
        self.binding = self.binding.max(other.binding);
    }
}

/// Makes records; shared by all cores. See the [module](super).
pub struct Ledger {
    header: Box<str>,
    /// The rendered `server_id` member.
    server: Box<str>,
    /// Rendered `agent_id` and `owner_id` members: those of nobody, then one for each row of the agents.
    callers: Box<[Box<str>]>,
    /// In the same order.
    chains: Box<[Chain]>,
    /// In force, for each row of the agents.
    pub(super) statuses: Statuses,
    server_id: Box<str>,
    options: LedgerOptions,
}

impl Ledger {
    /// A ledger of a server and its agents, going on where the sink's chains had got to.
    pub fn new(server_id: &str, agents: &Agents, options: LedgerOptions) -> Ledger {
        let rows = || std::iter::once(None).chain(agents.agents.iter().map(Some));
        let chain = |agent: Option<&Agent>| {
            let key = agent.map_or(ChainKey::NOBODY, |agent| ChainKey::of_agent(&agent.id));
            Chain { key, head: Mutex::new(options.sink.head(&key).unwrap_or_default()) }
        };
        Ledger {
            header: record::header(options.signer.as_deref()).into(),
            server: member("server_id", Some(server_id)).into(),
            callers: rows().map(|agent| caller_members(agents, agent).into()).collect(),
            chains: rows().map(chain).collect(),
            statuses: Statuses::of(&agents.agents, |key| options.sink.newest(key, 1).pop()),
            server_id: server_id.into(),
            options,
        }
    }

    /// Who may read records.
    pub fn read_acl(&self) -> Access {
        self.options.read_acl
    }

    /// Who may change an agent's status.
    pub fn lifecycle_auth(&self) -> LifecycleAuth {
        self.options.lifecycle_auth
    }

    /// Whether answers get records.
    pub fn attributes(&self) -> bool {
        self.options.attribution
    }

    /// The encoded header of every entry.
    pub(super) fn header(&self) -> &str {
        &self.header
    }

    /// `server_id`.
    pub(super) fn server_id(&self) -> &str {
        &self.server_id
    }

    /// Where records go.
    pub fn sink(&self) -> &dyn Sink {
        &*self.options.sink
    }

    /// Where the chain of an agent has got to; without a row, that of nobody.
    pub(crate) fn head(&self, row: Option<usize>) -> Head {
        self.chain(row).map(|chain| *lock(&chain.head)).unwrap_or_default()
    }

    /// Whether requests that change state are refused at present.
    #[inline]
    pub(crate) fn refuses_changes(&self) -> bool {
        self.options.on_failure == OnFailure::Refuse && self.options.sink.is_failing()
    }

    /// Appends the two header lines of a new record in the chain of an agent: `row` is the agent's, nobody's without.
    #[inline]
    pub(crate) fn write(
        &self,
        scratch: &mut Scratch,
        row: Option<usize>,
        facts: &Facts<'_>,
        out: &mut Vec<u8>,
    ) -> Held {
        let Some(chain) = self.chain(row) else { return Held::default() };
        let caller = self.callers.get(row.map_or(0, |row| row + 1)).map_or("", |members| members);
        out.extend_from_slice(b"Attribution-Record: ");
        let begun = record::begin(scratch, &self.header, (&self.server, caller), facts, out);
        let binding = facts.action_id.is_some();
        let (id, number) = self.seal(begun, (&chain.key, &chain.head), facts.unix_ms, binding, out);
        out.extend_from_slice(b"\r\nAudit-ID: ");
        out.extend_from_slice(&hex(&id));
        out.extend_from_slice(b"\r\n");
        let number = number.unwrap_or(0);
        if binding { Held::binding(number) } else { Held { any: number, ..Held::NONE } }
    }

    /// Makes an entry part of its chain: its name, and the sink's number; none if it was not kept.
    pub(super) fn seal(
        &self,
        begun: Begun,
        (key, head): (&ChainKey, &Mutex<Head>),
        unix_ms: u64,
        binding: bool,
        out: &mut Vec<u8>,
    ) -> (AuditId, Option<u64>) {
        let start = begun.start();
        let mut head = lock(head);
        let id = begun.finish(&head.id, self.options.signer.as_deref(), out);
        let binding = binding && self.options.on_failure == OnFailure::Refuse;
        let record = out.get(start..).unwrap_or_default();
        let entry = Entry { chain: key, position: head.len, id: &id, unix_ms, record, binding };
        let number = self.options.sink.append(&entry);
        if number.is_some() {
            *head = Head { id, len: head.len + 1 };
        }
        (id, number)
    }

    /// Whether a connection's answers may be sent. If not, the waker is called once it pays to ask again.
    pub(crate) fn poll_release(&self, held: &mut Held, context: &Context<'_>) -> Poll<()> {
        if self.releases(*held) {
            return Poll::Ready(());
        }
        let sink = &self.options.sink;
        if held.asked != held.any {
            held.asked = held.any;
            sink.wake_when_settled(held.any, context.waker());
        }
        // It may have been settled before the waker was registered.
        if self.releases(*held) { Poll::Ready(()) } else { Poll::Pending }
    }

    /// Whether what is held back by these numbers may go.
    pub(crate) fn releases(&self, held: Held) -> bool {
        let sink = &self.options.sink;
        if held.any == 0 {
            return true;
        }
        let settled = sink.settled();
        if held.any <= settled {
            return true;
        }
        let insists = self.options.on_failure == OnFailure::Refuse && held.binding > settled;
        !insists && sink.is_failing()
    }

    fn chain(&self, row: Option<usize>) -> Option<&Chain> {
        self.chains.get(row.map_or(0, |row| row + 1))
    }
}

impl fmt::Debug for Ledger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = self.options.signer.as_ref().map(|signer| signer.key_id().to_owned());
        f.debug_struct("Ledger")
            .field("key", &key)
            .field("chains", &self.chains.len())
            .finish_non_exhaustive()
    }
}

/// Nothing panics while holding a lock; were it so all the same, what it guards is whole.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn caller_members(agents: &Agents, agent: Option<&Agent>) -> String {
    let id = agent.map(|agent| hex(&agent.id));
    let id = id.as_ref().and_then(|digits| std::str::from_utf8(digits).ok());
    let owner = agent.and_then(|agent| owner_of(agents.str(agent.trust_headers)));
    format!("{},{}", member("agent_id", id), member("owner_id", owner))
}

/// The value of the `Owner-ID` line among an agent's.
fn owner_of(trust_headers: &str) -> Option<&str> {
    trust_headers.lines().find_map(|line| line.strip_prefix("Owner-ID: "))
}

/// A member of an object: a string, or null.
fn member(name: &str, value: Option<&str>) -> String {
    let mut json = Vec::new();
    push_string(&mut json, name);
    json.push(b':');
    match value {
        Some(value) => push_string(&mut json, value),
        None => json.extend_from_slice(b"null"),
    }
    // Written from strings, with nothing but ASCII between them.
    String::from_utf8(json).unwrap_or_default()
}
