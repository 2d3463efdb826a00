//! Ways to make two parsers disagree about where a request ends, each of which must be refused (D10).

use super::verdict;
use crate::wire::{WireDetail, WireFaultKind};

/// The verdict on a request with these header lines.
fn with_headers(lines: &str) -> WireDetail {
    let input = format!("AGTP/1.0 BOOK /rooms\r\n{lines}\r\n\r\n");
    verdict(input.as_bytes()).unwrap_or_else(|| panic!("{lines:?} is whole")).expect_err(lines)
}

#[test]
fn lines_end_with_crlf_alone() {
    let cases = [
        ("A: b\nC: d", WireDetail::HeaderBareLf),
        ("A: b\n", WireDetail::HeaderBareLf),
        ("A: b\r\n\nC: d", WireDetail::HeaderBareLf),
        ("A: b\rC: d", WireDetail::ValueBareCr),
        ("A: b\r\r\nC: d", WireDetail::ValueBareCr),
        ("A: b\r\n\rC: d", WireDetail::NameCharacter),
        ("\r", WireDetail::HeaderWithoutColon),
    ];
    for (lines, detail) in cases {
        assert_eq!(with_headers(lines), detail, "{lines:?}");
    }
}

#[test]
fn names_stand_at_the_line_start_and_touch_their_colon() {
    let cases = [
        ("A: b\r\n c", WireDetail::HeaderFolded),
        ("A: b\r\n\tc: d", WireDetail::HeaderFolded),
        (" Content-Length: 5", WireDetail::HeaderFolded),
        ("A: b\r\n \r\nC: d", WireDetail::HeaderFolded),
        ("Content-Length : 5", WireDetail::NameSpace),
        ("Content-Length\t: 5", WireDetail::NameSpace),
        ("Content-Length\0: 5", WireDetail::NameCharacter),
        ("Content-Length\r: 5", WireDetail::NameCharacter),
        ("Content_Length", WireDetail::HeaderWithoutColon),
    ];
    for (lines, detail) in cases {
        assert_eq!(with_headers(lines), detail, "{lines:?}");
    }
}

#[test]
fn content_length_is_one_to_ten_digits_once() {
    let cases = [
        ("", WireDetail::LengthEmpty),
        (" \t", WireDetail::LengthEmpty),
        ("5, 5", WireDetail::LengthNotDigits),
        ("5,5", WireDetail::LengthNotDigits),
        ("5 5", WireDetail::LengthNotDigits),
        ("+5", WireDetail::LengthNotDigits),
        ("-5", WireDetail::LengthNotDigits),
        ("5.0", WireDetail::LengthNotDigits),
        ("0x5", WireDetail::LengthNotDigits),
        ("5e1", WireDetail::LengthNotDigits),
        ("5_0", WireDetail::LengthNotDigits),
        ("\"5\"", WireDetail::LengthNotDigits),
        ("5;", WireDetail::LengthNotDigits),
        ("5\0", WireDetail::LengthNotDigits),
        ("\u{0b}5", WireDetail::LengthNotDigits),
        ("5\r", WireDetail::LengthNotDigits),
        ("\u{665}", WireDetail::LengthNotDigits),
        ("12345678901", WireDetail::LengthTooLong),
        ("00000000005", WireDetail::LengthTooLong),
        ("5\r\nContent-Length: 5", WireDetail::LengthRepeated),
        ("5\r\nContent-Length: 6", WireDetail::LengthRepeated),
        ("5\r\nCONTENT-LENGTH:", WireDetail::LengthRepeated),
        ("0\r\nX: y\r\ncontent-length: x", WireDetail::LengthRepeated),
    ];
    for (value, detail) in cases {
        assert_eq!(with_headers(&format!("Content-Length:{value}")), detail, "{value:?}");
        assert_eq!(detail.kind(), WireFaultKind::ContentLength);
    }
}

#[test]
fn every_byte_in_a_content_length_but_a_digit_is_refused() {
    for byte in 0..=255u8 {
        let input = [&b"AGTP/1.0 BOOK /r\r\nContent-Length: 1"[..], &[byte], b"1\r\n\r\n"].concat();
        let sound = byte.is_ascii_digit();
        assert_eq!(verdict(&input).is_some_and(|verdict| verdict.is_ok()), sound, "{byte:#x}");
    }
}

#[test]
fn transfer_encoding_is_refused_in_any_form() {
    for lines in [
        "Transfer-Encoding: chunked",
        "transfer-encoding:",
        "TRANSFER-ENCODING: identity",
        "Content-Length: 5\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: chunked\r\nContent-Length: 5",
        "Transfer-Encoding: \u{0b}chunked",
    ] {
        assert_eq!(with_headers(lines), WireDetail::TransferEncoding, "{lines:?}");
    }
}

#[test]
fn nul_is_refused_everywhere() {
    let request = b"AGTP/1.0 BOOK /rooms?a=b\r\nContent-Length: 0\r\nX: y\r\n\r\n";
    for place in 0..request.len() {
        let mut input = request.to_vec();
        input.insert(place, 0);
        assert!(matches!(verdict(&input), Some(Err(_))), "NUL at {place}");
    }
}
