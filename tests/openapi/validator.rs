//! What an OpenAPI 3.1 document has to be, checked apart from the code that writes one: by rules of its own here, and by
//! `openapi-spec-validator` (PyPI) where that is installed. CI says where, in `AGTP_OPENAPI_VALIDATOR`.

use serde_json::Value;
use std::collections::HashSet;
use std::process::Command;

/// Panics if the document is wrong.
pub fn assert_valid(document: &Value) {
    let faults = faults(document);
    assert_eq!(faults, [""; 0], "{document:#}");
    independent(document);
}

/// Asks the validator that other people wrote, if there is one.
fn independent(document: &Value) {
    let Ok(validator) = std::env::var("AGTP_OPENAPI_VALIDATOR") else { return };
    let folder = super::common::Folder::with(&[("document.json", &document.to_string())]);
    let output = Command::new(validator).arg(folder.path().join("document.json")).output().unwrap();
    let told =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}");
}

/// Rules of the specification, in its order: required fields, references, operation ids, path parameters, responses, and
/// every schema by the meta-schema of 2020-12.
pub fn faults(document: &Value) -> Vec<String> {
    let mut faults = Vec::new();
    let mut require = |sound: bool, what: String| {
        if !sound {
            faults.push(what);
        }
    };
    require(
        document["openapi"].as_str().is_some_and(|version| version.starts_with("3.1.")),
        "openapi".into(),
    );
    for key in ["title", "version"] {
        require(document["info"][key].is_string(), format!("info.{key}"));
    }
    references(document, document, &mut require);
    let (mut ids, mut shapes) = (HashSet::new(), HashSet::new());
    for (path, item) in document["paths"].as_object().into_iter().flatten() {
        require(path.starts_with('/'), format!("path {path}"));
        let shape: Vec<_> =
            path.split('/').map(|part| if part.starts_with('{') { "{}" } else { part }).collect();
        require(shapes.insert(shape.join("/")), format!("path {path} is there under another name"));
        for (method, operation) in item.as_object().into_iter().flatten() {
            let at = format!("{method} {path}");
            let known = ["get", "put", "post", "delete", "options", "head", "patch", "trace"];
            require(known.contains(&method.as_str()), format!("{at}: method"));
            let id = operation["operationId"].as_str().unwrap_or_default().to_owned();
            require(!id.is_empty() && ids.insert(id), format!("{at}: operationId"));
            self::operation(path, &at, operation, &mut require);
        }
    }
    for (name, schema) in document["components"]["schemas"].as_object().into_iter().flatten() {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
        require(name.bytes().all(plain), format!("component {name}"));
        require(jsonschema::draft202012::meta::is_valid(schema), format!("schema {name}"));
    }
    faults
}

fn operation(path: &str, at: &str, operation: &Value, require: &mut dyn FnMut(bool, String)) {
    let declared = operation["parameters"].as_array().cloned().unwrap_or_default();
    let mut seen = HashSet::new();
    for parameter in &declared {
        let (name, place) =
            (parameter["name"].as_str().unwrap_or_default(), parameter["in"].as_str().unwrap_or_default());
        require(seen.insert((name, place)), format!("{at}: parameter {name} twice"));
        require(
            jsonschema::draft202012::meta::is_valid(&parameter["schema"]),
            format!("{at}: schema of {name}"),
        );
        if place == "path" {
            require(path.contains(&format!("{{{name}}}")), format!("{at}: {name} is not in the path"));
            require(parameter["required"] == true, format!("{at}: {name} is not required"));
        }
    }
    for part in path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}')) {
        require(seen.contains(&(part, "path")), format!("{at}: {part} is not declared"));
    }
    let body = &operation["requestBody"];
    if !body.is_null() {
        let schema = &body["content"]["application/json"]["schema"];
        require(jsonschema::draft202012::meta::is_valid(schema), format!("{at}: body"));
    }
    let responses = operation["responses"].as_object().cloned().unwrap_or_default();
    require(!responses.is_empty(), format!("{at}: responses"));
    for (status, response) in &responses {
        require(response["description"].is_string(), format!("{at}: {status}"));
        let schema = &response["content"]["application/json"]["schema"];
        require(jsonschema::draft202012::meta::is_valid(schema), format!("{at}: schema of {status}"));
    }
}

/// Every reference leads somewhere.
fn references(document: &Value, value: &Value, require: &mut dyn FnMut(bool, String)) {
    match value {
        Value::Object(members) => {
            if let Some(reference) = members.get("$ref").and_then(Value::as_str) {
                let target = reference.strip_prefix('#').and_then(|pointer| document.pointer(pointer));
                require(target.is_some(), format!("{reference} leads nowhere"));
            }
            members.values().for_each(|member| references(document, member, require));
        }
        Value::Array(list) => list.iter().for_each(|item| references(document, item, require)),
        _ => {}
    }
}

#[test]
fn the_rules_find_what_is_wrong() {
    let sound = || {
        serde_json::json!({
            "openapi": "3.1.0",
            "info": {"title": "t", "version": "1"},
            "paths": {"/a/{b}": {"get": {
                "operationId": "x",
                "parameters": [{"name": "b", "in": "path", "required": true, "schema": {"$ref": "#/components/schemas/S"}}],
                "responses": {"200": {"description": "d", "content": {"application/json": {"schema": {}}}}},
            }}},
            "components": {"schemas": {"S": {"type": "string"}}},
        })
    };
    assert_eq!(faults(&sound()), [""; 0]);
    for (pointer, value) in [
        ("/openapi", "2.0".into()),
        ("/info/title", Value::Null),
        ("/paths/~1a~1{b}/get/operationId", "".into()),
        ("/paths/~1a~1{b}/get/parameters/0/required", false.into()),
        ("/paths/~1a~1{b}/get/parameters/0/name", "c".into()),
        ("/paths/~1a~1{b}/get/parameters/0/schema/$ref", "#/components/schemas/T".into()),
        ("/paths/~1a~1{b}/get/responses", serde_json::json!({})),
        ("/components/schemas/S/type", "text".into()),
    ] {
        let mut broken = sound();
        *broken.pointer_mut(pointer).unwrap() = value;
        assert_ne!(faults(&broken), [""; 0], "{pointer}");
    }
}
