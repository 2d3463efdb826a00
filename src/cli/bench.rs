//! `agtp bench`: how many requests a second a server answers, and how long each takes.

use super::ask::Ask;
use super::call::seconds;
use super::output;
use super::tls::Reach;
use super::{Failure, Outcome};
use crate::bench::{self, BenchError, Measured, Phase, Plan, Report, Watch};
use crate::wire::Uri;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::Value;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::{Handle, Signals};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Arguments of `agtp bench`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Without --rate, each connection always has DEPTH requests under way (closed loop). With it, requests are sent when they
are due, whether or not others were answered (open loop), and latency counts from that moment. Each thread then waits
awake for the next request: give the server other cores. Before the run the request is sent once, to see that it is
answered at all.

Success is 200, 202 or 204. Ctrl-C ends the run and prints what was measured.
Exit code: 0 when every request was done; 1 when there were other answers or errors, or the run is marked invalid
because this generator was the bottleneck; 2 when nothing was measured.

Example:
  agtp bench agtp://localhost/rooms/12 -m BOOK --agent concierge -c 64 -p 16 \\
    -d '{\"guest_name\":\"Ada Lovelace\",\"check_in\":\"2026-07-01\",\"nights\":3}'")]
pub(super) struct Args {
    /// agtp://[AGENT_ID@]HOST[:PORT]/PATH[?QUERY]
    #[arg(required_unless_present = "compare")]
    uri: Option<String>,
    /// The method
    #[arg(short = 'm', long, default_value = "DISCOVER")]
    method: String,
    #[command(flatten)]
    ask: Ask,
    #[command(flatten)]
    reach: Reach,
    /// Connections
    #[arg(short = 'c', long, value_name = "CONNS", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    connections: u32,
    /// Requests under way on each connection
    #[arg(short = 'p', long = "pipeline", value_name = "DEPTH", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=65_536))]
    depth: u32,
    /// Seconds to measure
    #[arg(short = 't', long = "time", value_name = "SECS", default_value = "10", value_parser = seconds)]
    time: Duration,
    /// Seconds to send requests before that, which do not count
    #[arg(long, value_name = "SECS", default_value = "1", value_parser = seconds_or_none)]
    warmup: Duration,
    /// Requests a second in all, each sent when it is due
    #[arg(long, value_name = "N", value_parser = rate)]
    rate: Option<f64>,
    /// Threads to send with
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1024))]
    cores: u16,
    /// Seconds to wait for an answer or a connection
    #[arg(long, value_name = "S", default_value = "10", value_parser = seconds)]
    timeout: Duration,
    /// Print a JSON object instead of text
    #[arg(long)]
    json: bool,
    /// Compare two results of --json instead of measuring
    #[arg(long, num_args = 2, value_names = ["A.JSON", "B.JSON"], conflicts_with = "uri")]
    compare: Option<Vec<PathBuf>>,
}

/// Runs `agtp bench`.
pub(super) fn run(args: Args) -> Outcome {
    match (&args.compare, &args.uri) {
        (Some(files), _) => compare(files),
        (None, Some(uri)) => measure(&args, uri),
        (None, None) => Err(Failure("name an address, such as agtp://localhost".to_owned())),
    }
}

