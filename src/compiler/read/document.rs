//! TOML documents whose every value knows its line, and readers that report what is not as it should be.

use crate::catalog::json::{Kind, Member, Node};
use crate::compiler::fault::{Fault, Rule, Severity};
use crate::compiler::ir::Source;
use crate::compiler::{rules, suggest};
use std::cell::{Cell, RefCell};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The faults found so far. Readers all hold it at once, hence the cell.
#[derive(Debug, Default)]
pub(in crate::compiler) struct Faults {
    list: RefCell<Vec<Fault>>,
    errors: Cell<usize>,
}

impl Faults {
    /// Reports a violation of `rule`.
    pub(in crate::compiler) fn add(
        &self,
        rule: &Rule,
        source: Source,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        self.errors.set(self.errors.get() + usize::from(rule.severity == Severity::Error));
        self.list.borrow_mut().push(Fault::new(rule, source, message, remedy));
    }

    /// Number of errors: a reader compares before and after to know whether a part is sound.
    pub(in crate::compiler) fn errors(&self) -> usize {
        self.errors.get()
    }

    /// Takes over what others found.
    pub(in crate::compiler) fn extend(&self, others: Faults) {
        self.errors.set(self.errors.get() + others.errors());
        self.list.borrow_mut().extend(others.into_inner());
    }

    /// All of them.
    pub(in crate::compiler) fn into_inner(self) -> Vec<Fault> {
        self.list.into_inner()
    }
}

/// Which rules the general faults of a document break.
#[derive(Debug)]
pub(super) struct Flavor {
    /// A value has the wrong type.
    pub(super) wrong_type: &'static Rule,
    /// A required key is missing.
    pub(super) missing: &'static Rule,
    /// A string is empty.
    pub(super) empty: &'static Rule,
}

/// Endpoints and recipes: a fault concerns that declaration only.
pub(super) static DECLARATION: Flavor =
    Flavor { wrong_type: &rules::WRONG_TYPE, missing: &rules::MISSING_FIELD, empty: &rules::EMPTY_FIELD };

/// `agtp-server.toml`: there is no sensible rest to go on with.
pub(super) static SETTINGS: Flavor =
    Flavor { wrong_type: &rules::SETTING_TYPE, missing: &rules::SETTING_VALUE, empty: &rules::SETTING_VALUE };

/// A TOML file being read.
#[derive(Debug)]
pub(super) struct Document<'d> {
    file: &'d str,
    text: &'d str,
    line_starts: Vec<usize>,
    flavor: &'static Flavor,
    faults: &'d Faults,
}

impl<'d> Document<'d> {
    pub(super) fn new(
        file: &'d str,
        text: &'d str,
        flavor: &'static Flavor,
        faults: &'d Faults,
    ) -> Document<'d> {
        let breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
        Document { file, text, line_starts: std::iter::once(0).chain(breaks).collect(), flavor, faults }
    }

    /// Parses the text; what is no TOML is one fault.
    pub(super) fn parse(&self, syntax: &Rule) -> Option<DeTable<'d>> {
        match DeTable::parse(self.text) {
            Ok(table) => Some(table.into_inner()),
            Err(error) => {
                let line = error.span().map_or(0, |span| self.line_of(span.start));
                let message = error.message().trim().replace('\n', ", ");
                self.faults.add(
                    syntax,
                    self.source(line),
                    message,
                    "correct the TOML; the rest is read then",
                );
                None
            }
        }
    }

    /// The whole document as a block.
    pub(super) fn root(&'d self, table: &'d DeTable<'d>) -> Block<'d> {
        Block { document: self, table, line: 1, name: String::new() }
    }

    fn line_of(&self, offset: usize) -> u32 {
        self.line_starts.partition_point(|start| *start <= offset) as u32
    }

    fn source(&self, line: u32) -> Source {
        Source { file: self.file.to_owned(), line }
    }
}

/// A table of a document.
#[derive(Clone, Debug)]
pub(super) struct Block<'d> {
    document: &'d Document<'d>,
    table: &'d DeTable<'d>,
    line: u32,
    /// Dotted, as in `endpoint.semantic`; empty for the root.
    name: String,
}

impl<'d> Block<'d> {
    /// Where it begins.
    pub(super) fn source(&self) -> Source {
        self.document.source(self.line)
    }

    /// What its keys are called in messages.
    fn path_of(&self, key: &str) -> String {
        if self.name.is_empty() { key.to_owned() } else { format!("{}.{key}", self.name) }
    }

    /// As it is shown in messages: `[endpoint.semantic]`.
    pub(super) fn title(&self) -> String {
        if self.name.is_empty() { "the file".to_owned() } else { format!("[{}]", self.name) }
    }

    /// Reports a fault of the whole table.
    pub(super) fn fault(&self, rule: &Rule, message: impl Into<String>, help: impl Into<String>) {
        self.document.faults.add(rule, self.source(), message, help);
    }

    /// Reports a fault on a line inside of the table.
    pub(super) fn fault_at(
        &self,
        line: u32,
        rule: &Rule,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.document.faults.add(rule, self.document.source(line), message, help);
    }

