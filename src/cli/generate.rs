//! `agtp completions` and `agtp man`: what shells and `man` read, made from the arguments themselves.

use super::files::Staged;
use super::{Cli, Failure, output};
use clap::CommandFactory;
use clap_complete::Shell;
use std::path::PathBuf;
use std::process::ExitCode;

/// Arguments of `agtp completions`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  agtp completions bash > ~/.local/share/bash-completion/completions/agtp
  agtp completions zsh > \"${fpath[1]}/_agtp\"
  agtp completions fish > ~/.config/fish/completions/agtp.fish")]
pub(super) struct Completions {
    /// The shell
    shell: Shell,
}

/// Arguments of `agtp man`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  agtp man ~/.local/share/man/man1 && man agtp-serve")]
pub(super) struct Man {
    /// Where to write agtp.1 and a page for each command
    #[arg(value_name = "DIR")]
    directory: PathBuf,
}

/// Runs `agtp completions`.
pub(super) fn completions(args: &Completions) -> Result<ExitCode, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "agtp", &mut script);
    output::print(&script)?;
    Ok(ExitCode::SUCCESS)
}

/// Runs `agtp man`.
pub(super) fn man(args: &Man) -> Result<ExitCode, Failure> {
    let staged = Staged::new(&args.directory)?;
    let mut root = Cli::command().disable_help_subcommand(true);
    root.build();
    pages(&root, "agtp", &staged)?;
    staged.publish(true)?;
    Ok(ExitCode::SUCCESS)
}

/// The page of a command, and those of the commands below it.
fn pages(command: &clap::Command, name: &str, staged: &Staged) -> Result<(), Failure> {
    let mut page = Vec::new();
    let rendered = clap_mangen::Man::new(command.clone()).render(&mut page);
    rendered.map_err(|error| Failure(format!("cannot render {name}.1: {error}")))?;
    staged.add(&format!("{name}.1"), &String::from_utf8_lossy(&page))?;
    let mut below = command.get_subcommands().filter(|below| !below.is_hide_set());
    below.try_for_each(|below| pages(below, &format!("{name}-{}", below.get_name()), staged))
}
