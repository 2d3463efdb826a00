//! Validation over the tape against validation over `serde_json::Value`.

use super::super::{Schema, Violation, fuzz};
use super::{generate, parsed};
use proptest::prelude::*;
use serde_json::{Value as Plain, json};

fn valid(schema: &str, text: &str) -> bool {
    fuzz::same_verdict(schema, text.as_bytes());
    let schema = Schema::compile(schema).unwrap();
    parsed(text, |value| schema.is_valid(value)).unwrap()
}

fn report(schema: &str, text: &str, max: usize) -> Vec<Violation> {
    let schema = Schema::compile(schema).unwrap();
    parsed(text, |value| schema.report(value, max)).unwrap()
}

#[test]
fn numbers_at_the_edges() {
    let integer = r#"{"type":"integer"}"#;
    for yes in [
        "0",
        "-0",
        "1.0",
        "1e2",
        "-0.0",
        "18446744073709551615",
        "-9223372036854775808",
        "1e300",
        "18446744073709551616",
    ] {
        assert!(valid(integer, yes), "{yes}");
    }
    for no in ["1.5", "1e-1", "\"1\"", "true"] {
        assert!(!valid(integer, no), "{no}");
    }
    let bounds = r#"{"minimum":-9223372036854775808,"maximum":18446744073709551615}"#;
    for (text, expected) in [
        ("18446744073709551615", true),
        ("18446744073709551616", false),
        ("-9223372036854775808", true),
        ("-1e19", false),
    ] {
        assert_eq!(valid(bounds, text), expected, "{text}");
    }
    for (multiple, text, expected) in [
        ("0.01", "4.35", true),
        ("0.1", "0.3", true),
        ("0.1", "0.35", false),
        ("2", "1e2", true),
        ("2", "3.0", false),
        ("0.5", "0", true),
        ("3", "18446744073709551615", true),
        ("7", "-9223372036854775807", true),
        ("2", "-0.0", true),
        ("1", "1e300", true),
        ("0.3", "5e-324", false),
    ] {
        assert_eq!(valid(&format!("{{\"multipleOf\":{multiple}}}"), text), expected, "{text} / {multiple}");
    }
    for (expected, text, equal) in [
        ("1", "1.0", true),
        ("1.0", "1", true),
        ("0", "-0.0", true),
        ("9007199254740993", "9007199254740992.0", false),
        ("9007199254740993", "9007199254740993", true),
        ("18446744073709551615", "18446744073709551616", false),
        ("1e2", "100", true),
    ] {
        assert_eq!(valid(&format!("{{\"const\":{expected}}}"), text), equal, "{text} / {expected}");
        assert_eq!(valid(&format!("{{\"enum\":[\"x\",{expected}]}}"), text), equal, "{text} / {expected}");
    }
}

#[test]
fn unique_items() {
    let unique = r#"{"uniqueItems":true}"#;
    let filler = |n: usize| (0..n).map(|n| format!("\"filler {n}\"")).collect::<Vec<_>>().join(",");
    for size in [0, 5, 40] {
        let behind = |items: &str| format!("[{items}{}{}]", if size > 0 { "," } else { "" }, filler(size));
        for yes in [
            "1,true",
            "0,false",
            "\"\",null",
            "[1],[[1]]",
            "{\"a\":1},{\"a\":2}",
            "[],{}",
            "9007199254740993,9007199254740992.0",
            "1,\"1\"",
            "{\"a\":1},{\"a\":1,\"b\":1}",
        ] {
            assert!(valid(unique, &behind(yes)), "{yes} and {size}");
        }
        for no in [
            "1,1.0",
            "1,2,1e0",
            "0,-0.0",
            "\"a\",\"\\u0061\"",
            "[1,{\"a\":[]}],[1.0,{\"a\":[]}]",
            "{\"a\":1,\"b\":2},{\"b\":2,\"a\":1}",
            "null,null",
            "18446744073709551615,18446744073709551615",
        ] {
            assert!(!valid(unique, &behind(no)), "{no} and {size}");
        }
    }
    // Two wide objects, the same in another order, and once more with one difference.
    let wide = |order: &mut dyn Iterator<Item = u32>, odd: u32| {
        let members: Vec<_> = order.map(|n| format!("\"k{n}\":{}", if n == odd { 7 } else { 1 })).collect();
        format!("{{{}}}", members.join(","))
    };
    for (odd, expected) in [(50_000, false), (9_999, true)] {
        let text = format!("[{},{}]", wide(&mut (0..10_000), 50_000), wide(&mut (0..10_000).rev(), odd));
        let schema = Schema::compile(unique).unwrap();
        assert_eq!(parsed(&text, |value| schema.is_valid(value)).unwrap(), expected);
    }
}

