//! The request that every server is sent: BOOK of the sample deployment.

use agtp::bench::Protocol;

/// The sample's concierge.
pub const CONCIERGE: &str = "bd0813b1a3a29598fb30b9723143930576c00d8f48bf635690264b8d89c8440d";

/// What the concierge claims.
pub const SCOPES: &str = "booking:*,reservations:*";

const BODY: &str = r#"{"guest_name":"Ada Lovelace","check_in":"2027-03-14","nights":3,"guests":2,"room_type":"double","breakfast":true,"notes":"Late arrival, around 23:00; a quiet room, please."}"#;

/// The same request in either protocol.
pub fn request(protocol: Protocol) -> Vec<u8> {
    let line = match protocol {
        Protocol::Agtp => "AGTP/1.0 BOOK /rooms/12\r\n",
        Protocol::Http => "POST /rooms/12 HTTP/1.1\r\nHost: localhost\r\n",
    };
    let content_type = match protocol {
        Protocol::Agtp => "application/vnd.agtp+json",
        Protocol::Http => "application/json",
    };
    format!(
        "{line}Agent-ID: {CONCIERGE}\r\nAuthority-Scope: {SCOPES}\r\nRequest-ID: req-000017\r\nContent-Type: {content_type}\r\nContent-Length: {}\r\n\r\n{BODY}",
        BODY.len()
    )
    .into_bytes()
}
