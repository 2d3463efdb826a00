//! Replays the corpora of the fuzz targets: what fuzzing taught holds without it.
#![cfg(feature = "compiler")]
#![allow(unreachable_pub, reason = "a test crate exports nothing")]

#[path = "../fuzz/src/lib.rs"]
mod targets;

use std::path::Path;

/// Runs a target's body over its corpus.
fn replay(target: &str, body: impl Fn(&[u8])) {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(target);
    let mut paths: Vec<_> = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(paths.len() >= 10, "{target} has a corpus");
    for path in paths {
        println!("{}", path.display());
        body(&std::fs::read(path).unwrap());
    }
}

#[test]
fn head() {
    replay("head", agtp::wire::fuzz::head);
}

#[test]
fn uri() {
    replay("uri", agtp::wire::fuzz::uri);
}

#[test]
fn json() {
    replay("json", agtp::json::fuzz::differential);
}

#[test]
fn engine() {
    replay("engine", |data| agtp::engine::fuzz::answers(targets::engine(), data));
}

#[test]
fn endpoint_toml() {
    replay("endpoint_toml", targets::endpoint_toml);
}

#[test]
fn catalog() {
    replay("catalog", agtp::catalog::fuzz::catalog);
}
