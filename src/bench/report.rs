//! What a run came to, for people and for machines.

use super::{Kind, Measured, Plan, Times};
use serde_json::{Map, Value, json};
use std::fmt::{self, Write as _};

/// The form of [`Report::to_json`]; changes when a member changes its meaning or goes.
pub const FORMAT: u64 = 1;

/// The part of a core from which on the generator may have been what limits a closed loop.
const BUSY_SHARE: f64 = 0.95;

/// Lateness of the generator that is too little to matter, whatever the latency.
const LAG_NS: u64 = 100_000;

/// The quantiles that are told, by the names they have in JSON.
const QUANTILES: [(&str, f64); 6] =
    [("p50", 0.5), ("p75", 0.75), ("p90", 0.9), ("p99", 0.99), ("p99_9", 0.999), ("p99_99", 0.9999)];

/// A run that is over.
#[derive(Clone, Debug)]
pub struct Report<'r> {
    /// What was asked for, such as `BOOK agtp://localhost/rooms/12`.
    pub what: &'r str,
    /// How it was measured.
    pub plan: &'r Plan,
    /// What came of it.
    pub measured: &'r Measured,
}

impl Report<'_> {
    /// Why the figures may say more about the generator than about the server, one line each.
    pub fn doubts(&self) -> Vec<String> {
        let Measured { tally, cpu_share, .. } = self.measured;
        let mut doubts = Vec::new();
        match (self.plan.rate, cpu_share) {
            // The open loop waits awake: how late it was is what counts.
            (Some(_), _) => {
                let (lag, latency) = (tally.lag.at(0.99), tally.latency.at(0.99));
                if lag > LAG_NS.max(latency / 2) {
                    doubts.push(format!(
                        "1 % of the requests were sent {} or more too late; lower --rate, or raise --cores",
                        Span(lag as f64)
                    ));
                }
            }
            (None, Some(share)) if *share >= BUSY_SHARE => doubts.push(format!(
                "a thread of the generator used {:.0} % of its core; raise --cores, or serve with fewer",
                share * 100.0
            )),
            _ => {}
        }
        if tally.latency.count() == 0 {
            doubts.push("no answer came while it was measured".to_owned());
        }
        doubts
    }

    /// Whether every request was answered with success, and the generator was not what was measured.
    pub fn is_clean(&self) -> bool {
        let Measured { tally, unanswered, .. } = self.measured;
        let has_answers = tally.count_of(Kind::Success) == tally.answers;
        has_answers && tally.errors.total() + tally.unsent + unanswered == 0 && self.doubts().is_empty()
    }

    /// As a JSON object whose members stay what they are. Times are microseconds, and seconds where the name says so.
    pub fn to_json(&self) -> Value {
        let Report { what, plan, measured } = self;
        let tally = &measured.tally;
        let statuses: Map<_, _> =
            tally.statuses().map(|(status, count)| (status.to_string(), count.into())).collect();
        json!({
            "format": FORMAT,
            "what": what,
            "loop": if plan.rate.is_some() { "open" } else { "closed" },
            "rate_asked": plan.rate,
            "connections": plan.connections.max(1),
            "depth": plan.depth.max(1),
            "threads": plan.threads(),
            "tls": plan.trust.is_some(),
            "request_bytes": plan.request.len(),
            "seconds": measured.seconds,
            "stopped": measured.was_stopped,
            "rate": measured.rate(),
            "answers": tally.answers,
            "received_bytes": tally.bytes,
            "latency_us": times(&tally.latency),
            "statuses": statuses,
            "success": tally.count_of(Kind::Success),
            "negotiation": tally.count_of(Kind::Negotiation),
            "refused": tally.count_of(Kind::Refusal),
            "errors": errors(&tally.errors),
            "first_error": measured.first_fault,
            "unsent": tally.unsent,
            "unanswered": measured.unanswered,
            "connect_us": times(&measured.connect),
            "warmup": {
                "seconds": plan.warmup.as_secs_f64(),
                "answers": measured.warmup.answers,
                "errors": errors(&measured.warmup.errors),
            },
            "generator": {
                "lag_us": times(&tally.lag),
                "cpu_share": measured.cpu_share,
                "valid": self.doubts().is_empty(),
                "doubts": self.doubts(),
            },
        })
    }
}

fn errors(errors: &super::Errors) -> Value {
    json!({
        "connect": errors.connect,
        "reset": errors.reset,
        "timeout": errors.timeout,
        "protocol": errors.protocol,
    })
}

/// `null` when there are none.
fn times(times: &Times) -> Value {
    if times.count() == 0 {
        return Value::Null;
    }
    let us = |ns: f64| json!((ns / 10.0).round() / 100.0);
    let mut members = Map::from_iter([
        ("count".to_owned(), json!(times.count())),
        ("min".to_owned(), us(times.least() as f64)),
        ("mean".to_owned(), us(times.mean())),
        ("stdev".to_owned(), us(times.stdev())),
    ]);
    members.extend(QUANTILES.map(|(name, quantile)| (name.to_owned(), us(times.at(quantile) as f64))));
    members.insert("max".to_owned(), us(times.most() as f64));
    members.into()
}

