//! Requests to the sample deployment, one per way through the engine. Shared by the allocation proof, the criterion
//! benches and the instruction counts, so that all three speak of the same thing.

/// The sample's `concierge`.
pub const CONCIERGE: &str = "bd0813b1a3a29598fb30b9723143930576c00d8f48bf635690264b8d89c8440d";

/// One way through the engine.
pub struct Scenario {
    /// Its name in tables and baselines.
    pub name: &'static str,
    /// The status it must get.
    pub status: u16,
    /// The request.
    pub request: Vec<u8>,
    /// Whether it may touch the heap: an explanation of a 422 may.
    pub may_allocate: bool,
}

/// All of them.
pub fn all() -> Vec<Scenario> {
    let body = r#"{"guest_name":"Ada Lovelace","check_in":"2027-03-14","nights":3,"guests":2,"room_type":"double","breakfast":true,"notes":"Late arrival, around 23:00; a quiet room, please."}"#;
    let scenario = |name, status, line: &str, body: &str| Scenario {
        name,
        status,
        request: request(line, body),
        may_allocate: status == 422,
    };
    vec![
        scenario("book_200", 200, "BOOK /rooms/12", body),
        scenario("find_query_200", 200, "FIND /rooms?guests=2&max_price=250.5&breakfast=true", ""),
        scenario("echo_200", 200, "ECHO /anything", r#"{"message":"hello"}"#),
        // A composition, and its three steps as requests of their own.
        scenario(
            "composition_200",
            200,
            "ASSESS /stays",
            r#"{"room_id":"12","check_in":"2031-03-01","nights":2,"guests":2}"#,
        ),
        scenario("step_check_200", 200, "CHECK /rooms/12/availability?check_in=2031-03-01&nights=2", ""),
        scenario("step_quote_200", 200, "QUOTE /stays?room_id=12&nights=2&guests=2&breakfast=true", ""),
        scenario("step_find_200", 200, "FIND /rooms?guests=2", ""),
        scenario("manifest_200", 200, "DISCOVER", ""),
        scenario("not_found_404", 404, "BOOK /nowhere/12", body),
        scenario("not_allowed_405", 405, "CANCEL /rooms/12", body),
        scenario("method_violation_459", 459, "BOKO /rooms/12", body),
        scenario("endpoint_violation_460", 460, "FIND /guests/fetch/12", ""),
        scenario("scope_required_262", 262, "BOOK /rooms/12 ", body),
        scenario(
            "invalid_input_422",
            422,
            "BOOK /rooms/12",
            r#"{"guest_name":"Ada","check_in":"2027-03-14"}"#,
        ),
    ]
}

/// A request as the concierge sends it. A trailing space on the line leaves out the claim of authority.
pub fn request(line: &str, body: &str) -> Vec<u8> {
    let scope = if line.ends_with(' ') { "" } else { "Authority-Scope: booking:*,reservations:*\r\n" };
    let agent = if line == "DISCOVER" { String::new() } else { format!("Agent-ID: {CONCIERGE}\r\n") };
    format!(
        "AGTP/1.0 {}\r\n{agent}{scope}Request-ID: req-000017\r\nContent-Type: application/vnd.agtp+json\r\nContent-Length: {}\r\n\r\n{body}",
        line.trim_end(),
        body.len()
    )
    .into_bytes()
}
