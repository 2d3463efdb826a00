//! The head of a manifest: versions, server, methods, agents, what else is spoken.

use super::reader::{At, Kind};
use crate::catalog::{Catalog, FLOOR, is_method_name, semver};
use crate::compiler::rules;
use crate::identity::parse_agent_id;

/// Draft: Manifest Structure. Returns whether the catalog is the one that is known here.
pub(super) fn versions(root: &At<'_>, catalog: &Catalog) -> bool {
    for key in ["agtp_version", "agtp_api_version"] {
        if let Some(version) = root.require(key, Kind::Filled).filter(|version| version.text() != "1.0") {
            let message = format!("this is version {}", version.text());
            version.fault(&rules::MANIFEST_VERSION, message, "version 1.0 is what is checked here");
        }
    }
    root.require("document_version", Kind::Filled);
    let version = root.require("catalog_version", Kind::Filled);
    if let Some(version) = &version {
        catalog_version(version, catalog);
    }
    supported(root, version.as_ref().map(At::text));
    version.is_some_and(|version| version.text() == catalog.version)
}

fn catalog_version(version: &At<'_>, catalog: &Catalog) {
    if semver(version.text()).is_none() {
        let message = format!("\"{}\" is no catalog version", version.text());
        version.fault(&rules::MANIFEST_STRUCTURE, message, "it has three parts, as in 1.0.0");
    } else if version.text() != catalog.version {
        let message = format!("the catalog is version {}", version.text());
        let help = format!("only methods of version {} are checked here", catalog.version);
        version.fault(&rules::MANIFEST_VERSION, message, help);
    }
}

/// Draft: Multi-Version Catalog Support.
fn supported(root: &At<'_>, version: Option<&str>) {
    let Some(list) = root.require("catalog_versions_supported", Kind::List) else { return };
    let versions = list.texts();
    let lists = |version: &str| versions.iter().any(|listed| listed.text() == version);
    if let Some(version) = version.filter(|version| !lists(version)) {
        let message = format!("the catalog_version, {version}, is not in the list");
        list.fault(&rules::MANIFEST_CATALOG_VERSIONS, message, format!("write [\"{version}\"]"));
    }
    if versions.len() > 1 {
        let message = format!("{} versions are listed", versions.len());
        list.fault(&rules::MANIFEST_CATALOG_VERSIONS, message, "list the catalog_version alone");
    }
}

/// Draft: Server Block.
pub(super) fn server(root: &At<'_>) {
    let Some(server) = root.require("server", Kind::Object) else { return };
    let server = server.under(&rules::MANIFEST_SERVER);
    server.require("server_id", Kind::Filled);
    server.optional("domain", Kind::Filled);
    for key in ["operator", "contact"] {
        if let Some(text) = server.require(key, Kind::Text).filter(|text| text.text().trim().is_empty()) {
            text.fault(&rules::MANIFEST_ANONYMOUS, format!("no {key} is named"), "say who runs the server");
        }
    }
    if let Some(features) = server.optional("supported_features", Kind::List) {
        features.texts();
    }
    for key in ["issued", "updated"] {
        if let Some(time) = server.require(key, Kind::Filled).filter(|time| !is_timestamp(time.text())) {
            let message = format!("\"{}\" is no date and time", time.text());
            time.fault(&rules::MANIFEST_SERVER, message, "write ISO 8601, as in 2026-05-01T12:00:00Z");
        }
    }
}

fn is_timestamp(text: &str) -> bool {
    let parsed: Option<toml::value::Datetime> = text.parse().ok();
    parsed.is_some_and(|at| at.date.is_some() && at.time.is_some() && at.offset.is_some())
}

/// Draft: Methods Inventory: the floor, whole and alone.
pub(super) fn embedded_methods(root: &At<'_>) {
    let Some(list) = root.require("embedded_methods", Kind::List) else { return };
    let list = list.under(&rules::MANIFEST_METHODS);
    let listed: Vec<_> = list.items().filter_map(|item| Some((name(&item)?, item))).collect();
    let missing: Vec<_> =
        FLOOR.into_iter().filter(|floor| listed.iter().all(|(name, _)| name != floor)).collect();
    if !missing.is_empty() {
        let message = format!("{} is missing", missing.join(", "));
        list.fault(&rules::MANIFEST_METHODS, message, "list the eighteen floor methods");
    }
    for (index, (name, item)) in listed.iter().enumerate() {
        if !FLOOR.contains(name) {
            let help = "list what else is served under endpoints or custom_methods";
            item.fault(&rules::MANIFEST_METHODS, format!("{name} is no floor method"), help);
        } else if listed.iter().take(index).any(|(earlier, _)| earlier == name) {
            item.fault(&rules::MANIFEST_METHODS, format!("{name} is listed twice"), "list it once");
        }
    }
}

