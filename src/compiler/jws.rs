//! The signature of a manifest: a JWS over its canonical JSON without `manifest_signature` (draft: Manifest Signature;
//! D20).
//!
//! It is written in compact form with detached content (RFC 7515, appendix F), `header..signature`: whoever has the
//! manifest has the payload, and need not be sent it a second time in base64url. The algorithm is EdDSA (RFC 8037).

use super::key::{PublicKey, SigningKey};
use super::{LowerError, canonical, manifest};
use crate::registry::{Registry, Text};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, Value, json};

/// The member that the signature is written to, and does not cover.
pub(super) const MEMBER: &str = "manifest_signature";

/// A private key and what it is called.
#[derive(Clone, Debug)]
pub struct Signer {
    key: SigningKey,
    key_id: String,
}

impl Signer {
    /// Without a `key_id`, the key goes by its JWK thumbprint.
    pub fn new(key: SigningKey, key_id: Option<String>) -> Signer {
        let key_id = key_id.unwrap_or_else(|| key.public().thumbprint());
        Signer { key, key_id }
    }

    /// The JWS of a payload, which is not in it.
    fn detached(&self, payload: &str) -> String {
        let header = URL_SAFE_NO_PAD.encode(json!({"alg": "EdDSA", "kid": self.key_id}).to_string());
        let signature = self.key.sign(signing_input(&header, payload).as_bytes());
        format!("{header}..{signature}")
    }
}

fn signing_input(header: &str, payload: &str) -> String {
    format!("{header}.{}", URL_SAFE_NO_PAD.encode(payload))
}

/// Signs both manifests of a registry. The private key stays outside of it, so that what is compiled in can be signed
/// when it is served. The unsigned manifests stay where they are, unused.
pub fn sign_manifests(registry: &mut Registry, signer: &Signer) -> Result<(), LowerError> {
    let (shown, shown_headers) = signed(registry.str(registry.documents.manifest), signer);
    let (withheld, withheld_headers) = signed(registry.str(registry.documents.manifest_withheld), signer);
    let mut blob = std::mem::take(&mut registry.text).into_owned();
    let mut add = |text: &str| append(&mut blob, text).ok_or(LowerError::TOO_MUCH_TEXT);
    let documents = &mut registry.documents;
    documents.manifest = add(&shown)?;
    documents.manifest_headers = add(&shown_headers)?;
    documents.manifest_withheld = add(&withheld)?;
    documents.manifest_withheld_headers = add(&withheld_headers)?;
    registry.text = blob.into();
    Ok(())
}

/// A manifest with its signature, and the header lines of that.
fn signed(manifest: &str, signer: &Signer) -> (String, String) {
    let mut members: Map<String, Value> = serde_json::from_str(manifest).unwrap_or_default();
    members.remove(MEMBER);
    let signature = signer.detached(&canonical::of_value(&Value::Object(members.clone())));
    members.insert(MEMBER.to_owned(), signature.into());
    let manifest = Value::Object(members).to_string();
    let headers = manifest::cache_headers(&manifest);
    (manifest, headers)
}

fn append(blob: &mut String, text: &str) -> Option<Text> {
    let range = Text { start: u32::try_from(blob.len()).ok()?, len: u32::try_from(text.len()).ok()? };
    blob.push_str(text);
    Some(range)
}

/// A signature as it was found: compact or flattened, with its payload or without.
#[derive(Debug)]
pub(super) struct Envelope<'m> {
    header: &'m str,
    payload: Option<&'m str>,
    signature: &'m str,
    /// `kid`, who the signature says it is by.
    pub(super) key_id: Option<String>,
}

impl<'m> Envelope<'m> {
    /// Reads the value of `manifest_signature`, or says what is wrong with its form.
    pub(super) fn parse(value: &'m Value) -> Result<Envelope<'m>, String> {
        let (header, payload, signature) = match value {
            Value::String(compact) => compact_parts(compact),
            Value::Object(flattened) => flattened_parts(flattened),
            _ => None,
        }
        .ok_or("it is no JWS: neither header.payload.signature nor an object of protected and signature")?;
        let fields = decode(header).and_then(|header| serde_json::from_slice::<Value>(&header).ok());
        let fields = fields.filter(Value::is_object).ok_or("its header is no JSON object in base64url")?;
        match fields["alg"].as_str() {
            Some("EdDSA" | "Ed25519") => {}
            Some(other) => return Err(format!("its algorithm is {other}; this version knows EdDSA")),
            None => return Err("its header names no alg".to_owned()),
        }
        if !fields["crit"].is_null() {
            return Err(
                "its header has critical extensions (crit), which this version does not know".to_owned()
            );
        }
        if decode(signature).is_none_or(|signature| signature.len() != 64) {
            return Err("its signature is not 64 bytes in base64url".to_owned());
        }
        let payload = payload.filter(|payload| !payload.is_empty());
        Ok(Envelope { header, payload, signature, key_id: fields["kid"].as_str().map(str::to_owned) })
    }

    /// Whether it signs this canonical manifest with this key.
    pub(super) fn verify(&self, canonical: &str, key: &PublicKey) -> Result<(), String> {
        if self.payload.is_some_and(|payload| payload != URL_SAFE_NO_PAD.encode(canonical)) {
            return Err("it signs another document than this manifest".to_owned());
        }
        key.verify(signing_input(self.header, canonical).as_bytes(), self.signature)
            .map_err(|_| "it was not made over this manifest by this key".to_owned())
    }
}

fn compact_parts(compact: &str) -> Option<(&str, Option<&str>, &str)> {
    let mut parts = compact.split('.');
    let parts = (parts.next()?, Some(parts.next()?), parts.next()?, parts.next());
    parts.3.is_none().then_some((parts.0, parts.1, parts.2))
}

fn flattened_parts(members: &Map<String, Value>) -> Option<(&str, Option<&str>, &str)> {
    let text = |key| members.get(key).and_then(Value::as_str);
    Some((text("protected")?, text("payload"), text("signature")?))
}

fn decode(text: &str) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compiler::lower;
    use crate::compiler::lower::fixture::{agent, deployment, endpoint, times};

