//! What a deployment becomes.

mod names;
mod routes;

use super::fixture::{agent, deployment, endpoint, times};
use super::*;
use crate::compiler::ir::*;
use crate::identity::{Status as AgentStatus, parse_agent_id};
use crate::registry::{Binding, Builtin, LegacyForm, MethodId, split_segments};
use serde_json::{Value, json};

fn compile(deployment: &Deployment) -> Compiled {
    lower(deployment, &times()).unwrap()
}

fn route<'r>(registry: &'r Registry, method: &str, path: &str) -> Option<&'r str> {
    let method = registry.method(registry.lookup(method.as_bytes())?);
    let mut segments = Vec::new();
    split_segments(path.as_bytes(), 64, &mut segments);
    let endpoint = registry.router.route(method.routes, path.as_bytes(), &segments, &registry.text)?;
    Some(registry.str(registry.endpoint(endpoint).path))
}

fn document(registry: &Registry, text: crate::registry::Text) -> Value {
    serde_json::from_str(registry.str(text)).unwrap()
}

#[test]
fn an_empty_deployment_has_the_floor_and_the_inventories() {
    let registry = compile(&deployment(vec![])).registry;
    for (method, path) in [
        ("DISCOVER", "/"),
        ("DISCOVER", "/methods"),
        ("DISCOVER", "/agents"),
        ("DISCOVER", "/genesis"),
        ("DISCOVER", "/patterns"),
        ("DISCOVER", "/contracts"),
        ("PROPOSE", "/"),
        ("QUERY", "/"),
        ("REVOKE", "/"),
    ] {
        assert_eq!(route(&registry, method, path), Some(path), "{method}");
    }
    for path in ["/tools", "/apis", "/nowhere", "/methods/v2"] {
        assert_eq!(route(&registry, "DISCOVER", path), None, "{path}");
    }
    assert_eq!(registry.endpoints.len(), 18 + 5);
    let methods = document(&registry, registry.documents.methods);
    assert_eq!(methods.as_array().unwrap().len(), 23);
    let directory = document(&registry, registry.documents.directory);
    assert_eq!(directory["directory"][0], json!({"path": "/methods", "tier": "A"}));
    assert_eq!(directory["directory"].as_array().unwrap().len(), 5);
}

#[test]
fn configured_tools_and_apis_are_discoverable() {
    let mut deployment = deployment(vec![]);
    deployment.settings.tools = vec![json!({"name": "calculator"})];
    deployment.settings.apis = vec![json!({"name": "rest", "base_url": "https://api.example"})];
    let registry = compile(&deployment).registry;
    assert_eq!(route(&registry, "DISCOVER", "/tools"), Some("/tools"));
    assert_eq!(document(&registry, registry.documents.tools), json!([{"name": "calculator"}]));
    assert_eq!(route(&registry, "DISCOVER", "/apis"), Some("/apis"));
}

#[test]
fn an_operator_endpoint_replaces_the_built_in_at_its_place() {
    let deployment = deployment(vec![endpoint("QUERY", "/"), endpoint("DISCOVER", "/methods")]);
    let registry = compile(&deployment).registry;
    let bound: Vec<_> = registry
        .endpoints
        .iter()
        .filter(|e| matches!(e.binding, Binding::Function(_)))
        .map(|e| (registry.method_name(e.method), registry.str(e.path), e.needs_scope_header, e.anonymous))
        .collect();
    assert_eq!(bound, [("QUERY", "/", true, false), ("DISCOVER", "/methods", true, false)]);
    assert_eq!(registry.endpoints.len(), 23);
    let directory = document(&registry, registry.documents.directory);
    assert_eq!(directory["directory"][0], json!({"path": "/methods", "tier": "B"}));
}

#[test]
fn authority_of_built_ins_follows_the_draft() {
    let registry = compile(&deployment(vec![])).registry;
    for endpoint in registry.endpoints.iter() {
        let name = registry.method_name(endpoint.method);
        let reading =
            ["QUERY", "DISCOVER", "DESCRIBE", "INSPECT", "SUMMARIZE", "PLAN", "PROPOSE"].contains(&name);
        assert_eq!(endpoint.needs_scope_header, !reading, "{name}");
        assert_eq!(endpoint.changes_state, !reading, "{name}");
        assert_eq!(endpoint.anonymous, name == "DISCOVER", "{name}");
    }
    let root = registry.endpoints.iter().find(|e| e.binding == Binding::Builtin(Builtin::Root)).unwrap();
    assert!(registry.method(root.method).safe);
}

