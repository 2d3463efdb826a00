//! External services at the engine: what an upstream is asked, and what its silence comes to. The upstream is a fake.

use super::common::{Folder, Wire, answers, engine_of};
use agtp::engine::Engine;
use agtp::handler::{Exchange, Upstream, UpstreamRequest, UpstreamResponse};
use std::cell::RefCell;
use std::rc::Rc;

const AGENT_ID: &str = "7a0000000000000000000000000000000000000000000000000000000000000a";

/// Remembers what it was asked; answers everything with `{}`, or never.
#[derive(Default)]
struct Fake {
    asked: RefCell<Vec<UpstreamRequest>>,
    silent: bool,
}

impl Upstream for Fake {
    fn send(&self, request: UpstreamRequest) -> Exchange {
        self.asked.borrow_mut().push(request);
        if self.silent {
            return Box::pin(std::future::pending());
        }
        let content_type = Some("application/json".to_owned());
        Box::pin(async { Ok(UpstreamResponse { status: 200, content_type, body: b"{}".to_vec() }) })
    }
}

fn engine(url: &str, method: &str, headers: &str) -> Engine<'static> {
    let agent = format!(
        r#"{{"agent_id":"{AGENT_ID}","name":"tester","description":"Tests.","principal":"Tests","principal_id":"t",
            "status":"active","skills":[],"requires":{{"methods":["FETCH"],"scopes":["test:run"],"wildcards":false}},
            "scopes_accepted":[],"issuer":"tests.example","issued_at":"2026-01-01T00:00:00Z"}}"#
    );
    let endpoint = format!(
        r#"[endpoint]
method = "FETCH"
path = "/things/{{id}}"
description = "Asks."
errors = ["upstream_timeout", "upstream_connection_error", "upstream_malformed_response", "upstream_authentication_failed", "upstream_error"]
input_schema = {{ type = "object", additionalProperties = false, required = ["id"], properties = {{ id = {{ type = ["string", "integer"] }}, tags = {{ type = "array" }}, since = {{ type = "string" }} }} }}
[endpoint.semantic]
intent = "Ask."
actor = "agent"
outcome = "It is known."
capability = "retrieval"
confidence = 0.5
impact = "informational"
is_idempotent = true
[endpoint.handler]
type = "external_service"
url = "{url}"
method = "{method}"
headers = {{ {headers} }}
input_transform = {{ since = "from" }}
"#
    );
    let settings = "[server]\nserver_id = \"t\"\n[policies]\nscope_required_for_invocation = false\n";
    let folder = Folder::with(&[
        ("agtp-server.toml", settings),
        ("agents/tester.agent.json", &agent),
        ("endpoints/things.toml", &endpoint),
    ]);
    engine_of(folder.path(), &[])
}

fn request(target: &str, body: &str) -> Vec<u8> {
    let len = body.len();
    format!(
        "AGTP/1.0 FETCH {target}\r\nAgent-ID: {AGENT_ID}\r\nAuthorization: Bearer caller\r\nContent-Length: {len}\r\n\r\n{body}"
    )
    .into_bytes()
}

/// What the upstream is asked for this request; the status, if it is not asked.
fn asked(engine: &Engine<'_>, target: &str, body: &str) -> Result<UpstreamRequest, u16> {
    let fake = Rc::new(Fake::default());
    let answer = answers(&Wire::new(engine).through(fake.clone()).send(&request(target, body))).remove(0);
    fake.asked.borrow_mut().pop().ok_or(answer.status)
}

#[test]
fn parameters_stay_within_their_segment() {
    let engine = engine("https://u.example/v1/{id}/x?k={id}", "GET", "");
    for (target, url) in [
        ("/things/a%2Fb%3F%23", "https://u.example/v1/a%2Fb%3F%23/x?k=a%2Fb%3F%23"),
        ("/things/%25zz", "https://u.example/v1/%25zz/x?k=%25zz"),
        ("/things/%C3%A9~", "https://u.example/v1/%C3%A9~/x?k=%C3%A9~"),
        ("/things/...", "https://u.example/v1/.../x?k=..."),
        ("/things/a?since=1+2%26", "https://u.example/v1/a/x?k=a&from=1%202%26"),
    ] {
        assert_eq!(asked(&engine, target, "").unwrap().url, url, "{target}");
    }
    for target in ["/things/%2e", "/things/%2E%2e"] {
        assert_eq!(asked(&engine, target, "").unwrap_err(), 422, "{target}");
    }
}

#[test]
fn what_is_left_is_query_or_body() {
    let body = r#"{"since":"s","tags":["a b",1,{"c":null}]}"#;
    for method in ["GET", "HEAD", "DELETE"] {
        let request = asked(&engine("https://u.example/{id}", method, ""), "/things/7", body).unwrap();
        let url = "https://u.example/7?from=s&tags=a%20b&tags=1&tags=%7B%22c%22%3Anull%7D";
        assert_eq!((request.url.as_str(), request.body), (url, None));
    }
    for method in ["POST", "PUT", "PATCH", "OPTIONS"] {
        let request = asked(&engine("https://u.example/{id}", method, ""), "/things/7", body).unwrap();
        let sent = String::from_utf8(request.body.unwrap()).unwrap();
        assert_eq!(request.url, "https://u.example/7");
        assert_eq!(sent, r#"{"from":"s","tags":["a b",1,{"c":null}]}"#);
        assert!(request.headers.contains(&("Content-Type".to_owned(), "application/json".to_owned())));
        assert!(!format!("{:?}", request.headers).contains("caller"));
    }
}

#[test]
fn variables_are_resolved_or_named() {
    let declared = || engine("https://u.example/{id}", "GET", r#"X-A = "a${ONE}b${TWO}" "#);
    let wrong = |value: Option<&'static str>| {
        let engine = declared()
            .with_variables(|name| if name == "ONE" { Some("1".into()) } else { value.map(Into::into) });
        engine.err().unwrap().to_string()
    };
    for value in [None, Some("a\r\nb"), Some("\u{e9}")] {
        let message = wrong(value);
        assert!(message.contains("endpoints/things.toml") && message.contains("TWO"), "{message}");
        assert!(!message.contains('\n'));
    }
    // Unresolved, it asks nobody.
    assert_eq!(asked(&declared(), "/things/7", "").unwrap_err(), 500);
    let engine = declared().with_variables(|name| Some(name.to_lowercase())).unwrap();
    let headers = asked(&engine, "/things/7", "").unwrap().headers;
    assert!(headers.contains(&("X-A".to_owned(), "aonebtwo".to_owned())));
}

#[test]
fn an_upstream_that_is_given_up_is_an_upstream_timeout() {
    let engine = engine("https://u.example/{id}", "GET", "");
    let fake = Rc::new(Fake { silent: true, ..Fake::default() });
    let mut wire = Wire::new(&engine).through(fake);
    wire.begin(&request("/things/7", ""));
    assert_eq!(wire.poll(), None);
    assert_eq!(wire.patience_ms(), Some(31_000));
    let answer = answers(&wire.expire()).remove(0);
    assert_eq!((answer.status, answer.code()), (422, "upstream_timeout"));
}
