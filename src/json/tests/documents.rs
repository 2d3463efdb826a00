//! What is a document and what is not (D9, D15).

use super::super::{PADDING, Reason, TapeBuffers, fuzz};
use super::{generate, json, parsed, with_document};
use proptest::prelude::*;

#[test]
fn refused_with_the_reason() {
    let cases: &[(&str, Reason)] = &[
        ("", Reason::Empty),
        (" \n\t\r", Reason::Empty),
        ("{", Reason::Incomplete),
        ("[1", Reason::Incomplete),
        ("{\"a\":", Reason::Incomplete),
        ("[1,", Reason::Incomplete),
        ("[1,]", Reason::Syntax),
        ("{\"a\":1,}", Reason::Syntax),
        ("{\"a\" 1}", Reason::Syntax),
        ("{a:1}", Reason::Syntax),
        ("{'a':1}", Reason::Syntax),
        ("[1 2]", Reason::Syntax),
        ("\u{feff}{}", Reason::Syntax),
        ("{} x", Reason::Syntax),
        ("{}{}", Reason::Syntax),
        ("1 1", Reason::Syntax),
        ("nul", Reason::Syntax),
        ("nulll", Reason::Syntax),
        ("True", Reason::Syntax),
        ("NaN", Reason::Syntax),
        ("Infinity", Reason::Syntax),
        ("+1", Reason::Syntax),
        (".5", Reason::Syntax),
        ("// no\n{}", Reason::Syntax),
        ("01", Reason::Number),
        ("-", Reason::Number),
        ("-01", Reason::Number),
        ("1.", Reason::Number),
        ("1e", Reason::Number),
        ("1e+", Reason::Number),
        ("1.e1", Reason::Number),
        ("0x10", Reason::Number),
        ("-NaN", Reason::Number),
        ("1e400", Reason::Number),
        ("-1e400", Reason::Number),
        ("[1e99999999999999999999]", Reason::Number),
        ("\"a", Reason::String),
        ("\"a\nb\"", Reason::String),
        ("\"a\u{0}b\"", Reason::String),
        ("{\"a\u{1f}\":1}", Reason::String),
        ("\"\\x\"", Reason::Escape),
        ("\"\\u12\"", Reason::Unicode),
        ("\"\\u12g4\"", Reason::Unicode),
        ("\"\\ud800\"", Reason::Unicode),
        ("\"\\udc00\"", Reason::Unicode),
        ("\"\\ud800\\ud800\"", Reason::Unicode),
        ("\"\\ud800x\"", Reason::Unicode),
        ("{\"\\udfff\":1}", Reason::Unicode),
        ("{\"a\":1,\"a\":2}", Reason::DuplicateKey),
        ("{\"a\":1,\"\\u0061\":1}", Reason::DuplicateKey),
        ("[{\"x\":{\"\":0,\"b\":[],\"\":0}}]", Reason::DuplicateKey),
    ];
    for (text, reason) in cases {
        let fault = parsed(text, json).expect_err(text);
        assert_eq!(fault.reason(), *reason, "{text}: {fault}");
        if serde_json::from_str::<serde_json::Value>(text).is_ok() {
            assert_eq!(*reason, Reason::DuplicateKey, "{text}");
        }
    }
}

#[test]
fn refuses_what_is_not_utf8() {
    for text in [
        &b"\"\xff\""[..],
        b"\"\xc3\"",
        b"\"\xed\xa0\x80\"",
        b"\"\xc0\x80\"",
        b"{\"\xf5\x80\x80\x80\":1}",
        b"\"\xf4\x90\x80\x80\"",
    ] {
        let fault = with_document(text, 64, |_| ()).unwrap_err();
        assert_eq!(fault.reason(), Reason::Utf8, "{text:?}");
    }
    assert!(with_document(b"{}\xff", 64, |_| ()).is_err());
}

#[test]
fn accepts_what_rfc_8259_does() {
    for (text, written) in [
        ("{}", "{}"),
        (" [ ] ", "[]"),
        ("\"\\u0000\\/\\ud83d\\ude00\"", "\"\\u0000/😀\""),
        ("-0", "0"),
        ("-0.0", "-0.0"),
        ("1E+2", "100.0"),
        ("18446744073709551615", "18446744073709551615"),
        ("-9223372036854775808", "-9223372036854775808"),
        ("18446744073709551616", "1.8446744073709552e19"),
        ("1e-400", "0.0"),
        ("0e99999999999999999999", "0.0"),
        ("{\"b\":[1,{\"a\":null}],\"a\":[true,false]}", "{\"b\":[1,{\"a\":null}],\"a\":[true,false]}"),
        ("\"\u{7f}\u{fffe}\"", "\"\u{7f}\u{fffe}\""),
    ] {
        assert_eq!(parsed(text, json).expect(text), written, "{text}");
    }
}

