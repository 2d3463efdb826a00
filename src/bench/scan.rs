//! Answers in a stream of bytes: where one ends, and its status. Nothing else is looked at.
//!
//! A line's end is found with memchr and its first byte says whether it can be the length, so that an answer costs far
//! less to read than it did to make. What frames answers is checked strictly: behind a length that was misread
//! everything would be.

use crate::wire::content_length;
use memchr::memchr;
use std::fmt;

/// What answers begin with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protocol {
    /// `AGTP/1.0`; without a length there is no body.
    #[default]
    Agtp,
    /// `HTTP/1.1`, for comparisons with servers of that kind; without a length only where there can be no body.
    Http,
}

impl Protocol {
    const fn prefix(self) -> &'static [u8] {
        match self {
            Protocol::Agtp => b"AGTP/1.0 ",
            Protocol::Http => b"HTTP/1.1 ",
        }
    }

    /// The length of a body that none is given for.
    const fn unstated_length(self, status: u16) -> Result<u64, &'static str> {
        match (self, status) {
            (Protocol::Agtp, _) | (Protocol::Http, 204 | 304) => Ok(0),
            (Protocol::Http, _) => Err("the answer has no Content-Length"),
        }
    }
}

/// Bytes of a head that are waited for.
const HEAD_BYTES: usize = 64 * 1024;

/// Bytes of an unreadable answer that are shown.
const SHOWN_BYTES: usize = 80;

/// An answer that cannot be read. Displays as one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScanFault {
    why: &'static str,
    received: String,
}

impl ScanFault {
    fn new(why: &'static str, bytes: &[u8]) -> ScanFault {
        let shown = bytes.get(..SHOWN_BYTES).unwrap_or(bytes);
        ScanFault { why, received: shown.escape_ascii().to_string() }
    }

    /// Something came and nothing was asked.
    pub(super) fn unasked(bytes: &[u8]) -> ScanFault {
        ScanFault::new("the server answers what it was not asked", bytes)
    }
}

impl fmt::Display for ScanFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; received \"{}\"", self.why, self.received)
    }
}

/// Reads one connection's answers, however they are cut.
#[derive(Debug)]
pub(super) struct Scanner {
    protocol: Protocol,
    /// The head that has not arrived whole.
    carry: Vec<u8>,
    /// Of the answer whose body is under way.
    status: Option<u16>,
    body_left: u64,
}

/// A whole head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Head {
    len: usize,
    status: u16,
    body_len: u64,
}

impl Scanner {
    pub(super) fn new(protocol: Protocol) -> Scanner {
        Scanner { protocol, carry: Vec::new(), status: None, body_left: 0 }
    }

    /// Makes it ready for another connection.
    pub(super) fn reset(&mut self) {
        self.carry.clear();
        self.status = None;
        self.body_left = 0;
    }

    /// Whether an answer has begun and not ended.
    pub(super) fn is_within(&self) -> bool {
        self.status.is_some() || !self.carry.is_empty()
    }

    /// Takes what was received next; `answered` is told the status of each answer that is whole with it.
    ///
    /// # Errors
    /// When it is no answer. Nothing behind it can be trusted.
    pub(super) fn feed(&mut self, bytes: &[u8], answered: &mut impl FnMut(u16)) -> Result<(), ScanFault> {
        if self.carry.is_empty() {
            let used = self.scan(bytes, answered)?;
            self.carry.extend_from_slice(bytes.get(used..).unwrap_or_default());
            return Ok(());
        }
        let mut carry = std::mem::take(&mut self.carry);
        carry.extend_from_slice(bytes);
        let used = self.scan(&carry, answered)?;
        carry.drain(..used);
        self.carry = carry;
        Ok(())
    }

    /// The bytes that were understood; the rest is the beginning of a head.
    fn scan(&mut self, bytes: &[u8], answered: &mut impl FnMut(u16)) -> Result<usize, ScanFault> {
        let mut rest = bytes;
        loop {
            let skipped = usize::try_from(self.body_left).unwrap_or(usize::MAX).min(rest.len());
            rest = rest.get(skipped..).unwrap_or_default();
            self.body_left -= skipped as u64;
            if self.body_left > 0 {
                return Ok(bytes.len());
            }
            if let Some(status) = self.status.take() {
                answered(status);
            }
            let head = head(rest, self.protocol).map_err(|why| ScanFault::new(why, rest))?;
            let Some(head) = head else { return Ok(bytes.len() - rest.len()) };
            rest = rest.get(head.len..).unwrap_or_default();
            self.status = Some(head.status);
            self.body_left = head.body_len;
        }
    }
}

