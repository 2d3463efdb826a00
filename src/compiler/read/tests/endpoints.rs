//! Endpoint files.

use super::*;
use crate::compiler::ir::{HandlerDecl, TemplateSegment};
use serde_json::json;

#[test]
fn a_sound_endpoint_is_read_whole() {
    let reading = reading(&[("endpoints/a.toml", ENDPOINT)]);
    assert_eq!(shown(&reading.report.faults), [""; 0]);
    let deployment = reading.deployment.unwrap();
    let [endpoint] = deployment.endpoints.as_slice() else { panic!("one endpoint") };
    assert_eq!(endpoint.source, Source { file: "endpoints/a.toml".to_owned(), line: 1 });
    assert_eq!((endpoint.method.as_str(), endpoint.path.text.as_str()), ("BOOK", "/rooms/{room_id}"));
    assert_eq!(endpoint.path.segments[1], TemplateSegment::Param("room_id".to_owned()));
    assert_eq!(endpoint.semantic.confidence, 0.85);
    assert_eq!(endpoint.errors, ["room_unavailable"]);
    assert_eq!(endpoint.required_scopes, ["booking:room"]);
    assert_eq!(endpoint.handler, HandlerDecl::Function("rooms::book_room".to_owned()));
    let input = json!({
        "type": "object",
        "properties": {"room_id": {"type": "string", "description": "The room."}},
        "required": ["room_id"],
        "additionalProperties": false,
    });
    let output = json!({
        "type": "object",
        "properties": {"reservation_id": {"type": "string"}},
        "required": ["reservation_id"],
        "additionalProperties": true,
    });
    assert_eq!((&endpoint.input_schema, &endpoint.output_schema), (&input, &output));
}

/// Each case: what is replaced in the sound endpoint, by what, and the faults that makes.
fn check(cases: &[(&str, &str, &[&str])]) {
    for (from, to, expected) in cases {
        assert_eq!(endpoint_faults(&edited(from, to)), *expected, "{from:?} -> {to:?}");
    }
}

#[test]
fn keys_are_required_known_and_of_the_right_type() {
    check(&[
        ("method = \"BOOK\"\n", "", &["1 missing-field"]),
        ("path = \"/rooms/{room_id}\"\n", "", &["1 missing-field"]),
        ("description = \"Books a room.\"\n", "", &["1 missing-field"]),
        ("\"Books a room.\"", "7", &["4 wrong-type"]),
        ("\"Books a room.\"", "' '", &["4 empty-field"]),
        ("description = \"Books", "descripton = \"Books", &["1 missing-field", "4 unknown-key"]),
        ("[endpoint.handler]", "[endpoint.handlers]", &["1 missing-field", "26 unknown-key"]),
        ("[endpoint.handler]", "[handler]", &["1 missing-field", "26 unknown-key"]),
    ]);
    assert_eq!(endpoint_faults(""), ["1 missing-field"]);
    assert_eq!(endpoint_faults("endpoint = 1"), ["1 wrong-type"]);
    assert_eq!(endpoint_faults("[[endpoint]]\nmethod = \"BOOK\""), ["1 wrong-type"]);
    assert_eq!(endpoint_faults("[endpoint\nmethod = \"BOOK\""), ["1 toml-syntax"]);
    assert_eq!(endpoint_faults(&edited("actor", "intent")), ["10 toml-syntax"], "a key twice");
}

#[test]
fn methods_are_of_the_catalog() {
    check(&[
        ("\"BOOK\"", "\"book\"", &["2 method-form"]),
        ("\"BOOK\"", "\"BO\"", &["2 method-form"]),
        ("\"BOOK\"", "\"BOKO\"", &["2 method-unknown"]),
        ("\"BOOK\"", "\"HEAD\"", &["2 method-unknown"]),
        ("\"BOOK\"", "\"GET\"", &["2 method-legacy"]),
        ("\"BOOK\"", "7", &["2 wrong-type"]),
    ]);
    let help = |method: &str| {
        let text = edited("\"BOOK\"", &format!("{method:?}"));
        reading(&[("endpoints/a.toml", &text)]).report.faults.remove(0).remedy
    };
    assert!(help("BOKO").contains("BOOK"), "{}", help("BOKO"));
    assert!(help("DELETE").contains("REMOVE"), "{}", help("DELETE"));
}

