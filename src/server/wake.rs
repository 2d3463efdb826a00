//! Wakers: how what a core awaits tells it to go on.

use super::control::Control;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Wake, Waker};
use std::thread::{self, ThreadId};

/// The connections of a core that were told to go on, by index. Wakers may be called on any thread.
pub(super) struct WakeList {
    woken: Mutex<Vec<u32>>,
    /// Whether there are any: a turn of the loop without asks nothing more.
    any: AtomicBool,
    control: Arc<Control>,
    core: usize,
    /// Its own thread looks at the list at the end of a turn, and needs no event to do so.
    thread: ThreadId,
}

impl WakeList {
    /// The list of the core with this index, made on its thread.
    pub(super) fn new(control: Arc<Control>, core: usize) -> Arc<WakeList> {
        let (woken, any) = (Mutex::new(Vec::new()), AtomicBool::new(false));
        Arc::new(WakeList { woken, any, control, core, thread: thread::current().id() })
    }

    /// A waker for the connection with this index. An index is reused: a late call reaches the connection's successor,
    /// which looks in vain.
    pub(super) fn waker(self: &Arc<Self>, index: u32) -> Waker {
        Arc::new(Entry { list: Arc::clone(self), index }).into()
    }

    /// Appends who was woken since the last call.
    pub(super) fn drain(&self, into: &mut Vec<u32>) {
        if self.any.swap(false, Ordering::Acquire) {
            into.append(&mut self.woken.lock().unwrap_or_else(PoisonError::into_inner));
        }
    }
}

struct Entry {
    list: Arc<WakeList>,
    index: u32,
}

impl Wake for Entry {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let list = &self.list;
        list.woken.lock().unwrap_or_else(PoisonError::into_inner).push(self.index);
        let first = !list.any.swap(true, Ordering::Release);
        if first && thread::current().id() != list.thread {
            list.control.wake(list.core);
        }
    }
}
