//! From body, query and path to a validated input (draft: Query Strings, Schema Strictness; D8, D15, D16, D27).

use crate::common::{Answer, Wire, answers};
use crate::support::*;
use agtp::engine::Engine;
use serde_json::{Value, json};
use std::sync::LazyLock;

static ENGINE: LazyLock<Engine<'static>> = LazyLock::new(|| {
    let typed = json!({
        "s": {"type": "string"},
        "i": {"type": "integer"},
        "n": {"type": "number"},
        "b": {"type": "boolean"},
        "nb": {"type": ["number", "boolean"]},
        "ns": {"type": ["integer", "null"]},
        "a": {"type": "array"},
        "o": {"type": "object"},
        "any": {},
        "sp ace": {"type": "string"},
    });
    Deployment::new()
        .endpoint(&Endpoint::echo("QUERY /typed").properties(typed))
        .endpoint(&Endpoint::echo("QUERY /path/{s}/{i}/{n}/{b}").properties(json!({
            "s": {"type": "string"}, "i": {"type": "integer"}, "n": {"type": "number"}, "b": {"type": "boolean"},
        })))
        .endpoint(&Endpoint::echo("QUERY /any").taking(&["any", "a", "b"]))
        .endpoint(&Endpoint::echo("QUERY /at/{any}").taking(&["any", "b"]))
        .endpoint(&Endpoint::echo("QUERY /strict").required(json!(["name", "nested"])).properties(json!({
            "name": {"type": "string", "minLength": 2},
            "nested": {"type": "object", "properties": {"deep/er": {"type": "array", "items": {"type": "integer"}}}, "additionalProperties": false},
            "when": {"type": "string", "format": "date"},
        })))
        .endpoint(&Endpoint::echo("QUERY /nothing"))
        .engine()
});

fn ask(line: &str, body: &str) -> Answer {
    Req::new(format!("QUERY {line}")).body(body).ask(&ENGINE)
}

fn input(line: &str, body: &str) -> Value {
    let answer = ask(line, body);
    assert_eq!(answer.status, 200, "{line} {body}: {answer:?}");
    answer.body["input"].clone()
}

