//! Requests whose verdict is written down. `verdict` also cuts each of them at every byte.

use super::verdict;
use crate::wire::{Field, WireDetail, check_path};

/// A sound request: input, method, path, query, Content-Length.
type Sound = (&'static str, &'static str, &'static str, Option<&'static str>, u64);

const SOUND: &[Sound] = &[
    ("AGTP/1.0 DISCOVER\r\n\r\n", "DISCOVER", "/", None, 0),
    ("AGTP/1.0 DISCOVER /\r\n\r\n", "DISCOVER", "/", None, 0),
    ("AGTP/1.0 BOOK /rooms/7\r\nContent-Length: 2\r\n\r\n{}", "BOOK", "/rooms/7", None, 2),
    ("AGTP/1.0 BOOK /rooms/7\r\nContent-Length: 0\r\n\r\n", "BOOK", "/rooms/7", None, 0),
    ("AGTP/1.0 BOOK /r\r\ncOnTeNt-LeNgTh:\t 0000000012 \t\r\n\r\n", "BOOK", "/r", None, 12),
    ("AGTP/1.0 BOOK /r\r\nContent-Length: 1048576\r\n\r\n", "BOOK", "/r", None, 1_048_576),
    // Not a method of any catalog: 459, which is not the wire's question (D11).
    ("AGTP/1.0 x /\r\n\r\n", "x", "/", None, 0),
    ("AGTP/1.0 {}<>\"%? /\r\n\r\n", "{}<>\"%?", "/", None, 0),
    ("AGTP/1.0 get /a\r\n\r\n", "get", "/a", None, 0),
    // Targets that are 460, which is not the wire's question either (D21).
    ("AGTP/1.0 GET rooms\r\n\r\n", "GET", "rooms", None, 0),
    ("AGTP/1.0 GET ?q\r\n\r\n", "GET", "", Some("q"), 0),
    ("AGTP/1.0 GET *\r\n\r\n", "GET", "*", None, 0),
    ("AGTP/1.0 GET /a|b\r\n\r\n", "GET", "/a|b", None, 0),
    ("AGTP/1.0 GET /caf\u{e9}\r\n\r\n", "GET", "/caf\u{e9}", None, 0),
    ("AGTP/1.0 GET /a%\r\n\r\n", "GET", "/a%", None, 0),
    ("AGTP/1.0 GET //b/\r\n\r\n", "GET", "//b/", None, 0),
    ("AGTP/1.0 GET agtp://h/a?b\r\n\r\n", "GET", "agtp://h/a", Some("b"), 0),
    // Queries.
    ("AGTP/1.0 GET /a?\r\n\r\n", "GET", "/a", Some(""), 0),
    ("AGTP/1.0 GET /a?b?c/d\r\n\r\n", "GET", "/a", Some("b?c/d"), 0),
    ("AGTP/1.0 GET /a?&&=&=x\r\n\r\n", "GET", "/a", Some("&&=&=x"), 0),
    (
        "AGTP/1.0 GET /a?k=%C3%A9%e2%82%AC%F0%9f%98%80\r\n\r\n",
        "GET",
        "/a",
        Some("k=%C3%A9%e2%82%AC%F0%9f%98%80"),
        0,
    ),
    ("AGTP/1.0 GET /a?-._~!$&'()*+,;=:@\r\n\r\n", "GET", "/a", Some("-._~!$&'()*+,;=:@"), 0),
    // Headers.
    ("AGTP/1.0 GET /\r\nX:\r\n\r\n", "GET", "/", None, 0),
    ("AGTP/1.0 GET /\r\nX: \t \r\n\r\n", "GET", "/", None, 0),
    ("AGTP/1.0 GET /\r\nX: a\tb  c:d\r\nX: again\r\n\r\n", "GET", "/", None, 0),
    ("AGTP/1.0 GET /\r\n!#$%&'*+-.^_`|~09: 1\r\n\r\n", "GET", "/", None, 0),
    ("AGTP/1.0 GET /\r\nAgent-ID: a\r\nTarget-Agent: b\r\nAccept:\r\n\r\n", "GET", "/", None, 0),
    ("AGTP/1.0 GET /\r\nTE: x\r\nTransfer-Encodin: x\r\nTransfer-Encodings: x\r\n\r\n", "GET", "/", None, 0),
    // The head ends at its empty line, whatever follows.
    ("AGTP/1.0 GET /\r\n\r\nAGTP/1.0 GET /\r\n", "GET", "/", None, 0),
    ("AGTP/1.0 GET /\r\n\r\n\n\r\0", "GET", "/", None, 0),
];

