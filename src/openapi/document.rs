//! An OpenAPI document, of which nothing is taken for granted: real ones are sloppy.

use serde_json::{Map, Value};

/// Bytes of a document that are read at most: the largest public ones have about ten million.
pub const MOST_BYTES: usize = 64 << 20;

/// Which JSON Schema the document's schemas are written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    /// 3.0: `nullable`, `exclusiveMinimum: true`, a reference hides what stands beside it.
    V30,
    /// 3.1 and later: draft 2020-12.
    V31,
}

/// A parsed document.
#[derive(Debug)]
pub(super) struct Document {
    pub(super) root: Value,
    pub(super) dialect: Dialect,
}

impl Document {
    /// Reads JSON or YAML. The error is one line.
    pub(super) fn parse(text: &str) -> Result<Document, String> {
        if text.len() > MOST_BYTES {
            return Err(format!("it has {} bytes; {MOST_BYTES} at most are read", text.len()));
        }
        let text = text.trim_start_matches('\u{feff}');
        let root = if text.trim_start().starts_with('{') { json(text) } else { yaml(text) }?;
        let dialect = dialect(&root)?;
        if !root.get("paths").is_some_and(Value::is_object) {
            return Err("it has no \"paths\" object, so there is nothing to import".to_owned());
        }
        Ok(Document { root, dialect })
    }

    /// An object of the root; an empty one if it is not there.
    pub(super) fn block(&self, key: &str) -> &Map<String, Value> {
        members(self.root.get(key))
    }
}

/// The members of an object; none of anything else.
pub(super) fn members(value: Option<&Value>) -> &Map<String, Value> {
    static EMPTY: std::sync::LazyLock<Map<String, Value>> = std::sync::LazyLock::new(Map::new);
    value.and_then(Value::as_object).unwrap_or(&EMPTY)
}

/// The elements of an array; none of anything else.
pub(super) fn elements(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// A text of an object, without the white space around it; nothing if it is empty.
pub(super) fn text<'v>(object: &'v Map<String, Value>, key: &str) -> Option<&'v str> {
    object.get(key).and_then(Value::as_str).map(str::trim).filter(|text| !text.is_empty())
}

fn json(text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|error| format!("it is no JSON: {error}"))
}

/// Nodes of a YAML document at most, and events, of which a collection is two. The largest public documents have some
/// hundred thousand. What aliases expand to has a limit of the parser's own, a million events.
const MOST_NODES: usize = 4_000_000;

/// Words are what YAML 1.2 has: `no` and `on` are texts, and so is `007`.
fn yaml(text: &str) -> Result<Value, String> {
    let mut budget = serde_saphyr::Budget::default();
    budget.max_nodes = MOST_NODES;
    budget.max_events = 2 * MOST_NODES;
    let options = serde_saphyr::options! {
        strict_booleans: true,
        leading_zero_numbers_as_strings: true,
        with_snippet: false,
        budget: Some(budget),
    };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        let message = error.to_string();
        let line = message.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
        format!("it is neither JSON nor usable YAML: {line}")
    })
}

fn dialect(root: &Value) -> Result<Dialect, String> {
    let version = match root.get("openapi") {
        Some(Value::String(version)) => version.clone(),
        // `openapi: 3.0` without quotes is a number in YAML.
        Some(Value::Number(version)) => version.to_string(),
        _ if root.get("swagger").is_some() => {
            return Err("it is a Swagger 2.0 document; convert it to OpenAPI 3 first (swagger2openapi does)"
                .to_owned());
        }
        _ => return Err("it says no \"openapi\" version, so it is no OpenAPI document".to_owned()),
    };
    if version == "3.0" || version.starts_with("3.0.") {
        return Ok(Dialect::V30);
    }
    if ["3.1", "3.2"]
        .iter()
        .any(|known| version.strip_prefix(known).is_some_and(|rest| rest.is_empty() || rest.starts_with('.')))
    {
        return Ok(Dialect::V31);
    }
    Err(format!("it is OpenAPI {version}; versions 3.0, 3.1 and 3.2 are read"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(text: &str) -> String {
        Document::parse(text).unwrap_err()
    }

    #[test]
    fn json_and_yaml_come_to_the_same() {
        let json = r#"{"openapi": "3.0.3", "paths": {"/a": {"get": {"responses": {"200": {}}}}}}"#;
        let yaml = "openapi: 3.0.3\npaths:\n  /a:\n    get:\n      responses:\n        200: {}\n";
        let (json, yaml) = (Document::parse(json).unwrap(), Document::parse(yaml).unwrap());
        assert_eq!(json.root, yaml.root);
        assert_eq!(json.dialect, Dialect::V30);
        assert_eq!(Document::parse("openapi: 3.1\npaths: {}").unwrap().dialect, Dialect::V31);
    }

    #[test]
    fn yaml_words_stay_what_they_are() {
        let document =
            Document::parse("openapi: 3.1.0\npaths: {}\nx: [no, on, 2020-01-01, 007, ~, 1e3, true, 12]\n");
        let expected = serde_json::json!(["no", "on", "2020-01-01", "007", null, 1000.0, true, 12]);
        assert_eq!(document.unwrap().root["x"], expected);
    }

    #[test]
    fn aliases_are_followed_but_not_without_end() {
        let shared = "openapi: 3.1.0\npaths: {}\na: &a {b: 1}\nc: *a\n";
        assert_eq!(Document::parse(shared).unwrap().root["c"], serde_json::json!({"b": 1}));
        let mut bomb = "openapi: 3.1.0\npaths: {}\nl0: &l0 [x,x,x,x,x,x,x,x,x]\n".to_owned();
        for level in 1..12 {
            let before = format!("*l{},", level - 1).repeat(9);
            bomb.push_str(&format!("l{level}: &l{level} [{}]\n", before.trim_end_matches(',')));
        }
        let fault = fault(&bomb);
        assert!(fault.contains("usable YAML") && !fault.contains('\n'), "{fault}");
    }

    #[test]
    fn what_is_no_openapi_document_is_told_apart() {
        assert!(fault("{").contains("no JSON"));
        assert!(fault("a: [").contains("usable YAML"));
        assert!(fault("{}").contains("\"openapi\""));
        assert!(fault(r#"{"swagger":"2.0"}"#).contains("Swagger 2.0"));
        assert!(fault(r#"{"openapi":"4.0.0","paths":{}}"#).contains("4.0.0"));
        assert!(fault(r#"{"openapi":"3.0.0"}"#).contains("paths"));
    }
}