#[test]
fn lengths_count_code_points() {
    let schema = r#"{"minLength":2,"maxLength":3}"#;
    for (text, expected) in [
        ("é", false),
        ("éé", true),
        ("😀😀😀", true),
        ("😀😀😀😀", false),
        ("a", false),
        ("\\ud83d\\ude00a", true),
        ("", false),
        ("abcd", false),
    ] {
        assert_eq!(valid(schema, &format!("\"{text}\"")), expected, "{text}");
    }
}

/// All formats of draft 2020-12 (D16).
#[test]
fn formats_are_asserted() {
    let cases: &[(&str, &[&str], &[&str])] = &[
        ("email", &["a@b.example"], &["a", "a@", "@b"]),
        ("idn-email", &["실례@실례.테스트"], &["a"]),
        ("uri", &["https://a.example/b?c#d", "urn:x:y"], &["/a", "a b", "https://a b"]),
        ("uri-reference", &["/a", "a?b", "#c"], &["\\\\\\\\a"]),
        ("uri-template", &["/rooms/{id}"], &["/rooms/{id"]),
        ("iri", &["https://ä.example/ö"], &["/ö"]),
        ("iri-reference", &["/ö"], &["\\\\\\\\ö"]),
        (
            "date-time",
            &["2026-03-01T12:00:00Z", "2026-03-01T12:00:00.5+02:00"],
            &["2026-03-01", "2026-03-01 12:00:00", "2026-03-01T25:00:00Z"],
        ),
        ("date", &["2026-02-28", "2024-02-29"], &["2026-02-29", "2026-2-1", "20260301", "2026-13-01"]),
        ("time", &["12:30:00Z", "12:30:00+01:00"], &["12:30", "24:00:00Z"]),
        ("duration", &["P3D", "PT1H30M", "P1Y2M3DT4H5M6S", "P2W"], &["3D", "P", "PT"]),
        (
            "uuid",
            &["f47ac10b-58cc-4372-a567-0e02b2c3d479"],
            &["f47ac10b58cc4372a5670e02b2c3d479", "x47ac10b-58cc-4372-a567-0e02b2c3d479"],
        ),
        ("ipv4", &["127.0.0.1"], &["127.0.0", "256.0.0.1", "01.0.0.1"]),
        ("ipv6", &["::1", "2001:db8::8"], &[":::", "1.2.3.4", "::1%eth0"]),
        ("hostname", &["a.example", "xn--4gbwdl.xn--wgbh1c"], &["-a.example", "a_b.example"]),
        ("idn-hostname", &["실례.테스트"], &["〮실례.테스트"]),
        ("json-pointer", &["", "/a/b~1c"], &["a", "/a~"]),
        ("relative-json-pointer", &["0", "1/a", "2#"], &["/a", "-1"]),
        ("regex", &["^a+$"], &["^(a"]),
        ("no-such-format", &["anything"], &[]),
    ];
    for (format, yes, no) in cases {
        let schema = format!("{{\"format\":\"{format}\"}}");
        for text in *yes {
            assert!(valid(&schema, &format!("\"{text}\"")), "{format}: {text}");
        }
        for text in *no {
            assert!(!valid(&schema, &format!("\"{text}\"")), "{format}: {text}");
        }
        assert!(valid(&schema, "1"), "{format} is of strings only");
    }
}

