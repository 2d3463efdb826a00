//! Who may vouch for an upstream.

use super::body::describe;
use futures_rustls::TlsConnector;
use hyper::http::uri::Authority;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore};
use std::fmt;
use std::io;
use std::net::{TcpStream, ToSocketAddrs as _};
use std::sync::Arc;
use std::time::Duration;

/// The certificate authorities that may vouch for upstreams.
#[derive(Clone)]
pub struct UpstreamRoots(Arc<ClientConfig>);

/// Why authorities cannot be used. Displays as one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RootsError(String);

impl fmt::Display for RootsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for RootsError {}

impl fmt::Debug for UpstreamRoots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("UpstreamRoots")
    }
}

impl UpstreamRoots {
    /// Trusts the authorities that this system does, and those of a PEM text.
    ///
    /// # Errors
    /// When the text holds no certificate, or one that cannot be used.
    pub fn system_and(pem: Option<&[u8]>) -> Result<UpstreamRoots, RootsError> {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        if let Some(pem) = pem {
            add(&mut roots, pem)?;
        }
        let provider = Arc::new(aws_lc_rs::default_provider());
        let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let builder = builder.map_err(|error| RootsError(error.to_string()))?;
        let mut config = builder.with_root_certificates(roots).with_no_client_auth();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(UpstreamRoots(Arc::new(config)))
    }

    /// Connects to the host of an https url and completes the TLS handshake. Blocks, for `patience` at each step at most.
    ///
    /// # Errors
    /// What failed, in one line.
    pub fn probe(&self, url: &str, patience: Duration) -> Result<(), RootsError> {
        let failed = |error: &dyn std::error::Error| RootsError(describe(error));
        let rest = url.strip_prefix("https://").unwrap_or(url);
        let authority = rest.split(['/', '?']).next().unwrap_or_default();
        let authority: Authority = authority.parse().map_err(|error| failed(&error))?;
        let host = authority.host().trim_start_matches('[').trim_end_matches(']').to_owned();
        let found = (host.as_str(), authority.port_u16().unwrap_or(443)).to_socket_addrs();
        let mut connected = Err(RootsError(format!("{host} has no address")));
        for address in found.map_err(|error| failed(&error))? {
            connected = TcpStream::connect_timeout(&address, patience).map_err(|error| failed(&error));
            if connected.is_ok() {
                break;
            }
        }
        let mut stream = connected?;
        let limits = [stream.set_read_timeout(Some(patience)), stream.set_write_timeout(Some(patience))];
        limits.into_iter().collect::<io::Result<()>>().map_err(|error| failed(&error))?;
        let name = ServerName::try_from(host).map_err(|error| failed(&error))?;
        let session = ClientConnection::new(Arc::clone(&self.0), name);
        let mut session = session.map_err(|error| failed(&error))?;
        session.complete_io(&mut stream).map_err(|error| failed(&error))?;
        Ok(())
    }

    pub(super) fn connector(&self) -> TlsConnector {
        Arc::clone(&self.0).into()
    }
}

fn add(roots: &mut RootCertStore, pem: &[u8]) -> Result<(), RootsError> {
    let mut added = 0;
    for certificate in CertificateDer::pem_slice_iter(pem) {
        let certificate = certificate.map_err(|error| RootsError(format!("it is no PEM: {error}")))?;
        roots
            .add(certificate)
            .map_err(|error| RootsError(format!("a certificate cannot be used: {error}")))?;
        added += 1;
    }
    if added == 0 { Err(RootsError("it holds no certificate in PEM form".to_owned())) } else { Ok(()) }
}
