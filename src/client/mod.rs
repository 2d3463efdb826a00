//! A blocking client: one connection, one request at a time.
//!
//! It is what `agtp call` uses, and small on purpose. [`Request`] is built and encoded without a connection;
//! [`Connection::open`] dials and [`Connection::call`] sends one request and waits for its answer. Everything has one
//! deadline, so that a call ends when its caller said it would, however slowly bytes come in.

mod connection;
mod request;
mod trust;

pub use connection::{ClientError, Connection, Response, is_loopback, resolve};
pub use request::{Request, RequestError};
pub use trust::{Trust, TrustError};
