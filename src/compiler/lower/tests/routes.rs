//! The tries against a matcher that tries every template.

use super::super::fixture::{deployment, endpoint, template};
use super::{compile, route};
use crate::compiler::ir::{EndpointDecl, Template, TemplateSegment};
use crate::registry::{Registry, split_segments};
use proptest::prelude::*;
use std::collections::BTreeSet;

fn params(template: &Template) -> usize {
    template.segments.iter().filter(|segment| matches!(segment, TemplateSegment::Param(_))).count()
}

fn matches(template: &Template, path: &str) -> bool {
    let segments: Vec<&str> = if path == "/" { vec![] } else { path[1..].split('/').collect() };
    segments.len() == template.segments.len()
        && segments.iter().zip(&template.segments).all(|(segment, pattern)| match pattern {
            TemplateSegment::Literal(literal) => segment == literal,
            TemplateSegment::Param(_) => !segment.is_empty(),
        })
}

fn naive_route<'d>(endpoints: &'d [EndpointDecl], method: &str, path: &str) -> Option<&'d str> {
    let of_method = endpoints.iter().filter(|endpoint| endpoint.method == method);
    let matching = of_method.filter(|endpoint| matches(&endpoint.path, path));
    matching.min_by_key(|endpoint| params(&endpoint.path)).map(|endpoint| endpoint.path.text.as_str())
}

/// D6: some path matches both, and neither has fewer parameters.
fn ambiguous(a: &Template, b: &Template) -> bool {
    params(a) == params(b)
        && a.segments.len() == b.segments.len()
        && a.segments.iter().zip(&b.segments).all(|pair| match pair {
            (TemplateSegment::Literal(a), TemplateSegment::Literal(b)) => a == b,
            _ => true,
        })
}

/// Templates of all methods that match, as the trie of all templates finds them.
fn known(registry: &Registry, path: &str) -> BTreeSet<String> {
    let mut segments = Vec::new();
    split_segments(path.as_bytes(), 64, &mut segments);
    let mut found = BTreeSet::new();
    registry.router.known(path.as_bytes(), &segments, &registry.text, &mut |id| {
        let known = &registry.known_paths[id.0 as usize];
        found.insert(registry.str(known.template).to_owned());
    });
    found
}

fn assert_routes_like_the_naive_matcher(
    registry: &Registry,
    endpoints: &[EndpointDecl],
    path: &str,
) -> Result<(), TestCaseError> {
    for method in ["BOOK", "FETCH"] {
        prop_assert_eq!(
            route(registry, method, path),
            naive_route(endpoints, method, path),
            "{} {}",
            method,
            path
        );
    }
    // Parameters are named by position, so equal shapes have equal texts.
    let expected: BTreeSet<String> =
        endpoints.iter().filter(|e| matches(&e.path, path)).map(|e| e.path.text.clone()).collect();
    let found: BTreeSet<String> = known(registry, path).into_iter().filter(|path| path != "/").collect();
    prop_assert_eq!(found, expected, "{}", path);
    Ok(())
}

/// A template over so few segments that collisions are the rule. Long literals differ after their eighth byte only.
fn any_template() -> impl Strategy<Value = String> {
    let segment = prop_oneof![
        Just("a"),
        Just("b"),
        Just("longsegment-1"),
        Just("longsegment-2"),
        Just("{}"),
        Just("{}")
    ];
    prop::collection::vec(segment, 1..5).prop_map(|segments| {
        let named = segments.iter().enumerate().map(|(position, segment)| match *segment {
            "{}" => format!("/{{p{position}}}"),
            literal => format!("/{literal}"),
        });
        named.collect()
    })
}

