//! The server: sockets around the engine, a thread for each core.
//!
//! ```text
//! config, listen, probe      what to run on
//!   └ thread                 a core's: its service, its shard, one of two runtimes
//!       ├ epoll | uring      wait for the kernel
//!       └ shard              a turn of the loop: accept, drive what is ready, time out
//!           ├ gate, slots    listening sockets; connections and their deadlines
//!           └ driver         a socket's bytes to and from its
//!               └ connection a state machine without I/O, over the core's buffers
//!                   └ service the engine
//!                       └ observe  each answer is counted, timed, logged
//! metrics, log, admin        what the cores count and say; for operators, on threads of their own
//! ```
//!
//! Nothing here looks into the bytes: where a request ends is for the engine to say.

mod admin;
mod buffers;
mod config;
mod connection;
mod control;
mod crowd;
mod driver;
mod epoll;
mod gate;
mod listen;
mod log;
mod metrics;
mod observe;
mod pin;
mod probe;
mod service;
mod shard;
mod signal;
mod slots;
mod systemd;
mod thread;
mod tls;
mod upstream;
#[cfg(target_os = "linux")]
mod uring;
mod wake;

#[cfg(test)]
mod tests;
#[cfg(test)]
mod toy;

pub use admin::AdminError;
pub use config::{PORT, Runtime, ServerConfig, Timeouts};
pub use control::Stats;
pub use listen::{ListenError, is_loopback};
pub use log::{Access, Format, Level, Log, LogConfig};
pub use metrics::Metrics;
pub use probe::{Probe, probe};
pub use tls::{Authorities, Certificates, ClientCertificates, Credential, Encryption, TlsError};
pub use upstream::{RootsError, Sleep, UpstreamRoots, sleep};

use self::admin::Admin;
use self::control::Control;
use self::gate::Gate;
use self::service::{EngineService, Service};
use self::thread::{Seat, Setup};
use crate::engine::Engine;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc;
use std::thread::JoinHandle;

/// Why a server did not start, or ended otherwise than by being stopped. Displays as one line.
#[derive(Debug)]
pub enum ServeError {
    /// An address cannot be listened on.
    Listen(ListenError),
    /// There can be no admin listener.
    Admin(AdminError),
    /// io_uring was asked for and is refused here.
    Uring(Probe),
    /// The system refused something else.
    System {
        /// What it was for.
        what: &'static str,
        /// What it said.
        cause: io::Error,
    },
}

impl fmt::Display for ServeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ServeError::Listen(error) => error.fmt(f),
            ServeError::Admin(error) => error.fmt(f),
            ServeError::Uring(probe) => write!(f, "{probe}; choose --runtime epoll or auto"),
            ServeError::System { what, cause } => write!(f, "{what} failed: {cause}"),
        }
    }
}

impl std::error::Error for ServeError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            ServeError::Listen(error) => Some(error),
            ServeError::Admin(error) => Some(error),
            ServeError::Uring(_) => None,
            ServeError::System { cause, .. } => Some(cause),
        }
    }
}

/// Serves until SIGTERM or SIGINT, then finishes what is in flight within [`Timeouts::grace`]. A second signal ends the
/// process at once. `on_ready` is given the addresses as soon as connections are accepted on them. SIGHUP is ignored;
/// [`serve_and_reload`] does something about it. A service manager that has set `NOTIFY_SOCKET` is told when the server is
/// ready, reads files again and stops.
///
/// # Errors
/// When the server cannot start, or a core fails.
pub fn serve(
    engine: &'static Engine<'static>,
    config: &ServerConfig,
    on_ready: impl FnOnce(&Running),
) -> Result<(), ServeError> {
    serve_and_reload(engine, config, on_ready, || {})
}

