//! Counts the heap that the server's threads hold.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicI64, Ordering};

/// Bytes held, but for those of clients.
static HELD: AtomicI64 = AtomicI64::new(0);

thread_local! {
    static IS_CLIENT: Cell<bool> = const { Cell::new(false) };
}

/// From now on, what this thread allocates and frees is a client's.
pub fn be_client() {
    IS_CLIENT.set(true);
}

/// Bytes that the servers of this process hold.
pub fn held() -> i64 {
    HELD.load(Ordering::SeqCst)
}

struct Counting;

fn add(bytes: i64) {
    // A thread that is ending has no flag any more: it is a server's core as good as any.
    if !IS_CLIENT.try_with(Cell::get).unwrap_or(false) {
        HELD.fetch_add(bytes, Ordering::SeqCst);
    }
}

#[allow(unsafe_code, reason = "a global allocator cannot be written without")]
// SAFETY: every method hands its arguments to `System` unchanged, so `System` keeps the contract.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        add(layout.size() as i64);
        // SAFETY: the caller keeps `alloc`'s contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        add(-(layout.size() as i64));
        // SAFETY: the caller keeps `dealloc`'s contract, and `alloc` took the memory from `System`.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        add(size as i64 - layout.size() as i64);
        // SAFETY: as above.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;
