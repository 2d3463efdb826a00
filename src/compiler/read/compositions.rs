//! Endpoints that are composed of others: whether their steps lead somewhere, and lead back.

use super::Context;
use super::document::Faults;
use super::endpoint::Candidate;
use crate::compiler::check::path;
use crate::compiler::ir::{ParameterValue, RecipeDecl, Source, StepDecl};
use crate::compiler::rules;
use crate::identity::covers;
use serde_json::Value;
use std::collections::HashMap;

/// Whether an endpoint is composed by a recipe that is left out. The recipe's faults are reported where they are.
pub(super) fn has_faulty_recipe(candidate: &Candidate, context: &Context<'_>) -> bool {
    recipe_of(candidate, context).is_some_and(|recipe| !recipe.sound)
}

/// Checks a composition in the midst of the other endpoints.
pub(super) fn check(candidate: &Candidate, all: &[Candidate], context: &Context<'_>, faults: &Faults) {
    let (Some((_, source)), Some(recipe)) = (&candidate.recipe, recipe_of(candidate, context)) else {
        return;
    };
    for step in recipe.steps.iter().filter(|step| is_static(step, context)) {
        check_step(candidate, source, step, all, context, faults);
    }
    check_proposals(candidate, source, recipe, faults);
    check_nesting(candidate, source, all, context, faults);
}

fn recipe_of<'c>(candidate: &Candidate, context: &Context<'c>) -> Option<&'c RecipeDecl> {
    let (name, _) = candidate.recipe.as_ref()?;
    context.recipes.iter().find(|recipe| recipe.name == *name)
}

/// Whether it is known where a step leads. An unknown method is reported already, and leads nowhere.
fn is_static(step: &StepDecl, context: &Context<'_>) -> bool {
    context.vocabulary.is_method(&step.method) && path::parameters(&step.path).next().is_none()
}

/// A static step leads somewhere, and the composition requires the scopes that it does (D26).
fn check_step(
    candidate: &Candidate,
    source: &Source,
    step: &StepDecl,
    all: &[Candidate],
    context: &Context<'_>,
    faults: &Faults,
) {
    let Some(target) = target(step, all) else {
        if !is_built_in(step, context) {
            let message = format!("step {} {} leads to no endpoint", step.method, step.path.text);
            let help = "declare the endpoint, or correct the step";
            faults.add(&rules::STEP_UNRESOLVED, step.source.clone(), message, help);
        }
        return;
    };
    let has = |scope: &String| candidate.required_scopes.iter().any(|have| covers(have, scope));
    for scope in target.required_scopes.iter().filter(|scope| !has(scope)) {
        let message = format!("step {} {} requires scope {scope}", step.method, step.path.text);
        let help = format!("add \"{scope}\" to this endpoint's required_scopes");
        faults.add(&rules::SCOPE_UNCOVERED, source.clone(), message, help);
    }
}

/// The input of the composition has what its steps take from it.
fn check_proposals(candidate: &Candidate, source: &Source, recipe: &RecipeDecl, faults: &Faults) {
    // Of a faulty declaration it is not known what input it means to take.
    let Some(decl) = &candidate.decl else { return };
    for parameter in recipe.steps.iter().flat_map(|step| &step.parameters) {
        let ParameterValue::Proposal(key) = &parameter.value else { continue };
        if !may_declare(&decl.input_schema, key) {
            let Source { file, line } = &parameter.source;
            let message =
                format!("recipe {} takes \"{key}\" from the input, which has no such field", recipe.name);
            let help = format!("declare the input field, or correct the parameter ({file}:{line})");
            faults.add(&rules::PROPOSAL_UNDECLARED, source.clone(), message, help);
        }
    }
}

/// Whether an input schema has a property. A schema that says so by other means than `properties` is believed.
fn may_declare(schema: &Value, key: &str) -> bool {
    const OTHER_MEANS: [&str; 4] = ["patternProperties", "$ref", "allOf", "anyOf"];
    schema.get("properties").is_some_and(|properties| properties.get(key).is_some())
        || OTHER_MEANS.iter().any(|keyword| schema.get(keyword).is_some())
}

