use super::*;
use crate::server::tls::{Authorities, Certificates, ClientCertificates, Credential, Encryption};
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::ServerName;
use rustls::version::TLS13;
use rustls::{ClientConfig, ClientConnection, RootCertStore};
use std::collections::VecDeque;

/// The server's end of a connection in memory.
#[derive(Default)]
struct Socket {
    incoming: VecDeque<u8>,
    outgoing: Vec<u8>,
    /// Most bytes that one read brings.
    brings: usize,
    /// Bytes it still takes.
    takes: usize,
    ended: bool,
}

impl Socket {
    fn new(brings: usize) -> Socket {
        Socket { brings, takes: usize::MAX, ..Socket::default() }
    }
}

impl Read for Socket {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let len = into.len().min(self.brings).min(self.incoming.len());
        if len == 0 && !self.ended {
            return Err(ErrorKind::WouldBlock.into());
        }
        into.iter_mut().zip(self.incoming.drain(..len)).for_each(|(to, from)| *to = from);
        Ok(len)
    }
}

impl Write for Socket {
    fn write(&mut self, from: &[u8]) -> io::Result<usize> {
        let len = from.len().min(self.takes);
        if len == 0 {
            return Err(ErrorKind::WouldBlock.into());
        }
        self.takes -= len;
        self.outgoing.extend_from_slice(&from[..len]);
        Ok(len)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct Rig {
    client: ClientConnection,
    socket: Socket,
    tls: Tls,
    records: Records,
    /// Plaintext the server read.
    got: Vec<u8>,
    client_got: Vec<u8>,
    /// Bytes the server reads at once.
    room: usize,
}

/// A certificate for `localhost`, with its key, in PEM.
fn certificate() -> (Certificates, RootCertStore) {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(made.cert.der().clone()).unwrap();
    let (chain, key) = (made.cert.pem(), made.signing_key.serialize_pem());
    (Certificates::from_pem(chain.as_bytes(), key.as_bytes()).unwrap(), roots)
}

fn client_config(roots: RootCertStore, alpn: &[&str]) -> Arc<ClientConfig> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_protocol_versions(&[&TLS13]).unwrap();
    let mut config = builder.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
    Arc::new(config)
}

fn client(roots: RootCertStore, alpn: &[&str]) -> ClientConnection {
    let name = ServerName::try_from("localhost").unwrap();
    ClientConnection::new(client_config(roots, alpn), name).unwrap()
}

impl Rig {
    fn new(brings: usize, room: usize) -> Rig {
        Rig::offering(brings, room, &[])
    }

    fn offering(brings: usize, room: usize, alpn: &[&str]) -> Rig {
        let (certificates, roots) = certificate();
        Rig::of(&certificates, client(roots, alpn), brings, room)
    }

    fn of(certificates: &Certificates, client: ClientConnection, brings: usize, room: usize) -> Rig {
        let tls = Tls::new(certificates.current()).unwrap();
        let socket = Socket::new(brings);
        Rig {
            client,
            socket,
            tls,
            records: Records::default(),
            got: Vec::new(),
            client_got: Vec::new(),
            room,
        }
    }

    /// Moves bytes both ways until nothing moves; the server's end of stream or error, if it came.
    fn run(&mut self) -> Option<io::Result<()>> {
        loop {
            let mut bytes = Vec::new();
            while self.client.wants_write() {
                self.client.write_tls(&mut bytes).unwrap();
            }
            self.socket.incoming.extend(&bytes);
            let outcome = self.serve();
            let answer = std::mem::take(&mut self.socket.outgoing);
            if !answer.is_empty() {
                // Nothing to read would be the end of the stream.
                let mut rest = answer.as_slice();
                while !rest.is_empty() {
                    self.client.read_tls(&mut rest).unwrap();
                    if self.client.process_new_packets().is_err() {
                        break;
                    }
                    self.keep_received();
                }
            }
            let told = self.client.process_new_packets();
            if let Some(outcome) = outcome {
                return Some(outcome.and(told.map(drop).map_err(invalid)));
            }
            told.unwrap();
            if bytes.is_empty() && answer.is_empty() {
                return None;
            }
        }
    }

