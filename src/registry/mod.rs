//! The compiled registry: flat tables and the questions they answer.
//!
//! One type serves both roads. `build.rs` emits it as a `static` whose tables are borrowed; `agtp serve
//! --deployment DIR` builds it at start with owned tables. Nothing in here knows TOML, allocates, or looks at a
//! clock: a request is answered by look-ups over these tables.
//!
//! Strings live in one blob, [`Registry::text`]; a [`Text`] is a range of it. Ids are `u32` or `u16` newtypes that
//! index the table named in their documentation.

mod discovery;
mod include;
mod leak;
mod perfect;
mod recipe;
mod router;
#[doc(hidden)]
pub mod row;
mod verbs;
mod words;

pub use discovery::{
    Candidate, Discovery, Hit, IndexedWord, MOST_POSTINGS, MOST_RESULTS, MOST_WEIGHT, MOST_WORDS, Posting,
    Question, Ranking, SCORE_UNITS, Subject,
};
pub use leak::{LeakAutomaton, LeakWalk, NORMAL_CLASSES};
pub use perfect::{HashParts, PerfectHash, hash_parts};
pub use recipe::{Aggregation, ParamSource, Piece, Recipe, Step, StepParam};
pub use router::{Edge, Node, Router, Segment, hash_edge, split_segments};
pub use verbs::{VerbSet, VerbSlot, hash_token, token_words};
pub use words::{LONGEST_WORD, Word, words};

use std::borrow::Cow;

/// A table of the registry: borrowed when compiled in, owned when built at start.
pub type Table<T> = Cow<'static, [T]>;

/// A range of bytes in [`Registry::text`]. The empty range stands for "absent".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Text {
    /// First byte.
    pub start: u32,
    /// Number of bytes.
    pub len: u32,
}

impl Text {
    /// The empty text.
    pub const EMPTY: Text = Text { start: 0, len: 0 };

    /// Whether there is nothing in it.
    pub const fn is_empty(self) -> bool {
        self.len == 0
    }

    /// Its bytes in `blob`: what is only copied or compared needs no check for character boundaries.
    #[inline]
    pub fn bytes(self, blob: &str) -> &[u8] {
        blob.as_bytes().get(self.start as usize..self.start as usize + self.len as usize).unwrap_or(&[])
    }

    /// The string this range names in `blob`; empty if the range does not fit, which the compiler rules out.
    #[inline]
    pub fn of(self, blob: &str) -> &str {
        blob.get(self.start as usize..self.start as usize + self.len as usize).unwrap_or("")
    }
}

/// A half-open range of rows in another table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Rows {
    /// First row.
    pub start: u32,
    /// One past the last row.
    pub end: u32,
}

impl Rows {
    /// No rows.
    pub const NONE: Rows = Rows { start: 0, end: 0 };

    /// The rows of `table` this range names; empty if it does not fit, which the compiler rules out.
    #[inline]
    pub fn of<T>(self, table: &[T]) -> &[T] {
        table.get(self.start as usize..self.end as usize).unwrap_or(&[])
    }

    /// Whether there are none.
    pub const fn is_empty(self) -> bool {
        self.start >= self.end
    }
}

/// Index into [`Registry::methods`]. Methods are sorted by name, so ids sort as names do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MethodId(pub u16);

/// Index into [`Registry::endpoints`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EndpointId(pub u32);

/// Index into [`Registry::known_paths`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PathId(pub u32);

/// Index into [`Router::nodes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u32);

impl NodeId {
    /// No node.
    pub const NONE: NodeId = NodeId(u32::MAX);
}

/// Index into [`Registry::schemas`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SchemaId(pub u32);

/// How a legacy verb is dispatched when `policies.methods.legacy` admits it (draft: Legacy Verb Support; D3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum LegacyForm {
    /// Nothing is added to the input: every other method, GET as QUERY, POST as EXECUTE.
    #[default]
    Plain,
    /// PUT: EXECUTE with `idempotency_key`.
    IdempotencyKey,
    /// DELETE: EXECUTE with `action: "delete"`.
    Delete,
    /// PATCH: EXECUTE with `action: "modify"`.
    Modify,
}

