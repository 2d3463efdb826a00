//! Small deployments, written to a directory of their own, and the exact faults they get.

use super::*;
use crate::catalog::{CATEGORIES, LEGACY};
use crate::compiler::ir::ParameterValue;
use crate::compiler::{Fault, Severity};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

mod agents;
mod catalogs;
mod compositions;
mod endpoints;
mod settings;
mod whole;

/// A deployment directory that goes away with it.
struct Directory {
    root: PathBuf,
}

impl Directory {
    fn new(files: &[(&str, &str)]) -> Directory {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("agtp-read-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let directory = Directory { root: std::env::temp_dir().join(name) };
        std::fs::create_dir_all(&directory.root).unwrap();
        for (file, text) in files {
            directory.write(file, text.as_bytes());
        }
        directory
    }

    fn write(&self, file: &str, bytes: &[u8]) {
        let path = self.root.join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }

    fn read(&self) -> Reading {
        read(&self.root, &ReadOptions::default())
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        _ = std::fs::remove_dir_all(&self.root);
    }
}

/// Reads a deployment of these files.
fn reading(files: &[(&str, &str)]) -> Reading {
    Directory::new(files).read()
}

/// `file:line code` of each fault.
fn shown(faults: &[Fault]) -> Vec<String> {
    let show = |fault: &Fault| format!("{}:{} {}", fault.source.file, fault.source.line, fault.code);
    faults.iter().map(show).collect()
}

/// The faults of a deployment, the missing endpoints of most of these aside.
fn faults(files: &[(&str, &str)]) -> Vec<String> {
    let mut faults = reading(files).report.faults;
    faults.retain(|fault| fault.code != "no-endpoints");
    shown(&faults)
}

/// `line code` of the faults of one endpoint.
fn endpoint_faults(text: &str) -> Vec<String> {
    let faults = faults(&[("endpoints/a.toml", text)]);
    faults.iter().map(|fault| fault.strip_prefix("endpoints/a.toml:").unwrap().to_owned()).collect()
}

/// A sound endpoint. Tests replace a line of it, so the lines are numbered by the comments of the first few.
const ENDPOINT: &str = r#"[endpoint]
method = "BOOK"
path = "/rooms/{room_id}"
description = "Books a room."
required_scopes = ["booking:room"]
errors = ["room_unavailable"]

[endpoint.semantic]
intent = "Reserve a room."
actor = "agent"
outcome = "The room is reserved."
capability = "transaction"
confidence = 0.85
impact = "irreversible"
is_idempotent = false

[[endpoint.input.required]]
name = "room_id"
type = "string"
description = "The room."

[[endpoint.output]]
name = "reservation_id"
type = "string"

[endpoint.handler]
type = "registered_function"
function = "rooms::book_room"
"#;

/// The sound endpoint with one piece replaced.
fn edited(from: &str, to: &str) -> String {
    assert_eq!(ENDPOINT.matches(from).count(), 1, "{from}");
    ENDPOINT.replacen(from, to, 1)
}

/// The sound endpoint for another method and path, whose parameters are all declared.
fn endpoint_at(method: &str, path: &str) -> String {
    let mut text =
        edited("\"BOOK\"", &format!("{method:?}")).replace("\"/rooms/{room_id}\"", &format!("{path:?}"));
    text = text.replace("name = \"room_id\"", "name = \"unused\"");
    for name in path.split('/').filter_map(|piece| piece.strip_prefix('{')?.strip_suffix('}')) {
        text += &format!("[[endpoint.input.required]]\nname = {name:?}\ntype = \"string\"\n");
    }
    text
}
