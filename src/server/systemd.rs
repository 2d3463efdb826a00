//! Telling a service manager how the server is (`sd_notify(3)`). Without one, nobody is told.

use sd_notify::NotifyState;

/// Connections are accepted.
pub(super) fn ready() {
    tell(&[NotifyState::Ready]);
}

/// No more are accepted, what is in flight is finished.
pub(super) fn stopping() {
    tell(&[NotifyState::Stopping]);
}

/// Files are being read again; [`ready`] says that they were.
pub(super) fn reloading() {
    if let Ok(now) = NotifyState::monotonic_usec_now() {
        tell(&[NotifyState::Reloading, now]);
    }
}

fn tell(state: &[NotifyState<'_>]) {
    // A manager that does not listen does not need to know.
    let _ = sd_notify::notify(state);
}
