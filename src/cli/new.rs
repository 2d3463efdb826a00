//! `agtp new`: files to begin with.

use super::files::Staged;
use super::{Failure, output};
use crate::catalog::Catalog;
use crate::compiler::{Fault, ReadOptions, Severity, read_documents};
use crate::openapi::slug;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

/// Commands of `agtp new`.
#[derive(Debug, clap::Subcommand)]
pub(super) enum Command {
    /// Write an endpoint's TOML, valid as it is
    Endpoint(Endpoint),
}

/// Arguments of `agtp new endpoint`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Writes DIR/endpoints/NAME.toml and overwrites nothing. It is bound to the function `echo`, which every `agtp serve` has, so
that it can be served and called at once.

Example:
  agtp new endpoint BOOK '/tables/{table_id}'
  agtp check .")]
pub(super) struct Endpoint {
    /// A method of the catalog
    method: String,
    /// The path template, such as '/tables/{table_id}'
    path: String,
    /// The deployment's directory
    #[arg(long, value_name = "DIR", default_value = ".")]
    deployment: PathBuf,
    /// The registered function that handles it
    #[arg(long, value_name = "NAME", default_value = "echo")]
    function: String,
}

/// Runs `agtp new`.
pub(super) fn run(command: Command) -> Result<ExitCode, Failure> {
    let Command::Endpoint(args) = command;
    let name = slug(&args.method, &args.path);
    let text = endpoint(&args);
    let settings = std::fs::read_to_string(args.deployment.join("agtp-server.toml")).unwrap_or_default();
    let documents = [(name.as_str(), text.as_str()), ("agtp-server.toml", settings.as_str())];
    let reading = read_documents(&documents, &ReadOptions::default());
    let is_error = |fault: &&Fault| fault.severity == Severity::Error && fault.source.file == name;
    if let Some(fault) = reading.report.faults.iter().find(is_error) {
        return Err(Failure(format!("{}; {}", fault.message, fault.remedy)));
    }
    let staged = Staged::new(&args.deployment)?;
    staged.add(&name, &text)?;
    staged.publish(false)?;
    output::print(format!("{}\n", args.deployment.join(&name).display()).as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

/// A basic string of TOML.
fn quoted(text: &str) -> String {
    toml::Value::from(text).to_string()
}

fn endpoint(args: &Endpoint) -> String {
    let catalog = Catalog::builtin();
    let verb = catalog.verb(&args.method);
    let capability = verb.and_then(|verb| verb.categories.first()).map_or("transaction", String::as_str);
    let reads = ["discovery", "retrieval", "analysis"].contains(&capability);
    let impact = if reads { "informational" } else { "irreversible" };
    let description = verb.map_or("What it does, in one sentence.", |verb| verb.description.as_str());
    let mut text = format!(
        "[endpoint]\nmethod = {}\npath = {}\ndescription = {}\nerrors = []              # names a caller can count on, such as \
         \"table_taken\"\n# required_scopes = [\"domain:action\"]\n\n[endpoint.semantic]\nintent = \"What the caller wants done.\"\n\
         actor = \"agent\"\noutcome = \"What holds afterwards.\"\ncapability = \"{capability}\"\nconfidence = 0.9\n\
         impact = \"{impact}\"           # informational, reversible or irreversible\nis_idempotent = {reads}\n",
        quoted(&args.method),
        quoted(&args.path),
        quoted(description),
    );
    for name in args.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}')) {
        let field = format!(
            "\n[[endpoint.input.required]]\nname = {}\ntype = \"string\"\ndescription = \"A part of the path.\"\n",
            quoted(name)
        );
        text.push_str(&field);
    }
    // Writing to a string does not fail.
    let _ = write!(
        text,
        "\n[[endpoint.input.optional]]\nname = \"note\"\ntype = \"string\"\ndescription = \"Whatever else is to be said.\"\n\n\
         # Without outputs any object is taken. One looks like this:\n# [[endpoint.output]]\n# name = \"id\"\n# type = \"string\"\n\
         # description = \"What it is called from now on.\"\n\n[endpoint.handler]\ntype = \"registered_function\"\n\
         function = {}\n",
        quoted(&args.function)
    );
    text
}
