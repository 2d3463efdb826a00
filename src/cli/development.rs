//! Certificates for loopback, so that a server without any of its own is encrypted all the same.
//!
//! The first server that needs one makes an authority of the user's own, which can vouch for this machine's loopback
//! names and nothing else, and keeps it in a file that only its owner can read. Each server then makes itself a
//! certificate at its start. Clients of the same user trust that authority for loopback addresses.

use super::{Failure, output, signing};
use rcgen::{
    BasicConstraints, CertificateParams, CidrSubnet, DnType, ExtendedKeyUsagePurpose, GeneralSubtree, IsCa,
    Issuer, KeyPair, KeyUsagePurpose, NameConstraints,
};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

/// Certificate and key of the authority, in one file, so that there are never two halves that do not match.
const FILE: &str = "development-authority.pem";

/// What a server shows: its certificate chain and its key, in PEM.
pub(super) struct Shown {
    pub(super) chain: String,
    pub(super) key: String,
}

/// Makes a certificate for the loopback names. Where nothing can be kept, its authority is known to nobody, which is
/// told.
pub(super) fn certificate() -> Result<Shown, Failure> {
    let forgotten = |why: &str| {
        output::complain(format_args!(
            "warning: {why}: no client can trust this server; set XDG_STATE_HOME, name a certificate in [tls], or use \
             --insecure"
        ));
        Authority::new()
    };
    let authority = match file() {
        None => forgotten("there is neither HOME nor XDG_STATE_HOME to keep the development authority in")?,
        Some(file) => match std::fs::read_to_string(&file) {
            Ok(pem) => Authority::from_pem(&pem).map_err(|why| unusable(&file, &why))?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => match keep(&file) {
                Ok(authority) => authority,
                Err(Failure(why)) => forgotten(&why)?,
            },
            Err(error) => return Err(unusable(&file, &error.to_string())),
        },
    };
    authority.certify().map_err(|error| Failure(format!("no certificate for loopback can be made: {error}")))
}

/// The authority that is kept, if there is one: its file and its text.
pub(super) fn authority() -> Option<(PathBuf, String)> {
    let file = file()?;
    let pem = std::fs::read_to_string(&file).ok()?;
    Some((file, pem))
}

/// What to do about a file that is not what was kept.
pub(super) fn unusable(file: &std::path::Path, why: &str) -> Failure {
    Failure(format!("{} cannot be used: {why}; remove it, and the next server makes another", file.display()))
}

/// Makes an authority and keeps it. Two that start at once agree on the one that was there first.
fn keep(file: &std::path::Path) -> Result<Authority, Failure> {
    let authority = Authority::new()?;
    let folder = file.parent().unwrap_or(file);
    let made = std::fs::create_dir_all(folder);
    made.map_err(|error| Failure(format!("cannot make {}: {error}", folder.display())))?;
    static DRAFTS: AtomicU32 = AtomicU32::new(0);
    let number = DRAFTS.fetch_add(1, Ordering::Relaxed);
    let draft = folder.join(format!("{FILE}.{}.{number}", std::process::id()));
    signing::create(&draft, authority.pem.as_bytes(), 0o600)?;
    // Unlike a rename, a link does not replace what is there.
    let linked = std::fs::hard_link(&draft, file);
    let _ = std::fs::remove_file(&draft);
    match linked {
        Ok(()) => Ok(authority),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let pem = std::fs::read_to_string(file).map_err(|error| Failure::file(file, &error))?;
            Authority::from_pem(&pem).map_err(|why| unusable(file, &why))
        }
        Err(error) => Err(Failure(format!("cannot write {}: {error}", file.display()))),
    }
}

/// Where the authority is kept: the place for what programs remember, of the XDG base directories.
fn file() -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = set("XDG_STATE_HOME").or_else(|| set("HOME").map(|home| home.join(".local/state")))?;
    Some(state.join("agtp").join(FILE))
}

struct Authority {
    key: KeyPair,
    /// Certificate and key.
    pem: String,
}

impl Authority {
    fn new() -> Result<Authority, Failure> {
        let made = || {
            let key = KeyPair::generate()?;
            let certificate = authority_params().self_signed(&key)?;
            Ok((key, certificate.pem()))
        };
        let (key, certificate) =
            made().map_err(|error: rcgen::Error| Failure(format!("no certificate can be made: {error}")))?;
        let pem = format!("{certificate}{}", key.serialize_pem());
        Ok(Authority { key, pem })
    }

