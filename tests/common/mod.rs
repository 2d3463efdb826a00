//! What the test crates share.
#![allow(dead_code, unreachable_pub, reason = "each test crate uses a part of it, as a module of its own")]

pub mod exposition;
pub mod records;
pub mod scenarios;
pub mod templates;

use agtp::engine::{Core, Engine, Function, Now, PADDING, Session, Step};
use agtp::handler::Upstream;
use agtp::identity::PeerIdentity;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::{Arc, LazyLock, Mutex};
use std::task::{Context, Poll, Waker};

/// The functions of the sample deployment and of test deployments.
pub fn functions() -> Vec<Function> {
    agtp::handler::hotel::functions()
}

/// The sample deployment, compiled from the repository root.
pub fn sample() -> &'static Engine<'static> {
    static SAMPLE: LazyLock<Engine<'static>> =
        LazyLock::new(|| engine_of(Path::new(env!("CARGO_MANIFEST_DIR")), &functions()));
    &SAMPLE
}

/// An engine for a deployment directory, which must be free of faults. It lives as long as the test process.
pub fn engine_of(dir: &Path, functions: &[Function]) -> Engine<'static> {
    let names: Vec<&str> = functions.iter().map(Function::name).collect();
    let reading = agtp::compiler::read(
        dir,
        &agtp::compiler::ReadOptions { known_functions: Some(&names), ..Default::default() },
    );
    assert!(reading.report.errors() == 0, "{}", reading.report);
    let deployment = reading.deployment.expect("a usable deployment");
    let compiled = Box::leak(Box::new(agtp::compiler::lower(&deployment, &times()).expect("tables")));
    Engine::new(&compiled.registry, &compiled.agents, functions).expect("an engine")
}

/// Fixed manifest times.
pub fn times() -> agtp::compiler::ManifestTimes {
    agtp::compiler::ManifestTimes {
        issued: "2026-01-01T00:00:00Z".to_owned(),
        updated: "2026-01-02T00:00:00Z".to_owned(),
    }
}

/// A deployment written to a folder of its own, removed when dropped.
pub struct Folder(PathBuf);

impl Folder {
    /// Writes the files, given as path and content.
    pub fn with(files: &[(&str, &str)]) -> Folder {
        static COUNT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let count = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let root = std::env::temp_dir().join(format!("agtp-test-{}-{count}", std::process::id()));
        std::fs::create_dir_all(root.join("endpoints")).unwrap();
        for (path, content) in files {
            let path = root.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, content).unwrap();
        }
        Folder(root)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A minimal endpoint file: the function `echo`, any input below `properties`.
pub fn echo_endpoint(method: &str, path: &str, extra: &str, properties: &str) -> String {
    format!(
        r#"[endpoint]
method = "{method}"
path = "{path}"
description = "Repeats its input."
{extra}
input_schema = '''{{"type":"object","properties":{{{properties}}},"additionalProperties":false}}'''

[endpoint.semantic]
intent = "Repeat the input."
actor = "agent"
outcome = "The input is returned."
capability = "analysis"
confidence = 1.0
impact = "informational"
is_idempotent = true

[endpoint.handler]
type = "registered_function"
function = "echo"
"#
    )
}

/// One answer, taken apart.
#[derive(Debug, Clone)]
pub struct Answer {
    /// Status code.
    pub status: u16,
    /// Header lines in order.
    pub headers: Vec<(String, String)>,
    /// The body; `Null` when there is none.
    pub body: Value,
    /// The body's bytes.
    pub raw: Vec<u8>,
}

impl Answer {
    /// The first header of that name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }

    /// `error.code`.
    pub fn code(&self) -> &str {
        self.body["error"]["code"].as_str().unwrap_or("")
    }
}

/// Takes all answers in `bytes` apart. Panics on anything that is not a sequence of well-formed answers.
pub fn answers(mut bytes: &[u8]) -> Vec<Answer> {
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let end = bytes.windows(4).position(|w| w == b"\r\n\r\n").expect("a whole head");
        let head = std::str::from_utf8(&bytes[..end]).expect("an ASCII head");
        let mut lines = head.split("\r\n");
        let status_line = lines.next().expect("a status line");
        let status =
            status_line.strip_prefix("AGTP/1.0 ").expect("the version")[..3].parse().expect("a status");
        let headers: Vec<_> = lines
            .map(|line| line.split_once(": ").map(|(n, v)| (n.to_owned(), v.to_owned())).expect("a header"))
            .collect();
        let length = headers.iter().find(|(n, _)| n == "Content-Length").expect("Content-Length");
        let length: usize = length.1.parse().expect("a length");
        let raw = bytes[end + 4..end + 4 + length].to_vec();
        let body =
            if raw.is_empty() { Value::Null } else { serde_json::from_slice(&raw).expect("a JSON body") };
        found.push(Answer { status, headers, body, raw });
        bytes = &bytes[end + 4 + length..];
    }
    found
}

/// A connection to an engine without any I/O.
pub struct Wire<'e> {
    engine: &'e Engine<'e>,
    core: Core,
    session: Session,
    input: Vec<u8>,
    /// Whether the engine asked to close.
    pub closed: bool,
}

impl<'e> Wire<'e> {
    /// A new connection.
    pub fn new(engine: &'e Engine<'e>) -> Self {
        Wire { engine, core: Core::new(engine, 7), session: Session::new(), input: Vec::new(), closed: false }
    }

