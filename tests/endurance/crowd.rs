//! Many connections: what each costs, and what a stop and a stuck core do to them.

use super::handlers::{self, MEETING, fetch};
use super::rig::{Client, affordable, configs, start, status};
use super::{alone, heap, name, transports, wait_for_nobody};
use std::collections::BTreeMap;

/// Heap bytes of an idle connection: a goal of the design, the kernel's own aside.
const IDLE_PLAINTEXT_BYTES: i64 = 2 << 10;
const IDLE_TLS_BYTES: i64 = 12 << 10;

#[test]
fn an_idle_connection_costs_little_and_a_gone_one_nothing() {
    let _turn = alone();
    for config in transports() {
        let server = start(handlers::engine(), &config).unwrap();
        let fill = |count: usize| {
            let mut clients: Vec<_> = (0..count).map(|_| Client::to(&server)).collect();
            clients.iter().for_each(|client| client.send(fetch("plain", 1).repeat(3)));
            clients.iter_mut().for_each(|client| drop(client.answers(3)));
            clients
        };
        drop(fill(10));
        wait_for_nobody(&server);
        let before = heap::held();
        let count = affordable(1_000);
        let clients = fill(count);
        let each = (heap::held() - before) / count as i64;
        println!("{}: {each} bytes of heap for an idle connection", name(&config));
        let most = if config.tls.is_some() { IDLE_TLS_BYTES } else { IDLE_PLAINTEXT_BYTES };
        assert!(each <= most, "{}: {each} bytes", name(&config));
        drop(clients);
        wait_for_nobody(&server);
        let kept = heap::held() - before;
        // The table of connections keeps its length.
        assert!(kept <= count as i64 * 1024, "{}: {kept} bytes are kept", name(&config));
        server.stop().unwrap();
    }
}

#[test]
fn five_thousand_connections_at_once() {
    let _turn = alone();
    for config in configs().into_iter().filter(|config| config.cores == 2) {
        let server = start(handlers::engine(), &config).unwrap();
        let mut clients: Vec<_> = (0..affordable(5_000)).map(|_| Client::to(&server)).collect();
        clients.iter().for_each(|client| client.send(fetch("plain", 1).repeat(2)));
        for client in &mut clients {
            assert_eq!([status(&client.answer()), status(&client.answer())], [200, 200]);
        }
        assert_eq!(server.stats().open(), clients.len());
        // Half of them vanish at once; the others do not notice.
        let rest = clients.split_off(clients.len() / 2);
        clients.into_iter().for_each(Client::reset);
        rest.iter().for_each(|client| client.send(fetch("plain", 2)));
        for mut client in rest {
            assert_eq!(status(&client.answer()), 200);
        }
        wait_for_nobody(&server);
        server.stop().unwrap();
    }
}

/// Handlers that are not awaited run on their core and hold it up: its connections wait, the other core's do not, and
/// nothing is lost.
#[test]
fn a_core_held_up_by_its_handler_holds_up_its_own_connections_only() {
    let _turn = alone();
    for config in configs().into_iter().filter(|config| config.cores == 2) {
        let server = start(handlers::engine(), &config).unwrap();
        let mut by_core = BTreeMap::<String, Vec<Client>>::new();
        for _ in 0..affordable(64) {
            let mut client = Client::to(&server);
            client.send(fetch("core", 1));
            let answer = super::common::answers(&client.answer()).remove(0);
            by_core.entry(answer.body["core"].as_str().unwrap().to_owned()).or_default().push(client);
        }
        assert_eq!(by_core.len(), 2, "both cores have some");
        let (mut held_up, mut free) = (by_core.pop_first().unwrap().1, by_core.pop_first().unwrap().1);
        held_up[0].send([fetch("wait", 1), fetch("plain", 2)].concat());
        MEETING.wait();
        held_up[1..].iter().for_each(|client| client.send(fetch("plain", 3)));
        for client in &mut free {
            client.send(fetch("plain", 4).repeat(3));
            client.answers(3);
        }
        MEETING.wait();
        held_up[0].answers(2);
        held_up[1..].iter_mut().for_each(|client| assert_eq!(status(&client.answer()), 200));
        drop((held_up, free));
        server.stop().unwrap();
    }
}

/// A stop under load: every client gets whole answers in order, then an orderly end.
#[test]
fn a_stop_under_load_cuts_no_answer() {
    const BATCH: usize = 50;
    let _turn = alone();
    for config in configs().into_iter().filter(|config| config.cores == 2) {
        let server = start(handlers::engine(), &config).unwrap();
        let stopper = server.stopper();
        let batch: Vec<u8> = (0..BATCH).flat_map(|at| fetch("plain", at)).collect();
        let mut clients: Vec<_> = (0..16).map(|_| Client::to(&server)).collect();
        std::thread::scope(|scope| {
            let threads: Vec<_> = clients
                .iter_mut()
                .map(|client| {
                    let batch = &batch;
                    scope.spawn(move || {
                        heap::be_client();
                        converse(client, batch, BATCH)
                    })
                })
                .collect();
            // Not before everybody is at work, and in nobody's pauses: there are none.
            super::wait_until(|| ROUNDS.load(std::sync::atomic::Ordering::SeqCst) >= 16);
            stopper.stop();
            for thread in threads {
                assert!(thread.join().unwrap() >= BATCH);
            }
        });
        ROUNDS.store(0, std::sync::atomic::Ordering::SeqCst);
        drop(clients);
        server.wait().unwrap();
    }
}

static ROUNDS: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);

/// Asks in batches until the server ends the connection; the number of answers.
fn converse(client: &mut Client, batch: &[u8], len: usize) -> usize {
    let mut answered = 0;
    loop {
        client.try_send(batch);
        for at in 0..len {
            let Some(answer) = client.next_answer() else { return answered };
            let text = String::from_utf8_lossy(&answer);
            assert!(text.contains(&format!("Request-ID: {at}\r\n")), "{text}");
            answered += 1;
        }
        ROUNDS.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
    }
}
