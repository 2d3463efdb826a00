use super::*;
use crate::bench::tally::Errors;

const REQUEST: &[u8] = b"AGTP/1.0 FIND /rooms\r\n\r\n";
const OK: &[u8] = b"AGTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n{}";
const MS: u64 = 1_000_000;

fn core(links: usize, depth: u32) -> Core {
    let mut core =
        Core::new(Repeated::new(REQUEST, depth), links, depth, Protocol::Agtp).expect("bounds are right");
    (0..links).for_each(|link| core.handle_open(link, 0));
    core
}

fn open_core(links: usize, depth: u32, rate: f64) -> Core {
    let mut core = core(links, depth);
    core.start(Load::Open(Pace::new(rate, 0, 1, 0, u64::MAX)), 0);
    core
}

/// To whole milliseconds: a histogram keeps three digits.
fn ms(ns: u64) -> u64 {
    (ns + MS / 2) / MS
}

/// Takes all that is to be sent, `most` bytes at a time.
fn written(core: &mut Core, link: usize, most: usize) -> Vec<u8> {
    let mut sent = Vec::new();
    loop {
        let bytes = core.poll_write(link);
        let taken = bytes.len().min(most);
        if taken == 0 {
            return sent;
        }
        sent.extend_from_slice(&bytes[..taken]);
        core.handle_written(link, taken);
    }
}

#[test]
fn whatever_the_socket_takes_at_a_time_the_requests_are_whole() {
    for depth in [1, 3, 16] {
        for most in [1, 7, REQUEST.len(), REQUEST.len() + 1, 10_000] {
            let mut core = core(1, depth);
            assert_eq!(written(&mut core, 0, most), b"", "nothing before the start");
            core.start(Load::Closed, 0);
            assert_eq!(written(&mut core, 0, most), REQUEST.repeat(depth as usize));
        }
    }
}

#[test]
fn long_requests_are_not_repeated_without_end() {
    let request = vec![b'x'; REPEATED_BYTES + 1];
    let repeated = Repeated::new(&request, 1000);
    assert_eq!(repeated.bytes.len(), request.len());
    assert_eq!(repeated.next(3 * request.len()).len(), request.len());
    assert_eq!(repeated.next(2 * request.len() + 1).len(), 1);
}

#[test]
fn the_closed_loop_sends_as_many_as_were_answered() {
    let mut core = core(2, 4);
    core.start(Load::Closed, 5);
    assert_eq!(core.in_flight(), 8);
    written(&mut core, 0, 1 << 20);
    core.handle_received(0, &OK.repeat(3), 105).unwrap();
    assert_eq!(written(&mut core, 0, 1 << 20), REQUEST.repeat(3));
    core.handle_received(0, &OK.repeat(4), 305).unwrap();
    let tally = core.next_phase().unwrap();
    assert_eq!((tally.answers, tally.bytes), (7, 7 * OK.len() as u64));
    assert_eq!(tally.statuses().collect::<Vec<_>>(), [(200, 7)]);
    // Three after 100, the fourth of the first batch after 300, three of the second after 200.
    let quantiles = [0.42, 0.43, 0.85, 0.86].map(|quantile| tally.latency.at(quantile));
    assert_eq!(quantiles, [100, 200, 200, 300]);
    assert_eq!(core.tally().answers, 0, "a phase begins at nothing");
}

#[test]
fn an_answer_cut_in_two_counts_when_it_is_whole() {
    for cut in 1..OK.len() {
        let mut core = core(1, 1);
        core.start(Load::Closed, 0);
        core.handle_received(0, &OK[..cut], 10).unwrap();
        assert_eq!((core.tally().answers, core.in_flight()), (0, 1));
        core.handle_received(0, &OK[cut..], 30).unwrap();
        assert_eq!((core.tally().answers, core.tally().latency.least()), (1, 30));
    }
}

#[test]
fn latency_counts_from_the_moment_a_request_was_meant_for() {
    // One request each millisecond, one connection, and a server that takes 4 ms once and answers at once then.
    let mut core = open_core(1, 1, 1000.0);
    assert_eq!(core.poll_assigned(), Some(0));
    assert_eq!(written(&mut core, 0, 1 << 20), REQUEST);
    for now in [MS, 2 * MS, 3 * MS] {
        core.handle_turn(now);
        assert_eq!((core.poll_assigned(), core.next_due()), (None, None), "the connection is busy");
    }
    core.handle_received(0, OK, 4 * MS).unwrap();
    for _ in 1..5 {
        core.handle_turn(4 * MS);
        assert_eq!(core.poll_assigned(), Some(0));
        assert_eq!(written(&mut core, 0, 1 << 20), REQUEST);
        core.handle_received(0, OK, 4 * MS).unwrap();
    }
    assert_eq!(core.next_due(), Some(5 * MS));
    let tally = core.tally();
    assert_eq!((tally.answers, tally.latency.least()), (5, 0));
    let waited: Vec<u64> = (1..=5).map(|n| ms(tally.latency.at(f64::from(n) / 5.0))).collect();
    assert_eq!(waited, [0, 1, 2, 3, 4], "each is late by what it had to wait, not only the first");
    // That they could not be sent earlier was not the sender's fault.
    assert_eq!(tally.lag.most(), 0);
}

