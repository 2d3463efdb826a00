//! Fuzz bodies: the tape and its validator against `serde_json` and the validator over `serde_json::Value`.
//!
//! A fuzz target is one line; unit tests feed the same functions generated documents. Disagreement panics.

#![allow(
    clippy::panic,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a fuzz body gives its verdict by panicking"
)]

use super::{PADDING, Reason, Schema, TapeBuffers, Value, unique};
use serde_json::Value as Plain;
use std::sync::OnceLock;

/// Nesting that [`document`] and [`differential`] allow: the default of D9.
pub const DEPTH: usize = 64;

/// Schemas that [`differential`] chooses from by its first byte.
const SCHEMAS: &[&str] = &[
    r#"{"type":"object","properties":{"a":{"type":"string","minLength":2,"maxLength":5},"b":{"type":"integer","minimum":1,"maximum":30}},"required":["a","b"],"additionalProperties":false}"#,
    r#"{"type":"object","properties":{"a":{"format":"date"},"b":{"format":"uuid"},"c":{"format":"email"}}}"#,
    r#"{"properties":{"a":{"enum":[1,"a",null,[1,2],{"b":1.0}]},"b":{"const":{"a":[1,2,{"c":0}]}}}}"#,
    r#"{"items":{"type":["integer","string"]},"uniqueItems":true,"minItems":1,"maxItems":40}"#,
    r#"{"anyOf":[{"multipleOf":0.01},{"multipleOf":7}],"not":{"exclusiveMinimum":1000}}"#,
    r##"{"$defs":{"tree":{"type":"object","properties":{"a":{"$ref":"#/$defs/tree"},"b":{"type":"array","items":{"$ref":"#/$defs/tree"}}},"additionalProperties":{"type":"number"}}},"$ref":"#/$defs/tree"}"##,
    r#"{"propertyNames":{"pattern":"^[a-c]+$","maxLength":3},"patternProperties":{"^a":{"type":"number"}},"unevaluatedProperties":{"type":"null"},"minProperties":1}"#,
    r#"{"if":{"required":["a"]},"then":{"required":["b"]},"else":{"maxProperties":2},"dependentRequired":{"c":["a"]}}"#,
    r#"{"oneOf":[{"type":"number"},{"type":"integer"},{"type":"array","contains":{"type":"null"},"maxContains":2}]}"#,
    r#"{"prefixItems":[{"type":"boolean"},{"type":"integer","maximum":18446744073709551615,"minimum":-9223372036854775808}],"unevaluatedItems":false}"#,
];

/// One schema in both representations.
struct Pair {
    tape: Schema,
    plain: jsonschema::Validator,
}

/// The first byte chooses a schema, the rest is a document: both roads must come to the same verdict, and explain a
/// refusal if and only if there is one.
pub fn differential(data: &[u8]) {
    static PAIRS: OnceLock<Vec<Pair>> = OnceLock::new();
    let Some((choice, text)) = data.split_first() else { return };
    let pairs = PAIRS.get_or_init(|| SCHEMAS.iter().filter_map(|schema| pair(schema)).collect());
    let Some(pair) = pairs.get(usize::from(*choice) % SCHEMAS.len()) else { return };
    document_with(text, |value, plain| verdict(pair, value, plain));
}

/// Any bytes as a document: accepted by `serde_json` and free of what I-JSON forbids, or refused.
pub fn document(text: &[u8]) {
    document_with(text, |_, _| {});
}

/// The same verdict for any schema and any document.
#[cfg(test)]
pub(super) fn same_verdict(schema: &str, text: &[u8]) {
    let Some(pair) = pair(schema) else { panic!("not a schema: {schema}") };
    document_with(text, |value, plain| verdict(&pair, value, plain));
}

fn pair(schema: &str) -> Option<Pair> {
    let plain = jsonschema::options()
        .with_draft(jsonschema::Draft::Draft202012)
        .should_validate_formats(true)
        .should_ignore_unknown_formats(true)
        .offline()
        .build(&serde_json::from_str(schema).ok()?)
        .ok()?;
    Some(Pair { tape: Schema::compile(schema).ok()?, plain })
}

fn verdict(pair: &Pair, value: Value<'_>, plain: &Plain) {
    let expected = pair.plain.is_valid(plain);
    assert_eq!(pair.tape.is_valid(value), expected, "{plain}");
    let report = pair.tape.report(value, usize::MAX);
    assert_eq!(report.is_empty(), expected, "{plain}: {report:?}");
    let mut paths: Vec<_> = report.into_iter().map(|violation| violation.schema_path).collect();
    let mut expected: Vec<_> =
        pair.plain.iter_errors(plain).map(|error| error.schema_path().to_string()).collect();
    // A property that must not be there is a violation of its own, and members come in another order.
    paths.sort_unstable();
    paths.dedup();
    expected.sort_unstable();
    expected.dedup();
    assert_eq!(paths, expected, "{plain}");
}

/// Parses both ways, compares what came of it, and hands both values on if the document is good.
fn document_with(text: &[u8], then: impl FnOnce(Value<'_>, &Plain)) {
    let mut buffers = TapeBuffers::new();
    let mut input = text.to_vec();
    input.resize(text.len() + PADDING, b'7');
    let parsed = buffers.parse(&mut input, text.len(), DEPTH);
    match (parsed, serde_json::from_slice::<Plain>(text)) {
        (Ok(document), Ok(plain)) => {
            same_value(document.root(), &plain);
            then(document.root(), &plain);
        }
        (Err(_), Err(_)) => {}
        (Ok(document), Err(error)) => panic!("accepted {:?}, which is wrong: {error}", document.root()),
        (Err(fault), Ok(plain)) => {
            let stricter = match fault.reason() {
                Reason::DuplicateKey => members_written(text) > members_of(&plain),
                Reason::TooDeep => depth_of(&plain) > DEPTH,
                _ => false,
            };
            assert!(stricter, "refused {plain}: {fault}");
        }
    }
}

fn same_value(value: Value<'_>, plain: &Plain) {
    assert!(unique::equals(value, plain), "{value:?} is not {plain}");
    let mut written = Vec::new();
    value.write_json(&mut written);
    let again = serde_json::from_slice::<Plain>(&written).ok();
    assert!(
        again.is_some_and(|again| unique::equals(value, &again)),
        "written as {}",
        String::from_utf8_lossy(&written)
    );
}

/// Colons outside strings: as many as there are members, equal keys included.
fn members_written(text: &[u8]) -> usize {
    let (mut members, mut quoted, mut escaped) = (0, false, false);
    for byte in text {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = quoted,
            b'"' => quoted = !quoted,
            b':' if !quoted => members += 1,
            _ => {}
        }
    }
    members
}

fn members_of(plain: &Plain) -> usize {
    match plain {
        Plain::Object(members) => members.len() + members.values().map(members_of).sum::<usize>(),
        Plain::Array(elements) => elements.iter().map(members_of).sum(),
        _ => 0,
    }
}

fn depth_of(plain: &Plain) -> usize {
    match plain {
        Plain::Object(members) => 1 + members.values().map(depth_of).max().unwrap_or(0),
        Plain::Array(elements) => 1 + elements.iter().map(depth_of).max().unwrap_or(0),
        _ => 0,
    }
}
