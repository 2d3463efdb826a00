//! `agtp serve`.

use super::audit::Auditing;
use super::deployment::{self, Deployed};
use super::output::{self, Colours};
use super::{Failure, clock, encryption, operating, settings, systemd, upstream};
use crate::engine::Engine;
use crate::server::{self, Level, Log, Running, Runtime, ServerConfig};
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// For what was logged last to be written, when the server has ended.
const LAST_LINES: Duration = Duration::from_secs(1);

/// Arguments of `agtp serve`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Without --deployment, what was compiled in is served. When connections are accepted, one line on stdout says where:
`listening on agtp://ADDR:PORT`. [admin] of agtp-server.toml tells figures over HTTP, [log] says what is logged and where.

SIGTERM and SIGINT finish what is in flight and end. SIGHUP reads the certificate again and opens the log file anew.
Sockets handed over at start (LISTEN_FDS, as systemd does) are served in place of --listen, and NOTIFY_SOCKET is told when
the server is ready and when it stops.")]
pub(super) struct Args {
    /// Serve this directory's deployment instead of the compiled-in one
    #[arg(long, value_name = "DIR", conflicts_with = "config")]
    deployment: Option<PathBuf>,
    /// Serve the compiled-in deployment under this agtp-server.toml
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Where to listen; may be repeated; port 0 picks one [default: 127.0.0.1:4480]
    #[arg(long, value_name = "ADDR:PORT")]
    listen: Vec<String>,
    /// Threads to serve with [default: one for each core of the machine]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    cores: Option<u16>,
    /// What to wait on the kernel with: auto, uring or epoll
    #[arg(long, default_value_t, value_name = "RUNTIME")]
    runtime: Runtime,
    /// Serve plaintext; loopback only. Without, [tls] of agtp-server.toml says what clients are shown; a loopback
    /// address needs none, for `agtp call` of the same user trusts what is made for it at start
    #[arg(long)]
    insecure: bool,
    /// Refuse to start when the deployment has any fault
    #[arg(long)]
    strict: bool,
}

/// Runs `agtp serve`.
pub(super) fn run(args: Args) -> Result<ExitCode, Failure> {
    let mut config = server_config(&args)?;
    let listen = config.addresses();
    refuse_plaintext_abroad(&listen, args.insecure)?;
    let deployed = deployed(&args)?;
    let encryption = encryption(&args, &deployed, &listen)?;
    config.tls = encryption.as_ref().map(encryption::InUse::certificates);
    settings::apply(&deployed.settings, &deployed.settings_origin, &mut config)?;
    config.admin = operating::admin(&deployed.settings, &deployed.settings_origin)?;
    let log = open_log(&deployed)?;
    config.log = Some(log.clone());
    let events = log.clone();
    let engine = Engine::new(deployed.registry, deployed.agents, &deployed.functions)
        .and_then(|engine| engine.with_variables(upstream::variable))
        .map_err(|error| Failure(error.to_string()))?
        .with_log(move |event| events.event(&event));
    let engine = match &encryption {
        Some(encryption) if encryption.requires_certificates() => engine.with_certificates_required(),
        _ => engine,
    };
    // Plaintext is refused anywhere but on loopback.
    let mut auditing = Auditing::of(&deployed, args.insecure)?;
    tell_of_memory(&auditing, &listen);
    let engine = match auditing.options.take() {
        Some(options) => engine.with_audit(options),
        None => engine,
    };
    config.upstream_roots =
        Some(upstream::roots(&deployed.settings, &deployed.settings_origin, &deployed.base)?);
    // One engine for the process, used by threads that end with it.
    let engine: &'static Engine<'static> = Box::leak(Box::new(engine));
    let reloading = log.clone();
    let reload = move || {
        reloading.reopen();
        if let Some(encryption) = &encryption {
            match encryption.reload() {
                Ok(()) => reloading.message(Level::Info, "the certificate was read again"),
                Err(Failure(why)) => {
                    reloading.message(Level::Warn, &format!("the certificate in use stays: {why}"));
                }
            }
        }
    };
    let encrypted = config.tls.is_some();
    log_panics(log.clone());
    let served = server::serve_and_reload(engine, &config, |running| announce(running, encrypted), reload);
    auditing.close();
    log.close(LAST_LINES);
    served.map_err(Failure::new)?;
    Ok(ExitCode::SUCCESS)
}

