//! Policy redirects in force (draft: Policy Shape; D4, D23).

use super::methods::Names;
use super::paths::Paths;
use super::text::{Interner, index};
use crate::compiler::ir::RedirectDecl;
use crate::registry::{LeakAutomaton, Method, MethodId, Redirect, Rows, Text};
use serde_json::{Map, Value};

/// Sorts the entries that can fire by their method, gives each method its rows, and warns of the others.
pub(super) fn table(
    decls: &[RedirectDecl],
    names: &Names<'_>,
    reach: &Reach<'_>,
    methods: &mut [Method],
    text: &mut Interner,
    warnings: &mut Vec<String>,
) -> Vec<Redirect> {
    let mut table = Vec::new();
    for (order, decl) in decls.iter().enumerate() {
        if let Some(reason) = useless(decl, names, reach, text) {
            warnings.push(format!("{} never fires: {reason}", describe(decl)));
            continue;
        }
        let (Some(from), Some(to)) = (names.id(&decl.from_method), names.id(&decl.to_method)) else {
            continue;
        };
        // A target by its alias is meant as what the alias stands for.
        let to = names.dispatched(to);
        let path = |path: &Option<String>, text: &mut Interner| text.add(path.as_deref().unwrap_or(""));
        let (from_path, to_path) = (path(&decl.from_path, text), path(&decl.to_path, text));
        table.push(Redirect { from, from_path, to, to_path, order: index(order) });
    }
    table.sort_by_key(|redirect| (redirect.from, redirect.order));
    for (row, redirect) in table.iter().enumerate() {
        let rows = &mut methods[usize::from(redirect.from.0)].redirects;
        let start = if rows.is_empty() { index(row) } else { rows.start };
        *rows = Rows { start, end: index(row + 1) };
    }
    table
}

/// What decides whether a path gets as far as the redirects (D2, D7).
pub(super) struct Reach<'r> {
    pub(super) paths: &'r Paths,
    pub(super) leak: &'r LeakAutomaton,
}

fn useless(decl: &RedirectDecl, names: &Names<'_>, reach: &Reach<'_>, text: &Interner) -> Option<String> {
    let from = names.id(&decl.from_method)?;
    let dispatched = names.dispatched(from);
    if dispatched != from {
        let (alias, method) = (names.name(from), names.name(dispatched));
        return Some(format!(
            "{alias} is dispatched as {method} before redirects apply; redirect from {method}"
        ));
    }
    let path = decl.from_path.as_deref()?;
    let leak = reach.leak.first_leak(path.as_bytes())?;
    let leak = String::from_utf8_lossy(leak);
    (!reach.paths.knows(path, text.blob())).then(|| {
        format!("the segment {leak:?} is a method name, so {path} is refused with 460 (path grammar)")
    })
}

fn describe(decl: &RedirectDecl) -> String {
    let side = |method: &str, path: &Option<String>| match path {
        Some(path) => format!("{method} {path}"),
        None => method.to_owned(),
    };
    let (from, to) = (side(&decl.from_method, &decl.from_path), side(&decl.to_method, &decl.to_path));
    format!("the redirect from {from} to {to}")
}

/// The `redirects_for_path` object for a path that no entry names: method to method, first entry first.
pub(super) fn general_json(table: &[Redirect], methods: &[Method], text: &Interner) -> String {
    let name = |id: MethodId| methods[usize::from(id.0)].name.of(text.blob()).to_owned();
    let mut map = Map::new();
    for redirect in table.iter().filter(|redirect| redirect.from_path == Text::EMPTY) {
        map.entry(name(redirect.from)).or_insert_with(|| Value::from(name(redirect.to)));
    }
    Value::Object(map).to_string()
}