/// A method is listed by its name, or as an object that has one.
fn name<'m>(item: &At<'m>) -> Option<&'m str> {
    if item.value.is_object() {
        return item.require("name", Kind::Filled).map(|name| name.text());
    }
    item.is(Kind::Filled).then(|| item.text())
}

/// Draft: Custom Methods.
pub(super) fn custom_methods(root: &At<'_>, catalog: &Catalog) -> Vec<String> {
    let Some(list) = root.optional("custom_methods", Kind::List) else { return Vec::new() };
    let list = list.under(&rules::MANIFEST_METHODS);
    let names = list.items().filter_map(|item| Some((name(&item)?, item)));
    names
        .inspect(|(name, item)| {
            if !is_method_name(name) {
                let help = "a method name is 3 to 32 letters A to Z, nothing else";
                item.fault(&rules::METHOD_FORM, format!("\"{name}\" is no method name"), help);
            } else if catalog.verb(name).is_some() {
                let message = format!("{name} is a method of the catalog");
                item.fault(&rules::MANIFEST_METHODS, message, "list only what the catalog lacks");
            }
        })
        .map(|(name, _)| name.to_owned())
        .collect()
}

/// Draft: Agents Disclosure.
pub(super) fn agents(root: &At<'_>, anonymous: bool) {
    let root = root.clone().under(&rules::MANIFEST_AGENTS);
    let disclosure = root.require("agent_disclosure", Kind::Text);
    if let Some(disclosure) = &disclosure {
        disclosure.one_of(&rules::MANIFEST_AGENTS, &["public", "authenticated", "private"]);
    }
    root.optional("agent_disclosure_notice", Kind::Text);
    let Some(hosted) = root.require("hosted_agents", Kind::List) else { return };
    let withheld = match disclosure.as_ref().map(At::text) {
        Some("private") => Some("the disclosure is private"),
        Some("authenticated") if anonymous => {
            Some("the disclosure is authenticated, and nobody said who asks")
        }
        _ => None,
    };
    if let Some(why) = withheld.filter(|_| hosted.items().next().is_some()) {
        hosted.fault(&rules::MANIFEST_AGENTS, format!("agents are shown, but {why}"), "show none: []");
    }
    hosted.items().filter(|agent| agent.value.is_object()).for_each(|agent| hosted_agent(&agent));
}

/// The format of an entry is the operator's; what it has of DISCOVER /agents means the same (draft: DISCOVER /agents Entry
/// Fields).
fn hosted_agent(agent: &At<'_>) {
    let id = agent.optional("agent_id", Kind::Text);
    if let Some(id) = id.filter(|id| parse_agent_id(id.text().as_bytes()).is_none()) {
        let help = "it is 64 lowercase hexadecimal digits";
        id.fault(&rules::AGENT_ID_FORM, format!("agent_id \"{}\" is malformed", id.text()), help);
    }
    if let Some(tier) = agent.optional("trust_tier", Kind::Number)
        && !matches!(tier.value.as_u64(), Some(1..=3))
    {
        tier.fault(&rules::MANIFEST_AGENTS, format!("{} is no trust tier", tier.value), "it is 1, 2 or 3");
    }
    if let Some(path) = agent.optional("verification_path", Kind::Text) {
        let paths = ["dns-anchored", "log-anchored", "hybrid", "org-asserted"];
        path.one_of(&rules::MANIFEST_AGENTS, &paths);
    }
}

/// Draft: Protocol and API Surface.
pub(super) fn surface(root: &At<'_>) {
    let root = root.clone().under(&rules::MANIFEST_SURFACE);
    for key in ["apis", "hosted_protocols"] {
        let list = root.optional(key, Kind::List);
        list.iter().flat_map(At::items).for_each(|entry| {
            entry.is(Kind::Object);
        });
    }
}
