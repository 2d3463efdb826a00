//! One thread: moves bytes between sockets and the core.

use super::core::{Core, Load, Repeated};
use super::plan::{BenchError, Phase, Plan, Watch};
use super::socket::{Buffers, Socket};
use super::tally::{Loss, Times};
use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token};
use std::io;
use std::time::{Duration, Instant};

/// How often what waits is looked through: deadlines, and connections to open again.
const LOOK_NS: u64 = 10_000_000;

/// The system's timer is no finer than this. Requests that are due earlier are waited for awake.
const TIMER_NS: u64 = 2_000_000;

/// Before the first attempt to open a connection again; twice as long before each one that follows.
const RETRY_NS: u64 = 10_000_000;

/// How often that doubles.
const MOST_DOUBLINGS: u32 = 7;

/// Events taken from the system at once.
const EVENTS: usize = 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Not open; to be tried again then, if ever.
    Closed {
        retry_ns: u64,
    },
    Connecting,
    Securing,
    Open,
}

struct Slot {
    socket: Option<Socket>,
    stage: Stage,
    /// When it was dialled.
    since_ns: u64,
    /// In a row, without an answer between them.
    failures: u32,
}

/// A connection that is given up, and why.
struct Lost {
    loss: Loss,
    why: String,
}

impl Lost {
    fn new(loss: Loss) -> impl Fn(io::Error) -> Lost {
        move |error| Lost { loss, why: explain(&error) }
    }
}

fn explain(error: &io::Error) -> String {
    match error.get_ref().and_then(|inner| inner.downcast_ref()) {
        Some(rustls::Error::InvalidMessage(_)) => "the server does not speak TLS".to_owned(),
        _ => error.to_string(),
    }
}

pub(super) struct Worker<'p> {
    plan: &'p Plan,
    watch: &'p Watch,
    poll: Poll,
    events: Events,
    slots: Vec<Slot>,
    pub(super) core: Core,
    buffers: Buffers,
    epoch: Instant,
    look_ns: u64,
    is_ending: bool,
    /// What was told the watch already.
    noted: (u64, u64),
    /// Time from dialling to the first request.
    pub(super) connect: Times,
    pub(super) first_fault: Option<String>,
}

