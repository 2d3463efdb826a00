//! Threads on cores.

/// Binds the calling thread to the `index`th of the processors this process may use, so that its connections stay in
/// one cache. When there are not enough of them, or not on Linux, the system decides.
#[cfg(target_os = "linux")]
pub(super) fn pin(index: usize) {
    use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
    use nix::unistd::Pid;
    let this = Pid::from_raw(0);
    let Ok(usable) = sched_getaffinity(this) else { return };
    let nth = (0..CpuSet::count()).filter(|cpu| usable.is_set(*cpu).unwrap_or(false)).nth(index);
    let mut one = CpuSet::new();
    if nth.is_some_and(|cpu| one.set(cpu).is_ok()) {
        // Refused at most by a policy of the system, which then decides.
        let _ = sched_setaffinity(this, &one);
    }
}

#[cfg(not(target_os = "linux"))]
pub(super) fn pin(_index: usize) {}
