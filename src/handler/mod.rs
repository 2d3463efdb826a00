//! Handlers: the functions that endpoints are bound to, and what they see.
//!
//! A plain handler is a `fn(&Context, &mut Reply) -> Result<(), EndpointError>`. It runs inline on the core that read
//! the request. By then the protocol has done its part: the caller is known, its authority covers the endpoint, and
//! the input satisfies the schema. An asynchronous one is an `async fn(OwnedContext) -> Result<OwnedReply,
//! EndpointError>`, awaited on the same core while other connections go on.
//!
//! ```
//! use agtp::handler::{Context, EndpointError, Reply};
//!
//! /// Bound with `[endpoint.handler] type = "registered_function"`, `function = "greet"`.
//! fn greet(ctx: &Context<'_>, reply: &mut Reply<'_>) -> Result<(), EndpointError> {
//!     let name = ctx.input().str("name")?;
//!     if name == "nobody" {
//!         return Err(EndpointError::named("nobody_there"));
//!     }
//!     reply.object(|o| {
//!         o.str("greeting", name);
//!     });
//!     Ok(())
//! }
//! # let _ = agtp::engine::Function::new("greet", greet);
//! ```

mod context;
mod echo;
mod error;
mod function;
#[cfg(feature = "cli")]
pub mod hotel;
mod owned;
mod reply;
mod upstream;

pub(crate) use context::Caller;
pub use context::{Context, Input};
pub use echo::echo;
pub use error::EndpointError;
pub(crate) use error::Failure;
pub(crate) use function::Handler;
pub use function::{AsyncHandler, Asynchronous, Function, IntoHandler, Later, Plain, PlainHandler};
pub(crate) use owned::OwnedHead;
pub use owned::{OwnedContext, OwnedReply};
pub use reply::Reply;
pub use upstream::{Exchange, Upstream, UpstreamFailure, UpstreamRequest, UpstreamResponse};
