//! Which paths are paths, and where they lead: 460, 404, 405 and the choice among templates (draft: Path Grammar;
//! D6, D7, D8, D21, D22).

use crate::common::{self, Answer, Wire, answers};
use crate::support::*;
use agtp::engine::Engine;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::LazyLock;

static ENGINE: LazyLock<Engine<'static>> = LazyLock::new(|| {
    Deployment::new()
        .echoes(&["BOOK /rooms", "BOOK /rooms/{room}", "FETCH /halls/{hall}/seats/{seat}", "FETCH /a/{x}/b"])
        .engine()
});

/// One connection for many questions.
struct Line(Wire<'static>);

impl Line {
    fn new() -> Line {
        Line(Wire::new(&ENGINE))
    }

    fn ask(&mut self, line: impl AsRef<[u8]>) -> Answer {
        let request = Req::new(line);
        let mut answers = answers(&self.0.send(&request.bytes()));
        assert_eq!(answers.len(), 1, "{}", request.shown());
        assert!(!self.0.closed, "{}", request.shown());
        answers.remove(0)
    }
}

fn assert_leak(line: &mut Line, target: &str, segment: &str) {
    let answer = line.ask(format!("BOOK {target}"));
    assert_eq!(verdict(&answer), (460, "endpoint-violation".to_owned()), "{target}");
    assert_eq!(answer.body["error"]["segment"], segment, "{target}");
    assert_eq!(answer.body["error"]["path"], target.split('?').next().expect("a path"));
}

fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02x}")).collect()
}

/// A verb in every way that is still the verb.
fn disguises(verb: &str) -> Vec<String> {
    let lower = verb.to_ascii_lowercase();
    let mixed = |(at, letter): (usize, char)| if at % 2 == 0 { letter } else { letter.to_ascii_lowercase() };
    let mixed: String = verb.chars().enumerate().map(mixed).collect();
    let (head, tail) = verb.split_at(verb.len() / 2);
    vec![
        verb.to_owned(),
        format!("{head}-{tail}"),
        format!("_{}_{}-", head.to_ascii_lowercase(), tail),
        format!("{}{}", encoded(&verb[..1]), &lower[1..]),
        encoded(verb).to_ascii_uppercase().replace("%2D", "-"),
        encoded(&mixed),
        format!("{head}%2d{tail}%5F"),
        lower,
        mixed,
    ]
}

fn words() -> impl Iterator<Item = &'static str> {
    verbs().iter().map(String::as_str).chain(LEGACY.map(|(verb, _)| verb))
}

#[test]
fn every_verb_is_found_in_a_path_in_any_disguise_and_at_any_place() {
    let mut line = Line::new();
    for verb in words() {
        for (at, segment) in disguises(verb).iter().enumerate() {
            // Every form stands at every place, over all verbs.
            match (at + verb.len()) % 4 {
                0 => assert_leak(&mut line, &format!("/{segment}"), segment),
                1 => assert_leak(&mut line, &format!("/{segment}/rooms"), segment),
                2 => assert_leak(&mut line, &format!("/no/{segment}/where"), segment),
                _ => assert_leak(&mut line, &format!("/no/where/at/all/{segment}?query=1"), segment),
            }
        }
    }
}

fn assert_no_leak(line: &mut Line, target: &str) {
    let answer = line.ask(format!("BOOK {target}"));
    assert_eq!(answer.status, 404, "{target}: {answer:?}");
}

#[test]
fn what_is_no_verb_as_a_whole_does_not_leak() {
    let mut line = Line::new();
    for verb in words() {
        for segment in [
            encoded(verb).replace('%', "%25"),
            format!("{verb}1"),
            format!("{verb}."),
            format!("~{verb}"),
            format!("{verb}%20"),
            format!("{verb}%2F"),
            format!("q{verb}q"),
        ] {
            assert_no_leak(&mut line, &format!("/{segment}"));
            assert_no_leak(&mut line, &format!("/no/{segment}"));
        }
    }
    for segment in ["-", "_", "--__", "...", "methods", "agents", "%2D"] {
        assert_no_leak(&mut line, &format!("/no/{segment}"));
    }
    // A query is no path.
    assert_no_leak(&mut line, "/no/where?FETCH=book&query=/fetch/me");
}

