//! The endpoints every server has (draft: Server Metadata via AGTP Methods; facts page 6).

use super::floor::{self, FLOOR, FloorMethod};
use crate::compiler::ir::{
    Deployment, EndpointDecl, HandlerDecl, Semantic, Settings, Source, Template, TemplateSegment,
};
use crate::registry::Builtin;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::collections::HashSet;

/// An endpoint to be lowered: what is declared of it, and whose it is.
#[derive(Debug)]
pub(crate) struct Entry<'d> {
    /// Its declaration; made up for a built-in.
    pub(crate) decl: Cow<'d, EndpointDecl>,
    /// Which built-in it is, if the operator did not declare it.
    pub(crate) builtin: Option<Builtin>,
}

impl Entry<'_> {
    /// `A` for the protocol's own endpoints, `B` for the operator's (draft: the four tiers).
    pub(crate) fn tier(&self) -> &'static str {
        if self.builtin.is_some() { "A" } else { "B" }
    }
}

/// All endpoints in the order they are listed: built-ins first, each part by path and method. A built-in gives way to
/// an operator endpoint with the same method and path.
pub(super) fn entries(deployment: &Deployment) -> Vec<Entry<'_>> {
    let declared: HashSet<(&str, &str)> =
        deployment.endpoints.iter().map(|e| (e.method.as_str(), e.path.text.as_str())).collect();
    let builtins = builtins(&deployment.settings)
        .into_iter()
        .filter(|(decl, _)| !declared.contains(&(decl.method.as_str(), decl.path.text.as_str())))
        .map(|(decl, builtin)| Entry { decl: Cow::Owned(decl), builtin: Some(builtin) });
    let operators = deployment.endpoints.iter().map(|e| Entry { decl: Cow::Borrowed(e), builtin: None });
    let mut entries: Vec<_> = builtins.chain(operators).collect();
    entries.sort_by(|a, b| order(a).cmp(&order(b)));
    entries
}

fn order<'e>(entry: &'e Entry<'_>) -> (bool, &'e str, &'e str) {
    (entry.builtin.is_none(), &entry.decl.path.text, &entry.decl.method)
}

fn builtins(settings: &Settings) -> Vec<(EndpointDecl, Builtin)> {
    let served = |inventory: &&Inventory| match inventory.builtin {
        Builtin::Tools => !settings.tools.is_empty(),
        Builtin::Apis => !settings.apis.is_empty(),
        _ => true,
    };
    let inventories = INVENTORIES.iter().filter(served).map(|i| (i.declaration(), i.builtin));
    FLOOR.iter().map(|method| (at_root(method), floor_builtin(method))).chain(inventories).collect()
}

fn floor_builtin(method: &FloorMethod) -> Builtin {
    match method.name {
        "DISCOVER" => Builtin::Root,
        "PROPOSE" => Builtin::Propose,
        "INSPECT" => Builtin::Inspect,
        "ACTIVATE" => Builtin::Activate,
        "DEACTIVATE" => Builtin::Deactivate,
        "REINSTATE" => Builtin::Reinstate,
        "REVOKE" => Builtin::Revoke,
        "DEPRECATE" => Builtin::Deprecate,
        _ => Builtin::FloorUnserved,
    }
}

fn at_root(method: &FloorMethod) -> EndpointDecl {
    let semantic = Semantic {
        intent: method.intent.to_owned(),
        actor: "agent".to_owned(),
        outcome: method.outcome.to_owned(),
        capability: method.capability.to_owned(),
        confidence: 1.0,
        impact: impact(method).to_owned(),
        is_idempotent: method.idempotent,
    };
    declaration(method.name, root(), semantic, method.input_schema(), json!({"type": "object"}))
}

fn impact(method: &FloorMethod) -> &'static str {
    match method.name {
        "REVOKE" | "EXECUTE" | "NOTIFY" | "DELEGATE" | "ESCALATE" => "irreversible",
        _ if method.safe => "informational",
        _ => "reversible",
    }
}

fn root() -> Template {
    Template { text: "/".to_owned(), segments: Vec::new() }
}

fn declaration(
    method: &str,
    path: Template,
    semantic: Semantic,
    input_schema: Value,
    output_schema: Value,
) -> EndpointDecl {
    EndpointDecl {
        source: Source::default(),
        method: method.to_owned(),
        path,
        description: semantic.intent.clone(),
        namespace: None,
        semantic,
        input_schema,
        output_schema,
        errors: Vec::new(),
        required_scopes: Vec::new(),
        deprecated: None,
        // The server's own functions; the name is no registered one and appears nowhere.
        handler: HandlerDecl::Function(String::new()),
        // They answer at once.
        timeout_ms: 0,
    }
}

/// A built-in DISCOVER endpoint at a reserved path.
struct Inventory {
    path: &'static str,
    builtin: Builtin,
    intent: &'static str,
    outcome: &'static str,
    /// See [`floor::object_schema`].
    parameters: &'static [&'static str],
    /// What the answer is: an array of objects, or an object.
    array: bool,
}

impl Inventory {
    fn declaration(&self) -> EndpointDecl {
        let semantic = Semantic {
            intent: self.intent.to_owned(),
            actor: "agent".to_owned(),
            outcome: self.outcome.to_owned(),
            capability: "discovery".to_owned(),
            confidence: 1.0,
            impact: "informational".to_owned(),
            is_idempotent: true,
        };
        let segments = vec![TemplateSegment::Literal(self.path.trim_start_matches('/').to_owned())];
        let path = Template { text: self.path.to_owned(), segments };
        let output = if self.array {
            json!({"type": "array", "items": {"type": "object"}})
        } else {
            json!({"type": "object"})
        };
        declaration("DISCOVER", path, semantic, floor::object_schema(self.parameters), output)
    }
}

/// Draft: Reserved DISCOVER Paths.
const INVENTORIES: &[Inventory] = &[
    Inventory {
        path: "/methods",
        builtin: Builtin::Methods,
        intent: "List the endpoints of this server.",
        outcome: "Method, path, description and tier of every endpoint are returned.",
        parameters: &[],
        array: true,
    },
    Inventory {
        path: "/agents",
        builtin: Builtin::Agents,
        intent: "List the agents this server hosts.",
        outcome: "Identity and trust posture of every disclosed agent are returned.",
        parameters: &[],
        array: true,
    },
    Inventory {
        path: "/genesis",
        builtin: Builtin::Genesis,
        intent: "Fetch the Genesis of an agent.",
        outcome: "The Genesis is returned in canonical form with its signature.",
        parameters: &["agent_id:string"],
        array: false,
    },
    Inventory {
        path: "/tools",
        builtin: Builtin::Tools,
        intent: "List the tools of this server.",
        outcome: "The tool descriptors are returned.",
        parameters: &[],
        array: true,
    },
    Inventory {
        path: "/apis",
        builtin: Builtin::Apis,
        intent: "List the HTTP interfaces this server fronts.",
        outcome: "The interface descriptors are returned.",
        parameters: &[],
        array: true,
    },
    Inventory {
        path: "/patterns",
        builtin: Builtin::Patterns,
        intent: "List the patterns a proposal can be synthesized from.",
        outcome: "The patterns and whether negotiation is enabled are returned.",
        parameters: &[],
        array: false,
    },
    Inventory {
        path: "/contracts",
        builtin: Builtin::Contracts,
        intent: "List the contracts that negotiation has produced.",
        outcome: "The contracts in force are returned.",
        parameters: &[],
        array: true,
    },
];
