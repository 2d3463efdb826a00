//! The buffers of a core. Connections borrow them while they are driven and own memory only for what must outlast that:
//! an incomplete request, an answer the socket did not take. An idle connection owns none.

use crate::engine::PADDING;

/// Bytes one read may bring: enough for a deep pipeline, small enough to stay in the second-level cache.
pub(super) const READ_BYTES: usize = 64 << 10;

/// Answering pauses when this much output waits: one small request can cause a large answer, so that a batch of input
/// is no bound on its output.
pub(super) const OUTPUT_PAUSE_BYTES: usize = 256 << 10;

/// A core's output buffer is cut back to this after an answer that was larger.
const OUTPUT_KEPT_BYTES: usize = 1 << 20;

/// An incomplete request starts with a buffer of this size. Most fit; the memory an attacker can tie down by sending
/// one byte on each connection is this times `max_connections`.
const SMALL_BYTES: usize = 8 << 10;

/// Returned buffers that are kept for the next incomplete request.
const POOL_BUFFERS: usize = 64;

/// What the connections of one core share.
pub(super) struct Buffers {
    /// [`READ_BYTES`] and the [`PADDING`] that the engine wants behind its input.
    input: Box<[u8]>,
    /// Answers of the connection being driven.
    pub(super) output: Vec<u8>,
    pool: Vec<Vec<u8>>,
    /// No request is longer.
    pub(super) request_limit: usize,
}

impl Buffers {
    /// For a service with that [`Service::request_limit`](super::service::Service::request_limit).
    pub(super) fn new(request_limit: usize) -> Buffers {
        Buffers {
            input: vec![0; READ_BYTES + PADDING].into_boxed_slice(),
            output: Vec::with_capacity(READ_BYTES),
            pool: Vec::with_capacity(POOL_BUFFERS),
            request_limit,
        }
    }

    /// The shared input with its padding, and the output.
    pub(super) fn split(&mut self) -> (&mut [u8], &mut Vec<u8>) {
        (&mut self.input, &mut self.output)
    }

    /// Where a connection without an incomplete request reads to.
    pub(super) fn read_space(&mut self) -> &mut [u8] {
        self.input.get_mut(..READ_BYTES).unwrap_or_default()
    }

    /// A range of the shared input.
    pub(super) fn received(&self, start: usize, end: usize) -> &[u8] {
        self.input.get(start..end).unwrap_or_default()
    }

    /// Drops the output, which was sent or kept elsewhere.
    pub(super) fn clear_output(&mut self) {
        self.output.clear();
        if self.output.capacity() > OUTPUT_KEPT_BYTES {
            self.output.shrink_to(READ_BYTES);
        }
    }

    /// A zeroed or used buffer, longer than `len` by the padding and some room.
    pub(super) fn take(&mut self, len: usize) -> Vec<u8> {
        let mut buffer = self.pool.pop().unwrap_or_default();
        let wanted = (len + SMALL_BYTES / 2).max(SMALL_BYTES) + PADDING;
        grow(&mut buffer, wanted);
        buffer
    }

    /// Gives a buffer back. Large ones are freed, they would make the pool a hoard.
    pub(super) fn give_back(&mut self, buffer: Vec<u8>) {
        if buffer.len() <= READ_BYTES && self.pool.len() < POOL_BUFFERS {
            self.pool.push(buffer);
        }
    }

    /// Makes room behind `used` bytes of a buffer, doubling it so that a body of n bytes is moved O(n) in all.
    pub(super) fn make_room(&self, buffer: &mut Vec<u8>, used: usize) {
        let enough = self.request_limit.max(used) + SMALL_BYTES + PADDING;
        let doubled = (buffer.len() * 2).min(enough).max(used + SMALL_BYTES + PADDING);
        grow(buffer, doubled);
    }
}

/// Lengthens with zeros to exactly `len`, if shorter.
fn grow(buffer: &mut Vec<u8>, len: usize) {
    if buffer.len() < len {
        buffer.reserve_exact(len - buffer.len());
        buffer.resize(len, 0);
    }
}
