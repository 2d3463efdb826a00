//! Compositions: an endpoint that is realised by invoking others (draft: Composition; D26, D30).
//!
//! Every step passes the gates that an outside request would, with the caller's own identity and scopes: place and
//! policy, authority, input, handler, output. Only what was settled when the recipe was compiled is not done again:
//! where a static path leads.
//!
//! The steps of one composition work in buffers of their own, for the outer request's are in use. Those are kept in the
//! core, one set for each level of nesting.

mod gather;
mod state;
mod step;

pub(super) use state::Nest;

use super::invoke::{self, Outcome, Sinks};
use super::refusal::Refusal;
use super::request::Request;
use super::respond::Answer;
use super::waiting::{Started, Work};
use super::{Engine, Scratch, Trail};
use crate::json::{Value, write_object};
use crate::registry::{Endpoint, Recipe, Step};
use crate::wire::Status;
use state::{Level, State, TooDeep};
use std::sync::Arc;
use std::task::{Context, Poll};
use step::{Ended, Inner};

/// A composition that has come to a step which is waited for.
pub(super) struct Composition {
    recipe: u32,
    state: State,
    inner: Inner,
}

/// One invocation of a composition endpoint.
struct Composing<'c, 'd, 'r> {
    engine: &'r Engine<'d>,
    request: &'c Request<'r>,
    trail: &'c Trail<'r>,
    endpoint: &'r Endpoint,
    recipe: &'r Recipe,
}

/// How far a composition came.
enum Progress<'r> {
    Done(Result<Answer<'r>, Refusal<'r>>),
    Waits(Inner),
}

/// Runs a composition endpoint on valid input, up to its end or to the first step that is waited for.
#[cold]
pub(super) fn run<'r>(
    engine: &'r Engine<'_>,
    sinks: &mut Sinks<'_>,
    request: &Request<'r>,
    trail: &Trail<'r>,
    endpoint: &'r Endpoint,
    recipe: u32,
    input: Value<'_>,
) -> Result<Outcome<'r>, Refusal<'r>> {
    let composing = Composing::of(engine, request, trail, endpoint, recipe)?;
    let mut level = enter(engine, endpoint, recipe, sinks)?;
    level.state.begin(engine.registry, composing.recipe, input);
    let Level { scratch, state } = &mut *level;
    let outcome = match composing.go_on(scratch, state, sinks) {
        Progress::Done(result) => result.map(Outcome::Answer),
        Progress::Waits(inner) => {
            let request = Arc::clone(&inner.started.request);
            let composition = Composition { recipe, state: std::mem::take(state), inner };
            let work = Work::Composition(Box::new(composition));
            Ok(Outcome::Later(Box::new(Started { request, work, running: None })))
        }
    };
    sinks.held.merge(level.scratch.held.take());
    sinks.nest.leave(level);
    outcome
}

/// Polls the step that a composition waits for, and goes on from there.
pub(super) fn poll<'r>(
    engine: &'r Engine<'_>,
    scratch: &mut Scratch,
    request: &Request<'r>,
    trail: &Trail<'r>,
    endpoint: &'r Endpoint,
    composition: &mut Composition,
    context: &mut Context<'_>,
) -> Poll<Result<Answer<'r>, Refusal<'r>>> {
    let Scratch { output, body, details, extra, held, check, nest, upstream, .. } = scratch;
    let mut sinks = Sinks { output, body, details, extra, held, check, nest, upstream: upstream.as_ref() };
    let composing = match Composing::of(engine, request, trail, endpoint, composition.recipe) {
        Ok(composing) => composing,
        Err(refusal) => return Poll::Ready(Err(refusal)),
    };
    let mut level = match enter(engine, endpoint, composition.recipe, &mut sinks) {
        Ok(level) => level,
        Err(refusal) => return Poll::Ready(Err(refusal)),
    };
    let polled = loop {
        let Composition { state, inner, .. } = &mut *composition;
        let Poll::Ready(ended) = inner.poll(&composing, &mut level.scratch, context) else {
            break Poll::Pending;
        };
        let progress = match ended {
            Ok(()) => {
                state.keep(&level.scratch.body);
                composing.go_on(&mut level.scratch, state, &mut sinks)
            }
            Err(status) => {
                Progress::Done(Err(composing.failed(&level.scratch.body, state, status, &mut sinks)))
            }
        };
        match progress {
            Progress::Done(result) => break Poll::Ready(result),
            Progress::Waits(next) => *inner = next,
        }
    };
    sinks.held.merge(level.scratch.held.take());
    sinks.nest.leave(level);
    polled
}

