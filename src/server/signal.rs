//! SIGTERM and SIGINT: the first stops the server in good order, a second ends the process at once. SIGHUP has files
//! read again.

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::{Handle, Signals};
use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;

/// Watches for signals until dropped.
pub(super) struct Watch {
    signals: Handle,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    /// Starts to watch.
    pub(super) fn start(
        stop: impl Fn() + Send + 'static,
        reload: impl Fn() + Send + Sync + 'static,
    ) -> io::Result<Watch> {
        let mut signals = Signals::new([SIGTERM, SIGINT, SIGHUP])?;
        let (handle, reload) = (signals.handle(), Arc::new(reload));
        let thread = std::thread::Builder::new().name("agtp-signals".to_owned()).spawn(move || {
            let mut stopping = false;
            for signal in &mut signals {
                if signal == SIGHUP {
                    let reload = Arc::clone(&reload);
                    // Reading files can take for ever, and the next signal may be the one to stop. Without a thread for
                    // it, what is in use stays in use.
                    let _ =
                        std::thread::Builder::new().name("agtp-reload".to_owned()).spawn(move || reload());
                    continue;
                }
                if std::mem::replace(&mut stopping, true) {
                    // What a shell reports for a process that a signal ended.
                    std::process::exit(128 + signal);
                }
                stop();
            }
        })?;
        Ok(Watch { signals: handle, thread: Some(thread) })
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.signals.close();
        if let Some(thread) = self.thread.take() {
            // It does not panic, and nothing depends on it any more.
            let _ = thread.join();
        }
    }
}