#[test]
fn what_the_sender_is_late_by_is_told_apart() {
    let mut core = open_core(4, 1, 1000.0);
    // Nobody looked for 2.5 ms.
    core.handle_turn(MS * 5 / 2);
    let lag = &core.tally().lag;
    assert_eq!((lag.count(), lag.least()), (3, 0));
    assert_eq!(lag.at(0.5) / 100_000, 5);
    assert_eq!(lag.most() / 100_000, 15);
}

#[test]
fn requests_go_round_the_connections_that_have_room() {
    let mut core = open_core(3, 2, 1000.0);
    core.handle_lost(1, Loss::Reset);
    core.handle_turn(2 * MS);
    core.handle_turn(10 * MS);
    assert_eq!(core.in_flight(), 4, "two connections, two each");
    assert_eq!(written(&mut core, 0, 1 << 20).len(), 2 * REQUEST.len());
    assert_eq!(written(&mut core, 2, 1 << 20).len(), 2 * REQUEST.len());
    assert_eq!(core.poll_write(1), b"");
    core.handle_open(1, 10 * MS);
    core.handle_turn(10 * MS);
    assert_eq!(written(&mut core, 1, 1 << 20).len(), 2 * REQUEST.len());
}

#[test]
fn what_was_due_at_the_end_and_not_sent_counts_with_its_wait() {
    let mut core = open_core(1, 1, 1000.0);
    core.handle_turn(5 * MS);
    core.end(10 * MS);
    core.handle_turn(20 * MS);
    assert_eq!(core.poll_assigned(), Some(0));
    assert_eq!(core.poll_assigned(), None);
    // Those of 1 ms to 10 ms: the last was due when the end came, and so was not.
    let tally = core.tally();
    assert_eq!((tally.unsent, tally.latency.count()), (9, 9));
    assert_eq!((ms(tally.latency.least()), ms(tally.latency.most())), (1, 9));
    // The one under way is still counted.
    core.handle_received(0, OK, 11 * MS).unwrap();
    assert_eq!((core.tally().latency.count(), core.in_flight()), (10, 0));
}

#[test]
fn losses_count_the_requests_that_went_with_them() {
    let mut core = core(3, 4);
    core.start(Load::Closed, 0);
    core.handle_received(0, OK, 1).unwrap();
    core.handle_lost(0, Loss::Reset);
    core.handle_lost(1, Loss::Timeout);
    core.handle_lost(2, Loss::Protocol);
    core.handle_lost(2, Loss::Connect);
    let expected = Errors { connect: 1, reset: 4, timeout: 4, protocol: 4 };
    assert_eq!((core.tally().errors, core.in_flight()), (expected, 0));
    core.handle_open(1, 2);
    assert_eq!(
        written(&mut core, 1, 1 << 20),
        REQUEST.repeat(4),
        "a new connection begins at a request's first byte"
    );
}

#[test]
fn a_connection_closed_in_peace_is_no_error() {
    let mut core = open_core(1, 1, 1.0);
    core.handle_received(0, OK, 1).unwrap();
    core.handle_lost(0, Loss::Reset);
    assert_eq!(core.tally().errors.total(), 0);
}

#[test]
fn an_answer_that_nobody_asked_for_is_a_fault() {
    let mut core = core(1, 2);
    core.start(Load::Closed, 0);
    let fault = core.handle_received(0, &OK.repeat(3), 1).unwrap_err();
    assert!(fault.to_string().contains("not asked"), "{fault}");
    let mut idle = open_core(1, 2, 1.0);
    idle.handle_received(0, OK, 1).unwrap();
    assert!(idle.handle_received(0, b"AGTP/1", 2).is_err());
}

#[test]
fn what_waits_too_long_is_known() {
    let mut core = core(1, 1);
    core.start(Load::Closed, 100);
    assert!(!core.is_overdue(0, 100) && core.is_overdue(0, 101));
    core.handle_received(0, OK, 200).unwrap();
    assert!(!core.is_overdue(0, 200));
}
