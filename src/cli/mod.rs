//! The command line: arguments in, exit code out.
//!
//! Every command returns an exit code or a `Failure`, which is one line on stderr and exit code 2. Writing to a
//! closed pipe ends a command quietly.

mod agent;
mod agent_cert;
mod agents;
mod ask;
mod audit;
mod bench;
mod call;
mod catalog;
mod catalog_diff;
mod check;
mod clock;
mod compiled;
mod deployment;
mod development;
mod encryption;
mod explain;
mod export_openapi;
mod files;
mod generate;
mod hints;
mod import_openapi;
mod keygen;
mod new;
mod operating;
mod output;
mod serve;
mod settings;
mod signing;
mod systemd;
mod tls;
mod upstream;

pub use catalog_diff::catalog_diff;

use clap::{Parser, Subcommand};
use std::fmt;
use std::process::ExitCode;

/// What a command comes to.
type Outcome = Result<ExitCode, Failure>;

/// Why a command could not do its work: what is wrong and what to do, in one line.
#[derive(Debug)]
struct Failure(String);

impl Failure {
    fn new(message: impl fmt::Display) -> Failure {
        Failure(message.to_string())
    }

    /// A file that cannot be read.
    fn file(path: &std::path::Path, error: &std::io::Error) -> Failure {
        Failure(format!("cannot read {}: {error}", path.display()))
    }
}

/// Server, engine and toolbox for the Agent Transfer Protocol's method layer.
#[derive(Debug, Parser)]
#[command(
    name = "agtp",
    version,
    max_term_width = 110,
    subcommand_required = true,
    arg_required_else_help = true
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve a deployment: the compiled-in one, or that of a directory
    Serve(serve::Args),
    /// Send one request and print its answer
    Call(call::Args),
    /// Measure how fast a server answers
    Bench(bench::Args),
    /// Report every fault of a deployment or a manifest
    Check(check::Args),
    /// Make and verify agents
    #[command(subcommand)]
    Agent(agents::Command),
    /// Prove what a server has put on record
    #[command(subcommand)]
    Audit(audit::Command),
    /// Make a key for a server to sign with
    Keygen(keygen::Args),
    /// Look methods up in the catalog
    #[command(subcommand)]
    Catalog(catalog::Command),
    /// Make a deployment in front of the service that an OpenAPI document describes
    ImportOpenapi(import_openapi::Args),
    /// Render a deployment's endpoints as an OpenAPI 3.1 document
    ExportOpenapi(export_openapi::Args),
    /// Write files to begin with
    #[command(subcommand)]
    New(new::Command),
    /// Say what a status means and what to do
    Explain(explain::Args),
    /// Print the completions of a shell
    Completions(generate::Completions),
    /// Write manual pages
    Man(generate::Man),
}

/// Runs the command that the process's arguments name.
pub fn run() -> ExitCode {
    finish("agtp", |cli: Cli| match cli.command {
        Command::Serve(args) => serve::run(args),
        Command::Call(args) => call::run(args),
        Command::Bench(args) => bench::run(args),
        Command::Check(args) => check::run(args),
        Command::Agent(command) => agents::run(command),
        Command::Audit(command) => audit::run(command),
        Command::Keygen(args) => keygen::run(args),
        Command::Catalog(command) => catalog::run(command),
        Command::ImportOpenapi(args) => import_openapi::run(args),
        Command::ExportOpenapi(args) => export_openapi::run(args),
        Command::New(command) => new::run(command),
        Command::Explain(args) => explain::run(args),
        Command::Completions(args) => generate::completions(&args),
        Command::Man(args) => generate::man(&args),
    })
}

/// Parses the process's arguments and does what they ask for.
fn finish<Arguments: Parser>(name: &str, run: impl FnOnce(Arguments) -> Outcome) -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            // Help and version come this way too, with exit code 0. A closed pipe is no reason to fail.
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    run(arguments).unwrap_or_else(|Failure(message)| {
        output::complain(format_args!("{name}: {message}"));
        ExitCode::from(2)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_arguments_are_consistent() {
        Cli::command().debug_assert();
    }
}
