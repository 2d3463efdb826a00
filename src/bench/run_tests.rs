use super::*;
use crate::bench::Protocol;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

const REQUEST: &[u8] = b"AGTP/1.0 FIND /rooms\r\nContent-Length: 3\r\n\r\n{ }";

/// A server that plays the same part on every connection. Its threads end with their connections.
fn server(play: impl Fn(TcpStream) + Send + Sync + Clone + 'static) -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let play = play.clone();
            std::thread::spawn(move || play(stream));
        }
    });
    address
}

/// Reads whole requests, which must be what was to be sent, and has each answered; ends when it cannot.
fn answer_each(mut stream: TcpStream, mut answer: impl FnMut(&mut TcpStream) -> io::Result<()>) {
    let mut request = [0; REQUEST.len()];
    while stream.read_exact(&mut request).is_ok() {
        assert_eq!(request, REQUEST);
        if answer(&mut stream).is_err() {
            return;
        }
    }
}

fn plan(address: SocketAddr) -> Plan {
    let mut plan = Plan::new(vec![address], "localhost", REQUEST.to_vec());
    plan.duration = Duration::from_millis(60);
    plan.warmup = Duration::from_millis(20);
    plan
}

fn measured(plan: &Plan) -> Measured {
    run(plan, &Watch::new()).unwrap()
}

#[test]
fn every_answer_is_counted_once() {
    let counts: &'static [AtomicU64; 3] = Box::leak(Box::default());
    let next = AtomicU64::new(0);
    let next: &'static AtomicU64 = Box::leak(Box::new(next));
    let address = server(move |stream| {
        answer_each(stream, |stream| {
            let which = next.fetch_add(1, Ordering::Relaxed) as usize % 3;
            counts[which].fetch_add(1, Ordering::Relaxed);
            let status = [200, 262, 422][which];
            write!(stream, "AGTP/1.0 {status} X\r\nContent-Length: {which}\r\n\r\n{}", &"xx"[..which])
        });
    });
    let mut plan = plan(address);
    (plan.connections, plan.depth, plan.threads) = (5, 3, 2);
    let Measured { tally, warmup, unanswered, .. } = measured(&plan);
    let mut all = warmup;
    all.add(&tally);
    let expected = counts.each_ref().map(|count| count.load(Ordering::Relaxed));
    let found: Vec<_> = all.statuses().collect();
    assert_eq!(found, [(200, expected[0]), (262, expected[1]), (422, expected[2])]);
    assert_eq!((all.answers, all.errors.total(), unanswered), (expected.iter().sum(), 0, 0));
    assert_eq!(tally.latency.count(), tally.answers);
}

#[test]
fn answers_in_single_bytes_are_whole_answers() {
    let answered: &'static AtomicU64 = Box::leak(Box::default());
    let address = server(move |stream| {
        stream.set_nodelay(true).unwrap();
        answer_each(stream, |stream| {
            answered.fetch_add(1, Ordering::Relaxed);
            b"AGTP/1.0 204 No Content\r\n\r\n".iter().try_for_each(|byte| stream.write_all(&[*byte]))
        });
    });
    let Measured { tally, warmup, .. } = measured(&plan(address));
    assert_eq!(tally.answers + warmup.answers, answered.load(Ordering::Relaxed));
    assert_eq!(tally.errors.total(), 0);
}

#[test]
fn a_connection_that_is_closed_is_opened_again() {
    let connections: &'static AtomicU64 = Box::leak(Box::default());
    let address = server(move |mut stream| {
        connections.fetch_add(1, Ordering::Relaxed);
        let mut request = [0; REQUEST.len()];
        let _ = stream.read_exact(&mut request);
        let _ = stream.write_all(b"AGTP/1.0 200 OK\r\n\r\n");
    });
    let mut plan = plan(address);
    plan.warmup = Duration::ZERO;
    let Measured { tally, first_fault, connect, .. } = measured(&plan);
    assert!(tally.answers > 1 && tally.errors.reset > 0, "{:?}", tally.errors);
    assert_eq!((tally.errors.connect, tally.errors.protocol), (0, 0));
    assert!(connect.count() >= tally.answers && connections.load(Ordering::Relaxed) >= tally.answers);
    assert!(first_fault.is_some());
}

