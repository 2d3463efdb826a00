//! Where a handler writes its answer.

use super::EndpointError;
use crate::audit::EXTRA_BYTES;
use crate::json::{ObjectWriter, write_object};
use crate::wire::Status;

/// The answer being made: 200 with an empty object until the handler says otherwise.
pub struct Reply<'a> {
    body: &'a mut Vec<u8>,
    details: &'a mut Vec<u8>,
    extra: &'a mut Vec<u8>,
    status: Status,
}

impl<'a> Reply<'a> {
    /// An answer into the core's reusable buffers.
    pub(crate) fn new(body: &'a mut Vec<u8>, details: &'a mut Vec<u8>, extra: &'a mut Vec<u8>) -> Self {
        body.clear();
        details.clear();
        extra.clear();
        Reply { body, details, extra, status: Status::Ok }
    }

    /// Writes the body, an object. A second call replaces the first.
    pub fn object(&mut self, write: impl FnOnce(&mut ObjectWriter<'_>)) {
        self.body.clear();
        write_object(self.body, write);
    }

    /// Writes this value as the body. It must serialise to an object.
    ///
    /// # Errors
    /// An internal error when it does not.
    pub fn serialize<T: serde::Serialize + ?Sized>(&mut self, value: &T) -> Result<(), EndpointError> {
        serialize_object(self.body, value)
    }

    /// Adds `details` to a named error the handler is about to return.
    pub fn details(&mut self, write: impl FnOnce(&mut ObjectWriter<'_>)) {
        self.details.clear();
        write_object(self.details, write);
    }

    /// Adds `extra` to the answer's attribution record. A second call replaces the first. Of a step of a composition it
    /// is dropped: the record tells of the composition.
    ///
    /// # Errors
    /// An internal error when it is longer than [`EXTRA_BYTES`] as JSON.
    pub fn attribute(&mut self, write: impl FnOnce(&mut ObjectWriter<'_>)) -> Result<(), EndpointError> {
        write_extra(self.extra, write)
    }

    /// Answers 202 instead of 200: accepted, and not finished.
    pub fn accepted(&mut self) {
        self.status = Status::Accepted;
    }

    /// Answers 204: done, and nothing to say. What was written as body is dropped, and no output schema applies.
    pub fn no_content(&mut self) {
        self.status = Status::NoContent;
        self.body.clear();
    }

    pub(crate) fn finish(self) -> Status {
        if self.body.is_empty() && self.status != Status::NoContent {
            self.body.extend_from_slice(b"{}");
        }
        self.status
    }
}

/// Writes what goes into an attribution record, unless it is too long to travel there.
pub(super) fn write_extra(
    extra: &mut Vec<u8>,
    write: impl FnOnce(&mut ObjectWriter<'_>),
) -> Result<(), EndpointError> {
    extra.clear();
    write_object(extra, write);
    let len = extra.len();
    if len <= EXTRA_BYTES {
        return Ok(());
    }
    extra.clear();
    Err(EndpointError::internal(format!(
        "what it adds to the attribution record is {len} bytes long; {EXTRA_BYTES} fit the header"
    )))
}

/// Writes `value` into `body`, which is emptied first and stays empty when there is an error.
pub(super) fn serialize_object<T: serde::Serialize + ?Sized>(
    body: &mut Vec<u8>,
    value: &T,
) -> Result<(), EndpointError> {
    body.clear();
    let fault = match serde_json::to_writer(&mut *body, value) {
        Ok(()) if body.first() == Some(&b'{') => return Ok(()),
        Ok(()) => "it is no object".to_owned(),
        Err(error) => error.to_string(),
    };
    body.clear();
    Err(EndpointError::internal(format!("the answer cannot be written as JSON: {fault}")))
}
