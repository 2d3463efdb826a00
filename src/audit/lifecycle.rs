//! Lifecycles: what an agent's status can become, and the events that say so.
//!
//! Events are entries of a chain of their own for each agent, made like records: a compact JWS that names the event
//! before it in `previous_event_id`. The last event of a chain is the agent's status; without one, its identity document
//! is.

use super::chain::{AuditId, ChainKey, hex};
use super::ledger::{Held, Ledger, lock};
use super::record::{self, Scratch};
use crate::identity::{Agent, AgentId, Status};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU8, Ordering};

/// What is done to an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    Activate,
    Deactivate,
    Reinstate,
    Revoke,
    Deprecate,
}

impl Change {
    /// The floor method.
    pub(crate) fn method(self) -> &'static str {
        match self {
            Change::Activate => "ACTIVATE",
            Change::Deactivate => "DEACTIVATE",
            Change::Reinstate => "REINSTATE",
            Change::Revoke => "REVOKE",
            Change::Deprecate => "DEPRECATE",
        }
    }

    /// What becomes of an agent; nothing if it cannot be done. Retirement is for good, and marking a suspended agent
    /// must not have it served again.
    pub(crate) fn of(self, status: Status) -> Option<Status> {
        match (self, status) {
            (Change::Revoke, _) => Some(Status::Retired),
            (_, Status::Retired) | (Change::Deprecate, Status::Suspended) => None,
            (Change::Activate | Change::Reinstate, _) => Some(Status::Active),
            (Change::Deactivate, _) => Some(Status::Suspended),
            (Change::Deprecate, _) => Some(Status::Deprecated),
        }
    }
}

/// A change that is asked for.
pub(crate) struct Wish<'a> {
    pub(crate) change: Change,
    pub(crate) reason: Option<&'a str>,
    pub(crate) actor: Option<&'a str>,
    /// Who asks.
    pub(crate) requested_by: Option<&'a AgentId>,
    pub(crate) unix_ms: u64,
}

/// What came of it.
pub(crate) enum Came {
    /// The agent is in that status already, or cannot leave the one it is in.
    Unchanged(Status),
    /// It was changed, which this event says.
    Changed { from: Status, to: Status, event: AuditId },
    /// The event could not be kept, so nothing was changed.
    Unkept,
}

/// The statuses in force, for all cores at once.
pub(super) struct Statuses {
    rows: Box<[AtomicU8]>,
    /// Seldom taken: one for all agents.
    changing: Mutex<()>,
}

impl Statuses {
    /// What the last events say, else what the documents do.
    pub(super) fn of(agents: &[Agent], last_event: impl Fn(&ChainKey) -> Option<Vec<u8>>) -> Statuses {
        let status = |agent: &Agent| {
            let event = last_event(&ChainKey::lifecycle_of(&agent.id));
            let told = event.and_then(|event| parse(record::payload(&event)?.get("status")?.as_str()?));
            AtomicU8::new(told.unwrap_or(agent.status) as u8)
        };
        Statuses { rows: agents.iter().map(status).collect(), changing: Mutex::new(()) }
    }

    #[inline]
    fn get(&self, row: usize) -> Option<Status> {
        let number = self.rows.get(row)?.load(Ordering::Acquire);
        ALL.iter().copied().find(|status| *status as u8 == number)
    }

    fn set(&self, row: usize, status: Status) {
        if let Some(place) = self.rows.get(row) {
            place.store(status as u8, Ordering::Release);
        }
    }
}

const ALL: [Status; 4] = [Status::Active, Status::Suspended, Status::Retired, Status::Deprecated];

fn parse(text: &str) -> Option<Status> {
    ALL.into_iter().find(|status| status.as_str() == text)
}

impl Ledger {
    /// The status of an agent that is in force.
    #[inline]
    pub(crate) fn status(&self, row: usize) -> Option<Status> {
        self.statuses.get(row)
    }

    /// Changes an agent's status and says so in an event. It is in force on all cores when this returns.
    pub(crate) fn change(&self, row: usize, agent: &Agent, wish: &Wish<'_>, held: &mut Held) -> Came {
        let _alone = lock(&self.statuses.changing);
        let from = self.statuses.get(row).unwrap_or(agent.status);
        let Some(to) = wish.change.of(from).filter(|to| *to != from) else { return Came::Unchanged(from) };
        let key = ChainKey::lifecycle_of(&agent.id);
        let head = Mutex::new(self.sink().head(&key).unwrap_or_default());
        let (mut scratch, mut out) = (Scratch::default(), Vec::new());
        let begun = record::begin_event(&mut scratch, self.header(), &mut out, |o| {
            self.describe(agent, (from, to), wish, o);
        });
        match self.seal(begun, (&key, &head), wish.unix_ms, true, &mut out) {
            (event, Some(number)) => {
                held.merge(Held::binding(number));
                self.statuses.set(row, to);
                Came::Changed { from, to, event }
            }
            (_, None) => Came::Unkept,
        }
    }

    fn describe(
        &self,
        agent: &Agent,
        (from, to): (Status, Status),
        wish: &Wish<'_>,
        o: &mut crate::json::ObjectWriter<'_>,
    ) {
        let mut issued_at = Vec::new();
        super::push_rfc3339(&mut issued_at, wish.unix_ms);
        o.str("server_id", self.server_id()).bytes_lossy("issued_at", &issued_at);
        o.str("method", wish.change.method()).bytes_lossy("agent_id", &hex(&agent.id));
        o.str("previous_status", from.as_str()).str("status", to.as_str());
        for (key, value) in [("reason", wish.reason), ("actor", wish.actor)] {
            if let Some(value) = value {
                o.str(key, value);
            }
        }
        if let Some(id) = wish.requested_by {
            o.bytes_lossy("requested_by", &hex(id));
        }
        o.str("lifecycle_event_version", "1");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retirement_is_for_good_and_no_mark_ends_a_suspension() {
        use Status::{Active, Deprecated, Retired, Suspended};
        for (change, from_each) in [
            (Change::Activate, [Some(Active), Some(Active), None, Some(Active)]),
            (Change::Reinstate, [Some(Active), Some(Active), None, Some(Active)]),
            (Change::Deactivate, [Some(Suspended), Some(Suspended), None, Some(Suspended)]),
            (Change::Revoke, [Some(Retired); 4]),
            (Change::Deprecate, [Some(Deprecated), None, None, Some(Deprecated)]),
        ] {
            assert_eq!(ALL.map(|status| change.of(status)), from_each, "{change:?}");
        }
        assert!(ALL.iter().all(|status| parse(status.as_str()) == Some(*status)));
    }
}
