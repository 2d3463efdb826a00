//! What a composition keeps from step to step, and where its steps work.

use crate::engine::Scratch;
use crate::handler::Upstream;
use crate::json::Value;
use crate::registry::{ParamSource, Recipe, Registry};
use std::ops::Range;
use std::rc::Rc;

/// The buffers for compositions at one level of nesting: made when they are first needed, kept for the next request.
#[derive(Default)]
pub(in crate::engine) struct Nest {
    /// Recipes in work above this level.
    above: Vec<u32>,
    level: Option<Box<Level>>,
}

/// One level.
pub(super) struct Level {
    /// The buffers of the steps.
    pub(super) scratch: Scratch,
    /// The composition in work.
    pub(super) state: State,
}

/// Why a composition is not begun within another.
#[derive(Clone, Copy)]
pub(super) enum TooDeep {
    /// It is at work already, further up: each round could ask for several more.
    Circle,
    /// `policies.max_synthesis_depth` levels are at work.
    Nested,
}

impl Nest {
    /// The level below, for this recipe.
    pub(super) fn enter(
        &mut self,
        recipe: u32,
        most: u32,
        upstream: Option<&Rc<dyn Upstream>>,
    ) -> Result<Box<Level>, TooDeep> {
        if self.above.contains(&recipe) {
            return Err(TooDeep::Circle);
        }
        if self.above.len() >= most as usize {
            return Err(TooDeep::Nested);
        }
        let mut level = self.level.take().unwrap_or_else(|| {
            let scratch = Scratch { upstream: upstream.cloned(), ..Scratch::default() };
            Box::new(Level { scratch, state: State::default() })
        });
        let above = &mut level.scratch.nest.above;
        above.clear();
        above.extend_from_slice(&self.above);
        above.push(recipe);
        Ok(level)
    }

    /// Keeps a level for the next composition.
    pub(super) fn leave(&mut self, level: Box<Level>) {
        self.level = Some(level);
    }
}

/// What is known so far: JSON texts, one behind the other.
#[derive(Default)]
pub(super) struct State {
    text: Vec<u8>,
    /// For each parameter of the recipe: the member of the input that it is made of, if it is and there is one.
    proposals: Vec<Option<Range<usize>>>,
    /// The first parameter's row.
    first_param: u32,
    /// The results of the steps that are done.
    results: Vec<Range<usize>>,
    /// The path of the step in work.
    pub(super) path: Vec<u8>,
    /// The input of the step in work.
    pub(super) input: Vec<u8>,
}

impl State {
    /// Puts aside what the steps will take from the input, which will be gone when one of them was waited for.
    pub(super) fn begin(&mut self, registry: &Registry, recipe: &Recipe, input: Value<'_>) {
        let State { text, proposals, first_param, results, .. } = self;
        text.clear();
        proposals.clear();
        results.clear();
        let steps = recipe.steps.of(&registry.steps);
        *first_param = steps.first().map_or(0, |step| step.params.start);
        for param in steps.iter().flat_map(|step| step.params.of(&registry.step_params)) {
            let member = match param.source {
                ParamSource::Proposal(key) => input.get(registry.str(key)),
                _ => None,
            };
            proposals.push(member.map(|member| {
                let start = text.len();
                member.write_json(text);
                start..text.len()
            }));
        }
    }

    /// The member of the input that the parameter in this row is made of.
    pub(super) fn proposal(&self, row: u32) -> Option<&[u8]> {
        let range = self.proposals.get(row.checked_sub(self.first_param)? as usize)?.clone()?;
        self.text.get(range)
    }

    /// Keeps the result of the step in work.
    pub(super) fn keep(&mut self, result: &[u8]) {
        let start = self.text.len();
        self.text.extend_from_slice(result);
        self.results.push(start..self.text.len());
    }

    /// How many steps are done.
    pub(super) fn kept(&self) -> usize {
        self.results.len()
    }

    /// The result of a step.
    pub(super) fn result(&self, step: usize) -> Option<&[u8]> {
        self.text.get(self.results.get(step)?.clone())
    }

    /// All results, in order.
    pub(super) fn results(&self) -> impl Iterator<Item = &[u8]> {
        self.results.iter().filter_map(|range| self.text.get(range.clone()))
    }
}
