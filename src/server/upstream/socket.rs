//! A TCP connection that is awaited through the reactor.

use super::reactor::Reactor;
use futures_io::{AsyncRead, AsyncWrite};
use mio::Token;
use mio::net::TcpStream;
use std::future::poll_fn;
use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

/// See the module's documentation.
pub(super) struct Socket {
    stream: TcpStream,
    token: Token,
    reactor: Rc<Reactor>,
}

impl Socket {
    /// Connects to one of the addresses, tried in turn.
    pub(super) async fn connect(reactor: &Rc<Reactor>, addresses: &[SocketAddr]) -> io::Result<Socket> {
        let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
        for address in addresses {
            match Socket::connect_to(reactor, *address).await {
                Ok(socket) => return Ok(socket),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    async fn connect_to(reactor: &Rc<Reactor>, address: SocketAddr) -> io::Result<Socket> {
        let mut stream = TcpStream::connect(address)?;
        let token = reactor.register(&mut stream)?;
        let socket = Socket { stream, token, reactor: Rc::clone(reactor) };
        poll_fn(|context| socket.poll_connected(context)).await?;
        // A request is written whole; waiting for more of it would only delay it.
        socket.stream.set_nodelay(true)?;
        Ok(socket)
    }

    fn poll_connected(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if let Some(error) = self.stream.take_error()? {
            return Poll::Ready(Err(error));
        }
        match self.stream.peer_addr() {
            Ok(_) => Poll::Ready(Ok(())),
            Err(error) if error.kind() == io::ErrorKind::NotConnected => self.wait(true, context),
            Err(error) => Poll::Ready(Err(error)),
        }
    }

    fn wait<T>(&self, write: bool, context: &Context<'_>) -> Poll<T> {
        self.reactor.await_readiness(self.token, write, context.waker());
        Poll::Pending
    }

    /// Tries until it is done, or would block.
    fn attempt<T>(
        &mut self,
        write: bool,
        context: &Context<'_>,
        mut operation: impl FnMut(&mut TcpStream) -> io::Result<T>,
    ) -> Poll<io::Result<T>> {
        loop {
            match operation(&mut self.stream) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return self.wait(write, context),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                done => return Poll::Ready(done),
            }
        }
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        self.reactor.deregister(&mut self.stream, self.token);
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        self.attempt(false, context, |stream| stream.read(buffer))
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.attempt(true, context, |stream| stream.write(bytes))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(self.stream.shutdown(Shutdown::Write))
    }
}

/// Bytes read at once on their way to hyper.
const CHUNK: usize = 8 << 10;

/// The same for hyper, whose traits are its own.
pub(in crate::server) struct HyperIo<T>(pub(in crate::server) T);

impl<T: AsyncRead + Unpin> hyper::rt::Read for HyperIo<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        mut cursor: hyper::rt::ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let mut chunk = [0; CHUNK];
        let most = cursor.remaining().min(CHUNK);
        let space = chunk.get_mut(..most).unwrap_or_default();
        let read = ready!(Pin::new(&mut self.0).poll_read(context, space))?;
        cursor.put_slice(space.get(..read).unwrap_or_default());
        Poll::Ready(Ok(()))
    }
}

impl<T: AsyncWrite + Unpin> hyper::rt::Write for HyperIo<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_close(context)
    }
}
