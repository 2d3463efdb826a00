//! What goes wrong on one connection costs that connection at most.

use super::common;
use super::handlers::{self, LARGE_BYTES, fetch};
use super::rig::{Client, configs, on_each, start, status};
use std::time::Duration;

const FAULT: &[u8] = b"AGTP/1.0 FETCH /plain\r\nRequest-ID: faulty\r\nContent-Length: x\r\n\r\n";

#[test]
fn a_wire_fault_is_answered_after_what_came_before_it_and_ends_the_connection() {
    on_each(handlers::engine(), |running| {
        let good: Vec<u8> = (0..50).flat_map(|number| fetch("plain", number)).collect();
        let mut client = Client::to(running);
        // The client goes on sending and looks at the answers late: they must not be lost to a reset.
        client.send([&good, FAULT, &good].concat());
        client.send(vec![b'z'; 4 << 20]);
        for number in 0..50 {
            let answer = common::answers(&client.answer()).remove(0);
            assert_eq!(
                (answer.status, answer.header("Request-ID")),
                (200, Some(number.to_string().as_str()))
            );
        }
        let answer = common::answers(&client.answer()).remove(0);
        assert_eq!((answer.status, answer.code()), (400, "invalid-content-length"));
        assert_eq!(answer.header("Request-ID"), Some("faulty"));
        client.expect_end();
    });
}

#[test]
fn a_panicking_handler_costs_its_request_only() {
    on_each(handlers::engine(), |running| {
        let (mut client, mut other) = (Client::to(running), Client::to(running));
        for round in 0..3 {
            client.send([fetch("plain", 1), fetch("fail", 2), fetch("plain", 3)].concat());
            assert_eq!(status(&client.answer()), 200);
            let failed = common::answers(&client.answer()).remove(0);
            assert_eq!((failed.status, failed.code()), (500, "handler-failed"));
            assert_eq!(failed.header("Request-ID"), Some("2"));
            let text = String::from_utf8(failed.raw).unwrap();
            assert!(!text.contains("panic") && !text.contains("half"), "it reveals nothing: {text}");
            assert_eq!(status(&client.answer()), 200);
            other.send(fetch("plain", round));
            assert_eq!(status(&other.answer()), 200);
        }
    });
}

#[test]
fn a_reset_anywhere_costs_nobody_else() {
    on_each(handlers::engine(), |running| {
        let mut other = Client::to(running);
        let whole = fetch("plain", 1);
        for cut in 0..whole.len() {
            let mut client = Client::to(running);
            client.send([&whole, &whole[..cut]].concat());
            assert_eq!(status(&client.answer()), 200);
            client.reset();
        }
        for _ in 0..4 {
            // A large answer, that the sockets cannot hold, is under way when the client goes.
            let mut client = Client::to(running);
            client.send([fetch("large", 1), fetch("large", 2)].concat());
            client.receive_some();
            client.reset();
        }
        other.send([fetch("large", 2), fetch("plain", 3)].concat());
        assert!(other.answer().len() > LARGE_BYTES);
        assert_eq!(status(&other.answer()), 200);
    });
}

#[test]
fn an_incomplete_request_is_told_of_its_deadline() {
    for mut config in configs() {
        config.timeouts.header = Duration::from_millis(20);
        config.timeouts.body = Duration::from_millis(20);
        let running = start(handlers::engine(), &config).unwrap();
        let body = "AGTP/1.0 FETCH /plain\r\nRequest-ID: slow\r\nContent-Length: 9\r\n\r\n{";
        for (begun, request_id) in [("AGTP/1.0 FET", None), (body, Some("slow"))] {
            let mut client = Client::to(&running);
            client.send([fetch("plain", 1).as_slice(), begun.as_bytes()].concat());
            assert_eq!(status(&client.answer()), 200);
            let answer = common::answers(&client.answer()).remove(0);
            assert_eq!((answer.status, answer.code()), (408, "timeout"));
            assert_eq!(answer.header("Request-ID"), request_id);
            client.expect_end();
        }
        running.stop().unwrap();
    }
}
