//! The time of day, which nothing below the command line looks at.

use crate::compiler::rfc3339;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Now, as `2026-01-05T09:00:00Z`.
pub(super) fn now() -> String {
    rfc3339(since_epoch().as_secs())
}

/// Now, in seconds since the Unix epoch.
pub(super) fn unix_seconds() -> i64 {
    i64::try_from(since_epoch().as_secs()).unwrap_or(i64::MAX)
}

fn since_epoch() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}
