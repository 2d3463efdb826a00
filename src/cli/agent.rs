//! Identity documents, for callers: who is speaking, and what it may claim.

use super::Failure;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Where agents are looked up by name.
const DIRECTORY: &str = "agents";

/// How identity documents are called.
const SUFFIX: &str = ".agent.json";

/// A caller's identity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Caller {
    /// 64 lowercase hexadecimal digits, unless the document says otherwise: the server will tell.
    pub(super) agent_id: String,
    /// Granted scopes.
    pub(super) scopes: Vec<String>,
}

/// Reads the identity document of `--agent`: a file, or a name in `./agents`.
pub(super) fn load(name_or_file: &str) -> Result<Caller, Failure> {
    let path = find(name_or_file, Path::new(DIRECTORY))?;
    let document = read_json(&path)?;
    let Some(agent_id) = document.get("agent_id").and_then(Value::as_str) else {
        return Err(Failure(format!("{} has no agent_id, so it is no identity document", path.display())));
    };
    let required = strings(document.pointer("/requires/scopes"));
    let scopes = if required.is_empty() { genesis_scopes(&path)? } else { required };
    Ok(Caller { agent_id: agent_id.to_owned(), scopes })
}

fn find(name_or_file: &str, directory: &Path) -> Result<PathBuf, Failure> {
    let file = Path::new(name_or_file);
    if file.is_file() {
        return Ok(file.to_owned());
    }
    let named = directory.join(format!("{name_or_file}{SUFFIX}"));
    if named.is_file() {
        return Ok(named);
    }
    let known = names_in(directory);
    Err(Failure(if known.is_empty() {
        format!(
            "no agent {name_or_file}: it is no file, and ./{DIRECTORY} holds no identity documents; give a path to one"
        )
    } else {
        format!("no agent {name_or_file}: it is no file, and ./{DIRECTORY} has {}", known.join(", "))
    }))
}

fn names_in(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let mut names: Vec<_> = entries
        .filter_map(|entry| entry.file_name().to_str()?.strip_suffix(SUFFIX).map(str::to_owned))
        .collect();
    names.sort();
    names
}

/// The scopes of the Genesis beside an identity document (facts page 7), none if there is no such file.
fn genesis_scopes(document: &Path) -> Result<Vec<String>, Failure> {
    let genesis = document
        .to_str()
        .and_then(|path| path.strip_suffix(SUFFIX))
        .map(|stem| format!("{stem}.genesis.json"));
    match genesis.map(PathBuf::from).filter(|path| path.is_file()) {
        Some(path) => read_json(&path).map(|genesis| strings(genesis.get("scope"))),
        None => Ok(Vec::new()),
    }
}

fn read_json(path: &Path) -> Result<Value, Failure> {
    let text = std::fs::read_to_string(path).map_err(|error| Failure::file(path, &error))?;
    serde_json::from_str(&text).map_err(|error| Failure(format!("{} is no JSON: {error}", path.display())))
}

fn strings(value: Option<&Value>) -> Vec<String> {
    let items = value.and_then(Value::as_array).into_iter().flatten();
    items.filter_map(Value::as_str).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(name: &str) -> String {
        format!("{}/agents/{name}.agent.json", env!("CARGO_MANIFEST_DIR"))
    }

    #[test]
    fn an_identity_document_gives_id_and_scopes() {
        let caller = load(&sample("concierge")).unwrap();
        assert_eq!(caller.agent_id.len(), 64);
        assert_eq!(caller.scopes, ["booking:*", "reservations:*"]);
    }

    #[test]
    fn without_required_scopes_the_genesis_decides() {
        assert_eq!(genesis_scopes(Path::new(&sample("former"))).unwrap(), ["booking:room"]);
        assert!(genesis_scopes(Path::new("elsewhere.json")).unwrap().is_empty());
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_known_ones() {
        let directory = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/agents"));
        let Failure(message) = find("nobody", directory).unwrap_err();
        assert!(message.contains("concierge, former, guest"), "{message}");
        let Failure(message) = find("nobody", Path::new("/nonexistent")).unwrap_err();
        assert!(message.contains("give a path"), "{message}");
    }

    #[test]
    fn a_file_that_is_no_identity_document_is_refused() {
        let Failure(message) =
            load(concat!(env!("CARGO_MANIFEST_DIR"), "/catalog/methods.json")).unwrap_err();
        assert!(message.contains("no agent_id"), "{message}");
    }
}
