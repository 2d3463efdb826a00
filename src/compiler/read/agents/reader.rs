//! An object of a JSON file, and readers for what it may hold.

use super::File;
use crate::catalog::is_method_name;
use crate::catalog::json::{Kind, Node};
use crate::compiler::fault::Rule;
use crate::compiler::ir::Source;
use crate::compiler::read::document::Faults;
use crate::compiler::read::is_header_safe;
use crate::compiler::{rules, suggest};
use crate::identity::{Status, is_scope, parse_agent_id};

const VERIFICATION_PATHS: [&str; 4] = ["dns-anchored", "log-anchored", "hybrid", "org-asserted"];

/// An object of a JSON file and readers for what it may hold. Unknown keys are kept and ignored.
pub(super) struct Reader<'f> {
    pub(super) file: &'f str,
    pub(super) node: Node,
    faults: &'f Faults,
}

impl<'f> Reader<'f> {
    pub(super) fn parse(file: File<'f>, faults: &'f Faults) -> Option<Reader<'f>> {
        let fault = |line, rule: &Rule, message: String, help: &str| {
            faults.add(rule, Source { file: file.name.to_owned(), line }, message, help);
        };
        let node = match Node::parse(file.text) {
            Ok(node) => node,
            Err(error) => {
                fault(error.line, &rules::JSON_SYNTAX, error.message, "write one JSON object");
                return None;
            }
        };
        if node.members().is_none() {
            let message = format!("the document is {}", node.type_name());
            fault(node.line, &rules::WRONG_TYPE, message, "write one JSON object");
            return None;
        }
        for duplicate in node.duplicate_keys() {
            let message = format!(
                "key \"{}\" stands twice in one object, first on line {}",
                duplicate.key, duplicate.first_line
            );
            fault(duplicate.line, &rules::DUPLICATE_KEY, message, "keep one of them");
        }
        Some(Reader { file: file.name, node, faults })
    }

    pub(super) fn fault(&self, line: u32, rule: &Rule, message: impl Into<String>, help: impl Into<String>) {
        self.faults.add(rule, Source { file: self.file.to_owned(), line }, message, help);
    }

    /// The value of a key; `null` is as good as absent.
    fn get(&self, key: &str) -> Option<&Node> {
        self.node.get(key).filter(|node| node.kind != Kind::Null)
    }

    /// The text of a key, whatever else may be wrong with it.
    pub(super) fn text(&self, key: &str) -> Option<&str> {
        self.get(key)?.as_str()
    }

    pub(super) fn require(&self, key: &str) -> Option<&Node> {
        let node = self.get(key);
        if node.is_none() {
            let message = format!("\"{key}\" is missing");
            self.fault(self.node.line, &rules::MISSING_FIELD, message, format!("add \"{key}\""));
        }
        node
    }

    fn wrong_type(&self, node: &Node, key: &str, expected: &str) {
        let message = format!("\"{key}\" is {}", node.type_name());
        self.fault(node.line, &rules::WRONG_TYPE, message, format!("write {expected}"));
    }

    fn string<'n>(&self, node: &'n Node, key: &str) -> Option<&'n str> {
        let text = node.as_str();
        if text.is_none() {
            self.wrong_type(node, key, "a string");
        }
        text
    }

    pub(super) fn filled_string(&self, node: &Node, key: &str) -> Option<String> {
        let text = self.string(node, key)?;
        if text.trim().is_empty() {
            self.fault(node.line, &rules::EMPTY_FIELD, format!("\"{key}\" is empty"), "say something");
        }
        Some(text.to_owned())
    }

    pub(super) fn agent_id(&self, node: &Node) -> Option<String> {
        let id = self.string(node, "agent_id")?;
        if parse_agent_id(id.as_bytes()).is_none() {
            let message = format!("agent_id \"{id}\" is malformed");
            let help = "it is the SHA-256 of the Genesis: 64 lowercase hexadecimal digits";
            self.fault(node.line, &rules::AGENT_ID_FORM, message, help);
            return None;
        }
        Some(id.to_owned())
    }

    pub(super) fn object(&self, key: &str) -> Option<Reader<'f>> {
        let node = self.get(key)?;
        if node.members().is_none() {
            self.wrong_type(node, key, "an object");
            return None;
        }
        Some(Reader { file: self.file, node: node.clone(), faults: self.faults })
    }

    pub(super) fn boolean(&self, key: &str) {
        if let Some(node) = self.get(key).filter(|node| !matches!(node.kind, Kind::Bool(_))) {
            self.wrong_type(node, key, "true or false");
        }
    }

    /// The strings of an array, with their lines.
    fn string_nodes(&self, key: &str) -> Option<Vec<(u32, String)>> {
        let node = self.get(key)?;
        let Some(items) = node.items() else {
            self.wrong_type(node, key, "an array of strings");
            return None;
        };
        let strings = items.iter().filter_map(|item| Some((item.line, self.string(item, key)?.to_owned())));
        Some(strings.collect())
    }

    pub(super) fn strings(&self, key: &str) -> Option<Vec<String>> {
        Some(self.string_nodes(key)?.into_iter().map(|(_, text)| text).collect())
    }

    pub(super) fn scopes(&self, key: &str) -> Option<Vec<String>> {
        let scopes = self.string_nodes(key)?;
        for (line, scope) in scopes.iter().filter(|(_, scope)| !is_scope(scope)) {
            let message = format!("scope \"{scope}\" is malformed");
            self.fault(*line, &rules::SCOPE_FORM, message, "write domain:action, as in booking:room");
        }
        Some(scopes.into_iter().map(|(_, scope)| scope).collect())
    }

    /// `requires.methods`.
    pub(super) fn methods(&self) -> Option<Vec<String>> {
        let methods = self.string_nodes("methods")?;
        for (line, method) in methods.iter().filter(|(_, method)| !is_method_name(method)) {
            let message = format!("\"{method}\" is no method name");
            let help = "a method name is 3 to 32 letters A to Z, nothing else";
            self.fault(*line, &rules::METHOD_FORM, message, help);
        }
        Some(methods.into_iter().map(|(_, method)| method).collect())
    }

    fn one_of(&self, key: &str, words: &[&'static str]) -> Option<&'static str> {
        let node = self.get(key)?;
        let text = self.string(node, key)?;
        let word = words.iter().find(|word| **word == text).copied();
        if word.is_none() {
            let help = suggest::did_you_mean(text, words);
            self.fault(node.line, &rules::AGENT_VALUE, format!("\"{key}\" is \"{text}\""), help);
        }
        word
    }

    pub(super) fn status(&self) -> Status {
        match self.one_of("status", &["active", "suspended", "retired", "deprecated"]) {
            Some("suspended") => Status::Suspended,
            Some("retired") => Status::Retired,
            Some("deprecated") => Status::Deprecated,
            _ => Status::Active,
        }
    }

    pub(super) fn tier(&self) -> Option<u8> {
        let node = self.get("trust_tier")?;
        match &node.kind {
            Kind::Number(text) if matches!(text.as_str(), "1" | "2" | "3") => text.parse().ok(),
            _ => {
                let help = "write 1, 2 or 3";
                self.fault(node.line, &rules::AGENT_VALUE, "\"trust_tier\" is no trust tier", help);
                None
            }
        }
    }

    pub(super) fn verification_path(&self) -> Option<String> {
        self.one_of("verification_path", &VERIFICATION_PATHS).map(str::to_owned)
    }

    /// A string that rides in a response header.
    pub(super) fn header_value(&self, key: &str) -> Option<String> {
        let node = self.get(key)?;
        let text = self.string(node, key)?;
        if !is_header_safe(text) {
            let message = format!("\"{key}\" cannot be sent in a header");
            let help = "use printable ASCII without spaces at the ends";
            self.fault(node.line, &rules::NOT_HEADER_SAFE, message, help);
            return None;
        }
        Some(text.to_owned())
    }
}