    /// The server reads until its socket is empty.
    fn serve(&mut self) -> Option<io::Result<()>> {
        let mut into = vec![0; self.room];
        loop {
            match self.tls.read(&mut self.socket, &mut self.records, &mut into) {
                Ok(0) => return Some(Ok(())),
                Ok(len) => self.got.extend_from_slice(&into[..len]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return None,
                Err(error) => return Some(Err(error)),
            }
        }
    }

    /// The server writes it all, as far as its socket takes it.
    fn answer(&mut self, mut plaintext: &[u8]) -> usize {
        let mut written = 0;
        while !plaintext.is_empty() {
            match self.tls.write(&mut self.socket, &mut self.records, plaintext) {
                Ok(len) => (plaintext, written) = (&plaintext[len..], written + len),
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::WouldBlock);
                    break;
                }
            }
        }
        written
    }

    /// What the client received since the last call.
    fn received(&mut self) -> Vec<u8> {
        self.keep_received();
        std::mem::take(&mut self.client_got)
    }

    /// The client holds little until it is read.
    fn keep_received(&mut self) {
        match self.client.reader().read_to_end(&mut self.client_got) {
            Err(error) if error.kind() != ErrorKind::WouldBlock => panic!("{error}"),
            _ => {}
        }
    }
}

fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at * 7 + at / 251) as u8).collect()
}

#[test]
fn plaintext_arrives_whole_however_the_records_are_cut() {
    let sent = pattern(100_000);
    for (brings, room) in [(usize::MAX, 64 << 10), (1, 64), (1000, 1), (16_500, 16_384), (7, 4096)] {
        let mut rig = Rig::new(brings, room);
        assert!(rig.run().is_none());
        assert!(!rig.tls.is_handshaking());
        for part in sent.chunks(30_000) {
            rig.client.writer().write_all(part).unwrap();
            assert!(rig.run().is_none());
        }
        assert!(rig.got == sent, "in reads of {brings} into {room}");
        assert!(rig.tls.partial.is_empty() && rig.tls.plain.is_empty() && rig.tls.unsent.is_empty());
    }
}

#[test]
fn an_idle_session_owns_no_buffers() {
    let mut rig = Rig::new(usize::MAX, 1 << 16);
    rig.run();
    rig.client.writer().write_all(&pattern(20_000)).unwrap();
    rig.run();
    rig.answer(&pattern(20_000));
    rig.run();
    let Tls { partial, plain, unsent, .. } = &rig.tls;
    assert_eq!([partial.capacity(), plain.capacity(), unsent.capacity()], [0; 3]);
}

#[test]
fn answers_arrive_whole_however_little_the_socket_takes() {
    let answer = pattern(200_000);
    for takes in [1_000, 70_000, usize::MAX] {
        let mut rig = Rig::new(usize::MAX, 1 << 16);
        rig.run();
        let (mut written, mut received) = (0, Vec::new());
        while written < answer.len() {
            rig.socket.takes = takes;
            written += rig.answer(&answer[written..]);
            assert!(rig.tls.unsent.len() <= ENCRYPT_BYTES + 4096, "what waits is bounded");
            rig.run();
            received.append(&mut rig.received());
        }
        rig.socket.takes = usize::MAX;
        rig.tls.flush(&mut rig.socket).unwrap();
        rig.run();
        received.append(&mut rig.received());
        assert!(received == answer, "{takes} bytes at a time");
    }
}