    fn signer(seed: u8) -> Signer {
        Signer::new(SigningKey::from_seed(&[seed; 32]), None)
    }

    /// Both manifests of a signed deployment, and their header lines.
    fn manifests(signer: &Signer) -> [(Value, String); 2] {
        let mut deployment = deployment(vec![endpoint("BOOK", "/rooms/{room_id}")]);
        deployment.agents = vec![agent('a', "lauren")];
        let mut registry = lower(&deployment, &times()).unwrap().registry;
        sign_manifests(&mut registry, signer).unwrap();
        let documents = &registry.documents;
        [
            (documents.manifest, documents.manifest_headers),
            (documents.manifest_withheld, documents.manifest_withheld_headers),
        ]
        .map(|(body, headers)| {
            (serde_json::from_str(registry.str(body)).unwrap(), registry.str(headers).to_owned())
        })
    }

    fn verify(manifest: &Value, key: PublicKey) -> Result<(), String> {
        let mut members = manifest.as_object().unwrap().clone();
        let signature = members.remove(MEMBER).unwrap();
        Envelope::parse(&signature)?.verify(&canonical::of_value(&members.into()), &key)
    }

    #[test]
    fn both_manifests_are_signed_and_tagged_anew() {
        let signer = signer(1);
        let [shown, withheld] = manifests(&signer);
        for (manifest, headers) in [&shown, &withheld] {
            assert_eq!(verify(manifest, signer.key.public()), Ok(()));
            assert_eq!(*headers, manifest::cache_headers(&manifest.to_string()));
            assert!(manifest[MEMBER].as_str().unwrap().contains(".."));
        }
        assert_ne!(shown.1, withheld.1);
        assert_eq!(manifests(&signer), [shown, withheld], "a restart changes nothing");
    }

    #[test]
    fn nothing_can_be_changed_unnoticed() {
        let key = signer(1).key.public();
        let [(manifest, _), _] = manifests(&signer(1));
        for (pointer, value) in [
            ("/document_version", json!("2")),
            ("/server/updated", json!("2027-01-01T00:00:00Z")),
            ("/policies/max_synthesis_depth", json!(11)),
            ("/hosted_agents/0/trust_tier", json!(1)),
            ("/endpoints/0/semantic/confidence", json!(0.75)),
        ] {
            let mut tampered = manifest.clone();
            *tampered.pointer_mut(pointer).unwrap() = value;
            assert!(verify(&tampered, key).is_err(), "{pointer}");
        }
        assert!(verify(&manifest, signer(2).key.public()).is_err());
        let mut more = manifest.clone();
        more["more"] = json!(null);
        assert!(verify(&more, key).is_err());
    }

    #[test]
    fn a_payload_may_be_attached_and_the_form_flattened() {
        let key = signer(1).key.public();
        let [(mut manifest, _), _] = manifests(&signer(1));
        let compact = manifest[MEMBER].as_str().unwrap().to_owned();
        let (header, signature) = compact.split_once("..").unwrap();
        let mut members = manifest.as_object().unwrap().clone();
        members.remove(MEMBER);
        let payload = URL_SAFE_NO_PAD.encode(canonical::of_value(&members.into()));
        for sound in [
            json!(format!("{header}.{payload}.{signature}")),
            json!({"protected": header, "signature": signature}),
            json!({"protected": header, "payload": payload, "signature": signature}),
        ] {
            manifest[MEMBER] = sound;
            assert_eq!(verify(&manifest, key), Ok(()));
        }
        manifest[MEMBER] = json!(format!("{header}.{}.{signature}", URL_SAFE_NO_PAD.encode("{}")));
        assert_eq!(verify(&manifest, key), Err("it signs another document than this manifest".to_owned()));
    }

    #[test]
    fn what_is_no_signature_says_why() {
        let header = |header: Value| URL_SAFE_NO_PAD.encode(header.to_string());
        let signature = "A".repeat(86);
        let of = |fields: Value| json!(format!("{}..{signature}", header(fields)));
        for (value, part) in [
            (json!(7), "no JWS"),
            (json!("a.b"), "no JWS"),
            (json!("a.b.c.d"), "no JWS"),
            (json!({"protected": "a"}), "no JWS"),
            (json!("!.."), "header is no JSON"),
            (of(json!([])), "header is no JSON"),
            (of(json!({})), "names no alg"),
            (of(json!({"alg": "none"})), "algorithm is none"),
            (of(json!({"alg": "EdDSA", "crit": ["b64"]})), "crit"),
            (json!(format!("{}..AAAA", header(json!({"alg": "EdDSA"})))), "64 bytes"),
        ] {
            let error = Envelope::parse(&value).unwrap_err();
            assert!(error.contains(part), "{value}: {error}");
        }
        assert_eq!(Envelope::parse(&of(json!({"alg": "EdDSA", "kid": "k"}))).unwrap().key_id.unwrap(), "k");
    }
}
