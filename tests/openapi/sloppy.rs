//! Documents as they are: careless, contradictory, huge. Nothing of them stops the rest, and nothing goes missing.

use super::common::Folder;
use super::{endpoint, imported, reviews, schema};
use agtp::compiler::{ReadOptions, read};
use agtp::openapi::{ImportOptions, Stage, import};
use proptest::prelude::*;
use serde_json::{Value, json};

fn document(paths: Value, schemas: Value) -> String {
    json!({
        "openapi": "3.1.0",
        "info": {"title": "9 lives", "version": "a;b"},
        "servers": [{"url": "https://u.example"}],
        "paths": paths,
        "components": {"schemas": schemas},
    })
    .to_string()
}

fn one(operation: Value, schemas: Value) -> String {
    document(json!({"/things": {"get": operation}}), schemas)
}

fn answering(schema: Value) -> Value {
    json!({"responses": {"200": {"description": "ok", "content": {"application/json": {"schema": schema}}}}})
}

/// Imports, writes, and has the whole checked from the disk.
fn assert_checked(text: &str) -> agtp::openapi::Import {
    let imported = imported(text);
    let files: Vec<_> = imported.files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let folder = Folder::with(&files);
    let reading = read(folder.path(), &ReadOptions::default());
    assert_eq!(reading.report.errors(), 0, "{}", reading.report);
    assert_eq!(reading.deployment.unwrap().endpoints.len(), imported.report.written.len());
    imported
}

#[test]
fn keywords_that_mean_nothing_are_set_aside_and_told() {
    let schemas = json!({"Odd": {
        "type": "object",
        "$id": "https://elsewhere.example/odd",
        "required": true,
        "properties": {
            "a": {"type": "string", "pattern": "(", "minLength": -1, "format": "zip"},
            "b": {"type": "file"},
            "c": {"type": ["string", "null"], "enum": []},
            "d": {"$ref": "#/components/schemas/Nowhere"},
            "e": {"$ref": "other.yaml#/E"},
            "f": {"items": [{"type": "string"}], "type": "array"},
            "g": 7,
        },
    }});
    let imported = assert_checked(&one(answering(json!({"$ref": "#/components/schemas/Odd"})), schemas));
    let output = schema(&endpoint(&imported, "GET /things"), "output_schema");
    assert_eq!(output["properties"]["a"]["x-openapi-pattern"], "(");
    assert_eq!(output["properties"]["a"]["x-openapi-format"], "zip");
    assert_eq!(output["properties"]["c"]["type"], json!(["string", "null"]));
    let said = reviews(&imported, "GET /things").join("\n");
    for keyword in
        ["$id", "required", "pattern", "minLength", "type", "enum", "items", "Nowhere", "other.yaml"]
    {
        assert!(said.contains(keyword), "{keyword}: {said}");
    }
}

#[test]
fn branches_that_disagree_stay_branches() {
    let all = |schemas: Value| {
        let imported =
            assert_checked(&one(answering(json!({"type": "object", "allOf": schemas})), json!({})));
        schema(&endpoint(&imported, "GET /things"), "output_schema")
    };
    let flat = all(
        json!([{"properties": {"a": {"minimum": 1, "type": "number"}}}, {"properties": {"a": {"minimum": 3, "type": "integer"}}}]),
    );
    assert_eq!(flat["properties"]["a"], json!({"minimum": 3, "type": "integer"}));
    let kept =
        all(json!([{"properties": {"a": {"type": "string"}}}, {"properties": {"a": {"type": "integer"}}}]));
    assert_eq!(kept["allOf"].as_array().unwrap().len(), 2);
}

#[test]
fn circles_of_all_kinds_end() {
    let schemas = json!({
        "A": {"allOf": [{"$ref": "#/components/schemas/B"}], "properties": {"a": {"$ref": "#/components/schemas/A"}}},
        "B": {"allOf": [{"$ref": "#/components/schemas/A"}]},
        "C": {"$ref": "#/components/schemas/C"},
        "D": {"type": "object", "properties": {"c": {"$ref": "#/components/schemas/C"}, "a": {"$ref": "#/components/schemas/A"}}},
    });
    for name in ["A", "B", "C", "D"] {
        assert_checked(&one(
            answering(json!({"$ref": format!("#/components/schemas/{name}")})),
            schemas.clone(),
        ));
    }
}

#[test]
fn a_schema_that_reaches_everything_is_cut_and_that_is_told() {
    let padding = "x".repeat(1000);
    let schema = |number: usize| {
        let next =
            |step: usize| json!({"$ref": format!("#/components/schemas/S{}", (number * 2 + step) % 300)});
        json!({"type": "object", "description": padding, "properties": {"l": next(1), "r": next(2)}})
    };
    let schemas: Value = (0..300)
        .map(|number| (format!("S{number}"), schema(number)))
        .collect::<serde_json::Map<_, _>>()
        .into();
    let imported = assert_checked(&one(answering(json!({"$ref": "#/components/schemas/S0"})), schemas));
    assert!(reviews(&imported, "GET /things").iter().any(|note| note.contains("48 KiB")));
    assert!(imported.files.iter().all(|(_, text)| text.len() < 200_000));
}

