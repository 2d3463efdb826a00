//! What handlers reach the world through, on their core's own thread: timers, and HTTPS to upstreams.
//!
//! [`reactor`] turns the core's loop into one for futures; [`socket`] and [`lookup`] are what they wait for;
//! [`transport`] speaks HTTP over them.

mod body;
mod lookup;
mod reactor;
mod roots;
mod socket;
mod transport;

pub(super) use body::Whole;
pub(super) use reactor::{Installed, REACTOR};
pub use reactor::{Sleep, sleep};
pub use roots::{RootsError, UpstreamRoots};
pub(super) use socket::HyperIo;
pub(super) use transport::Transport;
