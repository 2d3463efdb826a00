//! What was counted.

use hdrhistogram::{CreationError, Histogram};

/// Nanoseconds a histogram tells apart: an hour, with three digits.
const MOST_NS: u64 = 3_600_000_000_000;

/// Statuses have three digits.
const STATUSES: usize = 1000;

/// Times, in nanoseconds. What is beyond an hour counts as an hour.
#[derive(Clone, Debug)]
pub struct Times(Histogram<u64>);

impl Times {
    pub(super) fn new() -> Result<Times, CreationError> {
        Histogram::new_with_max(MOST_NS, 3).map(Times)
    }

    #[inline]
    pub(super) fn record(&mut self, ns: u64, count: u64) {
        self.0.saturating_record_n(ns, count);
    }

    pub(super) fn add(&mut self, other: &Times) {
        // Both have the same bounds, which is all that could be wrong.
        let _ = self.0.add(&other.0);
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.0.len()
    }

    /// The time that `quantile` of them do not exceed, in nanoseconds; 0 when there are none.
    pub fn at(&self, quantile: f64) -> u64 {
        self.0.value_at_quantile(quantile)
    }

    /// The shortest, in nanoseconds.
    pub fn least(&self) -> u64 {
        self.0.min()
    }

    /// The longest, in nanoseconds, to three digits.
    pub fn most(&self) -> u64 {
        self.0.max()
    }

    /// Their mean, in nanoseconds.
    pub fn mean(&self) -> f64 {
        self.0.mean()
    }

    /// How far they lie from the mean, in nanoseconds.
    pub fn stdev(&self) -> f64 {
        self.0.stdev()
    }
}

/// Requests without an answer, by what became of them; and connections that did not come about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Errors {
    /// Attempts to connect that failed.
    pub connect: u64,
    /// Requests whose connection was closed or broke.
    pub reset: u64,
    /// Requests that were given up.
    pub timeout: u64,
    /// Requests on connections over which something came that was no answer.
    pub protocol: u64,
}

/// Why a connection was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Loss {
    Connect,
    Reset,
    Timeout,
    Protocol,
}

impl Errors {
    pub(super) fn count(&mut self, loss: Loss, requests: u64) {
        let counter = match loss {
            Loss::Connect => &mut self.connect,
            Loss::Reset => &mut self.reset,
            Loss::Timeout => &mut self.timeout,
            Loss::Protocol => &mut self.protocol,
        };
        *counter += requests;
    }

    fn add(&mut self, other: &Errors) {
        self.connect += other.connect;
        self.reset += other.reset;
        self.timeout += other.timeout;
        self.protocol += other.protocol;
    }

    /// All of them.
    pub const fn total(&self) -> u64 {
        self.connect + self.reset + self.timeout + self.protocol
    }
}

/// What one phase of a run came to, on one thread or on all.
#[derive(Clone, Debug)]
pub struct Tally {
    /// From the moment a request was meant to be sent to the last byte of its answer.
    pub latency: Times,
    /// How long after the moment it was meant to a request was sent, as far as that was the sender's fault. Of the open
    /// loop only.
    pub lag: Times,
    statuses: Box<[u64]>,
    /// Answers.
    pub answers: u64,
    /// Bytes of answers.
    pub bytes: u64,
    /// Requests that got none.
    pub errors: Errors,
    /// Requests of the open loop that were due and could not be sent because no connection was free.
    pub unsent: u64,
}

impl Tally {
    pub(super) fn new() -> Result<Tally, CreationError> {
        Ok(Tally {
            latency: Times::new()?,
            lag: Times::new()?,
            statuses: vec![0; STATUSES].into(),
            answers: 0,
            bytes: 0,
            errors: Errors::default(),
            unsent: 0,
        })
    }

    #[inline]
    pub(super) fn count_status(&mut self, status: u16) {
        if let Some(counter) = self.statuses.get_mut(usize::from(status)) {
            *counter += 1;
        }
    }

    /// Each status that was answered, and how often.
    pub fn statuses(&self) -> impl Iterator<Item = (u16, u64)> {
        (0..).zip(self.statuses.iter().copied()).filter(|(_, count)| *count > 0)
    }

    /// How many answers have a status of some kind.
    pub fn count_of(&self, kind: Kind) -> u64 {
        self.statuses().filter(|(status, _)| Kind::of(*status) == kind).map(|(_, count)| count).sum()
    }

    pub(super) fn add(&mut self, other: &Tally) {
        self.latency.add(&other.latency);
        self.lag.add(&other.lag);
        for (sum, count) in self.statuses.iter_mut().zip(&other.statuses) {
            *sum += count;
        }
        self.answers += other.answers;
        self.bytes += other.bytes;
        self.errors.add(&other.errors);
        self.unsent += other.unsent;
    }
}

/// What a status means to somebody who measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// 200, 202 and 204: the request was done.
    Success,
    /// 261, 262 and 263: something is asked back. Neither done nor failed.
    Negotiation,
    /// Any other.
    Refusal,
}

impl Kind {
    /// The kind of a status.
    pub const fn of(status: u16) -> Kind {
        match status {
            200 | 202 | 204 => Kind::Success,
            260..=269 => Kind::Negotiation,
            _ => Kind::Refusal,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn success_is_that_something_was_done() {
        for (status, kind) in [
            (200, Kind::Success),
            (202, Kind::Success),
            (204, Kind::Success),
            (201, Kind::Refusal),
            (261, Kind::Negotiation),
            (262, Kind::Negotiation),
            (263, Kind::Negotiation),
            (422, Kind::Refusal),
            (500, Kind::Refusal),
        ] {
            assert_eq!(Kind::of(status), kind, "{status}");
        }
    }

    #[test]
    fn tallies_of_threads_add_up() {
        let mut sum = Tally::new().unwrap();
        for times in [1, 2] {
            let mut part = Tally::new().unwrap();
            part.latency.record(1000 * times, 10);
            part.lag.record(5, 1);
            (0..10).for_each(|_| part.count_status(200));
            part.count_status(262);
            part.errors.count(Loss::Reset, 3);
            (part.answers, part.bytes, part.unsent) = (11, 100, 4);
            sum.add(&part);
        }
        assert_eq!(sum.statuses().collect::<Vec<_>>(), [(200, 20), (262, 2)]);
        assert_eq!((sum.latency.count(), sum.latency.least(), sum.latency.at(0.5)), (20, 1000, 1000));
        assert_eq!((sum.count_of(Kind::Success), sum.count_of(Kind::Negotiation)), (20, 2));
        assert_eq!((sum.answers, sum.bytes, sum.unsent, sum.lag.count()), (22, 200, 8, 2));
        assert_eq!((sum.errors.reset, sum.errors.total()), (6, 6));
    }

    #[test]
    fn more_than_an_hour_is_an_hour() {
        let mut times = Times::new().unwrap();
        times.record(u64::MAX, 1);
        assert!(times.most() >= MOST_NS && times.most() < MOST_NS / 1000 * 1001);
    }
}
