//! What upstreams need of where the server runs: variables, certificate authorities, and that they can be reached.

use super::Failure;
use crate::compiler::ir::{Deployment, HandlerDecl};
use crate::compiler::{Fault, rules};
use crate::registry::Registry;
use crate::server::UpstreamRoots;
use crate::wire::is_header_value;
use std::path::Path;
use std::time::Duration;
use toml::{Table, Value};

/// Time for each step of reaching an upstream.
const PATIENCE: Duration = Duration::from_secs(10);

/// The variable's value, if a header can hold it.
pub(super) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|text| is_header_value(text))
}

/// Whether [`variable`] finds one.
pub(super) fn has_variable(name: &str) -> bool {
    variable(name).is_some()
}

/// Whether all variables of a registry's upstreams are set.
pub(super) fn has_variables(registry: &Registry) -> bool {
    let headers = registry.externals.iter().flat_map(|external| external.headers.of(&registry.pairs));
    let names = headers.flat_map(|header| registry.str(header.value).split("${").skip(1));
    names.filter_map(|rest| rest.split_once('}')).all(|(name, _)| has_variable(name))
}

/// Who may vouch for upstreams, by the `[upstream]` of an agtp-server.toml. `origin` is what messages call that file,
/// and `base` where its file names begin.
pub(super) fn roots(settings: &str, origin: &str, base: &Path) -> Result<UpstreamRoots, Failure> {
    let settings: Table = settings.parse().unwrap_or_default();
    let file = settings.get("upstream").and_then(|upstream| upstream.get("ca_file")).and_then(Value::as_str);
    let file = file.map(|file| base.join(file));
    let pem = file.as_ref().map(|file| std::fs::read(file).map_err(|error| Failure::file(file, &error)));
    UpstreamRoots::system_and(pem.transpose()?.as_deref())
        .map_err(|error| Failure(format!("{origin}: upstream.ca_file: {error}")))
}

/// The upstreams that cannot be reached, but for the deferred ones.
pub(super) fn unreachable(deployment: &Deployment, roots: &UpstreamRoots) -> Vec<Fault> {
    let probe = |endpoint: &crate::compiler::ir::EndpointDecl| {
        let HandlerDecl::External(external) = &endpoint.handler else { return None };
        if external.deferred {
            return None;
        }
        let why = roots.probe(&external.url, PATIENCE).err()?;
        let message = format!("the upstream {} cannot be reached: {why}", external.url);
        let help = "correct the url, see to the network, or set deferred = true";
        Some(Fault::new(&rules::UPSTREAM_UNREACHABLE, endpoint.source.clone(), message, help))
    };
    deployment.endpoints.iter().filter_map(probe).collect()
}
