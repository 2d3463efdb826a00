//! What a server is told.

use super::connection::Wait;
use super::log::Log;
use super::tls::Certificates;
use super::upstream::UpstreamRoots;
use std::fmt;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::num::{NonZeroU32, NonZeroU64};
use std::sync::Arc;
use std::time::Duration;

/// The registered port.
pub const PORT: u16 = 4480;

/// What waits for the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Runtime {
    /// The fastest that is usable here, by our measurements: the first usable one of [`Runtime::BY_SPEED`].
    #[default]
    Auto,
    /// io_uring, through glommio.
    Uring,
    /// The system's readiness interface (epoll on Linux).
    Epoll,
}

impl Runtime {
    /// Fastest first. glommio's own sockets cost half again as much CPU per request as epoll (7.3 µs against 4.7 µs at
    /// pipeline depth 1, 64 connections, one core). Driven by one readiness set, as here, the two are equal as long as
    /// many connections are busy; waking up for a lone one costs about 1.7 times as much on the ring.
    pub const BY_SPEED: [Runtime; 2] = [Runtime::Epoll, Runtime::Uring];
}

impl fmt::Display for Runtime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Runtime::Auto => "auto",
            Runtime::Uring => "uring",
            Runtime::Epoll => "epoll",
        })
    }
}

impl std::str::FromStr for Runtime {
    type Err = String;

    fn from_str(text: &str) -> Result<Runtime, String> {
        let all = [Runtime::Auto, Runtime::Uring, Runtime::Epoll];
        let found = all.into_iter().find(|runtime| runtime.to_string() == text);
        found.ok_or_else(|| format!("`{text}` is no runtime: auto, uring or epoll"))
    }
}

/// How long a connection may take for what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// Without a request (draft: the inactivity timeout).
    pub idle: Duration,
    /// For a head, from its first byte. Not extended by further bytes: a client that sends one now and then would
    /// never be done.
    pub header: Duration,
    /// For a body, from the end of its head.
    pub body: Duration,
    /// For taking some of an answer.
    pub write: Duration,
    /// For the TLS handshake, from when the connection was accepted.
    pub handshake: Duration,
    /// For closing after the last answer.
    pub linger: Duration,
    /// For finishing what is in flight when the server stops.
    pub grace: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Timeouts {
            idle: Duration::from_secs(60),
            header: Duration::from_secs(10),
            body: Duration::from_secs(30),
            write: Duration::from_secs(30),
            handshake: Duration::from_secs(10),
            linger: Duration::from_secs(5),
            grace: Duration::from_secs(10),
        }
    }
}

impl Timeouts {
    /// The time-out of a kind of waiting.
    pub(super) fn of(&self, wait: Wait) -> Duration {
        match wait {
            Wait::Idle => self.idle,
            Wait::Head => self.header,
            Wait::Body => self.body,
            Wait::Write => self.write,
            Wait::Linger => self.linger,
            Wait::Handler(patience_ms) => Duration::from_millis(patience_ms.into()),
        }
    }

    /// The shortest of those that apply to a connection.
    pub(super) fn shortest(&self) -> Duration {
        self.idle.min(self.handshake).min(self.header).min(self.body).min(self.write).min(self.linger)
    }
}

/// What a core's connections are held to.
#[derive(Clone)]
pub(super) struct Terms {
    pub(super) timeouts: Timeouts,
    pub(super) max_requests: Option<NonZeroU64>,
    /// What clients are shown; plaintext without.
    pub(super) tls: Option<Certificates>,
}

/// What a server is told.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    /// Addresses to listen on; the port 0 lets the system choose.
    pub listen: Vec<SocketAddr>,
    /// Sockets that listen already, handed over by whoever started the process (systemd, for example). All cores accept
    /// from each; of those that wake up for a connection, one gets it.
    pub inherited: Vec<Arc<TcpListener>>,
    /// Threads, each with its own connections.
    pub cores: usize,
    /// What waits for the kernel.
    pub runtime: Runtime,
    /// A connection beyond this many is accepted and closed (D32).
    pub max_connections: usize,
    /// So many connections of one IPv4 address, or of one IPv6 network of 64 bits; one more is accepted and closed. Stops
    /// one client from taking every place. Without, addresses are not counted: agents behind one gateway share one.
    pub max_connections_per_address: Option<NonZeroU32>,
    /// After so many answers a connection is closed in good order. Connections stay on the core that accepted them; this
    /// spreads clients that never leave over the cores, and has them present certificates anew. Without, they may stay.
    pub max_requests_per_connection: Option<NonZeroU64>,
    /// How long a connection may take for what.
    pub timeouts: Timeouts,
    /// What clients are shown and asked for. Without, the server speaks plaintext, which is for tests and for loopback.
    pub tls: Option<Certificates>,
    /// Where `GET /metrics` and `GET /healthz` are answered over HTTP: a loopback address, or nowhere.
    pub admin: Option<SocketAddr>,
    /// Where answers are logged, if they are.
    pub log: Option<Log>,
    /// Who may vouch for the upstreams of external services. Without, the authorities that the system trusts.
    pub upstream_roots: Option<UpstreamRoots>,
}

impl ServerConfig {
    pub(super) fn terms(&self) -> Terms {
        let max_requests = self.max_requests_per_connection;
        Terms { timeouts: self.timeouts, max_requests, tls: self.tls.clone() }
    }

    /// All addresses that it will listen on.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        let inherited = self.inherited.iter().filter_map(|socket| socket.local_addr().ok());
        self.listen.iter().copied().chain(inherited).collect()
    }
}

impl Default for ServerConfig {
    fn default() -> Self {
        ServerConfig {
            listen: vec![SocketAddr::from((Ipv4Addr::LOCALHOST, PORT))],
            inherited: Vec::new(),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            runtime: Runtime::Auto,
            max_connections: 100_000,
            max_connections_per_address: None,
            max_requests_per_connection: None,
            timeouts: Timeouts::default(),
            tls: None,
            admin: None,
            log: None,
            upstream_roots: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runtimes_are_read_as_they_are_written() {
        for runtime in [Runtime::Auto, Runtime::Uring, Runtime::Epoll] {
            assert_eq!(runtime.to_string().parse(), Ok(runtime));
        }
        assert_eq!(
            "kqueue".parse::<Runtime>(),
            Err("`kqueue` is no runtime: auto, uring or epoll".to_owned())
        );
    }
}
