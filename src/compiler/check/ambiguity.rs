//! Finds endpoints that match a common path equally well (D6), without comparing all with all.
//!
//! Two endpoints of one method are ambiguous when they have as many segments and as many parameters as each other,
//! and at every position where both are literal, the same literal. So they are sorted into buckets by those three
//! numbers, and within a bucket into shapes (which positions are parameters). Within a shape, and between two shapes,
//! endpoints collide exactly if they agree on the positions that are literal in both: a hash look-up each.

use crate::compiler::ir::{Template, TemplateSegment};
use std::collections::{BTreeMap, HashMap};

/// For each endpoint, the first other one it is ambiguous with. Endpoints are method and path.
pub(in crate::compiler) fn rivals(endpoints: &[(&str, &Template)]) -> Vec<Option<usize>> {
    let mut rivals = vec![None; endpoints.len()];
    let mut literals = HashMap::new();
    let mut buckets: BTreeMap<_, BTreeMap<Vec<bool>, Vec<Row>>> = BTreeMap::new();
    for (index, (method, template)) in endpoints.iter().enumerate() {
        let row = Row::new(index, template, &mut literals);
        let shape: Vec<_> = row.segments.iter().map(|segment| *segment == PARAMETER).collect();
        let parameters = shape.iter().filter(|parameter| **parameter).count();
        let bucket = buckets.entry((*method, row.segments.len(), parameters)).or_default();
        bucket.entry(shape).or_default().push(row);
    }
    for shapes in buckets.into_values() {
        let shapes: Vec<_> = shapes.into_iter().collect();
        for (index, (shape, rows)) in shapes.iter().enumerate() {
            within_shape(rows, &mut rivals);
            for (other, other_rows) in &shapes[index + 1..] {
                let common: Vec<_> = (0..shape.len()).filter(|at| !shape[*at] && !other[*at]).collect();
                between_shapes(&common, rows, other_rows, &mut rivals);
            }
        }
    }
    rivals
}

/// In place of a literal's number.
const PARAMETER: u32 = u32::MAX;

/// One endpoint, its literals numbered so that comparing two is comparing two integers.
#[derive(Debug)]
struct Row {
    endpoint: usize,
    segments: Vec<u32>,
}

impl Row {
    fn new<'t>(endpoint: usize, template: &'t Template, literals: &mut HashMap<&'t str, u32>) -> Row {
        let number = |segment: &'t TemplateSegment| match segment {
            TemplateSegment::Param(_) => PARAMETER,
            TemplateSegment::Literal(literal) => {
                let next = literals.len() as u32;
                *literals.entry(literal).or_insert(next)
            }
        };
        Row { endpoint, segments: template.segments.iter().map(number).collect() }
    }

    fn key(&self, positions: &[usize]) -> Vec<u32> {
        positions.iter().map(|at| self.segments[*at]).collect()
    }
}

/// Endpoints of one shape collide if all their literals are the same.
fn within_shape(rows: &[Row], rivals: &mut [Option<usize>]) {
    let mut first: HashMap<&[u32], usize> = HashMap::new();
    for row in rows {
        match first.entry(&row.segments) {
            std::collections::hash_map::Entry::Vacant(vacant) => _ = vacant.insert(row.endpoint),
            std::collections::hash_map::Entry::Occupied(rival) => collide(*rival.get(), row.endpoint, rivals),
        }
    }
}

