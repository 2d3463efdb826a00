//! The request line: `AGTP/1.0 METHOD [TARGET]` (facts page 1, D1).

use super::class::{self, METHOD, QUERY};
use super::head::Head;
use super::query::check_query;
use super::{Span, WireDetail, percent, scan};

/// How every request begins.
pub(super) const PREFIX: &[u8] = b"AGTP/1.0 ";

/// Refuses a request as soon as one of its first bytes differs.
#[inline]
pub(super) fn check_prefix(seen: &[u8]) -> Result<(), WireDetail> {
    let common = seen.len().min(PREFIX.len());
    if seen.get(..common) == PREFIX.get(..common) { Ok(()) } else { Err(WireDetail::NotAgtp) }
}

/// Reads a line, without its CRLF, that begins with [`PREFIX`].
#[inline]
pub(super) fn parse(line: Span, buf: &[u8], head: &mut Head) -> Result<(), WireDetail> {
    let rest = Span { start: line.start + PREFIX.len() as u32, end: line.end };
    let bytes = rest.of(buf);
    let method_len = scan::position(bytes, b' ').unwrap_or(bytes.len());
    let (method, target) = bytes.split_at_checked(method_len).unwrap_or_default();
    if method.is_empty() || !class::all(method, METHOD) {
        return Err(explain(bytes));
    }
    head.method = Span { start: rest.start, end: rest.start + method_len as u32 };
    match target {
        // The reference client leaves `/` out (D1).
        [] => Ok(()),
        [_space] => Err(WireDetail::TargetMissing),
        [_space, target @ ..] => {
            head.has_target = true;
            head.target = Span { start: head.method.end + 1, end: rest.end };
            head.path = head.target;
            split_target(target, head).map_err(|fault| fault.unwrap_or_else(|| explain(bytes)))
        }
    }
}

/// Splits a target at its first `?`. What is wrong is either known, or left to [`explain`]. Bytes from 0x80 up are left
/// in the path, whose grammar is not a matter of the wire (D21): they make it a 460.
#[inline]
fn split_target(target: &[u8], head: &mut Head) -> Result<(), Option<WireDetail>> {
    let mut at = 0;
    while let Some(found) = scan::target_delimiter(target.get(at..).unwrap_or_default()) {
        at += found;
        match target.get(at) {
            Some(0x80..) => at += 1,
            Some(b'?') => {
                head.path.end = head.target.start + at as u32;
                head.query = Some(Span { start: head.path.end + 1, end: head.target.end });
                return split_query(target.get(at + 1..).unwrap_or_default());
            }
            _ => return Err(None),
        }
    }
    Ok(())
}

/// A byte that no query may hold may be one that no line may hold: that says more.
fn split_query(query: &[u8]) -> Result<(), Option<WireDetail>> {
    check_query(query).map_err(|fault| Some(fault).filter(|fault| *fault != WireDetail::QueryCharacter))
}

/// Where in a request line a byte stands.
#[derive(Clone, Copy)]
enum Part {
    Method,
    Path,
    Query,
}

/// Says what is wrong with a request line that is known to be wrong: its first byte at fault decides.
#[cold]
fn explain(rest: &[u8]) -> WireDetail {
    let mut part = Part::Method;
    for (at, &byte) in rest.iter().enumerate() {
        match (byte, part) {
            (b'#', _) => return WireDetail::Fragment,
            (b'\r', _) => return WireDetail::LineBareCr,
            (0..b' ' | 0x7f, _) => return WireDetail::LineControl,
            (b' ', Part::Method) if at == 0 => return WireDetail::MethodMissing,
            (b' ', Part::Method) => part = Part::Path,
            (b' ', _) => return WireDetail::ExtraSpace,
            (0x80.., Part::Method) => return WireDetail::MethodCharacter,
            (b'?', Part::Path) => part = Part::Query,
            (b'%', Part::Query) if !is_escape(rest, at) => return WireDetail::QueryEscape,
            (_, Part::Query) if !class::is(byte, QUERY) => return WireDetail::QueryCharacter,
            _ => {}
        }
    }
    // No byte is at fault: the line ends behind the prefix.
    WireDetail::MethodMissing
}

fn is_escape(rest: &[u8], at: usize) -> bool {
    percent::escape(rest.get(at..).unwrap_or_default()).is_some()
}
