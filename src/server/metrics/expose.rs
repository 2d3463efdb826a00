//! The text that Prometheus reads, version 0.0.4 of its exposition format.

use super::counter::{BOUNDS_NS, Counter, Histogram};
use super::{CoreMetrics, Log, Metrics};
use crate::wire::Status;
use std::fmt::Write as _;
use std::time::{Duration, SystemTime};

/// What the text is, for `Content-Type`.
pub(in crate::server) const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// How families are told to go up and down.
#[derive(Clone, Copy)]
enum Kind {
    Counter,
    Gauge,
    Histogram,
}

/// A count that each core has one of: name, kind, help, and where it is.
type Single = (&'static str, Kind, &'static str, fn(&CoreMetrics) -> u64);

const SINGLES: [Single; 7] = [
    ("agtp_connections_open", Kind::Gauge, "Connections open now.", |core| {
        difference(&core.accepted, &core.closed)
    }),
    ("agtp_connections_accepted_total", Kind::Counter, "Connections accepted.", |core| core.accepted.get()),
    (
        "agtp_accept_pauses_total",
        Kind::Counter,
        "Times that accepting paused for want of file descriptors or memory.",
        |core| core.accept_pauses.get(),
    ),
    ("agtp_requests_awaiting", Kind::Gauge, "Requests taken whose answer is to come.", |core| {
        difference(&core.awaited, &core.awaited_over)
    }),
    ("agtp_received_bytes_total", Kind::Counter, "Bytes of requests received, as plaintext.", |core| {
        core.received.get()
    }),
    ("agtp_sent_bytes_total", Kind::Counter, "Bytes of answers sent, as plaintext.", |core| core.sent.get()),
    (
        "agtp_core_restarts_total",
        Kind::Counter,
        "Failures of a core's loop, which then started anew.",
        |core| core.restarts.get(),
    ),
];

impl Metrics {
    /// Everything, as Prometheus reads it.
    pub fn expose(&self) -> String {
        let mut text = Text(String::with_capacity(4096));
        text.family("agtp_build_info", Kind::Gauge, "The version that runs; always 1.");
        text.sample("agtp_build_info", &[("version", env!("CARGO_PKG_VERSION"))], 1);
        let started = self.started.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        text.family("process_start_time_seconds", Kind::Gauge, "When it started, since the Unix epoch.");
        text.seconds("process_start_time_seconds", &[], started);
        for (name, kind, help, count) in SINGLES {
            text.family(name, kind, help);
            self.each(|index, core| text.sample(name, &[("core", index)], count(core)));
        }
        text.family(
            "agtp_log_dropped_total",
            Kind::Counter,
            "Log lines let go: too many at once, or no place left.",
        );
        text.sample("agtp_log_dropped_total", &[], self.log.as_ref().map_or(0, Log::dropped));
        self.connections(&mut text);
        self.requests(&mut text);
        self.durations(&mut text);
        text.0
    }

    fn connections(&self, text: &mut Text) {
        const REFUSED: &str = "agtp_connections_refused_total";
        text.family(REFUSED, Kind::Counter, "Connections closed as soon as accepted, by reason.");
        self.each(|index, core| {
            text.sample(REFUSED, &[("core", index), ("reason", "limit")], core.over_limit.get());
            let of_address = core.over_address_limit.get();
            text.sample(REFUSED, &[("core", index), ("reason", "address-limit")], of_address);
        });
        const HANDSHAKES: &str = "agtp_tls_handshakes_total";
        text.family(HANDSHAKES, Kind::Counter, "TLS handshakes ended, by result.");
        self.each(|index, core| {
            for (result, count) in [
                ("full", &core.handshakes_full),
                ("resumed", &core.handshakes_resumed),
                ("failed", &core.handshakes_failed),
            ] {
                text.sample(HANDSHAKES, &[("core", index), ("result", result)], count.get());
            }
        });
    }

    /// Statuses and codes appear once they occur; endpoints are all there, over all cores.
    fn requests(&self, text: &mut Text) {
        const ANSWERS: &str = "agtp_answers_total";
        text.family(ANSWERS, Kind::Counter, "Answers, by status.");
        self.each(|index, core| {
            for status in Status::ALL {
                let count = core.statuses.get(status.row());
                if count > 0 {
                    let code = status.code().to_string();
                    text.sample(ANSWERS, &[("core", index), ("status", &code)], count);
                }
            }
        });
        const REFUSALS: &str = "agtp_refusals_total";
        text.family(REFUSALS, Kind::Counter, "Answers other than success, by the code in their body.");
        self.each(|index, core| {
            for (code, count) in core.codes.iter() {
                text.sample(REFUSALS, &[("core", index), ("code", code)], count);
            }
        });
        const ENDPOINTS: &str = "agtp_endpoint_answers_total";
        text.family(
            ENDPOINTS,
            Kind::Counter,
            "Answers to requests that reached an endpoint, whatever they say.",
        );
        for (row, (method, path)) in self.endpoints.iter().enumerate() {
            let count = self.cores.iter().map(|core| core.endpoints.get(row)).sum();
            text.sample(ENDPOINTS, &[("method", method), ("path", path)], count);
        }
    }

