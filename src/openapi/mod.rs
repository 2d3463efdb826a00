//! OpenAPI documents to deployments, and manifests to OpenAPI documents (draft: OpenAPI as an Authoring Source, OpenAPI
//! as an Export Target).
//!
//! No I/O: a document's text in, files and a [`Report`] out. Nothing is dropped silently: an operation becomes an
//! endpoint, with a `# REVIEW:` comment wherever a person has to judge, or is listed with the reason why not.
//!
//! ```text
//! text ─▶ document ─▶ operation ─▶ paths, verbs ──────────▶ endpoint ─▶ emit ─▶ the compiler ─▶ files
//!         refs                     parameters, body,        (unique)            drops what it
//!                                  responses, security                          would refuse
//! ```

mod body;
mod document;
mod emit;
mod endpoint;
mod export;
mod import;
mod operation;
mod parameters;
mod paths;
mod refs;
mod report;
mod responses;
mod schemas;
mod security;
mod servers;
mod unique;
mod verbs;

pub use document::MOST_BYTES;
pub use export::{ExportOptions, export};
pub use import::{Import, ImportOptions, Stage, import};
pub use report::{Note, Report, Written};
pub use unique::slug;
