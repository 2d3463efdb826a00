//! The server manifest (draft: Server Manifest; facts page 6).

use super::canonical;
use super::ir::{Deployment, Deprecation, EndpointDecl, MethodPolicy, RedirectDecl, Settings};
use super::lower::Entry;
use super::times::ManifestTimes;
use crate::registry::{Disclosure, Policies};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

/// The manifest as it is shown to a caller who is told the agents, and to one who is not.
pub(super) fn render(
    deployment: &Deployment,
    entries: &[Entry<'_>],
    agents: &[Value],
    times: &ManifestTimes,
) -> (String, String) {
    let mut manifest = content(deployment, entries);
    let withheld = sealed(&mut manifest, deployment, times);
    if agents.is_empty() {
        return (withheld.clone(), withheld);
    }
    manifest["hosted_agents"] = agents.into();
    (sealed(&mut manifest, deployment, times), withheld)
}

/// The `ETag` and `Cache-Control` lines of a manifest (draft: Manifest Caching).
pub(super) fn cache_headers(manifest: &str) -> String {
    format!("ETag: \"{}\"\r\nCache-Control: max-age=60\r\n", hex_digest(manifest, 32))
}

/// Everything but what changes without the content changing.
fn content(deployment: &Deployment, entries: &[Entry<'_>]) -> Value {
    let (settings, catalog) = (&deployment.settings, &deployment.catalog);
    json!({
        "agtp_version": "1.0",
        "agtp_api_version": "1.0",
        "catalog_version": catalog.version,
        "catalog_versions_supported": [catalog.version],
        "server": {
            "server_id": settings.server.server_id,
            "domain": settings.server.domain,
            "operator": settings.server.operator,
            "contact": settings.server.contact,
            "supported_features": settings.server.supported_features,
            "issued": settings.server.issued,
        },
        "embedded_methods": catalog.embedded,
        "custom_methods": settings.methods.custom,
        "endpoints": entries.iter().map(|entry| projection(&entry.decl)).collect::<Vec<_>>(),
        "agent_disclosure": disclosure(settings.disclosure),
        "hosted_agents": [],
        "agent_disclosure_notice": notice(settings),
        "apis": settings.apis,
        "hosted_protocols": settings.hosted_protocols,
        "policies": policies(&settings.policies, &settings.methods),
    })
}

/// Renders with version, times and the (absent) signature. The content is left as it was: with ten thousand endpoints
/// a copy would cost more than the rest of the manifest.
fn sealed(manifest: &mut Value, deployment: &Deployment, times: &ManifestTimes) -> String {
    let server = &deployment.settings.server;
    let configured = server.document_version.clone();
    let version = configured.unwrap_or_else(|| hex_digest(&canonical::of_value(manifest), 16));
    manifest["document_version"] = version.into();
    manifest["manifest_signature"] = Value::Null;
    manifest["server"]["issued"] = server.issued.as_ref().unwrap_or(&times.issued).as_str().into();
    manifest["server"]["updated"] = times.updated.as_str().into();
    let rendered = manifest.to_string();
    take(manifest, &["document_version", "manifest_signature"]);
    take(&mut manifest["server"], &["updated"]);
    manifest["server"]["issued"] = server.issued.clone().into();
    rendered
}

fn take(object: &mut Value, keys: &[&str]) {
    if let Some(members) = object.as_object_mut() {
        members.retain(|key, _| !keys.contains(&key.as_str()));
    }
}

/// An endpoint without what is internal of its handler (draft: Endpoint Projection).
fn projection(decl: &EndpointDecl) -> Value {
    let semantic = &decl.semantic;
    json!({
        "method": decl.method,
        "path": decl.path.text,
        "description": decl.description,
        "namespace": decl.namespace,
        "semantic": {
            "intent": semantic.intent,
            "actor": semantic.actor,
            "outcome": semantic.outcome,
            "capability": semantic.capability,
            "confidence": semantic.confidence,
            "impact": semantic.impact,
            "is_idempotent": semantic.is_idempotent,
        },
        "input_schema": decl.input_schema,
        "output_schema": decl.output_schema,
        "errors": decl.errors,
        "required_scopes": decl.required_scopes,
        "deprecated": decl.deprecated.as_ref().map(deprecated),
        "handler": {"type": decl.handler.kind()},
    })
}

fn deprecated(deprecation: &Deprecation) -> Value {
    let mut successor = Map::new();
    put(&mut successor, "method", deprecation.successor_method.as_deref());
    put(&mut successor, "path", deprecation.successor_path.as_deref());
    let mut block = Map::new();
    put(&mut block, "deprecated_in", Some(&deprecation.deprecated_in));
    put(&mut block, "removed_in", deprecation.removed_in.as_deref());
    if !successor.is_empty() {
        block.insert("successor".to_owned(), successor.into());
    }
    block.into()
}

fn policies(policies: &Policies, methods: &MethodPolicy) -> Value {
    json!({
        "wildcards_accepted": policies.wildcards_accepted,
        "anonymous_discovery": policies.anonymous_discovery,
        "scope_required_for_invocation": policies.scope_required_for_invocation,
        "synthesis_enabled": policies.synthesis_enabled,
        "max_synthesis_depth": policies.max_synthesis_depth,
        "methods": {
            "allow": methods.allow.as_ref().map_or_else(|| json!("*"), |list| json!(list)),
            "disallow": methods.disallow,
            "legacy": legacy(methods),
            "aliases": methods.aliases.iter().map(|(a, m)| (a.clone(), m.as_str().into())).collect::<Map<_, Value>>(),
            "redirects": methods.redirects.iter().map(redirect).collect::<Vec<_>>(),
        },
    })
}

fn legacy(methods: &MethodPolicy) -> Value {
    match &methods.legacy_as_written {
        Some(written) => written.clone(),
        None if methods.legacy.is_empty() => json!("NONE"),
        None => json!(methods.legacy),
    }
}

fn redirect(redirect: &RedirectDecl) -> Value {
    let mut entry = Map::new();
    put(&mut entry, "from_method", Some(&redirect.from_method));
    put(&mut entry, "from_path", redirect.from_path.as_deref());
    put(&mut entry, "to_method", Some(&redirect.to_method));
    put(&mut entry, "to_path", redirect.to_path.as_deref());
    entry.into()
}

fn put(map: &mut Map<String, Value>, key: &str, value: Option<&str>) {
    if let Some(value) = value {
        map.insert(key.to_owned(), value.into());
    }
}

/// What the operator says about disclosure, else what a caller can do about agents it is not shown.
fn notice(settings: &Settings) -> Option<&str> {
    let default = match settings.disclosure {
        Disclosure::Public => None,
        Disclosure::Authenticated => Some(
            "Hosted agents are shown to callers with a verified identity: send the Agent-ID of an agent known here.",
        ),
        Disclosure::Private => {
            Some("This server does not disclose which agents it hosts; ask the contact named under server.")
        }
    };
    settings.disclosure_notice.as_deref().or(default)
}

const fn disclosure(disclosure: Disclosure) -> &'static str {
    match disclosure {
        Disclosure::Public => "public",
        Disclosure::Authenticated => "authenticated",
        Disclosure::Private => "private",
    }
}

/// The first `digits` hexadecimal digits of the SHA-256 of `text`.
fn hex_digest(text: &str, digits: usize) -> String {
    let digest = Sha256::digest(text.as_bytes());
    digest.iter().map(|byte| format!("{byte:02x}")).collect::<String>().chars().take(digits).collect()
}

#[cfg(test)]
mod tests {
    use crate::compiler::ir::{Deployment, Deprecation, ExternalDecl, HandlerDecl};
    use crate::compiler::lower;
    use crate::compiler::lower::fixture::{agent, deployment, endpoint, times};
    use crate::registry::Disclosure;
    use serde_json::{Value, json};

    /// Both manifests and their header lines, shown first.
    fn manifests(deployment: &Deployment) -> [(Value, String); 2] {
        let registry = lower(deployment, &times()).unwrap().registry;
        let documents = &registry.documents;
        [
            (documents.manifest, documents.manifest_headers),
            (documents.manifest_withheld, documents.manifest_withheld_headers),
        ]
        .map(|(body, headers)| {
            (serde_json::from_str(registry.str(body)).unwrap(), registry.str(headers).to_owned())
        })
    }

    fn keys(value: &Value) -> Vec<&str> {
        value.as_object().unwrap().keys().map(String::as_str).collect()
    }

    #[test]
    fn it_has_every_field_of_the_draft() {
        let [(manifest, headers), _] = manifests(&deployment(vec![]));
        let expected = [
            "agent_disclosure",
            "agent_disclosure_notice",
            "agtp_api_version",
            "agtp_version",
            "apis",
            "catalog_version",
            "catalog_versions_supported",
            "custom_methods",
            "document_version",
            "embedded_methods",
            "endpoints",
            "hosted_agents",
            "hosted_protocols",
            "manifest_signature",
            "policies",
            "server",
        ];
        assert_eq!(keys(&manifest), expected);
        let server = json!({
            "server_id": "hotel.example", "domain": null, "operator": "", "contact": "", "supported_features": [],
            "issued": "2026-01-01T00:00:00Z", "updated": "2026-01-02T00:00:00Z",
        });
        assert_eq!(manifest["server"], server);
        let policies = json!({
            "wildcards_accepted": false, "anonymous_discovery": true, "scope_required_for_invocation": true,
            "synthesis_enabled": false, "max_synthesis_depth": 10,
            "methods": {
                "allow": "*", "disallow": [], "legacy": "NONE", "redirects": [],
                "aliases": {
                    "GET": "FETCH", "POST": "CREATE", "PUT": "REPLACE", "DELETE": "REMOVE", "PATCH": "MODIFY",
                },
            },
        });
        assert_eq!(manifest["policies"], policies);
        assert_eq!(manifest["catalog_versions_supported"], json!(["1.0.0"]));
        assert_eq!(manifest["embedded_methods"].as_array().unwrap().len(), 18);
        assert_eq!(manifest["document_version"].as_str().unwrap().len(), 16);
        let etag = headers.strip_prefix("ETag: \"").unwrap().split_once('"').unwrap();
        assert_eq!((etag.0.len(), etag.1), (32, "\r\nCache-Control: max-age=60\r\n"));
    }

    #[test]
    fn endpoints_are_projected_and_built_ins_come_first() {
        let mut decl = endpoint("BOOK", "/rooms/{room_id}");
        decl.deprecated = Some(Deprecation {
            deprecated_in: "2.1.0".to_owned(),
            removed_in: None,
            successor_method: Some("RESERVE".to_owned()),
            successor_path: None,
        });
        let [(manifest, _), _] = manifests(&deployment(vec![decl, endpoint("FETCH", "/a")]));
        let endpoints = manifest["endpoints"].as_array().unwrap();
        let places: Vec<_> = endpoints.iter().map(|e| (e["path"].as_str(), e["method"].as_str())).collect();
        assert_eq!(places.len(), 23 + 2);
        assert!(places[..23].is_sorted());
        assert_eq!(places[23..], [(Some("/a"), Some("FETCH")), (Some("/rooms/{room_id}"), Some("BOOK"))]);
        let expected = [
            "deprecated",
            "description",
            "errors",
            "handler",
            "input_schema",
            "method",
            "namespace",
            "output_schema",
            "path",
            "required_scopes",
            "semantic",
        ];
        for endpoint in endpoints {
            assert_eq!(keys(endpoint), expected);
            assert_eq!(endpoint["input_schema"]["additionalProperties"], false, "{}", endpoint["method"]);
            assert_eq!(keys(&endpoint["semantic"]).len(), 7);
        }
        let deprecated = json!({"deprecated_in": "2.1.0", "successor": {"method": "RESERVE"}});
        assert_eq!(endpoints[24]["deprecated"], deprecated);
    }

    #[test]
    fn nothing_of_a_handler_but_its_type_is_shown() {
        let handlers = [
            HandlerDecl::Function("secret_function".to_owned()),
            HandlerDecl::Composition("secret-recipe".to_owned()),
            HandlerDecl::External(Box::new(ExternalDecl {
                url: "https://secret.example".to_owned(),
                method: "POST".to_owned(),
                ..ExternalDecl::default()
            })),
        ];
        let endpoints = handlers.into_iter().enumerate().map(|(n, handler)| {
            let mut decl = endpoint("BOOK", &format!("/rooms-{n}"));
            decl.handler = handler;
            decl
        });
        let [(manifest, _), _] = manifests(&deployment(endpoints.collect()));
        assert!(!manifest.to_string().contains("secret"));
        let shown: Vec<_> =
            manifest["endpoints"].as_array().unwrap()[23..].iter().map(|e| &e["handler"]).collect();
        let kinds = ["registered_function", "composition", "external_service"];
        assert_eq!(shown, kinds.map(|kind| json!({"type": kind})).iter().collect::<Vec<_>>());
    }

    #[test]
    fn agents_are_withheld_as_disclosure_says() {
        let mut deployment = deployment(vec![]);
        deployment.agents = vec![agent('a', "lauren")];
        let [(shown, shown_headers), (withheld, withheld_headers)] = manifests(&deployment);
        let expected = json!([{
            "agent_id": "a".repeat(64), "name": "lauren", "skills_summary": "Books rooms.", "methods_count": 1,
            "trust_tier": 2, "verification_path": "org-asserted", "trust_warning": "verification-incomplete",
            "owner_id": "acme",
        }]);
        assert_eq!(shown["hosted_agents"], expected);
        assert_eq!(withheld["hosted_agents"], json!([]));
        assert_ne!(shown_headers, withheld_headers);

        deployment.settings.disclosure = Disclosure::Private;
        let [(shown, _), (withheld, _)] = manifests(&deployment);
        assert_eq!(shown["agent_disclosure"], "private");
        assert!(shown["agent_disclosure_notice"].as_str().unwrap().contains("does not disclose"));
        assert_eq!(shown, withheld);
        assert_eq!(shown["hosted_agents"], json!([]));

        deployment.settings.disclosure = Disclosure::Authenticated;
        let [(shown, _), (withheld, _)] = manifests(&deployment);
        assert_eq!(
            (shown["hosted_agents"].clone(), withheld["hosted_agents"].clone()),
            (expected, json!([]))
        );
        assert!(withheld["agent_disclosure_notice"].as_str().unwrap().contains("Agent-ID"));
        deployment.settings.disclosure_notice = Some("Ask us.".to_owned());
        assert_eq!(manifests(&deployment)[0].0["agent_disclosure_notice"], "Ask us.");
    }

    #[test]
    fn any_change_of_a_deployment_changes_version_and_tag() {
        let versions = |deployment: &Deployment| {
            manifests(deployment)
                .map(|(manifest, headers)| (manifest["document_version"].to_string(), headers))
        };
        let base = || {
            let mut deployment = deployment(vec![endpoint("BOOK", "/rooms")]);
            deployment.agents = vec![agent('a', "lauren")];
            deployment
        };
        let changes: [fn(&mut Deployment); 8] = [
            |d| d.endpoints[0].description.push('!'),
            |d| d.endpoints[0].errors.push("full".to_owned()),
            |d| d.settings.server.issued = Some("2020-01-01T00:00:00Z".to_owned()),
            |d| d.settings.server.contact = "desk@hotel.example".to_owned(),
            |d| d.settings.policies.max_synthesis_depth += 1,
            |d| d.settings.methods.disallow.push("AUCTION".to_owned()),
            |d| d.settings.apis.push(json!({"name": "rest"})),
            |d| d.agents[0].trust_tier = 1,
        ];
        let first = versions(&base());
        assert_eq!(first, versions(&base()), "nothing but the content counts");
        let mut seen = vec![first[0].clone()];
        for change in changes {
            let mut changed = base();
            change(&mut changed);
            let version = versions(&changed)[0].clone();
            assert!(seen.iter().all(|(other, tag)| *other != version.0 && *tag != version.1));
            seen.push(version);
        }
    }

    #[test]
    fn the_version_follows_the_content_and_not_the_time() {
        let version = |deployment: &Deployment, updated: &str| {
            let mut times = times();
            times.updated = updated.to_owned();
            let registry = lower(deployment, &times).unwrap().registry;
            let manifest: Value = serde_json::from_str(registry.str(registry.documents.manifest)).unwrap();
            manifest["document_version"].clone()
        };
        let mut changing = deployment(vec![]);
        let first = version(&changing, "2026-01-01T00:00:00Z");
        assert_eq!(first, version(&changing, "2027-01-01T00:00:00Z"));
        changing.endpoints.push(endpoint("BOOK", "/rooms"));
        assert_ne!(first, version(&changing, "2026-01-01T00:00:00Z"));
        changing.settings.server.document_version = Some("7".to_owned());
        assert_eq!(version(&changing, "2026-01-01T00:00:00Z"), "7");
    }
}
