//! What every server says about itself (draft: Server Manifest, Server Metadata via AGTP Methods; facts page 6; D1, D24,
//! D28).

use crate::support::*;
use agtp::engine::{Engine, Function};
use serde_json::{Value, json};
use std::sync::LazyLock;

const MANIFEST: &str = "application/vnd.agtp.manifest+json";
const PLAIN: &str = "2222222222222222222222222222222222222222222222222222222222222222";
const RETIRED: &str = "3333333333333333333333333333333333333333333333333333333333333333";

static GENESIS: LazyLock<Value> = LazyLock::new(|| {
    sealed(json!({
        "owner_id": "acme.example", "archetype": "assistant", "governance_zone": "zone:test", "scope": ["test:*"],
        "issued_at": "2026-01-01T00:00:00Z", "trust_tier": 1, "verification_path": "dns-anchored", "note": "caf\u{e9} \"/\"",
    }))
});

fn rooted() -> &'static str {
    GENESIS["agent_id"].as_str().expect("an id")
}

const SETTINGS: &str = r#"operator = "Test Operator"
contact = "desk@server.example"
domain = "server.example"
issued = "2025-05-05T00:00:00Z"
document_version = "7"

[policies.methods]
allow = ["BOOK", "FETCH", "FROB", "ZORK"]
disallow = ["AUCTION"]
legacy = ["GET"]
custom = ["FROB", "ZORK"]

[policies.methods.aliases]
ORDER = "BOOK"

[[policies.methods.redirects]]
from_method = "FROB"
from_path = "/room"
to_method = "BOOK"
to_path = "/rooms/12"

[[policies.methods.redirects]]
from_method = "ZORK"
to_method = "FETCH"

[[tools]]
name = "calculator"
description = "Adds."

[[apis]]
name = "legacy"
base_url = "https://api.server.example"

[[hosted_protocols]]
name = "MCP"
method = "EXECUTE"
path = "/mcp"
"#;

fn deployment(settings: &str) -> Deployment {
    Deployment::with_settings(settings)
        .agent("rooted", &json!({
            "agent_id": rooted(), "skills": ["Books rooms", "Cancels"], "requires": {"methods": ["BOOK", "FETCH"]}, "trust_warning": "audited",
        }))
        .agent("plain", &json!({"agent_id": PLAIN, "skills": [], "owner_id": "o.example"}))
        .agent("retired", &json!({"agent_id": RETIRED, "status": "retired"}))
        .file("agents/rooted.genesis.json", &GENESIS.to_string())
        .endpoint(
            &Endpoint::echo("BOOK /rooms/{room}")
                .function("test::secret_reference")
                .line("namespace = \"rooms\"\nerrors = [\"taken\"]")
                .scopes(&["test:book"])
                .output(json!({"type": "object", "properties": {"id": {"type": "string"}}}))
                .table("[endpoint.deprecated]\ndeprecated_in = \"1.1\"\nremoved_in = \"2.0\"\nsuccessor = { method = \"FETCH\" }"),
        )
        .endpoint(&Endpoint::echo("FETCH /rooms"))
}

fn engine(settings: &str) -> Engine<'static> {
    let functions = [Function::plain("test::secret_reference", |_, _| Ok(()))];
    deployment(settings).engine_with(&functions)
}

static ENGINE: LazyLock<Engine<'static>> = LazyLock::new(|| engine(SETTINGS));

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().expect("an object").keys().map(String::as_str).collect()
}

fn projected(manifest: &Value, method: &str, path: &str) -> Value {
    let endpoints = manifest["endpoints"].as_array().expect("endpoints");
    let mut found =
        endpoints.iter().filter(|endpoint| endpoint["method"] == method && endpoint["path"] == path);
    let endpoint = found.next().unwrap_or_else(|| panic!("{method} {path} is listed")).clone();
    assert!(found.next().is_none(), "{method} {path} is listed once");
    endpoint
}

