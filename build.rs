//! With the command line, compiles the deployment at the root of this repository into the binary.
//!
//! A crate cannot be its own build-dependency, so the compiler and what it is made of are included as modules.

#![allow(dead_code, unused_imports, reason = "of the included modules only what the compiler needs is used")]
#![allow(unreachable_pub, reason = "what is public in the library is reachable from nowhere here")]
#![allow(missing_docs, reason = "a build script has no documentation")]

#[cfg(feature = "cli")]
#[path = "src/catalog/mod.rs"]
mod catalog;
#[cfg(feature = "cli")]
#[path = "src/compiler/mod.rs"]
mod compiler;
#[cfg(feature = "cli")]
#[path = "src/identity/mod.rs"]
mod identity;
#[cfg(feature = "cli")]
#[path = "src/registry/mod.rs"]
mod registry;
#[cfg(feature = "cli")]
#[path = "src/wire/mod.rs"]
mod wire;

fn main() {
    #[cfg(feature = "cli")]
    compiler::build(".");
    #[cfg(not(feature = "cli"))]
    println!("cargo::rerun-if-changed=build.rs");
}
