//! The request head parser: strict, in place, resumable.
//!
//! It works through whole lines in the order in which they stand, so that what it answers depends on the bytes of the
//! request alone, never on how the network cut them: the first line at fault decides, and a limit is broken by the place
//! where a line ends. Two things are not lines: the first bytes are compared as they come, since a peer that speaks
//! another protocol may never send a line end; and a body that is too long is reported when the head is complete.

use super::head::Head;
use super::headers::{HeaderLine, no_colon};
use super::lines::{Line, Lines, TooLong};
use super::request_line::{self, PREFIX};
use super::{Field, Limits, Span, WireDetail, WireFault};

/// What the bytes so far amount to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parsed {
    /// No whole head yet: call again with the same bytes and more behind them.
    NeedMore,
    /// The head is complete and sound: see [`HeadParser::head`].
    Done,
    /// The head breaks a rule; the connection must close after the answer (D17).
    Wrong(WireFault),
}

/// Parses the head of one request at the front of a buffer that grows.
///
/// Call [`advance`](Self::advance) each time bytes were added, always with the request's first byte first; the buffer
/// itself may move in between. After [`Parsed::Done`] or [`Parsed::Wrong`] it stays there until [`reset`](Self::reset).
#[derive(Clone, Debug)]
pub struct HeadParser {
    head: Head,
    lines: Lines,
    stage: Stage,
}

// One is part of every connection, idle ones too.
const _: () = assert!(size_of::<HeadParser>() <= 256);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    RequestLine,
    Headers,
    Done,
    Wrong(WireFault),
}

/// Size limits are cut to this, so that an offset always fits 32 bits.
const MAX_PART_BYTES: u32 = 1 << 30;
const _: () = assert!(2 * (MAX_PART_BYTES as u64 + CRLF as u64) < u32::MAX as u64, "an offset fits 32 bits");

/// Bytes of a line end.
const CRLF: usize = 2;

/// Most digits of a Content-Length (D14).
const LENGTH_DIGITS: usize = 10;

impl HeadParser {
    /// A parser before its first byte.
    pub const fn new() -> HeadParser {
        HeadParser { head: Head::new(), lines: Lines::new(), stage: Stage::RequestLine }
    }

    /// Makes it ready for another request.
    pub fn reset(&mut self) {
        self.head.clear();
        self.lines = Lines::new();
        self.stage = Stage::RequestLine;
    }

    /// The head: whole after [`Parsed::Done`]. After [`Parsed::Wrong`] it holds what stood before the line at fault, so
    /// that the answer can carry the echoes of the headers that were understood.
    pub const fn head(&self) -> &Head {
        &self.head
    }

    /// Whether no byte was looked at yet: at the end of a stream nothing is missing then (D18).
    pub fn is_idle(&self) -> bool {
        self.stage == Stage::RequestLine && self.lines.searched() == 0
    }

    /// Looks at the bytes that are new since the last call. The whole feed of a head costs time in its length, however
    /// it is cut.
    pub fn advance(&mut self, buf: &[u8], limits: &Limits) -> Parsed {
        match self.run(buf, limits) {
            Ok(parsed) => parsed,
            Err(fault) => {
                self.stage = Stage::Wrong(fault);
                Parsed::Wrong(fault)
            }
        }
    }

    fn run(&mut self, buf: &[u8], limits: &Limits) -> Result<Parsed, WireFault> {
        match self.stage {
            Stage::Done => return Ok(Parsed::Done),
            Stage::Wrong(fault) => return Err(fault),
            Stage::RequestLine => {
                if !self.request_line(buf, limits).map_err(WireFault::new)? {
                    return Ok(Parsed::NeedMore);
                }
            }
            Stage::Headers => {}
        }
        self.headers(buf, limits)
    }

