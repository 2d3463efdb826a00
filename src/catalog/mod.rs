//! The method catalog: the vocabulary of verbs, versioned (draft: Method Catalog).
//!
//! [`Catalog::builtin`] is the canonical document; a deployment may name another. The loader reports every fault of a
//! document, each with its line and what would be right.

mod diff;
#[doc(hidden)]
pub mod fuzz;
pub mod json;
mod load;

pub use diff::{Aspect, CatalogDiff, Change};
pub use load::CatalogFault;

/// The methods every server serves (draft: Method Properties), by group: cognitive, mechanics, lifecycle.
pub const FLOOR: [&str; 18] = [
    "QUERY",
    "DISCOVER",
    "DESCRIBE",
    "INSPECT",
    "SUMMARIZE",
    "PLAN",
    "PROPOSE",
    "EXECUTE",
    "DELEGATE",
    "ESCALATE",
    "CONFIRM",
    "SUSPEND",
    "NOTIFY",
    "ACTIVATE",
    "DEACTIVATE",
    "REINSTATE",
    "REVOKE",
    "DEPRECATE",
];

/// The HTTP verbs a server may opt into (draft: Legacy Verb Support).
pub const LEGACY: [&str; 5] = ["GET", "POST", "PUT", "DELETE", "PATCH"];

/// The taxonomy of verbs (draft: Catalog Structure).
pub const CATEGORIES: [&str; 9] = [
    "discovery",
    "retrieval",
    "analysis",
    "transaction",
    "modification",
    "creation",
    "notification",
    "mechanics",
    "domain_spanning",
];

/// A catalog document, checked.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    /// Its version, `MAJOR.MINOR.PATCH`.
    pub version: String,
    /// The eighteen floor methods, in document order.
    pub embedded: Vec<String>,
    /// The five legacy verbs, in document order.
    pub legacy: Vec<Legacy>,
    /// The nine categories, in document order.
    pub categories: Vec<Category>,
    /// The verbs, sorted by name.
    pub verbs: Vec<Verb>,
}

/// A legacy verb.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Legacy {
    /// Its name.
    pub name: String,
    /// The catalog verb to use instead.
    pub preferred: String,
    /// What it means here.
    pub description: String,
}

/// A category.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Category {
    /// Its name.
    pub name: String,
    /// What its verbs have in common.
    pub description: String,
}

/// A verb.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verb {
    /// Its name.
    pub name: String,
    /// Its categories, the leading one first.
    pub categories: Vec<String>,
    /// What it does, in one line.
    pub description: String,
    /// The catalog version that flagged it.
    pub deprecated_in: Option<String>,
    /// The catalog version that will drop it.
    pub removed_in: Option<String>,
    /// The verb to use instead.
    pub successor: Option<String>,
}

impl Catalog {
    /// The canonical catalog, version 1.0.0.
    ///
    /// # Panics
    ///
    /// Never: a test loads the same text.
    pub fn builtin() -> Catalog {
        match Catalog::parse(include_str!("../../catalog/methods.json")) {
            Ok(catalog) => catalog,
            Err(faults) => panic!("catalog/methods.json: {faults:?}"),
        }
    }

    /// Loads a catalog document, or says all that is wrong with it.
    pub fn parse(text: &str) -> Result<Catalog, Vec<CatalogFault>> {
        match Catalog::parse_lenient(text) {
            (Some(catalog), faults) if faults.is_empty() => Ok(catalog),
            (_, faults) => Err(faults),
        }
    }

    /// Loads what is valid of a catalog document and says all that is wrong with it; nothing if it is no JSON object.
    pub fn parse_lenient(text: &str) -> (Option<Catalog>, Vec<CatalogFault>) {
        load::load(text)
    }

    /// The verb of this name.
    pub fn verb(&self, name: &str) -> Option<&Verb> {
        let row = self.verbs.binary_search_by(|verb| verb.name.as_str().cmp(name)).ok()?;
        self.verbs.get(row)
    }

    /// The legacy verb of this name.
    pub fn legacy_verb(&self, name: &str) -> Option<&Legacy> {
        self.legacy.iter().find(|legacy| legacy.name == name)
    }

    /// Whether it is one of the eighteen.
    pub fn is_floor(&self, name: &str) -> bool {
        self.embedded.iter().any(|method| method == name)
    }
}

/// Whether a token has the form of a method name: 3 to 32 letters A to Z (draft: Method Rules).
pub fn is_method_name(token: &str) -> bool {
    (3..=32).contains(&token.len()) && token.bytes().all(|byte| byte.is_ascii_uppercase())
}

/// The three numbers of a `MAJOR.MINOR.PATCH` version, which order as versions do.
pub fn semver(version: &str) -> Option<[u64; 3]> {
    let mut parts = version.split('.').map(|part| {
        let plain = part.bytes().all(|byte| byte.is_ascii_digit()) && (part == "0" || !part.starts_with('0'));
        if plain { part.parse().ok() } else { None }
    });
    let numbers = [parts.next()??, parts.next()??, parts.next()??];
    parts.next().is_none().then_some(numbers)
}

#[cfg(test)]
mod tests;
