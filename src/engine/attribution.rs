//! What the engine tells the ledger of an answer (facts page 8), and asks it before anything is changed.

use super::refusal::Refusal;
use super::request::Request;
use super::{Engine, Session, Trail};
use crate::audit::{Facts, Held, Ledger, Scratch};
use crate::registry::MethodId;
use crate::wire::{Field, RESPONSE_ID_BYTES, ResponseIds, Status};
use sha2::{Digest, Sha256};
use std::task::{Context, Poll};

/// An answer, as far as its record tells of it.
pub(super) struct Answered<'a> {
    pub(super) status: Status,
    pub(super) response_id: [u8; RESPONSE_ID_BYTES],
    /// Names the action of a state-changing method.
    pub(super) ids: &'a mut ResponseIds,
    /// What the handler adds.
    pub(super) extra: &'a [u8],
}

/// Gate: while records cannot be kept, nothing is changed, unless the operator wants it otherwise.
#[inline]
pub(in crate::engine) fn admit<'r>(engine: &Engine<'_>, trail: &mut Trail<'_>) -> Result<(), Refusal<'r>> {
    match &engine.ledger {
        Some(ledger) if changes_state(engine, trail) && ledger.refuses_changes() => {
            Err(Refusal::AuditUnavailable)
        }
        _ => {
            trail.admitted = true;
            Ok(())
        }
    }
}

/// Appends `Attribution-Record` and `Audit-ID`.
pub(super) fn write(
    engine: &Engine<'_>,
    ledger: &Ledger,
    scratch: &mut Scratch,
    request: &Request<'_>,
    trail: &Trail<'_>,
    answered: Answered<'_>,
    out: &mut Vec<u8>,
) -> Held {
    let Answered { status, response_id, ids, extra } = answered;
    // What was refused before is no action, and while records cannot be kept there is none.
    let acts = trail.admitted && changes_state(engine, trail);
    let action_id = acts.then(|| ids.next(request.now.unix_ms));
    let facts = Facts {
        unix_ms: request.now.unix_ms,
        request_hash: request.hash.unwrap_or(&[0; 32]),
        status: status.code(),
        session_id: request.field(Field::SessionId),
        task_id: request.field(Field::TaskId),
        request_id: request.field(Field::RequestId),
        response_id: &response_id,
        action_id: action_id.as_ref().map(<[u8; RESPONSE_ID_BYTES]>::as_slice),
        requested_method: aliased(engine, trail).map(|method| engine.registry.method_name(method)),
        extra,
    };
    ledger.write(scratch, trail.agent.map(|agent| engine.row_of(agent)), &facts, out)
}

/// Whether the endpoint that a request leads to may change state.
fn changes_state(engine: &Engine<'_>, trail: &Trail<'_>) -> bool {
    trail.endpoint.is_some_and(|endpoint| engine.registry.endpoint(endpoint).changes_state)
}

/// The method that was asked for, when an alias or the dispatch of a legacy verb made another of it.
fn aliased(engine: &Engine<'_>, trail: &Trail<'_>) -> Option<MethodId> {
    trail.token.filter(|token| engine.registry.method(*token).dispatch != *token)
}

impl Engine<'_> {
    /// The hash that attribution records name a request by: SHA-256 of it as received, head and body; of one that is
    /// not whole, of what was received.
    #[inline]
    pub(super) fn hash_of(&self, request: &[u8]) -> Option<[u8; 32]> {
        let attributes = self.ledger.as_ref().is_some_and(|ledger| ledger.attributes());
        attributes.then(|| Sha256::digest(request).into())
    }

    /// Whether answers written to the output of this session must not be sent yet: their records are not as durable as
    /// the operator wants them (`durability = "always"`). [`poll_release`](Self::poll_release) says when.
    pub fn is_held(&self, session: &Session) -> bool {
        self.ledger.as_ref().is_some_and(|ledger| !ledger.releases(session.held))
    }

    /// Waits until the answers of a session may be sent. While they may not, the waker in `context` is called once it
    /// pays to ask again.
    pub fn poll_release(&self, session: &mut Session, context: &Context<'_>) -> Poll<()> {
        let Some(ledger) = &self.ledger else { return Poll::Ready(()) };
        ledger.poll_release(&mut session.held, context)
    }
}
