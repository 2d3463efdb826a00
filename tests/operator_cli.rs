//! What an operator sees of a running server: its log, its figures, and how it gets on with systemd.

mod common;

use common::Folder;
use common::exposition::Exposition;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long a test waits for what must come.
const PATIENCE: Duration = Duration::from_secs(120);

/// Told to the server, and to be found in no log.
const SECRETS: [&str; 3] = ["sesame-header", "sesame-body", "sesame-query"];

fn deployment(more: &str) -> Folder {
    let agent = format!(r#"{{"agent_id":"{}","name":"tester","status":"active"}}"#, "1".repeat(64));
    let broken = r#"output_schema = '''{"type":"object","required":["never"]}'''"#;
    let settings = format!("[policies]\nscope_required_for_invocation = false\n{more}");
    let text = r#""text":{"type":"string"}"#;
    Folder::with(&[
        ("agtp-server.toml", &settings),
        ("agents/tester.agent.json", &agent),
        ("endpoints/plain.toml", &common::echo_endpoint("FETCH", "/plain", "", text)),
        ("endpoints/broken.toml", &common::echo_endpoint("FETCH", "/broken", broken, text)),
    ])
}

/// A running server, killed when dropped.
struct Server {
    child: Child,
    address: SocketAddr,
}

fn serve(dir: &Path, more: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_agtp"));
    command.args(["serve", "--deployment", ".", "--insecure", "--listen", "127.0.0.1:0"]).args(more);
    command.current_dir(dir).env_remove("RUST_BACKTRACE").stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

impl Server {
    fn start(dir: &Path, more: &[&str]) -> Server {
        Server::of(serve(dir, more).spawn().unwrap())
    }

    fn of(mut child: Child) -> Server {
        let mut ready = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut ready).unwrap();
        let address = ready.trim().trim_start_matches("listening on agtp://").trim_end_matches(", plaintext");
        let address = address.parse().unwrap_or_else(|_| panic!("{ready:?}: {}", told(&mut child)));
        Server { child, address }
    }

    fn signal(&self, name: &str) {
        let kill = format!("kill -{name} {}", self.child.id());
        assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
    }

    /// Stops it in good order; what it said on stderr.
    fn stop(mut self) -> String {
        self.signal("TERM");
        let told = told(&mut self.child);
        assert!(self.child.wait().unwrap().success(), "{told}");
        told
    }

    /// The status of the answer to each request, all on one connection.
    fn ask(&self, requests: &[String]) -> Vec<u16> {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(requests.concat().as_bytes()).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let mut answers = Vec::new();
        stream.read_to_end(&mut answers).unwrap();
        common::answers(&answers).iter().map(|answer| answer.status).collect()
    }

    /// The figures, at the address that it names on stderr.
    fn figures(&mut self) -> impl Fn() -> Exposition + use<> {
        let mut line = String::new();
        BufReader::new(self.child.stderr.take().unwrap()).read_line(&mut line).unwrap();
        let at = line.trim().trim_start_matches("figures at http://").trim_end_matches("/metrics").to_owned();
        move || {
            let mut stream = TcpStream::connect(&at).unwrap();
            stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).unwrap();
            Exposition::read(answer.split_once("\r\n\r\n").unwrap().1)
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn told(child: &mut Child) -> String {
    let mut told = String::new();
    if let Some(mut stderr) = child.stderr.take() {
        stderr.read_to_string(&mut told).unwrap();
    }
    told
}

#[track_caller]
fn wait_until(what: &str, condition: impl Fn() -> bool) {
    let started = Instant::now();
    while !condition() {
        assert!(started.elapsed() < PATIENCE, "{what} does not come true");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn request(target: &str, headers: &str, body: &str) -> String {
    let agent = "1".repeat(64);
    format!(
        "AGTP/1.0 FETCH {target}\r\nAgent-ID: {agent}\r\n{headers}Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

fn lines(path: &Path) -> Vec<String> {
    std::fs::read_to_string(path).unwrap_or_default().lines().map(str::to_owned).collect()
}

#[test]
fn a_line_for_each_answer_parses_and_holds_no_secret() {
    for (cores, runtime) in [("1", "epoll"), ("2", "auto")] {
        let folder = deployment("[log]\nformat = \"json\"\naccess = \"on\"\nfile = \"agtp.log\"\n");
        let server = Server::start(folder.path(), &["--cores", cores, "--runtime", runtime]);
        let [header, body, query] = SECRETS;
        let authorization = format!("Authorization: Bearer {header}\r\nRequest-ID: r-7\r\nTask-ID: t-7\r\n");
        let body = format!(r#"{{"text":"{body}"}}"#);
        let statuses = server.ask(&[
            request("/plain", &authorization, &body),
            request(&format!("/plain?text={query}"), &authorization, ""),
            request(&format!("/nowhere?text={query}"), &authorization, &body),
            request("/broken", &authorization, &body),
        ]);
        assert_eq!(statuses, [200, 200, 404, 500]);
        let silent = server.stop();
        assert!(SECRETS.iter().all(|secret| !silent.contains(secret)), "{silent}");
        let lines = lines(&folder.path().join("agtp.log"));
        let read: Vec<serde_json::Value> =
            lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert!(lines.iter().all(|line| SECRETS.iter().all(|secret| !line.contains(secret))), "{lines:#?}");
        let access: Vec<_> = read.iter().filter(|line| line["kind"] == "access").collect();
        let shown = |key: &str| access.iter().map(|line| line[key].to_string()).collect::<Vec<_>>();
        assert_eq!(shown("status"), ["200", "200", "404", "500"]);
        assert_eq!(shown("path"), [r#""/plain""#, r#""/plain""#, r#""/nowhere""#, r#""/broken""#]);
        assert_eq!(
            shown("code"),
            ["null", "null", r#""endpoint-not-found""#, r#""output-validation-failed""#]
        );
        for line in &access {
            assert_eq!((&line["agent"], &line["method"]), (&"tester".into(), &"FETCH".into()));
            assert_eq!((&line["request_id"], &line["task_id"]), (&"r-7".into(), &"t-7".into()));
            assert_eq!(line["client"], "127.0.0.1");
            assert!(line["us"].is_u64() && line["bytes"].as_u64() > Some(100), "{line}");
            assert!(line["response_id"].as_str().is_some_and(|id| id.len() > 8), "{line}");
        }
        let event = read.iter().find(|line| line["event"] == "output-invalid").expect("the event's line");
        assert_eq!((&event["kind"], &event["endpoint"]), (&"error".into(), &"FETCH /broken".into()));
    }
}

#[test]
fn nobody_makes_a_line_of_their_own() {
    let forged = "x\" kind=\"access";
    let hostile = [
        request("/plain%0a2026-01-01T00:00:00Z%20access%20status=200", "", ""),
        request("/a\"},{\"kind\":\"access\"}", "", ""),
        request("/plain", &format!("Request-ID: {forged}\r\n"), ""),
    ];
    for format in ["json", "text"] {
        let folder =
            deployment(&format!("[log]\nformat = \"{format}\"\naccess = \"on\"\nfile = \"agtp.log\"\n"));
        let server = Server::start(folder.path(), &["--cores", "1"]);
        let mut answers = 0;
        for request in &hostile {
            answers += server.ask(std::slice::from_ref(request)).len();
        }
        // What is no request at all is answered too, and logged.
        for fault in ["AGTP/1.0 FETCH /\x1b[2J\nkind=access\r\n\r\n", "\u{9b}\r\n\r\n"] {
            answers += server.ask(&[fault.to_owned()]).len();
        }
        server.stop();
        let lines = lines(&folder.path().join("agtp.log"));
        assert_eq!((lines.len(), answers), (5, 5), "{lines:#?}");
        for line in &lines {
            assert!(line.bytes().all(|byte| (b' '..=b'~').contains(&byte)), "{line:?}");
            if format == "json" {
                serde_json::from_str::<serde_json::Value>(line).unwrap();
            } else {
                // One of each, whatever stands in the values: these hold no space.
                let starts = |start: &str| line.split(' ').filter(|word| word.starts_with(start)).count();
                assert_eq!((starts("status="), starts("kind="), starts("access")), (1, 0, 1), "{line}");
            }
        }
    }
}

#[test]
fn successes_are_sampled_and_refusals_are_not() {
    let folder = deployment("[log]\naccess = \"on\"\nsample = 10\nfile = \"agtp.log\"\n");
    let server = Server::start(folder.path(), &["--cores", "1"]);
    let mut requests = vec![request("/plain", "", ""); 100];
    requests.extend(vec![request("/nowhere", "", ""); 7]);
    assert_eq!(server.ask(&requests).len(), 107);
    server.stop();
    let lines = lines(&folder.path().join("agtp.log"));
    let with = |status: &str| lines.iter().filter(|line| line.contains(status)).count();
    assert_eq!((with(" status=200 "), with(" status=404 ")), (10, 7), "{lines:#?}");
}

#[test]
fn a_full_disk_costs_lines_and_nothing_else() {
    let admin = "[admin]\nlisten = \"127.0.0.1:0\"\n";
    let folder = deployment(&format!("[log]\naccess = \"on\"\nfile = \"/dev/full\"\n{admin}"));
    let mut server = Server::start(folder.path(), &["--cores", "2"]);
    let figures = server.figures();
    let requests = vec![request("/plain", "", ""); 50];
    for _ in 0..4 {
        assert_eq!(server.ask(&requests), [200; 50]);
    }
    wait_until("every line is counted", || figures().sum("agtp_log_dropped_total", &[]) == 200.0);
    assert_eq!(server.ask(&requests), [200; 50]);
    server.stop();
}

#[test]
fn running_out_of_descriptors_is_told_afterwards() {
    const MOST: usize = 48;
    let folder = deployment("[admin]\nlisten = \"127.0.0.1:0\"\n");
    let serve = "serve --deployment . --insecure --listen 127.0.0.1:0 --cores 1 --runtime epoll";
    let line = format!("ulimit -n {MOST}; exec '{}' {serve}", env!("CARGO_BIN_EXE_agtp"));
    let mut command = Command::new("sh");
    command.args(["-c", &line]).current_dir(folder.path()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut server = Server::of(command.spawn().unwrap());
    let figures = server.figures();
    assert_eq!(figures().sum("agtp_accept_pauses_total", &[]), 0.0);
    let clients: Vec<_> = (0..2 * MOST).map(|_| TcpStream::connect(server.address).unwrap()).collect();
    // Those that it may have; it was handed others, perhaps, from before the limit.
    let is_open = |number: usize| Path::new(&format!("/proc/{}/fd/{number}", server.child.id())).is_symlink();
    wait_until("all descriptors are taken", || (0..MOST).all(is_open));
    // The core goes on accepting before it looks at anything else, and finds that there are none left.
    drop(clients);
    wait_until("the pause is told", || figures().sum("agtp_accept_pauses_total", &[]) >= 1.0);
    assert_eq!(server.ask(&[request("/plain", "", "")]), [200]);
    server.stop();
}

#[test]
fn a_log_that_nobody_reads_holds_up_nobody() {
    let folder = deployment("[log]\naccess = \"on\"\nfile = \"pipe\"\n");
    let pipe = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let server = Server::start(folder.path(), &["--cores", "1"]);
    let requests = vec![request("/plain", "", ""); 100];
    assert_eq!(server.ask(&requests), [200; 100]);
    // Whoever comes to read it gets what waits.
    let mut reader = BufReader::new(File::open(&pipe).unwrap());
    let mut line = String::new();
    for _ in 0..100 {
        line.clear();
        reader.read_line(&mut line).unwrap();
        assert!(line.contains(" access ") && line.ends_with('\n'), "{line}");
    }
    // Full, it costs lines; then the server tells how many.
    for _ in 0..200 {
        assert_eq!(server.ask(&requests), [200; 100]);
    }
    while !line.contains(" log lines were dropped") {
        line.clear();
        assert_ne!(reader.read_line(&mut line).unwrap(), 0, "it is told");
        if line.contains(" access ") {
            continue;
        }
        server.ask(&requests);
    }
    drop(reader);
    assert_eq!(server.ask(&requests), [200; 100]);
    server.stop();
}

#[test]
fn a_terminal_that_nobody_reads_holds_up_nobody() {
    let folder = deployment("[log]\naccess = \"on\"\n");
    let server = Server::start(folder.path(), &["--cores", "1"]);
    let requests = vec![request("/plain", "", ""); 100];
    for _ in 0..100 {
        // More than a pipe holds, and than the queue does.
        assert_eq!(server.ask(&requests), [200; 100]);
    }
    let mut server = server;
    server.signal("TERM");
    assert!(server.child.wait().unwrap().success(), "it ends although its last lines are not read");
}

#[test]
fn a_file_moved_away_is_made_anew_at_sighup() {
    let folder = deployment("[log]\naccess = \"on\"\nfile = \"agtp.log\"\n");
    let (log, old) = (folder.path().join("agtp.log"), folder.path().join("agtp.log.1"));
    let server = Server::start(folder.path(), &["--cores", "1"]);
    server.ask(&[request("/plain", "", "")]);
    wait_until("the first line", || lines(&log).len() == 1);
    std::fs::rename(&log, &old).unwrap();
    server.ask(&[request("/nowhere", "", "")]);
    wait_until("a line in the moved file", || lines(&old).len() == 2);
    server.signal("HUP");
    wait_until("the new file", || log.exists());
    server.ask(&[request("/plain?text=x", "", "")]);
    server.stop();
    assert_eq!((lines(&old).len(), lines(&log).len()), (2, 1));
}

#[test]
fn what_cannot_be_is_told_in_one_line() {
    let cases = [
        ("[admin]\nlisten = \"0.0.0.0:9480\"\n", "127.0.0.1:9480"),
        ("[log]\nfile = \"no/such/folder/agtp.log\"\n", "no/such/folder/agtp.log"),
        ("[log]\nformat = \"xml\"\n", "log.format"),
    ];
    for (settings, part) in cases {
        let folder = deployment(settings);
        let output = serve(folder.path(), &[]).output().unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{told}");
        assert!(told.contains(part), "{told}");
    }
    let folder = deployment(cases[0].0);
    let check =
        Command::new(env!("CARGO_BIN_EXE_agtp")).args(["check", "."]).current_dir(folder.path()).output();
    let check = check.unwrap();
    let report = String::from_utf8(check.stdout).unwrap();
    assert!(check.status.code() == Some(1) && report.contains("agtp-server.toml:4"), "{report}");
}

/// Starts a server as systemd would: with a socket that listens, and one to tell how it is.
fn activated(dir: &Path, socket: OwnedFd, notify: &Path, more: &str) -> Child {
    let agtp = env!("CARGO_BIN_EXE_agtp");
    let line = format!(
        "exec 3<&0 </dev/null; LISTEN_FDS=1 LISTEN_PID=$$ exec '{agtp}' serve --deployment . --insecure {more}"
    );
    let mut command = Command::new("sh");
    command.args(["-c", &line]).current_dir(dir).env("NOTIFY_SOCKET", notify).stdin(Stdio::from(socket));
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

#[test]
fn sockets_are_taken_over_and_systemd_is_told() {
    for more in ["--cores 1 --runtime epoll", "--cores 2 --runtime epoll", "--cores 2 --runtime auto"] {
        let folder = deployment("");
        let notify_path = folder.path().join("notify");
        let notify = UnixDatagram::bind(&notify_path).unwrap();
        notify.set_read_timeout(Some(PATIENCE)).unwrap();
        let told = || {
            let mut message = [0; 256];
            let len = notify.recv(&mut message).unwrap();
            String::from_utf8(message[..len].to_vec()).unwrap()
        };
        let socket = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = socket.local_addr().unwrap();
        // Whoever connects before the server is there waits.
        let mut early = TcpStream::connect(address).unwrap();
        early.write_all(request("/plain", "", "").as_bytes()).unwrap();
        let child = activated(folder.path(), socket.try_clone().unwrap().into(), &notify_path, more);
        let server = Server::of(child);
        assert_eq!(server.address, address);
        assert_eq!(told().trim(), "READY=1");
        let mut answer = [0; 12];
        early.read_exact(&mut answer).unwrap();
        assert_eq!(&answer, b"AGTP/1.0 200");
        drop(early);
        for _ in 0..50 {
            assert_eq!(server.ask(&[request("/plain", "", "")]), [200]);
        }
        server.signal("HUP");
        assert!(told().starts_with("RELOADING=1\nMONOTONIC_USEC="));
        assert_eq!(told().trim(), "READY=1");
        server.signal("TERM");
        assert_eq!(told().trim(), "STOPPING=1");
        let mut server = server;
        assert!(server.child.wait().unwrap().success());
    }
}

#[test]
fn a_socket_that_cannot_be_served_is_told() {
    let folder = deployment("");
    let notify = folder.path().join("notify");
    let unused = || TcpListener::bind("127.0.0.1:0").unwrap();
    let listening = unused();
    let connected = TcpStream::connect(listening.local_addr().unwrap()).unwrap();
    let datagrams = UnixDatagram::unbound().unwrap();
    let cases: [(OwnedFd, &str, &str); 3] = [
        (datagrams.into(), "", "a socket handed over at start cannot be served"),
        (connected.into(), "", "does not listen"),
        (unused().into(), "--listen 127.0.0.1:0", "leave one out"),
    ];
    for (socket, more, part) in cases {
        let mut child = activated(folder.path(), socket, &notify, more);
        let told = told(&mut child);
        assert_eq!(child.wait().unwrap().code(), Some(2), "{told}");
        assert!(told.contains(part) && told.trim().lines().count() == 1, "{told}");
    }
}
