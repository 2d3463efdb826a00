//! Handlers that are awaited: on their core, in order, and at nobody else's cost.

use super::handlers::{self, LINGERING, door_named, fetch};
use super::rig::{Client, PATIENCE, configs, on_each, start, status};
use std::sync::atomic::{AtomicUsize, Ordering};

/// A name that no other test has used.
fn fresh() -> String {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    format!("d{}", NEXT.fetch_add(1, Ordering::Relaxed))
}

fn id(answer: &[u8]) -> String {
    let text = String::from_utf8_lossy(answer);
    let line = text.split("\r\n").find_map(|line| line.strip_prefix("Request-ID: "));
    line.unwrap_or_default().to_owned()
}

#[test]
fn others_are_answered_meanwhile_and_later_requests_keep_their_place() {
    on_each(handlers::engine(), |server| {
        let name = fresh();
        let (mut waiting, mut other) = (Client::to(server), Client::to(server));
        waiting.send([fetch("plain", 0), fetch(&format!("door?text={name}"), 1), fetch("plain", 2)].concat());
        assert_eq!(id(&waiting.answer()), "0");
        for round in 0..100 {
            other.send(fetch("plain", round));
            assert_eq!((status(&other.answer())), 200);
        }
        // More arrives for the connection that waits: that is not what it waits for.
        waiting.send(fetch("plain", 3));
        other.send(fetch("plain", 0));
        other.answer();
        door_named(&name).open();
        assert_eq!([1, 2, 3].map(|_| id(&waiting.answer())), ["1", "2", "3"]);
    });
}

#[test]
fn a_hundred_wait_at_once_and_each_gets_its_own_answer() {
    on_each(handlers::engine(), |server| {
        let waiting: Vec<_> = (0..100).map(|_| (fresh(), Client::to(server))).collect();
        for (name, client) in &waiting {
            client.send(fetch(&format!("door?text={name}"), name));
        }
        for (name, mut client) in waiting.into_iter().rev() {
            door_named(&name).open();
            let answer = client.answer();
            assert_eq!((status(&answer), id(&answer)), (200, name));
        }
    });
}

#[test]
fn panics_and_time_outs_cost_their_own_request() {
    on_each(handlers::engine(), |server| {
        let names = ["stumble", "stumble?text=fall", "plain", "never", "fail", "door?text=open"];
        door_named("open").open();
        let batch: Vec<u8> = (0..60).flat_map(|at| fetch(names[at % names.len()], at)).collect();
        let mut clients = [(); 4].map(|()| Client::to(server));
        for client in &clients {
            client.send(&batch);
        }
        for client in &mut clients {
            for at in 0..60 {
                let answer = client.answer();
                let expected = [200, 500, 200, 408, 500, 200][at % names.len()];
                assert_eq!((status(&answer), id(&answer)), (expected, at.to_string()));
            }
        }
    });
}

#[test]
fn what_a_vanished_client_asked_for_is_dropped() {
    on_each(handlers::engine(), |server| {
        let client = Client::to(server);
        client.send(fetch("linger", 0));
        let said = LINGERING.1.lock().unwrap();
        assert_eq!(said.recv_timeout(PATIENCE), Ok("begun"));
        client.reset();
        assert_eq!(said.recv_timeout(PATIENCE), Ok("dropped"));
    });
}

#[test]
fn a_half_closed_client_still_gets_its_answer() {
    on_each(handlers::engine(), |server| {
        let (name, mut client) = (fresh(), Client::to(server));
        client.send([fetch(&format!("door?text={name}"), 1), fetch("plain", 2)].concat());
        client.shut_down();
        door_named(&name).open();
        assert_eq!([1, 2].map(|_| id(&client.answer())), ["1", "2"]);
        client.expect_end();
    });
}

#[test]
fn a_stop_waits_for_what_was_begun() {
    for config in configs() {
        let server = start(handlers::engine(), &config).unwrap();
        let (name, mut client) = (fresh(), Client::to(&server));
        client.send([fetch("plain", 0), fetch(&format!("door?text={name}"), 1)].concat());
        client.answer();
        server.stopper().stop();
        door_named(&name).open();
        assert_eq!(id(&client.answer()), "1");
        client.expect_end();
        server.wait().unwrap();
    }
}
