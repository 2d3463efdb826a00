//! Encryption on the command line: whom a client trusts, and what it shows for itself.

use super::{Failure, development, signing};
use crate::client::{self, Connection, Trust};
use crate::wire::Uri;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// How a command reaches a server.
#[derive(Clone, Debug, Default, clap::Args)]
pub(super) struct Reach {
    /// Plaintext; loopback only
    #[arg(long, conflicts_with = "ca")]
    insecure: bool,
    /// Trust the certificate authorities in this PEM file instead of the system's
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// Show this certificate (PEM), which `agtp agent cert` makes
    #[arg(long, value_name = "FILE", conflicts_with = "insecure")]
    cert: Option<PathBuf>,
    /// The certificate's private key, unless it is in the same file
    #[arg(long, value_name = "FILE", requires = "cert")]
    cert_key: Option<PathBuf>,
}

/// The way to a server.
pub(super) struct Way {
    pub(super) addresses: Vec<SocketAddr>,
    /// Plaintext without.
    pub(super) trust: Option<Trust>,
}

impl Reach {
    /// The same with a key for its certificate, if there is one.
    pub(super) fn with_key(self, key: Option<PathBuf>) -> Reach {
        Reach { cert_key: key.or(self.cert_key), ..self }
    }

    /// A connection to the server of an address.
    pub(super) fn connect(&self, uri: &Uri<'_>, timeout: Duration) -> Result<Connection, Failure> {
        let way = self.way(uri)?;
        match &way.trust {
            None => Connection::open(&way.addresses, timeout).map_err(Failure::new),
            Some(trust) => {
                Connection::open_tls(&way.addresses, uri.host, trust, timeout).map_err(Failure::new)
            }
        }
    }

    /// Where the server of an address is, and whom to believe to be it.
    pub(super) fn way(&self, uri: &Uri<'_>) -> Result<Way, Failure> {
        let addresses = client::resolve(uri.host, uri.port).map_err(Failure::new)?;
        let at_home = client::is_loopback(&addresses);
        if !self.insecure {
            return Ok(Way { addresses, trust: Some(self.trust(at_home)?) });
        }
        if !at_home {
            return Err(Failure(format!(
                "{} is not this machine: --insecure is plaintext, which is for loopback only; leave it out",
                uri.host
            )));
        }
        Ok(Way { addresses, trust: None })
    }

    fn trust(&self, at_home: bool) -> Result<Trust, Failure> {
        let trust = self.authorities(at_home)?;
        let Some(cert) = &self.cert else { return Ok(trust) };
        let key = self.cert_key.as_ref().unwrap_or(cert);
        signing::warn_of_exposure(key);
        let read = |file: &PathBuf| std::fs::read(file).map_err(|error| Failure::file(file, &error));
        let shown = trust.showing(&read(cert)?, &read(key)?);
        shown.map_err(|error| {
            Failure(format!("--cert {} with the key of {}: {error}", cert.display(), key.display()))
        })
    }

    fn authorities(&self, at_home: bool) -> Result<Trust, Failure> {
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
