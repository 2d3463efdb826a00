//! What an observer is told of an answer agrees with the answer.

use super::common::{self, answers, scenarios};
use agtp::engine::{Answered, Core, Now, Observer, PADDING, Session};
use serde_json::Value;
use std::cell::RefCell;
use std::rc::Rc;

/// Keeps what it is told.
#[derive(Default)]
struct Notes(RefCell<Vec<Note>>);

#[derive(Debug, PartialEq)]
struct Note {
    status: u16,
    code: Option<String>,
    endpoint: Option<String>,
    method: Vec<u8>,
    path: Vec<u8>,
    response_id: String,
    bytes: usize,
}

impl Observer for Notes {
    fn answered(&self, answered: &Answered<'_>) {
        let registry = common::sample().registry();
        self.0.borrow_mut().push(Note {
            status: answered.status().code(),
            code: answered.code().map(str::to_owned),
            endpoint: answered.endpoint().map(|id| registry.str(registry.endpoint(id).path).to_owned()),
            method: answered.method().to_vec(),
            path: answered.path().to_vec(),
            response_id: String::from_utf8(answered.response_id().to_vec()).unwrap(),
            bytes: answered.bytes(),
        });
    }
}

/// Asks the sample deployment, and gives what it answered with what an observer was told.
fn observed(request: &[u8]) -> (Vec<u8>, Note) {
    let engine = common::sample();
    let notes = Rc::new(Notes::default());
    let mut core = Core::new(engine, 1).with_observer(Rc::clone(&notes) as _);
    let (mut session, mut out, mut buffer) = (Session::new(), Vec::new(), request.to_vec());
    buffer.resize(request.len() + PADDING, 0);
    engine.step(&mut core, &mut session, Now { unix_ms: 1 }, &mut buffer, request.len(), &mut out);
    let mut notes = notes.0.take();
    assert_eq!(notes.len(), 1, "an answer is told once, its steps are not");
    (out, notes.remove(0))
}

#[test]
fn status_code_and_length_are_those_of_the_answer() {
    for scenario in scenarios::all() {
        let (out, note) = observed(&scenario.request);
        let answer = answers(&out).remove(0);
        assert_eq!((note.status, note.bytes), (answer.status, out.len()), "{}", scenario.name);
        assert_eq!(Some(note.response_id.as_str()), answer.header("Response-ID"));
        let code = answer.body.get("error").and_then(|error| error.get("code")).and_then(Value::as_str);
        assert_eq!(note.code.as_deref(), code, "{}", scenario.name);
    }
}

#[test]
fn method_and_path_are_those_that_were_sent_without_the_query() {
    let (_, note) = observed(&scenarios::request("SEARCH /rooms?guests=2&secret=sesame", ""));
    assert_eq!((&*note.method, &*note.path), (&b"SEARCH"[..], &b"/rooms"[..]));
    // Redirected to another method, which has an endpoint there.
    assert_eq!(note.endpoint.as_deref(), Some("/rooms"));
    let (_, note) = observed(b"AGTP/1.0 FIND /rooms\x01\r\n\r\n");
    assert_eq!((note.status, note.code.as_deref()), (400, Some("invalid-request-line")));
    assert_eq!(note.endpoint, None);
}
