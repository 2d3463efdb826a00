//! TLS: the same answers as in plaintext, and nobody waits for somebody else's handshake.

use super::common::{self, Wire, scenarios};
use super::corpus;
use super::handlers::{self, door_named, fetch};
use super::rig::{PATIENCE, comparable, configs, status};
use agtp::engine::Engine;
use agtp::server::{Certificates, Running, ServerConfig, start};
use agtp::wire::{AnswerLimits, AnswerParsed, AnswerParser};
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::version::TLS13;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::time::Duration;

/// A certificate for `localhost` and its key in PEM, and who trusts it.
struct Shown {
    chain: String,
    key: String,
    der: CertificateDer<'static>,
    client: Arc<ClientConfig>,
}

impl Shown {
    fn new() -> Shown {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let mut roots = RootCertStore::empty();
        roots.add(made.cert.der().clone()).unwrap();
        let provider = Arc::new(aws_lc_rs::default_provider());
        let builder =
            ClientConfig::builder_with_provider(provider).with_protocol_versions(&[&TLS13]).unwrap();
        let client = Arc::new(builder.with_root_certificates(roots).with_no_client_auth());
        let der = made.cert.der().clone();
        Shown { chain: made.cert.pem(), key: made.signing_key.serialize_pem(), der, client }
    }

    fn certificates(&self) -> Certificates {
        Certificates::from_pem(self.chain.as_bytes(), self.key.as_bytes()).unwrap()
    }
}

/// Runs a test against an encrypted server of its own under each configuration.
fn on_each(
    engine: &'static Engine<'static>,
    change: impl Fn(&mut ServerConfig),
    test: impl Fn(&Running, &Shown),
) {
    let shown = Shown::new();
    for mut config in configs() {
        config.tls = Some(shown.certificates());
        change(&mut config);
        let running = start(engine, &config).unwrap();
        test(&running, &shown);
        running.stop().unwrap();
    }
}

/// A client's connection.
struct Client {
    stream: StreamOwned<ClientConnection, TcpStream>,
    received: Vec<u8>,
    parser: AnswerParser,
}

impl Client {
    fn to(running: &Running, shown: &Shown) -> Client {
        let session =
            ClientConnection::new(Arc::clone(&shown.client), ServerName::try_from("localhost").unwrap());
        let stream = StreamOwned::new(session.unwrap(), dial(running));
        Client { stream, received: Vec::new(), parser: AnswerParser::new() }
    }

    /// Sends it in one record, or as many as it takes.
    fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.stream.write_all(bytes.as_ref()).unwrap();
        self.stream.flush().unwrap();
    }

    /// Says that nothing more comes, and closes the sending side if `and_fin`.
    fn end(&mut self, and_fin: bool) {
        self.stream.conn.send_close_notify();
        self.stream.flush().unwrap();
        if and_fin {
            self.stream.sock.shutdown(Shutdown::Write).unwrap();
        }
    }

    #[track_caller]
    fn answer(&mut self) -> Vec<u8> {
        loop {
            match self.parser.advance(&self.received, &AnswerLimits::DEFAULT) {
                AnswerParsed::Wrong(fault) => panic!("{}", fault.message()),
                AnswerParsed::Done if self.received.len() as u64 >= self.parser.answer().answer_len() => {
                    let rest = self.received.split_off(self.parser.answer().answer_len() as usize);
                    self.parser.reset();
                    return std::mem::replace(&mut self.received, rest);
                }
                _ => assert_ne!(self.receive(), 0, "an answer, not the end of the stream"),
            }
        }
    }

    /// The stream ends with close_notify, and nothing in front of it. (Without, reading it is an error.)
    #[track_caller]
    fn expect_end(&mut self) {
        self.receive();
        assert_eq!(String::from_utf8_lossy(&self.received), "");
    }

    #[track_caller]
    fn receive(&mut self) -> usize {
        let mut part = vec![0; 1 << 16];
        let len = self.stream.read(&mut part).unwrap();
        self.received.extend_from_slice(&part[..len]);
        len
    }
}

fn dial(running: &Running) -> TcpStream {
    let socket = TcpStream::connect(running.addresses()[0]).unwrap();
    socket.set_nodelay(true).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket.set_write_timeout(Some(PATIENCE)).unwrap();
    socket
}

