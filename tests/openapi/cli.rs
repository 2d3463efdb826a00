//! The two commands as people type them.

use super::common::Folder;
use super::fixture;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Output, Stdio};

fn agtp(dir: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_agtp")).args(arguments).current_dir(dir).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// A folder with the pet shop's document, as `spec.yaml`.
fn folder() -> Folder {
    Folder::with(&[("spec.yaml", &fixture("petshop.yaml"))])
}

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<_> = std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_document_becomes_a_deployment_that_check_takes() {
    let folder = folder();
    let imported = agtp(folder.path(), &["import-openapi", "spec.yaml", "--output", "shop"]);
    let told = text(&imported.stdout);
    assert_eq!(imported.status.code(), Some(0), "{told}{}", text(&imported.stderr));
    for said in [
        "8 of 12 operations",
        "left out: TRACE /photos",
        "review: GET /pets: input_schema",
        "set PET_SHOP_TOKEN",
    ] {
        assert!(told.contains(said), "{said}: {told}");
    }
    assert_eq!(names(&folder.path().join("shop")), ["agtp-server.toml", "endpoints"]);
    let settings = std::fs::read_to_string(folder.path().join("shop/agtp-server.toml")).unwrap();
    assert!(
        settings.contains("PET_SHOP_TOKEN")
            && settings.contains("base_url = \"https://eu.petshop.example/v2\"")
    );
    let checked = agtp(folder.path(), &["check", "shop"]);
    assert_eq!((checked.status.code(), text(&checked.stdout).as_str()), (Some(0), "no faults\n"));
    assert_eq!(names(folder.path()), ["endpoints", "shop", "spec.yaml"], "nothing is left beside it");
    let json = agtp(folder.path(), &["import-openapi", "spec.yaml", "--output", "again", "--json"]);
    let report: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(report["written"].as_array().unwrap().len(), 8);
    assert_eq!(report["left_out"][0]["operation"], "GET /elsewhere");
}

#[test]
fn nothing_is_overwritten_unless_that_is_said() {
    let folder = folder();
    let import = ["import-openapi", "spec.yaml", "--output", "shop"];
    assert_eq!(agtp(folder.path(), &import).status.code(), Some(0));
    let file = folder.path().join("shop/endpoints/list-pets.toml");
    let settings = folder.path().join("shop/agtp-server.toml");
    std::fs::write(&file, "mine").unwrap();
    std::fs::write(&settings, "[server]\nserver_id = \"mine\"\n").unwrap();
    let refused = agtp(folder.path(), &import);
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stderr).contains("--force") && text(&refused.stderr).lines().count() == 1);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "mine");
    let forced = agtp(folder.path(), &[&import[..], &["--force"]].concat());
    assert_eq!(forced.status.code(), Some(0), "{}", text(&forced.stderr));
    assert!(std::fs::read_to_string(&file).unwrap().contains("LIST"));
    assert!(
        std::fs::read_to_string(&settings).unwrap().contains("mine"),
        "settings are only written if missing"
    );
    assert_eq!(names(folder.path()), ["endpoints", "shop", "spec.yaml"]);
}

#[test]
fn strict_writes_nothing_as_long_as_there_is_something_to_review() {
    let folder = folder();
    let strict = agtp(folder.path(), &["import-openapi", "spec.yaml", "--output", "shop", "--strict"]);
    assert_eq!(strict.status.code(), Some(1));
    assert!(text(&strict.stdout).contains("nothing is written"));
    assert!(!folder.path().join("shop").exists());
}

#[test]
fn what_cannot_be_imported_is_told_in_one_line() {
    let folder = folder();
    let relative = r#"{"openapi":"3.0.0","servers":[{"url":"/v3"}],"paths":{"/a":{"get":{"responses":{}}}}}"#;
    std::fs::write(folder.path().join("relative.json"), relative).unwrap();
    std::fs::write(folder.path().join("old.json"), r#"{"swagger":"2.0"}"#).unwrap();
    for (spec, said) in [("relative.json", "--base-url"), ("old.json", "Swagger"), ("none.json", "none.json")]
    {
        let failed = agtp(folder.path(), &["import-openapi", spec, "--output", "x"]);
        let told = text(&failed.stderr);
        assert_eq!((failed.status.code(), told.lines().count()), (Some(2), 1), "{told}");
        assert!(told.contains(said), "{told}");
    }
    let given = ["import-openapi", "relative.json", "--output", "x", "--base-url", "https://h.example/v3"];
    assert_eq!(agtp(folder.path(), &given).status.code(), Some(0));
}

#[test]
fn a_deployment_the_compiled_in_one_and_a_live_server_are_exported_alike() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let exported = |arguments: &[&str]| {
        let output = agtp(root, &[&["export-openapi"], arguments].concat());
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap()
    };
    let (compiled, directory) = (exported(&[]), exported(&["--deployment", "."]));
    assert_eq!(compiled, directory);
    let mut server = Command::new(env!("CARGO_BIN_EXE_agtp"))
        .args(["serve", "--insecure", "--listen", "127.0.0.1:0", "--cores", "1", "--runtime", "epoll"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut ready = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut ready).unwrap();
    let address = ready.trim().trim_start_matches("listening on ").trim_end_matches(", plaintext").to_owned();
    let live = exported(&[&address, "--insecure"]);
    server.kill().unwrap();
    server.wait().unwrap();
    assert_eq!(live["info"]["x-agtp-manifest"], address.as_str());
    assert_eq!(live["paths"], compiled["paths"]);
    let folder = folder();
    let file = ["export-openapi", "--output", "out.json"];
    assert_eq!(agtp(folder.path(), &file).status.code(), Some(0));
    let written = std::fs::read_to_string(folder.path().join("out.json")).unwrap();
    assert_eq!(serde_json::from_str::<serde_json::Value>(&written).unwrap(), compiled);
}
