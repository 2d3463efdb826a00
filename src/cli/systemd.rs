//! Sockets that listen already when the process starts (systemd's socket activation, `sd_listen_fds(3)`).

use super::Failure;
use listenfd::ListenFd;
use std::net::TcpListener;
use std::sync::Arc;

/// The sockets handed over, if any. They are for this process alone: what it starts does not see them.
pub(super) fn listeners(listen: &[String]) -> Result<Vec<Arc<TcpListener>>, Failure> {
    let mut handed_over = ListenFd::from_env();
    let mut listeners = Vec::with_capacity(handed_over.len());
    for index in 0..handed_over.len() {
        let taken = handed_over.take_tcp_listener(index);
        let taken = taken.map_err(|error| {
            Failure(format!(
                "a socket handed over at start cannot be served: {error}; ListenStream= an address and port"
            ))
        })?;
        listeners.extend(taken.map(Arc::new));
    }
    match listen.first().filter(|_| !listeners.is_empty()) {
        Some(listen) => Err(Failure(format!(
            "--listen {listen} and a socket handed over at start: leave one out, for the socket says where to listen"
        ))),
        None => Ok(listeners),
    }
}
