//! Identity documents and their Genesis (facts page 7).

mod directory;
mod posture;
mod reader;

pub(super) use directory::read_all;

use super::document::Faults;
use crate::compiler::fault::Report;
use crate::compiler::ir::{AgentDecl, Source};
use crate::compiler::{canonical, genesis, rules};
use posture::Posture;
use reader::Reader;

/// Characters of a `skills_summary`.
const SUMMARY_LENGTH: usize = 200;

/// A JSON file and its name.
#[derive(Clone, Copy, Debug)]
pub(in crate::compiler) struct File<'f> {
    pub(in crate::compiler) name: &'f str,
    pub(in crate::compiler) text: &'f str,
}

/// Reads one agent: its identity document and, where there is one, the Genesis beside it; names and texts. Returns all
/// that is wrong with them, and the agent if nothing is.
pub fn read_agent(document: (&str, &str), genesis: Option<(&str, &str)>) -> (Option<AgentDecl>, Report) {
    let faults = Faults::default();
    let file = |(name, text)| File { name, text };
    let agent = read(file(document), genesis.map(file), &faults);
    (agent, Report::new(faults.into_inner()))
}

/// Checks a Genesis by itself: its signature and, if it names one, its id. Returns the id that it hashes to, and all
/// that is wrong with it.
pub fn check_genesis(name: &str, text: &str) -> (Option<String>, Report) {
    let faults = Faults::default();
    let id = Reader::parse(File { name, text }, &faults).map(|reader| {
        let own = reader.text("agent_id").map(str::to_owned);
        verify_genesis(&reader, own.as_deref())
    });
    (id, Report::new(faults.into_inner()))
}

/// Reads one agent; nothing if there is anything wrong with it (D31).
fn read(document: File<'_>, genesis: Option<File<'_>>, faults: &Faults) -> Option<AgentDecl> {
    let errors_before = faults.errors();
    let identity = Reader::parse(document, faults);
    let genesis_reader = genesis.map(|file| Reader::parse(file, faults));
    let identity = identity?;
    let agent_id = identity.require("agent_id").and_then(|node| identity.agent_id(node));
    let genesis = genesis_reader.flatten();
    if let Some(genesis) = &genesis {
        verify_genesis(genesis, agent_id.as_deref());
    }
    let agent = agent(&identity, agent_id, genesis.as_ref());
    if faults.errors() > errors_before { None } else { agent }
}

fn agent(identity: &Reader<'_>, agent_id: Option<String>, genesis: Option<&Reader<'_>>) -> Option<AgentDecl> {
    let name = identity.require("name").and_then(|node| identity.filled_string(node, "name"));
    let requires = identity.object("requires");
    let scopes = requires.as_ref().and_then(|requires| requires.scopes("scopes"));
    let methods = requires.as_ref().and_then(Reader::methods).unwrap_or_default();
    requires.iter().for_each(|requires| requires.boolean("wildcards"));
    identity.scopes("scopes_accepted");
    let skills = identity.strings("skills").unwrap_or_default();
    let status = identity.status();
    let posture = Posture::resolve(identity, genesis);
    Some(AgentDecl {
        source: Source { file: identity.file.to_owned(), line: identity.node.line },
        agent_id: agent_id?,
        name: name?,
        status,
        description: identity.text("description").map(str::to_owned),
        skills_summary: skills.join("; ").chars().take(SUMMARY_LENGTH).collect(),
        skills,
        grants: scopes.or_else(|| genesis?.scopes("scope")).unwrap_or_default(),
        methods,
        trust_tier: posture.trust_tier,
        verification_path: posture.verification_path,
        trust_warning: posture.trust_warning,
        owner_id: posture.owner_id,
        genesis: genesis.map(|genesis| canonical::of_node(&genesis.node)),
    })
}

/// Compares a Genesis with the id that an agent goes by, and checks its signature; a Genesis that fails either is not the
/// agent's, and the agent is not loaded (D31). Returns the id that it hashes to.
fn verify_genesis(genesis: &Reader<'_>, agent_id: Option<&str>) -> String {
    let bytes = genesis::signed_bytes(&genesis.node);
    let digest = genesis::agent_id(&bytes);
    if let Some(agent_id) = agent_id {
        check_id(genesis, agent_id, &digest);
    }
    if let Err(finding) = genesis::check_signature(&genesis.node, &bytes) {
        let rule = match finding.member {
            "signature" => &rules::GENESIS_SIGNATURE,
            _ => &rules::GENESIS_KEY,
        };
        let line = genesis.node.member(finding.member).map_or(genesis.node.line, |member| member.line);
        genesis.fault(line, rule, finding.message, finding.help);
    }
    digest
}

fn check_id(genesis: &Reader<'_>, agent_id: &str, digest: &str) {
    let own = genesis.node.get("agent_id");
    if let Some(own) = own.filter(|own| own.as_str() != Some(agent_id)) {
        let message = "the Genesis names another agent_id than the identity document";
        let help = format!("it should be {agent_id}");
        genesis.fault(own.line, &rules::GENESIS_MISMATCH, message, help);
    }
    if digest != agent_id {
        let message = format!("the Genesis hashes to {digest}, not to the agent_id");
        let help = "pair the identity document with the Genesis its agent_id was made of, unaltered";
        genesis.fault(genesis.node.line, &rules::GENESIS_MISMATCH, message, help);
    }
}
