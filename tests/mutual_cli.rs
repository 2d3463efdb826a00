//! Certificates of agents as an operator meets them: made, asked for, shown, renewed.

use std::io::{BufRead, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

/// A deployment in a folder of its own, where commands are run.
struct Place(PathBuf);

impl Place {
    fn new(name: &str, settings: &str) -> Place {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(folder.join("endpoints")).unwrap();
        let endpoint = Path::new(env!("CARGO_MANIFEST_DIR")).join("endpoints/find-rooms.toml");
        std::fs::copy(endpoint, folder.join("endpoints/find-rooms.toml")).unwrap();
        let place = Place(folder);
        place.write("agtp-server.toml", &format!("[server]\nserver_id = \"mutual.example\"\n{settings}"));
        place
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.0.join(name), text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.0.join(name)).unwrap()
    }

    fn command(&self, line: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_agtp"));
        command.env("XDG_STATE_HOME", self.0.join("state")).current_dir(&self.0).args(line);
        command
    }

    /// Exit code, and both outputs in one.
    fn run(&self, line: &[&str]) -> (Option<i32>, String) {
        let Output { status, stdout, stderr } = self.command(line).output().unwrap();
        (status.code(), String::from_utf8_lossy(&[stdout, stderr].concat()).into_owned())
    }

    #[track_caller]
    fn succeed(&self, line: &[&str]) -> String {
        let (code, text) = self.run(line);
        assert_eq!(code, Some(0), "{line:?}: {text}");
        text
    }

    /// The command ends with this code and says this.
    #[track_caller]
    fn expect(&self, line: &[&str], code: i32, part: &str) {
        let (ended, text) = self.run(line);
        assert!(ended == Some(code) && text.contains(part), "{line:?}: {ended:?} {text}");
    }
}

/// A server that ends with its test.
struct Server {
    child: Child,
    address: String,
    told: BufReader<std::process::ChildStderr>,
}

impl Server {
    fn start(place: &Place) -> Server {
        let line = ["serve", "--deployment", ".", "--listen", "127.0.0.1:0", "--cores", "1"];
        let mut child = place.command(&line).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut ready = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut ready).unwrap();
        let mut told = BufReader::new(child.stderr.take().unwrap());
        let Some(address) = ready.trim().strip_prefix("listening on ") else {
            let mut why = String::new();
            told.read_to_string(&mut why).unwrap();
            panic!("{why}");
        };
        Server { address: address.to_owned(), child, told }
    }

    /// SIGHUP; the line that says what came of it.
    fn reload(&mut self) -> String {
        let signalled = Command::new("kill").args(["-HUP", &self.child.id().to_string()]).status();
        assert!(signalled.unwrap().success());
        let mut line = String::new();
        while !line.contains("certificate") {
            line.clear();
            assert_ne!(self.told.read_line(&mut line).unwrap(), 0, "a line about the certificate");
        }
        line
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

const REQUIRED: &str = "[mtls]\nmode = \"required\"\nca_file = \"agents-ca.pem\"\n";

#[test]
fn a_certificate_made_for_an_agent_lets_it_in() {
    let place = Place::new("mutual-cli", REQUIRED);
    for name in ["porter", "maid"] {
        place.succeed(&["agent", "new", name, "--scope", "booking:room,rooms:read"]);
    }
    let text = place.succeed(&["agent", "cert", "porter"]);
    assert!(text.starts_with("porter.cert.pem\nporter.key.pem\n"), "{text}");
    assert!(text.contains("made the authority agents-ca.pem"), "{text}");
    let other = ["--ca", "other-ca.pem", "--ca-key", "other-ca.key.pem"];
    place.succeed(&[&["agent", "cert", "agents/maid.agent.json"][..], &other].concat());
    let checked = place.succeed(&["check", "."]);
    assert!(!checked.contains("mtls"), "{checked}");

    let mut server = Server::start(&place);
    let address = server.address.clone();
    let rooms = format!("{address}/rooms");
    let call = |agent: &'static str, more: &[&'static str]| {
        let line = ["call", "FIND", &rooms, "--agent", agent];
        place.run(&[&line[..], more].concat())
    };
    let porter = ["--cert", "porter.cert.pem", "--cert-key", "porter.key.pem"];
    let maid = ["--cert", "maid.cert.pem", "--key", "maid.key.pem"];
    let told = |(code, text): (Option<i32>, String), expected: i32, part: &str| {
        assert!(code == Some(expected) && text.contains(part), "{code:?} {text}");
    };
    told(call("porter", &porter), 0, "\"rooms\"");
    told(call("maid", &porter), 1, "certificate-mismatch");
    told(call("porter", &[]), 2, "nobody in without a certificate");
    told(call("maid", &maid), 2, "does not take the certificate");
    told(call("porter", &["--cert", "porter.cert.pem", "--cert-key", "maid.key.pem"]), 2, "cannot be used");
    let manifest = [&["check", &address][..], &porter].concat();
    assert!(!place.run(&manifest).1.contains("certificate"), "{:?}", place.run(&manifest));
    place.expect(&["check", &address], 2, "nobody in without a certificate");

    // The maid is let in once her authority is among those that vouch; what cannot be read changes nothing, and nor does a
    // certificate whose owner could vouch for others.
    let authority = place.read("agents-ca.pem");
    place.write("agents-ca.pem", "");
    assert!(server.reload().contains("stays"));
    told(call("porter", &porter), 0, "\"rooms\"");
    place.write("agents-ca.pem", &(authority.clone() + &place.read("maid.cert.pem")));
    assert!(server.reload().contains("is no authority's"));
    place.write("agents-ca.pem", &(authority + &place.read("other-ca.pem")));
    assert!(server.reload().contains("read again"));
    told(call("maid", &maid), 0, "\"rooms\"");
    told(call("porter", &porter), 0, "\"rooms\"");
}

