//! One connection as a state machine without I/O. Both runtimes drive it, the tests do too.
//!
//! # Order of calls
//!
//! Whoever owns the socket asks [`Connection::poll_action`] what to do, does it, and reports:
//!
//! | action     | do                                                           | report                            |
//! |------------|--------------------------------------------------------------|-----------------------------------|
//! | `Answer`   | [`answer`](Connection::answer)                               |                                   |
//! | `Await`    | once its waker was called, [`go_on`](Connection::go_on)      |                                   |
//! | `Hold`     | once its waker was called, [`release`](Connection::release)  |                                   |
//! | `Write`    | send some of [`poll_write`](Connection::poll_write)          | [`handle_written`](Connection::handle_written) |
//! | `Read`     | receive into [`read_space`](Connection::read_space)          | [`handle_read`](Connection::handle_read), [`handle_eof`](Connection::handle_eof), or [`handle_drained`](Connection::handle_drained) when the socket has nothing |
//! | `Shutdown` | shut the sending side down                                   | [`handle_shutdown`](Connection::handle_shutdown) |
//! | `Close`    | drop the socket and the connection                           |                                   |
//!
//! until the socket would block; then [`park`](Connection::park), because the buffers belong to the core and the next
//! connection uses them, and [`poll_wait`](Connection::poll_wait) for the deadline. Any failure of the socket is
//! [`handle_failure`](Connection::handle_failure).
//!
//! # Bounds
//!
//! Nothing is read while an answer waits to be sent, so a client that does not read can make a connection hold at most
//! one batch of input, [`OUTPUT_PAUSE_BYTES`] of output and one answer more.

use super::buffers::{Buffers, OUTPUT_PAUSE_BYTES, READ_BYTES};
use super::service::Service;
use crate::engine::{Now, PADDING, Step};
use crate::identity::PeerIdentity;
use std::num::NonZeroU64;
use std::task::{Context, Poll};

/// Bytes of a lingering close: a client in the middle of a refused body gets to read why, but is not served for ever.
const LINGER_BYTES: usize = 8 << 20;

/// What the owner of the socket is to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    /// Received bytes may hold whole requests.
    Answer,
    /// A request's answer is to come.
    Await,
    /// Output waits until it may be sent: its records are not durable yet.
    Hold,
    /// Output waits.
    Write,
    /// More input is wanted (or, in a lingering close, to be thrown away).
    Read,
    /// The last answer is out: tell the client so.
    Shutdown,
    /// Over.
    Close,
}

/// What a connection waits for; each kind has its own time-out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wait {
    /// A request.
    Idle,
    /// The rest of a head.
    Head,
    /// The rest of a body.
    Body,
    /// The client to take an answer.
    Write,
    /// The client to close.
    Linger,
    /// A handler; milliseconds it may take.
    Handler(u32),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Requests are read and answered.
    Open,
    /// No further request is answered; what was answered is flushed.
    Flushing,
    /// Our side is shut down; input is discarded, so that closing the socket does not reset the connection under an
    /// answer the client has not read yet (D17).
    Lingering { bytes_left: usize },
    /// Nothing more to do.
    Closed,
}

/// See the module's documentation.
pub(super) struct Connection<S> {
    session: S,
    phase: Phase,
    wait: Wait,
    /// The deadline starts anew although `wait` is the same.
    restart: bool,
    /// The client has closed its sending side.
    ended: bool,
    /// The server stops: close as soon as nothing is in flight.
    stopping: bool,
    /// A request waits in the session for its answer; those behind it wait with it.
    awaiting: bool,
    /// Requests that are still answered, if that is limited.
    requests_left: Option<NonZeroU64>,
    /// It has had all the answers it may have.
    spent: bool,
    /// The output must not be sent yet.
    held: bool,
    /// The input holds no whole request.
    stalled: bool,
    /// The last read filled `own`: more space pays.
    hungry: bool,
    /// The incomplete request with padding and room behind it. Empty: the input is in the core's buffer.
    own: Vec<u8>,
    /// Input is `start..end` of `own` or of the core's buffer.
    start: usize,
    end: usize,
    /// Output the socket did not take. Empty: the output is in the core's buffer.
    unsent: Vec<u8>,
    /// Bytes of the output that were sent.
    sent: usize,
}

