//! Requests in pieces, requests in heaps: the same answers as from the engine alone.

use super::common::{self, Wire};
use super::corpus::{self, Case};
use super::rig::{Client, comparable, on_each, status};
use std::collections::BTreeSet;

/// Sent whole in front of a first part: with its answer here, the server has read that part.
const LEAD: &[u8] = b"AGTP/1.0 DISCOVER /lead\r\n\r\n";

/// What the engine alone says to a request behind [`LEAD`].
fn expected(case: &Case) -> String {
    let mut wire = Wire::new(common::sample());
    wire.send(LEAD);
    let answer = wire.send(&case.request);
    assert_eq!(common::answers(&answer).len(), 1, "{}", String::from_utf8_lossy(&case.request));
    assert_eq!(status(&answer), case.status, "{}", String::from_utf8_lossy(&answer));
    assert_eq!(wire.closed, case.closes, "{}", String::from_utf8_lossy(&case.request));
    comparable(&answer)
}

#[test]
fn the_corpus_has_every_kind_of_answer() {
    let statuses: BTreeSet<u16> = corpus::all().iter().map(|case| case.status).collect();
    let wanted = [200, 262, 400, 401, 404, 405, 410, 413, 422, 455, 459, 460, 463, 501];
    assert_eq!(statuses, BTreeSet::from(wanted));
    corpus::all().iter().for_each(|case| drop(expected(case)));
}

#[test]
fn a_request_cut_at_every_byte_gets_the_same_answer() {
    on_each(common::sample(), |running| {
        for case in corpus::all() {
            let wanted = expected(&case);
            let mut client = Client::to(running);
            for cut in 0..=case.request.len() {
                let (first, second) = case.request.split_at(cut);
                client.send([LEAD, first].concat());
                client.answer();
                client.send(second);
                let answer = comparable(&client.answer());
                assert_eq!(answer, wanted, "cut at {cut}: {}", String::from_utf8_lossy(&case.request));
                if case.closes {
                    client.expect_end();
                    client = Client::to(running);
                }
            }
        }
    });
}

#[test]
fn bytes_one_at_a_time_get_the_same_answer() {
    on_each(common::sample(), |running| {
        for case in corpus::all() {
            let mut client = Client::to(running);
            client.send(LEAD);
            client.answer();
            case.request.chunks(1).for_each(|byte| client.send(byte));
            assert_eq!(comparable(&client.answer()), expected(&case));
            if case.closes {
                client.expect_end();
            }
        }
    });
}

#[test]
fn the_whole_corpus_in_one_write_is_answered_in_order() {
    let cases = corpus::lasting();
    let batch: Vec<u8> = cases.iter().flat_map(|case| case.request.clone()).collect();
    let wanted = comparable(&Wire::new(common::sample()).send(&batch));
    on_each(common::sample(), |running| {
        let mut client = Client::to(running);
        client.send(&batch);
        assert_eq!(comparable(&client.answers(cases.len())), wanted);
        client.shut_down();
        client.expect_end();
    });
}

#[test]
fn many_requests_in_one_write_are_answered_in_order() {
    on_each(common::sample(), |running| {
        for count in [100, 10_000] {
            let requests: Vec<_> = (0..count).flat_map(numbered).collect();
            let client = Client::to(running);
            let mut reader = client.twin();
            std::thread::scope(|scope| {
                scope.spawn(|| client.send(&requests));
                for number in 0..count {
                    let answer = common::answers(&reader.answer()).remove(0);
                    assert_eq!(answer.status, 200);
                    assert_eq!(answer.header("Request-ID"), Some(number.to_string().as_str()));
                    assert_eq!(answer.header("Supported-Methods").is_some(), number == 0);
                }
            });
            client.shut_down();
            reader.expect_end();
        }
    });
}

fn numbered(number: usize) -> Vec<u8> {
    format!("AGTP/1.0 DISCOVER /agents\r\nRequest-ID: {number}\r\n\r\n").into_bytes()
}

#[test]
fn a_body_may_be_as_long_as_the_limit_and_not_a_byte_longer() {
    const LIMIT: usize = 1 << 20;
    let request = |len: usize| {
        let mut request = common::scenarios::request("ECHO /anything", r#"{"message":"hello"}"#);
        let text = String::from_utf8(request)
            .unwrap()
            .replace("Content-Length: 19", &format!("Content-Length: {len}"));
        request = text.into_bytes();
        request.extend(std::iter::repeat_n(b' ', len - 19));
        request
    };
    on_each(common::sample(), |running| {
        let mut client = Client::to(running);
        client.send(request(LIMIT));
        assert_eq!(status(&client.answer()), 200);
        client.send([request(LIMIT), request(LIMIT), request(LIMIT + 1), request(LIMIT)].concat());
        for wanted in [200, 200, 413] {
            assert_eq!(status(&client.answer()), wanted);
        }
        client.expect_end();
    });
}