    /// Reaches upstreams through this.
    pub fn through(mut self, upstream: Rc<dyn Upstream>) -> Self {
        self.core = self.core.with_upstream(upstream);
        self
    }

    /// Has proved this by a certificate.
    pub fn proven(mut self, peer: PeerIdentity) -> Self {
        self.session.set_peer(peer);
        self
    }

    /// Sends bytes and gives the bytes of the answers they complete.
    pub fn send(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        if self.closed {
            return out;
        }
        self.input.extend_from_slice(bytes);
        loop {
            let len = self.input.len();
            self.input.resize(len + PADDING, 0);
            let now = Now { unix_ms: 1_800_000_000_000 };
            let step =
                self.engine.step(&mut self.core, &mut self.session, now, &mut self.input, len, &mut out);
            self.input.truncate(len);
            match step {
                Step::NeedMore => return out,
                Step::Waiting { consumed } => {
                    self.input.drain(..consumed);
                    self.wait(now, &mut out);
                    if self.input.is_empty() {
                        return out;
                    }
                }
                Step::Answered { consumed, close } => {
                    self.input.drain(..consumed);
                    self.closed = close;
                    if close || self.input.is_empty() {
                        return out;
                    }
                }
            }
        }
    }

    /// Waits on this thread for the answer that is to come.
    fn wait(&mut self, now: Now, out: &mut Vec<u8>) {
        let waker = Arc::new(Unpark(std::thread::current())).into();
        let mut context = Context::from_waker(&waker);
        while self.engine.poll(&mut self.core, &mut self.session, now, &mut context, out).is_pending() {
            std::thread::park();
        }
    }

    /// Gives the engine the request, which has to wait; nothing is awaited.
    pub fn begin(&mut self, bytes: &[u8]) {
        let mut input = bytes.to_vec();
        input.resize(bytes.len() + PADDING, 0);
        let (now, mut out) = (Now { unix_ms: 1_800_000_000_000 }, Vec::new());
        let step =
            self.engine.step(&mut self.core, &mut self.session, now, &mut input, bytes.len(), &mut out);
        assert_eq!((step, out.len()), (Step::Waiting { consumed: bytes.len() }, 0));
    }

    /// Polls the request that waits once; its answer, if it has come.
    pub fn poll(&mut self) -> Option<Vec<u8>> {
        let (now, mut out) = (Now { unix_ms: 1_800_000_000_000 }, Vec::new());
        let mut context = Context::from_waker(Waker::noop());
        let polled = self.engine.poll(&mut self.core, &mut self.session, now, &mut context, &mut out);
        assert_eq!(polled.is_ready(), !out.is_empty());
        polled.is_ready().then_some(out)
    }

    /// The request that waits has waited too long.
    pub fn expire(&mut self) -> Vec<u8> {
        let mut out = Vec::new();
        let now = Now { unix_ms: 1_800_000_000_000 };
        self.engine.expire(&mut self.core, &mut self.session, now, &mut out);
        out
    }

    /// Milliseconds the request that waits may take.
    pub fn patience_ms(&self) -> Option<u32> {
        self.engine.patience_ms(&self.session)
    }

    /// The deadline of the request in work passes.
    pub fn time_out(&mut self) -> Vec<u8> {
        let mut out = Vec::new();
        let now = Now { unix_ms: 1_800_000_000_000 };
        self.engine.time_out(&mut self.core, &mut self.session, now, &self.input, &mut out);
        self.closed = true;
        out
    }
}

/// A door that futures wait at until somebody, on whichever thread, opens it.
#[derive(Default)]
pub struct Door(Mutex<(bool, Vec<Waker>)>);

impl Door {
    /// Waits until the door is open.
    pub fn pass(self: &Arc<Self>) -> impl Future<Output = ()> + use<> {
        let door = Arc::clone(self);
        std::future::poll_fn(move |context| {
            let mut state = door.0.lock().expect("a door");
            if state.0 {
                return Poll::Ready(());
            }
            state.1.push(context.waker().clone());
            Poll::Pending
        })
    }

    /// Lets through who waits and who comes.
    pub fn open(&self) {
        let mut state = self.0.lock().expect("a door");
        state.0 = true;
        state.1.drain(..).for_each(Waker::wake);
    }
}

/// Wakes the thread that waits.
struct Unpark(std::thread::Thread);

impl std::task::Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// The answer to one request on a connection of its own.
pub fn ask(engine: &Engine<'_>, request: &[u8]) -> Answer {
    let out = Wire::new(engine).send(request);
    let mut answers = answers(&out);
    assert_eq!(answers.len(), 1, "one answer to {:?}", String::from_utf8_lossy(request));
    answers.remove(0)
}

/// An engine with one `echo` endpoint per (method, template), all parameters declared as strings.
pub fn engine_with(endpoints: &[(&str, String)]) -> Engine<'static> {
    let files: Vec<(String, String)> = endpoints
        .iter()
        .enumerate()
        .map(|(index, (method, template))| {
            let params = templates::params(template);
            let properties: Vec<_> =
                params.iter().map(|name| format!(r#""{name}":{{"type":"string"}}"#)).collect();
            let text = echo_endpoint(method, template, "", &properties.join(","));
            (format!("endpoints/e{index:05}.toml"), text)
        })
        .collect();
    let files: Vec<_> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    engine_of(Folder::with(&files).path(), &functions())
}
