//! Encryption on the command line: what a server shows, whom a client trusts.

use super::{Failure, development, signing};
use crate::client::{self, Connection, Trust};
use crate::server::{Certificates, TlsError};
use crate::wire::Uri;
use std::path::{Path, PathBuf};
use std::time::Duration;
use toml::Table;

/// `[tls]` of an `agtp-server.toml`.
pub(super) struct Files {
    cert: PathBuf,
    key: PathBuf,
}

impl Files {
    /// The files that settings name, relative to `base`. `origin` names the settings in messages.
    pub(super) fn of(settings: &str, origin: &str, base: &Path) -> Result<Option<Files>, Failure> {
        let settings: Table = settings.parse().unwrap_or_default();
        let tls = match settings.get("tls") {
            None => return Ok(None),
            Some(toml::Value::Table(tls)) => tls,
            Some(_) => return Err(Failure(format!("{origin}: tls is no table; write [tls]"))),
        };
        if let Some(other) = tls.keys().find(|key| !["cert", "key"].contains(&key.as_str())) {
            return Err(Failure(format!("{origin}: tls.{other} is unknown; [tls] has cert and key")));
        }
        let file = |key: &str| match tls.get(key) {
            Some(toml::Value::String(file)) => Ok(base.join(file)),
            Some(other) => Err(Failure(format!("{origin}: tls.{key} is {other}; expected a file's name"))),
            None => Err(Failure(format!("{origin}: [tls] has no {key}; it needs both cert and key"))),
        };
        Ok(Some(Files { cert: file("cert")?, key: file("key")? }))
    }

    /// Reads them.
    pub(super) fn load(&self) -> Result<Certificates, Failure> {
        let (chain, key) = self.read()?;
        signing::warn_of_exposure(&self.key);
        Certificates::from_pem(&chain, &key).map_err(|error| self.explain(&error))
    }

    /// Reads them again, for the connections accepted from now on.
    pub(super) fn reload(&self, certificates: &Certificates) -> Result<(), Failure> {
        let (chain, key) = self.read()?;
        certificates.replace(&chain, &key).map_err(|error| self.explain(&error))
    }

    fn read(&self) -> Result<(Vec<u8>, Vec<u8>), Failure> {
        let read = |file: &Path| std::fs::read(file).map_err(|error| Failure::file(file, &error));
        Ok((read(&self.cert)?, read(&self.key)?))
    }

    fn explain(&self, error: &TlsError) -> Failure {
        let file = if matches!(error, TlsError::Key(_)) { &self.key } else { &self.cert };
        Failure(format!("{}: {error}", file.display()))
    }
}

/// What a server on loopback shows without any certificate of its own.
pub(super) fn development_certificates() -> Result<Certificates, Failure> {
    let shown = development::certificate()?;
    Certificates::from_pem(shown.chain.as_bytes(), shown.key.as_bytes()).map_err(Failure::new)
}

/// How a command reaches a server.
#[derive(Clone, Debug, Default, clap::Args)]
pub(super) struct Reach {
    /// Plaintext; loopback only
    #[arg(long, conflicts_with = "ca")]
    insecure: bool,
    /// Trust the certificate authorities in this PEM file instead of the system's
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
}

impl Reach {
    /// A connection to the server of an address.
    pub(super) fn connect(&self, uri: &Uri<'_>, timeout: Duration) -> Result<Connection, Failure> {
        let addresses = client::resolve(uri.host, uri.port).map_err(Failure::new)?;
        let at_home = client::is_loopback(&addresses);
        if self.insecure {
            if !at_home {
                return Err(Failure(format!(
                    "{} is not this machine: --insecure is plaintext, which is for loopback only; leave it out",
                    uri.host
                )));
            }
            return Connection::open(&addresses, timeout).map_err(Failure::new);
        }
        let trust = self.trust(at_home)?;
        Connection::open_tls(&addresses, uri.host, &trust, timeout).map_err(Failure::new)
    }

    fn trust(&self, at_home: bool) -> Result<Trust, Failure> {
        if let Some(file) = &self.ca {
            let pem = std::fs::read(file).map_err(|error| Failure::file(file, &error))?;
            return Trust::only(&pem).map_err(|error| Failure(format!("{}: {error}", file.display())));
        }
        match development::authority().filter(|_| at_home) {
            None => Trust::system_and(None).map_err(Failure::new),
            Some((file, pem)) => Trust::system_and(Some(pem.as_bytes()))
                .map_err(|error| development::unusable(&file, &error.to_string())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_files_are_named_relative_to_the_settings() {
        let files = |text: &str| {
            let files = Files::of(text, "agtp-server.toml", Path::new("/etc/agtp"));
            files.map(|files| files.map(|files| (files.cert, files.key))).map_err(|Failure(why)| why)
        };
        assert_eq!(files("").unwrap(), None);
        let named = files("[tls]\ncert = \"c.pem\"\nkey = \"/keys/k.pem\"").unwrap().unwrap();
        assert_eq!(named, (PathBuf::from("/etc/agtp/c.pem"), PathBuf::from("/keys/k.pem")));
        for (text, part) in [
            ("[tls]\ncert = \"c\"", "[tls] has no key"),
            ("[tls]\nkey = \"c\"", "[tls] has no cert"),
            ("[tls]\ncert = 3\nkey = \"k\"", "tls.cert is 3"),
            ("[tls]\ncert = \"c\"\nkey = \"k\"\nca = \"x\"", "tls.ca is unknown"),
            ("tls = true", "write [tls]"),
        ] {
            let why = files(text).unwrap_err();
            assert!(why.contains(part) && !why.contains('\n'), "{why}");
        }
    }

    #[test]
    fn what_a_file_does_not_hold_is_said_with_its_name() {
        let folder = std::env::temp_dir().join(format!("agtp-tls-files-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let shown = development::certificate().unwrap();
        let why = |cert: &str, key: &str| {
            let files = Files { cert: folder.join("c.pem"), key: folder.join("k.pem") };
            std::fs::write(&files.cert, cert).unwrap();
            std::fs::write(&files.key, key).unwrap();
            files.load().err().map(|Failure(why)| why).unwrap_or_default()
        };
        assert_eq!(why(&shown.chain, &shown.key), "");
        assert!(why("", &shown.key).contains("c.pem: it holds no certificate"));
        assert!(why(&shown.chain, "").contains("k.pem: it holds no private key"));
        let other = development::certificate().unwrap();
        assert!(why(&shown.chain, &other.key).contains("cannot be used"), "the key of another certificate");
        std::fs::remove_dir_all(folder).unwrap();
    }
}
