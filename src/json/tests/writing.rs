//! Writers against `serde_json`.

use super::super::{ArrayWriter, ObjectWriter, push_bytes_lossy, push_string, write_array, write_object};
use super::{generate, json, parsed};
use proptest::prelude::*;
use serde_json::Value as Plain;

#[test]
fn every_kind_of_member_and_element() {
    let mut out = b"before ".to_vec();
    write_object(&mut out, |o| {
        o.str("s", "a\"b").u64("u", u64::MAX).i64("i", i64::MIN).f64("f", 1.0).bool("b", true).null("n");
        o.object("empty", |_| {}).array("none", |_| {}).raw("raw", "[0]").bytes_lossy("w", b"a\xff");
        o.array("all", |a| {
            a.str("x").u64(0).i64(-1).f64(f64::NAN).bool(false).null();
            a.object(|o| {
                o.f64("k\n", f64::NEG_INFINITY);
            });
            a.array(|a| {
                a.u64(10);
            });
        });
    });
    let expected = concat!(
        r#"before {"s":"a\"b","u":18446744073709551615,"i":-9223372036854775808,"f":1.0,"b":true,"n":null,"empty":{},"#,
        r#""none":[],"raw":[0],"w":"a�","all":["x",0,-1,null,false,null,{"k\n":null},[10]]}"#
    );
    assert_eq!(String::from_utf8(out).unwrap(), expected);
}

#[test]
fn values_of_a_document() {
    let written = parsed(r#"{"a":[1,{"b":"\u0009"}],"n":1.50}"#, |value| {
        let mut out = Vec::new();
        write_array(&mut out, |a| {
            a.value(value).number(value.get("n").and_then(|n| n.as_number()).unwrap());
            a.object(|o| {
                o.value("v", value).number("n", super::super::Number::I64(-2));
            });
        });
        String::from_utf8(out).unwrap()
    });
    let document = r#"{"a":[1,{"b":"\t"}],"n":1.5}"#;
    assert_eq!(written.unwrap(), format!("[{document},1.5,{{\"v\":{document},\"n\":-2}}]"));
}

fn write_element(a: &mut ArrayWriter<'_>, plain: &Plain) {
    match plain {
        Plain::Null => a.null(),
        Plain::Bool(value) => a.bool(*value),
        Plain::Number(value) if value.is_u64() => a.u64(value.as_u64().unwrap()),
        Plain::Number(value) if value.is_i64() => a.i64(value.as_i64().unwrap()),
        Plain::Number(value) => a.f64(value.as_f64().unwrap()),
        Plain::String(value) => a.str(value),
        Plain::Array(elements) => a.array(|a| elements.iter().for_each(|element| write_element(a, element))),
        Plain::Object(members) => {
            a.object(|o| members.iter().for_each(|(key, value)| write_member(o, key, value)))
        }
    };
}

fn write_member(o: &mut ObjectWriter<'_>, key: &str, plain: &Plain) {
    match plain {
        Plain::Null => o.null(key),
        Plain::Bool(value) => o.bool(key, *value),
        Plain::Number(value) if value.is_u64() => o.u64(key, value.as_u64().unwrap()),
        Plain::Number(value) if value.is_i64() => o.i64(key, value.as_i64().unwrap()),
        Plain::Number(value) => o.f64(key, value.as_f64().unwrap()),
        Plain::String(value) => o.str(key, value),
        Plain::Array(elements) => {
            o.array(key, |a| elements.iter().for_each(|element| write_element(a, element)))
        }
        Plain::Object(members) => {
            o.object(key, |o| members.iter().for_each(|(key, value)| write_member(o, key, value)))
        }
    };
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn writers_round_trip(text in generate::document()) {
        let plain: Plain = match serde_json::from_str(&text) {
            Ok(plain) => plain,
            // A generated number beyond the range of a double.
            Err(_) => return Ok(()),
        };
        let mut out = Vec::new();
        write_array(&mut out, |a| write_element(a, &plain));
        let again: Plain = serde_json::from_slice(&out).unwrap();
        prop_assert_eq!(&again[0], &plain);
        // Ours reads it too, and writes the same bytes.
        let out = String::from_utf8(out).unwrap();
        prop_assert_eq!(parsed(&out, json).unwrap(), out);
    }

    #[test]
    fn strings_round_trip(text in "\\PC{0,40}|[\u{0}-\u{ff}]{0,40}") {
        let mut out = Vec::new();
        push_string(&mut out, &text);
        prop_assert_eq!(&serde_json::to_string(&text).unwrap().into_bytes(), &out);
        let mut lossy = Vec::new();
        push_bytes_lossy(&mut lossy, text.as_bytes());
        prop_assert_eq!(out, lossy);
    }

    #[test]
    fn wire_bytes_are_lossy(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
        let mut out = Vec::new();
        push_bytes_lossy(&mut out, &bytes);
        let text: String = serde_json::from_slice(&out).unwrap();
        prop_assert_eq!(text, String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn doubles_round_trip(bits in any::<u64>()) {
        let value = f64::from_bits(bits);
        let mut out = Vec::new();
        write_array(&mut out, |a| { a.f64(value); });
        let again: Plain = serde_json::from_slice(&out).unwrap();
        prop_assert_eq!(again[0].as_f64(), value.is_finite().then_some(value));
    }
}
