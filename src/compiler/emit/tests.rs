use super::*;
use crate::catalog::Catalog;
use crate::compiler::ir::{ExternalDecl, HandlerDecl};
use crate::compiler::lower;
use crate::compiler::lower::fixture::{agent, deployment, endpoint, times};

/// A deployment that uses every kind of row, over a catalog of two verbs.
fn small() -> Compiled {
    let mut book = endpoint("BOOK", "/rooms/{room_id}");
    book.required_scopes = vec!["booking:room".to_owned()];
    book.errors = vec!["room_unavailable".to_owned()];
    book.input_schema["properties"]["nights"] = serde_json::json!({"type": "integer"});
    book.description = "Says \"\u{e9}t\u{e9}\" and \\ back.".to_owned();
    let mut echo = endpoint("FETCH", "/a/long-segment-name");
    echo.handler = HandlerDecl::Function("echo".to_owned());
    let mut quote = endpoint("FETCH", "/quotes/{id}");
    quote.handler = HandlerDecl::External(Box::new(ExternalDecl {
        url: "https://quotes.example/v1/{id}".to_owned(),
        method: "GET".to_owned(),
        headers: vec![("Authorization".to_owned(), "Bearer ${TOKEN}".to_owned())],
        output_transform: vec![("price".to_owned(), "amount".to_owned())],
        error_map: vec![("404".to_owned(), "no_quote".to_owned())],
        deferred: true,
        ..ExternalDecl::default()
    }));
    let mut deployment = deployment(vec![book, echo, quote]);
    deployment.catalog.verbs.retain(|verb| ["BOOK", "FETCH"].contains(&verb.name.as_str()));
    deployment.settings.methods.redirects.push(crate::compiler::ir::RedirectDecl {
        from_method: "BOOK".to_owned(),
        from_path: Some("/room".to_owned()),
        to_method: "FETCH".to_owned(),
        to_path: None,
    });
    deployment.agents = vec![agent('a', "lauren")];
    lower(&deployment, &times()).unwrap()
}

/// The emitted source is reviewed like any other: `BLESS=1 cargo test` rewrites the snapshot.
#[test]
fn the_emitted_source_is_as_reviewed() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/snapshots/small-deployment.rs.snap");
    let emitted = emit(&small());
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(path, &emitted).unwrap();
    }
    let reviewed = std::fs::read_to_string(path).unwrap_or_default();
    let differing = emitted.lines().zip(reviewed.lines()).position(|(emitted, reviewed)| emitted != reviewed);
    let advice = "look at the difference, then run the test with BLESS=1";
    assert!(
        emitted == reviewed,
        "{path} differs, first in line {:?}: {advice}",
        differing.map(|line| line + 1)
    );
}

#[test]
fn the_same_input_gives_the_same_source() {
    assert_eq!(emit(&small()), emit(&small()));
}

#[test]
fn an_unbound_name_is_an_error_on_a_line_that_names_the_declaration() {
    let source = emit(&small());
    assert!(source.contains(
        "/* endpoints/book.toml */ rt::engine::Function::new(\"functions::book\", handlers::functions::book),"
    ));
    assert!(source.contains("rt::engine::Function::new(\"echo\", rt::handler::echo),"));
}

#[test]
fn an_empty_deployment_has_tables_too() {
    let mut empty = deployment(vec![]);
    empty.catalog = Catalog::default();
    let source = emit(&lower(&empty, &times()).unwrap());
    assert!(source.contains("static REDIRECTS: [Redirect; 0] = [\n];"));
    assert!(source.contains("static AGENT_INDEX: [u32; 2] = [\n0,0,\n];"));
}

/// What `build.rs` emitted is compiled into this very crate: the tables must be those that were lowered.
#[cfg(feature = "cli")]
mod compiled_in {
    use crate::compiler::{ManifestTimes, ReadOptions, lower, read};
    use crate::registry::Registry;
    use std::path::Path;

    mod handlers {
        pub(super) use crate::handler::hotel::{reservations, rooms, stays};
    }

    crate::include_registry!();

    /// The times that the build script wrote into the manifest.
    fn times(registry: &Registry) -> ManifestTimes {
        let manifest: serde_json::Value =
            serde_json::from_str(registry.str(registry.documents.manifest)).unwrap();
        let time = |key: &str| manifest["server"][key].as_str().unwrap().to_owned();
        ManifestTimes { issued: time("issued"), updated: time("updated") }
    }

    #[test]
    fn emitted_tables_are_the_lowered_ones() {
        let reading = read(Path::new(env!("CARGO_MANIFEST_DIR")), &ReadOptions::default());
        let compiled = lower(&reading.deployment.unwrap(), &times(&REGISTRY)).unwrap();
        assert_eq!(compiled.registry.text, REGISTRY.text);
        assert_eq!(format!("{:?}", compiled.registry), format!("{REGISTRY:?}"));
        assert_eq!(format!("{:?}", compiled.agents), format!("{AGENTS:?}"));
        let names = compiled.functions.iter().map(|function| function.name.as_str());
        assert!(names.eq(functions().iter().map(|function| function.name())));
    }

    #[test]
    fn the_documents_are_those_of_the_deployment() {
        for (name, text) in DOCUMENTS {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
            assert_eq!(std::fs::read_to_string(path).unwrap(), *text, "{name}");
        }
        let has = |wanted: &str| DOCUMENTS.iter().any(|(name, _)| *name == wanted);
        assert!(has("agtp-server.toml") && has("endpoints/book-room.toml"));
    }
}
