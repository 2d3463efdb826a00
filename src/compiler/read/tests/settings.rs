//! `agtp-server.toml`: settings, method policy, catalog.

use super::*;
use crate::registry::Disclosure;

/// `line code` of the faults of settings.
fn settings_faults(text: &str) -> Vec<String> {
    let faults = faults(&[("agtp-server.toml", text)]);
    faults.iter().map(|fault| fault.strip_prefix("agtp-server.toml:").unwrap().to_owned()).collect()
}

fn settings(text: &str) -> Settings {
    let reading = reading(&[("agtp-server.toml", text)]);
    assert_eq!(reading.report.errors(), 0, "{}", reading.report);
    reading.deployment.unwrap().settings
}

#[test]
fn without_a_file_the_defaults_hold() {
    let settings = settings("");
    assert_eq!(settings.server.server_id, "localhost");
    assert_eq!(settings.policies, crate::registry::Policies::default());
    assert_eq!(settings.limits, crate::wire::Limits::DEFAULT);
    let aliases: Vec<_> = settings.methods.aliases.iter().map(|(from, to)| format!("{from}->{to}")).collect();
    assert_eq!(aliases, ["DELETE->REMOVE", "GET->FETCH", "PATCH->MODIFY", "POST->CREATE", "PUT->REPLACE"]);
    assert!(settings.methods.aliases_are_seed && settings.methods.allow.is_none());
}

/// Every documented name, the method policy's aside.
const EVERY_NAME: &str = r#"[server]
server_id = "agents.acme.example"
operator = "Acme"
contact = "ops@acme.example"
domain = "acme.example"
issued = 2026-05-01T12:00:00Z
document_version = "7"
supported_features = ["endpoint-registry"]
legacy_version_header = true
[policies]
wildcards_accepted = true
anonymous_discovery = false
scope_required_for_invocation = false
synthesis_enabled = true
max_synthesis_depth = 3
enforce_agent_methods = true
builtins_override = ["/tools"]
[policies.methods]
allow = "*"
legacy = "NONE"
[agents]
disclosure = "private"
disclosure_notice = "Ask."
[tls]
cert = "server.pem"
key = "server.key"
[[tls.sni]]
names = ["a.example", "*.b.example"]
cert = "a.pem"
key = "a.key"
[mtls]
mode = "required"
ca_file = "ca.pem"
[signing]
key = "ed25519.pem"
key_id = "k"
[upstream]
ca_file = "roots.pem"
[limits]
request_line_bytes = 100
header_bytes = 200
header_count = 10
body_bytes = 300
json_depth = 5
header_timeout = 10
body_timeout = 0.5
idle_timeout = 60
write_timeout = 10
handshake_timeout = 10
shutdown_grace = 10
max_connections = 100000
max_connections_per_address = 10
max_requests_per_connection = 1000
[audit]
attribution = "on"
dir = "audit"
durability = "always"
on_failure = "refuse"
retention_days = 365
retention_bytes = 1000000000
read_acl = "public"
lifecycle_auth = "open"
[admin]
listen = "127.0.0.1:9480"
[log]
format = "json"
access = "on"
sample = 10
file = "agtp.log"
[[tools]]
name = "calculator"
version = 2
[[apis]]
name = "rest"
[[hosted_protocols]]
name = "mcp"
"#;

#[test]
fn every_documented_name_is_read_or_accepted() {
    let settings = settings(EVERY_NAME);
    assert_eq!(settings.server.issued.as_deref(), Some("2026-05-01T12:00:00Z"));
    assert_eq!(settings.limits.json_depth, 5);
    assert_eq!(settings.disclosure, Disclosure::Private);
    assert_eq!(settings.tools, [serde_json::json!({"name": "calculator", "version": 2})]);
    assert_eq!(settings.builtins_override, ["/tools"]);
    assert!(settings.policies.enforce_agent_methods && !settings.policies.anonymous_discovery);
}

