//! Servers and clients of the tests.

use super::secure::{SHOWN, Secured, Shown};
use agtp::engine::Engine;
use agtp::server::{Probe, Running, Runtime, ServeError, ServerConfig, probe};
use agtp::wire::{AnswerLimits, AnswerParsed, AnswerParser};
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpStream};
use std::ops::Deref;
use std::sync::LazyLock;
use std::time::Duration;

/// How long a test waits for what must come. Generous: the machine may be busy.
pub const PATIENCE: Duration = Duration::from_secs(120);

static PROBE: LazyLock<Probe> = LazyLock::new(probe);

/// The configurations a test runs under: each runtime that works here, on one core and on two, in plaintext and
/// encrypted.
pub fn configs() -> Vec<ServerConfig> {
    let encrypted = |config: &ServerConfig| {
        let tls = Some(SHOWN.certificates());
        [config.clone(), ServerConfig { tls, ..config.clone() }]
    };
    plaintext_configs().iter().flat_map(encrypted).collect()
}

/// Those in plaintext.
pub fn plaintext_configs() -> Vec<ServerConfig> {
    if !PROBE.usable {
        println!("not tested on io_uring: {}", PROBE.reason);
    }
    let runtimes = [Some(Runtime::Epoll), PROBE.usable.then_some(Runtime::Uring)];
    let both = |runtime| [1, 2].map(|cores| config(runtime, cores));
    runtimes.into_iter().flatten().flat_map(both).collect()
}

fn config(runtime: Runtime, cores: usize) -> ServerConfig {
    let listen = vec![SocketAddr::from((Ipv4Addr::LOCALHOST, 0))];
    ServerConfig { listen, cores, runtime, ..ServerConfig::default() }
}

/// A server, and what its clients trust.
pub struct Server {
    running: Running,
    encrypted: bool,
}

impl Server {
    /// Starts it.
    pub fn start(engine: &'static Engine<'static>, config: &ServerConfig) -> Result<Server, ServeError> {
        let running = agtp::server::start(engine, config)?;
        assert_eq!(running.runtime(), config.runtime);
        Ok(Server { running, encrypted: config.tls.is_some() })
    }

    /// Ends it in good order.
    pub fn stop(self) -> Result<(), ServeError> {
        self.running.stop()
    }

    /// Waits for its end.
    pub fn wait(self) -> Result<(), ServeError> {
        self.running.wait()
    }
}

impl Deref for Server {
    type Target = Running;

    fn deref(&self) -> &Running {
        &self.running
    }
}

/// Starts a server.
pub fn start(engine: &'static Engine<'static>, config: &ServerConfig) -> Result<Server, ServeError> {
    Server::start(engine, config)
}

/// Runs a test against a server of its own under each configuration.
pub fn on_each(engine: &'static Engine<'static>, test: impl Fn(&Server)) {
    for config in configs() {
        let server = start(engine, &config).unwrap();
        test(&server);
        server.stop().unwrap();
    }
}

