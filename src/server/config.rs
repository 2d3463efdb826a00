//! What a server is told.

use super::connection::Wait;
use super::tls::Certificates;
use super::upstream::UpstreamRoots;
use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
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

/// What a server is told.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    /// Addresses to listen on; the port 0 lets the system choose.
    pub listen: Vec<SocketAddr>,
    /// Threads, each with its own connections.
    pub cores: usize,
    /// What waits for the kernel.
    pub runtime: Runtime,
    /// A connection beyond this many is accepted and closed (D32).
    pub max_connections: usize,
    /// How long a connection may take for what.
    pub timeouts: Timeouts,
    /// What clients are shown. Without, the server speaks plaintext, which is for tests and for loopback.
    pub tls: Option<Certificates>,
    /// Who may vouch for the upstreams of external services. Without, the authorities that the system trusts.
    pub upstream_roots: Option<UpstreamRoots>,
}

impl Default for ServerConfig {
    fn default() -> Self {
        ServerConfig {
            listen: vec![SocketAddr::from((Ipv4Addr::LOCALHOST, PORT))],
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            runtime: Runtime::Auto,
            max_connections: 100_000,
            timeouts: Timeouts::default(),
            tls: None,
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