    /// Whether the request line is complete.
    fn request_line(&mut self, buf: &[u8], limits: &Limits) -> Result<bool, WireDetail> {
        let end = part_bytes(limits.request_line_bytes) + CRLF;
        if self.lines.searched() < PREFIX.len() {
            let seen = buf.get(..buf.len().min(end)).unwrap_or_default();
            request_line::check_prefix(seen)?;
        }
        let Some(line) = self.lines.next(buf, end).map_err(|TooLong| WireDetail::LineTooLong)? else {
            return Ok(false);
        };
        if !line.has_crlf {
            return Err(WireDetail::LineBareLf);
        }
        request_line::parse(line.span, buf, &mut self.head)?;
        self.head.header_lines = Span::new(self.lines.start(), self.lines.start());
        self.stage = Stage::Headers;
        Ok(true)
    }

    fn headers(&mut self, buf: &[u8], limits: &Limits) -> Result<Parsed, WireFault> {
        let last_line_end = self.head.header_lines.start as usize + part_bytes(limits.header_bytes);
        let too_long = WireFault::new(WireDetail::HeadersTooLong);
        while let Some(line) = self.lines.next(buf, last_line_end + CRLF).map_err(|TooLong| too_long)? {
            if !line.has_crlf {
                return Err(self.header_fault(WireDetail::HeaderBareLf));
            }
            if line.span.is_empty() {
                return self.finish(limits);
            }
            if self.lines.start() > last_line_end {
                return Err(too_long);
            }
            if self.head.header_count >= limits.header_count {
                return Err(self.header_fault(WireDetail::HeadersTooMany));
            }
            self.header(line, buf).map_err(|detail| self.header_fault(detail))?;
            self.head.header_count += 1;
            self.head.header_lines.end = self.lines.start() as u32;
        }
        Ok(Parsed::NeedMore)
    }

    /// A fault of the header that comes after those that were accepted.
    #[cold]
    fn header_fault(&self, detail: WireDetail) -> WireFault {
        WireFault::of_header(detail, self.head.header_count + 1)
    }

    #[inline]
    fn header(&mut self, line: Line, buf: &[u8]) -> Result<(), WireDetail> {
        let header = HeaderLine::split(line.span, buf).ok_or_else(|| no_colon(line.span.of(buf)))?;
        let field = Field::from_name(header.name);
        match field {
            // A known name is a sound name.
            Some(field) => self.check_known(field, header.value)?,
            None => header.name_fault().map_or(Ok(()), Err)?,
        }
        if !line.is_printable {
            header.value_fault().map_or(Ok(()), Err)?;
        }
        if let Some(field) = field {
            self.head.fields.set(field, header.value_span);
        }
        Ok(())
    }

    /// All known fields are single-valued (D14), and two of them decide where the body ends.
    #[inline]
    fn check_known(&mut self, field: Field, value: &[u8]) -> Result<(), WireDetail> {
        let repeated = self.head.fields.has(field);
        match field {
            Field::TransferEncoding => Err(WireDetail::TransferEncoding),
            Field::ContentLength if repeated => Err(WireDetail::LengthRepeated),
            Field::ContentLength => {
                self.head.content_length = content_length(value)?;
                Ok(())
            }
            _ if repeated => Err(WireDetail::Repeated),
            _ => Ok(()),
        }
    }

    fn finish(&mut self, limits: &Limits) -> Result<Parsed, WireFault> {
        self.head.len = self.lines.start() as u32;
        if self.head.content_length > u64::from(limits.body_bytes) {
            return Err(WireFault::new(WireDetail::BodyTooLong));
        }
        self.stage = Stage::Done;
        Ok(Parsed::Done)
    }
}

impl Default for HeadParser {
    fn default() -> Self {
        Self::new()
    }
}

fn part_bytes(limit: u32) -> usize {
    limit.min(MAX_PART_BYTES) as usize
}

/// Reads 1 to 10 decimal digits (D14).
pub(crate) fn content_length(value: &[u8]) -> Result<u64, WireDetail> {
    if value.is_empty() {
        return Err(WireDetail::LengthEmpty);
    }
    if !value.iter().all(u8::is_ascii_digit) {
        return Err(WireDetail::LengthNotDigits);
    }
    if value.len() > LENGTH_DIGITS {
        return Err(WireDetail::LengthTooLong);
    }
    Ok(value.iter().fold(0, |length, digit| length * 10 + u64::from(digit - b'0')))
}
