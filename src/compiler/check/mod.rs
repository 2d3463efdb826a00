//! The rules of a deployment that are about values, not about documents: pure functions over what was read.

pub(super) mod ambiguity;
pub(super) mod path;
pub(super) mod schema;
pub(super) mod vocabulary;

use super::fault::Rule;

/// A broken rule, before it is known where.
#[derive(Debug)]
pub(super) struct Finding {
    /// The rule.
    pub(super) rule: &'static Rule,
    /// What is wrong.
    pub(super) message: String,
    /// What would be right.
    pub(super) help: String,
}

impl Finding {
    pub(super) fn new(rule: &'static Rule, message: impl Into<String>, help: impl Into<String>) -> Finding {
        Finding { rule, message: message.into(), help: help.into() }
    }
}
