//! A connection to a server.

use super::{Request, Trust, TrustError};
use crate::wire::{Answer, AnswerFault, AnswerLimits, AnswerParsed, AnswerParser};
use rustls::{AlertDescription, ClientConnection, StreamOwned};
use std::fmt;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

/// Why no answer came.
#[derive(Debug)]
pub enum ClientError {
    /// The host has no address.
    Unresolved(String, io::Error),
    /// Nobody listens there, or the way is closed.
    Unreachable(SocketAddr, io::Error),
    /// The connection broke.
    Broken(io::Error),
    /// The server closed it before its answer was whole; so many bytes of one had come.
    Closed(usize),
    /// The time was up.
    TimedOut(Duration),
    /// What came is no answer.
    Unreadable(AnswerFault),
    /// What came is TLS, and plaintext was asked for.
    Encrypted,
    /// What came is no TLS.
    Unencrypted,
    /// The server could not show that it is the one that was asked for.
    Untrusted(rustls::Error),
    /// The two sides did not come to terms.
    Tls(rustls::Error),
    /// The host cannot be asked for.
    Unaskable(TrustError),
}

impl fmt::Display for ClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ClientError::Unresolved(host, cause) => write!(f, "cannot find the host {host}: {cause}"),
            ClientError::Unreachable(address, cause) if cause.kind() == io::ErrorKind::ConnectionRefused => {
                write!(f, "nobody listens on {address}; start a server with `agtp serve`, or name its port")
            }
            ClientError::Unreachable(address, cause) => write!(f, "cannot reach {address}: {cause}"),
            ClientError::Broken(cause) => write!(f, "the connection broke: {cause}"),
            ClientError::Closed(0) => f.write_str("the server closed the connection without an answer"),
            ClientError::Closed(bytes) => {
                write!(f, "the server closed the connection {bytes} bytes into its answer")
            }
            ClientError::TimedOut(after) => {
                write!(f, "no answer within {} s; allow more with --timeout", after.as_secs_f64())
            }
            ClientError::Unreadable(fault) => fault.fmt(f),
            ClientError::Encrypted => f.write_str("the server speaks TLS; leave --insecure out"),
            ClientError::Unencrypted => {
                f.write_str("the server does not speak TLS; if it is on this machine, ask with --insecure")
            }
            ClientError::Untrusted(why) if why.to_string().contains("CaUsedAsEndEntity") => f.write_str(
                "the server shows the certificate of an authority, which is for signing others; \
                 make it one of its own (openssl: -addext basicConstraints=critical,CA:FALSE)",
            ),
            ClientError::Untrusted(why) => {
                write!(f, "the server is not trusted: {why}; name who vouches for it with --ca FILE")
            }
            ClientError::Tls(rustls::Error::AlertReceived(AlertDescription::CertificateRequired)) => f.write_str(
                "the server lets nobody in without a certificate; show one with --cert FILE (`agtp agent cert` makes it)",
            ),
            ClientError::Tls(rustls::Error::AlertReceived(
                alert @ (AlertDescription::UnknownCA
                | AlertDescription::DecryptError
                | AlertDescription::BadCertificate
                | AlertDescription::CertificateExpired
                | AlertDescription::CertificateUnknown),
            )) => write!(f, "the server does not take the certificate of --cert ({alert:?}); its mtls.ca_file must vouch for it"),
            ClientError::Tls(why) => write!(f, "no encrypted connection came about: {why}"),
            ClientError::Unaskable(why) => why.fmt(f),
        }
    }
}

impl std::error::Error for ClientError {}

/// A moment by which everything has to be done.
#[derive(Clone, Copy, Debug)]
struct Deadline {
    at: Option<Instant>,
    timeout: Duration,
}

impl Deadline {
    /// A timeout too long for the clock is none.
    fn after(timeout: Duration) -> Deadline {
        Deadline { at: Instant::now().checked_add(timeout), timeout }
    }