#[test]
fn what_has_no_effect_is_told_and_what_cannot_be_enforced_refuses_to_start() {
    for (text, expected) in [
        ("[mtls]\nmode = \"required\"\n", "2 setting-unenforced"),
        ("[mtls]\nmode = \"optional\"\n", "2 setting-unenforced"),
        ("[audit]\ndurability = \"always\"\n", "2 setting-not-served"),
    ] {
        assert_eq!(settings_faults(text), [expected], "{text}");
        let usable = reading(&[("agtp-server.toml", text)]).deployment.is_some();
        assert_eq!(usable, !text.contains("mtls"), "{text}");
    }
}

#[test]
fn each_fault_has_its_line() {
    let cases: &[(&str, &[&str])] = &[
        ("[server\n", &["1 settings-syntax"]),
        ("[sever]\n", &["1 unknown-key"]),
        ("[server]\nserver_ids = \"a\"\n", &["2 unknown-key"]),
        ("[server]\nserver_id = 1\n", &["2 setting-type"]),
        ("[server]\nserver_id = \"a\\nb\"\n", &["2 setting-value"]),
        ("[server]\nissued = \"yesterday\"\n", &["2 setting-value"]),
        ("[server]\nissued = 2026-05-01\n", &["2 setting-value"]),
        ("[policies]\nanonymous_discovery = \"no\"\n", &["2 setting-type"]),
        ("[policies]\nmax_synthesis_depth = 0\n", &["2 setting-limit"]),
        ("policies = 1\n", &["1 setting-type"]),
        ("[agents]\ndisclosure = \"secret\"\n", &["2 setting-value"]),
        ("[limits]\nbody_bytes = 0\n", &["2 setting-limit"]),
        ("[limits]\nbody_bytes = -1\njson_depth = 99999999999999\n", &["2 setting-limit", "3 setting-limit"]),
        ("[limits]\nidle_timeout = 0\nmax_connections = 1.5\n", &["2 setting-limit", "3 setting-type"]),
        ("[mtls]\nmode = \"on\"\n", &["2 setting-value"]),
        ("[admin]\nlisten = \"0.0.0.0:9480\"\n", &["2 setting-value"]),
        (
            "[log]\naccess = \"some\"\nsample = 0\nlevel = 1\n",
            &["2 setting-value", "3 setting-limit", "4 unknown-key"],
        ),
        ("[tls]\ncertificate = \"a\"\n", &["2 unknown-key"]),
        (
            "[[tls.sni]]\nnames = [1]\ncert = 2\nname = \"a\"\n",
            &["1 setting-value", "2 setting-type", "3 setting-type", "4 unknown-key"],
        ),
        ("[tls]\nsni = \"a.example\"\n", &["2 setting-type"]),
        ("[[tools]]\ndescription = \"x\"\n", &["1 setting-value"]),
        ("[tools]\n", &["1 setting-type"]),
    ];
    for (text, expected) in cases {
        assert_eq!(settings_faults(text), *expected, "{text}");
    }
}

#[test]
fn what_is_wrong_with_the_configuration_refuses_to_start() {
    for text in ["[server", "[policies.methods]\nlegacy = [\"GTE\"]", "[policies]\nanonymous_discovery = 1"] {
        let reading = reading(&[("agtp-server.toml", text), ("endpoints/a.toml", ENDPOINT)]);
        assert!(reading.deployment.is_none() && reading.report.has_configuration_faults(), "{text}");
    }
    let reading = reading(&[("endpoints/a.toml", "["), ("endpoints/b.toml", ENDPOINT)]);
    assert_eq!(reading.deployment.unwrap().endpoints.len(), 1, "a faulty endpoint does not");
}

fn methods_faults(text: &str) -> Vec<String> {
    settings_faults(&format!("[policies.methods]\n{text}"))
}

