//! The deployment at the root of this repository, compiled in by `build.rs`.
//!
//! What is included defines `REGISTRY`, `AGENTS`, `functions()` and `DOCUMENTS`, the files it was made from: their names
//! relative to the deployment, and their texts.

/// What the function names of the declarations stand for.
mod handlers {
    pub(super) use crate::handler::hotel::{reservations, rooms, stays};
}

crate::include_registry!();