    /// What is left, never zero, which to a socket would mean "for ever".
    fn left(&self) -> Result<Option<Duration>, ClientError> {
        let Some(at) = self.at else { return Ok(None) };
        let left = at.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(ClientError::TimedOut(self.timeout)) } else { Ok(Some(left)) }
    }

    fn explain(&self, error: io::Error) -> ClientError {
        match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => ClientError::TimedOut(self.timeout),
            _ => match error.downcast::<rustls::Error>() {
                Ok(error) => tls_error(error),
                Err(error) => ClientError::Broken(error),
            },
        }
    }
}

fn tls_error(error: rustls::Error) -> ClientError {
    match error {
        rustls::Error::InvalidCertificate(_) => ClientError::Untrusted(error),
        rustls::Error::InvalidMessage(_) => ClientError::Unencrypted,
        error => ClientError::Tls(error),
    }
}

/// The addresses of a host.
pub fn resolve(host: &str, port: u16) -> Result<Vec<SocketAddr>, ClientError> {
    let unresolved = |cause| ClientError::Unresolved(host.to_owned(), cause);
    let addresses: Vec<_> = (host, port).to_socket_addrs().map_err(unresolved)?.collect();
    match addresses.is_empty() {
        true => Err(unresolved(io::Error::other("it has no address"))),
        false => Ok(addresses),
    }
}

/// Whether none of the addresses leaves this machine.
pub fn is_loopback(addresses: &[SocketAddr]) -> bool {
    addresses.iter().all(|address| address.ip().to_canonical().is_loopback())
}

/// The bytes of a connection.
#[derive(Debug)]
enum Stream {
    Plain(TcpStream),
    Tls(Box<StreamOwned<ClientConnection, TcpStream>>),
}

impl Stream {
    fn socket(&self) -> &TcpStream {
        match self {
            Stream::Plain(socket) => socket,
            Stream::Tls(stream) => &stream.sock,
        }
    }

    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Plain(socket) => socket.read(into),
            Stream::Tls(stream) => match stream.read(into) {
                // An end without close_notify: whether something is missing, the answer's own length tells.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(0),
                result => result,
            },
        }
    }

    fn write(&mut self, from: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Plain(socket) => socket.write(from),
            Stream::Tls(stream) => stream.write(from),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Stream::Plain(_) => Ok(()),
            Stream::Tls(stream) => stream.flush(),
        }
    }
}

/// A connection and what was read from it but belongs to the next answer.
#[derive(Debug)]
pub struct Connection {
    stream: Stream,
    received: Vec<u8>,
    deadline: Deadline,
    limits: AnswerLimits,
}

/// An answer.
#[derive(Clone, Debug)]
pub struct Response {
    bytes: Vec<u8>,
    answer: Answer,
}

impl Connection {
    /// Dials the addresses one after the other and keeps the first that takes the call, in plaintext. All that is done
    /// with the connection has to be done within `timeout`.
    pub fn open(addresses: &[SocketAddr], timeout: Duration) -> Result<Connection, ClientError> {
        let (socket, deadline) = dial(addresses, timeout)?;
        Ok(Connection::over(Stream::Plain(socket), deadline))
    }

    /// The same over TLS 1.3 with a server that proves to be `host`. (It does so when the first request is sent.)
    pub fn open_tls(
        addresses: &[SocketAddr],
        host: &str,
        trust: &Trust,
        timeout: Duration,
    ) -> Result<Connection, ClientError> {
        let session = trust.session(host).map_err(ClientError::Unaskable)?;
        let (socket, deadline) = dial(addresses, timeout)?;
        Ok(Connection::over(Stream::Tls(Box::new(StreamOwned::new(session, socket))), deadline))
    }

    fn over(stream: Stream, deadline: Deadline) -> Connection {
        Connection { stream, received: Vec::new(), deadline, limits: AnswerLimits::DEFAULT }
    }

    /// Sends a request and waits for its answer.
    pub fn call(&mut self, request: &Request) -> Result<Response, ClientError> {
        let sent = self.send(&request.encode());
        // A server that refuses a request early may close before all of it is sent, its answer already on the way.
        match (self.receive(), sent) {
            (Ok(response), _) => Ok(response),
            // Why nothing could be sent says more than that nothing came.
            (Err(_), Err(error)) => Err(error),
            (Err(error), Ok(())) => Err(error),
        }
    }

