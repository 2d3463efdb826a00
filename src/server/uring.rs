//! The runtime on io_uring, through `glommio`.
//!
//! glommio's sockets do not use the ring for I/O: they call `recv` and `send`, and ask the ring only when a socket is
//! ready, with one request for each read that emptied it. That is why a core's sockets are in one readiness set here as
//! well, and the ring is asked when *the set* is ready: one request for however many connections became ready, and the
//! body of the loop is the other runtime's. (Measured: that brings its CPU per request down to epoll's.) The executor
//! stays free for tasks that want the ring.

use super::service::Service;
use super::shard::{Shard, Turn};
use futures_io::AsyncRead as _;
use glommio::net::TcpStream;
use glommio::timer::Timer;
use glommio::{LocalExecutor, LocalExecutorBuilder, Placement};
use mio::Registry;
use std::future::{Future as _, poll_fn};
use std::io;
use std::os::fd::AsFd as _;
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;

/// Registered with the kernel for file I/O, of which there is none; the least that glommio takes.
const IO_MEMORY_BYTES: usize = 64 << 10;

/// Requests in flight on a ring: one for the readiness set, one for its timer, glommio's own.
const RING_DEPTH: usize = 16;

/// The executor is blocked for as long at most while the set cannot be watched through the ring.
const PAUSE: Duration = Duration::from_millis(100);

/// Sets the rings up.
pub(super) fn executor() -> io::Result<LocalExecutor> {
    LocalExecutorBuilder::new(Placement::Unbound)
        .io_memory(IO_MEMORY_BYTES)
        .ring_depth(RING_DEPTH)
        .make()
        .map_err(|error| io::Error::other(error.to_string()))
}

/// Runs a core until the server stops.
pub(super) fn run<S: Service>(executor: &LocalExecutor, shard: &mut Shard<'_, S>) -> io::Result<()> {
    executor.run(turns(shard))
}

async fn turns<S: Service>(shard: &mut Shard<'_, S>) -> io::Result<()> {
    let mut watch = None;
    loop {
        let mut turn = shard.turn(Some(Duration::ZERO))?;
        if turn == Turn::Idle {
            let patience = shard.patience();
            match watch.take().map_or_else(|| watch_readiness(shard.registry()), Ok) {
                Ok(ready) => watch = wait(ready, patience).await,
                // Out of descriptors, but not out of work: the wait goes past the ring.
                Err(_) => turn = shard.turn(Some(patience.map_or(PAUSE, |patience| patience.min(PAUSE))))?,
            }
        }
        match turn {
            Turn::Finished => return Ok(()),
            Turn::Busy => glommio::yield_if_needed().await,
            Turn::Idle => {}
        }
    }
}

/// A stream made of the readiness set. glommio asks the ring for a stream's readiness as soon as it is made; that
/// request is all that is wanted of it. It serves once, hence a duplicate of the descriptor each time.
fn watch_readiness(registry: &Registry) -> io::Result<TcpStream> {
    let set = std::net::TcpStream::from(registry.as_fd().try_clone_to_owned()?);
    Ok(TcpStream::from(socket2::Socket::from(set)))
}

/// Waits until the set is ready or patience ends; in the latter case the watch is still good.
async fn wait(mut watch: TcpStream, patience: Option<Duration>) -> Option<TcpStream> {
    let mut timer = pin!(patience.map(Timer::new));
    poll_fn(|context| {
        // Once the set is ready, glommio tries to read from it: "not a socket", which is the signal.
        if Pin::new(&mut watch).poll_read(context, &mut [0]).is_ready() {
            return Poll::Ready(true);
        }
        let timer = timer.as_mut().as_pin_mut();
        if timer.is_some_and(|timer| timer.poll(context).is_ready()) {
            Poll::Ready(false)
        } else {
            Poll::Pending
        }
    })
    .await
    .then_some(())
    .map_or(Some(watch), |()| None)
}
