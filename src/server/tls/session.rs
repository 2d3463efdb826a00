//! One connection's TLS: records from and to the socket, plaintext from and to the connection's state machine.
//!
//! The records of all connections of a core go through two shared buffers. A session owns memory only for what must
//! outlast a turn: an incomplete record, plaintext the reader had no room for, records the socket did not take. An idle
//! one owns none of these.

use super::identity;
use crate::identity::PeerIdentity;
use rustls::server::{ServerConnectionData, UnbufferedServerConnection};
use rustls::unbuffered::{
    ConnectionState, EncodeError, EncryptError, InsufficientSizeError, UnbufferedStatus,
};
use rustls::{Error, HandshakeKind, ServerConfig};
use std::io::{self, ErrorKind, Read, Write};
use std::sync::Arc;

/// Bytes of records one read may bring. A handshake message must fit as well (64 KiB at most), and does with its
/// framing.
const RECORDS_BYTES: usize = (64 << 10) + 4096;

/// Plaintext encrypted at once: four full records.
const ENCRYPT_BYTES: usize = 64 << 10;

/// What the sessions of one core share.
#[derive(Default)]
pub(in crate::server) struct Records {
    /// [`RECORDS_BYTES`], once there is a session.
    input: Vec<u8>,
    output: Vec<u8>,
}

/// See the module's documentation.
pub(in crate::server) struct Tls {
    connection: UnbufferedServerConnection,
    /// The record that has not arrived whole.
    partial: Vec<u8>,
    /// Plaintext from `taken` on waits for its reader.
    plain: Vec<u8>,
    taken: usize,
    /// Records that the socket has still to take.
    unsent: Vec<u8>,
    /// Bytes of plaintext in `unsent`: they are reported as written when the last record is.
    unreported: usize,
    handshaking: bool,
    /// The client has said that it sends no more.
    ended: bool,
    /// We have said so.
    closed: bool,
    /// The last read of the socket was short: it is empty.
    drained: bool,
    /// The session has failed, and the client is told. What else it sends is not looked at.
    failed: bool,
}

/// A certificate that was verified once is out of date by now, or says nothing that could be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::server) struct Unproven;

impl Tls {
    /// A client just accepted.
    pub(in crate::server) fn new(config: Arc<ServerConfig>) -> Result<Tls, Error> {
        Ok(Tls {
            connection: UnbufferedServerConnection::new(config)?,
            partial: Vec::new(),
            plain: Vec::new(),
            taken: 0,
            unsent: Vec::new(),
            unreported: 0,
            handshaking: true,
            ended: false,
            closed: false,
            drained: false,
            failed: false,
        })
    }

    /// What the client has proved about itself; nothing if it showed no certificate. Known once the handshake is done, in
    /// a resumed session from the one before.
    pub(in crate::server) fn peer(&self, unix_ms: u64) -> Result<Option<PeerIdentity>, Unproven> {
        let Some([certificate, ..]) = self.connection.peer_certificates() else { return Ok(None) };
        let seconds = i64::try_from(unix_ms / 1000).map_err(|_| Unproven)?;
        identity::read(certificate, seconds).map(Some).ok_or(Unproven)
    }

    /// Whether no request can be read yet, but may be.
    pub(in crate::server) fn is_handshaking(&self) -> bool {
        self.handshaking && !self.failed
    }

    /// Whether the handshake is done.
    pub(in crate::server) fn is_secured(&self) -> bool {
        !self.handshaking
    }

    /// Whether the handshake took up an earlier session.
    pub(in crate::server) fn was_resumed(&self) -> bool {
        self.connection.handshake_kind() == Some(HandshakeKind::Resumed)
    }

    /// Whether neither the session nor the socket has anything to read at the moment: no plaintext, and no end either.
    pub(in crate::server) fn is_drained(&self) -> bool {
        self.drained && !self.ended && self.taken == self.plain.len()
    }

    /// Reads plaintext, as `Read::read` does: 0 bytes are the end of the stream. On the way the handshake is done.
    ///
    /// # Errors
    /// The socket's, `WouldBlock` among them; and `InvalidData` when what arrives is not TLS 1.3, of which the client
    /// was told. From then on what arrives is returned as it is, to be thrown away.
    pub(in crate::server) fn read(
        &mut self,
        stream: &mut (impl Read + Write),
        records: &mut Records,
        into: &mut [u8],
    ) -> io::Result<usize> {
        if self.failed {
            return stream.read(into);
        }
        let read = self.read_records(stream, records, into);
        self.failed = read.as_ref().is_err_and(|error| error.kind() == ErrorKind::InvalidData);
        read
    }

