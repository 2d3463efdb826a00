//! Recipes: how composition endpoints are realised (draft: Composition).

use super::{EndpointId, MethodId, Rows, Text};

/// A recipe that some endpoint is composed by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recipe {
    /// Its name.
    pub name: Text,
    /// Rows of [`Registry::steps`](super::Registry::steps); never none.
    pub steps: Rows,
    /// What becomes of the steps' results.
    pub aggregation: Aggregation,
}

/// What a composition answers with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Aggregation {
    /// The result of the last step.
    #[default]
    Last,
    /// The members of all results; a later step's beat an earlier one's.
    Merge,
    /// `{"results": […]}` in the order of the steps (D26).
    List,
}

/// One step of a recipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The method it invokes; after a redirect when `endpoint` is known.
    pub method: MethodId,
    /// The path it invokes; as declared when it has parameters, after a redirect when `endpoint` is known.
    pub path: Text,
    /// Where a static path leads. Nothing when it has to be routed at invocation.
    pub endpoint: Option<EndpointId>,
    /// Rows of [`Registry::step_pieces`](super::Registry::step_pieces): the path, when it has parameters.
    pub pieces: Rows,
    /// The name later steps know its result by; empty when it is not captured.
    pub capture: Text,
    /// Rows of [`Registry::step_params`](super::Registry::step_params).
    pub params: Rows,
}

/// A part of a step's path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Stands as it is.
    Literal(Text),
    /// The value of this row of [`Registry::step_params`](super::Registry::step_params), encoded as one segment.
    Param(u32),
}

/// A parameter of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepParam {
    /// Its name: a member of the step's input, or a parameter of its path.
    pub name: Text,
    /// Where its value comes from.
    pub source: ParamSource,
    /// Whether it fills the path, and is therefore no member of the input that the step is sent.
    pub in_path: bool,
}

/// Where the value of a step's parameter comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParamSource {
    /// A member of the composition's own input.
    Proposal(Text),
    /// JSON text.
    Constant(Text),
    /// The result of an earlier step of the recipe, counted from 0, at a JSON Pointer.
    Previous {
        /// Which step.
        step: u32,
        /// Where in its result; empty for all of it.
        pointer: Text,
    },
}
