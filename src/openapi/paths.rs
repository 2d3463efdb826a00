//! Paths of HTTP as path templates (draft: Path Grammar; D7), with the upstream's url kept as it was.
//!
//! A literal segment that is a method name is moved out by this rule. It is an *action* if it is the last segment and
//! exactly one operation has this path, or if it begins a path of nothing but GETs and reads (`/search/issues`): then
//! the segment goes and the verb may become the method. Else it is a *noun* (`/store/order/{id}`) and is put in the
//! plural.

use super::verbs;
use crate::catalog::Catalog;
use std::collections::BTreeMap;

/// What the paths of the whole document tell about one segment.
#[derive(Debug, Default)]
pub(super) struct Layout {
    /// Path as written, and the HTTP methods it has.
    methods: BTreeMap<String, Vec<String>>,
}

/// A path of this side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Translated {
    /// The template, `/orders/{order_id}`.
    pub(super) path: String,
    /// The url's path, with the parameters under this side's names.
    pub(super) url_path: String,
    /// The upstream's names of path parameters, and this side's.
    pub(super) parameters: Vec<(String, String)>,
    /// The verb that was moved out.
    pub(super) carried: Option<String>,
    /// What the reviewer should know.
    pub(super) reviews: Vec<String>,
}

impl Translated {
    /// Whether it is of one thing, not of a collection: it ends with a parameter, or a word that is no plural.
    pub(super) fn is_item(&self) -> bool {
        !self.path.ends_with(['s', 'S', '/'])
    }
}

impl Layout {
    /// Notes an operation.
    pub(super) fn add(&mut self, path: &str, http: &str) {
        self.methods.entry(path.to_owned()).or_default().push(http.to_owned());
    }

    /// Whether a verb at the end of `prefix` is what is done, not what it is done to.
    fn is_action(&self, catalog: &Catalog, prefix: &str, verb: &str, last: bool) -> bool {
        let below = format!("{}/", prefix.trim_end_matches('/'));
        let children =
            || self.methods.range(below.clone()..).take_while(|(path, _)| path.starts_with(&below));
        let of_path = self.methods.get(prefix).map_or(0, Vec::len);
        if last {
            let legacy_or_write =
                verbs::reads(catalog, verb) || self.methods.get(prefix).is_some_and(|http| http != &["GET"]);
            return of_path <= 1 && children().all(|(path, _)| path == &below) && legacy_or_write;
        }
        let parameter =
            children().any(|(path, _)| path.get(below.len()..).is_some_and(|rest| rest.starts_with('{')));
        let only_gets = children().all(|(_, http)| http == &["GET"]);
        of_path == 0 && !parameter && only_gets && verbs::reads(catalog, verb)
    }

    /// Translates a path. The error says why it cannot be.
    pub(super) fn translate(&self, catalog: &Catalog, path: &str) -> Result<Translated, String> {
        if !path.starts_with('/') {
            return Err(format!("path \"{path}\" does not begin with \"/\""));
        }
        if path.contains('#') {
            return Err(format!("path \"{path}\" has a fragment, which is never sent"));
        }
        let mut out = Translated {
            path: String::new(),
            url_path: String::new(),
            parameters: Vec::new(),
            carried: None,
            reviews: Vec::new(),
        };
        let (route, query) = path.split_once('?').map_or((path, None), |(route, query)| (route, Some(query)));
        let segments: Vec<_> = route.split('/').collect();
        let last = segments.iter().rposition(|segment| !segment.is_empty()).unwrap_or(0);
        let mut prefix = String::new();
        for (index, segment) in segments.iter().enumerate().skip(1) {
            prefix.push('/');
            prefix.push_str(segment);
            out.url_path.push('/');
            self.segment(catalog, segment, (&prefix, index == last), &mut out)?;
        }
        if let Some(query) = query {
            out.url_path.push('?');
            out.url_path.push_str(query);
            out.reviews.push(format!("the query \"{query}\" of the path is sent to the upstream only"));
        }
        if out.path.is_empty() {
            out.path.push('/');
        }
        Ok(out)
    }