/// Requested name, dispatched name, legacy form, recognized.
fn dispatch(registry: &Registry, name: &str) -> (String, LegacyForm, bool) {
    let method = registry.method(registry.lookup(name.as_bytes()).unwrap());
    (registry.method_name(method.dispatch).to_owned(), method.legacy_form, method.recognized)
}

fn dispatched_as(name: &str, form: LegacyForm) -> (String, LegacyForm, bool) {
    (name.to_owned(), form, true)
}

#[test]
fn aliases_and_legacy_verbs_resolve_in_the_order_of_d3() {
    let mut deployment = deployment(vec![]);
    let seeded = compile(&deployment).registry;
    assert_eq!(dispatch(&seeded, "GET"), dispatched_as("FETCH", LegacyForm::Plain));
    assert_eq!(seeded.method_name(seeded.method(seeded.lookup(b"GET").unwrap()).preferred), "FETCH");

    let all = ["GET", "POST", "PUT", "DELETE", "PATCH"].map(str::to_owned).to_vec();
    deployment.settings.methods.legacy = all;
    let opted_in = compile(&deployment).registry;
    assert_eq!(dispatch(&opted_in, "GET"), dispatched_as("QUERY", LegacyForm::Plain));
    assert_eq!(dispatch(&opted_in, "POST"), dispatched_as("EXECUTE", LegacyForm::Plain));
    assert_eq!(dispatch(&opted_in, "PUT"), dispatched_as("EXECUTE", LegacyForm::IdempotencyKey));
    assert_eq!(dispatch(&opted_in, "DELETE"), dispatched_as("EXECUTE", LegacyForm::Delete));
    assert_eq!(dispatch(&opted_in, "PATCH"), dispatched_as("EXECUTE", LegacyForm::Modify));

    deployment.settings.methods.aliases =
        vec![("GET".to_owned(), "BOOK".to_owned()), ("GRAB".to_owned(), "BOOK".to_owned())];
    deployment.settings.methods.aliases_are_seed = false;
    let written = compile(&deployment).registry;
    assert_eq!(dispatch(&written, "GET"), dispatched_as("BOOK", LegacyForm::Plain));
    assert_eq!(dispatch(&written, "GRAB"), dispatched_as("BOOK", LegacyForm::Plain));
    assert_eq!(dispatch(&written, "PUT"), dispatched_as("EXECUTE", LegacyForm::IdempotencyKey));
    assert!(!written.leak.segment_leaks(b"grab"), "alias names are no verbs (D22)");

    deployment.settings.methods.legacy = vec![];
    let wiped = compile(&deployment).registry;
    assert_eq!(dispatch(&wiped, "PUT"), ("PUT".to_owned(), LegacyForm::Plain, false));
    assert!(wiped.leak.segment_leaks(b"put"), "legacy verbs leak even when not admitted (D22)");
}

fn admitted(registry: &Registry, name: &str) -> bool {
    registry.method(registry.lookup(name.as_bytes()).unwrap()).admitted
}

#[test]
fn allow_and_disallow_apply_to_the_method_as_dispatched() {
    let mut deployment = deployment(vec![endpoint("BOOK", "/rooms"), endpoint("FETCH", "/rooms")]);
    deployment.settings.methods.disallow = vec!["BOOK".to_owned(), "QUERY".to_owned()];
    let registry = compile(&deployment).registry;
    assert!(!admitted(&registry, "BOOK"));
    assert!(admitted(&registry, "QUERY"), "the floor cannot be disallowed (D5)");
    assert!(admitted(&registry, "GET"));
    assert!(!registry.str(registry.supported_methods).contains("BOOK"));
    assert!(registry.str(registry.supported_methods).contains(", FETCH, "));
    let known = registry.known_paths.iter().find(|k| registry.str(k.template) == "/rooms").unwrap();
    assert_eq!(registry.str(known.allowed_json), "[\"FETCH\"]");

    deployment.settings.methods.allow = Some(vec!["BOOK".to_owned(), "RESERVE".to_owned()]);
    let registry = compile(&deployment).registry;
    assert!(admitted(&registry, "RESERVE"));
    assert!(!admitted(&registry, "BOOK"), "disallow beats allow");
    assert!(!admitted(&registry, "GET"), "GET is dispatched as FETCH, which is not listed");
}

