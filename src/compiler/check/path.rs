//! Path templates: grammar, template form, reserved paths (draft: Path Grammar).

use super::Finding;
use crate::compiler::ir::{Template, TemplateSegment};
use crate::compiler::rules;
use std::collections::HashSet;

/// The roots under DISCOVER that are the protocol's (draft: Reserved DISCOVER Paths).
pub(crate) const RESERVED: [&str; 7] =
    ["methods", "agents", "genesis", "tools", "apis", "patterns", "contracts"];

/// Reads a path template. It is returned only if there is nothing wrong with it.
pub(in crate::compiler) fn parse(text: &str) -> (Option<Template>, Vec<Finding>) {
    let mut findings = Vec::new();
    let Some(rest) = text.strip_prefix('/') else {
        let message = format!("path \"{text}\" does not begin with \"/\"");
        findings.push(Finding::new(&rules::PATH_RELATIVE, message, format!("write \"/{text}\"")));
        return (None, findings);
    };
    let mut segments = Vec::new();
    if !rest.is_empty() {
        let pieces: Vec<_> = split(rest);
        let last = pieces.len() - 1;
        for (index, piece) in pieces.into_iter().enumerate() {
            match segment(text, piece, index == last) {
                Ok(segment) => segments.push(segment),
                Err(finding) => findings.push(finding),
            }
        }
        findings.extend(repeated_parameters(&segments));
    }
    let template = Template { text: text.to_owned(), segments };
    (findings.is_empty().then_some(template), findings)
}

/// The segments. A `/` inside of braces separates nothing: `{/path}` is one segment with the wrong template form.
fn split(rest: &str) -> Vec<&str> {
    let mut depth = 0_u32;
    rest.split(|letter| {
        match letter {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        letter == '/' && (depth == 0 || !rest.contains('}'))
    })
    .collect()
}

fn segment(path: &str, piece: &str, last: bool) -> Result<TemplateSegment, Finding> {
    if piece.is_empty() {
        return Err(match last {
            true => Finding::new(
                &rules::PATH_TRAILING_SLASH,
                format!("path \"{path}\" ends with \"/\""),
                "leave the last \"/\" out; only the root path is \"/\"",
            ),
            false => Finding::new(
                &rules::PATH_EMPTY_SEGMENT,
                format!("path \"{path}\" has an empty segment"),
                "leave one of the two \"/\" out",
            ),
        });
    }
    // What follows a parameter may be a query or a fragment, which says more than that the segment is mixed.
    let tail = piece.rsplit('}').next().unwrap_or(piece);
    if !tail.contains('{') {
        no_query(piece, tail)?;
    }
    if piece.contains(['{', '}']) {
        return parameter(piece).map(|name| TemplateSegment::Param(name.to_owned()));
    }
    literal(piece).map(|()| TemplateSegment::Literal(piece.to_owned()))
}

/// The name in a parameter segment.
fn parameter(piece: &str) -> Result<&str, Finding> {
    let name_byte = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let inner = piece.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
    if let Some(name) = inner
        && !name.is_empty()
        && name.bytes().all(name_byte)
    {
        return Ok(name);
    }
    if is_mixed(piece) {
        return Err(Finding::new(
            &rules::PATH_MIXED,
            format!("segment \"{piece}\" mixes literal text and a parameter"),
            "make it one parameter, {name}, or one literal",
        ));
    }
    Err(Finding::new(
        &rules::PATH_TEMPLATE,
        format!("segment \"{piece}\" is no parameter"),
        "the only template form is {name}, a name of letters, digits and \"_\"",
    ))
}

/// Whether all braces in it are of the form `{name}`, so that only the text around them is at fault.
fn is_mixed(piece: &str) -> bool {
    let mut rest = piece;
    while let Some(open) = rest.find(['{', '}']) {
        let Some(close) = rest[open..].find('}').map(|close| open + close) else { return false };
        let name = rest.get(open + 1..close).unwrap_or("");
        if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
            return false;
        }
        rest = &rest[close + 1..];
    }
    true
}

fn no_query(piece: &str, tail: &str) -> Result<(), Finding> {
    if tail.contains('?') {
        let message = format!("segment \"{piece}\" has a query");
        let help = "leave it out; query parameters are declared as input properties";
        return Err(Finding::new(&rules::PATH_QUERY, message, help));
    }
    if tail.contains('#') {
        let message = format!("segment \"{piece}\" has a fragment");
        return Err(Finding::new(&rules::PATH_FRAGMENT, message, "leave \"#\" and what follows out"));
    }
    Ok(())
}

