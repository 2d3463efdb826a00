//! `agtp call`: one request, one answer.

use super::ask::Ask;
use super::output::{self, Colours};
use super::tls::Reach;
use super::{Failure, hints};
use crate::client::Response;
use crate::wire::Uri;
use std::fmt::Write as _;
use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// Arguments of `agtp call`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The body goes to stdout, everything else to stderr.
Exit code: 0 for 2xx except 262, 1 for any other status, 2 when no answer came.

Example:
  agtp call BOOK agtp://localhost/rooms/12 --agent concierge \\
    -d '{\"guest_name\":\"Ada Lovelace\",\"check_in\":\"2026-07-01\",\"nights\":3}'")]
pub(super) struct Args {
    /// The method, sent as it is
    method: String,
    /// agtp://[AGENT_ID@]HOST[:PORT]/PATH[?QUERY]
    uri: String,
    #[command(flatten)]
    ask: Ask,
    #[command(flatten)]
    reach: Reach,
    /// The same as --cert-key
    #[arg(long, value_name = "FILE", requires = "cert", conflicts_with = "cert_key", hide = true)]
    key: Option<PathBuf>,
    /// Print status line and headers before the body
    #[arg(short = 'i', long = "include")]
    include: bool,
    /// Seconds to wait for the answer
    #[arg(long, value_name = "S", default_value = "30", value_parser = seconds)]
    timeout: Duration,
}

/// Runs `agtp call`.
pub(super) fn run(mut args: Args) -> Result<ExitCode, Failure> {
    args.reach = args.reach.with_key(args.key.take());
    let uri = Uri::parse(&args.uri).map_err(|fault| Failure(format!("{}: {fault}", args.uri)))?;
    let request = args.ask.request(&args.method, &uri)?;
    let response = args.reach.connect(&uri, args.timeout)?.call(&request).map_err(Failure::new)?;
    tell(&response);
    show(&response, args.include)?;
    Ok(if response.is_success() { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

/// A time given on the command line.
pub(super) fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().filter(|&seconds: &f64| seconds > 0.0);
    seconds
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .ok_or_else(|| "expected a number of seconds above 0, such as 5 or 0.5".to_owned())
}

/// Writes to stderr what the answer means beyond its body.
fn tell(response: &Response) {
    let colours = Colours::of(&io::stderr());
    if !response.is_success() {
        let mut lines = hints::refusal(response.status(), response.reason(), response.body()).into_iter();
        if let Some(first) = lines.next() {
            output::complain(format_args!("{}{}{}", colours.strong, output::visible(&first), colours.reset));
        }
        lines.for_each(|line| output::complain(format_args!("  {}", output::visible(&line))));
    }
    for line in hints::warnings(response) {
        output::complain(format_args!("{}warning:{} {line}", colours.warning, colours.reset));
    }
}

/// Writes the body to stdout, `-i` with status line and headers first.
fn show(response: &Response, include: bool) -> Result<(), Failure> {
    let mut shown = Vec::new();
    if include {
        shown.extend_from_slice(head(response).as_bytes());
    }
    let stdout = io::stdout();
    if stdout.is_terminal() {
        shown.extend_from_slice(output::for_terminal(response.body(), Colours::of(&stdout)).as_bytes());
    } else {
        shown.extend_from_slice(response.body());
    }
    output::print(&shown)
}

fn head(response: &Response) -> String {
    let mut head = format!("AGTP/1.0 {} {}\n", response.status(), response.reason());
    for (name, value) in response.headers() {
        let _ = writeln!(head, "{name}: {value}");
    }
    head.push('\n');
    head
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timeouts_are_positive_seconds() {
        assert_eq!(seconds("0.5"), Ok(Duration::from_millis(500)));
        for bad in ["0", "-1", "NaN", "inf", "1e300", "", "5s"] {
            assert!(seconds(bad).is_err(), "{bad}");
        }
    }
}
