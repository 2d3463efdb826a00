//! Hostile and unlucky clients, in rounds.

use super::handlers::{self, LARGE_BYTES, fetch};
use super::rig::{Client, Server, dial, start, status};
use super::secure::SHOWN;
use super::{alone, heap, name, transports, wait_for_nobody, wait_until};
use agtp::server::ServerConfig;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

/// Clients of a round.
const CLIENTS: usize = 100;

/// What may differ between rounds: how full the buffers are that a core keeps.
const SLACK_BYTES: i64 = 128 << 10;

const SOON: Duration = Duration::from_millis(50);

/// Runs rounds of a fault on each transport. Everybody is gone after each of them, and memory is at its level after all.
fn in_rounds(what: &str, change: impl Fn(&mut ServerConfig), round: impl Fn(&Server)) {
    let _turn = alone();
    for mut config in transports() {
        change(&mut config);
        let server = start(handlers::engine(), &config).unwrap();
        let run = || {
            round(&server);
            wait_for_nobody(&server);
            heap::held()
        };
        let level = [run(), run()].into_iter().max().unwrap_or_default();
        let after = [run(), run(), run()].into_iter().min().unwrap_or_default();
        println!("{what}, {}: {level} bytes after two rounds, {after} after more", name(&config));
        assert!(after <= level + SLACK_BYTES, "{what}, {}: {after} bytes, not {level}", name(&config));
        assert_eq!(server.metrics().restarts(), 0, "{what}: a core failed");
        still_serves(&server, &config);
        server.stop().unwrap();
    }
}

fn still_serves(server: &Server, config: &ServerConfig) {
    if config.timeouts.handshake > SOON {
        let mut client = Client::to(server);
        client.send(fetch("plain", 1));
        assert_eq!(status(&client.answer()), 200);
    }
}

#[test]
fn slow_heads_end_at_their_deadline_whatever_dribbles_in() {
    let soon = |config: &mut ServerConfig| config.timeouts.header = SOON;
    in_rounds("slow heads", soon, |server| {
        let mut slow: Vec<_> = (0..CLIENTS).map(|_| Client::to(server)).collect();
        slow.iter().for_each(|client| client.send(b"AGTP/1.0 FETCH /pla"));
        slow.iter().for_each(|client| client.try_send(b"i"));
        for client in &mut slow {
            assert_eq!(status(&client.answer()), 408);
            client.expect_end();
        }
    });
}

#[test]
fn slow_bodies_end_at_their_deadline_whatever_dribbles_in() {
    let soon = |config: &mut ServerConfig| config.timeouts.body = SOON;
    in_rounds("slow bodies", soon, |server| {
        let mut slow: Vec<_> = (0..CLIENTS).map(|_| Client::to(server)).collect();
        let begun = b"AGTP/1.0 FETCH /plain\r\nContent-Length: 1000000\r\n\r\n".to_vec();
        let begun = [begun, vec![b' '; 50_000]].concat();
        slow.iter().for_each(|client| client.try_send(&begun));
        slow.iter().for_each(|client| client.try_send(b" "));
        for client in &mut slow {
            assert_eq!(status(&client.answer()), 408);
            client.expect_end();
        }
    });
}

#[test]
fn clients_that_never_read_lose_their_connection_and_their_memory_is_bounded() {
    let soon = |config: &mut ServerConfig| config.timeouts.write = SOON;
    in_rounds("clients that never read", soon, |server| {
        let (before, accepted) = (heap::held(), server.stats().accepted());
        let deaf: Vec<_> = (0..10).map(|_| Client::to(server)).collect();
        let wanted = fetch("large", 1).repeat(100);
        deaf.iter().for_each(|client| client.try_send(&wanted));
        wait_until(|| {
            let each = (heap::held() - before) / 10;
            // An answer is being written, encrypted, and behind the socket's buffer: no more than one and its copies.
            assert!(each < 4 * LARGE_BYTES as i64, "a client that does not read holds {each} bytes");
            // Not before they were all let in.
            server.stats().accepted() == accepted + 10 && server.stats().open() == 0
        });
    });
}

#[test]
fn resets_in_every_state_leave_nothing_behind() {
    in_rounds(
        "resets",
        |_| {},
        |server| {
            let whole = fetch("plain", 1);
            let body = b"AGTP/1.0 FETCH /plain\r\nContent-Length: 100000\r\n\r\n{";
            for (sent, answers) in [
                (whole[..9].to_vec(), 0),
                (body.to_vec(), 0),
                ([&*whole, &whole[..9]].concat(), 1),
                ([&*whole, &*body.to_vec()].concat(), 1),
                (whole.repeat(100), 3),
                (fetch("door?text=nobody-opens", 1), 0),
                ([fetch("plain", 0), fetch("door?text=nobody-opens", 1), fetch("plain", 2)].concat(), 1),
            ] {
                for _ in 0..10 {
                    let mut client = Client::to(server);
                    client.send(&sent);
                    client.answers(answers);
                    client.reset();
                }
            }
            for _ in 0..5 {
                let mut client = Client::to(server);
                client.send(fetch("large", 1).repeat(2));
                client.receive_some();
                client.reset();
            }
        },
    );
}

#[test]
fn garbage_after_the_handshake_ends_the_connection() {
    in_rounds(
        "garbage",
        |_| {},
        |server| {
            for seed in 0..50_u8 {
                let (client, socket) = Client::with_socket(server);
                client.send(fetch("plain", 1));
                // Of each type of record, a renegotiation's hello among them, with a body that nobody encrypted.
                let hello = SHOWN.hello();
                let record = [&[20 + seed % 6, 3, 3, 0, 40][..], &[seed; 40]].concat();
                let garbage = if seed % 2 == 0 { record } else { hello };
                let _ = (&socket).write_all(&garbage);
                drop(client);
                expect_any_end(&socket);
            }
        },
    );
}

#[test]
fn half_handshakes_end_at_their_deadline() {
    let soon = |config: &mut ServerConfig| {
        (config.timeouts.handshake, config.timeouts.header, config.timeouts.idle) = (SOON, SOON, SOON);
    };
    in_rounds("half handshakes", soon, |server| {
        let hello = SHOWN.hello();
        let sockets: Vec<_> = (0..CLIENTS).map(|at| (at * hello.len() / CLIENTS, dial(server))).collect();
        for (cut, socket) in &sockets {
            let mut socket = socket;
            socket.write_all(&hello[..*cut]).unwrap();
        }
        sockets.iter().for_each(|(_, socket)| expect_any_end(socket));
    });
}

/// Whatever is said before it, and if it is a reset.
fn expect_any_end(mut socket: &TcpStream) {
    match socket.read_to_end(&mut Vec::new()) {
        Err(error) if error.kind() != ErrorKind::ConnectionReset => panic!("{error}"),
        _ => {}
    }
}
