//! Our own manifest is sound; each way to spoil it is found where it is.

use super::*;
use crate::compiler::ir::HandlerDecl;
use crate::compiler::key::SigningKey;
use crate::compiler::lower::fixture::{agent, deployment, endpoint, times};
use crate::compiler::{Signer, lower, sign_manifests};
use serde_json::json;

/// A signed manifest with endpoints of all kinds, as text.
fn manifest() -> String {
    let mut composed = endpoint("RESERVE", "/rooms/{room_id}");
    composed.handler = HandlerDecl::Composition("recipe".to_owned());
    composed.errors = vec!["composition_failed".to_owned()];
    let mut deployment = deployment(vec![endpoint("BOOK", "/rooms/{room_id}"), composed]);
    deployment.settings.server.operator = "A hotel".to_owned();
    deployment.settings.server.contact = "desk@hotel.example".to_owned();
    deployment.agents = vec![agent('a', "lauren")];
    let mut registry = lower(&deployment, &times()).unwrap().registry;
    sign_manifests(&mut registry, &Signer::new(key(), Some("main".to_owned()))).unwrap();
    registry.str(registry.documents.manifest).to_owned()
}

fn key() -> SigningKey {
    SigningKey::from_seed(&[1; 32])
}

fn shown(report: &ManifestReport) -> Vec<String> {
    report.faults.iter().map(|fault| format!("{} {}", fault.pointer, fault.code)).collect()
}

/// What is found in the manifest when the value at `pointer` is another; `null` removes it.
fn spoiled(pointer: &str, value: Value) -> Vec<String> {
    let mut manifest: Value = serde_json::from_str(&manifest()).unwrap();
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    match manifest.pointer_mut(parent).unwrap() {
        Value::Object(members) if value.is_null() => _ = members.remove(key).unwrap(),
        Value::Object(members) => _ = members.insert(key.to_owned(), value),
        Value::Array(items) => items[key.parse::<usize>().unwrap()] = value,
        _ => unreachable!(),
    }
    shown(&check_manifest(&manifest.to_string(), &ManifestOptions { key: None, anonymous: true }))
}

/// The pointer to the endpoint BOOK /rooms/{room_id}, below it `rest`.
fn book(rest: &str) -> String {
    let manifest: Value = serde_json::from_str(&manifest()).unwrap();
    let endpoints = manifest["endpoints"].as_array().unwrap();
    let index = endpoints.iter().position(|endpoint| endpoint["method"] == "BOOK").unwrap();
    format!("/endpoints/{index}{rest}")
}

#[test]
fn our_own_manifest_is_sound_and_signed() {
    let manifest = manifest();
    let public = key().public();
    let report = check_manifest(&manifest, &ManifestOptions { key: Some(&public), anonymous: true });
    assert_eq!(report.faults, []);
    assert_eq!(report.signature, SignatureState::Verified(Some("main".to_owned())));
    let report = check_manifest(&manifest, &ManifestOptions::default());
    assert_eq!((shown(&report), report.signature.as_str()), (vec![], "unverified"));
    // White space and the order of keys are nobody's business.
    let value: Value = serde_json::from_str(&manifest).unwrap();
    let pretty = serde_json::to_string_pretty(&value).unwrap();
    let report = check_manifest(&pretty, &ManifestOptions { key: Some(&public), anonymous: true });
    assert_eq!(report.signature.as_str(), "verified");
}

#[test]
fn a_signature_counts_only_for_who_asks() {
    let (right, wrong) = (key().public(), SigningKey::from_seed(&[2; 32]).public());
    let check = |text: &str, key: Option<&PublicKey>| {
        let report = check_manifest(text, &ManifestOptions { key, anonymous: false });
        (report.errors(), shown(&report), report.signature.as_str())
    };
    let (warning, error) =
        ("/manifest_signature manifest-unsigned", "/manifest_signature manifest-signature");
    assert_eq!(check(&manifest(), Some(&wrong)), (1, vec![error.to_owned()], "invalid"));
    let tampered = manifest().replace("desk@", "disk@");
    assert_eq!(check(&tampered, Some(&right)), (1, vec![error.to_owned()], "invalid"));
    assert_eq!(check(&tampered, None), (0, vec![], "unverified"));
    let mut unsigned: Value = serde_json::from_str(&manifest()).unwrap();
    unsigned["manifest_signature"] = Value::Null;
    assert_eq!(check(&unsigned.to_string(), None), (0, vec![warning.to_owned()], "absent"));
    assert_eq!(check(&unsigned.to_string(), Some(&right)), (1, vec![error.to_owned()], "absent"));
    unsigned["manifest_signature"] = "x..y".into();
    assert_eq!(check(&unsigned.to_string(), None), (0, vec![warning.to_owned()], "invalid"));
}

