//! Compositions (draft: Composition; D26, D30): modes, parameters, authority and failure of each step.

use crate::common::{Answer, Wire, answers, sample, scenarios};
use crate::support::*;
use agtp::engine::{Engine, Function};
use agtp::handler::{Context, EndpointError, OwnedContext, OwnedReply, Reply};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicU64, Ordering};

type Outcome = Result<(), EndpointError>;

/// Answers its input.
fn mirror(ctx: &Context<'_>, reply: &mut Reply<'_>) -> Outcome {
    let input: Value = ctx.input().deserialize()?;
    reply.serialize(&input)
}

fn silent(_: &Context<'_>, reply: &mut Reply<'_>) -> Outcome {
    reply.no_content();
    Ok(())
}

fn fails(_: &Context<'_>, _: &mut Reply<'_>) -> Outcome {
    Err(EndpointError::named("room_unavailable"))
}

fn panics(_: &Context<'_>, _: &mut Reply<'_>) -> Outcome {
    panic!("the vault is open")
}

static RUNS: AtomicU64 = AtomicU64::new(0);

fn counts(_: &Context<'_>, reply: &mut Reply<'_>) -> Outcome {
    let run = RUNS.fetch_add(1, Ordering::Relaxed);
    reply.object(|o| {
        o.u64("run", run);
    });
    Ok(())
}

/// Answers its input the second time it is polled.
async fn later(ctx: OwnedContext) -> Result<OwnedReply, EndpointError> {
    let mut asked = false;
    std::future::poll_fn(|context| match std::mem::replace(&mut asked, true) {
        true => std::task::Poll::Ready(()),
        false => {
            context.waker().wake_by_ref();
            std::task::Poll::Pending
        }
    })
    .await;
    let input: Value = ctx.input().deserialize()?;
    OwnedReply::serialize(&input)
}

fn functions() -> Vec<Function> {
    vec![
        Function::plain("test::mirror", mirror),
        Function::plain("test::silent", silent),
        Function::plain("test::fails", fails),
        Function::plain("test::panics", panics),
        Function::plain("test::counts", counts),
        Function::asynchronous("test::later", later),
    ]
}

/// An endpoint composed by the recipe of this name.
fn composed(place: &str, recipe: &str) -> Endpoint {
    Endpoint::echo(place).composed(recipe).taking(&["a", "b", "id"]).line("errors = [\"composition_failed\"]")
}

/// A step, with its parameters as `name kind value`, where the value is TOML.
fn step(place: &str, capture: &str, parameters: &[&str]) -> String {
    let (method, path) = place.split_once(' ').expect("METHOD /path");
    let mut text = format!("[[recipe.steps]]\nmethod = \"{method}\"\npath = \"{path}\"\n");
    if !capture.is_empty() {
        text += &format!("capture_as = \"{capture}\"\n");
    }
    for parameter in parameters {
        let mut words = parameter.splitn(3, ' ');
        let mut word = || words.next().expect("name kind value");
        let (name, kind, value) = (word(), word(), word());
        text += &format!("[recipe.steps.parameters.{name}]\nkind = \"{kind}\"\nvalue = {value}\n");
    }
    text
}

/// A deployment whose `EXECUTE /whole` is made of these steps.
fn engine(mode: &str, steps: &[String]) -> Engine<'static> {
    deployment(mode, steps).engine_with(&functions())
}

fn deployment(mode: &str, steps: &[String]) -> Deployment {
    let recipe =
        format!("[[recipe]]\nname = \"whole\"\n{}[recipe.aggregation]\nmode = \"{mode}\"\n", steps.concat());
    let part =
        |place: &str, function: &str| Endpoint::echo(place).taking(&["a", "b", "c"]).function(function);
    Deployment::with_settings(SMALL)
        .file("small.json", &small_catalog(&[]).to_string())
        .file("agtp-recipes.toml", &recipe)
        .endpoint(&composed("EXECUTE /whole", "whole"))
        .endpoint(&part("QUERY /mirror", "test::mirror"))
        .endpoint(&part("QUERY /mirrors/{c}", "test::mirror"))
        .endpoint(&part("QUERY /silent", "test::silent"))
        .endpoint(&part("QUERY /fails", "test::fails").line("errors = [\"room_unavailable\"]"))
        .endpoint(&part("QUERY /panics", "test::panics"))
        .endpoint(&part("QUERY /counts", "test::counts"))
        .endpoint(&part("QUERY /later", "test::later"))
        .endpoint(&part("QUERY /guarded/{c}", "test::mirror").scopes(&["test:secret"]))
}

fn execute(engine: &Engine<'_>, body: &Value) -> Answer {
    Req::new("EXECUTE /whole").body(body.to_string()).ask(engine)
}

fn three(place: &str) -> Vec<String> {
    vec![
        step("QUERY /mirror", "first", &["a proposal \"a\"", "b constant [1, { x = \"y\" }]"]),
        step(place, "second", &["a previous_step \"first/b/1/x\"", "c previous_step \"first\""]),
        step("QUERY /mirror", "", &["b previous_step \"second.c.a\"", "c proposal \"b\""]),
    ]
}

