//! `agtp keygen`: a key for a server to sign with.

use super::{Failure, output, signing};
use std::path::PathBuf;
use std::process::ExitCode;

/// Arguments of `agtp keygen`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The file is a PKCS#8 PEM that its owner alone may read; one that is there already is not overwritten. Name it as [signing]
key of agtp-server.toml. On stdout: the public key in base64url, for those who verify, and the key's name in signatures.

Example:
  agtp keygen server.pem")]
pub(super) struct Args {
    /// The file to write
    #[arg(default_value = "ed25519.pem")]
    file: PathBuf,
}

/// Runs `agtp keygen`.
pub(super) fn run(args: Args) -> Result<ExitCode, Failure> {
    let public = signing::new_private_key(&args.file)?.public();
    output::complain(format_args!("wrote the private key {}", args.file.display()));
    output::print(
        format!("public key {}\nkey id {}\n", public.to_base64url(), public.thumbprint()).as_bytes(),
    )?;
    Ok(ExitCode::SUCCESS)
}
