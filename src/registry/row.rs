//! Short constructors for emitted source: a row of a table is one call with positional arguments, which keeps the
//! source of a thousand endpoints small and quick to compile. Nothing else should need them.

use super::{
    Aggregation, Binding, Builtin, Candidate, Edge, Endpoint, EndpointId, External, IndexedWord, KnownPath,
    LegacyForm, Method, MethodId, Node, NodeId, Pair, Param, ParamSource, Piece, Posting, Property, Recipe,
    Redirect, Rows, Scalar, SchemaId, Step, StepParam, Subject, Text, VerbSlot,
};
use crate::identity::{Agent, AgentId, Status};

const fn bit(flags: u8, bit: u8) -> bool {
    flags >> bit & 1 == 1
}

/// Text.
pub const fn t(start: u32, len: u32) -> Text {
    Text { start, len }
}

/// Rows.
pub const fn r(start: u32, end: u32) -> Rows {
    Rows { start, end }
}

/// Method. Bits of `flags`, lowest first: recognized, floor, legacy, catalog, custom, admitted, safe.
#[allow(clippy::too_many_arguments, reason = "one per column")]
pub const fn m(
    name: Text,
    dispatch: u16,
    legacy_form: LegacyForm,
    flags: u8,
    preferred: u16,
    routes: u32,
    catalog_warning: Text,
    redirects: Rows,
) -> Method {
    Method {
        name,
        dispatch: MethodId(dispatch),
        legacy_form,
        recognized: bit(flags, 0),
        floor: bit(flags, 1),
        legacy: bit(flags, 2),
        catalog: bit(flags, 3),
        custom: bit(flags, 4),
        admitted: bit(flags, 5),
        safe: bit(flags, 6),
        preferred: MethodId(preferred),
        routes: NodeId(routes),
        catalog_warning,
        redirects,
    }
}

/// Verb slot.
pub const fn v(first: u64, last: u64, len: u8, method: u16) -> VerbSlot {
    VerbSlot { words: (first, last), len, method: MethodId(method) }
}

/// Redirect.
pub const fn d(from: u16, from_path: Text, to: u16, to_path: Text, order: u32) -> Redirect {
    Redirect { from: MethodId(from), from_path, to: MethodId(to), to_path, order }
}

/// Trie node.
pub const fn n(literals: u32, param: u32, leaf: u32, fewest: u16) -> Node {
    Node { literals, param: NodeId(param), leaf, fewest }
}

/// Literal edge.
pub const fn l(from: u32, to: u32, word: u64, segment: Text) -> Edge {
    Edge { from: NodeId(from), to: NodeId(to), word, segment }
}

/// Path parameter.
pub const fn p(name: Text, segment: u16, scalar: Scalar) -> Param {
    Param { name, segment, scalar }
}

/// Converted property.
pub const fn q(name: Text, scalar: Scalar) -> Property {
    Property { name, scalar }
}

/// Endpoint. Bits of `flags`, lowest first: output_constrained, needs_scope_header, anonymous, changes_state.
#[allow(clippy::too_many_arguments, reason = "one per column")]
pub const fn e(
    method: u16,
    path: Text,
    binding: Binding,
    params: Rows,
    properties: Rows,
    input: u32,
    output: u32,
    required_scopes: Rows,
    errors: Rows,
    flags: u8,
    timeout_ms: u32,
    endpoint_warning: Text,
    source: Text,
) -> Endpoint {
    Endpoint {
        method: MethodId(method),
        path,
        binding,
        params,
        properties,
        input: SchemaId(input),
        output: SchemaId(output),
        output_constrained: bit(flags, 0),
        required_scopes,
        errors,
        needs_scope_header: bit(flags, 1),
        anonymous: bit(flags, 2),
        changes_state: bit(flags, 3),
        timeout_ms,
        endpoint_warning,
        source,
    }
}

/// Upstream.
#[allow(clippy::too_many_arguments, reason = "one per column")]
pub const fn x(
    url: Text,
    method: Text,
    headers: Rows,
    input_transform: Rows,
    input_place: Rows,
    output_transform: Rows,
    output_body: Text,
    error_map: Rows,
    timeout_ms: u32,
    deferred: bool,
) -> External {
    External {
        url,
        method,
        headers,
        input_transform,
        input_place,
        output_transform,
        output_body,
        error_map,
        timeout_ms,
        deferred,
    }
}

/// Pair.
pub const fn kv(key: Text, value: Text) -> Pair {
    Pair { key, value }
}

/// Built-in binding.
pub const fn b(builtin: Builtin) -> Binding {
    Binding::Builtin(builtin)
}

/// Known path.
pub const fn k(template: Text, methods: Rows, allowed_json: Text) -> KnownPath {
    KnownPath { template, methods, allowed_json }
}

/// Method id.
pub const fn i(method: u16) -> MethodId {
    MethodId(method)
}

/// Recipe.
pub const fn rc(name: Text, steps: Rows, aggregation: Aggregation) -> Recipe {
    Recipe { name, steps, aggregation }
}

/// Step. `endpoint` is `u32::MAX` when its path is routed at invocation.
pub const fn st(method: u16, path: Text, endpoint: u32, pieces: Rows, capture: Text, params: Rows) -> Step {
    let endpoint = if endpoint == u32::MAX { None } else { Some(EndpointId(endpoint)) };
    Step { method: MethodId(method), path, endpoint, pieces, capture, params }
}

/// Parameter of a step.
pub const fn sp(name: Text, source: ParamSource, in_path: bool) -> StepParam {
    StepParam { name, source, in_path }
}

/// The source of a parameter that is an earlier result.
pub const fn pv(step: u32, pointer: Text) -> ParamSource {
    ParamSource::Previous { step, pointer }
}

/// Literal part of a step's path.
pub const fn pl(text: Text) -> Piece {
    Piece::Literal(text)
}

/// Parameter in a step's path.
pub const fn pp(param: u32) -> Piece {
    Piece::Param(param)
}

/// Agent.
#[allow(clippy::too_many_arguments, reason = "one per column")]
pub const fn a(
    id: AgentId,
    name: Text,
    status: Status,
    grants: Rows,
    grants_value: Text,
    methods: Rows,
    trust_headers: Text,
    genesis: Text,
) -> Agent {
    Agent { id, name, status, grants, grants_value, methods, trust_headers, genesis }
}

/// Candidate that is an endpoint.
pub const fn ce(endpoint: u32, name: Text, description: Text, capability: Text, impact: Text) -> Candidate {
    Candidate { subject: Subject::Endpoint(EndpointId(endpoint)), name, description, capability, impact }
}

/// Candidate that is an agent.
pub const fn ca(agent: u32, name: Text, description: Text) -> Candidate {
    Candidate {
        subject: Subject::Agent(agent),
        name,
        description,
        capability: Text::EMPTY,
        impact: Text::EMPTY,
    }
}

/// Indexed word.
pub const fn w(word: Text, rarity: u32, postings: Rows) -> IndexedWord {
    IndexedWord { word, rarity, postings }
}

/// Posting.
pub const fn g(posting: u32) -> Posting {
    Posting(posting)
}
