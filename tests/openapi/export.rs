//! Deployments as OpenAPI documents, and back again.

use super::common::{Folder, sample, times};
use super::validator::assert_valid;
use super::{endpoint, schema};
use agtp::compiler::{ReadOptions, lower, read_documents};
use agtp::openapi::{ExportOptions, Import, ImportOptions, export, import};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeSet;

fn sample_manifest() -> Value {
    let registry = sample().registry();
    serde_json::from_str(registry.str(registry.documents.manifest)).unwrap()
}

fn exported(manifest: &Value) -> Value {
    export(manifest, &ExportOptions::default()).unwrap()
}

fn imported(document: &Value) -> Import {
    import(&document.to_string(), &ImportOptions::default(), &mut |_| {}).unwrap()
}

/// A schema whose lists of required names are in order: which order they are in says nothing.
fn normal(schema: &Value) -> Value {
    match schema {
        Value::Object(members) => {
            let member = |(key, value): (&String, &Value)| {
                let mut value = normal(value);
                if let (true, Some(names)) = (key == "required", value.as_array_mut()) {
                    names.sort_by_key(ToString::to_string);
                }
                (key.clone(), value)
            };
            Value::Object(members.iter().map(member).collect())
        }
        Value::Array(list) => list.iter().map(normal).collect(),
        other => other.clone(),
    }
}

/// Each operator endpoint of a manifest is among what was imported: place, schemas, errors, meaning.
fn assert_kept(manifest: &Value, imported: &Import) {
    let is_builtin = |one: &Value| one["path"] == "/" || one["method"] == "DISCOVER";
    let endpoints: Vec<_> =
        manifest["endpoints"].as_array().unwrap().iter().filter(|one| !is_builtin(one)).collect();
    assert_eq!(imported.report.written.len(), endpoints.len(), "{:#?}", imported.report);
    for original in endpoints {
        let (method, path) = (original["method"].as_str().unwrap(), original["path"].as_str().unwrap());
        let written = imported.report.written.iter().find(|row| row.method == method && row.path == path);
        let written = written.unwrap_or_else(|| panic!("{method} {path} is lost"));
        let again = endpoint(imported, &written.operation);
        for key in ["input_schema", "output_schema"] {
            assert_eq!(normal(&schema(&again, key)), normal(&original[key]), "{method} {path} {key}");
        }
        let names =
            |list: Vec<Option<&str>>| list.into_iter().flatten().map(str::to_owned).collect::<BTreeSet<_>>();
        let ours = names(original["errors"].as_array().unwrap().iter().map(Value::as_str).collect());
        let theirs = names(again["errors"].as_array().unwrap().iter().map(toml::Value::as_str).collect());
        assert!(theirs.is_superset(&ours), "{method} {path}: {ours:?} {theirs:?}");
        let beyond = theirs.difference(&ours).filter(|name| !name.starts_with("upstream_")).count();
        assert_eq!(beyond, 0, "{method} {path}");
        assert_eq!(again["semantic"]["intent"].as_str(), original["semantic"]["intent"].as_str());
        assert_eq!(again["semantic"]["impact"].as_str(), original["semantic"]["impact"].as_str());
    }
}

#[test]
fn the_sample_deployment_is_a_valid_document_marked_as_derived() {
    let document = exported(&sample_manifest());
    assert_valid(&document);
    let info = &document["info"];
    assert_eq!(info["x-agtp-derived"], true);
    assert_eq!(info["x-agtp-manifest"], "agtp://hotel.example/");
    assert!(
        info["description"].as_str().unwrap().contains("Derived from the AGTP-METHODS manifest at agtp://")
    );
    let named = export(&sample_manifest(), &ExportOptions { manifest_url: Some("agtp://h:1") }).unwrap();
    assert_eq!(named["info"]["x-agtp-manifest"], "agtp://h:1");
    let operations: Vec<_> = document["paths"]
        .as_object()
        .unwrap()
        .iter()
        .flat_map(|(path, item)| item.as_object().unwrap().keys().map(move |http| format!("{http} {path}")))
        .collect();
    // Reading is a GET; of two that would be one, the second has its verb in the path, which HTTP allows.
    for place in [
        "get /exchange-rates/{currency}",
        "get /rooms",
        "post /rooms/{room_id}",
        "post /rooms/{room_id}/reserve",
        "get /reservations/{reservation_id}",
        "patch /reservations/{reservation_id}",
    ] {
        assert!(operations.iter().any(|known| known == place), "{place}: {operations:#?}");
    }
}

#[test]
fn an_export_of_the_sample_comes_back_whole() {
    let manifest = sample_manifest();
    let imported = imported(&exported(&manifest));
    assert_kept(&manifest, &imported);
    assert_eq!(imported.report.left_out, []);
    // Nothing is left to judge but what HTTP cannot tell apart.
    let rest =
        imported.report.reviews.iter().filter(|note| !note.message.contains("status 422 may be any of"));
    assert_eq!(rest.count(), 0, "{:#?}", imported.report.reviews);
}

