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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::{Rows, Text};

    fn hosting(ids: impl Iterator<Item = AgentId>) -> Agents {
        let row = |id| Agent {
            id,
            name: Text::EMPTY,
            status: crate::identity::Status::Active,
            grants: Rows::NONE,
            grants_value: Text::EMPTY,
            methods: Rows::NONE,
            trust_headers: Text::EMPTY,
            genesis: Text::EMPTY,
        };
        let agents: Vec<Agent> = ids.map(row).collect();
        Agents { index: hash_index(&agents).into(), agents: agents.into(), ..Agents::NONE }
    }

    /// Slots looked at to find each agent.
    fn probes(agents: &Agents) -> impl Iterator<Item = usize> + '_ {
        let mask = agents.index.len() - 1;
        agents.index.iter().enumerate().filter(|(_, row)| **row > 0).map(move |(slot, row)| {
            let home = Agents::home(&agents.agents[*row as usize - 1].id, agents.index.len());
            (slot.wrapping_sub(home) & mask) + 1
        })
    }

    /// Ids that are hashes, and ids that an operator without Genesis documents might make up.
    fn made(kind: &str, number: u32) -> AgentId {
        use sha2::Digest;
        let mut id = [0; 32];
        let digits = number.to_be_bytes();
        match kind {
            "hash" => id = sha2::Sha256::digest(digits).into(),
            "counted at the end" => id[28..].copy_from_slice(&digits),
            "counted at the beginning" => id[..4].copy_from_slice(&digits),
            "counted in the middle" => id[14..18].copy_from_slice(&digits),
            "counted in every word" => id.as_chunks_mut::<4>().0.iter_mut().for_each(|word| *word = digits),
            _ => id.iter_mut().zip(format!("{number:032}").bytes()).for_each(|(byte, digit)| *byte = digit),
        }
        id
    }

    #[test]
    fn a_hundred_thousand_agents_are_found_in_few_steps_whatever_their_ids() {
        const KINDS: [&str; 6] = [
            "hash",
            "counted at the end",
            "counted at the beginning",
            "counted in the middle",
            "counted in every word",
            "counted in decimal digits",
        ];
        for kind in KINDS {
            for count in [10, 100_000] {
                let agents = hosting((0..count).map(|number| made(kind, number)));
                assert!(agents.index.len() >= agents.agents.len() * 2);
                let (longest, sum) =
                    probes(&agents).fold((0, 0), |(longest, sum), steps| (steps.max(longest), sum + steps));
                assert!(longest <= 64, "{kind}: {longest} steps for one of {count}");
                assert!(sum <= agents.agents.len() * 2, "{kind}: {sum} steps for {count}");
                for number in (0..count).step_by(997) {
                    let found = agents.find(&made(kind, number)).map(|agent| agent.id);
                    assert_eq!(found, Some(made(kind, number)));
                }
                assert!(agents.find(&made(kind, count)).is_none());
            }
        }
    }
}
