//! What table and figures have in common: options, our binary, pinning, Ctrl-C, and measuring once.

use crate::Failure;
use crate::child::Server;
use crate::request::request;
use agtp::bench::{Measured, Plan, Protocol, Report, Watch, run};
use agtp::client::Trust;
use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The core of servers.
pub const SERVER_CORE: usize = 0;

/// The core of the generator, unless it shares the server's.
pub const CLIENT_CORE: usize = 1;

#[derive(clap::Args, Clone, Debug)]
pub struct Options {
    /// Rounds, in each of which every server is measured once
    #[arg(long, global = true, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    pub rounds: u32,
    /// Seconds that each measurement takes, after a warm-up of a quarter of that
    #[arg(long, global = true, default_value_t = 3.0)]
    pub seconds: f64,
    /// Only servers, or figures, whose name contains this; may be repeated
    #[arg(long, global = true, value_name = "NAME")]
    pub only: Vec<String>,
    /// Where the CSV goes [default: results.csv or figures.csv beside the package]
    #[arg(long, global = true, value_name = "FILE")]
    pub csv: Option<PathBuf>,
    /// An `agtp` to measure instead of building this repository's
    #[arg(long, global = true, value_name = "FILE")]
    pub binary: Option<PathBuf>,
}

impl Options {
    pub fn wants(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| name.contains(only.as_str()))
    }

    pub fn csv(&self, name: &str) -> PathBuf {
        self.csv.clone().unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join(name))
    }
}

/// How a server is asked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Load {
    pub name: &'static str,
    pub connections: usize,
    pub depth: u32,
    pub client_core: usize,
}

/// The usual ones.
pub const DEPTH_1: Load = Load { name: "depth 1", connections: 64, depth: 1, client_core: CLIENT_CORE };
pub const DEPTH_16: Load = Load { name: "depth 16", connections: 64, depth: 16, client_core: CLIENT_CORE };
pub const LONE: Load = Load { name: "lone", connections: 1, depth: 1, client_core: SERVER_CORE };

/// What one measurement came to. Times are microseconds.
#[derive(Clone, Debug)]
pub struct Round {
    pub rate: f64,
    pub p50: f64,
    pub p99: f64,
    pub p999: f64,
    /// The server's, per request: as many seconds per million.
    pub cpu: f64,
    /// Why it may be worth nothing.
    pub doubts: Vec<String>,
}

pub struct Session {
    pub root: PathBuf,
    pub agtp: PathBuf,
    /// Holds what is written on the way; goes with the session.
    pub folder: PathBuf,
    settings: Option<PathBuf>,
    interrupt: Arc<Interrupt>,
}

/// Ctrl-C ends the measurement under way, and by that everything.
#[derive(Default)]
struct Interrupt {
    is_set: AtomicBool,
    watch: Mutex<Arc<Watch>>,
}

impl Interrupt {
    fn begin(&self) -> Result<Arc<Watch>, Failure> {
        let watch = Arc::new(Watch::new());
        *self.watch.lock().unwrap_or_else(PoisonError::into_inner) = Arc::clone(&watch);
        if self.is_set.load(Ordering::Relaxed) { Err("interrupted".into()) } else { Ok(watch) }
    }

    fn set(&self) {
        self.is_set.store(true, Ordering::Relaxed);
        self.watch.lock().unwrap_or_else(PoisonError::into_inner).stop();
    }
}

