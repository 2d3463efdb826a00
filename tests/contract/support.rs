//! Deployments and requests, in as few words as a test needs.

use crate::common::{self, Answer, Folder, Wire};
use agtp::engine::{Engine, Function};
use serde_json::{Map, Value, json};
use std::sync::LazyLock;

/// An agent every deployment of this crate has. It is granted `test:*`.
pub const TESTER: &str = "1111111111111111111111111111111111111111111111111111111111111111";

/// A deployment in the making.
pub struct Deployment {
    settings: String,
    endpoints: Vec<String>,
    files: Vec<(String, String)>,
}

impl Deployment {
    /// No endpoints, no settings but `server_id`, [`TESTER`], and no Authority-Scope demanded.
    pub fn new() -> Self {
        Deployment::with_settings("[policies]\nscope_required_for_invocation = false\n")
    }

    /// The same with all of `agtp-server.toml` below `[server]` given.
    pub fn with_settings(settings: &str) -> Self {
        let settings = format!("[server]\nserver_id = \"server.example\"\n{settings}");
        let empty = Deployment { settings, endpoints: Vec::new(), files: Vec::new() };
        empty.agent("tester", &json!({"agent_id": TESTER, "requires": {"scopes": ["test:*"]}}))
    }

    /// Adds an identity document; `name` is filled in.
    pub fn agent(mut self, name: &str, document: &Value) -> Self {
        let mut document = document.clone();
        document["name"] = name.into();
        self.files.push((format!("agents/{name}.agent.json"), document.to_string()));
        self
    }

    /// Adds any file.
    pub fn file(mut self, path: &str, content: &str) -> Self {
        self.files.push((path.to_owned(), content.to_owned()));
        self
    }

    /// Adds an endpoint.
    pub fn endpoint(mut self, endpoint: &Endpoint) -> Self {
        self.endpoints.push(endpoint.toml());
        self
    }

    /// Adds `echo` endpoints, written `METHOD /template`.
    pub fn echoes(mut self, places: &[&str]) -> Self {
        self.endpoints.extend(places.iter().map(|place| Endpoint::echo(place).toml()));
        self
    }

    /// Compiles it; a fault fails the test.
    pub fn engine(self) -> Engine<'static> {
        self.engine_with(&[])
    }

    /// Compiles it with functions of the test's own beside `echo`.
    pub fn engine_with(self, functions: &[Function]) -> Engine<'static> {
        let mut functions = functions.to_vec();
        functions.push(Function::plain("echo", agtp::handler::echo));
        let Deployment { settings, endpoints, mut files } = self;
        files.push(("agtp-server.toml".to_owned(), settings));
        for (index, endpoint) in endpoints.into_iter().enumerate() {
            files.push((format!("endpoints/e{index:05}.toml"), endpoint));
        }
        let files: Vec<_> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        common::engine_of(Folder::with(&files).path(), &functions)
    }
}

/// An endpoint in the making.
#[derive(Clone)]
pub struct Endpoint {
    place: String,
    function: String,
    composed: bool,
    impact: &'static str,
    input: Value,
    output: Option<Value>,
    lines: String,
    tables: String,
}

impl Endpoint {
    /// `METHOD /template`, bound to `echo`, with its path parameters as strings and nothing else as input.
    pub fn echo(place: &str) -> Self {
        let params = common::templates::params(place);
        let properties: Map<_, _> =
            params.iter().map(|p| ((*p).to_owned(), json!({"type": "string"}))).collect();
        Endpoint {
            place: place.to_owned(),
            function: "echo".to_owned(),
            composed: false,
            impact: "informational",
            input: json!({"type": "object", "properties": properties, "additionalProperties": false}),
            output: None,
            lines: String::new(),
            tables: String::new(),
        }
    }

    /// The same without a say on what else the input holds: properties of any value are declared by name.
    pub fn taking(mut self, names: &[&str]) -> Self {
        for name in names {
            self.input["properties"][*name] = json!({});
        }
        self
    }

    /// The input schema's properties.
    pub fn properties(mut self, properties: Value) -> Self {
        self.input["properties"] = properties;
        self
    }

    /// The properties that must be there.
    pub fn required(mut self, required: Value) -> Self {
        self.input["required"] = required;
        self
    }

    /// The output schema.
    pub fn output(mut self, schema: Value) -> Self {
        self.output = Some(schema);
        self
    }

    /// The function it is bound to.
    pub fn function(mut self, name: &str) -> Self {
        self.function = name.to_owned();
        self
    }

    /// The recipe that it is composed by instead.
    pub fn composed(mut self, recipe: &str) -> Self {
        self.composed = true;
        self.function(recipe)
    }