#[test]
fn the_manifest_says_all_that_it_must_and_nothing_of_the_handlers() {
    let answer = Req::anonymous("DISCOVER").ask(&ENGINE);
    assert_eq!((answer.status, answer.header("Content-Type")), (200, Some(MANIFEST)));
    let mut manifest = answer.body.clone();
    let endpoints = manifest.as_object_mut().expect("an object").remove("endpoints").expect("endpoints");
    let expected = json!({
        "agtp_version": "1.0",
        "agtp_api_version": "1.0",
        "document_version": "7",
        "catalog_version": "1.0.0",
        "catalog_versions_supported": ["1.0.0"],
        "server": {
            "server_id": "server.example", "domain": "server.example", "operator": "Test Operator",
            "contact": "desk@server.example", "supported_features": [], "issued": "2025-05-05T00:00:00Z",
            "updated": "2026-01-02T00:00:00Z",
        },
        "embedded_methods": FLOOR,
        "custom_methods": ["FROB", "ZORK"],
        "agent_disclosure": "public",
        "hosted_agents": manifest["hosted_agents"],
        "agent_disclosure_notice": null,
        "apis": [{"name": "legacy", "base_url": "https://api.server.example"}],
        "hosted_protocols": [{"name": "MCP", "method": "EXECUTE", "path": "/mcp"}],
        "policies": {
            "wildcards_accepted": false, "anonymous_discovery": true, "scope_required_for_invocation": true,
            "synthesis_enabled": false, "max_synthesis_depth": 10,
            "methods": {
                "allow": ["BOOK", "FETCH", "FROB", "ZORK"], "disallow": ["AUCTION"], "legacy": ["GET"], "aliases": {"ORDER": "BOOK"},
                "redirects": [
                    {"from_method": "FROB", "from_path": "/room", "to_method": "BOOK", "to_path": "/rooms/12"},
                    {"from_method": "ZORK", "to_method": "FETCH"},
                ],
            },
        },
        "manifest_signature": null,
    });
    assert_eq!(manifest, expected);
    let book = projected(&answer.body, "BOOK", "/rooms/{room}");
    let expected = json!({
        "method": "BOOK", "path": "/rooms/{room}", "description": "Serves a test.", "namespace": "rooms",
        "semantic": {
            "intent": "Serve a test.", "actor": "agent", "outcome": "It is served.", "capability": "analysis",
            "confidence": 1.0, "impact": "informational", "is_idempotent": true,
        },
        "input_schema": {"type": "object", "properties": {"room": {"type": "string"}}, "additionalProperties": false},
        "output_schema": {"type": "object", "properties": {"id": {"type": "string"}}},
        "errors": ["taken"],
        "required_scopes": ["test:book"],
        "deprecated": {"deprecated_in": "1.1", "removed_in": "2.0", "successor": {"method": "FETCH"}},
        "handler": {"type": "registered_function"},
    });
    assert_eq!(book, expected);
    let text = String::from_utf8_lossy(&answer.raw);
    for secret in ["secret_reference", "test::", "echo", ".toml", "function\":", "recipe\":", "\"url\":"] {
        assert!(!text.contains(secret), "{secret} is internal");
    }
    for endpoint in endpoints.as_array().expect("an array") {
        assert_eq!(keys(endpoint), keys(&expected), "every endpoint carries every field: {endpoint}");
        assert_eq!(keys(&endpoint["semantic"]), keys(&expected["semantic"]));
        assert_eq!(keys(&endpoint["handler"]), ["type"]);
        assert_eq!(
            (&endpoint["input_schema"]["type"], &endpoint["input_schema"]["additionalProperties"]),
            (&json!("object"), &json!(false))
        );
    }
    // Built-ins are listed like any other endpoint.
    for place in ["/", "/methods", "/agents", "/genesis", "/tools", "/apis"] {
        projected(&answer.body, "DISCOVER", place);
    }
}