fn compare(files: &[PathBuf]) -> Outcome {
    let read = |file: &PathBuf| {
        let text = std::fs::read_to_string(file).map_err(|error| Failure::file(file, &error))?;
        let value: Result<Value, _> = serde_json::from_str(&text);
        value.map_err(|error| Failure(format!("{}: it is no JSON: {error}", file.display())))
    };
    let [first, second] = files else { return Err(Failure("name two files".to_owned())) };
    let shown = |file: &Path| file.display().to_string();
    let table = bench::compare(&read(first)?, &read(second)?);
    let table = table.map_err(|why| Failure(format!("{}, {}: {why}", shown(first), shown(second))))?;
    output::print(table.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

fn measure(args: &Args, address: &str) -> Outcome {
    let uri = Uri::parse(address).map_err(|fault| Failure(format!("{address}: {fault}")))?;
    let plan = plan(args, &uri)?;
    let measured = watched(&plan)?;
    if measured.seconds == 0.0 || (measured.tally.answers == 0 && measured.first_fault.is_some()) {
        let why = measured.first_fault.as_deref().unwrap_or("it was stopped before anything was measured");
        return Err(Failure(why.to_owned()));
    }
    let what = format!("{} {address}", args.method);
    let report = Report { what: &what, plan: &plan, measured: &measured };
    let text = if args.json { format!("{:#}\n", report.to_json()) } else { report.to_string() };
    output::print(text.as_bytes())?;
    Ok(if report.is_clean() { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

/// What the arguments describe. The request is sent once before it is sent often: what keeps it from being answered at
/// all is told better by one connection than by many.
fn plan(args: &Args, uri: &Uri<'_>) -> Result<Plan, Failure> {
    let request = args.ask.request(&args.method, uri)?;
    args.reach.connect(uri, args.timeout)?.call(&request).map_err(Failure::new)?;
    let way = args.reach.way(uri)?;
    Ok(Plan {
        trust: way.trust,
        connections: args.connections as usize,
        depth: args.depth,
        threads: usize::from(args.cores),
        duration: args.time,
        warmup: args.warmup,
        timeout: args.timeout,
        rate: args.rate,
        ..Plan::new(way.addresses, uri.host, request.encode())
    })
}

/// Measures, with Ctrl-C to end it and its progress on a terminal.
fn watched(plan: &Plan) -> Result<Measured, Failure> {
    let watch = Arc::new(Watch::new());
    let signals = Interrupt::watch(Arc::clone(&watch))?;
    let measured = std::thread::scope(|scope| {
        let progress = scope.spawn(|| show_progress(plan, &watch));
        let measured = bench::run(plan, &watch);
        progress.thread().unpark();
        measured
    });
    signals.end();
    measured.map_err(|error| match error {
        BenchError::Unreachable(why) => Failure(format!("no connection came about: {why}")),
        error => Failure::new(error),
    })
}

/// Stops a run at the first signal. The second ends the process, as it would without us.
struct Interrupt {
    handle: Handle,
    thread: JoinHandle<()>,
}

impl Interrupt {
    fn watch(watch: Arc<Watch>) -> Result<Interrupt, Failure> {
        let refused = |error| Failure(format!("cannot watch for Ctrl-C: {error}"));
        let mut signals = Signals::new([SIGINT, SIGTERM]).map_err(refused)?;
        let handle = signals.handle();
        let thread = std::thread::spawn(move || {
            for signal in signals.forever() {
                if watch.is_stopped() {
                    let _ = signal_hook::low_level::emulate_default_handler(signal);
                }
                watch.stop();
            }
        });
        Ok(Interrupt { handle, thread })
    }

    fn end(self) {
        self.handle.close();
        // It has nothing to tell.
        let _ = self.thread.join();
    }
}

/// How often the progress is drawn.
const TICK: Duration = Duration::from_millis(100);

/// On a terminal only; elsewhere a hidden bar draws nothing.
fn show_progress(plan: &Plan, watch: &Watch) {
    let whole = (plan.warmup + plan.duration).as_millis();
    let bar = ProgressBar::new(u64::try_from(whole).unwrap_or(u64::MAX));
    let style = ProgressStyle::with_template("{msg:14} [{bar:30}] {prefix}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("=> "));
    let (mut last, mut begun) = (0, None);
    while watch.phase() < Phase::Over {
        std::thread::park_timeout(TICK);
        let phase = watch.phase();
        if phase > Phase::Connecting {
            let begun: &mut Instant = begun.get_or_insert_with(Instant::now);
            bar.set_position(u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX));
        }
        let answers = watch.answers();
        let rate = (answers - last) as f64 / TICK.as_secs_f64();
        last = answers;
        bar.set_message(name(phase));
        bar.set_prefix(format!("{rate:.0} answers/s, {} errors", watch.errors()));
    }
    bar.finish_and_clear();
}

const fn name(phase: Phase) -> &'static str {
    match phase {
        Phase::Connecting => "connecting",
        Phase::WarmingUp => "warming up",
        Phase::Measuring => "measuring",
        Phase::Ending | Phase::Over => "ending",
    }
}

fn seconds_or_none(text: &str) -> Result<Duration, String> {
    if text == "0" { Ok(Duration::ZERO) } else { seconds(text) }
}

fn rate(text: &str) -> Result<f64, String> {
    let rate = text.parse().ok().filter(|rate: &f64| (0.001..=1e9).contains(rate));
    rate.ok_or_else(|| "expected requests a second, such as 50000".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    fn parsed(line: &[&str]) -> Result<Args, String> {
        let line = Line::try_parse_from(["bench"].iter().chain(line));
        line.map(|line| line.args).map_err(|error| error.to_string())
    }

    #[test]
    fn an_address_or_two_files_are_needed() {
        assert!(parsed(&["agtp://localhost"]).is_ok());
        let args = parsed(&["--compare", "a.json", "b.json"]).unwrap();
        assert_eq!(args.compare.unwrap().len(), 2);
        for bad in [&[][..], &["--compare", "a.json"], &["agtp://localhost", "--compare", "a", "b"]] {
            assert!(parsed(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn numbers_have_bounds() {
        for (flag, good, bad) in [
            ("-c", "64", "0"),
            ("-p", "16", "0"),
            ("-t", "0.5", "0"),
            ("--warmup", "0", "-1"),
            ("--rate", "0.5", "0"),
            ("--rate", "1e6", "inf"),
            ("--cores", "2", "0"),
        ] {
            assert!(parsed(&["agtp://localhost", flag, good]).is_ok(), "{flag} {good}");
            assert!(parsed(&["agtp://localhost", flag, bad]).is_err(), "{flag} {bad}");
        }
    }

    #[test]
    fn results_that_cannot_be_read_are_named() {
        let Err(Failure(why)) = compare(&["/nonexistent".into(), "/nonexistent".into()]) else { panic!() };
        assert!(why.contains("/nonexistent") && !why.contains('\n'), "{why}");
    }
}