    /// A line of its `[endpoint]` table.
    pub fn line(mut self, line: &str) -> Self {
        self.lines += &format!("{line}\n");
        self
    }

    /// A table of its own.
    pub fn table(mut self, text: &str) -> Self {
        self.tables += &format!("{text}\n");
        self
    }

    /// `required_scopes`.
    pub fn scopes(self, scopes: &[&str]) -> Self {
        self.line(&format!("required_scopes = {scopes:?}"))
    }

    /// Instead of `informational`.
    pub fn impact(mut self, impact: &'static str) -> Self {
        self.impact = impact;
        self
    }

    fn toml(&self) -> String {
        let (method, path) = self.place.split_once(' ').expect("METHOD /path");
        let Endpoint { function, input, lines, tables, impact, .. } = self;
        let (kind, key) = match self.composed {
            true => ("composition", "recipe"),
            false => ("registered_function", "function"),
        };
        let output =
            self.output.as_ref().map(|output| format!("output_schema = '''{output}'''")).unwrap_or_default();
        format!(
            r#"[endpoint]
method = "{method}"
path = "{path}"
description = "Serves a test."
input_schema = '''{input}'''
{output}
{lines}
[endpoint.semantic]
intent = "Serve a test."
actor = "agent"
outcome = "It is served."
capability = "analysis"
confidence = 1.0
impact = "{impact}"
is_idempotent = true

[endpoint.handler]
type = "{kind}"
{key} = "{function}"
{tables}"#
        )
    }
}

/// A request in the making.
#[derive(Clone)]
pub struct Req {
    line: Vec<u8>,
    headers: Vec<(String, String)>,
    body: Option<Vec<u8>>,
}

impl Req {
    /// What follows `AGTP/1.0 ` on the request line, from an anonymous caller.
    pub fn anonymous(line: impl AsRef<[u8]>) -> Self {
        Req { line: line.as_ref().to_owned(), headers: Vec::new(), body: None }
    }

    /// The same from [`TESTER`].
    pub fn new(line: impl AsRef<[u8]>) -> Self {
        Req::anonymous(line).header("Agent-ID", TESTER)
    }

    /// Adds a header.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Adds a header if there is a value.
    pub fn maybe(self, name: &str, value: Option<&str>) -> Self {
        match value {
            Some(value) => self.header(name, value),
            None => self,
        }
    }

    /// Adds a body and its length.
    pub fn body(mut self, body: impl AsRef<[u8]>) -> Self {
        self.body = Some(body.as_ref().to_owned());
        self
    }

    /// The bytes.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = b"AGTP/1.0 ".to_vec();
        bytes.extend_from_slice(&self.line);
        bytes.extend_from_slice(b"\r\n");
        for (name, value) in &self.headers {
            bytes.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
        }
        if let Some(body) = &self.body {
            bytes.extend_from_slice(format!("Content-Length: {}\r\n", body.len()).as_bytes());
        }
        bytes.extend_from_slice(b"\r\n");
        bytes.extend_from_slice(self.body.as_deref().unwrap_or_default());
        bytes
    }

    /// Its answer on a connection of its own, which must be well-formed in every respect.
    pub fn ask(&self, engine: &Engine<'_>) -> Answer {
        let answer = common::ask(engine, &self.bytes());
        assert_well_formed(&answer);
        answer
    }

    /// The answer, and whether the connection closed.
    pub fn ask_and_close(&self, engine: &Engine<'_>) -> (Answer, bool) {
        let mut wire = Wire::new(engine);
        let mut answers = common::answers(&wire.send(&self.bytes()));
        assert_eq!(answers.len(), 1, "{}", self.shown());
        let answer = answers.remove(0);
        assert_well_formed(&answer);
        (answer, wire.closed)
    }

    /// For messages.
    pub fn shown(&self) -> String {
        let bytes = self.bytes();
        String::from_utf8_lossy(&bytes[..bytes.len().min(300)]).into_owned()
    }
}

/// What holds for every answer there is: the always-headers, the framing, the form of an error body (facts pages 2, 3).
pub fn assert_well_formed(answer: &Answer) {
    assert!(answer.header("Server-ID").is_some(), "{answer:?}");
    assert_eq!(answer.header("AGTP-Methods-Version"), Some("1.0"), "{answer:?}");
    assert!(answer.header("Response-ID").is_some_and(is_uuid_v7), "{answer:?}");
    assert_eq!(answer.header("Content-Type").is_some(), !answer.raw.is_empty(), "{answer:?}");
    let mut names: Vec<_> = answer.headers.iter().map(|(name, _)| name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), answer.headers.len(), "no header stands twice: {answer:?}");
    if answer.status >= 300 || answer.status == 262 {
        let body = answer.body.as_object().expect("an error body is an object");
        assert_eq!(body.len(), 1, "{answer:?}");
        let error = body["error"].as_object().expect("`error` is an object");
        assert!(error["code"].as_str().is_some_and(|code| !code.is_empty()), "{answer:?}");
        assert!(error["message"].as_str().is_some_and(|message| !message.is_empty()), "{answer:?}");
    }
}