impl<'p> Worker<'p> {
    pub(super) fn new(
        plan: &'p Plan,
        watch: &'p Watch,
        thread: usize,
        epoch: Instant,
    ) -> Result<Worker<'p>, BenchError> {
        let memory = |_| BenchError::system("setting up a histogram")(io::ErrorKind::OutOfMemory.into());
        let links = plan.connections_of(thread);
        let depth = plan.depth.max(1);
        let repeated = Repeated::new(&plan.request, depth);
        let slot = |_| Slot { socket: None, stage: Stage::Closed { retry_ns: 0 }, since_ns: 0, failures: 0 };
        Ok(Worker {
            plan,
            watch,
            poll: Poll::new().map_err(BenchError::system("setting up a readiness set"))?,
            events: Events::with_capacity(EVENTS),
            slots: (0..links).map(slot).collect(),
            core: Core::new(repeated, links, depth, plan.protocol).map_err(memory)?,
            buffers: Buffers::new(),
            epoch,
            look_ns: 0,
            is_ending: false,
            noted: (0, 0),
            connect: Times::new().map_err(memory)?,
            first_fault: None,
        })
    }

    pub(super) fn now_ns(&self) -> u64 {
        u64::try_from(self.epoch.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// Opens the connections. Whether there is one.
    pub(super) fn connect(&mut self) -> Result<bool, BenchError> {
        let deadline = self.now_ns() + nanos(self.plan.timeout);
        (0..self.slots.len()).for_each(|index| self.dial(index));
        let is_settled = |slot: &Slot| slot.stage == Stage::Open || slot.failures > 0;
        while !self.slots.iter().all(is_settled) && self.now_ns() < deadline && !self.watch.is_stopped() {
            self.turn(deadline)?;
        }
        Ok(self.slots.iter().any(|slot| slot.stage == Stage::Open))
    }

    pub(super) fn start(&mut self, load: Load) {
        let now_ns = self.now_ns();
        self.core.start(load, now_ns);
        (0..self.slots.len()).for_each(|index| self.drive(index));
    }

    /// Goes on until then, or until somebody stops the run.
    pub(super) fn run_until(&mut self, end_ns: u64) -> Result<(), BenchError> {
        while self.now_ns() < end_ns && !self.watch.is_stopped() {
            self.turn(end_ns)?;
        }
        Ok(())
    }

    /// Waits for the answers under way.
    pub(super) fn drain(&mut self) -> Result<(), BenchError> {
        self.is_ending = true;
        self.watch.enter(Phase::Ending);
        let end_ns = self.now_ns() + nanos(self.plan.timeout);
        while self.core.in_flight() > 0 && self.now_ns() < end_ns && !self.watch.is_stopped() {
            self.turn(end_ns)?;
        }
        Ok(())
    }

    /// The phase under way begins to count anew.
    pub(super) fn forget_noted(&mut self) {
        self.noted = (0, 0);
    }

    fn turn(&mut self, end_ns: u64) -> Result<(), BenchError> {
        let patience = self.patience(end_ns);
        let mut events = std::mem::replace(&mut self.events, Events::with_capacity(0));
        let polled = self.poll.poll(&mut events, Some(patience));
        if let Err(cause) = polled
            && cause.kind() != io::ErrorKind::Interrupted
        {
            return Err(BenchError::system("waiting for the network")(cause));
        }
        for event in &events {
            self.drive(event.token().0);
        }
        self.events = events;
        let now_ns = self.now_ns();
        self.core.handle_turn(now_ns);
        while let Some(index) = self.core.poll_assigned() {
            let sent = self.write(index);
            self.settle_loss(index, sent);
        }
        if now_ns >= self.look_ns {
            self.look_ns = now_ns + LOOK_NS;
            (0..self.slots.len()).for_each(|index| self.look_at(index, now_ns));
            self.note();
        }
        Ok(())
    }

    fn patience(&self, end_ns: u64) -> Duration {
        patience(self.now_ns(), end_ns.min(self.look_ns), self.core.next_due())
    }

    fn note(&mut self) {
        let tally = self.core.tally();
        let now = (tally.answers, tally.errors.total());
        self.watch.note(now.0.saturating_sub(self.noted.0), now.1.saturating_sub(self.noted.1));
        self.noted = now;
    }

    fn look_at(&mut self, index: usize, now_ns: u64) {
        let Some(slot) = self.slots.get(index) else { return };
        let patience = nanos(self.plan.timeout);
        let lost =
            |loss| Lost { loss, why: format!("no answer within {} s", self.plan.timeout.as_secs_f64()) };
        match slot.stage {
            Stage::Closed { retry_ns } if retry_ns <= now_ns && !self.is_ending => self.dial(index),
            Stage::Connecting | Stage::Securing if slot.since_ns + patience < now_ns => {
                let lost = lost(Loss::Connect);
                self.lose(index, lost);
            }
            Stage::Open if self.core.is_overdue(index, now_ns.saturating_sub(patience)) => {
                let lost = lost(Loss::Timeout);
                self.lose(index, lost);
            }
            _ => {}
        }
    }

    fn dial(&mut self, index: usize) {
        let dialled = self.try_dial(index);
        let since_ns = self.now_ns();
        if let Some(slot) = self.slots.get_mut(index) {
            slot.since_ns = since_ns;
            slot.stage = Stage::Connecting;
        }
        self.settle_loss(index, dialled);
    }

    fn try_dial(&mut self, index: usize) -> Result<(), Lost> {
        let lost = Lost::new(Loss::Connect);
        let addresses = &self.plan.addresses;
        let attempt = index + self.slots.get(index).map_or(0, |slot| slot.failures as usize);
        let address = addresses.get(attempt % addresses.len().max(1));
        let address = address.ok_or_else(|| lost(io::Error::other("there is no address to dial")))?;
        let session = self.plan.trust.as_ref().map(|trust| trust.session(&self.plan.host)).transpose();
        let session = session.map_err(|error| lost(io::Error::other(error)))?;
        let mut stream = TcpStream::connect(*address).map_err(&lost)?;
        let interest = Interest::READABLE | Interest::WRITABLE;
        self.poll.registry().register(&mut stream, Token(index), interest).map_err(&lost)?;
        if let Some(slot) = self.slots.get_mut(index) {
            slot.socket = Some(Socket::new(stream, session));
        }
        Ok(())
    }

    fn drive(&mut self, index: usize) {
        let driven = self.try_drive(index);
        self.settle_loss(index, driven);
    }

    fn settle_loss(&mut self, index: usize, result: Result<(), Lost>) {
        if let Err(lost) = result {
            self.lose(index, lost);
        }
    }

    fn lose(&mut self, index: usize, lost: Lost) {
        let now_ns = self.now_ns();
        self.core.handle_lost(index, lost.loss);
        self.first_fault.get_or_insert(lost.why);
        let Some(slot) = self.slots.get_mut(index) else { return };
        if let Some(mut socket) = slot.socket.take() {
            // The set forgets it when it is closed in any case.
            let _ = self.poll.registry().deregister(socket.stream());
        }
        let retry_ns = now_ns + (RETRY_NS << slot.failures.min(MOST_DOUBLINGS));
        slot.failures = slot.failures.saturating_add(1);
        slot.stage = Stage::Closed { retry_ns };
    }

    fn try_drive(&mut self, index: usize) -> Result<(), Lost> {
        let stage = self.slots.get(index).map(|slot| slot.stage);
        match stage {
            Some(Stage::Open) => {}
            Some(Stage::Connecting | Stage::Securing) if self.open(index)? => {}
            _ => return Ok(()),
        }
        self.read(index)?;
        self.write(index)
    }

    /// Gets a connection ready for requests; whether it is.
    fn open(&mut self, index: usize) -> Result<bool, Lost> {
        let lost = Lost::new(Loss::Connect);
        let Some(slot) = self.slots.get_mut(index) else { return Ok(false) };
        let Some(socket) = &mut slot.socket else { return Ok(false) };
        if slot.stage == Stage::Connecting {
            if !socket.poll_connected().map_err(&lost)? {
                return Ok(false);
            }
            socket.stream().set_nodelay(true).map_err(&lost)?;
            slot.stage = Stage::Securing;
        }
        while !socket.is_ready() {
            socket.flush().map_err(&lost)?;
            let received = socket.read(&mut self.buffers).map_err(&lost)?;
            if received.has_ended {
                return Err(lost(io::Error::other("the server closed the connection in the handshake")));
            }
            if received.is_drained && !socket.is_ready() {
                return Ok(false);
            }
        }
        socket.flush().map_err(&lost)?;
        slot.stage = Stage::Open;
        let since_ns = slot.since_ns;
        let now_ns = self.now_ns();
        self.connect.record(now_ns.saturating_sub(since_ns), 1);
        self.core.handle_open(index, now_ns);
        Ok(true)
    }

    /// Reads until there is nothing more, which is soon: no more is asked for meanwhile.
    fn read(&mut self, index: usize) -> Result<(), Lost> {
        let Some(slot) = self.slots.get_mut(index) else { return Ok(()) };
        let Some(socket) = &mut slot.socket else { return Ok(()) };
        loop {
            let received = socket.read(&mut self.buffers).map_err(Lost::new(Loss::Reset))?;
            if !received.bytes.is_empty() {
                let now_ns = u64::try_from(self.epoch.elapsed().as_nanos()).unwrap_or(u64::MAX);
                let taken = self.core.handle_received(index, received.bytes, now_ns);
                taken.map_err(|fault| Lost { loss: Loss::Protocol, why: fault.to_string() })?;
                slot.failures = 0;
            }
            if received.has_ended {
                let why = "the server closed the connection".to_owned();
                return Err(Lost { loss: Loss::Reset, why });
            }
            if received.is_drained {
                return Ok(());
            }
        }
    }

    fn write(&mut self, index: usize) -> Result<(), Lost> {
        let Some(socket) = self.slots.get_mut(index).and_then(|slot| slot.socket.as_mut()) else {
            return Ok(());
        };
        let lost = Lost::new(Loss::Reset);
        loop {
            let bytes = self.core.poll_write(index);
            if bytes.is_empty() {
                return socket.flush().map(drop).map_err(lost);
            }
            match socket.write(bytes).map_err(&lost)? {
                0 => return Ok(()),
                len => self.core.handle_written(index, len),
            }
        }
    }
}

/// How long to wait for events: until there is something to look at, which may be late, and until the next request is
/// due, which may not.
fn patience(now_ns: u64, look_ns: u64, due_ns: Option<u64>) -> Duration {
    let look = look_ns.saturating_sub(now_ns);
    let due = due_ns.map_or(u64::MAX, |due_ns| due_ns.saturating_sub(now_ns));
    match due {
        ..TIMER_NS => Duration::ZERO,
        // The system sleeps up to a tick longer than it is told.
        due => Duration::from_nanos(look.min(due - TIMER_NS / 2)),
    }
}

pub(super) fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX / 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_request_that_is_due_soon_is_waited_for_awake() {
        let ms = Duration::from_millis;
        assert_eq!(patience(0, 10_000_000, None), ms(10));
        assert_eq!(patience(9_900_000, 10_000_000, None), Duration::from_micros(100));
        assert_eq!(patience(20_000_000, 10_000_000, None), ms(0));
        assert_eq!(patience(0, 10_000_000, Some(1_999_999)), ms(0));
        assert_eq!(patience(5, 10_000_000, Some(1)), ms(0), "it is late already");
        assert_eq!(patience(0, 10_000_000, Some(5_000_000)), ms(4));
        assert_eq!(patience(0, 10_000_000, Some(50_000_000)), ms(10));
    }
}
