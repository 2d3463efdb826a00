//! External services as an operator meets them: variables of the environment, authorities, and probing.

mod common;

use common::Folder;
use std::io::{BufRead, BufReader, Read};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Output, Stdio};

const TOKEN: &str = "AGTP_TEST_UPSTREAM_TOKEN";

/// An endpoint in front of `https://localhost:PORT`, which wants the variable.
fn endpoint(port: u16, more: &str) -> String {
    format!(
        r#"[endpoint]
method = "FETCH"
path = "/rates"
description = "Asks."
errors = ["upstream_timeout", "upstream_connection_error", "upstream_malformed_response", "upstream_authentication_failed", "upstream_error"]
[endpoint.semantic]
intent = "Ask."
actor = "agent"
outcome = "It is known."
capability = "retrieval"
confidence = 0.5
impact = "informational"
is_idempotent = true
[endpoint.handler]
type = "external_service"
url = "https://localhost:{port}/"
method = "GET"
headers = {{ Authorization = "Bearer ${{{TOKEN}}}" }}
{more}
"#
    )
}

fn agtp(arguments: &[&str], dir: &Path, token: Option<&str>) -> Output {
    let mut command = command(arguments, dir, token);
    command.output().unwrap()
}

fn command(arguments: &[&str], dir: &Path, token: Option<&str>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_agtp"));
    command.args(arguments).current_dir(dir).env_remove(TOKEN);
    if let Some(token) = token {
        command.env(TOKEN, token);
    }
    command
}

/// Serves the directory and asks for what `line` says; the answer's status, and what the server told.
fn served(dir: &Path, token: Option<&str>, line: &[&str]) -> (String, String) {
    let serve = ["serve", "--deployment", ".", "--insecure", "--listen", "127.0.0.1:0", "--cores", "1"];
    let mut server =
        command(&serve, dir, token).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut ready = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut ready).unwrap();
    let address = ready.trim().trim_start_matches("listening on ").trim_end_matches(", plaintext").to_owned();
    let [method, path] = line else { panic!("METHOD /path") };
    let call = ["call", method, &format!("{address}{path}"), "--agent", "tester", "--insecure", "-i"];
    let answer = String::from_utf8(agtp(&call, dir, None).stdout).unwrap();
    server.kill().unwrap();
    let mut told = String::new();
    server.stderr.take().unwrap().read_to_string(&mut told).unwrap();
    server.wait().unwrap();
    (answer, told)
}

fn deployment(port: u16, more: &str) -> Folder {
    let agent = format!(r#"{{"agent_id":"{}","name":"tester","status":"active"}}"#, "1".repeat(64));
    Folder::with(&[
        ("agtp-server.toml", "[policies]\nscope_required_for_invocation = false\n"),
        ("agents/tester.agent.json", &agent),
        ("endpoints/rates.toml", &endpoint(port, more)),
        ("endpoints/plain.toml", &common::echo_endpoint("FETCH", "/plain", "", "")),
    ])
}

/// A port that nobody listens on.
fn closed_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

#[test]
fn a_variable_that_is_not_set_leaves_its_endpoint_out_and_no_other() {
    let folder = deployment(closed_port(), "deferred = true");
    let dir = folder.path();
    let (answer, told) = served(dir, None, &["FETCH", "/rates"]);
    assert!(answer.starts_with("AGTP/1.0 404 "), "{answer}");
    assert!(told.contains("endpoints/rates.toml") && told.contains(TOKEN), "{told}");
    assert!(served(dir, None, &["FETCH", "/plain"]).0.starts_with("AGTP/1.0 200 "));
    let strict = agtp(&["serve", "--deployment", ".", "--strict", "--listen", "127.0.0.1:0"], dir, None);
    let told = String::from_utf8(strict.stderr).unwrap();
    assert!(strict.status.code() == Some(2) && told.contains(TOKEN), "{told}");

    // Set, the endpoint is served (to an upstream that nobody runs), and its value is told to nobody.
    let (answer, told) = served(dir, Some("sesame"), &["FETCH", "/rates"]);
    assert!(answer.starts_with("AGTP/1.0 422 ") && answer.contains("upstream_connection_error"), "{answer}");
    assert!(!answer.contains("sesame") && !told.contains("sesame"), "{told}");
    // What cannot stand in a header is as good as not set.
    assert!(served(dir, Some("two\nlines"), &["FETCH", "/rates"]).0.starts_with("AGTP/1.0 404 "));
}

#[test]
fn upstreams_are_probed_when_that_is_asked_for_unless_they_are_deferred() {
    let port = closed_port();
    let check = |more: &str, online: bool| {
        let folder = deployment(port, more);
        let arguments: &[&str] = if online { &["check", ".", "--online"] } else { &["check", "."] };
        let output = agtp(arguments, folder.path(), Some("sesame"));
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    assert_eq!(check("", false).0, Some(0), "nothing is probed unasked");
    let (code, report) = check("", true);
    assert_eq!(code, Some(1), "{report}");
    assert!(report.contains("endpoints/rates.toml") && report.contains("cannot be reached"), "{report}");
    assert_eq!(check("deferred = true", true).0, Some(0));
}

#[test]
fn authorities_that_cannot_be_read_are_told_with_their_file() {
    let folder = deployment(closed_port(), "deferred = true");
    let dir = folder.path();
    std::fs::write(dir.join("agtp-server.toml"), "[upstream]\nca_file = \"roots.pem\"\n").unwrap();
    let serve = ["serve", "--deployment", ".", "--insecure", "--listen", "127.0.0.1:0"];
    for content in [None, Some("no certificate")] {
        if let Some(content) = content {
            std::fs::write(dir.join("roots.pem"), content).unwrap();
        }
        let output = agtp(&serve, dir, Some("sesame"));
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{told}");
        assert!(told.contains("roots.pem") || told.contains("ca_file"), "{told}");
        assert_eq!(told.trim_end().lines().count(), 1, "{told}");
    }
}