    /// One that was kept. Of the certificate only clients need more than what is the same for all.
    fn from_pem(pem: &str) -> Result<Authority, String> {
        CertificateDer::from_pem_slice(pem.as_bytes()).map_err(|_| "it holds no certificate")?;
        let start = pem.find("-----BEGIN PRIVATE KEY-----").ok_or("it holds no key")?;
        let key = KeyPair::from_pem(&pem[start..]).map_err(|error| error.to_string())?;
        Ok(Authority { key, pem: pem.to_owned() })
    }

    fn certify(&self) -> Result<Shown, rcgen::Error> {
        let key = KeyPair::generate()?;
        let names =
            ["localhost".to_owned(), Ipv4Addr::LOCALHOST.to_string(), Ipv6Addr::LOCALHOST.to_string()];
        let mut params = CertificateParams::new(names)?;
        params.distinguished_name.push(DnType::CommonName, "agtp on loopback");
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.use_authority_key_identifier_extension = true;
        let certificate = params.signed_by(&key, &Issuer::from_params(&authority_params(), &self.key))?;
        Ok(Shown { chain: certificate.pem(), key: key.serialize_pem() })
    }
}

/// The same for every authority but for the key. Whoever got hold of the key could pretend to be loopback, no more.
fn authority_params() -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, "agtp development authority");
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    let subnet = |address, prefix| GeneralSubtree::IpAddress(CidrSubnet::from_addr_prefix(address, prefix));
    params.name_constraints = Some(NameConstraints {
        permitted_subtrees: vec![
            GeneralSubtree::DnsName("localhost".to_owned()),
            subnet(IpAddr::V4(Ipv4Addr::LOCALHOST), 8),
            subnet(IpAddr::V6(Ipv6Addr::LOCALHOST), 128),
        ],
        excluded_subtrees: Vec::new(),
    });
    params
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustls::RootCertStore;
    use rustls::client::WebPkiServerVerifier;
    use rustls::client::danger::ServerCertVerifier as _;
    use rustls::crypto::aws_lc_rs;
    use rustls::pki_types::{ServerName, UnixTime};
    use std::sync::Arc;

    /// Whether a client that trusts the authority believes the chain for that name.
    fn believes(authority: &Authority, chain: &str, name: &str) -> bool {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(authority.pem.as_bytes()).unwrap()).unwrap();
        let provider = Arc::new(aws_lc_rs::default_provider());
        let verifier =
            WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build().unwrap();
        let certificate = CertificateDer::from_pem_slice(chain.as_bytes()).unwrap();
        let name = ServerName::try_from(name).unwrap();
        verifier.verify_server_cert(&certificate, &[], &name, &[], UnixTime::now()).is_ok()
    }

    #[test]
    fn loopback_is_vouched_for_and_nothing_else() {
        let authority = Authority::new().unwrap();
        let shown = authority.certify().unwrap();
        for name in ["localhost", "127.0.0.1", "::1"] {
            assert!(believes(&authority, &shown.chain, name), "{name}");
        }
        assert!(!believes(&authority, &shown.chain, "127.0.0.2"));
        assert!(!believes(&Authority::new().unwrap(), &shown.chain, "localhost"), "another user's");

        // Whoever has the key cannot use it for another name.
        let key = KeyPair::generate().unwrap();
        let abroad = CertificateParams::new(["hotel.example".to_owned(), "192.0.2.1".to_owned()]).unwrap();
        let issuer_params = authority_params();
        let abroad = abroad.signed_by(&key, &Issuer::from_params(&issuer_params, &authority.key)).unwrap();
        assert!(!believes(&authority, &abroad.pem(), "hotel.example"));
        assert!(!believes(&authority, &abroad.pem(), "192.0.2.1"));
    }

    #[test]
    fn an_authority_that_was_kept_goes_on_vouching() {
        let authority = Authority::new().unwrap();
        let again = Authority::from_pem(&authority.pem).unwrap();
        assert!(believes(&authority, &again.certify().unwrap().chain, "localhost"));
        assert!(Authority::from_pem("").is_err());
        assert!(
            Authority::from_pem("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n").is_err()
        );
    }

    #[test]
    fn the_first_one_kept_is_everybodys() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = std::env::temp_dir().join(format!("agtp-authority-{}", std::process::id()));
        let file = folder.join(FILE);
        let made: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| keep(&file).unwrap().pem)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(made.iter().all(|pem| *pem == std::fs::read_to_string(&file).unwrap()));
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1, "no draft is left");
        std::fs::remove_dir_all(folder).unwrap();
    }
}