impl<S> Connection<S> {
    /// A connection just accepted.
    pub(super) fn new(session: S, max_requests: Option<NonZeroU64>) -> Connection<S> {
        Connection {
            session,
            phase: Phase::Open,
            wait: Wait::Idle,
            restart: true,
            ended: false,
            stopping: false,
            awaiting: false,
            requests_left: max_requests,
            spent: false,
            held: false,
            stalled: false,
            hungry: false,
            own: Vec::new(),
            start: 0,
            end: 0,
            unsent: Vec::new(),
            sent: 0,
        }
    }

    /// What is to be done next.
    pub(super) fn poll_action(&self, buffers: &Buffers) -> Action {
        match self.phase {
            Phase::Closed => Action::Close,
            _ if !self.poll_write(buffers).is_empty() => {
                if self.held {
                    Action::Hold
                } else {
                    Action::Write
                }
            }
            Phase::Open if self.awaiting => Action::Await,
            Phase::Open if self.has_input() && !self.stalled => Action::Answer,
            // An incomplete request at the end of the stream is dropped (D18).
            Phase::Open | Phase::Flushing | Phase::Lingering { .. } if self.ended => Action::Close,
            Phase::Open | Phase::Lingering { .. } => Action::Read,
            Phase::Flushing => Action::Shutdown,
        }
    }

    /// The output that waits.
    pub(super) fn poll_write<'b>(&'b self, buffers: &'b Buffers) -> &'b [u8] {
        let output = if self.unsent.is_empty() { &buffers.output } else { &self.unsent };
        output.get(self.sent..).unwrap_or_default()
    }

    /// `len` bytes of the output were sent.
    pub(super) fn handle_written(&mut self, len: usize, buffers: &mut Buffers) {
        self.sent += len;
        self.restart = true;
        if self.poll_write(buffers).is_empty() {
            self.sent = 0;
            if self.unsent.is_empty() { buffers.clear_output() } else { self.unsent = Vec::new() }
        }
    }

    /// Where to receive to: the core's buffer, or behind an incomplete request.
    pub(super) fn read_space<'b>(&'b mut self, buffers: &'b mut Buffers) -> &'b mut [u8] {
        if !self.has_input() {
            return buffers.read_space();
        }
        self.own_input(buffers);
        let full = self.end + PADDING >= self.own.len();
        if full || (self.hungry && self.own.len() < READ_BYTES) {
            buffers.make_room(&mut self.own, self.end);
        }
        let room_end = self.own.len() - PADDING;
        self.own.get_mut(self.end..room_end).unwrap_or_default()
    }

    /// `len` bytes, at least one, were received into the last [`read_space`](Self::read_space).
    pub(super) fn handle_read(&mut self, len: usize) {
        if let Phase::Lingering { bytes_left } = &mut self.phase {
            match bytes_left.checked_sub(len) {
                Some(left) => *bytes_left = left,
                None => self.phase = Phase::Closed,
            }
            return;
        }
        self.end += len;
        self.stalled = false;
        self.hungry = self.end + PADDING == self.own.len();
        self.invariants();
    }

    /// The client has closed its sending side. What it sent before is still answered (D18).
    pub(super) fn handle_eof(&mut self) {
        self.ended = true;
    }

    /// The socket has nothing to read at the moment. True if that changed what is to be done.
    pub(super) fn handle_drained(&mut self) -> bool {
        let finished = self.stopping && self.phase == Phase::Open && !self.has_input();
        if finished {
            self.phase = Phase::Flushing;
        }
        finished
    }

    /// The sending side is shut down.
    pub(super) fn handle_shutdown(&mut self) {
        self.phase = Phase::Lingering { bytes_left: LINGER_BYTES };
    }

    /// The handshake under the connection is done: its first request is awaited from now on. `peer` is what the client
    /// proved about itself.
    pub(super) fn handle_secured<V>(&mut self, service: &mut V, peer: Option<PeerIdentity>)
    where
        V: Service<Session = S>,
    {
        self.restart = true;
        if let Some(peer) = peer {
            service.set_peer(&mut self.session, peer);
        }
    }