/// Who serves others than this machine will want to keep what is put on record.
fn tell_of_memory(auditing: &Auditing, listen: &[SocketAddr]) {
    if !auditing.keeps_records() && !listen.iter().all(server::is_loopback) {
        warn(format_args!(
            "attribution records and lifecycles are kept in memory only; [audit] dir names a place for them"
        ));
    }
}

/// What `[log]` asks for.
fn open_log(deployed: &Deployed) -> Result<Log, Failure> {
    let config = operating::log(&deployed.settings, &deployed.settings_origin, &deployed.base)?;
    let file = config.file.clone();
    Log::open(config).map_err(|error| match file {
        Some(file) => Failure(format!("{}: {}: log.file: {error}", deployed.settings_origin, file.display())),
        None => Failure(format!("the log cannot be started: {error}")),
    })
}

/// A handler that panics does so on its core's thread, which must not wait for whoever reads stderr. Who asked for
/// backtraces is debugging, and gets them.
fn log_panics(log: Log) {
    if std::env::var_os("RUST_BACKTRACE").is_none_or(|value| value == "0") {
        std::panic::set_hook(Box::new(move |panic| {
            log.message(Level::Error, &panic.to_string().replace('\n', " "));
        }));
    }
}

/// What clients are shown and asked for, unless all is plaintext.
fn encryption(
    args: &Args,
    deployed: &Deployed,
    listen: &[SocketAddr],
) -> Result<Option<encryption::InUse>, Failure> {
    let origin = &deployed.settings_origin;
    let settings = encryption::Settings::of(&deployed.settings, origin, &deployed.base)?;
    if args.insecure {
        settings.refuse_plaintext(origin)?;
        return Ok(None);
    }
    refuse_without_certificate(&settings, listen)?;
    let encryption = encryption::InUse::start(settings)?;
    encryption.out_of_date(clock::unix_seconds()).iter().for_each(|why| warn(format_args!("{why}")));
    Ok(Some(encryption))
}

/// On loopback a certificate is made; elsewhere it has to be the operator's.
fn refuse_without_certificate(settings: &encryption::Settings, listen: &[SocketAddr]) -> Result<(), Failure> {
    match listen.iter().find(|address| !server::is_loopback(address)) {
        Some(address) if !settings.has_certificate() => Err(Failure(format!(
            "cannot serve {address} without a certificate: name one with its key in [tls] of agtp-server.toml, \
             or use --listen 127.0.0.1:{}",
            address.port()
        ))),
        _ => Ok(()),
    }
}

fn deployed(args: &Args) -> Result<Deployed, Failure> {
    let deployed = match (&args.deployment, &args.config) {
        (Some(directory), _) => deployment::from_directory(directory, args.strict)?,
        (None, Some(file)) => deployment::compiled_in_under(file, args.strict)?,
        (None, None) => deployment::compiled_in(args.strict)?,
    };
    deployed.warnings.iter().for_each(|warning| warn(format_args!("{warning}")));
    Ok(deployed)
}

fn server_config(args: &Args) -> Result<ServerConfig, Failure> {
    let mut config = ServerConfig { runtime: args.runtime, ..ServerConfig::default() };
    if let Some(cores) = args.cores {
        config.cores = usize::from(cores);
    }
    if !args.listen.is_empty() {
        config.listen =
            args.listen.iter().map(|text| addresses(text)).collect::<Result<Vec<_>, _>>()?.concat();
    }
    config.inherited = systemd::listeners(&args.listen)?;
    if !config.inherited.is_empty() {
        config.listen.clear();
    }
    Ok(config)
}

