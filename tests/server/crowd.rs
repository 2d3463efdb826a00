//! Many connections, and greedy ones.

use super::common;
use super::handlers::{self, fetch};
use super::rig::{Client, affordable, configs, on_each, start, status};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};

#[test]
fn five_hundred_connections_at_once_each_with_a_pipeline() {
    const DEPTH: usize = 8;
    on_each(common::sample(), |running| {
        let mut clients: Vec<_> = (0..affordable(500)).map(|_| Client::to(running)).collect();
        for round in 0..2 {
            for (number, client) in clients.iter().enumerate() {
                client.send(pipeline(DEPTH, &format!("{round}-{number}")));
            }
            for (number, client) in clients.iter_mut().enumerate() {
                for depth in 0..DEPTH {
                    let answer = common::answers(&client.answer()).remove(0);
                    let wanted = format!("{round}-{number}-{depth}");
                    assert_eq!((answer.status, answer.header("Request-ID")), (200, Some(wanted.as_str())));
                }
            }
        }
    });
}

fn pipeline(depth: usize, name: &str) -> String {
    (0..depth)
        .map(|number| format!("AGTP/1.0 DISCOVER /agents\r\nRequest-ID: {name}-{number}\r\n\r\n"))
        .collect()
}

/// The client has requests that the sockets' buffers cannot hold. The server may not take them in its memory instead.
#[test]
fn a_client_that_does_not_read_is_not_read_from_and_holds_up_nobody() {
    const COUNT: usize = 10_000;
    let padding = "p".repeat(7_000);
    let request = |number| {
        format!("AGTP/1.0 DISCOVER /methods\r\nX-Padding: {padding}\r\nRequest-ID: {number}\r\n\r\n")
    };
    on_each(common::sample(), |running| {
        let (greedy, mut other) = (Client::to(running), Client::to(running));
        let mut reader = greedy.twin();
        let sent = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for number in 0..COUNT {
                    greedy.send(request(number));
                    sent.store(number + 1, Ordering::Relaxed);
                }
            });
            for number in 0..200 {
                other.send(pipeline(1, &number.to_string()));
                assert_eq!(status(&other.answer()), 200);
            }
            assert!(
                sent.load(Ordering::Relaxed) < COUNT,
                "70 MB were taken from a client that does not read"
            );
            for number in 0..COUNT {
                let answer = reader.answer();
                let line = format!("\r\nRequest-ID: {number}\r\n");
                assert!(memchr::memmem::find(&answer, line.as_bytes()).is_some(), "answer {number}");
            }
        });
        greedy.shut_down();
        reader.expect_end();
    });
}

#[test]
fn connections_are_spread_and_response_ids_are_unique() {
    for config in configs() {
        let running = start(handlers::engine(), &config).unwrap();
        let mut clients: Vec<_> = (0..affordable(200)).map(|_| Client::to(&running)).collect();
        clients.iter().for_each(|client| client.send(fetch("core", 1).repeat(5)));
        let (mut ids, mut served) = (BTreeSet::new(), BTreeMap::<String, usize>::new());
        for client in &mut clients {
            for answer in common::answers(&client.answers(5)) {
                assert_eq!(answer.status, 200);
                assert!(
                    ids.insert(answer.header("Response-ID").unwrap().to_owned()),
                    "Response-IDs are unique"
                );
                *served.entry(answer.body["core"].as_str().unwrap().to_owned()).or_default() += 1;
            }
        }
        assert_eq!(served.len(), config.cores, "each core has some: {served:?}");
        running.stop().unwrap();
    }
}
