//! Every rule a deployment is checked against, one row each.

use super::fault::{Rule, Severity};

macro_rules! rules {
    ($($(#[$doc:meta])* $kind:ident $name:ident = $code:literal, $basis:literal;)+) => {
        $($(#[$doc])* pub const $name: Rule = rule!($kind, $code, $basis);)+

        /// All of them.
        pub const ALL: &[&Rule] = &[$(&$name,)+];
    };
}

macro_rules! rule {
    (error, $code:literal, $basis:literal) => {
        rule!(Error, false, $code, $basis)
    };
    (warning, $code:literal, $basis:literal) => {
        rule!(Warning, false, $code, $basis)
    };
    // The whole deployment is unusable (D25).
    (refuse, $code:literal, $basis:literal) => {
        rule!(Error, true, $code, $basis)
    };
    ($severity:ident, $configuration:literal, $code:literal, $basis:literal) => {
        Rule { code: $code, basis: $basis, severity: Severity::$severity, configuration: $configuration }
    };
}

rules! {
    // Files and their shape.

    /// A file or directory exists but cannot be read.
    refuse UNREADABLE_FILE = "unreadable-file", "D25";
    /// A file is not UTF-8.
    error NOT_UTF8 = "not-utf-8", "TOML 1.1 and RFC 8259";
    /// A file is no TOML.
    error TOML_SYNTAX = "toml-syntax", "TOML 1.1";
    /// `agtp-server.toml` is no TOML.
    refuse SETTINGS_SYNTAX = "settings-syntax", "D25";
    /// A file or a string is no JSON.
    error JSON_SYNTAX = "json-syntax", "RFC 8259";
    /// A JSON object has a key twice.
    error DUPLICATE_KEY = "duplicate-key", "RFC 7493: Object Member Names";
    /// A key nobody reads: most likely a typo.
    error UNKNOWN_KEY = "unknown-key", "deployment format: known keys";
    /// A required key is missing.
    error MISSING_FIELD = "missing-field", "draft: Required Fields";
    /// A value has the wrong type.
    error WRONG_TYPE = "wrong-type", "draft: Field Semantics";
    /// A string that must say something is empty.
    error EMPTY_FIELD = "empty-field", "draft: Field Semantics";
    /// A list names something twice.
    error DUPLICATE_ENTRY = "duplicate-entry", "draft: Field Semantics";
    /// Two ways to say the same thing are used at once.
    error DECLARED_TWICE = "declared-twice", "deployment format: endpoint files";
    /// There is no `endpoints` directory, or nothing in it.
    warning NO_ENDPOINTS = "no-endpoints", "deployment format: directory layout";
    /// A value that is sent in a header cannot be.
    error NOT_HEADER_SAFE = "not-header-safe", "D14";

    // Methods.

    /// A token does not have the form of a method name.
    error METHOD_FORM = "method-form", "draft: Method Rules";
    /// A method is in neither the catalog nor the custom methods.
    error METHOD_UNKNOWN = "method-unknown", "draft: Endpoint Definition";
    /// A method that the loaded catalog lacks although the canonical one has it: most likely a removed verb.
    error METHOD_NOT_IN_CATALOG = "method-not-in-catalog", "draft: Removal Behavior";
    /// A legacy verb in an endpoint definition.
    error METHOD_LEGACY = "method-legacy", "draft: Legacy Verb Support";
    /// A method that the catalog deprecates.
    warning METHOD_DEPRECATED = "method-deprecated", "draft: Deprecation Metadata";
    /// A method that the policy refuses: the endpoint is never reached.
    warning METHOD_REFUSED = "method-refused-by-policy", "draft: Policy Shape";

    // Paths.

    /// A path does not begin with `/`.
    error PATH_RELATIVE = "path-not-absolute", "draft: Path Rules";
    /// A path ends with `/`.
    error PATH_TRAILING_SLASH = "path-trailing-slash", "draft: Path Rules";
    /// A path has an empty segment.
    error PATH_EMPTY_SEGMENT = "path-empty-segment", "draft: Path Grammar ABNF";
    /// A path has a query.
    error PATH_QUERY = "path-query", "draft: Query Strings";
    /// A path has a fragment.
    error PATH_FRAGMENT = "path-fragment", "draft: Fragments";
    /// A character that no segment may hold.
    error PATH_CHARACTER = "path-illegal-character", "draft: Path Grammar ABNF";
    /// A `%` without two hexadecimal digits.
    error PATH_ESCAPE = "path-bad-escape", "draft: Path Grammar ABNF";
    /// Template syntax other than `{name}`.
    error PATH_TEMPLATE = "path-template-form", "draft: Permissiveness";
    /// Literal text and a parameter in one segment.
    error PATH_MIXED = "path-mixed-segment", "draft: Path Grammar ABNF";
    /// A parameter twice in one path.
    error PATH_DUPLICATE_PARAMETER = "path-duplicate-parameter", "draft: Path Grammar ABNF";
    /// A parameter that the input schema does not declare.
    error PATH_UNDECLARED_PARAMETER = "path-undeclared-parameter", "draft: Permissiveness";
    /// A method name as a path segment.
    error PATH_CARRIES_VERB = "path-carries-verb", "draft: Path Rules";
    /// A path no request line has room for.
    error PATH_TOO_LONG = "path-too-long", "D9";
    /// A reserved DISCOVER path.
    error PATH_RESERVED = "path-reserved", "draft: Reserved DISCOVER Paths; D12";
    /// The same method and path twice.
    error ENDPOINT_DUPLICATE = "endpoint-duplicate", "draft: Endpoint Definition; D25";
    /// Two templates that match a common path equally well.
    error PATH_AMBIGUOUS = "path-ambiguous", "draft: Path Pattern Matching; D6";

    // The contract.

    /// `capability` is none of the nine.
    error SEMANTIC_CAPABILITY = "semantic-capability", "draft: Required Semantic Block Fields";
    /// `confidence` is not between 0 and 1.
    error SEMANTIC_CONFIDENCE = "semantic-confidence", "draft: Required Semantic Block Fields";
    /// `impact` is none of the three.
    error SEMANTIC_IMPACT = "semantic-impact", "draft: Required Semantic Block Fields";
    /// A field table is declared twice.
    error FIELD_DUPLICATE = "field-duplicate", "deployment format: endpoint files";
    /// A field's `type` is no JSON type.
    error FIELD_TYPE = "field-type", "deployment format: endpoint files";
    /// A field's `enum` is empty, or holds what its `type` excludes.
    error FIELD_ENUM = "field-enum", "deployment format: endpoint files";
    /// A value in a schema that JSON does not have.
    error SCHEMA_VALUE = "schema-not-json", "draft: Field Semantics";
    /// A schema of another dialect.
    error SCHEMA_DIALECT = "schema-dialect", "draft: Field Semantics";
    /// A schema that its meta-schema refuses.
    error SCHEMA_INVALID = "schema-invalid", "draft: Validation Timing";
    /// A schema that cannot be compiled: a reference that leads nowhere, a bad pattern.
    error SCHEMA_BROKEN = "schema-does-not-compile", "draft: Validation Timing";
    /// An input schema that is not strict.
    error SCHEMA_LAX = "input-schema-not-strict", "draft: Schema Strictness";
    /// A `format` nobody checks.
    warning SCHEMA_FORMAT = "schema-format-unknown", "D16";
    /// An error name that is no token.
    error ERROR_NAME = "error-name", "draft: Field Semantics";
    /// An error name that the handler's kind requires.
    error ERROR_REQUIRED = "error-required", "draft: Handler Binding";
    /// A scope that is not `domain:action`.
    error SCOPE_FORM = "scope-form", "deployment format: scopes";
    /// A composition that needs more scopes than it requires.
    error SCOPE_UNCOVERED = "scope-uncovered", "draft: Composition; D26";
    /// A deprecation's successor names neither method nor path.
    error SUCCESSOR_EMPTY = "successor-empty", "draft: Endpoint Deprecation";

    // Handlers.

    /// `handler.type` is none of the three.
    error HANDLER_TYPE = "handler-type", "draft: Handler Binding";
    /// A function name that is no path of identifiers.
    error FUNCTION_NAME = "function-name", "draft: Registered Function";
    /// A function nobody registered.
    error UNBOUND_FUNCTION = "unbound-function", "draft: Registered Function";
    /// A recipe nobody declared.
    error UNKNOWN_RECIPE = "unknown-recipe", "draft: Composition";
    /// A step that leads to no endpoint.
    error STEP_UNRESOLVED = "step-unresolved", "draft: Validation Timing";
    /// An upstream url that is not https, or malformed.
    error UPSTREAM_URL = "upstream-url", "draft: External Service";
    /// An upstream method that is none of the seven.
    error UPSTREAM_METHOD = "upstream-method", "draft: External Service";
    /// An upstream header that cannot be sent.
    error UPSTREAM_HEADER = "upstream-header", "draft: External Service";
    /// A `${VAR}` that is malformed.
    error UPSTREAM_PLACEHOLDER = "upstream-placeholder", "draft: External Service";
    /// An entry of `error_map` that is no status, or names an error the endpoint does not declare.
    error UPSTREAM_ERROR_MAP = "upstream-error-map", "draft: External Service";
    /// A transform that names no property, or makes two of one name.
    error UPSTREAM_TRANSFORM = "upstream-transform", "draft: External Service";
    /// A place that an input property cannot go to, or an output property that cannot be the body.
    error UPSTREAM_PLACE = "upstream-place", "draft: External Service";
    /// A `${VAR}` that the environment does not have.
    error UPSTREAM_VARIABLE = "upstream-variable", "draft: External Service";
    /// An upstream that is out of reach, found by `agtp check --online`.
    error UPSTREAM_UNREACHABLE = "upstream-unreachable", "draft: Validation Timing";
    /// A timeout that is no positive number.
    error HANDLER_TIMEOUT = "handler-timeout", "draft: External Service";
    /// A kind of handler that is declared well but not served by this version.

    // Recipes.

    /// A recipe without steps.
    error RECIPE_EMPTY = "recipe-without-steps", "deployment format: agtp-recipes.toml";
    /// A recipe declared twice.
    error RECIPE_DUPLICATE = "recipe-duplicate", "draft: Composition";
    /// A recipe's pattern that is no regular expression.
    error RECIPE_PATTERN = "recipe-pattern", "deployment format: agtp-recipes.toml";
    /// `kind` or `mode` is none of the three.
    error RECIPE_CHOICE = "recipe-choice", "deployment format: agtp-recipes.toml";
    /// A path parameter of a step that no parameter of the step fills.
    error STEP_PARAMETER = "step-parameter", "deployment format: agtp-recipes.toml";
    /// A captured result whose name could not be told from an address in it.
    error CAPTURE_NAME = "capture-name", "deployment format: agtp-recipes.toml";
    /// Two results of a recipe with one name.
    error CAPTURE_DUPLICATE = "capture-duplicate", "deployment format: agtp-recipes.toml";
    /// A parameter made of a result that no earlier step captures.
    error CAPTURE_UNKNOWN = "capture-unknown", "deployment format: agtp-recipes.toml";
    /// A parameter made of input that the composed endpoint does not take.
    error PROPOSAL_UNDECLARED = "proposal-undeclared", "draft: Schema Strictness";
    /// A recipe that comes to invoke itself.
    error RECIPE_CYCLE = "recipe-cycle", "draft: Composition";
    /// Recipes nested deeper than `policies.max_synthesis_depth`.
    error RECIPE_DEPTH = "recipe-too-deep", "draft: Policies Block";

    // Settings and policy.

    /// A value of `agtp-server.toml` has the wrong type.
    refuse SETTING_TYPE = "setting-type", "deployment format: agtp-server.toml";
    /// A setting asks for what this version does not do.
    warning SETTING_NOT_SERVED = "setting-not-served", "deployment format: agtp-server.toml";
    /// A setting asks for what cannot be enforced.
    refuse SETTING_UNENFORCED = "setting-unenforced", "D25";
    /// A value of `agtp-server.toml` is none of those allowed.
    refuse SETTING_VALUE = "setting-value", "deployment format: agtp-server.toml";
    /// A limit that is not within its bounds.
    refuse SETTING_LIMIT = "setting-limit", "D9";
    /// The key that `[signing]` names cannot be used.
    refuse SIGNING_KEY = "signing-key", "draft: Manifest Signature";
    /// A certificate that `[tls]` names cannot be used, or its key cannot.
    refuse TLS_CERTIFICATE = "tls-certificate", "draft: Transport";
    /// A certificate that no client takes at this time.
    error TLS_CERTIFICATE_VALIDITY = "tls-certificate-validity", "draft: Transport";
    /// Those whom `[mtls]` names cannot vouch for anybody.
    refuse MTLS_AUTHORITIES = "mtls-authorities", "D31";
    /// An override of a path that is not reserved.
    refuse OVERRIDE_UNRESERVED = "override-not-reserved", "draft: Reserved DISCOVER Paths";
    /// An entry of `legacy` that is none of the five.
    refuse LEGACY_UNKNOWN = "legacy-unknown-verb", "draft: Catalog-Graceful Skip Semantics";
    /// A policy entry that does not have the form of a method name.
    refuse POLICY_METHOD_FORM = "policy-method-form", "draft: Method Rules";
    /// A policy entry naming a method the catalog lacks.
    warning POLICY_METHOD_SKIPPED = "policy-method-skipped", "draft: Catalog-Graceful Skip Semantics";
    /// A floor method cannot be disallowed.
    warning FLOOR_DISALLOWED = "floor-disallowed", "D5";
    /// A custom method that is none: the catalog or the legacy set has it.
    refuse CUSTOM_COLLIDES = "custom-method-collides", "draft: Custom Methods";
    /// An alias that leads to an alias.
    refuse ALIAS_CHAIN = "alias-chain", "draft: Policy Shape";
    /// An alias whose target is no method.
    refuse ALIAS_TARGET = "alias-target", "D23";
    /// An alias that hides a method of the catalog.
    warning ALIAS_SHADOWS = "alias-shadows-method", "draft: Policy Shape";
    /// A redirect path that is no literal path.
    refuse REDIRECT_PATH = "redirect-path", "D23";
    /// A redirect from a path that is refused before redirects apply.
    warning REDIRECT_USELESS = "redirect-useless", "D23";
    /// A catalog document with a fault; the message names the catalog's own code.
    refuse CATALOG_FAULT = "catalog-fault", "draft: Catalog Structure";

    // Agents.

    /// An agent id that is not 64 lowercase hexadecimal digits.
    error AGENT_ID_FORM = "agent-id-form", "deployment format: identity documents";
    /// Two agents with one id.
    error AGENT_DUPLICATE = "agent-duplicate", "deployment format: identity documents";
    /// Two agents with one name.
    warning AGENT_NAME_DUPLICATE = "agent-name-duplicate", "draft: DISCOVER /agents Entry Fields";
    /// A value of an identity document or Genesis that is none of those allowed.
    error AGENT_VALUE = "agent-value", "deployment format: identity documents";
    /// A Genesis that is not the one the agent id was made of.
    error GENESIS_MISMATCH = "genesis-mismatch", "deployment format: identity documents; D31";
    /// A Genesis without the key it was signed with, or with something else in its place.
    error GENESIS_KEY = "genesis-key", "deployment format: identity documents; D31";
    /// A Genesis without a signature, or with one that does not verify.
    error GENESIS_SIGNATURE = "genesis-signature", "draft: DISCOVER /genesis; D31";
    /// A Genesis without an identity document.
    warning GENESIS_ORPHAN = "genesis-orphan", "deployment format: directory layout";

    // Manifests from anywhere.

    /// A member of a manifest is missing or of the wrong type.
    error MANIFEST_STRUCTURE = "manifest-structure", "draft: Manifest Structure";
    /// A manifest of a version that is not known here.
    warning MANIFEST_VERSION = "manifest-version", "draft: Manifest Structure";
    /// `catalog_versions_supported` is not the catalog's version alone.
    error MANIFEST_CATALOG_VERSIONS = "manifest-catalog-versions", "draft: Multi-Version Catalog Support";
    /// A member of `server` is missing or wrong.
    error MANIFEST_SERVER = "manifest-server", "draft: Server Block";
    /// A manifest that does not say who runs the server.
    warning MANIFEST_ANONYMOUS = "manifest-operator-unnamed", "draft: Server Block";
    /// `embedded_methods` or `custom_methods` lists what it should not, or lacks what it should.
    error MANIFEST_METHODS = "manifest-methods", "draft: Methods Inventory";
    /// A member of an endpoint is missing or of the wrong type.
    error MANIFEST_ENDPOINT = "manifest-endpoint", "draft: Required Fields";
    /// A member of a semantic block is missing or of the wrong type.
    error MANIFEST_SEMANTIC = "manifest-semantic", "draft: Required Semantic Block Fields";
    /// Something of a handler is shown.
    error MANIFEST_PROJECTION = "manifest-projection", "draft: Endpoint Projection";
    /// An endpoint has a field that the draft does not know.
    warning MANIFEST_UNKNOWN = "manifest-unknown-field", "draft: Endpoint Projection";
    /// A built-in endpoint is not listed.
    error MANIFEST_BUILT_INS = "manifest-built-ins", "draft: Server Metadata via AGTP Methods";
    /// What is said about agents is wrong, or more than is disclosed.
    error MANIFEST_AGENTS = "manifest-agents", "draft: Agents Disclosure";
    /// `apis` or `hosted_protocols` is no list of objects.
    error MANIFEST_SURFACE = "manifest-surface", "draft: Protocol and API Surface";
    /// A toggle is missing or of the wrong type.
    error MANIFEST_POLICIES = "manifest-policies", "draft: Policies Block";
    /// `policies.methods` does not have its shape.
    error MANIFEST_METHOD_POLICY = "manifest-method-policy", "draft: Policy Shape";
    /// A signature that is not one by the key that was given.
    error MANIFEST_SIGNATURE = "manifest-signature", "draft: Manifest Signature";
    /// A manifest without a signature, or with one that is malformed, when no key was given.
    warning MANIFEST_UNSIGNED = "manifest-unsigned", "draft: Manifest Signature";
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn codes_are_distinct_and_in_kebab_case() {
        let codes: HashSet<_> = ALL.iter().map(|rule| rule.code).collect();
        assert_eq!(codes.len(), ALL.len());
        for code in codes {
            assert!(
                code.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-'),
                "{code}"
            );
        }
    }

    #[test]
    fn warnings_never_make_a_deployment_unusable() {
        assert!(ALL.iter().all(|rule| rule.severity == Severity::Error || !rule.configuration));
    }
}