    /// What arrives cannot be read, of which the client is told under the connection: nothing is answered any more, and
    /// closing lingers as after an answer, so that the client gets to know.
    pub(super) fn handle_unreadable(&mut self) {
        if self.phase == Phase::Open {
            self.phase = Phase::Flushing;
            self.restart = true;
        }
    }

    /// The server stops: requests received or being received are still answered, then the connection closes.
    pub(super) fn handle_stop(&mut self) {
        self.stopping = true;
    }

    /// The socket failed, or driving the connection did.
    pub(super) fn handle_failure(&mut self) {
        self.phase = Phase::Closed;
    }

    /// The deadline of the last [`poll_wait`](Self::poll_wait) has passed: an incomplete request gets its answer and
    /// the connection closes after it (D18), any other connection closes at once.
    pub(super) fn handle_timeout<V>(&mut self, service: &mut V, now: Now, buffers: &mut Buffers)
    where
        V: Service<Session = S>,
    {
        if matches!(self.wait, Wait::Head | Wait::Body) {
            // Who waits owns what it has: nothing of it is in the core's buffer.
            let input = self.own.get(self.start..self.end).unwrap_or_default();
            service.time_out(&mut self.session, now, input, &mut buffers.output);
            self.held = service.is_held(&self.session);
            self.refuse_input(buffers);
        } else if self.awaiting && self.phase == Phase::Open && self.unsent.is_empty() {
            service.expire(&mut self.session, now, &mut buffers.output);
            self.held = service.is_held(&self.session);
            self.handle_come(buffers);
        } else {
            self.phase = Phase::Closed;
        }
    }