/// The same, calling `reload` at each SIGHUP, on a thread of its own: to replace [`Certificates`], for example.
///
/// # Errors
/// When the server cannot start, or a core fails.
pub fn serve_and_reload(
    engine: &'static Engine<'static>,
    config: &ServerConfig,
    on_ready: impl FnOnce(&Running),
    reload: impl Fn() + Send + Sync + 'static,
) -> Result<(), ServeError> {
    let running = start(engine, config)?;
    let stopper = running.stopper();
    let stop = move || {
        systemd::stopping();
        stopper.stop();
    };
    let reload = move || {
        systemd::reloading();
        reload();
        systemd::ready();
    };
    let watch = signal::Watch::start(stop, reload);
    let _watch = watch.map_err(|cause| ServeError::System { what: "watching for signals", cause })?;
    on_ready(&running);
    systemd::ready();
    running.wait()
}

/// Starts a server and returns when it accepts connections. No signal is watched for.
///
/// # Errors
/// When it cannot start.
pub fn start(engine: &'static Engine<'static>, config: &ServerConfig) -> Result<Running, ServeError> {
    let upstreams = !engine.registry().externals.is_empty();
    let roots = match &config.upstream_roots {
        None if upstreams => Some(UpstreamRoots::system_and(None)),
        roots => roots.clone().map(Ok),
    };
    let roots = roots.transpose().map_err(|cause| ServeError::System {
        what: "reading the system's certificate authorities",
        cause: io::Error::other(cause),
    })?;
    let metrics = Metrics::new(config.cores.max(1), Some(engine), config.log.clone());
    let log = config.log.clone();
    let make = move |seat| EngineService::new(engine, seat, roots.as_ref(), log.as_ref());
    start_counted(make, config, metrics)
}

#[cfg(test)]
fn start_with<F, S>(make: F, config: &ServerConfig) -> Result<Running, ServeError>
where
    F: Fn(Seat) -> S + Send + Sync + 'static,
    S: Service,
{
    start_counted(make, config, Metrics::new(config.cores, None, None))
}

fn start_counted<F, S>(make: F, config: &ServerConfig, metrics: Metrics) -> Result<Running, ServeError>
where
    F: Fn(Seat) -> S + Send + Sync + 'static,
    S: Service,
{
    let (runtime, warning) = choose_runtime(config.runtime)?;
    let cores = config.cores.max(1);
    let admin = config.admin.map(admin::bind).transpose().map_err(ServeError::Admin)?;
    let listeners = listen::listen(&config.listen, &config.inherited, cores).map_err(ServeError::Listen)?;
    let gates = listeners.cores.into_iter().map(Gate::new).collect::<io::Result<Vec<_>>>();
    let gates = gates.map_err(|cause| ServeError::System { what: "setting up a readiness set", cause })?;
    let wakers = gates.iter().map(|gate| mio::Waker::new(gate.poll.registry(), gate::WAKER));
    let wakers = wakers.collect::<io::Result<Vec<_>>>();
    let wakers = wakers.map_err(|cause| ServeError::System { what: "setting up a waker", cause })?;
    let control = Arc::new(Control::new(config, wakers, metrics));
    let mut running = Running {
        addresses: listeners.addresses,
        runtime,
        warning,
        control,
        threads: Vec::new(),
        admin: None,
    };
    let make = Arc::new(make);
    let (ready, readiness) = mpsc::channel();
    for (index, gate) in gates.into_iter().enumerate() {
        let control = Arc::clone(&running.control);
        let (make, terms, pin) = (Arc::clone(&make), config.terms(), (cores > 1).then_some(index));
        running.spawn(index, Setup { index, gate, control, runtime, terms, make, pin }, ready.clone())?;
    }
    drop(ready);
    // A core that fails drops its sender unused.
    if readiness.iter().take(cores).count() < cores {
        let failure = ServeError::System { what: "a core", cause: io::ErrorKind::Interrupted.into() };
        return Err(running.stop().err().unwrap_or(failure));
    }
    running.answer_operators(admin)?;
    Ok(running)
}