#[test]
fn operations_that_would_be_one_are_kept_apart() {
    let get = |id: &str| json!({"get": {"operationId": id, "responses": {}}});
    let imported = assert_checked(&document(
        json!({
            "/a/{x}": get("getA"),
            "/a/{y}/": get("getB"),
            "/{z}/b": get("getC"),
            "/a//{x}": get("getD"),
            "/a/{x}.json": get("getE"),
            "/a/{x}.xml": get("getF"),
        }),
        json!({}),
    ));
    assert_eq!(imported.report.written.len(), 6);
    let mut places: Vec<_> = imported.report.written.iter().map(|row| (&row.method, &row.path)).collect();
    places.sort();
    places.dedup();
    assert_eq!(places.len(), 6);
}

#[test]
fn one_name_in_several_places_is_several_properties() {
    let in_each = |places: &[&str]| -> Value {
        places
            .iter()
            .map(|place| json!({"name": "id", "in": place, "required": true, "schema": {"type": "string"}}))
            .collect()
    };
    let body = json!({"required": true, "content": {"application/json": {"schema": {"type": "object", "properties": {"id": {}}}}}});
    let post =
        json!({"parameters": in_each(&["path", "query", "header"]), "requestBody": body, "responses": {}});
    let imported = assert_checked(&document(json!({"/things/{id}": {"post": post}}), json!({})));
    let things = endpoint(&imported, "POST /things/{id}");
    let input = schema(&things, "input_schema");
    let names: Vec<_> = input["properties"].as_object().unwrap().keys().cloned().collect();
    assert_eq!(names, ["body", "id", "id_2", "id_2_2"]);
    assert_eq!(things["handler"]["input_transform"]["id_2"].as_str(), Some("id"));
}

#[test]
fn what_is_no_operation_is_no_obstacle() {
    let text = document(
        json!({
            "/ok": {"get": answering(json!({"type": "object"}))},
            "/null": {"get": null, "parameters": "none"},
            "/text": {"get": "later"},
            "/lost": {"$ref": "#/paths/nowhere"},
            "no-slash": {"get": {}},
            "/cookie": {"get": {"parameters": [{"name": "c", "in": "cookie", "required": true}], "responses": {}}},
            "/deep": {"get": {"parameters": [{"name": "f", "in": "query", "required": true, "style": "deepObject", "schema": {"type": "object"}}], "responses": {}}},
            "x-internal": {"get": {}},
        }),
        json!({}),
    );
    let imported = assert_checked(&text);
    assert_eq!(imported.report.written.len(), 1);
    let mut left_out: Vec<_> = imported.report.left_out.iter().map(|note| note.operation.as_str()).collect();
    left_out.sort_unstable();
    assert_eq!(left_out, ["/lost", "GET /cookie", "GET /deep", "GET /text", "GET no-slash"]);
    assert!(imported.report.left_out.iter().all(|note| !note.message.is_empty()));
}

#[test]
fn a_thousand_operations_are_converted_and_counted() {
    let paths: serde_json::Map<_, _> = (0..500)
        .map(|number| {
            let get = answering(json!({"$ref": "#/components/schemas/Thing"}));
            let put = json!({"requestBody": {"required": true, "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Thing"}}}}, "responses": {"204": {"description": "done"}}});
            (format!("/group{}/things{number}/{{id}}", number % 7), json!({"get": get, "put": put}))
        })
        .collect();
    let schemas = json!({"Thing": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}, "next": {"$ref": "#/components/schemas/Thing"}}}});
    let text = document(paths.into(), schemas);
    let mut stages = Vec::new();
    let imported = import(&text, &ImportOptions::default(), &mut |stage| stages.push(stage)).unwrap();
    assert_eq!((imported.report.written.len(), imported.report.left_out.len()), (1000, 0));
    assert_eq!(stages.len(), 1001);
    assert_eq!(stages[999..], [Stage::Converted(1000, 1000), Stage::Checking]);
}

fn json_value() -> impl Strategy<Value = Value> {
    let words = [
        "type",
        "object",
        "string",
        "$ref",
        "#/components/schemas/A",
        "properties",
        "allOf",
        "get",
        "in",
        "query",
        "name",
        "schema",
        "required",
        "items",
        "array",
        "content",
        "application/json",
        "200",
        "responses",
        "parameters",
        "nullable",
        "enum",
    ];
    let word = proptest::sample::select(words.to_vec());
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i8>().prop_map(Into::into),
        word.clone().prop_map(Into::into),
        "[ -~é\\n]{0,6}".prop_map(Into::into),
    ];
    leaf.prop_recursive(5, 48, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Into::into),
            prop::collection::vec((word.clone(), inner), 0..6).prop_map(|members| {
                Value::Object(members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
            }),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever stands in a document, what is written passes the check, and every operation is accounted for.
    #[test]
    fn nothing_breaks_an_import(operation in json_value(), item in json_value(), schema in json_value()) {
        let paths = json!({"/a/{id}": {"get": operation, "post": item.clone(), "parameters": item}, "/b": {"put": answering(schema.clone())}});
        let imported = assert_checked(&document(paths, json!({"A": schema})));
        prop_assert_eq!(imported.report.operations, imported.report.written.len() + imported.report.left_out.len());
    }
}