/// One token the server has an opinion of: a catalog verb, a legacy verb, a custom method or an alias name.
#[derive(Clone, Copy, Debug)]
pub struct Method {
    /// The token.
    pub name: Text,
    /// The method it is dispatched as: itself, its alias target, or its legacy target. One hop (draft: Policy Shape).
    pub dispatch: MethodId,
    /// What the legacy dispatch adds to the input.
    pub legacy_form: LegacyForm,
    /// False for a token that is 459 although it is in the table: a legacy verb that is neither opted in nor
    /// aliased. It stays in the table so that its preferred form can be suggested first.
    pub recognized: bool,
    /// One of the eighteen.
    pub floor: bool,
    /// One of GET, POST, PUT, DELETE, PATCH.
    pub legacy: bool,
    /// In the catalog's verbs (the floor included): a candidate for suggestions.
    pub catalog: bool,
    /// From `policies.methods.custom`: a candidate for suggestions too.
    pub custom: bool,
    /// Admitted by allow / disallow. Refused methods answer 405 `method-not-allowed-by-policy`.
    pub admitted: bool,
    /// Safe by its catalog category or floor definition (retrieval, discovery, analysis).
    pub safe: bool,
    /// For a legacy verb, its preferred catalog form; else the method itself.
    pub preferred: MethodId,
    /// Root of this method's own trie in [`Router::nodes`]; leaves are [`EndpointId`]s.
    pub routes: NodeId,
    /// `AGTP-Catalog-Warning: …\r\n`, or empty.
    pub catalog_warning: Text,
    /// Its entries in [`Registry::redirects`], in file order.
    pub redirects: Rows,
}

/// One `policies.methods.redirects` entry that is in force. Sorted by `from`, then file order.
#[derive(Clone, Copy, Debug)]
pub struct Redirect {
    /// The method as requested (after alias resolution).
    pub from: MethodId,
    /// The literal path it applies to; empty means any path.
    pub from_path: Text,
    /// The method it is processed as.
    pub to: MethodId,
    /// The path it is processed at; empty means the path as requested.
    pub to_path: Text,
    /// Position in the file, which decides between entries of different methods in `redirects_for_path`.
    pub order: u32,
}

/// What a path or query value is converted to before validation (D8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Scalar {
    /// Stays a string: declared as string, or not as a scalar at all.
    #[default]
    String,
    /// Converted when it is exactly a JSON number.
    Number,
    /// Converted when it is exactly `true` or `false`.
    Boolean,
    /// Both of the above apply (`"type": ["number", "boolean"]`).
    NumberOrBoolean,
}

/// A path parameter of an endpoint.
#[derive(Clone, Copy, Debug)]
pub struct Param {
    /// Its name, as in the template and the input schema.
    pub name: Text,
    /// Which segment of the path it captures, counted from 0.
    pub segment: u16,
    /// What its value is converted to.
    pub scalar: Scalar,
}

/// A top-level input property whose query value is converted. Strings are not listed.
#[derive(Clone, Copy, Debug)]
pub struct Property {
    /// The property's name.
    pub name: Text,
    /// What its value is converted to.
    pub scalar: Scalar,
}

/// A built-in endpoint's behaviour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Builtin {
    /// `DISCOVER /`: manifest, directory, or ranked candidates (D1).
    Root,
    /// `DISCOVER /methods`.
    Methods,
    /// `DISCOVER /agents`.
    Agents,
    /// `DISCOVER /genesis`.
    Genesis,
    /// `DISCOVER /tools`.
    Tools,
    /// `DISCOVER /apis`.
    Apis,
    /// `DISCOVER /patterns`.
    Patterns,
    /// `DISCOVER /contracts`.
    Contracts,
    /// `PROPOSE /`.
    Propose,
    /// `INSPECT /`.
    Inspect,
    /// `ACTIVATE /`.
    Activate,
    /// `DEACTIVATE /`.
    Deactivate,
    /// `REINSTATE /`.
    Reinstate,
    /// `REVOKE /`.
    Revoke,
    /// `DEPRECATE /`.
    Deprecate,
    /// Any other floor method at `/`, known to the protocol and not served yet.
    FloorUnserved,
}

impl Builtin {
    /// Whether it is one of the DISCOVER endpoints.
    pub const fn is_discovery(self) -> bool {
        use Builtin::{Agents, Apis, Contracts, Genesis, Methods, Patterns, Root, Tools};
        matches!(self, Root | Methods | Agents | Genesis | Tools | Apis | Patterns | Contracts)
    }
}

/// How an endpoint is realised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binding {
    /// By the server itself.
    Builtin(Builtin),
    /// By the registered function whose name is this row of [`Registry::functions`].
    Function(u32),
    /// By the recipe in this row of [`Registry::recipes`].
    Composition(u32),
    /// By the HTTPS upstream in this row of [`Registry::externals`].
    External(u32),
}

