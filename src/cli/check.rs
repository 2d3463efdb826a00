//! `agtp check`: every fault of a deployment.

use super::{Failure, deployment, output};
use std::path::PathBuf;
use std::process::ExitCode;

/// Arguments of `agtp check`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Exit code: 0 no faults (warnings allowed), 1 faults, 2 not a deployment.")]
pub(super) struct Args {
    /// The deployment's directory: it holds agtp-server.toml, endpoints/ and agents/
    #[arg(default_value = ".")]
    directory: PathBuf,
    /// For machines
    #[arg(long)]
    json: bool,
}

/// Runs `agtp check`.
pub(super) fn run(args: Args) -> Result<ExitCode, Failure> {
    let report = deployment::check(&args.directory)?;
    let text = if args.json { report.to_json().to_string() } else { report.to_string() };
    output::print(format!("{text}\n").as_bytes())?;
    Ok(ExitCode::from(u8::from(report.errors() > 0)))
}
