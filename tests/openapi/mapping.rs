//! Each part of a document, and where it is in the endpoint.

use super::{endpoint, fixture, imported, reviews, schema};
use serde_json::json;

#[test]
fn operations_become_endpoints_with_a_verb_of_the_catalog_and_a_clean_path() {
    let imported = imported(&fixture("petshop.yaml"));
    let rows: Vec<_> = imported
        .report
        .written
        .iter()
        .map(|row| format!("{} -> {} {}", row.operation, row.method, row.path))
        .collect();
    assert_eq!(
        rows,
        [
            "GET /pets -> LIST /pets",
            "POST /pets -> CREATE /pets",
            "GET /pets/{pet-id} -> FETCH /pets/{pet_id}",
            "DELETE /pets/{pet-id} -> REMOVE /pets/{pet_id}",
            "POST /pets/{pet-id}/adopt -> EXECUTE /pets/{pet_id}/adopt",
            "GET /search/{kind}.json -> SEARCH /searches/{kind}",
            "POST /store/order -> ORDER /store/orders",
            "GET /store/order/{id} -> FETCH /store/orders/{id}",
        ]
    );
    let order = endpoint(&imported, "GET /store/order/{id}");
    assert_eq!(order["handler"]["url"].as_str(), Some("https://eu.petshop.example/v2/store/order/{id}"));
    let search = endpoint(&imported, "GET /search/{kind}.json");
    assert_eq!(search["handler"]["url"].as_str(), Some("https://eu.petshop.example/v2/search/{kind}.json"));
    assert_eq!(imported.report.operations, imported.report.written.len() + imported.report.left_out.len());
}

#[test]
fn what_cannot_be_mapped_is_listed_with_its_reason() {
    let imported = imported(&fixture("petshop.yaml"));
    let left_out: Vec<_> = imported.report.left_out.iter().map(ToString::to_string).collect();
    assert_eq!(
        left_out,
        [
            "GET /elsewhere: it answers with a redirect, and redirects are not followed",
            "GET /photos: status 200 answers image/png, which is no JSON: an external service answers JSON",
            "POST /photos: its body is multipart/form-data, and only JSON and flat forms are sent",
            "TRACE /photos: TRACE is no method of an external service",
        ]
    );
    let pets = reviews(&imported, "GET /pets").join("\n");
    for said in [
        "LIST because the operationId begins with \"list\"; or QUERY, FETCH, BROWSE",
        "until a person has confirmed them",
        "cookie parameter \"session\" is a cookie",
        "query parameter \"ids\" is written by callers as text: values separated by commas",
        "responses \"5XX\" have no name of their own",
        "X-Next",
    ] {
        assert!(pets.contains(said), "{said}: {pets}");
    }
    let whole = imported.report.reviews.iter().filter(|note| note.operation.is_empty());
    assert!(whole.map(ToString::to_string).any(|note| note.contains("region = \"eu\"")));
}

#[test]
fn parameters_and_body_are_one_input() {
    let imported = imported(&fixture("petshop.yaml"));
    let list = schema(&endpoint(&imported, "GET /pets"), "input_schema");
    assert_eq!(list["required"], json!(["x_trace_id"]));
    assert_eq!(list["additionalProperties"], json!(false));
    assert_eq!(
        list["properties"]["limit"],
        json!({"type": "integer", "exclusiveMinimum": 1, "x-openapi-format": "int32"})
    );
    assert_eq!(list["properties"]["ids"]["type"], "string");
    let add = endpoint(&imported, "POST /pets");
    let handler = &add["handler"];
    assert_eq!(handler["input_place"]["notify"].as_str(), Some("query"));
    assert_eq!(handler["input_place"]["x_trace_id"].as_str(), Some("header"));
    assert_eq!(handler["input_transform"]["x_trace_id"].as_str(), Some("X-Trace-Id"));
    let input = schema(&add, "input_schema");
    // Flattened, without what only the server sets.
    let expected = json!({
        "name": {"type": "string", "examples": ["Rex"]},
        "notify": {"type": "boolean"},
        "tag": {"type": ["string", "null"]},
        "x_trace_id": {"type": "string"},
    });
    assert_eq!(input["properties"], expected);
    assert_eq!(input["required"], json!(["x_trace_id", "name"]));
    let adopt = endpoint(&imported, "POST /pets/{pet-id}/adopt");
    assert_eq!(adopt["handler"]["input_place"]["body"].as_str(), Some("body"));
    let order = endpoint(&imported, "POST /store/order");
    assert_eq!(schema(&order, "input_schema")["properties"].as_object().unwrap().len(), 2, "no nested field");
    assert_eq!(
        order["handler"]["headers"]["Content-Type"].as_str(),
        Some("application/x-www-form-urlencoded")
    );
}

