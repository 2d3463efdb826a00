//! The `agtp-catalog-diff` command: `agtp catalog diff` under the draft's name for it.

use std::process::ExitCode;

fn main() -> ExitCode {
    agtp::cli::catalog_diff()
}
