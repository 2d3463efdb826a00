//! The method table: every token the server has an opinion of, and the verb set that finds it.

use super::text::Interner;
use super::{LowerError, floor, perfect};
use crate::catalog::Verb;
use crate::compiler::ir::{Deployment, MethodPolicy};
use crate::registry::{
    LegacyForm, Method, MethodId, NodeId, Rows, VerbSet, VerbSlot, hash_token, token_words,
};
use std::collections::{BTreeSet, HashMap};

/// The five HTTP verbs (draft: Legacy Verb Support), and what each becomes when `policies.methods.legacy` admits it.
const LEGACY: [(&str, &str, LegacyForm); 5] = [
    ("GET", "QUERY", LegacyForm::Plain),
    ("POST", "EXECUTE", LegacyForm::Plain),
    ("PUT", "EXECUTE", LegacyForm::IdempotencyKey),
    ("DELETE", "EXECUTE", LegacyForm::Delete),
    ("PATCH", "EXECUTE", LegacyForm::Modify),
];

/// The names in force, sorted: a name's position is its [`MethodId`].
pub(super) struct Names<'d> {
    sorted: Vec<&'d str>,
    verbs: HashMap<&'d str, &'d Verb>,
    deployment: &'d Deployment,
}

/// What a token stands for before the policy is looked at.
struct Resolution<'d> {
    dispatch: &'d str,
    form: LegacyForm,
    recognized: bool,
}

impl<'d> Names<'d> {
    /// Collects catalog, legacy, custom and alias names (D22, D23).
    pub(super) fn new(deployment: &'d Deployment) -> Result<Self, LowerError> {
        let catalog = &deployment.catalog;
        let policy = &deployment.settings.methods;
        let verbs: HashMap<_, _> = catalog.verbs.iter().map(|verb| (verb.name.as_str(), verb)).collect();
        let names: BTreeSet<&str> = (verbs.keys().copied())
            .chain(floor::FLOOR.iter().map(|method| method.name))
            .chain(LEGACY.iter().map(|(verb, ..)| *verb))
            .chain(policy.custom.iter().map(String::as_str))
            .chain(policy.aliases.iter().map(|(alias, _)| alias.as_str()))
            .collect();
        if names.len() > usize::from(u16::MAX) {
            return Err(LowerError::TooMany { what: "method names", most: usize::from(u16::MAX) });
        }
        Ok(Names { sorted: names.into_iter().collect(), verbs, deployment })
    }

