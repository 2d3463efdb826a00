use super::*;

const TEXT: &str = include_str!("../../catalog/methods.json");

/// The codes and lines of a catalog text's faults.
fn faults(text: &str) -> Vec<(&'static str, u32)> {
    Catalog::parse_lenient(text).1.iter().map(|fault| (fault.code, fault.line)).collect()
}

/// The canonical text with a replacement made, which must take place.
fn edited(from: &str, to: &str) -> String {
    assert!(TEXT.contains(from), "{from}");
    TEXT.replacen(from, to, 1)
}

/// The first line of the canonical text that holds `needle`.
fn line_of(needle: &str) -> u32 {
    TEXT.lines().position(|line| line.contains(needle)).unwrap() as u32 + 1
}

#[test]
fn the_canonical_catalog_is_whole() {
    let catalog = Catalog::builtin();
    assert_eq!(catalog.version, "1.0.0");
    assert_eq!(catalog.verbs.len(), 425);
    assert_eq!((catalog.embedded.len(), catalog.legacy.len(), catalog.categories.len()), (18, 5, 9));
    assert!(catalog.verbs.windows(2).all(|pair| pair[0].name < pair[1].name));
    assert_eq!(catalog.verb("BOOK").unwrap().name, "BOOK");
    assert_eq!(catalog.legacy_verb("GET").unwrap().preferred, "FETCH");
    assert!(catalog.verb("GET").is_none() && catalog.verb("BOO").is_none());
    assert!(catalog.is_floor("QUERY") && !catalog.is_floor("BOOK"));
}

/// A piece of the canonical text, what it is replaced by, and the faults that makes.
type Case = (&'static str, &'static str, Vec<(&'static str, u32)>);

#[test]
fn each_fault_has_its_code_and_line() {
    let book = line_of("\"BOOK\":");
    let unmount = line_of("\"UNMOUNT\":");
    let cases: Vec<Case> = vec![
        ("\"1.0.0\"", "\"1.0\"", vec![("catalog-version", 2)]),
        ("\"1.0.0\"", "\"01.0.0\"", vec![("catalog-version", 2)]),
        ("\"version\"", "\"versoin\"", vec![("catalog-missing-key", 1), ("catalog-unknown-key", 2)]),
        ("    \"QUERY\",\n", "", vec![("catalog-embedded", 3)]),
        ("    \"QUERY\",\n", "    \"BOOK\",\n", vec![("catalog-embedded", 3); 2]),
        ("    \"QUERY\",\n", "    \"QUERY\", \"QUERY\",\n", vec![("catalog-embedded", 3)]),
        ("\"BOOK\":", "\"book\":", vec![("catalog-verb-form", book)]),
        ("\"BOOK\":", "\"BO\":", vec![("catalog-verb-form", book)]),
        ("\"UNMOUNT\":", "\"BOOK\":", vec![("catalog-duplicate-key", unmount)]),
        ("\"UNMOUNT\":", "\"PUT\":", vec![("catalog-http-verb", unmount)]),
        (
            "\"preferred\": \"FETCH\"",
            "\"preferred\": \"FETSCH\"",
            vec![("catalog-legacy", line_of("\"GET\":"))],
        ),
        (
            "\"preferred\": \"FETCH\", ",
            "\"prefers\": \"FETCH\", ",
            vec![("catalog-legacy", line_of("\"GET\":"))],
        ),
    ];
    for (from, to, expected) in cases {
        assert_eq!(faults(&edited(from, to)), expected, "{from} -> {to}");
    }
}

#[test]
fn entries_of_verbs_are_checked() {
    let line = line_of("\"UNPAIR\":");
    let cases: &[(&str, &[&str])] = &[
        (r#"{"categories": [], "description": "x"}"#, &["catalog-verb-categories"]),
        (r#"{"description": "x"}"#, &["catalog-verb-categories"]),
        (r#"{"categories": ["sports"], "description": "x"}"#, &["catalog-verb-categories"]),
        (r#"{"categories": [1], "description": "x"}"#, &["catalog-shape"]),
        (r#"{"categories": "analysis", "description": "x"}"#, &["catalog-shape"]),
        (r#"{"categories": ["analysis"], "description": " "}"#, &["catalog-verb-description"]),
        (r#"{"categories": ["analysis"]}"#, &["catalog-verb-description"]),
        (r#"{"categories": ["analysis"], "description": 1}"#, &["catalog-shape"]),
        (r#"[]"#, &["catalog-shape"]),
        (r#"{"categories": ["analysis"], "description": "x", "succesor": "BOOK"}"#, &["catalog-unknown-key"]),
        (r#"{"categories": ["analysis"], "description": "x", "successor": "BOKO"}"#, &["catalog-successor"]),
        (
            r#"{"categories": ["analysis"], "description": "x", "successor": "UNPAIR"}"#,
            &["catalog-successor"],
        ),
        (
            r#"{"categories": ["analysis"], "description": "x", "deprecated_in": "1"}"#,
            &["catalog-verb-version"],
        ),
        (
            r#"{"categories": ["analysis"], "description": "x", "deprecated_in": "2.0.0", "removed_in": "1.9.9"}"#,
            &["catalog-verb-version"],
        ),
        (
            r#"{"categories": ["analysis"], "description": "x", "deprecated_in": "1.1.0", "removed_in": "2.0.0",
                "successor": "BOOK"}"#,
            &[],
        ),
    ];
    for (entry, codes) in cases {
        let start = TEXT.find("\"UNPAIR\":").unwrap();
        let text = format!("{}\"UNPAIR\": {entry}\n  }}\n}}\n", &TEXT[..start]);
        let expected: Vec<_> = codes.iter().map(|code| (*code, line)).collect();
        assert_eq!(faults(&text), expected, "{entry}");
    }
}

#[test]
fn all_faults_are_reported_at_once_and_the_rest_is_loaded() {
    let text = edited("\"1.0.0\"", "1").replacen("\"BOOK\":", "\"B00K\":", 1);
    let (catalog, faults) = Catalog::parse_lenient(&text);
    assert_eq!(faults.len(), 2);
    assert_eq!(catalog.unwrap().verbs.len(), 424);
    assert!(Catalog::parse(&text).is_err());
}

#[test]
fn what_is_no_catalog_at_all_is_one_fault() {
    assert_eq!(faults("{\n,"), [("catalog-syntax", 2)]);
    assert_eq!(faults("[]"), [("catalog-shape", 1)]);
    assert_eq!(faults("{}"), [("catalog-missing-key", 1); 5]);
}

#[test]
fn categories_may_be_a_list() {
    let start = TEXT.find("\"categories\": {").unwrap();
    let end = start + TEXT[start..].find("\n  },").unwrap();
    let list = serde_json::to_string(&CATEGORIES).unwrap();
    let text = format!("{}\"categories\": {list}{}", &TEXT[..start], &TEXT[end + "\n  }".len()..]);
    assert_eq!(faults(&text), []);
    assert_eq!(
        faults(&text.replacen("\"analysis\",", "", 1)),
        [("catalog-categories", line_of("\"categories\""))]
    );
}

#[test]
fn semantic_versions_are_three_plain_numbers() {
    assert_eq!(semver("1.20.3"), Some([1, 20, 3]));
    for bad in ["", "1", "1.2", "1.2.3.4", "01.2.3", "1.2.x", "1..3", "1.2.3-rc", "+1.2.3", " 1.2.3"] {
        assert_eq!(semver(bad), None, "{bad}");
    }
}