    fn durations(&self, text: &mut Text) {
        const NAME: &str = "agtp_request_duration_seconds";
        let help = "From taking a whole request up to having its answer: all that were awaited; of the others 1 in 16, \
                    or all while there is an access log.";
        text.family(NAME, Kind::Histogram, help);
        self.each(|index, core| {
            text.histogram(NAME, &[("core", index), ("answer", "awaited")], &core.late);
            text.histogram(NAME, &[("core", index), ("answer", "inline")], &core.inline);
        });
    }

    fn each(&self, mut with: impl FnMut(&str, &CoreMetrics)) {
        for (index, core) in self.cores.iter().enumerate() {
            with(&index.to_string(), core);
        }
    }
}

/// What is left of `begun`. The end is read first: what ends in between is counted as still there, and not as less than
/// nothing.
fn difference(begun: &Counter, ended: &Counter) -> u64 {
    let ended = ended.get();
    begun.get().saturating_sub(ended)
}

type Labels<'a> = &'a [(&'a str, &'a str)];

struct Text(String);

impl Text {
    fn family(&mut self, name: &str, kind: Kind, help: &str) {
        let kind = match kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        };
        self.0.extend(["# HELP ", name, " ", help, "\n# TYPE ", name, " ", kind, "\n"]);
    }

    fn sample(&mut self, name: &str, labels: Labels<'_>, count: u64) {
        self.name(name, "", labels, None);
        // A String takes whatever is written to it.
        let _ = writeln!(self.0, " {count}");
    }

    fn seconds(&mut self, name: &str, labels: Labels<'_>, time: Duration) {
        self.name(name, "", labels, None);
        let _ = writeln!(self.0, " {}", decimal(time));
    }

    fn histogram(&mut self, name: &str, labels: Labels<'_>, histogram: &Histogram) {
        let (buckets, sum_ns) = histogram.read();
        let bounds = BOUNDS_NS.map(|ns| decimal(Duration::from_nanos(ns)));
        let bounds = bounds.iter().map(String::as_str).chain(["+Inf"]);
        let mut total = 0;
        for (bound, count) in bounds.zip(buckets) {
            total += count;
            self.name(name, "_bucket", labels, Some(("le", bound)));
            let _ = writeln!(self.0, " {total}");
        }
        self.name(name, "_sum", labels, None);
        let _ = writeln!(self.0, " {}", decimal(Duration::from_nanos(sum_ns)));
        self.name(name, "_count", labels, None);
        let _ = writeln!(self.0, " {total}");
    }

    fn name(&mut self, name: &str, suffix: &str, labels: Labels<'_>, more: Option<(&str, &str)>) {
        self.0.extend([name, suffix]);
        let mut mark = '{';
        for (label, value) in labels.iter().copied().chain(more) {
            self.0.push(mark);
            self.0.extend([label, "=\""]);
            self.0.extend(value.chars().map(escaped));
            self.0.push('"');
            mark = ',';
        }
        if mark == ',' {
            self.0.push('}');
        }
    }
}

/// A character of a label's value.
fn escaped(char: char) -> std::borrow::Cow<'static, str> {
    match char {
        '\\' => "\\\\".into(),
        '"' => "\\\"".into(),
        '\n' => "\\n".into(),
        char => char.to_string().into(),
    }
}

/// Seconds with as many digits as it takes.
fn decimal(time: Duration) -> String {
    let text = format!("{}.{:09}", time.as_secs(), time.subsec_nanos());
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_exact() {
        for (ns, text) in [(1_000, "0.000001"), (2_500, "0.0000025"), (10_000_000_000, "10"), (0, "0")] {
            assert_eq!(decimal(Duration::from_nanos(ns)), text);
        }
    }

    #[test]
    fn a_label_s_value_cannot_end_itself() {
        let mut text = Text(String::new());
        text.sample("a", &[("b", "x\"} 1\n\\")], 2);
        assert_eq!(text.0, "a{b=\"x\\\"} 1\\n\\\\\"} 2\n");
    }

    #[test]
    fn buckets_hold_what_is_in_those_before_them() {
        let metrics = Metrics::new(1, None, None);
        metrics.core(0).inline.add(Duration::from_micros(3));
        metrics.core(0).inline.add(Duration::from_secs(60));
        let text = metrics.expose();
        let inline = |bound: &str| {
            let start = format!(
                "agtp_request_duration_seconds_bucket{{core=\"0\",answer=\"inline\",le=\"{bound}\"}} "
            );
            text.lines().find_map(|line| line.strip_prefix(&start)).unwrap().to_owned()
        };
        assert_eq!(["0.0000025", "0.000005", "10", "+Inf"].map(inline), ["0", "1", "1", "2"]);
        assert!(text.contains("agtp_request_duration_seconds_sum{core=\"0\",answer=\"inline\"} 60.000003\n"));
    }
}
