//! The head parser against a plain one, and against requests whose verdict is written down.

mod corpus;
mod limits;
pub(super) mod naive;
mod smuggling;

use super::*;
use naive::{Naive, NaiveHead};
use proptest::prelude::*;

/// Parses a whole input.
fn parse(input: &[u8], limits: &Limits) -> (Parsed, Head) {
    let mut parser = HeadParser::new();
    let parsed = parser.advance(input, limits);
    (parsed, parser.head().clone())
}

/// The verdict on a whole input within the default limits, `None` while it is incomplete.
fn verdict(input: &[u8]) -> Option<Result<Head, WireDetail>> {
    fuzz::head(input);
    match parse(input, &Limits::DEFAULT) {
        (Parsed::NeedMore, _) => None,
        (Parsed::Done, head) => Some(Ok(head)),
        (Parsed::Wrong(fault), _) => Some(Err(fault.detail)),
    }
}

/// The fast parser's result in the plain parser's terms.
fn as_naive(input: &[u8], limits: &Limits) -> Naive {
    match parse(input, limits) {
        (Parsed::NeedMore, _) => Naive::NeedMore,
        (Parsed::Wrong(fault), _) => {
            assert_eq!(fault.kind, fault.detail.kind());
            Naive::Wrong(fault.detail, fault.header)
        }
        (Parsed::Done, head) => Naive::Done(NaiveHead {
            method: head.method.of(input).to_vec(),
            path: head.path(input).to_vec(),
            query: head.query(input).map(<[u8]>::to_vec),
            headers: head.headers(input).map(|(name, value)| (name.to_vec(), value.to_vec())).collect(),
            content_length: head.content_length,
            len: head.len as usize,
        }),
    }
}

/// Asserts that both parsers agree, and that the known fields are those that the list of all headers shows.
fn agree(input: &[u8], limits: &Limits) {
    let shown = String::from_utf8_lossy(input).into_owned();
    let fast = as_naive(input, limits);
    assert_eq!(fast, naive::parse(input, limits), "{shown:?}");
    if let Naive::Done(head) = fast {
        let (_, fast) = parse(input, limits);
        for &field in Field::ALL {
            let listed = head.headers.iter().find(|(name, _)| Field::from_name(name) == Some(field));
            assert_eq!(fast.field(field, input), listed.map(|(_, value)| &value[..]), "{shown:?}");
        }
    }
}

const REQUEST: &[u8] = b"AGTP/1.0 BOOK /rooms/a%C3%A9?from=x&y=%20+z\r\n\
    Agent-ID: 0123\r\nX-Note:\ta b \r\nContent-Length: 7\r\nAuthority-Scope: a:b, c:*\r\n\r\n{}";

#[test]
fn all_256_bytes_at_every_place_mean_what_the_plain_parser_says() {
    for place in 0..REQUEST.len() {
        for byte in 0..=255 {
            let mut replaced = REQUEST.to_vec();
            replaced[place] = byte;
            agree(&replaced, &Limits::DEFAULT);
            let mut inserted = REQUEST.to_vec();
            inserted.insert(place, byte);
            agree(&inserted, &Limits::DEFAULT);
        }
    }
}

#[test]
fn every_byte_removed_or_doubled_means_what_the_plain_parser_says() {
    for place in 0..REQUEST.len() {
        for end in place..REQUEST.len().min(place + 12) {
            let removed = [&REQUEST[..place], &REQUEST[end..]].concat();
            agree(&removed, &Limits::DEFAULT);
            let doubled = [&REQUEST[..end], &REQUEST[place..]].concat();
            agree(&doubled, &Limits::DEFAULT);
        }
    }
}

#[test]
fn a_parser_can_be_used_again() {
    let mut parser = HeadParser::new();
    assert!(parser.is_idle());
    for input in [REQUEST, b"AGTP/1.0 DISCOVER\r\n\r\n", b"AGTP/1.0 GET /\r\nA b\r\n", REQUEST] {
        let parsed = parser.advance(input, &Limits::DEFAULT);
        assert!(!parser.is_idle());
        assert_eq!((parsed, parser.head().clone()), parse(input, &Limits::DEFAULT));
        assert_eq!(parsed, parser.advance(input, &Limits::DEFAULT), "a verdict stays");
        parser.reset();
        assert!(parser.is_idle());
    }
}