    fn send(&mut self, mut bytes: &[u8]) -> Result<(), ClientError> {
        while !bytes.is_empty() {
            self.limit_time()?;
            match self.stream.write(bytes) {
                Ok(written) => bytes = bytes.get(written..).unwrap_or_default(),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.deadline.explain(error)),
            }
        }
        self.limit_time()?;
        self.stream.flush().map_err(|error| self.deadline.explain(error))
    }

    /// Sets what is left of the time for the socket's next operations: under TLS, sending may have to receive first.
    fn limit_time(&self) -> Result<(), ClientError> {
        let (socket, left) = (self.stream.socket(), self.deadline.left()?);
        let set = socket.set_write_timeout(left).and_then(|()| socket.set_read_timeout(left));
        set.map_err(ClientError::Broken)
    }

    fn receive(&mut self) -> Result<Response, ClientError> {
        let mut parser = AnswerParser::new();
        loop {
            match parser.advance(&self.received, &self.limits) {
                AnswerParsed::Done => break,
                AnswerParsed::NeedMore => self.read_some(READ_BYTES)?,
                // An alert record: the server took the request for a broken handshake.
                AnswerParsed::Wrong(_) if self.received.starts_with(&[21, 3]) => {
                    return Err(ClientError::Encrypted);
                }
                AnswerParsed::Wrong(fault) => return Err(ClientError::Unreadable(fault)),
            }
        }
        let answer = parser.answer().clone();
        let whole = usize::try_from(answer.answer_len())
            .map_err(|_| ClientError::Unreadable(AnswerFault::BodyTooLong))?;
        while let Some(missing) = whole.checked_sub(self.received.len()).filter(|&missing| missing > 0) {
            self.read_some(missing.max(READ_BYTES))?;
        }
        let rest = self.received.split_off(whole);
        Ok(Response { bytes: std::mem::replace(&mut self.received, rest), answer })
    }

    /// Reads up to `most` bytes; the buffer grows with what has come, not with what was announced.
    fn read_some(&mut self, most: usize) -> Result<(), ClientError> {
        let start = self.received.len();
        self.received.resize(start + most.min(MAX_READ_BYTES), 0);
        let read = self.read_into(start);
        self.received.truncate(start + read.as_ref().map_or(0, |&bytes| bytes));
        match read? {
            0 => Err(ClientError::Closed(start)),
            _ => Ok(()),
        }
    }

    fn read_into(&mut self, start: usize) -> Result<usize, ClientError> {
        loop {
            self.limit_time()?;
            let target = self.received.get_mut(start..).unwrap_or_default();
            match self.stream.read(target) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.deadline.explain(error)),
                Ok(bytes) => return Ok(bytes),
            }
        }
    }
}

/// The first of the addresses that takes the call.
fn dial(addresses: &[SocketAddr], timeout: Duration) -> Result<(TcpStream, Deadline), ClientError> {
    let deadline = Deadline::after(timeout);
    let mut last = None;
    for address in addresses {
        let dialled = match deadline.left()? {
            Some(left) => TcpStream::connect_timeout(address, left),
            None => TcpStream::connect(address),
        };
        match dialled {
            Ok(socket) => {
                socket.set_nodelay(true).map_err(ClientError::Broken)?;
                return Ok((socket, deadline));
            }
            Err(error) if error.kind() == io::ErrorKind::TimedOut => {
                last = Some(ClientError::TimedOut(timeout));
            }
            Err(error) => last = Some(ClientError::Unreachable(*address, error)),
        }
    }
    Err(last.unwrap_or_else(|| ClientError::Broken(io::Error::other("there is no address to dial"))))
}

/// Least to ask of one read.
const READ_BYTES: usize = 16 * 1024;

/// Most to ask of one read.
const MAX_READ_BYTES: usize = 1024 * 1024;

impl Response {
    /// The three digits.
    pub fn status(&self) -> u16 {
        self.answer.status
    }

