//! Documents to a checked registry; shared by `build.rs` and `agtp serve --deployment`.
//!
//! `read` turns a directory into checked declarations (`ir`) and a report of every fault; `lower` turns declarations
//! into the tables of a [`Registry`](crate::registry::Registry); `emit` turns tables into Rust source. `build` does all
//! three in a build script.

mod build;
pub mod canonical;
mod check;
mod emit;
mod fault;
#[doc(hidden)]
pub mod fuzz;
pub mod genesis;
pub mod ir;
mod jws;
pub mod key;
mod lower;
mod manifest;
mod manifest_check;
mod read;
pub mod rules;
mod suggest;

mod times;

pub use build::build;
#[cfg(feature = "cli")]
pub(crate) use check::path::RESERVED as RESERVED_ROOTS;
pub use emit::emit;
pub use fault::{Fault, Report, Rule, Severity};
pub use jws::{Signer, sign_manifests};
pub use lower::{Compiled, FunctionUse, LowerError, lower};
pub use manifest_check::{ManifestFault, ManifestOptions, ManifestReport, SignatureState, check_manifest};
pub use read::{
    Effect, EndpointConflict, Impact, LeftOut, PathConflict, PolicyConflict, ReadOptions, Reading,
    RecipeConflict, check_genesis, impact, read, read_agent, read_documents,
};
pub use times::{ManifestTimes, modified, rfc3339};
