//! Fuzz bodies: each takes any bytes and asserts what must hold for all of them.

use super::Catalog;

/// A catalog document is refused with faults that lie in it, or is one.
pub fn catalog(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let lines = text.lines().count() as u32 + 1;
    let (catalog, faults) = Catalog::parse_lenient(text);
    for fault in &faults {
        assert!((1..=lines).contains(&fault.line), "{fault}");
        assert!(!fault.message.is_empty() && !fault.help.is_empty(), "{fault}");
    }
    assert!(catalog.is_some() || !faults.is_empty());
    assert_eq!(Catalog::parse(text).is_ok(), faults.is_empty());
}
