//! The policies of a manifest (draft: Policies Block, Policy Shape).

use super::endpoints::Judge;
use super::reader::{At, Kind};
use crate::catalog::{LEGACY, is_method_name};
use crate::compiler::check::path;
use crate::compiler::rules;

const TOGGLES: [&str; 4] =
    ["wildcards_accepted", "anonymous_discovery", "scope_required_for_invocation", "synthesis_enabled"];

pub(super) fn check(root: &At<'_>, judge: &Judge<'_>) {
    let Some(policies) = root.require("policies", Kind::Object) else { return };
    let policies = policies.under(&rules::MANIFEST_POLICIES);
    for toggle in TOGGLES {
        policies.require(toggle, Kind::Flag);
    }
    if let Some(depth) = policies.require("max_synthesis_depth", Kind::Number)
        && depth.value.as_u64().is_none_or(|depth| depth == 0)
    {
        let message = format!("{} is no number of steps", depth.value);
        depth.fault(&rules::MANIFEST_POLICIES, message, "write a whole number from 1");
    }
    let Some(methods) = policies.require("methods", Kind::Object) else { return };
    let methods = methods.under(&rules::MANIFEST_METHOD_POLICY);
    allow(&methods);
    if let Some(disallow) = methods.optional("disallow", Kind::List) {
        names(&disallow);
    }
    legacy(&methods);
    aliases(&methods, judge);
    redirects(&methods);
}

/// Method names, form only: an entry may outlive the catalog it was written for (draft: Catalog-Graceful Skip Semantics).
fn names(list: &At<'_>) {
    list.texts().iter().for_each(method_name);
}

fn method_name(name: &At<'_>) {
    if !is_method_name(name.text()) {
        let help = "a method name is 3 to 32 letters A to Z, nothing else";
        name.fault(&rules::METHOD_FORM, format!("\"{}\" is no method name", name.text()), help);
    }
}

fn allow(methods: &At<'_>) {
    if methods.value["allow"] == "*" {
        return;
    }
    if let Some(allow) = methods.optional("allow", Kind::List) {
        names(&allow);
    }
}

fn legacy(methods: &At<'_>) {
    if matches!(methods.value["legacy"].as_str(), Some("*" | "NONE")) {
        return;
    }
    let list = methods.optional("legacy", Kind::List);
    let verbs = list.iter().flat_map(At::texts);
    verbs.for_each(|verb| verb.one_of(&rules::MANIFEST_METHOD_POLICY, &LEGACY));
}

fn aliases(methods: &At<'_>, judge: &Judge<'_>) {
    let Some(aliases) = methods.optional("aliases", Kind::Object) else { return };
    for (_, target) in aliases.members().filter(|(_, target)| target.is(Kind::Text)) {
        if aliases.value.get(target.text()).is_some() {
            let message = format!("the alias leads to another alias, {}", target.text());
            target.fault(&rules::MANIFEST_METHOD_POLICY, message, "an alias leads to a method");
        } else {
            judge.method(&target);
        }
    }
}

fn redirects(methods: &At<'_>) {
    let redirects = methods.optional("redirects", Kind::List);
    for redirect in redirects.iter().flat_map(At::items).filter(|redirect| redirect.is(Kind::Object)) {
        for key in ["from_method", "to_method"] {
            redirect.require(key, Kind::Text).iter().for_each(method_name);
        }
        for key in ["from_path", "to_path"] {
            let path = redirect.optional(key, Kind::Text);
            path.iter()
                .for_each(|at| path::parse(at.text()).1.into_iter().for_each(|finding| at.found(finding)));
        }
    }
}
