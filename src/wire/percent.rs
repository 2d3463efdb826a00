//! Percent-decoding (RFC 3986, section 2.1; D8).

use super::class::{self, LITERAL};

/// Why a text cannot be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecodeFault {
    /// A `%` that is not followed by two hexadecimal digits.
    BadEscape {
        /// Offset of the `%`.
        at: usize,
    },
    /// The decoded bytes are not UTF-8.
    NotUtf8,
    /// The output is shorter than [`decoded_len`].
    OutputTooShort,
}

/// Whether decoding would change anything: if not, the raw bytes are the value.
#[inline]
pub fn needs_decoding(raw: &[u8], plus_is_space: bool) -> bool {
    !class::all(raw, LITERAL) || (plus_is_space && raw.contains(&b'+'))
}

/// Length of the decoded form, if the escapes are sound. Never more than `raw.len()`.
pub fn decoded_len(raw: &[u8]) -> usize {
    raw.len().saturating_sub(2 * memchr::memchr_iter(b'%', raw).count())
}

/// Decodes into the front of `out` and gives the text. `plus_is_space` in a query, not in a path.
pub fn decode<'o>(raw: &[u8], out: &'o mut [u8], plus_is_space: bool) -> Result<&'o str, DecodeFault> {
    let len = decode_into(raw, out, plus_is_space)?;
    std::str::from_utf8(out.get(..len).unwrap_or_default()).map_err(|_| DecodeFault::NotUtf8)
}

/// Decodes into the front of `out` and gives the number of bytes, which may be any.
pub fn decode_into(raw: &[u8], out: &mut [u8], plus_is_space: bool) -> Result<usize, DecodeFault> {
    let (mut at, mut len) = (0, 0);
    while let Some(&byte) = raw.get(at) {
        let (decoded, width) = match byte {
            b'%' => (escape_at(raw, at).ok_or(DecodeFault::BadEscape { at })?, ESCAPE_BYTES),
            b'+' if plus_is_space => (b' ', 1),
            _ => (byte, 1),
        };
        *out.get_mut(len).ok_or(DecodeFault::OutputTooShort)? = decoded;
        (at, len) = (at + width, len + 1);
    }
    Ok(len)
}

const ESCAPE_BYTES: usize = 3;

/// The byte of an escape at the front of `raw`.
#[inline]
pub(super) fn escape(raw: &[u8]) -> Option<u8> {
    match raw {
        [b'%', high, low, ..] => Some(hex_digit(*high)? << 4 | hex_digit(*low)?),
        _ => None,
    }
}

fn hex_digit(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    }
}

/// What is wrong with an encoded text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TextFault {
    /// A byte that must be escaped.
    Character,
    /// A `%` that is not followed by two hexadecimal digits.
    Escape,
    /// The decoded bytes are not UTF-8.
    NotUtf8,
}

/// Checks a text of `class` (ASCII alone) without decoding it anywhere: yes or no first, explanation after.
#[inline]
pub(super) fn check_text(raw: &[u8], class: u8) -> Result<(), TextFault> {
    let common = class::common(raw);
    let is_sound = common & class != 0 && (common & LITERAL != 0 || spells_utf8(raw));
    if is_sound { Ok(()) } else { Err(explain(raw, class)) }
}

/// The first byte at fault decides; UTF-8 is asked for once all bytes are sound.
#[cold]
fn explain(raw: &[u8], class: u8) -> TextFault {
    let is_wrong =
        |at: usize, byte: u8| !class::is(byte, class) || (byte == b'%' && escape_at(raw, at).is_none());
    match raw.iter().enumerate().find(|&(at, &byte)| is_wrong(at, byte)) {
        Some((_, b'%')) => TextFault::Escape,
        Some(_) => TextFault::Character,
        None => TextFault::NotUtf8,
    }
}

/// Whether the escapes among ASCII are sound and spell UTF-8. A raw byte between two escapes ends a sequence, so a separator (`/`,
/// `&`, `=`) does too, and no character can straddle two segments, or a key and its value.
fn spells_utf8(raw: &[u8]) -> bool {
    let mut at = 0;
    while let Some(found) = memchr::memchr(b'%', raw.get(at..).unwrap_or_default()) {
        at += found;
        match character(raw, at) {
            Some(len) => at += len * ESCAPE_BYTES,
            None => return false,
        }
    }
    true
}