#[test]
fn the_first_offending_segment_is_the_one_that_is_named() {
    let mut line = Line::new();
    assert_leak(&mut line, "/x/re-serve/book", "re-serve");
    assert_leak(&mut line, "/rooms/fetch/book", "fetch");
    assert_leak(&mut line, "/a//fetch", "fetch");
}

#[test]
fn a_segment_that_a_parameter_captures_may_be_called_anything() {
    let mut line = Line::new();
    for verb in words() {
        for segment in disguises(verb) {
            let answer = line.ask(format!("BOOK /rooms/{segment}"));
            assert_eq!(answer.status, 200, "{segment}");
            assert_eq!(answer.body["path"], format!("/rooms/{segment}"));
            let room = answer.body["input"]["room"].as_str().expect("a string");
            assert_eq!(room.to_ascii_uppercase().replace(['-', '_'], ""), *verb, "{segment} is decoded");
            assert!(segment.contains('%') || room == segment, "{segment} is not changed");
        }
        // Whatever the method: a path that some endpoint matches is known.
        let other = line.ask(format!("RESERVE /rooms/{verb}"));
        assert_eq!(verdict(&other), (405, "method-not-allowed".to_owned()), "{verb}");
        assert_eq!(other.body["error"]["allowed_methods_for_path"], json!(["BOOK"]));
        assert_eq!(other.body["error"]["path"], format!("/rooms/{verb}"));
        assert_eq!(line.ask(format!("FETCH /halls/{verb}/seats/{verb}")).status, 200);
        // One segment that nothing captures is enough.
        assert_leak(&mut line, &format!("/rooms/12/{verb}"), verb);
        assert_leak(&mut line, &format!("/halls/{verb}/rows/12"), verb);
    }
}

/// A target, and the segment a 460 blames; `Err` with the status where it is no 460.
type Case = (&'static [u8], Result<Option<&'static str>, u16>);

const GRAMMAR: &[Case] = &[
    (b"/", Err(405)),
    (b"/rooms", Err(200)),
    (b"/rooms?", Err(200)),
    (b"/rooms/", Ok(None)),
    (b"/rooms/?q=1", Ok(None)),
    (b"/rooms//", Ok(None)),
    (b"/nowhere/", Ok(None)),
    (b"/rooms/12/", Ok(None)),
    (b"//", Ok(None)),
    (b"///", Ok(None)),
    (b"//b", Ok(None)),
    (b"//rooms/12", Ok(None)),
    (b"/a//b", Err(404)),
    (b"/a///b", Err(404)),
    (b"/rooms//12", Err(404)),
    (b"rooms", Ok(None)),
    (b"rooms/12", Ok(None)),
    (b"*", Ok(None)),
    (b"?q", Ok(None)),
    (b"?", Ok(None)),
    (b"%2Frooms", Ok(None)),
    (b"agtp://host/rooms", Ok(None)),
    (b"fetch", Ok(None)),
    (b"\\rooms", Ok(None)),
    (b"/rooms/%", Ok(Some("%"))),
    (b"/rooms/%4", Ok(Some("%4"))),
    (b"/rooms/%4g", Ok(Some("%4g"))),
    (b"/rooms/%zz", Ok(Some("%zz"))),
    (b"/rooms/a%%41", Ok(Some("a%%41"))),
    (b"/rooms/%ff", Ok(Some("%ff"))),
    (b"/rooms/%C3%28", Ok(Some("%C3%28"))),
    (b"/rooms/%C3", Ok(Some("%C3"))),
    (b"/%C3/%A4", Ok(Some("%C3"))),
    (b"/rooms/%ed%a0%80", Ok(Some("%ed%a0%80"))),
    (b"/rooms/%c0%af", Ok(Some("%c0%af"))),
    (b"/nowhere/%ff/x", Ok(Some("%ff"))),
    (b"/rooms/\xc3\xa4", Ok(Some("\u{e4}"))),
    (b"/\xe2\x82\xac/rooms", Ok(Some("\u{20ac}"))),
    (b"/rooms/a\xffb", Ok(Some("a\u{fffd}b"))),
    (b"/rooms/{room}", Ok(Some("{room}"))),
    (b"/x\"y", Ok(Some("x\"y"))),
    (b"/rooms/a\\b", Ok(Some("a\\b"))),
    (b"/bad|one/fetch", Ok(Some("bad|one"))),
    (b"/rooms/%C3%A4", Err(200)),
    (b"/rooms/%00", Err(200)),
    (b"/rooms/%2f", Err(200)),
    (b"/rooms/%3F%23", Err(200)),
    (b"/rooms/.", Err(200)),
    (b"/rooms/..", Err(200)),
    (b"/rooms/a-._~!$&'()*+,;=:@b", Err(200)),
    (b"/%72ooms", Err(404)),
    (b"/ROOMS", Err(404)),
    (b"/Rooms/12", Err(404)),
    (b"/rooms/12/13", Err(404)),
    (b"/room", Err(404)),
    (b"/roomss", Err(404)),
];

