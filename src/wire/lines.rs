//! Finding the ends of lines in a buffer that grows.

use super::{Span, scan};
use memchr::memchr;

/// A cursor over the lines of a growing buffer. It remembers how far it has looked, so that a head that arrives byte by
/// byte is searched once, not once per byte.
///
/// invariant: `start <= searched <= bytes seen`, and `start..searched` holds no LF.
#[derive(Clone, Debug)]
pub(super) struct Lines {
    start: usize,
    searched: usize,
}

/// A whole line.
#[derive(Clone, Copy)]
pub(super) struct Line {
    /// Its bytes, without CRLF (or LF).
    pub(super) span: Span,
    /// Whether it ends with CRLF rather than a bare LF (D10).
    pub(super) has_crlf: bool,
    /// Whether all of it is known to be printable ASCII or space. A line that came in pieces, or holds a tab, is not
    /// known to be.
    pub(super) is_printable: bool,
}

/// No line end within the limit.
pub(super) struct TooLong;

impl Lines {
    pub(super) const fn new() -> Lines {
        Lines { start: 0, searched: 0 }
    }

    /// Offset of the line that comes next.
    pub(super) const fn start(&self) -> usize {
        self.start
    }

    /// Bytes looked at.
    pub(super) const fn searched(&self) -> usize {
        self.searched
    }

    /// The next line, or `None` while it is incomplete. Whether a line is too long is decided by where it stands alone,
    /// never by how much of it happened to arrive at once: its LF must lie before `end`.
    ///
    /// Inlined whatever the compiler thinks of it: a call for each header costs a tenth of a head.
    #[inline(always)]
    pub(super) fn next(&mut self, buf: &[u8], end: usize) -> Result<Option<Line>, TooLong> {
        let seen = buf.len().min(end);
        let unsearched = buf.get(self.searched..seen).unwrap_or_default();
        let printable_len = scan::printable_len(unsearched);
        let odd = unsearched.get(printable_len..).unwrap_or_default();
        if let [b'\r', b'\n', ..] = odd {
            let is_printable = self.searched == self.start;
            let span = Span::new(self.start, self.searched + printable_len);
            self.start = self.searched + printable_len + 2;
            self.searched = self.start;
            return Ok(Some(Line { span, has_crlf: true, is_printable }));
        }
        self.next_odd(buf, seen, seen == end)
    }

    /// As [`Lines::next`], for a line that is incomplete, or holds something that is not printable.
    #[cold]
    #[inline(never)]
    fn next_odd(&mut self, buf: &[u8], seen: usize, is_last: bool) -> Result<Option<Line>, TooLong> {
        let unsearched = buf.get(self.searched..seen).unwrap_or_default();
        let Some(lf) = memchr(b'\n', unsearched).map(|at| self.searched + at) else {
            self.searched = self.searched.max(seen);
            return if is_last { Err(TooLong) } else { Ok(None) };
        };
        let with_cr = Span::new(self.start, lf);
        let has_crlf = with_cr.of(buf).last() == Some(&b'\r');
        let span = Span::new(self.start, lf - usize::from(has_crlf));
        self.start = lf + 1;
        self.searched = self.start;
        Ok(Some(Line { span, has_crlf, is_printable: false }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_byte_is_searched_twice() {
        let buf = b"ab\r\ncd\te\nf\r\r\n\n";
        let mut lines = Lines::new();
        let mut found = Vec::new();
        for end in 0..=buf.len() {
            while let Ok(Some(line)) = lines.next(&buf[..end], usize::MAX) {
                found.push((line.span.of(buf), line.has_crlf));
            }
            assert_eq!(lines.searched(), end);
        }
        let expected: [(&[u8], bool); 4] = [(b"ab", true), (b"cd\te", false), (b"f\r", true), (b"", false)];
        assert_eq!(found, expected);
    }

    #[test]
    fn only_a_line_that_came_whole_is_known_to_be_printable() {
        let next =
            |lines: &mut Lines, buf: &[u8]| lines.next(buf, 99).ok().flatten().map(|line| line.is_printable);
        assert_eq!(next(&mut Lines::new(), b"ab ~\r\n"), Some(true));
        assert_eq!(next(&mut Lines::new(), b"a\tb\r\n"), Some(false));
        assert_eq!(next(&mut Lines::new(), b"a\x80\r\n"), Some(false));
        let mut lines = Lines::new();
        assert_eq!(next(&mut lines, b"\x01a"), None);
        assert_eq!(next(&mut lines, b"\x01abc\r\n"), Some(false));
    }
}