/// One endpoint, built-in or declared.
#[derive(Clone, Copy, Debug)]
pub struct Endpoint {
    /// Its method.
    pub method: MethodId,
    /// Its path template.
    pub path: Text,
    /// How it is realised.
    pub binding: Binding,
    /// Rows of [`Registry::params`].
    pub params: Rows,
    /// Rows of [`Registry::properties`].
    pub properties: Rows,
    /// The input schema. Every endpoint has one.
    pub input: SchemaId,
    /// The output schema. Every endpoint has one.
    pub output: SchemaId,
    /// False when the output schema accepts any object, so that validating only needs the type.
    pub output_constrained: bool,
    /// Rows of [`Registry::scopes`].
    pub required_scopes: Rows,
    /// Rows of [`Registry::errors`].
    pub errors: Rows,
    /// Whether `scope_required_for_invocation` applies (D24): operator endpoints and the state-changing floor.
    pub needs_scope_header: bool,
    /// Whether a request without Agent-ID is served when `anonymous_discovery` is on (D24): DISCOVER built-ins.
    pub anonymous: bool,
    /// Whether the handler may change state (from impact), which audit and idempotency look at.
    pub changes_state: bool,
    /// Milliseconds an answer may take that is waited for: an asynchronous handler's.
    pub timeout_ms: u32,
    /// `AGTP-Endpoint-Warning: …\r\n`, or empty.
    pub endpoint_warning: Text,
    /// The file it was declared in, for logs; empty for built-ins.
    pub source: Text,
}

/// An HTTPS upstream that an endpoint is bound to (draft: External Service). It is the server's own: nothing of it is in
/// the manifest.
#[derive(Clone, Copy, Debug)]
pub struct External {
    /// `https://…`, with a `{param}` for each input property that is filled in (D30).
    pub url: Text,
    /// The HTTP method.
    pub method: Text,
    /// Rows of [`Registry::pairs`]: names and values, in which a `${VAR}` is yet to be resolved.
    pub headers: Rows,
    /// Rows of [`Registry::pairs`]: input property and the upstream's name for it.
    pub input_transform: Rows,
    /// Rows of [`Registry::pairs`]: input property and `query`, `header` or `body`, where it goes.
    pub input_place: Rows,
    /// Rows of [`Registry::pairs`]: output property and the upstream's name for it.
    pub output_transform: Rows,
    /// The output property that is the upstream's whole body; empty if the body's members are the output.
    pub output_body: Text,
    /// Rows of [`Registry::pairs`]: HTTP status and error name.
    pub error_map: Rows,
    /// Milliseconds the upstream may take.
    pub timeout_ms: u32,
    /// Whether nothing but requests should reach for it (D30).
    pub deferred: bool,
}

/// Two texts that belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    /// What it is looked up by.
    pub key: Text,
    /// What stands for it.
    pub value: Text,
}

/// One distinct path template with all that is declared on it, whatever the method: what 405 answers from.
#[derive(Clone, Copy, Debug)]
pub struct KnownPath {
    /// The template.
    pub template: Text,
    /// Rows of [`Registry::path_methods`]: methods with an endpoint here that the policy admits, sorted.
    pub methods: Rows,
    /// The same as a JSON array, rendered: used when this is the only template that matches.
    pub allowed_json: Text,
}

/// Operational toggles (draft: Policies Block).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policies {
    /// `wildcards_accepted`.
    pub wildcards_accepted: bool,
    /// `anonymous_discovery`.
    pub anonymous_discovery: bool,
    /// `scope_required_for_invocation`.
    pub scope_required_for_invocation: bool,
    /// `synthesis_enabled`.
    pub synthesis_enabled: bool,
    /// `max_synthesis_depth`, steps.
    pub max_synthesis_depth: u32,
    /// `enforce_agent_methods` (D23).
    pub enforce_agent_methods: bool,
}

impl Policies {
    /// How deep compositions may nest, whatever the policy says: each level takes a piece of the core's stack.
    pub const DEEPEST_NESTING: u32 = 64;

    /// How deep compositions may nest.
    pub fn nesting(&self) -> u32 {
        self.max_synthesis_depth.min(Self::DEEPEST_NESTING)
    }
}

impl Default for Policies {
    fn default() -> Self {
        Policies {
            wildcards_accepted: false,
            anonymous_discovery: true,
            scope_required_for_invocation: true,
            synthesis_enabled: false,
            max_synthesis_depth: 10,
            enforce_agent_methods: false,
        }
    }
}

/// Who is told which agents the server hosts (draft: Agents Disclosure; D28).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Disclosure {
    /// Everybody.
    #[default]
    Public,
    /// Callers with a known Agent-ID.
    Authenticated,
    /// Nobody.
    Private,
}

