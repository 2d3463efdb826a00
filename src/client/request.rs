//! Requests, as they go on the wire (facts pages 1 and 2).

use std::fmt;

/// Media type of a body unless the caller gives another.
const BODY_TYPE: &str = "application/vnd.agtp+json";

/// A request to be sent.
///
/// Only what would break the framing is refused here. Whether the method is known, the path well formed and the body
/// JSON is the server's to judge, and often what a caller wants to find out.
#[derive(Clone, Debug)]
pub struct Request {
    head: String,
    has_content_type: bool,
    body: Option<Vec<u8>>,
}

/// What cannot be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequestError {
    /// The method is empty or holds white space, control characters or something beyond ASCII.
    Method,
    /// The same of the target.
    Target,
    /// The header has no colon, or its name is no token.
    HeaderName(String),
    /// The header's value is not printable ASCII.
    HeaderValue(String),
    /// A header that the client computes.
    ComputedHeader(String),
}

impl fmt::Display for RequestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RequestError::Method => f.write_str("a method is one word of ASCII letters, such as BOOK"),
            RequestError::Target => {
                f.write_str("a path holds no space or control character; percent-encode it, such as %20")
            }
            RequestError::HeaderName(line) => write!(f, "{line:?} is no header; write 'Name: value'"),
            RequestError::HeaderValue(name) => {
                write!(f, "the value of {name} may hold printable ASCII, spaces and tabs only")
            }
            RequestError::ComputedHeader(name) => {
                write!(f, "{name} follows from the body and cannot be given")
            }
        }
    }
}

impl std::error::Error for RequestError {}

impl Request {
    /// A request without headers and body. `target` is a path and its query, `/rooms?guests=2`.
    pub fn new(method: &str, target: &str) -> Result<Request, RequestError> {
        let visible = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
        if !visible(method) {
            return Err(RequestError::Method);
        }
        if !visible(target) {
            return Err(RequestError::Target);
        }
        Ok(Request { head: format!("AGTP/1.0 {method} {target}\r\n"), has_content_type: false, body: None })
    }

    /// Adds a header. A repeat is sent as it is: whether it may be repeated is the server's to judge (D14).
    pub fn header(&mut self, name: &str, value: &str) -> Result<&mut Self, RequestError> {
        if name.is_empty() || !name.bytes().all(is_token_byte) {
            return Err(RequestError::HeaderName(format!("{name}: {value}")));
        }
        if name.eq_ignore_ascii_case("content-length") {
            return Err(RequestError::ComputedHeader(name.to_owned()));
        }
        let value = value.trim_matches([' ', '\t']);
        if !crate::wire::is_header_value(value) {
            return Err(RequestError::HeaderValue(name.to_owned()));
        }
        self.has_content_type |= name.eq_ignore_ascii_case("content-type");
        self.head.extend([name, ": ", value, "\r\n"]);
        Ok(self)
    }

    /// Adds a header written as `Name: value`.
    pub fn header_line(&mut self, line: &str) -> Result<&mut Self, RequestError> {
        let (name, value) = line.split_once(':').ok_or_else(|| RequestError::HeaderName(line.to_owned()))?;
        self.header(name, value)
    }

    /// Gives it a body, sent as it is.
    pub fn body(&mut self, body: Vec<u8>) -> &mut Self {
        self.body = Some(body);
        self
    }

    /// The bytes to send.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = self.head.clone().into_bytes();
        if let Some(body) = &self.body {
            if !self.has_content_type {
                bytes.extend_from_slice(format!("Content-Type: {BODY_TYPE}\r\n").as_bytes());
            }
            bytes.extend_from_slice(format!("Content-Length: {}\r\n", body.len()).as_bytes());
        }
        bytes.extend_from_slice(b"\r\n");
        bytes.extend_from_slice(self.body.as_deref().unwrap_or_default());
        bytes
    }
}

/// Characters of a header name (RFC 9110: tokens).
const fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(
            byte,
            b'!' | b'#'
                | b'$'
                | b'%'
                | b'&'
                | b'\''
                | b'*'
                | b'+'
                | b'-'
                | b'.'
                | b'^'
                | b'_'
                | b'`'
                | b'|'
                | b'~'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_its_line_its_headers_and_its_body() {
        let mut request = Request::new("BOOK", "/rooms/12").unwrap();
        request.header("Agent-ID", "00").unwrap().header_line("Task-ID:  t 1 ").unwrap().body(b"{}".to_vec());
        let expected = "AGTP/1.0 BOOK /rooms/12\r\nAgent-ID: 00\r\nTask-ID: t 1\r\n\
                        Content-Type: application/vnd.agtp+json\r\nContent-Length: 2\r\n\r\n{}";
        assert_eq!(String::from_utf8(request.encode()).unwrap(), expected);
    }

    #[test]
    fn without_a_body_nothing_is_said_about_it() {
        let request = Request::new("DISCOVER", "/").unwrap();
        assert_eq!(request.encode(), b"AGTP/1.0 DISCOVER /\r\n\r\n");
    }

    #[test]
    fn a_given_content_type_replaces_the_usual_one() {
        let mut request = Request::new("BOOK", "/").unwrap();
        request.header("content-type", "text/plain").unwrap().body(b"x".to_vec());
        let text = String::from_utf8(request.encode()).unwrap();
        assert_eq!(text, "AGTP/1.0 BOOK /\r\ncontent-type: text/plain\r\nContent-Length: 1\r\n\r\nx");
    }

    #[test]
    fn nothing_can_be_smuggled_into_the_head() {
        assert_eq!(Request::new("BO OK", "/").unwrap_err(), RequestError::Method);
        assert_eq!(Request::new("", "/").unwrap_err(), RequestError::Method);
        assert_eq!(Request::new("BOOK", "/a b").unwrap_err(), RequestError::Target);
        assert_eq!(Request::new("BOOK", "/\r\nA: b").unwrap_err(), RequestError::Target);
        let mut request = Request::new("BOOK", "/").unwrap();
        for line in ["no colon", ": value", "a b: c", "A : b", "é: b"] {
            assert!(matches!(request.header_line(line), Err(RequestError::HeaderName(_))), "{line}");
        }
        for value in ["a\r\nB: c", "a\nb", "\0", "é", "\x7f"] {
            assert_eq!(request.header("A", value).unwrap_err(), RequestError::HeaderValue("A".to_owned()));
        }
        assert!(matches!(request.header("Content-length", "3"), Err(RequestError::ComputedHeader(_))));
        assert_eq!(request.encode(), b"AGTP/1.0 BOOK /\r\n\r\n");
    }
}
