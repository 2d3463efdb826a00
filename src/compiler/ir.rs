//! What the documents of a deployment declare, after reading and checking, before it becomes tables.

use serde_json::Value;
use std::path::PathBuf;

/// A checked deployment: only what is valid and will be served.
#[derive(Clone, Debug)]
pub struct Deployment {
    /// The directory it was read from.
    pub root: PathBuf,
    /// `agtp-server.toml`.
    pub settings: Settings,
    /// The catalog in use.
    pub catalog: crate::catalog::Catalog,
    /// Operator endpoints in file order, policy-independent. Built-ins are added when it is lowered.
    pub endpoints: Vec<EndpointDecl>,
    /// Agents, sorted by id.
    pub agents: Vec<AgentDecl>,
    /// Recipes in file order, those without faults.
    pub recipes: Vec<RecipeDecl>,
}

/// Where something was declared.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Source {
    /// Path relative to the deployment, with `/`.
    pub file: String,
    /// Line, counted from 1; 0 when it is about the whole file.
    pub line: u32,
}

/// One segment of a path template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TemplateSegment {
    /// Matches byte for byte.
    Literal(String),
    /// Captures one non-empty segment.
    Param(String),
}

/// A path template that passed the path grammar.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    /// As declared, `/rooms/{room_id}`.
    pub text: String,
    /// Its segments; none for `/`.
    pub segments: Vec<TemplateSegment>,
}

/// The semantic block (draft: Required Semantic Block Fields).
#[derive(Clone, Debug)]
pub struct Semantic {
    /// What the endpoint accomplishes.
    pub intent: String,
    /// Who should invoke it; free-form.
    pub actor: String,
    /// What holds afterwards.
    pub outcome: String,
    /// One of the nine catalog categories.
    pub capability: String,
    /// 0.0 to 1.0.
    pub confidence: f64,
    /// `informational`, `reversible` or `irreversible`.
    pub impact: String,
    /// Whether a repeat has no further effect.
    pub is_idempotent: bool,
}

/// Endpoint deprecation.
#[derive(Clone, Debug)]
pub struct Deprecation {
    /// Since when.
    pub deprecated_in: String,
    /// Until when.
    pub removed_in: Option<String>,
    /// Replacement method.
    pub successor_method: Option<String>,
    /// Replacement path.
    pub successor_path: Option<String>,
}

/// The handler binding, with its server-internal reference.
#[derive(Clone, Debug, PartialEq)]
pub enum HandlerDecl {
    /// A registered function, name normalised to `a::b`.
    Function(String),
    /// A recipe by name.
    Composition(String),
    /// An HTTPS upstream.
    External(Box<ExternalDecl>),
}

impl HandlerDecl {
    /// `handler.type`.
    pub const fn kind(&self) -> &'static str {
        match self {
            HandlerDecl::Function(_) => "registered_function",
            HandlerDecl::Composition(_) => "composition",
            HandlerDecl::External(_) => "external_service",
        }
    }
}

/// An HTTPS upstream (draft: External Service).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExternalDecl {
    /// `https://…`, with `{param}`s.
    pub url: String,
    /// The HTTP method.
    pub method: String,
    /// Names and values, in which a `${VAR}` is yet to be resolved.
    pub headers: Vec<(String, String)>,
    /// Input property to the upstream's name for it.
    pub input_transform: Vec<(String, String)>,
    /// Input property to where it goes: `query`, `header` or `body`. What is not named goes where the method has it.
    pub input_place: Vec<(String, String)>,
    /// Output property to the upstream's name for it.
    pub output_transform: Vec<(String, String)>,
    /// The output property that is the upstream's whole body.
    pub output_body: Option<String>,
    /// HTTP status to error name.
    pub error_map: Vec<(String, String)>,
    /// Whether it may be out of reach when the deployment is checked.
    pub deferred: bool,
}

/// One endpoint.
#[derive(Clone, Debug)]
pub struct EndpointDecl {
    /// Where it is declared (line of `[endpoint]`).
    pub source: Source,
    /// Its method, a catalog or custom method.
    pub method: String,
    /// Its path.
    pub path: Template,
    /// Operator-facing prose.
    pub description: String,
    /// Grouping label.
    pub namespace: Option<String>,
    /// The semantic block.
    pub semantic: Semantic,
    /// Full JSON Schema, whichever way it was declared.
    pub input_schema: Value,
    /// Full JSON Schema.
    pub output_schema: Value,
    /// Error names in declared order.
    pub errors: Vec<String>,
    /// Required scopes.
    pub required_scopes: Vec<String>,
    /// Deprecation.
    pub deprecated: Option<Deprecation>,
    /// Handler binding.
    pub handler: HandlerDecl,
    /// Milliseconds that an answer may take that is waited for.
    pub timeout_ms: u32,
}

/// One redirect entry.
#[derive(Clone, Debug)]
pub struct RedirectDecl {
    /// From method.
    pub from_method: String,
    /// From path (literal).
    pub from_path: Option<String>,
    /// To method.
    pub to_method: String,
    /// To path (literal).
    pub to_path: Option<String>,
}