#[test]
fn an_operator_s_aliases_decide_first() {
    let mut manifest = sample_manifest();
    manifest["policies"]["methods"]["aliases"] = json!({"PUT": "BOOK"});
    assert!(exported(&manifest)["paths"]["/rooms/{room_id}"]["put"].is_object());
}

#[test]
fn what_is_no_manifest_is_refused() {
    for (manifest, said) in [(json!({}), "endpoints"), (json!({"endpoints": [{"path": "/a"}]}), "no method")]
    {
        assert!(export(&manifest, &ExportOptions::default()).unwrap_err().contains(said));
    }
}

/// The manifest of a deployment of these endpoints.
fn manifest_of(endpoints: &[(String, String)]) -> Value {
    let documents: Vec<_> = endpoints.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let reading = read_documents(&documents, &ReadOptions::default());
    let compiled = lower(&reading.deployment.unwrap(), &times()).unwrap();
    serde_json::from_str(compiled.registry.str(compiled.registry.documents.manifest)).unwrap()
}

fn property() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(json!({"type": "string", "format": "date", "description": "A day."})),
        Just(json!({"type": ["integer", "null"], "minimum": 0})),
        Just(json!({"type": "array", "items": {"type": "string"}})),
        Just(
            json!({"type": "object", "properties": {"x": {"enum": ["a", "b"]}}, "additionalProperties": false})
        ),
        Just(json!({"oneOf": [{"type": "string"}, {"$ref": "#/$defs/node"}]})),
        Just(json!({"$ref": "#/$defs/node"})),
        Just(json!({})),
    ]
}

fn schemas() -> impl Strategy<Value = (Value, Value)> {
    let properties = || prop::collection::btree_map("[abc]", property(), 0..4);
    let more = prop_oneof![
        Just(json!({})),
        Just(json!({"title": "An input", "description": "Said of the whole."})),
        Just(json!({"minProperties": 1, "dependentRequired": {"a": ["b"]}})),
    ];
    (properties(), properties(), more).prop_map(|(input, output, more)| {
        let close = |properties: std::collections::BTreeMap<String, Value>, is_input: bool| {
            let required: Vec<_> = properties.keys().filter(|name| *name != "c").cloned().collect();
            let mut schema = json!({"type": "object", "properties": properties, "required": required});
            if schema.to_string().contains("#/$defs/node") {
                schema["$defs"] =
                    json!({"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}});
            }
            if is_input {
                schema["additionalProperties"] = false.into();
                schema.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            }
            schema
        };
        (close(input, true), close(output, false))
    })
}

fn declaration(method: &str, path: &str, (input, output): &(Value, Value)) -> String {
    let mut input = input.clone();
    for name in path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}')) {
        input["properties"][name] = json!({"type": "string"});
        input["required"].as_array_mut().unwrap().retain(|known| known != name);
        input["required"].as_array_mut().unwrap().push(name.into());
    }
    let is_used = input["properties"].to_string().contains("#/$defs/node");
    if !is_used {
        // What nothing refers to is not carried over.
        input.as_object_mut().unwrap().remove("$defs");
    }
    format!(
        "[endpoint]\nmethod = \"{method}\"\npath = \"{path}\"\ndescription = \"Does it.\"\nerrors = [\"late\", \"lost\"]\n\
         input_schema = '''{input}'''\noutput_schema = '''{output}'''\n[endpoint.semantic]\nintent = \"Do it.\"\n\
         actor = \"agent\"\noutcome = \"It is done.\"\ncapability = \"transaction\"\nconfidence = 0.5\n\
         impact = \"reversible\"\nis_idempotent = true\n[endpoint.handler]\ntype = \"registered_function\"\nfunction = \"f\"\n"
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Verbs that come to one HTTP method, paths that differ in names only, schemas of all kinds: all come back.
    #[test]
    fn exports_come_back_whole(
        rows in prop::collection::vec(
            (
                prop::sample::select(vec!["FETCH", "FIND", "BOOK", "RESERVE", "MODIFY", "REMOVE", "REPLACE", "ESCROW"]),
                prop::sample::select(vec!["/rooms", "/rooms/{a}", "/rooms/{id}", "/x/{b}/y/{c}"]),
                schemas(),
            ),
            1..6,
        )
    ) {
        let mut taken = BTreeSet::new();
        let files: Vec<_> = rows
            .iter()
            .filter(|(method, path, _)| taken.insert((*method, path.replace("{id}", "{a}"))))
            .enumerate()
            .map(|(index, (method, path, schemas))| (format!("endpoints/{index}.toml"), declaration(method, path, schemas)))
            .collect();
        let manifest = manifest_of(&files);
        let document = exported(&manifest);
        prop_assert_eq!(super::validator::faults(&document), Vec::<String>::new());
        assert_kept(&manifest, &imported(&document));
    }
}

#[test]
fn an_export_that_is_imported_passes_the_check() {
    let imported = imported(&exported(&sample_manifest()));
    let files: Vec<_> = imported.files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let folder = Folder::with(&files);
    assert_eq!(agtp::compiler::read(folder.path(), &ReadOptions::default()).report.errors(), 0);
}
