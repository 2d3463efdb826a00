//! From a core to the thread that writes: a ring of bytes for each, which holds whole lines. A line that has no room is
//! let go and counted; nobody waits.

use super::super::metrics::Counter;
use rtrb::{Consumer, Producer, RingBuffer};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering, fence};
use std::thread::Thread;

/// Bytes of lines that wait, for each core.
const CAPACITY: usize = 1 << 20;

/// Where lines go in.
pub(super) struct Sender {
    ring: Producer<u8>,
    dropped: Arc<Dropped>,
    wake: Arc<Wake>,
}

/// Where they come out.
pub(super) struct Receiver {
    ring: Consumer<u8>,
}

/// Lines let go. Written by one thread, apart from what others write.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(super) struct Dropped(pub(super) Counter);

/// Wakes the thread that writes.
pub(super) struct Wake {
    asleep: AtomicBool,
    thread: Thread,
}

pub(super) fn queue(wake: &Arc<Wake>) -> (Sender, Receiver, Arc<Dropped>) {
    let (producer, consumer) = RingBuffer::new(CAPACITY);
    let dropped = Arc::new(Dropped::default());
    let sender = Sender { ring: producer, dropped: Arc::clone(&dropped), wake: Arc::clone(wake) };
    (sender, Receiver { ring: consumer }, dropped)
}

impl Sender {
    /// Sends whole lines, or lets them go.
    pub(super) fn send(&mut self, lines: &str) {
        if self.ring.push_entire_slice(lines.as_bytes()).is_err() {
            self.dropped.0.add(1);
        }
        // Half full, it is time, however lately the writer wrote.
        let urgent = self.ring.slots() < CAPACITY / 2;
        self.wake.wake(urgent);
    }
}

impl Receiver {
    /// Appends what waits: whole lines.
    pub(super) fn take(&mut self, into: &mut Vec<u8>) {
        let waiting = self.ring.slots();
        let Ok(chunk) = self.ring.read_chunk(waiting) else { return };
        let (front, back) = chunk.as_slices();
        into.extend_from_slice(front);
        into.extend_from_slice(back);
        chunk.commit_all();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.ring.is_empty()
    }

    /// Nothing waits, and nobody sends any more.
    pub(super) fn is_over(&self) -> bool {
        // In this order: what was sent before the end is seen.
        self.ring.is_abandoned() && self.ring.is_empty()
    }
}

impl Wake {
    /// Of the thread that calls.
    pub(super) fn new(thread: Thread) -> Wake {
        Wake { asleep: AtomicBool::new(false), thread }
    }

    /// After sending: wakes the thread if it sleeps, or if it is urgent.
    pub(super) fn wake(&self, urgent: bool) {
        // Pairs with the one in `sleep_unless`: either this sees that the thread sleeps, or that sees what was sent.
        fence(Ordering::SeqCst);
        if (self.asleep.load(Ordering::Relaxed) && self.asleep.swap(false, Ordering::Relaxed)) || urgent {
            self.thread.unpark();
        }
    }

    /// Sleeps until woken, unless there is something to do.
    pub(super) fn sleep_unless(&self, something: impl FnOnce() -> bool) {
        self.asleep.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        if !something() {
            std::thread::park();
        }
        self.asleep.store(false, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_out_as_they_went_in_and_too_many_are_counted() {
        let wake = Arc::new(Wake::new(std::thread::current()));
        let (mut sender, mut receiver, dropped) = queue(&wake);
        let line = "x".repeat(999) + "\n";
        let fit = CAPACITY / line.len();
        (0..fit + 3).for_each(|_| sender.send(&line));
        assert_eq!(dropped.0.get(), 3);
        let mut taken = Vec::new();
        receiver.take(&mut taken);
        assert_eq!(taken.len(), fit * line.len());
        sender.send("last\n");
        drop(sender);
        assert!(!receiver.is_over());
        receiver.take(&mut taken);
        assert!(receiver.is_over() && taken.ends_with(b"\nlast\n"));
    }
}
