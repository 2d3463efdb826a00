//! What a server shows its clients and asks of them, and how it can be replaced while it runs.

use super::credential::{Credential, Shown, certificates};
use super::identity;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::Error as PemError;
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls::version::TLS13;
use rustls::{RootCertStore, ServerConfig};
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
    /// The certificate is not for this name.
    Name(String),
    /// The authorities of clients cannot vouch for anybody.
    Authorities(String),
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
            TlsError::Name(name) => write!(f, "its certificate is not for {name}"),
            TlsError::Authorities(why) => write!(f, "the authorities of clients cannot be used: {why}"),
        }
    }
}

impl std::error::Error for TlsError {}

/// Who may vouch for clients.
#[derive(Clone)]
pub struct Authorities(Arc<RootCertStore>);

impl Authorities {
    /// From a PEM text with at least one certificate. Whoever has the key of one of them can vouch for any agent, so each has
    /// to be an authority's: one that is not meant for signing others is a mistake.
    ///
    /// # Errors
    /// When there is none, or one of them cannot be used.
    pub fn from_pem(pem: &[u8]) -> Result<Authorities, TlsError> {
        let mut roots = RootCertStore::empty();
        for certificate in certificates(pem).map_err(TlsError::Certificates)? {
            if !identity::is_authority(&certificate) {
                let why = "it holds a certificate that is no authority's (basicConstraints CA:TRUE)";
                return Err(TlsError::Authorities(why.to_owned()));
            }
            roots.add(certificate).map_err(|error| TlsError::Authorities(error.to_string()))?;
        }
        Ok(Authorities(Arc::new(roots)))
    }
}

impl fmt::Debug for Authorities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Authorities").field(&self.0.len()).finish()
    }
}

/// Whether clients are asked for a certificate, and who may vouch for it (D31).
#[derive(Clone, Debug, Default)]
pub enum ClientCertificates {
    /// They are not asked.
    #[default]
    Disabled,
    /// They are, and may have none. A wrong one is refused all the same.
    Optional(Authorities),
    /// Without one there is no connection.
    Required(Authorities),
}

impl ClientCertificates {
    fn verifier(&self) -> Result<Option<Arc<dyn ClientCertVerifier>>, TlsError> {
        let builder = |Authorities(roots): &Authorities| {
            let provider = Arc::new(aws_lc_rs::default_provider());
            WebPkiClientVerifier::builder_with_provider(Arc::clone(roots), provider)
        };
        let verifier = match self {
            ClientCertificates::Disabled => return Ok(None),
            ClientCertificates::Optional(authorities) => builder(authorities).allow_unauthenticated().build(),
            ClientCertificates::Required(authorities) => builder(authorities).build(),
        };
        verifier.map(Some).map_err(|error| TlsError::Authorities(error.to_string()))
    }
}

/// All that encryption needs.
#[derive(Clone, Debug)]
pub struct Encryption {
    /// Shown to clients that ask for none of the names, or for no name.
    pub default: Credential,
    /// Shown to clients that ask for a server of this name; `*.` at its beginning stands for any one label.
    pub by_name: Vec<(String, Credential)>,
    /// What is asked of clients.
    pub clients: ClientCertificates,
}

impl Encryption {
    /// One certificate for every client, and none asked of them.
    pub fn of(default: Credential) -> Encryption {
        Encryption { default, by_name: Vec::new(), clients: ClientCertificates::Disabled }
    }

    fn config(&self) -> Result<Arc<ServerConfig>, TlsError> {
        if let Some((name, _)) = self.by_name.iter().find(|(name, credential)| !credential.is_for(name)) {
            return Err(TlsError::Name(name.clone()));
        }
        let provider = Arc::new(aws_lc_rs::default_provider());
        let builder = ServerConfig::builder_with_provider(provider).with_protocol_versions(&[&TLS13]);
        let builder = builder.map_err(TlsError::Rejected)?;
        let builder = match self.clients.verifier()? {
            None => builder.with_no_client_auth(),
            Some(verifier) => builder.with_client_cert_verifier(verifier),
        };
        let mut config = builder.with_cert_resolver(Arc::new(Shown::new(&self.default, &self.by_name)));
        config.alpn_protocols = vec![ALPN.to_vec()];
        // A client that comes back is spared a signature. Its first flight carries no request (draft: no early data). The
        // tickets of one configuration are worth nothing under the next, so that whom it does not admit cannot come back.
        config.ticketer = aws_lc_rs::Ticketer::new().map_err(TlsError::Rejected)?;
        config.send_tls13_tickets = 1;
        config.max_early_data_size = 0;
        Ok(Arc::new(config))
    }
}

/// What is in use, and what was made of it.
struct Current {
    encryption: Encryption,
    config: Arc<ServerConfig>,
}

/// What a server shows its clients and asks of them, shared by all cores. A connection keeps what it was accepted with.
#[derive(Clone)]
pub struct Certificates(Arc<RwLock<Current>>);

impl Certificates {
    /// From what encryption needs.
    ///
    /// # Errors
    /// When something of it cannot be used.
    pub fn new(encryption: Encryption) -> Result<Self, TlsError> {
        let config = encryption.config()?;
        Ok(Certificates(Arc::new(RwLock::new(Current { encryption, config }))))
    }

    /// From PEM texts: the server's certificate with those between it and its root, and its private key (PKCS#8, PKCS#1
    /// or SEC1). Nothing is asked of clients.
    ///
    /// # Errors
    /// When one of them is not what it should be.
    pub fn from_pem(chain: &[u8], key: &[u8]) -> Result<Self, TlsError> {
        Certificates::new(Encryption::of(Credential::from_pem(chain, key)?))
    }

    /// Takes another default certificate for the connections accepted from now on; what is asked of clients stays. Those
    /// that are open go on.
    ///
    /// # Errors
    /// When one of them is not what it should be; then the old ones stay.
    pub fn replace(&self, chain: &[u8], key: &[u8]) -> Result<(), TlsError> {
        let default = Credential::from_pem(chain, key)?;
        let current = self.0.read().unwrap_or_else(PoisonError::into_inner).encryption.clone();
        self.replace_all(Encryption { default, ..current })
    }

    /// Takes everything anew for the connections accepted from now on. Those that are open go on.
    ///
    /// # Errors
    /// When something of it cannot be used; then the old stays.
    pub fn replace_all(&self, encryption: Encryption) -> Result<(), TlsError> {
        let config = encryption.config()?;
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Current { encryption, config };
        Ok(())
    }

    pub(in crate::server) fn current(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner).config)
    }
}

impl fmt::Debug for Certificates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Certificates")
    }
}
