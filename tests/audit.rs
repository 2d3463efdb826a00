//! The audit store of a server that runs, is killed, and is run again; its records are proved by others' code too.

mod common;

use agtp::audit::{Ed25519, Store, StoreOptions};
use agtp::client::{Connection, Request};
use agtp::compiler::key::PublicKey;
use common::records::{Record, in_order};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

const A: &str = "1111111111111111111111111111111111111111111111111111111111111111";
const B: &str = "2222222222222222222222222222222222222222222222222222222222222222";

/// Verifies records, one a line, without a line of this project: hashes, links and signatures.
const VERIFY: &str = r#"
import base64, hashlib, json, sys
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

def decode(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))

key = Ed25519PublicKey.from_public_bytes(decode(sys.argv[1]))
previous, count = "0" * 64, 0
for line in sys.stdin:
    record = line.strip()
    header, payload, signature = record.split(".")
    assert json.loads(decode(header)) == {"alg": "EdDSA", "typ": "JWT", "kid": sys.argv[2]}
    key.verify(decode(signature), (header + "." + payload).encode())
    assert json.loads(decode(payload))["previous_audit_id"] == previous, record
    previous = hashlib.sha256(record.encode()).hexdigest()
    count += 1
print(count)
"#;

fn agtp(args: &[&str], dir: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_agtp")).args(args).current_dir(dir).output().unwrap()
}

/// A deployment of two agents and an echo that changes state.
fn deployment(name: &str, settings: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(dir.join("agents")).unwrap();
    std::fs::create_dir_all(dir.join("endpoints")).unwrap();
    for (name, id) in [("a", A), ("b", B)] {
        let document = json!({"agent_id": id, "name": name, "requires": {"scopes": ["test:*"]}});
        std::fs::write(dir.join(format!("agents/{name}.agent.json")), document.to_string()).unwrap();
    }
    let endpoint = common::echo_endpoint("BOOK", "/room", "", "").replace("informational", "reversible");
    std::fs::write(dir.join("endpoints/book.toml"), endpoint).unwrap();
    let settings = format!("[policies]\nscope_required_for_invocation = false\n{settings}");
    std::fs::write(dir.join("agtp-server.toml"), settings).unwrap();
    dir
}

struct Server {
    child: Child,
    address: SocketAddr,
}