/// What to run on, and a warning if that is not what could be expected.
fn choose_runtime(asked: Runtime) -> Result<(Runtime, Option<String>), ServeError> {
    if asked == Runtime::Epoll {
        return Ok((Runtime::Epoll, None));
    }
    let probe = probe();
    match asked {
        Runtime::Uring if probe.usable => Ok((Runtime::Uring, None)),
        Runtime::Uring => Err(ServeError::Uring(probe)),
        _ if probe.usable => Ok((Runtime::BY_SPEED[0], None)),
        _ => Ok((Runtime::Epoll, Some(format!("{probe}; running on epoll")))),
    }
}

/// Stops a server; may be kept and sent anywhere.
#[derive(Clone)]
pub struct Stopper(Arc<Control>);

impl Stopper {
    /// Tells the server to finish what is in flight and end. Returns at once; repeating it changes nothing.
    pub fn stop(&self) {
        self.0.stop();
    }
}

/// A server that accepts connections. Dropped, it goes on by itself.
pub struct Running {
    addresses: Vec<SocketAddr>,
    runtime: Runtime,
    warning: Option<String>,
    control: Arc<Control>,
    threads: Vec<JoinHandle<io::Result<()>>>,
    admin: Option<Admin>,
}

impl Running {
    /// Where it listens, with the ports the system chose.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Where figures are told, if they are.
    pub fn admin_address(&self) -> Option<SocketAddr> {
        self.admin.as_ref().map(|admin| admin.address)
    }

    /// What it runs on: never [`Runtime::Auto`].
    pub fn runtime(&self) -> Runtime {
        self.runtime
    }

    /// That io_uring is refused here and why, if it was left to us what to run on. One line.
    pub fn warning(&self) -> Option<&str> {
        self.warning.as_deref()
    }

    /// Its counters.
    pub fn stats(&self) -> &Stats {
        &self.control.stats
    }

    /// What its cores count.
    pub fn metrics(&self) -> &Metrics {
        &self.control.metrics
    }

    /// Something to stop it with.
    pub fn stopper(&self) -> Stopper {
        Stopper(Arc::clone(&self.control))
    }

    /// Finishes what is in flight, within [`Timeouts::grace`], and ends.
    ///
    /// # Errors
    /// When a core had failed.
    pub fn stop(self) -> Result<(), ServeError> {
        self.control.stop();
        self.wait()
    }

    /// Waits until it has ended.
    ///
    /// # Errors
    /// When a core failed.
    pub fn wait(self) -> Result<(), ServeError> {
        let failed = |cause| ServeError::System { what: "a core", cause };
        let panicked = |_| Err(io::Error::other("it panicked"));
        let ends = self.threads.into_iter().map(|thread| thread.join().unwrap_or_else(panicked));
        // Collected first: every thread is waited for, whatever the others came to.
        let ends: Vec<_> = ends.collect();
        if let Some(admin) = self.admin {
            admin.close();
        }
        ends.into_iter().collect::<io::Result<()>>().map_err(failed)
    }

    /// Starts the admin listener.
    fn answer_operators(&mut self, bound: Option<admin::Bound>) -> Result<(), ServeError> {
        let admin = bound.map(|bound| bound.start(Arc::clone(&self.control))).transpose();
        self.admin = admin.map_err(|cause| {
            self.control.stop();
            ServeError::System { what: "starting the admin listener's thread", cause }
        })?;
        Ok(())
    }

    fn spawn<F, S>(
        &mut self,
        index: usize,
        setup: Setup<F>,
        ready: mpsc::Sender<()>,
    ) -> Result<(), ServeError>
    where
        F: Fn(Seat) -> S + Send + Sync + 'static,
        S: Service,
    {
        let stopper = self.stopper();
        let thread = std::thread::Builder::new().name(format!("agtp-core-{index}"));
        let thread = thread.spawn(move || {
            let end = setup.run(ready);
            // The addresses are shared: a server that lacks a core would leave connections unanswered.
            stopper.stop();
            end
        });
        let thread = thread.map_err(|cause| {
            self.control.stop();
            ServeError::System { what: "starting a core's thread", cause }
        })?;
        self.threads.push(thread);
        Ok(())
    }
}
