//! Canonical JSON, RFC 8785 (D20): what Genesis hashes and signatures are made over.

use crate::catalog::json::{Kind, Node};
use serde_json::Value;

/// The canonical form of a document as read. Numbers are taken as written, so none is rounded twice. Of a repeated
/// key, which callers refuse, the last one counts.
pub fn of_node(node: &Node) -> String {
    let mut out = String::new();
    write_node(&mut out, node);
    out
}

/// The canonical form of a value.
pub fn of_value(value: &Value) -> String {
    let mut out = String::new();
    write_value(&mut out, value);
    out
}

fn write_node(out: &mut String, node: &Node) {
    match &node.kind {
        Kind::Null => out.push_str("null"),
        Kind::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Kind::Number(text) => write_number(out, text.parse().unwrap_or(0.0)),
        Kind::String(text) => write_string(out, text),
        Kind::Array(items) => write_array(out, items, write_node),
        Kind::Object(members) => {
            let members = members.iter().map(|member| (member.key.as_str(), &member.value));
            write_object(out, members.collect(), write_node);
        }
    }
}

fn write_value(out: &mut String, value: &Value) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Value::Number(number) => write_number(out, number.as_f64().unwrap_or(0.0)),
        Value::String(text) => write_string(out, text),
        Value::Array(items) => write_array(out, items, write_value),
        Value::Object(members) => {
            let members = members.iter().map(|(key, value)| (key.as_str(), value));
            write_object(out, members.collect(), write_value);
        }
    }
}

fn write_array<T>(out: &mut String, items: &[T], write: fn(&mut String, &T)) {
    out.push('[');
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        write(out, item);
    }
    out.push(']');
}

/// Members go in the order of their keys' UTF-16 code units, which differs from that of their bytes where surrogates
/// meet U+E000 and above.
fn write_object<T>(out: &mut String, mut members: Vec<(&str, &T)>, write: fn(&mut String, &T)) {
    members.sort_by(|(a, _), (b, _)| a.encode_utf16().cmp(b.encode_utf16()));
    members.reverse();
    members.dedup_by(|later, first| later.0 == first.0);
    out.push('{');
    for (index, (key, value)) in members.into_iter().rev().enumerate() {
        if index > 0 {
            out.push(',');
        }
        write_string(out, key);
        out.push(':');
        write(out, value);
    }
    out.push('}');
}

fn write_string(out: &mut String, text: &str) {
    out.push('"');
    for letter in text.chars() {
        match letter {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\u{c}' => out.push_str("\\f"),
            '\r' => out.push_str("\\r"),
            control if control < ' ' => out.push_str(&format!("\\u{:04x}", u32::from(control))),
            plain => out.push(plain),
        }
    }
    out.push('"');
}

/// ECMAScript's `Number::toString`: the shortest digits that read back as the same double, in plain notation between
/// 1e-7 and 1e21.
fn write_number(out: &mut String, number: f64) {
    if number == 0.0 {
        out.push('0');
        return;
    }
    if number < 0.0 {
        out.push('-');
    }
    let printed = shortest(number.abs());
    let (mantissa, exponent) = printed.split_once('e').unwrap_or((&printed, "0"));
    let digits = mantissa.replace('.', "");
    let point = exponent.parse::<i32>().unwrap_or(0) + 1;
    let count = digits.len() as i32;
    match point {
        1..=21 if count <= point => {
            out.push_str(&digits);
            out.extend(std::iter::repeat_n('0', (point - count) as usize));
        }
        1..=21 => {
            let (whole, fraction) = digits.split_at(point as usize);
            out.push_str(&format!("{whole}.{fraction}"));
        }
        -5..=0 => {
            out.push_str("0.");
            out.extend(std::iter::repeat_n('0', point.unsigned_abs() as usize));
            out.push_str(&digits);
        }
        _ => {
            let (first, rest) = digits.split_at(1);
            let dot = if rest.is_empty() { "" } else { "." };
            let sign = if point > 0 { "+" } else { "-" };
            out.push_str(&format!("{first}{dot}{rest}e{sign}{}", (point - 1).unsigned_abs()));
        }
    }
}

