//! `agtp` beside what limits it and beside what could be used instead, in one session: a table, and a CSV.
//!
//! ```text
//! table       the servers in interleaved rounds: rates, latencies, CPU per request
//! figures     single figures: memory, start, handshakes, size
//!   session   pins, starts, measures and ends servers
//! serve       one of the servers beside ours; started by the others as a child
//!   constant  answers the same bytes to whatever is asked, on mio and on glommio: the limit
//!   contract  what BOOK of the sample deployment promises, for the two peers
//!     axum, actix
//! ```

mod actix;
mod axum;
mod child;
mod constant;
mod contract;
mod figures;
mod handshakes;
mod hotel;
mod request;
mod session;
mod statistics;
mod table;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Why something could not be done, in one line.
type Failure = Box<dyn std::error::Error + Send + Sync>;

#[derive(Parser)]
#[command(about = "agtp beside constant responders and beside the same contract on axum and actix-web")]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    options: session::Options,
}

#[derive(Subcommand)]
enum Command {
    /// The servers beside each other; what is done without a command
    Table,
    /// Single figures of ours: memory, idle connections, start, handshakes, size
    Figures,
    /// One of the servers beside ours
    #[command(hide = true)]
    Serve {
        /// constant-epoll, constant-uring, axum or actix
        name: String,
    },
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let result = match cli.command {
        None | Some(Command::Table) => table::run(&cli.options),
        Some(Command::Figures) => figures::run(&cli.options),
        Some(Command::Serve { name }) => serve(&name),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("compare: {failure}");
            ExitCode::from(2)
        }
    }
}

fn serve(name: &str) -> Result<(), Failure> {
    match name {
        "constant-epoll" => constant::epoll(),
        "constant-uring" => constant::uring(),
        "axum" => axum::serve(),
        "actix" => actix::serve(),
        other => Err(format!("{other} is no server; constant-epoll, constant-uring, axum or actix").into()),
    }
}

/// What a server says when it can be asked, in the words of `agtp serve`.
fn announce(address: std::net::SocketAddr) {
    println!("listening on {address}");
}