#[test]
fn paths_follow_the_grammar() {
    check(&[
        ("/rooms/", "rooms/", &["3 path-not-absolute"]),
        ("{room_id}\"", "{room_id}/\"", &["3 path-trailing-slash"]),
        ("{room_id}\"", "{room_id}/x-{id}\"", &["3 path-mixed-segment"]),
        ("{room_id}\"", "{room_id}?x\"", &["3 path-query"]),
        ("{room_id}\"", "{room_id}/x?y\"", &["3 path-query"]),
        ("{room_id}\"", "{room_id}/{room_id}\"", &["3 path-duplicate-parameter"]),
        ("{room_id}\"", "{room_id}/{guest}\"", &["3 path-undeclared-parameter"]),
        ("{room_id}\"", "{room_id}/a b/c%\"", &["3 path-illegal-character", "3 path-bad-escape"]),
        ("{room_id}\"", "{room_id}/Bo-Ok\"", &["3 path-carries-verb"]),
        ("{room_id}\"", "{room_id}/%62ook/g_e_t/x\"", &["3 path-carries-verb", "3 path-carries-verb"]),
        (
            "{room_id}\"",
            "book//fetch/\"",
            &["3 path-empty-segment", "3 path-trailing-slash", "3 path-carries-verb", "3 path-carries-verb"],
        ),
    ]);
    let long = format!("/{}", "x".repeat(9000));
    assert_eq!(endpoint_faults(&endpoint_at("BOOK", &long)), ["3 path-too-long"]);
}

#[test]
fn every_verb_is_found_in_a_template_in_any_case() {
    let catalog = Catalog::builtin();
    let mut verbs: Vec<_> = catalog.verbs.iter().map(|verb| verb.name.as_str()).collect();
    verbs.extend(LEGACY);
    let paths: String = verbs
        .iter()
        .enumerate()
        .map(|(index, verb)| {
            let mixed: String = verb
                .char_indices()
                .map(|(at, letter)| if (at + index) % 2 == 0 { letter.to_ascii_lowercase() } else { letter })
                .collect();
            format!("/{mixed}/{{p{index}}}")
        })
        .collect();
    let text = endpoint_at("BOOK", &paths);
    let found = endpoint_faults(&text);
    assert_eq!(found, vec!["3 path-carries-verb"; verbs.len()]);
    let captured = endpoint_at("BOOK", "/{book}/{fetch}");
    assert_eq!(endpoint_faults(&captured), [""; 0], "a parameter may be called like a verb");
}

#[test]
fn reserved_discover_paths_are_the_protocol_s() {
    for path in ["/methods", "/methods/v2", "/agents-extended", "/toolset", "/contracts/history", "/"] {
        assert_eq!(endpoint_faults(&endpoint_at("DISCOVER", path)), ["3 path-reserved"], "{path}");
    }
    for (method, path) in [("QUERY", "/methods"), ("DISCOVER", "/rooms"), ("DISCOVER", "/a/methods")] {
        assert_eq!(endpoint_faults(&endpoint_at(method, path)), [""; 0], "{method} {path}");
    }
    let settings = "[policies]\nbuiltins_override = [\"/tools\", \"/tool\"]\n";
    let (exact, prefix) = (endpoint_at("DISCOVER", "/tools"), endpoint_at("DISCOVER", "/toolset"));
    let files = [("agtp-server.toml", settings), ("endpoints/a.toml", &exact), ("endpoints/b.toml", &prefix)];
    assert_eq!(
        faults(&files),
        ["agtp-server.toml:2 override-not-reserved", "endpoints/b.toml:3 path-reserved"]
    );
}

#[test]
fn the_semantic_block_is_whole() {
    check(&[
        ("intent = \"Reserve a room.\"\n", "", &["8 missing-field"]),
        ("actor = \"agent\"", "actor = \"\"", &["10 empty-field"]),
        ("actor = \"agent\"", "actor = \"merchant of Venice\"", &[]),
        ("\"transaction\"", "\"transactions\"", &["12 semantic-capability"]),
        ("0.85", "1.01", &["13 semantic-confidence"]),
        ("0.85", "-0.1", &["13 semantic-confidence"]),
        ("0.85", "nan", &["13 semantic-confidence"]),
        ("0.85", "\"high\"", &["13 wrong-type"]),
        ("0.85", "1", &[]),
        ("0.85", "0", &[]),
        ("\"irreversible\"", "\"final\"", &["14 semantic-impact"]),
        ("is_idempotent = false", "is_idempotent = \"false\"", &["15 wrong-type"]),
        ("is_idempotent = false", "idempotent = false", &["8 missing-field", "15 unknown-key"]),
        ("[endpoint.semantic]", "[endpoint.semantics]", &["1 missing-field", "8 unknown-key"]),
    ]);
    for capability in CATEGORIES {
        assert_eq!(endpoint_faults(&edited("\"transaction\"", &format!("{capability:?}"))), [""; 0]);
    }
}