/// The addresses of `--listen`: one, unless a name stands for several.
fn addresses(text: &str) -> Result<Vec<SocketAddr>, Failure> {
    match text.to_socket_addrs().map(Vec::from_iter) {
        Ok(addresses) if !addresses.is_empty() => Ok(addresses),
        _ => Err(Failure(format!(
            "--listen {text} is no address; expected ADDR:PORT, such as 127.0.0.1:4480 or [::1]:0"
        ))),
    }
}

fn refuse_plaintext_abroad(listen: &[SocketAddr], insecure: bool) -> Result<(), Failure> {
    let Some(address) = listen.iter().find(|address| !server::is_loopback(address)) else { return Ok(()) };
    if !insecure {
        return Ok(());
    }
    Err(Failure(format!(
        "cannot serve {address}: --insecure is plaintext, which is for loopback only; use --listen 127.0.0.1:{}",
        address.port()
    )))
}

/// Says on stdout that connections are accepted. Whoever started the server may not be reading, which is no fault.
fn announce(running: &Running, encrypted: bool) {
    if let Some(warning) = running.warning() {
        warn(format_args!("{warning}"));
    }
    for address in running.addresses() {
        let plaintext = if encrypted { "" } else { ", plaintext" };
        let _ = output::print(format!("listening on agtp://{address}{plaintext}\n").as_bytes());
    }
    if let Some(address) = running.admin_address() {
        output::complain(format_args!("figures at http://{address}/metrics"));
    }
}

fn warn(line: std::fmt::Arguments<'_>) {
    let colours = Colours::of(&io::stderr());
    output::complain(format_args!("{}warning:{} {line}", colours.warning, colours.reset));
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    fn args(line: &[&str]) -> Args {
        Line::try_parse_from(["serve"].iter().chain(line)).unwrap().args
    }

    #[test]
    fn the_default_is_the_registered_port_on_loopback() {
        let config = server_config(&args(&[])).unwrap();
        assert_eq!(config.listen, ["127.0.0.1:4480".parse::<SocketAddr>().unwrap()]);
        assert!(refuse_plaintext_abroad(&config.listen, false).is_ok());
    }

    #[test]
    fn flags_become_settings() {
        let line = ["--listen", "127.0.0.1:0", "--listen", "[::1]:9", "--cores", "2", "--runtime", "epoll"];
        let config = server_config(&args(&line)).unwrap();
        assert_eq!(config.listen.len(), 2);
        assert_eq!((config.cores, config.runtime), (2, Runtime::Epoll));
        for bad in [&["--cores", "0"][..], &["--runtime", "kqueue"], &["--deployment", "a", "--config", "b"]]
        {
            assert!(Line::try_parse_from(["serve"].iter().chain(bad)).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn plaintext_stays_at_home() {
        for (address, part) in [("0.0.0.0:4480", "--insecure is plaintext"), ("[::]:0", "127.0.0.1:0")] {
            let address = addresses(address).unwrap();
            let Failure(message) = refuse_plaintext_abroad(&address, true).unwrap_err();
            assert!(message.contains(part) && !message.contains('\n'), "{message}");
            assert!(refuse_plaintext_abroad(&address, false).is_ok());
            let Failure(message) =
                refuse_without_certificate(&encryption::Settings::default(), &address).unwrap_err();
            assert!(message.contains("[tls] of agtp-server.toml") && !message.contains('\n'), "{message}");
        }
        assert!(refuse_plaintext_abroad(&addresses("[::ffff:127.0.0.1]:9").unwrap(), true).is_ok());
    }

    #[test]
    fn an_address_without_a_port_is_refused() {
        for bad in ["", "4480", "127.0.0.1", "127.0.0.1:x"] {
            let Failure(message) = addresses(bad).unwrap_err();
            assert!(message.contains("ADDR:PORT"), "{message}");
        }
    }
}
