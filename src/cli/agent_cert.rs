//! `agtp agent cert`: the certificate by which an agent proves who it is (D31).

use super::{Failure, agent, clock, output, signing};
use crate::identity::parse_agent_id;
use rcgen::{
    BasicConstraints, Certificate, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, PublicKeyData, SanType, date_time_ymd,
};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// Arguments of `agtp agent cert`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Writes NAME.cert.pem, and makes what is not there yet: the agent's key, and the authority (certificate and key) that signs.
Nothing is overwritten. The server is told of the authority, not of each agent: [mtls] ca_file = \"agents-ca.pem\".

Example:
  agtp agent new porter --scope booking:room,rooms:read
  agtp agent cert porter
  agtp call FIND agtp://localhost/rooms --agent porter --cert porter.cert.pem --cert-key porter.key.pem")]
pub(super) struct Cert {
    /// The agent: an identity document, its name in ./agents, or 64 hexadecimal digits
    #[arg(value_name = "NAME|FILE|ID")]
    agent: String,
    /// The agent's private key, PKCS#8 PEM; an Ed25519 one is made if it is not there [default: NAME.key.pem]
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    /// Where to write the certificate [default: NAME.cert.pem]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// The certificate of the authority that signs; made with its key if neither is there
    #[arg(long, value_name = "FILE", default_value = "agents-ca.pem")]
    ca: PathBuf,
    /// The authority's private key, PKCS#8 PEM
    #[arg(long, value_name = "FILE", default_value = "agents-ca.key.pem")]
    ca_key: PathBuf,
    /// How long it is valid
    #[arg(long, value_name = "N", default_value_t = 365, value_parser = clap::value_parser!(u32).range(1..=36_500))]
    days: u32,
}

/// How long an authority that is made is valid, in days.
const AUTHORITY_DAYS: u32 = 3650;

/// An hour: clocks differ.
const EARLIER: Duration = Duration::from_secs(3600);