fn any_endpoints() -> impl Strategy<Value = Vec<EndpointDecl>> {
    let declared = prop::collection::vec((prop::bool::ANY, any_template()), 0..14);
    declared.prop_map(|declared| {
        let mut kept: Vec<EndpointDecl> = Vec::new();
        for (book, path) in declared {
            let candidate = endpoint(if book { "BOOK" } else { "FETCH" }, &path);
            let clashes = |other: &EndpointDecl| {
                other.method == candidate.method && ambiguous(&other.path, &candidate.path)
            };
            if !kept.iter().any(clashes) {
                kept.push(candidate);
            }
        }
        kept
    })
}

fn any_path() -> impl Strategy<Value = String> {
    let segments = vec!["a", "b", "c", "", "longsegment-1", "longsegment-2", "longsegment-", "{p0}"];
    let segment = prop::sample::select(segments);
    prop::collection::vec(segment, 0..6).prop_map(|segments| format!("/{}", segments.join("/")))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn generated_templates_route_like_the_naive_matcher(
        endpoints in any_endpoints(),
        paths in prop::collection::vec(any_path(), 1..40),
    ) {
        let registry = compile(&deployment(endpoints.clone())).registry;
        for path in paths {
            assert_routes_like_the_naive_matcher(&registry, &endpoints, &path)?;
        }
    }
}

#[test]
fn fewest_parameters_wins_over_literal_first() {
    let endpoints = vec![endpoint("BOOK", "/a/{x}/{y}"), endpoint("BOOK", "/{z}/b/c")];
    let registry = compile(&deployment(endpoints)).registry;
    assert_eq!(route(&registry, "BOOK", "/a/b/c"), Some("/{z}/b/c"));
    assert_eq!(route(&registry, "BOOK", "/a/b/d"), Some("/a/{x}/{y}"));
    assert_eq!(route(&registry, "BOOK", "/q/b/c"), Some("/{z}/b/c"));
    assert_eq!(route(&registry, "BOOK", "/q/b/d"), None);
}

#[test]
fn a_template_of_another_method_never_shadows() {
    let endpoints = vec![endpoint("BOOK", "/a/b"), endpoint("FETCH", "/a/{x}")];
    let registry = compile(&deployment(endpoints)).registry;
    assert_eq!(route(&registry, "FETCH", "/a/b"), Some("/a/{x}"));
    assert_eq!(route(&registry, "BOOK", "/a/c"), None);
}

fn large_deployment() -> Vec<EndpointDecl> {
    let shapes = |n: usize| {
        [
            format!("/resource-{n}"),
            format!("/resource-{n}/{{p1}}"),
            format!("/resource-{n}/{{p1}}/parts"),
            format!("/resource-{n}/{{p1}}/parts/{{p3}}"),
            format!("/{{p0}}/collection-{n}/newest"),
        ]
    };
    (0..400).flat_map(shapes).map(|path| endpoint("BOOK", &path)).collect()
}

#[test]
fn two_thousand_endpoints_route_like_the_naive_matcher() {
    let endpoints = large_deployment();
    assert_eq!(endpoints.len(), 2000);
    let registry = compile(&deployment(endpoints.clone())).registry;
    for n in [0, 1, 7, 123, 398, 399, 400] {
        for path in [
            format!("/resource-{n}"),
            format!("/resource-{n}/"),
            format!("/resource-{n}/x"),
            format!("/resource-{n}/x/parts"),
            format!("/resource-{n}/x/parts/9"),
            format!("/resource-{n}/collection-{n}/newest"),
            format!("/elsewhere/collection-{n}/newest"),
            format!("/elsewhere/collection-{n}"),
        ] {
            assert_routes_like_the_naive_matcher(&registry, &endpoints, &path).unwrap();
        }
    }
    for (row, decl) in endpoints.iter().enumerate() {
        let concrete = decl.path.text.replace("{p0}", "x").replace("{p1}", "y").replace("{p3}", "z");
        assert_eq!(route(&registry, "BOOK", &concrete), Some(decl.path.text.as_str()), "{row}");
    }
}

#[test]
fn the_fixture_reads_templates() {
    assert!(template("/").segments.is_empty());
    assert_eq!(template("/a/{b}").segments.len(), 2);
}
