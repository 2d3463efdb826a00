//! Which verb of the catalog an operation is (draft: OpenAPI as an Authoring Source).
//!
//! In this order: a verb that the path carries; the first word of the operation's id, then of its summary, if it is a
//! verb of the catalog or has a known equivalent; else what the HTTP method and the shape of the path suggest. A word
//! counts only if it suits the HTTP method: a GET is never BOOK. What came second is offered to the reviewer.

use crate::catalog::{Catalog, LEGACY};

/// What an operation is, for choosing its verb.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clues<'a> {
    /// The HTTP method, in capitals.
    pub(super) http: &'a str,
    /// The verb that was moved out of the path.
    pub(super) carried: Option<&'a str>,
    pub(super) operation_id: Option<&'a str>,
    pub(super) summary: Option<&'a str>,
    /// Whether the path is of one thing, not of a collection.
    pub(super) item: bool,
}

/// A verb and why it was chosen.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Choice {
    pub(super) verb: String,
    /// What else it may be, most likely first.
    pub(super) alternatives: Vec<String>,
    /// Where it comes from, for the reviewer.
    pub(super) reason: String,
    /// How sure that is, 0 to 1.
    pub(super) confidence: f64,
}

/// Words that people use, and the catalog's verb for each. A slash separates verbs for reading and for writing.
const EQUIVALENTS: [(&str, &str); 36] = [
    ("ADD", "CREATE"),
    ("APPLY", "EXECUTE"),
    ("BULK", "EXECUTE"),
    ("CALL", "INVOKE"),
    ("CLONE", "DUPLICATE"),
    ("COPY", "DUPLICATE"),
    ("DELETE", "REMOVE"),
    ("DESTROY", "REMOVE"),
    ("DO", "EXECUTE"),
    ("DROP", "REMOVE"),
    ("ERASE", "REMOVE"),
    ("FINISH", "CLOSE"),
    ("GET", "FETCH"),
    ("HEAD", "CHECK"),
    ("LEAVE", "WITHDRAW"),
    ("LOGIN", "AUTHENTICATE"),
    ("LOGOUT", "TERMINATE"),
    ("MAKE", "CREATE"),
    ("MOVE", "TRANSFER"),
    ("NEW", "CREATE"),
    ("PATCH", "MODIFY"),
    ("POST", "CREATE"),
    ("PUT", "REPLACE"),
    ("RERUN", "RETRY"),
    ("RUN", "EXECUTE"),
    ("SAVE", "UPDATE"),
    ("SEND", "DELIVER"),
    ("SHOW", "FETCH"),
    ("STORE", "CREATE"),
    ("SYNC", "MIRROR"),
    ("TEST", "VALIDATE"),
    ("TRANSITION", "CHANGE"),
    ("TRIGGER", "INVOKE"),
    ("UPLOAD", "SUBMIT"),
    ("UPSERT", "REPLACE"),
    ("VIEW", "FETCH"),
];

/// Verbs whose paths are largely the protocol's own (draft: Reserved DISCOVER Paths).
const PROTOCOL: [&str; 2] = ["DISCOVER", "PROPOSE"];

/// Categories whose verbs read and change nothing.
const READING: [&str; 3] = ["discovery", "retrieval", "analysis"];

/// The verb that a segment or a word is, legacy ones included.
pub(super) fn named<'c>(catalog: &'c Catalog, word: &str) -> Option<&'c str> {
    let bare: String =
        word.chars().filter(|letter| !"-_".contains(*letter)).collect::<String>().to_ascii_uppercase();
    let verb = catalog.verb(&bare).map(|verb| verb.name.as_str());
    verb.or_else(|| LEGACY.into_iter().find(|legacy| *legacy == bare))
}

/// Whether a verb only reads.
pub(super) fn reads(catalog: &Catalog, verb: &str) -> bool {
    let leading = catalog.verb(verb).and_then(|verb| verb.categories.first());
    leading.is_some_and(|category| READING.contains(&category.as_str()))
}

