//! Whom a client believes to be the server it asked for.

use rustls::client::Resumption;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::version::TLS13;
use rustls::{ClientConfig, ClientConnection, RootCertStore};
use std::fmt;
use std::sync::Arc;

/// The certificate authorities that may vouch for a server, and TLS 1.3 with them.
#[derive(Clone)]
pub struct Trust(Arc<ClientConfig>);

/// Why there is nobody to trust. Displays as one line.
#[derive(Debug)]
pub struct TrustError(String);

impl fmt::Display for TrustError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for TrustError {}

impl fmt::Debug for Trust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Trust")
    }
}

impl Trust {
    /// Trusts the authorities that this system does, and those of a PEM text.
    ///
    /// # Errors
    /// When the text holds no certificate. A system without authorities trusts nobody, which is told when a server
    /// is asked.
    pub fn system_and(pem: Option<&[u8]>) -> Result<Trust, TrustError> {
        let mut roots = RootCertStore::empty();
        // Single certificates of the system's that cannot be used are no reason not to use the others.
        let found = rustls_native_certs::load_native_certs();
        roots.add_parsable_certificates(found.certs);
        if let Some(pem) = pem {
            add(&mut roots, pem)?;
        }
        Trust::in_roots(roots)
    }

    /// Trusts the authorities of a PEM text and nobody else.
    ///
    /// # Errors
    /// When the text holds no certificate.
    pub fn only(pem: &[u8]) -> Result<Trust, TrustError> {
        let mut roots = RootCertStore::empty();
        add(&mut roots, pem)?;
        Trust::in_roots(roots)
    }

    fn in_roots(roots: RootCertStore) -> Result<Trust, TrustError> {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let builder = ClientConfig::builder_with_provider(provider).with_protocol_versions(&[&TLS13]);
        let builder = builder.map_err(|error| TrustError(error.to_string()))?;
        let mut config = builder.with_root_certificates(roots).with_no_client_auth();
        config.alpn_protocols = vec![b"agtp".to_vec()];
        Ok(Trust(Arc::new(config)))
    }

    /// The same, showing a certificate to servers that ask for one: PEM texts of the certificate, with those between it and
    /// its authority, and of its private key.
    ///
    /// # Errors
    /// When one of them is not what it should be, or they do not belong together.
    pub fn showing(&self, chain: &[u8], key: &[u8]) -> Result<Trust, TrustError> {
        let chain = CertificateDer::pem_slice_iter(chain).collect::<Result<Vec<_>, _>>();
        let chain = chain.map_err(|error| TrustError(format!("the certificate is no PEM: {error}")))?;
        if chain.is_empty() {
            return Err(TrustError("there is no certificate in PEM form".to_owned()));
        }
        let key = PrivateKeyDer::from_pem_slice(key);
        let key = key.map_err(|_| TrustError("there is no private key in PEM form".to_owned()))?;
        let shown = CertifiedKey::from_der(chain, key, self.0.crypto_provider());
        let shown = shown.map_err(|error| TrustError(format!("they cannot be used: {error}")))?;
        let mut config = ClientConfig::clone(&self.0);
        config.client_auth_cert_resolver = Arc::new(SingleCertAndKey::from(shown));
        // Tickets would bring back who one was before.
        config.resumption = Resumption::default();
        Ok(Trust(Arc::new(config)))
    }

    /// A session that expects a certificate for `host`, a name or an address.
    pub(crate) fn session(&self, host: &str) -> Result<ClientConnection, TrustError> {
        let name = ServerName::try_from(host.to_owned());
        let name =
            name.map_err(|_| TrustError(format!("{host} is no name that a certificate can be for")))?;
        ClientConnection::new(Arc::clone(&self.0), name).map_err(|error| TrustError(error.to_string()))
    }
}

fn add(roots: &mut RootCertStore, pem: &[u8]) -> Result<(), TrustError> {
    let mut added = 0;
    for certificate in CertificateDer::pem_slice_iter(pem) {
        let certificate = certificate.map_err(|error| TrustError(format!("it is no PEM: {error}")))?;
        let usable = roots.add(certificate);
        usable.map_err(|error| TrustError(format!("a certificate cannot be used: {error}")))?;
        added += 1;
    }
    if added == 0 { Err(TrustError("it holds no certificate in PEM form".to_owned())) } else { Ok(()) }
}
