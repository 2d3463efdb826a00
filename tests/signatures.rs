//! Signatures are checked by somebody else's code: Python's `cryptography`, where it is installed.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;

/// Verifies what is on disk without a line of this project: every Genesis in `agents`, then the manifest.
const VERIFY: &str = r#"
import base64, hashlib, json, pathlib, sys
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_pem_public_key

def decode(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))

def canonical(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()

root = pathlib.Path(sys.argv[1])
count = 0
for file in root.glob("agents/*.genesis.json"):
    genesis = json.loads(file.read_text())
    signature, agent_id = genesis.pop("signature"), genesis.pop("agent_id")
    assert hashlib.sha256(canonical(genesis)).hexdigest() == agent_id, file
    Ed25519PublicKey.from_public_bytes(decode(genesis["issuer_public_key"])).verify(decode(signature), canonical(genesis))
    assert json.loads((file.parent / file.name.replace("genesis", "agent")).read_text())["agent_id"] == agent_id
    count += 1
assert count == 2, count
assert load_pem_private_key((root / "issuer.pem").read_bytes(), None)

def number(text):
    # RFC 8785 writes 1.0 as 1; the other numbers of a manifest are the same in Python.
    return int(float(text)) if float(text).is_integer() else float(text)

manifest = json.loads((root / "manifest.json").read_text(), parse_float=number)
header, payload, signature = manifest.pop("manifest_signature").split(".")
assert payload == "" and json.loads(decode(header))["alg"] == "EdDSA"
signed = header.encode() + b"." + base64.urlsafe_b64encode(canonical(manifest)).rstrip(b"=")
load_pem_public_key((root / "public.pem").read_bytes()).verify(decode(signature), signed)
"#;

fn python(arguments: &[&str]) -> Option<Output> {
    Command::new("python3").args(arguments).stdin(Stdio::null()).output().ok()
}

fn agtp(arguments: &[&str], dir: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_agtp")).args(arguments).current_dir(dir).output().unwrap()
}

fn scratch(name: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(&dir).unwrap();
    dir
}

/// The manifest of the deployment in `dir`, signed with its `issuer.pem`, and that key's public half.
fn signed_manifest(dir: &Path) -> (String, String) {
    use agtp::compiler::key::SigningKey;
    use agtp::compiler::{ManifestTimes, ReadOptions, Signer, lower, read, sign_manifests};
    let key = SigningKey::from_pem(&std::fs::read_to_string(dir.join("issuer.pem")).unwrap()).unwrap();
    let deployment = read(dir, &ReadOptions::default()).deployment.unwrap();
    let mut registry = lower(&deployment, &ManifestTimes::of_directory(dir)).unwrap().registry;
    let public = key.public().to_pem().unwrap();
    sign_manifests(&mut registry, &Signer::new(key, None)).unwrap();
    (registry.str(registry.documents.manifest).to_owned(), public)
}

#[test]
fn others_verify_what_is_signed_here() {
    let dir = scratch("signatures");
    for name in ["porter", "maid"] {
        let made = agtp(&["agent", "new", name, "--scope", "rooms:read"], &dir);
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    }
    let (manifest, public) = signed_manifest(&dir);
    std::fs::write(dir.join("manifest.json"), &manifest).unwrap();
    std::fs::write(dir.join("public.pem"), public).unwrap();

    let check = |file: &str| agtp(&["check", file, "--key", "public.pem", "--json"], &dir);
    let report = check("manifest.json");
    let text = String::from_utf8_lossy(&report.stdout).into_owned();
    assert!(report.status.success() && text.contains(r#""signature":"verified""#), "{text}");
    std::fs::write(dir.join("tampered.json"), manifest.replace("porter", "burglar")).unwrap();
    assert_eq!(check("tampered.json").status.code(), Some(1));
    assert_eq!(check("absent.json").status.code(), Some(2));
    let verified = agtp(&["agent", "verify", "agents/porter.agent.json", "agents/maid.genesis.json"], &dir);
    assert!(verified.status.success());

    if python(&["-c", "import cryptography"]).is_none_or(|output| !output.status.success()) {
        eprintln!("skipped: python3 has no module cryptography");
        return;
    }
    let output = python(&["-c", VERIFY, dir.to_str().unwrap()]).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// A server of the deployment in a directory, until it is dropped.
struct Server {
    child: Child,
    address: String,
}

impl Server {
    fn of(dir: &Path) -> Server {
        Server::logging(dir, Stdio::inherit())
    }

    fn logging(dir: &Path, log: Stdio) -> Server {
        let mut child = Command::new(env!("CARGO_BIN_EXE_agtp"))
            .args(["serve", "--deployment", ".", "--insecure", "--listen", "127.0.0.1:0", "--cores", "1"])
            .current_dir(dir)
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .unwrap();
        let mut ready = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut ready).unwrap();
        let address = ready.strip_prefix("listening on agtp://").and_then(|rest| rest.split(',').next());
        let address = address.unwrap_or_else(|| panic!("ready: {ready:?}")).trim().to_owned();
        Server { child, address }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Stands between one caller and a server, and changes the answer on its way. Returns its address.
fn one_call_through(server: &str, change: fn(&str) -> String) -> String {
    let (listener, server) = (TcpListener::bind("127.0.0.1:0").unwrap(), server.to_owned());
    let address = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        let (mut caller, mut server) = (listener.accept().unwrap().0, TcpStream::connect(server).unwrap());
        let mut request = [0; 4096];
        let len = caller.read(&mut request).unwrap();
        server.write_all(&request[..len]).unwrap();
        server.shutdown(std::net::Shutdown::Write).unwrap();
        let mut answer = String::new();
        server.read_to_string(&mut answer).unwrap();
        caller.write_all(change(&answer).as_bytes()).unwrap();
    });
    address
}

#[test]
fn a_manifest_is_checked_where_it_is_served() {
    let dir = scratch("served-signature");
    assert!(agtp(&["agent", "new", "porter", "--scope", "rooms:read"], &dir).status.success());
    std::fs::write(dir.join("agtp-server.toml"), "[signing]\nkey = \"issuer.pem\"\n").unwrap();
    let (_, public) = signed_manifest(&dir);
    std::fs::write(dir.join("public.pem"), public).unwrap();
    let stranger = agtp::compiler::key::SigningKey::from_seed(&[7; 32]).public().to_pem().unwrap();
    std::fs::write(dir.join("stranger.pem"), stranger).unwrap();
    let server = Server::of(&dir);
    let check = |address: &str, key: &str| {
        let output =
            agtp(&["check", &format!("agtp://{address}"), "--key", key, "--insecure", "--json"], &dir);
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let (code, report) = check(&server.address, "public.pem");
    assert!(code == Some(0) && report.contains(r#""signature":"verified""#), "{report}");
    assert_eq!(check(&server.address, "stranger.pem").0, Some(1), "another's signature is none");
    let (code, report) = check(&one_call_through(&server.address, str::to_owned), "public.pem");
    assert_eq!(code, Some(0), "what only passes through is as it was: {report}");
    let tampered = one_call_through(&server.address, |answer| answer.replace("porter", "burglr"));
    let (code, report) = check(&tampered, "public.pem");
    assert!(code == Some(1) && !report.contains(r#""signature":"verified""#), "{report}");
    drop(server);
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    assert_eq!(check(&nobody, "public.pem").0, Some(2));
}

#[cfg(unix)]
#[test]
fn a_key_that_others_can_read_is_warned_of_once() {
    use std::os::unix::fs::PermissionsExt;
    let dir = scratch("open-key");
    let new =
        |name: &str| String::from_utf8(agtp(&["agent", "new", name, "--scope", "a:b"], &dir).stderr).unwrap();
    assert!(!new("first").contains("warning"));
    assert!(!new("second").contains("warning"));
    let key = dir.join("issuer.pem");
    assert_eq!(std::fs::metadata(&key).unwrap().permissions().mode() & 0o777, 0o600);
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o644)).unwrap();
    let told = new("third");
    assert_eq!(
        told.matches("warning: the private key issuer.pem is open to others (mode 644)").count(),
        1,
        "{told}"
    );
    assert!(told.contains("chmod 600 issuer.pem"), "{told}");
    std::fs::write(dir.join("agtp-server.toml"), "[signing]\nkey = \"issuer.pem\"\n").unwrap();
    let check = agtp(&["check", "."], &dir);
    let told = String::from_utf8(check.stderr).unwrap();
    assert!(check.status.success() && told.matches("is open to others").count() == 1, "{told}");
}

/// A deprecated form is told of in the server's log, where an operator sees it.
#[test]
fn the_server_logs_what_the_engine_has_to_tell() {
    let dir = scratch("log");
    assert!(agtp(&["agent", "new", "porter", "--scope", "rooms:read"], &dir).status.success());
    let log = dir.join("log.txt");
    let server = Server::logging(&dir, Stdio::from(std::fs::File::create(&log).unwrap()));
    for _ in 0..2 {
        let uri = format!("agtp://{}/", server.address);
        let called = agtp(
            &["call", "DISCOVER", &uri, "--insecure", "--agent", "porter", "-d", r#"{"target":"methods"}"#],
            &dir,
        );
        assert!(called.status.success(), "{}", String::from_utf8_lossy(&called.stderr));
    }
    drop(server);
    let log = std::fs::read_to_string(log).unwrap();
    assert_eq!(log.lines().filter(|line| line.contains("agent `porter`")).count(), 1, "{log}");
}
