//! Listening sockets: one for each address and core.

use socket2::{Domain, Protocol, SockRef, Socket, Type};
use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

/// Connections the kernel completes before they are accepted; it takes less if `net.core.somaxconn` says so.
const BACKLOG: i32 = 4096;

/// An address that cannot be listened on. Displays as one line: what, where, what to do.
#[derive(Debug)]
pub struct ListenError {
    address: SocketAddr,
    cause: io::Error,
}

impl fmt::Display for ListenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot listen on {}: ", self.address)?;
        match self.cause.kind() {
            io::ErrorKind::AddrInUse => {
                write!(f, "the port is in use; stop what holds it, or choose another with --listen ADDR:PORT")
            }
            io::ErrorKind::AddrNotAvailable => {
                write!(f, "this machine has no such address; choose one of its own with --listen ADDR:PORT")
            }
            io::ErrorKind::PermissionDenied => {
                write!(f, "permission denied; choose a port from 1024 up with --listen ADDR:PORT")
            }
            _ => write!(f, "{}; choose another address with --listen ADDR:PORT", self.cause),
        }
    }
}

impl std::error::Error for ListenError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.cause)
    }
}

/// Whether only this machine can reach a server on that address.
pub fn is_loopback(address: &SocketAddr) -> bool {
    address.ip().to_canonical().is_loopback()
}

/// The sockets of a server.
pub(super) struct Listeners {
    /// As bound: the port 0 replaced by the one the system chose.
    pub(super) addresses: Vec<SocketAddr>,
    /// One list for each core, a socket for each address.
    pub(super) cores: Vec<Vec<TcpListener>>,
}

/// Listens on each address and takes over what listens already, for each core.
pub(super) fn listen(
    addresses: &[SocketAddr],
    inherited: &[Arc<TcpListener>],
    cores: usize,
) -> Result<Listeners, ListenError> {
    let mut listeners = Listeners { addresses: Vec::new(), cores: (0..cores).map(|_| Vec::new()).collect() };
    for address in addresses {
        let mut bound = *address;
        if !listeners.addresses.contains(address) {
            share_address(&mut bound, &mut listeners.cores)
                .map_err(|cause| ListenError { address: *address, cause })?;
            listeners.addresses.push(bound);
        }
    }
    for socket in inherited {
        let address = socket.local_addr().unwrap_or_else(|_| SocketAddr::from(([0; 4], 0)));
        share_socket(socket, &mut listeners.cores).map_err(|cause| ListenError { address, cause })?;
        listeners.addresses.push(address);
    }
    Ok(listeners)
}

/// One socket for each core on the same address; the kernel spreads connections over them.
fn share_address(address: &mut SocketAddr, cores: &mut [Vec<TcpListener>]) -> io::Result<()> {
    if address.port() != 0 {
        // With the port shared, a second server would start and silently take half of the connections.
        bind(*address, false)?;
    }
    for core in cores {
        let socket = bind(*address, true)?;
        socket.listen(BACKLOG)?;
        let socket = TcpListener::from(socket);
        *address = socket.local_addr()?;
        core.push(socket);
    }
    Ok(())
}

/// The same socket for each core: a connection wakes all that are idle, and the first to accept has it.
fn share_socket(socket: &TcpListener, cores: &mut [Vec<TcpListener>]) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    if !SockRef::from(socket).is_listener()? {
        return Err(io::Error::other("the socket that was handed over does not listen"));
    }
    // Its duplicates share both; accepted sockets inherit the second.
    socket.set_nonblocking(true)?;
    SockRef::from(socket).set_nodelay(true)?;
    for core in cores {
        core.push(socket.try_clone()?);
    }
    Ok(())
}

fn bind(address: SocketAddr, shared: bool) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    if address.is_ipv6() {
        // An address means itself: `[::]` and `0.0.0.0` can both be listened on.
        socket.set_only_v6(true)?;
    }
    // Connections of a server that has just ended do not hold the port.
    socket.set_reuse_address(true)?;
    socket.set_reuse_port(shared)?;
    // Answers leave in one write, there is nothing to wait for. Accepted sockets inherit it.
    socket.set_nodelay(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loopback(port: u16) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], port))
    }

    #[test]
    fn port_0_becomes_one_port_for_all_cores() {
        let listeners = listen(&[loopback(0), loopback(0)], &[], 3).unwrap();
        assert_eq!(listeners.cores.len(), 3);
        for core in &listeners.cores {
            let bound: Vec<_> = core.iter().map(|socket| socket.local_addr().unwrap()).collect();
            assert_eq!(bound, listeners.addresses);
        }
        assert!(listeners.addresses.iter().all(|address| address.port() != 0));
        assert_eq!(listeners.addresses.len(), 2);
    }

    #[test]
    fn a_port_in_use_is_an_error_even_if_its_holder_would_share() {
        let holder = listen(&[loopback(0)], &[], 1).unwrap();
        let address = *holder.addresses.first().unwrap();
        let message = listen(&[address], &[], 1).map(|_| ()).unwrap_err().to_string();
        let wanted = format!(
            "cannot listen on {address}: the port is in use; \
             stop what holds it, or choose another with --listen ADDR:PORT"
        );
        assert_eq!(message, wanted);
        drop(holder);
        listen(&[address], &[], 2).unwrap();
    }

    #[test]
    fn an_address_given_twice_is_listened_on_once() {
        let port = listen(&[loopback(0)], &[], 1).unwrap().addresses.first().unwrap().port();
        let listeners = listen(&[loopback(port), loopback(port)], &[], 1).unwrap();
        assert_eq!(listeners.addresses, [loopback(port)]);
    }

    #[test]
    fn an_address_of_another_machine_says_so() {
        let message =
            listen(&["192.0.2.1:4480".parse().unwrap()], &[], 1).map(|_| ()).unwrap_err().to_string();
        assert!(message.contains("no such address"), "{message}");
    }

    #[test]
    fn loopback_is_known_in_all_its_forms() {
        for (address, wanted) in [
            ("127.0.0.1:1", true),
            ("127.9.9.9:1", true),
            ("[::1]:1", true),
            ("[::ffff:127.0.0.1]:1", true),
            ("0.0.0.0:1", false),
            ("[::]:1", false),
            ("192.0.2.1:1", false),
        ] {
            assert_eq!(is_loopback(&address.parse().unwrap()), wanted, "{address}");
        }
    }
}
