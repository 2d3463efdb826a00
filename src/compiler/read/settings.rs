//! `agtp-server.toml`, all but the method policy (facts pages 5 and 11).

use super::document::{Block, Entry};
use super::is_header_safe;
use crate::compiler::check::path::RESERVED;
use crate::compiler::ir::{ServerBlock, Settings};
use crate::compiler::{rules, suggest};
use crate::registry::{Disclosure, Policies};
use crate::wire::Limits;
use serde_json::Value;

/// What a documented setting takes that this version checks and does not use yet.
enum Kind {
    Text,
    Positive,
    PositiveWhole,
    OneOf(&'static [&'static str]),
    /// An address that only this machine reaches.
    Loopback,
}

/// Documented tables that are checked for names and types only.
const CHECKED_ONLY: [(&str, &[(&str, Kind)]); 6] = [
    ("mtls", &[("mode", Kind::OneOf(&["disabled", "optional", "required"])), ("ca_file", Kind::Text)]),
    ("signing", &[("key", Kind::Text), ("key_id", Kind::Text)]),
    ("upstream", &[("ca_file", Kind::Text)]),
    (
        "audit",
        &[
            ("attribution", Kind::OneOf(&["on", "off"])),
            ("dir", Kind::Text),
            ("durability", Kind::OneOf(&["always", "interval", "os"])),
            ("on_failure", Kind::OneOf(&["refuse", "serve"])),
            ("retention_days", Kind::PositiveWhole),
            ("retention_bytes", Kind::PositiveWhole),
            ("read_acl", Kind::OneOf(&["public", "agent_only", "operator_only"])),
            ("lifecycle_auth", Kind::OneOf(&["open", "genesis_issuer"])),
        ],
    ),
    ("admin", &[("listen", Kind::Loopback)]),
    (
        "log",
        &[
            ("format", Kind::OneOf(&["text", "json"])),
            ("access", Kind::OneOf(&["off", "on"])),
            ("sample", Kind::PositiveWhole),
            ("file", Kind::Text),
        ],
    ),
];

const CHECKED_ONLY_LIMITS: [(&str, Kind); 9] = [
    ("header_timeout", Kind::Positive),
    ("body_timeout", Kind::Positive),
    ("idle_timeout", Kind::Positive),
    ("write_timeout", Kind::Positive),
    ("handshake_timeout", Kind::Positive),
    ("shutdown_grace", Kind::Positive),
    ("max_connections", Kind::PositiveWhole),
    ("max_connections_per_address", Kind::PositiveWhole),
    ("max_requests_per_connection", Kind::PositiveWhole),
];

/// The document's tables.
const TABLES: [&str; 15] = [
    "server",
    "policies",
    "agents",
    "catalog",
    "limits",
    "tools",
    "apis",
    "hosted_protocols",
    "tls",
    "mtls",
    "signing",
    "upstream",
    "audit",
    "admin",
    "log",
];

/// What is about a store says nothing without one.
fn tell_of_memory(root: &Block<'_>) {
    let Some(audit) = table(root, "audit").filter(|audit| audit.get("dir").is_none()) else { return };
    let keys = ["durability", "on_failure", "retention_days", "retention_bytes"];
    for entry in keys.iter().filter_map(|key| audit.get(key)) {
        let message = format!("audit.{} has no effect: records are kept in memory only", entry.key);
        entry.fault(&rules::SETTING_NOT_SERVED, message, "name a directory for them, dir = \"audit\"");
    }
}

/// The settings of a document, or the defaults if there is none. The method policy is read apart from it.
pub(super) fn read(root: Option<&Block<'_>>) -> Settings {
    let mut settings = Settings { server: server(None), ..Settings::default() };
    let Some(root) = root else { return settings };
    root.only(&TABLES);
    tell_of_memory(root);
    settings.server = server(table(root, "server").as_ref());
    if let Some(policies) = table(root, "policies") {
        settings.policies = self::policies(&policies);
        settings.builtins_override = overrides(&policies);
    }
    if let Some(agents) = table(root, "agents") {
        agents.only(&["disclosure", "disclosure_notice"]);
        settings.disclosure = disclosure(&agents);
        settings.disclosure_notice = text(&agents, "disclosure_notice");
    }
    if let Some(limits) = table(root, "limits") {
        settings.limits = self::limits(&limits);
    }
    settings.tools = descriptors(root, "tools");
    settings.apis = descriptors(root, "apis");
    settings.hosted_protocols = descriptors(root, "hosted_protocols");
    for (name, keys) in &CHECKED_ONLY {
        if let Some(block) = table(root, name) {
            block.only(&keys.iter().map(|(key, _)| *key).collect::<Vec<_>>());
            check_only(&block, keys);
        }
    }
    if let Some(signing) = table(root, "signing") {
        signing.require("key");
    }
    if let Some(tls) = table(root, "tls") {
        self::tls(&tls);
    }
    if let Some(mtls) = table(root, "mtls") {
        require_authorities(&mtls);
    }
    settings
}

