//! Routes and known paths: what is looked up by path.

use super::LowerError;
use super::builtins::Entry;
use super::text::{Interner, index};
use super::tries::Tries;
use crate::compiler::ir::Template;
use crate::registry::{Endpoint, KnownPath, Method, MethodId, NodeId, Router, Rows, split_segments};
use std::collections::BTreeSet;

/// The router and the table its trie of all templates leads to.
pub(super) struct Paths {
    pub(super) router: Router,
    pub(super) known_paths: Vec<KnownPath>,
    pub(super) path_methods: Vec<MethodId>,
}

/// A template with all methods declared on it.
struct Known<'d> {
    template: &'d Template,
    methods: BTreeSet<MethodId>,
}

/// Builds every trie, and tells each method where its own begins.
pub(super) fn build(
    entries: &[Entry<'_>],
    endpoints: &[Endpoint],
    methods: &mut [Method],
    text: &mut Interner,
) -> Result<Paths, LowerError> {
    let mut tries = Tries::default();
    let all = tries.root();
    let mut known: Vec<Known<'_>> = Vec::new();
    for (row, (entry, endpoint)) in entries.iter().zip(endpoints).enumerate() {
        let method = &mut methods[usize::from(endpoint.method.0)];
        if method.routes == NodeId::NONE {
            method.routes = tries.root();
        }
        tries.insert(method.routes, &entry.decl.path, index(row));
        // Templates that differ in parameter names only share their leaf.
        let leaf = tries.insert(all, &entry.decl.path, index(known.len()));
        if leaf as usize == known.len() {
            known.push(Known { template: &entry.decl.path, methods: BTreeSet::new() });
        }
        if method.admitted {
            known[leaf as usize].methods.insert(endpoint.method);
        }
    }
    let mut paths =
        Paths { router: tries.finish(all, text)?, known_paths: Vec::new(), path_methods: Vec::new() };
    for known in &known {
        paths.push_known(known, methods, text);
    }
    Ok(paths)
}

impl Paths {
    fn push_known(&mut self, known: &Known<'_>, methods: &[Method], text: &mut Interner) {
        let start = index(self.path_methods.len());
        self.path_methods.extend(&known.methods);
        let name = |id: &MethodId| methods[usize::from(id.0)].name.of(text.blob()).to_owned();
        let allowed: Vec<String> = known.methods.iter().map(name).collect();
        self.known_paths.push(KnownPath {
            template: text.add(&known.template.text),
            methods: Rows { start, end: index(self.path_methods.len()) },
            allowed_json: text.add(&serde_json::Value::from(allowed).to_string()),
        });
    }

    /// Whether any endpoint matches a path.
    pub(super) fn knows(&self, path: &str, text: &str) -> bool {
        let mut segments = Vec::new();
        split_segments(path.as_bytes(), path.len(), &mut segments);
        let mut found = false;
        self.router.known(path.as_bytes(), &segments, text, &mut |_| found = true);
        found
    }
}