#[test]
fn the_grammar_of_paths() {
    let mut line = Line::new();
    for (target, expected) in GRAMMAR {
        let shown = String::from_utf8_lossy(target);
        let mut bytes = b"BOOK ".to_vec();
        bytes.extend_from_slice(target);
        let answer = line.ask(bytes);
        match expected {
            Err(status) => assert_eq!(answer.status, *status, "{shown}: {answer:?}"),
            Ok(segment) => {
                assert_eq!(verdict(&answer), (460, "endpoint-violation".to_owned()), "{shown}");
                assert_eq!(answer.body["error"]["segment"].as_str(), *segment, "{shown}");
                let path = shown.split('?').next().expect("a path");
                assert_eq!(answer.body["error"]["path"], path);
            }
        }
    }
}

#[test]
fn every_byte_in_a_segment_is_legal_or_a_violation() {
    for byte in 0..=255u8 {
        let legal = byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@".contains(&byte);
        let mut bytes = b"BOOK /rooms/x".to_vec();
        bytes.extend_from_slice(&[byte, b'y']);
        let (answer, closed) = Req::new(&bytes).ask_and_close(&ENGINE);
        let expected = match byte {
            _ if legal => 200,
            b'/' => 404,
            b'?' => 422,
            // The request line itself is malformed.
            0..=b' ' | 0x7f | b'#' => 400,
            _ => 460,
        };
        assert_eq!(answer.status, expected, "{byte:#x}");
        assert_eq!(closed, expected == 400, "{byte:#x}: only a wire fault closes");
        if expected == 460 {
            let segment = String::from_utf8_lossy(&bytes["BOOK /rooms/".len()..]).into_owned();
            assert_eq!(answer.body["error"]["segment"], segment, "{byte:#x}");
        }
    }
}

#[test]
fn a_fragment_is_a_malformed_request_line() {
    for line in [
        "BOOK /rooms#a",
        "BOOK /rooms?q#a",
        "BOOK #",
        "BOOK /#",
        "B#OK /rooms",
        "BOOK /fetch#x",
        "boo /x#",
        "BOOK rooms#",
    ] {
        let (answer, closed) = Req::new(line).ask_and_close(&ENGINE);
        assert_eq!(verdict(&answer), (400, "invalid-request-line".to_owned()), "{line}");
        assert!(closed, "{line}");
    }
    assert_eq!(Req::new("BOOK /rooms/%23").ask(&ENGINE).body["input"]["room"], "#");
}