#[test]
fn field_tables_compile_to_a_schema() {
    let fields = r#"
[[endpoint.input.optional]]
name = "guests"
type = "integer"
enum = [1, 2]
[[endpoint.input.optional]]
name = "address"
schema = { type = "object", properties = { zip = { type = "string", pattern = "^[0-9]+$" } } }
[[endpoint.output]]
name = "note"
type = "string"
format = "date"
required = false
"#;
    let reading = reading(&[("endpoints/a.toml", &(ENDPOINT.to_owned() + fields))]);
    assert_eq!(shown(&reading.report.faults), [""; 0]);
    let deployment = reading.deployment.unwrap();
    let endpoint = &deployment.endpoints[0];
    assert_eq!(endpoint.input_schema["required"], json!(["room_id"]));
    assert_eq!(endpoint.input_schema["properties"]["guests"], json!({"type": "integer", "enum": [1, 2]}));
    assert_eq!(endpoint.input_schema["properties"]["address"]["properties"]["zip"]["pattern"], "^[0-9]+$");
    assert_eq!(endpoint.output_schema["required"], json!(["reservation_id"]));
    assert_eq!(endpoint.output_schema["properties"]["note"]["format"], "date");
}

#[test]
fn field_tables_are_checked() {
    let field = |text: &str| endpoint_faults(&format!("{ENDPOINT}[[endpoint.input.optional]]\n{text}"));
    assert_eq!(field("type = \"string\""), ["29 missing-field"]);
    assert_eq!(field("name = \"a\""), ["29 missing-field"]);
    assert_eq!(field("name = \"a\"\ntype = \"text\""), ["31 field-type"]);
    assert_eq!(field("name = \"room_id\"\ntype = \"string\""), ["30 field-duplicate"]);
    assert_eq!(field("name = \"a\"\ntype = \"string\"\nenum = []"), ["32 field-enum"]);
    assert_eq!(field("name = \"a\"\ntype = \"string\"\nenum = [\n\"x\",\n1]"), ["34 field-enum"]);
    assert_eq!(field("name = \"a\"\ntype = \"string\"\nfromat = \"uuid\""), ["32 unknown-key"]);
    assert_eq!(field("name = \"a\"\ntype = \"string\"\nrequired = true"), ["32 unknown-key"]);
    assert_eq!(field("name = \"a\"\ntype = \"string\"\nformat = \"zip\""), ["32 schema-format-unknown"]);
    assert_eq!(
        field("name = \"a\"\ntype = \"string\"\nschema = { type = \"string\" }"),
        ["31 declared-twice"]
    );
    assert_eq!(field("name = \"a\"\nschema = { type = \"strnig\" }"), ["31 schema-invalid"]);
    assert_eq!(field("name = \"a\"\nschema = { pattern = \"(\" }"), ["31 schema-does-not-compile"]);
    assert_eq!(field("name = \"a\"\nschema = { const = 1979-05-27 }"), ["31 schema-not-json"]);
    assert_eq!(
        endpoint_faults(&format!("{ENDPOINT}[[endpoint.input.requird]]\nname = \"a\"")),
        ["29 unknown-key"]
    );
}

/// The sound endpoint with its input tables replaced by a full schema, whose first line is 17.
fn with_input_schema(schema: &str) -> String {
    let start = ENDPOINT.find("[[endpoint.input.required]]").unwrap();
    let end = ENDPOINT.find("[[endpoint.output]]").unwrap();
    let head = format!("input_schema = '''\n{schema}'''\n");
    // A key of [endpoint] has to stand before its sub-tables.
    let text = format!("{}{}", &ENDPOINT[..start], &ENDPOINT[end..]);
    text.replacen("\n[endpoint.semantic]", &format!("{head}\n[endpoint.semantic]"), 1)
}

