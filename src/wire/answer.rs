//! The head of a response, as a client reads it.

use super::headers::{HeaderLine, Headers, find, no_colon};
use super::lines::{Line, Lines, TooLong};
use super::parse::content_length;
use super::{Field, Span, WireDetail, class};

/// How large an answer a client is ready to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnswerLimits {
    /// Status line and headers, bytes. Stops a server that never ends its head.
    pub head_bytes: u32,
    /// Body, bytes. Bounds the memory of one call.
    pub body_bytes: u64,
}

impl AnswerLimits {
    /// Generous towards manifests of thousands of endpoints.
    pub const DEFAULT: AnswerLimits = AnswerLimits { head_bytes: 64 * 1024, body_bytes: 64 * 1024 * 1024 };
}

impl Default for AnswerLimits {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// The head of an answer. Spans count from the answer's first byte.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The three digits, whether or not this crate has a name for them.
    pub status: u16,
    /// The reason phrase; may be empty.
    pub reason: Span,
    /// All header lines, without the empty line behind them.
    pub header_lines: Span,
    /// Bytes of the head with the empty line: the body begins here.
    pub len: u32,
    /// Bytes of the body; `None` without Content-Length, which means no body.
    pub content_length: Option<u64>,
}

impl Answer {
    const fn new() -> Answer {
        Answer { status: 0, reason: Span::EMPTY, header_lines: Span::EMPTY, len: 0, content_length: None }
    }

    /// The headers as they came.
    pub fn headers<'b>(&self, buf: &'b [u8]) -> Headers<'b> {
        Headers::new(self.header_lines.of(buf))
    }

    /// The value of the first header of that name, whatever its case.
    pub fn header<'b>(&self, name: &[u8], buf: &'b [u8]) -> Option<&'b [u8]> {
        find(self.headers(buf), name)
    }

    /// Bytes of the whole answer: head and body.
    pub fn answer_len(&self) -> u64 {
        u64::from(self.len) + self.content_length.unwrap_or(0)
    }
}

/// Why an answer cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerFault {
    /// It is something else than AGTP/1.0.
    NotAgtp,
    /// The head is longer than [`AnswerLimits::head_bytes`].
    HeadTooLong,
    /// The body is longer than [`AnswerLimits::body_bytes`].
    BodyTooLong,
    /// The status line ends with a bare LF.
    StatusLineBareLf,
    /// There is no three-digit status from 100 up.
    StatusCode,
    /// The reason phrase holds something that is not printable ASCII.
    Reason,
    /// A header line breaks a rule.
    Header(WireDetail),
}

impl AnswerFault {
    /// What was wrong, and what would be right.
    pub const fn message(self) -> &'static str {
        match self {
            AnswerFault::NotAgtp => {
                "the answer does not begin with `AGTP/1.0` and one space; is it an AGTP server, and is TLS as it expects?"
            }
            AnswerFault::HeadTooLong => "the head of the answer is longer than the client accepts",
            AnswerFault::BodyTooLong => "the body of the answer is longer than the client accepts",
            AnswerFault::StatusLineBareLf => "the status line ends with a bare LF; expected CRLF",
            AnswerFault::StatusCode => "the status line has no status; expected `AGTP/1.0 200 OK`",
            AnswerFault::Reason => "the reason phrase contains a byte that is not printable ASCII",
            AnswerFault::Header(detail) => detail.message(),
        }
    }
}

impl std::fmt::Display for AnswerFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.message())
    }
}

impl std::error::Error for AnswerFault {}

/// What the bytes so far amount to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerParsed {
    /// No whole head yet: call again with the same bytes and more behind them.
    NeedMore,
    /// The head is complete: see [`AnswerParser::answer`]. The body may still be on its way.
    Done,
    /// It cannot be read; nothing behind it can be trusted.
    Wrong(AnswerFault),
}

/// Parses the head of one answer at the front of a buffer that grows. Used like [`super::HeadParser`].
#[derive(Clone, Debug)]
pub struct AnswerParser {
    answer: Answer,
    lines: Lines,
    stage: Stage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    StatusLine,
    Headers,
    Done,
    Wrong(AnswerFault),
}

/// How every answer begins.
const PREFIX: &[u8] = b"AGTP/1.0 ";

impl AnswerParser {
    /// A parser before its first byte.
    pub const fn new() -> AnswerParser {
        AnswerParser { answer: Answer::new(), lines: Lines::new(), stage: Stage::StatusLine }
    }

    /// Makes it ready for another answer.
    pub fn reset(&mut self) {
        *self = AnswerParser::new();
    }

    /// The head, whole after [`AnswerParsed::Done`].
    pub const fn answer(&self) -> &Answer {
        &self.answer
    }

