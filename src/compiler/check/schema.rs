//! JSON Schemas: valid 2020-12, compilable without leaving the document, formats known (draft: Validation Timing, D16).

use super::Finding;
use crate::compiler::{Severity, rules};
use jsonschema::{Draft, ValidationOptions};
use serde_json::Value;
use std::cell::RefCell;
use std::collections::HashSet;

/// A finding and the JSON Pointer of what it is about.
pub(in crate::compiler) type Located = (String, Finding);

/// Checks schemas, each distinct one once: thousands of endpoints tend to share a few.
#[derive(Debug, Default)]
pub(in crate::compiler) struct SchemaChecker {
    sound: RefCell<HashSet<String>>,
}

impl SchemaChecker {
    /// All that is wrong with a schema.
    pub(in crate::compiler) fn check(&self, schema: &Value) -> Vec<Located> {
        let text = schema.to_string();
        if self.sound.borrow().contains(&text) {
            return Vec::new();
        }
        let findings = check(schema);
        if findings.is_empty() {
            self.sound.borrow_mut().insert(text);
        }
        findings
    }
}

fn check(schema: &Value) -> Vec<Located> {
    let mut findings: Vec<_> = dialect(schema).into_iter().collect();
    findings.extend(meta_schema(schema));
    let mut keywords = Keywords { root: schema, findings };
    keywords.walk(schema, "");
    let mut findings = keywords.findings;
    // The compiler stops at its first fault, so it is asked last, for what nothing above has found.
    if findings.iter().all(|(_, finding)| finding.rule.severity == Severity::Warning) {
        findings.extend(compile(schema));
    }
    findings
}

/// An input schema's strictness (draft: Schema Strictness).
pub(in crate::compiler) fn lax(schema: &Value) -> Vec<Located> {
    let mut findings = Vec::new();
    if schema.get("type") != Some(&Value::from("object")) {
        let message = "the input schema does not set \"type\": \"object\"";
        let finding = Finding::new(&rules::SCHEMA_LAX, message, "an input is always an object: say so");
        findings.push(("/type".to_owned(), finding));
    }
    if schema.get("additionalProperties") != Some(&Value::Bool(false)) {
        let message = "the input schema does not set \"additionalProperties\": false";
        let help = "undeclared input must be refused: set \"additionalProperties\": false at the top";
        let pointer = "/additionalProperties".to_owned();
        findings.push((pointer, Finding::new(&rules::SCHEMA_LAX, message, help)));
    }
    findings
}

fn options() -> ValidationOptions<'static> {
    jsonschema::draft202012::options().should_validate_formats(true).offline()
}

fn dialect(schema: &Value) -> Option<Located> {
    let dialect = schema.get("$schema")?.as_str()?;
    if dialect.trim_end_matches('#') == "https://json-schema.org/draft/2020-12/schema" {
        return None;
    }
    let message = format!("the schema is written in \"{dialect}\"");
    let help = "write it in draft 2020-12 and leave \"$schema\" out";
    Some(("/$schema".to_owned(), Finding::new(&rules::SCHEMA_DIALECT, message, help)))
}

fn meta_schema(schema: &Value) -> Vec<Located> {
    let validator = jsonschema::draft202012::meta::validator();
    let errors = validator.iter_errors(schema);
    let mut findings: Vec<Located> = errors
        .map(|error| {
            let pointer = error.instance_path().as_str().to_owned();
            let message = format!("the schema is invalid at \"{pointer}\": {error}");
            let help = match pointer.rsplit('/').next() {
                Some("type") => "types are string, integer, number, boolean, object, array and null",
                _ => "see the JSON Schema 2020-12 meta-schema for what the keyword takes",
            };
            (pointer, Finding::new(&rules::SCHEMA_INVALID, message, help))
        })
        .collect();
    // The meta-schema is a composition: one bad keyword can be reported by several of its vocabularies.
    findings.dedup_by(|a, b| a.0 == b.0 && a.1.message == b.1.message);
    findings
}

/// References are resolved within the document only: a deployment is checked and served without the network.
fn compile(schema: &Value) -> Option<Located> {
    let error = options().build(schema).err()?;
    let message = format!("the schema does not compile: {error}");
    let help = "references stay inside of the schema, as in \"#/$defs/name\"";
    let finding = Finding::new(&rules::SCHEMA_BROKEN, message, help);
    Some((error.instance_path().as_str().to_owned(), finding))
}

const ONE_SCHEMA: [&str; 11] = [
    "additionalProperties",
    "unevaluatedProperties",
    "propertyNames",
    "items",
    "unevaluatedItems",
    "contains",
    "not",
    "if",
    "then",
    "else",
    "contentSchema",
];
const MANY_SCHEMAS: [&str; 4] = ["allOf", "anyOf", "oneOf", "prefixItems"];
const NAMED_SCHEMAS: [&str; 4] = ["properties", "patternProperties", "$defs", "dependentSchemas"];

/// Checks of single keywords, wherever in a schema they stand.
struct Keywords<'s> {
    root: &'s Value,
    findings: Vec<Located>,
}

