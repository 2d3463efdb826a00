//! Moves bytes between a socket and its connection.

use super::buffers::Buffers;
use super::connection::{Action, Connection};
use super::control::Place;
use super::metrics::{CoreMetrics, Counted};
use super::service::Service;
use super::tls::{Records, Tls, Unproven};
use crate::engine::Now;
use mio::event::Event;
use mio::net::TcpStream;
use std::io::{self, Read as _, Write as _};
use std::net::Shutdown;
use std::sync::Arc;
use std::task::{Context, Waker};

/// Reads one connection may do before the others get their turn.
const READS_PER_TURN: usize = 4;

/// A connection with its socket.
pub(super) struct Peer<S> {
    pub(super) stream: TcpStream,
    /// Plaintext without.
    tls: Option<Box<Tls>>,
    pub(super) connection: Connection<S>,
    /// The socket may have something to read: readiness is reported once only.
    pub(super) readable: bool,
    /// The end of the stream was reported too, so that a short read does not mean that the socket is empty.
    hung_up: bool,
    /// It waits to be driven.
    pub(super) queued: bool,
    /// What it awaits may have come.
    pub(super) woken: bool,
    /// Wakes it. Made when it is needed for the first time, which for most connections is never.
    pub(super) waker: Option<Waker>,
    /// The connection is broken in both directions.
    broken: bool,
    _place: Place,
    _counted: Counted,
}

impl<S> Peer<S> {
    pub(super) fn new(
        stream: TcpStream,
        tls: Option<Box<Tls>>,
        connection: Connection<S>,
        place: Place,
        counted: Counted,
    ) -> Peer<S> {
        Peer {
            stream,
            tls,
            connection,
            readable: false,
            hung_up: false,
            queued: false,
            woken: false,
            waker: None,
            broken: false,
            _place: place,
            _counted: counted,
        }
    }

    /// Whether no request can be read yet.
    pub(super) fn is_handshaking(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| tls.is_handshaking())
    }

    /// Whether there is no handshake that is not done.
    pub(super) fn is_secured(&self) -> bool {
        self.tls.as_ref().is_none_or(|tls| tls.is_secured())
    }

    /// Remembers what an event said. (That the socket takes output again is tried, not remembered.)
    pub(super) fn note(&mut self, event: &Event) {
        self.broken |= event.is_error();
        self.hung_up |= event.is_read_closed() || event.is_error();
        self.readable |= event.is_readable() || self.hung_up;
    }
}

/// How driving a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The socket would block.
    Blocked,
    /// It had its share of the turn.
    Spent,
    /// Over.
    Closed,
}

/// What driving a connection takes.
pub(super) struct Driver<S> {
    pub(super) service: S,
    pub(super) buffers: Buffers,
    /// Of encrypted connections.
    pub(super) records: Records,
    /// The time of the turn.
    pub(super) now: Now,
    /// The core's counters.
    pub(super) metrics: Arc<CoreMetrics>,
}

impl<S: Service> Driver<S> {
    /// Does what the connection asks for until its socket would block or it had its share. (Reads are counted; what
    /// follows a read is bounded by what it brought.)
    pub(super) fn drive(&mut self, peer: &mut Peer<S::Session>, waker: impl Fn() -> Waker) -> Outcome {
        if !self.flush(peer) {
            return Outcome::Blocked;
        }
        let mut reads_left = READS_PER_TURN;
        let outcome = loop {
            let stop = match peer.connection.poll_action(&self.buffers) {
                Action::Answer => {
                    peer.connection.answer(&mut self.service, self.now, &mut self.buffers);
                    // What was begun has to be polled once to begin.
                    peer.woken = true;
                    None
                }
                // Nobody is left to answer: what is under way for them is dropped.
                Action::Await if peer.broken => return self.close(),
                Action::Await => self.go_on(peer, &waker),
                Action::Hold if peer.broken => return self.close(),
                Action::Hold => self.hold(peer, &waker),
                Action::Write => self.write(peer),
                Action::Read if peer.readable && reads_left == 0 => Some(Outcome::Spent),
                Action::Read => {
                    reads_left = reads_left.saturating_sub(1);
                    self.read(peer)
                }
                Action::Shutdown => shut_down(peer),
                Action::Close => {
                    if let Some(tls) = &mut peer.tls {
                        // A client that is told of the end knows that nothing was cut off. One that does not listen
                        // any more is not waited for.
                        let _ = tls.close(&mut peer.stream);
                    }
                    return self.close();
                }
            };
            if let Some(outcome) = stop {
                break outcome;
            }
        };
        peer.connection.park(&mut self.buffers);
        outcome
    }

