//! A value of a manifest, where it is, and readers for what it may hold.

use super::ManifestFault;
use crate::compiler::check::Finding;
use crate::compiler::fault::Rule;
use serde_json::Value;
use std::cell::RefCell;

/// What was found so far.
pub(super) type Findings = RefCell<Vec<ManifestFault>>;

/// What a member has to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A string.
    Text,
    /// A string that says something.
    Filled,
    Flag,
    Number,
    List,
    Object,
}

impl Kind {
    fn admits(self, value: &Value) -> bool {
        match self {
            Kind::Text => value.is_string(),
            Kind::Filled => value.as_str().is_some_and(|text| !text.trim().is_empty()),
            Kind::Flag => value.is_boolean(),
            Kind::Number => value.is_number(),
            Kind::List => value.is_array(),
            Kind::Object => value.is_object(),
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Kind::Text => "a string",
            Kind::Filled => "a string that is not empty",
            Kind::Flag => "true or false",
            Kind::Number => "a number",
            Kind::List => "an array",
            Kind::Object => "an object",
        }
    }
}

/// What a value is, in words.
fn described(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(text) if text.trim().is_empty() => "an empty string",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// A value and where it is.
#[derive(Clone, Debug)]
pub(super) struct At<'m> {
    pub(super) value: &'m Value,
    pointer: String,
    /// The rule that its members break when they are missing or of the wrong type.
    rule: &'static Rule,
    findings: &'m Findings,
}

impl<'m> At<'m> {
    pub(super) fn root(value: &'m Value, rule: &'static Rule, findings: &'m Findings) -> At<'m> {
        At { value, pointer: String::new(), rule, findings }
    }

    /// The same, its members under another rule.
    pub(super) fn under(self, rule: &'static Rule) -> At<'m> {
        At { rule, ..self }
    }

    pub(super) fn fault(&self, rule: &Rule, message: impl Into<String>, help: impl Into<String>) {
        self.fault_at("", rule, message, help);
    }

    /// A fault at a place below this one.
    pub(super) fn fault_at(
        &self,
        below: &str,
        rule: &Rule,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        let pointer = format!("{}{below}", self.pointer);
        self.findings.borrow_mut().push(ManifestFault::new(pointer, rule, message.into(), help.into()));
    }

    /// A fault that a check of the compiler found.
    pub(super) fn found(&self, finding: Finding) {
        self.fault(finding.rule, finding.message, finding.help);
    }

    fn child(&self, token: &str, value: &'m Value) -> At<'m> {
        let token = token.replace('~', "~0").replace('/', "~1");
        At { value, pointer: format!("{}/{token}", self.pointer), rule: self.rule, findings: self.findings }
    }

    /// A member of the right kind; another kind is reported, and so is its absence.
    pub(super) fn require(&self, key: &str, kind: Kind) -> Option<At<'m>> {
        if self.value.get(key).is_none() {
            let message = format!("\"{key}\" is missing");
            self.fault_at(&format!("/{key}"), self.rule, message, format!("it is {}", kind.name()));
            return None;
        }
        self.typed(key, kind)
    }

    /// The same of a member that may be absent or null.
    pub(super) fn optional(&self, key: &str, kind: Kind) -> Option<At<'m>> {
        self.value.get(key).filter(|value| !value.is_null())?;
        self.typed(key, kind)
    }

    fn typed(&self, key: &str, kind: Kind) -> Option<At<'m>> {
        let member = self.child(key, self.value.get(key)?);
        member.is(kind).then_some(member)
    }

    /// Whether this is of a kind; reported if not.
    pub(super) fn is(&self, kind: Kind) -> bool {
        let admitted = kind.admits(self.value);
        if !admitted {
            let message = format!("this is {}", described(self.value));
            self.fault(self.rule, message, format!("it should be {}", kind.name()));
        }
        admitted
    }

    /// The string it is; empty if it is none.
    pub(super) fn text(&self) -> &'m str {
        self.value.as_str().unwrap_or("")
    }

    /// Its elements.
    pub(super) fn items(&self) -> impl Iterator<Item = At<'m>> {
        let items = self.value.as_array().into_iter().flatten().enumerate();
        items.map(|(index, item)| self.child(&index.to_string(), item))
    }

    /// Its elements that are strings; others are reported.
    pub(super) fn texts(&self) -> Vec<At<'m>> {
        self.items().filter(|item| item.is(Kind::Text)).collect()
    }

    /// Its members.
    pub(super) fn members(&self) -> impl Iterator<Item = (&'m str, At<'m>)> {
        let members = self.value.as_object().into_iter().flatten();
        members.map(|(key, value)| (key.as_str(), self.child(key, value)))
    }

    /// Reports a word that is none of those allowed.
    pub(super) fn one_of(&self, rule: &Rule, words: &[&str]) {
        if !words.contains(&self.text()) {
            let message = format!("this is \"{}\"", self.text());
            self.fault(rule, message, format!("it is one of {}", words.join(", ")));
        }
    }
}
