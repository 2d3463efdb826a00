//! Ed25519 keys and signatures: what a Genesis and a manifest are signed with (D20; facts pages 7 and 11).

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ed25519_dalek::pkcs8::spki::der::pem::LineEnding;
use ed25519_dalek::pkcs8::{
    DecodePrivateKey, DecodePublicKey, EncodePrivateKey, EncodePublicKey, KeypairBytes,
};
use ed25519_dalek::{Signature, Signer as _, VerifyingKey};
use sha2::{Digest, Sha256};
use std::fmt;

/// What is wrong with a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyError {
    /// Not base64url.
    NotBase64,
    /// So many bytes instead of 32.
    Length(usize),
    /// 32 bytes that are no point of the curve, or one that would accept anybody's signature.
    Weak,
    /// No PEM file with an Ed25519 key in PKCS#8.
    PrivatePem,
    /// No PEM file with an Ed25519 public key.
    PublicPem,
}

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KeyError::NotBase64 => f.write_str("not base64url (letters, digits, \"-\" and \"_\", no \"=\")"),
            KeyError::Length(length) => write!(f, "{length} bytes long; an Ed25519 key has 32"),
            KeyError::Weak => f.write_str("32 bytes, but no Ed25519 public key"),
            KeyError::PrivatePem => f.write_str(
                "no Ed25519 private key in PKCS#8 PEM; `openssl genpkey -algorithm ed25519` makes one",
            ),
            KeyError::PublicPem => {
                f.write_str("no Ed25519 public key in PEM; `openssl pkey -pubout` makes one of a private key")
            }
        }
    }
}

impl std::error::Error for KeyError {}

/// What is wrong with a signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignatureError {
    /// Not base64url.
    NotBase64,
    /// So many bytes instead of 64.
    Length(usize),
    /// Not made over these bytes with this key.
    Mismatch,
}

impl fmt::Display for SignatureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SignatureError::NotBase64 => KeyError::NotBase64.fmt(f),
            SignatureError::Length(length) => write!(f, "{length} bytes long; an Ed25519 signature has 64"),
            SignatureError::Mismatch => f.write_str("not one of these bytes by this key"),
        }
    }
}

impl std::error::Error for SignatureError {}

/// A private key. It is wiped when it is dropped, and shown nowhere.
#[derive(Clone)]
pub struct SigningKey(ed25519_dalek::SigningKey);

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SigningKey").field(&self.public()).finish()
    }
}

impl SigningKey {
    /// The key of a seed, which must be random.
    pub fn from_seed(seed: &[u8; 32]) -> SigningKey {
        SigningKey(ed25519_dalek::SigningKey::from_bytes(seed))
    }

    /// Reads a PKCS#8 PEM file's text.
    pub fn from_pem(pem: &str) -> Result<SigningKey, KeyError> {
        ed25519_dalek::SigningKey::from_pkcs8_pem(pem).map(SigningKey).map_err(|_| KeyError::PrivatePem)
    }

    /// A PKCS#8 PEM file's text. In version 1, without the public key: that is what every tool reads.
    pub fn to_pem(&self) -> Result<String, KeyError> {
        let pair = KeypairBytes { secret_key: self.0.to_bytes(), public_key: None };
        let pem = pair.to_pkcs8_pem(LineEnding::LF).map_err(|_| KeyError::PrivatePem)?;
        Ok(pem.to_string())
    }

    /// The public half.
    pub fn public(&self) -> PublicKey {
        PublicKey(self.0.verifying_key())
    }

    /// The signature of some bytes, in base64url.
    pub fn sign(&self, bytes: &[u8]) -> String {
        URL_SAFE_NO_PAD.encode(self.0.sign(bytes).to_bytes())
    }
}

/// A public key.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct PublicKey(VerifyingKey);

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PublicKey").field(&self.to_base64url()).finish()
    }
}

impl PublicKey {
    /// Reads either form of a public key: a PEM file's text, or 32 bytes in base64url.
    pub fn parse(text: &str) -> Result<PublicKey, KeyError> {
        match text.contains("-----BEGIN") {
            true => VerifyingKey::from_public_key_pem(text).map_err(|_| KeyError::PublicPem).and_then(strong),
            false => PublicKey::from_base64url(text.trim()),
        }
    }