/// The head in front, if it is whole.
fn head(bytes: &[u8], protocol: Protocol) -> Result<Option<Head>, &'static str> {
    let prefix = protocol.prefix();
    if !prefix.starts_with(bytes.get(..prefix.len()).unwrap_or(bytes)) {
        return Err(match protocol {
            Protocol::Agtp => "the server does not answer with `AGTP/1.0`",
            Protocol::Http => "the server does not answer with `HTTP/1.1`",
        });
    }
    let mut lines = Lines { bytes, at: 0 };
    let Some(line) = lines.next()? else { return Ok(None) };
    let status = status(line.get(prefix.len()..).unwrap_or_default())?;
    let mut length = None;
    while let Some(line) = lines.next()? {
        match line.first().map(u8::to_ascii_lowercase) {
            None => {
                let body_len = length.map_or_else(|| protocol.unstated_length(status), Ok)?;
                return Ok(Some(Head { len: lines.at, status, body_len }));
            }
            Some(b'c') => note_length(line, &mut length)?,
            Some(b't') if value_of(line, b"transfer-encoding").is_some() => {
                return Err("the answer has a Transfer-Encoding; only Content-Length is understood");
            }
            Some(_) => {}
        }
    }
    Ok(None)
}

/// The digits behind the protocol's name.
fn status(line: &[u8]) -> Result<u16, &'static str> {
    let [hundreds @ b'1'..=b'9', tens @ b'0'..=b'9', ones @ b'0'..=b'9', b' ', ..] = line else {
        return Err("the status line has no status of three digits");
    };
    Ok([hundreds, tens, ones].iter().fold(0, |code, digit| code * 10 + u16::from(**digit - b'0')))
}

fn note_length(line: &[u8], length: &mut Option<u64>) -> Result<(), &'static str> {
    let Some(value) = value_of(line, b"content-length") else { return Ok(()) };
    if length.is_some() {
        return Err("the answer has two Content-Lengths");
    }
    let value = content_length(value.trim_ascii());
    *length = Some(value.map_err(|_| "the Content-Length is no number of up to ten digits")?);
    Ok(())
}

/// The value of a header line of that name, given in lower case.
fn value_of<'b>(line: &'b [u8], name: &[u8]) -> Option<&'b [u8]> {
    let (found, rest) = line.split_at_checked(name.len())?;
    rest.strip_prefix(b":").filter(|_| found.eq_ignore_ascii_case(name))
}

struct Lines<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl<'b> Lines<'b> {
    /// The next whole line without its CRLF.
    fn next(&mut self) -> Result<Option<&'b [u8]>, &'static str> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let Some(end) = memchr(b'\n', rest).filter(|end| self.at + end < HEAD_BYTES) else {
            let is_short = self.bytes.len() < HEAD_BYTES;
            return if is_short { Ok(None) } else { Err("the head of the answer has no end") };
        };
        self.at += end + 1;
        let line = rest.get(..end).unwrap_or_default();
        line.strip_suffix(b"\r").map(Some).ok_or("a line of the answer's head ends with a bare LF")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const BOOKED: &[u8] =
        b"AGTP/1.0 200 OK\r\nServer-ID: s\r\ncontent-LENGTH:  2 \r\nContent-Type: a\r\n\r\n{}";
    const EMPTY: &[u8] = b"AGTP/1.0 204 No Content\r\nTask-ID: t\r\n\r\n";
    const LEAK: &[u8] =
        b"AGTP/1.0 460 Endpoint Violation\r\nContent-Length: 26\r\n\r\nAGTP/1.0 200 OK\r\n\r\n{\"a\":1}";

    fn scanned(pieces: &[&[u8]], protocol: Protocol) -> Result<Vec<u16>, ScanFault> {
        let mut scanner = Scanner::new(protocol);
        let mut statuses = Vec::new();
        for piece in pieces {
            scanner.feed(piece, &mut |status| statuses.push(status))?;
        }
        Ok(statuses)
    }

    #[test]
    fn answers_cut_at_every_byte_are_the_same_answers() {
        let stream = [BOOKED, EMPTY, LEAK, BOOKED].concat();
        let expected = [200, 204, 460, 200];
        for first in 0..=stream.len() {
            for second in [first, first + 1, first + 17, stream.len()] {
                let second = second.clamp(first, stream.len());
                let pieces = [&stream[..first], &stream[first..second], &stream[second..]];
                assert_eq!(scanned(&pieces, Protocol::Agtp).unwrap(), expected, "{first} {second}");
            }
        }
        let bytes: Vec<&[u8]> = stream.chunks(1).collect();
        assert_eq!(scanned(&bytes, Protocol::Agtp).unwrap(), expected);
    }

    #[test]
    fn an_answer_counts_with_its_last_byte() {
        let mut scanner = Scanner::new(Protocol::Agtp);
        let mut count = 0;
        for (at, byte) in LEAK.iter().enumerate() {
            scanner.feed(&[*byte], &mut |_| count += 1).unwrap();
            assert_eq!(count, usize::from(at + 1 == LEAK.len()), "{at}");
            assert_eq!(scanner.is_within(), at + 1 < LEAK.len());
        }
    }

