//! Values as serde sees them: strings are borrowed, objects are maps or structs, enums are tagged from outside.

use super::{Kind, Number, Value};
use serde::Deserializer;
use serde::de::value::{Error, MapAccessDeserializer, MapDeserializer, SeqDeserializer};
use serde::de::{Error as _, IntoDeserializer, Visitor};
use serde::forward_to_deserialize_any;

impl<'a> IntoDeserializer<'a> for Value<'a> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

/// An integer may be written `2.0`: JSON Schema counts that as one, so a validated input may hold it.
macro_rules! integers {
    ($($method:ident)*) => {
        $(
            fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
                match (self.as_u64(), self.as_i64()) {
                    (Some(value), _) => visitor.visit_u64(value),
                    (None, Some(value)) => visitor.visit_i64(value),
                    (None, None) => self.deserialize_any(visitor),
                }
            }
        )*
    };
}

impl<'de> Deserializer<'de> for Value<'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.kind() {
            Kind::Null => visitor.visit_unit(),
            Kind::Bool => visitor.visit_bool(self.as_bool().unwrap_or_default()),
            Kind::Number => match self.as_number().unwrap_or(Number::U64(0)) {
                Number::U64(value) => visitor.visit_u64(value),
                Number::I64(value) => visitor.visit_i64(value),
                Number::F64(value) => visitor.visit_f64(value),
            },
            Kind::String => visitor.visit_borrowed_str(self.as_str().unwrap_or_default()),
            Kind::Array => {
                let mut elements = SeqDeserializer::new(self.elements());
                let value = visitor.visit_seq(&mut elements)?;
                elements.end()?;
                Ok(value)
            }
            Kind::Object => {
                let mut members = MapDeserializer::new(self.members());
                let value = visitor.visit_map(&mut members)?;
                members.end()?;
                Ok(value)
            }
        }
    }

    integers! {
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match self.kind() {
            Kind::String => visitor.visit_enum(self.as_str().unwrap_or_default().into_deserializer()),
            Kind::Object => {
                visitor.visit_enum(MapAccessDeserializer::new(MapDeserializer::new(self.members())))
            }
            _ => Err(Error::custom("an enum is a string, or an object with one member")),
        }
    }

    forward_to_deserialize_any! {
        bool i128 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map struct
        identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use crate::json::{PADDING, TapeBuffers};
    use serde::Deserialize;
    use std::collections::BTreeMap;

    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(rename_all = "snake_case")]
    enum Kind {
        Single,
        Shared { beds: u8 },
    }

    #[derive(Debug, Deserialize, PartialEq)]
    struct Nights(u32);

    #[derive(Debug, Deserialize, PartialEq)]
    struct Booking<'a> {
        guest: &'a str,
        nights: Nights,
        price: f64,
        offset: i64,
        kind: Kind,
        other: Kind,
        note: Option<String>,
        absent: Option<bool>,
        tags: Vec<&'a str>,
        prices: BTreeMap<String, u64>,
        pair: (bool, ()),
    }

    fn read<T: for<'a> Deserialize<'a>>(json: &str) -> Result<T, String> {
        let mut bytes = json.as_bytes().to_vec();
        bytes.resize(json.len() + PADDING, 0);
        let mut buffers = TapeBuffers::new();
        let document = buffers.parse(&mut bytes, json.len(), 64).unwrap();
        T::deserialize(document.root()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_struct_borrows_from_the_document() {
        let json = r#"{"guest":"Ad\u0061","nights":2.0,"price":7,"offset":-3,"kind":"single",
            "other":{"shared":{"beds":4}},"note":null,"tags":["a","b"],"prices":{"x":1},"pair":[true,null],"more":[{}]}"#;
        let mut bytes = json.as_bytes().to_vec();
        bytes.resize(json.len() + PADDING, 0);
        let mut buffers = TapeBuffers::new();
        let document = buffers.parse(&mut bytes, json.len(), 64).unwrap();
        let booking = Booking::deserialize(document.root()).unwrap();
        let expected = Booking {
            guest: "Ada",
            nights: Nights(2),
            price: 7.0,
            offset: -3,
            kind: Kind::Single,
            other: Kind::Shared { beds: 4 },
            note: None,
            absent: None,
            tags: vec!["a", "b"],
            prices: BTreeMap::from([("x".to_owned(), 1)]),
            pair: (true, ()),
        };
        assert_eq!(booking, expected);
    }

    #[test]
    fn agrees_with_serde_json_on_any_document() {
        let json = r#"{"a":[1,-2,3.5,1e300,18446744073709551615,"\n\u00e9",true,null,{"b":{}}],"c":[]}"#;
        assert_eq!(
            read::<serde_json::Value>(json).unwrap(),
            serde_json::from_str::<serde_json::Value>(json).unwrap()
        );
    }

    #[test]
    fn what_does_not_fit_is_an_error() {
        assert!(read::<u8>("300").unwrap_err().contains("300"));
        assert!(read::<u8>("2.5").is_err());
        assert!(read::<Kind>("\"double\"").unwrap_err().contains("double"));
        assert!(read::<Kind>("7").is_err());
        assert!(read::<(u8, u8)>("[1,2,3]").is_err());
        assert!(read::<String>("1").is_err());
    }
}
