//! The runtime on the system's readiness interface (epoll on Linux), through `mio`.

use super::service::Service;
use super::shard::{Shard, Turn};
use std::io;

/// Runs a core until the server stops.
pub(super) fn run<S: Service>(shard: &mut Shard<'_, S>) -> io::Result<()> {
    while shard.turn(shard.patience())? != Turn::Finished {}
    Ok(())
}
