//! Log lines: what is said, in two formats. Nobody can make a line of their own, whatever they send: a value's control
//! characters, and all that is not ASCII, are written as escapes.

use super::Format;
use crate::engine::{Answered, EndpointName, Event};
use std::fmt::{self, Write as _};
use std::net::IpAddr;
use std::time::{Duration, SystemTime};

/// Bytes of a value that are shown; what is cut off is marked. Long paths are for filling disks.
const MOST_VALUE: usize = 1024;

/// Characters of a line in words.
const MOST_WORDS: usize = 4096;

/// What of a request the engine does not know.
#[derive(Clone, Copy)]
pub(in crate::server) struct Where {
    pub(in crate::server) core: usize,
    pub(in crate::server) client: Option<IpAddr>,
    /// How long it took, if that was measured.
    pub(in crate::server) took: Option<Duration>,
}

/// How much a line is meant to trouble its reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Good to know.
    Info,
    /// Something is not as it should be.
    Warn,
    /// Something failed.
    Error,
}

impl Level {
    fn name(self) -> &'static str {
        match self {
            Level::Info => "info",
            Level::Warn => "warn",
            Level::Error => "error",
        }
    }
}

/// Appends the line of an answer. No heap is touched once `line` has grown.
pub(super) fn access(line: &mut String, format: Format, answered: &Answered<'_>, place: Where) {
    let time = SystemTime::UNIX_EPOCH + Duration::from_millis(answered.unix_ms());
    let mut fields = Fields::begin(line, format, time, "access");
    fields.number("core", place.core);
    if let Some(client) = place.client {
        fields.shown("client", client);
    }
    fields.bytes("method", answered.method());
    fields.bytes("path", answered.path());
    fields.number("status", answered.status().code());
    fields.optional("code", answered.code().map(str::as_bytes));
    fields.optional("agent", answered.agent().map(str::as_bytes));
    fields.optional("task_id", answered.task_id());
    fields.optional("request_id", answered.request_id());
    fields.bytes("response_id", answered.response_id());
    fields.number("bytes", answered.bytes());
    if let Some(took) = place.took {
        fields.number("us", took.as_micros());
    }
    fields.end();
}

/// Appends the line of an event.
pub(super) fn event(line: &mut String, format: Format, event: &Event<'_>) {
    if format == Format::Text {
        return message(line, format, level(event), &event.to_string());
    }
    let mut fields = Fields::begin(line, format, SystemTime::now(), level(event).name());
    match event {
        Event::OutputInvalid { endpoint, violation: (field, violation) } => {
            fields.bytes("event", b"output-invalid");
            fields.endpoint(endpoint);
            fields.bytes("field", field.as_bytes());
            fields.bytes("violation", violation.as_bytes());
        }
        Event::HandlerFailed { endpoint, reason } => {
            fields.bytes("event", b"handler-failed");
            fields.endpoint(endpoint);
            fields.bytes("reason", reason.as_bytes());
        }
        Event::UndeclaredError { endpoint, error } => {
            fields.bytes("event", b"undeclared-error");
            fields.endpoint(endpoint);
            fields.bytes("error", error.as_bytes());
        }
        Event::OldAgentHeader { agent } => {
            fields.bytes("event", b"old-agent-header");
            fields.bytes("agent", agent.as_bytes());
        }
        Event::TargetInBody { agent } => {
            fields.bytes("event", b"target-in-body");
            fields.optional("agent", agent.map(str::as_bytes));
        }
    }
    fields.shown("message", event);
    fields.end();
}

/// Appends a line that says something in words.
pub(super) fn message(line: &mut String, format: Format, level: Level, text: &str) {
    let mut fields = Fields::begin(line, format, SystemTime::now(), level.name());
    let end = text.char_indices().nth(MOST_WORDS).map_or(text.len(), |(at, _)| at);
    let text = text.get(..end).unwrap_or_default();
    match format {
        Format::Json => fields.bytes("message", text.as_bytes()),
        // Words are for reading: they are not one value among others, and go to the end of the line.
        Format::Text => {
            fields.line.push(' ');
            let _ = fmt::Write::write_str(&mut Escaped { line: fields.line, format, spaces: true }, text);
        }
    }
    fields.end();
}

fn level(event: &Event<'_>) -> Level {
    match event {
        Event::OutputInvalid { .. } | Event::HandlerFailed { .. } | Event::UndeclaredError { .. } => {
            Level::Error
        }
        Event::OldAgentHeader { .. } | Event::TargetInBody { .. } => Level::Warn,
    }
}

/// A line in the making. (A String takes whatever is written to it.)
struct Fields<'l> {
    line: &'l mut String,
    format: Format,
}

