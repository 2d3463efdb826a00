//! The fields of `REGISTRY` and `AGENTS`.

use super::rows::{text, word};
use crate::registry::{Documents, PerfectHash, Policies, Registry, Text};
use crate::wire::Limits;

/// Field names and the expressions they are set to.
pub(super) type Fields = Vec<(&'static str, String)>;

pub(super) fn registry(registry: &Registry) -> Fields {
    let verbs = perfect_hash(&registry.verbs.hash, "VERB_DISPLACEMENTS");
    vec![
        ("text", "Borrowed(TEXT)".to_owned()),
        ("verbs", format!("VerbSet {{ hash: {verbs}, slots: Borrowed(&VERB_SLOTS) }}")),
        ("methods", borrowed("METHODS")),
        ("redirects", borrowed("REDIRECTS")),
        ("router", router(registry)),
        ("endpoints", borrowed("ENDPOINTS")),
        ("params", borrowed("PARAMS")),
        ("properties", borrowed("PROPERTIES")),
        ("scopes", borrowed("SCOPES")),
        ("errors", borrowed("ERRORS")),
        ("known_paths", borrowed("KNOWN_PATHS")),
        ("path_methods", borrowed("PATH_METHODS")),
        ("schemas", borrowed("SCHEMAS")),
        ("functions", borrowed("FUNCTION_NAMES")),
        ("recipes", borrowed("RECIPES")),
        ("steps", borrowed("STEPS")),
        ("step_params", borrowed("STEP_PARAMS")),
        ("step_pieces", borrowed("STEP_PIECES")),
        ("externals", borrowed("EXTERNALS")),
        ("pairs", borrowed("PAIRS")),
        (
            "leak",
            "LeakAutomaton { next: Borrowed(&LEAK_NEXT), accepting: Borrowed(&LEAK_ACCEPTING) }".to_owned(),
        ),
        ("policies", policies(&registry.policies)),
        ("disclosure", format!("Disclosure::{:?}", registry.disclosure)),
        ("limits", limits(&registry.limits)),
        ("catalog_version", text(&registry.catalog_version)),
        ("server_id", text(&registry.server_id)),
        ("heads", borrowed("HEADS")),
        ("supported_methods", text(&registry.supported_methods)),
        ("general_redirects_json", text(&registry.general_redirects_json)),
        ("path_bound_redirects", registry.path_bound_redirects.to_string()),
        ("documents", documents(&registry.documents)),
        ("discovery", discovery(registry)),
    ]
}

pub(super) fn agents() -> Fields {
    vec![
        ("text", "Borrowed(AGENT_TEXT)".to_owned()),
        ("index", borrowed("AGENT_INDEX")),
        ("agents", borrowed("AGENT_ROWS")),
        ("scopes", borrowed("AGENT_SCOPES")),
        ("methods", borrowed("AGENT_METHODS")),
    ]
}

fn borrowed(table: &str) -> String {
    format!("Borrowed(&{table})")
}

fn router(registry: &Registry) -> String {
    let router = &registry.router;
    let (all, deepest) = (router.all.0, router.deepest);
    let hash = perfect_hash(&router.hash, "EDGE_DISPLACEMENTS");
    format!(
        "Router {{ nodes: Borrowed(&NODES), hash: {hash}, edges: Borrowed(&EDGES), all: NodeId({all}), \
         deepest: {deepest} }}"
    )
}

fn perfect_hash(hash: &PerfectHash, displacements: &str) -> String {
    let (seed, mask) = (word(hash.seed), hash.mask);
    format!("PerfectHash {{ seed: {seed}, displacements: Borrowed(&{displacements}), mask: {mask} }}")
}

fn discovery(registry: &Registry) -> String {
    structure(
        "Discovery",
        &[
            ("words", borrowed("WORDS")),
            ("postings", borrowed("POSTINGS")),
            ("candidates", borrowed("CANDIDATES")),
            ("unknown_rarity", registry.discovery.unknown_rarity.to_string()),
        ],
    )
}

fn policies(policies: &Policies) -> String {
    let Policies {
        wildcards_accepted,
        anonymous_discovery,
        scope_required_for_invocation,
        synthesis_enabled,
        max_synthesis_depth,
        enforce_agent_methods,
    } = policies;
    structure(
        "Policies",
        &[
            ("wildcards_accepted", wildcards_accepted.to_string()),
            ("anonymous_discovery", anonymous_discovery.to_string()),
            ("scope_required_for_invocation", scope_required_for_invocation.to_string()),
            ("synthesis_enabled", synthesis_enabled.to_string()),
            ("max_synthesis_depth", max_synthesis_depth.to_string()),
            ("enforce_agent_methods", enforce_agent_methods.to_string()),
        ],
    )
}

fn limits(limits: &Limits) -> String {
    let Limits { request_line_bytes, header_bytes, header_count, body_bytes, json_depth } = limits;
    structure(
        "rt::wire::Limits",
        &[
            ("request_line_bytes", request_line_bytes.to_string()),
            ("header_bytes", header_bytes.to_string()),
            ("header_count", header_count.to_string()),
            ("body_bytes", body_bytes.to_string()),
            ("json_depth", json_depth.to_string()),
        ],
    )
}

fn documents(documents: &Documents) -> String {
    let Documents {
        directory,
        methods,
        tools,
        apis,
        patterns,
        contracts,
        agents,
        manifest,
        manifest_withheld,
        manifest_headers,
        manifest_withheld_headers,
    } = documents;
    let fields: [(&str, &Text); 11] = [
        ("directory", directory),
        ("methods", methods),
        ("tools", tools),
        ("apis", apis),
        ("patterns", patterns),
        ("contracts", contracts),
        ("agents", agents),
        ("manifest", manifest),
        ("manifest_withheld", manifest_withheld),
        ("manifest_headers", manifest_headers),
        ("manifest_withheld_headers", manifest_withheld_headers),
    ];
    structure("Documents", &fields.map(|(name, range)| (name, text(range))))
}

fn structure(name: &str, fields: &[(&str, String)]) -> String {
    let fields: Vec<String> = fields.iter().map(|(field, value)| format!("{field}: {value}")).collect();
    format!("{name} {{ {} }}", fields.join(", "))
}