/// Replies that need nothing of the request, rendered when the registry is compiled.
#[derive(Clone, Debug, Default)]
pub struct Documents {
    /// `DISCOVER /` with Agent-ID.
    pub directory: Text,
    /// `DISCOVER /methods`.
    pub methods: Text,
    /// `DISCOVER /tools`.
    pub tools: Text,
    /// `DISCOVER /apis`.
    pub apis: Text,
    /// `DISCOVER /patterns`.
    pub patterns: Text,
    /// `DISCOVER /contracts`.
    pub contracts: Text,
    /// `DISCOVER /agents` as a caller sees it who is shown the agents; `[]` when disclosure is private.
    pub agents: Text,
    /// The manifest as a caller sees it who is shown the agents.
    pub manifest: Text,
    /// The manifest as a caller sees it who is not.
    pub manifest_withheld: Text,
    /// `ETag: "…"\r\nCache-Control: …\r\n` of `manifest`.
    pub manifest_headers: Text,
    /// The same of `manifest_withheld`.
    pub manifest_withheld_headers: Text,
}

/// The compiled registry of one deployment.
#[derive(Clone, Debug)]
pub struct Registry {
    /// All strings.
    pub text: Cow<'static, str>,
    /// Token to method.
    pub verbs: VerbSet,
    /// Every token with an opinion, sorted by name.
    pub methods: Table<Method>,
    /// Policy redirects in force.
    pub redirects: Table<Redirect>,
    /// The tries: one per method, and one over all templates.
    pub router: Router,
    /// Endpoints, built-ins included.
    pub endpoints: Table<Endpoint>,
    /// Path parameters.
    pub params: Table<Param>,
    /// Converted query properties.
    pub properties: Table<Property>,
    /// Required scopes.
    pub scopes: Table<Text>,
    /// Declared error names.
    pub errors: Table<Text>,
    /// Distinct templates.
    pub known_paths: Table<KnownPath>,
    /// Methods of the known paths.
    pub path_methods: Table<MethodId>,
    /// Distinct schemas as JSON text.
    pub schemas: Table<Text>,
    /// Names of the registered functions, in binding order.
    pub functions: Table<Text>,
    /// Recipes that endpoints are composed by.
    pub recipes: Table<Recipe>,
    /// Steps of the recipes.
    pub steps: Table<Step>,
    /// Parameters of the steps.
    pub step_params: Table<StepParam>,
    /// Parts of the steps' paths.
    pub step_pieces: Table<Piece>,
    /// The upstreams of external services.
    pub externals: Table<External>,
    /// Entries of the upstreams' maps.
    pub pairs: Table<Pair>,
    /// Finds method names in path segments.
    pub leak: LeakAutomaton,
    /// Operational toggles.
    pub policies: Policies,
    /// Agent disclosure.
    pub disclosure: Disclosure,
    /// Size limits of a request (D9).
    pub limits: crate::wire::Limits,
    /// `catalog_version`.
    pub catalog_version: Text,
    /// `server_id`.
    pub server_id: Text,
    /// `AGTP/1.0 <status line>\r\nServer-ID: …\r\nAGTP-Methods-Version: 1.0\r\n…Response-ID: `, one per row of
    /// [`crate::wire::Status::ALL`].
    pub heads: Table<Text>,
    /// `Supported-Methods: …\r\n`.
    pub supported_methods: Text,
    /// The `redirects_for_path` object for a path no path-bound redirect names.
    pub general_redirects_json: Text,
    /// Whether any redirect has a `from_path`.
    pub path_bound_redirects: bool,
    /// Pre-rendered replies.
    pub documents: Documents,
    /// What `DISCOVER` with `criteria` ranks.
    pub discovery: Discovery,
}

impl Registry {
    /// The string a range names.
    #[inline]
    pub fn str(&self, text: Text) -> &str {
        text.of(&self.text)
    }

    /// The method of an id.
    #[inline]
    pub fn method(&self, id: MethodId) -> &Method {
        &self.methods[usize::from(id.0)]
    }

    /// The name of a method.
    pub fn method_name(&self, id: MethodId) -> &str {
        self.str(self.method(id).name)
    }

    /// The endpoint of an id.
    #[inline]
    pub fn endpoint(&self, id: EndpointId) -> &Endpoint {
        &self.endpoints[id.0 as usize]
    }

    /// The method a token names, if the server has an opinion of it.
    #[inline]
    pub fn lookup(&self, token: &[u8]) -> Option<MethodId> {
        self.verbs.lookup(token, &self.methods, &self.text)
    }
}
