//! The method names of a server: its catalog's verbs, the five legacy ones, and its own (D22).

use super::path::percent_decode;
use crate::catalog::{Catalog, LEGACY};
use crate::compiler::suggest;
use std::collections::BTreeSet;
use std::sync::LazyLock;

/// The canonical catalog, to tell a verb that another catalog dropped from a typo.
static CANONICAL: LazyLock<Catalog> = LazyLock::new(Catalog::builtin);

/// What a server takes for a method name.
#[derive(Debug)]
pub(in crate::compiler) struct Vocabulary<'c> {
    /// The catalog.
    pub(in crate::compiler) catalog: &'c Catalog,
    custom: BTreeSet<&'c str>,
}

impl<'c> Vocabulary<'c> {
    pub(in crate::compiler) fn new(catalog: &'c Catalog, custom: &'c [String]) -> Vocabulary<'c> {
        Vocabulary { catalog, custom: custom.iter().map(String::as_str).collect() }
    }

    /// Whether an endpoint may be declared with it.
    pub(in crate::compiler) fn is_method(&self, name: &str) -> bool {
        self.catalog.verb(name).is_some() || self.custom.contains(name)
    }

    /// Up to three methods that look like this one.
    pub(in crate::compiler) fn nearest(&self, name: &str) -> Vec<&str> {
        let verbs = self.catalog.verbs.iter().map(|verb| verb.name.as_str());
        suggest::nearest(name, verbs.chain(self.custom.iter().copied()), 3)
    }

    /// What to write instead of an unknown method.
    pub(in crate::compiler) fn did_you_mean(&self, name: &str) -> String {
        match self.nearest(name).as_slice() {
            [] => "use a verb of the catalog, or list it in policies.methods.custom".to_owned(),
            near => format!("did you mean {}?", near.join(", ")),
        }
    }

    /// What became of a verb that the canonical catalog has and the loaded one has not (draft: Removal Behavior).
    pub(in crate::compiler) fn dropped(&self, name: &str) -> Option<String> {
        let canonical = CANONICAL.verb(name).filter(|_| !self.is_method(name))?;
        let (loaded, other) = (&self.catalog.version, &CANONICAL.version);
        Some(format!("catalog {loaded} has no {}, unlike the canonical {other}", canonical.name))
    }

    /// The method name that a literal segment is.
    pub(in crate::compiler) fn carried(&self, segment: &str) -> Option<&str> {
        let token = bare(segment)?;
        let verb = self.catalog.verb(&token).map(|verb| verb.name.as_str());
        verb.or_else(|| LEGACY.into_iter().find(|legacy| *legacy == token))
            .or_else(|| self.custom.get(token.as_str()).copied())
    }
}

/// A literal segment as it is compared with method names: in capitals, `-` and `_` left out, percent-decoded (D7).
pub(in crate::compiler) fn bare(segment: &str) -> Option<String> {
    let decoded = percent_decode(segment)?;
    let letters = decoded.into_iter().filter(|byte| !matches!(byte, b'-' | b'_'));
    String::from_utf8(letters.map(|byte| byte.to_ascii_uppercase()).collect()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dropped_verb_is_no_typo() {
        let mut catalog = Catalog { version: "2.0.0".to_owned(), ..Catalog::builtin() };
        catalog.verbs.retain(|verb| verb.name != "BOOK" && verb.name != "QUOTE");
        let custom = ["QUOTE".to_owned()];
        let vocabulary = Vocabulary::new(&catalog, &custom);
        let expected = "catalog 2.0.0 has no BOOK, unlike the canonical 1.0.0";
        assert_eq!(vocabulary.dropped("BOOK").as_deref(), Some(expected));
        for name in ["BOKO", "FIND", "QUOTE", "GET"] {
            assert_eq!(vocabulary.dropped(name), None, "{name}");
        }
    }

    #[test]
    fn a_segment_is_a_method_name_however_it_is_written() {
        let catalog = Catalog::builtin();
        let custom = ["TELEPORT".to_owned()];
        let vocabulary = Vocabulary::new(&catalog, &custom);
        for (segment, verb) in [
            ("book", "BOOK"),
            ("B-o_O-k", "BOOK"),
            ("%62ook", "BOOK"),
            ("b%2Dook%5f", "BOOK"),
            ("get", "GET"),
            ("tele-port", "TELEPORT"),
        ] {
            assert_eq!(vocabulary.carried(segment), Some(verb), "{segment}");
        }
        for segment in ["books", "boo", "b.ook", "", "-", "%", "b%6", "%C3%A9", "bòok", "head"] {
            assert_eq!(vocabulary.carried(segment), None, "{segment}");
        }
    }

    #[test]
    fn every_verb_is_found_in_any_case_and_spelling() {
        let catalog = Catalog::builtin();
        let vocabulary = Vocabulary::new(&catalog, &[]);
        let names = catalog.verbs.iter().map(|verb| verb.name.as_str()).chain(LEGACY);
        for name in names {
            let mixed: String = name
                .chars()
                .enumerate()
                .map(|(index, letter)| if index % 2 == 0 { letter.to_ascii_lowercase() } else { letter })
                .collect();
            let dashed: String =
                name.to_ascii_lowercase().chars().flat_map(|letter| ['-', letter, '_']).collect();
            let encoded: String = name.bytes().map(|byte| format!("%{byte:02x}")).collect();
            for segment in [name, &name.to_ascii_lowercase(), &mixed, &dashed, &encoded] {
                assert_eq!(vocabulary.carried(segment), Some(name), "{segment}");
            }
        }
    }
}