    /// Looks at the bytes that are new since the last call; `buf` begins with the answer's first byte.
    pub fn advance(&mut self, buf: &[u8], limits: &AnswerLimits) -> AnswerParsed {
        match self.run(buf, limits) {
            Ok(true) => AnswerParsed::Done,
            Ok(false) => AnswerParsed::NeedMore,
            Err(fault) => {
                self.stage = Stage::Wrong(fault);
                AnswerParsed::Wrong(fault)
            }
        }
    }

    /// Whether the head is complete.
    fn run(&mut self, buf: &[u8], limits: &AnswerLimits) -> Result<bool, AnswerFault> {
        match self.stage {
            Stage::Done => return Ok(true),
            Stage::Wrong(fault) => return Err(fault),
            Stage::StatusLine => {
                let seen = buf.get(..buf.len().min(PREFIX.len())).unwrap_or_default();
                if !PREFIX.starts_with(seen) {
                    return Err(AnswerFault::NotAgtp);
                }
                let Some(line) = self.next_line(buf, limits)? else { return Ok(false) };
                self.status_line(line, buf)?;
            }
            Stage::Headers => {}
        }
        self.headers(buf, limits)
    }

    fn next_line(&mut self, buf: &[u8], limits: &AnswerLimits) -> Result<Option<Line>, AnswerFault> {
        self.lines.next(buf, limits.head_bytes as usize).map_err(|TooLong| AnswerFault::HeadTooLong)
    }

    fn status_line(&mut self, line: Line, buf: &[u8]) -> Result<(), AnswerFault> {
        if !line.has_crlf {
            return Err(AnswerFault::StatusLineBareLf);
        }
        let bytes = line.span.of(buf).get(PREFIX.len()..).ok_or(AnswerFault::NotAgtp)?;
        let [hundreds @ b'1'..=b'9', tens @ b'0'..=b'9', ones @ b'0'..=b'9', b' ', reason @ ..] = bytes
        else {
            return Err(AnswerFault::StatusCode);
        };
        if !class::all(reason, class::VALUE) {
            return Err(AnswerFault::Reason);
        }
        self.answer.status =
            [hundreds, tens, ones].iter().fold(0, |code, digit| code * 10 + u16::from(**digit - b'0'));
        self.answer.reason = Span { start: line.span.end - reason.len() as u32, end: line.span.end };
        self.answer.header_lines = Span::new(self.lines.start(), self.lines.start());
        self.stage = Stage::Headers;
        Ok(())
    }

    fn headers(&mut self, buf: &[u8], limits: &AnswerLimits) -> Result<bool, AnswerFault> {
        while let Some(line) = self.next_line(buf, limits)? {
            if !line.has_crlf {
                return Err(AnswerFault::Header(WireDetail::HeaderBareLf));
            }
            if line.span.is_empty() {
                return self.finish(limits);
            }
            self.header(line, buf).map_err(AnswerFault::Header)?;
            self.answer.header_lines.end = self.lines.start() as u32;
        }
        Ok(false)
    }

    fn header(&mut self, line: Line, buf: &[u8]) -> Result<(), WireDetail> {
        let header = HeaderLine::split(line.span, buf).ok_or_else(|| no_colon(line.span.of(buf)))?;
        header.name_fault().map_or(Ok(()), Err)?;
        match Field::from_name(header.name) {
            Some(Field::TransferEncoding) => Err(WireDetail::TransferEncoding),
            Some(Field::ContentLength) if self.answer.content_length.is_some() => {
                Err(WireDetail::LengthRepeated)
            }
            Some(Field::ContentLength) => {
                self.answer.content_length = Some(content_length(header.value)?);
                Ok(())
            }
            _ if line.is_printable => Ok(()),
            _ => header.value_fault().map_or(Ok(()), Err),
        }
    }

    fn finish(&mut self, limits: &AnswerLimits) -> Result<bool, AnswerFault> {
        self.answer.len = self.lines.start() as u32;
        if self.answer.content_length > Some(limits.body_bytes) {
            return Err(AnswerFault::BodyTooLong);
        }
        self.stage = Stage::Done;
        Ok(true)
    }
}

impl Default for AnswerParser {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOOKED: &[u8] = b"AGTP/1.0 200 OK\r\nServer-ID: s\r\nContent-Length: 2\r\n\r\n{}";

    fn whole(bytes: &[u8]) -> (AnswerParsed, Answer) {
        whole_within(bytes, &AnswerLimits::DEFAULT)
    }

    fn whole_within(bytes: &[u8], limits: &AnswerLimits) -> (AnswerParsed, Answer) {
        let mut parser = AnswerParser::new();
        let parsed = parser.advance(bytes, limits);
        (parsed, parser.answer().clone())
    }

