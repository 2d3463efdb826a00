//! Writing JSON straight into output bytes.
//!
//! Brackets and commas come from the closures' nesting, strings are escaped: whatever a handler does, the bytes are
//! valid JSON, except that nothing here keeps a key from being written twice.

use super::escape::push_string;
use super::number::{push_f64, push_i64, push_u64};
use super::{Number, Value};

/// Appends one object, made of what `write` adds. Should `write` panic, the object is left open: truncate the output.
#[inline]
pub fn write_object(out: &mut Vec<u8>, write: impl FnOnce(&mut ObjectWriter<'_>)) {
    out.push(b'{');
    write(&mut ObjectWriter { out, separate: false });
    out.push(b'}');
}

/// Appends one array, made of what `write` adds.
#[inline]
pub fn write_array(out: &mut Vec<u8>, write: impl FnOnce(&mut ArrayWriter<'_>)) {
    out.push(b'[');
    write(&mut ArrayWriter { out, separate: false });
    out.push(b']');
}

/// Writes the members of one object, in the order of the calls. Keys are the caller's to keep distinct.
pub struct ObjectWriter<'o> {
    out: &'o mut Vec<u8>,
    /// Whether a member stands before the next one.
    separate: bool,
}

/// Writes the elements of one array, in the order of the calls.
pub struct ArrayWriter<'o> {
    out: &'o mut Vec<u8>,
    separate: bool,
}

impl ObjectWriter<'_> {
    /// A string.
    #[inline]
    pub fn str(&mut self, key: &str, value: &str) -> &mut Self {
        push_string(self.key(key), value);
        self
    }

    /// Bytes off the wire as a string; what is not UTF-8 in them becomes U+FFFD.
    pub fn bytes_lossy(&mut self, key: &str, value: &[u8]) -> &mut Self {
        super::push_bytes_lossy(self.key(key), value);
        self
    }

    /// An unsigned integer.
    #[inline]
    pub fn u64(&mut self, key: &str, value: u64) -> &mut Self {
        push_u64(self.key(key), value);
        self
    }

    /// A signed integer.
    #[inline]
    pub fn i64(&mut self, key: &str, value: i64) -> &mut Self {
        push_i64(self.key(key), value);
        self
    }

    /// A double; what JSON cannot say (infinities, not-a-number) becomes `null`.
    #[inline]
    pub fn f64(&mut self, key: &str, value: f64) -> &mut Self {
        push_f64(self.key(key), value);
        self
    }

    /// A number as it was read.
    pub fn number(&mut self, key: &str, value: Number) -> &mut Self {
        value.write_json(self.key(key));
        self
    }

    /// A boolean.
    #[inline]
    pub fn bool(&mut self, key: &str, value: bool) -> &mut Self {
        push_bool(self.key(key), value);
        self
    }

    /// `null`.
    #[inline]
    pub fn null(&mut self, key: &str) -> &mut Self {
        self.key(key).extend_from_slice(b"null");
        self
    }

    /// A value of a document, as it is.
    #[inline]
    pub fn value(&mut self, key: &str, value: Value<'_>) -> &mut Self {
        value.write_json(self.key(key));
        self
    }

    /// An object.
    #[inline]
    pub fn object(&mut self, key: &str, write: impl FnOnce(&mut ObjectWriter<'_>)) -> &mut Self {
        write_object(self.key(key), write);
        self
    }

    /// An array.
    #[inline]
    pub fn array(&mut self, key: &str, write: impl FnOnce(&mut ArrayWriter<'_>)) -> &mut Self {
        write_array(self.key(key), write);
        self
    }

    /// JSON that was rendered before, unchecked.
    #[inline]
    pub(crate) fn raw(&mut self, key: &str, json: &str) -> &mut Self {
        self.key(key).extend_from_slice(json.as_bytes());
        self
    }

    #[inline]
    fn key(&mut self, key: &str) -> &mut Vec<u8> {
        separate(self.out, &mut self.separate);
        push_string(self.out, key);
        self.out.push(b':');
        self.out
    }
}

impl ArrayWriter<'_> {
    /// A string.
    #[inline]
    pub fn str(&mut self, value: &str) -> &mut Self {
        push_string(self.next(), value);
        self
    }

    /// An unsigned integer.
    #[inline]
    pub fn u64(&mut self, value: u64) -> &mut Self {
        push_u64(self.next(), value);
        self
    }

    /// A signed integer.
    #[inline]
    pub fn i64(&mut self, value: i64) -> &mut Self {
        push_i64(self.next(), value);
        self
    }

    /// A double; what JSON cannot say (infinities, not-a-number) becomes `null`.
    #[inline]
    pub fn f64(&mut self, value: f64) -> &mut Self {
        push_f64(self.next(), value);
        self
    }

    /// A number as it was read.
    pub fn number(&mut self, value: Number) -> &mut Self {
        value.write_json(self.next());
        self
    }

    /// A boolean.
    #[inline]
    pub fn bool(&mut self, value: bool) -> &mut Self {
        push_bool(self.next(), value);
        self
    }

    /// `null`.
    #[inline]
    pub fn null(&mut self) -> &mut Self {
        self.next().extend_from_slice(b"null");
        self
    }

    /// A value of a document, as it is.
    #[inline]
    pub fn value(&mut self, value: Value<'_>) -> &mut Self {
        value.write_json(self.next());
        self
    }

    /// An object.
    #[inline]
    pub fn object(&mut self, write: impl FnOnce(&mut ObjectWriter<'_>)) -> &mut Self {
        write_object(self.next(), write);
        self
    }

    /// An array.
    #[inline]
    pub fn array(&mut self, write: impl FnOnce(&mut ArrayWriter<'_>)) -> &mut Self {
        write_array(self.next(), write);
        self
    }

    #[inline]
    fn next(&mut self) -> &mut Vec<u8> {
        separate(self.out, &mut self.separate);
        self.out
    }
}

#[inline]
fn separate(out: &mut Vec<u8>, separate: &mut bool) {
    if std::mem::replace(separate, true) {
        out.push(b',');
    }
}

fn push_bool(out: &mut Vec<u8>, value: bool) {
    out.extend_from_slice(if value { b"true" } else { b"false" });
}