/// `policies.methods`, entries of missing verbs already skipped.
#[derive(Clone, Debug, Default)]
pub struct MethodPolicy {
    /// `None` is `"*"`.
    pub allow: Option<Vec<String>>,
    /// Refused methods, floor methods already dropped (D5).
    pub disallow: Vec<String>,
    /// Admitted legacy verbs.
    pub legacy: Vec<String>,
    /// As it was written, for the manifest: `"*"`, `"NONE"` or a list.
    pub legacy_as_written: Option<Value>,
    /// Custom methods.
    pub custom: Vec<String>,
    /// Alias to method, sorted by alias.
    pub aliases: Vec<(String, String)>,
    /// Whether `aliases` is the seed: the operator declared no table (D3).
    pub aliases_are_seed: bool,
    /// In file order.
    pub redirects: Vec<RedirectDecl>,
}

/// `[server]`.
#[derive(Clone, Debug, Default)]
pub struct ServerBlock {
    /// `server_id`; default `localhost`.
    pub server_id: String,
    /// `domain`.
    pub domain: Option<String>,
    /// `operator`.
    pub operator: String,
    /// `contact`.
    pub contact: String,
    /// `supported_features`.
    pub supported_features: Vec<String>,
    /// `issued`, RFC 3339.
    pub issued: Option<String>,
    /// `document_version`.
    pub document_version: Option<String>,
    /// `legacy_version_header`.
    pub legacy_version_header: bool,
}

/// `agtp-server.toml` as far as the compiler uses it.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// `[server]`.
    pub server: ServerBlock,
    /// `[policies]` toggles.
    pub policies: crate::registry::Policies,
    /// `policies.builtins_override`.
    pub builtins_override: Vec<String>,
    /// `[policies.methods]`.
    pub methods: MethodPolicy,
    /// `[agents] disclosure`.
    pub disclosure: crate::registry::Disclosure,
    /// `[agents] disclosure_notice`.
    pub disclosure_notice: Option<String>,
    /// `[limits]`, the ones of a request.
    pub limits: crate::wire::Limits,
    /// `[[tools]]`.
    pub tools: Vec<Value>,
    /// `[[apis]]`.
    pub apis: Vec<Value>,
    /// `[[hosted_protocols]]`.
    pub hosted_protocols: Vec<Value>,
}

/// One agent: identity document and Genesis, resolved (facts page 7).
#[derive(Clone, Debug)]
pub struct AgentDecl {
    /// The identity document's file.
    pub source: Source,
    /// 64 lowercase hex digits.
    pub agent_id: String,
    /// `name`.
    pub name: String,
    /// `status`.
    pub status: crate::identity::Status,
    /// `description`.
    pub description: Option<String>,
    /// `skills`.
    pub skills: Vec<String>,
    /// The skills in one line.
    pub skills_summary: String,
    /// Granted scopes: `requires.scopes`, else the Genesis `scope`.
    pub grants: Vec<String>,
    /// `requires.methods`.
    pub methods: Vec<String>,
    /// Resolved trust tier.
    pub trust_tier: u8,
    /// Resolved verification path.
    pub verification_path: String,
    /// Resolved trust warning.
    pub trust_warning: Option<String>,
    /// Resolved owner.
    pub owner_id: Option<String>,
    /// Canonical Genesis, `signature` included.
    pub genesis: Option<String>,
}

/// One recipe of `agtp-recipes.toml`.
#[derive(Clone, Debug)]
pub struct RecipeDecl {
    /// Where it is declared.
    pub source: Source,
    /// Its name.
    pub name: String,
    /// Its version, an opaque string.
    pub version: String,
    /// Its description.
    pub description: Option<String>,
    /// `[recipe.pattern]` as declared, which negotiation uses.
    pub pattern: Option<Value>,
    /// Its steps, in order.
    pub steps: Vec<StepDecl>,
    /// What becomes of the steps' results.
    pub aggregation: crate::registry::Aggregation,
    /// Whether it can be used: nothing is wrong with it.
    pub sound: bool,
}

/// One step of a recipe.
#[derive(Clone, Debug)]
pub struct StepDecl {
    /// Where it is declared.
    pub source: Source,
    /// The method it invokes.
    pub method: String,
    /// The path it invokes; with parameters when it is not static (D30).
    pub path: Template,
    /// The name later steps know its result by.
    pub capture_as: Option<String>,
    /// Its parameters, by name.
    pub parameters: Vec<ParameterDecl>,
}

/// One parameter of a step.
#[derive(Clone, Debug)]
pub struct ParameterDecl {
    /// Where it is declared.
    pub source: Source,
    /// Its name.
    pub name: String,
    /// Where its value comes from.
    pub value: ParameterValue,
}

/// Where the value of a step's parameter comes from.
#[derive(Clone, Debug, PartialEq)]
pub enum ParameterValue {
    /// A member of the composition's own input.
    Proposal(String),
    /// This very value.
    Constant(Value),
    /// The result of an earlier step, counted from 0, at a JSON Pointer.
    Previous {
        /// Which step.
        step: usize,
        /// Where in its result; empty for all of it.
        pointer: String,
    },
}
