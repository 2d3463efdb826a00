//! Figures for operators: exact after a known mix of requests, told over HTTP, to this machine only.

use super::common::exposition::Exposition;
use super::handlers::{self, door_named, fetch};
use super::rig::{Client, PATIENCE, Server, configs, dial, plaintext_configs, start, status};
use super::secure::Shown;
use agtp::server::{Running, ServeError, ServerConfig};
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// The head and the body of an answer over HTTP.
fn http(admin: SocketAddr, request: &str) -> (String, String) {
    let mut stream = TcpStream::connect(admin).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").expect("a whole head");
    (head.to_owned(), body.to_owned())
}

fn get(running: &Running, path: &str) -> (String, String) {
    http(running.admin_address().unwrap(), &format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n"))
}

fn figures(running: &Running) -> Exposition {
    let (head, body) = get(running, "/metrics");
    assert!(head.starts_with("HTTP/1.1 200 OK"), "{head}");
    assert!(head.to_lowercase().contains("content-type: text/plain; version=0.0.4"), "{head}");
    Exposition::read(&body)
}

/// What is counted after a client has its answer comes a little later.
#[track_caller]
fn figures_with(running: &Running, name: &str, labels: &[(&str, &str)], wanted: f64) -> Exposition {
    let started = Instant::now();
    loop {
        let figures = figures(running);
        if figures.sum(name, labels) == wanted {
            return figures;
        }
        assert!(started.elapsed() < PATIENCE, "{name}{labels:?} stays {}", figures.sum(name, labels));
        std::thread::yield_now();
    }
}

fn with_admin(mut config: ServerConfig) -> ServerConfig {
    config.admin = Some("127.0.0.1:0".parse().unwrap());
    config
}

/// Runs a test against a server with an admin listener of its own under each configuration.
fn on_each(test: impl Fn(&Server)) {
    for config in configs() {
        let running = start(handlers::engine(), &with_admin(config)).unwrap();
        test(&running);
        running.stop().unwrap();
    }
}

#[test]
fn counts_are_exact_after_a_known_mix() {
    let mix =
        ["plain", "plain?text=x", "plain?more=1", "nowhere", "fail", "stumble", "never", "stumble?text=fall"];
    let wanted = [200, 200, 422, 404, 500, 200, 408, 500];
    const CLIENTS: usize = 5;
    on_each(|running| {
        let (mut sent, mut received) = (0, 0);
        let mut clients = [(); CLIENTS].map(|()| Client::to(running));
        for client in &mut clients {
            let batch: Vec<u8> = mix.iter().flat_map(|name| fetch(name, name)).collect();
            client.send(&batch);
            sent += batch.len();
            for wanted in wanted {
                let answer = client.answer();
                assert_eq!(status(&answer), wanted);
                received += answer.len();
            }
        }
        let mut broken = Client::to(running);
        let fault = "AGTP/1.0 \x01\r\n\r\n";
        broken.send(fault);
        sent += fault.len();
        received += broken.answer().len();

        let figures = figures_with(running, "agtp_sent_bytes_total", &[], received as f64);
        let clients_f = CLIENTS as f64;
        let answers = |status: &str| figures.sum("agtp_answers_total", &[("status", status)]);
        assert_eq!(
            ["200", "422", "404", "500", "408", "400"].map(answers),
            [3.0, 1.0, 1.0, 2.0, 1.0, 0.2].map(|n| n * clients_f)
        );
        assert_eq!(figures.values("agtp_answers_total", "status").len(), 6);
        let refusals = |code: &str| figures.sum("agtp_refusals_total", &[("code", code)]) / clients_f;
        assert_eq!(refusals("input-validation-failed"), 1.0);
        assert_eq!(refusals("endpoint-not-found"), 1.0);
        assert_eq!(refusals("handler-failed"), 2.0);
        assert_eq!(refusals("timeout"), 1.0);
        assert_eq!(refusals("invalid-request-line"), 0.2);
        let endpoint =
            |path: &str| figures.sum("agtp_endpoint_answers_total", &[("method", "FETCH"), ("path", path)]);
        assert_eq!(
            ["/plain", "/stumble", "/never", "/door"].map(endpoint),
            [3.0, 2.0, 1.0, 0.0].map(|n| n * clients_f)
        );
        assert_eq!(figures.sum("agtp_received_bytes_total", &[]), sent as f64);
        assert_eq!(figures.sum("agtp_connections_accepted_total", &[]), clients_f + 1.0);
        assert_eq!(figures.sum("agtp_requests_awaiting", &[]), 0.0);
        let timed = |answer: &str| figures.sum("agtp_request_duration_seconds_count", &[("answer", answer)]);
        assert_eq!(timed("awaited"), 3.0 * clients_f);
        assert!(timed("inline") >= 1.0 && timed("inline") <= 5.0 * clients_f + 1.0);
        drop((clients, broken));
        figures_with(running, "agtp_connections_open", &[], 0.0);
    });
}

#[test]
fn cores_are_told_apart() {
    for config in configs() {
        let cores = config.cores;
        let running = start(handlers::engine(), &with_admin(config)).unwrap();
        assert_eq!(figures(&running).values("agtp_connections_open", "core").len(), cores);
        running.stop().unwrap();
    }
}

#[test]
fn what_is_awaited_is_told_until_it_is_there_or_nobody_wants_it() {
    on_each(|running| {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let door = format!("figures{}", NEXT.fetch_add(1, Ordering::Relaxed));
        let (mut patient, vanishing) = (Client::to(running), Client::to(running));
        patient.send(fetch(&format!("door?text={door}"), 1));
        vanishing.send(fetch("door?text=never-opened", 1));
        figures_with(running, "agtp_requests_awaiting", &[], 2.0);
        vanishing.reset();
        figures_with(running, "agtp_requests_awaiting", &[], 1.0);
        door_named(&door).open();
        assert_eq!(status(&patient.answer()), 200);
        figures_with(running, "agtp_requests_awaiting", &[], 0.0);
    });
}

#[test]
fn connections_too_many_are_told() {
    for mut config in configs() {
        config.max_connections = 2;
        let running = start(handlers::engine(), &with_admin(config)).unwrap();
        let mut clients = [Client::to(&running), Client::to(&running)];
        for client in &mut clients {
            client.send(fetch("plain", 0));
            client.answer();
        }
        assert_eq!(dial(&running).read(&mut [0]).unwrap(), 0, "closed as soon as accepted");
        figures_with(&running, "agtp_connections_refused_total", &[("reason", "limit")], 1.0);
        figures_with(&running, "agtp_connections_open", &[], 2.0);
        drop(clients);
        running.stop().unwrap();
    }
}

#[test]
fn handshakes_are_told_by_their_result() {
    for mut config in plaintext_configs() {
        // With its own store of sessions: the first handshake cannot take one up.
        let fresh = Shown::new();
        config.tls = Some(fresh.certificates());
        let running = start(handlers::engine(), &with_admin(config)).unwrap();
        for _ in 0..3 {
            let mut client = Client::over(dial(&running), Some(&fresh));
            client.send(fetch("plain", 0));
            assert_eq!(status(&client.answer()), 200);
        }
        let mut garbage = TcpStream::connect(running.addresses()[0]).unwrap();
        garbage.write_all(b"AGTP/1.0 FETCH /plain\r\n\r\n").unwrap();
        drop(garbage);
        let figures = figures_with(&running, "agtp_tls_handshakes_total", &[("result", "failed")], 1.0);
        assert_eq!(figures.sum("agtp_tls_handshakes_total", &[("result", "full")]), 1.0);
        assert_eq!(figures.sum("agtp_tls_handshakes_total", &[("result", "resumed")]), 2.0);
        running.stop().unwrap();
    }
}

#[test]
fn health_is_told_until_the_server_stops() {
    on_each(|running| {
        let (head, body) = get(running, "/healthz");
        assert!(head.starts_with("HTTP/1.1 200 ") && body == "serving\n", "{head}");
        // Something in flight keeps the server from ending.
        let mut client = Client::to(running);
        client.send([fetch("plain", 0), b"AGTP/1.0 ".to_vec()].concat());
        client.answer();
        running.stopper().stop();
        let (head, body) = get(running, "/healthz");
        assert!(head.starts_with("HTTP/1.1 503 ") && body == "stopping\n", "{head}");
        client.send(&fetch("plain", 0)[9..]);
        assert_eq!(status(&client.answer()), 200);
    });
}

#[test]
fn http_is_spoken_properly() {
    let running = start(handlers::engine(), &with_admin(configs().remove(0))).unwrap();
    let admin = running.admin_address().unwrap();
    let (head, body) = http(admin, "HEAD /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert!(head.starts_with("HTTP/1.1 200 ") && head.to_lowercase().contains("content-length: "), "{head}");
    assert_eq!(body, "");
    let (head, _) = http(admin, "GET /metrics/x HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert!(head.starts_with("HTTP/1.1 404 "), "{head}");
    let (head, _) = http(admin, "POST /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n");
    assert!(head.starts_with("HTTP/1.1 405 ") && head.to_lowercase().contains("allow: get, head"), "{head}");
    let (head, _) = http(admin, "GET /healthz HTTP/1.0\r\n\r\n");
    assert!(head.starts_with("HTTP/1.0 200 "), "{head}");
    let (head, _) = http(admin, "nonsense\r\n\r\n");
    assert!(head.starts_with("HTTP/1.1 400 "), "{head}");
    let long = format!("GET /healthz HTTP/1.1\r\nA: {}\r\n\r\n", "x".repeat(8 << 10));
    let (head, _) = http(admin, &long);
    assert!(head.starts_with("HTTP/1.1 431 "), "{head}");
    running.stop().unwrap();
    TcpStream::connect(admin).unwrap_err();
}

#[test]
fn clients_too_many_are_closed_and_silent_ones_hold_nobody_up_for_long() {
    let running = start(handlers::engine(), &with_admin(configs().remove(0))).unwrap();
    let admin = running.admin_address().unwrap();
    let dial = || {
        let stream = TcpStream::connect(admin).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    };
    let mut silent = [(); 4].map(|()| dial());
    // Accepted in order: there is no place left for this one.
    assert_eq!(dial().read(&mut [0]).unwrap_or(0), 0);
    // Each is let go at its deadline.
    for stream in &mut silent {
        assert_eq!(stream.read(&mut [0]).unwrap_or(0), 0);
    }
    let started = Instant::now();
    let answered = || {
        let mut stream = dial();
        let sent = stream.write_all(b"GET /healthz HTTP/1.0\r\n\r\n");
        stream.shutdown(Shutdown::Write).ok();
        let mut answer = String::new();
        sent.is_ok() && stream.read_to_string(&mut answer).is_ok() && answer.contains(" 200 ")
    };
    while !answered() {
        assert!(started.elapsed() < PATIENCE);
    }
    running.stop().unwrap();
}

#[test]
fn other_machines_are_told_nothing() {
    for address in ["0.0.0.0:0", "[::]:9480", "192.0.2.1:9480"] {
        let mut config = configs().remove(0);
        config.admin = Some(address.parse().unwrap());
        let Err(error @ ServeError::Admin(_)) = start(handlers::engine(), &config) else {
            panic!("{address}")
        };
        let error = error.to_string();
        assert!(error.contains(address) && error.contains("loopback") && !error.contains('\n'), "{error}");
    }
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let mut config = configs().remove(0);
    config.admin = Some(taken.local_addr().unwrap());
    let Err(error) = start(handlers::engine(), &config) else { panic!("the port is taken") };
    assert!(error.to_string().contains("[admin] cannot listen on 127.0.0.1:"), "{error}");
}