impl Keywords<'_> {
    /// Visits the places where schemas stand, so that a property called `format` is taken for what it is.
    fn walk(&mut self, schema: &Value, pointer: &str) {
        for (keyword, value) in schema.as_object().into_iter().flatten() {
            let at = format!("{pointer}/{}", escape(keyword));
            let keyword = keyword.as_str();
            if ONE_SCHEMA.contains(&keyword) {
                self.walk(value, &at);
            } else if MANY_SCHEMAS.contains(&keyword) {
                for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                    self.walk(item, &format!("{at}/{index}"));
                }
            } else if NAMED_SCHEMAS.contains(&keyword) {
                for (name, item) in value.as_object().into_iter().flatten() {
                    let at = format!("{at}/{}", escape(name));
                    let pattern = if keyword == "patternProperties" { bad_pattern(name) } else { None };
                    self.findings.extend(pattern.map(|finding| (at.clone(), finding)));
                    self.walk(item, &at);
                }
            } else if let Some(text) = value.as_str() {
                let finding = match keyword {
                    "format" => unknown_format(text),
                    "pattern" => bad_pattern(text),
                    "$ref" => self.dangling(text),
                    _ => None,
                };
                self.findings.extend(finding.map(|finding| (at, finding)));
            }
        }
    }

    /// A reference by JSON Pointer that leads nowhere. Others are the schema compiler's to resolve.
    fn dangling(&self, reference: &str) -> Option<Finding> {
        let pointer =
            reference.strip_prefix('#').filter(|rest| rest.starts_with('/') && !rest.contains('%'))?;
        // A subschema with an identifier of its own is another root.
        if self.root.pointer(pointer).is_some() || self.root.to_string().contains("\"$id\"") {
            return None;
        }
        let message = format!("reference \"{reference}\" leads nowhere");
        Some(Finding::new(
            &rules::SCHEMA_BROKEN,
            message,
            "define it under \"$defs\", or correct the reference",
        ))
    }
}

fn escape(token: &str) -> String {
    token.replace('~', "~0").replace('/', "~1")
}

fn bad_pattern(pattern: &str) -> Option<Finding> {
    options().build(&serde_json::json!({"pattern": pattern})).err()?;
    let message = format!("pattern \"{pattern}\" is no regular expression");
    Some(Finding::new(&rules::SCHEMA_BROKEN, message, "write it as ECMA-262 has it"))
}

fn unknown_format(name: &str) -> Option<Finding> {
    if options().is_known_format(Draft::Draft202012, name) {
        return None;
    }
    let message = format!("format \"{name}\" is none that is checked");
    let help = "use a format of JSON Schema 2020-12, or a \"pattern\"; any value passes this one";
    Some(Finding::new(&rules::SCHEMA_FORMAT, message, help))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn codes(schema: Value) -> Vec<(String, &'static str)> {
        let findings = SchemaChecker::default().check(&schema);
        findings.into_iter().map(|(pointer, finding)| (pointer, finding.rule.code)).collect()
    }

    fn only(pointer: &str, code: &'static str) -> Vec<(String, &'static str)> {
        vec![(pointer.to_owned(), code)]
    }

    #[test]
    fn sound_schemas_pass() {
        assert_eq!(codes(json!({})), []);
        assert_eq!(codes(json!(true)), []);
        assert_eq!(
            codes(json!({
                "$schema": "https://json-schema.org/draft/2020-12/schema",
                "$defs": {"id": {"type": "string", "format": "uuid"}},
                "properties": {"format": {"$ref": "#/$defs/id"}, "x": {"const": {"format": "none"}}},
            })),
            []
        );
    }

    #[test]
    fn each_fault_is_found_where_it_is() {
        assert_eq!(
            codes(json!({"properties": {"a": {"type": "strnig"}}})),
            only("/properties/a/type", "schema-invalid")
        );
        assert_eq!(codes(json!({"required": "a"})), only("/required", "schema-invalid"));
        assert_eq!(codes(json!({"minLength": -1})), only("/minLength", "schema-invalid"));
        assert_eq!(codes(json!(7)), only("", "schema-invalid"));
        assert_eq!(
            codes(json!({"$schema": "http://json-schema.org/draft-07/schema#"})),
            only("/$schema", "schema-dialect")
        );
        assert_eq!(
            codes(json!({"items": {"anyOf": [{}, {"format": "zip-code"}]}})),
            only("/items/anyOf/1/format", "schema-format-unknown")
        );
    }

    #[test]
    fn what_does_not_compile_is_refused_without_asking_the_network() {
        let broken = "schema-does-not-compile";
        assert_eq!(codes(json!({"$ref": "#/$defs/none"})), only("/$ref", broken));
        assert_eq!(codes(json!({"$ref": "https://example.com/schema.json"})).len(), 1);
        assert_eq!(codes(json!({"$ref": "#anchor"})).len(), 1);
        assert_eq!(codes(json!({"items": {"pattern": "("}})), only("/items/pattern", broken));
        assert_eq!(codes(json!({"patternProperties": {"a/(": {}}})), only("/patternProperties/a~1(", broken));
        assert_eq!(
            codes(json!({"minLength": -1, "not": {"pattern": "("}, "$ref": "#/x"})).len(),
            3,
            "all at once"
        );
    }

    #[test]
    fn an_input_is_a_strict_object() {
        let lax = |schema: Value| lax(&schema).len();
        assert_eq!(lax(json!({"type": "object", "additionalProperties": false})), 0);
        assert_eq!(lax(json!({"type": "object"})), 1);
        assert_eq!(lax(json!({"type": ["object"], "additionalProperties": {}})), 2);
        assert_eq!(lax(json!(true)), 2);
    }
}
