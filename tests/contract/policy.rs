//! Method policy, redirects and the two advisory headers (draft: Method Policy, Runtime Deprecation Signaling, Endpoint
//! Deprecation; D4, D5, D23).

use crate::common::Answer;
use crate::support::*;
use agtp::engine::{Engine, Function};
use agtp::handler::EndpointError;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// A redirect entry: from method, from path, to method, to path.
type Redirect = (&'static str, Option<&'static str>, &'static str, Option<&'static str>);

#[derive(Clone, Copy)]
struct Policy {
    allow: Option<&'static [&'static str]>,
    disallow: &'static [&'static str],
    redirects: &'static [Redirect],
}

const OPEN: Policy = Policy { allow: None, disallow: &[], redirects: &[] };

#[rustfmt::skip]
const POLICIES: &[Policy] = &[
    OPEN,
    Policy { allow: Some(&[]), ..OPEN },
    Policy { allow: Some(&["FETCH", "FROB"]), ..OPEN },
    Policy { disallow: &["FETCH", "FROB"], ..OPEN },
    Policy { allow: Some(&["FETCH", "BOOK"]), disallow: &["BOOK"], ..OPEN },
    // With paths and without.
    Policy { redirects: &[("BOOK", Some("/rooms"), "RESERVE", Some("/halls"))], ..OPEN },
    Policy { redirects: &[("BOOK", None, "FETCH", None)], ..OPEN },
    Policy { redirects: &[("BOOK", None, "RESERVE", Some("/halls"))], ..OPEN },
    Policy { redirects: &[("BOOK", Some("/rooms"), "FETCH", None)], ..OPEN },
    Policy { redirects: &[("BOOK", Some("/nowhere"), "RESERVE", Some("/rooms/12"))], ..OPEN },
    Policy { redirects: &[("FETCH", Some("/rooms/12"), "FETCH", Some("/nowhere"))], ..OPEN },
    Policy { redirects: &[("FROB", None, "QUERY", None), ("QUERY", None, "FROB", Some("/rooms"))], ..OPEN },
    // The first match in file order.
    Policy { redirects: &[("BOOK", None, "FETCH", None), ("BOOK", Some("/rooms"), "RESERVE", Some("/halls"))], ..OPEN },
    Policy { redirects: &[("BOOK", Some("/rooms"), "RESERVE", Some("/halls")), ("BOOK", None, "FETCH", None), ("BOOK", Some("/halls"), "FROB", None)], ..OPEN },
    Policy { redirects: &[("RESERVE", None, "FETCH", None), ("BOOK", Some("/halls"), "QUERY", None), ("RESERVE", Some("/halls"), "BOOK", None)], ..OPEN },
    // Once, also in a circle.
    Policy { redirects: &[("BOOK", Some("/rooms"), "RESERVE", Some("/halls")), ("RESERVE", Some("/halls"), "BOOK", Some("/rooms"))], ..OPEN },
    Policy { redirects: &[("BOOK", None, "RESERVE", None), ("RESERVE", None, "FETCH", None), ("FETCH", None, "BOOK", None)], ..OPEN },
    // Before the policy, which looks at the target.
    Policy { disallow: &["BOOK"], redirects: &[("BOOK", None, "FETCH", None)], ..OPEN },
    Policy { disallow: &["FETCH"], redirects: &[("BOOK", None, "FETCH", None)], ..OPEN },
    Policy { allow: Some(&["RESERVE"]), redirects: &[("FETCH", Some("/rooms"), "RESERVE", Some("/halls"))], ..OPEN },
];

const ENDPOINTS: [&str; 8] = [
    "FETCH /rooms",
    "BOOK /rooms",
    "FROB /rooms",
    "RESERVE /halls",
    "BOOK /halls",
    "QUERY /halls",
    "FETCH /rooms/{id}",
    "RESERVE /rooms/{id}",
];