/// A time as people read it, from nanoseconds.
pub(super) struct Span(pub(super) f64);

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (value, unit) = match self.0 {
            ns if ns < 1e6 => (ns / 1e3, "us"),
            ns if ns < 1e9 => (ns / 1e6, "ms"),
            ns => (ns / 1e9, "s"),
        };
        // Three digits, which is what a histogram keeps.
        let places = if value < 9.995 { 2 } else { usize::from(value < 99.95) };
        f.pad(&format!("{value:.places$} {unit}"))
    }
}

/// A count with its thousands apart.
pub(super) fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut shown = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown
}

impl fmt::Display for Report<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Report { measured, .. } = self;
        self.write_plan(f)?;
        if measured.tally.latency.count() > 0 {
            self.write_latency(f)?;
        }
        self.write_statuses(f)?;
        self.write_errors(f)?;
        self.write_generator(f)?;
        for doubt in self.doubts() {
            writeln!(f, "INVALID: {doubt}")?;
        }
        Ok(())
    }
}

impl Report<'_> {
    fn write_plan(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Report { what, plan, measured } = self;
        let tls = if plan.trust.is_some() { "TLS" } else { "plaintext" };
        writeln!(f, "{what}")?;
        write!(
            f,
            "{} connections, depth {}, {} threads, {tls}",
            plan.connections,
            plan.depth,
            plan.threads()
        )?;
        if let Some(rate) = plan.rate {
            write!(f, ", {rate} requests/s asked for")?;
        }
        let stopped = if measured.was_stopped { ", stopped" } else { "" };
        writeln!(f, "; {:.1} s measured{stopped}\n", measured.seconds)?;
        writeln!(f, "{:>14} answers/s", grouped(measured.rate().round() as u64))
    }

    fn write_latency(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let latency = &self.measured.tally.latency;
        let since = if self.plan.rate.is_some() { "the moment it was due" } else { "sending" };
        writeln!(f, "\nlatency, from {since} to the last byte of the answer")?;
        writeln!(f, "{:>14} mean, {} standard deviation", Span(latency.mean()), Span(latency.stdev()))?;
        for (name, quantile) in QUANTILES {
            writeln!(f, "{:>14} {}", Span(latency.at(quantile) as f64), name.replace('_', "."))?;
        }
        writeln!(f, "{:>14} longest", Span(latency.most() as f64))
    }

    fn write_statuses(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tally = &self.measured.tally;
        writeln!(f, "\nanswers")?;
        for (status, count) in tally.statuses() {
            let kind = match Kind::of(status) {
                Kind::Success => "",
                Kind::Negotiation => " asks for something",
                Kind::Refusal => " not done",
            };
            writeln!(f, "{:>14} {status}{kind}", grouped(count))?;
        }
        if tally.answers == 0 {
            writeln!(f, "{:>14}", "none")?;
        }
        Ok(())
    }

    fn write_errors(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Measured { tally, first_fault, unanswered, .. } = self.measured;
        let counts = [
            (tally.errors.connect, "attempts to connect failed"),
            (tally.errors.reset, "requests lost: the connection was closed or broke"),
            (tally.errors.timeout, "requests given up"),
            (tally.errors.protocol, "requests lost: what came was no answer"),
            (tally.unsent, "requests were due and no connection was free; the time they waited is counted"),
            (*unanswered, "requests without an answer at the end"),
        ];
        let mut text = String::new();
        for (count, what) in counts.into_iter().filter(|(count, _)| *count > 0) {
            writeln!(text, "{:>14} {what}", grouped(count))?;
        }
        if let Some(fault) = first_fault {
            writeln!(text, "{:>14} {fault}", "first:")?;
        }
        if text.is_empty() { Ok(()) } else { write!(f, "\nerrors\n{text}") }
    }

    fn write_generator(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Measured { tally, warmup, connect, cpu_share, .. } = self.measured;
        writeln!(f, "\napart from that")?;
        if connect.count() > 0 {
            let (usual, most) = (Span(connect.at(0.5) as f64), Span(connect.most() as f64));
            writeln!(f, "{usual:>14} to connect (p50), {most} at most")?;
        }
        writeln!(f, "{:>14} answers in the warm-up", grouped(warmup.answers))?;
        if let Some(share) = cpu_share {
            let awake = if self.plan.rate.is_some() { ", waiting for the next request awake" } else { "" };
            writeln!(f, "{:>12.0} % of a core used by the busiest thread here{awake}", share * 100.0)?;
        }
        if tally.lag.count() > 0 {
            let (usual, most) = (Span(tally.lag.at(0.99) as f64), Span(tally.lag.most() as f64));
            writeln!(f, "{usual:>14} late in sending (p99), {most} at most")?;
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "report_tests.rs"]
mod tests;