/// Recipes neither come to invoke themselves nor nest too deep.
fn check_nesting(
    candidate: &Candidate,
    source: &Source,
    all: &[Candidate],
    context: &Context<'_>,
    faults: &Faults,
) {
    let most = context.settings.policies.nesting() as usize;
    match (Descent { all, context, above: Vec::new(), known: HashMap::new() }).below(candidate) {
        Err(cycle) => {
            let message = format!("the recipes invoke one another without end: {}", cycle.join(" -> "));
            faults.add(&rules::RECIPE_CYCLE, source.clone(), message, "take a step out of the circle");
        }
        Ok(depth) if depth > most => {
            let message = format!("its recipes are nested {depth} deep");
            let help =
                format!("policies.max_synthesis_depth allows {most}; raise it, or flatten the recipes");
            faults.add(&rules::RECIPE_DEPTH, source.clone(), message, help);
        }
        Ok(_) => {}
    }
}

/// The walk from a composition down through the recipes that its steps lead to.
struct Descent<'c> {
    all: &'c [Candidate],
    context: &'c Context<'c>,
    /// The recipes on the way to where it is.
    above: Vec<&'c str>,
    /// How deep those recipes nest that were walked through.
    known: HashMap<&'c str, usize>,
}

impl<'c> Descent<'c> {
    /// How deep the recipes below an endpoint nest, 0 if it has none; or the circle they run in.
    fn below(&mut self, candidate: &Candidate) -> Result<usize, Vec<&'c str>> {
        let Some(recipe) = recipe_of(candidate, self.context) else { return Ok(0) };
        let name = recipe.name.as_str();
        if let Some(&depth) = self.known.get(name) {
            return Ok(depth);
        }
        if let Some(start) = self.above.iter().position(|above| *above == name) {
            return Err(self.above.iter().skip(start).copied().chain([name]).collect());
        }
        self.above.push(name);
        let mut deepest = 0;
        for step in recipe.steps.iter().filter(|step| is_static(step, self.context)) {
            if let Some(target) = target(step, self.all) {
                deepest = deepest.max(self.below(target)?);
            }
        }
        self.above.pop();
        self.known.insert(name, deepest + 1);
        Ok(deepest + 1)
    }
}

/// A composition goes with the endpoints that its static steps lead to: without one of them it could only fail.
pub(super) fn drop_dependents(candidates: &mut [Candidate], context: &Context<'_>) {
    loop {
        let is_lost = |candidate: &Candidate| {
            let recipe = recipe_of(candidate, context).filter(|_| candidate.decl.is_some());
            let mut steps = recipe.into_iter().flat_map(|recipe| &recipe.steps);
            steps.any(|step| {
                is_static(step, context)
                    && target(step, candidates).is_some_and(|target| target.decl.is_none())
            })
        };
        let lost: Vec<_> = candidates.iter().map(is_lost).collect();
        if !lost.contains(&true) {
            return;
        }
        for (candidate, _) in candidates.iter_mut().zip(lost).filter(|(_, lost)| *lost) {
            candidate.decl = None;
        }
    }
}

/// The endpoint that a static step leads to: the one with the fewest parameters that matches (D6).
fn target<'c>(step: &StepDecl, all: &'c [Candidate]) -> Option<&'c Candidate> {
    let matching = all.iter().filter(|candidate| {
        candidate.method.as_ref() == Some(&step.method)
            && candidate.path.as_ref().is_some_and(|path| path::matches(path, &step.path.text))
    });
    matching.min_by_key(|candidate| candidate.path.as_ref().map(|path| path::parameters(path).count()))
}

/// Whether a step leads to an endpoint of the protocol: a floor method at `/`, or a reserved DISCOVER path.
fn is_built_in(step: &StepDecl, context: &Context<'_>) -> bool {
    let text = step.path.text.as_str();
    let reserved = text.strip_prefix('/').is_some_and(|root| path::RESERVED.contains(&root));
    context.vocabulary.catalog.is_floor(&step.method) && text == "/" || step.method == "DISCOVER" && reserved
}