    fn policy(&self) -> &'d MethodPolicy {
        &self.deployment.settings.methods
    }

    /// The id of a name.
    pub(super) fn id(&self, name: &str) -> Option<MethodId> {
        self.sorted.binary_search(&name).ok().map(|row| MethodId(row as u16))
    }

    /// The name of an id.
    pub(super) fn name(&self, id: MethodId) -> &'d str {
        self.sorted.get(usize::from(id.0)).copied().unwrap_or("")
    }

    /// The names that must not be path segments: catalog, legacy and custom, not the aliases (D22).
    pub(super) fn path_verbs(&self) -> Vec<&'d str> {
        self.sorted.iter().copied().filter(|name| is_legacy(name) || self.is_method(name)).collect()
    }

    /// Whether an endpoint may be declared for it: a catalog, floor or custom method.
    fn is_method(&self, name: &str) -> bool {
        self.verbs.contains_key(name) || floor::find(name).is_some() || self.is_custom(name)
    }

    fn is_custom(&self, name: &str) -> bool {
        self.policy().custom.iter().any(|custom| custom == name)
    }

    /// Alias and legacy resolution, in the order of D3. An alias to nothing is none.
    fn resolve(&self, name: &'d str) -> Resolution<'d> {
        let policy = self.policy();
        let alias = policy.aliases.binary_search_by(|(alias, _)| alias.as_str().cmp(name)).ok();
        let target = alias.and_then(|row| policy.aliases.get(row)).map(|(_, target)| target.as_str());
        let target = target.filter(|target| self.is_method(target));
        let legacy =
            LEGACY.iter().find(|(verb, ..)| *verb == name && policy.legacy.iter().any(|l| l == verb));
        match (target, legacy) {
            (Some(target), None) => {
                Resolution { dispatch: target, form: LegacyForm::Plain, recognized: true }
            }
            (Some(target), Some(_)) if !policy.aliases_are_seed => {
                Resolution { dispatch: target, form: LegacyForm::Plain, recognized: true }
            }
            (_, Some(&(_, dispatch, form))) => Resolution { dispatch, form, recognized: true },
            (None, None) => {
                Resolution { dispatch: name, form: LegacyForm::Plain, recognized: self.is_method(name) }
            }
        }
    }

    /// The method a token is dispatched as: itself, or its alias or legacy target.
    pub(super) fn dispatched(&self, id: MethodId) -> MethodId {
        self.id(self.resolve(self.name(id)).dispatch).unwrap_or(id)
    }

    /// Whether the policy admits a method as dispatched (draft: Policy Shape; D5).
    pub(super) fn admits(&self, name: &str) -> bool {
        let policy = self.policy();
        let listed = |list: &[String]| list.iter().any(|entry| entry == name);
        floor::find(name).is_some()
            || (policy.allow.as_deref().is_none_or(listed) && !listed(&policy.disallow))
    }

    /// The rows of the table. Routes and redirects are filled in once there are any.
    pub(super) fn table(&self, text: &mut Interner) -> Vec<Method> {
        let rows = self.sorted.iter().enumerate();
        rows.map(|(row, name)| self.method(MethodId(row as u16), name, text)).collect()
    }

    fn method(&self, id: MethodId, name: &'d str, text: &mut Interner) -> Method {
        let resolution = self.resolve(name);
        let warning = self.warning(resolution.dispatch).or_else(|| self.warning(name));
        Method {
            name: text.add(name),
            dispatch: self.id(resolution.dispatch).unwrap_or(id),
            legacy_form: resolution.form,
            recognized: resolution.recognized,
            floor: floor::find(name).is_some(),
            legacy: is_legacy(name),
            catalog: self.verbs.contains_key(name) || floor::find(name).is_some(),
            custom: self.is_custom(name),
            admitted: self.admits(resolution.dispatch),
            safe: self.is_safe(name),
            preferred: self.preferred(name).unwrap_or(id),
            routes: NodeId::NONE,
            catalog_warning: text.add(&warning.unwrap_or_default()),
            redirects: Rows::NONE,
        }
    }

    /// The preferred form of a legacy verb, which a 459 suggests first.
    fn preferred(&self, name: &str) -> Option<MethodId> {
        let preferred = self.deployment.catalog.legacy_verb(name);
        preferred.and_then(|legacy| self.id(&legacy.preferred))
    }

    /// By the floor's table, else by the catalog categories: at least one that is safe by default and none that is an
    /// action by default (draft: Method Properties).
    fn is_safe(&self, name: &str) -> bool {
        if let Some(floor) = floor::find(name) {
            return floor.safe;
        }
        let categories = self.verbs.get(name).map_or(&[][..], |verb| &verb.categories);
        let any = |names: &[&str]| categories.iter().any(|category| names.contains(&category.as_str()));
        any(&["retrieval", "discovery", "analysis"])
            && !any(&["transaction", "modification", "creation", "notification"])
    }

    /// The `AGTP-Catalog-Warning` line of a deprecated verb (draft: Runtime Deprecation Signaling).
    fn warning(&self, name: &str) -> Option<String> {
        let verb = self.verbs.get(name).filter(|verb| verb.deprecated_in.is_some())?;
        let successor = verb.successor.as_deref();
        Some(warning_line("AGTP-Catalog-Warning", successor, verb.removed_in.as_deref()))
    }
}

/// An advisory header line (facts page 2).
pub(super) fn warning_line(header: &str, successor: Option<&str>, removed_in: Option<&str>) -> String {
    let mut line = format!("{header}: deprecated");
    for (key, value) in [("successor", successor), ("removed_in", removed_in)] {
        if let Some(value) = value {
            line.push_str(&format!("; {key}={}", super::header_value(value)));
        }
    }
    line + "\r\n"
}

fn is_legacy(name: &str) -> bool {
    LEGACY.iter().any(|(verb, ..)| *verb == name)
}

/// The perfect-hash set over the names.
pub(super) fn verb_set(names: &Names<'_>) -> Result<VerbSet, LowerError> {
    let words: Vec<_> = names.sorted.iter().map(|name| token_words(name.as_bytes())).collect();
    let hashes: Vec<u64> =
        words.iter().zip(&names.sorted).map(|(&words, name)| hash_token(words, name.len())).collect();
    let placement = perfect::place(&hashes).map_err(|perfect::Duplicate(first, second)| {
        LowerError::HashCollision(names.sorted[first].to_owned(), names.sorted[second].to_owned())
    })?;
    let free = VerbSlot { words: (0, 0), len: 0, method: MethodId(0) };
    let slot = |key: Option<usize>| match key {
        Some(key) => {
            VerbSlot { words: words[key], len: names.sorted[key].len() as u8, method: MethodId(key as u16) }
        }
        None => free,
    };
    Ok(VerbSet { hash: placement.hash, slots: placement.slots.into_iter().map(slot).collect() })
}
