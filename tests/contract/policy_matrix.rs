//! Every combination of aliases, legacy opt-in, refused methods, redirects and custom methods, against a model that
//! follows the draft's sentences (draft: Method Policy, Legacy Verb Support; D2, D3, D4, D5, D22, D23).

use crate::support::*;
use agtp::engine::Engine;
use serde_json::{Value, json};

type Pairs = &'static [(&'static str, &'static str)];

/// `None` is the seed.
const ALIASES: [Option<Pairs>; 3] =
    [None, Some(&[]), Some(&[("GET", "BOOK"), ("ORDER", "RESERVE"), ("PUT", "QUERY")])];
const SEED: Pairs =
    &[("GET", "FETCH"), ("POST", "CREATE"), ("PUT", "REPLACE"), ("DELETE", "REMOVE"), ("PATCH", "MODIFY")];
const LEGACY_LISTS: [&[&str]; 3] = [&[], &["GET", "DELETE"], &["GET", "POST", "PUT", "DELETE", "PATCH"]];
/// Floor methods among them are not refused.
const DISALLOWED: [&[&str]; 3] = [&[], &["FETCH", "FROB", "EXECUTE"], &["BOOK", "QUERY", "REMOVE"]];
/// From, at, to.
const REDIRECTS: [&[(&str, Option<&str>, &str)]; 3] = [
    &[],
    &[("FETCH", None, "BOOK"), ("EXECUTE", Some("/rooms"), "FETCH")],
    &[("QUERY", Some("/rooms"), "REMOVE"), ("BOOK", None, "QUERY"), ("REMOVE", None, "RESERVE")],
];
const CUSTOM: [&[&str]; 2] = [&[], &["FROB"]];

/// All of them at `/rooms`; FROB is there when it is a method.
const SERVED: [&str; 6] = ["FETCH", "BOOK", "RESERVE", "QUERY", "EXECUTE", "REMOVE"];
const TOKENS: [&str; 15] = [
    "FETCH", "BOOK", "RESERVE", "QUERY", "EXECUTE", "REMOVE", "CREATE", "FROB", "ORDER", "GET", "POST",
    "PUT", "DELETE", "PATCH", "get",
];
const PATHS: [&str; 5] = ["/rooms", "/nowhere", "/no/fetch", "/get/x", "/frob/x"];

struct Policy {
    aliases: Option<Pairs>,
    legacy: &'static [&'static str],
    disallow: &'static [&'static str],
    redirects: &'static [(&'static str, Option<&'static str>, &'static str)],
    custom: &'static [&'static str],
}

impl Policy {
    fn all() -> impl Iterator<Item = Policy> {
        let count = ALIASES.len() * LEGACY_LISTS.len() * DISALLOWED.len() * REDIRECTS.len() * CUSTOM.len();
        (0..count).map(|mut number| {
            let mut digit = |base: usize| {
                let digit = number % base;
                number /= base;
                digit
            };
            Policy {
                aliases: ALIASES[digit(3)],
                legacy: LEGACY_LISTS[digit(3)],
                disallow: DISALLOWED[digit(3)],
                redirects: REDIRECTS[digit(3)],
                custom: CUSTOM[digit(2)],
            }
        })
    }

    fn settings(&self) -> String {
        let mut text = format!(
            "[policies]\nscope_required_for_invocation = false\n[policies.methods]\nlegacy = {:?}\ncustom = {:?}\n",
            self.legacy, self.custom
        );
        // What names no method of this server is skipped with a warning, which is tested elsewhere.
        let named: Vec<_> = self.disallow.iter().filter(|name| self.is_method(name)).collect();
        text += &format!("disallow = {named:?}\n");
        if let Some(aliases) = self.aliases {
            text += "[policies.methods.aliases]\n";
            aliases.iter().for_each(|(alias, method)| text += &format!("{alias} = \"{method}\"\n"));
        }
        for (from, at, to) in self.redirects {
            let at = at.map(|at| format!("from_path = \"{at}\"\n")).unwrap_or_default();
            text += &format!(
                "[[policies.methods.redirects]]\nfrom_method = \"{from}\"\n{at}to_method = \"{to}\"\n"
            );
        }
        text + "[catalog]\nfile = \"small.json\"\n"
    }

