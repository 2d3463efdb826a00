//! Security schemes as headers whose secrets are environment variables (draft: External Service).

use super::document::{Document, elements, members, text};
use super::operation::Operation;
use serde_json::{Map, Value};

/// Headers that authenticate, and what the reviewer should know.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Secured {
    pub(super) headers: Vec<(String, String)>,
    pub(super) variables: Vec<String>,
    pub(super) reviews: Vec<String>,
}

/// How an operation authenticates: by the first of its alternatives that headers can say.
pub(super) fn read(document: &Document, operation: &Operation<'_>, prefix: &str) -> Secured {
    let declared = operation.body.get("security").or_else(|| document.root.get("security"));
    let alternatives: Vec<_> = elements(declared).iter().map(|one| members(Some(one))).collect();
    let mut secured = Secured::default();
    if alternatives.iter().all(|alternative| alternative.is_empty()) {
        return secured;
    }
    let mut whys = Vec::new();
    for alternative in alternatives.iter().filter(|alternative| !alternative.is_empty()) {
        match headers(document, alternative, prefix) {
            Ok(found) => {
                secured = found;
                break;
            }
            Err(why) => whys.push(why),
        }
    }
    if secured.headers.is_empty() {
        whys.dedup();
        secured.reviews.push(format!("no credentials are sent: {}", whys.join("; ")));
    }
    let others = alternatives.len() - 1;
    if others > 0 && !secured.headers.is_empty() {
        secured
            .reviews
            .push(format!("the document knows {others} other way(s) to authenticate; one is used"));
    }
    secured
}

/// All schemes of one alternative.
fn headers(document: &Document, alternative: &Map<String, Value>, prefix: &str) -> Result<Secured, String> {
    let mut secured = Secured::default();
    for name in alternative.keys() {
        let declared =
            document.root.pointer("/components/securitySchemes").and_then(|schemes| schemes.get(name));
        let declared = declared.ok_or_else(|| format!("scheme \"{name}\" is not declared"))?;
        let scheme = members(Some(document.follow(declared)?.value));
        let variable = format!("{prefix}_{}", variable_part(name));
        let (header, value, review) = header(name, scheme, &variable)?;
        secured.headers.push((header, value));
        secured.variables.push(variable);
        secured.reviews.extend(review);
    }
    Ok(secured)
}

type Header = (String, String, Option<String>);

fn header(name: &str, scheme: &Map<String, Value>, variable: &str) -> Result<Header, String> {
    let authorization =
        |value: String, review: Option<String>| Ok(("Authorization".to_owned(), value, review));
    match (text(scheme, "type"), text(scheme, "in"), text(scheme, "name")) {
        (Some("apiKey"), Some("header"), Some(header)) => {
            Ok((header.to_owned(), format!("${{{variable}}}"), None))
        }
        (Some("apiKey"), Some("cookie"), Some(cookie)) => {
            Ok(("Cookie".to_owned(), format!("{cookie}=${{{variable}}}"), None))
        }
        (Some("apiKey"), Some("query"), _) => {
            Err(format!("the key of scheme \"{name}\" belongs in the query"))
        }
        (Some("http"), ..) => {
            let kind = text(scheme, "scheme").unwrap_or_default().to_ascii_lowercase();
            match kind.as_str() {
                "bearer" => authorization(format!("Bearer ${{{variable}}}"), None),
                "basic" => {
                    let review = format!("{variable} is base64 of \"user:password\"");
                    authorization(format!("Basic ${{{variable}}}"), Some(review))
                }
                kind => Err(format!("scheme \"{name}\" is HTTP {kind}")),
            }
        }
        (Some(kind @ ("oauth2" | "openIdConnect")), ..) => {
            let review = format!(
                "scheme \"{name}\" is {kind}: {variable} is an access token, and who renews it is yours to settle"
            );
            authorization(format!("Bearer ${{{variable}}}"), Some(review))
        }
        (kind, ..) => Err(format!("scheme \"{name}\" is {}", kind.unwrap_or("of no type"))),
    }
}

/// A part of an environment variable's name.
pub(super) fn variable_part(text: &str) -> String {
    let letters = text
        .chars()
        .map(|letter| if letter.is_ascii_alphanumeric() { letter.to_ascii_uppercase() } else { '_' });
    let mut part = String::new();
    for letter in letters {
        if letter != '_' || !part.ends_with('_') && !part.is_empty() {
            part.push(letter);
        }
    }
    part.trim_end_matches('_').to_owned()
}
