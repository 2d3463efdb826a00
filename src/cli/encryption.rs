//! Encryption as a deployment wants it: `[tls]` and `[mtls]` of its `agtp-server.toml`, and the files these name.

use super::{Failure, development, signing};
use crate::compiler::ir::Source;
use crate::compiler::{Fault, rules};
use crate::server::{Authorities, Certificates, ClientCertificates, Credential, Encryption, TlsError};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use std::path::{Path, PathBuf};
use toml::{Table, Value};
use x509_parser::certificate::X509Certificate;
use x509_parser::prelude::FromDer;
use x509_parser::time::ASN1Time;

/// What the settings say. File names are relative to them.
#[derive(Debug, Default)]
pub(super) struct Settings {
    /// `[tls]`; nothing if the table is not there.
    default: Option<Pair>,
    /// `[[tls.sni]]`: certificates for certain names.
    by_name: Vec<(Vec<String>, Pair)>,
    clients: Clients,
}

/// A certificate's file and its key's.
#[derive(Debug, PartialEq, Eq)]
struct Pair {
    cert: PathBuf,
    key: PathBuf,
}

/// `[mtls]`, with the file of those who may vouch for clients.
#[derive(Debug, Default, PartialEq, Eq)]
enum Clients {
    #[default]
    Disabled,
    Optional(PathBuf),
    Required(PathBuf),
}

impl Settings {
    /// Reads them; `origin` names them in messages, `base` is what file names are relative to.
    pub(super) fn of(settings: &str, origin: &str, base: &Path) -> Result<Settings, Failure> {
        // What is no TOML was told when the deployment was read.
        let settings: Table = settings.parse().unwrap_or_default();
        let at = |why: String| Failure(format!("{origin}: {why}"));
        let mut read = Settings::default();
        if let Some(tls) = table(&settings, "tls").map_err(at)? {
            only(tls, "tls", &["cert", "key", "sni"]).map_err(at)?;
            read.default = Some(pair(tls, "tls", base).map_err(at)?);
            read.by_name = by_name(tls, base).map_err(at)?;
        }
        if let Some(mtls) = table(&settings, "mtls").map_err(at)? {
            read.clients = clients(mtls, base).map_err(at)?;
        }
        Ok(read)
    }

    /// Whether there is a certificate to show.
    pub(super) fn has_certificate(&self) -> bool {
        self.default.is_some()
    }

    /// Whether no client is let in without a certificate.
    fn requires_certificates(&self) -> bool {
        matches!(self.clients, Clients::Required(_))
    }

    /// Plaintext has no certificates: who asks for them would get none, and not know.
    pub(super) fn refuse_plaintext(&self, origin: &str) -> Result<(), Failure> {
        match self.clients {
            Clients::Disabled => Ok(()),
            _ => Err(Failure(format!(
                "{origin}: [mtls] asks clients for certificates, which --insecure, being plaintext, has none of; \
                 leave --insecure out, or write mode = \"disabled\""
            ))),
        }
    }

    /// Reads the files. `made` is shown where no certificate is named.
    fn load(&self, made: Option<&Credential>) -> Result<Encryption, Failure> {
        let default = match (&self.default, made) {
            (Some(pair), _) => pair.load()?,
            (None, Some(made)) => made.clone(),
            (None, None) => return Err(Failure("no certificate is named in [tls]".to_owned())),
        };
        let mut by_name = Vec::new();
        for (names, pair) in &self.by_name {
            let credential = pair.load()?;
            if let Some(name) = names.iter().find(|name| !credential.is_for(name)) {
                return Err(pair.explain(&TlsError::Name(name.clone())));
            }
            by_name.extend(names.iter().map(|name| (name.clone(), credential.clone())));
        }
        Ok(Encryption { default, by_name, clients: self.clients.load()? })
    }