/// The leading category of a verb, for the semantic block.
pub(super) fn category<'c>(catalog: &'c Catalog, verb: &str) -> &'c str {
    let leading = catalog.verb(verb).and_then(|verb| verb.categories.first());
    leading.map_or("transaction", String::as_str)
}

/// Chooses the verb of an operation.
pub(super) fn choose(catalog: &Catalog, clues: Clues<'_>) -> Choice {
    let mut found: Vec<(String, String, f64)> = Vec::new();
    if let Some(verb) = clues.carried.and_then(|verb| of_catalog(catalog, verb)) {
        found.push((verb.to_owned(), "the path carried it".to_owned(), 0.8));
    }
    let words = [("operationId", clues.operation_id, 0.8), ("summary", clues.summary, 0.6)];
    for (source, text, confidence) in words {
        let Some(word) = text.and_then(first_word) else { continue };
        let Some(verb) = of_catalog(catalog, &word).filter(|verb| suits(catalog, clues.http, verb)) else {
            continue;
        };
        found.push((verb.to_owned(), format!("the {source} begins with \"{word}\""), confidence));
    }
    for verb in by_shape(clues.http, clues.item) {
        let shape = if clues.item { "one thing" } else { "a collection" };
        found.push(((*verb).to_owned(), format!("{} on {shape}", clues.http), 0.5));
    }
    let mut found = found.into_iter();
    let (verb, reason, confidence) =
        found.next().unwrap_or(("EXECUTE".to_owned(), "nothing tells".to_owned(), 0.3));
    let mut alternatives: Vec<String> = Vec::new();
    for (other, ..) in found {
        if other != verb && !alternatives.contains(&other) {
            alternatives.push(other);
        }
    }
    Choice { verb, alternatives, reason, confidence }
}

/// The catalog's verb for a word: itself, or its equivalent. Only names of the catalog come out.
fn of_catalog<'c>(catalog: &'c Catalog, word: &str) -> Option<&'c str> {
    let word = word.to_ascii_uppercase();
    let equivalent = EQUIVALENTS.iter().find(|(from, _)| *from == word).map(|(_, to)| *to);
    let verb = catalog.verb(equivalent.unwrap_or(&word))?;
    let usable = verb.deprecated_in.is_none() && !PROTOCOL.contains(&verb.name.as_str());
    usable.then_some(verb.name.as_str())
}

/// A GET reads; whatever is not a GET may do either, since many searches are POSTs.
fn suits(catalog: &Catalog, http: &str, verb: &str) -> bool {
    match http {
        "GET" | "HEAD" | "OPTIONS" => reads(catalog, verb) || verb == "DESCRIBE",
        "DELETE" => !reads(catalog, verb),
        _ => true,
    }
}

/// What the method and the path suggest, most likely first. The last ones are for operations that would collide.
fn by_shape(http: &str, item: bool) -> &'static [&'static str] {
    match (http, item) {
        ("GET", true) => &["FETCH", "RETRIEVE", "LOOKUP", "READ", "QUERY", "ACCESS", "OBTAIN"],
        ("GET", false) => &["LIST", "QUERY", "FETCH", "BROWSE", "SEARCH", "ENUMERATE", "RETRIEVE"],
        ("POST", true) => &["EXECUTE", "UPDATE", "SUBMIT", "PROCESS", "INVOKE", "REQUEST", "APPEND"],
        ("POST", false) => &["CREATE", "SUBMIT", "EXECUTE", "REGISTER", "REQUEST", "PROCESS", "INVOKE"],
        ("PUT", _) => &["REPLACE", "SET", "UPDATE", "OVERWRITE", "CONFIGURE"],
        ("PATCH", _) => &["MODIFY", "UPDATE", "AMEND", "ADJUST", "ALTER"],
        ("DELETE", _) => &["REMOVE", "CANCEL", "PURGE", "REVERT", "EVICT"],
        ("HEAD", _) => &["CHECK", "PROBE", "VERIFY"],
        _ => &["INTROSPECT", "EXPOSE", "EXPLORE"],
    }
}