#[test]
fn a_server_that_cannot_ask_does_not_start() {
    let place = Place::new("mutual-cli-refused", REQUIRED);
    let serve = ["serve", "--deployment", ".", "--listen", "127.0.0.1:0"];
    place.expect(&serve, 2, "agents-ca.pem");
    place.expect(&["check", "."], 1, "mtls-authorities");
    place.write("agents-ca.pem", "nothing");
    place.expect(&serve, 2, "holds no certificate");
    place.expect(&[&serve[..], &["--insecure"]].concat(), 2, "leave --insecure out");
    place.write("agtp-server.toml", "[mtls]\nmode = \"optional\"\n");
    place.expect(&serve, 2, "ca_file");
    place.expect(&["check", "."], 1, "setting-unenforced");
    place.write("agtp-server.toml", "[tls]\ncert = \"c.pem\"\nkey = \"k.pem\"\n");
    place.expect(&["check", "."], 1, "tls-certificate");
}

#[test]
fn an_authority_signs_again_and_nothing_is_overwritten() {
    let place = Place::new("mutual-cli-cert", "");
    place.succeed(&["agent", "new", "porter"]);
    place.succeed(&["agent", "cert", "porter"]);
    let (authority, key) = (place.read("agents-ca.pem"), place.read("porter.key.pem"));
    place.expect(&["agent", "cert", "porter"], 2, "not overwritten");
    // A new certificate for the key that there is, by the authority that there is.
    place.succeed(&["agent", "cert", "porter", "--out", "again.pem", "--days", "1"]);
    assert_eq!((place.read("agents-ca.pem"), place.read("porter.key.pem")), (authority, key));
    let id = "11".repeat(32);
    assert!(place.succeed(&["agent", "cert", &id]).starts_with("11111111.cert.pem\n"));

    place.expect(&["agent", "cert", "nobody"], 2, "no agent nobody");
    place.expect(&["agent", "cert", &id, "--out", "x.pem", "--ca", "no.pem"], 2, "name it with --ca");
    place.expect(&["agent", "cert", &id, "--out", "x.pem", "--ca-key", "no.pem"], 2, "name it with --ca-key");
    let mixed = ["agent", "cert", &id, "--out", "x.pem", "--ca-key", "porter.key.pem"];
    place.expect(&mixed, 2, "is not the certificate of the key");
    let no_authority = ["--ca", "porter.cert.pem", "--ca-key", "porter.key.pem"];
    place.expect(
        &[&["agent", "cert", &id, "--out", "x.pem"][..], &no_authority].concat(),
        2,
        "is no authority",
    );
    place.write("bad.pem", "no key");
    place.expect(&["agent", "cert", &id, "--out", "x.pem", "--key", "bad.pem"], 2, "no private key");
    assert!(!place.0.join("x.pem").exists() && !place.0.join("no.pem").exists());
}

/// A certificate for these names, and its key, in files of that name.
fn certify(place: &Place, file: &str, names: &[&str]) {
    let names = names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let made = rcgen::generate_simple_self_signed(names).unwrap();
    place.write(&format!("{file}.pem"), &made.cert.pem());
    place.write(&format!("{file}.key"), &made.signing_key.serialize_pem());
}

#[test]
fn each_name_has_its_certificate_and_all_are_read_again() {
    let settings = "[tls]\ncert = \"rest.pem\"\nkey = \"rest.key\"\n\
                    [[tls.sni]]\nnames = [\"localhost\"]\ncert = \"named.pem\"\nkey = \"named.key\"\n";
    let place = Place::new("mutual-cli-names", settings);
    certify(&place, "rest", &["127.0.0.1"]);
    certify(&place, "named", &["localhost"]);
    place.succeed(&["check", "."]);
    let mut server = Server::start(&place);
    let address = server.address.clone();
    let named = address.replace("127.0.0.1", "localhost");
    let ask = |address: &str, ca: &str| place.run(&["call", "DISCOVER", address, "--ca", ca]).0;
    assert_eq!([ask(&address, "rest.pem"), ask(&named, "named.pem")], [Some(0), Some(0)]);
    assert_eq!([ask(&address, "named.pem"), ask(&named, "rest.pem")], [Some(2), Some(2)]);

    let old = place.read("named.pem");
    certify(&place, "named", &["localhost"]);
    place.write("old.pem", &old);
    assert_eq!([ask(&named, "old.pem"), ask(&named, "named.pem")], [Some(0), Some(2)], "not yet");
    assert!(server.reload().contains("read again"));
    assert_eq!([ask(&named, "old.pem"), ask(&named, "named.pem")], [Some(2), Some(0)]);
    certify(&place, "named", &["elsewhere.example"]);
    assert!(server.reload().contains("is not for localhost"));
    place.expect(&["check", "."], 1, "is not for localhost");
}
