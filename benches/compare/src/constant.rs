//! Servers that only find out where requests end and answer the same bytes to each: the limit of a runtime.

use crate::{Failure, announce};
use futures_lite::{AsyncReadExt as _, AsyncWriteExt as _};
use memchr::memmem::Finder;
use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Token};
use std::io::{self, ErrorKind, Read, Write};
use std::rc::Rc;

/// Bytes of an answer, head and body.
const ANSWER_BYTES: usize = 391;

const BUFFER_BYTES: usize = 64 * 1024;

/// As many answers as a full buffer has requests of the smallest size that could be.
fn answers() -> Vec<u8> {
    let body = r#"{"reservation_id":"rsv-000001","room_id":"12","status":"confirmed","check_in":"2027-03-14","check_out":"2027-03-17","total_price":441,"currency":"EUR"}"#;
    let head = format!(
        "AGTP/1.0 200 OK\r\nServer-ID: hotel.example\r\nContent-Type: application/vnd.agtp+json\r\nContent-Length: {}\r\n",
        body.len()
    );
    let padding = ANSWER_BYTES - head.len() - body.len() - "Padding: \r\n\r\n".len();
    let answer = format!("{head}Padding: {}\r\n\r\n{body}", "x".repeat(padding));
    answer.repeat(BUFFER_BYTES / 32).into_bytes()
}

/// Finds the ends of requests.
struct Scan {
    end: Finder<'static>,
    length: Finder<'static>,
}

impl Scan {
    fn new() -> Scan {
        Scan { end: Finder::new(b"\r\n\r\n"), length: Finder::new(b"Content-Length: ") }
    }

    /// How many whole requests there are, and their bytes.
    fn requests(&self, bytes: &[u8]) -> (usize, usize) {
        let (mut count, mut used) = (0, 0);
        while let Some(len) = self.request(&bytes[used..]) {
            count += 1;
            used += len;
        }
        (count, used)
    }

    fn request(&self, bytes: &[u8]) -> Option<usize> {
        let head = self.end.find(bytes)?;
        let body = self.length.find(&bytes[..head]).map_or(0, |at| {
            let digits = bytes[at + "Content-Length: ".len()..head].iter();
            digits
                .take_while(|byte| byte.is_ascii_digit())
                .fold(0, |length, digit| length * 10 + usize::from(digit - b'0'))
        });
        let whole = head + 4 + body;
        (whole <= bytes.len()).then_some(whole)
    }
}

struct Peer {
    stream: TcpStream,
    /// Requests that have not arrived whole.
    input: Vec<u8>,
    /// Bytes of answers that were not taken.
    unsent: usize,
}

/// On epoll, through mio.
pub fn epoll() -> Result<(), Failure> {
    let (answers, scan) = (answers(), Scan::new());
    let mut poll = Poll::new()?;
    let mut listener = TcpListener::bind("127.0.0.1:0".parse()?)?;
    let listening = Token(usize::MAX);
    poll.registry().register(&mut listener, listening, Interest::READABLE)?;
    announce(listener.local_addr()?);
    let mut peers: Vec<Option<Peer>> = Vec::new();
    let mut events = Events::with_capacity(1024);
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        poll.poll(&mut events, None)?;
        for event in &events {
            if event.token() == listening {
                accept(&listener, &poll, &mut peers)?;
            } else if let Some(slot) = peers.get_mut(event.token().0) {
                let is_over =
                    slot.as_mut().is_none_or(|peer| drive(peer, &mut buffer, &scan, &answers).is_err());
                if is_over {
                    *slot = None;
                }
            }
        }
    }
}

fn accept(listener: &TcpListener, poll: &Poll, peers: &mut Vec<Option<Peer>>) -> io::Result<()> {
    loop {
        match listener.accept() {
            Ok((mut stream, _)) => {
                stream.set_nodelay(true)?;
                let place = peers.iter().position(Option::is_none).unwrap_or(peers.len());
                let interest = Interest::READABLE | Interest::WRITABLE;
                poll.registry().register(&mut stream, Token(place), interest)?;
                peers.resize_with(peers.len().max(place + 1), || None);
                peers[place] = Some(Peer { stream, input: Vec::new(), unsent: 0 });
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
            Err(error) => return Err(error),
        }
    }
}

/// Reads and answers until the socket is empty. An error is the end of the connection.
fn drive(peer: &mut Peer, buffer: &mut [u8], scan: &Scan, answers: &[u8]) -> io::Result<()> {
    flush(peer, answers)?;
    loop {
        let kept = peer.input.len();
        buffer[..kept].copy_from_slice(&peer.input);
        let len = match peer.stream.read(&mut buffer[kept..]) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
            read => read?,
        };
        let received = &buffer[..kept + len];
        let (count, used) = scan.requests(received);
        peer.input.clear();
        peer.input.extend_from_slice(&received[used..]);
        peer.unsent += count * ANSWER_BYTES;
        flush(peer, answers)?;
        if kept + len < buffer.len() {
            return Ok(());
        }
    }
}

fn flush(peer: &mut Peer, answers: &[u8]) -> io::Result<()> {
    while peer.unsent > 0 {
        let into_answer = (ANSWER_BYTES - peer.unsent % ANSWER_BYTES) % ANSWER_BYTES;
        let end = answers.len().min(into_answer + peer.unsent);
        match peer.stream.write(&answers[into_answer..end]) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
            written => peer.unsent -= written?,
        }
    }
    Ok(())
}

/// On io_uring, through glommio.
pub fn uring() -> Result<(), Failure> {
    let executor = glommio::LocalExecutorBuilder::default().make().map_err(told)?;
    executor.run(async {
        let listener = glommio::net::TcpListener::bind("127.0.0.1:0").map_err(told)?;
        announce(listener.local_addr().map_err(told)?);
        let shared = Rc::new((answers(), Scan::new()));
        loop {
            let stream = listener.accept().await.map_err(told)?;
            let shared = Rc::clone(&shared);
            // How a connection ends is its client's business.
            glommio::spawn_local(async move { converse(stream, &shared.0, &shared.1).await.ok() }).detach();
        }
    })
}

/// Its errors cannot be sent between threads.
fn told(error: glommio::GlommioError<()>) -> Failure {
    error.to_string().into()
}

async fn converse(mut stream: glommio::net::TcpStream, answers: &[u8], scan: &Scan) -> io::Result<()> {
    stream.set_nodelay(true).map_err(|error| io::Error::other(error.to_string()))?;
    let mut buffer = vec![0; BUFFER_BYTES];
    let mut kept = 0;
    loop {
        let len = stream.read(&mut buffer[kept..]).await?;
        if len == 0 {
            return Ok(());
        }
        let (count, used) = scan.requests(&buffer[..kept + len]);
        buffer.copy_within(used..kept + len, 0);
        kept = kept + len - used;
        stream.write_all(&answers[..count * ANSWER_BYTES]).await?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::request;
    use agtp::bench::Protocol;

    #[test]
    fn whole_requests_are_counted() {
        let (scan, one) = (Scan::new(), request(Protocol::Agtp));
        let three = one.repeat(3);
        for cut in 0..=three.len() {
            let whole = cut / one.len();
            assert_eq!(scan.requests(&three[..cut]), (whole, whole * one.len()));
        }
    }

    #[test]
    fn answers_are_as_long_as_they_say() {
        let answers = answers();
        assert_eq!(answers.len() % ANSWER_BYTES, 0);
        let answer = &answers[..ANSWER_BYTES];
        assert_eq!(Scan::new().request(answer), Some(ANSWER_BYTES));
    }
}