#[test]
fn policy_lists_are_checked_and_skip_gracefully() {
    let cases: &[(&str, &[&str])] = &[
        ("allow = \"*\"", &[]),
        ("allow = \"BOOK\"", &["2 setting-value"]),
        ("allow = [\"BOOK\",\n\"BOKO\"]", &["3 policy-method-skipped"]),
        ("allow = [\"book\"]", &["2 policy-method-form"]),
        ("disallow = [\"BOKO\"]", &["2 policy-method-skipped"]),
        ("disallow = [\"QUERY\"]", &["2 floor-disallowed"]),
        ("disallow = \"BOOK\"", &["2 setting-type"]),
        ("legacy = \"*\"", &[]),
        ("legacy = \"GET\"", &["2 legacy-unknown-verb"]),
        ("legacy = [\"GET\", \"HEAD\"]", &["2 legacy-unknown-verb"]),
        ("legacy = [\"get\"]", &["2 legacy-unknown-verb"]),
        ("legacy = true", &["2 setting-type"]),
        ("custom = [\"TELEPORT\"]\nallow = [\"TELEPORT\"]", &[]),
        ("custom = [\"BOOK\"]", &["2 custom-method-collides"]),
        ("custom = [\"GET\"]", &["2 custom-method-collides"]),
        ("custom = [\"teleport\"]", &["2 policy-method-form"]),
        ("dissallow = [\"BOOK\"]", &["2 unknown-key"]),
    ];
    for (text, expected) in cases {
        assert_eq!(methods_faults(text), *expected, "{text}");
    }
    let policy = settings(
        "[policies.methods]\nallow = [\"BOOK\", \"BOKO\"]\nlegacy = [\"PUT\"]\ndisallow = [\"QUERY\"]",
    )
    .methods;
    assert_eq!(policy.allow.unwrap(), ["BOOK"]);
    assert_eq!(
        (policy.legacy, policy.legacy_as_written),
        (vec!["PUT".to_owned()], Some(serde_json::json!(["PUT"])))
    );
    assert!(policy.disallow.is_empty());
}

#[test]
fn aliases_never_chain() {
    let cases: &[(&str, &[&str])] = &[
        ("GRAB = \"FETCH\"", &[]),
        ("GRAB = \"QUERY\"", &[]),
        ("GRAB = \"FTECH\"", &["3 alias-target"]),
        ("GRAB = \"GET\"", &["3 alias-target"]),
        ("GRAB = 1", &["3 setting-type"]),
        ("grab = \"FETCH\"", &["3 policy-method-form"]),
        ("BOOK = \"RESERVE\"", &["3 alias-shadows-method"]),
        ("GRAB = \"GET\"\nGET = \"FETCH\"", &["3 alias-chain"]),
        ("GRAB = \"GRAB\"", &["3 alias-chain"]),
        ("AAA = \"BBB\"\nBBB = \"CCC\"\nCCC = \"AAA\"", &["3 alias-chain", "4 alias-chain", "5 alias-chain"]),
    ];
    for (text, expected) in cases {
        assert_eq!(methods_faults(&format!("[policies.methods.aliases]\n{text}")), *expected, "{text}");
    }
    let text = "[policies.methods.aliases]\nAAA = \"BBB\"\nBBB = \"CCC\"\nCCC = \"BBB\"\n";
    let report = reading(&[("agtp-server.toml", text)]).report;
    assert!(report.faults[0].message.contains("AAA -> BBB -> CCC -> BBB"), "{report}");
    let wiped = settings("[policies.methods]\naliases = {}").methods;
    assert!(wiped.aliases.is_empty() && !wiped.aliases_are_seed);
}

