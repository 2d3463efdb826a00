//! Counters that one thread writes and any thread reads.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Counts up. Only one thread may write it: then adding is a load and a store, and no bus is locked.
#[derive(Debug, Default)]
pub(in crate::server) struct Counter(AtomicU64);

impl Counter {
    #[inline]
    pub(in crate::server) fn add(&self, amount: u64) {
        self.0.store(self.get().wrapping_add(amount), Ordering::Relaxed);
    }

    #[inline]
    pub(in crate::server) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Counters of a line.
const LINE: usize = 16;

/// What no other core's data shares a cache line with; two lines, since processors fetch them in pairs.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Line([Counter; LINE]);

/// As many counters as there are rows in some table.
#[derive(Debug)]
pub(in crate::server) struct Counters(Box<[Line]>);

impl Counters {
    pub(super) fn new(rows: usize) -> Counters {
        Counters((0..rows.div_ceil(LINE)).map(|_| Line::default()).collect())
    }

    #[inline]
    pub(in crate::server) fn add(&self, row: usize, amount: u64) {
        if let Some(counter) = self.at(row) {
            counter.add(amount);
        }
    }

    pub(super) fn get(&self, row: usize) -> u64 {
        self.at(row).map_or(0, Counter::get)
    }

    #[inline]
    fn at(&self, row: usize) -> Option<&Counter> {
        self.0.get(row / LINE)?.0.get(row % LINE)
    }
}

/// Counters by name, for names that are few and the server's own. A name takes the next free place when it occurs.
#[derive(Debug)]
pub(in crate::server) struct Named(Box<[Place]>);

#[derive(Debug, Default)]
#[repr(align(128))]
struct Place {
    name: OnceLock<Box<str>>,
    count: Counter,
}

impl Named {
    pub(super) fn new(most: usize) -> Named {
        Named((0..most).map(|_| Place::default()).collect())
    }

    /// Counts one of that name; names too many are not counted.
    pub(in crate::server) fn add(&self, name: &str) {
        let known = |place: &&Place| place.name.get_or_init(|| name.into()).as_ref() == name;
        if let Some(place) = self.0.iter().find(known) {
            place.count.add(1);
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, u64)> {
        self.0.iter().map_while(|place| Some((place.name.get()?.as_ref(), place.count.get())))
    }
}

/// How long things took, by upper bounds.
#[derive(Debug)]
pub(in crate::server) struct Histogram {
    /// Of each bucket alone; the last has no bound.
    buckets: Counters,
    sum_ns: Counter,
}

/// The upper bounds of [`Histogram`], in nanoseconds: 1, 2.5 and 5 of each power of ten from 1 µs to 10 s.
pub(super) const BOUNDS_NS: [u64; 22] = [
    1_000,
    2_500,
    5_000,
    10_000,
    25_000,
    50_000,
    100_000,
    250_000,
    500_000,
    1_000_000,
    2_500_000,
    5_000_000,
    10_000_000,
    25_000_000,
    50_000_000,
    100_000_000,
    250_000_000,
    500_000_000,
    1_000_000_000,
    2_500_000_000,
    5_000_000_000,
    10_000_000_000,
];

impl Histogram {
    pub(super) fn new() -> Histogram {
        Histogram { buckets: Counters::new(BOUNDS_NS.len() + 1), sum_ns: Counter::default() }
    }

    pub(in crate::server) fn add(&self, took: Duration) {
        let ns = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        self.buckets.add(BOUNDS_NS.partition_point(|bound| *bound < ns), 1);
        self.sum_ns.add(ns);
    }

    /// The buckets' counts, each alone, and the sum in nanoseconds.
    pub(super) fn read(&self) -> (impl Iterator<Item = u64>, u64) {
        ((0..=BOUNDS_NS.len()).map(|row| self.buckets.get(row)), self.sum_ns.get())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_counted_apart_and_those_outside_are_not() {
        let counters = Counters::new(LINE + 1);
        counters.add(LINE, 2);
        counters.add(LINE, 3);
        counters.add(5 * LINE, 1);
        let counts: Vec<_> = (0..=LINE).map(|row| counters.get(row)).collect();
        assert_eq!((counts.iter().sum::<u64>(), counts[LINE]), (5, 5));
    }

    #[test]
    fn names_keep_their_places_and_too_many_are_let_go() {
        let named = Named::new(2);
        for name in ["b", "a", "b", "c", "a", "b"] {
            named.add(name);
        }
        assert_eq!(named.iter().collect::<Vec<_>>(), [("b", 3), ("a", 2)]);
    }

    #[test]
    fn a_bound_belongs_to_its_bucket() {
        let histogram = Histogram::new();
        for ns in [0, 1_000, 1_001, 10_000_000_000, 10_000_000_001] {
            histogram.add(Duration::from_nanos(ns));
        }
        let (buckets, sum_ns) = histogram.read();
        let buckets: Vec<_> = buckets.collect();
        assert_eq!(buckets[..3], [2, 1, 0]);
        assert_eq!(buckets[21..], [1, 1]);
        assert_eq!(sum_ns, 20_000_002_002);
    }

    #[test]
    fn counters_of_two_cores_share_no_line() {
        assert!(align_of::<Line>() >= 128 && size_of::<Line>().is_multiple_of(128));
        assert!(align_of::<Place>() >= 128 && size_of::<Place>().is_multiple_of(128));
    }
}
