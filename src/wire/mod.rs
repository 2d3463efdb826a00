//! The wire: request heads in, response pieces out, status codes, identifiers, `agtp://` addresses.
//!
//! Parsing is strict and in place: a head is offsets into the bytes that came (D10), and nothing here allocates.
//!
//! * [`HeadParser`] reads a request head, however it is cut; [`Head`] is what it found, [`WireFault`] why it refused.
//! * [`check_path`], [`pairs`] and [`decode`] take a target apart; a path's faults are 460, a query's are wire faults.
//! * [`ResponseIds`] and [`push_decimal`] are for answers.
//! * [`Uri`] and [`AnswerParser`] are the client's side.

mod answer;
mod class;
mod fault;
mod field;
#[doc(hidden)]
pub mod fuzz;
mod head;
mod headers;
mod limits;
mod lines;
mod parse;
mod path;
mod percent;
mod query;
mod request_line;
mod response_id;
mod scan;
mod span;
mod status;
#[cfg(test)]
mod tests;
mod uri;
mod write;

pub use answer::{Answer, AnswerFault, AnswerLimits, AnswerParsed, AnswerParser};
pub use class::is_header_value;
pub use fault::{WireDetail, WireFault, WireFaultKind};
pub use field::{Field, Fields};
pub use head::Head;
pub use headers::Headers;
pub use limits::Limits;
#[cfg_attr(not(feature = "cli"), allow(unused_imports, reason = "for the load generator"))]
pub(crate) use parse::content_length;
pub use parse::{HeadParser, Parsed};
pub use path::{PathFault, PathRule, check_path};
pub use percent::{DecodeFault, decode, decode_into, decoded_len, needs_decoding};
pub use query::{RawPair, check_query, pairs};
pub use response_id::{RESPONSE_ID_BYTES, ResponseIds};
pub use span::Span;
pub use status::Status;
pub use uri::{DEFAULT_PORT, Uri, UriFault};
pub use write::push_decimal;
