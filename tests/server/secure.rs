//! TLS from the client's side.

use agtp::server::Certificates;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::ServerName;
use rustls::version::TLS13;
use rustls::{ClientConfig, ClientConnection, RootCertStore};
use std::io::{Error, ErrorKind, Read as _, Result, Write as _};
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

/// What the encrypted servers of the tests show, unless a test says otherwise.
pub static SHOWN: LazyLock<Shown> = LazyLock::new(Shown::new);

/// A certificate for `localhost` and its key in PEM, and who trusts it.
pub struct Shown {
    pub chain: String,
    pub key: String,
    pub client: Arc<ClientConfig>,
}

impl Shown {
    /// A new one.
    pub fn new() -> Shown {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let mut roots = RootCertStore::empty();
        roots.add(made.cert.der().clone()).unwrap();
        let provider = Arc::new(aws_lc_rs::default_provider());
        let builder =
            ClientConfig::builder_with_provider(provider).with_protocol_versions(&[&TLS13]).unwrap();
        let client = Arc::new(builder.with_root_certificates(roots).with_no_client_auth());
        Shown { chain: made.cert.pem(), key: made.signing_key.serialize_pem(), client }
    }

    /// What a server is given to show it.
    pub fn certificates(&self) -> Certificates {
        Certificates::from_pem(self.chain.as_bytes(), self.key.as_bytes()).unwrap()
    }

    /// The first bytes of a client's handshake.
    pub fn hello(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.session().write_tls(&mut bytes).unwrap();
        bytes
    }

    fn session(&self) -> ClientConnection {
        let name = ServerName::try_from("localhost").unwrap();
        ClientConnection::new(Arc::clone(&self.client), name).unwrap()
    }
}

/// An encrypted connection that one thread may read from while another writes to it.
#[derive(Clone)]
pub struct Secured {
    session: Arc<Mutex<ClientConnection>>,
    /// Whoever sends holds it, so that records go out in order; the session is free while the socket takes them.
    sending: Arc<Mutex<()>>,
}

impl Secured {
    /// Shakes hands.
    pub fn over(socket: &TcpStream, shown: &Shown) -> Result<Secured> {
        let mut session = shown.session();
        session.set_buffer_limit(None);
        while session.is_handshaking() {
            session.complete_io(&mut &*socket)?;
        }
        while session.wants_write() {
            session.write_tls(&mut &*socket)?;
        }
        Ok(Secured { session: Arc::new(Mutex::new(session)), sending: Arc::default() })
    }

    /// Sends it in one record, or as many as it takes.
    pub fn send(&self, socket: &TcpStream, plaintext: &[u8]) -> Result<()> {
        self.produce(socket, |session| session.writer().write_all(plaintext))
    }

    /// Says that nothing more comes, and closes the sending side if `and_fin`.
    pub fn end(&self, socket: &TcpStream, and_fin: bool) -> Result<()> {
        self.produce(socket, |session| {
            session.send_close_notify();
            Ok(())
        })?;
        if and_fin { socket.shutdown(Shutdown::Write) } else { Ok(()) }
    }

    /// Appends what there is, and waits for at least a byte of it. 0 is an end that the server has announced; one that
    /// it has not is an error.
    pub fn receive(&self, mut socket: &TcpStream, into: &mut Vec<u8>) -> Result<usize> {
        let mut records = [0; 1 << 16];
        loop {
            let len = match socket.read(&mut records) {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                read => read?,
            };
            let mut session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
            let before = into.len();
            let mut rest = &records[..len];
            // With nothing received it is asked once, for the end.
            loop {
                session.read_tls(&mut rest)?;
                let state = session.process_new_packets().map_err(Error::other)?;
                let had = into.len();
                into.resize(had + state.plaintext_bytes_to_read(), 0);
                session.reader().read_exact(&mut into[had..])?;
                if rest.is_empty() {
                    break;
                }
            }
            match into.len() - before {
                0 if len == 0 => return session.reader().read(&mut [0]),
                0 if session.process_new_packets().map_err(Error::other)?.peer_has_closed() => return Ok(0),
                0 => {}
                more => return Ok(more),
            }
        }
    }

    fn produce(
        &self,
        mut socket: &TcpStream,
        what: impl FnOnce(&mut ClientConnection) -> Result<()>,
    ) -> Result<()> {
        let _sending = self.sending.lock().unwrap_or_else(PoisonError::into_inner);
        let mut records = Vec::new();
        {
            let mut session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
            what(&mut session)?;
            while session.wants_write() {
                session.write_tls(&mut records)?;
            }
        }
        socket.write_all(&records)
    }
}