    fn go_on(&mut self, peer: &mut Peer<S::Session>, waker: &impl Fn() -> Waker) -> Option<Outcome> {
        if !std::mem::take(&mut peer.woken) {
            return Some(Outcome::Blocked);
        }
        let mut context = Context::from_waker(peer.waker.get_or_insert_with(waker));
        let connection = &mut peer.connection;
        connection.go_on(&mut self.service, self.now, &mut context, &mut self.buffers);
        None
    }

    fn hold(&mut self, peer: &mut Peer<S::Session>, waker: &impl Fn() -> Waker) -> Option<Outcome> {
        let context = Context::from_waker(peer.waker.get_or_insert_with(waker));
        if peer.connection.release(&mut self.service, &context) { None } else { Some(Outcome::Blocked) }
    }

    /// The connection's deadline has passed.
    pub(super) fn time_out(&mut self, peer: &mut Peer<S::Session>) {
        peer.connection.handle_timeout(&mut self.service, self.now, &mut self.buffers);
    }

    fn read(&mut self, peer: &mut Peer<S::Session>) -> Option<Outcome> {
        if !peer.readable {
            return if peer.connection.handle_drained() { None } else { Some(Outcome::Blocked) };
        }
        let was_handshaking = peer.is_handshaking();
        let space = peer.connection.read_space(&mut self.buffers);
        let asked = space.len();
        let read = match &mut peer.tls {
            None => peer.stream.read(space),
            Some(tls) => tls.read(&mut peer.stream, &mut self.records, space),
        };
        if was_handshaking && peer.tls.as_ref().is_some_and(|tls| tls.is_secured()) {
            self.metrics.handshake(peer.tls.as_ref().is_some_and(|tls| tls.was_resumed()));
            if self.secure(peer).is_err() {
                peer.connection.handle_failure();
                return None;
            }
        }
        match read {
            Ok(0) => peer.connection.handle_eof(),
            Ok(len) => {
                // A short read has emptied the socket; what comes later is a new event. Saves a read that would block.
                let drained = peer.tls.as_ref().map_or(len < asked, |tls| tls.is_drained());
                peer.readable = !drained || peer.hung_up;
                self.metrics.received.add(len as u64);
                peer.connection.handle_read(len);
            }
            Err(error) => match error.kind() {
                io::ErrorKind::WouldBlock => peer.readable = false,
                io::ErrorKind::Interrupted => {}
                io::ErrorKind::InvalidData => peer.connection.handle_unreadable(),
                _ => peer.connection.handle_failure(),
            },
        }
        None
    }

    /// The handshake is done: who the client is shown to be is known from now on.
    fn secure(&mut self, peer: &mut Peer<S::Session>) -> Result<(), Unproven> {
        let shown = peer.tls.as_ref().map_or(Ok(None), |tls| tls.peer(self.now.unix_ms))?;
        peer.connection.handle_secured(&mut self.service, shown);
        Ok(())
    }

    fn write(&mut self, peer: &mut Peer<S::Session>) -> Option<Outcome> {
        let output = peer.connection.poll_write(&self.buffers);
        let written = match &mut peer.tls {
            None => peer.stream.write(output),
            Some(tls) => tls.write(&mut peer.stream, &mut self.records, output),
        };
        match written {
            Ok(len) => {
                self.metrics.sent.add(len as u64);
                peer.connection.handle_written(len, &mut self.buffers);
            }
            Err(error) => match error.kind() {
                io::ErrorKind::WouldBlock => return Some(Outcome::Blocked),
                io::ErrorKind::Interrupted => {}
                _ => peer.connection.handle_failure(),
            },
        }
        None
    }

    /// Sends what a handshake still has to send; false when the socket does not take it.
    fn flush(&mut self, peer: &mut Peer<S::Session>) -> bool {
        let Some(tls) = peer.tls.as_mut().filter(|tls| tls.is_handshaking()) else { return true };
        match tls.flush(&mut peer.stream) {
            Ok(()) => true,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => false,
            Err(_) => {
                peer.connection.handle_failure();
                true
            }
        }
    }

    /// Nothing of the connection may be left for the next one.
    pub(super) fn close(&mut self) -> Outcome {
        self.buffers.clear_output();
        Outcome::Closed
    }
}

fn shut_down<S>(peer: &mut Peer<S>) -> Option<Outcome> {
    let told = peer.tls.as_mut().map_or(Ok(()), |tls| tls.close(&mut peer.stream));
    match told.and_then(|()| peer.stream.shutdown(Shutdown::Write)) {
        Ok(()) => peer.connection.handle_shutdown(),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Some(Outcome::Blocked),
        // The client is gone.
        Err(_) => peer.connection.handle_failure(),
    }
    None
}