#[test]
fn full_schemas_are_checked_line_by_line() {
    let strict = r#"{"type": "object", "additionalProperties": false,
  "properties": {
    "room_id": {"type": "string"}
  }}
"#;
    assert_eq!(endpoint_faults(&with_input_schema(strict)), [""; 0]);
    let cases: &[(&str, &str, &[&str])] = &[
        ("{\"type\": \"string\"}", "{\"type\": \"strnig\"}", &["10 schema-invalid"]),
        ("{\"type\": \"string\"}", "{\"$ref\": \"#/$defs/x\"}", &["10 schema-does-not-compile"]),
        ("{\"type\": \"string\"}", "{\"$ref\": \"https://a.example/b\"}", &["8 schema-does-not-compile"]),
        ("{\"type\": \"string\"}", "{\"format\": \"zip\"}", &["10 schema-format-unknown"]),
        ("{\"type\": \"string\"}", "{},\n \"room_id\": {}", &["11 duplicate-key"]),
        ("\"room_id\"", "\"room\"", &["3 path-undeclared-parameter"]),
        ("\"type\": \"object\", ", "", &["8 input-schema-not-strict"]),
        ("false", "true", &["8 input-schema-not-strict"]),
        ("{\"type\": \"string\"}", "{\"type\": }", &["10 json-syntax"]),
    ];
    for (from, to, expected) in cases {
        let found = endpoint_faults(&with_input_schema(&strict.replacen(from, to, 1)));
        assert_eq!(found, *expected, "{from} -> {to}");
    }
    assert_eq!(endpoint_faults(&with_input_schema("true")), ["7 wrong-type"]);
    let draft7 = strict.replacen('{', "{\"$schema\": \"http://json-schema.org/draft-07/schema#\",", 1);
    assert_eq!(endpoint_faults(&with_input_schema(&draft7)), ["8 schema-dialect"]);
}

#[test]
fn a_schema_may_be_a_table_but_not_two_things() {
    let table = "[endpoint.output_schema]\ntype = \"object\"\n\
        [endpoint.output_schema.properties.id]\ntype = \"strnig\"\n";
    assert_eq!(endpoint_faults(&(ENDPOINT.to_owned() + table)), ["29 declared-twice"]);
    let start = ENDPOINT.find("[[endpoint.output]]").unwrap();
    let end = ENDPOINT.find("[endpoint.handler]").unwrap();
    let text = format!("{}{table}{}", &ENDPOINT[..start], &ENDPOINT[end..]);
    assert_eq!(endpoint_faults(&text), ["25 schema-invalid"]);
    assert_eq!(endpoint_faults(&text.replace("strnig", "string")), [""; 0]);
}

#[test]
fn absent_tables_have_a_meaning() {
    let text = endpoint_at("BOOK", "/rooms");
    let start = text.find("[[endpoint.input.required]]").unwrap();
    let end = text.find("[endpoint.handler]").unwrap();
    let text = format!("{}{}", &text[..start], &text[end..]).replace("errors = [\"room_unavailable\"]\n", "");
    let deployment = reading(&[("endpoints/a.toml", &text)]).deployment.unwrap();
    let endpoint = &deployment.endpoints[0];
    let nothing = json!({"type": "object", "properties": {}, "required": [], "additionalProperties": false});
    assert_eq!(endpoint.input_schema, nothing);
    assert_eq!(endpoint.output_schema, json!({"type": "object", "additionalProperties": true}));
    assert!(endpoint.errors.is_empty());
}