    /// Reads 32 bytes in base64url, the form of `issuer_public_key`.
    pub fn from_base64url(text: &str) -> Result<PublicKey, KeyError> {
        let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| KeyError::NotBase64)?;
        let bytes = <[u8; 32]>::try_from(bytes.as_slice()).map_err(|_| KeyError::Length(bytes.len()))?;
        VerifyingKey::from_bytes(&bytes).map_err(|_| KeyError::Weak).and_then(strong)
    }

    /// The 32 bytes.
    pub fn to_bytes(self) -> [u8; 32] {
        self.0.to_bytes()
    }

    /// The 32 bytes in base64url.
    pub fn to_base64url(self) -> String {
        URL_SAFE_NO_PAD.encode(self.0.as_bytes())
    }

    /// A PEM file's text.
    pub fn to_pem(self) -> Result<String, KeyError> {
        self.0.to_public_key_pem(LineEnding::LF).map_err(|_| KeyError::PublicPem)
    }

    /// The key's JWK thumbprint (RFC 7638; RFC 8037, appendix A.3): a name for it that nobody has to give.
    pub fn thumbprint(self) -> String {
        let jwk = format!(r#"{{"crv":"Ed25519","kty":"OKP","x":"{}"}}"#, self.to_base64url());
        URL_SAFE_NO_PAD.encode(Sha256::digest(jwk))
    }

    /// Whether a base64url signature is one of these bytes by this key.
    pub fn verify(&self, bytes: &[u8], signature: &str) -> Result<(), SignatureError> {
        let signature = URL_SAFE_NO_PAD.decode(signature).map_err(|_| SignatureError::NotBase64)?;
        let length = signature.len();
        let signature =
            <[u8; 64]>::try_from(signature.as_slice()).map_err(|_| SignatureError::Length(length))?;
        // The strict way: every verifier comes to the same verdict.
        self.0.verify_strict(bytes, &Signature::from_bytes(&signature)).map_err(|_| SignatureError::Mismatch)
    }
}

fn strong(key: VerifyingKey) -> Result<PublicKey, KeyError> {
    if key.is_weak() { Err(KeyError::Weak) } else { Ok(PublicKey(key)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 8037, appendix A: key, thumbprint and signature.
    const SEED: &str = "nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A";
    const PUBLIC: &str = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo";

    fn key() -> SigningKey {
        SigningKey::from_seed(&URL_SAFE_NO_PAD.decode(SEED).unwrap().try_into().unwrap())
    }

    #[test]
    fn the_rfc_s_example_comes_out() {
        let key = key();
        assert_eq!(key.public().to_base64url(), PUBLIC);
        assert_eq!(key.public().thumbprint(), "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k");
        let input = b"eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc";
        let signature =
            "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg";
        assert_eq!(key.sign(input), signature);
        assert_eq!(key.public().verify(input, signature), Ok(()));
        assert_eq!(key.public().verify(b"else", signature), Err(SignatureError::Mismatch));
    }

    #[test]
    fn keys_survive_their_files() {
        let pem = key().to_pem().unwrap();
        assert!(pem.starts_with("-----BEGIN PRIVATE KEY-----\n"), "{pem}");
        assert_eq!(SigningKey::from_pem(&pem).unwrap().public(), key().public());
        let public = key().public();
        assert_eq!(PublicKey::parse(&public.to_pem().unwrap()), Ok(public));
        assert_eq!(PublicKey::parse(&format!("{PUBLIC}\n")), Ok(public));
        assert!(!format!("{:?}", key()).contains(SEED));
    }

    #[test]
    fn what_is_no_key_says_why() {
        for (text, error) in [
            ("", KeyError::Length(0)),
            ("AAAA", KeyError::Length(3)),
            (&format!("{PUBLIC}="), KeyError::NotBase64),
            (&PUBLIC.replace('_', "/"), KeyError::NotBase64),
            // The neutral element, and a number that is no coordinate.
            (&format!("AQ{}", "A".repeat(41)), KeyError::Weak),
            (&format!("Ag{}", "A".repeat(41)), KeyError::Weak),
            ("-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n", KeyError::PublicPem),
            (&key().to_pem().unwrap(), KeyError::PublicPem),
        ] {
            assert_eq!(PublicKey::parse(text), Err(error), "{text}");
        }
        for text in ["", PUBLIC, &key().public().to_pem().unwrap()] {
            assert_eq!(SigningKey::from_pem(text).unwrap_err(), KeyError::PrivatePem, "{text}");
        }
        assert_eq!(key().public().verify(b"", "AA"), Err(SignatureError::Length(1)));
        assert_eq!(key().public().verify(b"", "A=="), Err(SignatureError::NotBase64));
    }
}