#[test]
fn every_required_member_is_missed() {
    for (pointer, code) in [
        ("/agtp_version", "manifest-structure"),
        ("/agtp_api_version", "manifest-structure"),
        ("/document_version", "manifest-structure"),
        ("/catalog_version", "manifest-structure"),
        ("/catalog_versions_supported", "manifest-structure"),
        ("/server", "manifest-structure"),
        ("/server/server_id", "manifest-server"),
        ("/server/operator", "manifest-server"),
        ("/server/contact", "manifest-server"),
        ("/server/issued", "manifest-server"),
        ("/server/updated", "manifest-server"),
        ("/embedded_methods", "manifest-structure"),
        ("/endpoints", "manifest-structure"),
        ("/agent_disclosure", "manifest-agents"),
        ("/hosted_agents", "manifest-agents"),
        ("/policies", "manifest-structure"),
        ("/policies/wildcards_accepted", "manifest-policies"),
        ("/policies/anonymous_discovery", "manifest-policies"),
        ("/policies/scope_required_for_invocation", "manifest-policies"),
        ("/policies/synthesis_enabled", "manifest-policies"),
        ("/policies/max_synthesis_depth", "manifest-policies"),
        ("/policies/methods", "manifest-policies"),
    ] {
        assert_eq!(spoiled(pointer, Value::Null), [format!("{pointer} {code}")]);
    }
    let members = ["description", "semantic", "input_schema", "output_schema", "errors", "handler"];
    for member in members.map(|member| book(&format!("/{member}"))) {
        assert_eq!(spoiled(&member, Value::Null), [format!("{member} manifest-endpoint")]);
    }
    for member in ["intent", "actor", "outcome", "capability", "confidence", "impact", "is_idempotent"] {
        let pointer = book(&format!("/semantic/{member}"));
        assert_eq!(spoiled(&pointer, Value::Null), [format!("{pointer} manifest-semantic")]);
    }
    for optional in
        ["/custom_methods", "/apis", "/hosted_protocols", "/agent_disclosure_notice", "/server/domain"]
    {
        assert_eq!(spoiled(optional, Value::Null), [""; 0], "{optional}");
    }
}

#[test]
fn values_of_the_head_are_checked_where_they_are() {
    let cases = [
        ("/agtp_version", json!("0.9"), vec!["/agtp_version manifest-version"]),
        ("/document_version", json!(7), vec!["/document_version manifest-structure"]),
        ("/document_version", json!(" "), vec!["/document_version manifest-structure"]),
        (
            "/catalog_versions_supported",
            json!(["0.9.0"]),
            vec!["/catalog_versions_supported manifest-catalog-versions"],
        ),
        (
            "/catalog_versions_supported",
            json!(["1.0.0", "0.9.0"]),
            vec!["/catalog_versions_supported manifest-catalog-versions"],
        ),
        ("/server/contact", json!(""), vec!["/server/contact manifest-operator-unnamed"]),
        ("/server/updated", json!("yesterday"), vec!["/server/updated manifest-server"]),
        ("/server/updated", json!("2026-01-01"), vec!["/server/updated manifest-server"]),
        (
            "/embedded_methods/0",
            json!("BOOK"),
            vec!["/embedded_methods manifest-methods", "/embedded_methods/0 manifest-methods"],
        ),
        (
            "/embedded_methods/1",
            json!("QUERY"),
            vec!["/embedded_methods manifest-methods", "/embedded_methods/1 manifest-methods"],
        ),
        (
            "/custom_methods",
            json!(["teleport", "BOOK", "TELEPORT"]),
            vec!["/custom_methods/0 method-form", "/custom_methods/1 manifest-methods"],
        ),
        ("/agent_disclosure", json!("secret"), vec!["/agent_disclosure manifest-agents"]),
        ("/agent_disclosure", json!("private"), vec!["/hosted_agents manifest-agents"]),
        ("/agent_disclosure", json!("authenticated"), vec!["/hosted_agents manifest-agents"]),
        ("/hosted_agents/0/agent_id", json!("A"), vec!["/hosted_agents/0/agent_id agent-id-form"]),
        ("/hosted_agents/0/trust_tier", json!(4), vec!["/hosted_agents/0/trust_tier manifest-agents"]),
        (
            "/hosted_agents/0/verification_path",
            json!("x"),
            vec!["/hosted_agents/0/verification_path manifest-agents"],
        ),
        ("/apis", json!(["rest"]), vec!["/apis/0 manifest-surface"]),
        ("/hosted_protocols", json!({}), vec!["/hosted_protocols manifest-surface"]),
    ];
    for (pointer, value, expected) in cases {
        assert_eq!(spoiled(pointer, value), expected, "{pointer}");
    }
}

