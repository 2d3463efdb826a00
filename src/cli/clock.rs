//! The time of day, which nothing below the command line looks at.

use crate::compiler::rfc3339;
use std::time::{SystemTime, UNIX_EPOCH};

/// Now, as `2026-01-05T09:00:00Z`.
pub(super) fn now() -> String {
    rfc3339(SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()))
}
