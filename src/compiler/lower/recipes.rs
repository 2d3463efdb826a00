//! Recipes to flat tables. A static step is routed here, so that no invocation has to.

use super::methods::Names;
use super::paths::Paths;
use super::text::{Interner, index};
use crate::compiler::ir::{Deployment, ParameterValue, RecipeDecl, StepDecl, TemplateSegment};
use crate::registry::{
    EndpointId, Method, MethodId, ParamSource, Piece, Recipe, Redirect, Rows, Step, StepParam, split_segments,
};

/// What steps are resolved against.
pub(super) struct Lowering<'l> {
    pub(super) deployment: &'l Deployment,
    pub(super) names: &'l Names<'l>,
    pub(super) methods: &'l [Method],
    pub(super) redirects: &'l [Redirect],
    pub(super) paths: &'l Paths,
}

/// The tables of all recipes in use.
#[derive(Default)]
pub(super) struct RecipeTables {
    pub(super) recipes: Vec<Recipe>,
    pub(super) steps: Vec<Step>,
    pub(super) params: Vec<StepParam>,
    pub(super) pieces: Vec<Piece>,
}

impl Lowering<'_> {
    /// The recipes of these names, one row each.
    pub(super) fn tables(&self, names: &[String], text: &mut Interner) -> RecipeTables {
        let mut tables = RecipeTables::default();
        for name in names {
            let found = self.deployment.recipes.iter().find(|recipe| recipe.name == *name);
            match found {
                Some(recipe) => self.push(recipe, &mut tables, text),
                // A checked deployment has them all; without steps a recipe answers with a failure.
                None => tables.recipes.push(Recipe {
                    name: text.add(name),
                    steps: Rows::NONE,
                    aggregation: Default::default(),
                }),
            }
        }
        tables
    }

    fn push(&self, recipe: &RecipeDecl, tables: &mut RecipeTables, text: &mut Interner) {
        let start = index(tables.steps.len());
        for step in &recipe.steps {
            let step = self.step(step, tables, text);
            tables.steps.push(step);
        }
        tables.recipes.push(Recipe {
            name: text.add(&recipe.name),
            steps: Rows { start, end: index(tables.steps.len()) },
            aggregation: recipe.aggregation,
        });
    }

    fn step(&self, step: &StepDecl, tables: &mut RecipeTables, text: &mut Interner) -> Step {
        let params = params(step, tables, text);
        let pieces = pieces(step, params, tables, text);
        // The declaration was checked, so its method has a row.
        let method = self.names.id(&step.method).unwrap_or(MethodId(0));
        let (mut target, mut endpoint) = ((method, step.path.text.clone()), None);
        if pieces.is_empty()
            && let Some((redirected, found)) = self.resolve(method, &step.path.text, text.blob())
        {
            (target, endpoint) = (redirected, Some(found));
        }
        Step {
            method: target.0,
            path: text.add(&target.1),
            endpoint,
            pieces,
            capture: text.add(step.capture_as.as_deref().unwrap_or("")),
            params,
        }
    }

    /// Where the gates would send a request. Nothing when they would refuse it, which is theirs to say at invocation.
    fn resolve(&self, method: MethodId, path: &str, text: &str) -> Option<((MethodId, String), EndpointId)> {
        let row = self.methods.get(usize::from(method.0))?;
        let entries = row.redirects.of(self.redirects);
        let redirect = entries.iter().find(|entry| {
            let from = entry.from_path.of(text);
            from.is_empty() || from == path
        });
        let (method, path) = match redirect {
            None => (method, path),
            Some(entry) if entry.to_path.is_empty() => (entry.to, path),
            Some(entry) => (entry.to, entry.to_path.of(text)),
        };
        let row = self.methods.get(usize::from(method.0)).filter(|row| row.admitted)?;
        let mut segments = Vec::new();
        split_segments(path.as_bytes(), path.len(), &mut segments);
        let endpoint = self.paths.router.route(row.routes, path.as_bytes(), &segments, text)?;
        Some(((method, path.to_owned()), endpoint))
    }
}

fn params(step: &StepDecl, tables: &mut RecipeTables, text: &mut Interner) -> Rows {
    let start = index(tables.params.len());
    for parameter in &step.parameters {
        let source = match &parameter.value {
            ParameterValue::Proposal(key) => ParamSource::Proposal(text.add(key)),
            ParameterValue::Constant(value) => ParamSource::Constant(text.add(&value.to_string())),
            ParameterValue::Previous { step, pointer } => {
                ParamSource::Previous { step: index(*step), pointer: text.add(pointer) }
            }
        };
        let fills = |segment: &TemplateSegment| matches!(segment, TemplateSegment::Param(name) if *name == parameter.name);
        let in_path = step.path.segments.iter().any(fills);
        tables.params.push(StepParam { name: text.add(&parameter.name), source, in_path });
    }
    Rows { start, end: index(tables.params.len()) }
}

/// The parts of a path with parameters; none of a static one.
fn pieces(step: &StepDecl, params: Rows, tables: &mut RecipeTables, text: &mut Interner) -> Rows {
    let start = index(tables.pieces.len());
    let mut literal = String::new();
    for segment in &step.path.segments {
        literal.push('/');
        match segment {
            TemplateSegment::Literal(written) => literal.push_str(written),
            TemplateSegment::Param(name) => {
                let row = step.parameters.iter().position(|parameter| parameter.name == *name);
                tables.pieces.push(Piece::Literal(text.add(&std::mem::take(&mut literal))));
                // The declaration was checked: every parameter of the path is filled.
                tables.pieces.push(Piece::Param(params.start + index(row.unwrap_or(0))));
            }
        }
    }
    if tables.pieces.len() > start as usize && !literal.is_empty() {
        tables.pieces.push(Piece::Literal(text.add(&literal)));
    }
    Rows { start, end: index(tables.pieces.len()) }
}
