//! Two runs beside each other.

use super::report::{FORMAT, Span, grouped};
use serde_json::Value;
use std::fmt::Write as _;

/// What is compared: its name, where it is, and what it counts.
const ROWS: [(&str, &str, Unit); 8] = [
    ("answers/s", "/rate", Unit::Rate),
    ("mean", "/latency_us/mean", Unit::Time),
    ("p50", "/latency_us/p50", Unit::Time),
    ("p90", "/latency_us/p90", Unit::Time),
    ("p99", "/latency_us/p99", Unit::Time),
    ("p99.9", "/latency_us/p99_9", Unit::Time),
    ("longest", "/latency_us/max", Unit::Time),
    ("connect p50", "/connect_us/p50", Unit::Time),
];

/// What both runs should have in common to be worth comparing.
const SETTINGS: [&str; 8] =
    ["what", "loop", "rate_asked", "connections", "depth", "threads", "tls", "request_bytes"];

#[derive(Clone, Copy)]
enum Unit {
    Rate,
    Time,
}

impl Unit {
    fn shown(self, value: f64) -> String {
        match self {
            Unit::Rate => grouped(value.round() as u64),
            Unit::Time => Span(value * 1e3).to_string(),
        }
    }
}

/// A table of two runs written by [`super::Report::to_json`], and what makes them hard to compare.
///
/// # Errors
/// When one of them is no such run; in one line.
pub fn compare(before: &Value, after: &Value) -> Result<String, String> {
    for (name, run) in [("first", before), ("second", after)] {
        if run.get("format").and_then(Value::as_u64) != Some(FORMAT) {
            return Err(format!("the {name} is no result of `agtp bench --json` in format {FORMAT}"));
        }
    }
    let mut table = format!("{:>14}{:>14}{:>14}{:>10}\n", "", "first", "second", "change");
    for (name, pointer, unit) in ROWS {
        let [first, second] = [before, after].map(|run| run.pointer(pointer).and_then(Value::as_f64));
        let shown = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| unit.shown(value));
        let change = match (first, second) {
            (Some(first), Some(second)) if first > 0.0 => format!("{:+.1} %", (second / first - 1.0) * 100.0),
            _ => "-".to_owned(),
        };
        let _ = writeln!(table, "{name:>14}{:>14}{:>14}{change:>10}", shown(first), shown(second));
    }
    warn(before, after, &mut table);
    Ok(table)
}

fn warn(before: &Value, after: &Value, table: &mut String) {
    for setting in SETTINGS {
        let (first, second) = (&before[setting], &after[setting]);
        if first != second {
            let _ = writeln!(table, "they differ in {setting}: {first}, {second}");
        }
    }
    for (name, run) in [("first", before), ("second", after)] {
        if run.pointer("/generator/valid") != Some(&Value::Bool(true)) {
            let _ = writeln!(table, "the {name} is invalid: its generator was the bottleneck");
        }
        if run["success"] != run["answers"] {
            let _ = writeln!(table, "the {name} has answers that are no success: {}", run["statuses"]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn run(rate: f64, p99: f64) -> Value {
        json!({
            "format": 1, "what": "FIND", "depth": 1, "rate": rate, "latency_us": {"p99": p99}, "connect_us": null,
            "answers": 5, "success": 5, "statuses": {"200": 5}, "generator": {"valid": true},
        })
    }

    #[test]
    fn figures_stand_beside_each_other_with_their_change() {
        let table = compare(&run(200_000.0, 500.0), &run(250_000.0, 450.0)).unwrap();
        assert!(table.contains("     answers/s       200,000       250,000   +25.0 %\n"), "{table}");
        assert!(table.contains("           p99        500 us        450 us   -10.0 %\n"), "{table}");
        assert!(table.contains("   connect p50             -             -         -\n"), "{table}");
        assert_eq!(table.lines().count(), 1 + ROWS.len(), "nothing to warn of: {table}");
    }

    #[test]
    fn what_cannot_be_compared_fairly_is_told() {
        let mut other = run(1.0, 1.0);
        other["depth"] = json!(16);
        other["generator"]["valid"] = json!(false);
        other["success"] = json!(4);
        let table = compare(&run(1.0, 1.0), &other).unwrap();
        for line in ["they differ in depth: 1, 16", "the second is invalid", "the second has answers"] {
            assert!(table.contains(line), "{table}");
        }
    }

    #[test]
    fn other_documents_are_refused() {
        let why = compare(&run(1.0, 1.0), &json!({"format": 2})).unwrap_err();
        assert!(why.contains("the second is no result"), "{why}");
        assert!(compare(&json!([]), &run(1.0, 1.0)).is_err());
    }
}
