//! Fuzz bodies: each takes any bytes and asserts what must hold for all of them.

use super::{Compiled, ManifestTimes, ReadOptions, lower, read_documents};
use crate::catalog::Catalog;
use serde_json::Value;
use std::sync::LazyLock;

const ENDPOINT: &str = "endpoints/fuzzed.toml";
const SETTINGS: &str = "[server]\nserver_id = \"fuzz.example\"\n[catalog]\nfile = \"catalog.json\"\n";

/// The canonical catalog with a tenth of its verbs: reading all of them takes longer than all else.
static CATALOG: LazyLock<String> = LazyLock::new(|| {
    let mut catalog: Value =
        serde_json::from_str(include_str!("../../catalog/methods.json")).unwrap_or_default();
    let builtin = Catalog::builtin();
    let needed =
        |verb: &str| builtin.is_floor(verb) || builtin.legacy.iter().any(|legacy| legacy.preferred == verb);
    if let Some(verbs) = catalog.get_mut("verbs").and_then(Value::as_object_mut) {
        let mut row = 0;
        verbs.retain(|verb, _| {
            row += 1;
            needed(verb) || verb == "BOOK" || verb == "FIND" || row % 20 == 0
        });
    }
    catalog.to_string()
});

/// An endpoint is refused with faults that lie in it, or becomes tables.
pub fn endpoint(data: &[u8]) -> Option<Compiled> {
    let text = std::str::from_utf8(data).ok()?;
    let documents = [("agtp-server.toml", SETTINGS), ("catalog.json", CATALOG.as_str()), (ENDPOINT, text)];
    let reading = read_documents(
        &documents,
        &ReadOptions { known_functions: Some(&["echo"]), ..ReadOptions::default() },
    );
    let lines = text.lines().count() as u32 + 1;
    for fault in &reading.report.faults {
        assert!(fault.source.file == ENDPOINT && fault.source.line <= lines, "{fault}");
        assert!(!fault.message.is_empty() && !fault.remedy.is_empty(), "{fault}");
    }
    let deployment = reading.deployment?;
    assert_eq!(deployment.endpoints.is_empty(), reading.report.errors() > 0, "{}", reading.report);
    if deployment.endpoints.is_empty() {
        return None;
    }
    Some(lower(&deployment, &ManifestTimes::default()).unwrap_or_else(|error| panic!("{error}")))
}
