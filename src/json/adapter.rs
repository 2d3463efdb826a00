//! The tape as a representation that `jsonschema` validates as it is.

use super::{Array, Elements, Kind, Members, Number, Object, Value, unique};
use jsonschema::JsonType;
use jsonschema::json;
use serde_json::Value as Copied;
use simd_json::Node;
use std::borrow::Cow;
use std::ops::ControlFlow;

/// Names the representation.
pub(super) struct TapeJson;

impl json::Json for TapeJson {
    type Node<'a> = Value<'a>;
    type PreparedKey = Box<str>;
    type StringBuffer = ();

    // A look-up walks the keys, so one pass over them all is never dearer than even a single look-up for each name.
    const KEYS_PER_LOOKUP: usize = 8;
    const ACYCLIC: bool = true;

    fn prepare_key(key: &str) -> Box<str> {
        key.into()
    }

    fn with_string_node<T>((): &mut (), string: &str, f: impl FnOnce(Value<'_>) -> T) -> T {
        f(Value::of(&[Node::String(string)]))
    }
}

impl<'a> json::Node<'a, TapeJson> for Value<'a> {
    type Object = Object<'a>;
    type Array = Array<'a>;
    type Number = Number;

    #[inline]
    fn as_object(&self) -> Option<Object<'a>> {
        Value::as_object(*self)
    }

    #[inline]
    fn as_array(&self) -> Option<Array<'a>> {
        Value::as_array(*self)
    }

    #[inline]
    fn as_string(&self) -> Option<Cow<'a, str>> {
        self.as_str().map(Cow::Borrowed)
    }

    #[inline]
    fn as_number(&self) -> Option<Number> {
        Value::as_number(*self)
    }

    #[inline]
    fn as_boolean(&self) -> Option<bool> {
        self.as_bool()
    }

    #[inline]
    fn is_null(&self) -> bool {
        Value::is_null(*self)
    }

    #[inline]
    fn json_type(&self) -> JsonType {
        match self.kind() {
            Kind::Null => JsonType::Null,
            Kind::Bool => JsonType::Boolean,
            Kind::Number => JsonType::Number,
            Kind::String => JsonType::String,
            Kind::Array => JsonType::Array,
            Kind::Object => JsonType::Object,
        }
    }

    fn string_length(&self) -> Option<u64> {
        self.as_str().map(code_points)
    }

    fn string_length_within(&self, min: u64, max: u64) -> Option<bool> {
        let text = self.as_str()?;
        // A code point takes one to four bytes, which often decides without counting.
        let (fewest, most) = ((text.len() as u64).div_ceil(4), text.len() as u64);
        if most < min || fewest > max {
            return Some(false);
        }
        Some((min <= fewest && most <= max) || (min..=max).contains(&code_points(text)))
    }

    fn equals_value(&self, expected: &Copied) -> bool {
        unique::equals(*self, expected)
    }

    fn to_value(&self) -> Cow<'a, Copied> {
        Cow::Owned(copied(*self))
    }

    fn identity(&self) -> Option<json::NodeIdentity> {
        Some(json::NodeIdentity::new(self.address()))
    }
}

/// Bytes that are not continuations of a character.
fn code_points(text: &str) -> u64 {
    text.bytes().filter(|byte| byte & 0xC0 != 0x80).count() as u64
}

/// For messages about failures only.
fn copied(value: Value<'_>) -> Copied {
    match value.kind() {
        Kind::Null => Copied::Null,
        Kind::Bool => Copied::Bool(value.as_bool().unwrap_or_default()),
        Kind::Number => {
            value.as_number().map_or(Copied::Null, |number| Copied::Number(copied_number(number)))
        }
        Kind::String => Copied::String(value.as_str().unwrap_or_default().to_owned()),
        Kind::Array => Copied::Array(value.elements().map(copied).collect()),
        Kind::Object => {
            Copied::Object(value.members().map(|(key, value)| (key.to_owned(), copied(value))).collect())
        }
    }
}

fn copied_number(number: Number) -> serde_json::Number {
    match number {
        Number::U64(value) => value.into(),
        Number::I64(value) => value.into(),
        Number::F64(value) => serde_json::Number::from_f64(value).unwrap_or_else(|| 0.into()),
    }
}

/// As `serde_json` has it, which the validator's arithmetic is written for: a double is no integer here, whatever its
/// value.
impl json::JsonNumber for Number {
    #[inline]
    fn as_u64(&self) -> Option<u64> {
        match self {
            Number::F64(_) => None,
            integer => Number::as_u64(*integer),
        }
    }

    #[inline]
    fn as_i64(&self) -> Option<i64> {
        match self {
            Number::F64(_) => None,
            integer => Number::as_i64(*integer),
        }
    }

    #[inline]
    fn as_f64(&self) -> Option<f64> {
        Some(Number::as_f64(*self))
    }

    fn as_str(&self) -> Cow<'_, str> {
        // `multipleOf` asks this of zeros: the common answer needs no memory.
        if Number::as_f64(*self) == 0.0 {
            return Cow::Borrowed("0");
        }
        Cow::Owned(copied_number(*self).to_string())
    }

    fn to_number(&self) -> Cow<'_, serde_json::Number> {
        Cow::Owned(copied_number(*self))
    }

    #[inline]
    fn is_integer(&self) -> bool {
        Number::is_integer(*self)
    }

    fn is_written_as_integer(&self) -> bool {
        !matches!(self, Number::F64(_))
    }
}

impl<'a> json::Object<'a, TapeJson> for Object<'a> {
    type Node = Value<'a>;
    type MemberName = &'a str;
    type MembersIter = Members<'a>;

    #[inline]
    fn len(&self) -> usize {
        Object::len(self)
    }

    #[inline]
    fn get(&self, key: &Box<str>) -> Option<Value<'a>> {
        Object::get(self, key)
    }

    #[inline]
    fn members(&self) -> Members<'a> {
        Object::members(self)
    }

    fn try_for_each_name_node<B>(
        &self,
        (): &mut (),
        mut f: impl FnMut(Value<'_>) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        let mut members = Object::members(self);
        while let Some((name, _)) = members.next_nodes() {
            f(name)?;
        }
        ControlFlow::Continue(())
    }
}

impl<'a> json::Array<'a, TapeJson> for Array<'a> {
    type Node = Value<'a>;
    type ElementsIter = Elements<'a>;

    #[inline]
    fn len(&self) -> usize {
        Array::len(self)
    }

    #[inline]
    fn elements(&self) -> Elements<'a> {
        Array::elements(self)
    }

    fn is_unique(&self) -> bool {
        unique::is_unique(*self)
    }
}