/// The first word of an id or a sentence: `pets/list-all`, `Pets_listAll`, `listPets` and `List all pets` say `list`.
fn first_word(text: &str) -> Option<String> {
    let text = text.rsplit(['/', '.', ':']).find(|part| !part.is_empty())?;
    let mut words = words(text);
    let first = words.next()?;
    // `PetsController_list`: what stands before the underscore is the group, if it is no verb and a verb follows.
    Some(match text.split_once('_') {
        Some((group, rest)) if group.starts_with(|letter: char| letter.is_ascii_uppercase()) => {
            self::words(rest).next().unwrap_or(first)
        }
        _ => first,
    })
}

/// Words of an identifier: apart by anything that is no letter, and by a capital after a small letter.
fn words(text: &str) -> impl Iterator<Item = String> {
    let mut words = vec![String::new()];
    let mut before = ' ';
    for letter in text.chars() {
        let starts = letter.is_uppercase() && before.is_lowercase();
        if (starts || !letter.is_alphabetic()) && words.last().is_some_and(|word| !word.is_empty()) {
            words.push(String::new());
        }
        if letter.is_alphabetic()
            && let Some(word) = words.last_mut()
        {
            word.push(letter);
        }
        before = letter;
    }
    words.into_iter().filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clues(http: &'static str) -> Clues<'static> {
        Clues { http, carried: None, operation_id: None, summary: None, item: false }
    }

    fn verb(clues: Clues<'_>) -> String {
        choose(&Catalog::builtin(), clues).verb
    }

    #[test]
    fn every_verb_in_the_tables_is_one_of_the_catalog() {
        let catalog = Catalog::builtin();
        for (from, to) in EQUIVALENTS {
            assert!(catalog.verb(to).is_some(), "{from} -> {to}");
            assert!(catalog.verb(from).is_none(), "{from} is a verb itself");
        }
        for http in ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"] {
            for verb in by_shape(http, true).iter().chain(by_shape(http, false)) {
                assert!(catalog.verb(verb).is_some(), "{http}: {verb}");
            }
        }
    }

    #[test]
    fn words_of_ids_and_summaries_are_verbs_if_they_suit_the_method() {
        for (id, http, expected) in [
            ("listPets", "GET", "LIST"),
            ("repos/list-for-org", "GET", "LIST"),
            ("PetsController_findAll", "GET", "FIND"),
            ("pets.getById", "GET", "FETCH"),
            ("addPet", "POST", "CREATE"),
            ("delete_pet", "DELETE", "REMOVE"),
            ("searchThings", "POST", "SEARCH"),
            ("bookRoom", "POST", "BOOK"),
            // A GET books nothing, and a DELETE fetches nothing.
            ("bookRoom", "GET", "LIST"),
            ("getRidOfPet", "DELETE", "REMOVE"),
            ("petById", "GET", "LIST"),
        ] {
            assert_eq!(verb(Clues { operation_id: Some(id), ..clues(http) }), expected, "{http} {id}");
        }
        assert_eq!(verb(Clues { summary: Some("Cancel a booking"), ..clues("POST") }), "CANCEL");
        assert_eq!(
            verb(Clues { carried: Some("SHIP"), operation_id: Some("doIt"), ..clues("POST") }),
            "SHIP"
        );
    }

    #[test]
    fn the_shape_decides_when_no_word_does() {
        for (http, item, expected) in [
            ("GET", false, "LIST"),
            ("GET", true, "FETCH"),
            ("POST", false, "CREATE"),
            ("PUT", true, "REPLACE"),
            ("PATCH", true, "MODIFY"),
            ("DELETE", true, "REMOVE"),
        ] {
            assert_eq!(verb(Clues { item, ..clues(http) }), expected);
        }
        let choice = choose(&Catalog::builtin(), Clues { operation_id: Some("listPets"), ..clues("GET") });
        assert_eq!(choice.alternatives[..2], ["QUERY", "FETCH"]);
        assert!(choice.reason.contains("operationId"), "{}", choice.reason);
    }
}