#[test]
fn redirects_go_between_literal_paths() {
    let redirect = |rest: &str| {
        methods_faults(&format!(
            "[[policies.methods.redirects]]\nfrom_method = \"BOOK\"\nto_method = \"RESERVE\"\n{rest}"
        ))
    };
    assert_eq!(redirect("from_path = \"/room\"\nto_path = \"/rooms\""), [""; 0]);
    assert_eq!(redirect("from_path = \"/room/{id}\""), ["5 redirect-path"]);
    assert_eq!(redirect("to_path = \"room\""), ["5 redirect-path"]);
    assert_eq!(redirect("from_path = \"/a/fetch\""), ["5 redirect-useless"]);
    assert_eq!(redirect("form_path = \"/a\""), ["5 unknown-key"]);
    assert_eq!(methods_faults("[[policies.methods.redirects]]\nfrom_method = \"BOOK\""), ["2 setting-value"]);
    let skipped = "[[policies.methods.redirects]]\nfrom_method = \"BOKO\"\nto_method = \"RESERVE\"";
    assert_eq!(methods_faults(skipped), ["3 policy-method-skipped"]);
    let captured = endpoint_at("QUERY", "/a/{id}");
    let text = "[[policies.methods.redirects]]\nfrom_method = \"BOOK\"\nto_method = \"RESERVE\"\n\
        from_path = \"/a/fetch\"";
    assert_eq!(
        faults(&[("agtp-server.toml", text), ("endpoints/a.toml", &captured)]),
        [""; 0],
        "an endpoint matches"
    );
}

#[test]
fn custom_methods_and_policy_reach_the_endpoints() {
    let custom = "[policies.methods]\ncustom = [\"TELEPORT\"]\n";
    let (sound, leak) = (endpoint_at("TELEPORT", "/a"), endpoint_at("BOOK", "/tele-port"));
    let found =
        faults(&[("agtp-server.toml", custom), ("endpoints/a.toml", &sound), ("endpoints/b.toml", &leak)]);
    assert_eq!(found, ["endpoints/b.toml:3 path-carries-verb"]);
    let alias = "[policies.methods.aliases]\nTELEPORT = \"FETCH\"\n";
    let report = reading(&[("agtp-server.toml", alias), ("endpoints/a.toml", &sound)]).report;
    assert_eq!(report.faults[0].remedy, "TELEPORT is an alias; declare the endpoint with FETCH");
    for policy in ["disallow = [\"BOOK\"]", "allow = [\"RESERVE\"]"] {
        let text = format!("[policies.methods]\n{policy}\n");
        let reading = reading(&[("agtp-server.toml", &text), ("endpoints/a.toml", ENDPOINT)]);
        assert_eq!(shown(&reading.report.faults), ["endpoints/a.toml:2 method-refused-by-policy"]);
        assert_eq!(reading.report.faults[0].severity, Severity::Warning);
        assert_eq!(reading.deployment.unwrap().endpoints.len(), 1);
    }
}

#[test]
fn a_deployment_may_bring_its_catalog() {
    let canonical = include_str!("../../../../catalog/methods.json");
    let settings = "[catalog]\nfile = \"own.json\"\n";
    let check = |catalog: &str, expected: &[&str]| {
        let files = [("agtp-server.toml", settings), ("own.json", catalog), ("endpoints/a.toml", ENDPOINT)];
        assert_eq!(faults(&files), expected);
    };
    check(canonical, &[]);
    check(&canonical.replacen("\"BOOK\":", "\"BOOKS\":", 1), &["endpoints/a.toml:2 method-not-in-catalog"]);
    let line = 1 + canonical.lines().position(|line| line.contains("\"BOOK\":")).unwrap();
    let bad =
        ["endpoints/a.toml:2 method-not-in-catalog".to_owned(), format!("own.json:{line} catalog-fault")];
    check(&canonical.replacen("\"BOOK\":", "\"book\":", 1), &bad.each_ref().map(String::as_str));
    check("{", &["own.json:1 catalog-fault"]);
    let deprecated = canonical.replacen("\"BOOK\": {", "\"BOOK\": {\"deprecated_in\": \"1.0.0\", ", 1);
    check(&deprecated, &["endpoints/a.toml:2 method-deprecated"]);
    let missing = faults(&[("agtp-server.toml", settings)]);
    assert_eq!(missing, ["agtp-server.toml:2 unreadable-file"]);
}
