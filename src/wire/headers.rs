//! Header lines: one line taken apart and checked, and checked lines read again.

use super::class::{self, NAME, VALUE};
use super::{Span, WireDetail, scan};
use memchr::memchr;

/// A header line taken apart, not yet checked: `name ":" OWS value OWS`.
pub(super) struct HeaderLine<'b> {
    pub(super) name: &'b [u8],
    pub(super) value: &'b [u8],
    pub(super) value_span: Span,
}

impl<'b> HeaderLine<'b> {
    /// Splits a line (without CRLF) at its first colon.
    #[inline]
    pub(super) fn split(line: Span, buf: &'b [u8]) -> Option<HeaderLine<'b>> {
        let bytes = line.of(buf);
        let (name, rest) = bytes.split_at_checked(scan::position(bytes, b':')?)?;
        let rest = rest.get(1..)?;
        let value = trim_start(rest);
        let start = line.end as usize - value.len();
        let value = trim_end(value);
        Some(HeaderLine { name, value, value_span: Span::new(start, start + value.len()) })
    }

    /// What is wrong with the name, if anything is.
    pub(super) fn name_fault(&self) -> Option<WireDetail> {
        if class::all(self.name, NAME) && !self.name.is_empty() {
            return None;
        }
        Some(match (self.name.first(), self.name.last()) {
            (None, _) => WireDetail::NameEmpty,
            (Some(b' ' | b'\t'), _) => WireDetail::HeaderFolded,
            (_, Some(b' ' | b'\t')) => WireDetail::NameSpace,
            _ => WireDetail::NameCharacter,
        })
    }

    /// What is wrong with the value, if anything is: its first illegal byte decides.
    #[inline]
    pub(super) fn value_fault(&self) -> Option<WireDetail> {
        let printable = scan::printable_len(self.value);
        self.value.get(printable..).and_then(explain_value)
    }
}

/// What is wrong with a line that has no colon.
pub(super) fn no_colon(line: &[u8]) -> WireDetail {
    match line.first() {
        Some(b' ' | b'\t') => WireDetail::HeaderFolded,
        _ => WireDetail::HeaderWithoutColon,
    }
}

/// The first illegal byte, if there is one: tabs are legal, though not printable.
fn explain_value(value: &[u8]) -> Option<WireDetail> {
    let illegal = value.iter().find(|byte| !class::is(**byte, VALUE))?;
    Some(match illegal {
        b'\r' => WireDetail::ValueBareCr,
        0x80.. => WireDetail::ValueNotAscii,
        _ => WireDetail::ValueControl,
    })
}

/// Without optional white space in front, which is space and tab alone (`trim_ascii` would take CR and form feed too).
/// One space is the usual case.
#[inline]
fn trim_start(bytes: &[u8]) -> &[u8] {
    if let [b' ', rest @ ..] = bytes
        && rest.first().is_some_and(|next| !is_blank(*next))
    {
        return rest;
    }
    let blanks = bytes.iter().take_while(|byte| is_blank(**byte)).count();
    bytes.get(blanks..).unwrap_or_default()
}

/// Without optional white space behind.
#[inline]
fn trim_end(bytes: &[u8]) -> &[u8] {
    let blanks = bytes.iter().rev().take_while(|byte| is_blank(**byte)).count();
    bytes.get(..bytes.len() - blanks).unwrap_or_default()
}

const fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

/// The headers of a checked head, as (name, value) in the order in which they came.
#[derive(Clone, Debug)]
pub struct Headers<'b> {
    lines: &'b [u8],
}

impl<'b> Headers<'b> {
    /// Lines with their CRLFs, without the empty line.
    pub(super) const fn new(lines: &'b [u8]) -> Headers<'b> {
        Headers { lines }
    }
}

impl<'b> Iterator for Headers<'b> {
    type Item = (&'b [u8], &'b [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let (line, rest) = self.lines.split_at_checked(memchr(b'\n', self.lines)? + 1)?;
        self.lines = rest;
        let line = Span::new(0, line.len().saturating_sub(2)).of(line);
        let header = HeaderLine::split(Span::new(0, line.len()), line)?;
        Some((header.name, header.value))
    }
}

/// The first value under `name`, whatever its case.
pub(super) fn find<'b>(mut headers: Headers<'b>, name: &[u8]) -> Option<&'b [u8]> {
    headers.find(|(other, _)| other.eq_ignore_ascii_case(name)).map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_trimmed_of_space_and_tab_and_of_nothing_else() {
        let headers = Headers::new(b"A: \t b c\t \r\nB:\r\nc:d:e\r\n");
        let expected: [(&[u8], &[u8]); 3] = [(b"A", b"b c"), (b"B", b""), (b"c", b"d:e")];
        assert!(headers.clone().eq(expected));
        assert_eq!(find(headers.clone(), b"C"), Some(&b"d:e"[..]));
        assert_eq!(find(headers, b"D"), None);
        let line = b"a: \x0cb\r";
        assert_eq!(HeaderLine::split(Span::new(0, line.len()), line).unwrap().value, b"\x0cb\r");
    }
}
