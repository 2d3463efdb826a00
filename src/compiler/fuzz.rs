//! Fuzz bodies: each takes any bytes and asserts what must hold for all of them.

use super::{Compiled, ManifestTimes, ReadOptions, lower, read_documents};

const ENDPOINT: &str = "endpoints/fuzzed.toml";
const SETTINGS: &str = "[server]\nserver_id = \"fuzz.example\"\n";

/// An endpoint is refused with faults that lie in it, or becomes tables.
pub fn endpoint(data: &[u8]) -> Option<Compiled> {
    let text = std::str::from_utf8(data).ok()?;
    let options = ReadOptions { known_functions: Some(&["echo"]) };
    let reading = read_documents(&[("agtp-server.toml", SETTINGS), (ENDPOINT, text)], &options);
    let lines = text.lines().count() as u32 + 1;
    for fault in &reading.report.faults {
        assert!(fault.source.file == ENDPOINT && fault.source.line <= lines, "{fault}");
        assert!(!fault.message.is_empty() && !fault.remedy.is_empty(), "{fault}");
    }
    assert!(reading.report.to_json().is_object());
    let deployment = reading.deployment?;
    assert_eq!(deployment.endpoints.is_empty(), reading.report.errors() > 0, "{}", reading.report);
    Some(lower(&deployment, &ManifestTimes::default()).unwrap_or_else(|error| panic!("{error}")))
}
