//! A handler's refusal.

use crate::json::{ObjectWriter, write_object};
use std::borrow::Cow;

/// Why a handler did not answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndpointError {
    pub(crate) failure: Failure,
    /// `details` of a named condition, an object as JSON; empty without.
    pub(crate) details: Vec<u8>,
}

/// The two kinds of refusal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Failure {
    /// A condition from the endpoint's `errors` list: 422 under that name.
    Named { name: Cow<'static, str>, message: Option<Cow<'static, str>> },
    /// A fault of the server: 500 `handler-failed`; the reason goes to the log and nowhere else.
    Internal { reason: Cow<'static, str> },
}

impl EndpointError {
    /// A named condition. The name must stand in the endpoint's `errors` list, else the caller gets a 500 and the
    /// log a line, since agents may only rely on what the contract declares (draft: Field Semantics, errors).
    pub fn named(name: impl Into<Cow<'static, str>>) -> Self {
        EndpointError { failure: Failure::Named { name: name.into(), message: None }, details: Vec::new() }
    }

    /// A fault of the server's own. The caller gets 500 `handler-failed` without the reason.
    pub fn internal(reason: impl Into<Cow<'static, str>>) -> Self {
        EndpointError { failure: Failure::Internal { reason: reason.into() }, details: Vec::new() }
    }

    /// Says in prose what was wrong. Without effect on an internal error.
    #[must_use]
    pub fn message(mut self, text: impl Into<Cow<'static, str>>) -> Self {
        if let Failure::Named { message, .. } = &mut self.failure {
            *message = Some(text.into());
        }
        self
    }

    /// Adds `details`. Without effect on an internal error. A plain handler can do the same without an allocation
    /// through [`Reply::details`](super::Reply::details).
    #[must_use]
    pub fn details(mut self, write: impl FnOnce(&mut ObjectWriter<'_>)) -> Self {
        self.details.clear();
        write_object(&mut self.details, write);
        self
    }
}