#[test]
fn results_are_gathered_as_the_recipe_says_whether_or_not_a_step_is_waited_for() {
    for place in ["QUERY /mirror", "QUERY /later"] {
        let first = json!({"a": "\"{\\", "b": [1, {"x": "y"}]});
        let second = json!({"a": "y", "c": first});
        let third = json!({"b": "\"{\\"});
        let merged = json!({"a": "y", "b": "\"{\\", "c": first});
        for (mode, expected) in
            [("last", third.clone()), ("merge", merged), ("list", json!({"results": [first, second, third]}))]
        {
            let answer = execute(&engine(mode, &three(place)), &json!({"a": "\"{\\"}));
            assert_eq!((answer.status, answer.body), (200, expected), "{mode} {place}");
        }
    }
}

#[test]
fn a_failing_step_is_told_with_what_came_before_it() {
    for (place, status, code) in [
        ("QUERY /fails", 422, "room_unavailable"),
        ("QUERY /panics", 500, "handler-failed"),
        ("PROPOSE /", 463, "proposal-rejected"),
        ("QUERY /", 501, "not-implemented"),
    ] {
        for before in ["QUERY /mirror", "QUERY /later"] {
            let steps = [
                step(before, "kept", &["a constant 1"]),
                step("QUERY /mirror", "", &[]),
                step(place, "", &["intent constant \"x\""][..usize::from(place == "QUERY /")]),
                step("QUERY /mirror", "never", &[]),
            ];
            let answer = execute(&engine("merge", &steps), &json!({}));
            assert_eq!(verdict(&answer), (422, "composition_failed".to_owned()), "{place}");
            let details = &answer.body["error"]["details"];
            assert_eq!(details["recipe"], "whole");
            assert_eq!(details["failed_step"], 3);
            assert_eq!(details["step_method"], place.split(' ').next().expect("a method"));
            assert_eq!(details["underlying_status"], status, "{details}");
            assert_eq!(details["underlying"]["error"]["code"], code);
            assert_eq!(details["captured_outputs"], json!({"kept": {"a": 1}}));
        }
    }
}

#[test]
fn a_path_parameter_is_one_segment_whatever_it_holds() {
    let engine = engine("last", &[step("QUERY /mirrors/{id}", "", &["id proposal \"id\""])]);
    for id in ["a/b", "../x", "%2e%2e", "a b?c=d#e", "\u{e9}\u{1F43B}", "...", "x\r\nHost: y"] {
        let answer = execute(&engine, &json!({"id": id}));
        assert_eq!((answer.status, answer.body), (200, json!({"c": id})));
    }
    let converted = execute(&engine, &json!({"id": 12}));
    assert_eq!(converted.body, json!({"c": "12"}));
    for id in [json!(""), json!("."), json!(".."), json!(null), json!([]), json!({"a": 1})] {
        let answer = execute(&engine, &json!({"id": id}));
        let details = &answer.body["error"]["details"];
        assert_eq!(details["underlying_status"], 422, "{id}: {}", answer.body);
        assert_eq!(details["underlying"]["error"]["field"], "/id");
    }
    assert_eq!(execute(&engine, &json!({})).status, 422, "nothing fills the segment");
}

#[test]
fn a_step_has_the_callers_authority_and_no_more() {
    let engine = engine("last", &[step("QUERY /guarded/{id}", "", &["id proposal \"id\""])]);
    let ask = |scopes: Option<&str>| {
        let body = json!({"id": "x"}).to_string();
        Req::new("EXECUTE /whole").maybe("Authority-Scope", scopes).body(body).ask(&engine)
    };
    assert_eq!(ask(Some("test:secret")).status, 200);
    for scopes in [None, Some("test:other")] {
        let answer = ask(scopes);
        assert_eq!(verdict(&answer), (422, "composition_failed".to_owned()));
        assert_eq!(answer.body["error"]["details"]["underlying_status"], 262);
    }
    assert_eq!(ask(Some("other:secret")).status, 455, "the outer gate speaks first");
}

#[test]
fn a_steps_input_and_the_whole_answer_are_held_to_their_schemas() {
    let strict = step("QUERY /silent", "", &["unknown constant 1"]);
    let answer = execute(&engine("last", &[strict]), &json!({}));
    assert_eq!(answer.body["error"]["details"]["underlying"]["error"]["field"], "/unknown");
    let nothing = execute(&engine("last", &[step("QUERY /silent", "", &[])]), &json!({}));
    assert_eq!((nothing.status, nothing.body), (200, json!({})));
    let array = [step("DISCOVER /methods", "", &[])];
    assert_eq!(verdict(&execute(&engine("last", &array), &json!({}))).1, "output-validation-failed");
    let merged = execute(&engine("merge", &array), &json!({}));
    assert!(merged.body["step_1"].is_array());
}