#[test]
fn depth_is_exact() {
    let nested =
        |open: &str, close: &str, depth: usize| format!("{}{}", open.repeat(depth), close.repeat(depth));
    for limit in [1, 2, 64] {
        for (open, close) in [("[", "]"), ("{\"a\":[", "]}")] {
            let per = open.matches(['[', '{']).count();
            let text = nested(open, close, limit / per.min(limit));
            assert_eq!(with_document(text.as_bytes(), limit.max(per), |_| ()), Ok(()), "{limit}");
        }
        let text = nested("[", "]", limit + 1);
        let fault = with_document(text.as_bytes(), limit, |_| ()).unwrap_err();
        assert_eq!(fault.reason(), Reason::TooDeep);
        assert_eq!(fault.offset(), Some(limit));
    }
    // A bomb that never closes is stopped at the limit too.
    let fault = with_document("[".repeat(1 << 20).as_bytes(), 64, |_| ()).unwrap_err();
    assert_eq!(fault.reason(), Reason::TooDeep);
}

#[test]
fn the_byte_is_told_where_it_is_known() {
    let offset = |text| parsed(text, json).unwrap_err().offset();
    assert_eq!(offset("{\"a\":01}"), Some(6));
    assert_eq!(offset("{\"a\":x}"), Some(5));
    assert_eq!(offset("{\"key\":1,\"key\":2}"), Some(10));
    assert_eq!(offset("\"\\x\""), None);
    assert_eq!(offset(""), None);
    let text = parsed("{\"a\":x}", json).unwrap_err().to_string();
    assert_eq!(text, "a character stands where JSON does not allow it (byte 5)");
}

#[test]
fn what_follows_is_untouched_and_does_not_matter() {
    let mut buffers = TapeBuffers::new();
    for filler in 0..=255_u8 {
        for text in ["12", "\"a\\n\"", "{\"a\":true}", "null", "[1.5]"] {
            let mut input = text.as_bytes().to_vec();
            input.resize(text.len() + PADDING, filler);
            let document = buffers.parse(&mut input, text.len(), 64).unwrap();
            assert_eq!(json(document.root()), text);
            buffers.recycle(document);
            assert!(input[text.len()..].iter().all(|byte| *byte == filler));
        }
    }
    let mut short = *b"{} ";
    assert_eq!(buffers.parse(&mut short, 2, 64).map(|_| ()).unwrap_err().reason(), Reason::Buffer);
    assert_eq!(buffers.parse(&mut short, 9, 64).map(|_| ()).unwrap_err().reason(), Reason::Buffer);
}

#[test]
fn buffers_serve_again_after_anything() {
    let mut buffers = TapeBuffers::new();
    let large = format!("[{}]", vec!["{\"k\":1}"; 40_000].join(","));
    for text in ["{\"a\":[1]}", "{\"a\":", "[]", large.as_str(), "{\"a\":1,\"a\":1}", "7"] {
        let mut input = [text.as_bytes(), &[0; PADDING]].concat();
        let good = serde_json::from_str::<serde_json::Value>(text).is_ok() && !text.contains("1,\"a\"");
        match buffers.parse(&mut input, text.len(), 64) {
            Ok(document) => {
                assert!(good);
                assert_eq!(json(document.root()), text);
                buffers.recycle(document);
            }
            Err(_) => assert!(!good),
        }
        let empty = buffers.empty();
        assert_eq!(json(empty.root()), "{}");
        buffers.recycle(empty);
    }
}

/// Quadratic work on these would take minutes.
#[test]
fn a_hundred_thousand_keys() {
    let keys = |last: &str| {
        let mut text: Vec<String> =
            (0..100_000).map(|n| format!("\"{:x}\":0", n * 7919 % 1_000_003)).collect();
        text.push(last.to_owned());
        format!("{{\"nested\":{{{}}}}}", text.join(","))
    };
    assert!(parsed(&keys("\"last\":0"), |_| ()).is_ok());
    let fault = parsed(&keys("\"\\u0030\":0"), |_| ()).unwrap_err();
    assert_eq!(fault.reason(), Reason::DuplicateKey);
    // Long common beginnings, which the sort's shortcut does not tell apart.
    let alike: Vec<String> = (0..20_000).map(|n| format!("\"{}{n}\":0", "x".repeat(40))).collect();
    assert!(parsed(&format!("{{{}}}", alike.join(",")), |_| ()).is_ok());
}