/// `[catalog] file`.
pub(super) fn catalog_file<'d>(root: &Block<'d>) -> Option<(Entry<'d>, &'d str)> {
    let catalog = table(root, "catalog")?;
    catalog.only(&["file"]);
    let entry = catalog.get("file")?;
    let file = entry.text()?;
    Some((entry, file))
}

/// `[policies.methods]`.
pub(super) fn methods<'d>(root: &Block<'d>) -> Option<Block<'d>> {
    // Of the wrong type, `policies` itself is reported when it is read.
    let policies = root.get("policies").filter(Entry::is_table)?.table()?;
    table(&policies, "methods")
}

fn table<'d>(root: &Block<'d>, key: &str) -> Option<Block<'d>> {
    root.get(key).and_then(|entry| entry.table())
}

fn text(block: &Block<'_>, key: &str) -> Option<String> {
    block.get(key).and_then(|entry| entry.text()).map(str::to_owned)
}

fn check_only(block: &Block<'_>, keys: &[(&str, Kind)]) {
    for (key, kind) in keys {
        let Some(entry) = block.get(key) else { continue };
        match kind {
            Kind::Text => _ = entry.text(),
            Kind::Loopback => loopback(&entry),
            Kind::OneOf(words) => _ = entry.one_of(words, &rules::SETTING_VALUE),
            Kind::Positive => {
                if entry.number().is_some_and(|number| !(number > 0.0 && number.is_finite())) {
                    positive(&entry);
                }
            }
            Kind::PositiveWhole => {
                if entry.integer().is_some_and(|number| !(1..=i128::from(u32::MAX)).contains(&number)) {
                    positive(&entry);
                }
            }
        }
    }
}

/// Figures are neither encrypted nor guarded.
fn loopback(entry: &Entry<'_>) {
    let Some(text) = entry.text() else { return };
    let address: Option<std::net::SocketAddr> = text.parse().ok();
    if !address.is_some_and(|address| address.ip().to_canonical().is_loopback()) {
        let message = format!("{} is \"{text}\", which is no address and port of loopback", entry.name());
        entry.fault(&rules::SETTING_VALUE, message, "write one as in \"127.0.0.1:9480\"");
    }
}

fn positive(entry: &Entry<'_>) {
    entry.fault(
        &rules::SETTING_LIMIT,
        format!("{} is out of range", entry.name()),
        "write a positive number",
    );
}

fn server(block: Option<&Block<'_>>) -> ServerBlock {
    let default = ServerBlock { server_id: "localhost".to_owned(), ..ServerBlock::default() };
    let Some(block) = block else { return default };
    block.only(&[
        "server_id",
        "operator",
        "contact",
        "domain",
        "issued",
        "document_version",
        "supported_features",
        "legacy_version_header",
    ]);
    let features = block.get("supported_features").map(|entry| entry.strings()).unwrap_or_default();
    ServerBlock {
        server_id: block.get("server_id").and_then(|entry| server_id(&entry)).unwrap_or(default.server_id),
        domain: text(block, "domain"),
        operator: text(block, "operator").unwrap_or_default(),
        contact: text(block, "contact").unwrap_or_default(),
        supported_features: features.into_iter().map(|(_, feature)| feature.to_owned()).collect(),
        issued: block.get("issued").and_then(|entry| issued(&entry)),
        document_version: text(block, "document_version"),
        legacy_version_header: flag(block, "legacy_version_header", false),
    }
}

/// It is sent in every answer.
fn server_id(entry: &Entry<'_>) -> Option<String> {
    let id = entry.text()?;
    if !is_header_safe(id) {
        let message = "server_id cannot be sent in a header";
        entry.fault(&rules::SETTING_VALUE, message, "use printable ASCII without spaces at the ends");
    }
    Some(id.to_owned())
}

/// An RFC 3339 date and time, in quotes or not.
fn issued(entry: &Entry<'_>) -> Option<String> {
    let issued = entry.string_or_datetime()?;
    let parsed: Option<toml::value::Datetime> = issued.parse().ok();
    if !parsed.is_some_and(|at| at.date.is_some() && at.time.is_some() && at.offset.is_some()) {
        let message = format!("issued is \"{issued}\"");
        entry.fault(&rules::SETTING_VALUE, message, "write a date and time as in 2026-05-01T12:00:00Z");
    }
    Some(issued)
}

fn flag(block: &Block<'_>, key: &str, default: bool) -> bool {
    block.get(key).and_then(|entry| entry.boolean()).unwrap_or(default)
}

