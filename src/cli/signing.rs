//! Keys in files: the one that a deployment's manifest is signed with, and those of agents' issuers.

use super::{Failure, output};
use crate::compiler::Signer;
use crate::compiler::key::{PublicKey, SigningKey};
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use toml::Table;

/// What signs the manifest, by the `[signing]` of an `agtp-server.toml`; the key's file is relative to `base`. Nothing if
/// the table is not there: of its faults the compiler has told.
pub(super) fn signer(settings: &str, base: &Path) -> Result<Option<Signer>, Failure> {
    let Some((file, key_id)) = key_file(settings, base) else { return Ok(None) };
    let key = private_key(&file).map_err(|Failure(why)| Failure(format!("signing.key: {why}")))?;
    Ok(Some(Signer::new(key, key_id)))
}

/// The file of `[signing] key` and its `key_id`, if there are any.
pub(super) fn key_file(settings: &str, base: &Path) -> Option<(PathBuf, Option<String>)> {
    let settings: Table = settings.parse().unwrap_or_default();
    let signing = settings.get("signing").and_then(toml::Value::as_table)?;
    let text = |key| signing.get(key).and_then(toml::Value::as_str);
    Some((base.join(text("key")?), text("key_id").map(str::to_owned)))
}

/// Reads a private key. That others may read it too is told, and is the operator's decision.
pub(super) fn private_key(file: &Path) -> Result<SigningKey, Failure> {
    let pem = std::fs::read_to_string(file).map_err(|error| Failure::file(file, &error))?;
    let key =
        SigningKey::from_pem(&pem).map_err(|error| Failure(format!("{} holds {error}", file.display())))?;
    warn_of_exposure(file);
    Ok(key)
}

/// Tells that others may read a private key, if they may.
pub(super) fn warn_of_exposure(file: &Path) {
    if let Some(mode) = exposed(file) {
        let file = file.display();
        output::complain(format_args!(
            "warning: the private key {file} is open to others (mode {mode:03o}); run: chmod 600 {file}"
        ));
    }
}

/// The permissions of a file that its group or everybody may read.
fn exposed(file: &Path) -> Option<u32> {
    #[cfg(unix)]
    {
        let permissions = std::fs::metadata(file).ok()?.permissions();
        let mode = std::os::unix::fs::PermissionsExt::mode(&permissions) & 0o777;
        Some(mode).filter(|mode| mode & 0o044 != 0)
    }
    #[cfg(not(unix))]
    {
        let _ = file;
        None
    }
}

/// Reads a public key: PEM, or 32 bytes in base64url.
pub(super) fn public_key(file: &Path) -> Result<PublicKey, Failure> {
    let text = std::fs::read_to_string(file).map_err(|error| Failure::file(file, &error))?;
    PublicKey::parse(&text).map_err(|error| Failure(format!("the key in {} is {error}", file.display())))
}

/// Reads the bytes of a public key in either form, or of a private key's public half.
pub(super) fn any_public_key(file: &Path) -> Result<[u8; 32], Failure> {
    let text = std::fs::read_to_string(file).map_err(|error| Failure::file(file, &error))?;
    if let Ok(private) = SigningKey::from_pem(&text) {
        return Ok(private.public().to_bytes());
    }
    public_key(file).map(PublicKey::to_bytes)
}

/// Makes a private key and writes it to a file that is not there yet and that only its owner can read.
pub(super) fn new_private_key(file: &Path) -> Result<SigningKey, Failure> {
    let mut seed = [0; 32];
    getrandom::fill(&mut seed).map_err(|error| Failure(format!("the system has no randomness: {error}")))?;
    let key = SigningKey::from_seed(&seed);
    let pem = key.to_pem().map_err(Failure::new)?;
    create(file, pem.as_bytes(), 0o600)?;
    Ok(key)
}

/// Writes a file that must not be there yet.
pub(super) fn create(file: &Path, bytes: &[u8], mode: u32) -> Result<(), Failure> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, mode);
    #[cfg(not(unix))]
    let _ = mode;
    let written = options.open(file).and_then(|mut open| {
        let written = open.write_all(bytes);
        if written.is_err() {
            // Half a file would be in the way of the next attempt.
            let _ = std::fs::remove_file(file);
        }
        written
    });
    written.map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => {
            Failure(format!("{} is there already and is not overwritten", file.display()))
        }
        _ => Failure(format!("cannot write {}: {error}", file.display())),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_written_once_for_its_owner_and_signs() {
        let dir = std::env::temp_dir().join(format!("agtp-signing-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let file = dir.join("ed25519.pem");
        let key = new_private_key(&file).unwrap();
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
            for (mode, told) in [(0o600, false), (0o400, false), (0o640, true), (0o604, true), (0o620, false)]
            {
                std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
                assert_eq!(exposed(&file), told.then_some(mode), "{mode:o}");
            }
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
        }
        assert_eq!(private_key(&file).unwrap().public(), key.public());
        let Failure(message) = new_private_key(&file).err().unwrap();
        assert!(message.contains("not overwritten"), "{message}");
        assert!(signer("[signing]\nkey = \"ed25519.pem\"", &dir).unwrap().is_some());
        assert!(signer("", &dir).unwrap().is_none());
        for (settings, part) in [
            ("key = \"no.pem\"", "signing.key: cannot read"),
            ("key = \"public.pem\"", "no Ed25519 private key"),
        ] {
            std::fs::write(dir.join("public.pem"), key.public().to_pem().unwrap()).unwrap();
            let Failure(message) = signer(&format!("[signing]\n{settings}"), &dir).err().unwrap();
            assert!(message.contains(part), "{message}");
        }
        assert_eq!(public_key(&dir.join("public.pem")).unwrap(), key.public());
        std::fs::remove_dir_all(&dir).unwrap();
    }
}