fn is_uuid_v7(id: &str) -> bool {
    let hyphens = [8, 13, 18, 23];
    id.len() == 36
        && id.bytes().enumerate().all(|(at, byte)| match hyphens.contains(&at) {
            true => byte == b'-',
            false => byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte),
        })
        && id.as_bytes()[14] == b'7'
        && b"89ab".contains(&id.as_bytes()[19])
}

/// Status and code, the short form of an answer.
pub fn verdict(answer: &Answer) -> (u16, String) {
    (answer.status, answer.code().to_owned())
}

/// The strings of a JSON array.
pub fn strings(value: &Value) -> Vec<&str> {
    let items = value.as_array().unwrap_or_else(|| panic!("an array, not {value}"));
    items.iter().map(|item| item.as_str().expect("strings")).collect()
}

/// The catalog document.
pub fn catalog() -> Value {
    serde_json::from_str(include_str!("../../catalog/methods.json")).expect("a catalog")
}

/// The 425 verbs, sorted.
pub fn verbs() -> &'static [String] {
    static VERBS: LazyLock<Vec<String>> = LazyLock::new(|| {
        let mut verbs: Vec<_> = catalog()["verbs"].as_object().expect("verbs").keys().cloned().collect();
        verbs.sort_unstable();
        verbs
    });
    &VERBS
}

/// The eighteen (draft: Method Overview).
pub const FLOOR: [&str; 18] = [
    "QUERY",
    "DISCOVER",
    "DESCRIBE",
    "INSPECT",
    "SUMMARIZE",
    "PLAN",
    "PROPOSE",
    "EXECUTE",
    "DELEGATE",
    "ESCALATE",
    "CONFIRM",
    "SUSPEND",
    "NOTIFY",
    "ACTIVATE",
    "DEACTIVATE",
    "REINSTATE",
    "REVOKE",
    "DEPRECATE",
];

/// The five HTTP verbs and their preferred forms (draft: Method Overview).
pub const LEGACY: [(&str, &str); 5] =
    [("GET", "FETCH"), ("POST", "CREATE"), ("PUT", "REPLACE"), ("DELETE", "REMOVE"), ("PATCH", "MODIFY")];

/// The settings that make a deployment use [`small_catalog`], which compiles in a fraction of the time.
pub const SMALL: &str =
    "[policies]\nscope_required_for_invocation = false\n[catalog]\nfile = \"small.json\"\n";

/// A catalog of the floor, the legacy verbs' preferred forms, and `verbs`.
pub fn small_catalog(verbs: &[&str]) -> Value {
    let mut small = catalog();
    let preferred = LEGACY.map(|(_, preferred)| preferred);
    let kept = |name: &str| FLOOR.contains(&name) || preferred.contains(&name) || verbs.contains(&name);
    small["verbs"].as_object_mut().expect("verbs").retain(|name, _| kept(name));
    small
}

/// A Genesis with the key, the id and the signature of a test issuer.
pub fn sealed(mut genesis: Value) -> Value {
    use base64::Engine as _;
    use ed25519_dalek::{Signer as _, SigningKey};
    let base64url = base64::engine::general_purpose::URL_SAFE_NO_PAD;
    let issuer = SigningKey::from_bytes(&[7; 32]);
    genesis["issuer_public_key"] = base64url.encode(issuer.verifying_key().as_bytes()).into();
    let signature = issuer.sign(genesis.to_string().as_bytes());
    genesis["agent_id"] = id_of_genesis(&genesis).into();
    genesis["signature"] = base64url.encode(signature.to_bytes()).into();
    genesis
}

/// The Agent-ID that a Genesis without `agent_id` and `signature` makes: the SHA-256 of its canonical form. (Sorted keys
/// and no white space are canonical enough for the plain ASCII and small integers of a test.)
pub fn id_of_genesis(genesis: &Value) -> String {
    use sha2::{Digest, Sha256};
    let mut signed = genesis.clone();
    let members = signed.as_object_mut().expect("an object");
    members.remove("agent_id");
    members.remove("signature");
    Sha256::digest(signed.to_string().as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}