#[test]
fn duplicates_at_any_place_of_any_object() {
    for members in [2, 3, 15, 16, 17, 18, 40] {
        let keys: Vec<String> = (0..members).map(|n| format!("k{n}")).collect();
        for first in 0..members {
            for second in first + 1..members {
                let mut keys = keys.clone();
                keys[second] = keys[first].clone();
                let members: Vec<String> = keys.iter().map(|key| format!("\"{key}\":[{{}}]")).collect();
                let text = format!("{{{}}}", members.join(","));
                assert_eq!(parsed(&text, |_| ()).unwrap_err().reason(), Reason::DuplicateKey, "{text}");
            }
        }
    }
}

#[test]
fn values_are_read_as_what_they_are() {
    parsed(r#"{"s":"é","n":-3,"u":18446744073709551615,"f":2.0,"h":0.5,"b":true,"z":null,"a":[1,[2],{"x":3}],"a/b":{"m~n":4}}"#, |value| {
        assert_eq!(value.get("s").and_then(|s| s.as_str()), Some("é"));
        let number = |key| value.get(key).unwrap();
        assert_eq!((number("n").as_i64(), number("n").as_u64(), number("n").as_f64()), (Some(-3), None, Some(-3.0)));
        assert_eq!((number("u").as_i64(), number("u").as_u64()), (None, Some(u64::MAX)));
        assert_eq!((number("f").as_i64(), number("f").as_u64()), (Some(2), Some(2)));
        assert_eq!((number("h").as_i64(), number("h").as_u64(), number("h").as_f64()), (None, None, Some(0.5)));
        assert_eq!(number("b").as_bool(), Some(true));
        assert!(number("z").is_null() && number("z").as_str().is_none() && number("z").get("x").is_none());
        assert_eq!(number("a").as_array().map(|array| array.len()), Some(3));
        assert_eq!(value.as_object().map(|object| object.len()), Some(9));
        let pointers = [("/a/0", "1"), ("/a/1/0", "2"), ("/a/2/x", "3"), ("/a~1b/m~0n", "4"), ("/a/1", "[2]")];
        for (pointer, found) in pointers {
            assert_eq!(value.pointer(pointer).map(json).as_deref(), Some(found), "{pointer}");
        }
        for missing in ["a", "/a/3", "/a/01", "/a/+1", "/a/", "/s/0", "/a~1b/m~n", "/a~", "/x", "/"] {
            assert!(value.pointer(missing).is_none(), "{missing}");
        }
        assert!(value.pointer("").is_some_and(|found| found == value));
    })
    .unwrap();
}

/// How a generated document is spoilt.
fn mutation() -> impl Strategy<Value = (usize, u8, u8)> {
    let byte = prop_oneof![3 => prop::sample::select(b"{}[]\",:\\u0e.-+ dD\x00\x1f\xff\xc3\x7fnt".to_vec()), 1 => any::<u8>()];
    (any::<usize>(), 0..5_u8, byte)
}

fn spoil(text: &mut Vec<u8>, (place, how, byte): (usize, u8, u8)) {
    let place = place % (text.len() + 1);
    match how {
        0 => text.truncate(place),
        1 => text.insert(place, byte),
        _ if place == text.len() => text.push(byte),
        2 => drop(text.remove(place)),
        3 => text[place] = byte,
        _ => text.extend_from_within(place..),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn generated_documents(text in generate::document()) {
        fuzz::document(text.as_bytes());
    }

    #[test]
    fn spoilt_documents(text in generate::document(), how in prop::collection::vec(mutation(), 1..4)) {
        let mut text = text.into_bytes();
        for how in how {
            spoil(&mut text, how);
        }
        fuzz::document(&text);
    }

    #[test]
    fn any_number_reads_as_serde_json_reads_it(number in generate::number()) {
        fuzz::document(number.as_bytes());
        fuzz::document(format!("[{number}]").as_bytes());
    }

    #[test]
    fn any_bytes(text in prop::collection::vec(any::<u8>(), 0..80)) {
        fuzz::document(&text);
    }

    #[test]
    fn any_string_of_any_length(before in 0..70_usize, text in generate::string(), after in 0..70_usize) {
        fuzz::document(format!("{}{text}{}", " ".repeat(before), " ".repeat(after)).as_bytes());
    }
}