#[test]
fn sound_requests_are_taken_apart() {
    for &(input, method, path, query, content_length) in SOUND {
        let head = verdict(input.as_bytes()).unwrap_or_else(|| panic!("{input:?} is whole")).expect(input);
        let bytes = input.as_bytes();
        assert_eq!(head.method.of(bytes), method.as_bytes(), "{input:?}");
        assert_eq!(head.path(bytes), path.as_bytes(), "{input:?}");
        assert_eq!(head.query(bytes), query.map(str::as_bytes), "{input:?}");
        assert_eq!(head.content_length, content_length, "{input:?}");
        assert_eq!(head.len as usize, input.find("\r\n\r\n").unwrap() + 4, "{input:?}");
        assert_eq!(head.request_len(), u64::from(head.len) + content_length);
    }
}

#[test]
fn a_prefix_of_a_sound_head_is_incomplete() {
    for (input, ..) in SOUND {
        let len = input.find("\r\n\r\n").unwrap() + 4;
        for cut in 0..len {
            assert_eq!(verdict(&input.as_bytes()[..cut]), None, "{input:?} cut at {cut}");
        }
    }
}

#[test]
fn whether_a_target_is_there_decides_between_no_path_and_a_bad_one() {
    let absent = verdict(b"AGTP/1.0 DISCOVER\r\n\r\n").unwrap().unwrap();
    assert!(!absent.has_target && absent.target.is_empty());
    let relative = b"AGTP/1.0 GET ?q\r\n\r\n";
    let head = verdict(relative).unwrap().unwrap();
    assert!(head.has_target && check_path(head.path(relative)).is_err());
    assert_eq!(head.target.of(relative), b"?q");
}

#[test]
fn values_are_trimmed() {
    let input = b"AGTP/1.0 GET /\r\nsession-id: \t s 1\t \r\nACCEPT:x\r\nX-Y: z \r\n\r\n";
    let head = verdict(input).unwrap().unwrap();
    assert_eq!(head.field(Field::SessionId, input), Some(&b"s 1"[..]));
    assert_eq!(head.field(Field::Accept, input), Some(&b"x"[..]));
    assert_eq!(head.field(Field::TaskId, input), None);
    assert_eq!(head.header(b"x-y", input), Some(&b"z"[..]));
    assert_eq!(head.header(b"x-z", input), None);
}

