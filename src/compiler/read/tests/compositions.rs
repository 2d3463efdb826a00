//! Compositions in the midst of other endpoints, and what is said of recipes that cannot work.

use super::*;

/// A composition endpoint, whose input is a `room_id`.
fn composed(method: &str, path: &str, recipe: &str) -> String {
    edited("[\"room_unavailable\"]", "[\"composition_failed\"]")
        .replace("\"BOOK\"", &format!("{method:?}"))
        .replace("\"/rooms/{room_id}\"", &format!("{path:?}"))
        .replace(
            "\"registered_function\"\nfunction = \"rooms::book_room\"",
            &format!("\"composition\"\nrecipe = {recipe:?}"),
        )
}

/// A recipe with one step for each place.
fn recipe(name: &str, places: &[&str]) -> String {
    let step = |place: &&str| {
        let (method, path) = place.split_once(' ').unwrap();
        format!("[[recipe.steps]]\nmethod = \"{method}\"\npath = \"{path}\"\n")
    };
    format!("[[recipe]]\nname = \"{name}\"\n{}", places.iter().map(step).collect::<String>())
}

const CAPTURES: &str = r#"[[recipe]]
name = "r"
[[recipe.steps]]
method = "FIND"
path = "/a"
capture_as = "one"
[recipe.steps.parameters]
x = { kind = "constant", value = { deep = [1, "two"] } }
[[recipe.steps]]
method = "FIND"
path = "/a"
capture_as = "two"
[recipe.steps.parameters]
x = { kind = "previous_step", value = "one.a~b" }
"#;

#[test]
fn results_are_addressed_by_the_names_of_earlier_steps() {
    let cases: &[(&str, &str, &[&str])] = &[
        ("\"one.a~b\"", "\"one/a/0\"", &[]),
        ("\"one.a~b\"", "\"oen\"", &["14 capture-unknown"]),
        ("\"one.a~b\"", "\"two\"", &["14 capture-unknown"]),
        ("as = \"two\"", "as = \"one\"", &["12 capture-duplicate"]),
        ("as = \"two\"", "as = \"t.wo\"", &["12 capture-name"]),
    ];
    for (from, to, expected) in cases {
        let found = faults(&[("agtp-recipes.toml", &CAPTURES.replacen(from, to, 1))]);
        let expected: Vec<_> = expected.iter().map(|fault| format!("agtp-recipes.toml:{fault}")).collect();
        assert_eq!(found, expected, "{from} -> {to}");
    }
    let reading = reading(&[("agtp-recipes.toml", CAPTURES)]);
    let recipes = reading.deployment.unwrap().recipes;
    let values: Vec<_> = recipes[0].steps.iter().map(|step| step.parameters[0].value.clone()).collect();
    let pointer = "/a~0b".to_owned();
    let expected = [
        ParameterValue::Constant(serde_json::json!({"deep": [1, "two"]})),
        ParameterValue::Previous { step: 0, pointer },
    ];
    assert_eq!(values, expected);
}

#[test]
fn recipes_that_invoke_one_another_without_end_are_named() {
    let recipes = recipe("a", &["FIND /b"]) + &recipe("b", &["FIND /c"]) + &recipe("c", &["FIND /b"]);
    let (a, b, c) = (composed("FIND", "/a", "a"), composed("FIND", "/b", "b"), composed("FIND", "/c", "c"));
    let files = [
        ("agtp-recipes.toml", recipes.as_str()),
        ("endpoints/a.toml", &a),
        ("endpoints/b.toml", &b),
        ("endpoints/c.toml", &c),
    ];
    let found = reading(&files);
    let expected = ["a", "b", "c"].map(|file| format!("endpoints/{file}.toml:26 recipe-cycle"));
    assert_eq!(shown(&found.report.faults), expected);
    assert!(found.report.faults[0].message.ends_with("b -> c -> b"), "{}", found.report.faults[0].message);
    assert!(found.deployment.unwrap().endpoints.is_empty());
}

#[test]
fn recipes_nest_as_deep_as_the_policy_allows_and_fall_with_what_they_are_made_of() {
    let recipes = recipe("a", &["FIND /b", "FIND /b"]) + &recipe("b", &["FIND /plain", "DISCOVER /methods"]);
    let (a, b, plain) =
        (composed("FIND", "/a", "a"), composed("FIND", "/b", "b"), endpoint_at("FIND", "/plain"));
    let found = |depth: u8, plain: &str| {
        let settings = format!("[policies]\nmax_synthesis_depth = {depth}\n");
        let reading = reading(&[
            ("agtp-server.toml", &settings),
            ("agtp-recipes.toml", &recipes),
            ("endpoints/a.toml", &a),
            ("endpoints/b.toml", &b),
            ("endpoints/plain.toml", plain),
        ]);
        let served = reading.deployment.unwrap().endpoints.len();
        (shown(&reading.report.faults), reading.left_out.len(), served)
    };
    assert_eq!(found(2, &plain), (vec![], 0, 3));
    assert_eq!(found(1, &plain), (vec!["endpoints/a.toml:26 recipe-too-deep".to_owned()], 1, 2));
    let faulty = plain.replace("0.85", "7");
    let (faults, left_out, served) = found(2, &faulty);
    assert_eq!((faults.len(), left_out, served), (1, 3, 0), "{faults:?}");
}