    /// Reports every key that is none of these.
    pub(super) fn only(&self, known: &[&str]) {
        for key in self.table.keys().filter(|key| !known.contains(&key.get_ref().as_ref())) {
            let message = format!("{} has no key \"{}\"", self.title(), key.get_ref());
            let source = self.document.source(self.document.line_of(key.span().start));
            let help = suggest::did_you_mean(key.get_ref(), known);
            self.document.faults.add(&rules::UNKNOWN_KEY, source, message, help);
        }
    }

    /// The entry of a key, if it is there.
    pub(super) fn get(&self, key: &str) -> Option<Entry<'d>> {
        let (key, value) = self.table.get_key_value(key)?;
        Some(self.entry(key, value))
    }

    /// The entry of a key that must be there.
    pub(super) fn require(&self, key: &str) -> Option<Entry<'d>> {
        let entry = self.get(key);
        if entry.is_none() {
            let message = format!("{} lacks \"{key}\"", self.title());
            self.fault(self.document.flavor.missing, message, format!("add {}", self.path_of(key)));
        }
        entry
    }

    /// All entries, by key.
    pub(super) fn entries(&self) -> Vec<Entry<'d>> {
        self.table.iter().map(|(key, value)| self.entry(key, value)).collect()
    }

    /// The whole table as a JSON object.
    pub(super) fn to_json(&self) -> serde_json::Value {
        let entries = self.entries();
        let members =
            entries.iter().filter_map(|entry| Some((entry.key.to_owned(), entry.to_json()?.to_value())));
        serde_json::Value::Object(members.collect())
    }

    fn entry(
        &self,
        key: &'d Spanned<std::borrow::Cow<'d, str>>,
        value: &'d Spanned<DeValue<'d>>,
    ) -> Entry<'d> {
        Entry {
            document: self.document,
            key: key.get_ref(),
            name: self.path_of(key.get_ref()),
            line: self.document.line_of(key.span().start),
            value,
        }
    }
}

/// A value of a document, with the key it stands under.
#[derive(Clone, Debug)]
pub(super) struct Entry<'d> {
    document: &'d Document<'d>,
    /// Its own key; that of the array for an item.
    pub(super) key: &'d str,
    name: String,
    line: u32,
    value: &'d Spanned<DeValue<'d>>,
}

impl<'d> Entry<'d> {
    /// Where the key stands.
    pub(super) fn source(&self) -> Source {
        self.document.source(self.line)
    }

    /// Reports a fault of this entry.
    pub(super) fn fault(&self, rule: &Rule, message: impl Into<String>, help: impl Into<String>) {
        self.document.faults.add(rule, self.source(), message, help);
    }

    /// Reports a fault on a line inside of this entry.
    pub(super) fn fault_at(
        &self,
        line: u32,
        rule: &Rule,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.document.faults.add(rule, self.document.source(line), message, help);
    }

    fn wrong_type(&self, expected: &str) {
        let message = format!("{} is {}", self.name, type_name(self.value.get_ref()));
        self.fault(self.document.flavor.wrong_type, message, format!("write {expected}"));
    }

    /// The value as `read` takes it, or a fault that says what was expected.
    fn expect<T>(&self, expected: &str, read: impl FnOnce(&'d DeValue<'d>) -> Option<T>) -> Option<T> {
        let value = read(self.value.get_ref());
        if value.is_none() {
            self.wrong_type(expected);
        }
        value
    }