impl Session {
    /// Builds what is to be measured.
    pub fn begin(options: &Options) -> Result<Session, Failure> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize()?;
        let agtp = match &options.binary {
            Some(binary) => binary.canonicalize()?,
            None => build(&root)?,
        };
        let folder = std::env::temp_dir().join(format!("agtp-compare-{}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        let settings = without_attribution(&root, &folder)?;
        let interrupt = Arc::new(Interrupt::default());
        let (mut signals, on_signal) = (Signals::new([SIGINT, SIGTERM])?, Arc::clone(&interrupt));
        std::thread::spawn(move || signals.forever().for_each(|_| on_signal.set()));
        Ok(Session { root, agtp, folder, settings, interrupt })
    }

    /// Whether Ctrl-C was pressed.
    pub fn check(&self) -> Result<(), Failure> {
        self.interrupt.begin().map(drop)
    }

    /// Our server.
    pub fn serve(&self, runtime: &str, tls: bool, more: &[&str]) -> Result<Server, Failure> {
        let mut command = Command::new("taskset");
        command.env("XDG_STATE_HOME", &self.folder).current_dir(&self.root);
        command.args(["-c", &SERVER_CORE.to_string()]).arg(&self.agtp);
        command.args(["serve", "--listen", "127.0.0.1:0", "--cores", "1", "--runtime", runtime]).args(more);
        if !tls {
            command.arg("--insecure");
        }
        if let Some(settings) = self.settings.as_ref().filter(|_| !more.contains(&"--deployment")) {
            command.arg("--config").arg(settings);
        }
        Server::of(command)
    }

    /// Whom to believe to be our server, once it was started.
    pub fn trust(&self) -> Result<Trust, Failure> {
        Ok(Trust::only(&std::fs::read(self.folder.join("agtp/development-authority.pem"))?)?)
    }

    /// Measures once. `rate` makes it an open loop.
    pub fn measure(
        &self,
        server: &Server,
        protocol: Protocol,
        trust: Option<Trust>,
        load: &Load,
        rate: Option<f64>,
        seconds: f64,
    ) -> Result<Round, Failure> {
        let watch = self.interrupt.begin()?;
        pin(load.client_core)?;
        let mut plan = Plan::new(vec![server.address], "localhost", request(protocol));
        (plan.connections, plan.depth, plan.rate) = (load.connections, load.depth, rate);
        plan.duration = Duration::from_secs_f64(seconds);
        plan.warmup = plan.duration / 4;
        (plan.protocol, plan.trust) = (protocol, trust);
        let before = server.cpu_seconds()?;
        let measured = run(&plan, &watch)?;
        let cpu = server.cpu_seconds()? - before;
        self.interrupt.begin()?;
        round(&plan, &measured, cpu)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // It is in the system's folder for what may go.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn round(plan: &Plan, measured: &Measured, cpu: f64) -> Result<Round, Failure> {
    let Measured { tally, warmup, .. } = measured;
    let successes = tally.count_of(agtp::bench::Kind::Success);
    if successes == 0 || successes < tally.answers || tally.errors.total() > 0 {
        let statuses: Vec<_> = tally.statuses().collect();
        let fault = measured.first_fault.as_deref().unwrap_or("no error");
        return Err(format!("not every request was done: {statuses:?}, {:?}, {fault}", tally.errors).into());
    }
    let us = |quantile| tally.latency.at(quantile) as f64 / 1e3;
    Ok(Round {
        rate: measured.rate(),
        p50: us(0.5),
        p99: us(0.99),
        p999: us(0.999),
        cpu: cpu * 1e6 / (tally.answers + warmup.answers) as f64,
        doubts: Report { what: "", plan, measured }.doubts(),
    })
}

/// Lets this thread, and those it starts, run on one core only.
pub fn pin(core: usize) -> Result<(), Failure> {
    let mut set = CpuSet::new();
    set.set(core)?;
    sched_setaffinity(Pid::from_raw(0), &set)
        .map_err(|error| format!("cannot use core {core}: {error}").into())
}

fn build(root: &Path) -> Result<PathBuf, Failure> {
    eprintln!("building agtp");
    let target = root.join("target");
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--release", "--quiet", "--bin", "agtp", "--target-dir"]).arg(&target);
    if !cargo.current_dir(root).status()?.success() {
        return Err("agtp cannot be built".into());
    }
    Ok(target.join("release/agtp"))
}

/// The sample's settings with attribution off, where there is such a setting.
fn without_attribution(root: &Path, folder: &Path) -> Result<Option<PathBuf>, Failure> {
    let text = std::fs::read_to_string(root.join("agtp-server.toml"))?;
    if !text.contains("attribution") {
        return Ok(None);
    }
    let mut settings: toml::Table = text.parse()?;
    let audit = settings.entry("audit").or_insert_with(|| toml::Table::new().into());
    if let Some(audit) = audit.as_table_mut() {
        audit.insert("attribution".to_owned(), "off".into());
    }
    let file = folder.join("agtp-server.toml");
    std::fs::write(&file, settings.to_string())?;
    Ok(Some(file))
}
