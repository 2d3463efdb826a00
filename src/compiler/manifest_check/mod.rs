//! Checks a manifest from anywhere against the draft (Server Manifest), all of it: a fault never hides the next one.

mod endpoints;
mod policies;
mod reader;
mod signature;
mod top;

pub use signature::SignatureState;

use super::check::vocabulary::Vocabulary;
use super::fault::{Rule, Severity, summary};
use super::key::PublicKey;
use super::rules;
use crate::catalog::Catalog;
use crate::catalog::json::Node;
use reader::{At, Findings, Kind};
use serde_json::{Value, json};
use std::fmt;

/// How to check a manifest.
#[derive(Clone, Copy, Debug, Default)]
pub struct ManifestOptions<'o> {
    /// The key it should be signed with. Without one, only the form of a signature is checked.
    pub key: Option<&'o PublicKey>,
    /// Whether it was retrieved by a caller that did not say who it is.
    pub anonymous: bool,
}

/// Something wrong with a manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManifestFault {
    /// Where: a JSON Pointer.
    pub pointer: String,
    /// Which rule, in kebab-case.
    pub code: &'static str,
    /// Where the rule is laid down.
    pub rule: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// What is wrong.
    pub message: String,
    /// What would be right.
    pub help: String,
}

impl ManifestFault {
    fn new(pointer: String, rule: &Rule, message: String, help: String) -> ManifestFault {
        ManifestFault { pointer, code: rule.code, rule: rule.basis, severity: rule.severity, message, help }
    }

    fn to_json(&self) -> Value {
        json!({
            "pointer": self.pointer,
            "severity": self.severity.as_str(),
            "code": self.code,
            "rule": self.rule,
            "message": self.message,
            "help": self.help,
        })
    }
}

impl fmt::Display for ManifestFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = if self.pointer.is_empty() { "/" } else { &self.pointer };
        let (severity, code) = (self.severity.as_str(), self.code);
        write!(f, "{place}: {severity}[{code}]: {} ({})\n  help: {}", self.message, self.rule, self.help)
    }
}

/// What was found out about a manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManifestReport {
    /// All that is wrong with it, in the order of the draft.
    pub faults: Vec<ManifestFault>,
    /// What is known of its signature.
    pub signature: SignatureState,
}

impl ManifestReport {
    /// Number of errors.
    pub fn errors(&self) -> usize {
        self.faults.iter().filter(|fault| fault.severity == Severity::Error).count()
    }

    /// For machines. Keys are only ever added.
    pub fn to_json(&self) -> Value {
        json!({
            "faults": self.faults.iter().map(ManifestFault::to_json).collect::<Vec<_>>(),
            "errors": self.errors(),
            "warnings": self.faults.len() - self.errors(),
            "signature": self.signature.as_str(),
            "key_id": self.signature.key_id(),
        })
    }
}

impl fmt::Display for ManifestReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for fault in &self.faults {
            writeln!(f, "{fault}")?;
        }
        writeln!(f, "{}", self.signature)?;
        f.write_str(&summary(self.errors(), self.faults.len() - self.errors()))
    }
}

/// Checks a manifest.
pub fn check_manifest(text: &str, options: &ManifestOptions<'_>) -> ManifestReport {
    let findings = Findings::default();
    let signature = match Node::parse(text) {
        Ok(node) => check(&node, options, &findings),
        Err(error) => {
            let message = format!("line {}: {}", error.line, error.message);
            let help = "a manifest is one JSON object".to_owned();
            findings.borrow_mut().push(ManifestFault::new(String::new(), &rules::JSON_SYNTAX, message, help));
            SignatureState::Absent
        }
    };
    ManifestReport { faults: findings.into_inner(), signature }
}

fn check(node: &Node, options: &ManifestOptions<'_>, findings: &Findings) -> SignatureState {
    let value = node.to_value();
    let root = At::root(&value, &rules::MANIFEST_STRUCTURE, findings);
    for duplicate in node.duplicate_keys() {
        let message = format!(
            "key \"{}\" stands twice in one object, on lines {} and {}",
            duplicate.key, duplicate.first_line, duplicate.line
        );
        root.fault(&rules::DUPLICATE_KEY, message, "keep one of them");
    }
    if !root.is(Kind::Object) {
        return SignatureState::Absent;
    }
    let catalog = Catalog::builtin();
    let custom = top::custom_methods(&root, &catalog);
    let vocabulary = Vocabulary::new(&catalog, &custom);
    // Another catalog's methods cannot be told from typing errors.
    let known_catalog = top::versions(&root, &catalog);
    top::server(&root);
    top::embedded_methods(&root);
    let judge = endpoints::Judge::new(&vocabulary, known_catalog);
    endpoints::check(&root, &judge);
    top::agents(&root, options.anonymous);
    top::surface(&root);
    policies::check(&root, &judge);
    signature::check(&root, node, options.key)
}

#[cfg(test)]
mod tests;
