//! A checked deployment to its tables.

mod agents;
mod builtins;
mod discovery;
mod documents;
mod endpoints;
mod floor;
mod leak;
mod methods;
mod paths;
mod perfect;
mod recipes;
mod redirects;
mod schemas;
mod text;
mod tries;

pub(super) use builtins::Entry;
pub use endpoints::FunctionUse;

use super::ManifestTimes;
use super::ir::Deployment;
use crate::identity::Agents;
use crate::registry::Registry;
use std::fmt;
use text::Interner;

/// The tables of a deployment, owned.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// What requests are answered from.
    pub registry: Registry,
    /// Who may call.
    pub agents: Agents,
    /// The registered functions, in the order of [`Registry::functions`].
    pub functions: Vec<FunctionUse>,
    /// What the operator should know although it is no fault: entries that have no effect.
    pub warnings: Vec<String>,
}

/// Why a valid deployment has no tables: it is too large for them, or its names collide.
#[derive(Debug, PartialEq, Eq)]
pub enum LowerError {
    /// More of something than an index can count.
    TooMany {
        /// Of what.
        what: &'static str,
        /// The largest number that works.
        most: usize,
    },
    /// Two names with the same 64-bit hash, which no perfect hash can part.
    HashCollision(String, String),
    /// The automaton over the method names could not be built.
    Automaton(String),
}

impl LowerError {
    pub(super) const TOO_MUCH_TEXT: LowerError =
        LowerError::TooMany { what: "bytes of text in all declarations", most: u32::MAX as usize };
}

impl fmt::Display for LowerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LowerError::TooMany { what, most } => {
                write!(f, "too many {what}: a deployment can have {most}; split it over several servers")
            }
            LowerError::HashCollision(first, second) => {
                write!(f, "the names {first:?} and {second:?} have the same hash; rename one of them")
            }
            LowerError::Automaton(reason) => write!(f, "the leak automaton cannot be built: {reason}"),
        }
    }
}

impl std::error::Error for LowerError {}

/// Compiles a checked deployment. Nothing in it is checked again.
pub fn lower(deployment: &Deployment, times: &ManifestTimes) -> Result<Compiled, LowerError> {
    let mut text = Interner::default();
    let mut warnings = Vec::new();
    let settings = &deployment.settings;
    let names = methods::Names::new(deployment)?;
    let entries = builtins::entries(deployment);
    let mut methods = names.table(&mut text);
    let mut tables = endpoints::EndpointTables::default();
    for entry in &entries {
        tables.push(entry, &names, &mut text);
    }
    let leak = leak::automaton(&names.path_verbs())?;
    let paths = paths::build(&entries, &tables.endpoints, &mut methods, &mut text)?;
    let reach = redirects::Reach { paths: &paths, leak: &leak };
    let redirects =
        redirects::table(&settings.methods.redirects, &names, &reach, &mut methods, &mut text, &mut warnings);
    let agents = agents::table(&deployment.agents)?;
    let recipes = recipes::Lowering {
        deployment,
        names: &names,
        methods: &methods,
        redirects: &redirects,
        paths: &paths,
    }
    .tables(&tables.recipes, &mut text);
    let registry = Registry {
        discovery: discovery::index_of(
            deployment,
            &entries,
            &methods,
            &tables.endpoints,
            &agents,
            &mut text,
        )?,
        verbs: methods::verb_set(&names)?,
        heads: documents::heads(&settings.server, &mut text).into(),
        supported_methods: text.add(&documents::supported_methods(&methods, &text)),
        general_redirects_json: text.add(&redirects::general_json(&redirects, &methods, &text)),
        path_bound_redirects: redirects.iter().any(|redirect| !redirect.from_path.is_empty()),
        documents: documents::documents(deployment, &entries, times, &mut text),
        catalog_version: text.add(&deployment.catalog.version),
        server_id: text.add(&settings.server.server_id),
        functions: tables.functions.iter().map(|function| text.add(&function.name)).collect(),
        externals: tables.externals.into(),
        pairs: tables.pairs.into(),
        methods: methods.into(),
        redirects: redirects.into(),
        router: paths.router,
        endpoints: tables.endpoints.into(),
        params: tables.params.into(),
        properties: tables.properties.into(),
        scopes: tables.scopes.into(),
        errors: tables.errors.into(),
        known_paths: paths.known_paths.into(),
        path_methods: paths.path_methods.into(),
        schemas: tables.schemas.into(),
        recipes: recipes.recipes.into(),
        steps: recipes.steps.into(),
        step_params: recipes.params.into(),
        step_pieces: recipes.pieces.into(),
        leak,
        policies: settings.policies,
        disclosure: settings.disclosure,
        limits: settings.limits,
        text: text.finish().ok_or(LowerError::TOO_MUCH_TEXT)?.into(),
    };
    Ok(Compiled { registry, agents, functions: tables.functions, warnings })
}

/// A header value made of what D14 allows in one: whatever else an operator wrote becomes `?`, so that no document can
/// add header lines of its own.
fn header_value(text: &str) -> String {
    text.chars().map(|c| if c == ' ' || c.is_ascii_graphic() { c } else { '?' }).collect()
}

#[cfg(test)]
pub(crate) mod fixture;
#[cfg(test)]
mod tests;
