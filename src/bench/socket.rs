//! A connection's bytes, in plaintext or through TLS, without blocking.

use mio::net::TcpStream;
use rustls::ClientConnection;
use std::io::{self, ErrorKind, Read, Write};

/// Bytes one read may bring.
const READ_BYTES: usize = 256 * 1024;

/// What the connections of a thread share.
pub(super) struct Buffers {
    /// What answers are read into.
    plain: Box<[u8]>,
    /// What records are read into; they are no longer than the plaintext they become.
    records: Box<[u8]>,
}

impl Buffers {
    pub(super) fn new() -> Buffers {
        Buffers { plain: vec![0; READ_BYTES].into(), records: vec![0; READ_BYTES / 2].into() }
    }
}

/// What a read came to.
pub(super) struct Received<'b> {
    /// May be empty: what came was not for us but for TLS.
    pub(super) bytes: &'b [u8],
    /// The socket has nothing more at the moment.
    pub(super) is_drained: bool,
    /// Nothing more will come.
    pub(super) has_ended: bool,
}

/// A socket, and its session if it has one.
pub(super) struct Socket {
    stream: TcpStream,
    session: Option<Box<ClientConnection>>,
}

impl Socket {
    pub(super) fn new(stream: TcpStream, session: Option<ClientConnection>) -> Socket {
        Socket { stream, session: session.map(Box::new) }
    }

    pub(super) fn stream(&mut self) -> &mut TcpStream {
        &mut self.stream
    }

    /// Whether it has reached the other side: `Ok(false)` means not yet.
    ///
    /// # Errors
    /// When it cannot.
    pub(super) fn poll_connected(&self) -> io::Result<bool> {
        if let Some(error) = self.stream.take_error()? {
            return Err(error);
        }
        match self.stream.peer_addr() {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == ErrorKind::NotConnected => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Whether requests can be sent: of a session, when its handshake is done.
    pub(super) fn is_ready(&self) -> bool {
        self.session.as_ref().is_none_or(|session| !session.is_handshaking())
    }

    /// Reads what there is, up to the size of a buffer.
    ///
    /// # Errors
    /// The socket's (a read that would block is none), and what is not TLS.
    pub(super) fn read<'b>(&mut self, buffers: &'b mut Buffers) -> io::Result<Received<'b>> {
        let Buffers { plain, records } = buffers;
        let into = if self.session.is_some() { &mut *records } else { &mut *plain };
        let (len, room) = match self.stream.read(into) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                return Ok(Received { bytes: &[], is_drained: true, has_ended: false });
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {
                return Ok(Received { bytes: &[], is_drained: false, has_ended: false });
            }
            read => (read?, into.len()),
        };
        let filled = match &mut self.session {
            None => len,
            Some(session) => decrypt(session, records.get(..len).unwrap_or_default(), plain)?,
        };
        let bytes = plain.get(..filled).unwrap_or_default();
        Ok(Received { bytes, is_drained: len < room, has_ended: len == 0 })
    }

    /// Writes as much as is taken; 0 when nothing is at the moment.
    ///
    /// # Errors
    /// The socket's.
    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.flush()? {
            return Ok(0);
        }
        match &mut self.session {
            None => taken(self.stream.write(bytes)),
            Some(session) => {
                // What the session has taken it sends, now or with the next flush.
                let len = session.writer().write(bytes)?;
                self.flush()?;
                Ok(len)
            }
        }
    }

    /// Sends what the session has to send; whether all of it was.
    ///
    /// # Errors
    /// The socket's.
    pub(super) fn flush(&mut self) -> io::Result<bool> {
        let Some(session) = &mut self.session else { return Ok(true) };
        while session.wants_write() {
            if taken(session.write_tls(&mut self.stream))? == 0 {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

fn taken(written: io::Result<usize>) -> io::Result<usize> {
    match written {
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(0),
        written => written,
    }
}

/// Plaintext of records, at the front of `plain`; its length.
fn decrypt(session: &mut ClientConnection, mut records: &[u8], plain: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while !records.is_empty() {
        if session.read_tls(&mut records)? == 0 {
            break; // The server has said that nothing more comes.
        }
        session.process_new_packets().map_err(io::Error::other)?;
        loop {
            let room = plain.get_mut(filled..).unwrap_or_default();
            match session.reader().read(room) {
                Ok(0) => break,
                Ok(len) => filled += len,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
    }
    Ok(filled)
}