#[test]
fn what_is_no_answer_is_told_with_what_it_was() {
    let address = server(|mut stream| {
        let mut request = [0; REQUEST.len()];
        let _ = stream.read_exact(&mut request);
        let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        let _ = stream.read(&mut request);
    });
    let mut plan = plan(address);
    plan.depth = 2;
    let Measured { tally, warmup, first_fault, .. } = measured(&plan);
    assert_eq!(tally.answers + warmup.answers, 0);
    assert!(tally.errors.protocol + warmup.errors.protocol >= 2);
    let fault = first_fault.unwrap();
    assert!(fault.contains("AGTP/1.0") && fault.contains("HTTP/1.1 400 Bad Request"), "{fault}");
}

#[test]
fn what_is_never_answered_is_given_up() {
    let address = server(|mut stream| {
        let _ = io::copy(&mut stream, &mut io::sink());
    });
    let mut plan = plan(address);
    (plan.timeout, plan.warmup) = (Duration::from_millis(20), Duration::ZERO);
    (plan.connections, plan.depth) = (2, 3);
    let Measured { tally, first_fault, unanswered, .. } = measured(&plan);
    assert!(tally.errors.timeout >= 6 && tally.answers == 0, "{:?}", tally.errors);
    assert_eq!((tally.errors.timeout + unanswered) % 3, 0, "all of a connection's");
    assert_eq!(first_fault.unwrap(), "no answer within 0.02 s");
}

#[test]
fn the_open_loop_sends_what_was_asked_for() {
    let address = server(|stream| {
        answer_each(stream, |stream| stream.write_all(b"AGTP/1.0 200 OK\r\n\r\n"));
    });
    let mut plan = plan(address);
    plan.rate = Some(500.0);
    (plan.connections, plan.threads, plan.depth) = (4, 2, 16);
    let Measured { tally, warmup, .. } = measured(&plan);
    // 80 ms at 500 a second, however late the machine was with some of them.
    assert_eq!(tally.answers + tally.unsent + warmup.answers, 40);
    assert_eq!(tally.lag.count() + warmup.lag.count() + tally.unsent, 40);
}

#[test]
fn a_run_can_be_stopped() {
    let address = server(|stream| {
        answer_each(stream, |stream| stream.write_all(b"AGTP/1.0 200 OK\r\n\r\n"));
    });
    let mut plan = plan(address);
    plan.duration = Duration::from_secs(3600);
    let watch = Arc::new(Watch::new());
    let stopper = Arc::clone(&watch);
    let stopping = std::thread::spawn(move || {
        while stopper.answers() == 0 || stopper.phase() < Phase::Measuring {
            std::thread::yield_now();
        }
        stopper.stop();
    });
    let measured = run(&plan, &watch).unwrap();
    stopping.join().unwrap();
    assert!(measured.was_stopped && measured.seconds < 3600.0);
    assert_eq!((measured.unanswered, measured.tally.errors.total()), (0, 0), "nothing went wrong");
    assert_eq!(watch.phase(), Phase::Over);
}

#[test]
fn nobody_listening_is_an_error_at_once() {
    let address = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap();
    let mut plan = plan(address);
    (plan.connections, plan.threads) = (4, 2);
    let error = run(&plan, &Watch::new()).unwrap_err();
    assert!(matches!(&error, BenchError::Unreachable(why) if why.contains("refused")), "{error}");
}

#[test]
fn other_protocols_can_be_counted_too() {
    let address = server(|stream| {
        answer_each(stream, |stream| stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nx"));
    });
    let mut plan = plan(address);
    plan.protocol = Protocol::Http;
    let Measured { tally, warmup, .. } = measured(&plan);
    assert!(tally.answers + warmup.answers > 0 && tally.errors.total() == 0);
}
