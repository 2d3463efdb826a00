//! `GET /metrics` and `GET /healthz` over HTTP/1.1, for this machine only (D32).
//!
//! It has threads of its own, a few at most and each for one connection with one request, so that whoever asks, and
//! however slowly, costs no core anything.

mod http;

use super::control::Control;
use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Token, Waker};
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

/// Connections at once. Those beyond are closed: a scraper needs one.
const MOST_CONNECTIONS: usize = 4;

/// Before accepting is tried again when the process is out of descriptors.
const PAUSE: Duration = Duration::from_millis(100);

const LISTENER: Token = Token(0);
const WAKER: Token = Token(1);

/// Why there is no admin listener. Displays as one line.
#[derive(Debug)]
pub enum AdminError {
    /// Other machines could reach it.
    Abroad(SocketAddr),
    /// The address cannot be listened on.
    Listen(SocketAddr, io::Error),
}

impl fmt::Display for AdminError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AdminError::Abroad(address) => write!(
                f,
                "[admin] listen is {address}, which is no loopback address: figures are neither encrypted nor guarded; \
                 use 127.0.0.1:{} and a proxy in front of it",
                address.port()
            ),
            AdminError::Listen(address, cause) if cause.kind() == io::ErrorKind::AddrInUse => {
                write!(
                    f,
                    "[admin] cannot listen on {address}: the port is in use; choose another in [admin] listen"
                )
            }
            AdminError::Listen(address, cause) => write!(f, "[admin] cannot listen on {address}: {cause}"),
        }
    }
}

impl std::error::Error for AdminError {}

/// The listener. It goes on until it is closed.
pub(super) struct Admin {
    pub(super) address: SocketAddr,
    waker: Waker,
    thread: JoinHandle<()>,
}

/// An admin listener that accepts nobody yet.
pub(super) struct Bound {
    address: SocketAddr,
    listener: TcpListener,
    poll: Poll,
    waker: Waker,
}

/// Takes the address.
pub(super) fn bind(address: SocketAddr) -> Result<Bound, AdminError> {
    if !super::is_loopback(&address) {
        return Err(AdminError::Abroad(address));
    }
    listen(address).map_err(|cause| AdminError::Listen(address, cause))
}

fn listen(address: SocketAddr) -> io::Result<Bound> {
    let mut listener = TcpListener::bind(address)?;
    let poll = Poll::new()?;
    let waker = Waker::new(poll.registry(), WAKER)?;
    poll.registry().register(&mut listener, LISTENER, Interest::READABLE)?;
    Ok(Bound { address: listener.local_addr()?, listener, poll, waker })
}

impl Bound {
    /// Answers from now on.
    pub(super) fn start(self, control: Arc<Control>) -> io::Result<Admin> {
        let Bound { address, listener, poll, waker } = self;
        let thread = std::thread::Builder::new().name("agtp-admin".to_owned());
        let thread = thread.spawn(move || accept(poll, &listener, &control))?;
        Ok(Admin { address, waker, thread })
    }
}

impl Admin {
    /// Ends it. Answers under way are finished, or given up at their deadline, by threads that nobody waits for.
    pub(super) fn close(self) {
        // Without a way to wake it, it stays until the process ends.
        if self.waker.wake().is_ok() {
            let _ = self.thread.join();
        }
    }
}

fn accept(mut poll: Poll, listener: &TcpListener, control: &Arc<Control>) {
    let mut events = Events::with_capacity(2);
    let served = Arc::new(());
    let mut patience = None;
    loop {
        // Interrupted, it has no events.
        let _ = poll.poll(&mut events, patience);
        if events.iter().any(|event| event.token() == WAKER) {
            return;
        }
        patience = loop {
            match listener.accept() {
                // One reference is this thread's.
                Ok(_) if Arc::strong_count(&served) > MOST_CONNECTIONS => {}
                Ok((stream, _)) => serve(stream, control, Arc::clone(&served)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break None,
                // Those that wait are not reported again.
                Err(_) => break Some(PAUSE),
            }
        };
    }
}

fn serve(stream: TcpStream, control: &Arc<Control>, served: Arc<()>) {
    let control = Arc::clone(control);
    let thread = std::thread::Builder::new().name("agtp-admin-answer".to_owned());
    // Out of threads, this client goes without an answer.
    let _ = thread.spawn(move || {
        // It may be gone already, or be too slow.
        let _ = http::serve(stream.into(), &control);
        drop(served);
    });
}