/// Runs `agtp agent cert`.
pub(super) fn run(args: &Cert) -> Result<ExitCode, Failure> {
    let agent_id = agent_id(&args.agent)?;
    let stem = stem(&args.agent);
    let file = |given: &Option<PathBuf>, kind: &str| {
        given.clone().unwrap_or_else(|| PathBuf::from(format!("{stem}.{kind}.pem")))
    };
    let (key_file, cert_file) = (file(&args.key, "key"), file(&args.out, "cert"));
    if cert_file.exists() {
        return Err(Failure(format!("{} is there already and is not overwritten", cert_file.display())));
    }
    let authority = authority(&args.ca, &args.ca_key)?;
    let (key, made) = key(&key_file)?;
    if made {
        output::complain(format_args!("made the agent's key {}: keep it secret", key_file.display()));
    }
    let params = agent_params(&stem, &agent_id, args.days)?;
    let certificate = params.signed_by(&key, &authority);
    write(&cert_file, &certificate.map_err(unmade)?)?;
    let (cert, key) = (cert_file.display(), key_file.display());
    output::print(format!("{cert}\n{key}\n").as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

/// The id of the agent that is named.
fn agent_id(named: &str) -> Result<String, Failure> {
    let id = match parse_agent_id(named.as_bytes()) {
        Some(_) => named.to_owned(),
        None => agent::load(named)?.agent_id,
    };
    match parse_agent_id(id.as_bytes()) {
        Some(_) => Ok(id),
        None => {
            Err(Failure(format!("{named}: {id:?} is no agent_id; it is 64 lowercase hexadecimal digits")))
        }
    }
}

/// What the files are called after: the agent's name, or the beginning of its id.
fn stem(named: &str) -> String {
    if parse_agent_id(named.as_bytes()).is_some() {
        return named.chars().take(8).collect();
    }
    let name = Path::new(named).file_name().and_then(|name| name.to_str()).unwrap_or(named);
    name.strip_suffix(".agent.json").or_else(|| name.strip_suffix(".json")).unwrap_or(name).to_owned()
}

/// Reads a private key, or makes an Ed25519 one. Second: whether it was made.
fn key(file: &Path) -> Result<(KeyPair, bool), Failure> {
    let made = !file.exists();
    if made {
        signing::new_private_key(file)?;
    } else {
        signing::warn_of_exposure(file);
    }
    let pem = std::fs::read_to_string(file).map_err(|error| Failure::file(file, &error))?;
    let key = KeyPair::from_pem(&pem);
    let key = key.map_err(|error| {
        Failure(format!("{} holds no private key in PKCS#8 PEM: {error}", file.display()))
    })?;
    Ok((key, made))
}

/// The authority of two files, made if neither is there. One without the other is a mistake.
fn authority(cert_file: &Path, key_file: &Path) -> Result<Issuer<'static, KeyPair>, Failure> {
    match (cert_file.exists(), key_file.exists()) {
        (true, true) => {
            let (key, _) = key(key_file)?;
            let pem = std::fs::read_to_string(cert_file).map_err(|error| Failure::file(cert_file, &error))?;
            let unusable = |why: String| Failure(format!("{} {why}", cert_file.display()));
            check_authority(&pem, &key).map_err(unusable)?;
            Issuer::from_ca_cert_pem(&pem, key).map_err(|error| unusable(format!("cannot sign: {error}")))
        }
        (false, false) => new_authority(cert_file, key_file),
        (true, false) => Err(Failure(format!(
            "the authority's key {} is not there; name it with --ca-key",
            key_file.display()
        ))),
        (false, true) => {
            Err(Failure(format!("the authority {} is not there; name it with --ca", cert_file.display())))
        }
    }
}

/// That a certificate may sign others, and is that of the key.
fn check_authority(pem: &str, key: &KeyPair) -> Result<(), String> {
    use rustls::pki_types::{CertificateDer, pem::PemObject};
    use x509_parser::{certificate::X509Certificate, prelude::FromDer};
    let der =
        CertificateDer::from_pem_slice(pem.as_bytes()).map_err(|_| "holds no certificate in PEM form")?;
    let (_, certificate) =
        X509Certificate::from_der(&der).map_err(|_| "holds no certificate that can be read")?;
    if !certificate.is_ca() {
        return Err("is no authority: it may not sign certificates (basicConstraints CA:TRUE)".to_owned());
    }
    if certificate.public_key().raw != key.subject_public_key_info() {
        return Err("is not the certificate of the key of --ca-key".to_owned());
    }
    Ok(())
}

fn new_authority(cert_file: &Path, key_file: &Path) -> Result<Issuer<'static, KeyPair>, Failure> {
    let (key, _) = key(key_file)?;
    let mut params = valid(AUTHORITY_DAYS);
    params.distinguished_name.push(DnType::CommonName, "agtp agents' authority");
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    write(cert_file, &params.self_signed(&key).map_err(unmade)?)?;
    output::complain(format_args!(
        "made the authority {} with its key {}: whoever has the key can pass for any agent",
        cert_file.display(),
        key_file.display()
    ));
    Ok(Issuer::new(params, key))
}

fn agent_params(name: &str, agent_id: &str, days: u32) -> Result<CertificateParams, Failure> {
    let mut params = valid(days);
    params.distinguished_name.push(DnType::CommonName, name);
    let uri = format!("agtp://{agent_id}").try_into().map_err(unmade)?;
    params.subject_alt_names = vec![SanType::URI(uri)];
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    params.use_authority_key_identifier_extension = true;
    Ok(params)
}

/// A certificate valid from about now.
fn valid(days: u32) -> CertificateParams {
    let mut params = CertificateParams::default();
    let now = u64::try_from(clock::unix_seconds()).unwrap_or(0);
    let now = date_time_ymd(1970, 1, 1) + Duration::from_secs(now);
    params.not_before = now - EARLIER;
    params.not_after = now + Duration::from_secs(86_400) * days;
    params
}

fn write(file: &Path, certificate: &Certificate) -> Result<(), Failure> {
    signing::create(file, certificate.pem().as_bytes(), 0o644)
}

fn unmade(error: rcgen::Error) -> Failure {
    Failure(format!("no certificate can be made: {error}"))
}
