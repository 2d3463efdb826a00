//! Single figures of ours.

use crate::Failure;
use crate::child::Server;
use crate::handshakes;
use crate::session::{CLIENT_CORE, Options, Session, pin};
use crate::statistics::Summary;
use agtp::client::{Connection, Request};
use std::fmt::Write as _;
use std::net::TcpStream;
use std::path::Path;
use std::time::{Duration, Instant};

/// Something that is measured, in some unit.
struct Figure {
    name: &'static str,
    unit: &'static str,
    measure: fn(&Session) -> Result<f64, Failure>,
}

const FIGURES: [Figure; 15] = [
    Figure { name: "binary", unit: "MB", measure: |session| Ok(megabytes(session.agtp.metadata()?.len())) },
    Figure { name: "idle-epoll", unit: "MB", measure: |session| idle(session, "epoll") },
    Figure { name: "idle-uring", unit: "MB", measure: |session| idle(session, "uring") },
    Figure { name: "connection-epoll-1000", unit: "B", measure: |session| plain(session, "epoll", 1_000) },
    Figure { name: "connection-epoll-10000", unit: "B", measure: |session| plain(session, "epoll", 10_000) },
    Figure { name: "connection-uring-1000", unit: "B", measure: |session| plain(session, "uring", 1_000) },
    Figure { name: "connection-uring-10000", unit: "B", measure: |session| plain(session, "uring", 10_000) },
    Figure { name: "tls-connection-epoll-1000", unit: "B", measure: |session| tls(session, "epoll", 1_000) },
    Figure { name: "tls-connection-uring-1000", unit: "B", measure: |session| tls(session, "uring", 1_000) },
    Figure { name: "start-compiled", unit: "ms", measure: |session| start(session, &[]) },
    Figure { name: "start-1000-loaded", unit: "ms", measure: start_thousand },
    Figure { name: "handshake-epoll", unit: "us CPU", measure: |session| handshake(session, "epoll") },
    Figure { name: "handshake-uring", unit: "us CPU", measure: |session| handshake(session, "uring") },
    Figure {
        name: "handshake-rustls-alone",
        unit: "us CPU",
        measure: |_| handshakes::server_side_us(HANDSHAKES),
    },
    Figure { name: "handshake-against-rustls", unit: "x", measure: handshake_ratio },
];

/// Handshakes of one measurement.
const HANDSHAKES: u32 = 2_000;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(30);

pub fn run(options: &Options) -> Result<(), Failure> {
    let session = Session::begin(options)?;
    pin(CLIENT_CORE)?;
    let mut csv = "figure,unit,rounds,median,min,max\n".to_owned();
    for figure in FIGURES.iter().filter(|figure| options.wants(figure.name)) {
        let mut values = Vec::new();
        for _ in 0..options.rounds {
            session.check()?;
            match (figure.measure)(&session) {
                Ok(value) => values.push(value),
                Err(error) => {
                    eprintln!("{}: {error}", figure.name);
                    break;
                }
            }
        }
        let Some(Summary { median, least, most }) = Summary::of(&values) else { continue };
        println!("{:28}{median:>12.2} {:8}{least:>12.2} to {most:.2}", figure.name, figure.unit);
        let rounds = values.len();
        let _ = writeln!(csv, "{},{},{rounds},{median:.3},{least:.3},{most:.3}", figure.name, figure.unit);
    }
    let file = options.csv("figures.csv");
    std::fs::write(&file, csv).map_err(|error| format!("{}: {error}", file.display()))?;
    eprintln!("written to {}", file.display());
    Ok(())
}

fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

/// What a client asks first: the short inventory.
fn ask(connection: &mut Connection) -> Result<(), Failure> {
    let response = connection.call(&Request::new("DISCOVER", "/methods")?)?;
    if response.is_success() {
        Ok(())
    } else {
        Err(format!("the server answers {}", response.status()).into())
    }
}

fn ask_once(server: &Server) -> Result<(), Failure> {
    ask(&mut Connection::open(&[server.address], PATIENCE)?)
}