impl<'l> Fields<'l> {
    fn begin(line: &'l mut String, format: Format, time: SystemTime, kind: &str) -> Fields<'l> {
        let time = humantime::format_rfc3339_millis(time);
        let _ = match format {
            Format::Json => write!(line, "{{\"time\":\"{time}\",\"kind\":\"{kind}\""),
            Format::Text => write!(line, "{time} {kind}"),
        };
        Fields { line, format }
    }

    fn end(self) {
        self.line.push_str(if self.format == Format::Json { "}\n" } else { "\n" });
    }

    fn key(&mut self, key: &str) {
        match self.format {
            Format::Json => self.line.extend([",\"", key, "\":"]),
            Format::Text => self.line.extend([" ", key, "="]),
        }
    }

    fn number(&mut self, key: &str, number: impl fmt::Display) {
        self.key(key);
        let _ = write!(self.line, "{number}");
    }

    fn optional(&mut self, key: &str, value: Option<&[u8]>) {
        if let Some(value) = value {
            self.bytes(key, value);
        }
    }

    fn bytes(&mut self, key: &str, value: &[u8]) {
        self.quote(key);
        let shown = value.get(..MOST_VALUE).unwrap_or(value);
        for chunk in shown.utf8_chunks() {
            let _ = self.escaped().write_str(chunk.valid());
            let _ = chunk.invalid().iter().try_for_each(|byte| self.escaped().write_char(char::from(*byte)));
        }
        if shown.len() < value.len() {
            self.line.push_str("...");
        }
        self.unquote();
    }

    fn shown(&mut self, key: &str, value: impl fmt::Display) {
        self.quote(key);
        let _ = write!(self.escaped(), "{value}");
        self.unquote();
    }

    fn endpoint(&mut self, endpoint: &EndpointName<'_>) {
        self.quote("endpoint");
        let _ = write!(self.escaped(), "{} {}", endpoint.method, endpoint.path);
        self.unquote();
        if !endpoint.source.is_empty() {
            self.bytes("source", endpoint.source.as_bytes());
        }
    }

    fn quote(&mut self, key: &str) {
        self.key(key);
        self.unquote();
    }

    fn unquote(&mut self) {
        if self.format == Format::Json {
            self.line.push('"');
        }
    }

    fn escaped(&mut self) -> Escaped<'_> {
        Escaped { line: self.line, format: self.format, spaces: self.format == Format::Json }
    }
}

/// Writes a value so that it stays one: within its quotes, or without a space.
struct Escaped<'l> {
    line: &'l mut String,
    format: Format,
    spaces: bool,
}

impl fmt::Write for Escaped<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        text.chars().try_for_each(|char| self.write_char(char))
    }

    fn write_char(&mut self, char: char) -> fmt::Result {
        match (char, self.format) {
            ('"' | '\\', Format::Json) => self.line.extend(['\\', char]),
            ('\\', Format::Text) => self.line.push_str("\\\\"),
            (' ', _) if self.spaces => self.line.push(char),
            ('!'..='~', _) => self.line.push(char),
            (char, Format::Json) => {
                for unit in char.encode_utf16(&mut [0; 2]) {
                    write!(self.line, "\\u{unit:04x}")?;
                }
            }
            (char, Format::Text) => write!(self.line, "{}", char.escape_unicode())?,
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(format: Format, value: &[u8]) -> String {
        let mut line = String::new();
        let mut fields = Fields { line: &mut line, format };
        fields.bytes("k", value);
        line
    }

    #[test]
    fn no_value_ends_itself() {
        let hostile = "a\n\"}\\ \u{7f}\u{9b}\u{2028}\u{1f600}".as_bytes();
        assert_eq!(field(Format::Json, hostile), r#","k":"a\u000a\"}\\ \u007f\u009b\u2028\ud83d\ude00""#);
        assert_eq!(field(Format::Text, hostile), r#" k=a\u{a}"}\\\u{20}\u{7f}\u{9b}\u{2028}\u{1f600}"#);
        assert_eq!(field(Format::Json, b"\xff/"), r#","k":"\u00ff/""#);
    }

    #[test]
    fn long_values_are_cut() {
        let value = field(Format::Json, &[b'x'; MOST_VALUE + 1]);
        assert!(value.ends_with("x...\"") && value.len() == MOST_VALUE + 10, "{}", value.len());
        assert!(!field(Format::Text, &[b'x'; MOST_VALUE]).contains('.'));
    }

    #[test]
    fn words_keep_their_spaces_and_their_line() {
        let mut line = String::new();
        message(&mut line, Format::Text, Level::Warn, "two words\nand no more");
        assert!(line.ends_with(" warn two words\\u{a}and no more\n"), "{line}");
        line.clear();
        let endpoint = EndpointName { method: "FETCH", path: "/x", source: "x.toml" };
        event(&mut line, Format::Json, &Event::HandlerFailed { endpoint, reason: "a \"b\"" });
        let read: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!((&read["event"], &read["endpoint"]), (&"handler-failed".into(), &"FETCH /x".into()));
        assert_eq!((&read["kind"], &read["reason"]), (&"error".into(), &"a \"b\"".into()));
    }
}
