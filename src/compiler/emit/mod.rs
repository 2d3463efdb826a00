//! Rust source for a compiled deployment: what `agtp::include_registry!` includes.
//!
//! The source names every type through a module alias `rt`, which is the `agtp` crate, and every registered function
//! through a module `handlers`; the including macro provides both. Each table is a `static` of its own, made of calls
//! to the short constructors of `registry::row`, and `REGISTRY` borrows them all. The same input gives the same
//! source, byte for byte.

mod fields;
mod rows;
mod source;

use super::lower::{Compiled, FunctionUse};
use crate::identity::Agents;
use crate::registry::Registry;
use source::Source;

/// The source that defines `REGISTRY`, `AGENTS` and `functions()`.
pub fn emit(compiled: &Compiled) -> String {
    let mut source = Source::default();
    source
        .line("// Made by agtp::compiler from a deployment directory; changes are lost with the next build.");
    functions(&mut source, &compiled.functions);
    source.public_item();
    source.line("pub use agtp_tables::{AGENTS, REGISTRY};");
    source.line("mod agtp_tables {");
    source.line("#![allow(unused_imports, reason = \"a deployment need not use every kind of row\")]");
    source.line("use super::rt;");
    source.line("use rt::identity::*;");
    source.line("use rt::registry::row::*;");
    source.line("use rt::registry::*;");
    source.line("use ::std::borrow::Cow::Borrowed;");
    registry_tables(&mut source, &compiled.registry);
    source.structure(
        "REGISTRY",
        "Registry",
        "What requests are answered from.",
        &fields::registry(&compiled.registry),
    );
    agent_tables(&mut source, &compiled.agents);
    source.structure("AGENTS", "Agents", "Who may call.", &fields::agents());
    source.line("}");
    source.finish()
}

/// The source that defines `DOCUMENTS`, from the names of files relative to the deployment and their absolute paths.
pub(super) fn emit_documents(documents: &[(String, String)]) -> String {
    let mut source = Source::default();
    source.public_item();
    source.line("/// The files of the deployment: names relative to it, and texts.");
    source.line("pub static DOCUMENTS: &[(&str, &str)] = &[");
    for (name, path) in documents {
        source.line(&format!("    ({name:?}, ::core::include_str!({path:?})),"));
    }
    source.line("];");
    source.finish()
}

/// One line per function, which names the declaration: it is what the Rust compiler shows of an unbound name.
fn functions(source: &mut Source, functions: &[FunctionUse]) {
    source.public_item();
    source.line("/// The registered functions under the names that endpoint declarations use.");
    source.line("pub fn functions() -> ::std::vec::Vec<rt::engine::Function> {");
    source.line("    ::std::vec![");
    for FunctionUse { name, file } in functions {
        let path = if name == "echo" { "rt::handler::echo".to_owned() } else { format!("handlers::{name}") };
        // A file name cannot end the comment.
        let file = file.replace("*/", "* /");
        source.line(&format!("        /* {file} */ rt::engine::Function::new({name:?}, {path}),"));
    }
    source.line("    ]");
    source.line("}");
}

fn registry_tables(source: &mut Source, registry: &Registry) {
    source.text("TEXT", &registry.text);
    source.table("METHODS", "Method", registry.methods.iter().map(rows::method));
    source.table("VERB_DISPLACEMENTS", "(u32, u32)", rows::displacements(&registry.verbs.hash));
    source.table("VERB_SLOTS", "VerbSlot", registry.verbs.slots.iter().map(rows::verb_slot));
    source.table("REDIRECTS", "Redirect", registry.redirects.iter().map(rows::redirect));
    source.table("NODES", "Node", registry.router.nodes.iter().map(rows::node));
    source.table("EDGE_DISPLACEMENTS", "(u32, u32)", rows::displacements(&registry.router.hash));
    source.table("EDGES", "Edge", registry.router.edges.iter().map(rows::edge));
    source.table("ENDPOINTS", "Endpoint", registry.endpoints.iter().map(rows::endpoint));
    source.table("PARAMS", "Param", registry.params.iter().map(rows::param));
    source.table("PROPERTIES", "Property", registry.properties.iter().map(rows::property));
    source.table("SCOPES", "Text", registry.scopes.iter().map(rows::text));
    source.table("ERRORS", "Text", registry.errors.iter().map(rows::text));
    source.table("KNOWN_PATHS", "KnownPath", registry.known_paths.iter().map(rows::known_path));
    source.table("PATH_METHODS", "MethodId", registry.path_methods.iter().map(|id| format!("i({})", id.0)));
    source.table("SCHEMAS", "Text", registry.schemas.iter().map(rows::text));
    source.table("FUNCTION_NAMES", "Text", registry.functions.iter().map(rows::text));
    source.table("RECIPES", "Recipe", registry.recipes.iter().map(rows::recipe));
    source.table("STEPS", "Step", registry.steps.iter().map(rows::step));
    source.table("STEP_PARAMS", "StepParam", registry.step_params.iter().map(rows::step_param));
    source.table("STEP_PIECES", "Piece", registry.step_pieces.iter().map(rows::piece));
    source.table("EXTERNALS", "External", registry.externals.iter().map(rows::external));
    source.table("PAIRS", "Pair", registry.pairs.iter().map(rows::pair));
    source.table("LEAK_NEXT", "u16", registry.leak.next.iter().map(u16::to_string));
    source.table("LEAK_ACCEPTING", "u64", registry.leak.accepting.iter().map(|word| format!("{word:#x}")));
    source.table("HEADS", "Text", registry.heads.iter().map(rows::text));
    let discovery = &registry.discovery;
    source.table("WORDS", "IndexedWord", discovery.words.iter().map(rows::indexed_word));
    source.table("POSTINGS", "Posting", discovery.postings.iter().map(|posting| format!("g({})", posting.0)));
    source.table("CANDIDATES", "Candidate", discovery.candidates.iter().map(rows::candidate));
}

fn agent_tables(source: &mut Source, agents: &Agents) {
    source.text("AGENT_TEXT", &agents.text);
    source.table("AGENT_INDEX", "u32", agents.index.iter().map(u32::to_string));
    source.table("AGENT_ROWS", "Agent", agents.agents.iter().map(rows::agent));
    source.table("AGENT_SCOPES", "Text", agents.scopes.iter().map(rows::text));
    source.table("AGENT_METHODS", "Text", agents.methods.iter().map(rows::text));
}

#[cfg(test)]
mod tests;
