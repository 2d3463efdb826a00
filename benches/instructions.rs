//! Instruction counts of one request, scenario by scenario: `.ci/instructions` runs this under callgrind, which
//! counts the same for the same binary whatever else the machine does.
//!
//! `instructions SCENARIO` answers the scenario's request ten times to warm up, then [`ROUNDS`] times inside
//! [`counted`], the only function callgrind collects in. Without an argument it lists the scenarios and checks each
//! once, so that `cargo test` and `cargo bench` run it too.

#[path = "../tests/common/mod.rs"]
mod common;

use agtp::engine::{Core, Engine, Now, PADDING, Session};
use common::scenarios::Scenario;

/// Requests that are counted; `.ci/instructions` divides by it.
const ROUNDS: usize = 100;

fn main() {
    let wanted = std::env::args().nth(1).filter(|argument| !argument.starts_with('-'));
    for scenario in common::scenarios::all() {
        match &wanted {
            Some(name) if *name == scenario.name => run(&scenario),
            Some(_) => {}
            None => {
                run(&scenario);
                println!("{}", scenario.name);
            }
        }
    }
}

fn run(scenario: &Scenario) {
    let mut bench = Bench::new(common::sample(), scenario);
    for _ in 0..10 {
        bench.answer();
    }
    counted(&mut bench);
    assert_eq!(&bench.out[9..12], scenario.status.to_string().as_bytes(), "{}", scenario.name);
}

/// Callgrind collects between the entry and the exit of this function.
#[inline(never)]
fn counted(bench: &mut Bench<'_>) {
    for _ in 0..ROUNDS {
        bench.answer();
    }
}

struct Bench<'b> {
    engine: &'b Engine<'b>,
    core: Core,
    session: Session,
    request: &'b [u8],
    buffer: Vec<u8>,
    out: Vec<u8>,
}

impl<'b> Bench<'b> {
    fn new(engine: &'b Engine<'b>, scenario: &'b Scenario) -> Self {
        let core = Core::new(engine, 1);
        let buffer = vec![0; scenario.request.len() + PADDING];
        Bench { engine, core, session: Session::new(), request: &scenario.request, buffer, out: Vec::new() }
    }

    fn answer(&mut self) {
        // The copy stands for the kernel's: parsing unescapes in place.
        let len = self.request.len();
        self.buffer[..len].copy_from_slice(self.request);
        self.out.clear();
        let now = Now { unix_ms: 1_800_000_000_000 };
        self.engine.step(&mut self.core, &mut self.session, now, &mut self.buffer, len, &mut self.out);
    }
}
