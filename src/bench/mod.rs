//! The load generator: how many requests a second a server answers, and how long each takes.
//!
//! ```text
//! run                  threads, phases: connect, warm up, measure, wait for the last answers
//!   └ worker           one thread: a readiness set, sockets (plain or TLS), buffers
//!       └ core         without I/O: which connection sends when, what came back
//!           ├ pace     when requests are due (open loop)
//!           ├ flight   when those under way were meant to be sent
//!           ├ scan     where an answer ends, and its status
//!           └ tally    histograms, statuses, errors
//! report, compare      what it came to, as text and as JSON
//! ```
//!
//! A generator that is slower than its server measures itself. Requests are rendered once and written many at a time,
//! answers are scanned and not parsed, nothing is allocated for either, and a run in which the generator was the
//! bottleneck all the same says so.

mod compare;
mod core;
mod cpu;
mod flight;
mod pace;
mod plan;
mod report;
mod run;
mod scan;
mod socket;
mod tally;
mod worker;

pub use compare::compare;
pub use plan::{BenchError, Phase, Plan, Watch};
pub use report::{FORMAT, Report};
pub use run::{Measured, run};
#[doc(hidden)]
pub use scan::Protocol;
pub use scan::ScanFault;
pub use tally::{Errors, Kind, Tally, Times};
