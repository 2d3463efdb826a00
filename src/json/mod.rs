//! JSON as the engine handles it: request bodies become a tape that borrows from the connection's buffer, validators
//! read the tape, handlers write their answers straight into output bytes.
//!
//! ```text
//! body bytes --TapeBuffers::parse--> Document --set / push--> Document --root--> Value --Schema::is_valid--> bool
//! handler --write_object--> ObjectWriter --> output bytes
//! ```
//!
//! Nothing on the accepting path allocates once the buffers have grown to the size of the traffic; what explains a
//! failure ([`Schema::report`]) may. Bodies are I-JSON (D15): what is refused, and why, is on [`Reason`]. Numbers beyond
//! the range of a double are refused rather than bent, integers beyond 64 bits become doubles, as I-JSON warns their
//! senders. Noncharacters such as U+FFFE, which RFC 7493 also frowns on, pass: D15 does not name them.

mod adapter;
mod deserialize;
mod email;
mod escape;
mod fault;
#[cfg(any(test, feature = "compiler"))]
#[doc(hidden)]
pub mod fuzz;
mod keys;
mod number;
mod scalar;
mod schema;
mod tape;
mod unique;
mod value;
mod writer;

pub use escape::{push_bytes_lossy, push_string};
pub use fault::{JsonFault, Reason};
pub use number::Number;
pub use scalar::{Scalar, parse_scalar};
pub use schema::{Schema, Violation};
pub use tape::{Document, TapeBuffers};
pub use value::{Array, Elements, Kind, Members, Object, Value};
pub use writer::{ArrayWriter, ObjectWriter, write_array, write_object};

/// Bytes that must follow a document in its buffer, whatever they hold: the parser reads past the end in whole
/// vectors. They are the same after parsing as before.
pub const PADDING: usize = simd_json::INPUT_PADDING;

#[cfg(test)]
mod tests;