/// Endpoints of two shapes collide if they agree where both are literal. Two lone rows are compared outright: with
/// thousands of shapes that is the common case.
fn between_shapes(common: &[usize], left: &[Row], right: &[Row], rivals: &mut [Option<usize>]) {
    if let ([one], [other]) = (left, right) {
        if common.iter().all(|at| one.segments[*at] == other.segments[*at]) {
            collide(one.endpoint, other.endpoint, rivals);
        }
        return;
    }
    let mut first: HashMap<Vec<u32>, usize> = HashMap::new();
    for row in left {
        first.entry(row.key(common)).or_insert(row.endpoint);
    }
    let mut met: HashMap<Vec<u32>, usize> = HashMap::new();
    for row in right {
        let key = row.key(common);
        if let Some(rival) = first.get(&key) {
            collide(*rival, row.endpoint, rivals);
            met.entry(key).or_insert(row.endpoint);
        }
    }
    if met.is_empty() {
        return;
    }
    for row in left {
        if let Some(rival) = met.get(&row.key(common)) {
            collide(*rival, row.endpoint, rivals);
        }
    }
}

/// Notes that two endpoints collide. Each keeps the first rival it meets.
fn collide(one: usize, other: usize, rivals: &mut [Option<usize>]) {
    rivals[one].get_or_insert(other);
    rivals[other].get_or_insert(one);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compiler::check::path;
    use proptest::prelude::*;

    fn template(text: &str) -> Template {
        path::parse(text).0.unwrap()
    }

    /// D6, word for word.
    fn ambiguous(one: &(String, Template), other: &(String, Template)) -> bool {
        let parameters = |template: &Template| path::parameters(template).count();
        one.0 == other.0
            && one.1.segments.len() == other.1.segments.len()
            && parameters(&one.1) == parameters(&other.1)
            && one.1.segments.iter().zip(&other.1.segments).all(|pair| match pair {
                (TemplateSegment::Literal(a), TemplateSegment::Literal(b)) => a == b,
                _ => true,
            })
    }

    fn check(endpoints: &[(String, Template)]) {
        let rows: Vec<_> = endpoints.iter().map(|(method, path)| (method.as_str(), path)).collect();
        let found = rivals(&rows);
        for (index, endpoint) in endpoints.iter().enumerate() {
            let expected =
                (0..endpoints.len()).any(|other| other != index && ambiguous(endpoint, &endpoints[other]));
            assert_eq!(found[index].is_some(), expected, "{endpoint:?} among {endpoints:?}");
            if let Some(rival) = found[index] {
                assert!(rival != index && ambiguous(endpoint, &endpoints[rival]));
            }
        }
    }

    proptest! {
        #[test]
        fn agrees_with_comparing_all_pairs(
            endpoints in prop::collection::vec(
                ("[AB]", prop::collection::vec(prop_oneof!["[abc]", Just("{x}".to_owned())], 0..5)),
                0..24,
            ),
        ) {
            let endpoints: Vec<_> = endpoints.into_iter().map(|(method, segments)| {
                let named = segments.iter().enumerate().map(|(at, segment)| segment.replace('x', &format!("x{at}")));
                (method, template(&format!("/{}", named.collect::<Vec<_>>().join("/"))))
            }).collect();
            check(&endpoints);
        }
    }

    #[test]
    fn d6_s_own_example_is_no_ambiguity() {
        let endpoints = [("BOOK", "/a/{x}/{y}"), ("BOOK", "/{z}/b/c"), ("RESERVE", "/{q}/b/c")]
            .map(|(method, path)| (method.to_owned(), template(path)));
        check(&endpoints);
        let rows: Vec<_> = endpoints.iter().map(|(method, path)| (method.as_str(), path)).collect();
        assert_eq!(rivals(&rows), [None, None, None]);
    }

    #[test]
    fn ten_thousand_endpoints_take_no_time_to_speak_of() {
        let mut templates: Vec<_> = (0..5_000).map(|n| template(&format!("/r{n}/{{id}}/x"))).collect();
        templates.extend((0..5_000).map(|n| template(&format!("/r{n}/y/{{id}}"))));
        templates.push(template("/{any}/y/x"));
        let rows: Vec<_> = templates.iter().map(|template| ("BOOK", template)).collect();
        let found = rivals(&rows);
        assert_eq!(
            found.iter().flatten().count(),
            templates.len(),
            "all collide with the last, or with one another"
        );
    }
}