/// Faulty requests. Only what comes first matters: much of what follows is wrong too.
const FAULTY: &[(&[u8], WireDetail)] = &[
    (b"G", WireDetail::NotAgtp),
    (b"GET / HTTP/1.1\r\n\r\n", WireDetail::NotAgtp),
    (b"AGTP/1.1 GET /\r\n", WireDetail::NotAgtp),
    (b"AGTP/2", WireDetail::NotAgtp),
    (b"agtp/1.0 GET /\r\n", WireDetail::NotAgtp),
    (b"AGTP/1.0\tGET /\r\n", WireDetail::NotAgtp),
    (b"AGTP/1.0\r\n\r\n", WireDetail::NotAgtp),
    (b"\r\nAGTP/1.0 GET /\r\n\r\n", WireDetail::NotAgtp),
    (b" AGTP/1.0 GET /\r\n\r\n", WireDetail::NotAgtp),
    (b"\x16\x03\x01\x02\x00", WireDetail::NotAgtp),
    (b"AGTP/1.0 GET /\n", WireDetail::LineBareLf),
    (b"AGTP/1.0 \n", WireDetail::LineBareLf),
    (b"AGTP/1.0 GET /\r\r\n", WireDetail::LineBareCr),
    (b"AGTP/1.0 GET /a\rb\r\n", WireDetail::LineBareCr),
    (b"AGTP/1.0 \r\r\n", WireDetail::LineBareCr),
    (b"AGTP/1.0 G\0T /\r\n", WireDetail::LineControl),
    (b"AGTP/1.0 GET\t/\r\n", WireDetail::LineControl),
    (b"AGTP/1.0 GET /\x7f\r\n", WireDetail::LineControl),
    (b"AGTP/1.0 GET /?\x1b\r\n", WireDetail::LineControl),
    (b"AGTP/1.0 GET /a#b\r\n", WireDetail::Fragment),
    (b"AGTP/1.0 GET /a?b#\r\n", WireDetail::Fragment),
    (b"AGTP/1.0 G# /\r\n", WireDetail::Fragment),
    (b"AGTP/1.0 #\r\n", WireDetail::Fragment),
    (b"AGTP/1.0 \r\n", WireDetail::MethodMissing),
    (b"AGTP/1.0  \r\n", WireDetail::MethodMissing),
    (b"AGTP/1.0  /\r\n", WireDetail::MethodMissing),
    (b"AGTP/1.0 G\xc3\x89T /\r\n", WireDetail::MethodCharacter),
    (b"AGTP/1.0 GET \r\n", WireDetail::TargetMissing),
    (b"AGTP/1.0 GET  /\r\n", WireDetail::ExtraSpace),
    (b"AGTP/1.0 GET / \r\n", WireDetail::ExtraSpace),
    (b"AGTP/1.0 GET / HTTP/1.1\r\n", WireDetail::ExtraSpace),
    (b"AGTP/1.0 GET /?a b\r\n", WireDetail::ExtraSpace),
    (b"AGTP/1.0 GET /?a|b\r\n", WireDetail::QueryCharacter),
    (b"AGTP/1.0 GET /?{x}\r\n", WireDetail::QueryCharacter),
    (b"AGTP/1.0 GET /?\xc3\xa9\r\n", WireDetail::QueryCharacter),
    (b"AGTP/1.0 GET /?|%zz\r\n", WireDetail::QueryCharacter),
    (b"AGTP/1.0 GET /?%zz|\r\n", WireDetail::QueryEscape),
    (b"AGTP/1.0 GET /?%\r\n", WireDetail::QueryEscape),
    (b"AGTP/1.0 GET /?a=%2\r\n", WireDetail::QueryEscape),
    (b"AGTP/1.0 GET /?%2&0\r\n", WireDetail::QueryEscape),
    (b"AGTP/1.0 GET /?%ff%+1\r\n", WireDetail::QueryEscape),
    (b"AGTP/1.0 GET /?a=%ff\r\n", WireDetail::QueryUtf8),
    (b"AGTP/1.0 GET /?%C3=%A9\r\n", WireDetail::QueryUtf8),
    (b"AGTP/1.0 GET /?a=%C3&%A9\r\n", WireDetail::QueryUtf8),
    (b"AGTP/1.0 GET /?a=%C3x%A9\r\n", WireDetail::QueryUtf8),
    (b"AGTP/1.0 GET /?a=%ED%A0%80\r\n", WireDetail::QueryUtf8),
    (b"AGTP/1.0 GET /?a=%C0%AF\r\n", WireDetail::QueryUtf8),
    (b"AGTP/1.0 GET /?a=%F4%90%80%80\r\n", WireDetail::QueryUtf8),
    (b"AGTP/1.0 GET /?a=%E2%82\r\n", WireDetail::QueryUtf8),
    (b"AGTP/1.0 GET /\r\nX\r\n", WireDetail::HeaderWithoutColon),
    (b"AGTP/1.0 GET /\r\n: x\r\n", WireDetail::NameEmpty),
    (b"AGTP/1.0 GET /\r\nX Y: x\r\n", WireDetail::NameCharacter),
    (b"AGTP/1.0 GET /\r\nX(: x\r\n", WireDetail::NameCharacter),
    (b"AGTP/1.0 GET /\r\nX\xc3\xa9: x\r\n", WireDetail::NameCharacter),
    (b"AGTP/1.0 GET /\r\nX: \x0b\r\n", WireDetail::ValueControl),
    (b"AGTP/1.0 GET /\r\nX: a\x7f\r\n", WireDetail::ValueControl),
    (b"AGTP/1.0 GET /\r\nX: \xc3\xa9\r\n", WireDetail::ValueNotAscii),
    (b"AGTP/1.0 GET /\r\nX: \xff\x01\r\n", WireDetail::ValueNotAscii),
];

#[test]
fn faulty_requests_are_refused_for_their_first_fault() {
    for (input, detail) in FAULTY {
        let shown = String::from_utf8_lossy(input);
        assert_eq!(verdict(input), Some(Err(*detail)), "{shown:?}");
        assert_eq!(
            verdict(&[input, &b"X: \0\r\n\r\n"[..]].concat()),
            Some(Err(*detail)),
            "{shown:?} and more"
        );
    }
}

#[test]
fn single_valued_headers_appear_once() {
    for field in Field::ALL.iter().filter(|field| **field != Field::TransferEncoding) {
        let name = field.name();
        let input = format!("AGTP/1.0 GET /\r\n{name}: 1\r\nX: y\r\n{}: 1\r\n\r\n", name.to_uppercase());
        let expected = match field {
            Field::ContentLength => WireDetail::LengthRepeated,
            _ => WireDetail::Repeated,
        };
        assert_eq!(verdict(input.as_bytes()), Some(Err(expected)), "{name}");
    }
}
