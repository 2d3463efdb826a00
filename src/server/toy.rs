//! A service for tests. A request is a line, `body N` is followed by N bytes.

use super::service::Service;
use crate::engine::{Now, PADDING, Step};
use crate::identity::PeerIdentity;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

/// The longest request of the toy.
pub(super) const REQUEST_LIMIT: usize = (1 << 20) + 32;

/// How long a `later N` may take.
pub(super) const PATIENCE_MS: u32 = 7_000;

/// Answers `later N` with `late` once it was polled N times in vain, `echo X` with `=X`, `big N` with N bytes, `body N` with the sum of its bytes, `fault` with `fault` and the
/// end of the connection; it panics at `panic`.
#[derive(Default)]
pub(super) struct Toy {
    /// Bytes looked at, to show that none is looked at again and again.
    pub(super) scanned: usize,
    /// Once it is set, the next connection makes the core's loop panic, and it is taken back.
    pub(super) doomed: Option<Arc<AtomicBool>>,
    /// Whether answers are held back.
    pub(super) holds: bool,
}

#[derive(Default)]
pub(super) struct ToySession {
    scanned: usize,
    /// Length of the head and of the body.
    head: Option<(usize, usize)>,
    /// How often the request that waits is still to be polled in vain.
    polls: Option<usize>,
}

impl Service for Toy {
    type Session = ToySession;

    fn session(&self) -> ToySession {
        let doomed = self.doomed.as_ref().is_some_and(|doomed| doomed.swap(false, Ordering::SeqCst));
        assert!(!doomed, "the toy was told to fail its core");
        ToySession::default()
    }

    fn set_peer(&mut self, _session: &mut ToySession, _peer: PeerIdentity) {}

    fn step(
        &mut self,
        session: &mut ToySession,
        _now: Now,
        buffer: &mut [u8],
        len: usize,
        out: &mut Vec<u8>,
    ) -> Step {
        assert!(buffer.len() >= len + PADDING, "padding follows the input");
        let (head_len, body_len) = match session.head {
            Some(head) => head,
            None => match self.find_head(session, &buffer[..len]) {
                Some(head) => *session.head.insert(head),
                None => return Step::NeedMore,
            },
        };
        if len < head_len + body_len {
            return Step::NeedMore;
        }
        *session = ToySession::default();
        if let Some(polls) = number(&buffer[..head_len], b"later ") {
            session.polls = Some(polls);
            return Step::Waiting { consumed: head_len };
        }
        let (head, body) = buffer[..head_len + body_len].split_at_mut(head_len);
        let close = answer(head.trim_ascii_end(), body, out);
        // The engine unescapes in place: nothing may look at a request once it is answered.
        buffer[..head_len + body_len].fill(b'?');
        Step::Answered { consumed: head_len + body_len, close }
    }

    fn poll(
        &mut self,
        session: &mut ToySession,
        _now: Now,
        context: &mut Context<'_>,
        out: &mut Vec<u8>,
    ) -> Poll<()> {
        let Some(polls) = session.polls.as_mut() else { return Poll::Ready(()) };
        match polls.checked_sub(1) {
            Some(left) => {
                *polls = left;
                context.waker().wake_by_ref();
                Poll::Pending
            }
            None => {
                session.polls = None;
                out.extend_from_slice(b"late\n");
                Poll::Ready(())
            }
        }
    }

    fn expire(&mut self, session: &mut ToySession, _now: Now, out: &mut Vec<u8>) {
        session.polls = None;
        out.extend_from_slice(b"expired\n");
    }

    fn patience_ms(&self, session: &ToySession) -> Option<u32> {
        session.polls.map(|_| PATIENCE_MS)
    }

    fn time_out(&mut self, _session: &mut ToySession, _now: Now, _input: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(b"timeout\n");
    }

    fn is_held(&self, _session: &ToySession) -> bool {
        self.holds
    }

    fn poll_release(&mut self, _session: &mut ToySession, _context: &Context<'_>) -> Poll<()> {
        if self.holds { Poll::Pending } else { Poll::Ready(()) }
    }

    fn in_body(&self, session: &ToySession) -> bool {
        session.head.is_some()
    }

    fn request_limit(&self) -> usize {
        REQUEST_LIMIT
    }
}

impl Toy {
    fn find_head(&mut self, session: &mut ToySession, input: &[u8]) -> Option<(usize, usize)> {
        let fresh = &input[session.scanned..];
        self.scanned += fresh.len();
        let Some(end) = memchr::memchr(b'\n', fresh) else {
            session.scanned = input.len();
            return None;
        };
        let head_len = session.scanned + end + 1;
        Some((head_len, number(&input[..head_len], b"body ").unwrap_or(0)))
    }
}

fn number(head: &[u8], word: &[u8]) -> Option<usize> {
    std::str::from_utf8(head.strip_prefix(word)?).ok()?.trim().parse().ok()
}

fn answer(head: &[u8], body: &[u8], out: &mut Vec<u8>) -> bool {
    if let Some(text) = head.strip_prefix(b"echo ") {
        out.push(b'=');
        out.extend_from_slice(text);
    } else if let Some(len) = number(head, b"big ") {
        out.resize(out.len() + len, b'x');
    } else if number(head, b"body ").is_some() {
        out.extend_from_slice(sum(body).to_string().as_bytes());
    } else if head == b"panic" {
        panic!("the toy was told to panic");
    } else {
        out.extend_from_slice(b"fault");
    }
    out.push(b'\n');
    head == b"fault"
}

/// What `body` is answered with.
pub(super) fn sum(body: &[u8]) -> u64 {
    body.iter().map(|byte| u64::from(*byte)).sum()
}
