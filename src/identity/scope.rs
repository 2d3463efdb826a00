//! Scopes: `domain:action`, with `domain:*` covering its domain (facts page 2).

/// Whether `have` covers `want`: the same scope, or `have` is the wildcard of `want`'s domain.
#[inline]
pub fn covers(have: &str, want: &str) -> bool {
    have == want
        || have
            .strip_suffix('*')
            .filter(|domain| domain.ends_with(':'))
            .is_some_and(|domain| want.strip_prefix(domain).is_some_and(|action| !action.is_empty()))
}

/// Whether `scope` has the form `domain:action`: two non-empty parts of letters, digits, `-`, `_` and `.` (the action
/// may hold further colons, or be `*`).
pub fn is_scope(scope: &str) -> bool {
    let part = |part: &str| {
        !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
    };
    match scope.split_once(':') {
        Some((domain, "*")) => part(domain),
        Some((domain, action)) => part(domain) && action.split(':').all(part),
        None => false,
    }
}

/// The scopes an `Authority-Scope` value lists.
#[derive(Clone, Copy, Debug)]
pub struct ScopeList<'v>(pub &'v str);

impl<'v> ScopeList<'v> {
    /// Each item with the white space around it taken off; empty items are skipped.
    pub fn iter(self) -> impl Iterator<Item = &'v str> + Clone {
        self.0.split(',').map(str::trim_ascii).filter(|item| !item.is_empty())
    }

    /// The first item that is no scope.
    pub fn malformed(self) -> Option<&'v str> {
        self.iter().find(|item| !is_scope(item))
    }

    /// Whether some item covers `want`.
    pub fn covers(self, want: &str) -> bool {
        self.iter().any(|have| covers(have, want))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wildcard_covers_its_own_domain_only() {
        assert!(covers("booking:*", "booking:room"));
        assert!(covers("booking:*", "booking:*"));
        assert!(covers("booking:room", "booking:room"));
        assert!(!covers("booking:room", "booking:*"));
        assert!(!covers("booking:*", "bookings:room"));
        assert!(!covers("booking:*", "billing:room"));
        assert!(!covers("*", "booking:room"));
        assert!(!covers("b*", "booking:room"));
    }

    #[test]
    fn scopes_have_a_domain_and_an_action() {
        for good in ["a:b", "a:*", "hotel.rooms:read-all", "a:b:c"] {
            assert!(is_scope(good), "{good}");
        }
        for bad in ["", "a", "a:", ":b", "*:b", "a:b*", "a b:c", "*"] {
            assert!(!is_scope(bad), "{bad}");
        }
    }
}
