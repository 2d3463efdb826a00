//! The agents of a deployment: a directory of documents, which may be large.

use super::{File, read};
use crate::compiler::ir::{AgentDecl, Source};
use crate::compiler::read::document::Faults;
use crate::compiler::read::files::{Origin, Tree};
use crate::compiler::rules;
use std::collections::{BTreeSet, HashMap};
use std::num::NonZero;
use std::panic::resume_unwind;
use std::thread;

/// Documents that are worth a thread of their own. Reading one takes some 100 µs, most of it for the signature, and of
/// thousands that is worth sharing between the cores.
const DOCUMENTS_PER_THREAD: usize = 256;

/// The agents, sorted by id.
pub(in crate::compiler::read) fn read_all(tree: &Tree<'_>) -> Vec<AgentDecl> {
    let documents = tree.names("agents", ".agent.json").unwrap_or_default();
    let geneses: BTreeSet<_> =
        tree.names("agents", ".genesis.json").unwrap_or_default().into_iter().collect();
    let agents = read_shares(tree, &documents);
    report_orphans(&documents, geneses, tree.faults);
    distinct(agents, tree.faults)
}

/// In the order of the names, whichever thread is done first.
fn read_shares(tree: &Tree<'_>, documents: &[String]) -> Vec<AgentDecl> {
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    let share = documents.len().div_ceil(cores).max(DOCUMENTS_PER_THREAD);
    let origin = tree.origin;
    let shares: Vec<_> = thread::scope(|scope| {
        let threads: Vec<_> =
            documents.chunks(share).map(|names| scope.spawn(move || read_share(origin, names))).collect();
        // A panic of the reader stays one.
        let joined =
            threads.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)));
        joined.collect()
    });
    let mut agents = Vec::with_capacity(documents.len());
    for (read, faults) in shares {
        agents.extend(read);
        tree.faults.extend(faults);
    }
    agents
}

fn read_share(origin: Origin<'_>, names: &[String]) -> (Vec<AgentDecl>, Faults) {
    let faults = Faults::default();
    let tree = Tree { origin, faults: &faults };
    let agents = names.iter().filter_map(|name| read_named(&tree, name)).collect();
    (agents, faults)
}

fn read_named(tree: &Tree<'_>, name: &str) -> Option<AgentDecl> {
    let genesis_name = genesis_name(name);
    let errors_before = tree.faults.errors();
    let genesis = tree.text(&genesis_name);
    let text = tree.text(name)?;
    if tree.faults.errors() > errors_before {
        return None;
    }
    let genesis = genesis.as_deref().map(|text| File { name: &genesis_name, text });
    read(File { name, text: &text }, genesis, tree.faults)
}

fn genesis_name(document: &str) -> String {
    let stem = document.strip_suffix(".agent.json").unwrap_or(document);
    format!("{stem}.genesis.json")
}

fn report_orphans(documents: &[String], mut geneses: BTreeSet<String>, faults: &Faults) {
    for name in documents {
        geneses.remove(&genesis_name(name));
    }
    for orphan in geneses {
        let source = Source { file: orphan, line: 0 };
        let message = "the Genesis has no identity document beside it";
        faults.add(&rules::GENESIS_ORPHAN, source, message, "add the .agent.json of the same name");
    }
}

/// Of two agents with one id the first is kept.
fn distinct(mut agents: Vec<AgentDecl>, faults: &Faults) -> Vec<AgentDecl> {
    let mut ids: HashMap<String, String> = HashMap::new();
    let mut names: HashMap<String, String> = HashMap::new();
    agents.retain(|agent| {
        if let Some(first) = ids.get(&agent.agent_id) {
            let message = format!("{first} has the same agent_id");
            faults.add(&rules::AGENT_DUPLICATE, agent.source.clone(), message, "keep one of them");
            return false;
        }
        ids.insert(agent.agent_id.clone(), agent.source.file.clone());
        if let Some(first) = names.insert(agent.name.clone(), agent.source.file.clone()) {
            let message = format!("{first} has the same name, \"{}\"", agent.name);
            let help = "names are unique within a server: give each agent its own";
            faults.add(&rules::AGENT_NAME_DUPLICATE, agent.source.clone(), message, help);
        }
        true
    });
    agents.sort_by(|a, b| a.agent_id.cmp(&b.agent_id));
    agents
}
