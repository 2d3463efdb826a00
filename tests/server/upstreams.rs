//! External services against an upstream that behaves and one that does not: a TLS server of the test's own.

use super::common::{Folder, answers, engine_of};
use super::rig::{Client, Server, plaintext_configs, start};
use agtp::engine::Engine;
use agtp::server::{ServerConfig, UpstreamRoots};
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConnection, StreamOwned};
use std::io::{Read as _, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};

const AGENT_ID: &str = "7a0000000000000000000000000000000000000000000000000000000000000a";

/// More than an answer may have.
const HUGE: usize = 9 << 20;

/// An HTTPS server for `localhost`.
struct Upstream {
    port: u16,
    authority_pem: String,
    connections: Arc<AtomicUsize>,
    /// The head of each request.
    heads: Receiver<String>,
}

impl Upstream {
    fn start() -> Upstream {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
        let builder = rustls::ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap();
        let chain = vec![made.cert.der().clone()];
        let config = Arc::new(builder.with_no_client_auth().with_single_cert(chain, key).unwrap());
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (port, connections) = (listener.local_addr().unwrap().port(), Arc::<AtomicUsize>::default());
        let (sender, heads) = channel();
        let counter = Arc::clone(&connections);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                counter.fetch_add(1, Ordering::SeqCst);
                let session = ServerConnection::new(Arc::clone(&config)).unwrap();
                let sender = sender.clone();
                std::thread::spawn(move || converse(StreamOwned::new(session, stream), &sender));
            }
        });
        Upstream { port, authority_pem: made.cert.pem(), connections, heads }
    }
}

type Tls = StreamOwned<ServerConnection, TcpStream>;

/// Answers requests until the other side closes, or an answer is to be cut off.
fn converse(mut stream: Tls, heads: &Sender<String>) {
    while let Some((head, body)) = request(&mut stream) {
        let kind = head.split(['/', '?', ' ']).nth(2).unwrap_or_default().to_owned();
        let _ = heads.send(format!("{head}{body}"));
        let Some(answer) = answer(&kind) else {
            // Holds the request until the other side gives up.
            let _ = stream.read(&mut [0]);
            return;
        };
        if stream.write_all(&answer).and_then(|()| stream.flush()).is_err() || kind == "cut" {
            return;
        }
    }
}

fn request(stream: &mut Tls) -> Option<(String, String)> {
    let (mut bytes, mut chunk) = (Vec::new(), [0; 4096]);
    loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            let head = String::from_utf8(bytes[..end + 4].to_vec()).unwrap();
            let len = head
                .lines()
                .find_map(|line| line.to_lowercase().strip_prefix("content-length: ").map(str::to_owned));
            let len: usize = len.map_or(0, |len| len.parse().unwrap());
            if bytes.len() >= end + 4 + len {
                return Some((head, String::from_utf8(bytes[end + 4..].to_vec()).unwrap()));
            }
        }
        match stream.read(&mut chunk) {
            Ok(read) if read > 0 => bytes.extend_from_slice(&chunk[..read]),
            _ => return None,
        }
    }
}

