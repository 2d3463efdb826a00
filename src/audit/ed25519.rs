//! Signatures by aws-lc-rs, the library that TLS uses: a third faster than the next best.

use super::Sign;
use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use sha2::{Digest, Sha256};
use std::fmt;

/// An Ed25519 key that signs records.
pub struct Ed25519 {
    pair: Ed25519KeyPair,
    key_id: Box<str>,
}

/// It is no PKCS#8 PEM with an Ed25519 private key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoPrivateKey;

impl fmt::Display for NoPrivateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no Ed25519 private key in PKCS#8 PEM; `agtp keygen` makes one")
    }
}

impl std::error::Error for NoPrivateKey {}

impl Ed25519 {
    /// Reads a PKCS#8 PEM file's text. Without a `key_id`, the key goes by its JWK thumbprint (RFC 7638).
    ///
    /// # Errors
    /// When it holds no Ed25519 private key.
    pub fn from_pem(pem: &str, key_id: Option<&str>) -> Result<Ed25519, NoPrivateKey> {
        let (_, rest) = pem.split_once("-----BEGIN PRIVATE KEY-----").ok_or(NoPrivateKey)?;
        let (body, _) = rest.split_once("-----END PRIVATE KEY-----").ok_or(NoPrivateKey)?;
        let body: String = body.split_ascii_whitespace().collect();
        let der = STANDARD.decode(body).map_err(|_| NoPrivateKey)?;
        // Unchecked: version 1, which most tools write, has no public key to check against.
        let pair = Ed25519KeyPair::from_pkcs8_maybe_unchecked(&der).map_err(|_| NoPrivateKey)?;
        let key_id = key_id.map_or_else(|| thumbprint(pair.public_key().as_ref()), str::to_owned);
        Ok(Ed25519 { pair, key_id: key_id.into() })
    }

    /// The 32 bytes of the public half.
    pub fn public_key(&self) -> &[u8] {
        self.pair.public_key().as_ref()
    }
}

/// RFC 7638 and RFC 8037, appendix A.3.
fn thumbprint(public: &[u8]) -> String {
    let jwk = format!(r#"{{"crv":"Ed25519","kty":"OKP","x":"{}"}}"#, URL_SAFE_NO_PAD.encode(public));
    URL_SAFE_NO_PAD.encode(Sha256::digest(jwk))
}

impl Sign for Ed25519 {
    fn key_id(&self) -> &str {
        &self.key_id
    }

    fn sign(&self, message: &[u8]) -> [u8; 64] {
        let mut bytes = [0; 64];
        // Should it ever be shorter, no verifier would accept it.
        bytes.iter_mut().zip(self.pair.sign(message).as_ref()).for_each(|(to, from)| *to = *from);
        bytes
    }
}

impl fmt::Debug for Ed25519 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Ed25519").field(&self.key_id).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 8037, appendix A.
    const PEM: &str = "-----BEGIN PRIVATE KEY-----\n\
        MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n-----END PRIVATE KEY-----\n";

    #[test]
    fn the_rfc_s_example_comes_out() {
        let key = Ed25519::from_pem(PEM, None).unwrap();
        assert_eq!(key.key_id(), "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k");
        let signature = key.sign(b"eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc");
        assert_eq!(
            URL_SAFE_NO_PAD.encode(signature),
            "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg"
        );
        assert_eq!(Ed25519::from_pem(PEM, Some("main")).unwrap().key_id(), "main");
        for text in
            ["", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----", &PEM.replace("MC4", "MC5")]
        {
            assert_eq!(Ed25519::from_pem(text, None).unwrap_err(), NoPrivateKey, "{text}");
        }
    }
}