const METHODS: [&str; 7] = ["FETCH", "BOOK", "RESERVE", "QUERY", "FROB", "GET", "CANCEL"];
const PATHS: [&str; 8] =
    ["/", "/rooms", "/halls", "/rooms/12", "/rooms/book", "/nowhere", "/no/fetch", "/rooms/12/re_serve"];

impl Policy {
    fn engine(&self) -> Engine<'static> {
        let mut settings =
            "[policies]\nscope_required_for_invocation = false\n[policies.methods]\ncustom = [\"FROB\"]\n"
                .to_owned();
        if let Some(allow) = self.allow {
            settings += &format!("allow = {allow:?}\n");
        }
        settings += &format!("disallow = {:?}\n", self.disallow);
        settings += "[policies.methods.aliases]\nGET = \"FETCH\"\n";
        for (from, from_path, to, to_path) in self.redirects {
            settings +=
                &format!("[[policies.methods.redirects]]\nfrom_method = \"{from}\"\nto_method = \"{to}\"\n");
            for (key, path) in [("from_path", from_path), ("to_path", to_path)] {
                settings += &path.map(|path| format!("{key} = \"{path}\"\n")).unwrap_or_default();
            }
        }
        settings += "[catalog]\nfile = \"small.json\"\n";
        let catalog = small_catalog(&["BOOK", "RESERVE", "CANCEL"]).to_string();
        Deployment::with_settings(&settings).file("small.json", &catalog).echoes(&ENDPOINTS).engine()
    }

    fn admits(&self, method: &str) -> bool {
        let listed = self.allow.is_none_or(|allow| allow.contains(&method));
        FLOOR.contains(&method) || (listed && !self.disallow.contains(&method))
    }

    fn redirect(&self, method: &str, path: &str) -> Option<&Redirect> {
        self.redirects.iter().find(|(from, at, ..)| *from == method && at.is_none_or(|at| at == path))
    }
}

fn matches(template: &str, path: &str) -> bool {
    template == path
        || (template == "/rooms/{id}" && path.strip_prefix("/rooms/").is_some_and(|id| !id.contains('/')))
}

/// Methods with an endpoint at a path.
fn exposed(path: &str) -> BTreeSet<&'static str> {
    let floor = if path == "/" { &FLOOR[..] } else { &[] };
    let operators =
        ENDPOINTS.iter().filter_map(|place| place.split_once(' ')).filter(|(_, at)| matches(at, path));
    floor.iter().copied().chain(operators.map(|(method, _)| method)).collect()
}

fn not_allowed(policy: &Policy, code: &str, method: &str, path: &str) -> Value {
    let allowed: Vec<_> = exposed(path).into_iter().filter(|method| policy.admits(method)).collect();
    let first =
        |method| policy.redirect(method, path).map(|(from, _, to, _)| ((*from).to_owned(), json!(to)));
    let redirects: Map<_, _> = METHODS.into_iter().filter_map(first).collect();
    json!({
        "code": code, "method": method, "path": path, "allowed_methods_for_path": allowed, "redirects_for_path": redirects,
    })
}

/// The model: D2 from 459 to the route. Status, and for a 405 the whole error without its message.
fn expected(policy: &Policy, token: &str, path: &str) -> (u16, Value) {
    let method = if token == "GET" { "FETCH" } else { token };
    if exposed(path).is_empty() && (path == "/no/fetch" || path == "/rooms/12/re_serve") {
        return (460, Value::Null);
    }
    let target = policy.redirect(method, path);
    let (method, path) = target.map_or((method, path), |(_, _, to, to_path)| (*to, to_path.unwrap_or(path)));
    let exposed = exposed(path);
    if !policy.admits(method) {
        (405, not_allowed(policy, "method-not-allowed-by-policy", method, path))
    } else if exposed.contains(method) {
        // QUERY at `/` is the floor's own and not served yet; without its parameters it gets no further than that.
        if path == "/" { (422, Value::Null) } else { (200, json!({"method": method, "path": path})) }
    } else if exposed.is_empty() {
        (404, Value::Null)
    } else {
        (405, not_allowed(policy, "method-not-allowed", method, path))
    }
}

