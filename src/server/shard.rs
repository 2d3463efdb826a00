//! One core's part of the server: its connections, and the body of the loop that both runtimes run.
//!
//! A turn collects readiness, then drives each connection that has something to do, once. A connection that could go on
//! is put behind the others, so that a client that always sends does not starve them.

use super::buffers::Buffers;
use super::config::Terms;
use super::connection::{Connection, Wait};
use super::control::{Control, Full, Place};
use super::driver::{Driver, Outcome, Peer};
use super::gate::{Gate, WAKER};
use super::metrics::Counted;
use super::service::Service;
use super::slots::{NEVER, Slots};
use super::tls::{Records, Tls};
use super::upstream::{Installed, REACTOR};
use super::wake::WakeList;
use crate::engine::Now;
use mio::net::TcpStream;
use mio::{Events, Interest, Registry, Token};
use std::collections::VecDeque;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

/// Events taken from the kernel at once.
const EVENTS: usize = 1024;

/// Deadlines are looked at this often, or at a quarter of the shortest time-out.
const TICK: Duration = Duration::from_secs(1);

/// A stopping server does not wait longer for a client to close its idle connection.
const STOPPING_LINGER: Duration = Duration::from_secs(1);

/// What a turn came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// Nothing was ready: wait.
    Idle,
    /// There was work, more may be ready.
    Busy,
    /// The server stops and this core has finished.
    Finished,
}

/// See the module's documentation.
pub(super) struct Shard<'g, S: Service> {
    gate: &'g mut Gate,
    events: Events,
    slots: Slots<Peer<S::Session>>,
    /// Connections to drive.
    queue: VecDeque<u32>,
    expired: Vec<u32>,
    wakes: Arc<WakeList>,
    woken: Vec<u32>,
    /// What handlers await besides their connections.
    reactor: Installed,
    reactor_woken: bool,
    driver: Driver<S>,
    control: Arc<Control>,
    terms: Terms,
    clock: Clock,
    tick: Duration,
    next_tick: Instant,
    /// When a stopping server gives up on what is in flight.
    grace_ends: Option<Instant>,
}

impl<'g, S: Service> Shard<'g, S> {
    pub(super) fn new(
        core: usize,
        gate: &'g mut Gate,
        service: S,
        control: Arc<Control>,
        terms: Terms,
    ) -> io::Result<Self> {
        let clock = Clock::start();
        let tick = TICK.min(terms.timeouts.shortest() / 4).max(Duration::from_millis(1));
        gate.reset();
        let wakes = WakeList::new(Arc::clone(&control), core);
        Ok(Shard {
            reactor: Installed::new(gate.poll.registry(), &wakes)?,
            reactor_woken: false,
            gate,
            events: Events::with_capacity(EVENTS),
            slots: Slots::new(),
            queue: VecDeque::new(),
            expired: Vec::new(),
            wakes,
            woken: Vec::new(),
            driver: Driver {
                buffers: Buffers::new(service.request_limit()),
                records: Records::default(),
                service,
                now: clock.unix,
                metrics: control.metrics.core(core),
            },
            terms,
            control,
            next_tick: clock.now + tick,
            tick,
            clock,
            grace_ends: None,
        })
    }

    /// Something to watch for readiness instead of blocking in [`turn`](Self::turn).
    #[cfg(target_os = "linux")]
    pub(super) fn registry(&self) -> &Registry {
        self.gate.poll.registry()
    }

    /// How long nothing needs to be done unless an event comes; `None` for ever.
    pub(super) fn patience(&self) -> Option<Duration> {
        if !self.queue.is_empty() || self.reactor_woken {
            return Some(Duration::ZERO);
        }
        let tick = (!self.slots.is_empty()).then_some(self.next_tick);
        let due = [tick, self.gate.due(), self.grace_ends, self.reactor.next_deadline()]
            .into_iter()
            .flatten()
            .min()?;
        Some(due.saturating_duration_since(Instant::now()))
    }

    /// Waits for events up to `patience` and does what they ask for.
    pub(super) fn turn(&mut self, patience: Option<Duration>) -> io::Result<Turn> {
        match self.gate.poll.poll(&mut self.events, patience) {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
            _ => self.clock.read(),
        }
        self.driver.now = self.clock.unix;
        self.note_events();
        self.reactor.fire(self.clock.now);
        self.note_wakes();
        if std::mem::take(&mut self.reactor_woken) {
            self.reactor.run();
            self.note_wakes();
        }
        self.keep_gate();
        let busy = !self.queue.is_empty();
        for _ in 0..self.queue.len() {
            if let Some(index) = self.queue.pop_front() {
                self.drive(index, false);
            }
        }
        self.keep_deadlines();
        // What was woken in this turn is due in the next, before the loop waits.
        self.note_wakes();
        Ok(match self.grace_ends {
            Some(end) if self.slots.is_empty() || end <= self.clock.now => Turn::Finished,
            _ if busy => Turn::Busy,
            _ => Turn::Idle,
        })
    }

    fn note_events(&mut self) {
        for event in &self.events {
            let token = event.token();
            if token == WAKER || self.gate.note(token) || self.reactor.note(event) {
                continue;
            }
            let index = token.0 as u32;
            if let Some(peer) = self.slots.get_mut(index) {
                peer.note(event);
                enqueue(&mut self.queue, index, peer);
            }
        }
    }

