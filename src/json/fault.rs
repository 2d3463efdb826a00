//! Why bytes are not a document.

use simd_json::ErrorType;
use std::fmt;

/// What was wrong with a body: 400 `invalid-json` (D9, D15).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JsonFault {
    reason: Reason,
    offset: Option<u32>,
}

/// The rules a document can break: the grammar of RFC 8259, and what I-JSON (RFC 7493) asks beyond it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Nothing but white space.
    Empty,
    /// A character that the grammar does not allow where it stands: also bytes after the value, a trailing comma, a
    /// byte order mark.
    Syntax,
    /// The end, before the value was complete.
    Incomplete,
    /// A string without its closing quote, or with a control character that is not escaped.
    String,
    /// A backslash followed by something other than RFC 8259 allows.
    Escape,
    /// `\u` without four hexadecimal digits, or one half of a surrogate pair without the other.
    Unicode,
    /// Bytes that are not UTF-8.
    Utf8,
    /// Something like a number that is none (`01`, `1.`, `+1`), or one beyond the range of an IEEE 754 double.
    Number,
    /// An object in which two keys are equal once decoded.
    DuplicateKey,
    /// More arrays and objects inside each other than the limit allows (D9).
    TooDeep,
    /// More bytes than the parser can address, or a buffer without [`super::PADDING`]: the caller's mistake.
    Buffer,
}

impl JsonFault {
    /// A fault found by this module's own checks.
    pub(super) fn at(reason: Reason, offset: usize) -> JsonFault {
        JsonFault { reason, offset: u32::try_from(offset).ok() }
    }

    /// The rule that was broken.
    pub fn reason(&self) -> Reason {
        self.reason
    }

    /// The byte it was noticed at, counted from the start of the body, where the parser tells.
    pub fn offset(&self) -> Option<usize> {
        self.offset.map(|offset| offset as usize)
    }

    /// What is wrong and what would be right, in a phrase.
    pub fn message(&self) -> &'static str {
        match self.reason {
            Reason::Empty => "there is only white space; send a JSON value, or no body at all",
            Reason::Syntax => "a character stands where JSON does not allow it",
            Reason::Incomplete => "the text ends before the value is complete",
            Reason::String => "a string is not closed, or holds a control character that is not escaped",
            Reason::Escape => "a string holds an escape that JSON does not know",
            Reason::Unicode => "a \\u escape is not four hexadecimal digits, or is half of a surrogate pair",
            Reason::Utf8 => "the bytes are not UTF-8",
            Reason::Number => "a number is malformed, or beyond the range of a double",
            Reason::DuplicateKey => "an object has the same key twice",
            Reason::TooDeep => "arrays and objects are nested deeper than the limit",
            Reason::Buffer => "the document does not fit the parser",
        }
    }
}

impl fmt::Display for JsonFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message())?;
        match self.offset {
            Some(offset) => write!(f, " (byte {offset})"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for JsonFault {}

impl From<simd_json::Error> for JsonFault {
    fn from(error: simd_json::Error) -> JsonFault {
        // The first pass, over the whole text, knows no position and no character.
        let first_pass = error.character().is_none();
        let reason = reason_of(error.error(), first_pass);
        // Faults inside strings come relative to their string, which is not worth telling.
        let told = matches!(reason, Reason::Syntax | Reason::Number | Reason::TooDeep) && !first_pass;
        JsonFault { reason, offset: told.then(|| u32::try_from(error.index()).ok()).flatten() }
    }
}

fn reason_of(error: &ErrorType, first_pass: bool) -> Reason {
    match error {
        ErrorType::Eof => Reason::Empty,
        ErrorType::Syntax if first_pass => Reason::String,
        ErrorType::Syntax => Reason::Incomplete,
        ErrorType::InvalidEscape => Reason::Escape,
        ErrorType::InvalidUnicodeCodepoint | ErrorType::InvalidUnicodeEscape => Reason::Unicode,
        ErrorType::InvalidUtf8 => Reason::Utf8,
        ErrorType::InvalidNumber | ErrorType::InvalidExponent | ErrorType::ExpectedNumber => Reason::Number,
        ErrorType::DepthLimitExceeded => Reason::TooDeep,
        ErrorType::InputTooLarge | ErrorType::InsufficientPadding => Reason::Buffer,
        _ => Reason::Syntax,
    }
}
