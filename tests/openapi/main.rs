//! OpenAPI documents that other people write, and what becomes of them: mapped, served and answering; and deployments
//! as documents, and back again.

#![allow(unreachable_pub, reason = "a test crate exports nothing")]

#[path = "../common/mod.rs"]
mod common;

mod cli;
mod export;
mod mapping;
mod serving;
mod sloppy;
mod toolbox;
mod validator;

use agtp::openapi::{Import, ImportOptions, import};
use toml::Table;

/// A document of this folder.
pub fn fixture(name: &str) -> String {
    let path = format!("{}/tests/openapi/fixtures/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).unwrap()
}

/// Imports a document that can be.
pub fn imported(document: &str) -> Import {
    import(document, &ImportOptions { source: "test", ..Default::default() }, &mut |_| {}).unwrap()
}

/// The endpoint of an operation, `POST /pets`, as TOML.
pub fn endpoint(imported: &Import, operation: &str) -> Table {
    let written = imported.report.written.iter().find(|written| written.operation == operation);
    let file = &written.unwrap_or_else(|| panic!("{operation}: {:#?}", imported.report.left_out)).file;
    let (_, text) = imported.files.iter().find(|(name, _)| name == file).unwrap();
    let table: Table = text.parse().unwrap();
    table["endpoint"].as_table().unwrap().clone()
}

/// A schema of an endpoint.
pub fn schema(endpoint: &Table, key: &str) -> serde_json::Value {
    serde_json::from_str(endpoint[key].as_str().unwrap()).unwrap()
}

/// What a report says about an operation.
pub fn reviews<'r>(imported: &'r Import, operation: &str) -> Vec<&'r str> {
    let notes = imported.report.reviews.iter().filter(|note| note.operation == operation);
    notes.map(|note| note.message.as_str()).collect()
}