#[test]
fn errors_scopes_and_deprecation_are_checked() {
    check(&[
        ("[\"room_unavailable\"]", "[\"a b\", \"\"]", &["6 empty-field", "6 error-name"]),
        ("[\"room_unavailable\"]", "[\"a\",\n\"b\",\n\"a\"]", &["8 duplicate-entry"]),
        ("[\"room_unavailable\"]", "\"a\"", &["6 wrong-type"]),
        ("[\"room_unavailable\"]", "[1]", &["6 wrong-type"]),
        ("errors = [\"room_unavailable\"]", "errors.list = [\"a\"]", &[]),
        ("errors = [\"room_unavailable\"]", "errors.lits = [\"a\"]", &["6 unknown-key", "6 missing-field"]),
        ("[\"booking:room\"]", "[\"booking\", \"a:*\"]", &["5 scope-form"]),
        ("[\"booking:room\"]", "\"booking:room\"", &["5 wrong-type"]),
    ]);
    let twice = format!("{ENDPOINT}[endpoint.errors]\nlist = []\n");
    assert_eq!(endpoint_faults(&twice), ["29 toml-syntax"], "both forms at once are no TOML");
    let deprecated = |text: &str| endpoint_faults(&format!("{ENDPOINT}[endpoint.deprecated]\n{text}"));
    assert_eq!(
        deprecated("deprecated_in = \"2.1.0\"\nsuccessor = { method = \"RESERVE\", path = \"/rooms\" }"),
        [""; 0]
    );
    assert_eq!(deprecated("removed_in = \"3.0.0\""), ["29 missing-field"]);
    assert_eq!(deprecated("deprecated_in = \"a;b\""), ["30 not-header-safe"]);
    assert_eq!(deprecated("deprecated_in = \"1\"\nsuccessor = {}"), ["31 successor-empty"]);
    assert_eq!(
        deprecated("deprecated_in = \"1\"\nsuccessor = { method = \"RESEVRE\" }"),
        ["31 method-unknown"]
    );
    assert_eq!(
        deprecated("deprecated_in = \"1\"\nsuccessor = { path = \"/a/\" }"),
        ["31 path-trailing-slash"]
    );
}

#[test]
fn functions_are_named_and_bound() {
    check(&[
        ("\"rooms::book_room\"", "\"rooms.book_room\"", &[]),
        ("\"rooms::book_room\"", "\"rooms::book room\"", &["28 function-name"]),
        ("\"rooms::book_room\"", "\"rooms:::book\"", &["28 function-name"]),
        ("\"rooms::book_room\"", "\"book_room\"\nmodule = \"rooms.double\"", &[]),
        ("function =", "functoin =", &["26 missing-field", "28 unknown-key"]),
        ("\"registered_function\"", "\"function\"", &["27 handler-type"]),
        ("type = \"registered_function\"\n", "", &["26 missing-field"]),
    ]);
    let directory = Directory::new(&[("endpoints/a.toml", ENDPOINT)]);
    let with = |known: &[&str]| {
        read(&directory.root, &ReadOptions { known_functions: Some(known), ..ReadOptions::default() })
    };
    assert_eq!(with(&["rooms::book_room"]).report.errors(), 0);
    assert_eq!(with(&["rooms.book_room"]).report.errors(), 0);
    let report = with(&["rooms::book_rooms", "echo"]).report;
    assert_eq!(shown(&report.faults), ["endpoints/a.toml:28 unbound-function"]);
    assert_eq!(report.faults[0].remedy, "did you mean \"rooms::book_rooms\"?");
}

/// The sound endpoint with another handler, which begins on line 26, and these errors.
fn with_handler(errors: &str, handler: &str) -> String {
    let start = ENDPOINT.find("[endpoint.handler]").unwrap();
    let text = format!("{}[endpoint.handler]\n{handler}\n", &ENDPOINT[..start]);
    text.replacen("[\"room_unavailable\"]", errors, 1)
}

const UPSTREAM: &str = "[\"upstream_timeout\", \"upstream_connection_error\", \"upstream_malformed_response\", \
    \"upstream_authentication_failed\", \"upstream_error\", \"gone\"]";

