//! Names to addresses. The system's look-up blocks, so it has threads of its own, shared by all cores.

use std::future::poll_fn;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::task::{Poll, Waker};
use std::thread;

/// Look-ups at a time: one that hangs does not hold the others up.
const THREADS: usize = 4;

/// Look-ups that wait for a thread. More than these fail at once.
const WAITING: usize = 256;

struct Job {
    name: (String, u16),
    answer: Arc<Mutex<Answer>>,
}

#[derive(Default)]
struct Answer {
    found: Option<io::Result<Vec<SocketAddr>>>,
    waker: Option<Waker>,
}

/// The addresses of a host, which may be an address itself.
pub(super) async fn resolve(host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    if let Ok(address) = bare.parse() {
        return Ok(vec![SocketAddr::new(address, port)]);
    }
    let answer = Arc::<Mutex<Answer>>::default();
    let job = Job { name: (host.to_owned(), port), answer: Arc::clone(&answer) };
    let queued = queue().try_send(job);
    queued.map_err(|_| io::Error::new(io::ErrorKind::WouldBlock, "too many names are being looked up"))?;
    poll_fn(|context| {
        let mut answer = answer.lock().unwrap_or_else(PoisonError::into_inner);
        match answer.found.take() {
            Some(found) => Poll::Ready(found),
            None => {
                answer.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    })
    .await
}

fn queue() -> &'static SyncSender<Job> {
    static QUEUE: OnceLock<SyncSender<Job>> = OnceLock::new();
    QUEUE.get_or_init(|| {
        let (sender, receiver) = sync_channel(WAITING);
        let receiver = Arc::new(Mutex::new(receiver));
        for _ in 0..THREADS {
            let receiver = Arc::clone(&receiver);
            // Should there be no thread at all, the queue has no receiver, and sending fails.
            let _ = thread::Builder::new().name("agtp-lookup".to_owned()).spawn(move || work(&receiver));
        }
        sender
    })
}

fn work(jobs: &Mutex<Receiver<Job>>) {
    loop {
        let job = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(Job { name: (host, port), answer }) = job else { return };
        let found = (host.as_str(), port).to_socket_addrs().map(Vec::from_iter);
        let mut answer = answer.lock().unwrap_or_else(PoisonError::into_inner);
        answer.found = Some(found);
        answer.waker.take().into_iter().for_each(Waker::wake);
    }
}
