//! Who may vouch for an upstream.

use futures_rustls::TlsConnector;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};
use std::fmt;
use std::sync::Arc;

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