    /// The faults of the files, each with its rule (D25).
    pub(super) fn faults(&self, settings_file: &str, unix_seconds: i64) -> Vec<Fault> {
        let at = |rule, why: String, help: &str| {
            Fault::new(rule, Source { file: settings_file.to_owned(), line: 0 }, why, help)
        };
        let mut faults = Vec::new();
        let named = self.by_name.iter().map(|(names, pair)| (names.as_slice(), pair));
        for (names, pair) in self.default.iter().map(|pair| (&[][..], pair)).chain(named) {
            let help = "name a certificate and its key, both PEM";
            match pair.load() {
                Err(Failure(why)) => faults.push(at(&rules::TLS_CERTIFICATE, why, help)),
                Ok(credential) => {
                    for name in names.iter().filter(|name| !credential.is_for(name)) {
                        let Failure(why) = pair.explain(&TlsError::Name(name.clone()));
                        faults.push(at(&rules::TLS_CERTIFICATE, why, "name a certificate that is for it"));
                    }
                }
            }
            if let Some(why) = pair.out_of_date(unix_seconds) {
                faults.push(at(&rules::TLS_CERTIFICATE_VALIDITY, why, "renew it"));
            }
        }
        if let Err(Failure(why)) = self.clients.load() {
            let help = "name a PEM file with the certificates of those who may vouch for agents";
            faults.push(at(&rules::MTLS_AUTHORITIES, why, help));
        }
        faults
    }
}

impl Pair {
    fn load(&self) -> Result<Credential, Failure> {
        let (chain, key) = (read(&self.cert)?, read(&self.key)?);
        Credential::from_pem(&chain, &key).map_err(|error| self.explain(&error))
    }

    fn explain(&self, error: &TlsError) -> Failure {
        let file = if matches!(error, TlsError::Key(_)) { &self.key } else { &self.cert };
        Failure(format!("{}: {error}", file.display()))
    }

    /// Which certificate of the chain no client would take at this time, and why. What is unreadable is told elsewhere.
    fn out_of_date(&self, unix_seconds: i64) -> Option<String> {
        let now = ASN1Time::from_timestamp(unix_seconds).ok()?;
        let pem = std::fs::read(&self.cert).ok()?;
        CertificateDer::pem_slice_iter(&pem).flatten().find_map(|der| {
            let (_, certificate) = X509Certificate::from_der(&der).ok()?;
            let (validity, file) = (certificate.validity(), self.cert.display());
            if now > validity.not_after {
                return Some(format!("{file}: a certificate is valid until {} only", validity.not_after));
            }
            let early = now < validity.not_before;
            early.then(|| format!("{file}: a certificate is not valid before {}", validity.not_before))
        })
    }
}

impl Clients {
    fn load(&self) -> Result<ClientCertificates, Failure> {
        let authorities = |file: &Path| {
            let authorities = Authorities::from_pem(&read(file)?);
            authorities.map_err(|error| Failure(format!("mtls.ca_file: {}: {error}", file.display())))
        };
        Ok(match self {
            Clients::Disabled => ClientCertificates::Disabled,
            Clients::Optional(file) => ClientCertificates::Optional(authorities(file)?),
            Clients::Required(file) => ClientCertificates::Required(authorities(file)?),
        })
    }
}

/// What a server was started with, to be read again.
pub(super) struct InUse {
    settings: Settings,
    /// What was made at start for want of a certificate.
    made: Option<Credential>,
    certificates: Certificates,
}

impl InUse {
    /// Reads the files for the first time. A server without a certificate makes itself one, which is for loopback.
    pub(super) fn start(settings: Settings) -> Result<InUse, Failure> {
        let made = if settings.has_certificate() { None } else { Some(development_credential()?) };
        let pairs = settings.default.iter().chain(settings.by_name.iter().map(|(_, pair)| pair));
        pairs.for_each(|pair| signing::warn_of_exposure(&pair.key));
        let certificates = Certificates::new(settings.load(made.as_ref())?).map_err(Failure::new)?;
        Ok(InUse { settings, made, certificates })
    }

    /// What the server is given.
    pub(super) fn certificates(&self) -> Certificates {
        self.certificates.clone()
    }

    /// Whether no client is let in without a certificate.
    pub(super) fn requires_certificates(&self) -> bool {
        self.settings.requires_certificates()
    }

