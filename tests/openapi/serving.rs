//! An imported deployment is served, asks the upstream what the document says, and answers.

use super::common::{Folder, Wire, answers, engine_of};
use super::{fixture, imported};
use agtp::engine::Engine;
use agtp::handler::{Exchange, Upstream, UpstreamRequest, UpstreamResponse};
use std::cell::RefCell;
use std::rc::Rc;

const AGENT_ID: &str = "7a0000000000000000000000000000000000000000000000000000000000000a";

/// Answers everything alike and remembers what it was asked.
struct Fake {
    asked: RefCell<Vec<UpstreamRequest>>,
    status: u16,
    body: &'static str,
}

impl Upstream for Fake {
    fn send(&self, request: UpstreamRequest) -> Exchange {
        self.asked.borrow_mut().push(request);
        let (status, body) = (self.status, self.body.as_bytes().to_vec());
        let content_type = Some("application/json".to_owned());
        Box::pin(async move { Ok(UpstreamResponse { status, content_type, body }) })
    }
}

fn petshop() -> Engine<'static> {
    let imported = imported(&fixture("petshop.yaml"));
    let agent = format!(
        r#"{{"agent_id":"{AGENT_ID}","name":"tester","status":"active","requires":{{"methods":[],"scopes":["pets:use"],"wildcards":false}}}}"#
    );
    let mut files: Vec<_> =
        imported.files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    files.push(("agents/tester.agent.json", &agent));
    let folder = Folder::with(&files);
    engine_of(folder.path(), &[]).with_variables(|name| Some(format!("<{name}>"))).unwrap()
}

/// What a request is answered, and what the upstream was asked for it.
fn call(
    engine: &Engine<'_>,
    line: &str,
    body: &str,
    upstream: (u16, &'static str),
) -> (u16, serde_json::Value, Option<UpstreamRequest>) {
    let fake = Rc::new(Fake { asked: RefCell::default(), status: upstream.0, body: upstream.1 });
    let request = format!(
        "AGTP/1.0 {line}\r\nAgent-ID: {AGENT_ID}\r\nAuthority-Scope: pets:use\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let answer = answers(&Wire::new(engine).through(fake.clone()).send(request.as_bytes())).remove(0);
    let asked = fake.asked.borrow_mut().pop();
    (answer.status, answer.body, asked)
}

fn header<'r>(request: &'r UpstreamRequest, name: &str) -> Option<&'r str> {
    request.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
}

#[test]
fn query_and_headers_go_where_the_document_has_them() {
    let engine = petshop();
    let pets = r#"[{"id":1,"name":"Rex","serial":"s"}]"#;
    let target = "LIST /pets?limit=5&tags=a&x_trace_id=t";
    let (status, body, asked) = call(&engine, target, r#"{"tags":["a","b c"]}"#, (200, pets));
    let asked = asked.unwrap();
    assert_eq!(status, 200, "{body}");
    assert_eq!(body["items"][0]["name"], "Rex");
    assert_eq!(asked.method, "GET");
    let (url, query) = asked.url.split_once('?').unwrap();
    assert_eq!(url, "https://eu.petshop.example/v2/pets");
    let mut query: Vec<_> = query.split('&').collect();
    query.sort_unstable();
    assert_eq!(query, ["limit=5", "tags=a", "tags=b%20c"]);
    assert_eq!(header(&asked, "X-Trace-Id"), Some("t"));
    assert_eq!(header(&asked, "X-Api-Key"), Some("<PET_SHOP_TOKEN>"));
    assert_eq!(asked.body, None);
}

#[test]
fn bodies_are_objects_arrays_or_forms() {
    let engine = petshop();
    let pet = r#"{"id":1,"name":"Rex","serial":"s"}"#;
    let input = r#"{"name":"Rex","notify":true,"x_trace_id":"t","tag":null}"#;
    let (status, body, asked) = call(&engine, "CREATE /pets", input, (201, pet));
    let asked = asked.unwrap();
    assert_eq!(
        (status, asked.url.as_str()),
        (200, "https://eu.petshop.example/v2/pets?notify=true"),
        "{body}"
    );
    assert_eq!(asked.body.as_deref(), Some(br#"{"name":"Rex","tag":null}"#.as_slice()));

    let (status, _, asked) =
        call(&engine, "EXECUTE /pets/7/adopt", r#"{"body":["Ada"]}"#, (200, r#"{"kind":"cat"}"#));
    let asked = asked.unwrap();
    assert_eq!((status, asked.url.as_str()), (200, "https://eu.petshop.example/v2/pets/7/adopt"));
    assert_eq!(asked.body.as_deref(), Some(br#"["Ada"]"#.as_slice()));

    let (status, _, asked) = call(&engine, "ORDER /store/orders", r#"{"sku":"a&b","amount":2}"#, (200, "{}"));
    let asked = asked.unwrap();
    assert_eq!((status, asked.body.as_deref()), (200, Some(b"sku=a%26b&amount=2".as_slice())));
    assert_eq!(header(&asked, "Content-Type"), Some("application/x-www-form-urlencoded"));
    assert_eq!(header(&asked, "Authorization"), Some("Basic <PET_SHOP_BASIC>"));
}

#[test]
fn failures_and_empty_answers_are_what_the_document_says() {
    let engine = petshop();
    let list = "LIST /pets?x_trace_id=t";
    for (status, code) in [
        (404, "not_found"),
        (429, "rate_limited"),
        (500, "upstream_error"),
        (401, "upstream_authentication_failed"),
    ] {
        let (answered, body, _) = call(&engine, list, "", (status, "{}"));
        assert_eq!((answered, body["error"]["code"].as_str()), (422, Some(code)), "{status}");
    }
    let (_, body, _) = call(&engine, list, "", (200, r#"{"no":"array"}"#));
    assert_eq!(body["error"]["code"], "upstream_malformed_response");
    let (status, body, asked) = call(&engine, "REMOVE /pets/7", "", (204, ""));
    assert_eq!((status, body), (200, serde_json::json!({})));
    assert_eq!(asked.unwrap().method, "DELETE");
    // A header that would end its line is refused before anything is sent.
    let (status, body, asked) = call(&engine, "LIST /pets", r#"{"x_trace_id":"a\r\nb"}"#, (200, "[]"));
    assert_eq!((status, body["error"]["field"].as_str(), asked), (422, Some("/x_trace_id"), None));
    assert_eq!(call(&engine, "FETCH /pets/7?colour=red", "", (200, "{}")).0, 422, "undeclared input");
}