#[test]
fn policies_are_checked_where_they_are() {
    for (below, value, expected) in [
        ("/wildcards_accepted", json!("no"), "/wildcards_accepted manifest-policies"),
        ("/max_synthesis_depth", json!(0), "/max_synthesis_depth manifest-policies"),
        ("/max_synthesis_depth", json!(1.5), "/max_synthesis_depth manifest-policies"),
        ("/methods/allow", json!("all"), "/methods/allow manifest-method-policy"),
        ("/methods/allow", json!(["book"]), "/methods/allow/0 method-form"),
        ("/methods/disallow", json!([1]), "/methods/disallow/0 manifest-method-policy"),
        ("/methods/legacy", json!("GET"), "/methods/legacy manifest-method-policy"),
        ("/methods/legacy", json!(["GET", "HEAD"]), "/methods/legacy/1 manifest-method-policy"),
        ("/methods/aliases", json!({"A": "B", "B": "BOOK"}), "/methods/aliases/A manifest-method-policy"),
        ("/methods/aliases", json!({"ORDER": "BOOKK"}), "/methods/aliases/ORDER method-unknown"),
        (
            "/methods/redirects",
            json!([{"to_method": "FIND"}]),
            "/methods/redirects/0/from_method manifest-method-policy",
        ),
        (
            "/methods/redirects",
            json!([{"from_method": "SEARCH", "to_method": "FIND", "to_path": "rooms"}]),
            "/methods/redirects/0/to_path path-not-absolute",
        ),
    ] {
        let found = spoiled(&format!("/policies{below}"), value);
        assert_eq!(found, [format!("/policies{expected}")]);
    }
    for sound in [json!({}), json!({"allow": ["BOOK"], "legacy": "*", "aliases": {}, "redirects": []})] {
        assert_eq!(spoiled("/policies/methods", sound), [""; 0]);
    }
}

#[test]
fn endpoints_are_checked_where_they_are() {
    for (below, value, expected) in [
        ("/method", json!("book"), "/method method-form"),
        ("/method", json!("GET"), "/method method-legacy"),
        ("/method", json!("BOOKK"), "/method method-unknown"),
        ("/path", json!("rooms/{room_id}"), "/path path-not-absolute"),
        ("/path", json!("/rooms/{room_id}/"), "/path path-trailing-slash"),
        ("/path", json!("/re-serve/{room_id}"), "/path path-carries-verb"),
        ("/path", json!("/rooms/{other}"), "/input_schema path-undeclared-parameter"),
        ("/semantic/capability", json!("magic"), "/semantic/capability semantic-capability"),
        ("/semantic/confidence", json!(1.5), "/semantic/confidence semantic-confidence"),
        ("/semantic/impact", json!("none"), "/semantic/impact semantic-impact"),
        ("/semantic/is_idempotent", json!("no"), "/semantic/is_idempotent manifest-semantic"),
        ("/input_schema/type", Value::Null, "/input_schema/type input-schema-not-strict"),
        ("/input_schema/type", json!("objekt"), "/input_schema/type schema-invalid"),
        (
            "/input_schema/additionalProperties",
            json!(true),
            "/input_schema/additionalProperties input-schema-not-strict",
        ),
        ("/output_schema/minimum", json!("x"), "/output_schema/minimum schema-invalid"),
        ("/handler/function", json!("rooms::book"), "/handler/function manifest-projection"),
        ("/handler/type", json!("magic"), "/handler/type handler-type"),
        ("/handler/type", json!("composition"), "/errors error-required"),
        ("/errors", json!([1]), "/errors/0 manifest-endpoint"),
        ("/required_scopes", json!(["booking"]), "/required_scopes/0 scope-form"),
        ("/deprecated", json!({}), "/deprecated/deprecated_in manifest-endpoint"),
        (
            "/deprecated",
            json!({"deprecated_in": "1", "successor": {}}),
            "/deprecated/successor successor-empty",
        ),
        ("/source", json!("book.toml"), "/source manifest-unknown-field"),
    ] {
        let found = spoiled(&book(below), value.clone());
        assert!(found.contains(&book(expected)), "{below} {value}: {found:?}");
        assert!(found.len() <= 2, "{found:?}");
    }
    assert_eq!(spoiled(&book("/handler/type"), json!("external_service")).len(), 5);
}