    /// Reads the files again, for the connections accepted from now on. If one of them is not what it should be,
    /// everything stays.
    pub(super) fn reload(&self) -> Result<(), Failure> {
        let encryption = self.settings.load(self.made.as_ref())?;
        self.certificates.replace_all(encryption).map_err(Failure::new)
    }

    /// What no client would take at this time.
    pub(super) fn out_of_date(&self, unix_seconds: i64) -> Vec<String> {
        let Settings { default, by_name, .. } = &self.settings;
        let pairs = default.iter().chain(by_name.iter().map(|(_, pair)| pair));
        pairs.filter_map(|pair| pair.out_of_date(unix_seconds)).collect()
    }
}

/// What a server on loopback shows without any certificate of its own.
fn development_credential() -> Result<Credential, Failure> {
    let shown = development::certificate()?;
    Credential::from_pem(shown.chain.as_bytes(), shown.key.as_bytes()).map_err(Failure::new)
}

fn read(file: &Path) -> Result<Vec<u8>, Failure> {
    std::fs::read(file).map_err(|error| Failure::file(file, &error))
}

fn table<'s>(settings: &'s Table, name: &str) -> Result<Option<&'s Table>, String> {
    match settings.get(name) {
        None => Ok(None),
        Some(Value::Table(table)) => Ok(Some(table)),
        Some(_) => Err(format!("{name} is no table; write [{name}]")),
    }
}

fn only(table: &Table, name: &str, known: &[&str]) -> Result<(), String> {
    match table.keys().find(|key| !known.contains(&key.as_str())) {
        None => Ok(()),
        Some(other) => Err(format!("{name}.{other} is unknown; [{name}] has {}", known.join(", "))),
    }
}

fn file(table: &Table, name: &str, key: &str, base: &Path) -> Result<Option<PathBuf>, String> {
    match table.get(key) {
        None => Ok(None),
        Some(Value::String(file)) => Ok(Some(base.join(file))),
        Some(other) => Err(format!("{name}.{key} is {other}; expected a file's name")),
    }
}

fn pair(table: &Table, name: &str, base: &Path) -> Result<Pair, String> {
    let file = |key| {
        let lacking = || format!("[{name}] has no {key}; it needs both cert and key");
        file(table, name, key, base)?.ok_or_else(lacking)
    };
    Ok(Pair { cert: file("cert")?, key: file("key")? })
}

/// `[[tls.sni]]`.
fn by_name(tls: &Table, base: &Path) -> Result<Vec<(Vec<String>, Pair)>, String> {
    let entries = match tls.get("sni") {
        None => &[][..],
        Some(Value::Array(entries)) => entries,
        Some(_) => return Err("tls.sni is no list of tables; write [[tls.sni]]".to_owned()),
    };
    let read = |entry: &Value| {
        let entry = entry.as_table().ok_or("tls.sni is no list of tables; write [[tls.sni]]")?;
        only(entry, "tls.sni", &["names", "cert", "key"])?;
        let names = entry.get("names").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let names: Vec<_> = names.iter().filter_map(Value::as_str).map(str::to_owned).collect();
        if names.is_empty() {
            return Err("[tls.sni] has no names; write names = [\"a.example\"]".to_owned());
        }
        Ok((names, pair(entry, "tls.sni", base)?))
    };
    entries.iter().map(read).collect()
}

fn clients(mtls: &Table, base: &Path) -> Result<Clients, String> {
    only(mtls, "mtls", &["mode", "ca_file"])?;
    let authorities = file(mtls, "mtls", "ca_file", base)?;
    let mode = mtls.get("mode").map_or(Some("disabled"), Value::as_str);
    match (mode, authorities) {
        (Some("disabled"), _) => Ok(Clients::Disabled),
        (Some("optional"), Some(file)) => Ok(Clients::Optional(file)),
        (Some("required"), Some(file)) => Ok(Clients::Required(file)),
        (Some(mode @ ("optional" | "required")), None) => Err(format!(
            "mtls.mode is \"{mode}\" and nobody may vouch for clients: name a PEM file in mtls.ca_file"
        )),
        _ => Err("mtls.mode is disabled, optional or required".to_owned()),
    }
}

#[cfg(test)]
#[path = "encryption_tests.rs"]
mod tests;
