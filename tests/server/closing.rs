//! Ends: the client's half-close, the server's stop.

use super::common;
use super::handlers::{self, MEETING, fetch};
use super::rig::{Client, configs, on_each, start, status};

#[test]
fn what_came_in_full_before_a_half_close_is_answered() {
    let whole = common::scenarios::request("ECHO /anything", r#"{"message":"hello"}"#);
    on_each(common::sample(), |running| {
        let mut client = Client::to(running);
        client.send([&*whole, &whole].concat());
        client.shut_down();
        assert_eq!([status(&client.answer()), status(&client.answer())], [200, 200]);
        client.expect_end();
    });
}

#[test]
fn what_is_incomplete_at_a_half_close_is_dropped() {
    let whole = common::scenarios::request("ECHO /anything", r#"{"message":"hello"}"#);
    on_each(common::sample(), |running| {
        for cut in 0..whole.len() {
            let mut client = Client::to(running);
            client.send([&whole, &whole[..cut]].concat());
            client.shut_down();
            assert_eq!(status(&client.answer()), 200);
            client.expect_end();
        }
    });
}

#[test]
fn a_stop_answers_what_was_received() {
    for config in configs() {
        let running = start(handlers::engine(), &config).unwrap();
        let (mut client, mut idle) = (Client::to(&running), Client::to(&running));
        idle.send(fetch("plain", 0));
        assert_eq!(status(&idle.answer()), 200);
        // One request is in its handler and the next one received when the stop comes.
        client.send([fetch("wait", 1), fetch("plain", 2)].concat());
        MEETING.wait();
        running.stopper().stop();
        MEETING.wait();
        for request_id in ["1", "2"] {
            let answer = common::answers(&client.answer()).remove(0);
            assert_eq!((answer.status, answer.header("Request-ID")), (200, Some(request_id)));
        }
        client.expect_end();
        idle.expect_end();
        drop((client, idle));
        running.wait().unwrap();
    }
}

#[test]
fn a_stop_waits_for_the_rest_of_a_request() {
    let request = fetch("plain", 2);
    for config in configs() {
        for cut in [1, request.len() / 2, request.len() - 1] {
            let running = start(handlers::engine(), &config).unwrap();
            let mut client = Client::to(&running);
            client.send([&*fetch("plain", 1), &request[..cut]].concat());
            assert_eq!(status(&client.answer()), 200);
            running.stopper().stop();
            client.send(&request[cut..]);
            assert_eq!(status(&client.answer()), 200);
            client.expect_end();
            drop(client);
            running.wait().unwrap();
        }
    }
}