#[test]
fn external_services_are_checked() {
    let external = "type = \"external_service\"\nmethod = \"GET\"\n";
    let faults = |rest: &str| endpoint_faults(&with_handler(UPSTREAM, &format!("{external}{rest}")));
    let sound = r#"url = "https://api.example/rooms/{room_id}"
headers = { Authorization = "Bearer ${TOKEN}" }
input_transform = { room_id = "id" }
error_map = { 404 = "gone" }
timeout_seconds = 2.5
deferred = true"#;
    assert_eq!(faults(sound), [] as [&str; 0]);
    let cases: &[(&str, &str, &str)] = &[
        ("https://", "http://", "29 upstream-url"),
        ("https://api.example/", "https:///", "29 upstream-url"),
        ("https://api.example/", "https://me@api.example/", "29 upstream-url"),
        ("https://api.example/", "https://api.example:0/", "29 upstream-url"),
        ("https://api.example/", "https://[::g]/", "29 upstream-url"),
        ("{room_id}", "{room}", "29 upstream-url"),
        ("{room_id}", "{room_id", "29 upstream-url"),
        ("{room_id}", "room_id}", "29 upstream-url"),
        ("Authorization", "host", "30 upstream-header"),
        ("Authorization", "Transfer-Encoding", "30 upstream-header"),
        ("{ room_id = \"id\"", "{ room = \"id\"", "31 upstream-transform"),
        ("404", "204", "32 upstream-error-map"),
        ("${TOKEN}", "${TOKEN", "30 upstream-placeholder"),
        ("${TOKEN}", "${}", "30 upstream-placeholder"),
        ("Authorization", "\"a b\"", "30 upstream-header"),
        ("Bearer", "Bear\u{1F43B}er", "30 upstream-header"),
        ("\"id\"", "7", "31 wrong-type"),
        ("404", "4040", "32 upstream-error-map"),
        ("\"gone\"", "\"lost\"", "32 upstream-error-map"),
        ("2.5", "0", "33 handler-timeout"),
        ("2.5", "-1", "33 handler-timeout"),
        ("deferred", "defered", "34 unknown-key"),
    ];
    for (from, to, expected) in cases {
        assert_eq!(faults(&sound.replacen(from, to, 1)), [*expected], "{from} -> {to}");
    }
    let placed = |rest: &str| faults(&sound.replacen("input_transform = { room_id = \"id\" }", rest, 1));
    let none: [&str; 0] = [];
    assert_eq!(placed("input_place = { room_id = \"header\" }"), none);
    assert_eq!(placed("input_place = { room_id = \"body\" }"), none);
    assert_eq!(placed("input_place = { room_id = \"cookie\" }"), ["31 upstream-place"]);
    assert_eq!(placed("input_place = { room = \"query\" }"), ["31 upstream-place"]);
    assert_eq!(placed("output_body = \"none\""), ["31 upstream-place"]);
    let renamed = |name: &str| {
        placed(&format!(
            "input_transform = {{ room_id = \"{name}\" }}\ninput_place = {{ room_id = \"header\" }}"
        ))
    };
    assert_eq!(renamed("X-Room"), none);
    assert_eq!(renamed("authorization"), ["32 upstream-place"]);
    assert_eq!(renamed("Host"), ["32 upstream-header"]);
    assert_eq!(renamed("a b"), ["32 upstream-header"]);
    let unlisted = endpoint_faults(&with_handler("[\"gone\"]", &format!("{external}{sound}")));
    assert_eq!(unlisted, vec!["26 error-required"; 5]);
    let method = with_handler(UPSTREAM, &format!("{external}{sound}").replace("\"GET\"", "\"FETCH\""));
    assert_eq!(endpoint_faults(&method), ["28 upstream-method"]);
}

const RECIPES: &str = r#"[[recipe]]
name = "summary"
[[recipe.steps]]
method = "QUERY"
path = "/facts"
capture_as = "facts"
[recipe.steps.parameters.intent]
kind = "proposal"
value = "room_id"
[[recipe.steps]]
method = "SUMMARIZE"
[recipe.aggregation]
mode = "merge"
"#;

#[test]
fn compositions_are_checked() {
    let facts = endpoint_at("QUERY", "/facts");
    let check = |errors: &str, recipe: &str, scopes: &str, expected: &[&str]| {
        let handler = format!("type = \"composition\"\nrecipe = \"{recipe}\"");
        let text = with_handler(errors, &handler).replace("[\"booking:room\"]", scopes);
        let files = [
            ("endpoints/a.toml", text.as_str()),
            ("endpoints/facts.toml", &facts),
            ("agtp-recipes.toml", RECIPES),
        ];
        let expected: Vec<_> = expected.iter().map(|fault| format!("endpoints/a.toml:{fault}")).collect();
        assert_eq!(faults(&files), expected);
    };
    check("[\"composition_failed\"]", "summary", "[\"booking:room\"]", &[]);
    check("[\"composition_failed\"]", "summary", "[\"booking:*\"]", &[]);
    check("[\"composition_failed\"]", "summary", "[]", &["26 scope-uncovered"]);
    check("[]", "summary", "[\"booking:room\"]", &["26 error-required"]);
    check("[\"composition_failed\"]", "sumary", "[\"booking:room\"]", &["28 unknown-recipe"]);
}

