//! Log lines, written by a thread of their own.
//!
//! ```text
//! core ─▶ line ─▶ queue ─┐
//! core ─▶ line ─▶ queue ─┼─▶ writer ─▶ sink: a file, or stderr
//! events ──────▶ queue ──┘
//! ```
//!
//! Each core has a queue of its own and waits for nobody: on a full disk, or with a terminal that nobody reads, lines are
//! let go and counted. A line holds no `Authorization`, no body and no query.

mod line;
mod queue;
mod sink;
mod writer;

pub use line::Level;
pub(in crate::server) use line::Where;

use crate::engine::{Answered, Event};
use queue::{Dropped, Receiver, Sender, Wake, queue};
use sink::Sink;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use writer::Writer;

/// How lines look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// For people: `key=value`, and words.
    #[default]
    Text,
    /// A JSON object each.
    Json,
}

/// Which answers have a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Access {
    /// None.
    #[default]
    Off,
    /// One success of so many on each core, and everything else.
    Sampled(u32),
}

/// What a log is to be like.
#[derive(Clone, Debug, Default)]
pub struct LogConfig {
    /// How lines look.
    pub format: Format,
    /// Which answers have a line.
    pub access: Access,
    /// The file they are appended to; stderr without.
    pub file: Option<PathBuf>,
}

/// A log, shared by all who write to it. With the last of them its thread ends.
#[derive(Clone)]
pub struct Log(Arc<Owner>);

struct Owner(Arc<Shared>);

impl Drop for Owner {
    fn drop(&mut self) {
        self.0.close();
    }
}

struct Shared {
    format: Format,
    access: Access,
    wake: Arc<Wake>,
    /// Queues that the writer has not met yet.
    incoming: Mutex<Vec<Receiver>>,
    /// Lines that did not get into their queue, by queue.
    dropped: Mutex<Vec<Arc<Dropped>>>,
    /// Lines that found no place.
    lost: AtomicU64,
    /// The queue of those who have none of their own.
    common: Mutex<Option<Sender>>,
    reopen: AtomicBool,
    closing: AtomicBool,
    done: (Mutex<bool>, Condvar),
}

impl Log {
    /// Opens a log and starts its thread.
    ///
    /// # Errors
    /// When the file cannot be opened, or no thread be started.
    pub fn open(config: LogConfig) -> io::Result<Log> {
        let sink = config.file.map_or_else(Sink::stderr, Sink::file)?;
        let (give, take) = std::sync::mpsc::channel::<Arc<Shared>>();
        let thread = std::thread::Builder::new().name("agtp-log".to_owned()).spawn(move || {
            if let Ok(shared) = take.recv() {
                Writer::new(shared, sink).run();
            }
        })?;
        let shared = Arc::new(Shared {
            format: config.format,
            access: config.access,
            wake: Arc::new(Wake::new(thread.thread().clone())),
            incoming: Mutex::default(),
            dropped: Mutex::default(),
            lost: AtomicU64::new(0),
            common: Mutex::new(None),
            reopen: AtomicBool::new(false),
            closing: AtomicBool::new(false),
            done: (Mutex::new(false), Condvar::new()),
        });
        *lock(&shared.common) = Some(shared.sender());
        // The thread waits for it.
        let _ = give.send(Arc::clone(&shared));
        Ok(Log(Arc::new(Owner(shared))))
    }

    /// Logs what an engine has to tell.
    pub fn event(&self, event: &Event<'_>) {
        let mut line = String::new();
        line::event(&mut line, self.shared().format, event);
        self.send(&line);
    }

    /// Logs something in words.
    pub fn message(&self, level: Level, text: &str) {
        let mut line = String::new();
        line::message(&mut line, self.shared().format, level, text);
        self.send(&line);
    }

    fn shared(&self) -> &Shared {
        &self.0.0
    }

    fn send(&self, line: &str) {
        if let Some(common) = lock(&self.shared().common).as_mut() {
            common.send(line);
        }
    }

    /// Lines that were let go so far.
    pub fn dropped(&self) -> u64 {
        self.shared().dropped()
    }

    /// Opens the file by its name again, once what waits is written: the old one may have been moved away.
    pub fn reopen(&self) {
        self.shared().reopen.store(true, Ordering::Release);
        self.shared().wake.wake(true);
    }

    /// Has what waits written, for as long as `patience` lasts, and ends the thread.
    pub fn close(&self, patience: Duration) {
        self.shared().close();
        let (done, changed) = &self.shared().done;
        // Past its patience, what is not written stays unwritten.
        let _ = changed.wait_timeout_while(lock(done), patience, |done| !*done);
    }

    /// A core's way to log its answers, if these are logged.
    pub(in crate::server) fn access(&self) -> Option<AccessLog> {
        let Access::Sampled(every) = self.shared().access else { return None };
        let (format, sender) = (self.shared().format, self.shared().sender());
        Some(AccessLog { format, every: every.max(1), skipped: 0, sender, line: String::new() })
    }
}

impl fmt::Debug for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Log")
    }
}

impl Shared {
    /// A new queue.
    fn sender(&self) -> Sender {
        let (sender, receiver, dropped) = queue(&self.wake);
        lock(&self.dropped).push(dropped);
        lock(&self.incoming).push(receiver);
        sender
    }

    fn incoming(&self) -> Vec<Receiver> {
        std::mem::take(&mut lock(&self.incoming))
    }

    fn dropped(&self) -> u64 {
        let let_go: u64 = lock(&self.dropped).iter().map(|dropped| dropped.0.get()).sum();
        self.lost.load(Ordering::Relaxed) + let_go
    }

    fn close(&self) {
        self.closing.store(true, Ordering::Release);
        self.wake.wake(true);
    }

    /// Whether the writer has something to do besides writing.
    fn is_called(&self) -> bool {
        let called = [&self.reopen, &self.closing].iter().any(|flag| flag.load(Ordering::Acquire));
        called || !lock(&self.incoming).is_empty()
    }

    fn finished(&self) {
        *lock(&self.done.0) = true;
        self.done.1.notify_all();
    }
}

/// What one core logs of its answers.
pub(in crate::server) struct AccessLog {
    format: Format,
    every: u32,
    /// Successes since the last that was logged.
    skipped: u32,
    sender: Sender,
    line: String,
}

impl AccessLog {
    /// Logs an answer, unless it is one of those that are left out.
    pub(in crate::server) fn answered(&mut self, answered: &Answered<'_>, place: Where) {
        if answered.status().is_success() {
            self.skipped += 1;
            if self.skipped < self.every {
                return;
            }
            self.skipped = 0;
        }
        self.line.clear();
        line::access(&mut self.line, self.format, answered, place);
        self.sender.send(&self.line);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
