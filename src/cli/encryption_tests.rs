use super::*;

fn settings(text: &str) -> Result<Settings, String> {
    Settings::of(text, "agtp-server.toml", Path::new("/etc/agtp")).map_err(|Failure(why)| why)
}

#[test]
fn files_are_named_relative_to_the_settings() {
    assert!(!settings("").unwrap().has_certificate());
    let text = "[tls]\ncert = \"c.pem\"\nkey = \"/keys/k.pem\"\n\
                [[tls.sni]]\nnames = [\"a.example\"]\ncert = \"a.pem\"\nkey = \"a.key\"\n\
                [mtls]\nmode = \"required\"\nca_file = \"ca.pem\"";
    let read = settings(text).unwrap();
    let pair = |cert: &str, key: &str| Pair { cert: cert.into(), key: key.into() };
    assert_eq!(read.default, Some(pair("/etc/agtp/c.pem", "/keys/k.pem")));
    assert_eq!(read.by_name, [(vec!["a.example".to_owned()], pair("/etc/agtp/a.pem", "/etc/agtp/a.key"))]);
    assert_eq!(read.clients, Clients::Required("/etc/agtp/ca.pem".into()));
    assert!(read.requires_certificates());
    let optional = settings(&text.replace("required", "optional")).unwrap();
    assert!(!optional.requires_certificates());
    for mtls in [optional, read] {
        let Failure(why) = mtls.refuse_plaintext("agtp-server.toml").unwrap_err();
        assert!(why.contains("leave --insecure out") && !why.contains('\n'), "{why}");
    }
    assert!(settings("[mtls]\nca_file = \"ca.pem\"").unwrap().refuse_plaintext("").is_ok());
}

#[test]
fn what_is_said_wrong_is_told_in_one_line() {
    for (text, part) in [
        ("[tls]\ncert = \"c\"", "[tls] has no key"),
        ("[tls]\nkey = \"c\"", "[tls] has no cert"),
        ("[tls]\ncert = 3\nkey = \"k\"", "tls.cert is 3"),
        ("[tls]\ncert = \"c\"\nkey = \"k\"\nca = \"x\"", "tls.ca is unknown"),
        ("tls = true", "write [tls]"),
        ("[tls]\ncert = \"c\"\nkey = \"k\"\nsni = 3", "write [[tls.sni]]"),
        ("[tls]\ncert = \"c\"\nkey = \"k\"\n[[tls.sni]]\ncert = \"a\"\nkey = \"b\"", "has no names"),
        (
            "[tls]\ncert = \"c\"\nkey = \"k\"\n[[tls.sni]]\nnames = [\"a\"]\nkey = \"b\"",
            "[tls.sni] has no cert",
        ),
        ("[mtls]\nmode = \"required\"", "name a PEM file in mtls.ca_file"),
        ("[mtls]\nmode = \"optional\"", "name a PEM file in mtls.ca_file"),
        ("[mtls]\nmode = \"on\"\nca_file = \"c\"", "disabled, optional or required"),
        ("[mtls]\nca_file = 3", "mtls.ca_file is 3"),
        ("[mtls]\nca = \"c\"", "mtls.ca is unknown"),
    ] {
        let why = settings(text).unwrap_err();
        assert!(why.contains(part) && why.starts_with("agtp-server.toml: ") && !why.contains('\n'), "{why}");
    }
}

/// A folder with a certificate for `localhost` and its key, `c.pem` and `k.pem`.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let folder = std::env::temp_dir().join(format!("agtp-encryption-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let shown = development::certificate().unwrap();
        let scratch = Scratch(folder);
        scratch.write("c.pem", &shown.chain);
        scratch.write("k.pem", &shown.key);
        scratch
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.0.join(name), text).unwrap();
    }

    fn settings(&self, text: &str) -> Settings {
        Settings::of(&format!("[tls]\ncert = \"c.pem\"\nkey = \"k.pem\"\n{text}"), "s", &self.0).unwrap()
    }

    /// Codes of the faults, and what a start comes to.
    fn faults(&self, text: &str) -> (Vec<&'static str>, String) {
        let faults = self.settings(text).faults("agtp-server.toml", 1_800_000_000);
        let why = InUse::start(self.settings(text)).err().map(|Failure(why)| why);
        (faults.iter().map(|fault| fault.code).collect(), why.unwrap_or_default())
    }
}

/// The certificate of somebody who may vouch for others.
fn authority() -> String {
    let mut params = rcgen::CertificateParams::default();
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    params.self_signed(&rcgen::KeyPair::generate().unwrap()).unwrap().pem()
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn what_a_file_does_not_hold_is_said_with_its_name() {
    let scratch = Scratch::new("files");
    assert_eq!(scratch.faults(""), (vec![], String::new()));
    let sni = "[[tls.sni]]\nnames = [\"localhost\"]\ncert = \"c.pem\"\nkey = \"k.pem\"\n";
    assert_eq!(scratch.faults(sni), (vec![], String::new()));
    let mtls = "[mtls]\nmode = \"optional\"\nca_file = \"ca.pem\"\n";
    let told = |text: &str, code: &str, part: &str| {
        let (codes, why) = scratch.faults(text);
        assert_eq!(codes, [code], "{why}");
        assert!(why.contains(part) && !why.contains('\n'), "{why}");
    };
    told(
        &sni.replace("localhost", "a.example"),
        "tls-certificate",
        "c.pem: its certificate is not for a.example",
    );
    told(&sni.replace("k.pem", "no.pem"), "tls-certificate", "no.pem");
    told(mtls, "mtls-authorities", "ca.pem");
    scratch.write("ca.pem", "");
    told(mtls, "mtls-authorities", "ca.pem: it holds no certificate");
    scratch.write("ca.pem", &std::fs::read_to_string(scratch.0.join("c.pem")).unwrap());
    told(mtls, "mtls-authorities", "is no authority's");
    scratch.write("ca.pem", &authority());
    assert_eq!(scratch.faults(mtls), (vec![], String::new()));
    scratch.write("k.pem", "");
    told("", "tls-certificate", "k.pem: it holds no private key");
    scratch.write("k.pem", &development::certificate().unwrap().key);
    told("", "tls-certificate", "cannot be used");
    scratch.write("c.pem", "");
    told("", "tls-certificate", "c.pem: it holds no certificate");
}

#[test]
fn a_certificate_out_of_date_is_told() {
    let scratch = Scratch::new("validity");
    for (now, part) in [(0, "is not valid before"), (100_000_000_000, "is valid until")] {
        let faults = scratch.settings("").faults("agtp-server.toml", now);
        assert_eq!(faults.len(), 1, "{faults:?}");
        assert_eq!(faults[0].code, "tls-certificate-validity");
        assert!(faults[0].message.contains(part), "{}", faults[0].message);
    }
}

#[test]
fn what_is_read_again_is_taken_whole_or_not_at_all() {
    let scratch = Scratch::new("reload");
    let good = authority();
    scratch.write("ca.pem", &good);
    let in_use =
        InUse::start(scratch.settings("[mtls]\nmode = \"required\"\nca_file = \"ca.pem\"\n")).unwrap();
    in_use.reload().unwrap();
    scratch.write("ca.pem", "gone");
    let Failure(why) = in_use.reload().unwrap_err();
    assert!(why.contains("ca.pem"), "{why}");
    scratch.write("ca.pem", &good);
    in_use.reload().unwrap();
}
