//! The small commands: scaffolds, explanations, completions, manual pages.

use super::common::Folder;
use std::path::Path;
use std::process::{Command, Output};

fn agtp(dir: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_agtp")).args(arguments).current_dir(dir).output().unwrap()
}

#[test]
fn a_scaffold_is_valid_as_it_is_and_overwrites_nothing() {
    let folder = Folder::with(&[]);
    let new = ["new", "endpoint", "BOOK", "/tables/{table_id}"];
    let made = agtp(folder.path(), &new);
    assert_eq!(made.status.code(), Some(0), "{}", String::from_utf8_lossy(&made.stderr));
    let checked = agtp(folder.path(), &["check", "."]);
    assert_eq!(String::from_utf8_lossy(&checked.stdout), "no faults\n");
    assert_eq!(agtp(folder.path(), &new).status.code(), Some(2));
    for (method, path, said) in
        [("BOKO", "/a", "BOOK"), ("FETCH", "/book/{id}", "BOOK"), ("FETCH", "a", "/a")]
    {
        let refused = agtp(folder.path(), &["new", "endpoint", method, path]);
        let told = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert_eq!((refused.status.code(), told.lines().count()), (Some(2), 1), "{told}");
        assert!(told.contains(said), "{told}");
    }
    assert_eq!(std::fs::read_dir(folder.path().join("endpoints")).unwrap().count(), 1);
}

#[test]
fn statuses_are_explained() {
    let folder = Folder::with(&[]);
    let one = String::from_utf8(agtp(folder.path(), &["explain", "460"]).stdout).unwrap();
    assert!(one.starts_with("460 Endpoint Violation\n") && one.lines().count() == 3, "{one}");
    let all = String::from_utf8(agtp(folder.path(), &["explain"]).stdout).unwrap();
    assert!(all.contains("\n405 Method Not Allowed\n") && all.contains("551 "), "{all}");
    assert_eq!(agtp(folder.path(), &["explain", "418"]).status.code(), Some(2));
}

#[test]
fn shells_and_man_are_served() {
    let folder = Folder::with(&[]);
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = agtp(folder.path(), &["completions", shell]);
        assert!(String::from_utf8_lossy(&script.stdout).contains("import-openapi"), "{shell}");
    }
    assert_eq!(agtp(folder.path(), &["man", "pages"]).status.code(), Some(0));
    for page in ["agtp.1", "agtp-serve.1", "agtp-import-openapi.1", "agtp-new-endpoint.1", "agtp-agent-new.1"]
    {
        let text = std::fs::read_to_string(folder.path().join("pages").join(page)).unwrap();
        assert!(text.contains(".SH NAME") && text.contains(page.trim_end_matches(".1")), "{page}: {text}");
    }
}
