//! What a client's certificate says about its agent (D31). That it is genuine was found out before.

use crate::identity::{PeerIdentity, parse_agent_id};
use rustls::pki_types::CertificateDer;
use sha2::{Digest, Sha256};
use x509_parser::certificate::X509Certificate;
use x509_parser::extensions::GeneralName;
use x509_parser::oid_registry::OID_SIG_ED25519;
use x509_parser::prelude::FromDer;
use x509_parser::time::ASN1Time;

/// How the name of an agent begins.
const SCHEME: &str = "agtp://";

/// What a certificate says. `None` when it cannot be read, or is not valid at the time, which in a resumed session nobody
/// has looked at.
pub(super) fn read(certificate: &CertificateDer<'_>, unix_seconds: i64) -> Option<PeerIdentity> {
    let (_, certificate) = X509Certificate::from_der(certificate).ok()?;
    if !certificate.validity().is_valid_at(ASN1Time::from_timestamp(unix_seconds).ok()?) {
        return None;
    }
    let key_fingerprint = fingerprint(&certificate);
    let agent_id = match named(&certificate) {
        Named::Nobody => key_fingerprint,
        Named::Agent(id) => Some(id),
        Named::Unclear => None,
    };
    Some(PeerIdentity { agent_id, key_fingerprint })
}

/// Whether a certificate is for signing others.
pub(super) fn is_authority(certificate: &CertificateDer<'_>) -> bool {
    X509Certificate::from_der(certificate).is_ok_and(|(_, certificate)| certificate.is_ca())
}

/// SHA-256 of the raw key, if it is an Ed25519 one.
fn fingerprint(certificate: &X509Certificate<'_>) -> Option<[u8; 32]> {
    let key = certificate.public_key();
    let is_ed25519 = key.algorithm.algorithm == OID_SIG_ED25519;
    is_ed25519.then(|| Sha256::digest(&key.subject_public_key.data).into())
}

/// Whom the alternative names name.
enum Named {
    /// None of them is about agents.
    Nobody,
    Agent([u8; 32]),
    /// More than one agent, or something that is none.
    Unclear,
}

fn named(certificate: &X509Certificate<'_>) -> Named {
    let names = match certificate.subject_alternative_name() {
        Ok(None) => return Named::Nobody,
        Ok(Some(extension)) => &extension.value.general_names,
        Err(_) => return Named::Unclear,
    };
    let mut named = Named::Nobody;
    for name in names {
        let uri = match name {
            GeneralName::URI(uri) => *uri,
            GeneralName::Invalid(..) => return Named::Unclear,
            _ => continue,
        };
        let Some(agent) = after_scheme(uri) else { continue };
        named = match (parse_agent_id(agent.as_bytes()), named) {
            (Some(id), Named::Nobody) => Named::Agent(id),
            _ => return Named::Unclear,
        };
    }
    named
}

/// What follows `agtp://`; schemes are compared without regard to case.
fn after_scheme(uri: &str) -> Option<&str> {
    let (scheme, rest) = uri.split_at_checked(SCHEME.len())?;
    scheme.eq_ignore_ascii_case(SCHEME).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::{CertificateParams, KeyPair, PKCS_ECDSA_P256_SHA256, PKCS_ED25519, PublicKeyData, SanType};

    const ID: &str = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

    /// Within the validity of certificates that say nothing about theirs.
    const NOW: i64 = 1_800_000_000;

    fn read_of(key: &KeyPair, names: &[SanType], now: i64) -> Option<PeerIdentity> {
        let mut params = CertificateParams::default();
        params.subject_alt_names = names.to_vec();
        read(params.self_signed(key).unwrap().der(), now)
    }

    fn uri(uri: &str) -> SanType {
        SanType::URI(uri.try_into().unwrap())
    }

    #[test]
    fn the_name_comes_first_and_the_key_else() {
        let key = KeyPair::generate_for(&PKCS_ED25519).unwrap();
        let hash: [u8; 32] = Sha256::digest(key.der_bytes()).into();
        let id = parse_agent_id(ID.as_bytes());
        let elsewhere = [uri("https://a.example/"), SanType::DnsName("a.example".try_into().unwrap())];
        let by_name = uri(&format!("agtp://{ID}"));
        for (names, agent_id) in [
            (&[][..], Some(hash)),
            (&elsewhere, Some(hash)),
            (std::slice::from_ref(&by_name), id),
            (&[elsewhere[0].clone(), by_name.clone(), elsewhere[1].clone()], id),
            (&[uri(&format!("AGTP://{ID}"))], id),
            // What is about agents and names none proves none: the key does not step in.
            (&[uri("agtp://porter")], None),
            (&[uri(&format!("agtp://{}", ID.to_uppercase()))], None),
            (&[uri(&format!("agtp://{ID}/"))], None),
            (&[by_name.clone(), by_name.clone()], None),
        ] {
            let peer = read_of(&key, names, NOW).unwrap();
            assert_eq!(peer, PeerIdentity { agent_id, key_fingerprint: Some(hash) }, "{names:?}");
        }
    }

    #[test]
    fn a_key_of_another_kind_names_nobody() {
        let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).unwrap();
        let peer = |names: &[SanType]| read_of(&key, names, NOW).unwrap();
        assert_eq!(peer(&[]), PeerIdentity { agent_id: None, key_fingerprint: None });
        assert_eq!(peer(&[uri(&format!("agtp://{ID}"))]).agent_id, parse_agent_id(ID.as_bytes()));
    }

    #[test]
    fn a_certificate_that_is_out_of_date_or_unreadable_says_nothing() {
        let key = KeyPair::generate_for(&PKCS_ED25519).unwrap();
        assert!(read_of(&key, &[], 0).is_none(), "before 1975, when they begin");
        assert!(read_of(&key, &[], 1 << 40).is_none());
        assert!(read(&CertificateDer::from(vec![0x30, 0x03, 1, 2, 3]), NOW).is_none());
    }
}