    /// Asks whether the output may be sent; true when it may.
    pub(super) fn release<V>(&mut self, service: &mut V, context: &Context<'_>) -> bool
    where
        V: Service<Session = S>,
    {
        self.held = service.poll_release(&mut self.session, context) == Poll::Pending;
        !self.held
    }

    /// Goes on with the request whose answer is to come; true when it has come.
    pub(super) fn go_on<V>(
        &mut self,
        service: &mut V,
        now: Now,
        context: &mut Context<'_>,
        buffers: &mut Buffers,
    ) -> bool
    where
        V: Service<Session = S>,
    {
        if service.poll(&mut self.session, now, context, &mut buffers.output) == Poll::Pending {
            return false;
        }
        self.held = service.is_held(&self.session);
        self.handle_come(buffers);
        true
    }

    /// The answer that was awaited is in the output.
    fn handle_come(&mut self, buffers: &mut Buffers) {
        self.awaiting = false;
        self.restart = true;
        if self.spent {
            self.refuse_input(buffers);
        }
    }

    /// Answers the whole requests received, in order, until output is worth a write.
    pub(super) fn answer<V>(&mut self, service: &mut V, now: Now, buffers: &mut Buffers)
    where
        V: Service<Session = S>,
    {
        self.answer_batch(service, now, buffers);
        self.held = service.is_held(&self.session);
    }

    fn answer_batch<V>(&mut self, service: &mut V, now: Now, buffers: &mut Buffers)
    where
        V: Service<Session = S>,
    {
        while self.has_input() && buffers.output.len() < OUTPUT_PAUSE_BYTES {
            let len = self.end - self.start;
            let (shared, output) = buffers.split();
            let input = if self.own.is_empty() { shared } else { &mut self.own };
            let input = input.get_mut(self.start..).unwrap_or_default();
            match service.step(&mut self.session, now, input, len, output) {
                Step::NeedMore if len > buffers.request_limit => return self.refuse_input(buffers),
                Step::NeedMore => {
                    self.stalled = true;
                    break;
                }
                Step::Answered { close: true, .. } => return self.refuse_input(buffers),
                // Never from the engine; it would be answered for ever.
                Step::Answered { consumed: 0, .. } => return self.refuse_input(buffers),
                Step::Answered { consumed, .. } => {
                    self.start += consumed.min(len);
                    self.count_request();
                    if self.spent {
                        return self.refuse_input(buffers);
                    }
                }
                Step::Waiting { consumed } => {
                    self.start += consumed.min(len);
                    self.count_request();
                    self.awaiting = true;
                    self.restart = true;
                    break;
                }
            }
            self.restart = true;
        }
        self.tidy_input(buffers);
    }

    /// Takes what must be kept out of the core's buffers, so that another connection can use them.
    pub(super) fn park(&mut self, buffers: &mut Buffers) {
        if self.has_input() {
            self.own_input(buffers);
        }
        if !buffers.output.is_empty() {
            self.unsent = self.poll_write(buffers).to_vec();
            self.sent = 0;
            buffers.clear_output();
        }
        self.invariants();
    }

    /// What the connection waits for, if its deadline is to be set anew.
    pub(super) fn poll_wait<V: Service<Session = S>>(&mut self, service: &V) -> Option<Wait> {
        let wait = match self.phase {
            Phase::Lingering { .. } => Wait::Linger,
            Phase::Flushing | Phase::Closed => Wait::Write,
            Phase::Open if !self.unsent.is_empty() => Wait::Write,
            Phase::Open if self.awaiting => {
                Wait::Handler(service.patience_ms(&self.session).unwrap_or(u32::MAX))
            }
            Phase::Open if !self.has_input() => Wait::Idle,
            Phase::Open if service.in_body(&self.session) => Wait::Body,
            Phase::Open => Wait::Head,
        };
        let anew = std::mem::take(&mut self.restart) || wait != self.wait;
        self.wait = wait;
        anew.then_some(wait)
    }

    /// One request fewer is answered.
    fn count_request(&mut self) {
        if let Some(left) = self.requests_left {
            self.requests_left = NonZeroU64::new(left.get() - 1);
            self.spent = self.requests_left.is_none();
        }
    }

    fn has_input(&self) -> bool {
        self.start < self.end
    }

    /// Moves the input from the core's buffer to one of its own, unless it is there.
    fn own_input(&mut self, buffers: &mut Buffers) {
        if !self.own.is_empty() {
            return;
        }
        let len = self.end - self.start;
        let mut own = buffers.take(len);
        if let Some(space) = own.get_mut(..len) {
            space.copy_from_slice(buffers.received(self.start, self.end));
        }
        self.own = own;
        (self.start, self.end) = (0, len);
    }

    /// After answering: gives an empty buffer back, moves an incomplete request to the front.
    fn tidy_input(&mut self, buffers: &mut Buffers) {
        if !self.has_input() {
            (self.start, self.end) = (0, 0);
            if !self.own.is_empty() {
                buffers.give_back(std::mem::take(&mut self.own));
            }
        } else if self.stalled && self.start > 0 && !self.own.is_empty() {
            self.compact(buffers);
        }
        self.invariants();
    }

    /// Moves the incomplete request to the front, or out of a buffer that has become much too large.
    fn compact(&mut self, buffers: &mut Buffers) {
        let len = self.end - self.start;
        if self.own.len() > READ_BYTES && len < self.own.len() / 4 {
            let mut smaller = buffers.take(len);
            let rest = self.own.get(self.start..self.end).unwrap_or_default();
            if let Some(space) = smaller.get_mut(..rest.len()) {
                space.copy_from_slice(rest);
            }
            self.own = smaller;
        } else {
            self.own.copy_within(self.start..self.end, 0);
        }
        (self.start, self.end) = (0, len);
    }

    /// No input is answered any more.
    fn refuse_input(&mut self, buffers: &mut Buffers) {
        self.phase = Phase::Flushing;
        self.restart = true;
        self.start = self.end;
        self.tidy_input(buffers);
    }

    /// Holds after each transition.
    fn invariants(&self) {
        debug_assert!(self.start <= self.end, "input is a range");
        debug_assert!(
            self.own.is_empty() || self.end + PADDING <= self.own.len(),
            "padding follows the input"
        );
        debug_assert!(self.own.is_empty() || self.has_input(), "an own buffer holds something");
        debug_assert!(self.unsent.is_empty() || self.sent < self.unsent.len(), "unsent output is not sent");
        debug_assert!(!self.stalled || self.phase != Phase::Open || self.has_input(), "only input stalls");
    }
}

#[cfg(test)]
#[path = "connection_tests.rs"]
mod tests;
