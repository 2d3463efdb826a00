//! One thread's part of a run, without I/O: bytes and times are arguments.
//!
//! [`Core::start`] begins the run. From then on, in any order: [`Core::handle_open`], [`Core::handle_received`] and
//! [`Core::handle_lost`] for what happens to a connection, [`Core::handle_turn`] once for each turn of the caller's loop.
//! After each of them [`Core::poll_write`] says what a connection has to send, and [`Core::handle_written`] is told how
//! much of it was taken. [`Core::poll_assigned`] names connections that were given requests by a turn.
//!
//! Times are nanoseconds since a moment of the caller's choice.

use super::flight::Flight;
use super::pace::Pace;
use super::scan::{Protocol, ScanFault, Scanner};
use super::tally::{Loss, Tally};
use hdrhistogram::CreationError;

/// Bytes of repeated requests, unless one alone is longer.
const REPEATED_BYTES: usize = 256 * 1024;

/// A request many times over, so that many are sent with one write.
#[derive(Debug)]
pub(super) struct Repeated {
    bytes: Vec<u8>,
    request_len: usize,
}

impl Repeated {
    pub(super) fn new(request: &[u8], depth: u32) -> Repeated {
        let fitting = REPEATED_BYTES / request.len().max(1);
        let times = (depth as usize).min(fitting).max(1);
        Repeated { bytes: request.repeat(times), request_len: request.len().max(1) }
    }

    /// What to send next when `unsent` bytes are left of a row of requests.
    fn next(&self, unsent: usize) -> &[u8] {
        let into_request = (self.request_len - unsent % self.request_len) % self.request_len;
        let rest = self.bytes.get(into_request..).unwrap_or_default();
        rest.get(..unsent).unwrap_or(rest)
    }
}

/// When requests are given to connections.
#[derive(Debug)]
pub(super) enum Load {
    /// As many as were answered.
    Closed,
    /// When they are due.
    Open(Pace),
}

#[derive(Debug)]
struct Link {
    scanner: Scanner,
    flight: Flight,
    /// Bytes of its requests that were not written.
    unsent: usize,
    is_open: bool,
}

/// See the module's documentation.
#[derive(Debug)]
pub(super) struct Core {
    repeated: Repeated,
    depth: u32,
    links: Vec<Link>,
    /// `None` before the start and after the end.
    load: Option<Load>,
    /// Of the phase under way.
    tally: Tally,
    /// Open connections that have room for a request.
    free: usize,
    /// The connection whose turn it is to be given a request.
    cursor: usize,
    /// Until when all connections were busy: what is late because of that is the server's doing.
    busy_until_ns: u64,
    assigned: Vec<usize>,
}

impl Core {
    /// `links` connections with up to `depth` requests each, none of them open yet.
    pub(super) fn new(
        repeated: Repeated,
        links: usize,
        depth: u32,
        protocol: Protocol,
    ) -> Result<Core, CreationError> {
        let link = |_| Link {
            scanner: Scanner::new(protocol),
            flight: Flight::with_room(depth),
            unsent: 0,
            is_open: false,
        };
        Ok(Core {
            repeated,
            depth,
            links: (0..links).map(link).collect(),
            load: None,
            tally: Tally::new()?,
            free: 0,
            cursor: 0,
            busy_until_ns: 0,
            assigned: Vec::with_capacity(links),
        })
    }

    /// Begins to send.
    pub(super) fn start(&mut self, load: Load, now_ns: u64) {
        self.load = Some(load);
        self.busy_until_ns = now_ns;
        for link in 0..self.links.len() {
            if self.links.get(link).is_some_and(|link| link.is_open) {
                self.fill(link, now_ns);
            }
        }
        self.handle_turn(now_ns);
    }

    /// Ends the phase: what follows counts for the next one.
    pub(super) fn next_phase(&mut self) -> Result<Tally, CreationError> {
        Ok(std::mem::replace(&mut self.tally, Tally::new()?))
    }

    /// No request is sent from here on. Those that were due and had no connection count with the time they had waited,
    /// or a server that stands still at the end would look the better for it.
    pub(super) fn end(&mut self, now_ns: u64) {
        if let Some(Load::Open(mut pace)) = self.load.take() {
            pace.end(now_ns);
            while let Some(at) = pace.take(now_ns) {
                self.tally.latency.record(now_ns - at, 1);
                self.tally.unsent += 1;
            }
        }
    }

    /// Requests under way.
    pub(super) fn in_flight(&self) -> u64 {
        self.links.iter().map(|link| u64::from(link.flight.len())).sum()
    }

    /// What was counted in the phase so far.
    pub(super) fn tally(&self) -> &Tally {
        &self.tally
    }

    /// When the next request is due, if that does not depend on answers.
    pub(super) fn next_due(&self) -> Option<u64> {
        match &self.load {
            Some(Load::Open(pace)) if self.free > 0 => pace.next(),
            _ => None,
        }
    }

