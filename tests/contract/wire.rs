//! The order of checks, framing, and what stands on every answer (facts pages 1 to 3; D2, D9, D10, D14, D17, D18, D21).

use crate::common::{self, Answer, Wire, answers};
use crate::support::*;
use agtp::engine::{Engine, Function};
use agtp::handler::EndpointError;
use serde_json::json;
use std::sync::LazyLock;

const SUSPENDED: &str = "5555555555555555555555555555555555555555555555555555555555555555";
const RETIRED: &str = "6666666666666666666666666666666666666666666666666666666666666666";

static ENGINE: LazyLock<Engine<'static>> = LazyLock::new(|| {
    let functions = [
        Function::plain("test::fails", |_, _| Err(EndpointError::internal("on purpose"))),
        Function::plain("test::silent", |_, reply| {
            reply.no_content();
            Ok(())
        }),
    ];
    let settings = "[policies]\nanonymous_discovery = true\n[policies.methods]\ndisallow = [\"AUCTION\"]\n";
    Deployment::with_settings(settings)
        .agent("suspended", &json!({"agent_id": SUSPENDED, "status": "suspended"}))
        .agent("retired", &json!({"agent_id": RETIRED, "status": "retired"}))
        .endpoint(&Endpoint::echo("BOOK /rooms").taking(&["note"]).scopes(&["test:book"]))
        .endpoint(&Endpoint::echo("BOOK /rooms/{room}").taking(&["note"]))
        .endpoint(&Endpoint::echo("BOOK /broken").taking(&["note"]).function("test::fails"))
        .endpoint(&Endpoint::echo("BOOK /quiet").taking(&["note"]).function("test::silent"))
        .engine_with(&functions)
});

/// A request by its parts, so that two of them can be wrong at once.
#[derive(Clone)]
struct Parts {
    prefix: &'static str,
    method: &'static str,
    path: &'static str,
    query: &'static str,
    header: &'static str,
    delegation: &'static str,
    agent: Option<&'static str>,
    scope: Option<&'static str>,
    media: &'static str,
    body: &'static str,
    length: Option<&'static str>,
}

const SOUND: Parts = Parts {
    prefix: "AGTP/1.0",
    method: "BOOK",
    path: "/rooms",
    query: "",
    header: "",
    delegation: "",
    agent: Some(TESTER),
    scope: Some("test:*"),
    media: "application/json",
    body: r#"{"note":"n"}"#,
    length: None,
};

impl Parts {
    fn bytes(&self) -> Vec<u8> {
        let Parts { prefix, method, path, query, header, delegation, media, body, .. } = self;
        let line = |name: &str, value: Option<&str>| {
            value.map(|value| format!("{name}: {value}\r\n")).unwrap_or_default()
        };
        let (agent, scope) = (line("Agent-ID", self.agent), line("Authority-Scope", self.scope));
        let length = self.length.map_or(body.len().to_string(), str::to_owned);
        format!("{prefix} {method} {path}{query}\r\n{header}{delegation}{agent}{scope}Content-Type: {media}\r\nContent-Length: {length}\r\n\r\n{body}")
            .into_bytes()
    }
}

/// One thing wrong with a request. Two faults of one part exclude each other.
struct Fault {
    /// The gate that sees it, in the order of D2; within one gate, in the order in which it looks.
    gate: u32,
    part: &'static str,
    spoil: fn(&mut Parts),
    status: u16,
    code: &'static str,
}