/// Query, and the input it makes; `Err` with the field that a 422 names.
#[rustfmt::skip]
fn conversions() -> Vec<(&'static str, Result<Value, &'static str>)> {
    vec![
        ("", Ok(json!({}))),
        ("s=5", Ok(json!({"s": "5"}))),
        ("s=true", Ok(json!({"s": "true"}))),
        ("s=", Ok(json!({"s": ""}))),
        ("s", Ok(json!({"s": ""}))),
        ("s=a=b", Ok(json!({"s": "a=b"}))),
        ("s=a+b", Ok(json!({"s": "a b"}))),
        ("s=a%2Bb", Ok(json!({"s": "a+b"}))),
        ("s=a%20b%26c%3Dd", Ok(json!({"s": "a b&c=d"}))),
        ("s=%E2%82%AC", Ok(json!({"s": "\u{20ac}"}))),
        ("s=%22%5C%00%1f", Ok(json!({"s": "\"\\\u{0}\u{1f}"}))),
        ("s=/?:@", Ok(json!({"s": "/?:@"}))),
        ("%73=1", Ok(json!({"s": "1"}))),
        ("sp+ace=1", Ok(json!({"sp ace": "1"}))),
        ("sp%20ace=1", Ok(json!({"sp ace": "1"}))),
        ("s=1&s=2&s=3", Ok(json!({"s": "3"}))),
        ("s=1&%73=2", Ok(json!({"s": "2"}))),
        ("s=1&s", Ok(json!({"s": ""}))),
        ("&&s=1&", Ok(json!({"s": "1"}))),
        ("i=5", Ok(json!({"i": 5}))),
        ("i=-5", Ok(json!({"i": -5}))),
        ("i=%35", Ok(json!({"i": 5}))),
        ("i=0", Ok(json!({"i": 0}))),
        ("i=18446744073709551615", Ok(json!({"i": 18446744073709551615u64}))),
        ("i=1&i=2", Ok(json!({"i": 2}))),
        ("i=+5", Err("/i")),
        ("i=%2B5", Err("/i")),
        ("i=007", Err("/i")),
        ("i=-", Err("/i")),
        ("i=", Err("/i")),
        ("i", Err("/i")),
        ("i=5.5", Err("/i")),
        ("i=5x", Err("/i")),
        ("i=%205", Err("/i")),
        ("i=0x10", Err("/i")),
        ("i=1_000", Err("/i")),
        ("i=true", Err("/i")),
        ("i=null", Err("/i")),
        ("i=x&i=5", Ok(json!({"i": 5}))),
        ("n=2.5", Ok(json!({"n": 2.5}))),
        ("n=-2.5e-3", Ok(json!({"n": -0.0025}))),
        ("n=1E2", Ok(json!({"n": 100.0}))),
        ("n=5", Ok(json!({"n": 5}))),
        ("n=.5", Err("/n")),
        ("n=5.", Err("/n")),
        ("n=NaN", Err("/n")),
        ("n=Infinity", Err("/n")),
        ("n=-Infinity", Err("/n")),
        ("n=1e", Err("/n")),
        ("n=1e999", Err("/n")),
        ("n=1,5", Err("/n")),
        ("b=true", Ok(json!({"b": true}))),
        ("b=false", Ok(json!({"b": false}))),
        ("b=True", Err("/b")),
        ("b=1", Err("/b")),
        ("b=yes", Err("/b")),
        ("b", Err("/b")),
        ("nb=1", Ok(json!({"nb": 1}))),
        ("nb=true", Ok(json!({"nb": true}))),
        ("nb=x", Err("/nb")),
        ("ns=1", Ok(json!({"ns": 1}))),
        ("ns=null", Err("/ns")),
        ("a=[1]", Err("/a")),
        ("o=%7B%7D", Err("/o")),
        ("any=5", Ok(json!({"any": "5"}))),
        ("any=true&s=1&i=2", Ok(json!({"any": "true", "s": "1", "i": 2}))),
        ("undeclared=1", Err("/undeclared")),
        ("s=1&S=2", Err("/S")),
        ("=1", Err("/")),
    ]
}

#[test]
fn query_values_become_what_the_schema_declares() {
    for (query, expected) in conversions() {
        // Square brackets are no query characters.
        let query = query.replace('[', "%5B").replace(']', "%5D");
        let answer = ask(&format!("/typed?{query}"), "");
        match expected {
            Ok(input) => {
                assert_eq!(answer.status, 200, "{query}: {answer:?}");
                assert_eq!(answer.body["input"], input, "{query}");
            }
            Err(field) => {
                assert_eq!(
                    verdict(&answer),
                    (422, "input-validation-failed".to_owned()),
                    "{query}: {answer:?}"
                );
                assert_eq!(answer.body["error"]["field"], field, "{query}");
            }
        }
    }
}

#[test]
fn path_values_become_what_the_schema_declares() {
    let cases = [
        ("5/5/5/true", Ok(json!({"s": "5", "i": 5, "n": 5, "b": true}))),
        ("a+b/-1/1e2/false", Ok(json!({"s": "a+b", "i": -1, "n": 100.0, "b": false}))),
        ("%61%2F%25/%31/1.5/%74rue", Ok(json!({"s": "a/%", "i": 1, "n": 1.5, "b": true}))),
        ("x/007/1/true", Err("/i")),
        ("x/+7/1/true", Err("/i")),
        ("x/7/NaN/true", Err("/n")),
        ("x/7/7/TRUE", Err("/b")),
    ];
    for (path, expected) in cases {
        let answer = ask(&format!("/path/{path}"), "");
        match expected {
            Ok(input) => assert_eq!(answer.body["input"], input, "{path}: {answer:?}"),
            Err(field) => {
                assert_eq!(
                    (answer.status, answer.body["error"]["field"].as_str()),
                    (422, Some(field)),
                    "{path}"
                );
            }
        }
    }
}