impl Server {
    fn start(dir: &Path) -> Server {
        let mut child = Command::new(env!("CARGO_BIN_EXE_agtp"))
            .args(["serve", "--deployment", ".", "--insecure", "--listen", "127.0.0.1:0", "--cores", "2"])
            .current_dir(dir)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut ready = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut ready).unwrap();
        let address = ready.strip_prefix("listening on agtp://").and_then(|rest| rest.split(',').next());
        let address = address.unwrap_or_else(|| panic!("ready: {ready:?}")).trim().parse().unwrap();
        Server { child, address }
    }

    fn call(&self) -> Caller {
        Caller(Connection::open(&[self.address], Duration::from_secs(30)).unwrap())
    }

    /// Has it finish by itself.
    fn stop(mut self) {
        let stopped = Command::new("kill").arg(self.child.id().to_string()).status().unwrap();
        assert!(stopped.success() && self.child.wait().unwrap().success());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

struct Caller(Connection);

impl Caller {
    /// One request; its status, body and record, if there came an answer.
    fn ask(
        &mut self,
        method: &str,
        path: &str,
        agent: &str,
        body: &str,
    ) -> Option<(u16, Value, Option<Record>)> {
        let mut request = Request::new(method, path).unwrap();
        request.header("Agent-ID", agent).unwrap();
        request.body(body.as_bytes().to_vec());
        let answer = self.0.call(&request).ok()?;
        let record = answer.header("Attribution-Record").map(Record::parse);
        let body = serde_json::from_slice(answer.body()).unwrap_or_default();
        Some((answer.status(), body, record))
    }
}

/// The names of all that is stored.
fn stored(dir: &Path) -> HashSet<String> {
    let store = Store::open(&dir.join("audit"), StoreOptions::default()).unwrap();
    let mut names = HashSet::new();
    let walked = store.for_each_chain(&mut |chain| {
        for entry in chain.entries {
            names.insert(common::records::sha256(&entry?.1));
        }
        Ok(())
    });
    walked.unwrap();
    names
}

/// Kills a server in the middle of load, again and again. `AGTP_KILLS` says how often.
#[test]
fn no_answer_is_ahead_of_its_record_however_often_the_server_is_killed() {
    const CLIENTS: usize = 6;
    let kills = std::env::var("AGTP_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(3);
    let dir = deployment("killed", "[audit]\ndir = \"audit\"\ndurability = \"always\"\n");
    let mut acknowledged = HashSet::new();
    for round in 0..kills {
        let mut server = Server::start(&dir);
        let answered = AtomicUsize::new(0);
        let enough = 20 + 37 * (round % 5);
        let load = |client: usize| {
            let (mut caller, mut names) = (server.call(), Vec::new());
            let agent = if client.is_multiple_of(2) { A } else { B };
            while let Some((status, _, record)) = caller.ask("BOOK", "/room", agent, "{}") {
                assert_eq!(status, 200);
                names.push(record.expect("a record").id);
                answered.fetch_add(1, Ordering::SeqCst);
            }
            names
        };
        let pid = server.child.id().to_string();
        thread::scope(|scope| {
            let load = &load;
            let clients: Vec<_> = (0..CLIENTS).map(|client| scope.spawn(move || load(client))).collect();
            while answered.load(Ordering::SeqCst) < enough {
                thread::yield_now();
            }
            assert!(Command::new("kill").args(["-KILL", &pid]).status().unwrap().success());
            for client in clients {
                acknowledged.extend(client.join().unwrap());
            }
        });
        server.child.wait().unwrap();
        let verified = agtp(&["audit", "verify", "audit", "--json"], &dir);
        let report: Value = serde_json::from_slice(&verified.stdout).unwrap();
        assert_eq!((verified.status.code(), &report["whole"]), (Some(0), &json!(true)), "{report}");
        assert_eq!(report["chains"].as_array().unwrap().len(), 2, "{report}");
        let stored = stored(&dir);
        let lost = acknowledged.iter().filter(|name| !stored.contains(*name)).count();
        assert_eq!(lost, 0, "of {} acknowledged records, round {round}", acknowledged.len());
    }
    assert!(acknowledged.len() >= 20 * kills);
}

#[test]
fn signed_records_of_two_cores_are_verified_by_others() {
    let dir = deployment("signed-records", "[signing]\nkey = \"server.pem\"\n[audit]\ndir = \"audit\"\n");
    let made = agtp(&["keygen", "server.pem"], &dir);
    let shown = String::from_utf8(made.stdout).unwrap();
    let (public, key_id) = shown.trim().split_once('\n').unwrap();
    let public = public.strip_prefix("public key ").unwrap();
    let key_id = key_id.strip_prefix("key id ").unwrap();
    assert_eq!(agtp(&["keygen", "server.pem"], &dir).status.code(), Some(2), "it is not overwritten");

    let server = Server::start(&dir);
    let load = || {
        let mut caller = server.call();
        let ask = |_| caller.ask("BOOK", "/room", A, "{}").unwrap().2.unwrap();
        (0..50).map(ask).collect::<Vec<_>>()
    };
    let records: Vec<Record> = thread::scope(|scope| {
        let clients: Vec<_> = (0..4).map(|_| scope.spawn(load)).collect();
        clients.into_iter().flat_map(|client| client.join().unwrap()).collect()
    });
    // The signer is aws-lc-rs; this is ed25519-dalek.
    let key = PublicKey::parse(public).unwrap();
    for record in &records {
        let signature = record.jws.rsplit('.').next().unwrap();
        assert_eq!(key.verify(record.signing_input().as_bytes(), signature), Ok(()));
        assert_eq!(record.header, json!({"alg": "EdDSA", "typ": "JWT", "kid": key_id}));
    }
    let chain = in_order(&records);
    assert_eq!(chain.len(), 200);

    let at = format!("agtp://{}@{}", B, server.address);
    let remote = agtp(&["audit", "verify", &at, "--insecure", "--key", "server.pem", "--json"], &dir);
    let report: Value = serde_json::from_slice(&remote.stdout).unwrap();
    assert_eq!(remote.status.code(), Some(0), "{report} {}", String::from_utf8_lossy(&remote.stderr));
    let of_a = report["chains"].as_array().unwrap().iter().find(|chain| chain["agent_id"] == A).unwrap();
    assert_eq!((&of_a["checked"], &of_a["signed"]), (&json!(200), &json!(200)));
    server.stop();
    std::fs::write(dir.join("public.txt"), public).unwrap();
    let verified = agtp(&["audit", "verify", "audit", "--key", "public.txt"], &dir);
    let shown = String::from_utf8(verified.stdout).unwrap();
    assert!(verified.status.success() && shown.contains("200 entries\n"), "{shown}");
    std::fs::remove_file(dir.join("server.pem")).unwrap();
    agtp(&["keygen", "server.pem"], &dir);
    let verified = agtp(&["audit", "verify", "audit", "--key", "server.pem"], &dir);
    let shown = String::from_utf8(verified.stdout).unwrap();
    assert!(verified.status.code() == Some(1) && shown.contains("not by the key given"), "{shown}");

    let jws: Vec<_> = chain.iter().map(|record| record.jws.as_str()).collect();
    python_verifies(&jws, public, key_id);
}

fn python_verifies(records: &[&str], public: &str, key_id: &str) {
    use std::io::Write;
    let python = |args: &[&str]| {
        Command::new("python3").args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()
    };
    let there = python(&["-c", "import cryptography"]).and_then(Child::wait_with_output);
    if there.is_ok_and(|output| output.status.success()) {
        let mut child = python(&["-c", VERIFY, public, key_id]).unwrap();
        child.stdin.take().unwrap().write_all(records.join("\n").as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), records.len().to_string());
    } else {
        eprintln!("skipped: python3 has no module cryptography");
    }
}

#[test]
fn chains_and_statuses_go_on_after_a_restart() {
    let dir = deployment("restarted", "[audit]\ndir = \"audit\"\n");
    let mut records = Vec::new();
    for round in 0..3 {
        let server = Server::start(&dir);
        let mut caller = server.call();
        let status_of_b = caller.ask("BOOK", "/room", B, "{}").unwrap().0;
        assert_eq!(status_of_b, if round == 0 { 200 } else { 503 }, "round {round}");
        let body = format!(r#"{{"agent_id":"{B}"}}"#);
        let (status, answer, record) = caller.ask("DEACTIVATE", "/", A, &body).unwrap();
        assert_eq!((status, &answer["noop"]), (200, &json!(round > 0)));
        records.push(record.unwrap());
        server.stop();
    }
    assert_eq!(in_order(&records).len(), 3);
    let verified = agtp(&["audit", "verify", "audit"], &dir);
    let shown = String::from_utf8(verified.stdout).unwrap();
    assert!(
        verified.status.success() && shown.contains(&format!("lifecycle of agent {B}: 1 entries")),
        "{shown}"
    );
    for no_store in ["nowhere", "agents"] {
        assert_eq!(agtp(&["audit", "verify", no_store], &dir).status.code(), Some(2), "{no_store}");
    }
    assert_eq!(std::fs::read_dir(dir.join("agents")).unwrap().count(), 2, "nothing was made there");
}

#[test]
fn a_server_that_would_be_open_to_all_refuses_to_start() {
    let dir = deployment("open-abroad", "[audit]\nlifecycle_auth = \"open\"\n");
    let served = agtp(&["serve", "--deployment", ".", "--listen", "127.0.0.1:0"], &dir);
    let told = String::from_utf8(served.stderr).unwrap();
    assert!(served.status.code() == Some(2) && told.contains("genesis_issuer"), "{told}");
}

#[test]
fn what_is_signed_here_is_what_the_key_file_says() {
    let dir = deployment("key-file", "");
    agtp(&["keygen", "k.pem"], &dir);
    let pem = std::fs::read_to_string(dir.join("k.pem")).unwrap();
    let key = agtp::compiler::key::SigningKey::from_pem(&pem).unwrap();
    assert_eq!(Ed25519::from_pem(&pem, None).unwrap().public_key(), key.public().to_bytes());
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(std::fs::metadata(dir.join("k.pem")).unwrap().permissions().mode() & 0o777, 0o600);
    }
}