    /// The reason phrase.
    pub fn reason(&self) -> &str {
        text(self.answer.reason.of(&self.bytes))
    }

    /// Whether the request was done: 2xx but 262.
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status()) && self.status() != 262
    }

    /// Names and values in the order they came.
    pub fn headers(&self) -> impl Iterator<Item = (&str, &str)> {
        self.answer.headers(&self.bytes).map(|(name, value)| (text(name), text(value)))
    }

    /// The value of the first header of that name, whatever its case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.answer.header(name.as_bytes(), &self.bytes).map(text)
    }

    /// The body, empty if there is none.
    pub fn body(&self) -> &[u8] {
        self.bytes.get(self.answer.len as usize..).unwrap_or_default()
    }
}

/// The parser admits printable ASCII only.
fn text(bytes: &[u8]) -> &str {
    str::from_utf8(bytes).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, TcpListener};
    use std::thread::JoinHandle;

    /// A server that takes one connection, reads a request head and plays its part.
    fn server(play: impl FnOnce(TcpStream) + Send + 'static) -> (SocketAddr, JoinHandle<()>) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        (address, std::thread::spawn(move || play(listener.accept().unwrap().0)))
    }

    fn call(answer: &'static [u8]) -> Result<Response, ClientError> {
        let (address, thread) = server(move |mut stream| {
            let mut request = [0; 512];
            let _ = stream.read(&mut request).unwrap();
            for byte in answer {
                stream.write_all(&[*byte]).unwrap();
            }
        });
        let mut connection = Connection::open(&[address], Duration::from_secs(60)).unwrap();
        let response = connection.call(&Request::new("DISCOVER", "/").unwrap());
        thread.join().unwrap();
        response
    }

    #[test]
    fn an_answer_in_single_bytes_is_whole() {
        let response = call(b"AGTP/1.0 200 OK\r\nServer-ID: s\r\nContent-Length: 2\r\n\r\n{}").unwrap();
        assert_eq!((response.status(), response.reason(), response.body()), (200, "OK", &b"{}"[..]));
        assert_eq!(response.header("SERVER-ID"), Some("s"));
        assert_eq!(response.headers().count(), 2);
        assert!(response.is_success());
    }

    #[test]
    fn what_is_no_answer_is_told_apart() {
        assert!(matches!(call(b"HTTP/1.1 200 OK\r\n\r\n"), Err(ClientError::Unreadable(_))));
        assert!(matches!(call(b""), Err(ClientError::Closed(0))));
        let cut = call(b"AGTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\n{}");
        assert!(matches!(cut, Err(ClientError::Closed(40))), "{cut:?}");
    }

    #[test]
    fn the_bytes_of_a_second_answer_wait_for_the_second_call() {
        let (address, thread) = server(|mut stream| {
            let mut request = [0; 512];
            let _ = stream.read(&mut request).unwrap();
            stream
                .write_all(b"AGTP/1.0 262 Authorization Required\r\n\r\nAGTP/1.0 204 No Content\r\n\r\n")
                .unwrap();
            let _ = stream.read(&mut request).unwrap();
        });
        let mut connection = Connection::open(&[address], Duration::from_secs(60)).unwrap();
        let request = Request::new("DISCOVER", "/").unwrap();
        let first = connection.call(&request).unwrap();
        assert_eq!((first.status(), first.is_success()), (262, false));
        assert_eq!(connection.call(&request).unwrap().status(), 204);
        drop(connection);
        thread.join().unwrap();
    }

    #[test]
    fn nobody_listening_says_what_to_do() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        drop(listener);
        let error = Connection::open(&[address], Duration::from_secs(60)).unwrap_err();
        assert!(error.to_string().contains("agtp serve"), "{error}");
    }

    #[test]
    fn a_deadline_that_has_passed_is_a_timeout() {
        let deadline = Deadline { at: Some(Instant::now()), timeout: Duration::from_secs(1) };
        assert!(matches!(deadline.left(), Err(ClientError::TimedOut(_))));
        assert!(Deadline::after(Duration::MAX).left().unwrap().is_none());
    }
}