    fn read_records(
        &mut self,
        stream: &mut (impl Read + Write),
        records: &mut Records,
        into: &mut [u8],
    ) -> io::Result<usize> {
        records.input.resize(RECORDS_BYTES, 0);
        loop {
            let taken = self.take_plain(into);
            if taken > 0 || into.is_empty() {
                // The socket may have filled since it was last read, and said so: it has to be asked again.
                self.drained = false;
                return Ok(taken);
            }
            if self.ended {
                return Ok(0);
            }
            let (kept, room) = self.resume(&mut records.input)?;
            let len = stream.read(room)?;
            self.partial.clear();
            self.drained = len < room.len();
            // An end without close_notify cuts nothing short: requests say how long they are.
            self.ended = len == 0;
            let received = records.input.get_mut(..kept + len).unwrap_or_default();
            let outcome = self.process(received, into);
            let flushed = self.flush(stream);
            let filled = outcome?;
            match flushed {
                Err(error) if error.kind() != ErrorKind::WouldBlock => return Err(error),
                _ if filled > 0 => return Ok(filled),
                _ => {}
            }
        }
    }

    /// Encrypts some of `plaintext` and sends it. What was encrypted and not sent is sent by the next calls, which are
    /// given the same plaintext again; the bytes are reported as written once their last record is.
    ///
    /// # Errors
    /// The socket's, `WouldBlock` among them.
    pub(in crate::server) fn write(
        &mut self,
        stream: &mut impl Write,
        records: &mut Records,
        plaintext: &[u8],
    ) -> io::Result<usize> {
        self.flush(stream)?;
        if self.unreported > 0 {
            return Ok(std::mem::take(&mut self.unreported));
        }
        let part = plaintext.get(..ENCRYPT_BYTES).unwrap_or(plaintext);
        records.output.clear();
        self.encrypt(part, &mut records.output)?;
        let mut rest = records.output.as_slice();
        match send(stream, &mut rest) {
            Ok(()) => Ok(part.len()),
            Err(error) => {
                self.unsent = rest.to_vec();
                self.unreported = part.len();
                Err(error)
            }
        }
    }

    /// Sends what the socket did not take so far: of the handshake, or of an answer.
    pub(in crate::server) fn flush(&mut self, stream: &mut impl Write) -> io::Result<()> {
        if self.unsent.is_empty() {
            return Ok(());
        }
        let mut rest = self.unsent.as_slice();
        let sent = send(stream, &mut rest);
        let left = rest.len();
        self.unsent.drain(..self.unsent.len() - left);
        if self.unsent.is_empty() {
            self.unsent = Vec::new();
        }
        sent
    }

    /// Says that nothing more will be sent.
    ///
    /// # Errors
    /// `WouldBlock` until it is said, and the socket's.
    pub(in crate::server) fn close(&mut self, stream: &mut impl Write) -> io::Result<()> {
        if !std::mem::replace(&mut self.closed, true) {
            let status = self.connection.process_tls_records(&mut self.partial);
            if let Ok(ConnectionState::WriteTraffic(mut traffic)) = status.state {
                push(&mut self.unsent, |room| traffic.queue_close_notify(room))?;
            }
        }
        self.flush(stream)
    }

    fn take_plain(&mut self, into: &mut [u8]) -> usize {
        let waiting = self.plain.get(self.taken..).unwrap_or_default();
        let len = waiting.len().min(into.len());
        if let (Some(into), Some(from)) = (into.get_mut(..len), waiting.get(..len)) {
            into.copy_from_slice(from);
        }
        self.taken += len;
        if self.taken == self.plain.len() && self.taken > 0 {
            (self.plain, self.taken) = (Vec::new(), 0);
        }
        len
    }

    /// Puts the incomplete record in front of the shared buffer: its length, and the room behind it.
    fn resume<'b>(&self, input: &'b mut [u8]) -> io::Result<(usize, &'b mut [u8])> {
        let kept = self.partial.len();
        match input.split_at_mut_checked(kept) {
            Some((front, room)) if !room.is_empty() => {
                front.copy_from_slice(&self.partial);
                Ok((kept, room))
            }
            // Handshake messages that do not end: the buffer holds more than the largest.
            _ => Err(ErrorKind::InvalidData.into()),
        }
    }

    /// Takes in records, filling `into` with their plaintext; says how far.
    fn process(&mut self, received: &mut [u8], into: &mut [u8]) -> io::Result<usize> {
        let (mut start, mut filled) = (0, 0);
        loop {
            let unread = received.get_mut(start..).unwrap_or_default();
            let UnbufferedStatus { mut discard, state } = self.connection.process_tls_records(unread);
            let more = match state {
                Ok(ConnectionState::ReadTraffic(mut traffic)) => {
                    while let Some(record) = traffic.next_record() {
                        let record = record.map_err(invalid)?;
                        discard += record.discard;
                        filled += deliver(record.payload, into.get_mut(filled..), &mut self.plain);
                    }
                    true
                }
                Ok(state) => step(state, &mut self.unsent, &mut self.handshaking, &mut self.ended)?,
                Err(error) => {
                    let unread = received.get_mut(start + discard..).unwrap_or_default();
                    queue_alert(&mut self.connection, unread, &mut self.unsent);
                    // There is nothing more to say, and the session is not to be asked again.
                    (self.ended, self.closed) = (true, true);
                    return Err(invalid(error));
                }
            };
            start += discard;
            if !more {
                break;
            }
        }
        let rest = received.get(start..).unwrap_or_default();
        if !rest.is_empty() {
            self.partial.extend_from_slice(rest);
        } else if self.partial.capacity() > 0 {
            self.partial = Vec::new();
        }
        Ok(filled)
    }

    fn encrypt(&mut self, plaintext: &[u8], into: &mut Vec<u8>) -> io::Result<()> {
        loop {
            // Always with the bytes that have not been taken in: the session counts from their first.
            let UnbufferedStatus { state, discard } = self.connection.process_tls_records(&mut self.partial);
            let mut done = false;
            match state.map_err(invalid)? {
                ConnectionState::WriteTraffic(mut traffic) => {
                    push(into, |room| traffic.encrypt(plaintext, room))?;
                    done = true;
                }
                // A new key, or the like: it goes out first.
                ConnectionState::EncodeTlsData(mut data) => push(into, |room| data.encode(room))?,
                ConnectionState::TransmitTlsData(data) => data.done(),
                // The client sends no more, and still listens.
                ConnectionState::PeerClosed => self.ended = true,
                _ => return Err(ErrorKind::NotConnected.into()),
            }
            self.partial.drain(..discard.min(self.partial.len()));
            if done {
                return Ok(());
            }
        }
    }
}

