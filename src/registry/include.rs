//! The macro that brings a compiled deployment into a crate.

/// Includes what `agtp::compiler::build` compiled in the build script: `REGISTRY`, `AGENTS`, `functions()`
/// and `DOCUMENTS` (the names and texts of the files it was made from).
///
/// The names of registered functions are paths in the module `handlers`: `include_registry!()` takes the one in scope,
/// `include_registry!(handlers = path::to)` names another. The name `echo` is the one that the crate ships. A name that
/// no function has is an error of the Rust compiler, at a line that names the declaration.
///
/// It needs what a build script left in `OUT_DIR`, so it is no test here; `.ci/newcomer` builds and runs one.
///
/// ```text
/// mod functions {
///     pub mod rooms {
///         pub fn book_room(ctx: &Context<'_>, reply: &mut Reply<'_>) -> Result<(), EndpointError> { Ok(()) }
///     }
/// }
///
/// mod deployment {
///     agtp::include_registry!(handlers = crate::functions);
/// }
///
/// let engine = Engine::new(&deployment::REGISTRY, &deployment::AGENTS, &deployment::functions())?;
/// ```
#[macro_export]
macro_rules! include_registry {
    () => {
        #[allow(unused_imports, reason = "a deployment may use neither")]
        use $crate as rt;
        ::core::include!(::core::concat!(::core::env!("OUT_DIR"), "/agtp_registry.rs"));
    };
    (handlers = $($handlers:tt)+) => {
        #[allow(unused_imports, reason = "a deployment may bind no function")]
        use $($handlers)+ as handlers;
        $crate::include_registry!();
    };
}