#[test]
fn what_stood_before_a_fault_can_be_echoed() {
    let input = b"AGTP/1.0 GET /a\r\nTask-ID: t\r\nRequest-ID: r\r\nbad\r\nAgent-ID: a\r\n\r\n";
    let (parsed, head) = parse(input, &Limits::DEFAULT);
    let fault = WireFault::of_header(WireDetail::HeaderWithoutColon, 3);
    assert_eq!(parsed, Parsed::Wrong(fault));
    assert_eq!(head.field(Field::TaskId, input), Some(&b"t"[..]));
    assert_eq!(head.field(Field::RequestId, input), Some(&b"r"[..]));
    assert_eq!(head.field(Field::AgentId, input), None);
    assert_eq!(head.method.of(input), b"GET");
}

#[test]
fn a_buffer_that_shrinks_is_survived() {
    let mut parser = HeadParser::new();
    assert_eq!(parser.advance(&REQUEST[..40], &Limits::DEFAULT), Parsed::NeedMore);
    assert_eq!(parser.advance(b"", &Limits::DEFAULT), Parsed::NeedMore);
    assert_eq!(parser.advance(REQUEST, &Limits::DEFAULT), Parsed::Done);
}

/// An edit of a request: what is often wrong with one.
fn edit() -> impl Strategy<Value = (prop::sample::Index, u8, Vec<u8>)> {
    let pieces = prop::sample::select(vec![
        "\r\n",
        "\n",
        "\r",
        " ",
        "\t",
        ":",
        "?",
        "#",
        "%",
        "%2",
        "%zz",
        "%C3",
        "%ff%zz",
        "%A9",
        "/",
        "//",
        "\0",
        "\u{e9}",
        "Content-Length: 1\r\n",
        "content-length: 12345678901\r\n",
        "Agent-ID: x\r\n",
        "Transfer-Encoding: chunked\r\n",
        "X: y\r\n",
        ": y\r\n",
        "X : y\r\n",
        " z\r\n",
        "\r\n\r\n",
        "AGTP/1.0 ",
    ]);
    let piece = prop_oneof![
        pieces.prop_map(|text| text.as_bytes().to_vec()),
        prop::collection::vec(any::<u8>(), 1..3)
    ];
    (any::<prop::sample::Index>(), 0..4u8, piece)
}

fn apply(mut input: Vec<u8>, edits: Vec<(prop::sample::Index, u8, Vec<u8>)>) -> Vec<u8> {
    for (place, removed, inserted) in edits {
        let start = place.index(input.len() + 1);
        let end = (start + usize::from(removed)).min(input.len());
        input.splice(start..end, inserted);
    }
    input
}

fn request() -> impl Strategy<Value = Vec<u8>> {
    let target = "( /([a-z0-9%{}.~-]{0,9}/?){0,3}(\\?([a-z]{1,3}=?(%[0-9A-F]{2}|[a-z+]){0,3}&?){0,3})?)?";
    let headers = prop::collection::vec("[A-Za-z-]{1,9}: ?[ -~]{0,20}\r\n", 0..5);
    ("[A-Z]{1,9}", target, headers).prop_map(|(method, target, headers)| {
        format!("AGTP/1.0 {method}{target}\r\n{}\r\n", headers.concat()).into()
    })
}

/// Limits that requests of the size above reach now and then.
fn any_limits() -> impl Strategy<Value = Limits> {
    (5..70u32, 20..120u32, 0..6u32, 0..2000u32).prop_map(|(line, bytes, count, body)| Limits {
        request_line_bytes: line,
        header_bytes: bytes,
        header_count: count,
        body_bytes: body,
        json_depth: 64,
    })
}

proptest! {
    #[test]
    fn edited_requests_mean_what_the_plain_parser_says(
        request in prop_oneof![Just(REQUEST.to_vec()), request()],
        edits in prop::collection::vec(edit(), 0..4),
        limits in prop_oneof![Just(Limits::DEFAULT), any_limits()],
    ) {
        let input = apply(request, edits);
        agree(&input, &limits);
        fuzz::head(&input);
    }

    #[test]
    fn any_bytes_are_survived(data in prop::collection::vec(any::<u8>(), 0..200)) {
        fuzz::head(&data);
        fuzz::head(&[b"AGTP/1.0 GET /", &data[..]].concat());
        fuzz::path(&data);
        fuzz::query(&data);
        fuzz::uri(&data);
        fuzz::answer(&data);
        fuzz::answer(&[b"AGTP/1.0 200 OK\r\n", &data[..]].concat());
    }
}