#[test]
fn redirects_keep_file_order_and_useless_ones_are_reported() {
    let mut deployment = deployment(vec![endpoint("RESERVE", "/rooms"), endpoint("FETCH", "/{name}/list")]);
    let redirect = |from: &str, from_path: Option<&str>, to: &str| RedirectDecl {
        from_method: from.to_owned(),
        from_path: from_path.map(str::to_owned),
        to_method: to.to_owned(),
        to_path: None,
    };
    deployment.settings.methods.redirects = vec![
        redirect("RENT", None, "RESERVE"),
        redirect("BOOK", Some("/room"), "RESERVE"),
        redirect("BOOK", None, "RENT"),
        redirect("BOOK", None, "FETCH"),
        redirect("BOOK", Some("/book/room"), "RESERVE"),
        redirect("BOOK", Some("/book/list"), "FETCH"),
        redirect("GET", None, "RESERVE"),
    ];
    let compiled = compile(&deployment);
    let registry = &compiled.registry;
    let book = registry.method(registry.lookup(b"BOOK").unwrap());
    let orders: Vec<u32> = book.redirects.of(&registry.redirects).iter().map(|r| r.order).collect();
    assert_eq!(orders, [1, 2, 3, 5]);
    assert_eq!(compiled.warnings.len(), 2, "{:?}", compiled.warnings);
    assert!(compiled.warnings[0].contains("\"book\" is a method name"), "{}", compiled.warnings[0]);
    assert!(compiled.warnings[1].contains("redirect from FETCH"), "{}", compiled.warnings[1]);
    assert_eq!(registry.str(registry.general_redirects_json), r#"{"BOOK":"RENT","RENT":"RESERVE"}"#);
    assert!(registry.path_bound_redirects);
}

#[test]
fn deprecations_become_header_lines() {
    let mut decl = endpoint("BOOK", "/rooms");
    decl.deprecated = Some(Deprecation {
        deprecated_in: "2.1.0".to_owned(),
        removed_in: Some("3.0.0".to_owned()),
        successor_method: Some("RESERVE".to_owned()),
        successor_path: Some("/rooms".to_owned()),
    });
    let mut deployment = deployment(vec![decl]);
    let verb = deployment.catalog.verbs.iter_mut().find(|verb| verb.name == "BOOK").unwrap();
    verb.deprecated_in = Some("1.1.0".to_owned());
    verb.successor = Some("RESERVE".to_owned());
    deployment.settings.methods.aliases = vec![("GRAB".to_owned(), "BOOK".to_owned())];
    let registry = compile(&deployment).registry;
    let endpoint = registry.endpoints.iter().find(|e| !e.endpoint_warning.is_empty()).unwrap();
    assert_eq!(
        registry.str(endpoint.endpoint_warning),
        "AGTP-Endpoint-Warning: deprecated; successor=RESERVE /rooms; removed_in=3.0.0\r\n"
    );
    for name in ["BOOK", "GRAB"] {
        let method = registry.method(registry.lookup(name.as_bytes()).unwrap());
        let line = registry.str(method.catalog_warning);
        assert_eq!(line, "AGTP-Catalog-Warning: deprecated; successor=RESERVE\r\n", "{name}");
    }
}

#[test]
fn templates_that_differ_in_parameter_names_share_a_known_path() {
    let endpoints = vec![endpoint("BOOK", "/rooms/{id}"), endpoint("FETCH", "/rooms/{room}")];
    let registry = compile(&deployment(endpoints)).registry;
    let known: Vec<_> = registry.known_paths.iter().map(|k| registry.str(k.allowed_json)).collect();
    assert!(known.contains(&r#"["BOOK","FETCH"]"#), "{known:?}");
    assert_eq!(route(&registry, "FETCH", "/rooms/7"), Some("/rooms/{room}"));
    assert_eq!(route(&registry, "BOOK", "/rooms/"), None, "a parameter captures no empty segment (D8)");
}

#[test]
fn heads_cannot_be_extended_by_a_document() {
    let mut deployment = deployment(vec![]);
    deployment.settings.server.server_id = "evil\r\nX-Injected: yes".to_owned();
    deployment.settings.server.legacy_version_header = true;
    let registry = compile(&deployment).registry;
    let not_found = crate::wire::Status::NotFound.row();
    assert_eq!(
        registry.str(registry.heads[not_found]),
        "AGTP/1.0 404 Not Found\r\nServer-ID: evil??X-Injected: yes\r\nAGTP-Methods-Version: 1.0\r\n\
         AGTP-API-Version: 1.0\r\nResponse-ID: "
    );
}

#[test]
fn agents_are_found_by_id_and_only_by_id() {
    let mut deployment = deployment(vec![]);
    let mut trusted = agent('b', "morgan");
    (trusted.trust_tier, trusted.trust_warning, trusted.status) = (1, None, AgentStatus::Suspended);
    deployment.agents = vec![trusted, agent('a', "lauren")];
    let agents = compile(&deployment).agents;
    let find = |digit: &str| agents.find(&parse_agent_id(digit.repeat(64).as_bytes()).unwrap());
    let lauren = find("a").unwrap();
    assert_eq!(agents.str(lauren.grants_value), "booking:room,billing:*");
    assert_eq!(agents.grants(lauren).collect::<Vec<_>>(), ["booking:room", "billing:*"]);
    assert_eq!(
        agents.str(lauren.trust_headers),
        "Owner-ID: acme\r\nTrust-Tier: 2\r\nVerification-Path: org-asserted\r\nTrust-Warning: verification-incomplete\r\n"
    );
    let morgan = find("b").unwrap();
    assert_eq!(morgan.status, AgentStatus::Suspended);
    assert!(!agents.str(morgan.trust_headers).contains("Trust-Warning"));
    assert!(find("c").is_none());
    assert!(compile(&fixture::deployment(vec![])).agents.agents.is_empty());
}

#[test]
fn many_agents_share_one_index() {
    let mut deployment = deployment(vec![]);
    deployment.agents = (0..300u32)
        .map(|n| {
            let mut decl = agent('0', &format!("agent-{n}"));
            // The same home slot for all: the first eight bytes are zero.
            decl.agent_id = format!("{}{n:048x}", "0".repeat(16));
            decl
        })
        .collect();
    let agents = compile(&deployment).agents;
    for n in 0..300u32 {
        let id = parse_agent_id(format!("{}{n:048x}", "0".repeat(16)).as_bytes()).unwrap();
        assert_eq!(agents.find(&id).map(|agent| agents.str(agent.name)), Some(&*format!("agent-{n}")));
    }
}

#[test]
fn schemas_are_stored_once() {
    let endpoints = ["BOOK", "FETCH", "RESERVE"].map(|method| endpoint(method, "/rooms")).to_vec();
    let registry = compile(&deployment(endpoints)).registry;
    let ids: Vec<_> = registry
        .endpoints
        .iter()
        .filter(|e| matches!(e.binding, Binding::Function(_)))
        .map(|e| (e.input, e.output, e.output_constrained))
        .collect();
    assert_eq!(ids.len(), 3);
    assert!(ids.iter().all(|id| *id == ids[0]));
    assert!(!ids[0].2);
}

#[test]
fn method_ids_sort_as_names_do() {
    let registry = compile(&deployment(vec![])).registry;
    let names: Vec<_> =
        (0..registry.methods.len()).map(|id| registry.method_name(MethodId(id as u16))).collect();
    assert!(names.is_sorted());
    assert_eq!(names.len(), 425 + 5);
}

#[test]
fn shared_functions_have_one_row_in_first_use_order() {
    let mut endpoints = ["BOOK", "FETCH"].map(|method| endpoint(method, "/rooms")).to_vec();
    endpoints.push(endpoint("BOOK", "/suites"));
    let compiled = compile(&deployment(endpoints));
    let names: Vec<_> = compiled.functions.iter().map(|f| (f.name.as_str(), f.file.as_str())).collect();
    let expected = [("functions::book", "endpoints/book.toml"), ("functions::fetch", "endpoints/fetch.toml")];
    assert_eq!(names, expected);
    assert_eq!(compiled.registry.functions.len(), 2);
}