/// The digits as `d.ddde-x`. Of two shortest candidates that lie equally near, ECMAScript takes the even one and Rust
/// the upper; rounding to as many digits exactly breaks the tie as ECMAScript does.
fn shortest(number: f64) -> String {
    let shortest = format!("{number:e}");
    let digits = shortest.bytes().take_while(|byte| *byte != b'e').filter(u8::is_ascii_digit).count();
    let rounded = format!("{number:.*e}", digits - 1);
    if rounded.parse() == Ok(number) { rounded } else { shortest }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(bits: u64) -> String {
        let mut out = String::new();
        write_number(&mut out, f64::from_bits(bits));
        out
    }

    #[test]
    fn numbers_are_ecmascript_s() {
        // RFC 8785, Number Serialization Samples.
        for (bits, text) in [
            (0x0000000000000000, "0"),
            (0x8000000000000000, "0"),
            (0x0000000000000001, "5e-324"),
            (0x8000000000000001, "-5e-324"),
            (0x7fefffffffffffff, "1.7976931348623157e+308"),
            (0xffefffffffffffff, "-1.7976931348623157e+308"),
            (0x4340000000000000, "9007199254740992"),
            (0xc340000000000000, "-9007199254740992"),
            (0x4430000000000000, "295147905179352830000"),
            (0x44b52d02c7e14af5, "9.999999999999997e+22"),
            (0x44b52d02c7e14af6, "1e+23"),
            (0x44b52d02c7e14af7, "1.0000000000000001e+23"),
            (0x444b1ae4d6e2ef4e, "999999999999999700000"),
            (0x444b1ae4d6e2ef4f, "999999999999999900000"),
            (0x444b1ae4d6e2ef50, "1e+21"),
            (0x3eb0c6f7a0b5ed8c, "9.999999999999997e-7"),
            (0x3eb0c6f7a0b5ed8d, "0.000001"),
            (0x41b3de4355555553, "333333333.3333332"),
            (0x41b3de4355555554, "333333333.33333325"),
            (0xbecbf647612f3696, "-0.0000033333333333333333"),
            (0x43143ff3c1cb0959, "1424953923781206.2"),
        ] {
            assert_eq!(number(bits), text);
        }
    }

    #[test]
    fn the_rfc_s_example_comes_out() {
        let text = r#"{
            "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
            "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
            "literals": [null, true, false]
        }"#;
        let canonical = "{\"literals\":[null,true,false],\
            \"numbers\":[333333333.3333333,1e+30,4.5,0.002,1e-27],\
            \"string\":\"€$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"}";
        assert_eq!(of_node(&Node::parse(text).unwrap()), canonical);
    }

    #[test]
    fn keys_sort_by_utf_16_code_units() {
        let text = r#"{"\u20ac":1,"\r":2,"\ufb33":3,"1":4,"\ud83d\ude00":5,"\u0080":6,"\u00f6":7}"#;
        let order = "{\"\\r\":2,\"1\":4,\"\u{80}\":6,\"ö\":7,\"€\":1,\"😀\":5,\"\u{fb33}\":3}";
        assert_eq!(of_node(&Node::parse(text).unwrap()), order);
        assert_eq!(of_value(&serde_json::from_str(text).unwrap()), order);
    }

    proptest::proptest! {
        #[test]
        fn numbers_read_back(bits: u64) {
            let double = f64::from_bits(bits);
            if double.is_finite() {
                proptest::prop_assert_eq!(number(bits).parse::<f64>().unwrap(), double);
            }
        }

        #[test]
        fn what_is_canonical_stays_so(text in "\\PC{0,20}") {
            let value = serde_json::json!({"a": text.clone(), (text): [1, 2.5]});
            let canonical = of_value(&value);
            proptest::prop_assert_eq!(of_node(&Node::parse(&canonical).unwrap()), canonical.clone());
            proptest::prop_assert_eq!(serde_json::from_str::<Value>(&canonical).unwrap(), value);
        }
    }
}
