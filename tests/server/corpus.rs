//! Requests to the sample deployment, of every kind of answer it gives.

use super::common::scenarios::CONCIERGE;

const FORMER: &str = "62c243ef0e7aa11fb4971d175060a1903b5d1b2399501f054fde87305be51fd3";
const STRANGER: &str = "0000000000000000000000000000000000000000000000000000000000000000";
const STAY: &str =
    r#"{"guest_name":"Ada \"L\" Lovelace","check_in":"2031-03-14","nights":3,"notes":"caf\u00e9"}"#;

/// One request and the status it must get.
pub struct Case {
    /// The status.
    pub status: u16,
    /// The request.
    pub request: Vec<u8>,
    /// Whether the connection closes after it (D17).
    pub closes: bool,
}

/// All of them.
pub fn all() -> Vec<Case> {
    let mut cases = accepted();
    cases.extend(refused_by_contract());
    cases.extend(refused_by_engine());
    cases.extend(wire_faults());
    cases
}

/// Those after which the connection goes on.
pub fn lasting() -> Vec<Case> {
    all().into_iter().filter(|case| !case.closes).collect()
}

fn case(status: u16, line: &str, headers: &str, body: &str) -> Case {
    let length = if body.is_empty() { String::new() } else { format!("Content-Length: {}\r\n", body.len()) };
    let request = format!("AGTP/1.0 {line}\r\n{headers}{length}\r\n{body}").into_bytes();
    Case { status, request, closes: false }
}

/// As the concierge sends it, with its scopes.
fn own(status: u16, line: &str, body: &str) -> Case {
    let scopes = "Authority-Scope: booking:*, reservations:*";
    case(status, line, &format!("Agent-ID: {CONCIERGE}\r\n{scopes}\r\nRequest-ID: r-{status}\r\n"), body)
}

fn closing(status: u16, request: &str) -> Case {
    Case { status, request: request.into(), closes: true }
}

fn accepted() -> Vec<Case> {
    vec![
        own(200, "BOOK /rooms/12", STAY),
        own(200, "FIND /rooms?guests=2&max_price=250.5&breakfast=true", ""),
        own(200, "SEARCH /rooms", ""),
        own(
            200,
            "ECHO /anything?message=a+b%C3%A9&flag=true",
            r#"{"count":3,"payload":{"deep":[1,{"e":2}]}}"#,
        ),
        own(200, "ECHO /anything?message=last&message=one", ""),
        case(200, "DISCOVER", "", ""),
        case(200, "DISCOVER /", "Accept: application/vnd.agtp.manifest+json\r\nTask-ID: t\r\n", ""),
        case(200, "DISCOVER /methods", "", ""),
        own(200, "DISCOVER /", ""),
        own(200, "DISCOVER /genesis", ""),
    ]
}

fn refused_by_contract() -> Vec<Case> {
    let concierge = |scopes: &str| format!("Target-Agent: {CONCIERGE}\r\nAuthority-Scope: {scopes}\r\n");
    vec![
        case(262, "BOOK /rooms/12", "", STAY),
        case(262, "BOOK /rooms/12", &format!("Agent-ID: {CONCIERGE}\r\n"), STAY),
        case(262, "BOOK /rooms/12", &concierge("reservations:read"), STAY),
        case(455, "BOOK /rooms/12", &concierge("booking:*,money:spend"), STAY),
        case(400, "BOOK /rooms/12", &concierge("booking"), STAY),
        own(422, "BOOK /rooms/12", r#"{"guest_name":"Ada","check_in":"2031-02-30","nights":0}"#),
        own(422, "BOOK /rooms/12", "[1]"),
        own(422, "LOOKUP /reservations/none", ""),
        own(422, "ECHO /anything?undeclared=1", ""),
        own(400, "ECHO /anything", r#"{"message":"unfinished"#),
        own(400, "ECHO /anything", r#"{"message":"a","message":"b"}"#),
        own(400, "ECHO /anything", r#"{"message":"\ud800"}"#),
        case(
            400,
            "ECHO /anything",
            &format!("{}Content-Type: text/plain\r\n", concierge("booking:room")),
            "{}",
        ),
    ]
}

fn refused_by_engine() -> Vec<Case> {
    let agent = |id: &str| format!("Agent-ID: {id}\r\n");
    vec![
        case(400, "FIND /rooms", &agent("ABC"), ""),
        case(401, "FIND /rooms", &agent(STRANGER), ""),
        case(410, "FIND /rooms", &agent(FORMER), "{}"),
        own(404, "BOOK /nowhere/12", STAY),
        own(404, "BOOK /rooms//12", ""),
        own(405, "CANCEL /rooms/12", STAY),
        own(405, "AUCTION /rooms/12", ""),
        own(459, "BOKO /rooms/12", STAY),
        own(459, "book /rooms/12", ""),
        own(459, "FINDX /rooms/12", ""),
        own(460, "FIND /guests/%46etch/12", ""),
        own(460, "FIND rooms", "{}"),
        own(460, "FIND /ro<ms", ""),
        own(463, "PROPOSE /", r#"{"endpoint":{"method":"BOOK"}}"#),
        case(501, "FIND /rooms", "Delegation-Chain: a\r\n", "{}"),
        own(501, "PLAN /", r#"{"goal":"a stay"}"#),
    ]
}

fn wire_faults() -> Vec<Case> {
    vec![
        closing(400, "HTTP/1.1 GET /\r\n\r\n"),
        closing(400, "AGTP/1.0 FIND  /rooms\r\n\r\n"),
        closing(400, "AGTP/1.0 FIND /rooms\n\n"),
        closing(400, "AGTP/1.0 FIND /rooms?a=%GG\r\n\r\n"),
        closing(400, "AGTP/1.0 FIND /rooms\r\nRequest-ID : 1\r\n\r\n"),
        closing(400, "AGTP/1.0 FIND /rooms\r\nRequest-ID: 1\r\n folded\r\n\r\n"),
        closing(400, "AGTP/1.0 FIND /rooms\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        closing(400, "AGTP/1.0 FIND /rooms\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\n{}"),
        closing(400, "AGTP/1.0 FIND /rooms\r\nRequest-ID: seven\r\nContent-Length: -1\r\n\r\n"),
        closing(413, "AGTP/1.0 FIND /rooms\r\nRequest-ID: eight\r\nContent-Length: 1048577\r\n\r\n{"),
    ]
}