#[test]
fn endpoints_are_checked_beside_each_other() {
    let mut manifest: Value = serde_json::from_str(&manifest()).unwrap();
    let endpoints = manifest["endpoints"].as_array_mut().unwrap();
    endpoints.retain(|endpoint| endpoint["path"] != "/methods");
    let mut rival = endpoints.last().unwrap().clone();
    rival["path"] = "/{room_id}/suites".into();
    let twin = endpoints.last().unwrap().clone();
    let mut reserved = twin.clone();
    (reserved["method"], reserved["path"]) = ("DISCOVER".into(), "/toolset/{room_id}".into());
    endpoints.extend([rival, twin, reserved]);
    let report = check_manifest(&manifest.to_string(), &ManifestOptions::default());
    let codes: Vec<_> = report.faults.iter().map(|fault| fault.code).collect();
    for code in ["path-ambiguous", "endpoint-duplicate", "path-reserved", "manifest-built-ins"] {
        assert!(codes.contains(&code), "{code}: {codes:?}");
    }
}

#[test]
fn another_catalog_s_methods_are_not_judged() {
    let mut manifest: Value = serde_json::from_str(&manifest()).unwrap();
    manifest["catalog_version"] = "1.1.0".into();
    manifest["catalog_versions_supported"] = json!(["1.1.0"]);
    manifest["endpoints"].as_array_mut().unwrap().last_mut().unwrap()["method"] = "TELEPORT".into();
    let report = check_manifest(&manifest.to_string(), &ManifestOptions::default());
    assert_eq!((shown(&report), report.errors()), (vec!["/catalog_version manifest-version".to_owned()], 0));
}

#[test]
fn anything_may_come_for_a_manifest() {
    for (text, code) in
        [("", "json-syntax"), ("[]", "manifest-structure"), ("{\"a\":1,\"a\":2}", "duplicate-key")]
    {
        let report = check_manifest(text, &ManifestOptions::default());
        assert_eq!(report.faults[0].code, code);
        assert!(report.errors() > 0);
    }
    let junk = [
        json!(null),
        json!(1),
        json!("x"),
        json!([[]]),
        json!({"a": {}}),
        json!([{"method": {}, "path": []}]),
    ];
    let manifest: Value = serde_json::from_str(&manifest()).unwrap();
    for key in manifest.as_object().unwrap().keys() {
        for value in &junk {
            let mut manifest = manifest.clone();
            manifest[key] = value.clone();
            check_manifest(&manifest.to_string(), &ManifestOptions::default());
        }
    }
}

#[test]
fn people_and_machines_are_told_the_same() {
    let report = check_manifest(&manifest().replace("\"public\"", "\"secret\""), &ManifestOptions::default());
    let text = report.to_string();
    assert!(text.starts_with("/agent_disclosure: error[manifest-agents]: this is \"secret\""), "{text}");
    assert!(text.ends_with("(key \"main\")\n1 error"), "{text}");
    let json = report.to_json();
    assert_eq!(
        (&json["errors"], &json["signature"], &json["key_id"]),
        (&json!(1), &json!("unverified"), &json!("main"))
    );
    assert_eq!(json["faults"][0]["pointer"], "/agent_disclosure");
}