    fn note_wakes(&mut self) {
        self.wakes.drain(&mut self.woken);
        for index in self.woken.drain(..) {
            self.reactor_woken |= index == REACTOR;
            if let Some(peer) = self.slots.get_mut(index) {
                peer.woken = true;
                enqueue(&mut self.queue, index, peer);
            }
        }
    }

    /// Lets connections in, or begins to stop.
    fn keep_gate(&mut self) {
        let (slots, control, driver) = (&mut self.slots, &self.control, &self.driver);
        let terms = &self.terms;
        let mut admit = |registry: &Registry, stream, from| match control.admit(from) {
            Ok(place) => admit(registry, stream, terms, slots, place, driver),
            Err(Full::Server) => driver.metrics.over_limit.add(1),
            Err(Full::Address) => driver.metrics.over_address_limit.add(1),
        };
        if !self.control.is_stopping() {
            if self.gate.due().is_some() && !self.gate.accept(self.clock.now, &mut admit) {
                self.driver.metrics.accept_pauses.add(1);
            }
        } else if self.grace_ends.is_none() {
            self.gate.close(self.clock.now, &mut admit);
            self.begin_stop();
        }
    }

    /// Has every connection look whether its socket holds a request, and close if not.
    fn begin_stop(&mut self) {
        self.grace_ends = Some(self.clock.now + self.terms.timeouts.grace);
        for (index, peer) in self.slots.iter_mut() {
            peer.connection.handle_stop();
            peer.readable = true;
            enqueue(&mut self.queue, index, peer);
        }
    }

    /// Does what a connection has to do, and sees to its deadline. A panic costs the connection, not the core.
    fn drive(&mut self, index: u32, expired: bool) {
        let Some(peer) = self.slots.get_mut(index) else { return };
        peer.queued = false;
        let (driver, wakes) = (&mut self.driver, &self.wakes);
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            if expired {
                driver.time_out(peer);
            }
            driver.drive(peer, || wakes.waker(index))
        }));
        let outcome = outcome.unwrap_or_else(|_| driver.close());
        match outcome {
            Outcome::Closed => {
                if !peer.is_secured() {
                    self.driver.metrics.handshakes_failed.add(1);
                }
                return drop(self.slots.remove(index));
            }
            Outcome::Spent => enqueue(&mut self.queue, index, peer),
            Outcome::Blocked => {}
        }
        if let Some(wait) = peer.connection.poll_wait(&self.driver.service) {
            let timeouts = &self.terms.timeouts;
            let timeout = match wait {
                _ if peer.is_handshaking() => timeouts.handshake,
                Wait::Linger if self.grace_ends.is_some() => timeouts.linger.min(STOPPING_LINGER),
                _ => timeouts.of(wait),
            };
            if let Wait::Handler(_) = wait {
                // An endpoint's time-out may be shorter than a tick.
                self.next_tick = self.next_tick.min(self.clock.now + timeout);
            }
            self.slots.set_deadline(index, self.clock.now_ms().saturating_add(millis(timeout)));
        }
    }

    /// Once a tick, times out the connections whose deadline has passed.
    fn keep_deadlines(&mut self) {
        if self.clock.now < self.next_tick {
            return;
        }
        self.next_tick = self.clock.now + self.tick;
        let mut expired = std::mem::take(&mut self.expired);
        self.slots.expired(self.clock.now_ms(), &mut expired);
        for index in expired.drain(..) {
            self.drive(index, true);
        }
        self.expired = expired;
    }
}

/// Puts a connection in the queue, unless it is there.
fn enqueue<S>(queue: &mut VecDeque<u32>, index: u32, peer: &mut Peer<S>) {
    if !std::mem::replace(&mut peer.queued, true) {
        queue.push_back(index);
    }
}

/// Takes a new connection in.
fn admit<S: Service>(
    registry: &Registry,
    stream: TcpStream,
    terms: &Terms,
    slots: &mut Slots<Peer<S::Session>>,
    place: Place,
    driver: &Driver<S>,
) {
    // Making a session fails only for a configuration that cannot serve anybody.
    let tls = terms.tls.as_ref();
    let Ok(tls) = tls.map(|certificates| Tls::new(certificates.current()).map(Box::new)).transpose() else {
        return;
    };
    let connection = Connection::new(driver.service.session_with(&stream), terms.max_requests);
    let index = slots.insert(Peer::new(stream, tls, connection, place, Counted::new(&driver.metrics)));
    let Some(peer) = slots.get_mut(index) else { return };
    let interest = Interest::READABLE | Interest::WRITABLE;
    // A fresh socket is writable, so that an event follows at once and starts its deadline.
    if registry.register(&mut peer.stream, Token(index as usize), interest).is_err() {
        slots.remove(index);
    }
}

fn millis(duration: Duration) -> u64 {
    duration.as_millis().try_into().unwrap_or(NEVER)
}

/// The time, read once a turn.
struct Clock {
    started: Instant,
    now: Instant,
    unix: Now,
}

impl Clock {
    fn start() -> Clock {
        let now = Instant::now();
        let mut clock = Clock { started: now, now, unix: Now { unix_ms: 0 } };
        clock.read();
        clock
    }

    fn read(&mut self) {
        self.now = Instant::now();
        self.unix = Now { unix_ms: SystemTime::UNIX_EPOCH.elapsed().map_or(0, millis) };
    }

    /// Milliseconds since the core started.
    fn now_ms(&self) -> u64 {
        millis(self.now - self.started)
    }
}