/// Checks the characters of a literal segment.
fn literal(piece: &str) -> Result<(), Finding> {
    if let Some(bad) = piece.chars().find(|letter| !is_segment_char(*letter)) {
        let message = format!("segment \"{piece}\" holds {bad:?}");
        let help = "use letters, digits and -._~!$&'()*+,;=:@, and percent-encode the rest";
        return Err(Finding::new(&rules::PATH_CHARACTER, message, help));
    }
    if percent_decode(piece).is_none() {
        let message = format!("segment \"{piece}\" has a \"%\" without two hexadecimal digits");
        return Err(Finding::new(&rules::PATH_ESCAPE, message, "write \"%25\" for a percent sign"));
    }
    Ok(())
}

fn is_segment_char(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || "-._~!$&'()*+,;=:@%".contains(letter)
}

/// The bytes that a segment stands for; nothing if an escape is malformed.
pub(in crate::compiler) fn percent_decode(segment: &str) -> Option<Vec<u8>> {
    let mut decoded = Vec::with_capacity(segment.len());
    let mut rest = segment.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        if byte != b'%' {
            decoded.push(byte);
            rest = tail;
            continue;
        }
        let hex = |digit: &u8| char::from(*digit).to_digit(16);
        let (high, low) = (hex(tail.first()?)?, hex(tail.get(1)?)?);
        decoded.push((high << 4 | low) as u8);
        rest = tail.get(2..)?;
    }
    Some(decoded)
}

fn repeated_parameters(segments: &[TemplateSegment]) -> Vec<Finding> {
    let mut seen = HashSet::new();
    let repeated = segments.iter().filter_map(|segment| match segment {
        TemplateSegment::Param(name) if !seen.insert(name) => Some(name),
        _ => None,
    });
    let finding = |name| {
        let message = format!("parameter {{{name}}} stands twice in the path");
        Finding::new(&rules::PATH_DUPLICATE_PARAMETER, message, "give each parameter a name of its own")
    };
    repeated.map(finding).collect()
}

/// The parameter names of a template.
pub(in crate::compiler) fn parameters(template: &Template) -> impl Iterator<Item = &str> {
    template.segments.iter().filter_map(|segment| match segment {
        TemplateSegment::Param(name) => Some(name.as_str()),
        TemplateSegment::Literal(_) => None,
    })
}

/// Whether a template matches a literal path. A parameter captures no empty segment (D8).
pub(in crate::compiler) fn matches(template: &Template, path: &str) -> bool {
    let Some(rest) = path.strip_prefix('/') else { return false };
    if rest.is_empty() {
        return template.segments.is_empty();
    }
    let pieces: Vec<_> = rest.split('/').collect();
    pieces.len() == template.segments.len()
        && pieces.iter().zip(&template.segments).all(|(piece, segment)| match segment {
            TemplateSegment::Literal(literal) => literal == piece,
            TemplateSegment::Param(_) => !piece.is_empty(),
        })
}

