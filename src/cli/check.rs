//! `agtp check`: every fault of a deployment, or of a manifest from anywhere.

use super::output::{self, visible};
use super::tls::Reach;
use super::{Failure, deployment, signing};
use crate::client::Request;
use crate::compiler::{ManifestOptions, check_manifest};
use crate::wire::Uri;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// Arguments of `agtp check`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A manifest is checked against the draft: fields, versions, endpoints, policies, signature. Each fault is told with a JSON
Pointer. Without --key only the form of the signature is checked.

Exit code: 0 no faults (warnings allowed), 1 faults, 2 nothing to check.

Examples:
  agtp check .
  agtp check manifest.json --key server.pub.pem
  agtp check agtp://localhost --json")]
pub(super) struct Args {
    /// A deployment's directory (it holds agtp-server.toml, endpoints/ and agents/), a manifest's file, or
    /// agtp://[AGENT_ID@]HOST[:PORT] to fetch one
    #[arg(default_value = ".")]
    target: String,
    /// The public key that the manifest is to be signed with: PEM, or 32 bytes in base64url
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    #[command(flatten)]
    reach: Reach,
    /// Also try to reach each upstream of external services that is not deferred: TCP and TLS
    #[arg(long)]
    online: bool,
    /// For machines
    #[arg(long)]
    json: bool,
}

/// Time for a server to send its manifest.
const TIMEOUT: Duration = Duration::from_secs(30);

const MEDIA_TYPE: &str = "application/vnd.agtp.manifest+json";

/// Runs `agtp check`.
pub(super) fn run(args: Args) -> Result<ExitCode, Failure> {
    let target = Path::new(&args.target);
    if args.target.starts_with("agtp://") {
        let (text, anonymous) = fetch(&args.target, &args.reach)?;
        return manifest(&text, anonymous, &args);
    }
    if target.is_file() {
        let bytes = std::fs::read(target).map_err(|error| Failure::file(target, &error))?;
        return manifest(&String::from_utf8_lossy(&bytes), false, &args);
    }
    if args.key.is_some() {
        return Err(Failure(format!("--key is for manifests, and {} is none", args.target)));
    }
    let report = deployment::check(target, args.online)?;
    print(if args.json { report.to_json().to_string() } else { report.to_string() })?;
    Ok(ExitCode::from(u8::from(report.errors() > 0)))
}

fn manifest(text: &str, anonymous: bool, args: &Args) -> Result<ExitCode, Failure> {
    let key = args.key.as_deref().map(signing::public_key).transpose()?;
    let report = check_manifest(text, &ManifestOptions { key: key.as_ref(), anonymous });
    // What stands in it may have been written by anybody.
    print(if args.json { report.to_json().to_string() } else { visible(&report.to_string()) })?;
    Ok(ExitCode::from(u8::from(report.errors() > 0)))
}

fn print(text: String) -> Result<(), Failure> {
    output::print(format!("{text}\n").as_bytes())
}

/// Asks a server for its manifest (draft: Manifest Retrieval). Returns it, and whether nobody said who asks.
pub(super) fn fetch(target: &str, reach: &Reach) -> Result<(String, bool), Failure> {
    let uri = Uri::parse(target).map_err(|fault| Failure(format!("{target}: {fault}")))?;
    let mut request = Request::new("DISCOVER", "/").map_err(Failure::new)?;
    request.header("Accept", MEDIA_TYPE).map_err(Failure::new)?;
    if let Some(agent_id) = uri.agent_id {
        request.header("Agent-ID", agent_id).map_err(Failure::new)?;
    }
    let response = reach.connect(&uri, TIMEOUT)?.call(&request).map_err(Failure::new)?;
    if response.status() != 200 {
        return Err(Failure(format!(
            "{target} answered {} {} instead of its manifest; an agent it knows may be told: agtp://AGENT_ID@HOST",
            response.status(),
            response.reason()
        )));
    }
    if response.header("Content-Type").is_none_or(|media| !media.eq_ignore_ascii_case(MEDIA_TYPE)) {
        output::complain(format_args!("warning: the answer's Content-Type is not {MEDIA_TYPE}"));
    }
    Ok((String::from_utf8_lossy(response.body()).into_owned(), uri.agent_id.is_none()))
}
