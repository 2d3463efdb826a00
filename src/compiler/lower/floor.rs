//! The eighteen floor methods: properties (draft: Method Overview) and parameters (facts page 9).

use serde_json::{Map, Value, json};

/// One floor method.
#[derive(Debug)]
pub(super) struct FloorMethod {
    pub(super) name: &'static str,
    /// Draft: Method Overview, column Safe.
    pub(super) safe: bool,
    /// Draft: Method Overview, column Idempotent; "per action" counts as no.
    pub(super) idempotent: bool,
    /// Its catalog category, as the semantic block's capability.
    pub(super) capability: &'static str,
    /// The semantic block's intent.
    pub(super) intent: &'static str,
    /// The semantic block's outcome.
    pub(super) outcome: &'static str,
    /// What it accepts, `name!:type` when required.
    parameters: &'static [&'static str],
}

impl FloorMethod {
    /// Whether a call changes state and so needs an Authority-Scope (D24). PROPOSE is not safe, but changes nothing.
    pub(super) fn changes_state(&self) -> bool {
        !self.safe && self.name != "PROPOSE"
    }

    /// The strict input schema (D29).
    pub(super) fn input_schema(&self) -> Value {
        let mut schema = object_schema(self.parameters);
        if self.name == "SUSPEND" {
            schema["anyOf"] = json!([{"required": ["session_id"]}, {"required": ["synthesis_id"]}]);
        }
        match self.name {
            "DISCOVER" => constrain_discovery(&mut schema),
            "INSPECT" => constrain_inspection(&mut schema),
            _ => {}
        }
        schema
    }
}

/// Criteria are texts, and what refines them is nothing without them (D28). `target` and what goes with it is the
/// deprecated form of the reserved paths (draft: Legacy DISCOVER target= Body Form).
fn constrain_discovery(schema: &mut Value) {
    let properties = &mut schema["properties"];
    properties["criteria"] = json!({"type": ["string", "array", "object"]});
    properties["filter"] = json!({
        "type": ["string", "object"],
        "properties": {
            "kind": {"enum": ["endpoint", "agent"]},
            "method": {"type": "string"},
            "capability": {"enum": crate::catalog::CATEGORIES},
            "impact": {"enum": ["informational", "reversible", "irreversible"]},
        },
        "additionalProperties": false,
    });
    properties["max_results"] = json!({"type": "integer", "minimum": 1});
    properties["target"] =
        json!({"enum": ["methods", "agents", "genesis", "tools", "apis"], "deprecated": true});
    schema["dependentRequired"] = json!({
        "filter": ["criteria"], "max_results": ["criteria"], "agent_id": ["target"],
    });
}

/// Each target is looked up by one of the other parameters (facts page 8).
fn constrain_inspection(schema: &mut Value) {
    schema["properties"]["target"] = json!({"enum": ["audit", "chain_head", "lifecycle"]});
    schema["properties"]["limit"] = json!({"type": "integer", "minimum": 1});
    let needs = |targets: Value, parameter: &str| json!({"if": {"properties": {"target": {"enum": targets}}}, "then": {"required": [parameter]}});
    schema["allOf"] =
        json!([needs(json!(["audit"]), "audit_id"), needs(json!(["chain_head", "lifecycle"]), "agent_id")]);
}

/// The floor method of this name.
pub(super) fn find(name: &str) -> Option<&'static FloorMethod> {
    FLOOR.iter().find(|method| method.name == name)
}

/// A strict object schema of parameters written `name:type`, or `name!:type` when required; the type `any` is no
/// constraint.
pub(super) fn object_schema(parameters: &[&str]) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for parameter in parameters {
        let (name, kind) = parameter.split_once(':').unwrap_or((parameter, "any"));
        let bare = name.trim_end_matches('!');
        if bare != name {
            required.push(Value::from(bare));
        }
        let schema = if kind == "any" { json!({}) } else { json!({ "type": kind }) };
        properties.insert(bare.to_owned(), schema);
    }
    let mut schema = json!({"type": "object", "properties": properties, "additionalProperties": false});
    if !required.is_empty() {
        schema["required"] = required.into();
    }
    schema
}

const LIFECYCLE: &[&str] = &["agent_id!:string", "reason:string", "actor:string"];

