//! When requests are meant to be sent, where that does not depend on answers.

/// Requests at a rate: the n-th is due n intervals after the start, whatever became of those before.
#[derive(Clone, Debug)]
pub(super) struct Pace {
    /// Of the request that is due first.
    start_ns: u64,
    interval_ns: f64,
    sent: u64,
    /// Nothing is due from here on.
    end_ns: u64,
}

impl Pace {
    /// `rate` requests a second, of which this is the share of thread `index` of `threads`.
    pub(super) fn new(rate: f64, index: usize, threads: usize, start_ns: u64, end_ns: u64) -> Pace {
        let interval_ns = 1e9 / rate;
        let offset_ns = interval_ns * index as f64;
        Pace {
            start_ns: start_ns.saturating_add(offset_ns as u64),
            interval_ns: interval_ns * threads as f64,
            sent: 0,
            end_ns,
        }
    }

    /// When the next request is meant to be sent; `None` when there is none left.
    #[inline]
    pub(super) fn next(&self) -> Option<u64> {
        let at = self.start_ns.saturating_add((self.sent as f64 * self.interval_ns) as u64);
        (at < self.end_ns).then_some(at)
    }

    /// Takes the next request, if it is due.
    #[inline]
    pub(super) fn take(&mut self, now_ns: u64) -> Option<u64> {
        let at = self.next().filter(|at| *at <= now_ns)?;
        self.sent += 1;
        Some(at)
    }

    /// Nothing more is due from `end_ns` on.
    pub(super) fn end(&mut self, end_ns: u64) {
        self.end_ns = self.end_ns.min(end_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_due_at_even_intervals_until_the_end() {
        let mut pace = Pace::new(1000.0, 0, 1, 500, 3_000_500);
        assert_eq!(pace.take(499), None);
        let due: Vec<u64> = std::iter::from_fn(|| pace.take(u64::MAX)).collect();
        assert_eq!(due, [500, 1_000_500, 2_000_500]);
        assert_eq!(pace.next(), None);
    }

    #[test]
    fn threads_share_a_rate_and_take_turns() {
        let mut all: Vec<u64> = (0..3)
            .flat_map(|index| {
                let mut pace = Pace::new(300.0, index, 3, 0, 1_000_000_000);
                std::iter::from_fn(move || pace.take(u64::MAX)).collect::<Vec<_>>()
            })
            .collect();
        all.sort_unstable();
        assert_eq!(all.len(), 300);
        assert!(all.windows(2).all(|pair| (3_333_332..=3_333_335).contains(&(pair[1] - pair[0]))));
    }

    #[test]
    fn an_early_end_leaves_out_what_was_not_due() {
        let mut pace = Pace::new(1000.0, 0, 1, 0, u64::MAX);
        pace.end(1_500_000);
        assert_eq!(std::iter::from_fn(|| pace.take(u64::MAX)).count(), 2);
    }
}
