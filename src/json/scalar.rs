//! Path and query values, converted to what the schema declares (D8).

use super::Number;
use crate::registry::Scalar as Conversion;
use simd_json::{Node, StaticNode};

/// A value without parts: what a path or query parameter can be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scalar<'a> {
    /// A string, decoded.
    Str(&'a str),
    /// A number.
    Number(Number),
    /// A boolean.
    Bool(bool),
    /// Null.
    Null,
}

/// Converts a decoded parameter value: to a number if it is exactly a JSON number, to a boolean if it is exactly
/// `true` or `false`, each only where `conversion` asks for it. Everything else stays a string and is validation's to
/// report, also a number beyond the range of a double.
#[inline]
pub fn parse_scalar(text: &str, conversion: Conversion) -> Scalar<'_> {
    let converted = match conversion {
        Conversion::String => None,
        Conversion::Number => number(text),
        Conversion::Boolean => boolean(text),
        Conversion::NumberOrBoolean => number(text).or_else(|| boolean(text)),
    };
    converted.unwrap_or(Scalar::Str(text))
}

fn number(text: &str) -> Option<Scalar<'static>> {
    Number::parse(text).map(Scalar::Number)
}

fn boolean(text: &str) -> Option<Scalar<'static>> {
    match text {
        "true" => Some(Scalar::Bool(true)),
        "false" => Some(Scalar::Bool(false)),
        _ => None,
    }
}

impl<'a> From<Scalar<'a>> for Node<'a> {
    fn from(scalar: Scalar<'a>) -> Node<'a> {
        match scalar {
            Scalar::Str(text) => Node::String(text),
            Scalar::Number(Number::U64(value)) => Node::Static(StaticNode::U64(value)),
            Scalar::Number(Number::I64(value)) => Node::Static(StaticNode::I64(value)),
            Scalar::Number(Number::F64(value)) => Node::Static(StaticNode::F64(value)),
            Scalar::Bool(value) => Node::Static(StaticNode::Bool(value)),
            Scalar::Null => Node::Static(StaticNode::Null),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exactly_a_number() {
        let number = |text| parse_scalar(text, Conversion::Number);
        for (text, value) in [("0", 0), ("7", 7), ("18446744073709551615", u64::MAX), ("12000", 12_000)] {
            assert!(matches!(number(text), Scalar::Number(Number::U64(found)) if found == value), "{text}");
        }
        for (text, value) in [("-1", -1), ("-9223372036854775808", i64::MIN), ("-0", 0)] {
            assert!(matches!(number(text), Scalar::Number(Number::I64(found)) if found == value), "{text}");
        }
        for (text, value) in [
            ("1.5", 1.5),
            ("1e2", 100.0),
            ("-2E-1", -0.2),
            ("0.0", 0.0),
            ("18446744073709551616", 18446744073709551616.0),
        ] {
            assert!(matches!(number(text), Scalar::Number(Number::F64(found)) if found == value), "{text}");
        }
    }

    #[test]
    fn anything_else_stays_a_string() {
        for text in [
            "", "+5", "007", "NaN", "1.", ".5", "-", "1e", "1e+", "0x1", " 1", "1 ", "1_0", "inf", "-inf",
            "1e400", "01", "-01", "--1", "1.e1", "true", "٣",
        ] {
            assert_eq!(parse_scalar(text, Conversion::Number), Scalar::Str(text));
        }
        for text in ["True", "1", "", "yes", "true "] {
            assert_eq!(parse_scalar(text, Conversion::Boolean), Scalar::Str(text));
        }
        assert_eq!(parse_scalar("1", Conversion::String), Scalar::Str("1"));
        assert_eq!(parse_scalar("true", Conversion::String), Scalar::Str("true"));
    }

    #[test]
    fn booleans_and_both() {
        assert_eq!(parse_scalar("true", Conversion::Boolean), Scalar::Bool(true));
        assert_eq!(parse_scalar("false", Conversion::NumberOrBoolean), Scalar::Bool(false));
        assert_eq!(parse_scalar("3", Conversion::NumberOrBoolean), Scalar::Number(Number::U64(3)));
        assert_eq!(parse_scalar("null", Conversion::NumberOrBoolean), Scalar::Str("null"));
    }
}
