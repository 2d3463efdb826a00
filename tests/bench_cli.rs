//! `agtp bench` against our own server, over plaintext and over TLS.

use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

fn agtp(state: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_agtp"));
    command.env("XDG_STATE_HOME", state).current_dir(env!("CARGO_MANIFEST_DIR"));
    command
}

/// A server of the sample deployment; ends when dropped.
struct Server {
    process: Child,
    address: String,
    state: PathBuf,
}

impl Server {
    fn start(name: &str, more: &[&str]) -> Server {
        let state = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let serve = ["serve", "--listen", "127.0.0.1:0", "--cores", "1"];
        let mut process = agtp(&state).args(serve).args(more).stdout(Stdio::piped()).spawn().unwrap();
        let mut ready = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut ready).unwrap();
        let address = ready.trim().trim_start_matches("listening on ").trim_end_matches(", plaintext");
        Server { process, address: address.to_owned(), state }
    }

    fn bench(&self, path: &str, more: &[&str]) -> Output {
        let address = format!("{}{path}", self.address);
        let quick = ["-t", "0.2", "--warmup", "0.05", "-c", "4"];
        agtp(&self.state).args(["bench", &address]).args(quick).args(more).output().unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn json(output: &Output) -> Value {
    let text = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(&text)
        .unwrap_or_else(|_| panic!("{text}{}", String::from_utf8_lossy(&output.stderr)))
}

const BOOK: [&str; 6] = [
    "-m",
    "BOOK",
    "--agent",
    "concierge",
    "-d",
    r#"{"guest_name":"Ada Lovelace","check_in":"2027-03-14","nights":3,"room_type":"double"}"#,
];

#[test]
fn a_server_is_measured_and_its_results_are_compared() {
    let server = Server::start("bench-plain", &["--insecure"]);
    let closed = server.bench("/rooms/12", &[&BOOK[..], &["--insecure", "-p", "3", "--json"]].concat());
    let open = server.bench("/rooms/12", &[&BOOK[..], &["--insecure", "--rate", "100", "--json"]].concat());
    for (result, kind) in [(json(&closed), "closed"), (json(&open), "open")] {
        assert_eq!((&result["loop"], &result["tls"]), (&kind.into(), &false.into()));
        assert!(result["answers"].as_u64().unwrap() > 0, "{result:#}");
        assert_eq!((&result["success"], &result["first_error"]), (&result["answers"], &Value::Null));
        assert_eq!(result["statuses"].as_object().unwrap().keys().collect::<Vec<_>>(), ["200"]);
    }
    let files = [("a.json", &closed), ("b.json", &open)].map(|(name, output)| {
        let file = server.state.join(name);
        std::fs::create_dir_all(&server.state).unwrap();
        std::fs::write(&file, &output.stdout).unwrap();
        file
    });
    let compared = agtp(&server.state).args(["bench", "--compare"]).args(files).output().unwrap();
    let table = String::from_utf8(compared.stdout).unwrap();
    assert_eq!(compared.status.code(), Some(0), "{table}");
    assert!(table.contains("answers/s") && table.contains("they differ in loop"), "{table}");
}

#[test]
fn a_request_that_is_not_done_is_measured_and_told() {
    let server = Server::start("bench-refused", &["--insecure"]);
    let asked_back = server.bench("/rooms", &["-m", "FIND", "--insecure"]);
    let text = String::from_utf8(asked_back.stdout).unwrap();
    assert_eq!(asked_back.status.code(), Some(1), "{text}");
    assert!(text.contains("262 asks for something") && !text.contains("errors"), "{text}");
    let refused = server.bench("/suites", &["-m", "FIND", "--agent", "guest", "--insecure", "--json"]);
    let result = json(&refused);
    assert_eq!((refused.status.code(), &result["refused"]), (Some(1), &result["answers"]));
}

#[test]
fn tls_is_measured_with_the_trust_that_calls_have() {
    let server = Server::start("bench-tls", &[]);
    let result =
        json(&server.bench("/rooms/12", &[&BOOK[..], &["-p", "2", "--cores", "2", "--json"]].concat()));
    assert_eq!((&result["tls"], &result["threads"]), (&true.into(), &2.into()));
    assert_eq!((&result["success"], &result["connect_us"]["count"]), (&result["answers"], &4.into()));
    let authority = server.state.join("agtp/development-authority.pem");
    let given = server.bench("", &["--ca", authority.to_str().unwrap(), "--json"]);
    assert!(json(&given)["success"].as_u64().unwrap() > 0);
}

#[test]
fn what_cannot_be_measured_is_one_line() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let server = Server::start("bench-wrong", &[]);
    let told = |output: &Output| String::from_utf8_lossy(&output.stderr).into_owned();
    let stranger = agtp(&server.state.join("other")).args(["bench", &server.address]).output().unwrap();
    let nobody =
        agtp(&server.state).args(["bench", &format!("agtp://{closed}"), "--insecure"]).output().unwrap();
    for (output, part) in [
        (server.bench("", &["--insecure"]), "speaks TLS"),
        (stranger, "not trusted"),
        (nobody, "agtp serve"),
        (server.bench("", &["-m", "FI ND"]), "one word"),
    ] {
        let told = told(&output);
        assert_eq!(output.status.code(), Some(2), "{told}");
        assert!(told.contains(part) && told.trim_end().lines().count() == 1, "{told}");
    }
}