/// In the draft's order.
pub(super) const FLOOR: &[FloorMethod] = &[
    FloorMethod {
        name: "QUERY",
        safe: true,
        idempotent: true,
        capability: "discovery",
        intent: "Query the server for information that satisfies a stated intent.",
        outcome: "The information found is returned.",
        parameters: &["intent!:any", "scope:any", "format:string", "confidence_threshold:number"],
    },
    FloorMethod {
        name: "DISCOVER",
        safe: true,
        idempotent: true,
        capability: "discovery",
        intent: "Discover what this server offers.",
        outcome: "The manifest, the directory or ranked candidates are returned.",
        // At `/` the criteria select between directory and candidates, so here they are optional (D1).
        parameters: &["criteria:any", "filter:any", "max_results:integer", "target:any", "agent_id:string"],
    },
    FloorMethod {
        name: "DESCRIBE",
        safe: true,
        idempotent: true,
        capability: "discovery",
        intent: "Describe the capability domains and versions that are supported.",
        outcome: "The descriptions are returned.",
        parameters: &["capability_domains:any", "version_min:string"],
    },
    FloorMethod {
        name: "INSPECT",
        safe: true,
        idempotent: true,
        capability: "analysis",
        intent: "Inspect an audit record, the head of a chain or lifecycle events.",
        outcome: "The record, head or events are returned.",
        parameters: &["target!:string", "audit_id:string", "agent_id:string", "limit:integer"],
    },
    FloorMethod {
        name: "SUMMARIZE",
        safe: true,
        idempotent: true,
        capability: "analysis",
        intent: "Summarize a source for a stated audience.",
        outcome: "The summary is returned.",
        parameters: &["source!:any", "length:any", "focus:any", "format:string", "audience:string"],
    },
    FloorMethod {
        name: "PLAN",
        safe: true,
        idempotent: true,
        capability: "mechanics",
        intent: "Plan the steps toward a goal under constraints.",
        outcome: "The ordered steps are returned; none of them is carried out.",
        parameters: &["goal!:any", "constraints:any", "available_methods:array"],
    },
    FloorMethod {
        name: "PROPOSE",
        safe: false,
        idempotent: false,
        capability: "mechanics",
        intent: "Propose an endpoint that the server does not expose.",
        outcome: "The proposal is approved, negotiated or rejected.",
        // The second line belongs to the older `name` form.
        parameters: &[
            "endpoint:object",
            "persistent:boolean",
            "requested_duration:any",
            "name:string",
            "method:string",
            "path:string",
            "description:string",
            "parameters:any",
            "outcome:any",
        ],
    },
    FloorMethod {
        name: "EXECUTE",
        safe: false,
        idempotent: false,
        capability: "transaction",
        intent: "Execute a named action with its parameters.",
        outcome: "The result of the action is returned.",
        parameters: &[
            "action!:string",
            "parameters:any",
            "payload:any",
            "payload_type:string",
            "idempotency_key:string",
        ],
    },
    FloorMethod {
        name: "DELEGATE",
        safe: false,
        idempotent: false,
        capability: "mechanics",
        intent: "Delegate a task to another agent under a bounded authority.",
        outcome: "The agent has the task.",
        parameters: &[
            "target_agent_id!:string",
            "task!:any",
            "authority_scope!:any",
            "delegation_token!:string",
            "callback:any",
            "deadline:any",
        ],
    },
    FloorMethod {
        name: "ESCALATE",
        safe: false,
        idempotent: true,
        capability: "notification",
        intent: "Escalate a task to a higher authority.",
        outcome: "The escalation is recorded and its recipient told.",
        parameters: &[
            "task_id!:string",
            "reason!:string",
            "context!:any",
            "priority:any",
            "recipient:string",
        ],
    },
    FloorMethod {
        name: "CONFIRM",
        safe: false,
        idempotent: true,
        capability: "notification",
        intent: "Confirm the status of a target.",
        outcome: "The confirmation is recorded.",
        parameters: &["target_id!:string", "status!:string", "reason:string", "attestation:any"],
    },
    FloorMethod {
        name: "SUSPEND",
        safe: false,
        idempotent: false,
        capability: "mechanics",
        intent: "Suspend a session at a checkpoint.",
        outcome: "The session is held and a single-use resumption nonce returned.",
        parameters: &[
            "session_id:string",
            "synthesis_id:string",
            "reason:string",
            "resume_by:any",
            "checkpoint:any",
        ],
    },
    FloorMethod {
        name: "NOTIFY",
        safe: false,
        idempotent: false,
        capability: "notification",
        intent: "Notify a recipient of content.",
        outcome: "The content is on its way to the recipient.",
        parameters: &["recipient!:string", "content!:any", "urgency:any", "delivery_guarantee:any"],
    },
    FloorMethod {
        name: "ACTIVATE",
        safe: false,
        idempotent: false,
        capability: "domain_spanning",
        intent: "Activate a known agent.",
        outcome: "The agent's requests are accepted.",
        parameters: LIFECYCLE,
    },
    FloorMethod {
        name: "DEACTIVATE",
        safe: false,
        idempotent: false,
        capability: "domain_spanning",
        intent: "Deactivate an agent until it is activated again.",
        outcome: "The agent's requests are refused meanwhile.",
        parameters: LIFECYCLE,
    },
    FloorMethod {
        name: "REINSTATE",
        safe: false,
        idempotent: false,
        capability: "domain_spanning",
        intent: "Reinstate an agent after an interruption.",
        outcome: "The agent is in good standing again.",
        parameters: LIFECYCLE,
    },
    FloorMethod {
        name: "REVOKE",
        safe: false,
        idempotent: false,
        capability: "domain_spanning",
        intent: "Revoke an agent's standing for good.",
        outcome: "The agent is retired.",
        parameters: &["agent_id!:string", "reason!:string", "actor:string"],
    },
    FloorMethod {
        name: "DEPRECATE",
        safe: false,
        idempotent: false,
        capability: "domain_spanning",
        intent: "Deprecate an agent that is due for replacement.",
        outcome: "The agent is marked and still served.",
        parameters: LIFECYCLE,
    },
];
