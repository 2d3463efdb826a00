//! What a server shows its clients, and how it can be replaced while it runs.

use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::{Error as PemError, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::version::TLS13;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

/// The protocol name that a client may offer.
const ALPN: &[u8] = b"agtp";

/// Why a certificate cannot be used. Displays as one line.
#[derive(Debug)]
pub enum TlsError {
    /// The certificates are no PEM, or there are none.
    Certificates(PemError),
    /// The key is no PEM, or there is none.
    Key(PemError),
    /// The two do not belong together, or are of a kind that is not supported.
    Rejected(rustls::Error),
}

impl fmt::Display for TlsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TlsError::Certificates(PemError::NoItemsFound) => {
                f.write_str("it holds no certificate in PEM form")
            }
            TlsError::Certificates(error) => write!(f, "its certificates cannot be read: {error}"),
            TlsError::Key(PemError::NoItemsFound) => f.write_str("it holds no private key in PEM form"),
            TlsError::Key(error) => write!(f, "its private key cannot be read: {error}"),
            TlsError::Rejected(error) => write!(f, "certificate and key cannot be used: {error}"),
        }
    }
}

impl std::error::Error for TlsError {}

/// A certificate chain with its key, shared by all cores. A connection keeps what it was accepted with.
#[derive(Clone)]
pub struct Certificates(Arc<RwLock<Arc<ServerConfig>>>);

impl Certificates {
    /// From PEM texts: the server's certificate with those between it and its root, and its private key (PKCS#8, PKCS#1
    /// or SEC1).
    ///
    /// # Errors
    /// When one of them is not what it should be.
    pub fn from_pem(chain: &[u8], key: &[u8]) -> Result<Self, TlsError> {
        Ok(Certificates(Arc::new(RwLock::new(server_config(chain, key)?))))
    }

    /// Takes others for the connections accepted from now on. Those that are open go on.
    ///
    /// # Errors
    /// When one of them is not what it should be; then the old ones stay.
    pub fn replace(&self, chain: &[u8], key: &[u8]) -> Result<(), TlsError> {
        let config = server_config(chain, key)?;
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = config;
        Ok(())
    }

    pub(in crate::server) fn current(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }
}

impl fmt::Debug for Certificates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Certificates")
    }
}

fn server_config(chain: &[u8], key: &[u8]) -> Result<Arc<ServerConfig>, TlsError> {
    let chain = CertificateDer::pem_slice_iter(chain).collect::<Result<Vec<_>, _>>();
    let chain = chain.map_err(TlsError::Certificates)?;
    if chain.is_empty() {
        return Err(TlsError::Certificates(PemError::NoItemsFound));
    }
    let key = PrivateKeyDer::from_pem_slice(key).map_err(TlsError::Key)?;
    let provider = Arc::new(aws_lc_rs::default_provider());
    let builder = ServerConfig::builder_with_provider(provider).with_protocol_versions(&[&TLS13]);
    let builder = builder.map_err(TlsError::Rejected)?.with_no_client_auth();
    let mut config = builder.with_single_cert(chain, key).map_err(TlsError::Rejected)?;
    config.alpn_protocols = vec![ALPN.to_vec()];
    // A client that comes back is spared a signature. Its first flight carries no request (draft: no early data).
    config.ticketer = aws_lc_rs::Ticketer::new().map_err(TlsError::Rejected)?;
    config.send_tls13_tickets = 1;
    config.max_early_data_size = 0;
    Ok(Arc::new(config))
}