/// Everything that is not plaintext; whether to go on.
fn step(
    state: ConnectionState<'_, '_, ServerConnectionData>,
    unsent: &mut Vec<u8>,
    handshaking: &mut bool,
    ended: &mut bool,
) -> io::Result<bool> {
    match state {
        ConnectionState::EncodeTlsData(mut data) => push(unsent, |room| data.encode(room))?,
        // What is queued is sent before anything else.
        ConnectionState::TransmitTlsData(data) => data.done(),
        ConnectionState::PeerClosed => *ended = true,
        ConnectionState::BlockedHandshake | ConnectionState::Closed => return Ok(false),
        ConnectionState::WriteTraffic(_) => {
            *handshaking = false;
            return Ok(false);
        }
        // Early data is never offered.
        _ => return Err(ErrorKind::InvalidData.into()),
    }
    Ok(true)
}

/// Queues what the client is to be told of an error, which is the first thing that the session has to say now. `unread` is
/// what it has not taken in, and is not touched: it counts from the first of these bytes.
fn queue_alert(connection: &mut UnbufferedServerConnection, unread: &mut [u8], unsent: &mut Vec<u8>) {
    if let UnbufferedStatus { state: Ok(ConnectionState::EncodeTlsData(mut data)), .. } =
        connection.process_tls_records(unread)
    {
        // Without it the client learns from the end of the connection.
        let _ = push(unsent, |room| data.encode(room));
    }
}

/// Copies plaintext to where it is wanted, and what has no room there aside; the bytes copied.
fn deliver(plaintext: &[u8], into: Option<&mut [u8]>, aside: &mut Vec<u8>) -> usize {
    let into = into.unwrap_or_default();
    let (now, later) = plaintext.split_at(plaintext.len().min(into.len()));
    if let Some(into) = into.get_mut(..now.len()) {
        into.copy_from_slice(now);
    }
    aside.extend_from_slice(later);
    now.len()
}

/// Sends as much as the socket takes; `rest` is what is left.
fn send(stream: &mut impl Write, rest: &mut &[u8]) -> io::Result<()> {
    while !rest.is_empty() {
        match stream.write(rest) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(len) => *rest = rest.get(len..).unwrap_or_default(),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// What an encoder lacks when its output has no room.
trait Needs {
    fn bytes(&self) -> Option<usize>;
}

impl Needs for EncodeError {
    fn bytes(&self) -> Option<usize> {
        match self {
            EncodeError::InsufficientSize(InsufficientSizeError { required_size }) => Some(*required_size),
            EncodeError::AlreadyEncoded => None,
        }
    }
}

impl Needs for EncryptError {
    fn bytes(&self) -> Option<usize> {
        match self {
            EncryptError::InsufficientSize(InsufficientSizeError { required_size }) => Some(*required_size),
            EncryptError::EncryptExhausted => None,
        }
    }
}

/// Appends what `encode` writes, with as much room as it asks for.
fn push<E: Needs>(
    out: &mut Vec<u8>,
    mut encode: impl FnMut(&mut [u8]) -> Result<usize, E>,
) -> io::Result<()> {
    let start = out.len();
    out.resize(out.capacity().max(start), 0);
    loop {
        match encode(out.get_mut(start..).unwrap_or_default()) {
            Ok(len) => {
                out.truncate(start + len);
                return Ok(());
            }
            Err(error) => match error.bytes() {
                Some(room) if start + room > out.len() => out.resize(start + room, 0),
                _ => {
                    out.truncate(start);
                    return Err(ErrorKind::InvalidData.into());
                }
            },
        }
    }
}

fn invalid(error: Error) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, error)
}

#[cfg(test)]
#[path = "session_tests.rs"]
mod tests;