#[test]
fn fewest_parameters_wins_over_the_whole_path() {
    let engine = Deployment::new()
        .echoes(&[
            "FETCH /a/{x}/{y}",
            "FETCH /{z}/b/c",
            "BOOK /a/b/c",
            "FETCH /{p}/{q}/{r}",
            "FETCH /k/{l}",
            "FETCH /k/l",
        ])
        .engine();
    let input = |path: &str| Req::new(format!("FETCH {path}")).ask(&engine).body["input"].clone();
    assert_eq!(input("/a/b/c"), json!({"z": "a"}), "not greedy, and BOOK /a/b/c shadows nothing");
    assert_eq!(input("/a/b/d"), json!({"x": "b", "y": "d"}));
    assert_eq!(input("/d/b/c"), json!({"z": "d"}));
    assert_eq!(input("/d/b/d"), json!({"p": "d", "q": "b", "r": "d"}));
    assert_eq!(input("/k/l"), json!({}), "an exact match comes first");
    assert_eq!(input("/k/m"), json!({"l": "m"}));
    assert_eq!(input("/k/%6C"), json!({"l": "l"}), "literals are compared byte for byte");
    assert_eq!(Req::new("BOOK /a/b/c").ask(&engine).body["method"], "BOOK");
    let other = Req::new("RESERVE /a/b/c").ask(&engine);
    assert_eq!(
        other.body["error"]["allowed_methods_for_path"],
        json!(["BOOK", "FETCH"]),
        "over all templates that match"
    );
    assert_eq!(
        Req::new("BOOK /a/b/d").ask(&engine).body["error"]["allowed_methods_for_path"],
        json!(["FETCH"])
    );
}

// A plain matcher against the engine, over all paths of a tiny alphabet.

const METHODS: [&str; 3] = ["BOOK", "FETCH", "RESERVE"];
const ALPHABET: [&str; 4] = ["a", "b", "re-serve", ""];

/// Segments of a template: a letter of the alphabet, or a parameter.
type Template = Vec<Option<&'static str>>;

fn segments() -> impl Strategy<Value = Template> {
    prop::collection::vec(prop::sample::select(vec![Some("a"), Some("b"), None, None]), 1..4)
}

fn matches(template: &Template, path: &[&str]) -> bool {
    let agrees = |(segment, value): (&Option<&str>, &&str)| {
        segment.map_or(!value.is_empty(), |literal| literal == *value)
    };
    template.len() == path.len() && template.iter().zip(path).all(agrees)
}

fn params(template: &Template) -> usize {
    template.iter().filter(|segment| segment.is_none()).count()
}

/// Two templates of one method, equally specific, that a common path matches: such a registry is refused.
fn ambiguous(a: &Template, b: &Template) -> bool {
    let meet = |(a, b): (&Option<&str>, &Option<&str>)| a.is_none() || b.is_none() || a == b;
    a.len() == b.len() && params(a) == params(b) && a.iter().zip(b).all(meet)
}

fn text(template: &Template) -> String {
    let segment = |(at, segment): (usize, &Option<&str>)| {
        segment.map_or(format!("/{{p{at}}}"), |literal| format!("/{literal}"))
    };
    template.iter().enumerate().map(segment).collect()
}

fn captured(template: &Template, path: &[&str]) -> Value {
    let pairs = template.iter().zip(path).enumerate().filter(|(_, (segment, _))| segment.is_none());
    pairs
        .map(|(at, (_, value))| (format!("p{at}"), Value::from(*value)))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

/// All paths of one to four segments. One that begins with an empty segment or ends with one is no path.
fn all_paths() -> Vec<Vec<&'static str>> {
    let mut paths: Vec<Vec<&str>> = vec![vec![]];
    let mut longest = paths.clone();
    for _ in 0..4 {
        longest = longest
            .iter()
            .flat_map(|path| ALPHABET.map(|segment| [path.as_slice(), &[segment]].concat()))
            .collect();
        paths.extend(longest.iter().cloned());
    }
    paths.retain(|path| {
        path.first().is_some_and(|first| !first.is_empty())
            && path.last().is_some_and(|last| !last.is_empty())
    });
    paths
}