    fn segment(
        &self,
        catalog: &Catalog,
        segment: &str,
        (prefix, last): (&str, bool),
        out: &mut Translated,
    ) -> Result<(), String> {
        let pieces =
            pieces(segment).ok_or_else(|| format!("segment \"{segment}\" has braces that do not pair up"))?;
        let whole = pieces.len() == 1;
        let count = pieces.len();
        for (index, piece) in pieces.into_iter().enumerate() {
            match piece {
                Piece::Parameter(name) => {
                    let ours = out.parameter(name)?;
                    out.path.push_str(&format!("/{{{ours}}}"));
                    out.url_path.push_str(&format!("{{{ours}}}"));
                }
                Piece::Literal(text) => {
                    out.url_path.push_str(&encoded(text));
                    let plain = if whole {
                        text
                    } else {
                        text.trim_matches(|letter: char| !letter.is_ascii_alphanumeric())
                    };
                    let last = last && index + 1 == count;
                    if !plain.is_empty() && (whole || !is_extension(plain)) {
                        self.literal(catalog, &encoded(plain), (prefix, last), out);
                    }
                }
            }
        }
        if !whole {
            out.reviews.push(format!(
                "segment \"{segment}\" is several here: a segment is a literal or one parameter"
            ));
        }
        Ok(())
    }

    fn literal(&self, catalog: &Catalog, text: &str, (prefix, last): (&str, bool), out: &mut Translated) {
        let Some(verb) = verbs::named(catalog, text) else {
            out.path.push('/');
            return out.path.push_str(text);
        };
        if self.is_action(catalog, prefix, verb, last) {
            out.carried = Some(verb.to_owned());
            return out
                .reviews
                .push(format!("segment \"{text}\" is the method name {verb} and was moved out"));
        }
        let plural = plural(catalog, text);
        out.reviews.push(format!(
            "segment \"{text}\" is the method name {verb}; it stands for a thing: \"{plural}\""
        ));
        out.path.push('/');
        out.path.push_str(&plural);
    }
}

impl Translated {
    /// This side's name for a path parameter: letters, digits and `_`.
    fn parameter(&mut self, name: &str) -> Result<String, String> {
        let mut ours = plain_name(name);
        if ours.is_empty() {
            return Err(format!("path parameter \"{{{name}}}\" has no usable name"));
        }
        if self.parameters.iter().any(|(theirs, _)| theirs == name) {
            return Err(format!("path parameter {{{name}}} stands twice in the path"));
        }
        while self.parameters.iter().any(|(_, taken)| *taken == ours) {
            ours.push_str("_2");
        }
        self.parameters.push((name.to_owned(), ours.clone()));
        Ok(ours)
    }
}

/// A name of letters, digits and `_`.
pub(super) fn plain_name(name: &str) -> String {
    let name = name.trim_start_matches(['+', '*', '?', '.', ';', '&']).trim_end_matches(['*', '+']);
    name.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '_' }).collect()
}

enum Piece<'s> {
    Literal(&'s str),
    Parameter(&'s str),
}

/// The literals and parameters of a segment; nothing if braces do not pair up.
fn pieces(segment: &str) -> Option<Vec<Piece<'_>>> {
    let mut pieces = Vec::new();
    let mut rest = segment;
    while let Some((literal, tail)) = rest.split_once('{') {
        let (name, after) = tail.split_once('}')?;
        if !literal.is_empty() {
            pieces.push(Piece::Literal(literal));
        }
        pieces.push(Piece::Parameter(name));
        rest = after;
    }
    if rest.contains('}')
        || pieces.iter().any(|piece| matches!(piece, Piece::Literal(text) if text.contains('}')))
    {
        return None;
    }
    if !rest.is_empty() || pieces.is_empty() {
        pieces.push(Piece::Literal(rest));
    }
    Some(pieces)
}

fn is_extension(text: &str) -> bool {
    ["json", "xml"].iter().any(|known| text.eq_ignore_ascii_case(known))
}

