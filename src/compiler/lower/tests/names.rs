//! Method names: the perfect hash and the leak automaton against sets of strings.

use super::super::fixture::deployment;
use super::compile;
use crate::registry::Registry;
use proptest::prelude::*;
use std::collections::HashSet;
use std::sync::LazyLock;

/// The canonical catalog with three custom methods: one as long as names get, one as short, and one with a part
/// (XREPORT) that ends in a verb, which an automaton must not take for the whole.
static REGISTRY: LazyLock<Registry> = LazyLock::new(|| {
    let mut deployment = deployment(vec![]);
    deployment.settings.methods.custom =
        ["ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEF", "ZAP", "XREPORTED"].map(str::to_owned).to_vec();
    compile(&deployment).registry
});

static NAMES: LazyLock<HashSet<Vec<u8>>> = LazyLock::new(|| {
    let names = REGISTRY.methods.iter().map(|method| REGISTRY.str(method.name).as_bytes().to_vec());
    names.collect()
});

fn found(token: &[u8]) -> bool {
    let id = REGISTRY.lookup(token);
    id.is_none_or(|id| REGISTRY.method_name(id).as_bytes() == token) && id.is_some()
}

#[test]
fn every_name_is_found_and_no_neighbour_of_one() {
    assert_eq!(NAMES.len(), 425 + 5 + 3);
    for name in NAMES.iter() {
        assert!(found(name));
        assert!(!found(&name.to_ascii_lowercase()));
        for length in 0..name.len() {
            let prefix = &name[..length];
            assert_eq!(found(prefix), NAMES.contains(prefix), "{prefix:?}");
            let suffix = &name[length..];
            assert_eq!(found(suffix), NAMES.contains(suffix), "{suffix:?}");
        }
    }
}

#[test]
fn no_name_with_one_byte_changed_is_found_unless_it_is_another() {
    for name in NAMES.iter() {
        let mut token = name.clone();
        for position in 0..name.len() {
            for byte in 0..=255 {
                token[position] = byte;
                assert_eq!(REGISTRY.lookup(&token).is_some(), NAMES.contains(&token), "{token:?}");
            }
            token[position] = name[position];
        }
    }
}

/// D7 by the letter: the raw and the decoded form, `-` and `_` removed, in upper case.
fn naive_leak(segment: &[u8]) -> bool {
    let is_name = |bytes: &[u8]| {
        let bare: Vec<u8> = bytes.iter().filter(|byte| !b"-_".contains(byte)).copied().collect();
        NAMES.contains(&bare.to_ascii_uppercase())
    };
    is_name(segment) || decode(segment).is_some_and(|decoded| is_name(&decoded))
}

fn decode(segment: &[u8]) -> Option<Vec<u8>> {
    let mut decoded = Vec::new();
    let mut rest = segment.iter();
    while let Some(&byte) = rest.next() {
        if byte == b'%' {
            let digits = [*rest.next()?, *rest.next()?];
            let valid = digits.iter().all(u8::is_ascii_hexdigit);
            let digits = std::str::from_utf8(&digits).ok().filter(|_| valid)?;
            decoded.push(u8::from_str_radix(digits, 16).ok()?);
        } else {
            decoded.push(byte);
        }
    }
    Some(decoded)
}

#[test]
fn every_name_leaks_whole_and_in_disguise_and_no_part_of_it_does() {
    for name in NAMES.iter() {
        let lower = name.to_ascii_lowercase();
        let dashed: Vec<u8> = lower.iter().flat_map(|byte| [b'-', *byte, b'_']).collect();
        let encoded: String = name.iter().map(|byte| format!("%{byte:02x}")).collect();
        for disguise in [name.as_slice(), &lower, &dashed, encoded.as_bytes()] {
            assert!(REGISTRY.leak.segment_leaks(disguise), "{disguise:?}");
        }
        for length in 0..name.len() {
            for part in [&lower[..length], &lower[length..]] {
                assert_eq!(REGISTRY.leak.segment_leaks(part), naive_leak(part), "{part:?}");
            }
        }
        let mut longer = lower.clone();
        longer.push(b's');
        assert_eq!(REGISTRY.leak.segment_leaks(&longer), naive_leak(&longer), "{longer:?}");
    }
}

#[test]
fn the_first_leaking_segment_is_reported_as_it_stands() {
    let first_leak = |path: &'static str| REGISTRY.leak.first_leak(path.as_bytes());
    assert_eq!(first_leak("/rooms/%46etch/book"), Some(&b"%46etch"[..]));
    assert_eq!(first_leak("/rooms//re-port"), Some(&b"re-port"[..]));
    assert_eq!(first_leak("/rooms/booking"), None);
    assert_eq!(first_leak("/"), None);
    assert_eq!(first_leak("/-_"), None);
    assert_eq!(first_leak("/book%"), None);
    assert_eq!(first_leak("/book%2"), None);
    assert_eq!(first_leak("/book%2g"), None);
    assert_eq!(first_leak("/book%2dbook"), None);
    assert_eq!(first_leak("/book%2d"), Some(&b"book%2d"[..]));
}

/// One byte as it may stand in a path.
fn disguise((byte, how): (u8, u8)) -> Vec<u8> {
    match how {
        0 => vec![byte.to_ascii_lowercase()],
        1 => vec![byte, b'-'],
        2 => vec![b'_', byte.to_ascii_lowercase()],
        3 => format!("%{byte:02X}").into_bytes(),
        4 => format!("%{:02x}", byte.to_ascii_lowercase()).into_bytes(),
        5 => vec![byte, b'%'],
        6 => vec![byte, b'9'],
        _ => vec![byte],
    }
}

fn disguised_name() -> impl Strategy<Value = Vec<u8>> {
    let names: Vec<Vec<u8>> = NAMES.iter().cloned().collect();
    let name = prop::sample::select(names);
    // The destructive disguises are rare enough that most names survive.
    let how = prop_oneof![30 => 0u8..5, 1 => 5u8..7, 20 => Just(7u8)];
    (name, prop::collection::vec(how, 32))
        .prop_map(|(name, how)| name.into_iter().zip(how).flat_map(disguise).collect())
}

proptest! {
    #[test]
    fn disguised_names_leak_like_the_naive_check(segment in disguised_name()) {
        prop_assert_eq!(REGISTRY.leak.segment_leaks(&segment), naive_leak(&segment));
    }

    #[test]
    fn other_segments_leak_like_the_naive_check(segment in "[a-fA-F%0-9_zZpP-]{0,12}") {
        let segment = segment.as_bytes();
        prop_assert_eq!(REGISTRY.leak.segment_leaks(segment), naive_leak(segment));
    }

    #[test]
    fn random_tokens_are_looked_up_like_in_a_set(token in prop::collection::vec(any::<u8>(), 0..40)) {
        prop_assert_eq!(REGISTRY.lookup(&token).is_some(), NAMES.contains(&token));
    }
}
