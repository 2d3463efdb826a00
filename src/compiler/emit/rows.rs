//! Rows of tables as calls to the constructors of `registry::row`.

use crate::identity::Agent;
use crate::registry::{
    Binding, Candidate, Edge, Endpoint, External, IndexedWord, KnownPath, Method, Node, Pair, Param,
    ParamSource, PerfectHash, Piece, Property, Recipe, Redirect, Rows, Step, StepParam, Subject, Text,
    VerbSlot,
};

pub(super) fn text(text: &Text) -> String {
    format!("t({},{})", text.start, text.len)
}

fn rows(rows: &Rows) -> String {
    format!("r({},{})", rows.start, rows.end)
}

/// `u32::MAX` stands for "none" in many columns.
fn number(number: u32) -> String {
    if number == u32::MAX { "!0".to_owned() } else { number.to_string() }
}

pub(super) fn word(word: u64) -> String {
    if word < 10 { word.to_string() } else { format!("{word:#x}") }
}

fn flags(bits: &[bool]) -> u8 {
    bits.iter().rev().fold(0, |flags, bit| flags << 1 | u8::from(*bit))
}

pub(super) fn method(row: &Method) -> String {
    format!(
        "m({},{},LegacyForm::{:?},{},{},{},{},{})",
        text(&row.name),
        row.dispatch.0,
        row.legacy_form,
        flags(&[row.recognized, row.floor, row.legacy, row.catalog, row.custom, row.admitted, row.safe]),
        row.preferred.0,
        number(row.routes.0),
        text(&row.catalog_warning),
        rows(&row.redirects),
    )
}

pub(super) fn displacements(hash: &PerfectHash) -> impl Iterator<Item = String> {
    hash.displacements.iter().map(|(d1, d2)| format!("({d1},{d2})"))
}

pub(super) fn verb_slot(row: &VerbSlot) -> String {
    format!("v({},{},{},{})", word(row.words.0), word(row.words.1), row.len, row.method.0)
}

pub(super) fn redirect(row: &Redirect) -> String {
    let (from_path, to_path) = (text(&row.from_path), text(&row.to_path));
    format!("d({},{from_path},{},{to_path},{})", row.from.0, row.to.0, row.order)
}

pub(super) fn node(row: &Node) -> String {
    format!("n({},{},{},{})", row.literals, number(row.param.0), number(row.leaf), row.fewest)
}

pub(super) fn edge(row: &Edge) -> String {
    format!("l({},{},{},{})", number(row.from.0), number(row.to.0), word(row.word), text(&row.segment))
}

pub(super) fn param(row: &Param) -> String {
    format!("p({},{},Scalar::{:?})", text(&row.name), row.segment, row.scalar)
}

pub(super) fn property(row: &Property) -> String {
    format!("q({},Scalar::{:?})", text(&row.name), row.scalar)
}

pub(super) fn endpoint(row: &Endpoint) -> String {
    format!(
        "e({},{},{},{},{},{},{},{},{},{},{},{},{})",
        row.method.0,
        text(&row.path),
        binding(&row.binding),
        rows(&row.params),
        rows(&row.properties),
        row.input.0,
        row.output.0,
        rows(&row.required_scopes),
        rows(&row.errors),
        flags(&[row.output_constrained, row.needs_scope_header, row.anonymous, row.changes_state]),
        row.timeout_ms,
        text(&row.endpoint_warning),
        text(&row.source),
    )
}

fn binding(binding: &Binding) -> String {
    match binding {
        Binding::Builtin(builtin) => format!("b(Builtin::{builtin:?})"),
        Binding::Function(row) => format!("Binding::Function({row})"),
        Binding::Composition(row) => format!("Binding::Composition({row})"),
        Binding::External(row) => format!("Binding::External({row})"),
    }
}

pub(super) fn recipe(row: &Recipe) -> String {
    format!("rc({},{},Aggregation::{:?})", text(&row.name), rows(&row.steps), row.aggregation)
}

pub(super) fn step(row: &Step) -> String {
    format!(
        "st({},{},{},{},{},{})",
        row.method.0,
        text(&row.path),
        number(row.endpoint.map_or(u32::MAX, |id| id.0)),
        rows(&row.pieces),
        text(&row.capture),
        rows(&row.params),
    )
}

pub(super) fn step_param(row: &StepParam) -> String {
    let source = match &row.source {
        ParamSource::Proposal(key) => format!("ParamSource::Proposal({})", text(key)),
        ParamSource::Constant(json) => format!("ParamSource::Constant({})", text(json)),
        ParamSource::Previous { step, pointer } => format!("pv({step},{})", text(pointer)),
    };
    format!("sp({},{source},{})", text(&row.name), row.in_path)
}

pub(super) fn piece(row: &Piece) -> String {
    match row {
        Piece::Literal(literal) => format!("pl({})", text(literal)),
        Piece::Param(param) => format!("pp({param})"),
    }
}

pub(super) fn external(row: &External) -> String {
    format!(
        "x({},{},{},{},{},{},{},{},{},{})",
        text(&row.url),
        text(&row.method),
        rows(&row.headers),
        rows(&row.input_transform),
        rows(&row.input_place),
        rows(&row.output_transform),
        text(&row.output_body),
        rows(&row.error_map),
        row.timeout_ms,
        row.deferred,
    )
}

pub(super) fn pair(row: &Pair) -> String {
    format!("kv({},{})", text(&row.key), text(&row.value))
}

pub(super) fn known_path(row: &KnownPath) -> String {
    format!("k({},{},{})", text(&row.template), rows(&row.methods), text(&row.allowed_json))
}

pub(super) fn agent(row: &Agent) -> String {
    let id: String = row.id.iter().map(|byte| format!("\\x{byte:02x}")).collect();
    format!(
        "a(*b\"{id}\",{},Status::{:?},{},{},{},{},{})",
        text(&row.name),
        row.status,
        rows(&row.grants),
        text(&row.grants_value),
        rows(&row.methods),
        text(&row.trust_headers),
        text(&row.genesis),
    )
}

pub(super) fn candidate(row: &Candidate) -> String {
    let (name, description) = (text(&row.name), text(&row.description));
    match row.subject {
        Subject::Endpoint(id) => {
            format!("ce({},{name},{description},{},{})", id.0, text(&row.capability), text(&row.impact))
        }
        Subject::Agent(agent) => format!("ca({agent},{name},{description})"),
    }
}

pub(super) fn indexed_word(row: &IndexedWord) -> String {
    format!("w({},{},{})", text(&row.word), row.rarity, rows(&row.postings))
}
