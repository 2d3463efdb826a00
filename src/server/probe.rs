//! Can io_uring be used here?
//!
//! Asked before the first executor starts, because glommio answers a refusal with a panic of the executor's thread, or
//! an error that names an inner limit. What the system says about itself is read first, since it names the cause; then
//! an executor is tried, since only that is proof.

use std::fmt;

/// Whether io_uring can be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// Whether it can.
    pub usable: bool,
    /// Why not, in one line; or that an executor ran.
    pub reason: String,
}

impl fmt::Display for Probe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "io_uring is {}: {}", if self.usable { "usable" } else { "refused" }, self.reason)
    }
}

/// Finds out. Takes about as long as starting an executor.
pub fn probe() -> Probe {
    match imp::try_all() {
        Ok(()) => Probe { usable: true, reason: "an executor ran".to_owned() },
        Err(reason) => Probe { usable: false, reason },
    }
}

#[cfg(not(target_os = "linux"))]
mod imp {
    pub(super) fn try_all() -> Result<(), String> {
        Err("it is part of Linux only".to_owned())
    }
}

#[cfg(target_os = "linux")]
mod imp {
    use std::panic;

    /// glommio's floor.
    const LOCKED_MEMORY_BYTES: u64 = 512 << 10;

    /// The first kernel with all that glommio uses.
    const KERNEL: (u32, u32) = (5, 8);

    /// The thread that tries an executor; its panic is an answer, not news.
    const THREAD: &str = "agtp-io-uring-probe";

    pub(super) fn try_all() -> Result<(), String> {
        let read = |path| std::fs::read_to_string(path).unwrap_or_default();
        kernel(&read("/proc/sys/kernel/osrelease"))?;
        setting(&read("/proc/sys/kernel/io_uring_disabled"))?;
        locked_memory(&read("/proc/self/limits"))?;
        executor().map_err(|failure| format!("{failure}{}", seccomp(&read("/proc/self/status"))))
    }

    pub(super) fn kernel(release: &str) -> Result<(), String> {
        let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(str::parse);
        let (Some(Ok(major)), Some(Ok(minor))) = (numbers.next(), numbers.next()) else { return Ok(()) };
        if (major, minor) >= KERNEL {
            return Ok(());
        }
        Err(format!("the kernel is {}, it takes {}.{} or later", release.trim(), KERNEL.0, KERNEL.1))
    }

    pub(super) fn setting(disabled: &str) -> Result<(), String> {
        match disabled.trim() {
            "2" => Err("kernel.io_uring_disabled is 2; allow it with sysctl -w kernel.io_uring_disabled=0"
                .to_owned()),
            // 1 admits some users: the executor will tell. Kernels before 6.6 have no such setting.
            _ => Ok(()),
        }
    }

    pub(super) fn locked_memory(limits: &str) -> Result<(), String> {
        let line = limits.lines().find_map(|line| line.strip_prefix("Max locked memory")).unwrap_or_default();
        match line.split_whitespace().next().map(str::parse::<u64>) {
            Some(Ok(bytes)) if bytes < LOCKED_MEMORY_BYTES => Err(format!(
                "locked memory is limited to {} KiB, it takes {} KiB; raise it with ulimit -l or LimitMEMLOCK=",
                bytes >> 10,
                LOCKED_MEMORY_BYTES >> 10
            )),
            _ => Ok(()),
        }
    }

    /// What may explain a refusal by the kernel.
    pub(super) fn seccomp(status: &str) -> &'static str {
        let mode = status.lines().find_map(|line| line.strip_prefix("Seccomp:")).unwrap_or_default();
        if mode.trim() == "2" {
            "; a seccomp filter is active, as in a container with the default profile"
        } else {
            ""
        }
    }

    fn executor() -> Result<(), String> {
        silence_panics();
        let thread = std::thread::Builder::new().name(THREAD.to_owned());
        let tried = thread.spawn(|| {
            let executor = crate::server::uring::executor()?;
            executor.run(async {});
            Ok(())
        });
        match tried.map(std::thread::JoinHandle::join) {
            Ok(Ok(Ok(()))) => Ok(()),
            Ok(Ok(Err(error))) | Err(error) => Err(error.to_string()),
            Ok(Err(payload)) => Err(message(payload.as_ref())),
        }
    }

    /// The hook stays for the rest of the process: taking it out again could take out one set in between.
    fn silence_panics() {
        static ONCE: std::sync::Once = std::sync::Once::new();
        ONCE.call_once(|| {
            let others = panic::take_hook();
            panic::set_hook(Box::new(move |info| {
                if std::thread::current().name() != Some(THREAD) {
                    others(info);
                }
            }));
        });
    }

    /// A panic's first line.
    fn message(payload: &(dyn std::any::Any + Send)) -> String {
        let text = payload.downcast_ref::<String>().map(String::as_str);
        let text =
            text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("the executor panicked");
        text.lines().next().unwrap_or_default().to_owned()
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::{imp, probe};

    #[test]
    fn each_cause_is_named() {
        let message = imp::kernel("5.4.0-100-generic\n").unwrap_err();
        assert_eq!(message, "the kernel is 5.4.0-100-generic, it takes 5.8 or later");
        let message = imp::setting("2\n").unwrap_err();
        assert!(message.starts_with("kernel.io_uring_disabled is 2"), "{message}");
        let limits =
            "Limit   Soft Limit  Hard Limit  Units\nMax locked memory         65536      65536    bytes\n";
        let message = imp::locked_memory(limits).unwrap_err();
        assert!(message.starts_with("locked memory is limited to 64 KiB, it takes 512 KiB"), "{message}");
        assert!(imp::seccomp("Name:\tagtp\nSeccomp:\t2\n").contains("seccomp"));
    }

    #[test]
    fn what_is_unknown_or_fine_is_left_to_the_trial() {
        assert_eq!(imp::kernel("6.18.1"), Ok(()));
        assert_eq!(imp::kernel("5.8"), Ok(()));
        assert_eq!(imp::kernel(""), Ok(()));
        assert_eq!(imp::setting("0"), Ok(()));
        assert_eq!(imp::setting(""), Ok(()));
        assert_eq!(
            imp::locked_memory("Max locked memory         unlimited            unlimited   bytes"),
            Ok(())
        );
        assert_eq!(imp::locked_memory(""), Ok(()));
        assert_eq!(imp::seccomp("Seccomp:\t0\n"), "");
    }

    #[test]
    fn probing_gives_one_line_whatever_the_machine() {
        let probe = probe();
        assert!(!probe.reason.is_empty() && !probe.to_string().contains('\n'), "{probe}");
    }
}