    fn wrong(bytes: &[u8]) -> AnswerFault {
        let mut by_byte = AnswerParser::new();
        let last = (0..=bytes.len()).map(|end| by_byte.advance(&bytes[..end], &AnswerLimits::DEFAULT)).last();
        match whole(bytes).0 {
            AnswerParsed::Wrong(fault) => {
                assert_eq!(last, Some(AnswerParsed::Wrong(fault)));
                fault
            }
            other => panic!("{other:?} for {:?}", String::from_utf8_lossy(bytes)),
        }
    }

    #[test]
    fn reads_an_answer() {
        let (parsed, answer) = whole(BOOKED);
        assert_eq!(parsed, AnswerParsed::Done);
        assert_eq!((answer.status, answer.reason.of(BOOKED)), (200, &b"OK"[..]));
        assert_eq!(answer.content_length, Some(2));
        assert_eq!(answer.answer_len(), BOOKED.len() as u64);
        assert_eq!(answer.header(b"server-id", BOOKED), Some(&b"s"[..]));
        assert_eq!(answer.headers(BOOKED).count(), 2);
    }

    #[test]
    fn reads_answers_without_reason_headers_or_body() {
        let (parsed, answer) = whole(b"AGTP/1.0 204 \r\n\r\n");
        assert_eq!((parsed, answer.status, answer.answer_len()), (AnswerParsed::Done, 204, 17));
        assert!(answer.reason.is_empty());
        assert_eq!(answer.content_length, None);
    }

    #[test]
    fn cut_anywhere_it_reads_the_same() {
        let expected = whole(BOOKED);
        for cut in 0..BOOKED.len() {
            let mut parser = AnswerParser::new();
            if parser.advance(&BOOKED[..cut], &AnswerLimits::DEFAULT) == AnswerParsed::NeedMore {
                assert_eq!(parser.advance(BOOKED, &AnswerLimits::DEFAULT), AnswerParsed::Done);
            }
            assert_eq!(parser.answer(), &expected.1, "cut at {cut}");
        }
    }

    #[test]
    fn says_what_is_wrong() {
        use AnswerFault::*;
        let cases: &[(&[u8], AnswerFault)] = &[
            (b"HTTP/1.1 400 Bad Request\r\n\r\n", NotAgtp),
            (b"\x15\x03\x03", NotAgtp),
            (b"AGTP/1.0\r\n\r\n", NotAgtp),
            (b"AGTP/1.0 200 OK\n\r\n", StatusLineBareLf),
            (b"AGTP/1.0 20 OK\r\n\r\n", StatusCode),
            (b"AGTP/1.0 2000 OK\r\n\r\n", StatusCode),
            (b"AGTP/1.0 020 OK\r\n\r\n", StatusCode),
            (b"AGTP/1.0 200\r\n\r\n", StatusCode),
            (b"AGTP/1.0 200 O\x1bK\r\n\r\n", Reason),
            (b"AGTP/1.0 200 OK\r\nA: b\n\r\n", Header(WireDetail::HeaderBareLf)),
            (b"AGTP/1.0 200 OK\r\nA : b\r\n\r\n", Header(WireDetail::NameSpace)),
            (b"AGTP/1.0 200 OK\r\nA: \x1b\r\n\r\n", Header(WireDetail::ValueControl)),
            (b"AGTP/1.0 200 OK\r\nContent-Length: +2\r\n\r\n", Header(WireDetail::LengthNotDigits)),
            (
                b"AGTP/1.0 200 OK\r\nContent-Length: 2\r\ncontent-length: 2\r\n\r\n",
                Header(WireDetail::LengthRepeated),
            ),
            (b"AGTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", Header(WireDetail::TransferEncoding)),
            (b"AGTP/1.0 200 OK\r\nContent-Length: 9999999999\r\n\r\n", BodyTooLong),
        ];
        for (bytes, fault) in cases {
            assert_eq!(wrong(bytes), *fault, "{:?}", String::from_utf8_lossy(bytes));
            assert!(!fault.message().is_empty());
        }
    }

    #[test]
    fn limits_hold_to_the_byte() {
        let head = AnswerLimits { head_bytes: BOOKED.len() as u32 - 2, body_bytes: 2 };
        assert_eq!(whole_within(BOOKED, &head).0, AnswerParsed::Done);
        let short = AnswerLimits { head_bytes: head.head_bytes - 1, ..head };
        assert_eq!(whole_within(BOOKED, &short).0, AnswerParsed::Wrong(AnswerFault::HeadTooLong));
        let small = AnswerLimits { body_bytes: 1, ..head };
        assert_eq!(whole_within(BOOKED, &small).0, AnswerParsed::Wrong(AnswerFault::BodyTooLong));
    }
}
