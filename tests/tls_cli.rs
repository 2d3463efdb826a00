//! Encryption as a newcomer meets it: a server on loopback without any certificate, and a client of the same user.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Output, Stdio};

fn agtp(state: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_agtp"));
    command.env("XDG_STATE_HOME", state).current_dir(env!("CARGO_MANIFEST_DIR"));
    command
}

fn call(state: &Path, address: &str, more: &[&str]) -> Output {
    agtp(state)
        .args(["call", "FIND", &format!("{address}/rooms"), "--agent", "guest"])
        .args(more)
        .output()
        .unwrap()
}

#[test]
fn a_user_s_client_trusts_the_user_s_server_on_loopback_and_nobody_else_s() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("tls-cli");
    let _ = std::fs::remove_dir_all(&folder);
    let (own, other) = (folder.join("own"), folder.join("other"));
    let mut server = agtp(&own)
        .args(["serve", "--listen", "127.0.0.1:0", "--cores", "1"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut ready = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut ready).unwrap();
    let address = ready.trim().strip_prefix("listening on ").unwrap().to_owned();
    let answers = [
        call(&own, &address, &[]),
        call(&own, &address.replace("127.0.0.1", "localhost"), &[]),
        call(&other, &address, &[]),
        call(&own, &address, &["--insecure"]),
        call(&other, &address, &["--ca", own.join("agtp/development-authority.pem").to_str().unwrap()]),
    ];
    server.kill().unwrap();
    server.wait().unwrap();
    assert!(address.starts_with("agtp://127.0.0.1:") && !address.contains("plaintext"), "{ready}");
    let [first, named, stranger, plain, given] = answers.map(|answer| {
        (answer.status.code(), String::from_utf8_lossy(&[answer.stdout, answer.stderr].concat()).into_owned())
    });
    for (code, text) in [first, named, given] {
        assert!(code == Some(0) && text.contains("\"rooms\""), "{text}");
    }
    assert!(stranger.0 == Some(2) && stranger.1.contains("not trusted"), "{}", stranger.1);
    assert!(plain.0 == Some(2) && plain.1.contains("speaks TLS"), "{}", plain.1);
}