#[test]
fn the_output_of_the_whole_is_held_to_its_schema() {
    let output = json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]});
    let deployment = deployment("last", &[step("QUERY /mirror", "", &["a proposal \"a\""])]);
    let strict = composed("EXECUTE /strict", "whole").output(output);
    let engine = deployment.endpoint(&strict).engine_with(&functions());
    let ask = |body: Value| verdict(&Req::new("EXECUTE /strict").body(body.to_string()).ask(&engine));
    assert_eq!(ask(json!({"a": "x"})).0, 200);
    for body in [json!({"a": 1}), json!({})] {
        assert_eq!(ask(body), (500, "output-validation-failed".to_owned()));
    }
}

#[test]
fn compositions_nest_and_a_circle_through_a_template_ends_where_it_closes() {
    let whole = "EXECUTE /whole";
    let outer = "[[recipe]]\nname = \"outer\"\n".to_owned() + &step(whole, "", &["a proposal \"a\""]);
    let inner =
        "[[recipe]]\nname = \"whole\"\n".to_owned() + &step("QUERY /later", "", &["a proposal \"a\""]);
    // Nine steps each time: were it allowed to go round, a request would be for as many as nine to the tenth.
    let again = step("EXECUTE /{id}", "", &["id constant \"round\""]).repeat(9);
    let round = "[[recipe]]\nname = \"round\"\n".to_owned() + &again;
    let engine = Deployment::with_settings(SMALL)
        .file("small.json", &small_catalog(&[]).to_string())
        .file("agtp-recipes.toml", &[outer, inner, round].concat())
        .endpoint(&composed(whole, "whole"))
        .endpoint(&composed("EXECUTE /outer", "outer"))
        .endpoint(&composed("EXECUTE /round", "round"))
        .endpoint(&Endpoint::echo("QUERY /later").taking(&["a"]).function("test::later"))
        .engine_with(&functions());
    let nested = Req::new("EXECUTE /outer").body("{\"a\":[1]}").ask(&engine);
    assert_eq!((nested.status, nested.body), (200, json!({"a": [1]})));
    let endless = Req::new("EXECUTE /round").ask(&engine);
    let (mut error, mut depth) = (&endless.body["error"], 0);
    while error["code"] == "composition_failed" {
        (error, depth) = (&error["details"]["underlying"]["error"], depth + 1);
    }
    assert_eq!((depth, &error["code"]), (1, &json!("handler-failed")));
}

#[test]
fn a_repeat_is_answered_without_running_a_step_again() {
    let engine = engine("last", &[step("QUERY /counts", "", &[]), step("QUERY /counts", "", &[])]);
    let ask = |key: &str| Req::new("EXECUTE /whole").header("Idempotency-Key", key).ask(&engine).body;
    let first = ask("one");
    assert_eq!(ask("one"), first);
    assert_eq!(ask("two")["run"].as_u64(), first["run"].as_u64().map(|run| run + 2));
}

#[test]
fn a_composition_that_waits_too_long_is_given_up_whole() {
    let engine = engine("last", &[step("QUERY /later", "", &["a proposal \"a\""])]);
    let mut wire = Wire::new(&engine);
    wire.begin(&Req::new("EXECUTE /whole").body("{\"a\":1}").bytes());
    assert_eq!(wire.patience_ms(), Some(30_000), "the composition's own time-out");
    assert!(wire.poll().is_none());
    let expired = answers(&wire.expire()).remove(0);
    assert_eq!(verdict(&expired), (408, "timeout".to_owned()));
    // The connection goes on, and so do compositions.
    let again = answers(&wire.send(&Req::new("EXECUTE /whole").body("{\"a\":2}").bytes())).remove(0);
    assert_eq!((again.status, &again.body), (200, &json!({"a": 2})));
}

#[test]
fn the_sample_deployment_s_composition_gives_what_its_steps_give() {
    let ask = |line: &str, body: &str| {
        answers(&Wire::new(sample()).send(&scenarios::request(line, body))).remove(0)
    };
    let body = r#"{"room_id":"7","check_in":"2031-03-01","nights":2,"guests":1}"#;
    let whole = ask("ASSESS /stays", body);
    let free = ask("CHECK /rooms/7/availability?check_in=2031-03-01&nights=2", "{}");
    let price = ask("QUOTE /stays?room_id=7&nights=2&guests=1&breakfast=true", "{}");
    let rooms = ask("FIND /rooms?guests=1", "{}");
    assert_eq!([&whole, &free, &price, &rooms].map(|answer| answer.status), [200; 4], "{whole:?}");
    let mut expected = free.body;
    for more in [price.body, rooms.body] {
        expected.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    }
    assert_eq!(whole.body, expected);
    let nowhere = ask("ASSESS /stays", &body.replace("\"7\"", "\"99\""));
    assert_eq!(verdict(&nowhere), (422, "composition_failed".to_owned()));
    assert_eq!(nowhere.body["error"]["details"]["underlying"]["error"]["code"], "unknown_room");
}
