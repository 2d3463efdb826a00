//! What becomes of the steps' results.

use super::Composing;
use super::state::State;
use crate::engine::Scratch;
use crate::engine::invoke::{self, Sinks};
use crate::engine::refusal::Refusal;
use crate::engine::respond::Answer;
use crate::json::{TapeBuffers, Value, write_object};
use crate::registry::Aggregation;
use crate::wire::Status;
use bumpalo::Bump;
use bumpalo::collections::Vec as BumpVec;

impl<'r> Composing<'_, '_, 'r> {
    /// The composition's answer, held to its output schema like any other.
    pub(super) fn gather(
        &self,
        scratch: &mut Scratch,
        state: &State,
        sinks: &mut Sinks<'_>,
    ) -> Result<Answer<'r>, Refusal<'r>> {
        let last = state.kept().saturating_sub(1);
        sinks.body.clear();
        sinks.details.clear();
        match self.recipe.aggregation {
            Aggregation::Last => sinks.body.extend_from_slice(state.result(last).unwrap_or(b"{}")),
            Aggregation::List => list(state, sinks.body),
            Aggregation::Merge => self.merge(scratch, state, sinks.body)?,
        }
        // A schema that takes any object is not asked, for functions only make objects; a built-in may answer a list.
        if !self.endpoint.output_constrained && !sinks.body.starts_with(b"{") {
            return Err(invoke::output_invalid(self.engine, self.endpoint, ("", "it is no object")));
        }
        invoke::checked(self.engine, sinks, self.endpoint, Status::Ok)
    }

    /// Members of all results, a later step's in place of an earlier one's. A result that is no object is a member
    /// itself, under the name it is captured by or else `step_N`.
    fn merge(&self, scratch: &mut Scratch, state: &State, out: &mut Vec<u8>) -> Result<(), Refusal<'r>> {
        let Scratch { bump, output, check, .. } = scratch;
        check.clear();
        list(state, check);
        let len = check.len();
        check.resize(len + crate::engine::PADDING, 0);
        let Ok(document) = TapeBuffers::parse(output, check, len, usize::MAX) else {
            let violation = ("", "a step's result is not I-JSON: a key stands twice in one object");
            return Err(invoke::output_invalid(self.engine, self.endpoint, violation));
        };
        let results = document.root().get("results").into_iter().flat_map(Value::elements);
        write_members(self.members(bump, results), out);
        output.recycle(document);
        bump.reset();
        Ok(())
    }

    fn members<'b>(&self, bump: &'b Bump, results: impl Iterator<Item = Value<'b>>) -> Members<'b>
    where
        'r: 'b,
    {
        let mut members = BumpVec::new_in(bump);
        for (number, (result, step)) in results.zip(self.steps()).enumerate() {
            if result.as_object().is_some() {
                for (key, value) in result.members() {
                    members.push((key, members.len(), value));
                }
                continue;
            }
            let name = match self.engine.registry.str(step.capture) {
                "" => bumpalo::format!(in bump, "step_{}", number + 1).into_bump_str(),
                name => name,
            };
            members.push((name, members.len(), result));
        }
        members
    }
}

/// Key, position, value.
type Members<'b> = BumpVec<'b, (&'b str, usize, Value<'b>)>;

/// Of members with one key the last, in the order of their positions. Sorted twice, so that wide results cost no more
/// than `n log n`.
fn write_members(mut members: Members<'_>, out: &mut Vec<u8>) {
    members.sort_unstable_by(|a, b| a.0.cmp(b.0).then(b.1.cmp(&a.1)));
    members.dedup_by(|later, first| later.0 == first.0);
    members.sort_unstable_by_key(|member| member.1);
    write_object(out, |o| {
        for (key, _, value) in &members {
            o.value(key, *value);
        }
    });
}

/// `{"results": […]}` of the results as they are.
fn list(state: &State, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"results\":[");
    for (number, result) in state.results().enumerate() {
        if number > 0 {
            out.push(b',');
        }
        out.extend_from_slice(result);
    }
    out.extend_from_slice(b"]}");
}
