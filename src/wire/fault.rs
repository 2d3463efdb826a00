//! What can be wrong with a request on the wire: one row per rule.

use super::Status;

/// The part of the head that is at fault, which decides `error.code` and status (facts page 3). After any of them the
/// connection closes, since the framing of what follows is in doubt (D10, D17).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WireFaultKind {
    /// The request line.
    RequestLine,
    /// A header line, or the header block as a whole.
    Header,
    /// Content-Length.
    ContentLength,
    /// A body that is longer than this server accepts.
    TooLarge,
}

impl WireFaultKind {
    /// `error.code`.
    pub const fn code(self) -> &'static str {
        match self {
            WireFaultKind::RequestLine => "invalid-request-line",
            WireFaultKind::Header => "invalid-header",
            WireFaultKind::ContentLength => "invalid-content-length",
            WireFaultKind::TooLarge => "content-too-large",
        }
    }

    /// 400, or 413 for a body that is too long.
    pub const fn status(self) -> Status {
        match self {
            WireFaultKind::TooLarge => Status::ContentTooLarge,
            _ => Status::BadRequest,
        }
    }
}

macro_rules! details {
    ($($kind:ident { $($name:ident = $message:literal;)+ })+) => {
        /// A rule of the wire, as broken by a request.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum WireDetail {
            $($(#[doc = $message] $name,)+)+
        }

        impl WireDetail {
            /// All of them.
            pub const ALL: &'static [WireDetail] = &[$($(WireDetail::$name,)+)+];

            /// What was wrong, and what would be right.
            pub const fn message(self) -> &'static str {
                match self { $($(WireDetail::$name => $message,)+)+ }
            }

            /// The part of the head it is about.
            pub const fn kind(self) -> WireFaultKind {
                match self { $($(WireDetail::$name)|+ => WireFaultKind::$kind,)+ }
            }
        }
    };
}

details! {
    RequestLine {
        NotAgtp = "the request line does not begin with `AGTP/1.0` and one space; expected `AGTP/1.0 METHOD /path`";
        LineTooLong = "the request line is longer than this server's limit (limits.request_line_bytes)";
        LineBareLf = "the request line ends with a bare LF; every line must end with CRLF";
        LineBareCr = "the request line contains a CR that is not part of its CRLF";
        LineControl = "the request line contains a control character; percent-encode it";
        Fragment = "the request line contains `#`; fragments are not part of AGTP, write %23 for the character itself";
        MethodMissing = "there is no method behind `AGTP/1.0`; expected `AGTP/1.0 METHOD /path`";
        MethodCharacter = "the method contains a byte that is not printable ASCII";
        TargetMissing = "the method is followed by a space but no target; leave out both, or write a path such as `/`";
        ExtraSpace = "the target is followed or preceded by more than one space; write single spaces, and %20 in a target";
        QueryCharacter = "the query contains a character that must be percent-encoded";
        QueryEscape = "the query contains a `%` that is not followed by two hexadecimal digits";
        QueryUtf8 = "a key or value of the query is not UTF-8 once percent-decoded";
    }
    Header {
        HeadersTooLong = "the headers are longer than this server's limit (limits.header_bytes)";
        HeadersTooMany = "there are more headers than this server's limit (limits.header_count)";
        HeaderBareLf = "a header line ends with a bare LF; every line must end with CRLF";
        HeaderFolded = "a header line begins with white space; folded headers are not allowed, write one line per header";
        HeaderWithoutColon = "a header line has no colon; expected `Name: value`";
        NameEmpty = "a header has no name before its colon; expected `Name: value`";
        NameSpace = "there is white space between a header's name and its colon; expected `Name: value`";
        NameCharacter = "a header's name contains a character other than letters, digits and !#$%&'*+-.^_`|~";
        ValueBareCr = "a header's value contains a CR that is not part of its line's CRLF";
        ValueControl = "a header's value contains a control character; only printable ASCII, space and tab are allowed";
        ValueNotAscii = "a header's value contains a byte that is not ASCII; only printable ASCII, space and tab are allowed";
        Repeated = "a header that may appear once is repeated";
        TransferEncoding = "Transfer-Encoding is not part of AGTP; frame the body with Content-Length";
    }
    ContentLength {
        LengthEmpty = "Content-Length has no value; expected 1 to 10 decimal digits";
        LengthNotDigits = "Content-Length is not a plain decimal number; expected 1 to 10 decimal digits";
        LengthTooLong = "Content-Length has more than 10 digits; expected 1 to 10 decimal digits";
        LengthRepeated = "Content-Length is repeated; send it once";
    }
    TooLarge {
        BodyTooLong = "the body is longer than this server's limit (limits.body_bytes)";
    }
}

/// A request that broke a rule of the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WireFault {
    /// The part of the head: code and status.
    pub kind: WireFaultKind,
    /// The rule.
    pub detail: WireDetail,
    /// Which header is at fault, counted from 1; `None` when it is not about one header.
    pub header: Option<u32>,
}

impl WireFault {
    /// A fault that no single header is to blame for.
    pub(super) const fn new(detail: WireDetail) -> WireFault {
        WireFault { kind: detail.kind(), detail, header: None }
    }

    /// A fault of the `header`-th header.
    pub(super) const fn of_header(detail: WireDetail, header: u32) -> WireFault {
        WireFault { kind: detail.kind(), detail, header: Some(header) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_has_a_kind_with_a_client_error_and_a_message_of_its_own() {
        for (row, detail) in WireDetail::ALL.iter().enumerate() {
            assert!((400..=413).contains(&detail.kind().status().code()));
            assert!(WireDetail::ALL[..row].iter().all(|other| other.message() != detail.message()));
        }
        assert_eq!(WireDetail::BodyTooLong.kind().status(), Status::ContentTooLarge);
        assert_eq!(WireDetail::LengthEmpty.kind().code(), "invalid-content-length");
    }
}
