//! The `agtp` command.

use std::process::ExitCode;

/// Start-up and the compiler allocate many small pieces; requests allocate nothing.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    agtp::cli::run()
}