fn assert_as_modelled(answer: &Answer, endpoints: &[(usize, Template)], method: usize, path: &[&str]) {
    let matching: Vec<_> = endpoints.iter().filter(|(_, template)| matches(template, path)).collect();
    let own = matching.iter().filter(|(of, _)| *of == method).min_by_key(|(_, template)| params(template));
    let shown = format!("{} {path:?} of {endpoints:?}: {answer:?}", METHODS[method]);
    if let Some((_, template)) = own {
        assert_eq!(answer.status, 200, "{shown}");
        assert_eq!(answer.body["input"], captured(template, path), "{shown}");
        assert_eq!(answer.body["path"], format!("/{}", path.join("/")), "{shown}");
    } else if !matching.is_empty() {
        let allowed: BTreeSet<_> = matching.iter().map(|(of, _)| METHODS[*of]).collect();
        assert_eq!(answer.status, 405, "{shown}");
        assert_eq!(
            strings(&answer.body["error"]["allowed_methods_for_path"]),
            Vec::from_iter(allowed),
            "{shown}"
        );
    } else if path.contains(&"re-serve") {
        assert_eq!(answer.status, 460, "{shown}");
        assert_eq!(answer.body["error"]["segment"], "re-serve", "{shown}");
    } else {
        assert_eq!(answer.status, 404, "{shown}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn routing_agrees_with_a_plain_matcher(drawn in prop::collection::vec((0..3usize, segments()), 1..14)) {
        let mut endpoints: Vec<(usize, Template)> = Vec::new();
        for (method, template) in drawn {
            if !endpoints.iter().any(|(of, other)| *of == method && ambiguous(other, &template)) {
                endpoints.push((method, template));
            }
        }
        let mut deployment = Deployment::with_settings(SMALL).file("small.json", &small_catalog(&METHODS).to_string());
        for (method, template) in &endpoints {
            deployment = deployment.echoes(&[&format!("{} {}", METHODS[*method], text(template))]);
        }
        let engine = deployment.engine();
        let questions: Vec<_> = all_paths().into_iter().flat_map(|path| (0..3).map(move |method| (method, path.clone()))).collect();
        let request = |(method, path): &(usize, Vec<&str>)| Req::new(format!("{} /{}", METHODS[*method], path.join("/"))).bytes();
        let pipelined: Vec<u8> = questions.iter().flat_map(request).collect();
        let answers = answers(&Wire::new(&engine).send(&pipelined));
        prop_assert_eq!(answers.len(), questions.len());
        for (answer, (method, path)) in answers.iter().zip(&questions) {
            assert_as_modelled(answer, &endpoints, *method, path);
        }
    }
}

#[test]
fn two_thousand_endpoints_are_told_apart() {
    const COUNT: usize = 2000;
    let template = |row: usize| match row % 4 {
        0 => format!("BOOK /wing{}/{{room}}/beds{row}", row / 40),
        1 => format!("FETCH /wing{}/{{room}}/beds{row}", row / 40),
        2 => format!("BOOK /floor/{{storey}}/room{row}/{{bed}}"),
        _ => format!("FETCH /literal/number{row}"),
    };
    let places: Vec<_> = (0..COUNT).map(template).collect();
    let mut deployment =
        Deployment::with_settings(SMALL).file("small.json", &small_catalog(&METHODS).to_string());
    for place in &places {
        deployment = deployment.echoes(&[place]);
    }
    let engine = deployment.engine();
    let mut requests = Vec::new();
    let concrete = |place: &str| place.replace("{room}", "r").replace("{storey}", "s").replace("{bed}", "b");
    for place in &places {
        let (method, path) = place.split_once(' ').expect("a method");
        let other = if method == "BOOK" { "FETCH" } else { "BOOK" };
        for line in [
            format!("{method} {path}"),
            format!("{other} {path}"),
            format!("{method} {path}x/y"),
            format!("{method} {path}/fetch"),
        ] {
            requests.extend_from_slice(&Req::new(concrete(&line)).bytes());
        }
    }
    let answers = answers(&Wire::new(&engine).send(&requests));
    assert_eq!(answers.len(), 4 * COUNT);
    for (place, answers) in places.iter().zip(answers.chunks(4)) {
        let (method, path) = place.split_once(' ').expect("a method");
        assert_eq!(
            answers.iter().map(|answer| answer.status).collect::<Vec<_>>(),
            [200, 405, 404, 460],
            "{place}"
        );
        assert_eq!(answers[0].body["path"], concrete(path));
        let params = common::templates::params(path);
        assert!(
            params.iter().all(|name| answers[0].body["input"][*name] == name[..1]),
            "{place}: {:?}",
            answers[0]
        );
        assert_eq!(answers[1].body["error"]["allowed_methods_for_path"], json!([method]));
    }
}
