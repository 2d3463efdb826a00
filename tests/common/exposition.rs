//! Prometheus text, read strictly by its published rules.

use std::collections::{BTreeMap, BTreeSet};

/// Samples by name with suffix and labels.
#[derive(Debug)]
pub struct Exposition(BTreeMap<(String, Labels), f64>);

type Labels = BTreeMap<String, String>;

impl Exposition {
    /// Reads a text; what breaks a rule is a panic that names the line.
    pub fn read(text: &str) -> Exposition {
        assert!(text.ends_with('\n'), "the last line ends");
        let (mut samples, mut seen) = (BTreeMap::new(), BTreeSet::new());
        let (mut helped, mut family) = (String::new(), (String::new(), String::new()));
        for line in text.lines() {
            if let Some(help) = line.strip_prefix("# HELP ") {
                helped = help.split_once(' ').expect(line).0.to_owned();
            } else if let Some(kind) = line.strip_prefix("# TYPE ") {
                let (name, kind) = kind.split_once(' ').expect(line);
                assert_eq!(name, helped, "{line}");
                assert!(["counter", "gauge", "histogram"].contains(&kind), "{line}");
                assert!(kind != "counter" || name.ends_with("_total"), "{line}");
                assert!(seen.insert(name.to_owned()), "a family comes once: {line}");
                family = (name.to_owned(), kind.to_owned());
            } else {
                let (name, labels, value) = sample(line);
                let suffix = name.strip_prefix(&family.0).expect(line);
                let suffixes: &[&str] =
                    if family.1 == "histogram" { &["_bucket", "_sum", "_count"] } else { &[""] };
                assert!(suffixes.contains(&suffix), "{line}");
                assert!(samples.insert((name, labels), value).is_none(), "a sample comes once: {line}");
            }
        }
        let read = Exposition(samples);
        read.check_histograms();
        read
    }

    /// The sum of the samples of that name with these labels, whatever their others.
    pub fn sum(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        let wanted = |((found, given), _): &(&(String, Labels), &f64)| {
            let has = |(label, value): &(&str, &str)| given.get(*label).is_some_and(|given| given == value);
            found == name && labels.iter().all(has)
        };
        self.0.iter().filter(wanted).map(|(_, value)| value).sum()
    }

    /// The values that a label of that name's samples has.
    pub fn values(&self, name: &str, label: &str) -> BTreeSet<&str> {
        let of = self.0.keys().filter(|(found, _)| found == name);
        of.filter_map(|(_, labels)| labels.get(label).map(String::as_str)).collect()
    }

    fn check_histograms(&self) {
        let mut last: BTreeMap<Labels, Vec<(f64, f64)>> = BTreeMap::new();
        for ((name, labels), value) in &self.0 {
            if name.ends_with("_bucket") {
                let mut labels = labels.clone();
                let bound = labels.remove("le").expect("a bucket has a bound");
                let bound = if bound == "+Inf" { f64::INFINITY } else { bound.parse().unwrap() };
                last.entry(labels).or_default().push((bound, *value));
            }
        }
        for (labels, mut buckets) in last {
            buckets.sort_by(|a, b| a.0.total_cmp(&b.0));
            assert!(buckets.windows(2).all(|pair| pair[0].1 <= pair[1].1), "{labels:?}: {buckets:?}");
            let (bound, all) = *buckets.last().unwrap();
            assert_eq!(bound, f64::INFINITY);
            let count = self.0.iter().find(|((name, given), _)| name.ends_with("_count") && *given == labels);
            assert_eq!(count.map(|(_, count)| *count), Some(all), "{labels:?}");
        }
    }
}

/// `name{label="value",...} number`
fn sample(line: &str) -> (String, Labels, f64) {
    let name_len = line.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == ':')).expect(line);
    let (name, mut rest) = line.split_at(name_len);
    assert!(!name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit()), "{line}");
    let mut labels = Labels::new();
    if let Some(inside) = rest.strip_prefix('{') {
        rest = inside;
        loop {
            let (label, after) = rest.split_once("=\"").expect(line);
            assert!(label.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'), "{line}");
            let (value, after) = quoted(after, line);
            assert!(labels.insert(label.to_owned(), value).is_none(), "{line}");
            if let Some(end) = after.strip_prefix('}') {
                rest = end;
                break;
            }
            rest = after.strip_prefix(',').expect(line);
        }
    }
    let value = rest.strip_prefix(' ').expect(line);
    (name.to_owned(), labels, value.parse().expect(line))
}

/// What stands before the closing quote, and what behind.
fn quoted<'t>(text: &'t str, line: &str) -> (String, &'t str) {
    let (mut value, mut chars) = (String::new(), text.char_indices());
    while let Some((at, char)) = chars.next() {
        match char {
            '"' => return (value, &text[at + 1..]),
            '\\' => value.push(match chars.next().expect(line).1 {
                'n' => '\n',
                plain @ ('\\' | '"') => plain,
                other => panic!("\\{other} in {line}"),
            }),
            char => value.push(char),
        }
    }
    panic!("no closing quote: {line}");
}
