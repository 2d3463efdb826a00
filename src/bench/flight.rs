//! The requests of one connection that have no answer yet.

use std::collections::VecDeque;

/// Requests that were meant to be sent at the same moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Batch {
    at_ns: u64,
    requests: u32,
}

/// Answers come in the order of their requests, so a queue of moments is all that has to be remembered.
#[derive(Debug)]
pub(super) struct Flight {
    batches: VecDeque<Batch>,
    requests: u32,
}

impl Flight {
    /// Room for as many as may be under way, so that nothing is allocated later.
    pub(super) fn with_room(requests: u32) -> Flight {
        Flight { batches: VecDeque::with_capacity(requests as usize), requests: 0 }
    }

    /// How many there are.
    pub(super) fn len(&self) -> u32 {
        self.requests
    }

    /// The moment of the oldest.
    pub(super) fn oldest(&self) -> Option<u64> {
        self.batches.front().map(|batch| batch.at_ns)
    }

    #[inline]
    pub(super) fn push(&mut self, at_ns: u64, requests: u32) {
        self.requests += requests;
        match self.batches.back_mut() {
            Some(last) if last.at_ns == at_ns => last.requests += requests,
            _ => self.batches.push_back(Batch { at_ns, requests }),
        }
    }

    /// Takes the oldest `answers`, a moment at a time; returns how many there were not.
    #[inline]
    pub(super) fn take(&mut self, mut answers: u32, mut each: impl FnMut(u64, u32)) -> u32 {
        while let Some(oldest) = self.batches.front_mut().filter(|_| answers > 0) {
            let taken = oldest.requests.min(answers);
            each(oldest.at_ns, taken);
            oldest.requests -= taken;
            let is_done = oldest.requests == 0;
            answers -= taken;
            self.requests -= taken;
            if is_done {
                self.batches.pop_front();
            }
        }
        answers
    }

    /// Forgets them; returns how many there were.
    pub(super) fn clear(&mut self) -> u32 {
        self.batches.clear();
        std::mem::take(&mut self.requests)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_those_of_the_oldest_requests() {
        let mut flight = Flight::with_room(4);
        for (at, requests) in [(10, 2), (10, 1), (20, 1)] {
            flight.push(at, requests);
        }
        assert_eq!((flight.len(), flight.oldest()), (4, Some(10)));
        let mut taken = Vec::new();
        assert_eq!(flight.take(2, |at, requests| taken.push((at, requests))), 0);
        assert_eq!(flight.take(3, |at, requests| taken.push((at, requests))), 1, "one too many");
        assert_eq!(taken, [(10, 2), (10, 1), (20, 1)]);
        assert_eq!((flight.len(), flight.oldest()), (0, None));
        flight.push(30, 3);
        assert_eq!((flight.clear(), flight.len(), flight.oldest()), (3, 0, None));
    }
}