    /// Whether a connection has waited for an answer since before `moment_ns`.
    pub(super) fn is_overdue(&self, link: usize, moment_ns: u64) -> bool {
        let oldest = self.links.get(link).and_then(|link| link.flight.oldest());
        oldest.is_some_and(|oldest| oldest < moment_ns)
    }

    /// A connection can be used.
    pub(super) fn handle_open(&mut self, index: usize, now_ns: u64) {
        let Some(link) = self.links.get_mut(index) else { return };
        link.is_open = true;
        if self.free == 0 {
            self.busy_until_ns = now_ns;
        }
        self.free += 1;
        self.fill(index, now_ns);
    }

    /// In the closed loop a connection always has its requests.
    fn fill(&mut self, index: usize, now_ns: u64) {
        if matches!(self.load, Some(Load::Closed)) {
            self.give(index, now_ns, self.depth);
        }
    }

    #[inline]
    fn give(&mut self, index: usize, at_ns: u64, requests: u32) {
        let Some(link) = self.links.get_mut(index) else { return };
        let had_room = link.flight.len() < self.depth;
        link.flight.push(at_ns, requests);
        link.unsent += requests as usize * self.repeated.request_len;
        if had_room && link.flight.len() >= self.depth {
            self.free -= 1;
        }
    }

    /// A connection has received something.
    ///
    /// # Errors
    /// When it is no answer, or one that nobody asked for: the connection is to be given up.
    pub(super) fn handle_received(
        &mut self,
        index: usize,
        bytes: &[u8],
        now_ns: u64,
    ) -> Result<(), ScanFault> {
        let Some(link) = self.links.get_mut(index) else { return Ok(()) };
        let tally = &mut self.tally;
        let mut answers = 0;
        let scanned = link.scanner.feed(bytes, &mut |status| {
            answers += 1;
            tally.count_status(status);
        });
        let was_full = link.flight.len() >= self.depth;
        let latency = &mut tally.latency;
        let unasked = link.flight.take(answers, |at_ns, requests| {
            latency.record(now_ns.saturating_sub(at_ns), requests.into());
        });
        if was_full && answers > unasked {
            if self.free == 0 {
                self.busy_until_ns = now_ns;
            }
            self.free += 1;
        }
        tally.answers += u64::from(answers);
        tally.bytes += bytes.len() as u64;
        scanned?;
        if unasked > 0 || (link.flight.len() == 0 && link.scanner.is_within()) {
            return Err(ScanFault::unasked(bytes));
        }
        if answers > 0 && matches!(self.load, Some(Load::Closed)) {
            self.give(index, now_ns, answers);
        }
        Ok(())
    }

    /// A connection is of no use any more; it may be opened again.
    pub(super) fn handle_lost(&mut self, index: usize, loss: Loss) {
        let Some(link) = self.links.get_mut(index) else { return };
        if link.is_open && link.flight.len() < self.depth {
            self.free -= 1;
        }
        let lost = u64::from(link.flight.clear());
        // What failed before any request was lost is one failure; a connection closed in peace is none.
        let least = u64::from(matches!(loss, Loss::Connect | Loss::Protocol));
        self.tally.errors.count(loss, lost.max(least));
        link.is_open = false;
        link.unsent = 0;
        link.scanner.reset();
    }

    /// Gives the requests that are due to connections, in turns.
    pub(super) fn handle_turn(&mut self, now_ns: u64) {
        while self.free > 0 {
            let Some(at_ns) = self.take_due(now_ns) else { return };
            self.tally.lag.record(now_ns.saturating_sub(at_ns.max(self.busy_until_ns)), 1);
            self.assign(at_ns);
        }
    }

    fn take_due(&mut self, now_ns: u64) -> Option<u64> {
        match &mut self.load {
            Some(Load::Open(pace)) => pace.take(now_ns),
            _ => None,
        }
    }

    /// Gives a request to the next connection that has room, of which there is one.
    fn assign(&mut self, at_ns: u64) {
        for _ in 0..self.links.len() {
            let index = self.cursor;
            self.cursor = (index + 1) % self.links.len();
            let Some(link) = self.links.get(index) else { return };
            if link.is_open && link.flight.len() < self.depth {
                if link.unsent == 0 {
                    self.assigned.push(index);
                }
                return self.give(index, at_ns, 1);
            }
        }
    }

    /// A connection that was given requests by a turn.
    pub(super) fn poll_assigned(&mut self) -> Option<usize> {
        self.assigned.pop()
    }

    /// What a connection has to send.
    #[inline]
    pub(super) fn poll_write(&self, index: usize) -> &[u8] {
        self.links.get(index).map_or(&[], |link| self.repeated.next(link.unsent))
    }

    /// So much of it was taken.
    #[inline]
    pub(super) fn handle_written(&mut self, index: usize, bytes: usize) {
        if let Some(link) = self.links.get_mut(index) {
            link.unsent = link.unsent.saturating_sub(bytes);
        }
    }
}

#[cfg(test)]
#[path = "core_tests.rs"]
mod tests;
