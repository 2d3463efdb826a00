//! Replies and reply heads that need nothing of the request.

use super::builtins::Entry;
use super::header_value;
use super::text::Interner;
use crate::compiler::ManifestTimes;
use crate::compiler::ir::{AgentDecl, Deployment, ServerBlock};
use crate::compiler::manifest;
use crate::registry::{Disclosure, Documents, Method, NodeId, Text};
use crate::wire::Status;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// One response head per status, up to where the Response-ID goes (facts page 2).
pub(super) fn heads(server: &ServerBlock, text: &mut Interner) -> Vec<Text> {
    let legacy = if server.legacy_version_header { "AGTP-API-Version: 1.0\r\n" } else { "" };
    let server_id = header_value(&server.server_id);
    let head = |status: &Status| {
        let (code, reason) = (status.code(), status.reason());
        format!(
            "AGTP/1.0 {code} {reason}\r\nServer-ID: {server_id}\r\nAGTP-Methods-Version: 1.0\r\n{legacy}Response-ID: "
        )
    };
    Status::ALL.iter().map(|status| text.add(&head(status))).collect()
}

/// The `Supported-Methods` line: the floor and every admitted method that has an endpoint.
pub(super) fn supported_methods(methods: &[Method], text: &Interner) -> String {
    let served = |method: &&Method| method.floor || (method.admitted && method.routes != NodeId::NONE);
    let names: BTreeSet<&str> =
        methods.iter().filter(served).map(|method| method.name.of(text.blob())).collect();
    format!("Supported-Methods: {}\r\n", Vec::from_iter(names).join(", "))
}

/// All pre-rendered replies.
pub(super) fn documents(
    deployment: &Deployment,
    entries: &[Entry<'_>],
    times: &ManifestTimes,
    text: &mut Interner,
) -> Documents {
    let settings = &deployment.settings;
    let agents =
        if settings.disclosure == Disclosure::Private { vec![] } else { agent_list(&deployment.agents) };
    let (shown, withheld) = manifest::render(deployment, entries, &agents, times);
    Documents {
        directory: text.add(&directory(entries).to_string()),
        methods: text.add(&inventory(entries).to_string()),
        tools: text.add(&json!(settings.tools).to_string()),
        apis: text.add(&json!(settings.apis).to_string()),
        patterns: text.add(&json!({"rcns_enabled": false, "patterns": []}).to_string()),
        contracts: text.add("[]"),
        agents: text.add(&Value::from(agents).to_string()),
        manifest_headers: text.add(&manifest::cache_headers(&shown)),
        manifest: text.add(&shown),
        manifest_withheld_headers: text.add(&manifest::cache_headers(&withheld)),
        manifest_withheld: text.add(&withheld),
    }
}

/// `DISCOVER /` (draft: DISCOVER /): the reserved DISCOVER paths that are served, by whom.
fn directory(entries: &[Entry<'_>]) -> Value {
    const RESERVED: [&str; 7] =
        ["/methods", "/agents", "/genesis", "/tools", "/apis", "/patterns", "/contracts"];
    let listed = |path: &&str| {
        let mut served = entries.iter().filter(|entry| entry.decl.method == "DISCOVER");
        let entry = served.find(|entry| entry.decl.path.text == *path)?;
        Some(json!({"path": path, "tier": entry.tier()}))
    };
    json!({"directory": RESERVED.iter().filter_map(listed).collect::<Vec<_>>()})
}

/// `DISCOVER /methods`.
fn inventory(entries: &[Entry<'_>]) -> Value {
    let listed = |entry: &Entry<'_>| {
        json!({
            "method": entry.decl.method,
            "path": entry.decl.path.text,
            "description": entry.decl.description,
            "tier": entry.tier(),
        })
    };
    entries.iter().map(listed).collect()
}

/// `DISCOVER /agents`, and the manifest's `hosted_agents`.
fn agent_list(agents: &[AgentDecl]) -> Vec<Value> {
    let listed = |agent: &AgentDecl| {
        let mut entry = json!({
            "agent_id": agent.agent_id,
            "name": agent.name,
            "skills_summary": agent.skills_summary,
            "methods_count": agent.methods.len(),
            "trust_tier": agent.trust_tier,
            "verification_path": agent.verification_path,
        });
        for (key, value) in [("trust_warning", &agent.trust_warning), ("owner_id", &agent.owner_id)] {
            if let Some(value) = value {
                entry[key] = value.as_str().into();
            }
        }
        entry
    };
    agents.iter().map(listed).collect()
}