    #[test]
    fn every_status_is_read() {
        for status in 100..=999 {
            let answer = format!("AGTP/1.0 {status} \r\n\r\n");
            assert_eq!(scanned(&[answer.as_bytes()], Protocol::Agtp).unwrap(), [status]);
        }
    }

    #[test]
    fn a_huge_body_is_skipped_without_being_kept() {
        let mut scanner = Scanner::new(Protocol::Agtp);
        let (mut count, piece) = (0, vec![b'\n'; 1 << 20]);
        scanner.feed(b"AGTP/1.0 200 OK\r\nContent-Length: 8589934592\r\n\r\n", &mut |_| ()).unwrap();
        for _ in 0..8192 {
            assert_eq!(count, 0);
            scanner.feed(&piece, &mut |_| count += 1).unwrap();
        }
        assert_eq!((count, scanner.carry.capacity()), (1, 0));
    }

    #[test]
    fn what_is_no_answer_is_shown() {
        let fault = scanned(&[b"SSH-2.0-OpenSSH_9.6\r\n"], Protocol::Agtp).unwrap_err();
        assert_eq!(
            fault.to_string(),
            "the server does not answer with `AGTP/1.0`; received \"SSH-2.0-OpenSSH_9.6\\r\\n\""
        );
        for (bytes, why) in [
            (&b"HTTP/1.1 200 OK\r\n"[..], "does not answer with"),
            (b"\x15\x03\x03\x00\x02", "received \"\\x15\\x03"),
            (b"AGTP/1.0 20 OK\r\n", "three digits"),
            (b"AGTP/1.0 2000 OK\r\n", "three digits"),
            (b"AGTP/1.0 200 OK\n\r\n", "bare LF"),
            (b"AGTP/1.0 200 OK\r\nA: b\n", "bare LF"),
            (b"AGTP/1.0 200 OK\r\nContent-Length: +2\r\n", "no number"),
            (b"AGTP/1.0 200 OK\r\nContent-Length: \r\n", "no number"),
            (b"AGTP/1.0 200 OK\r\nContent-Length: 18446744073709551616\r\n", "no number"),
            (b"AGTP/1.0 200 OK\r\nContent-Length: 2\r\ncontent-length: 2\r\n", "two"),
            (b"AGTP/1.0 200 OK\r\nTransfer-encoding: chunked\r\n", "Transfer-Encoding"),
        ] {
            let fault = scanned(&[bytes], Protocol::Agtp).unwrap_err().to_string();
            assert!(fault.contains(why), "{fault}");
            let by_byte: Vec<&[u8]> = bytes.chunks(1).collect();
            assert!(scanned(&by_byte, Protocol::Agtp).is_err(), "{fault}");
            assert!(scanned(&[BOOKED, bytes], Protocol::Agtp).unwrap_err().to_string().contains(why));
        }
    }

    #[test]
    fn a_head_without_end_is_given_up() {
        let endless = [b"AGTP/1.0 200 OK\r\n".as_slice(), &vec![b'a'; HEAD_BYTES]].concat();
        assert!(scanned(&[&endless], Protocol::Agtp).unwrap_err().to_string().contains("no end"));
        let by_part: Vec<&[u8]> = endless.chunks(1000).collect();
        assert!(scanned(&by_part, Protocol::Agtp).is_err());
    }

    #[test]
    fn http_needs_a_length() {
        let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}HTTP/1.1 204 No Content\r\n\r\n";
        assert_eq!(scanned(&[answer], Protocol::Http).unwrap(), [200, 204]);
        assert!(scanned(&[b"HTTP/1.1 200 OK\r\n\r\n"], Protocol::Http).is_err());
    }

    proptest! {
        #[test]
        fn any_stream_of_answers_in_any_pieces(
            answers in prop::collection::vec((100u16..1000, prop::collection::vec(any::<u8>(), 0..40)), 0..8),
            sizes in prop::collection::vec(1usize..50, 1..20),
        ) {
            let mut stream = Vec::new();
            for (status, body) in &answers {
                stream.extend_from_slice(format!("AGTP/1.0 {status} X\r\nContent-Length: {}\r\n\r\n", body.len()).as_bytes());
                stream.extend_from_slice(body);
            }
            let (mut scanner, mut found, mut rest) = (Scanner::new(Protocol::Agtp), Vec::new(), stream.as_slice());
            for size in sizes.iter().cycle() {
                let (piece, tail) = rest.split_at(rest.len().min(*size));
                scanner.feed(piece, &mut |status| found.push(status)).unwrap();
                rest = tail;
                if rest.is_empty() {
                    break;
                }
            }
            let expected: Vec<u16> = answers.iter().map(|(status, _)| *status).collect();
            prop_assert_eq!(found, expected);
        }

        #[test]
        fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = scanned(&[&bytes], Protocol::Agtp);
            let _ = scanned(&[b"AGTP/1.0 200 OK\r\n", &bytes], Protocol::Agtp);
        }
    }
}