#[test]
fn the_client_may_end_its_side_and_is_still_answered() {
    let mut rig = Rig::new(usize::MAX, 1 << 16);
    rig.run();
    rig.client.writer().write_all(b"last request").unwrap();
    rig.client.send_close_notify();
    assert!(rig.run().unwrap().is_ok());
    assert_eq!(rig.got, b"last request");
    assert_eq!(rig.answer(b"last answer"), 11);
    rig.tls.close(&mut rig.socket).unwrap();
    let bytes = std::mem::take(&mut rig.socket.outgoing);
    rig.client.read_tls(&mut bytes.as_slice()).unwrap();
    assert!(rig.client.process_new_packets().unwrap().peer_has_closed());
    assert_eq!(rig.received(), b"last answer");
    // It is said once.
    rig.tls.close(&mut rig.socket).unwrap();
    assert!(rig.socket.outgoing.is_empty());
}

#[test]
fn an_end_without_close_notify_is_an_end() {
    let mut rig = Rig::new(usize::MAX, 1 << 16);
    rig.run();
    rig.client.writer().write_all(b"a request").unwrap();
    rig.socket.ended = true;
    assert!(rig.run().unwrap().is_ok());
    assert_eq!(rig.got, b"a request");
}

/// A client's certificate with its key, and a server that takes it but needs none.
fn taking() -> (Certificates, RootCertStore, (rcgen::Certificate, rcgen::KeyPair)) {
    let mut params = rcgen::CertificateParams::default();
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    params.distinguished_name.push(rcgen::DnType::CommonName, "authority");
    let [authority_key, key] = [(); 2].map(|()| rcgen::KeyPair::generate().unwrap());
    let authority = params.self_signed(&authority_key).unwrap();
    let issuer = rcgen::Issuer::new(params, authority_key);
    let made = rcgen::CertificateParams::default().signed_by(&key, &issuer).unwrap();
    let server = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let (chain, own) = (server.cert.pem(), server.signing_key.serialize_pem());
    let mut roots = RootCertStore::empty();
    roots.add(server.cert.der().clone()).unwrap();
    let clients = Authorities::from_pem(authority.pem().as_bytes()).unwrap();
    let clients = ClientCertificates::Optional(clients);
    let default = Credential::from_pem(chain.as_bytes(), own.as_bytes()).unwrap();
    let certificates = Certificates::new(Encryption { clients, ..Encryption::of(default) }).unwrap();
    (certificates, roots, (made, key))
}

#[test]
fn what_a_client_has_proved_is_known_after_the_handshake_until_it_is_out_of_date() {
    const NOW: u64 = 1_800_000_000_000;
    let (certificates, roots, (made, key)) = taking();
    let mut config = ClientConfig::clone(&client_config(roots.clone(), &[]));
    let key = rustls::pki_types::PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let shown =
        rustls::sign::CertifiedKey::from_der(vec![made.der().clone()], key, &aws_lc_rs::default_provider());
    config.client_auth_cert_resolver = Arc::new(rustls::sign::SingleCertAndKey::from(shown.unwrap()));
    let name = ServerName::try_from("localhost").unwrap();
    let session = ClientConnection::new(Arc::new(config), name).unwrap();
    let mut rig = Rig::of(&certificates, session, usize::MAX, 1 << 16);
    assert_eq!(rig.tls.peer(NOW), Ok(None));
    rig.run();
    assert!(rig.tls.peer(NOW).unwrap().is_some());
    assert_eq!(rig.tls.peer(NOW * 100), Err(Unproven), "as a ticket might bring it back");
    assert_eq!(rig.tls.peer(u64::MAX), Err(Unproven));

    let mut rig = Rig::of(&certificates, client(roots, &[]), usize::MAX, 1 << 16);
    rig.run();
    assert!(!rig.tls.is_handshaking());
    assert_eq!(rig.tls.peer(NOW), Ok(None));
}