/// Resident memory of a server that has answered once.
fn idle(session: &Session, runtime: &str) -> Result<f64, Failure> {
    let server = session.serve(runtime, false, &[])?;
    ask_once(&server)?;
    Ok(megabytes(server.resident_bytes()?))
}

/// What a connection that says nothing costs, from what `count` of them do.
fn plain(session: &Session, runtime: &str, count: usize) -> Result<f64, Failure> {
    let server = session.serve(runtime, false, &[])?;
    ask_once(&server)?;
    let before = server.resident_bytes()?;
    let connect = |_| TcpStream::connect(server.address).map_err(|error| allow_more(&error, count));
    let connections = (0..count).map(connect).collect::<Result<Vec<_>, _>>()?;
    // The last to be accepted is answered when the others were.
    ask_once(&server)?;
    let after = server.resident_bytes()?;
    drop(connections);
    Ok(after.saturating_sub(before) as f64 / count as f64)
}

/// The same of one whose handshake is done and which was answered once.
fn tls(session: &Session, runtime: &str, count: usize) -> Result<f64, Failure> {
    let server = session.serve(runtime, true, &[])?;
    let trust = session.trust()?;
    let open = || -> Result<Connection, Failure> {
        let mut connection = Connection::open_tls(&[server.address], "localhost", &trust, PATIENCE)?;
        ask(&mut connection)?;
        Ok(connection)
    };
    drop(open()?);
    let before = server.resident_bytes()?;
    let connections = (0..count).map(|_| open()).collect::<Result<Vec<_>, _>>()?;
    let after = server.resident_bytes()?;
    drop(connections);
    Ok(after.saturating_sub(before) as f64 / count as f64)
}

fn allow_more(error: &std::io::Error, count: usize) -> Failure {
    format!("{count} connections: {error}; `ulimit -n` has to allow as many on both sides").into()
}

/// Milliseconds from the start of the process to its first answer.
fn start(session: &Session, more: &[&str]) -> Result<f64, Failure> {
    let begun = Instant::now();
    let server = session.serve("epoll", false, more)?;
    ask_once(&server)?;
    Ok(begun.elapsed().as_secs_f64() * 1e3)
}

/// The same of a deployment of 1,000 endpoints that is read at start.
fn start_thousand(session: &Session) -> Result<f64, Failure> {
    let folder = session.folder.join("thousand");
    if !folder.exists() {
        write_endpoints(&session.root, &folder, 1_000)?;
    }
    start(session, &["--deployment", &folder.display().to_string()])
}

/// As many copies of the sample's FIND, each with a path of its own.
fn write_endpoints(root: &Path, folder: &Path, count: usize) -> Result<(), Failure> {
    let endpoint = std::fs::read_to_string(root.join("endpoints/find-rooms.toml"))?;
    let path = "path = \"/rooms\"";
    if !endpoint.contains(path) {
        return Err("endpoints/find-rooms.toml has another path now".into());
    }
    std::fs::create_dir_all(folder.join("endpoints"))?;
    for number in 0..count {
        let changed = endpoint.replace(path, &format!("path = \"/houses/h{number}/rooms\""));
        std::fs::write(folder.join(format!("endpoints/rooms-{number}.toml")), changed)?;
    }
    Ok(())
}

/// The server's CPU for a connection with a full handshake and one request.
fn handshake(session: &Session, runtime: &str) -> Result<f64, Failure> {
    let server = session.serve(runtime, true, &[])?;
    let trust = session.trust()?;
    let once = |address| ask(&mut Connection::open_tls(&[address], "localhost", &trust, PATIENCE)?);
    once(server.address)?;
    let before = server.cpu_seconds()?;
    for _ in 0..HANDSHAKES {
        once(server.address)?;
    }
    Ok((server.cpu_seconds()? - before) * 1e6 / f64::from(HANDSHAKES))
}

/// How many handshakes of ours fit into the time of one, against rustls alone.
fn handshake_ratio(session: &Session) -> Result<f64, Failure> {
    let ours = handshake(session, "epoll")?;
    Ok(handshakes::server_side_us(HANDSHAKES)? / ours)
}
