//! A server as a child process: pinned, awaited, watched and ended.

use crate::Failure;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Clock ticks a second in `/proc`, the same on every Linux.
const TICKS: f64 = 100.0;

/// How long a server has to end when it is asked to.
const PATIENCE: Duration = Duration::from_secs(5);

/// Ends with its owner, whatever that comes to.
pub struct Server {
    process: Child,
    pub address: SocketAddr,
}

impl Server {
    /// Starts a command on a core and waits until it says where it listens.
    pub fn start(core: usize, program: &Path, arguments: &[&str]) -> Result<Server, Failure> {
        let mut command = Command::new("taskset");
        command.arg("-c").arg(core.to_string()).arg(program).args(arguments);
        Server::of(command)
    }

    /// Starts a command as it is.
    pub fn of(mut command: Command) -> Result<Server, Failure> {
        // A terminal's Ctrl-C is for us; we end our children.
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let spawned = command.stdout(Stdio::piped()).stdin(Stdio::null()).spawn();
        let mut process = spawned.map_err(|error| format!("cannot start {command:?}: {error}"))?;
        let mut line = String::new();
        if let Some(stdout) = process.stdout.take() {
            BufReader::new(stdout).read_line(&mut line)?;
        }
        let address = line.trim().trim_start_matches("listening on ").trim_start_matches("agtp://");
        match address.split(',').next().unwrap_or_default().parse() {
            Ok(address) => Ok(Server { process, address }),
            Err(_) => {
                process.kill()?;
                process.wait()?;
                Err(format!("{command:?} did not say where it listens, but {line:?}").into())
            }
        }
    }

    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// The time it has used a core for, user and system.
    pub fn cpu_seconds(&self) -> Result<f64, Failure> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.id()))?;
        // Behind the name, which may hold anything: state is the first field, utime the 12th, stime the 13th.
        let fields = stat.rsplit_once(')').map(|(_, fields)| fields).unwrap_or_default();
        let mut ticks = fields.split_ascii_whitespace().skip(11).map(str::parse::<f64>);
        match (ticks.next(), ticks.next()) {
            (Some(Ok(user)), Some(Ok(system))) => Ok((user + system) / TICKS),
            _ => Err(format!("/proc/{}/stat has no times: {stat}", self.id()).into()),
        }
    }

    /// Bytes of memory it has in use.
    pub fn resident_bytes(&self) -> Result<u64, Failure> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kilobytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
        Ok(kilobytes.ok_or("no VmRSS in /proc")? * 1024)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let id = i32::try_from(self.id()).unwrap_or(i32::MAX);
        // It has gone already, if that fails.
        let _ = kill(Pid::from_raw(id), Signal::SIGTERM);
        let asked = Instant::now();
        while asked.elapsed() < PATIENCE {
            if !matches!(self.process.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