#[test]
fn steps_of_used_recipes_lead_somewhere() {
    let text = with_handler("[\"composition_failed\"]", "type = \"composition\"\nrecipe = \"summary\"");
    let found = faults(&[("endpoints/a.toml", &text), ("agtp-recipes.toml", RECIPES)]);
    assert_eq!(found, ["agtp-recipes.toml:3 step-unresolved"]);
}

#[test]
fn recipes_are_checked() {
    let cases: &[(&str, &str, &[&str])] = &[
        ("summary", "", &["2 empty-field"]),
        ("name =", "nmae =", &["1 missing-field", "2 unknown-key"]),
        ("\"QUERY\"", "\"QEURY\"", &["4 method-unknown"]),
        ("\"QUERY\"", "\"GET\"", &["4 method-unknown"]),
        ("\"/facts\"", "\"/facts/\"", &["5 path-trailing-slash"]),
        ("\"/facts\"", "\"/facts/{id}\"", &["5 step-parameter"]),
        ("\"/facts\"", "\"/facts/{intent}\"", &[]),
        ("\"proposal\"", "\"input\"", &["8 recipe-choice"]),
        ("\"room_id\"", "1", &["9 wrong-type"]),
        ("\"merge\"", "\"all\"", &["13 recipe-choice"]),
        ("[recipe.aggregation]", "[recipe.agregation]", &["12 unknown-key"]),
        (
            "[recipe.aggregation]\nmode = \"merge\"",
            "[recipe.pattern]\npath_regex = \"(\"",
            &["13 recipe-pattern"],
        ),
        (
            "[recipe.aggregation]\nmode = \"merge\"",
            "[recipe.pattern]\nname_exact = \"audit\"\npath_exact = \"/a\"\n\
             path_regex = \"^/a\"\nhas_parameters = true",
            &["13 method-form", "14 declared-twice"],
        ),
    ];
    for (from, to, expected) in cases {
        let found = faults(&[("agtp-recipes.toml", &RECIPES.replacen(from, to, 1))]);
        let expected: Vec<_> = expected.iter().map(|fault| format!("agtp-recipes.toml:{fault}")).collect();
        assert_eq!(found, expected, "{from} -> {to}");
    }
    let none = faults(&[("agtp-recipes.toml", "[[recipe]]\nname = \"a\"\nsteps = []\n")]);
    assert_eq!(none, ["agtp-recipes.toml:1 recipe-without-steps"]);
    let twice = RECIPES.to_owned() + RECIPES;
    assert_eq!(faults(&[("agtp-recipes.toml", &twice)]), ["agtp-recipes.toml:15 recipe-duplicate"]);
}

#[test]
fn rivals_are_both_reported_and_neither_is_served() {
    let (one, other, third) = (
        endpoint_at("BOOK", "/a/{x}/c"),
        endpoint_at("BOOK", "/a/b/{y}"),
        endpoint_at("RESERVE", "/a/b/{y}"),
    );
    let files =
        [("endpoints/1.toml", one.as_str()), ("endpoints/2.toml", &other), ("endpoints/3.toml", &third)];
    let reading = reading(&files);
    assert_eq!(
        shown(&reading.report.faults),
        ["endpoints/1.toml:3 path-ambiguous", "endpoints/2.toml:3 path-ambiguous"]
    );
    assert!(reading.report.faults[0].message.contains("endpoints/2.toml:3"));
    let served = reading.deployment.unwrap().endpoints;
    assert_eq!(served.iter().map(|endpoint| endpoint.method.as_str()).collect::<Vec<_>>(), ["RESERVE"]);
}

#[test]
fn the_same_endpoint_twice_is_served_not_once() {
    let found = reading(&[("endpoints/1.toml", ENDPOINT), ("endpoints/2.toml", ENDPOINT)]);
    assert_eq!(
        shown(&found.report.faults),
        ["endpoints/1.toml:3 endpoint-duplicate", "endpoints/2.toml:3 endpoint-duplicate"]
    );
    assert!(found.deployment.unwrap().endpoints.is_empty());
    let faulty = edited("0.85", "7");
    let found = faults(&[("endpoints/1.toml", ENDPOINT), ("endpoints/2.toml", &faulty)]);
    assert_eq!(found.len(), 3, "a faulty rival is a rival still");
}
