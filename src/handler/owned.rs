//! What an asynchronous handler is told, and how it answers: both outlive the connection's buffer.

use super::context::{Caller, Context, Input};
use crate::engine::Now;
use crate::identity::{AgentId, PeerIdentity};
use crate::json::{Document, ObjectWriter, PADDING, TapeBuffers, write_object};
use crate::wire::{Head, Status};
use self_cell::{MutBorrow, self_cell};
use std::sync::Arc;

/// A request's head and what the gates made of it, apart from the connection.
#[derive(Debug)]
pub(crate) struct OwnedHead {
    pub(crate) head: Head,
    /// The head's bytes.
    pub(crate) bytes: Box<[u8]>,
    /// SHA-256 of the request, when answers are attributed.
    pub(crate) hash: Option<[u8; 32]>,
    pub(crate) now: Now,
    /// What the client's certificate proves.
    pub(crate) peer: Option<PeerIdentity>,
}

type Tape<'t> = Document<'t>;

self_cell!(
    /// Validated input with the bytes it borrows from.
    struct OwnedInput {
        owner: MutBorrow<Vec<u8>>,
        #[covariant]
        dependent: Tape,
    }
);

/// One admitted request, owned: an asynchronous handler keeps it across `await`.
pub struct OwnedContext {
    pub(crate) request: Arc<OwnedHead>,
    pub(crate) method: Box<str>,
    pub(crate) path: Box<[u8]>,
    /// The caller's id and short name.
    pub(crate) caller: Option<(AgentId, Box<str>)>,
    input: OwnedInput,
}

impl OwnedContext {
    /// `input` is the validated input as JSON.
    pub(crate) fn new(
        request: Arc<OwnedHead>,
        method: &str,
        path: &[u8],
        caller: Option<(AgentId, Box<str>)>,
        input: Vec<u8>,
    ) -> Self {
        OwnedContext { request, method: method.into(), path: path.into(), caller, input: parse(input) }
    }

    /// The input: path parameters, body and query merged and validated; always an object.
    pub fn input(&self) -> Input<'_> {
        Input::of(self.input.borrow_dependent().root())
    }

    /// Everything else that is known of the request.
    pub fn context(&self) -> Context<'_> {
        Context {
            input: self.input.borrow_dependent().root(),
            method: &self.method,
            path: &self.path,
            head: &self.request.head,
            bytes: &self.request.bytes,
            caller: self.caller.as_ref().map(|(id, name)| Caller::named(id, name)),
            peer: self.request.peer.as_ref(),
            now: self.request.now,
        }
    }
}

/// What the engine wrote parses: should it not, the handler sees an empty object and its accessors say so.
fn parse(mut json: Vec<u8>) -> OwnedInput {
    let len = json.len();
    json.resize(len + PADDING, 0);
    OwnedInput::new(MutBorrow::new(json), |bytes| {
        let mut buffers = TapeBuffers::new();
        let parsed = buffers.parse(bytes.borrow_mut(), len, usize::MAX);
        parsed.unwrap_or_else(|_| TapeBuffers::new().empty())
    })
}

impl std::fmt::Debug for OwnedContext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Neither input nor headers: they may hold what no log should.
        f.debug_struct("OwnedContext").field("method", &self.method).finish_non_exhaustive()
    }
}

/// The answer of an asynchronous handler: 200 with an empty object, unless made otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnedReply {
    pub(crate) body: Vec<u8>,
    pub(crate) status: Status,
    /// An object for the attribution record; empty without.
    pub(crate) extra: Vec<u8>,
}

impl OwnedReply {
    /// An answer with this body.
    pub fn object(write: impl FnOnce(&mut ObjectWriter<'_>)) -> Self {
        let mut body = Vec::new();
        write_object(&mut body, write);
        OwnedReply { body, status: Status::Ok, extra: Vec::new() }
    }

    /// An answer with this value as its body, which must serialise to an object.
    ///
    /// # Errors
    /// An internal error when it does not.
    pub fn serialize<T: serde::Serialize + ?Sized>(value: &T) -> Result<Self, super::EndpointError> {
        let mut body = Vec::new();
        super::reply::serialize_object(&mut body, value)?;
        Ok(OwnedReply { body, status: Status::Ok, extra: Vec::new() })
    }

    /// 204: done, and nothing to say. No output schema applies.
    pub fn no_content() -> Self {
        OwnedReply { body: Vec::new(), status: Status::NoContent, extra: Vec::new() }
    }

    /// Adds `extra` to the answer's attribution record, as [`Reply::attribute`](super::Reply::attribute) does.
    ///
    /// # Errors
    /// An internal error when it is longer than [`EXTRA_BYTES`](crate::audit::EXTRA_BYTES) as JSON.
    pub fn attributed(
        mut self,
        write: impl FnOnce(&mut ObjectWriter<'_>),
    ) -> Result<Self, super::EndpointError> {
        super::reply::write_extra(&mut self.extra, write)?;
        Ok(self)
    }

    /// Answers 202 instead of 200: accepted, and not finished.
    #[must_use]
    pub fn accepted(mut self) -> Self {
        if self.status == Status::Ok {
            self.status = Status::Accepted;
        }
        self
    }
}