#[test]
fn without_settings_the_manifest_shows_the_defaults() {
    let manifest = Req::anonymous("DISCOVER").ask(&engine("")).body;
    let expected = json!({
        "allow": "*", "disallow": [], "legacy": "NONE", "redirects": [],
        "aliases": {"GET": "FETCH", "POST": "CREATE", "PUT": "REPLACE", "DELETE": "REMOVE", "PATCH": "MODIFY"},
    });
    assert_eq!(manifest["policies"]["methods"], expected);
    assert_eq!(manifest["server"]["issued"], "2026-01-01T00:00:00Z");
    assert_eq!(
        (&manifest["apis"], &manifest["hosted_protocols"], &manifest["custom_methods"]),
        (&json!([]), &json!([]), &json!([]))
    );
    assert!(manifest["document_version"].as_str().is_some_and(|version| !version.is_empty()));
    for legacy in ["\"*\"", "\"NONE\"", "[]"] {
        let manifest =
            Req::anonymous("DISCOVER").ask(&engine(&format!("[policies.methods]\nlegacy = {legacy}\n"))).body;
        assert_eq!(manifest["policies"]["methods"]["legacy"].to_string(), legacy);
    }
}

#[test]
fn the_manifest_can_be_cached_by_what_it_says() {
    let header = |engine: &Engine<'_>, name: &str| {
        Req::anonymous("DISCOVER").ask(engine).header(name).map(str::to_owned)
    };
    let tag = header(&ENGINE, "ETag").expect("an ETag");
    assert!(tag.len() > 2 && tag.starts_with('"') && tag.ends_with('"'), "{tag}");
    assert!(header(&ENGINE, "Cache-Control").is_some());
    assert_eq!(header(&engine(SETTINGS), "ETag"), Some(tag.clone()), "the same content has the same tag");
    assert_ne!(header(&engine(""), "ETag"), Some(tag.clone()));
    // If-None-Match is ignored.
    assert_eq!(Req::anonymous("DISCOVER").header("If-None-Match", &tag).ask(&ENGINE).status, 200);
    assert_eq!(Req::anonymous("DISCOVER /methods").ask(&ENGINE).header("ETag"), None);
}