#[test]
fn after_an_alert_what_arrives_is_thrown_away() {
    let mut rig = Rig::new(1000, 1 << 16);
    rig.socket.incoming.extend(b"AGTP/1.0 DISCOVER /\r\n\r\n");
    assert_eq!(rig.serve().unwrap().unwrap_err().kind(), ErrorKind::InvalidData);
    let mut thrown = [0; 64];
    rig.socket.incoming.extend(b"more");
    assert_eq!(rig.tls.read(&mut rig.socket, &mut rig.records, &mut thrown).unwrap(), 4);
    let error = rig.tls.read(&mut rig.socket, &mut rig.records, &mut thrown).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WouldBlock);
    rig.socket.ended = true;
    assert_eq!(rig.tls.read(&mut rig.socket, &mut rig.records, &mut thrown).unwrap(), 0);
}

#[test]
fn the_protocol_is_selected_when_it_is_offered() {
    let mut rig = Rig::offering(usize::MAX, 1 << 16, &["http/1.1", "agtp"]);
    rig.run();
    assert_eq!(rig.client.alpn_protocol(), Some(b"agtp".as_slice()));
    let mut rig = Rig::new(usize::MAX, 1 << 16);
    rig.run();
    assert_eq!(rig.client.alpn_protocol(), None);
    // Who speaks only other protocols is told so, instead of being answered in one it does not know.
    let mut rig = Rig::offering(usize::MAX, 1 << 16, &["http/1.1"]);
    let error = rig.run().unwrap().unwrap_err();
    assert!(error.to_string().contains("known protocol"), "{error}");
}

#[test]
fn what_is_no_tls_is_refused_with_an_alert() {
    for bytes in [b"AGTP/1.0 DISCOVER /\r\n\r\n".to_vec(), vec![0; 100], vec![0xff; 100_000]] {
        let mut rig = Rig::new(1000, 1 << 16);
        rig.socket.incoming.extend(&bytes);
        let error = rig.serve().unwrap().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidData);
        assert_eq!(rig.socket.outgoing.first(), Some(&21), "an alert record for {:?}", &bytes[..6]);
    }
}

#[test]
fn a_handshake_message_that_does_not_end_is_refused() {
    // A ClientHello of 65,535 bytes, in records of 16 KiB; of the last the end is missing.
    let mut rig = Rig::new(usize::MAX, 1 << 16);
    let mut message = vec![1, 0, 0xff, 0xff];
    message.resize(4 + 0xffff, 0);
    for part in message.chunks(1 << 14) {
        rig.socket.incoming.extend([22, 3, 1]);
        rig.socket.incoming.extend((part.len() as u16).to_be_bytes());
        rig.socket.incoming.extend(part);
    }
    rig.socket.incoming.pop_back();
    assert!(rig.serve().is_none_or(|outcome| outcome.is_err()));
    assert!(rig.tls.partial.len() < RECORDS_BYTES);
}

#[test]
fn tls_1_2_is_refused() {
    // A ClientHello that offers TLS 1.2 with a suite that servers of its time accept.
    let mut body = vec![3, 3];
    body.extend([7; 32]);
    body.extend([0, 0, 2, 0xc0, 0x2f, 1, 0]);
    // supported_groups: secp256r1; signature_algorithms: ecdsa_secp256r1_sha256.
    let extensions = [0, 10, 0, 4, 0, 2, 0, 23, 0, 13, 0, 4, 0, 2, 4, 3];
    body.extend([0, extensions.len() as u8]);
    body.extend(extensions);
    let mut hello = vec![22, 3, 1, 0, body.len() as u8 + 4, 1, 0, 0, body.len() as u8];
    hello.extend(&body);
    let mut rig = Rig::new(usize::MAX, 1 << 16);
    rig.socket.incoming.extend(&hello);
    assert!(rig.serve().unwrap().is_err());
    assert_eq!(rig.socket.outgoing, [21, 3, 3, 0, 2, 2, 70], "a fatal alert, protocol_version");
}

/// The first bytes of a client's handshake.
fn hello() -> Vec<u8> {
    let mut session = client(certificate().1, &["agtp"]);
    let mut bytes = Vec::new();
    session.write_tls(&mut bytes).unwrap();
    bytes
}

