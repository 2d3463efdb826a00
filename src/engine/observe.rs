//! Being told of each answer: what an operator's figures and access log are made of.

use super::request::Request;
use super::{Engine, Trail};
use crate::registry::EndpointId;
use crate::wire::{Field, Status};

/// Told of each answer of a [`Core`](super::Core), on its thread, when the answer's bytes are in the output.
pub trait Observer {
    /// An answer was made. Whoever looks at it holds up the core.
    fn answered(&self, answered: &Answered<'_>);
}

/// An answer, with the request that it is for. It shows nothing of a body and of no credential.
pub struct Answered<'a> {
    pub(super) engine: &'a Engine<'a>,
    pub(super) request: &'a Request<'a>,
    pub(super) trail: &'a Trail<'a>,
    pub(super) status: Status,
    pub(super) response_id: &'a [u8],
    pub(super) body: &'a [u8],
    pub(super) bytes: usize,
}

/// What every body of a refusal begins with (facts page 3).
const CODE: &[u8] = br#"{"error":{"code":""#;

impl<'a> Answered<'a> {
    /// The status.
    #[inline]
    pub fn status(&self) -> Status {
        self.status
    }

    /// `error.code`, unless the request was served.
    pub fn code(&self) -> Option<&'a str> {
        if self.status.is_success() {
            return None;
        }
        // Read off the body, so that there is one place that says which code a refusal has.
        let code = self.body.strip_prefix(CODE)?;
        let len = memchr::memchr(b'"', code)?;
        std::str::from_utf8(code.get(..len)?).ok()
    }

    /// The endpoint that the request was for, if it came that far.
    #[inline]
    pub fn endpoint(&self) -> Option<EndpointId> {
        self.trail.endpoint
    }

    /// The method as it was sent.
    pub fn method(&self) -> &'a [u8] {
        self.request.method()
    }

    /// The path as it was sent, without its query.
    pub fn path(&self) -> &'a [u8] {
        self.request.path()
    }

    /// The short name of the agent, if it is known here.
    pub fn agent(&self) -> Option<&'a str> {
        self.trail.agent.map(|agent| self.engine.agents.str(agent.name))
    }

    /// `Request-ID`, as it was sent.
    pub fn request_id(&self) -> Option<&'a [u8]> {
        self.request.bytes_of(Field::RequestId)
    }

    /// `Task-ID`, as it was sent.
    pub fn task_id(&self) -> Option<&'a [u8]> {
        self.request.bytes_of(Field::TaskId)
    }

    /// `Response-ID` of the answer.
    pub fn response_id(&self) -> &'a [u8] {
        self.response_id
    }

    /// Length of the answer, head and body.
    #[inline]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// When the request was taken up, in milliseconds since the Unix epoch.
    pub fn unix_ms(&self) -> u64 {
        self.request.now.unix_ms
    }
}

impl std::fmt::Debug for Answered<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let code = self.code();
        f.debug_struct("Answered").field("status", &self.status).field("code", &code).finish_non_exhaustive()
    }
}
