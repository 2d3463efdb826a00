//! Parameters on top of a body (D8).

use super::super::{Number, Scalar, TapeBuffers, parse_scalar};
use super::{json, with_document};
use crate::registry::Scalar as Conversion;
use proptest::prelude::*;

fn merged(text: &str, merge: impl FnOnce(&mut super::Document<'_>)) -> String {
    with_document(text.as_bytes(), 64, |document| {
        merge(document);
        json(document.root())
    })
    .unwrap()
}

#[test]
fn set_replaces_whatever_was_there() {
    let set = |text| merged(text, |document| document.set("b", Scalar::Number(Number::U64(7))));
    assert_eq!(set("{}"), r#"{"b":7}"#);
    assert_eq!(set(r#"{"a":1}"#), r#"{"a":1,"b":7}"#);
    assert_eq!(set(r#"{"b":null,"a":1}"#), r#"{"b":7,"a":1}"#);
    assert_eq!(set(r#"{"a":{"b":1},"b":[1,{"b":[2]}],"c":[3]}"#), r#"{"a":{"b":1},"b":7,"c":[3]}"#);
    assert_eq!(set(r#"{"b":{}}"#), r#"{"b":7}"#);
    assert_eq!(set(r#"{"\u0062":{"x":[]}}"#), r#"{"b":7}"#);
}

#[test]
fn set_missing_keeps() {
    let keep = |text| merged(text, |document| document.set_missing("b", Scalar::Str("q\"")));
    assert_eq!(keep(r#"{"b":[1]}"#), r#"{"b":[1]}"#);
    assert_eq!(keep(r#"{"a":{"b":1}}"#), r#"{"a":{"b":1},"b":"q\""}"#);
}

#[test]
fn only_objects_take_members() {
    for text in ["[1]", "\"a\"", "null", "3"] {
        let after = merged(text, |document| {
            assert!(!document.is_object() && !document.contains("a"));
            document.set("a", Scalar::Null);
            document.push("b", Scalar::Bool(true));
        });
        assert_eq!(after, text);
    }
}

#[test]
fn an_absent_body_takes_members_too() {
    let mut buffers = TapeBuffers::new();
    let mut document = buffers.empty();
    document.push("n", parse_scalar("3", Conversion::Number));
    document.push("s", parse_scalar("3", Conversion::String));
    document.push("b", parse_scalar("true", Conversion::Boolean));
    assert_eq!(json(document.root()), r#"{"n":3,"s":"3","b":true}"#);
    assert_eq!(document.root().as_object().map(|object| object.len()), Some(3));
    buffers.recycle(document);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// Against doing the same to a map.
    #[test]
    fn merging_is_what_a_map_does(
        text in super::generate::document(),
        steps in prop::collection::vec((prop::sample::select(vec!["a", "b", "c", "é", "new"]), any::<bool>(), any::<u32>()), 0..8),
    ) {
        let Ok(serde_json::Value::Object(mut plain)) = serde_json::from_str(&text) else { return Ok(()) };
        let merged = with_document(text.as_bytes(), 64, |document| {
            for (key, replace, number) in &steps {
                let scalar = Scalar::Number(Number::U64((*number).into()));
                match replace {
                    true => document.set(key, scalar),
                    false => document.set_missing(key, scalar),
                }
            }
            json(document.root())
        });
        // Refused for a duplicate key.
        let Ok(merged) = merged else { return Ok(()) };
        for (key, replace, number) in &steps {
            if *replace || !plain.contains_key(*key) {
                plain.insert((*key).to_owned(), (*number).into());
            }
        }
        let merged: serde_json::Value = serde_json::from_str(&merged).unwrap();
        let (mut a, mut b) = (merged.to_string(), serde_json::Value::Object(plain).to_string());
        // The one spelling that may differ.
        for text in [&mut a, &mut b] {
            *text = text.replace("-0.0", "0");
        }
        prop_assert_eq!(a, b);
    }
}