#[test]
fn path_beats_body_beats_query() {
    assert_eq!(input("/any?any=query&a=query", r#"{"any":"body"}"#), json!({"any": "body", "a": "query"}));
    assert_eq!(input("/any?any=query", r#"{"any":null}"#), json!({"any": null}), "null is a value");
    assert_eq!(input("/any?a=1&a=2", r#"{"\u0061":"body"}"#), json!({"a": "body"}), "keys compare unescaped");
    assert_eq!(
        input("/at/path?any=query&b=query", r#"{"any":{"of":"body"}}"#),
        json!({"any": "path", "b": "query"})
    );
    assert_eq!(input("/at/path?any=query", ""), json!({"any": "path"}));
    assert_eq!(input("/at/path", r#"{"b":1,"any":[1,2,{"x":"y"}]}"#), json!({"any": "path", "b": 1}));
    // What the body says is taken as it is: conversion is for values that have no type of their own.
    assert_eq!(ask("/typed", r#"{"i":"5"}"#).body["error"]["field"], "/i");
    assert_eq!(input("/typed", r#"{"i":5.0}"#), json!({"i": 5.0}), "5.0 is an integer to JSON Schema");
}

#[test]
fn a_malformed_query_is_a_malformed_request_line() {
    for query in [
        "%",
        "s=%",
        "s=%4",
        "s=%4g",
        "%zz=1",
        "s=%ff",
        "s=%C3&i=%A4",
        "s=a\"b",
        "s=<a>",
        "s=[1]",
        "s={a}",
        "s=a|b",
        "s=a\\b",
        "s=^",
        "s=`",
        "s=\u{e4}",
    ] {
        for path in ["/typed", "/nowhere", "/fetch", "/typed/"] {
            let (answer, closed) = Req::new(format!("QUERY {path}?{query}")).ask_and_close(&ENGINE);
            assert_eq!(verdict(&answer), (400, "invalid-request-line".to_owned()), "{path}?{query}");
            assert!(closed);
        }
    }
}

/// Bodies that are no I-JSON.
#[rustfmt::skip]
const NO_JSON: &[&[u8]] = &[
    b" ", b"\r\n", b"{", b"}", b"{]", b"{\"a\"}", b"{\"a\":}", b"{\"a\":1,}", b"{a:1}", b"{'a':1}", b"[1,]", b"[,1]",
    b"nul", b"True", b"NaN", b"{\"a\":NaN}", b"{\"a\":Infinity}", b"{\"a\":01}", b"{\"a\":+1}", b"{\"a\":.5}",
    b"{\"a\":1.}", b"{\"a\":1e}", b"{\"a\":0x1}", b"{\"a\":1e999}", b"{} {}", b"{}x", b"{}]", b"{},", b"{}\0", b"\0{}",
    b"{\"a\":1}{\"a\":1}", b"{\"a\":\"\n\"}", b"{\"a\":\"\t\"}", b"{\"a\":\"\\x41\"}", b"{\"a\":\"\\u12\"}", b"{\"a\":\"\\\"}",
    b"{\"a\":1,\"a\":1}", b"{\"a\":1,\"\\u0061\":2}", b"{\"a\":{\"b\":1,\"b\":2}}", b"{\"a\":[{\"b\":1,\"b\":2}]}", b"[{\"a\":1,\"a\":2}]",
    b"{\"a\":\"\\ud800\"}", b"{\"a\":\"\\udc00\"}", b"{\"a\":\"\\ud800\\ud800\"}", b"{\"a\":\"\\ud800x\"}", b"{\"\\ud800\":1}",
    b"{\"a\":\"\xff\"}", b"{\"a\":\"\xc3\"}", b"{\"a\":\"\xc0\xaf\"}", b"{\"a\":\"\xed\xa0\x80\"}", b"{\"\xff\":1}", b"\xff",
    b"\xef\xbb\xbf{}", b"/* */{}", b"{}//",
];

#[test]
fn a_body_that_is_no_i_json_is_refused_and_the_connection_goes_on() {
    let mut wire = Wire::new(&ENGINE);
    for body in NO_JSON {
        let shown = String::from_utf8_lossy(body);
        let request =
            [Req::new("QUERY /any").body(body).bytes(), Req::new("QUERY /any?a=next").bytes()].concat();
        let answers = answers(&wire.send(&request));
        assert_eq!(answers.len(), 2, "{shown:?}");
        assert_eq!(verdict(&answers[0]), (400, "invalid-json".to_owned()), "{shown:?}");
        assert!(answers[0].body["error"]["detail"].is_string());
        assert_eq!(answers[1].body["input"], json!({"a": "next"}), "{shown:?}");
        assert!(!wire.closed);
    }
}

#[test]
fn a_body_that_is_i_json_arrives_as_it_is() {
    let bodies = [
        r#" { } "#,
        "\r\n\t{\"any\" :\t1 }\n",
        r#"{"any":"\ud83d\ude00 \u0041\/\b\f\n\r\t\"\\"}"#,
        r#"{"any":[[],{},"",0,-1,1.5,1e3,true,false,null,[[[1]]]]}"#,
        r#"{"any":{"a":{"b":{"a":1}},"b":{"a":2}},"a":[{"a":1},{"a":1}]}"#,
        "{\"any\":\"\u{e4}\u{20ac}\u{1f600}\u{2028}\"}",
        r#"{"any":9007199254740993,"a":-9223372036854775808,"b":18446744073709551615}"#,
    ];
    for body in bodies {
        let expected: Value = serde_json::from_str(body).expect("JSON");
        assert_eq!(input("/any", body), expected, "{body}");
    }
}

#[test]
fn a_body_that_is_json_and_no_object_is_unprocessable() {
    for body in ["[]", "[{}]", "null", "true", "0", "\"{}\"", " 1 "] {
        let answer = ask("/nothing", body);
        assert_eq!(verdict(&answer), (422, "input-validation-failed".to_owned()), "{body}");
        assert_eq!(answer.body["error"]["field"], "", "{body}: the whole value is at fault");
        assert!(answer.body["error"]["errors"].as_array().is_some_and(|errors| errors.len() == 1), "{body}");
    }
}

#[test]
fn an_absent_body_counts_as_an_empty_object() {
    assert_eq!(Req::new("QUERY /nothing").ask(&ENGINE).body["input"], json!({}));
    assert_eq!(ask("/nothing", "").body["input"], json!({}));
    assert_eq!(ask("/strict", "").status, 422, "and is validated like one");
}

#[test]
fn nesting_is_bounded_at_64() {
    // The body's own object is the first level.
    let body = |open: &str, close: &str, depth: usize| {
        format!("{{\"any\":{}1{}}}", open.repeat(depth - 1), close.repeat(depth - 1))
    };
    for (open, close) in [("[", "]"), ("{\"x\":", "}")] {
        assert_eq!(ask("/any", &body(open, close, 64)).status, 200, "{open}");
        for depth in [65, 66, 1000, 100_000] {
            let answer = ask("/any", &body(open, close, depth));
            assert_eq!(verdict(&answer), (400, "invalid-json".to_owned()), "{open} {depth}");
        }
        // It counts wherever it stands, and whether or not it is closed.
        let unclosed = format!("{{\"a\":1,\"any\":{}", open.repeat(200));
        assert_eq!(verdict(&ask("/any", &unclosed)), (400, "invalid-json".to_owned()), "{open}");
    }
    // Width is no depth.
    let wide = format!("{{\"any\":[{}[]]}}", "[[]],".repeat(1000));
    assert_eq!(ask("/any", &wide).status, 200);
}

#[test]
fn content_types() {
    let of = |media: &str, body: &str| {
        Req::new("QUERY /any").header("Content-Type", media).body(body).ask_and_close(&ENGINE)
    };
    for media in [
        "application/json",
        "application/vnd.agtp+json",
        "application/vnd.agtp.manifest+json",
        "application/ld+json",
        "APPLICATION/JSON",
        "application/json; charset=utf-8",
        "application/json;charset=utf-8",
        "text/x+json",
    ] {
        assert_eq!(of(media, "{}").0.status, 200, "{media}");
    }
    for media in [
        "text/plain",
        "application/xml",
        "application/jsonx",
        "application/x-json",
        "json",
        "",
        "text/html; a=application/json",
        "application/json+xml",
    ] {
        let (answer, closed) = of(media, "{}");
        assert_eq!(verdict(&answer), (400, "unsupported-content-type".to_owned()), "{media:?}");
        assert!(!closed, "{media:?}");
        assert_eq!(of(media, "").0.status, 200, "{media:?}: without a body it says nothing");
    }
    assert_eq!(Req::new("QUERY /any").body("{}").ask(&ENGINE).status, 200, "absent");
}

/// Body for `/strict`, and the first field at fault with the tail of its schema path.
#[rustfmt::skip]
const VIOLATIONS: &[(&str, &str, &str)] = &[
    ("{}", "/name", "/required"),
    (r#"{"name":"ab"}"#, "/nested", "/required"),
    (r#"{"nested":{}}"#, "/name", "/required"),
    (r#"{"name":"a","nested":{}}"#, "/name", "/properties/name/minLength"),
    (r#"{"name":5,"nested":{}}"#, "/name", "/properties/name/type"),
    (r#"{"name":"ab","nested":[]}"#, "/nested", "/properties/nested/type"),
    (r#"{"name":"ab","nested":{},"extra":1}"#, "/extra", "/additionalProperties"),
    (r#"{"name":"ab","nested":{"x":1}}"#, "/nested/x", "/properties/nested/additionalProperties"),
    (r#"{"name":"ab","nested":{"a/b~c":1}}"#, "/nested/a~1b~0c", "/properties/nested/additionalProperties"),
    (r#"{"name":"ab","nested":{"deep/er":[1,"2"]}}"#, "/nested/deep~1er/1", "/items/type"),
    (r#"{"name":"ab","nested":{},"when":"2026-02-30"}"#, "/when", "/properties/when/format"),
    (r#"{"name":"ab","nested":{},"when":"soon"}"#, "/when", "/properties/when/format"),
];

#[test]
fn a_422_points_at_what_is_wrong() {
    assert_eq!(
        input("/strict", r#"{"name":"ab","nested":{"deep/er":[1]},"when":"2026-02-28"}"#)["when"],
        "2026-02-28"
    );
    for (body, field, schema_path) in VIOLATIONS {
        let answer = ask("/strict", body);
        assert_eq!(verdict(&answer), (422, "input-validation-failed".to_owned()), "{body}");
        let error = &answer.body["error"];
        let errors = error["errors"].as_array().expect("an array");
        assert!(error["detail"].as_str().is_some_and(|detail| !detail.is_empty()), "{answer:?}");
        assert!((1..=16).contains(&errors.len()), "{answer:?}");
        assert_eq!(
            (&errors[0]["field"], &errors[0]["schema_path"]),
            (&error["field"], &error["schema_path"])
        );
        let named = |entry: &&Value| {
            entry["field"] == *field
                && entry["schema_path"].as_str().is_some_and(|path| path.ends_with(schema_path))
        };
        assert!(errors.iter().find(named).is_some(), "{body}: {errors:?}");
        if errors.len() == 1 {
            assert_eq!(error["field"], *field, "{body}");
        }
    }
    // Both missing properties are told, each by its own pointer.
    let errors = ask("/strict", "{}").body["error"]["errors"].clone();
    let mut fields: Vec<_> =
        errors.as_array().expect("an array").iter().map(|error| error["field"].as_str()).collect();
    fields.sort_unstable();
    assert_eq!(fields, [Some("/name"), Some("/nested")]);
}

#[test]
fn a_422_lists_sixteen_violations_at_most() {
    let body = |count: usize| {
        let members: Vec<_> = (0..count).map(|at| format!("\"x{at}\":1")).collect();
        format!("{{{}}}", members.join(","))
    };
    for (count, listed) in [(1, 1), (15, 15), (16, 16), (17, 16), (500, 16)] {
        let answer = ask("/nothing", &body(count));
        let errors = answer.body["error"]["errors"].as_array().expect("an array").clone();
        assert_eq!((answer.status, errors.len()), (422, listed), "{count}");
        let mut fields: Vec<_> = errors.iter().map(|error| error["field"].to_string()).collect();
        fields.sort_unstable();
        fields.dedup();
        assert_eq!(fields.len(), listed, "one entry per property");
    }
}

/// A format, what it accepts and what it does not (D16).
#[rustfmt::skip]
const FORMATS: &[(&str, &str, &str)] = &[
    ("date", "2026-12-31", "2026-13-01"),
    ("date", "2024-02-29", "2023-02-29"),
    ("time", "23:59:59Z", "25:00:00Z"),
    ("date-time", "2026-01-01T00:00:00Z", "2026-01-01 00:00"),
    ("duration", "P1DT12H", "P"),
    ("email", "a@example.org", "a.example.org"),
    ("hostname", "a.example.org", "-a.example"),
    ("ipv4", "192.0.2.1", "192.0.2.256"),
    ("ipv6", "2001:db8::1", "2001:db8::g"),
    ("uri", "https://example.org/a", "//example.org/a"),
    ("uri-reference", "../a", "\\a"),
    ("uuid", "0188d9a0-7c9c-7f3e-8e9a-0123456789ab", "0188d9a0"),
    ("json-pointer", "/a/b", "a/b"),
    ("regex", "^a+$", "("),
];

#[test]
fn formats_are_asserted() {
    let mut deployment = Deployment::new();
    for (row, (format, ..)) in FORMATS.iter().enumerate() {
        let properties = json!({"value": {"type": "string", "format": format}});
        deployment =
            deployment.endpoint(&Endpoint::echo(&format!("QUERY /format{row}")).properties(properties));
    }
    let engine = deployment.engine();
    for (row, (format, good, bad)) in FORMATS.iter().enumerate() {
        let status = |value: &str| {
            Req::new(format!("QUERY /format{row}"))
                .body(json!({"value": value}).to_string())
                .ask(&engine)
                .status
        };
        assert_eq!((status(good), status(bad)), (200, 422), "{format}: {good:?} and {bad:?}");
    }
}

#[test]
fn defaults_are_documentation() {
    let properties = json!({"value": {"type": "string", "default": "filled in"}});
    let engine = Deployment::new().endpoint(&Endpoint::echo("QUERY /room").properties(properties)).engine();
    assert_eq!(Req::new("QUERY /room").ask(&engine).body["input"], json!({}));
}

#[test]
fn a_422_is_not_larger_than_what_it_refuses() {
    let engine = Deployment::new().echoes(&["BOOK /rooms"]).engine();
    let long = |unit: &str| unit.repeat(1_000_000 / unit.len());
    for body in [
        format!("{{\"{}\":1}}", long("\u{7f}")),
        format!("{{\"{}\":1}}", long("~")),
        format!("{{\"a\":\"{}\"}}", long("\\\\")),
        format!("{{{}}}", (0..60_000).map(|key| format!("\"k{key}\":1")).collect::<Vec<_>>().join(",")),
    ] {
        let answer = Req::new("BOOK /rooms").body(&body).ask(&engine);
        assert_eq!(answer.status, 422);
        assert!(answer.raw.len() < 32_000, "{} bytes for {}", answer.raw.len(), body.len());
        assert!(answer.body["error"]["errors"].as_array().is_some_and(|errors| errors.len() <= 16));
    }
}
