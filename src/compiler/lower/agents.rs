//! The table of agents.

use super::text::{Interner, index};
use super::{LowerError, header_value};
use crate::compiler::ir::AgentDecl;
use crate::identity::{Agent, AgentId, Agents, parse_agent_id};

/// The agents, sorted by id, and their index.
pub(super) fn table(decls: &[AgentDecl]) -> Result<Agents, LowerError> {
    let mut decls: Vec<(AgentId, &AgentDecl)> =
        decls.iter().filter_map(|decl| Some((parse_agent_id(decl.agent_id.as_bytes())?, decl))).collect();
    decls.sort_by_key(|(id, _)| *id);
    decls.dedup_by_key(|(id, _)| *id);
    let mut text = Interner::default();
    let (mut scopes, mut methods) = (Vec::new(), Vec::new());
    let mut agents = Vec::with_capacity(decls.len());
    for (id, decl) in decls {
        agents.push(Agent {
            id,
            name: text.add(&decl.name),
            status: decl.status,
            grants: text.add_rows(&mut scopes, decl.grants.iter().map(String::as_str)),
            grants_value: text.add(&decl.grants.join(",")),
            methods: text.add_rows(&mut methods, decl.methods.iter().map(String::as_str)),
            trust_headers: text.add(&trust_headers(decl)),
            genesis: text.add(decl.genesis.as_deref().unwrap_or("")),
        });
    }
    Ok(Agents {
        index: hash_index(&agents).into(),
        agents: agents.into(),
        scopes: scopes.into(),
        methods: methods.into(),
        text: text.finish().ok_or(LowerError::TOO_MUCH_TEXT)?.into(),
    })
}

/// The lines that every answer to a known agent carries (facts page 2).
fn trust_headers(decl: &AgentDecl) -> String {
    let mut lines = String::new();
    if let Some(owner) = &decl.owner_id {
        lines.push_str(&format!("Owner-ID: {}\r\n", header_value(owner)));
    }
    let path = header_value(&decl.verification_path);
    lines.push_str(&format!("Trust-Tier: {}\r\nVerification-Path: {path}\r\n", decl.trust_tier));
    if let Some(warning) = decl.trust_warning.as_deref().filter(|_| decl.trust_tier == 2) {
        lines.push_str(&format!("Trust-Warning: {}\r\n", header_value(warning)));
    }
    lines
}

/// Linear probing from [`Agents::home`], at most half full.
fn hash_index(agents: &[Agent]) -> Vec<u32> {
    let len = (agents.len() * 2).max(2).next_power_of_two();
    let mut slots = vec![0; len];
    for (row, agent) in agents.iter().enumerate() {
        let mut slot = Agents::home(&agent.id, len);
        while slots[slot] != 0 {
            slot = (slot + 1) & (len - 1);
        }
        slots[slot] = index(row + 1);
    }
    slots
}
