//! Whole deployments.

use super::*;

#[test]
fn what_is_no_directory_is_unusable() {
    let directory = Directory::new(&[("file", "")]);
    let unusable = |name: &str| read(&directory.root.join(name), &ReadOptions::default()).unusable.unwrap();
    assert!(unusable("none").ends_with("no such directory"));
    assert!(unusable("file").ends_with("not a directory"));
}

#[test]
fn an_empty_directory_is_a_deployment_with_a_warning() {
    let reading = reading(&[]);
    assert_eq!(shown(&reading.report.faults), ["endpoints:0 no-endpoints"]);
    assert_eq!((reading.report.errors(), reading.report.warnings()), (0, 1));
    assert!(reading.deployment.is_some() && reading.unusable.is_none());
}

#[test]
fn files_that_cannot_be_read_are_reported() {
    let directory = Directory::new(&[
        ("endpoints/dir.toml/x", ""),
        ("endpoints/.hidden.toml", "["),
        ("endpoints/b.md", "["),
    ]);
    directory.write("endpoints/latin.toml", b"[endpoint]\nmethod = \"B\xd6\xd6K\"\n");
    let reading = directory.read();
    assert_eq!(
        shown(&reading.report.faults),
        ["endpoints/dir.toml:0 unreadable-file", "endpoints/latin.toml:2 not-utf-8"]
    );
    assert!(reading.deployment.is_none(), "an unreadable file refuses to start");
}

const FAULTY_SETTINGS: &str = r#"[sever]
[limits]
body_bytes = 0
[policies.methods]
legacy = ["GTE"]
[policies.methods.aliases]
AAA = "BBB"
BBB = "AAA"
"#;

#[test]
fn fifty_faults_of_one_deployment_are_all_reported() {
    let mut files = vec![
        ("agtp-server.toml".to_owned(), FAULTY_SETTINGS.to_owned()),
        ("agtp-recipes.toml".to_owned(), "[[recipe]]\nname = \"r\"\nsteps = []\n".to_owned()),
        ("agents/a.agent.json".to_owned(), "{}".to_owned()),
        ("endpoints/syntax.toml".to_owned(), "[".to_owned()),
    ];
    let mut expected: Vec<String> = [
        "agents/a.agent.json:1 missing-field",
        "agents/a.agent.json:1 missing-field",
        "agtp-recipes.toml:1 recipe-without-steps",
        "agtp-server.toml:1 unknown-key",
        "agtp-server.toml:3 setting-limit",
        "agtp-server.toml:5 legacy-unknown-verb",
        "agtp-server.toml:7 alias-chain",
        "agtp-server.toml:8 alias-chain",
        "endpoints/syntax.toml:1 toml-syntax",
    ]
    .map(str::to_owned)
    .to_vec();
    let edits: &[(&str, &str, u32, &str)] = &[
        ("\"BOOK\"", "\"BOKO\"", 2, "method-unknown"),
        ("description", "descriptions", 4, "unknown-key"),
        ("\"booking:room\"", "\"booking\"", 5, "scope-form"),
        ("0.85", "8.5", 13, "semantic-confidence"),
        ("\"irreversible\"", "\"no\"", 14, "semantic-impact"),
        ("false", "0", 15, "wrong-type"),
        ("\"registered_function\"", "\"function\"", 27, "handler-type"),
    ];
    // Six endpoints with seven faults each; the missing description comes with its misspelling.
    for number in 0..6 {
        let name = format!("endpoints/e{number}.toml");
        let mut text = ENDPOINT.replace("/rooms", &format!("/rooms{number}"));
        for (from, to, line, code) in edits {
            text = text.replacen(from, to, 1);
            expected.push(format!("{name}:{line} {code}"));
        }
        expected.push(format!("{name}:1 missing-field"));
        files.push((name, text));
    }
    let files: Vec<_> = files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let mut found = faults(&files);
    found.sort();
    expected.sort();
    assert!(expected.len() >= 50);
    assert_eq!(found, expected);
}

#[test]
fn no_text_makes_the_readers_fall_over() {
    let (faults, catalog) = (Faults::default(), Catalog::builtin());
    let context = Context {
        vocabulary: &Vocabulary::new(&catalog, &[]),
        settings: &Settings::default(),
        recipes: &[],
        schemas: &SchemaChecker::default(),
        options: &ReadOptions::default(),
    };
    for end in 0..ENDPOINT.len() {
        _ = endpoint::read("a.toml", &ENDPOINT[..end], &context, &faults);
    }
    // Every value in turn as every other type.
    for line in ENDPOINT.lines().filter(|line| line.contains(" = ")) {
        let key = line.split(" = ").next().unwrap();
        for value in
            ["1", "-1.5e300", "nan", "true", "\"\"", "\"/{\"", "[]", "[[1], {}]", "{ a = {} }", "1979-05-27"]
        {
            let text = ENDPOINT.replacen(line, &format!("{key} = {value}"), 1);
            _ = endpoint::read("a.toml", &text, &context, &faults);
        }
    }
    assert!(faults.errors() > 0);
}

#[test]
fn two_thousand_endpoints_are_read() {
    let directory = Directory::new(&[]);
    for number in 0..2_000 {
        let text = ENDPOINT.replace("/rooms/", &format!("/rooms{number}/"));
        directory.write(&format!("endpoints/{number:04}.toml"), text.as_bytes());
    }
    let reading = directory.read();
    assert_eq!(reading.report.to_string(), "no faults");
    assert_eq!(reading.deployment.unwrap().endpoints.len(), 2_000);
}

#[test]
fn the_report_says_what_to_do() {
    let text = edited("/rooms/", "/rooms/book/");
    let report = reading(&[("endpoints/book-room.toml", &text)]).report;
    let expected = "\
endpoints/book-room.toml:3: error[path-carries-verb]: segment \"book\" is the method name BOOK (draft: Path Rules)
  help: name the resource there; the method of the request says what is done with it
1 error";
    assert_eq!(report.to_string(), expected);
}
