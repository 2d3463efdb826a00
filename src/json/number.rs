//! Numbers: exact integers where they fit, doubles otherwise.

use std::io::Write;

/// A JSON number. Integers within 64 bits stay exact; everything else is the nearest IEEE 754 double.
#[derive(Clone, Copy, Debug)]
pub enum Number {
    /// An integer from 0 on.
    U64(u64),
    /// An integer, usually below 0.
    I64(i64),
    /// Anything written with a fraction or an exponent, and integers beyond 64 bits. Finite.
    F64(f64),
}

/// From here on a double no longer tells every integer from its neighbours.
const EXACT_DOUBLES: f64 = 9_007_199_254_740_992.0;

impl Number {
    /// The number that `text` is, if it is exactly one number of RFC 8259 and within the range of a double.
    pub fn parse(text: &str) -> Option<Number> {
        let written = Written::of(text.as_bytes())?;
        if let Written::Integer = written {
            if let Ok(value) = text.parse() {
                return Some(Number::U64(value));
            }
            if let Ok(value) = text.parse() {
                return Some(Number::I64(value));
            }
        }
        text.parse().ok().filter(|value: &f64| value.is_finite()).map(Number::F64)
    }

    /// The value as an unsigned integer: also of `2.0`, which JSON Schema counts as one, as far as doubles are exact.
    pub fn as_u64(self) -> Option<u64> {
        match self {
            Number::U64(value) => Some(value),
            Number::I64(value) => u64::try_from(value).ok(),
            Number::F64(value) => exact_integer(value).and_then(|value| u64::try_from(value).ok()),
        }
    }

    /// The value as a signed integer, under the same rule.
    pub fn as_i64(self) -> Option<i64> {
        match self {
            Number::U64(value) => i64::try_from(value).ok(),
            Number::I64(value) => Some(value),
            Number::F64(value) => exact_integer(value),
        }
    }

    /// The nearest double.
    pub fn as_f64(self) -> f64 {
        match self {
            Number::U64(value) => value as f64,
            Number::I64(value) => value as f64,
            Number::F64(value) => value,
        }
    }

    /// Whether the value is an integer in the sense of JSON Schema: `1.0` and `1e2` are.
    pub fn is_integer(self) -> bool {
        match self {
            Number::U64(_) | Number::I64(_) => true,
            Number::F64(value) => value.fract() == 0.0,
        }
    }

    /// The value as a wide integer, if it is one and small enough to be told from all its neighbours' images: two
    /// numbers are equal exactly if these are, or, for want of them, their doubles.
    fn wide(self) -> Option<i128> {
        // 2^64 and all that could equal a 64-bit integer are far inside.
        const WIDE: f64 = 1e30;
        match self {
            Number::U64(value) => Some(value.into()),
            Number::I64(value) => Some(value.into()),
            Number::F64(value) => (value.fract() == 0.0 && value.abs() < WIDE).then_some(value as i128),
        }
    }

    /// A hash input that equal numbers share.
    pub(super) fn fingerprint(self) -> u128 {
        self.wide().map_or_else(|| self.as_f64().to_bits().into(), |value| value as u128)
    }

    /// Appends the number as JSON: integers exact, doubles in the shortest form that reads back as the same double.
    pub fn write_json(self, out: &mut Vec<u8>) {
        match self {
            Number::U64(value) => push_u64(out, value),
            Number::I64(value) => push_i64(out, value),
            Number::F64(value) => push_f64(out, value),
        }
    }
}

/// Mathematical equality, as JSON Schema has it: `1` equals `1.0`, and no rounding makes neighbours equal.
impl PartialEq for Number {
    fn eq(&self, other: &Number) -> bool {
        match (self.wide(), other.wide()) {
            (Some(a), Some(b)) => a == b,
            (None, None) => self.as_f64() == other.as_f64(),
            _ => false,
        }
    }
}

fn exact_integer(value: f64) -> Option<i64> {
    (value.fract() == 0.0 && value.abs() <= EXACT_DOUBLES).then_some(value as i64)
}

/// How a number is written.
enum Written {
    Integer,
    Real,
}

impl Written {
    /// Checks the grammar: `[ "-" ] int [ frac ] [ exp ]`.
    fn of(text: &[u8]) -> Option<Written> {
        let rest = text.strip_prefix(b"-").unwrap_or(text);
        let rest = match rest.strip_prefix(b"0") {
            Some(rest) => rest,
            None => digits(rest)?,
        };
        if rest.is_empty() {
            return Some(Written::Integer);
        }
        let rest = match rest.strip_prefix(b".") {
            Some(fraction) => digits(fraction)?,
            None => rest,
        };
        let rest = match rest {
            [b'e' | b'E', b'+' | b'-', exponent @ ..] | [b'e' | b'E', exponent @ ..] => digits(exponent)?,
            _ => rest,
        };
        rest.is_empty().then_some(Written::Real)
    }
}

/// What follows one or more digits.
fn digits(text: &[u8]) -> Option<&[u8]> {
    let end = text.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    (end > 0).then(|| text.get(end..)).flatten()
}

/// Appends the decimal digits of `value`.
pub(super) fn push_u64(out: &mut Vec<u8>, mut value: u64) {
    // u64::MAX has 20 digits.
    let mut buffer = [b'0'; 20];
    let mut written = 0;
    for slot in buffer.iter_mut().rev() {
        *slot = b'0' + (value % 10) as u8;
        value /= 10;
        written += 1;
        if value == 0 {
            break;
        }
    }
    out.extend(buffer.iter().skip(20 - written));
}

pub(super) fn push_i64(out: &mut Vec<u8>, value: i64) {
    if value < 0 {
        out.push(b'-');
    }
    push_u64(out, value.unsigned_abs());
}

/// Appends a double; what JSON cannot say (infinities, not-a-number) becomes `null`.
pub(super) fn push_f64(out: &mut Vec<u8>, value: f64) {
    if !value.is_finite() {
        out.extend_from_slice(b"null");
        return;
    }
    // The debug form is the shortest that round-trips, always with a point or an exponent. A Vec takes every write.
    let _ = write!(out, "{value:?}");
}