fn policies(block: &Block<'_>) -> Policies {
    block.only(&[
        "wildcards_accepted",
        "anonymous_discovery",
        "scope_required_for_invocation",
        "synthesis_enabled",
        "max_synthesis_depth",
        "enforce_agent_methods",
        "builtins_override",
        "methods",
    ]);
    let default = Policies::default();
    let flag = |key, default| flag(block, key, default);
    Policies {
        wildcards_accepted: flag("wildcards_accepted", default.wildcards_accepted),
        anonymous_discovery: flag("anonymous_discovery", default.anonymous_discovery),
        scope_required_for_invocation: flag(
            "scope_required_for_invocation",
            default.scope_required_for_invocation,
        ),
        synthesis_enabled: flag("synthesis_enabled", default.synthesis_enabled),
        max_synthesis_depth: bounded(block, "max_synthesis_depth", 1_000, default.max_synthesis_depth),
        enforce_agent_methods: flag("enforce_agent_methods", default.enforce_agent_methods),
    }
}

/// A whole number from 1 to `most`.
fn bounded(block: &Block<'_>, key: &str, most: u32, default: u32) -> u32 {
    let Some(entry) = block.get(key) else { return default };
    let Some(number) = entry.integer() else { return default };
    match u32::try_from(number) {
        Ok(number) if (1..=most).contains(&number) => number,
        _ => {
            let message = format!("{} is {number}", entry.name());
            entry.fault(&rules::SETTING_LIMIT, message, format!("write a whole number from 1 to {most}"));
            default
        }
    }
}

/// The upper bounds keep a typo from reserving the machine: memory per connection is the sum of the first four, and
/// validation recurses once per level of nesting.
fn limits(block: &Block<'_>) -> Limits {
    let used = ["request_line_bytes", "header_bytes", "header_count", "body_bytes", "json_depth"];
    block.only(&used.into_iter().chain(CHECKED_ONLY_LIMITS.iter().map(|(key, _)| *key)).collect::<Vec<_>>());
    check_only(block, &CHECKED_ONLY_LIMITS);
    let default = Limits::DEFAULT;
    Limits {
        request_line_bytes: bounded(block, "request_line_bytes", 1 << 16, default.request_line_bytes),
        header_bytes: bounded(block, "header_bytes", 1 << 20, default.header_bytes),
        header_count: bounded(block, "header_count", 1 << 10, default.header_count),
        body_bytes: bounded(block, "body_bytes", 1 << 30, default.body_bytes),
        json_depth: bounded(block, "json_depth", 1 << 8, default.json_depth),
    }
}

/// Certificates and keys, by default and for certain names. The files themselves are the server's to read.
fn tls(block: &Block<'_>) {
    const FILES: [(&str, Kind); 2] = [("cert", Kind::Text), ("key", Kind::Text)];
    block.only(&["cert", "key", "sni"]);
    check_only(block, &FILES);
    for shown in block.get("sni").map(|entry| entry.tables()).unwrap_or_default() {
        shown.only(&["names", "cert", "key"]);
        check_only(&shown, &FILES);
        shown.require("cert");
        shown.require("key");
        shown.require("names").map(|names| names.distinct_strings());
    }
}

/// Without anybody to vouch for clients, a server that asks for certificates would be closed to all, or open to all.
fn require_authorities(block: &Block<'_>) {
    let Some(mode) = block.get("mode") else { return };
    let asks = mode.string().is_some_and(|mode| matches!(mode, "optional" | "required"));
    if asks && block.get("ca_file").is_none() {
        let message = "nobody is named who may vouch for clients";
        mode.fault(&rules::SETTING_UNENFORCED, message, "name a PEM file of authorities in ca_file");
    }
}

fn disclosure(block: &Block<'_>) -> Disclosure {
    let words = ["public", "authenticated", "private"];
    let word = block.get("disclosure").and_then(|entry| entry.one_of(&words, &rules::SETTING_VALUE));
    match word {
        Some("authenticated") => Disclosure::Authenticated,
        Some("private") => Disclosure::Private,
        _ => Disclosure::Public,
    }
}

/// The reserved paths an operator replaces.
fn overrides(policies: &Block<'_>) -> Vec<String> {
    let reserved: Vec<_> = RESERVED.iter().map(|root| format!("/{root}")).collect();
    let known: Vec<_> = reserved.iter().map(String::as_str).collect();
    let entries = policies.get("builtins_override").map(|entry| entry.strings()).unwrap_or_default();
    for (item, path) in entries.iter().filter(|(_, path)| !known.contains(path)) {
        let message = format!("\"{path}\" is no reserved DISCOVER path");
        item.fault(&rules::OVERRIDE_UNRESERVED, message, suggest::did_you_mean(path, &known));
    }
    entries.into_iter().map(|(_, path)| path.to_owned()).collect()
}

/// Entries that are passed through to discovery and the manifest; each has a name.
fn descriptors(root: &Block<'_>, key: &str) -> Vec<Value> {
    let blocks = root.get(key).map(|entry| entry.tables()).unwrap_or_default();
    for block in &blocks {
        block.require("name").map(|entry| entry.text());
    }
    blocks.iter().map(Block::to_json).collect()
}