/// Number of the escapes at `at` that spell a character together.
fn character(raw: &[u8], at: usize) -> Option<usize> {
    let len = sequence_len(escape_at(raw, at)?);
    let mut bytes = [0; MAX_SEQUENCE];
    let spelled = bytes.get_mut(..len)?;
    for (place, byte) in spelled.iter_mut().enumerate() {
        *byte = escape_at(raw, at + place * ESCAPE_BYTES)?;
    }
    std::str::from_utf8(spelled).is_ok().then_some(len)
}

fn escape_at(raw: &[u8], at: usize) -> Option<u8> {
    escape(raw.get(at..).unwrap_or_default())
}

/// Bytes of the longest UTF-8 sequence.
const MAX_SEQUENCE: usize = 4;

/// Bytes of the UTF-8 sequence that begins with `lead`; 1 for a byte that begins none.
const fn sequence_len(lead: u8) -> usize {
    match lead {
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => MAX_SEQUENCE,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::class::{PATH, QUERY};
    use super::*;
    use proptest::prelude::*;

    fn decoded(raw: &[u8], plus_is_space: bool) -> Result<String, DecodeFault> {
        let mut out = vec![0; decoded_len(raw)];
        decode(raw, &mut out, plus_is_space).map(str::to_owned)
    }

    #[test]
    fn decodes() {
        assert_eq!(decoded(b"", false).as_deref(), Ok(""));
        assert_eq!(decoded(b"a+b%2B", false).as_deref(), Ok("a+b+"));
        assert_eq!(decoded(b"a+b%2b%20", true).as_deref(), Ok("a b+ "));
        assert_eq!(decoded(b"%E2%82%ac%00", true).as_deref(), Ok("\u{20ac}\0"));
        assert_eq!(decoded(b"%ff", false), Err(DecodeFault::NotUtf8));
        assert_eq!(decode(b"abc", &mut [0; 2], false), Err(DecodeFault::OutputTooShort));
        assert!(needs_decoding(b"a+", true) && !needs_decoding(b"a+", false) && needs_decoding(b"%", false));
    }

    #[test]
    fn bad_escapes_are_located() {
        for (raw, at) in
            [("%", 0), ("a%2", 1), ("%41%4g", 3), ("%%41", 0), ("%+1", 0), ("%-1", 0), ("% 1", 0)]
        {
            let mut out = [0; 8];
            assert_eq!(
                decode_into(raw.as_bytes(), &mut out, true),
                Err(DecodeFault::BadEscape { at }),
                "{raw:?}"
            );
        }
    }

    #[test]
    fn every_pair_of_bytes_is_an_escape_if_both_are_hexadecimal() {
        for high in 0..=255u8 {
            for low in 0..=255u8 {
                let digits = [high, low];
                let naive = std::str::from_utf8(&digits).ok().filter(|_| high != b'+');
                let naive = naive.and_then(|digits| u8::from_str_radix(digits, 16).ok());
                assert_eq!(escape(&[b'%', high, low]), naive, "{high:#x} {low:#x}");
            }
        }
    }

    #[test]
    fn every_two_escaped_bytes_are_utf8_if_std_says_so() {
        for pair in 0..=u16::MAX {
            let bytes = pair.to_be_bytes();
            let raw = format!("a%{:02x}%{:02X}", bytes[0], bytes[1]);
            let sound = std::str::from_utf8(&bytes).is_ok();
            assert_eq!(check_text(raw.as_bytes(), PATH).is_ok(), sound, "{raw}");
        }
    }

    proptest! {
        #[test]
        fn checked_texts_are_those_that_decode(raw in "(%[0-9a-fA-F]{2}|%[CcEe][23]%[89ab][0-9]|[a&=/%]){0,12}") {
            let decodes = decoded(raw.as_bytes(), false);
            prop_assert_eq!(check_text(raw.as_bytes(), QUERY).is_ok(), decodes.is_ok());
        }

        #[test]
        fn encoded_texts_come_back(text in "\\PC{0,20}") {
            let raw: String = text.bytes().map(|byte| format!("%{byte:02x}")).collect();
            prop_assert_eq!(check_text(raw.as_bytes(), PATH), Ok(()));
            prop_assert_eq!(decoded(raw.as_bytes(), true), Ok(text));
        }
    }
}