/// The buffers for the steps of a composition, unless it runs into itself or is nested too deep: what a templated step
/// leads to is only known now. (The compiler refuses what is static.)
fn enter<'r>(
    engine: &Engine<'_>,
    endpoint: &Endpoint,
    recipe: u32,
    sinks: &mut Sinks<'_>,
) -> Result<Box<Level>, Refusal<'r>> {
    sinks.nest.enter(recipe, engine.registry.policies.nesting(), sinks.upstream).map_err(|why| {
        let why = match why {
            TooDeep::Circle => "the composition runs into itself",
            TooDeep::Nested => "compositions are nested deeper than policies.max_synthesis_depth",
        };
        invoke::log_failure(engine, endpoint, why);
        Refusal::HandlerFailed
    })
}

impl<'c, 'd, 'r> Composing<'c, 'd, 'r> {
    fn of(
        engine: &'r Engine<'d>,
        request: &'c Request<'r>,
        trail: &'c Trail<'r>,
        endpoint: &'r Endpoint,
        recipe: u32,
    ) -> Result<Self, Refusal<'r>> {
        // The compiler sees to it that there is one; an embedder's own tables might not.
        let recipe = engine.registry.recipes.get(recipe as usize).filter(|recipe| !recipe.steps.is_empty());
        let recipe = recipe.ok_or(Refusal::HandlerFailed)?;
        Ok(Composing { engine, request, trail, endpoint, recipe })
    }

    fn steps(&self) -> &'r [Step] {
        self.recipe.steps.of(&self.engine.registry.steps)
    }

    /// Runs the steps that are left.
    fn go_on(&self, scratch: &mut Scratch, state: &mut State, sinks: &mut Sinks<'_>) -> Progress<'r> {
        while let Some(step) = self.steps().get(state.kept()) {
            match self.step(scratch, state, step) {
                Ended::Well => state.keep(&scratch.body),
                Ended::Failed(status) => {
                    return Progress::Done(Err(self.failed(&scratch.body, state, status, sinks)));
                }
                Ended::Later(inner) => return Progress::Waits(inner),
            }
        }
        Progress::Done(self.gather(scratch, state, sinks))
    }

    /// The step in work failed: what the caller is told of it.
    fn failed(&self, underlying: &[u8], state: &State, status: Status, sinks: &mut Sinks<'_>) -> Refusal<'r> {
        let registry = self.engine.registry;
        let number = state.kept();
        let method = self.steps().get(number).map_or("", |step| registry.method_name(step.method));
        let text = |json| std::str::from_utf8(json).unwrap_or("null");
        sinks.details.clear();
        write_object(sinks.details, |o| {
            o.str("recipe", registry.str(self.recipe.name));
            o.u64("failed_step", number as u64 + 1).str("step_method", method);
            o.u64("underlying_status", status.code().into()).raw("underlying", text(underlying));
            o.object("captured_outputs", |captured| {
                for (step, result) in self.steps().iter().zip(state.results()) {
                    if !step.capture.is_empty() {
                        captured.raw(registry.str(step.capture), text(result));
                    }
                }
            });
        });
        let message = format!(
            "step {} of the composition, a {method}, was answered with {}",
            number + 1,
            status.code()
        );
        Refusal::Named { name: "composition_failed", message: Some(message.into()) }
    }
}
