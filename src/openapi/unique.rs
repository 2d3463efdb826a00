//! Endpoints beside one another: no two answer a common request (D6), no two share a file.

use std::collections::{HashMap, HashSet};

/// What is taken already.
#[derive(Debug, Default)]
pub(super) struct Taken {
    /// Templates by method, number of segments and number of parameters: only those can be ambiguous.
    templates: HashMap<(String, usize, usize), Vec<Vec<String>>>,
    files: HashSet<String>,
}

impl Taken {
    /// Takes the place of an endpoint, if it is free.
    pub(super) fn take(&mut self, method: &str, path: &str) -> bool {
        let segments: Vec<String> = path.split('/').skip(1).map(str::to_owned).collect();
        let parameters = segments.iter().filter(|segment| segment.starts_with('{')).count();
        let key = (method.to_owned(), segments.len(), parameters);
        let rivals = self.templates.entry(key).or_default();
        let meets = |a: &str, b: &str| a == b || a.starts_with('{') || b.starts_with('{');
        let clash = |rival: &Vec<String>| rival.iter().zip(&segments).all(|(a, b)| meets(a, b));
        if rivals.iter().any(clash) {
            return false;
        }
        rivals.push(segments);
        true
    }

    /// A file name that no other endpoint has, `list-pets.toml`.
    pub(super) fn file(&mut self, method: &str, path: &str) -> String {
        let base = slug(method, path);
        let base = base.trim_end_matches(".toml");
        let mut name = format!("{base}.toml");
        let mut number = 2;
        while !self.files.insert(name.clone()) {
            name = format!("{base}-{number}.toml");
            number += 1;
        }
        name
    }
}

/// The file that an endpoint has by custom, `endpoints/list-pets.toml`.
pub fn slug(method: &str, path: &str) -> String {
    let mut slug = String::from(method);
    for letter in
        format!("/{path}").chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '-' })
    {
        if letter != '-' || !slug.ends_with('-') {
            slug.push(letter);
        }
    }
    let slug: String = slug.to_ascii_lowercase().chars().take(80).collect();
    format!("endpoints/{}.toml", slug.trim_matches('-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_that_a_common_request_would_reach_are_taken() {
        let mut taken = Taken::default();
        for (method, path, free) in [
            ("FETCH", "/a/{x}", true),
            ("FETCH", "/a/{y}", false),
            ("FETCH", "/{x}/b", false),
            ("FETCH", "/{x}/{y}", true),
            ("FETCH", "/b/{x}", true),
            ("FETCH", "/a/b", true),
            ("LIST", "/a/{x}", true),
            ("FETCH", "/", true),
            ("FETCH", "/", false),
        ] {
            assert_eq!(taken.take(method, path), free, "{method} {path}");
        }
    }

    #[test]
    fn files_have_names_of_their_own() {
        let mut taken = Taken::default();
        assert_eq!(taken.file("LIST", "/pets/{pet_id}"), "endpoints/list-pets-pet-id.toml");
        assert_eq!(taken.file("LIST", "/pets/{pet-id}"), "endpoints/list-pets-pet-id-2.toml");
        assert_eq!(taken.file("LIST", "/"), "endpoints/list.toml");
        assert!(taken.file("LIST", &"/a".repeat(500)).len() < 100);
    }
}
