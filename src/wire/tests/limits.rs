//! Limits at the edge and one beyond it, whole and in fragments (D9). `fuzz::head` cuts inputs too, but knows only its
//! own limits, hence `verdict_within`.

use crate::wire::{HeadParser, Limits, Parsed, WireDetail, WireFaultKind};

/// The fault of an input that is shown whole, byte by byte, and cut in two at every byte; all must agree.
fn verdict_within(input: &[u8], limits: &Limits) -> Option<WireDetail> {
    let feed = |ends: &mut dyn Iterator<Item = usize>| {
        let mut parser = HeadParser::new();
        ends.map(|end| parser.advance(&input[..end], limits)).last().unwrap()
    };
    let whole = feed(&mut std::iter::once(input.len()));
    assert_eq!(whole, feed(&mut (0..=input.len())), "byte by byte");
    for cut in 0..input.len() {
        assert_eq!(whole, feed(&mut [cut, input.len()].into_iter()), "cut at {cut}");
    }
    match whole {
        Parsed::Wrong(fault) => Some(fault.detail),
        Parsed::Done => None,
        Parsed::NeedMore => panic!("{:?} is incomplete", String::from_utf8_lossy(input)),
    }
}

fn small() -> Limits {
    Limits { request_line_bytes: 40, header_bytes: 50, header_count: 4, body_bytes: 99, json_depth: 64 }
}

#[test]
fn a_request_line_may_be_as_long_as_the_limit() {
    for (len, expected) in
        [(39, None), (40, None), (41, Some(WireDetail::LineTooLong)), (60, Some(WireDetail::LineTooLong))]
    {
        let line = format!("{:a<len$}", "AGTP/1.0 GET /");
        assert_eq!(verdict_within(format!("{line}\r\n\r\n").as_bytes(), &small()), expected, "{len}");
    }
}

#[test]
fn a_request_line_that_never_ends_is_refused_at_the_limit() {
    let endless = format!("{:a<42}", "AGTP/1.0 GET /");
    assert_eq!(verdict_within(endless.as_bytes(), &small()), Some(WireDetail::LineTooLong));
    let mut parser = HeadParser::new();
    assert_eq!(parser.advance(&endless.as_bytes()[..41], &small()), Parsed::NeedMore);
}

#[test]
fn a_bare_lf_within_the_limit_is_a_bare_lf() {
    for len in [40, 41] {
        let line = format!("{:a<len$}\n", "AGTP/1.0 GET /");
        assert_eq!(verdict_within(line.as_bytes(), &small()), Some(WireDetail::LineBareLf), "{len}");
    }
    let line = format!("{:a<42}\n", "AGTP/1.0 GET /");
    assert_eq!(verdict_within(line.as_bytes(), &small()), Some(WireDetail::LineTooLong));
}

#[test]
fn header_lines_may_be_as_long_together_as_the_limit() {
    for (value, expected) in
        [(40, None), (41, Some(WireDetail::HeadersTooLong)), (42, Some(WireDetail::HeadersTooLong))]
    {
        // `A: b` and `C:` take 6 and 4 bytes with their CRLFs.
        let input = format!("AGTP/1.0 GET /\r\nA: b\r\nC:{:c<len$}\r\n\r\n", "", len = value);
        assert_eq!(verdict_within(input.as_bytes(), &small()), expected, "{value}");
    }
}

#[test]
fn headers_that_never_end_are_refused_at_the_limit() {
    let endless = format!("AGTP/1.0 GET /\r\nA:{:a<50}", "");
    assert_eq!(verdict_within(endless.as_bytes(), &small()), Some(WireDetail::HeadersTooLong));
    let mut parser = HeadParser::new();
    assert_eq!(parser.advance(&endless.as_bytes()[..endless.len() - 1], &small()), Parsed::NeedMore);
}

#[test]
fn there_may_be_as_many_headers_as_the_limit() {
    for (count, expected) in
        [(0, None), (4, None), (5, Some(WireDetail::HeadersTooMany)), (9, Some(WireDetail::HeadersTooMany))]
    {
        let input = format!("AGTP/1.0 GET /\r\n{}\r\n", "A: b\r\n".repeat(count));
        assert_eq!(verdict_within(input.as_bytes(), &small()), expected, "{count}");
    }
}

#[test]
fn a_body_may_be_as_long_as_the_limit() {
    for (length, expected) in
        [("99", None), ("100", Some(WireDetail::BodyTooLong)), ("9999999999", Some(WireDetail::BodyTooLong))]
    {
        let input = format!("AGTP/1.0 GET /\r\nContent-Length: {length}\r\nA: b\r\n\r\n");
        assert_eq!(verdict_within(input.as_bytes(), &small()), expected, "{length}");
    }
    assert_eq!(WireDetail::BodyTooLong.kind(), WireFaultKind::TooLarge);
}

#[test]
fn a_later_fault_comes_before_the_length_of_the_body() {
    let input = b"AGTP/1.0 GET /\r\nContent-Length: 100\r\nA b\r\n\r\n";
    assert_eq!(verdict_within(input, &small()), Some(WireDetail::HeaderWithoutColon));
}

#[test]
fn the_default_limits_are_those_of_the_decision() {
    let limits = Limits::DEFAULT;
    let parse = |input: String| HeadParser::new().advance(input.as_bytes(), &limits);
    let line = |len: usize| parse(format!("{:a<len$}\r\n\r\n", "AGTP/1.0 GET /"));
    assert_eq!(line(8192), Parsed::Done);
    assert!(matches!(line(8193), Parsed::Wrong(fault) if fault.detail == WireDetail::LineTooLong));
    let headers = |count: usize| parse(format!("AGTP/1.0 GET /\r\n{}\r\n", "A: b\r\n".repeat(count)));
    assert_eq!(headers(64), Parsed::Done);
    assert!(matches!(headers(65), Parsed::Wrong(fault) if fault.header == Some(65)));
    let bytes = |len: usize| parse(format!("AGTP/1.0 GET /\r\nA:{:a<len$}\r\n\r\n", "", len = len - 4));
    assert_eq!(bytes(16384), Parsed::Done);
    assert!(matches!(bytes(16385), Parsed::Wrong(fault) if fault.detail == WireDetail::HeadersTooLong));
}

#[test]
fn limits_beyond_what_offsets_hold_are_survived() {
    let limits = Limits {
        request_line_bytes: u32::MAX,
        header_bytes: u32::MAX,
        header_count: u32::MAX,
        body_bytes: u32::MAX,
        json_depth: u32::MAX,
    };
    assert_eq!(verdict_within(b"AGTP/1.0 GET /\r\nContent-Length: 4294967295\r\n\r\n", &limits), None);
    let over = b"AGTP/1.0 GET /\r\nContent-Length: 4294967296\r\n\r\n";
    assert_eq!(verdict_within(over, &limits), Some(WireDetail::BodyTooLong));
    let none =
        Limits { request_line_bytes: 0, header_bytes: 0, header_count: 0, body_bytes: 0, json_depth: 0 };
    assert_eq!(verdict_within(b"AGTP/1.0 GET /\r\n\r\n", &none), Some(WireDetail::LineTooLong));
    let no_headers = Limits { request_line_bytes: 99, ..none };
    assert_eq!(verdict_within(b"AGTP/1.0 GET /\r\n\r\n", &no_headers), None);
    assert_eq!(
        verdict_within(b"AGTP/1.0 GET /\r\nA:\r\n\r\n", &no_headers),
        Some(WireDetail::HeadersTooLong)
    );
}
