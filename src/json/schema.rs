//! JSON Schema, draft 2020-12, on tapes (D16).

use super::adapter::TapeJson;
use super::{Value, email};
use jsonschema::error::ValidationErrorKind as Broken;
use jsonschema::{Draft, ValidationError, Validator};

/// A compiled schema.
///
/// `format` is asserted for the formats of 2020-12 and ignored for unknown ones; `default` is documentation; a `$ref`
/// outside the schema is refused when it is compiled.
pub struct Schema(Validator<TapeJson>);

/// One way in which a value fails its schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// JSON Pointer to the offending value; to the property itself when it is missing or undeclared (D27).
    pub field: String,
    /// JSON Pointer into the schema, to the keyword that is not satisfied.
    pub schema_path: String,
    /// What is wrong.
    pub message: String,
}

impl Schema {
    /// Compiles a schema from its JSON text.
    ///
    /// # Errors
    /// What makes the text no schema of draft 2020-12 that can be compiled without the network.
    pub fn compile(text: &str) -> Result<Schema, String> {
        let schema =
            serde_json::from_str(text).map_err(|error| format!("the schema is not JSON: {error}"))?;
        let built = jsonschema::options_for::<TapeJson>()
            .with_draft(Draft::Draft202012)
            .should_validate_formats(true)
            .should_ignore_unknown_formats(true)
            .with_format("email", email::is_email)
            .with_format("idn-email", email::is_idn_email)
            .offline()
            .build(&schema);
        built.map(Schema).map_err(|error| match error.instance_path().as_str() {
            "" => error.to_string(),
            place => format!("{error} (at {place})"),
        })
    }

    /// Whether `value` satisfies the schema.
    ///
    /// Does not allocate, but for these: the format `regex`, e-mail addresses out of the ordinary, `multipleOf` of
    /// doubles from 2^53 on, a `$ref` that recurs, and wide objects in differing order under `uniqueItems`.
    #[inline]
    pub fn is_valid(&self, value: Value<'_>) -> bool {
        self.0.is_valid(value)
    }

    /// The first `max` ways in which `value` fails. Allocates: call it once [`is_valid`](Self::is_valid) said no.
    #[cold]
    pub fn report(&self, value: Value<'_>, max: usize) -> Vec<Violation> {
        self.0.iter_errors(value).flat_map(|error| violations(&error, max)).take(max).collect()
    }
}

/// Most bytes of a key, a value or a pointer that are quoted. What explains a refusal must not be larger than what was
/// refused: an answer many times the size of its request is a way to fill a server's memory.
const MOST_QUOTED: usize = 200;

/// Text as far as it is quoted.
fn quoted(mut text: String) -> String {
    if text.len() > MOST_QUOTED {
        text.truncate(text.floor_char_boundary(MOST_QUOTED));
        text.push('…');
    }
    text
}

/// One violation per offending place, at most `max`.
fn violations(error: &ValidationError<'_>, max: usize) -> Vec<Violation> {
    let at = |property: Option<&str>, message: String| Violation {
        field: quoted(field(error.instance_path().as_str(), property)),
        schema_path: quoted(error.schema_path().as_str().to_owned()),
        message: quoted(message),
    };
    match error.kind() {
        Broken::Required { property } => vec![at(property.as_str(), error.to_string())],
        Broken::AdditionalProperties { unexpected } | Broken::UnevaluatedProperties { unexpected } => {
            unexpected
                .iter()
                .take(max)
                .map(|name| {
                    at(Some(name), format!("the property `{}` is not declared", quoted(name.clone())))
                })
                .collect()
        }
        Broken::PropertyNames { error: inner } => vec![at(inner.instance().as_str(), error.to_string())],
        _ => vec![at(None, error.to_string())],
    }
}

/// A place, or a property of it.
fn field(place: &str, property: Option<&str>) -> String {
    match property {
        Some(name) => format!("{place}/{}", name.replace('~', "~0").replace('/', "~1")),
        None => place.to_owned(),
    }
}
