use super::*;
use crate::bench::tally::{Loss, Tally};

fn measured() -> Measured {
    let mut tally = Tally::new().unwrap();
    tally.latency.record(1_000_000, 90);
    tally.latency.record(20_000_000, 10);
    (0..100).for_each(|_| tally.count_status(200));
    tally.answers = 100;
    Measured {
        tally,
        warmup: Tally::new().unwrap(),
        in_time: 80,
        seconds: 2.0,
        connect: Times::new().unwrap(),
        cpu_share: Some(0.5),
        first_fault: None,
        unanswered: 0,
        was_stopped: false,
    }
}

fn plan(rate: Option<f64>) -> Plan {
    let mut plan = Plan::new(Vec::new(), "localhost", b"AGTP/1.0 FIND /\r\n\r\n".to_vec());
    plan.rate = rate;
    plan
}

fn report<'r>(plan: &'r Plan, measured: &'r Measured) -> Report<'r> {
    Report { what: "FIND agtp://localhost/", plan, measured }
}

#[test]
fn json_has_what_machines_need() {
    let (plan, measured) = (plan(None), measured());
    let value = report(&plan, &measured).to_json();
    assert_eq!(value["format"], 1);
    assert_eq!(value["rate"], 40.0, "what came after the end is no part of the rate");
    assert_eq!(
        (&value["answers"], &value["success"], &value["refused"]),
        (&json!(100), &json!(100), &json!(0))
    );
    assert_eq!(value["statuses"], json!({"200": 100}));
    let p99 = value["latency_us"]["p99"].as_f64().unwrap();
    assert!((19_990.0..20_020.0).contains(&p99), "{p99}");
    assert_eq!((&value["connect_us"], &value["generator"]["valid"]), (&Value::Null, &json!(true)));
    let members: Vec<_> = value.as_object().unwrap().keys().map(String::as_str).collect();
    let expected = "answers connect_us connections depth errors first_error format generator latency_us loop \
                    negotiation rate rate_asked received_bytes refused request_bytes seconds statuses stopped success \
                    threads tls unanswered unsent warmup what";
    assert_eq!(members.join(" "), expected, "a member that goes, or changes its meaning, is another format");
}

#[test]
fn a_generator_that_was_busy_doubts_its_closed_loop() {
    let (closed, open, mut measured) = (plan(None), plan(Some(10.0)), measured());
    assert!(report(&closed, &measured).is_clean());
    measured.cpu_share = Some(0.96);
    let doubts = report(&closed, &measured).doubts();
    assert!(doubts.len() == 1 && doubts[0].contains("96 %"), "{doubts:?}");
    assert!(!report(&closed, &measured).is_clean());
    assert!(report(&closed, &measured).to_string().contains("INVALID: a thread"));
    assert!(report(&open, &measured).is_clean(), "the open loop waits awake");
}

#[test]
fn a_generator_that_was_late_doubts_its_open_loop() {
    let (open, mut measured) = (plan(Some(10.0)), measured());
    measured.tally.lag.record(9_000_000, 100);
    assert!(report(&open, &measured).doubts().is_empty(), "less than half of what was measured");
    measured.tally.lag.record(11_000_000, 100);
    let doubts = report(&open, &measured).doubts();
    assert!(doubts.len() == 1 && doubts[0].contains("11.0 ms"), "{doubts:?}");
}

#[test]
fn what_was_not_done_is_not_clean() {
    let plan = plan(None);
    let spoil: [fn(&mut Measured); 5] = [
        |measured| {
            measured.tally.count_status(262);
            measured.tally.answers += 1;
        },
        |measured| measured.tally.errors.count(Loss::Reset, 1),
        |measured| measured.tally.unsent = 1,
        |measured| measured.unanswered = 1,
        |measured| measured.tally = Tally::new().unwrap(),
    ];
    for (case, spoil) in spoil.into_iter().enumerate() {
        let mut measured = measured();
        spoil(&mut measured);
        assert!(!report(&plan, &measured).is_clean(), "{case}");
    }
}

#[test]
fn people_are_told_the_same() {
    let (plan, mut measured) = (plan(None), measured());
    measured.tally.count_status(262);
    measured.tally.count_status(500);
    measured.tally.errors.count(Loss::Timeout, 1234);
    measured.first_fault = Some("no answer within 10 s".to_owned());
    let text = report(&plan, &measured).to_string();
    for part in [
        "            40 answers/s",
        "       20.0 ms p99",
        "           100 200\n",
        "             1 262 asks for something",
        "             1 500 not done",
        "         1,234 requests given up",
        "        first: no answer within 10 s",
        "          50 % of a core",
    ] {
        assert!(text.contains(part), "{part:?} in\n{text}");
    }
}

#[test]
fn times_and_counts_are_short() {
    for (ns, text) in [
        (0.0, "0.00 us"),
        (1_234.0, "1.23 us"),
        (12_345.0, "12.3 us"),
        (123_456.0, "123 us"),
        (9_999_999.0, "10.0 ms"),
        (1.5e9, "1.50 s"),
    ] {
        assert_eq!(Span(ns).to_string(), text);
    }
    assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
}