    /// A string.
    pub(super) fn string(&self) -> Option<&'d str> {
        self.expect("a string", DeValue::as_str)
    }

    /// A string that says something.
    pub(super) fn text(&self) -> Option<&'d str> {
        let text = self.string()?;
        if text.trim().is_empty() {
            let message = format!("{} is empty", self.name);
            self.fault(self.document.flavor.empty, message, "say something, in one line");
            return None;
        }
        Some(text)
    }

    /// `true` or `false`.
    pub(super) fn boolean(&self) -> Option<bool> {
        self.expect("true or false", DeValue::as_bool)
    }

    /// A number, whole or not.
    pub(super) fn number(&self) -> Option<f64> {
        self.expect("a number", number)
    }

    /// A whole number.
    pub(super) fn integer(&self) -> Option<i128> {
        self.expect("a whole number", integer)
    }

    /// A string or a date and time, as it was written.
    pub(super) fn string_or_datetime(&self) -> Option<String> {
        self.expect("a string", |value| match value {
            DeValue::Datetime(datetime) => Some(datetime.to_string()),
            other => other.as_str().map(str::to_owned),
        })
    }

    /// A table.
    pub(super) fn table(&self) -> Option<Block<'d>> {
        let table = self.expect("a table", DeValue::as_table)?;
        Some(Block { document: self.document, table, line: self.line, name: self.name.clone() })
    }

    /// The items of an array; a fault and none if it is no array.
    pub(super) fn items(&self) -> Vec<Entry<'d>> {
        let items = self.expect("an array", DeValue::as_array);
        items.into_iter().flatten().map(|item| self.item(item)).collect()
    }

    fn item(&self, value: &'d Spanned<DeValue<'d>>) -> Entry<'d> {
        let line = self.document.line_of(value.span().start);
        Entry { document: self.document, key: self.key, name: self.name.clone(), line, value }
    }

    /// The tables of an array of tables; items that are none are faults.
    pub(super) fn tables(&self) -> Vec<Block<'d>> {
        self.items().into_iter().filter_map(|item| item.table()).collect()
    }

    /// The strings of an array, each with its entry; items that are none are faults.
    pub(super) fn strings(&self) -> Vec<(Entry<'d>, &'d str)> {
        let items = self.items().into_iter();
        items.filter_map(|item| item.text().map(|text| (item.clone(), text))).collect()
    }

    /// The same, where naming something twice is a fault.
    pub(super) fn distinct_strings(&self) -> Vec<(Entry<'d>, &'d str)> {
        let mut seen = std::collections::HashSet::new();
        let mut strings = self.strings();
        strings.retain(|(item, text)| {
            let first = seen.insert(*text);
            if !first {
                let message = format!("{} names \"{text}\" twice", self.name);
                item.fault(&rules::DUPLICATE_ENTRY, message, "keep one of them");
            }
            first
        });
        strings
    }

    /// One of a few words.
    pub(super) fn one_of(&self, words: &[&'static str], rule: &Rule) -> Option<&'static str> {
        let text = self.string()?;
        let word = words.iter().find(|word| **word == text).copied();
        if word.is_none() {
            self.fault(rule, format!("{} is \"{text}\"", self.name), suggest::did_you_mean(text, words));
        }
        word
    }

    /// Whether it is a string.
    pub(super) fn is_string(&self) -> bool {
        self.value.get_ref().is_str()
    }

    /// Whether it is `true` or `false`.
    pub(super) fn is_boolean(&self) -> bool {
        self.value.get_ref().is_bool()
    }

    /// Whether it is a table.
    pub(super) fn is_table(&self) -> bool {
        self.value.get_ref().is_table()
    }

    /// Its dotted name.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The value as JSON with the lines of this file. A value that JSON does not have is a fault.
    pub(super) fn to_json(&self) -> Option<Node> {
        let line = self.document.line_of(self.value.span().start);
        let kind = match self.value.get_ref() {
            DeValue::String(text) => Kind::String(text.clone().into_owned()),
            DeValue::Boolean(value) => Kind::Bool(*value),
            DeValue::Array(_) => Kind::Array(self.items().iter().filter_map(Entry::to_json).collect()),
            DeValue::Table(_) => {
                let entries = self.table().map(|table| table.entries()).unwrap_or_default();
                Kind::Object(entries.iter().filter_map(Entry::to_member).collect())
            }
            other => match json_number(other) {
                Some(number) => Kind::Number(number),
                None => {
                    let message = format!("{} has no counterpart in JSON", self.name);
                    self.fault(&rules::SCHEMA_VALUE, message, "use a string or a finite number");
                    return None;
                }
            },
        };
        Some(Node { line, kind })
    }

    fn to_member(&self) -> Option<Member> {
        Some(Member { key: self.key.to_owned(), line: self.line, value: self.to_json()? })
    }

    /// The JSON document that a string holds, with the lines of this file.
    pub(super) fn json_text(&self) -> Option<Node> {
        let text = self.string()?;
        let node = Node::parse(text);
        let line_in_file = |line: u32| self.line_of_string(line);
        match node {
            Ok(mut node) => {
                node.map_lines(&line_in_file);
                Some(node)
            }
            Err(error) => {
                let message = format!("{} is no JSON: {}", self.name, error.message);
                self.fault_at(line_in_file(error.line), &rules::JSON_SYNTAX, message, "write one JSON value");
                None
            }
        }
    }

    /// The line of this file where a line of a string's text stands. Only a multi-line string has more than one, and a
    /// line break right after its opening quotes is no part of the text.
    fn line_of_string(&self, line: u32) -> u32 {
        let span = self.value.span();
        let first = self.document.line_of(span.start);
        let written = self.document.text.get(span).unwrap_or("");
        match written.strip_prefix("'''").or_else(|| written.strip_prefix("\"\"\"")) {
            Some(rest) => first + line - 1 + u32::from(rest.starts_with('\n') || rest.starts_with("\r\n")),
            None => first,
        }
    }
}

fn type_name(value: &DeValue<'_>) -> String {
    let article = if value.type_str().starts_with(['a', 'i']) { "an" } else { "a" };
    format!("{article} {}", value.type_str())
}

fn integer(value: &DeValue<'_>) -> Option<i128> {
    let integer = value.as_integer()?;
    i128::from_str_radix(integer.as_str(), integer.radix()).ok()
}

fn number(value: &DeValue<'_>) -> Option<f64> {
    match value.as_float() {
        Some(float) => float.as_str().parse().ok(),
        None => integer(value).map(|integer| integer as f64),
    }
}

/// A TOML number as JSON writes it; not the infinities, and not what is no number.
fn json_number(value: &DeValue<'_>) -> Option<String> {
    if let Some(integer) = integer(value) {
        return Some(integer.to_string());
    }
    serde_json::Number::from_f64(number(value)?).map(|number| number.to_string())
}
