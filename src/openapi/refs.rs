//! References within the document.

use super::document::Document;
use serde_json::Value;

/// References in a row that are followed at most.
const MOST_STEPS: usize = 32;

/// What a chain of references ends at.
#[derive(Clone, Debug)]
pub(super) struct Target<'d> {
    pub(super) value: &'d Value,
    /// The JSON Pointer of the last reference; nothing if there was none.
    pub(super) pointer: Option<String>,
}

impl Document {
    /// Follows a value that is a reference to the first that is none. The error says which reference leads nowhere.
    pub(super) fn follow<'d>(&'d self, value: &'d Value) -> Result<Target<'d>, String> {
        let mut target = Target { value, pointer: None };
        for _ in 0..MOST_STEPS {
            let Some(reference) = target.value.get("$ref").and_then(Value::as_str) else { return Ok(target) };
            let pointer = pointer(reference)?;
            target.value = self.at(reference, &pointer)?;
            target.pointer = Some(pointer);
        }
        Err("its references run in a circle".to_owned())
    }

    /// What stands at a pointer.
    pub(super) fn at(&self, reference: &str, pointer: &str) -> Result<&Value, String> {
        self.root.pointer(pointer).ok_or_else(|| format!("reference \"{reference}\" leads nowhere"))
    }
}

/// The JSON Pointer of a reference within the document.
pub(super) fn pointer(reference: &str) -> Result<String, String> {
    let Some(fragment) = reference.strip_prefix('#') else {
        return Err(format!("reference \"{reference}\" leads out of the document; bundle it into one first"));
    };
    let decoded = decode(fragment).filter(|pointer| pointer.is_empty() || pointer.starts_with('/'));
    decoded.ok_or_else(|| format!("reference \"{reference}\" is no JSON Pointer"))
}

fn decode(fragment: &str) -> Option<String> {
    if !fragment.contains('%') {
        return Some(fragment.to_owned());
    }
    let mut bytes = Vec::with_capacity(fragment.len());
    let mut rest = fragment.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        let digits = tail.first_chunk::<2>().filter(|_| byte == b'%');
        let hex = |digit: u8| char::from(digit).to_digit(16);
        let value = digits.and_then(|&[high, low]| Some((hex(high)? << 4 | hex(low)?) as u8));
        bytes.push(value.unwrap_or(byte));
        rest = if value.is_some() { tail.get(2..)? } else { tail };
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document() -> Document {
        let text = r##"{"openapi":"3.1.0","paths":{},"components":{
            "a b": {"$ref": "#/components/c~1d"}, "c/d": {"x": 1},
            "e": {"$ref": "#/components/f"}, "f": {"$ref": "#/components/e"}}}"##;
        Document::parse(text).unwrap()
    }

    #[test]
    fn references_are_followed_to_their_end() {
        let document = document();
        let start = serde_json::json!({"$ref": "#/components/a%20b"});
        let target = document.follow(&start).unwrap();
        assert_eq!(
            (target.value["x"].as_i64(), target.pointer.as_deref()),
            (Some(1), Some("/components/c~1d"))
        );
        let plain = serde_json::json!({"x": 2});
        assert!(document.follow(&plain).unwrap().pointer.is_none());
    }

    #[test]
    fn those_that_end_nowhere_are_named() {
        let document = document();
        for (reference, why) in [
            ("#/components/none", "leads nowhere"),
            ("other.yaml#/x", "bundle"),
            ("#anchor", "no JSON Pointer"),
            ("#/components/e", "circle"),
        ] {
            let fault = document.follow(&serde_json::json!({"$ref": reference})).unwrap_err();
            assert!(fault.contains(why), "{fault}");
        }
    }
}