/// Shows a server bytes and then the end; whatever they are, it says no in good order or waits for more.
fn refused(bytes: &[u8], brings: usize) -> Vec<u8> {
    let mut rig = Rig::new(brings, 1 << 16);
    rig.socket.incoming.extend(bytes);
    rig.socket.ended = true;
    let _end = rig.serve();
    rig.tls.close(&mut rig.socket).unwrap();
    rig.socket.outgoing
}

#[test]
fn a_message_announced_as_too_long_is_refused() {
    let mut bytes = vec![22, 3, 1, 0x3f, 0xff, 1, 0xff, 0xff, 0xff];
    bytes.resize(5 + 0x3fff, 0);
    for brings in [usize::MAX, 1000, 7] {
        assert!(matches!(refused(&bytes, brings).first(), None | Some(21)), "an alert record, if anything");
        let mut rig = Rig::new(brings, 1 << 16);
        rig.socket.incoming.extend(&bytes);
        assert!(rig.serve().unwrap().is_err());
    }
}

#[test]
fn no_change_of_a_handshake_makes_a_session_fall_over() {
    let hello = hello();
    for at in 0..hello.len() {
        for with in [0, 0xff, hello[at] ^ 1, hello[at].wrapping_add(1)] {
            let mut changed = hello.clone();
            changed[at] = with;
            refused(&changed, usize::MAX);
            // Another beginning behind it, and an end in the middle.
            refused(&[&changed[..], &hello].concat(), 300);
            refused(&changed[..=at], usize::MAX);
        }
    }
}

#[test]
fn an_answer_is_sent_while_a_message_of_the_handshake_is_incomplete() {
    // A key update of which only the first byte has come: four bytes of handshake in two records.
    let mut rig = Rig::new(usize::MAX, 1 << 16);
    rig.run();
    rig.client.writer().write_all(b"request").unwrap();
    rig.run();
    // What the client cannot be made to send is sent in its name: a record that is cut anywhere is as incomplete.
    rig.client.writer().write_all(b"another").unwrap();
    let mut bytes = Vec::new();
    rig.client.write_tls(&mut bytes).unwrap();
    let (first, rest) = bytes.split_at(bytes.len() / 2);
    rig.socket.incoming.extend(first);
    assert!(rig.serve().is_none());
    assert_eq!(rig.answer(b"answer"), 6);
    rig.socket.incoming.extend(rest);
    assert!(rig.run().is_none());
    assert_eq!(rig.received(), b"answer");
    assert_eq!(rig.got, b"requestanother");
}

/// Readiness is reported once: who thinks that the socket is still empty as it was would wait for ever.
#[test]
fn the_socket_is_asked_again_after_plaintext_that_had_waited() {
    let mut rig = Rig::new(usize::MAX, 1 << 16);
    assert!(rig.run().is_none());
    let send = |rig: &mut Rig, bytes: &[u8]| {
        rig.client.writer().write_all(bytes).unwrap();
        let mut records = Vec::new();
        rig.client.write_tls(&mut records).unwrap();
        rig.socket.incoming.extend(&records);
    };
    let mut into = [0; 4];
    send(&mut rig, b"abcdefgh");
    assert_eq!(rig.tls.read(&mut rig.socket, &mut rig.records, &mut into).unwrap(), 4);
    assert!(!rig.tls.is_drained(), "some plaintext waits");
    send(&mut rig, b"ijkl");
    assert_eq!(rig.tls.read(&mut rig.socket, &mut rig.records, &mut into).unwrap(), 4);
    assert!(!rig.tls.is_drained(), "more has come meanwhile");
    assert_eq!(rig.tls.read(&mut rig.socket, &mut rig.records, &mut into).unwrap(), 4);
    assert_eq!((&into, rig.tls.is_drained()), (b"ijkl", true));
}
