//! What is written to the terminal, and how.

use std::fmt;
use std::io::{self, IsTerminal, Write};

/// Escape sequences, or nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Colours {
    pub(super) key: &'static str,
    pub(super) string: &'static str,
    pub(super) scalar: &'static str,
    pub(super) strong: &'static str,
    pub(super) warning: &'static str,
    pub(super) reset: &'static str,
}

impl Colours {
    /// None at all: output is piped, or `NO_COLOR` is set.
    pub(super) const PLAIN: Colours =
        Colours { key: "", string: "", scalar: "", strong: "", warning: "", reset: "" };

    /// For a terminal.
    pub(super) const TERMINAL: Colours = Colours {
        key: "\x1b[36m",
        string: "\x1b[32m",
        scalar: "\x1b[33m",
        strong: "\x1b[1m",
        warning: "\x1b[33m",
        reset: "\x1b[0m",
    };

    /// What suits a stream.
    pub(super) fn of(stream: &impl IsTerminal) -> Colours {
        let unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        if stream.is_terminal() && !unwanted { Colours::TERMINAL } else { Colours::PLAIN }
    }
}

/// Writes one line to stderr. When nobody reads it there is nobody to tell.
pub(super) fn complain(line: fmt::Arguments<'_>) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}

/// Writes to stdout; a reader that has gone away (`| head`) is no error.
pub(super) fn print(bytes: &[u8]) -> Result<(), super::Failure> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(super::Failure(format!("cannot write to stdout: {error}")))
        }
        _ => Ok(()),
    }
}

/// A body as a terminal should show it: JSON indented, anything else with its control characters made visible.
pub(super) fn for_terminal(body: &[u8], colours: Colours) -> String {
    let mut text = match str::from_utf8(body) {
        Ok(text) if is_json(text) => indent_json(text, colours),
        _ => visible(&String::from_utf8_lossy(body)),
    };
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text
}

fn is_json(text: &str) -> bool {
    serde_json::from_str::<serde_json::Value>(text).is_ok()
}

/// Text without the means to take a terminal over.
pub(super) fn visible(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut shown, char| {
        match char {
            '\n' | '\t' => shown.push(char),
            char if char.is_control() => shown.extend(char.escape_default()),
            char => shown.push(char),
        }
        shown
    })
}

/// Indents JSON that is known to be valid. Works on the text, so that numbers, escapes and the order of keys stay what
/// they were.
fn indent_json(text: &str, colours: Colours) -> String {
    let mut writer = Indenter { out: String::with_capacity(text.len() * 2), depth: 0, colours };
    let mut rest = text.trim_ascii();
    while let Some(first) = rest.chars().next() {
        let (token, tail) = rest.split_at(token_len(rest, first));
        let tail = tail.trim_ascii_start();
        writer.token(first, token, tail.chars().next());
        rest = tail;
    }
    writer.out
}

/// Length of the token at the front of `text`.
fn token_len(text: &str, first: char) -> usize {
    let bytes = text.as_bytes();
    match first {
        '"' => {
            let mut escaped = false;
            let end = bytes.iter().skip(1).position(|&byte| {
                let closes = byte == b'"' && !escaped;
                escaped = byte == b'\\' && !escaped;
                closes
            });
            end.map_or(text.len(), |end| end + 2)
        }
        '{' | '}' | '[' | ']' | ',' | ':' => 1,
        _ => bytes
            .iter()
            .position(|byte| byte.is_ascii_whitespace() || b",:]}".contains(byte))
            .unwrap_or(text.len()),
    }
}

struct Indenter {
    out: String,
    depth: usize,
    colours: Colours,
}

impl Indenter {
    fn token(&mut self, first: char, token: &str, next: Option<char>) {
        match first {
            '{' | '[' => {
                self.out.push_str(token);
                self.depth += 1;
                if !matches!(next, Some('}' | ']')) {
                    self.line();
                }
            }
            '}' | ']' => {
                self.depth = self.depth.saturating_sub(1);
                if !self.out.ends_with(['{', '[']) {
                    self.line();
                }
                self.out.push_str(token);
            }
            ',' => {
                self.out.push(',');
                self.line();
            }
            ':' => self.out.push_str(": "),
            '"' if next == Some(':') => self.coloured(self.colours.key, token),
            '"' => self.coloured(self.colours.string, token),
            _ => self.coloured(self.colours.scalar, token),
        }
    }

    fn line(&mut self) {
        self.out.push('\n');
        self.out.extend(std::iter::repeat_n("  ", self.depth));
    }

    fn coloured(&mut self, colour: &str, token: &str) {
        // A string may hold DEL and the C1 controls, which JSON lets pass.
        self.out.extend([colour, &visible(token), self.colours.reset]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn json_is_indented_and_otherwise_left_alone() {
        let shown = for_terminal(br#"{"b":[1,2.50,{}],"a":"x\"}: y","e":[],"n":null}"#, Colours::PLAIN);
        let expected = "{\n  \"b\": [\n    1,\n    2.50,\n    {}\n  ],\n  \"a\": \"x\\\"}: y\",\n  \"e\": [],\n  \"n\": null\n}\n";
        assert_eq!(shown, expected);
    }

    #[test]
    fn what_is_no_json_cannot_take_the_terminal_over() {
        assert_eq!(for_terminal(b"\x1b[2Jhi\xff", Colours::PLAIN), "\\u{1b}[2Jhi\u{fffd}\n");
        assert_eq!(for_terminal("\"\u{9b}2J\"".as_bytes(), Colours::PLAIN), "\"\\u{9b}2J\"\n");
        assert_eq!(for_terminal(b"", Colours::PLAIN), "");
    }

    #[test]
    fn keys_strings_and_scalars_differ_in_colour() {
        let shown = for_terminal(br#"{"a":"b","c":1}"#, Colours::TERMINAL);
        assert!(shown.contains("\x1b[36m\"a\"\x1b[0m: \x1b[32m\"b\"\x1b[0m"), "{shown}");
        assert!(shown.contains("\x1b[33m1\x1b[0m"), "{shown}");
    }

    fn json() -> impl Strategy<Value = serde_json::Value> {
        let leaf = prop_oneof![
            Just(serde_json::Value::Null),
            any::<bool>().prop_map(Into::into),
            any::<i64>().prop_map(Into::into),
            "[ -~é€]{0,8}".prop_map(Into::into),
        ];
        leaf.prop_recursive(4, 32, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Into::into),
                prop::collection::vec(("[ -~]{0,6}", inner), 0..6)
                    .prop_map(|members| serde_json::Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn indenting_changes_nothing_but_white_space(value in json()) {
            let shown = for_terminal(value.to_string().as_bytes(), Colours::PLAIN);
            prop_assert_eq!(&serde_json::from_str::<serde_json::Value>(&shown).unwrap(), &value);
            prop_assert_eq!(shown, serde_json::to_string_pretty(&value).unwrap() + "\n");
        }
    }
}
