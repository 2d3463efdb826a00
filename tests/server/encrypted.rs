//! TLS: the same answers as in plaintext, and nobody waits for somebody else's handshake.

use super::common::{self, Wire, scenarios};
use super::corpus;
use super::handlers::{self, fetch};
use super::rig::{Client, Server, comparable, configs, dial, start, status};
use super::secure::{SHOWN, Secured, Shown};
use agtp::engine::Engine;
use agtp::server::ServerConfig;
use std::io::{ErrorKind, Read as _, Write as _};
use std::time::Duration;

/// Runs a test against an encrypted server of its own under each configuration.
fn on_each(engine: &'static Engine<'static>, change: impl Fn(&mut ServerConfig), test: impl Fn(&Server)) {
    for mut config in configs().into_iter().filter(|config| config.tls.is_some()) {
        change(&mut config);
        let server = start(engine, &config).unwrap();
        test(&server);
        server.stop().unwrap();
    }
}

fn echo(message: &str) -> Vec<u8> {
    scenarios::request("ECHO /anything", &format!(r#"{{"message":"{message}"}}"#))
}

#[test]
fn the_corpus_gets_the_answers_of_plaintext_whole_and_in_records_of_a_byte() {
    on_each(
        common::sample(),
        |_| {},
        |running| {
            for case in corpus::all() {
                let wanted = comparable(&Wire::new(common::sample()).send(&case.request));
                let mut client = Client::to(running);
                client.send(&case.request);
                assert_eq!(comparable(&client.answer()), wanted);
                if case.closes {
                    client.expect_end();
                }
            }
            let request = echo("in records of a byte");
            let wanted = comparable(&Wire::new(common::sample()).send(&request));
            let mut client = Client::to(running);
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
        |running| {
            let mut client = Client::to(running);
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
        |running| {
            for and_fin in [false, true] {
                let mut client = Client::to(running);
                client.send([fetch("plain", 1), fetch("plain", 2), b"AGTP/1.0 FETCH /pl".to_vec()].concat());
                client.end(and_fin);
                assert_eq!([status(&client.answer()), status(&client.answer())], [200, 200]);
                client.expect_end();
            }
        },
    );
}

#[test]
fn silent_and_slow_clients_hold_up_nobody_and_end_at_the_deadline() {
    let soon = |config: &mut ServerConfig| config.timeouts.handshake = Duration::from_millis(50);
    on_each(handlers::engine(), soon, |running| {
        let hello = SHOWN.hello();
        let mut slow: Vec<_> = (0..hello.len()).step_by(40).map(|cut| (cut, dial(running))).collect();
        for (cut, socket) in &mut slow {
            socket.write_all(&hello[..*cut]).unwrap();
        }
        let mut client = Client::to(running);
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
        |running| {
            let hello = SHOWN.hello();
            let mut client = Client::to(running);
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
        |running| {
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
    for mut config in configs().into_iter().filter(|config| config.tls.is_some()) {
        let certificates = old.certificates();
        config.tls = Some(certificates.clone());
        let server = start(handlers::engine(), &config).unwrap();
        let mut before = Client::over(dial(&server), Some(&old));
        before.send(fetch("plain", 0));
        assert_eq!(status(&before.answer()), 200);

        certificates.replace(new.chain.as_bytes(), new.key.as_bytes()).unwrap();
        certificates.replace(b"", new.key.as_bytes()).unwrap_err();
        certificates.replace(new.chain.as_bytes(), old.key.as_bytes()).unwrap_err();
        let mut after = Client::over(dial(&server), Some(&new));
        after.send(fetch("plain", 0));
        assert_eq!(status(&after.answer()), 200);
        // Who trusts the old one only is not served any more.
        assert!(Secured::over(&dial(&server), &old).is_err());

        before.send(fetch("plain", 0));
        assert_eq!(status(&before.answer()), 200);
        drop((before, after));
        server.stop().unwrap();
    }
}
