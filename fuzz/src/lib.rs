//! What the fuzz targets and the replay of their corpora (`tests/fuzz_corpus.rs`) share.

use agtp::compiler::{ManifestTimes, ReadOptions, lower, read};
use agtp::engine::Engine;
use std::path::Path;
use std::sync::LazyLock;

/// The engine for the deployment in `fuzz/deployment`.
pub fn engine() -> &'static Engine<'static> {
    static ENGINE: LazyLock<Engine<'static>> = LazyLock::new(|| {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let dir =
            [root.join("deployment"), root.join("fuzz/deployment")].into_iter().find(|dir| dir.is_dir());
        let reading = read(
            &dir.expect("fuzz/deployment"),
            &ReadOptions { known_functions: Some(&["echo"]), ..ReadOptions::default() },
        );
        assert!(reading.report.errors() == 0, "{}", reading.report);
        let compiled = lower(&reading.deployment.expect("a deployment"), &ManifestTimes::default());
        let compiled = Box::leak(Box::new(compiled.expect("tables")));
        Engine::new(&compiled.registry, &compiled.agents, &[]).expect("an engine")
    });
    &ENGINE
}

/// An endpoint declaration that the compiler has nothing against can be served.
pub fn endpoint_toml(data: &[u8]) {
    if let Some(compiled) = agtp::compiler::fuzz::endpoint(data) {
        agtp::engine::fuzz::starts(&compiled.registry, &compiled.agents);
    }
}
