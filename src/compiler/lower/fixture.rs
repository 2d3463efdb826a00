//! Deployments for the tests of this directory.

use crate::catalog::Catalog;
use crate::compiler::ManifestTimes;
use crate::compiler::ir::*;
use serde_json::{Value, json};
use std::path::PathBuf;

/// A template; the path grammar is not checked.
pub(crate) fn template(text: &str) -> Template {
    let segment = |segment: &str| match segment.strip_prefix('{').and_then(|s| s.strip_suffix('}')) {
        Some(name) => TemplateSegment::Param(name.to_owned()),
        None => TemplateSegment::Literal(segment.to_owned()),
    };
    let segments = if text == "/" { vec![] } else { text[1..].split('/').map(segment).collect() };
    Template { text: text.to_owned(), segments }
}

/// An endpoint bound to the function `functions::<method>`.
pub(crate) fn endpoint(method: &str, path: &str) -> EndpointDecl {
    let path = template(path);
    let params = path.segments.iter().filter_map(|segment| match segment {
        TemplateSegment::Param(name) => Some((name.clone(), json!({"type": "string"}))),
        TemplateSegment::Literal(_) => None,
    });
    let properties: Value = params.collect::<serde_json::Map<_, _>>().into();
    EndpointDecl {
        source: Source { file: format!("endpoints/{}.toml", method.to_lowercase()), line: 1 },
        method: method.to_owned(),
        path,
        description: format!("Does what {method} says."),
        namespace: None,
        semantic: Semantic {
            intent: "Do it.".to_owned(),
            actor: "agent".to_owned(),
            outcome: "It is done.".to_owned(),
            capability: "transaction".to_owned(),
            confidence: 0.5,
            impact: "irreversible".to_owned(),
            is_idempotent: false,
        },
        input_schema: json!({"type": "object", "properties": properties, "additionalProperties": false}),
        output_schema: json!({"type": "object"}),
        errors: vec![],
        required_scopes: vec![],
        deprecated: None,
        handler: HandlerDecl::Function(format!("functions::{}", method.to_lowercase())),
        timeout_ms: 30_000,
    }
}

/// A deployment of these endpoints with default settings and the seeded aliases.
pub(crate) fn deployment(endpoints: Vec<EndpointDecl>) -> Deployment {
    let seed =
        [("DELETE", "REMOVE"), ("GET", "FETCH"), ("PATCH", "MODIFY"), ("POST", "CREATE"), ("PUT", "REPLACE")];
    let settings = Settings {
        server: ServerBlock { server_id: "hotel.example".to_owned(), ..ServerBlock::default() },
        methods: MethodPolicy {
            aliases: seed.map(|(alias, method)| (alias.to_owned(), method.to_owned())).to_vec(),
            aliases_are_seed: true,
            ..MethodPolicy::default()
        },
        ..Settings::default()
    };
    Deployment {
        root: PathBuf::new(),
        settings,
        catalog: Catalog::builtin(),
        endpoints,
        agents: vec![],
        recipes: vec![],
    }
}

/// Fixed times.
pub(crate) fn times() -> ManifestTimes {
    ManifestTimes { issued: "2026-01-01T00:00:00Z".to_owned(), updated: "2026-01-02T00:00:00Z".to_owned() }
}

/// An agent whose id is `digit` 64 times.
pub(crate) fn agent(digit: char, name: &str) -> AgentDecl {
    AgentDecl {
        source: Source::default(),
        agent_id: digit.to_string().repeat(64),
        name: name.to_owned(),
        status: crate::identity::Status::Active,
        description: None,
        skills: vec!["Books rooms.".to_owned()],
        skills_summary: "Books rooms.".to_owned(),
        grants: vec!["booking:room".to_owned(), "billing:*".to_owned()],
        methods: vec!["BOOK".to_owned()],
        trust_tier: 2,
        verification_path: "org-asserted".to_owned(),
        trust_warning: Some("verification-incomplete".to_owned()),
        owner_id: Some("acme".to_owned()),
        genesis: Some("{}".to_owned()),
    }
}