#[rustfmt::skip]
const FAULTS: &[Fault] = &[
    Fault { gate: 0, part: "prefix", spoil: |p| p.prefix = "HTTP/1.1", status: 400, code: "invalid-request-line" },
    Fault { gate: 1, part: "query", spoil: |p| p.query = "?note=%zz", status: 400, code: "invalid-request-line" },
    Fault { gate: 1, part: "query", spoil: |p| p.query = "#fragment", status: 400, code: "invalid-request-line" },
    Fault { gate: 2, part: "header", spoil: |p| p.header = "X-A : 1\r\n", status: 400, code: "invalid-header" },
    Fault { gate: 2, part: "header", spoil: |p| p.header = "Transfer-Encoding: chunked\r\n", status: 400, code: "invalid-header" },
    Fault { gate: 3, part: "length", spoil: |p| p.length = Some("1x"), status: 400, code: "invalid-content-length" },
    Fault { gate: 3, part: "length", spoil: |p| p.length = Some("1048577"), status: 413, code: "content-too-large" },
    Fault { gate: 10, part: "delegation", spoil: |p| p.delegation = "Delegation-Chain: a,b\r\n", status: 501, code: "delegation-not-supported" },
    Fault { gate: 20, part: "agent", spoil: |p| p.agent = Some("me"), status: 400, code: "invalid-agent-id" },
    Fault { gate: 20, part: "agent", spoil: |p| p.agent = Some("0000000000000000000000000000000000000000000000000000000000000000"), status: 401, code: "agent-unauthenticated" },
    Fault { gate: 20, part: "agent", spoil: |p| p.agent = Some(SUSPENDED), status: 503, code: "agent-suspended" },
    Fault { gate: 20, part: "agent", spoil: |p| p.agent = Some(RETIRED), status: 410, code: "agent-revoked" },
    Fault { gate: 30, part: "method", spoil: |p| p.method = "BOKO", status: 459, code: "method-violation" },
    Fault { gate: 30, part: "method", spoil: |p| p.method = "book", status: 459, code: "method-violation" },
    Fault { gate: 40, part: "path", spoil: |p| p.path = "/rooms/", status: 460, code: "endpoint-violation" },
    Fault { gate: 40, part: "path", spoil: |p| p.path = "/no/fetch", status: 460, code: "endpoint-violation" },
    Fault { gate: 40, part: "path", spoil: |p| p.path = "rooms", status: 460, code: "endpoint-violation" },
    Fault { gate: 40, part: "path", spoil: |p| p.path = "/rooms/%ff", status: 460, code: "endpoint-violation" },
    Fault { gate: 50, part: "method", spoil: |p| p.method = "AUCTION", status: 405, code: "method-not-allowed-by-policy" },
    Fault { gate: 60, part: "path", spoil: |p| p.path = "/nowhere", status: 404, code: "endpoint-not-found" },
    Fault { gate: 61, part: "method", spoil: |p| p.method = "RESERVE", status: 405, code: "method-not-allowed" },
    Fault { gate: 70, part: "agent", spoil: |p| p.agent = None, status: 262, code: "authorization-required" },
    Fault { gate: 71, part: "scope", spoil: |p| p.scope = None, status: 262, code: "authorization-required" },
    Fault { gate: 71, part: "scope", spoil: |p| p.scope = Some("other:all"), status: 455, code: "scope-violation" },
    Fault { gate: 80, part: "media", spoil: |p| p.media = "text/xml", status: 400, code: "unsupported-content-type" },
    Fault { gate: 81, part: "body", spoil: |p| p.body = "{", status: 400, code: "invalid-json" },
    Fault { gate: 81, part: "body", spoil: |p| p.body = r#"{"note":1,"note":2}"#, status: 400, code: "invalid-json" },
    Fault { gate: 82, part: "body", spoil: |p| p.body = "[]", status: 422, code: "input-validation-failed" },
    Fault { gate: 82, part: "body", spoil: |p| p.body = r#"{"extra":1}"#, status: 422, code: "input-validation-failed" },
    Fault { gate: 82, part: "query", spoil: |p| p.query = "?extra=1", status: 422, code: "input-validation-failed" },
    Fault { gate: 90, part: "path", spoil: |p| p.path = "/broken", status: 500, code: "handler-failed" },
];

fn assert_fault(parts: &Parts, fault: &Fault) {
    let bytes = parts.bytes();
    let shown = String::from_utf8_lossy(&bytes);
    let mut wire = Wire::new(&ENGINE);
    let found = answers(&wire.send(&bytes));
    assert_eq!(found.len(), 1, "{shown}");
    assert_eq!(verdict(&found[0]), (fault.status, fault.code.to_owned()), "{shown}");
    assert_well_formed(&found[0]);
    // Only a fault of the wire puts the framing in doubt (D17).
    assert_eq!(wire.closed, fault.gate < 10, "{shown}");
    if wire.closed {
        assert!(wire.send(b"AGTP/1.0 DISCOVER /methods\r\n\r\n").is_empty());
    } else {
        let next = answers(&wire.send(&SOUND.bytes()));
        assert_eq!((next.len(), next[0].status), (1, 200), "{shown}: the connection goes on");
    }
}

#[test]
fn each_fault_has_its_answer_and_of_two_the_earlier_gate_speaks() {
    assert_eq!(answers(&Wire::new(&ENGINE).send(&SOUND.bytes()))[0].status, 200);
    for (row, first) in FAULTS.iter().enumerate() {
        let mut once = SOUND;
        (first.spoil)(&mut once);
        assert_fault(&once, first);
        for second in FAULTS.iter().skip(row + 1).filter(|second| second.part != first.part) {
            let mut twice = once.clone();
            (second.spoil)(&mut twice);
            let speaks = if first.gate <= second.gate { first } else { second };
            if first.gate != second.gate {
                assert_fault(&twice, speaks);
            }
        }
    }
}

#[test]
fn the_body_of_a_refused_request_is_consumed() {
    // Were it not, it would be answered as a request of its own.
    let smuggled = "AGTP/1.0 DISCOVER /methods\r\nRequest-ID: smuggled\r\n\r\n";
    for fault in FAULTS.iter().filter(|fault| (10..80).contains(&fault.gate)) {
        let mut parts = Parts { body: smuggled, ..SOUND };
        (fault.spoil)(&mut parts);
        let bytes = [parts.bytes(), SOUND.bytes()].concat();
        let statuses: Vec<_> =
            answers(&Wire::new(&ENGINE).send(&bytes)).iter().map(|answer| answer.status).collect();
        assert_eq!(statuses, [fault.status, 200], "{}", fault.code);
    }
}

/// Heads that break the rules of the wire, and the code of their 400.
#[rustfmt::skip]
const MALFORMED: &[(&str, &str)] = &[
    ("AGTP/1.1 DISCOVER /\r\n\r\n", "invalid-request-line"),
    ("AGTP/1.0  DISCOVER /\r\n\r\n", "invalid-request-line"),
    ("AGTP/1.0 DISCOVER  /\r\n\r\n", "invalid-request-line"),
    ("AGTP/1.0 DISCOVER / \r\n\r\n", "invalid-request-line"),
    ("AGTP/1.0 DISCOVER / HTTP/1.1\r\n\r\n", "invalid-request-line"),
    ("AGTP/1.0 DISCOVER \r\n\r\n", "invalid-request-line"),
    ("AGTP/1.0 \r\n\r\n", "invalid-request-line"),
    ("AGTP/1.0\r\n\r\n", "invalid-request-line"),
    ("\r\nAGTP/1.0 DISCOVER\r\n\r\n", "invalid-request-line"),
    ("agtp/1.0 DISCOVER\r\n\r\n", "invalid-request-line"),
    ("DISCOVER / AGTP/1.0\r\n\r\n", "invalid-request-line"),
    ("AGTP/1.0 DISCOVER /\n\n", "invalid-request-line"),
    ("AGTP/1.0 DISCOVER /\r\r\n\r\n", "invalid-request-line"),
    ("AGTP/1.0 DISCOVER /a\tb\r\n\r\n", "invalid-request-line"),
    ("AGTP/1.0 DISCOVER /a\0b\r\n\r\n", "invalid-request-line"),
    ("AGTP/1.0 DISCOVER\r\nA: b\n\r\n", "invalid-header"),
    ("AGTP/1.0 DISCOVER\r\nA: b\n\n", "invalid-header"),
    ("AGTP/1.0 DISCOVER\r\nA: b\rc\r\n\r\n", "invalid-header"),
    ("AGTP/1.0 DISCOVER\r\nA : b\r\n\r\n", "invalid-header"),
    ("AGTP/1.0 DISCOVER\r\n: b\r\n\r\n", "invalid-header"),
    ("AGTP/1.0 DISCOVER\r\nA\r\n\r\n", "invalid-header"),
    ("AGTP/1.0 DISCOVER\r\nA: b\r\n c\r\n\r\n", "invalid-header"),
    ("AGTP/1.0 DISCOVER\r\n A: b\r\n\r\n", "invalid-header"),
    ("AGTP/1.0 DISCOVER\r\nA: b\0\r\n\r\n", "invalid-header"),
    ("AGTP/1.0 DISCOVER\r\nA: b\u{7f}\r\n\r\n", "invalid-header"),
    ("AGTP/1.0 DISCOVER\r\nA: \u{e4}\r\n\r\n", "invalid-header"),
    ("AGTP/1.0 DISCOVER\r\n\u{c4}: a\r\n\r\n", "invalid-header"),
    ("AGTP/1.0 DISCOVER\r\nA(: b\r\n\r\n", "invalid-header"),
    ("AGTP/1.0 DISCOVER\r\nTransfer-Encoding: identity\r\n\r\n", "invalid-header"),
    ("AGTP/1.0 DISCOVER\r\ntransfer-encoding: chunked\r\n\r\n", "invalid-header"),
    ("AGTP/1.0 DISCOVER\r\nContent-Length:\r\n\r\n", "invalid-content-length"),
    ("AGTP/1.0 DISCOVER\r\nContent-Length: +0\r\n\r\n", "invalid-content-length"),
    ("AGTP/1.0 DISCOVER\r\nContent-Length: -0\r\n\r\n", "invalid-content-length"),
    ("AGTP/1.0 DISCOVER\r\nContent-Length: 0x0\r\n\r\n", "invalid-content-length"),
    ("AGTP/1.0 DISCOVER\r\nContent-Length: 0 0\r\n\r\n", "invalid-content-length"),
    ("AGTP/1.0 DISCOVER\r\nContent-Length: 0, 0\r\n\r\n", "invalid-content-length"),
    ("AGTP/1.0 DISCOVER\r\nContent-Length: 00000000000\r\n\r\n", "invalid-content-length"),
    ("AGTP/1.0 DISCOVER\r\nContent-Length: 0\r\nContent-Length: 0\r\n\r\n", "invalid-content-length"),
    ("AGTP/1.0 DISCOVER\r\ncontent-length: 0\r\nCONTENT-LENGTH: 0\r\n\r\n", "invalid-content-length"),
];

#[test]
fn malformed_heads_are_refused_and_the_connection_closes() {
    for (head, code) in MALFORMED {
        let mut wire = Wire::new(&ENGINE);
        let bytes = [head.as_bytes(), b"AGTP/1.0 DISCOVER\r\n\r\n"].concat();
        let found = answers(&wire.send(&bytes));
        assert_eq!(found.len(), 1, "{head:?}");
        assert_eq!(verdict(&found[0]), (400, (*code).to_owned()), "{head:?}");
        assert!(found[0].body["error"]["detail"].is_string(), "{head:?}");
        assert!(wire.closed, "{head:?}");
        assert_well_formed(&found[0]);
    }
}

#[test]
fn single_valued_headers_appear_once() {
    for name in [
        "Agent-ID",
        "Content-Type",
        "Authority-Scope",
        "Idempotency-Key",
        "Session-ID",
        "Task-ID",
        "Request-ID",
        "Accept",
        "Allow-RCNS",
        "Contract-Synthesized",
        "Delegation-Chain",
    ] {
        let (answer, closed) = Req::anonymous("DISCOVER")
            .header(name, "x")
            .header(&name.to_ascii_uppercase(), "x")
            .ask_and_close(&ENGINE);
        assert_eq!((verdict(&answer), closed), ((400, "invalid-header".to_owned()), true), "{name}");
    }
    let others = Req::anonymous("DISCOVER")
        .header("X-Tag", "a")
        .header("X-Tag", "b")
        .header("TTL", "1")
        .header("TTL", "2");
    assert_eq!(others.ask(&ENGINE).status, 200);
}

#[test]
fn header_names_have_no_case_and_values_no_surrounding_space() {
    let bytes = format!(
        "AGTP/1.0 BOOK /rooms\r\naGENT-iD:{TESTER}\r\nAUTHORITY-SCOPE:\t test:* \t\r\ncontent-length:0000000002\r\n\r\n{{}}"
    );
    let answer = common::ask(&ENGINE, bytes.as_bytes());
    assert_eq!((answer.status, answer.header("Agent-ID")), (200, Some(TESTER)));
}

#[test]
fn a_request_line_without_a_path_means_the_root() {
    for line in ["DISCOVER", "DISCOVER /"] {
        assert_eq!(Req::anonymous(line).ask(&ENGINE).body["agtp_version"], "1.0", "{line}");
    }
    let answer = Req::new("RESERVE").ask(&ENGINE);
    assert_eq!((answer.status, &answer.body["error"]["path"]), (405, &json!("/")));
}

#[test]
fn limits_hold_at_the_edge() {
    let line = |len: usize| format!("DISCOVER /{}", "x".repeat(len - "AGTP/1.0 DISCOVER /".len()));
    let status = |request: Req| {
        let (answer, closed) = request.ask_and_close(&ENGINE);
        assert_eq!(closed, answer.status == 400 || answer.status == 413, "{answer:?}");
        verdict(&answer)
    };
    let bad = |code: &str| (400, code.to_owned());
    assert_eq!(status(Req::anonymous(line(8192))).0, 404);
    assert_eq!(status(Req::anonymous(line(8193))), bad("invalid-request-line"));
    let headers = |count: usize| {
        (0..count).fold(Req::anonymous("DISCOVER"), |request, at| request.header(&format!("X-{at}"), "y"))
    };
    assert_eq!(status(headers(64)).0, 200);
    assert_eq!(status(headers(65)), bad("invalid-header"));
    let sized = |len: usize| Req::anonymous("DISCOVER").header("X-A", &"y".repeat(len - "X-A: \r\n".len()));
    assert_eq!(status(sized(16 * 1024)).0, 200);
    assert_eq!(status(sized(16 * 1024 + 1)), bad("invalid-header"));
    let body = |len: usize| {
        Req::new("BOOK /rooms")
            .header("Authority-Scope", "test:*")
            .body(format!("{{}}{}", " ".repeat(len - 2)))
    };
    assert_eq!(status(body(1024 * 1024)).0, 200);
    assert_eq!(status(body(1024 * 1024 + 1)), (413, "content-too-large".to_owned()));
}

#[test]
fn a_body_too_large_is_refused_by_its_length_alone() {
    let settings = "[limits]\nbody_bytes = 100\n";
    let engine = Deployment::with_settings(settings).engine();
    for (length, status) in [
        ("100", None),
        ("101", Some(413)),
        ("9999999999", Some(413)),
        ("0000000101", Some(413)),
        ("10000000000", Some(400)),
    ] {
        let mut wire = Wire::new(&engine);
        let head = format!(
            "AGTP/1.0 DISCOVER\r\nRequest-ID: r-1\r\nTask-ID: t-1\r\nContent-Length: {length}\r\n\r\n"
        );
        let found = answers(&wire.send(head.as_bytes()));
        assert_eq!(found.first().map(|answer| answer.status), status, "{length}");
        assert_eq!(wire.closed, status.is_some());
        if status == Some(413) {
            assert_eq!(found[0].body["error"]["limit_bytes"], 100);
            assert_eq!(
                (found[0].header("Request-ID"), found[0].header("Task-ID")),
                (Some("r-1"), Some("t-1"))
            );
        }
    }
}

#[test]
fn a_delegation_chain_is_not_supported_whoever_sends_it_and_wherever() {
    for line in ["DISCOVER", "BOOK /rooms", "BOKO /rooms", "BOOK /fetch", "BOOK /nowhere"] {
        for value in ["", "a", "a, b"] {
            for agent in [None, Some(TESTER), Some("me"), Some(SUSPENDED)] {
                let answer = Req::anonymous(line)
                    .maybe("Agent-ID", agent)
                    .header("Delegation-Chain", value)
                    .ask(&ENGINE);
                assert_eq!(
                    verdict(&answer),
                    (501, "delegation-not-supported".to_owned()),
                    "{line} {value:?} {agent:?}"
                );
            }
        }
    }
}

/// Requests of every kind, each complete, with the status each gets.
fn corpus() -> Vec<(u16, Vec<u8>)> {
    let scoped = |line: &str| Req::new(line).header("Authority-Scope", "test:*").header("Request-ID", "r-17");
    let note = r#"{"note":"caf\u00e9 \"\\ and more"}"#;
    let mut corpus: Vec<(u16, Vec<u8>)> = [
        (200, Req::anonymous("DISCOVER")),
        (200, Req::anonymous("DISCOVER /methods")),
        (200, Req::new("DISCOVER /").header("Task-ID", "t 1")),
        (200, Req::new("DISCOVER").header("Accept", "application/vnd.agtp.manifest+json")),
        (200, Req::new("DISCOVER /agents?")),
        (404, Req::new("DISCOVER /genesis")),
        (404, Req::anonymous("DISCOVER /genesis?agent_id=zz")),
        (200, scoped("BOOK /rooms").body(note)),
        (200, scoped("BOOK /rooms?note=a+b%20c&note=d")),
        (200, scoped("BOOK /rooms/%66etch").body("{}")),
        (200, scoped("BOOK /rooms/12?note=1").header("Content-Type", "application/json").body(" {} ")),
        (204, scoped("BOOK /quiet").header("Task-ID", "t")),
        (500, scoped("BOOK /broken").body(note)),
        (422, scoped("BOOK /rooms").body(r#"{"extra":[1,2,{"a":null}]}"#)),
        (422, scoped("BOOK /rooms").body("[]")),
        (422, scoped("BOOK /rooms?extra=1&more=2")),
        (400, scoped("BOOK /rooms").body("{\"note\":")),
        (400, scoped("BOOK /rooms").body(r#"{"note":"\ud800"}"#)),
        (400, scoped("BOOK /rooms").header("Content-Type", "text/plain").body("{}")),
        (262, Req::anonymous("BOOK /rooms").body("AGTP/1.0 DISCOVER\r\n\r\n")),
        (262, Req::new("BOOK /rooms").body(note)),
        (455, Req::new("BOOK /rooms").header("Authority-Scope", "other:*")),
        (400, Req::new("BOOK /rooms").header("Authority-Scope", "nonsense")),
        (404, scoped("BOOK /nowhere").body(note)),
        (405, scoped("RESERVE /rooms")),
        (405, scoped("AUCTION /rooms").body("{}")),
        (405, scoped("BOOK /")),
        (404, scoped("GET /nowhere")),
        (405, scoped("GET /rooms")),
        (459, scoped("BOKO /rooms").body(note)),
        (459, scoped("book /rooms")),
        (460, scoped("BOOK /fetch")),
        (460, scoped("BOOK /x/FE-TCH/y?note=1").body(note)),
        (460, scoped("BOOK /rooms/")),
        (460, scoped("BOOK rooms")),
        (460, scoped("BOOK /rooms/%ff")),
        (463, scoped("PROPOSE /").body(r#"{"endpoint":{}}"#)),
        (501, scoped("QUERY").body(r#"{"intent":"x"}"#)),
        (501, scoped("BOOK /rooms").header("Delegation-Chain", "x").body(note)),
        (400, Req::anonymous("BOOK /rooms").header("Agent-ID", "me").body(note)),
        (401, Req::anonymous("BOOK /rooms").header("Agent-ID", &"9".repeat(64)).body(note)),
        (503, Req::anonymous("BOOK /rooms").header("Agent-ID", SUSPENDED).body(note)),
        (410, Req::anonymous("BOOK /rooms").header("Agent-ID", RETIRED)),
        (200, Req::anonymous("DISCOVER /methods").header("Target-Agent", TESTER)),
    ]
    .into_iter()
    .map(|(status, request)| (status, request.bytes()))
    .collect();
    let too_large = b"AGTP/1.0 BOOK /rooms\r\nContent-Length: 1048577\r\n\r\n{";
    corpus.push((413, too_large.to_vec()));
    corpus.extend(MALFORMED.iter().map(|(head, _)| (400, head.as_bytes().to_vec())));
    corpus
}

#[test]
fn a_request_cut_anywhere_gets_the_same_answer() {
    let corpus = corpus();
    assert!(corpus.len() >= 80);
    for (status, request) in &corpus {
        let shown = String::from_utf8_lossy(request);
        let mut wire = Wire::new(&ENGINE);
        let whole = wire.send(request);
        let closed = wire.closed;
        assert_eq!(
            answers(&whole).iter().map(|answer| answer.status).collect::<Vec<_>>(),
            [*status],
            "{shown}"
        );
        for at in 1..request.len() {
            let mut wire = Wire::new(&ENGINE);
            let (head, tail) = request.split_at(at);
            let early = wire.send(head);
            // A sound request is answered once it is whole, not before.
            assert!(closed || early.is_empty(), "cut at {at}: {shown}");
            assert_eq!([early, wire.send(tail)].concat(), whole, "cut at {at}: {shown}");
            assert_eq!(wire.closed, closed);
        }
        let mut wire = Wire::new(&ENGINE);
        let bytewise: Vec<u8> = request.iter().flat_map(|byte| wire.send(&[*byte])).collect();
        assert_eq!(bytewise, whole, "{shown}");
    }
}

#[test]
fn a_stream_of_requests_is_the_same_however_it_is_cut() {
    let corpus = corpus();
    let sound = |(status, request): &&(u16, Vec<u8>)| {
        *status != 413 && !MALFORMED.iter().any(|(head, _)| head.as_bytes() == request)
    };
    let stream: Vec<u8> = corpus.iter().filter(sound).flat_map(|(_, request)| request.clone()).collect();
    let statuses: Vec<_> = corpus.iter().filter(sound).map(|(status, _)| *status).collect();
    let whole = Wire::new(&ENGINE).send(&stream);
    assert_eq!(answers(&whole).iter().map(|answer| answer.status).collect::<Vec<_>>(), statuses);
    for size in [1, 2, 3, 7, 64, 301, 1000, 4096] {
        let mut wire = Wire::new(&ENGINE);
        let cut: Vec<u8> = stream.chunks(size).flat_map(|chunk| wire.send(chunk)).collect();
        assert!(cut == whole, "in pieces of {size}");
    }
}

#[test]
fn a_hundred_requests_in_one_write_are_answered_in_order() {
    let corpus: Vec<_> = corpus().into_iter().take(44).collect();
    let mut stream = Vec::new();
    let mut statuses = Vec::new();
    for at in 0..100 {
        let (status, request) = &corpus[at * 7 % corpus.len()];
        stream.extend_from_slice(request);
        statuses.push(*status);
        let marked = Req::anonymous("DISCOVER /methods").header("Request-ID", &format!("r-{at}"));
        stream.extend_from_slice(&marked.bytes());
    }
    let answers = answers(&Wire::new(&ENGINE).send(&stream));
    assert_eq!(answers.len(), 200);
    for (at, pair) in answers.chunks(2).enumerate() {
        assert_eq!((pair[0].status, pair[1].status), (statuses[at], 200));
        assert_eq!(pair[1].header("Request-ID"), Some(&*format!("r-{at}")));
    }
    let ids: Vec<_> = answers.iter().map(|answer| answer.header("Response-ID").expect("an id")).collect();
    assert!(ids.windows(2).all(|pair| pair[0] < pair[1]), "unique, and each greater than the one before");
    // The clock of the requests is in them: 1,800,000,000,000 ms.
    assert!(ids.iter().all(|id| id.starts_with("01a3185c-5000-7")));
    let first = answers.iter().filter(|answer| answer.header("Supported-Methods").is_some()).count();
    assert_eq!(
        (first, answers[0].header("Supported-Methods").is_some()),
        (1, true),
        "on the first answer only"
    );
}

#[test]
fn supported_methods_are_the_floor_and_what_has_an_endpoint() {
    let mut expected = FLOOR.to_vec();
    expected.push("BOOK");
    expected.sort_unstable();
    let requests =
        [Req::anonymous("DISCOVER /methods"), Req::anonymous("BOKO /"), Req::anonymous("DISCOVER #")];
    for request in requests {
        let answer = request.ask(&ENGINE);
        let mut methods: Vec<_> = answer.header("Supported-Methods").expect("a list").split(", ").collect();
        methods.sort_unstable();
        assert_eq!(methods, expected, "{}", request.shown());
    }
}

fn echoes(answer: &Answer) -> [Option<&str>; 3] {
    ["Agent-ID", "Task-ID", "Request-ID"].map(|name| answer.header(name))
}

#[test]
fn three_headers_are_echoed_verbatim_on_every_answer() {
    let odd = "a  b\t;,=\"~ {}";
    for (_, request) in corpus().iter().take(44) {
        let head_end = request.windows(2).position(|pair| pair == b"\r\n").expect("a line") + 2;
        let text = String::from_utf8_lossy(request);
        let added = ["Task-ID", "Request-ID"].into_iter().filter(|name| !text.contains(name));
        let added: String =
            added.map(|name| format!("{name}:   {odd} \t\r\nSession-ID-{name}: x\r\n")).collect();
        let request = [&request[..head_end], added.as_bytes(), &request[head_end..]].concat();
        let answer = common::ask(&ENGINE, &request);
        let sent = |name: &str| {
            let line = text
                .lines()
                .take_while(|line| !line.is_empty())
                .find_map(|line| line.strip_prefix(&format!("{name}: ")));
            line.map(str::to_owned)
        };
        let agent = sent("Agent-ID").or(sent("Target-Agent"));
        let task = sent("Task-ID").unwrap_or(odd.to_owned());
        let id = sent("Request-ID").unwrap_or(odd.to_owned());
        assert_eq!(echoes(&answer), [agent.as_deref(), Some(&*task), Some(&*id)], "{text}");
        assert!(!answer.headers.iter().any(|(name, _)| name.starts_with("Session-ID")), "nothing else is");
    }
    assert_eq!(echoes(&Req::anonymous("DISCOVER").ask(&ENGINE)), [None; 3]);
}

#[test]
fn the_old_version_header_is_sent_where_the_operator_says_so() {
    let answer = |settings: &str| {
        let engine = Deployment::with_settings(settings).engine();
        Req::anonymous("BOKO /").ask(&engine)
    };
    assert_eq!(answer("legacy_version_header = true\n").header("AGTP-API-Version"), Some("1.0"));
    assert_eq!(answer("").header("AGTP-API-Version"), None);
    assert_eq!(answer("").header("Server-ID"), Some("server.example"));
}

#[test]
fn an_incomplete_request_times_out_with_what_was_read_of_it() {
    let cases: [(&str, [Option<&str>; 3]); 4] = [
        ("AGTP/1.0 DISC", [None; 3]),
        ("AGTP/1.0 DISCOVER\r\nRequest-ID: r-1\r\nTask-ID: t", [None, None, Some("r-1")]),
        ("AGTP/1.0 DISCOVER\r\nRequest-ID: r-1\r\nContent-Length: 5\r\n\r\n{", [None, None, Some("r-1")]),
        (
            "AGTP/1.0 DISCOVER\r\nTask-ID: t-1\r\nAgent-ID: 1111111111111111111111111111111111111111111111111111111111111111\r\n",
            [Some(TESTER), Some("t-1"), None],
        ),
    ];
    for (start, expected) in cases {
        let mut wire = Wire::new(&ENGINE);
        assert!(wire.send(start.as_bytes()).is_empty());
        let found = answers(&wire.time_out());
        assert_eq!(verdict(&found[0]), (408, "timeout".to_owned()));
        assert_well_formed(&found[0]);
        assert_eq!(echoes(&found[0]), expected, "{start:?}");
        assert_eq!(found[0].header("Trust-Tier").is_some(), expected[0].is_some());
    }
}