fn found(answer: &Answer) -> (u16, Value) {
    let value = match answer.status {
        200 => json!({"method": answer.body["method"], "path": answer.body["path"]}),
        405 => {
            let mut error = answer.body["error"].clone();
            error.as_object_mut().expect("an object").remove("message");
            error
        }
        _ => Value::Null,
    };
    (answer.status, value)
}

#[test]
fn policy_and_redirects_are_what_the_model_says() {
    for (row, policy) in POLICIES.iter().enumerate() {
        let engine = policy.engine();
        for method in METHODS {
            for path in PATHS {
                let answer = Req::new(format!("{method} {path}")).ask(&engine);
                let shown = format!("policy {row} ({:?}): {method} {path}", policy.redirects);
                assert_eq!(found(&answer), expected(policy, method, path), "{shown}");
            }
        }
    }
}

#[test]
fn a_redirect_brings_input_and_authority_of_its_target() {
    let settings = "[policies]\nscope_required_for_invocation = false\n[[policies.methods.redirects]]\nfrom_method = \"BOOK\"\nfrom_path = \"/room\"\nto_method = \"RESERVE\"\nto_path = \"/rooms/12\"\n";
    let engine = Deployment::with_settings(settings)
        .endpoint(&Endpoint::echo("BOOK /room").taking(&["own"]))
        .endpoint(&Endpoint::echo("RESERVE /rooms/{id}").taking(&["note"]).scopes(&["test:reserve"]))
        .engine();
    assert_eq!(Req::new("BOOK /room").ask(&engine).status, 262);
    let scoped = |line: &str| Req::new(line).header("Authority-Scope", "test:*");
    let answer = scoped("BOOK /room?note=q").body(r#"{"note":"b"}"#).ask(&engine);
    assert_eq!(
        answer.body,
        json!({"input": {"id": "12", "note": "b"}, "method": "RESERVE", "path": "/rooms/12"})
    );
    assert_eq!(scoped("BOOK /room?own=1").ask(&engine).status, 422, "its own schema is out of the game");
    // A path is compared as it stands.
    assert_eq!(scoped("BOOK /%72oom").ask(&engine).status, 404);
}

#[test]
fn a_floor_method_cannot_be_disallowed_or_left_out() {
    for methods in ["disallow = [\"QUERY\", \"EXECUTE\"]\n", "allow = [\"BOOK\"]\n"] {
        let settings =
            format!("[policies]\nscope_required_for_invocation = false\n[policies.methods]\n{methods}");
        let engine =
            Deployment::with_settings(&settings).echoes(&["QUERY /rooms", "EXECUTE /rooms"]).engine();
        for method in ["QUERY", "EXECUTE"] {
            assert_eq!(Req::new(format!("{method} /rooms")).ask(&engine).status, 200, "{methods}{method}");
        }
    }
}

// Advisory headers.

const CATALOG: &str = "AGTP-Catalog-Warning";
const ENDPOINT: &str = "AGTP-Endpoint-Warning";

/// The catalog with some verbs on their way out, as version 1.1.0, and one gone.
fn aging_catalog() -> String {
    let mut aging = catalog();
    aging["version"] = json!("1.1.0");
    let verbs = aging["verbs"].as_object_mut().expect("verbs");
    verbs.remove("TRACE");
    for (verb, deprecation) in [
        ("BOOK", json!({"deprecated_in": "1.1.0", "successor": "RESERVE", "removed_in": "2.0.0"})),
        ("AUDIT", json!({"deprecated_in": "1.1.0", "successor": "INSPECT"})),
        ("FETCH", json!({"deprecated_in": "1.1.0", "removed_in": "2.0.0"})),
        ("SCAN", json!({"deprecated_in": "1.1.0"})),
    ] {
        verbs[verb]
            .as_object_mut()
            .expect("a verb")
            .extend(deprecation.as_object().expect("an object").clone());
    }
    aging.to_string()
}

const AGING: &str = "[policies]\nscope_required_for_invocation = false\n[catalog]\nfile = \"methods.json\"\n";

#[test]
fn a_deprecated_verb_is_served_with_a_warning_on_every_answer() {
    let engine = Deployment::with_settings(AGING)
        .file("methods.json", &aging_catalog())
        .endpoint(&Endpoint::echo("BOOK /rooms").scopes(&["test:book"]))
        .echoes(&["AUDIT /rooms", "FETCH /rooms", "SCAN /rooms", "RESERVE /rooms", "BOOK /halls/{hall}"])
        .engine();
    for (verb, warning) in [
        ("BOOK", Some("deprecated; successor=RESERVE; removed_in=2.0.0")),
        ("AUDIT", Some("deprecated; successor=INSPECT")),
        ("FETCH", Some("deprecated; removed_in=2.0.0")),
        ("GET", Some("deprecated; removed_in=2.0.0")),
        ("SCAN", Some("deprecated")),
        ("RESERVE", None),
    ] {
        let scoped = |path: &str| Req::new(format!("{verb} {path}")).header("Authority-Scope", "test:*");
        let answers = [
            (200, scoped("/rooms")),
            (422, scoped("/rooms?extra=1")),
            (400, scoped("/rooms").body("{")),
            (400, scoped("/rooms").header("Content-Type", "text/xml").body("{}")),
            (404, scoped("/nowhere")),
            (405, scoped("/methods")),
            (460, scoped("/no/fetch")),
            (460, scoped("/rooms/")),
            (455, Req::new(format!("{verb} /rooms")).header("Authority-Scope", "other:all")),
            (262, Req::anonymous(format!("{verb} /rooms"))),
            (400, Req::anonymous(format!("{verb} /rooms")).header("Agent-ID", "me")),
            (401, Req::anonymous(format!("{verb} /rooms")).header("Agent-ID", &"9".repeat(64))),
            (501, scoped("/rooms").header("Delegation-Chain", "x")),
        ];
        for (status, request) in answers {
            let answer = request.ask(&engine);
            assert_eq!((answer.status, answer.header(CATALOG)), (status, warning), "{}", request.shown());
            assert_eq!(answer.header(ENDPOINT), None);
        }
    }
    let gone = Req::new("TRACE /rooms").ask(&engine);
    assert_eq!((gone.status, &gone.body["error"]["catalog_version"]), (459, &json!("1.1.0")));
    assert_eq!(Req::new("RESERVE /trace").ask(&engine).status, 404, "and free to be a path segment again");
    let manifest = Req::anonymous("DISCOVER").ask(&engine).body;
    assert_eq!(
        (&manifest["catalog_version"], &manifest["catalog_versions_supported"]),
        (&json!("1.1.0"), &json!(["1.1.0"]))
    );
}

#[test]
fn the_warning_is_about_the_verb_as_requested_else_about_the_one_a_redirect_leads_to() {
    let redirect = |from: &str, to: &str| {
        format!("[[policies.methods.redirects]]\nfrom_method = \"{from}\"\nto_method = \"{to}\"\n")
    };
    let redirect = redirect("BOOK", "RESERVE") + &redirect("CANCEL", "AUDIT");
    let engine = Deployment::with_settings(&format!("{AGING}{redirect}"))
        .file("methods.json", &aging_catalog())
        .echoes(&["RESERVE /rooms", "AUDIT /rooms"])
        .engine();
    assert_eq!(Req::new("CANCEL /rooms").ask(&engine).header(CATALOG), Some("deprecated; successor=INSPECT"));
    let answer = Req::new("BOOK /rooms").ask(&engine);
    assert_eq!(answer.body["method"], "RESERVE");
    assert_eq!(answer.header(CATALOG), Some("deprecated; successor=RESERVE; removed_in=2.0.0"));
    assert_eq!(Req::new("RESERVE /rooms").ask(&engine).header(CATALOG), None);
}

/// `[endpoint.deprecated]`, and the header it makes.
const DEPRECATIONS: [(&str, &str); 6] = [
    (
        "removed_in = \"3.0.0\"\nsuccessor = { method = \"RESERVE\", path = \"/halls\" }",
        "deprecated; successor=RESERVE /halls; removed_in=3.0.0",
    ),
    ("successor = { method = \"RESERVE\", path = \"/halls\" }", "deprecated; successor=RESERVE /halls"),
    ("successor = { method = \"RESERVE\" }", "deprecated; successor=RESERVE"),
    (
        "removed_in = \"3.0.0\"\nsuccessor = { path = \"/halls\" }",
        "deprecated; successor=/halls; removed_in=3.0.0",
    ),
    ("removed_in = \"3.0.0\"", "deprecated; removed_in=3.0.0"),
    ("", "deprecated"),
];

#[test]
fn a_deprecated_endpoint_warns_on_every_answer() {
    let functions = [
        Function::plain("test::fails", |_, _| Err(EndpointError::internal("on purpose"))),
        Function::plain("test::taken", |_, _| Err(EndpointError::named("taken"))),
    ];
    for (block, warning) in DEPRECATIONS {
        let deprecated = |place: &str| {
            Endpoint::echo(place).table(&format!("[endpoint.deprecated]\ndeprecated_in = \"2.1.0\"\n{block}"))
        };
        let engine = Deployment::new()
            .endpoint(&deprecated("BOOK /rooms/{room}").scopes(&["test:book"]))
            .endpoint(&deprecated("BOOK /broken").function("test::fails"))
            .endpoint(&deprecated("BOOK /taken").function("test::taken").line("errors = [\"taken\"]"))
            .echoes(&["RESERVE /rooms/{room}"])
            .engine_with(&functions);
        let scoped = |line: &str| Req::new(line).header("Authority-Scope", "test:*");
        let warned = [
            (200, scoped("BOOK /rooms/12")),
            (422, scoped("BOOK /rooms/12?extra=1")),
            (400, scoped("BOOK /rooms/12").body("{")),
            (500, scoped("BOOK /broken")),
            (422, scoped("BOOK /taken")),
            (262, Req::new("BOOK /rooms/12")),
            (262, Req::anonymous("BOOK /rooms/12")),
            (455, Req::new("BOOK /rooms/12").header("Authority-Scope", "other:all")),
            (400, Req::anonymous("BOOK /rooms/12").header("Agent-ID", "me")),
            (401, Req::anonymous("BOOK /rooms/12").header("Agent-ID", &"9".repeat(64))),
            (501, scoped("BOOK /rooms/12").header("Delegation-Chain", "x")),
        ];
        for (status, request) in warned {
            let answer = request.ask(&engine);
            assert_eq!(
                (answer.status, answer.header(ENDPOINT)),
                (status, Some(warning)),
                "{}",
                request.shown()
            );
        }
        for request in [
            scoped("RESERVE /rooms/12"),
            scoped("CANCEL /rooms/12"),
            scoped("BOOK /nowhere"),
            scoped("BOKO /rooms/12"),
        ] {
            assert_eq!(request.ask(&engine).header(ENDPOINT), None, "{}", request.shown());
        }
    }
}

#[test]
fn both_warnings_ride_together() {
    let deprecated = Endpoint::echo("BOOK /rooms").table("[endpoint.deprecated]\ndeprecated_in = \"2.1.0\"");
    let engine = Deployment::with_settings(AGING)
        .file("methods.json", &aging_catalog())
        .endpoint(&deprecated)
        .engine();
    let answer = Req::new("BOOK /rooms").ask(&engine);
    assert_eq!(answer.header(CATALOG), Some("deprecated; successor=RESERVE; removed_in=2.0.0"));
    assert_eq!(answer.header(ENDPOINT), Some("deprecated"));
}