#[test]
fn discover_at_the_root_is_the_manifest_or_the_directory() {
    let is_manifest = |request: Req| {
        let answer = request.ask(&ENGINE);
        assert_eq!(answer.status, 200, "{}", request.shown());
        let manifest = answer.header("Content-Type") == Some(MANIFEST);
        assert_eq!(manifest, answer.body.get("agtp_version").is_some());
        assert_ne!(manifest, answer.body.get("directory").is_some());
        manifest
    };
    for line in ["DISCOVER", "DISCOVER /"] {
        assert!(is_manifest(Req::anonymous(line)));
        assert!(is_manifest(Req::anonymous(line).header("Accept", "application/vnd.agtp+json")));
        assert!(!is_manifest(Req::new(line)));
        assert!(!is_manifest(Req::new(line).header("Accept", "*/*")));
        assert!(!is_manifest(Req::new(line).header("Accept", "application/vnd.agtp+json")));
        for accept in [
            MANIFEST,
            "APPLICATION/vnd.agtp.manifest+json",
            "application/json, application/vnd.agtp.manifest+json;q=0.9",
        ] {
            assert!(is_manifest(Req::new(line).header("Accept", accept)), "{accept}");
        }
        assert!(is_manifest(Req::new(line).header("Accept", MANIFEST).body(r#"{"criteria":"rooms"}"#)));
    }
    let directory = Req::new("DISCOVER").ask(&ENGINE).body;
    assert_eq!(keys(&directory), ["directory"]);
    let mut paths = Vec::new();
    for entry in directory["directory"].as_array().expect("an array") {
        assert_eq!(entry["tier"], "A", "{entry}");
        paths.push(entry["path"].as_str().expect("a path").to_owned());
    }
    for path in &paths {
        assert!(Req::new(format!("DISCOVER {path}")).ask(&ENGINE).status != 405, "{path} is served");
    }
    for path in ["/methods", "/agents", "/genesis", "/tools", "/apis"] {
        assert!(paths.iter().any(|listed| listed == path), "{path}");
    }
}

#[test]
fn other_built_ins_answer_themselves_whoever_asks() {
    for path in ["/methods", "/agents", "/tools", "/apis"] {
        let anonymous = Req::anonymous(format!("DISCOVER {path}")).ask(&ENGINE);
        let known = Req::new(format!("DISCOVER {path}")).header("Accept", MANIFEST).ask(&ENGINE);
        assert_eq!((anonymous.status, &anonymous.raw), (200, &known.raw), "{path}");
        assert_eq!(known.header("Content-Type"), Some("application/vnd.agtp+json"));
        assert_eq!(Req::new(format!("DISCOVER {path}?undeclared=1")).ask(&ENGINE).status, 422, "{path}");
        assert_eq!(
            Req::new(format!("FETCH {path}")).ask(&ENGINE).body["error"]["allowed_methods_for_path"],
            json!(["DISCOVER"])
        );
    }
    assert_eq!(
        Req::anonymous("DISCOVER /tools").ask(&ENGINE).body,
        json!([{"name": "calculator", "description": "Adds."}])
    );
    assert_eq!(
        Req::anonymous("DISCOVER /apis").ask(&ENGINE).body,
        json!([{"name": "legacy", "base_url": "https://api.server.example"}])
    );
}

#[test]
fn the_inventory_lists_every_endpoint_and_itself() {
    let inventory = Req::anonymous("DISCOVER /methods").ask(&ENGINE).body;
    let manifest = Req::anonymous("DISCOVER").ask(&ENGINE).body;
    let entries = inventory.as_array().expect("an array");
    for entry in entries {
        let mut names = keys(entry);
        names.sort_unstable();
        assert_eq!(names, ["description", "method", "path", "tier"]);
        assert!(entry["description"].as_str().is_some_and(|text| !text.is_empty()));
        let operators = ["/rooms", "/rooms/{room}"].contains(&entry["path"].as_str().expect("a path"));
        assert_eq!(entry["tier"], if operators { "B" } else { "A" }, "{entry}");
    }
    let places = |list: &[Value]| {
        let mut places: Vec<_> =
            list.iter().map(|entry| format!("{} {}", entry["method"], entry["path"])).collect();
        places.sort_unstable();
        places
    };
    let listed = places(entries);
    assert_eq!(
        listed,
        places(manifest["endpoints"].as_array().expect("an array")),
        "the manifest lists the same"
    );
    assert!(listed.contains(&"\"DISCOVER\" \"/methods\"".to_owned()));
    for method in FLOOR {
        assert!(listed.contains(&format!("\"{method}\" \"/\"")), "{method} is of the floor");
    }
    let mut distinct = listed.clone();
    distinct.dedup();
    assert_eq!(distinct, listed);
}

fn sorted_agents(list: &Value) -> Vec<Value> {
    let mut agents = list.as_array().expect("an array").clone();
    agents.sort_by_key(|agent| agent["name"].to_string());
    agents
}

#[test]
fn agents_are_told_to_those_whom_disclosure_admits() {
    let everybody = json!([
        {"agent_id": PLAIN, "name": "plain", "skills_summary": "", "methods_count": 0, "trust_tier": 2,
         "verification_path": "org-asserted", "trust_warning": "verification-incomplete", "owner_id": "o.example"},
        {"agent_id": RETIRED, "name": "retired", "skills_summary": "", "methods_count": 0, "trust_tier": 2,
         "verification_path": "org-asserted", "trust_warning": "verification-incomplete"},
        {"agent_id": rooted(), "name": "rooted", "skills_summary": "Books rooms; Cancels", "methods_count": 2, "trust_tier": 1,
         "verification_path": "dns-anchored", "trust_warning": "audited", "owner_id": "acme.example"},
        {"agent_id": TESTER, "name": "tester", "skills_summary": "", "methods_count": 0, "trust_tier": 2,
         "verification_path": "org-asserted", "trust_warning": "verification-incomplete"},
    ]);
    let nobody = json!([]);
    for (disclosure, anonymous, known) in [
        ("public", &everybody, &everybody),
        ("authenticated", &nobody, &everybody),
        ("private", &nobody, &nobody),
    ] {
        let engine = engine(&format!("[agents]\ndisclosure = \"{disclosure}\"\n"));
        for (agent, expected) in [(None, anonymous), (Some(TESTER), known)] {
            let ask = |line: &str| {
                Req::anonymous(line).maybe("Agent-ID", agent).header("Accept", MANIFEST).ask(&engine).body
            };
            assert_eq!(
                sorted_agents(&ask("DISCOVER /agents")),
                *expected.as_array().expect("an array"),
                "{disclosure} {agent:?}"
            );
            let manifest = ask("DISCOVER");
            assert_eq!(
                sorted_agents(&manifest["hosted_agents"]),
                *expected.as_array().expect("an array"),
                "{disclosure}"
            );
            assert_eq!(manifest["agent_disclosure"], disclosure);
            if *expected == nobody {
                assert!(!manifest.to_string().contains(PLAIN), "{disclosure}");
            }
        }
    }
}

#[test]
fn a_genesis_is_returned_as_it_was_loaded_and_hashes_to_its_agent() {
    let own = Req::anonymous("DISCOVER /genesis").header("Agent-ID", rooted()).ask(&ENGINE);
    let named = Req::anonymous(format!("DISCOVER /genesis?agent_id={}", rooted())).ask(&ENGINE);
    let both = Req::new("DISCOVER /genesis").body(json!({"agent_id": rooted()}).to_string()).ask(&ENGINE);
    for answer in [own, named, both] {
        assert_eq!(answer.status, 200);
        assert_eq!(answer.body, *GENESIS, "signature included");
        assert_eq!(String::from_utf8_lossy(&answer.raw), GENESIS.to_string(), "in canonical form");
        assert_eq!(id_of_genesis(&answer.body), rooted());
    }
    let missing = |request: Req| {
        let answer = request.ask(&ENGINE);
        assert_eq!(answer.status, 404, "{}", request.shown());
        let error = &answer.body["error"];
        assert_eq!((&error["method"], &error["path"]), (&json!("DISCOVER"), &json!("/genesis")));
        answer.code().to_owned()
    };
    assert_eq!(missing(Req::anonymous("DISCOVER /genesis")), "genesis-not-found", "nobody is named");
    assert_eq!(missing(Req::new("DISCOVER /genesis")), "genesis-not-found", "the caller has none");
    let other =
        |id: &str| Req::anonymous(format!("DISCOVER /genesis?agent_id={id}")).header("Agent-ID", rooted());
    assert_eq!(missing(other(PLAIN)), "genesis-not-found", "?agent_id= names the agent, not the header");
    assert_eq!(missing(other(&"9".repeat(64))), "agent-not-found");
    assert_eq!(missing(other("plain")), "agent-not-found");
}

#[test]
fn proposals_are_refused_on_principle() {
    for body in [
        "",
        "{}",
        r#"{"endpoint":{"method":"BOOK","path":"/x"}}"#,
        r#"{"name":"AUDIT","description":"d"}"#,
        r#"{"endpoint":{},"persistent":true}"#,
        r#"{"endpoint":{},"name":"AUDIT"}"#,
        r#"{"endpoint":1,"undeclared":2}"#,
    ] {
        let answer = Req::new("PROPOSE /").body(body).ask(&ENGINE);
        assert_eq!(verdict(&answer), (463, "proposal-rejected".to_owned()), "{body}");
        assert_eq!(answer.body["error"]["reason"], "synthesis-disabled");
        assert!(answer.body["error"]["explanation"].is_string());
    }
    assert_eq!(Req::new("PROPOSE /nowhere").ask(&ENGINE).status, 404);
    assert_eq!(Req::new("PROPOSE /rooms").ask(&ENGINE).status, 405);
}

#[test]
fn an_operator_may_replace_a_built_in_and_use_reserved_paths_under_other_methods() {
    let settings = "[policies]\nscope_required_for_invocation = false\nbuiltins_override = [\"/tools\"]\n";
    let engine = Deployment::with_settings(settings)
        .echoes(&["DISCOVER /tools", "QUERY /methods", "QUERY /agents-extended", "QUERY /"])
        .engine();
    assert_eq!(
        Req::new("DISCOVER /tools").ask(&engine).body,
        json!({"input": {}, "method": "DISCOVER", "path": "/tools"})
    );
    assert_eq!(Req::new("QUERY /methods").ask(&engine).body["path"], "/methods");
    assert_eq!(Req::new("QUERY /agents-extended").ask(&engine).status, 200);
    assert_eq!(
        Req::new("QUERY /").ask(&engine).body["method"],
        "QUERY",
        "the floor at `/` gives way to the operator"
    );
    assert!(Req::new("DISCOVER /methods").ask(&engine).body.is_array(), "another method shadows nothing");
    // What replaces a built-in is an endpoint like any other.
    assert_eq!(Req::anonymous("DISCOVER /tools").ask(&engine).body["error"]["type"], "credentials-missing");
}

const RESERVED: [&str; 7] = ["/methods", "/agents", "/genesis", "/tools", "/apis", "/patterns", "/contracts"];

#[test]
fn negotiation_is_listed_as_disabled() {
    for (path, expected) in
        [("/patterns", json!({"rcns_enabled": false, "patterns": []})), ("/contracts", json!([]))]
    {
        for request in [Req::anonymous(format!("DISCOVER {path}")), Req::new(format!("DISCOVER {path}"))] {
            let answer = request.ask(&ENGINE);
            assert_eq!((answer.status, &answer.body), (200, &expected), "{path}");
        }
    }
}

#[test]
fn tools_and_apis_are_served_where_there_are_any() {
    let listed = |engine: &Engine<'_>| {
        let directory = Req::new("DISCOVER /").ask(engine).body;
        let paths: Vec<_> = directory["directory"].as_array().expect("a directory").clone();
        paths.iter().map(|entry| entry["path"].as_str().expect("a path").to_owned()).collect::<Vec<_>>()
    };
    let tool = json!({"name": "calculator", "description": "Adds.", "agent_id": PLAIN, "input": {"a": [1, 2.5, true]}});
    let toml = format!(
        "[[tools]]\nname = \"calculator\"\ndescription = \"Adds.\"\nagent_id = \"{PLAIN}\"\ninput = {{ a = [1, 2.5, true] }}\n"
    );
    let with_tools = engine(&toml);
    assert_eq!(Req::anonymous("DISCOVER /tools").ask(&with_tools).body, json!([tool]));
    assert_eq!(verdict(&Req::new("DISCOVER /apis").ask(&with_tools)), (404, "endpoint-not-found".to_owned()));
    assert_eq!(verdict(&Req::new("DISCOVER /").body(r#"{"target":"apis"}"#).ask(&with_tools)).0, 404);
    assert_eq!(listed(&with_tools), ["/methods", "/agents", "/genesis", "/tools", "/patterns", "/contracts"]);
    let neither = engine("");
    for path in ["/tools", "/apis"] {
        assert_eq!(Req::new(format!("DISCOVER {path}")).ask(&neither).status, 404, "{path}");
        assert!(!listed(&neither).iter().any(|listed| listed == path));
    }
}

#[test]
fn every_reserved_path_can_be_overridden_and_only_by_name() {
    for path in RESERVED {
        let settings =
            format!("[policies]\nscope_required_for_invocation = false\nbuiltins_override = [\"{path}\"]\n");
        let engine = Deployment::with_settings(&settings).echoes(&[&format!("DISCOVER {path}")]).engine();
        let own = Req::new(format!("DISCOVER {path}")).ask(&engine);
        assert_eq!(own.body, json!({"input": {}, "method": "DISCOVER", "path": path}), "{path}");
        let inventory = Req::new("DISCOVER /methods").ask(&engine).body;
        let directory = Req::new("DISCOVER /").ask(&engine).body;
        let tier_of = |list: &Value| {
            let entries = list.as_array().cloned().unwrap_or_default();
            let mut found = entries.into_iter().filter(|entry| {
                entry["path"] == path && entry.get("method").is_none_or(|method| method == "DISCOVER")
            });
            let tier = found.next().map(|entry| entry["tier"].clone());
            assert!(found.next().is_none(), "{path} is listed once");
            tier
        };
        assert_eq!(tier_of(&directory["directory"]), Some(json!("B")), "{path}");
        if path != "/methods" {
            assert_eq!(tier_of(&inventory), Some(json!("B")), "{path}");
        }
        // The others are the protocol's still.
        let other = if path == "/agents" { "/methods" } else { "/agents" };
        assert!(Req::new(format!("DISCOVER {other}")).ask(&engine).body.is_array(), "{other}");
    }
}