    fn engine(&self) -> Engine<'static> {
        let catalog = small_catalog(&["BOOK", "RESERVE"]).to_string();
        let deployment = Deployment::with_settings(&self.settings()).file("small.json", &catalog);
        let served = SERVED.iter().chain(self.custom);
        let endpoint = |method: &&str| {
            Endpoint::echo(&format!("{method} /rooms")).taking(&["action", "idempotency_key"])
        };
        served.fold(deployment, |deployment, method| deployment.endpoint(&endpoint(method))).engine()
    }

    fn is_method(&self, name: &str) -> bool {
        let catalog = ["BOOK", "RESERVE", "FETCH", "CREATE", "REPLACE", "REMOVE", "MODIFY"];
        FLOOR.contains(&name) || catalog.contains(&name) || self.custom.contains(&name)
    }

    /// Method, and what the legacy form adds to the input.
    fn resolve(&self, token: &str) -> Option<(&'static str, Value)> {
        let target =
            |pairs: Pairs| pairs.iter().find(|(alias, _)| *alias == token).map(|(_, method)| *method);
        if let Some(method) = self.aliases.and_then(target) {
            return Some((method, json!({})));
        }
        if self.legacy.contains(&token) {
            return Some(match token {
                "GET" => ("QUERY", json!({})),
                "POST" => ("EXECUTE", json!({})),
                "PUT" => ("EXECUTE", json!({"idempotency_key": "k"})),
                "DELETE" => ("EXECUTE", json!({"action": "delete"})),
                _ => ("EXECUTE", json!({"action": "modify"})),
            });
        }
        if let Some(method) = self.aliases.is_none().then(|| target(SEED)).flatten() {
            return Some((method, json!({})));
        }
        let known = TOKENS.into_iter().find(|known| *known == token && self.is_method(token));
        known.map(|method| (method, json!({})))
    }

    fn admits(&self, method: &str) -> bool {
        FLOOR.contains(&method) || !self.disallow.contains(&method)
    }

    fn expected(&self, token: &str, path: &str) -> (u16, Value) {
        let Some((method, input)) = self.resolve(token) else { return (459, json!(token)) };
        let leaks = match path {
            "/no/fetch" | "/get/x" => true,
            _ => path == "/frob/x" && self.custom == ["FROB"],
        };
        if leaks {
            return (460, path.split('/').find(|part| ["fetch", "get", "frob"].contains(part)).into());
        }
        let redirect =
            self.redirects.iter().find(|(from, at, _)| *from == method && at.is_none_or(|at| at == path));
        let method = redirect.map_or(method, |(.., to)| to);
        let served: Vec<_> =
            SERVED.iter().chain(self.custom).copied().filter(|served| self.admits(served)).collect();
        let allowed = |code: &str| {
            let mut served = if path == "/rooms" { served.clone() } else { vec![] };
            served.sort_unstable();
            (405, json!([code, method, served]))
        };
        match (self.admits(method), path == "/rooms") {
            (false, _) => allowed("method-not-allowed-by-policy"),
            (true, true) if served.contains(&method) => (200, json!([method, input])),
            (true, true) => allowed("method-not-allowed"),
            (true, false) => (404, json!(method)),
        }
    }
}

#[test]
fn every_combination_is_what_the_model_says() {
    for policy in Policy::all() {
        let engine = policy.engine();
        for token in TOKENS {
            for path in PATHS {
                let answer = Req::new(format!("{token} {path}")).header("Idempotency-Key", "k").ask(&engine);
                let (body, error) = (&answer.body, &answer.body["error"]);
                let detail = match answer.status {
                    200 => json!([body["method"], body["input"]]),
                    405 => json!([error["code"], error["method"], error["allowed_methods_for_path"]]),
                    460 => error["segment"].clone(),
                    _ => error["method"].clone(),
                };
                let expected = policy.expected(token, path);
                assert_eq!((answer.status, detail), expected, "{token} {path} under\n{}", policy.settings());
            }
        }
    }
}