#[test]
fn the_field_is_the_offending_place() {
    let schema = r#"{"type":"object","properties":{"check_in":{"type":"string","format":"date"},"nights":{"type":"integer","minimum":1},
        "guests":{"type":"array","items":{"type":"object","properties":{"n/a~":{"type":"string"}},"required":["n/a~"],"additionalProperties":false}}},
        "required":["check_in"],"additionalProperties":false}"#;
    let field = |text| {
        let first = report(schema, text, 16).into_iter().next().unwrap();
        (first.field, first.schema_path)
    };
    let expect = |text, pointer: &str, path: &str| {
        assert_eq!(field(text), (pointer.to_owned(), path.to_owned()), "{text}")
    };
    expect("{}", "/check_in", "/required");
    expect(r#"{"check_in":"2026-03-01","x/y":1}"#, "/x~1y", "/additionalProperties");
    expect(r#"{"check_in":"2026-02-30"}"#, "/check_in", "/properties/check_in/format");
    expect(r#"{"check_in":"2026-03-01","nights":0}"#, "/nights", "/properties/nights/minimum");
    expect(
        r#"{"check_in":"2026-03-01","guests":[{"n/a~":""},{}]}"#,
        "/guests/1/n~1a~0",
        "/properties/guests/items/required",
    );
    expect(
        r#"{"check_in":"2026-03-01","guests":[{"n/a~":"","q":0}]}"#,
        "/guests/0/q",
        "/properties/guests/items/additionalProperties",
    );
    expect("[]", "", "/type");

    let all = report(schema, r#"{"a":1,"b":2,"nights":"x"}"#, 16);
    let mut fields: Vec<_> = all.iter().map(|violation| violation.field.as_str()).collect();
    fields.sort_unstable();
    assert_eq!(fields, ["/a", "/b", "/check_in", "/nights"]);
    assert!(all.iter().all(|violation| !violation.message.is_empty()));
    assert_eq!(report(schema, r#"{"a":1,"b":2,"nights":"x"}"#, 2).len(), 2);
    assert!(report(schema, r#"{"check_in":"2026-03-01"}"#, 16).is_empty());
    assert_eq!(report(r#"{"propertyNames":{"maxLength":1}}"#, r#"{"ab":1}"#, 1)[0].field, "/ab");
    assert_eq!(report(r#"{"dependentRequired":{"a":["b"]}}"#, r#"{"a":1}"#, 1)[0].field, "/b");
    assert_eq!(report(r#"{"unevaluatedProperties":false}"#, r#"{"q":1}"#, 1)[0].field, "/q");
}

#[test]
fn what_is_no_schema_is_told() {
    for (text, part) in [
        ("{", "not JSON"),
        (r#"{"type":"objekt"}"#, "/type"),
        (r#"{"minimum":"1"}"#, "/minimum"),
        (r#"{"pattern":"("}"#, "pattern"),
        (r##"{"$ref":"#/$defs/none"}"##, "none"),
        (r#"{"$ref":"https://elsewhere.example/schema.json"}"#, "elsewhere.example"),
        (r#"{"$ref":"file:///etc/schema.json"}"#, "etc/schema.json"),
    ] {
        let error = Schema::compile(text).map(|_| ()).expect_err(text);
        assert!(error.contains(part), "{text}: {error}");
    }
    assert!(Schema::compile("true").is_ok_and(|schema| parsed("1", |value| schema.is_valid(value)).unwrap()));
}

#[test]
fn the_first_byte_chooses_a_schema() {
    for choice in 0..40 {
        for text in ["{}", "[1,1]", "3", "{\"a\":\"xyz\",\"b\":3}", "{\"a\":{\"b\":[{}]}}", "x", ""] {
            fuzz::differential(&[&[choice], text.as_bytes()].concat());
        }
    }
}

/// A schema of a few keywords, over the keys and values that [`generate`] makes.
fn schema() -> impl Strategy<Value = Plain> {
    fn keywords(inner: impl Strategy<Value = Plain> + Clone + 'static) -> impl Strategy<Value = Plain> {
        let name = || prop::sample::select(vec!["a", "b", "c", "aa", "é"]);
        let names = || prop::collection::hash_set(name(), 1..3);
        let some = |inner: &dyn Fn() -> BoxedStrategy<Plain>| prop::collection::vec(inner(), 1..3);
        let boxed = inner.clone().boxed();
        let inner = move || boxed.clone();
        prop_oneof![
            names().prop_map(|names| json!({"required": names})),
            prop::collection::hash_map(name(), inner(), 1..4).prop_map(|all| json!({"properties": all})),
            prop::collection::hash_map(name(), inner(), 1..4)
                .prop_map(|all| json!({"properties": all, "additionalProperties": false})),
            inner().prop_map(|inner| json!({"additionalProperties": inner})),
            inner().prop_map(|inner| json!({"patternProperties": {"^a": inner}})),
            inner().prop_map(|inner| json!({"propertyNames": inner})),
            inner().prop_map(|inner| json!({"items": inner})),
            (inner(), inner()).prop_map(|(first, rest)| json!({"prefixItems": [first], "items": rest})),
            (inner(), 0..3).prop_map(|(inner, min)| json!({"contains": inner, "minContains": min})),
            some(&inner).prop_map(|all| json!({"anyOf": all})),
            some(&inner).prop_map(|all| json!({"oneOf": all})),
            some(&inner).prop_map(|all| json!({"allOf": all})),
            inner().prop_map(|inner| json!({"not": inner})),
            (inner(), inner(), inner()).prop_map(|(a, b, c)| json!({"if": a, "then": b, "else": c})),
            (name(), names()).prop_map(|(name, names)| json!({"dependentRequired": {name: names}})),
            (name(), inner()).prop_map(|(name, inner)| json!({"dependentSchemas": {name: inner}})),
            inner().prop_map(|inner| json!({"unevaluatedProperties": inner})),
        ]
    }
    let kind =
        prop::sample::select(vec!["null", "boolean", "number", "integer", "string", "array", "object"]);
    let number =
        || generate::number().prop_filter_map("a double", |text| serde_json::from_str::<Plain>(&text).ok());
    let small = || {
        generate::document().prop_filter_map("a short value", |text| {
            (text.len() < 40).then(|| serde_json::from_str::<Plain>(&text).ok()).flatten()
        })
    };
    let leaf = prop_oneof![
        3 => kind.clone().prop_map(|kind| json!({"type": kind})),
        1 => prop::collection::hash_set(kind, 1..4).prop_map(|kinds| json!({"type": kinds})),
        1 => prop::collection::vec(small(), 1..4).prop_map(|values| {
            let mut values: Vec<Plain> = values;
            values.dedup();
            json!({"enum": values})
        }),
        1 => small().prop_map(|value| json!({"const": value})),
        1 => number().prop_map(|number| json!({"minimum": number})),
        1 => number().prop_map(|number| json!({"exclusiveMaximum": number})),
        1 => prop::sample::select(vec!["0.01", "0.1", "0.5", "1", "1.5", "2", "3", "7", "1e2"])
            .prop_map(|number| json!({"multipleOf": serde_json::from_str::<Plain>(number).unwrap()})),
        1 => (0..5_u32, 0..9_u32).prop_map(|(min, max)| json!({"minLength": min, "maxLength": max})),
        1 => prop::sample::select(vec!["^a", "[0-9]+", "^\\S*$", "b|c$", "^(?=a)", "\\p{L}"]).prop_map(|pattern| json!({"pattern": pattern})),
        1 => (0..3_u32, 1..5_u32).prop_map(|(min, max)| json!({"minProperties": min, "maxProperties": max})),
        1 => (0..3_u32, 1..5_u32).prop_map(|(min, max)| json!({"minItems": min, "maxItems": max})),
        2 => Just(json!({"uniqueItems": true})),
        1 => prop::sample::select(vec!["date", "email", "uuid", "date-time", "ipv4", "ipv6", "uri", "time", "duration", "json-pointer"])
            .prop_map(|format| json!({"format": format})),
        1 => prop::sample::select(vec!["#/$defs/text", "#/$defs/tree"]).prop_map(|target| json!({"$ref": target})),
        1 => any::<bool>().prop_map(Plain::Bool),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop::collection::vec(prop_oneof![2 => keywords(inner.clone()), 1 => inner], 1..4)
            .prop_map(|parts| merge(&parts))
    })
}

/// One schema with the keywords of all of them.
fn merge(parts: &[Plain]) -> Plain {
    let mut all = serde_json::Map::new();
    for part in parts.iter().filter_map(Plain::as_object) {
        all.extend(part.clone());
    }
    match all.is_empty() {
        true => parts[0].clone(),
        false => Plain::Object(all),
    }
}

/// The targets of the generated references.
fn with_definitions(schema: Plain) -> String {
    let definitions = json!({
        "text": {"type": "string", "minLength": 1},
        "tree": {"properties": {"a": {"$ref": "#/$defs/tree"}, "b": {"items": {"$ref": "#/$defs/tree"}}}, "not": {"type": "null"}},
    });
    json!({"$defs": definitions, "allOf": [schema]}).to_string()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn generated_schemas(schema in schema(), texts in prop::collection::vec(generate::document(), 1..6)) {
        let schema = with_definitions(schema);
        for text in texts {
            fuzz::same_verdict(&schema, text.as_bytes());
        }
    }

    #[test]
    fn near_misses(choice in any::<u8>(), members in prop::collection::vec((generate::key(), generate::string(), generate::number(), 0..4), 0..4)) {
        let members: Vec<_> = members
            .into_iter()
            .map(|(key, string, number, which)| match which {
                0 => format!("{key}:{string}"),
                1 => format!("{key}:{number}"),
                2 => format!("{key}:[{number},{string}]"),
                _ => format!("{key}:{{\"a\":{number}}}"),
            })
            .collect();
        let text = format!("{{{}}}", members.join(","));
        fuzz::differential(&[&[choice], text.as_bytes()].concat());
    }
}