/// Whether an operator may bind an endpoint here (D12). `overrides` lists the reserved paths the operator replaces.
/// `DISCOVER /` is not among those that can be: every server's manifest is there (draft: Single Tier; D1).
pub(in crate::compiler) fn reserved(
    method: &str,
    template: &Template,
    overrides: &[String],
) -> Option<Finding> {
    if overrides.contains(&template.text) && !template.segments.is_empty() {
        return None;
    }
    let built_in = template.segments.is_empty() && matches!(method, "DISCOVER" | "PROPOSE");
    let root = match template.segments.first() {
        Some(TemplateSegment::Literal(first)) if method == "DISCOVER" => {
            RESERVED.iter().find(|root| first.starts_with(*root))
        }
        _ => None,
    };
    if !built_in && root.is_none() {
        return None;
    }
    let message = format!("{method} {} is reserved for the protocol's own endpoints", template.text);
    let help = match root {
        Some(root) if template.text == format!("/{root}") => {
            format!("choose another path, or list \"/{root}\" in policies.builtins_override")
        }
        Some(root) => format!("choose a path whose first segment does not begin with \"{root}\""),
        None if method == "DISCOVER" => {
            "choose another path: agents look for the server's manifest there".to_owned()
        }
        None => "choose another path".to_owned(),
    };
    Some(Finding::new(&rules::PATH_RESERVED, message, help))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn codes(path: &str) -> Vec<&'static str> {
        parse(path).1.iter().map(|finding| finding.rule.code).collect()
    }

    #[test]
    fn good_templates_come_apart() {
        let template = parse("/rooms/{room_id}/a%20b").0.unwrap();
        let literal = |text: &str| TemplateSegment::Literal(text.to_owned());
        let expected = [literal("rooms"), TemplateSegment::Param("room_id".to_owned()), literal("a%20b")];
        assert_eq!(template.segments, expected);
        assert!(parse("/").0.unwrap().segments.is_empty());
        for path in ["/a", "/a-b_c.~d/!$&'()*+,;=:@", "/{A_1}/{a_1}", "/..", "/%E2%82%ac"] {
            assert_eq!(codes(path), [""; 0], "{path}");
        }
    }

    #[test]
    fn each_bad_form_has_its_rule() {
        let cases: &[(&str, &[&str])] = &[
            ("", &["path-not-absolute"]),
            ("rooms", &["path-not-absolute"]),
            ("/rooms/", &["path-trailing-slash"]),
            ("//", &["path-empty-segment", "path-trailing-slash"]),
            ("//rooms", &["path-empty-segment"]),
            ("/a//b", &["path-empty-segment"]),
            ("/rooms?x=1", &["path-query"]),
            ("/rooms#top", &["path-fragment"]),
            ("/ro oms", &["path-illegal-character"]),
            ("/räume", &["path-illegal-character"]),
            ("/a\\b", &["path-illegal-character"]),
            ("/a%2", &["path-bad-escape"]),
            ("/%zz/%", &["path-bad-escape", "path-bad-escape"]),
            ("/{}", &["path-template-form"]),
            ("/{a-b}", &["path-template-form"]),
            ("/{?query,page}", &["path-template-form"]),
            ("/rooms{?query}", &["path-template-form"]),
            ("/{+reserved}", &["path-template-form"]),
            ("/{#fragment}", &["path-template-form"]),
            ("/{/path}", &["path-template-form"]),
            ("/{id}?x={y}", &["path-mixed-segment"]),
            ("/{id}?x=1", &["path-query"]),
            ("/{id}#x", &["path-fragment"]),
            ("/{a", &["path-template-form"]),
            ("/a}", &["path-template-form"]),
            ("/{a/b}", &["path-template-form"]),
            ("/{{a}}", &["path-template-form"]),
            ("/prefix-{id}", &["path-mixed-segment"]),
            ("/{a}{b}", &["path-mixed-segment"]),
            ("/{id}.json", &["path-mixed-segment"]),
            ("/{id}/{id}", &["path-duplicate-parameter"]),
            (
                "/{id}/{id}/{id}/",
                &["path-trailing-slash", "path-duplicate-parameter", "path-duplicate-parameter"],
            ),
        ];
        for (path, expected) in cases {
            assert_eq!(codes(path), *expected, "{path}");
            assert!(parse(path).0.is_none());
        }
    }

    #[test]
    fn reserved_roots_are_string_prefixes_under_discover_only() {
        let refused = |method: &str, path: &str, overrides: &[&str]| {
            let overrides: Vec<_> = overrides.iter().map(|path| (*path).to_owned()).collect();
            reserved(method, &parse(path).0.unwrap(), &overrides).is_some()
        };
        for root in RESERVED {
            for path in
                [format!("/{root}"), format!("/{root}/v2"), format!("/{root}-x"), format!("/{root}et")]
            {
                assert!(refused("DISCOVER", &path, &[]), "{path}");
                assert!(!refused("QUERY", &path, &[]), "{path}");
            }
        }
        for path in ["/method", "/a/methods", "/Methods", "/{methods}", "/{x}/methods"] {
            assert!(!refused("DISCOVER", path, &[]), "{path}");
        }
        assert!(refused("DISCOVER", "/", &[]) && refused("PROPOSE", "/", &[]) && !refused("QUERY", "/", &[]));
        assert!(!refused("DISCOVER", "/tools", &["/tools"]) && refused("DISCOVER", "/", &["/"]));
        assert!(refused("DISCOVER", "/toolset", &["/tools"]) && refused("DISCOVER", "/tools/x", &["/tools"]));
    }

    #[test]
    fn templates_match_as_requests_will_see_it() {
        let template = parse("/a/{x}/c").0.unwrap();
        assert!(matches(&template, "/a/b/c"));
        for path in ["/a//c", "/a/b", "/a/b/c/", "/A/b/c", "a/b/c", "/"] {
            assert!(!matches(&template, path), "{path}");
        }
        assert!(matches(&parse("/").0.unwrap(), "/"));
    }
}
