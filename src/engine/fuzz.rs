//! Fuzz bodies: each takes any bytes and asserts what must hold for all of them.

#![allow(
    clippy::panic,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a fuzz body gives its verdict by panicking"
)]

use super::{Core, Engine, Now, PADDING, Session, Step};
use crate::identity::Agents;
use crate::registry::Registry;
use crate::wire::{Answer, AnswerLimits, AnswerParsed, AnswerParser, Status};

/// What a connection came to.
#[derive(Debug, PartialEq, Eq)]
struct Outcome {
    /// All answers.
    output: String,
    /// How many of them.
    answered: usize,
    /// Whether the engine asked to close.
    closed: bool,
    /// Bytes of an incomplete request.
    unanswered: usize,
}

/// Requests get the same answers whole, cut in two, and byte by byte; each gets one, and it is well formed. What is
/// incomplete at the end gets its 408.
pub fn answers(engine: &Engine<'_>, data: &[u8]) {
    let whole = feed(engine, data, [data.len()], 0);
    // Any cut will do, so long as other data are cut elsewhere.
    let cut = data.iter().fold(data.len(), |sum, byte| sum.wrapping_mul(31) + usize::from(*byte))
        % (data.len() + 1);
    assert_eq!(whole, feed(engine, data, [cut, data.len()], 0xff), "cut at {cut}");
    assert_eq!(whole, feed(engine, data, 1..=data.len(), b'"'), "byte by byte");
    assert_eq!(take_apart(whole.output.as_bytes()), whole.answered, "one answer for each request");
}

/// Tables that the compiler made can be served.
pub fn starts(registry: &Registry, agents: &Agents) {
    let engine = Engine::new(registry, agents, &[]).unwrap_or_else(|error| panic!("{error}"));
    for endpoint in &*registry.endpoints {
        let line = [b"AGTP/1.0 ", registry.method_name(endpoint.method).as_bytes(), b" "].concat();
        answers(&engine, &[&*line, registry.str(endpoint.path).as_bytes(), b"?a=1\r\n\r\n"].concat());
    }
}

/// Shows a connection the data up to each of `ends` in turn, with that padding behind them.
fn feed(engine: &Engine<'_>, data: &[u8], ends: impl IntoIterator<Item = usize>, padding: u8) -> Outcome {
    let (mut core, mut session, mut out) = (Core::new(engine, 1), Session::new(), Vec::new());
    let (mut start, mut answered, mut closed) = (0, 0, false);
    let mut input = Vec::new();
    for end in ends {
        input.extend_from_slice(&data[start + input.len()..end]);
        while !closed && !input.is_empty() {
            let len = input.len();
            input.resize(len + PADDING, padding);
            let step = engine.step(&mut core, &mut session, NOW, &mut input, len, &mut out);
            assert!(input[len..].iter().all(|byte| *byte == padding), "the padding is unchanged");
            input.truncate(len);
            let Step::Answered { consumed, close } = step else { break };
            assert!(0 < consumed && consumed <= len, "{consumed} of {len} bytes");
            input.drain(..consumed);
            (start, answered, closed) = (start + consumed, answered + 1, close);
        }
        assert!(input == data[start..start + input.len()], "no byte after a request is changed");
        if closed {
            break;
        }
    }
    let unanswered = if closed { 0 } else { input.len() };
    if unanswered > 0 {
        // Then its deadline comes (D18).
        engine.time_out(&mut core, &mut session, NOW, &input, &mut out);
        answered += 1;
    }
    assert!(unanswered <= engine.request_limit(), "no request is longer than the limit");
    let output = String::from_utf8(out).unwrap_or_else(|error| panic!("an answer is not UTF-8: {error}"));
    Outcome { output, answered, closed, unanswered }
}

const NOW: Now = Now { unix_ms: 1_800_000_000_000 };

/// Checks a sequence of answers and says how many there are.
fn take_apart(mut bytes: &[u8]) -> usize {
    let mut count = 0;
    while !bytes.is_empty() {
        let mut parser = AnswerParser::new();
        let parsed = parser.advance(bytes, &AnswerLimits::DEFAULT);
        assert_eq!(parsed, AnswerParsed::Done, "in {:?}", String::from_utf8_lossy(bytes));
        let answer = parser.answer();
        let (this, rest) = bytes.split_at(answer.answer_len() as usize);
        check(answer, this, count == 0);
        (bytes, count) = (rest, count + 1);
    }
    count
}

fn check(answer: &Answer, bytes: &[u8], first: bool) {
    for name in ["Server-ID", "Response-ID", "AGTP-Methods-Version", "Content-Length"] {
        let times = answer.headers(bytes).filter(|(known, _)| *known == name.as_bytes()).count();
        assert_eq!(times, 1, "{name}");
    }
    assert_eq!(answer.header(b"Supported-Methods", bytes).is_some(), first);
    let body = &bytes[answer.len as usize..];
    assert_eq!(answer.header(b"Content-Type", bytes).is_some(), !body.is_empty());
    if answer.status != Status::NoContent.code() {
        let body: serde_json::Value =
            serde_json::from_slice(body).unwrap_or_else(|error| panic!("a body is not JSON: {error}"));
        let is_error = answer.status >= 400 || answer.status == Status::AuthorizationRequired.code();
        let keys: Vec<_> = body.as_object().into_iter().flat_map(|object| object.keys()).collect();
        assert_eq!(keys == ["error"] && body["error"]["code"].is_string(), is_error, "{body}");
    }
}