fn answer(kind: &str) -> Option<Vec<u8>> {
    let json = "Content-Type: application/json\r\n";
    let gzip = "Content-Type: application/json\r\nContent-Encoding: gzip\r\n";
    let large = || format!("{{\"amount\":7,\"pad\":\"{}\"}}", "x".repeat(HUGE)).into_bytes();
    let sound = br#"{"amount":7,"note":"n"}"#;
    Some(match kind {
        "ok" => http(200, json, sound),
        "gzip" => http(200, gzip, &packed(sound)),
        "bomb" => http(200, gzip, &packed(&large())),
        "unpackable" => http(200, gzip, sound),
        "nothing" => http(204, "", b""),
        "text" => http(200, "Content-Type: text/plain\r\n", sound),
        "huge" => http(200, json, &large()),
        "broken" => http(200, json, br#"{"amount":"#),
        "array" => http(200, json, b"[7]"),
        "other" => http(200, json, br#"{"amount":"seven"}"#),
        "cut" => {
            let mut whole = http(200, json, sound);
            whole.truncate(whole.len() - 4);
            whole
        }
        "hang" | "slow" => return None,
        "moved" => http(301, "Location: /ok\r\n", b""),
        "closed" => http(401, "", b"no"),
        "gone" => http(404, "", b"no"),
        // Its body never ends.
        "stuck" => b"HTTP/1.1 404 Whatever\r\nContent-Length: 9\r\n\r\nno".to_vec(),
        "failed" => http(500, json, b"{}"),
        "garbage" => b"AGTP? no.\r\n\r\n".to_vec(),
        other => panic!("asked for {other}"),
    })
}

fn http(status: u16, headers: &str, body: &[u8]) -> Vec<u8> {
    let len = if status == 204 { String::new() } else { format!("Content-Length: {}\r\n", body.len()) };
    [format!("HTTP/1.1 {status} Whatever\r\n{headers}{len}\r\n").as_bytes(), body].concat()
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn declaration(
    method: &str,
    path: &str,
    url: &str,
    upstream_method: &str,
    more: &str,
    output: &str,
) -> String {
    format!(
        r#"[endpoint]
method = "{method}"
path = "{path}/{{kind}}"
description = "Asks."
errors = ["upstream_timeout", "upstream_connection_error", "upstream_malformed_response", "upstream_authentication_failed", "upstream_error", "no_such"]
[endpoint.semantic]
intent = "Ask."
actor = "agent"
outcome = "It is known."
capability = "retrieval"
confidence = 0.5
impact = "informational"
is_idempotent = true
[[endpoint.input.required]]
name = "kind"
type = "string"
[[endpoint.input.optional]]
name = "nights"
type = "integer"
{output}
[endpoint.handler]
type = "external_service"
url = "{url}/{{kind}}"
method = "{upstream_method}"
headers = {{ Authorization = "Bearer ${{TOKEN}}" }}
input_transform = {{ nights = "n" }}
error_map = {{ 404 = "no_such" }}
{more}
"#
    )
}

const PRICE: &str = "[[endpoint.output]]\nname = \"price\"\ntype = \"integer\"\n";
const RENAME: &str = "output_transform = { price = \"amount\" }\n";

/// Endpoints under these paths ask these urls.
fn engine(upstream: &Upstream, stranger: &Upstream, refused: u16) -> &'static Engine<'static> {
    let agent = format!(
        r#"{{"agent_id":"{AGENT_ID}","name":"tester","description":"Tests.","principal":"Tests","principal_id":"t",
            "status":"active","skills":[],"requires":{{"methods":["FETCH"],"scopes":["test:run"],"wildcards":false}},
            "scopes_accepted":[],"issuer":"tests.example","issued_at":"2026-01-01T00:00:00Z"}}"#
    );
    let ours = format!("https://localhost:{}", upstream.port);
    let get = |path: &str, url: &str, more: &str| {
        declaration("FETCH", path, url, "GET", &format!("{RENAME}{more}"), PRICE)
    };
    let settings =
        "[server]\nserver_id = \"tests.example\"\n[policies]\nscope_required_for_invocation = false\n";
    let folder = Folder::with(&[
        ("agtp-server.toml", settings),
        ("agents/tester.agent.json", &agent),
        ("endpoints/ask.toml", &get("/ask", &ours, "")),
        ("endpoints/brief.toml", &get("/brief", &ours, "timeout_seconds = 0.2")),
        ("endpoints/misnamed.toml", &get("/misnamed", &format!("https://127.0.0.1:{}", upstream.port), "")),
        ("endpoints/stranger.toml", &get("/stranger", &format!("https://localhost:{}", stranger.port), "")),
        ("endpoints/refused.toml", &get("/refused", &format!("https://127.0.0.1:{refused}"), "")),
        ("endpoints/nowhere.toml", &get("/nowhere", "https://nowhere.invalid", "")),
        ("endpoints/free.toml", &declaration("EXECUTE", "/free", &ours, "POST", "", "")),
    ]);
    let engine = engine_of(folder.path(), &[]);
    let engine = engine.with_variables(|name| (name == "TOKEN").then(|| "sesame".to_owned())).unwrap();
    Box::leak(Box::new(engine))
}

/// Runs a test on each runtime, with an upstream of its own.
fn on_each(test: impl Fn(&Server, &Upstream)) {
    for config in plaintext_configs() {
        let (upstream, stranger) = (Upstream::start(), Upstream::start());
        let refused = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let engine = engine(&upstream, &stranger, refused);
        let roots = UpstreamRoots::system_and(Some(upstream.authority_pem.as_bytes())).unwrap();
        let config = ServerConfig { upstream_roots: Some(roots), ..config };
        let running = start(engine, &config).unwrap();
        test(&running, &upstream);
        running.stop().unwrap();
    }
}

fn ask(client: &mut Client, line: &str, headers: &str) -> (u16, String) {
    client.send(format!("AGTP/1.0 {line}\r\nAgent-ID: {AGENT_ID}\r\n{headers}\r\n"));
    let answer = answers(&client.answer()).remove(0);
    (answer.status, answer.body.to_string())
}

#[test]
fn each_failure_of_an_upstream_has_its_name() {
    on_each(|running, _| {
        let mut client = Client::to(running);
        for (path, status, part) in [
            ("/ask/ok", 200, r#""price":7"#),
            ("/ask/gzip", 200, r#""note":"n""#),
            ("/ask/nothing", 422, "upstream_malformed_response"),
            ("/ask/text", 422, "upstream_malformed_response"),
            ("/ask/broken", 422, "upstream_malformed_response"),
            ("/ask/array", 422, "upstream_malformed_response"),
            ("/ask/other", 422, "upstream_malformed_response"),
            ("/ask/huge", 422, "upstream_malformed_response"),
            ("/ask/bomb", 422, "upstream_malformed_response"),
            ("/ask/unpackable", 422, "upstream_malformed_response"),
            ("/ask/garbage", 422, "upstream_malformed_response"),
            ("/ask/cut", 422, "upstream_connection_error"),
            ("/ask/moved", 422, "upstream_error"),
            ("/ask/closed", 422, "upstream_authentication_failed"),
            ("/ask/gone", 422, "no_such"),
            ("/ask/stuck", 422, "no_such"),
            ("/ask/failed", 422, "upstream_error"),
            ("/brief/slow", 422, "upstream_timeout"),
            ("/misnamed/ok", 422, "upstream_connection_error"),
            ("/stranger/ok", 422, "upstream_connection_error"),
            ("/refused/ok", 422, "upstream_connection_error"),
            ("/nowhere/ok", 422, "upstream_connection_error"),
            ("/ask/%2e%2e", 422, "input-validation-failed"),
            ("/ask/ok", 200, r#""price":7"#),
        ] {
            let (found, body) = ask(&mut client, &format!("FETCH {path}"), "");
            assert!(found == status && body.contains(part), "{path}: {found} {body}");
            assert!(!body.contains("localhost"), "{path}: {body}");
        }
    });
}

#[test]
fn a_connection_is_used_again_and_nothing_of_the_caller_is_sent() {
    on_each(|running, upstream| {
        let mut client = Client::to(running);
        let headers = "Authorization: Bearer callers\r\nConnection: x\r\n";
        for _ in 0..3 {
            assert_eq!(ask(&mut client, "FETCH /ask/ok?nights=2", headers).0, 200);
            let head = upstream.heads.recv().unwrap().to_lowercase();
            let own = format!("user-agent: agtp/{}\r\n", env!("CARGO_PKG_VERSION"));
            assert!(head.contains(&own), "{head}");
            let head = head.replace(&own, "");
            assert!(head.starts_with("get /ok?n=2 http/1.1\r\n"), "{head}");
            assert!(head.contains("authorization: bearer sesame\r\n"), "{head}");
            assert!(
                !head.contains("callers") && !head.contains("agent") && !head.contains("connection"),
                "{head}"
            );
        }
        assert_eq!(upstream.connections.load(Ordering::SeqCst), 1);
        let (status, body) = ask(&mut client, "EXECUTE /free/nothing?nights=3", headers);
        assert_eq!((status, body.as_str()), (200, "{}"));
        assert!(upstream.heads.recv().unwrap().ends_with("\r\n\r\n{\"n\":3}"));
    });
}

#[test]
fn an_upstream_that_hangs_holds_nobody_else_up() {
    on_each(|running, upstream| {
        let hanging = Client::to(running);
        hanging.send(format!("AGTP/1.0 FETCH /ask/hang\r\nAgent-ID: {AGENT_ID}\r\n\r\n"));
        assert!(upstream.heads.recv().unwrap().starts_with("GET /hang "));
        for _ in 0..3 {
            assert_eq!(ask(&mut Client::to(running), "FETCH /ask/ok", "").0, 200);
        }
        hanging.reset();
    });
}
