//! Query strings (draft: Query Strings; D8, D21).

use super::WireDetail;
use super::class::QUERY;
use super::percent::{self, TextFault};
use memchr::memchr;

/// Checks what the wire demands of a query: its characters, its escapes, and that keys and values are UTF-8.
#[inline]
pub fn check_query(query: &[u8]) -> Result<(), WireDetail> {
    percent::check_text(query, QUERY).map_err(|fault| match fault {
        TextFault::Character => WireDetail::QueryCharacter,
        TextFault::Escape => WireDetail::QueryEscape,
        TextFault::NotUtf8 => WireDetail::QueryUtf8,
    })
}

/// One `key=value` of a query, as it stands on the wire. `?flag` has the empty value (D21).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawPair<'b> {
    /// Before the first `=`.
    pub key: &'b [u8],
    /// Behind the first `=`.
    pub value: &'b [u8],
}

/// The pairs of a query in order. Nothing between two `&` is no pair. Of equal keys (once decoded) the last one counts
/// (draft: Query Strings), which is for the reader of the pairs to see to.
pub fn pairs(query: &[u8]) -> impl Iterator<Item = RawPair<'_>> + Clone {
    query.split(|&byte| byte == b'&').filter(|pair| !pair.is_empty()).map(|pair| {
        let equals = memchr(b'=', pair).unwrap_or(pair.len());
        RawPair {
            key: pair.get(..equals).unwrap_or_default(),
            value: pair.get(equals + 1..).unwrap_or_default(),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_split_at_ampersands_and_at_the_first_equals() {
        let cases: &[(&str, &[(&str, &str)])] = &[
            ("", &[]),
            ("&&", &[]),
            ("flag", &[("flag", "")]),
            ("a=", &[("a", "")]),
            ("=b", &[("", "b")]),
            ("a=b=c&&d", &[("a", "b=c"), ("d", "")]),
            ("a=1&a=2", &[("a", "1"), ("a", "2")]),
            ("a%26b=%3D", &[("a%26b", "%3D")]),
        ];
        for (query, expected) in cases {
            let found = pairs(query.as_bytes()).map(|pair| (pair.key, pair.value));
            assert!(
                found.eq(expected.iter().map(|(key, value)| (key.as_bytes(), value.as_bytes()))),
                "{query:?}"
            );
        }
    }

    #[test]
    fn every_byte_is_legal_or_a_fault() {
        for byte in 0..=255u8 {
            let legal = byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@/?".contains(&byte);
            let expected = match byte {
                b'%' => Err(WireDetail::QueryEscape),
                _ if legal => Ok(()),
                _ => Err(WireDetail::QueryCharacter),
            };
            assert_eq!(check_query(&[b'a', byte, b'b']), expected, "{byte:#x}");
            assert_eq!(check_query(&[b'%', b'4', b'1', byte, b'b']), expected, "{byte:#x} behind an escape");
        }
    }
}