#[test]
fn answers_are_objects_with_circles_and_choices_kept() {
    let imported = imported(&fixture("petshop.yaml"));
    let list = endpoint(&imported, "GET /pets");
    assert_eq!(list["handler"]["output_body"].as_str(), Some("items"));
    let output = schema(&list, "output_schema");
    assert_eq!(output["properties"]["items"]["items"], json!({"$ref": "#/$defs/Pet"}));
    let pet = &output["$defs"]["Pet"];
    assert_eq!(pet["properties"]["friend"], json!({"$ref": "#/$defs/Pet"}));
    assert_eq!(pet["required"], json!(["name", "serial", "id"]));
    let adopt = schema(&endpoint(&imported, "POST /pets/{pet-id}/adopt"), "output_schema");
    assert_eq!(adopt["oneOf"], json!([{"$ref": "#/$defs/Cat"}, {"$ref": "#/$defs/Dog"}]));
    assert_eq!(adopt["discriminator"]["mapping"], json!({"cat": "#/$defs/Cat", "dog": "#/$defs/Dog"}));
    let node = schema(&endpoint(&imported, "GET /search/{kind}.json"), "output_schema");
    assert_eq!(node["properties"]["children"]["items"], json!({"$ref": "#/$defs/Node"}));
    assert_eq!(node["$defs"]["Node"]["properties"], node["properties"]);
}

#[test]
fn failures_have_names_and_credentials_are_variables() {
    let imported = imported(&fixture("petshop.yaml"));
    let list = endpoint(&imported, "GET /pets");
    let map = list["handler"]["error_map"].as_table().unwrap();
    assert_eq!((map["404"].as_str(), map["429"].as_str()), (Some("not_found"), Some("rate_limited")));
    let errors: Vec<_> = list["errors"].as_array().unwrap().iter().filter_map(|name| name.as_str()).collect();
    assert_eq!(errors[..2], ["not_found", "rate_limited"]);
    assert!(errors.contains(&"upstream_timeout"));
    assert_eq!(list["handler"]["headers"]["X-Api-Key"].as_str(), Some("${PET_SHOP_TOKEN}"));
    let order = endpoint(&imported, "POST /store/order");
    assert_eq!(order["handler"]["headers"]["Authorization"].as_str(), Some("Basic ${PET_SHOP_BASIC}"));
    assert_eq!(imported.report.variables, ["PET_SHOP_BASIC", "PET_SHOP_TOKEN"]);
    assert!(reviews(&imported, "POST /store/order").iter().any(|note| note.contains("base64")));
}

#[test]
fn every_review_stands_in_its_file_above_what_it_is_about() {
    let imported = imported(&fixture("petshop.yaml"));
    for note in imported.report.reviews.iter().filter(|note| !note.operation.is_empty()) {
        let written = imported.report.written.iter().find(|row| row.operation == note.operation).unwrap();
        let (_, text) = imported.files.iter().find(|(name, _)| *name == written.file).unwrap();
        let line = format!("# REVIEW: {}", note.message);
        let mut after = text.lines().skip_while(|found| *found != line);
        assert!(after.next().is_some(), "{line}\n{text}");
        let subject = after.find(|found| !found.starts_with('#')).unwrap();
        assert!(subject.contains(note.about) || note.about == "headers", "{line} above {subject}");
    }
    let remove = endpoint(&imported, "DELETE /pets/{pet-id}");
    assert_eq!(remove["deprecated"]["deprecated_in"].as_str(), Some("2.1.0"));
    assert_eq!(remove["semantic"]["impact"].as_str(), Some("irreversible"));
    assert_eq!(remove["semantic"]["is_idempotent"].as_bool(), Some(true));
}
