//! Where io_uring is refused, `auto` runs on epoll with one line that names the cause, and `uring` says what to do.
//!
//! Each test runs itself again in a process of its own, in which the system refuses it.
#![cfg(target_os = "linux")]

mod common;

use agtp::server::{Runtime, ServerConfig, start};
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, apply_filter_all_threads};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::process::{Command, Stdio};
use std::time::Duration;

const INNER: &str = "AGTP_TEST_INNER";

/// The same number on every architecture.
const IO_URING_SETUP: i64 = 425;

/// Runs `inner` in a process of its own, started by a shell after `before`.
fn apart(test: &str, before: &str, inner: impl Fn()) {
    if std::env::var_os(INNER).is_some() {
        return inner();
    }
    let script = format!("{before}; exec \"$0\" --exact \"$1\" --nocapture");
    let me = std::env::current_exe().unwrap();
    let status = Command::new("sh").args(["-c", &script]).arg(me).arg(test).env(INNER, "1").status();
    assert!(status.unwrap().success());
}

fn config(runtime: Runtime) -> ServerConfig {
    let listen = vec![SocketAddr::from((Ipv4Addr::LOCALHOST, 0))];
    ServerConfig { listen, cores: 2, runtime, ..ServerConfig::default() }
}

/// Here, and for the `reason`.
fn refused(reason: &str) {
    let uring = start(common::sample(), &config(Runtime::Uring)).err().map(|error| error.to_string());
    let uring = uring.expect("the ring is refused");
    assert!(uring.starts_with("io_uring is refused: ") && uring.contains(reason), "{uring}");
    assert!(uring.ends_with("; choose --runtime epoll or auto") && !uring.contains('\n'), "{uring}");

    let running = start(common::sample(), &config(Runtime::Auto)).unwrap();
    assert_eq!(running.runtime(), Runtime::Epoll);
    let warning = running.warning().unwrap_or_default();
    assert!(warning.contains(reason) && warning.ends_with("; running on epoll"), "{warning}");
    assert!(!warning.contains('\n'), "{warning}");
    let mut stream = TcpStream::connect(running.addresses()[0]).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    stream.write_all(b"AGTP/1.0 DISCOVER\r\n\r\n").unwrap();
    let mut status = [0; 12];
    stream.read_exact(&mut status).unwrap();
    assert_eq!(&status, b"AGTP/1.0 200");
    drop(stream);
    running.stop().unwrap();
}

#[test]
fn by_a_seccomp_filter() {
    apart("by_a_seccomp_filter", "true", || {
        // As the default profile of a container does.
        let rules = [(IO_URING_SETUP, Vec::new())].into_iter().collect();
        let refusal = SeccompAction::Errno(1);
        let arch = std::env::consts::ARCH.try_into().unwrap();
        let filter = SeccompFilter::new(rules, SeccompAction::Allow, refusal, arch).unwrap();
        let program: BpfProgram = filter.try_into().unwrap();
        apply_filter_all_threads(&program).unwrap();
        refused("a seccomp filter is active");
    });
}

#[test]
fn by_the_limit_of_locked_memory() {
    apart("by_the_limit_of_locked_memory", "ulimit -l 64", || {
        refused("locked memory is limited to 64 KiB, it takes 512 KiB");
    });
}

#[test]
#[cfg(feature = "cli")]
fn and_the_command_says_so_in_one_line() {
    let script = "ulimit -l 64; exec \"$0\" serve --insecure --listen 127.0.0.1:0 --cores 1";
    let mut serve = Command::new("sh")
        .args(["-c", script, env!("CARGO_BIN_EXE_agtp")])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(serve.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.starts_with("listening on agtp://127.0.0.1:"), "{line}");
    serve.kill().unwrap();
    serve.wait().unwrap();
    let mut said = String::new();
    serve.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    let about: Vec<_> = said.lines().filter(|line| line.contains("io_uring")).collect();
    assert_eq!(about.len(), 1, "{said}");
    assert!(about[0].starts_with("warning: io_uring is refused: locked memory"), "{said}");
}
