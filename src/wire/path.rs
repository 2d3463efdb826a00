//! The grammar of a path on the wire (facts page 1; draft: Path Rules). What breaks it is 460, not a wire fault.

use super::Span;
use super::class::PATH;
use super::percent::{self, TextFault};

/// A rule of the path grammar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PathRule {
    /// It must begin with `/`.
    NoLeadingSlash,
    /// It must not end with `/`, unless it is `/`.
    TrailingSlash,
    /// Its first segment must not be empty.
    EmptyFirstSegment,
    /// A segment holds a byte that no segment may hold.
    IllegalCharacter,
    /// A `%` is not followed by two hexadecimal digits.
    BadEscape,
    /// A segment is not UTF-8 once decoded.
    NotUtf8,
}

impl PathRule {
    /// What was wrong, and what would be right.
    pub const fn message(self) -> &'static str {
        match self {
            PathRule::NoLeadingSlash => "the path does not begin with `/`",
            PathRule::TrailingSlash => "the path ends with `/`; only the root path `/` may",
            PathRule::EmptyFirstSegment => "the path begins with `//`; its first segment must not be empty",
            PathRule::IllegalCharacter => {
                "a segment contains a character other than letters, digits and -._~!$&'()*+,;=:@; percent-encode it"
            }
            PathRule::BadEscape => "a segment contains a `%` that is not followed by two hexadecimal digits",
            PathRule::NotUtf8 => "a segment is not UTF-8 once percent-decoded",
        }
    }
}

/// A path that breaks the grammar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathFault {
    /// The first segment to blame, counted in the path; `None` when no segment is.
    pub segment: Option<Span>,
    /// The rule.
    pub rule: PathRule,
}

/// Whether a path follows the grammar, and which segment does not. Verbs in segments are not looked for here (D7).
#[inline]
pub fn check_path(path: &[u8]) -> Result<(), PathFault> {
    let shape = shape_fault(path);
    if shape.is_none() && percent::check_text(path, PATH).is_ok() { Ok(()) } else { explain(path, shape) }
}

/// Faults that no segment is to blame for.
#[inline]
fn shape_fault(path: &[u8]) -> Option<PathRule> {
    match path {
        b"/" => None,
        [b'/', b'/', ..] => Some(PathRule::EmptyFirstSegment),
        [b'/', .., b'/'] => Some(PathRule::TrailingSlash),
        [b'/', ..] => None,
        _ => Some(PathRule::NoLeadingSlash),
    }
}

/// A segment to blame comes before the shape of the whole, unless there is no telling what a segment is (D21).
fn explain(path: &[u8], shape: Option<PathRule>) -> Result<(), PathFault> {
    let of_shape = |rule| PathFault { segment: None, rule };
    if shape == Some(PathRule::NoLeadingSlash) {
        return Err(of_shape(PathRule::NoLeadingSlash));
    }
    let mut start = 0;
    for segment in path.split(|&byte| byte == b'/') {
        let span = Span::new(start, start + segment.len());
        if let Some(rule) = segment_fault(segment) {
            return Err(PathFault { segment: Some(span), rule });
        }
        start = span.end as usize + 1;
    }
    shape.map_or(Ok(()), |rule| Err(of_shape(rule)))
}

fn segment_fault(segment: &[u8]) -> Option<PathRule> {
    Some(match percent::check_text(segment, PATH).err()? {
        TextFault::Character => PathRule::IllegalCharacter,
        TextFault::Escape => PathRule::BadEscape,
        TextFault::NotUtf8 => PathRule::NotUtf8,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::tests::naive::{is_escape, plain_decode};
    use proptest::prelude::*;

    /// The grammar of facts page 1 and the path rules of the draft, written out.
    fn naive(path: &[u8]) -> Result<(), (Option<&[u8]>, PathRule)> {
        let [b'/', rest @ ..] = path else { return Err((None, PathRule::NoLeadingSlash)) };
        let segments: Vec<&[u8]> = rest.split(|&byte| byte == b'/').collect();
        for segment in &segments {
            for (at, byte) in segment.iter().enumerate() {
                let legal = byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@".contains(byte);
                if *byte == b'%' && !is_escape(&segment[at..]) {
                    return Err((Some(segment), PathRule::BadEscape));
                } else if *byte != b'%' && !legal {
                    return Err((Some(segment), PathRule::IllegalCharacter));
                }
            }
            if String::from_utf8(plain_decode(segment)).is_err() {
                return Err((Some(segment), PathRule::NotUtf8));
            }
        }
        match segments.as_slice() {
            [b""] => Ok(()),
            [b"", ..] => Err((None, PathRule::EmptyFirstSegment)),
            [.., b""] => Err((None, PathRule::TrailingSlash)),
            _ => Ok(()),
        }
    }

    fn agree(path: &[u8]) {
        let fast =
            check_path(path).map_err(|fault| (fault.segment.map(|segment| segment.of(path)), fault.rule));
        assert_eq!(fast, naive(path), "{:?}", String::from_utf8_lossy(path));
        crate::wire::fuzz::path(path);
    }

    #[test]
    fn the_rules() {
        use PathRule::*;
        for sound in
            ["/", "/a", "/a//b", "/a/b-c_d.e~", "/%41/%C3%A9", "/a;b=c,d", "/Rooms:find@x", "/..", "/a///b"]
        {
            assert_eq!(check_path(sound.as_bytes()), Ok(()), "{sound:?}");
        }
        let cases: &[(&str, Option<&str>, PathRule)] = &[
            ("", None, NoLeadingSlash),
            ("a/b", None, NoLeadingSlash),
            ("a|b", None, NoLeadingSlash),
            ("*", None, NoLeadingSlash),
            ("//", None, EmptyFirstSegment),
            ("//b", None, EmptyFirstSegment),
            ("/a/", None, TrailingSlash),
            ("/a//", None, TrailingSlash),
            ("/a/{x}/b|", Some("{x}"), IllegalCharacter),
            ("/a b", Some("a b"), IllegalCharacter),
            ("//b|", Some("b|"), IllegalCharacter),
            ("/a|/", Some("a|"), IllegalCharacter),
            ("/a/b%2/c", Some("b%2"), BadEscape),
            ("/a/%C3/%A9", Some("%C3"), NotUtf8),
            ("/a/%ff|", Some("%ff|"), IllegalCharacter),
            ("/caf\u{e9}", Some("caf\u{e9}"), IllegalCharacter),
        ];
        for &(path, segment, rule) in cases {
            let fault = check_path(path.as_bytes()).unwrap_err();
            assert_eq!(fault.rule, rule, "{path:?}");
            let named = fault.segment.map(|segment| segment.of(path.as_bytes()));
            assert_eq!(named, segment.map(str::as_bytes), "{path:?}");
            assert!(!rule.message().is_empty());
        }
    }

    #[test]
    fn all_256_bytes_at_every_place_mean_what_the_grammar_says() {
        let path = b"/rooms/a%C3%A9//b-1";
        for place in 0..path.len() {
            for byte in 0..=255 {
                let mut replaced = path.to_vec();
                replaced[place] = byte;
                agree(&replaced);
                let mut inserted = path.to_vec();
                inserted.insert(place, byte);
                agree(&inserted);
            }
            agree(&path[..place]);
            agree(&path[place..]);
        }
    }

    proptest! {
        #[test]
        fn generated_paths_mean_what_the_grammar_says(path in "/?([a-z|{}]|/|%[0-9a-f]{2}|%[0-9a-g]|\u{e9}){0,12}") {
            agree(path.as_bytes());
        }
    }
}
