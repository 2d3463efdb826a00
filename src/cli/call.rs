//! `agtp call`: one request, one answer.

use super::output::{self, Colours};
use super::tls::Reach;
use super::{Failure, agent, hints};
use crate::client::{Request, Response};
use crate::wire::Uri;
use std::fmt::Write as _;
use std::io::{self, IsTerminal, Read};
use std::path::Path;
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
    /// Body: JSON, @FILE, or - for stdin
    #[arg(short = 'd', long = "data", value_name = "JSON|@FILE|-", allow_hyphen_values = true)]
    data: Option<String>,
    /// A header, 'Name: value'; may be repeated
    #[arg(short = 'H', long = "header", value_name = "NAME: VALUE")]
    headers: Vec<String>,
    /// Speak as this agent: an identity document, or its name in ./agents
    #[arg(long, value_name = "NAME|FILE", conflicts_with = "agent_id")]
    agent: Option<String>,
    /// Speak as this agent: 64 hexadecimal digits
    #[arg(long, value_name = "ID")]
    agent_id: Option<String>,
    /// Claim these scopes instead of all that the agent's document grants
    #[arg(long, value_name = "A:B,C:D")]
    scope: Option<String>,
    #[command(flatten)]
    reach: Reach,
    /// Print status line and headers before the body
    #[arg(short = 'i', long = "include")]
    include: bool,
    /// Seconds to wait for the answer
    #[arg(long, value_name = "S", default_value = "30", value_parser = seconds)]
    timeout: Duration,
}

/// Runs `agtp call`.
pub(super) fn run(args: Args) -> Result<ExitCode, Failure> {
    let uri = Uri::parse(&args.uri).map_err(|fault| Failure(format!("{}: {fault}", args.uri)))?;
    let request = build(&args, &uri)?;
    let response = args.reach.connect(&uri, args.timeout)?.call(&request).map_err(Failure::new)?;
    tell(&response);
    show(&response, args.include)?;
    Ok(if response.is_success() { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

/// The request that the arguments describe.
fn build(args: &Args, uri: &Uri<'_>) -> Result<Request, Failure> {
    let target = match uri.query {
        Some(query) => format!("{}?{query}", uri.path),
        None => uri.path.to_owned(),
    };
    let mut request = Request::new(&args.method, &target).map_err(Failure::new)?;
    let (agent_id, scopes) = identity(args, uri)?;
    let scopes = args.scope.clone().or(scopes);
    for (name, value) in [("Agent-ID", agent_id), ("Authority-Scope", scopes)] {
        if let Some(value) = value {
            request.header(name, &value).map_err(Failure::new)?;
        }
    }
    for line in &args.headers {
        request.header_line(line).map_err(Failure::new)?;
    }
    if let Some(data) = &args.data {
        request.body(body(data)?);
    }
    Ok(request)
}

/// Who speaks, and the scopes its document grants: from `--agent`, `--agent-id` or the address, which must not
/// contradict each other.
fn identity(args: &Args, uri: &Uri<'_>) -> Result<(Option<String>, Option<String>), Failure> {
    let caller = args.agent.as_deref().map(agent::load).transpose()?;
    let (named, scopes) = match caller {
        Some(caller) => (Some(caller.agent_id), Some(caller.scopes.join(","))),
        None => (args.agent_id.clone(), None),
    };
    match (named, uri.agent_id) {
        (Some(named), Some(addressed)) if named != addressed => Err(Failure(format!(
            "the address names agent {addressed}, the arguments name {named}; leave one of them out"
        ))),
        (named, addressed) => {
            let scopes = scopes.filter(|scopes| !scopes.is_empty());
            Ok((named.or_else(|| addressed.map(str::to_owned)), scopes))
        }
    }
}

fn body(data: &str) -> Result<Vec<u8>, Failure> {
    match (data, data.strip_prefix('@')) {
        ("-", _) => {
            let mut bytes = Vec::new();
            let read = io::stdin().lock().read_to_end(&mut bytes);
            read.map_err(|error| Failure(format!("cannot read the body from stdin: {error}")))?;
            Ok(bytes)
        }
        (_, Some(file)) => std::fs::read(file).map_err(|error| Failure::file(Path::new(file), &error)),
        (json, None) => Ok(json.as_bytes().to_vec()),
    }
}

fn seconds(text: &str) -> Result<Duration, String> {
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
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    const ID: &str = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
    const CONCIERGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/agents/concierge.agent.json");

    fn encoded(line: &[&str]) -> Result<String, String> {
        let args = Line::try_parse_from(["call"].iter().chain(line)).map_err(|error| error.to_string())?.args;
        let uri = Uri::parse(&args.uri).map_err(|fault| fault.to_string())?;
        let request = build(&args, &uri).map_err(|Failure(message)| message)?;
        String::from_utf8(request.encode()).map_err(|error| error.to_string())
    }

    #[test]
    fn an_agent_brings_its_id_and_its_scopes() {
        let request =
            encoded(&["BOOK", "agtp://localhost/rooms/12?x=1", "--agent", CONCIERGE, "-d", "{}"]).unwrap();
        assert!(request.starts_with("AGTP/1.0 BOOK /rooms/12?x=1\r\nAgent-ID: "), "{request}");
        assert!(request.contains("\r\nAuthority-Scope: booking:*,reservations:*\r\n"), "{request}");
        assert!(request.ends_with("\r\nContent-Length: 2\r\n\r\n{}"), "{request}");
    }

    #[test]
    fn scope_replaces_what_the_document_grants() {
        let uri = "agtp://localhost/rooms";
        let request = encoded(&["FIND", uri, "--agent", CONCIERGE, "--scope", "rooms:read"]).unwrap();
        assert!(request.contains("\r\nAuthority-Scope: rooms:read\r\n"), "{request}");
        let request = encoded(&["FIND", uri, "--agent-id", ID]).unwrap();
        assert_eq!(request, format!("AGTP/1.0 FIND /rooms\r\nAgent-ID: {ID}\r\n\r\n"));
    }

    #[test]
    fn the_address_may_name_the_agent() {
        let uri = format!("agtp://{ID}@localhost");
        let request = encoded(&["DISCOVER", &uri]).unwrap();
        assert_eq!(request, format!("AGTP/1.0 DISCOVER /\r\nAgent-ID: {ID}\r\n\r\n"));
        assert_eq!(encoded(&["DISCOVER", &uri, "--agent-id", ID]).unwrap(), request);
        let error = encoded(&["DISCOVER", &uri, "--agent", CONCIERGE]).unwrap_err();
        assert!(error.contains("leave one of them out"), "{error}");
    }

    #[test]
    fn what_cannot_be_sent_is_refused_in_one_line() {
        for line in [
            &["BOOK", "http://localhost/"][..],
            &["BO OK", "agtp://localhost/"],
            &["BOOK", "agtp://localhost/", "-H", "no colon"],
            &["BOOK", "agtp://localhost/", "-H", "Content-Length: 3"],
            &["BOOK", "agtp://localhost/", "-d", "@/nonexistent"],
            &["BOOK", "agtp://localhost/", "--scope", "a:b\r\nX: y"],
        ] {
            let error = encoded(line).unwrap_err();
            assert!(!error.is_empty() && !error.contains('\n'), "{line:?}: {error}");
        }
    }

    #[test]
    fn timeouts_are_positive_seconds() {
        assert_eq!(seconds("0.5"), Ok(Duration::from_millis(500)));
        for bad in ["0", "-1", "NaN", "inf", "1e300", "", "5s"] {
            assert!(seconds(bad).is_err(), "{bad}");
        }
    }
}
