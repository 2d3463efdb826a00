//! Certificates with their keys, and which of them a client is shown.

use super::TlsError;
use rustls::client::verify_server_name;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::{Error as PemError, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::{ClientHello, ParsedCertificate, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

/// A certificate, those between it and its root, and its private key.
#[derive(Clone)]
pub struct Credential(Arc<CertifiedKey>);

impl Credential {
    /// From PEM texts: the certificate first in its chain, and the private key (PKCS#8, PKCS#1 or SEC1).
    ///
    /// # Errors
    /// When one of them is not what it should be, or they do not belong together.
    pub fn from_pem(chain: &[u8], key: &[u8]) -> Result<Credential, TlsError> {
        let chain = certificates(chain).map_err(TlsError::Certificates)?;
        let key = PrivateKeyDer::from_pem_slice(key).map_err(TlsError::Key)?;
        let key = CertifiedKey::from_der(chain, key, &aws_lc_rs::default_provider());
        Ok(Credential(Arc::new(key.map_err(TlsError::Rejected)?)))
    }

    /// Whether a client that asks for this name would take the certificate to be for it. The name may begin with `*.`.
    pub fn is_for(&self, name: &str) -> bool {
        // A certificate for every name below another one is for any of them.
        let name = match name.strip_prefix("*.") {
            Some(parent) => format!("any.{parent}"),
            None => name.to_owned(),
        };
        let certificate = self.0.cert.first().and_then(|der| ParsedCertificate::try_from(der).ok());
        let name = ServerName::try_from(name).ok();
        certificate
            .zip(name)
            .is_some_and(|(certificate, name)| verify_server_name(&certificate, &name).is_ok())
    }
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Credential")
    }
}

/// The certificates of a PEM text, at least one.
pub(super) fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, PemError> {
    let certificates = CertificateDer::pem_slice_iter(pem).collect::<Result<Vec<_>, _>>()?;
    if certificates.is_empty() { Err(PemError::NoItemsFound) } else { Ok(certificates) }
}

/// Chooses by the name that a client asks for.
pub(super) struct Shown {
    default: Arc<CertifiedKey>,
    /// By lower-case name; for every name below another one, `*.` stands before that.
    by_name: HashMap<String, Arc<CertifiedKey>>,
}

impl Shown {
    pub(super) fn new(default: &Credential, by_name: &[(String, Credential)]) -> Shown {
        let key = |Credential(key): &Credential| Arc::clone(key);
        let by_name = by_name.iter().map(|(name, shown)| (name.to_ascii_lowercase(), key(shown)));
        Shown { default: key(default), by_name: by_name.collect() }
    }

    fn of(&self, name: Option<&str>) -> &Arc<CertifiedKey> {
        let named = name.filter(|_| !self.by_name.is_empty()).and_then(|name| {
            let name = name.to_ascii_lowercase();
            let below = || self.by_name.get(&format!("*.{}", name.split_once('.')?.1));
            self.by_name.get(&name).or_else(below)
        });
        named.unwrap_or(&self.default)
    }
}

impl fmt::Debug for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shown").field("names", &self.by_name.keys()).finish_non_exhaustive()
    }
}

impl ResolvesServerCert for Shown {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(self.of(hello.server_name())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn credential(names: &[&str]) -> Credential {
        let names = names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let made = rcgen::generate_simple_self_signed(names).unwrap();
        Credential::from_pem(made.cert.pem().as_bytes(), made.signing_key.serialize_pem().as_bytes()).unwrap()
    }

    #[test]
    fn the_name_chooses_and_the_default_is_for_the_rest() {
        let [default, a, below] =
            [&["d.example"], &["a.example"], &["*.b.example"]].map(|name| credential(name));
        let by_name = [("A.example".to_owned(), a.clone()), ("*.b.example".to_owned(), below.clone())];
        let shown = Shown::new(&default, &by_name);
        for (name, Credential(expected)) in [
            (Some("a.example"), &a),
            (Some("A.EXAMPLE"), &a),
            (Some("x.b.example"), &below),
            (Some("x.y.b.example"), &default),
            (Some("b.example"), &default),
            (Some("localhost"), &default),
            (None, &default),
        ] {
            assert!(Arc::ptr_eq(shown.of(name), expected), "{name:?}");
        }
    }

    #[test]
    fn a_certificate_is_for_the_names_it_has() {
        let credential = credential(&["a.example", "*.b.example"]);
        for (name, is_for) in [
            ("a.example", true),
            ("x.b.example", true),
            ("*.b.example", true),
            ("*.example", false),
            ("c.example", false),
            ("not a name", false),
            ("", false),
        ] {
            assert_eq!(credential.is_for(name), is_for, "{name}");
        }
    }
}