/// A literal as it may stand in a path: what has no place there is percent-encoded.
fn encoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = String::with_capacity(text.len());
    for (index, &byte) in bytes.iter().enumerate() {
        let escape = byte == b'%'
            && bytes.get(index + 1..index + 3).is_some_and(|hex| hex.iter().all(u8::is_ascii_hexdigit));
        if escape || byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

/// The plural of a noun that is a method name, made sure to be none itself.
fn plural(catalog: &Catalog, text: &str) -> String {
    let lower = text.to_ascii_lowercase();
    let ends = |ends: &[&str]| ends.iter().any(|end| lower.ends_with(end));
    let plural = if ends(&["s", "x", "z", "ch", "sh"]) {
        format!("{text}es")
    } else if ends(&["y"]) && !ends(&["ay", "ey", "oy", "uy"]) {
        format!("{}ies", text.get(..text.len() - 1).unwrap_or(text))
    } else {
        format!("{text}s")
    };
    if verbs::named(catalog, &plural).is_none() { plural } else { format!("{plural}-resource") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(operations: &[(&str, &str)]) -> Layout {
        let mut layout = Layout::default();
        operations.iter().for_each(|(http, path)| layout.add(path, http));
        layout
    }

    fn translated(layout: &Layout, path: &str) -> (String, String, Option<String>) {
        let out = layout.translate(&Catalog::builtin(), path).unwrap();
        (out.path, out.url_path, out.carried)
    }

    #[test]
    fn verbs_are_moved_out_and_nouns_get_a_plural() {
        let layout = layout(&[
            ("POST", "/store/order"),
            ("GET", "/store/order/{id}"),
            ("DELETE", "/store/order/{id}"),
            ("POST", "/orders/{id}/cancel"),
            ("GET", "/search/issues"),
            ("GET", "/reply"),
            ("POST", "/reply"),
            ("POST", "/check-in/{id}/undo"),
            ("GET", "/account/profile"),
            ("GET", "/my/order"),
        ]);
        for (path, ours, carried) in [
            ("/store/order", "/store/orders", None),
            ("/store/order/{id}", "/store/orders/{id}", None),
            ("/orders/{id}/cancel", "/orders/{id}", Some("CANCEL")),
            ("/search/issues", "/issues", Some("SEARCH")),
            ("/reply", "/replies", None),
            ("/check-in/{id}/undo", "/check-ins/{id}", Some("UNDO")),
            // A GET that is no reading is of a thing.
            ("/my/order", "/my/orders", None),
        ] {
            let carried = carried.map(str::to_owned);
            assert_eq!(translated(&layout, path), (ours.to_owned(), path.to_owned(), carried), "{path}");
        }
    }

    #[test]
    fn paths_that_the_grammar_has_not_are_taken_apart() {
        let layout = layout(&[("GET", "/compare/{base}...{head}")]);
        for (path, ours, url) in [
            ("/", "/", "/"),
            ("/users/", "/users", "/users/"),
            ("/a//b", "/a/b", "/a//b"),
            ("/pets/{pet-id}", "/pets/{pet_id}", "/pets/{pet_id}"),
            ("/compare/{base}...{head}", "/compares/{base}/{head}", "/compare/{base}...{head}"),
            ("/files/{id}.json", "/files/{id}", "/files/{id}.json"),
            ("/users.json", "/users.json", "/users.json"),
            ("/a b/ü", "/a%20b/%C3%BC", "/a%20b/%C3%BC"),
            ("/things?kind=a", "/things", "/things?kind=a"),
            ("/items/{id}:freeze", "/items/{id}/freeze", "/items/{id}:freeze"),
        ] {
            assert_eq!(translated(&layout, path), (ours.to_owned(), url.to_owned(), None), "{path}");
        }
        for path in ["pets", "/pets/{id", "/pets/id}", "/a#b", "/{}", "/{id}/{id}"] {
            assert!(layout.translate(&Catalog::builtin(), path).is_err(), "{path}");
        }
    }
}
