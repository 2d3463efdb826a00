//! Where an endpoint stands in HTTP: a method and a path that no other endpoint has.

use crate::catalog::Catalog;
use crate::openapi::verbs;
use std::collections::{HashMap, HashSet};

/// A method and a path of HTTP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) http: String,
    pub(super) path: String,
}

/// What is taken already.
#[derive(Debug)]
pub(super) struct Places {
    catalog: Catalog,
    /// Verb and its HTTP method, the operator's first.
    aliases: Vec<(String, String)>,
    taken: HashSet<(String, String)>,
    /// Paths without the names of their parameters, and how they are written: OpenAPI takes both for one.
    written: HashMap<String, String>,
}

impl Places {
    pub(super) fn new(aliases: Vec<(String, String)>) -> Places {
        let (taken, written) = (HashSet::new(), HashMap::new());
        Places { catalog: Catalog::builtin(), aliases, taken, written }
    }

    /// Takes a place for an endpoint. Parameters may have other names there: those, and ours.
    pub(super) fn find(
        &mut self,
        method: &str,
        path: &str,
        fits_query: bool,
    ) -> (Place, Vec<(String, String)>) {
        let preferred = self.http(method, fits_query);
        let verb = method.to_ascii_lowercase();
        let paths = std::iter::once(path.to_owned())
            .chain(std::iter::once(format!("{}/{verb}", path.trim_end_matches('/'))))
            .chain((2..).map(|number| format!("{}/{verb}-{number}", path.trim_end_matches('/'))));
        for candidate in paths {
            let bare = nameless(&candidate);
            for http in [preferred.as_str(), "POST"] {
                if !self.taken.contains(&(http.to_owned(), bare.clone())) {
                    self.taken.insert((http.to_owned(), bare.clone()));
                    let written = self.written.entry(bare).or_insert_with(|| candidate.clone()).clone();
                    let renamed = renamed(&written, &candidate);
                    return (Place { http: http.to_owned(), path: written }, renamed);
                }
            }
        }
        // The paths have no end.
        (Place { http: preferred, path: path.to_owned() }, Vec::new())
    }

    fn http(&self, method: &str, fits_query: bool) -> String {
        let alias = self.aliases.iter().find(|(verb, _)| verb == method).map(|(_, http)| http.as_str());
        let by_category = || match verbs::category(&self.catalog, method) {
            _ if verbs::reads(&self.catalog, method) => "GET",
            "modification" => "PATCH",
            _ => "POST",
        };
        match alias.unwrap_or_else(by_category) {
            "GET" | "DELETE" if !fits_query => "POST".to_owned(),
            http => http.to_owned(),
        }
    }
}

fn names(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter_map(|segment| segment.strip_prefix('{')?.strip_suffix('}'))
}

fn nameless(path: &str) -> String {
    let segments = path.split('/').map(|segment| if segment.starts_with('{') { "{}" } else { segment });
    segments.collect::<Vec<_>>().join("/")
}

/// Names that a path has where it is written, and ours, as far as they differ.
fn renamed(written: &str, ours: &str) -> Vec<(String, String)> {
    let pairs = names(written).zip(names(ours)).filter(|(here, ours)| here != ours);
    pairs.map(|(here, ours)| (here.to_owned(), ours.to_owned())).collect()
}