fn echo(message: &str) -> Vec<u8> {
    scenarios::request("ECHO /anything", &format!(r#"{{"message":"{message}"}}"#))
}

/// The first bytes of a client's handshake.
fn hello(shown: &Shown) -> Vec<u8> {
    let name = ServerName::try_from("localhost").unwrap();
    let mut session = ClientConnection::new(Arc::clone(&shown.client), name).unwrap();
    let mut bytes = Vec::new();
    session.write_tls(&mut bytes).unwrap();
    bytes
}

#[test]
fn the_corpus_gets_the_answers_of_plaintext_whole_and_in_records_of_a_byte() {
    on_each(
        common::sample(),
        |_| {},
        |running, shown| {
            for case in corpus::all() {
                let wanted = comparable(&Wire::new(common::sample()).send(&case.request));
                let mut client = Client::to(running, shown);
                client.send(&case.request);
                assert_eq!(comparable(&client.answer()), wanted);
                if case.closes {
                    client.expect_end();
                }
            }
            let request = echo("in records of a byte");
            let wanted = comparable(&Wire::new(common::sample()).send(&request));
            let mut client = Client::to(running, shown);
            request.chunks(1).for_each(|byte| client.send(byte));
            assert_eq!(comparable(&client.answer()), wanted);
        },
    );
}

#[test]
fn ten_thousand_requests_are_answered_in_order_to_a_client_that_reads_late() {
    on_each(
        handlers::engine(),
        |_| {},
        |running, shown| {
            let mut client = Client::to(running, shown);
            let batch: Vec<u8> = (0..200).flat_map(|at| fetch("plain", at)).collect();
            for _ in 0..10 {
                client.send(&batch);
                client.send(fetch("large", "large"));
            }
            for _ in 0..10 {
                for at in 0..200 {
                    let answer = client.answer();
                    assert!(String::from_utf8_lossy(&answer).contains(&format!("Request-ID: {at}\r\n")));
                }
                assert!(client.answer().len() > handlers::LARGE_BYTES);
            }
        },
    );
}

#[test]
fn what_came_before_close_notify_is_answered_and_the_end_is_said() {
    on_each(
        handlers::engine(),
        |_| {},
        |running, shown| {
            for and_fin in [false, true] {
                let mut client = Client::to(running, shown);
                client.send([fetch("plain", 1), fetch("plain", 2), b"AGTP/1.0 FETCH /pl".to_vec()].concat());
                client.end(and_fin);
                assert_eq!([status(&client.answer()), status(&client.answer())], [200, 200]);
                client.expect_end();
            }
        },
    );
}

#[test]
fn an_awaited_handler_is_awaited_under_tls_too() {
    on_each(
        handlers::engine(),
        |_| {},
        |running, shown| {
            let mut client = Client::to(running, shown);
            client.send([fetch("door?text=tls", 1), fetch("plain", 2)].concat());
            let mut other = Client::to(running, shown);
            other.send(fetch("plain", 3));
            assert_eq!(status(&other.answer()), 200);
            door_named("tls").open();
            assert_eq!([status(&client.answer()), status(&client.answer())], [200, 200]);
        },
    );
}

#[test]
fn silent_and_slow_clients_hold_up_nobody_and_end_at_the_deadline() {
    let soon = |config: &mut ServerConfig| config.timeouts.handshake = Duration::from_millis(50);
    on_each(handlers::engine(), soon, |running, shown| {
        let hello = hello(shown);
        let mut slow: Vec<_> = (0..hello.len()).step_by(40).map(|cut| (cut, dial(running))).collect();
        for (cut, socket) in &mut slow {
            socket.write_all(&hello[..*cut]).unwrap();
        }
        let mut client = Client::to(running, shown);
        client.send(fetch("plain", 0));
        assert_eq!(status(&client.answer()), 200);
        for (_, socket) in &mut slow {
            // The end, or a reset.
            match socket.read(&mut [0; 64]) {
                Ok(len) => assert_eq!(len, 0),
                Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionReset),
            }
        }
        client.send(fetch("plain", 0));
        assert_eq!(status(&client.answer()), 200, "the handshake's deadline ended with the handshake");
    });
}

#[test]
fn resets_at_every_byte_of_a_handshake_cost_nobody_else() {
    on_each(
        handlers::engine(),
        |_| {},
        |running, shown| {
            let hello = hello(shown);
            let mut client = Client::to(running, shown);
            for cut in (0..=hello.len()).step_by(3) {
                let mut socket = dial(running);
                socket.write_all(&hello[..cut]).unwrap();
                socket2::Socket::from(socket).set_linger(Some(Duration::ZERO)).unwrap();
            }
            client.send(fetch("plain", 0));
            assert_eq!(status(&client.answer()), 200);
        },
    );
}

#[test]
fn plaintext_gets_an_alert_and_the_end() {
    on_each(
        handlers::engine(),
        |_| {},
        |running, _| {
            let mut socket = dial(running);
            socket.write_all(&fetch("plain", 0)).unwrap();
            let mut received = Vec::new();
            match socket.read_to_end(&mut received) {
                Err(error) if error.kind() != ErrorKind::ConnectionReset => panic!("{error}"),
                _ => assert!(received.is_empty() || received.starts_with(&[21, 3]), "{received:?}"),
            }
        },
    );
}

#[test]
fn another_certificate_is_shown_from_now_on_and_nobody_is_cut_off() {
    let (old, new) = (Shown::new(), Shown::new());
    for mut config in configs() {
        let certificates = old.certificates();
        config.tls = Some(certificates.clone());
        let running = start(handlers::engine(), &config).unwrap();
        let mut before = Client::to(&running, &old);
        before.send(fetch("plain", 0));
        assert_eq!(status(&before.answer()), 200);

        certificates.replace(new.chain.as_bytes(), new.key.as_bytes()).unwrap();
        certificates.replace(b"", new.key.as_bytes()).unwrap_err();
        certificates.replace(new.chain.as_bytes(), old.key.as_bytes()).unwrap_err();
        let mut after = Client::to(&running, &new);
        after.send(fetch("plain", 0));
        assert_eq!(status(&after.answer()), 200);
        assert_eq!(after.stream.conn.peer_certificates().unwrap(), std::slice::from_ref(&new.der));

        before.send(fetch("plain", 0));
        assert_eq!(status(&before.answer()), 200);
        drop((before, after));
        running.stop().unwrap();
    }
}
