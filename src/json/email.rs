//! `format: email` and `idn-email` without allocating for the addresses people have.
//!
//! The validator's own check builds an owned address. Here a plain one (dot-atom, at, host name) is recognised where
//! it lies; anything else, rightly or wrongly spelt, is left to that check.

use super::Value;
use super::adapter::TapeJson;
use jsonschema::{Draft, Validator};
use simd_json::Node;
use std::sync::OnceLock;

/// Whether `text` is an address in the sense of the `email` format.
pub(super) fn is_email(text: &str) -> bool {
    static FULL: OnceLock<Option<Validator<TapeJson>>> = OnceLock::new();
    is_plain(text) || full(&FULL, "email", text)
}

/// Whether `text` is an address in the sense of the `idn-email` format.
pub(super) fn is_idn_email(text: &str) -> bool {
    static FULL: OnceLock<Option<Validator<TapeJson>>> = OnceLock::new();
    is_plain(text) || full(&FULL, "idn-email", text)
}

/// The validator's own check, as a schema of one keyword.
fn full(cell: &OnceLock<Option<Validator<TapeJson>>>, format: &str, text: &str) -> bool {
    let build = || {
        let schema = serde_json::json!({ "format": format });
        let options = jsonschema::options_for::<TapeJson>().with_draft(Draft::Draft202012);
        options.should_validate_formats(true).offline().build(&schema).ok()
    };
    cell.get_or_init(build).as_ref().is_some_and(|full| full.is_valid(Value::of(&[Node::String(text)])))
}

/// A part of what both formats accept: `dot-atom@host.tld` in ASCII (RFC 5321, 4.1.2), within its limits.
fn is_plain(text: &str) -> bool {
    let Some((local, domain)) = text.split_once('@') else { return false };
    let (local, domain) = (local.as_bytes(), domain.as_bytes());
    local.len() <= 64
        && local.split(is_dot).all(|atom| !atom.is_empty() && atom.iter().all(is_atext))
        && domain.len() <= 253
        && domain.contains(&b'.')
        && domain.split(is_dot).all(is_plain_label)
        && domain.rsplit(is_dot).next().and_then(<[u8]>::first).is_some_and(u8::is_ascii_alphabetic)
}

fn is_dot(byte: &u8) -> bool {
    *byte == b'.'
}

fn is_atext(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-/=?^_`{|}~".contains(byte)
}

/// Letters, digits and single hyphens between them: a double hyphen may announce punycode, which has rules of its own.
fn is_plain_label(label: &[u8]) -> bool {
    let word = |part: &[u8]| !part.is_empty() && part.iter().all(u8::is_ascii_alphanumeric);
    label.len() <= 63 && label.split(|byte| *byte == b'-').all(word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn plain_ones() {
        for yes in ["a@b.example", "ada.lovelace+x@mail-1.a.example", "o'neil_9@x.y", "1@2.c3"] {
            assert!(is_plain(yes), "{yes}");
        }
        for other in [
            "",
            "@",
            "a",
            "a@",
            "@b.c",
            "a@b",
            "a@b.",
            "a@.c",
            ".a@b.c",
            "a.@b.c",
            "a..b@c.d",
            "a@b..c",
            "a b@c.d",
            "a@-b.c",
            "a@b-.c",
            "a@b_c.d",
            "a@b@c.d",
            "é@b.c",
            "a@é.c",
            "\"a\"@b.c",
            "a@[1.2.3.4]",
            "a@1.2.3.4",
            "a@xn--4gbwdl.example",
        ] {
            assert!(!is_plain(other), "{other}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

        /// What the short cut accepts, the full check accepts; and it does take plain addresses.
        #[test]
        fn the_short_cut_is_no_way_around(
            text in "[a-z0-9.!'+_=-]{0,8}@[a-zA-Z0-9-]{0,5}[.a-z0-9-]{0,6}",
            local in 1..80_usize,
            label in 1..80_usize,
            labels in 1..6_usize,
        ) {
            let long = format!("{}@{}c", "a".repeat(local), format!("{}.", "b".repeat(label)).repeat(labels));
            for text in [text, long] {
                for (format, check) in [("email", is_email as fn(&str) -> bool), ("idn-email", is_idn_email)] {
                    let full = full(&OnceLock::new(), format, &text);
                    prop_assert!(full || !is_plain(&text), "{text}");
                    prop_assert_eq!(check(&text), full);
                }
            }
        }
    }
}
