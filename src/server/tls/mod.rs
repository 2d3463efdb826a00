//! TLS 1.3 (draft: Transport; D18): certificates, and sessions over them.

mod certificates;
mod session;

pub use certificates::{Certificates, TlsError};
pub(super) use session::{Records, Tls};
