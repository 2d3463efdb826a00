//! Fuzz bodies: each takes any bytes and asserts what must hold for all of them.

#![allow(
    clippy::panic,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a fuzz body gives its verdict by panicking"
)]

use super::{
    AnswerLimits, AnswerParsed, AnswerParser, Head, HeadParser, Limits, Parsed, Uri, check_path, check_query,
    decode, decoded_len, needs_decoding, pairs,
};

/// Inputs up to this length are cut at every byte; longer ones at a few, to keep a run short.
const CUT_EVERYWHERE_BYTES: usize = 256;

/// Small limits, so that short inputs reach them.
const SMALL: Limits =
    Limits { request_line_bytes: 40, header_bytes: 64, header_count: 3, body_bytes: 9, json_depth: 1 };

/// A request head means the same whole, cut anywhere, and byte by byte; a sound one can be taken apart.
pub fn head(data: &[u8]) {
    for limits in [Limits::DEFAULT, SMALL] {
        let whole = feed(data, &limits, [data.len()]);
        assert_eq!(whole, feed(data, &limits, 0..=data.len()), "byte by byte");
        let step = data.len() / CUT_EVERYWHERE_BYTES + 1;
        for cut in (0..data.len()).step_by(step) {
            assert_eq!(whole, feed(data, &limits, [cut, data.len()]), "cut at {cut}");
        }
        if whole.0 == Parsed::Done {
            take_apart(&whole.1, data, &limits);
        }
    }
}

/// What a parser says after it was shown the input up to each of `ends` in turn.
fn feed(data: &[u8], limits: &Limits, ends: impl IntoIterator<Item = usize>) -> (Parsed, Head) {
    let mut parser = HeadParser::new();
    let mut parsed = Parsed::NeedMore;
    for end in ends {
        let again = parser.advance(data.get(..end).unwrap_or_default(), limits);
        assert!(parsed == Parsed::NeedMore || again == parsed, "a verdict is final");
        parsed = again;
    }
    (parsed, parser.head().clone())
}

fn take_apart(head: &Head, data: &[u8], limits: &Limits) {
    assert!(head.len as usize <= data.len());
    assert!(head.content_length <= u64::from(limits.body_bytes));
    assert_eq!(head.headers(data).count(), head.header_count as usize);
    assert!(head.headers(data).all(|(name, value)| !name.is_empty() && !value.contains(&b'\n')));
    assert!(!head.method.is_empty());
    path(head.path(data));
    let mut out = vec![0; data.len()];
    for pair in head.query(data).into_iter().flat_map(pairs) {
        assert!(decode(pair.key, &mut out, true).is_ok() && decode(pair.value, &mut out, true).is_ok());
    }
}

/// A path that passes can be decoded segment by segment; one that fails names a segment that is in it.
pub fn path(data: &[u8]) {
    match check_path(data) {
        Ok(()) => {
            let mut out = vec![0; data.len()];
            for segment in data.split(|&byte| byte == b'/') {
                let decoded = decode(segment, &mut out, false);
                let decoded = decoded.unwrap_or_else(|fault| panic!("{fault:?} in an accepted path"));
                assert_eq!(decoded.len(), decoded_len(segment));
                assert!(needs_decoding(segment, false) || decoded.as_bytes() == segment);
            }
        }
        Err(fault) => {
            if let Some(segment) = fault.segment {
                assert!(data.split(|&byte| byte == b'/').any(|one| one == segment.of(data)));
            }
        }
    }
}

/// A query that passes can be decoded pair by pair.
pub fn query(data: &[u8]) {
    let mut out = vec![0; data.len()];
    let decodes = pairs(data)
        .all(|pair| decode(pair.key, &mut out, true).is_ok() && decode(pair.value, &mut out, true).is_ok());
    assert!(decodes || check_query(data).is_err());
}

/// An address that is read is written as an address that reads the same.
pub fn uri(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Ok(uri) = Uri::parse(text) {
        assert_eq!(Uri::parse(&uri.to_string()), Ok(uri));
    }
}

/// An answer means the same whole and byte by byte.
pub fn answer(data: &[u8]) {
    let mut whole = AnswerParser::new();
    let parsed = whole.advance(data, &AnswerLimits::DEFAULT);
    let mut by_byte = AnswerParser::new();
    let last = (0..=data.len())
        .map(|end| by_byte.advance(data.get(..end).unwrap_or_default(), &AnswerLimits::DEFAULT))
        .last();
    assert_eq!(last, Some(parsed));
    assert_eq!(whole.answer(), by_byte.answer());
    if parsed == AnswerParsed::Done {
        assert!(whole.answer().headers(data).count() <= data.len());
    }
}
