//! What spans the module: documents, schemas and writers against plain implementations.

mod documents;
mod merging;
mod schemas;
mod writing;

use super::{Document, JsonFault, PADDING, TapeBuffers, Value};

/// Parses a document and looks at it.
fn parsed<T>(text: &str, look: impl FnOnce(Value<'_>) -> T) -> Result<T, JsonFault> {
    with_document(text.as_bytes(), 64, |document| look(document.root()))
}

fn with_document<T>(
    text: &[u8],
    depth: usize,
    look: impl FnOnce(&mut Document<'_>) -> T,
) -> Result<T, JsonFault> {
    let mut input = text.to_vec();
    input.resize(text.len() + PADDING, b'}');
    TapeBuffers::new().parse(&mut input, text.len(), depth).map(|mut document| look(&mut document))
}

fn json(value: Value<'_>) -> String {
    let mut out = Vec::new();
    value.write_json(&mut out);
    String::from_utf8(out).unwrap()
}

mod generate {
    //! Documents as text, so that every spelling of a value occurs.

    use proptest::prelude::*;

    /// Keys that meet often, also in two spellings.
    pub(super) fn key() -> impl Strategy<Value = String> {
        prop_oneof![
            4 => prop::sample::select(vec!["a", "b", "c", "aa", "ab", "", "\\u0061", "\\u0062b", "b\\\\", "é", "\\ud83d\\ude00"]),
            1 => prop::sample::select(vec!["a long key of more than thirty-two bytes", "a/b", "m~n", "\\\"", "日本"]),
        ]
        .prop_map(|key| format!("\"{key}\""))
    }

    pub(super) fn number() -> impl Strategy<Value = String> {
        prop_oneof![
            3 => prop::sample::select(vec![
                "0", "-0", "0.0", "-0.0", "1", "1.0", "-1", "2", "1e2", "100", "1E+2", "0.1", "0.3", "1.5", "30", "31", "49",
                "0.07", "1e-2", "18446744073709551615", "18446744073709551616", "-9223372036854775808",
                "-9223372036854775809", "9223372036854775808", "9007199254740993", "9007199254740992.0", "1e308", "5e-324",
                "1e-400", "123456789012345678901234567890", "0.1e1", "4.35", "1e22", "1e23",
            ])
            .prop_map(str::to_owned),
            1 => "-?(0|[1-9][0-9]{0,21})(\\.[0-9]{1,22})?([eE][+-]?[0-9]{1,3})?",
        ]
    }

    pub(super) fn string() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            6 => "[ -!#-\\[\\]-~]{0,8}",
            2 => "[é日😀\u{7f}\u{2028}]{1,3}",
            2 => prop::sample::select(vec!["\\n", "\\\"", "\\\\", "\\/", "\\u0000", "\\u00e9", "\\ud83d\\ude00", "\\t", "\\b\\f\\r"])
                .prop_map(str::to_owned),
            1 => prop::sample::select(vec![
                "2026-03-01", "2026-02-30", "a@b.example", "f47ac10b-58cc-4372-a567-0e02b2c3d479", "12:30:00Z",
                "2026-03-01T12:00:00Z", "127.0.0.1", "::1", "https://a.example/b?c#d", "P3D", "/a/b",
            ])
            .prop_map(str::to_owned),
        ];
        prop::collection::vec(piece, 0..4).prop_map(|pieces| format!("\"{}\"", pieces.concat()))
    }

    fn space() -> impl Strategy<Value = &'static str> {
        prop_oneof![5 => Just(""), 1 => Just(" "), 1 => Just("\n\t\r ")]
    }

    /// A document. Keys may repeat.
    pub(super) fn document() -> impl Strategy<Value = String> {
        let leaf = prop_oneof![
            1 => prop::sample::select(vec!["null", "true", "false"]).prop_map(str::to_owned),
            3 => number(),
            2 => string(),
        ];
        leaf.prop_recursive(4, 48, 6, |inner| {
            let element = (space(), inner.clone(), space())
                .prop_map(|(before, value, after)| format!("{before}{value}{after}"));
            let member = (space(), key(), space(), inner)
                .prop_map(|(a, key, b, value)| format!("{a}{key}{b}:{b}{value}{a}"));
            prop_oneof![
                2 => prop::collection::vec(element, 0..6).prop_map(|parts| format!("[{}]", parts.join(","))),
                3 => prop::collection::vec(member, 0..6).prop_map(|parts| format!("{{{}}}", parts.join(","))),
            ]
        })
    }
}
