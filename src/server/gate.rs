//! Where a core's connections come in: its readiness set and its listening sockets.

use mio::net::{TcpListener, TcpStream};
use mio::{Interest, Poll, Registry, Token};
use std::io;
use std::net::IpAddr;
use std::time::{Duration, Instant};

/// Connections taken from one listener before others get their turn.
const ACCEPTS_PER_TURN: usize = 64;

/// Out of descriptors or memory, `accept` fails until something closes; the backlog keeps the listener readable, so
/// trying again at once would spin.
const PAUSE: Duration = Duration::from_millis(100);

/// Tokens from here up are not connections.
const LISTENERS: usize = usize::MAX / 2;
pub(super) const WAKER: Token = Token(usize::MAX);

/// The readiness set and the listening sockets of a core. They outlive a failure of the core's loop.
pub(super) struct Gate {
    pub(super) poll: Poll,
    listeners: Vec<Listener>,
    paused_until: Option<Instant>,
}

struct Listener {
    socket: TcpListener,
    /// It may have connections: readiness is reported once only.
    pending: bool,
}

impl Gate {
    /// Registers the listening sockets, which must be non-blocking.
    pub(super) fn new(sockets: Vec<std::net::TcpListener>) -> io::Result<Gate> {
        let poll = Poll::new()?;
        let mut listeners = Vec::with_capacity(sockets.len());
        for (index, socket) in sockets.into_iter().enumerate() {
            let mut socket = TcpListener::from_std(socket);
            poll.registry().register(&mut socket, Token(LISTENERS + index), Interest::READABLE)?;
            listeners.push(Listener { socket, pending: true });
        }
        Ok(Gate { poll, listeners, paused_until: None })
    }

    /// Takes note of an event, if it is about a listener.
    pub(super) fn note(&mut self, token: Token) -> bool {
        let listener = token.0.checked_sub(LISTENERS).and_then(|index| self.listeners.get_mut(index));
        listener.map(|listener| listener.pending = true).is_some()
    }

    /// After a failure of the loop: it may have taken note of readiness and not come to act on it.
    pub(super) fn reset(&mut self) {
        self.listeners.iter_mut().for_each(|listener| listener.pending = true);
    }

    /// When to call [`accept`](Self::accept) if no event comes: `None` for not at all.
    pub(super) fn due(&self) -> Option<Instant> {
        let pending = self.listeners.iter().any(|listener| listener.pending);
        pending.then(|| self.paused_until.unwrap_or_else(Instant::now))
    }

    /// Accepts what is waiting, up to a bound for each listener. False when it ran out of what that takes and pauses.
    pub(super) fn accept(
        &mut self,
        now: Instant,
        mut admit: impl FnMut(&Registry, TcpStream, IpAddr),
    ) -> bool {
        if self.paused_until.is_some_and(|until| now < until) {
            return true;
        }
        self.paused_until = None;
        let registry = self.poll.registry();
        for listener in self.listeners.iter_mut().filter(|listener| listener.pending) {
            for _ in 0..ACCEPTS_PER_TURN {
                match listener.socket.accept() {
                    Ok((stream, from)) => admit(registry, stream, from.ip()),
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                        listener.pending = false;
                        break;
                    }
                    Err(error) if is_exhaustion(&error) => {
                        self.paused_until = Some(now + PAUSE);
                        break;
                    }
                    // The connection was gone before it was accepted.
                    Err(_) => {}
                }
            }
        }
        self.paused_until.is_none()
    }

    /// Stops listening. What is in the backlog is accepted first, since its clients believe themselves connected.
    pub(super) fn close(&mut self, now: Instant, mut admit: impl FnMut(&Registry, TcpStream, IpAddr)) {
        self.reset();
        self.paused_until = None;
        for _ in 0..ACCEPTS_PER_TURN {
            self.accept(now, &mut admit);
            if self.paused_until.is_some() || self.due().is_none() {
                break;
            }
        }
        self.listeners.clear();
    }
}

/// Whether an error of `accept` says that the process or the machine has run out of something.
fn is_exhaustion(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE | libc::ENOBUFS | libc::ENOMEM))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exhaustion_is_told_from_a_lost_connection() {
        assert!(is_exhaustion(&io::Error::from_raw_os_error(libc::EMFILE)));
        assert!(is_exhaustion(&io::Error::from_raw_os_error(libc::ENFILE)));
        assert!(!is_exhaustion(&io::Error::from_raw_os_error(libc::ECONNABORTED)));
    }

    #[test]
    fn a_pause_puts_the_next_accept_off() {
        let socket = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        socket.set_nonblocking(true).unwrap();
        let client = std::net::TcpStream::connect(socket.local_addr().unwrap()).unwrap();
        let mut gate = Gate::new(vec![socket]).unwrap();
        let now = Instant::now();
        gate.paused_until = Some(now + PAUSE);
        assert_eq!(gate.due(), Some(now + PAUSE));
        gate.accept(now, |_, _, _| panic!("accepted in the pause"));
        let mut accepted = Vec::new();
        gate.accept(now + PAUSE, |_, stream, from| {
            assert!(from.is_loopback());
            accepted.push(stream);
        });
        assert_eq!(accepted.len(), 1);
        assert_eq!(accepted.first().unwrap().peer_addr().unwrap(), client.local_addr().unwrap());
        assert_eq!(gate.due(), None);
    }
}
