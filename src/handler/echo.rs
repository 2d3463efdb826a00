//! A function for trying things out.

use super::{Context, EndpointError, Reply};

/// Answers `{"input": …, "method": "…", "path": "…"}`: the validated input, and the method and path after alias and
/// redirect (D26).
///
/// # Errors
/// None.
pub fn echo(ctx: &Context<'_>, reply: &mut Reply<'_>) -> Result<(), EndpointError> {
    reply.object(|o| {
        o.value("input", ctx.input().value());
        o.str("method", ctx.method());
        o.str("path", ctx.path());
    });
    Ok(())
}
