//! Futures on a core's loop: sockets, timers and tasks. Everything is of one thread.

use crate::server::wake::WakeList;
use futures_util::future::{FutureExt as _, LocalBoxFuture};
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use mio::event::{Event, Source};
use mio::{Interest, Registry, Token};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

/// The index that the reactor is woken by: no connection has it.
pub(in crate::server) const REACTOR: u32 = u32::MAX;

/// Both set in the tokens of the reactor's sockets: connections have neither, and of listeners there are too few.
const OURS: usize = 3 << (usize::BITS - 2);

thread_local! {
    static CURRENT: RefCell<Option<Rc<Reactor>>> = const { RefCell::new(None) };
}

/// What waits on one core.
pub(super) struct Reactor {
    registry: Registry,
    sources: RefCell<HashMap<usize, Wakers>>,
    timers: RefCell<BTreeMap<(Instant, u64), Waker>>,
    tasks: RefCell<FuturesUnordered<LocalBoxFuture<'static, ()>>>,
    /// Tasks that have not begun: one may be spawned while another is polled.
    spawned: RefCell<Vec<LocalBoxFuture<'static, ()>>>,
    /// The next token's or timer's number. None is used twice, so that nothing late reaches a successor.
    next: Cell<u64>,
    waker: Waker,
}

/// Whom a socket's readiness concerns.
#[derive(Default)]
struct Wakers {
    read: Option<Waker>,
    write: Option<Waker>,
}

impl Reactor {
    /// The reactor of the core on whose thread this is.
    pub(super) fn current() -> Option<Rc<Reactor>> {
        CURRENT.with(|current| current.borrow().clone())
    }

    fn number(&self) -> u64 {
        self.next.replace(self.next.get() + 1)
    }

    /// Watches a socket.
    pub(super) fn register(&self, socket: &mut impl Source) -> io::Result<Token> {
        let token = Token(OURS | self.number() as usize);
        self.registry.register(socket, token, Interest::READABLE | Interest::WRITABLE)?;
        self.sources.borrow_mut().insert(token.0, Wakers::default());
        Ok(token)
    }

    /// Watches a socket no more.
    pub(super) fn deregister(&self, socket: &mut impl Source, token: Token) {
        // It is about to be closed, which does the same.
        let _ = self.registry.deregister(socket);
        self.sources.borrow_mut().remove(&token.0);
    }

    /// Wakes `waker` when a socket is readable, or with `write` writable.
    pub(super) fn await_readiness(&self, token: Token, write: bool, waker: &Waker) {
        if let Some(wakers) = self.sources.borrow_mut().get_mut(&token.0) {
            let place = if write { &mut wakers.write } else { &mut wakers.read };
            *place = Some(waker.clone());
        }
    }

    /// Goes on with a future by itself, until the server ends. Should it panic, it is over.
    pub(super) fn spawn(&self, task: impl Future<Output = ()> + 'static) {
        self.spawned.borrow_mut().push(AssertUnwindSafe(task).catch_unwind().map(drop).boxed_local());
        self.waker.wake_by_ref();
    }

    fn note(&self, event: &Event) -> bool {
        let token = event.token().0;
        let mut sources = self.sources.borrow_mut();
        let Some(wakers) = sources.get_mut(&token) else { return token & OURS == OURS };
        if event.is_readable() || event.is_read_closed() || event.is_error() {
            wakers.read.take().into_iter().for_each(Waker::wake);
        }
        if event.is_writable() || event.is_write_closed() || event.is_error() {
            wakers.write.take().into_iter().for_each(Waker::wake);
        }
        true
    }

    fn fire(&self, now: Instant) {
        let mut timers = self.timers.borrow_mut();
        while let Some(timer) = timers.first_entry().filter(|timer| timer.key().0 <= now) {
            timer.remove().wake();
        }
    }

    fn run(&self) {
        let mut context = Context::from_waker(&self.waker);
        let mut tasks = self.tasks.borrow_mut();
        loop {
            tasks.extend(self.spawned.borrow_mut().drain(..));
            let polled = tasks.poll_next_unpin(&mut context);
            if !matches!(polled, Poll::Ready(Some(()))) && self.spawned.borrow().is_empty() {
                return;
            }
        }
    }
}

/// A core's reactor, for as long as its loop runs.
pub(in crate::server) struct Installed(Rc<Reactor>);

impl Installed {
    /// Makes the reactor of this thread. `registry` is the core's.
    pub(in crate::server) fn new(registry: &Registry, wakes: &Arc<WakeList>) -> io::Result<Installed> {
        let reactor = Rc::new(Reactor {
            registry: registry.try_clone()?,
            sources: RefCell::default(),
            timers: RefCell::default(),
            tasks: RefCell::default(),
            spawned: RefCell::default(),
            next: Cell::new(0),
            waker: wakes.waker(REACTOR),
        });
        CURRENT.with(|current| current.replace(Some(Rc::clone(&reactor))));
        Ok(Installed(reactor))
    }

    /// Takes note of an event, if it is about one of the reactor's sockets.
    pub(in crate::server) fn note(&self, event: &Event) -> bool {
        self.0.note(event)
    }

    /// When to call [`fire`](Self::fire) next.
    pub(in crate::server) fn next_deadline(&self) -> Option<Instant> {
        self.0.timers.borrow().first_key_value().map(|((deadline, _), _)| *deadline)
    }

    /// Wakes those whose time has come.
    pub(in crate::server) fn fire(&self, now: Instant) {
        self.0.fire(now);
    }

    /// Goes on with the tasks that were woken.
    pub(in crate::server) fn run(&self) {
        self.0.run();
    }
}

impl Drop for Installed {
    fn drop(&mut self) {
        CURRENT.with(|current| current.take());
        // Tasks hold sockets, which hold the reactor.
        let tasks = std::mem::take(&mut *self.0.tasks.borrow_mut());
        let spawned = std::mem::take(&mut *self.0.spawned.borrow_mut());
        drop((tasks, spawned));
    }
}

/// Waits, on the core whose thread this is: for asynchronous handlers. The core goes on with everything else meanwhile.
/// On a thread that is no core's there is nothing to wait by, and it is over at once.
pub fn sleep(duration: Duration) -> Sleep {
    Sleep { deadline: Instant::now().checked_add(duration), timer: None }
}

/// See [`sleep`].
#[must_use = "it waits when it is awaited"]
pub struct Sleep {
    /// Nothing for a time that no clock shows.
    deadline: Option<Instant>,
    timer: Option<(Rc<Reactor>, (Instant, u64))>,
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let Some(deadline) = self.deadline else { return Poll::Pending };
        if deadline <= Instant::now() {
            return Poll::Ready(());
        }
        if self.timer.is_none() {
            let Some(reactor) = Reactor::current() else { return Poll::Ready(()) };
            let key = (deadline, reactor.number());
            self.timer = Some((reactor, key));
        }
        if let Some((reactor, key)) = &self.timer {
            reactor.timers.borrow_mut().insert(*key, context.waker().clone());
        }
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        if let Some((reactor, key)) = &self.timer {
            reactor.timers.borrow_mut().remove(key);
        }
    }
}

impl std::fmt::Debug for Sleep {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sleep").field("deadline", &self.deadline).finish_non_exhaustive()
    }
}
