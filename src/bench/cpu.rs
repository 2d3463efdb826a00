//! The time a thread had a core for itself.

use std::time::Duration;

/// Since the thread began; unknown where the system does not say.
#[cfg(target_os = "linux")]
pub(super) fn thread_time() -> Option<Duration> {
    use nix::time::{ClockId, clock_gettime};
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).ok().map(Duration::from)
}

/// Since the thread began; unknown where the system does not say.
#[cfg(not(target_os = "linux"))]
pub(super) fn thread_time() -> Option<Duration> {
    None
}