/// A socket to a server's first address.
pub fn dial(running: &Running) -> TcpStream {
    let stream = TcpStream::connect(running.addresses()[0]).unwrap();
    stream.set_nodelay(true).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// A connection.
pub struct Client {
    stream: TcpStream,
    secured: Option<Secured>,
    received: Vec<u8>,
    parser: AnswerParser,
}

impl Client {
    /// Connects, encrypted if the server is.
    pub fn to(server: &Server) -> Client {
        Client::over(dial(server), server.encrypted.then_some(&SHOWN))
    }

    /// Goes on over a socket: encrypted if something is trusted.
    pub fn over(stream: TcpStream, trusted: Option<&Shown>) -> Client {
        let secured = trusted.map(|shown| Secured::over(&stream, shown).unwrap());
        Client { stream, secured, received: Vec::new(), parser: AnswerParser::new() }
    }

    /// Sends all of it.
    pub fn send(&self, bytes: impl AsRef<[u8]>) {
        match &self.secured {
            None => (&self.stream).write_all(bytes.as_ref()).unwrap(),
            Some(secured) => secured.send(&self.stream, bytes.as_ref()).unwrap(),
        }
    }

    /// Sends what the server takes, which may have ended the connection.
    pub fn try_send(&self, bytes: impl AsRef<[u8]>) {
        let _ = match &self.secured {
            None => (&self.stream).write_all(bytes.as_ref()),
            Some(secured) => secured.send(&self.stream, bytes.as_ref()),
        };
    }

    /// Connects, and gives the socket under the connection as well.
    pub fn with_socket(server: &Server) -> (Client, TcpStream) {
        let client = Client::to(server);
        let socket = client.stream.try_clone().unwrap();
        (client, socket)
    }

    /// The same connection, to read from while this one sends.
    pub fn twin(&self) -> Client {
        let (stream, secured) = (self.stream.try_clone().unwrap(), self.secured.clone());
        Client { stream, secured, received: Vec::new(), parser: AnswerParser::new() }
    }

    /// The next answer's bytes.
    #[track_caller]
    pub fn answer(&mut self) -> Vec<u8> {
        self.next_answer().expect("an answer, not the end of the stream")
    }

    /// As many answers, in one.
    #[track_caller]
    pub fn answers(&mut self, count: usize) -> Vec<u8> {
        (0..count).flat_map(|_| self.answer()).collect()
    }

    /// The next answer's bytes, or nothing when the stream ends before it.
    #[track_caller]
    pub fn next_answer(&mut self) -> Option<Vec<u8>> {
        loop {
            match self.parser.advance(&self.received, &AnswerLimits::DEFAULT) {
                AnswerParsed::Wrong(fault) => panic!("{}", fault.message()),
                AnswerParsed::Done if self.received.len() as u64 >= self.parser.answer().answer_len() => {
                    let rest = self.received.split_off(self.parser.answer().answer_len() as usize);
                    self.parser.reset();
                    return Some(std::mem::replace(&mut self.received, rest));
                }
                _ => {}
            }
            if self.receive() == 0 {
                assert_eq!(String::from_utf8_lossy(&self.received), "", "a whole answer before the end");
                return None;
            }
        }
    }

    /// Nothing more comes, and the stream ends in good order: with no reset.
    #[track_caller]
    pub fn expect_end(&mut self) {
        let answer = self.next_answer().map(|answer| String::from_utf8_lossy(&answer).into_owned());
        assert_eq!(answer, None);
    }

    /// Waits for some bytes of an answer.
    #[track_caller]
    pub fn receive_some(&mut self) {
        assert_ne!(self.receive(), 0);
    }

    /// The client has nothing more to say.
    pub fn shut_down(&self) {
        match &self.secured {
            None => self.stream.shutdown(Shutdown::Write).unwrap(),
            Some(secured) => secured.end(&self.stream, true).unwrap(),
        }
    }

    /// Says under TLS that nothing more comes, and closes the sending side if `and_fin`.
    pub fn end(&self, and_fin: bool) {
        self.secured.as_ref().expect("a test of TLS").end(&self.stream, and_fin).unwrap();
    }

    /// Goes away with a reset instead of an orderly end.
    pub fn reset(self) {
        // Closing with a linger of 0 is a reset.
        let socket = socket2::Socket::from(self.stream);
        socket.set_linger(Some(Duration::ZERO)).unwrap();
    }

    #[track_caller]
    fn receive(&mut self) -> usize {
        if let Some(secured) = &self.secured {
            return secured.receive(&self.stream, &mut self.received).unwrap();
        }
        let mut part = [0; 1 << 16];
        loop {
            match self.stream.read(&mut part) {
                Ok(len) => {
                    self.received.extend_from_slice(&part[..len]);
                    return len;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => panic!("{error}"),
            }
        }
    }
}

/// Answers as text without what differs from one to the next: the Response-ID.
pub fn comparable(answers: &[u8]) -> String {
    let text = String::from_utf8_lossy(answers);
    text.split_inclusive("\r\n").filter(|line| !line.starts_with("Response-ID: ")).collect()
}

/// The status of an answer.
pub fn status(answer: &[u8]) -> u16 {
    std::str::from_utf8(&answer[9..12]).unwrap().parse().unwrap()
}

/// How many connections a test may have, up to `wanted`: both ends are in this process, as are other tests'.
pub fn affordable(wanted: usize) -> usize {
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"));
    let files = line.and_then(|line| line.split_whitespace().next()?.parse::<usize>().ok());
    files.map_or(wanted, |files| wanted.min(files.saturating_sub(200) / 4))
}
