//! Byte classes (facts page 1), each one bit of a shared table.

/// A byte of a header name (RFC 9110, `tchar`).
pub(super) const NAME: u8 = 1 << 0;
/// A byte of a header value: printable ASCII, space or tab (D14).
pub(super) const VALUE: u8 = 1 << 1;
/// A byte of a method token: printable ASCII without `#`. Which methods exist is the catalog's question.
pub(super) const METHOD: u8 = 1 << 2;
/// A byte of a path: `segment-char`, `%` and `/`.
pub(super) const PATH: u8 = 1 << 3;
/// A byte of a query: that of a path and `?`.
pub(super) const QUERY: u8 = 1 << 4;
/// Every byte but `%`: what can be read without decoding.
pub(super) const LITERAL: u8 = 1 << 5;

const UNRESERVED: &[u8] = b"-._~";
const SUB_DELIMS: &[u8] = b"!$&'()*+,;=";
const NAME_MARKS: &[u8] = b"!#$%&'*+-.^_`|~";

static CLASSES: [u8; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = classes_of(byte as u8);
        byte += 1;
    }
    table
};

const fn contains(set: &[u8], byte: u8) -> bool {
    let mut at = 0;
    while at < set.len() {
        if set[at] == byte {
            return true;
        }
        at += 1;
    }
    false
}

const fn classes_of(byte: u8) -> u8 {
    let letter_or_digit = byte.is_ascii_alphanumeric();
    let visible = byte > b' ' && byte < 0x7f;
    let path = letter_or_digit
        || contains(UNRESERVED, byte)
        || contains(SUB_DELIMS, byte)
        || contains(b":@%/", byte);
    let mut classes = 0;
    if letter_or_digit || contains(NAME_MARKS, byte) {
        classes |= NAME;
    }
    if visible || byte == b' ' || byte == b'\t' {
        classes |= VALUE;
    }
    if visible && byte != b'#' {
        classes |= METHOD;
    }
    if path {
        classes |= PATH;
    }
    if path || byte == b'?' {
        classes |= QUERY;
    }
    if byte != b'%' {
        classes |= LITERAL;
    }
    classes
}

/// Whether a byte belongs to all of `classes`.
#[inline]
pub(super) fn is(byte: u8, classes: u8) -> bool {
    CLASSES[byte as usize] & classes == classes
}

/// The classes that all bytes share.
#[inline]
pub(super) fn common(bytes: &[u8]) -> u8 {
    bytes.iter().fold(u8::MAX, |common, &byte| common & CLASSES[byte as usize])
}

/// Whether all bytes belong to all of `classes`.
#[inline]
pub(super) fn all(bytes: &[u8], classes: u8) -> bool {
    common(bytes) & classes == classes
}

/// Whether text can stand in a header value: printable ASCII, space and tab (D14).
pub fn is_header_value(text: &str) -> bool {
    all(text.as_bytes(), VALUE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn naive(byte: u8, class: u8) -> bool {
        let text = char::from(byte);
        let segment = text.is_ascii_alphanumeric() || "-._~!$&'()*+,;=:@%".contains(text);
        match class {
            NAME => text.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(text),
            VALUE => byte == 9 || (32..127).contains(&byte),
            METHOD => (33..127).contains(&byte) && byte != 35,
            PATH => segment || text == '/',
            QUERY => segment || text == '/' || text == '?',
            _ => text != '%',
        }
    }

    #[test]
    fn all_256_bytes_have_the_classes_of_the_grammar() {
        for byte in 0..=255u8 {
            for class in [NAME, VALUE, METHOD, PATH, QUERY, LITERAL] {
                assert_eq!(is(byte, class), naive(byte, class), "byte {byte:#x}, class {class:#b}");
            }
        }
    }
}
