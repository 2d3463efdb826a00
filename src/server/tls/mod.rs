//! TLS 1.3 (draft: Transport; D18; D31): certificates, and sessions over them.

mod certificates;
mod credential;
mod identity;
mod session;

pub use certificates::{Authorities, Certificates, ClientCertificates, Encryption, TlsError};
pub use credential::Credential;
pub(super) use session::{Records, Tls, Unproven};
