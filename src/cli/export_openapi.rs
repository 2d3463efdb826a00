//! `agtp export-openapi`: a deployment's endpoints for consumers of HTTP.

use super::files::Staged;
use super::tls::Reach;
use super::{Failure, check, deployment, output};
use crate::openapi::{ExportOptions, export};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Arguments of `agtp export-openapi`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The document is OpenAPI 3.1 and derived: the manifest stays authoritative, and `info` links to it. Verbs become HTTP methods
by the operator's aliases, else GET for reading, PATCH for modification and POST for the rest; what HTTP has no place for
stands under x-agtp, and `agtp import-openapi` takes it back.

Without --deployment and address, the compiled-in deployment is exported.

Examples:
  agtp export-openapi > hotel.json
  agtp export-openapi --deployment . --output openapi.json
  agtp export-openapi agtp://localhost")]
pub(super) struct Args {
    /// A live server, agtp://[AGENT_ID@]HOST[:PORT]
    #[arg(value_name = "URI", conflicts_with = "deployment")]
    server: Option<String>,
    /// Export this directory's deployment
    #[arg(long, value_name = "DIR")]
    deployment: Option<PathBuf>,
    /// Where to write, instead of stdout
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    reach: Reach,
}

/// Runs `agtp export-openapi`.
pub(super) fn run(args: Args) -> Result<ExitCode, Failure> {
    let (origin, text) = match (&args.server, &args.deployment) {
        (Some(server), _) => (server.clone(), check::fetch(server, &args.reach)?.0),
        (None, Some(directory)) => (directory.display().to_string(), deployment::manifest(directory)?),
        (None, None) => ("the compiled-in deployment".to_owned(), deployment::compiled_in_manifest()),
    };
    let manifest: Value = serde_json::from_str(&text)
        .map_err(|error| Failure(format!("{origin}: its manifest is no JSON: {error}")))?;
    let options = ExportOptions { manifest_url: args.server.as_deref() };
    let document = export(&manifest, &options).map_err(|why| Failure(format!("{origin}: {why}")))?;
    // What came over the network may hold anything; JSON escapes what could take a terminal over, but for the C1 controls.
    let text = output::visible(&format!("{document:#}\n"));
    match &args.output {
        None => output::print(text.as_bytes())?,
        Some(file) => write(file, &text)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes the file whole or not at all.
fn write(file: &Path, text: &str) -> Result<(), Failure> {
    let Some(name) = file.file_name().and_then(|name| name.to_str()) else {
        return Err(Failure(format!("{} is no file", file.display())));
    };
    let directory = file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let staged = Staged::new(directory)?;
    staged.add(name, text)?;
    staged.publish(true)
}
