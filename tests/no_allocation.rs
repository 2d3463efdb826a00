//! The proof that a request costs no heap: after warm-up, every way through the engine but an explained 422 leaves
//! the allocator alone.

mod common;

use agtp::audit::{LedgerOptions, Memory};
use agtp::engine::{Answered, Core, Engine, Now, Observer, PADDING, Session, Step};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

/// Counts the calls of the thread it runs on.
struct Counting;

thread_local! {
    static CALLS: Cell<u64> = const { Cell::new(0) };
}

fn count() {
    // A thread that is ending has no counter any more, and nothing to prove.
    let _ = CALLS.try_with(|calls| calls.set(calls.get() + 1));
}

#[allow(unsafe_code, reason = "a global allocator cannot be written without")]
// SAFETY: every method hands its arguments to `System` unchanged, so `System` keeps the contract.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller keeps `alloc`'s contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count();
        // SAFETY: the caller keeps `dealloc`'s contract, and `alloc` took the memory from `System`.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: as above.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn the_counter_counts() {
    let before = CALLS.get();
    drop(std::hint::black_box(vec![1u8; 100]));
    assert!(CALLS.get() >= before + 2, "an allocation and its release are seen");
}

#[test]
fn no_request_touches_the_heap_after_warm_up() {
    prove(common::sample(), 3);
}

/// Records are made in the core's buffers; the memory they go to here is full, and so in use, once it is warm.
#[test]
fn nor_does_one_whose_answer_is_attributed() {
    let engine = common::engine_of(Path::new(env!("CARGO_MANIFEST_DIR")), &common::functions());
    let memory = Memory::keeping(256 * 1024);
    prove(&engine.with_audit(LedgerOptions::into_sink(Arc::new(memory))), 100);
}

fn prove(engine: &Engine<'_>, warm_up: usize) {
    let mut core = Core::new(engine, 1).with_observer(Rc::new(Looker));
    for scenario in common::scenarios::all() {
        let mut session = Session::new();
        let mut buffer = Vec::new();
        let mut out = Vec::with_capacity(256 * 1024);
        let mut run = |out: &mut Vec<u8>| {
            // Parsing unescapes in place, so every round gets the bytes anew.
            buffer.clear();
            buffer.extend_from_slice(&scenario.request);
            buffer.resize(scenario.request.len() + PADDING, 0);
            out.clear();
            let len = scenario.request.len();
            let step = engine.step(&mut core, &mut session, Now { unix_ms: 1 }, &mut buffer, len, out);
            assert_eq!(step, Step::Answered { consumed: len, close: false }, "{}", scenario.name);
            assert_eq!(
                status_of(out),
                scenario.status,
                "{}: {}",
                scenario.name,
                String::from_utf8_lossy(out)
            );
        };
        for _ in 0..warm_up {
            run(&mut out);
        }
        let before = CALLS.get();
        for _ in 0..1000 {
            run(&mut out);
        }
        let calls = CALLS.get() - before;
        assert!(
            scenario.may_allocate || calls == 0,
            "{}: {calls} heap calls in 1000 requests",
            scenario.name
        );
    }
}

/// Looks at all that there is to see.
struct Looker;

impl Observer for Looker {
    fn answered(&self, answered: &Answered<'_>) {
        let seen =
            (answered.status(), answered.code(), answered.endpoint(), answered.agent(), answered.bytes());
        std::hint::black_box(seen);
        std::hint::black_box((
            answered.method(),
            answered.path(),
            answered.response_id(),
            answered.task_id(),
        ));
    }
}

/// The three digits of `AGTP/1.0 200 OK`.
fn status_of(answer: &[u8]) -> u16 {
    answer[9..12].iter().fold(0, |status, digit| status * 10 + u16::from(digit - b'0'))
}
