//! Where the input of an external service goes, and where its body comes from.
//!
//! Real services want a parameter in the query of a POST, in a header, or a body that is no object; and they answer with
//! arrays. `input_place` and `output_body` say so; without them everything goes where the method has it (D30).

use super::document::{Block, Entry};
use super::external::{check_header_name, properties};
use crate::compiler::{rules, suggest};
use serde_json::Value;

const PLACES: [&str; 3] = ["query", "header", "body"];

/// What a place must agree with.
pub(super) struct Around<'a, 'd> {
    transform: &'a [Entry<'d>],
    headers: &'a [Entry<'d>],
    input: Option<&'a Value>,
}

impl<'a, 'd> Around<'a, 'd> {
    /// Of the binding's input transform, its headers, and the endpoint's input schema.
    pub(super) fn new(
        transform: &'a [Entry<'d>],
        headers: &'a [Entry<'d>],
        input: Option<&'a Value>,
    ) -> Around<'a, 'd> {
        Around { transform, headers, input }
    }

    /// The upstream's name for a property.
    fn upstream_name<'n>(&self, name: &'n str) -> &'n str
    where
        'd: 'n,
    {
        let entry = self.transform.iter().find(|entry| entry.key == name);
        entry.filter(|entry| entry.is_string()).and_then(|entry| entry.string()).unwrap_or(name)
    }
}

/// Where a property goes: into the url's path or query by its name, where it is placed, or where the method has it.
pub(super) fn of<'d>(name: &str, url: Option<&str>, entries: &[Entry<'d>]) -> &'d str {
    if url.is_some_and(|url| url.contains(&format!("{{{name}}}"))) {
        return "url";
    }
    let entry = entries.iter().find(|entry| entry.key == name).filter(|entry| entry.is_string());
    entry.and_then(|entry| entry.string()).unwrap_or_default()
}

/// Each place is one of the three, of a declared property, and only one property is the body.
pub(super) fn check(entries: &[Entry<'_>], around: &Around<'_, '_>) {
    let mut body = None;
    for entry in entries {
        declared(entry, entry.key, "input", around.input);
        match entry.one_of(&PLACES, &rules::UPSTREAM_PLACE) {
            Some("header") => header(entry, around),
            Some("body") => {
                if let Some(first) = body.replace(entry.key) {
                    let message = format!("both \"{first}\" and \"{}\" are the whole body", entry.key);
                    entry.fault(&rules::UPSTREAM_PLACE, message, "place one of them elsewhere");
                }
            }
            _ => {}
        }
    }
}

/// A header that the operator sets is not the caller's to set.
fn header(entry: &Entry<'_>, around: &Around<'_, '_>) {
    let name = around.upstream_name(entry.key);
    check_header_name(entry, name);
    if around.headers.iter().any(|header| header.key.eq_ignore_ascii_case(name)) {
        let message = format!("{name} is set by headers already");
        entry.fault(&rules::UPSTREAM_PLACE, message, "leave one of the two out");
    }
}

/// `output_body`: an output property that is not renamed as well.
pub(super) fn output_body(
    block: &Block<'_>,
    transform: &[Entry<'_>],
    output: Option<&Value>,
) -> Option<String> {
    let entry = block.get("output_body")?;
    let name = entry.text()?;
    declared(&entry, name, "output", output);
    if let Some(rename) = transform.first() {
        let message = "output_transform renames members of a body that output_body takes whole";
        rename.fault(&rules::UPSTREAM_PLACE, message, "leave one of the two out");
    }
    Some(name.to_owned())
}

fn declared(entry: &Entry<'_>, name: &str, side: &str, schema: Option<&Value>) {
    let Some(properties) = properties(schema).filter(|properties| !properties.contains_key(name)) else {
        return;
    };
    let names: Vec<_> = properties.keys().map(String::as_str).collect();
    let message = format!("\"{name}\" is no {side} property");
    entry.fault(&rules::UPSTREAM_PLACE, message, suggest::did_you_mean(name, &names));
}
