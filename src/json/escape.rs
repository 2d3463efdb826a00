//! Strings as JSON: escaped where RFC 8259 requires it and nowhere else.

/// What follows the backslash for each byte that must be escaped; 0 for all others, `u` for `\u00XX`.
const ESCAPES: [u8; 256] = {
    let mut table = [0; 256];
    let mut control = 0;
    while control < 0x20 {
        table[control] = b'u';
        control += 1;
    }
    table[0x08] = b'b';
    table[0x09] = b't';
    table[0x0A] = b'n';
    table[0x0C] = b'f';
    table[0x0D] = b'r';
    table[b'"' as usize] = b'"';
    table[b'\\' as usize] = b'\\';
    table
};

/// Appends `text` as a JSON string, quotes included.
#[inline]
pub fn push_string(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    push_escaped(out, text.as_bytes());
    out.push(b'"');
}

/// Appends bytes as a JSON string, quotes included; what is not UTF-8 in them becomes U+FFFD. For bytes off the wire
/// that an error quotes.
pub fn push_bytes_lossy(out: &mut Vec<u8>, bytes: &[u8]) {
    out.push(b'"');
    for chunk in bytes.utf8_chunks() {
        push_escaped(out, chunk.valid().as_bytes());
        if !chunk.invalid().is_empty() {
            out.extend_from_slice("\u{FFFD}".as_bytes());
        }
    }
    out.push(b'"');
}

#[inline]
fn push_escaped(out: &mut Vec<u8>, text: &[u8]) {
    if needs_escaping(text) {
        push_escaped_slowly(out, text);
    } else {
        out.extend_from_slice(text);
    }
}

/// Eight bytes at a time: almost every string needs no escape, and then it is one copy.
#[inline]
fn needs_escaping(text: &[u8]) -> bool {
    let (words, rest) = text.as_chunks();
    words.iter().any(|word| word_needs_escaping(u64::from_le_bytes(*word)))
        || rest.iter().any(|byte| escape_of(*byte) != 0)
}

/// Whether one of the eight bytes is below 0x20, a quote or a backslash. The classic zero-byte test, three times:
/// `x - 0x01 & !x & 0x80` is set in the lowest byte that is zero, and in none if none is.
#[inline]
fn word_needs_escaping(word: u64) -> bool {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGHS: u64 = ONES << 7;
    let quote = word ^ (ONES * 0x22);
    let backslash = word ^ (ONES * 0x5C);
    let control = word.wrapping_sub(ONES * 0x20) & !word;
    let found = control | (quote.wrapping_sub(ONES) & !quote) | (backslash.wrapping_sub(ONES) & !backslash);
    found & HIGHS != 0
}

#[inline]
fn escape_of(byte: u8) -> u8 {
    ESCAPES[usize::from(byte)]
}

#[cold]
fn push_escaped_slowly(out: &mut Vec<u8>, text: &[u8]) {
    let mut rest = text;
    while let Some(at) = rest.iter().position(|byte| escape_of(*byte) != 0) {
        let (plain, special) = rest.split_at(at);
        out.extend_from_slice(plain);
        let Some((byte, after)) = special.split_first() else { break };
        push_escape(out, *byte);
        rest = after;
    }
    out.extend_from_slice(rest);
}

fn push_escape(out: &mut Vec<u8>, byte: u8) {
    const HEX: [u8; 16] = *b"0123456789abcdef";
    match escape_of(byte) {
        b'u' => {
            out.extend_from_slice(b"\\u00");
            out.push(HEX[usize::from(byte >> 4)]);
            out.push(HEX[usize::from(byte & 0xF)]);
        }
        short => out.extend_from_slice(&[b'\\', short]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The fast test against the table, every byte at every place of a string longer than two words.
    #[test]
    fn every_byte_at_every_place() {
        for byte in 0..=255_u8 {
            for place in 0..19 {
                let mut text = [b'a'; 19];
                text[place] = byte;
                assert_eq!(needs_escaping(&text), escape_of(byte) != 0, "{byte:#x} at {place}");
            }
        }
    }

    #[test]
    fn escapes_what_it_must() {
        let mut out = Vec::new();
        push_string(&mut out, "a\"b\\c/\u{8}\t\n\u{c}\r\u{1}\u{1f}\u{7f}é\u{2028}😀");
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "\"a\\\"b\\\\c/\\b\\t\\n\\f\\r\\u0001\\u001f\u{7f}é\u{2028}😀\""
        );
    }

    #[test]
    fn lossy_bytes() {
        let mut out = Vec::new();
        push_bytes_lossy(&mut out, b"ok\xff\"\xe2\x82end\xf0\x9f");
        assert_eq!(String::from_utf8(out).unwrap(), "\"ok\u{FFFD}\\\"\u{FFFD}end\u{FFFD}\"");
    }
}
