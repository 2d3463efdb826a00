use super::*;
use crate::server::toy::{REQUEST_LIMIT, Toy, ToySession, sum};

const NOW: Now = Now { unix_ms: 0 };

/// A connection with a socket that takes and brings what the test says.
struct Rig {
    toy: Toy,
    buffers: Buffers,
    connection: Connection<ToySession>,
    answers: Vec<u8>,
    writes: usize,
    /// Bytes the socket still takes.
    takes: usize,
}

impl Rig {
    fn new() -> Rig {
        Rig::limited(None)
    }

    /// Of a connection that is closed after so many answers.
    fn limited(max_requests: Option<u64>) -> Rig {
        let toy = Toy::default();
        let connection = Connection::new(toy.session(), max_requests.and_then(NonZeroU64::new));
        let buffers = Buffers::new(toy.request_limit());
        Rig { toy, buffers, connection, answers: Vec::new(), writes: 0, takes: usize::MAX }
    }

    /// Does what is asked for until the connection wants to read and there is nothing.
    fn run(&mut self, mut input: &[u8]) -> Action {
        loop {
            match self.connection.poll_action(&self.buffers) {
                Action::Await => self.go_on(),
                Action::Answer => self.connection.answer(&mut self.toy, NOW, &mut self.buffers),
                Action::Hold if !self.release() => break,
                Action::Hold => {}
                Action::Write if self.takes == 0 => break,
                Action::Write => self.write(),
                Action::Read if input.is_empty() => break,
                Action::Read => {
                    let space = self.connection.read_space(&mut self.buffers);
                    let len = space.len().min(input.len());
                    space[..len].copy_from_slice(&input[..len]);
                    self.connection.handle_read(len);
                    input = &input[len..];
                }
                Action::Shutdown => self.connection.handle_shutdown(),
                Action::Close => return Action::Close,
            }
        }
        self.connection.park(&mut self.buffers);
        self.scribble();
        self.connection.poll_action(&self.buffers)
    }

    fn go_on(&mut self) {
        let mut context = Context::from_waker(std::task::Waker::noop());
        while !self.connection.go_on(&mut self.toy, NOW, &mut context, &mut self.buffers) {}
    }

    fn release(&mut self) -> bool {
        let context = Context::from_waker(std::task::Waker::noop());
        self.connection.release(&mut self.toy, &context)
    }

    fn write(&mut self) {
        let output = self.connection.poll_write(&self.buffers);
        let len = output.len().min(self.takes);
        self.answers.extend_from_slice(&output[..len]);
        self.takes -= len;
        self.writes += 1;
        self.connection.handle_written(len, &mut self.buffers);
    }

    /// What other connections do to the core's buffers.
    fn scribble(&mut self) {
        assert!(self.buffers.output.is_empty());
        self.buffers.read_space().fill(b'!');
    }

    fn wait(&mut self) -> Option<Wait> {
        self.connection.poll_wait(&self.toy)
    }

    fn time_out(&mut self) {
        self.connection.handle_timeout(&mut self.toy, NOW, &mut self.buffers);
    }

    fn answers(&mut self) -> String {
        String::from_utf8(std::mem::take(&mut self.answers)).unwrap()
    }
}

#[test]
fn a_batch_cut_at_every_byte_gets_the_same_answers() {
    let batch = b"echo one\nbody 5\nabcdeecho two\nbody 0\necho three\n";
    let mut whole = Rig::new();
    whole.run(batch);
    let wanted = whole.answers();
    assert_eq!(wanted, format!("=one\n{}\n=two\n0\n=three\n", sum(b"abcde")));
    assert_eq!(whole.writes, 1, "one write for one read");
    for cut in 0..=batch.len() {
        let mut rig = Rig::new();
        rig.run(&batch[..cut]);
        rig.run(&batch[cut..]);
        assert_eq!(rig.answers(), wanted, "cut at {cut}");
        assert!(rig.connection.own.is_empty(), "an idle connection owns no buffer");
    }
    let mut rig = Rig::new();
    for byte in batch.chunks(1) {
        rig.run(byte);
    }
    assert_eq!(rig.answers(), wanted);
}

#[test]
fn a_large_body_is_neither_looked_at_nor_moved_again_and_again() {
    let mut rig = Rig::new();
    let body: Vec<u8> = (0..1_000_000_u32).map(|n| n as u8).collect();
    rig.run(b"body 1000000\n");
    for packet in body.chunks(1_000) {
        rig.run(packet);
        assert!(
            rig.connection.own.len() <= REQUEST_LIMIT + (64 << 10),
            "the buffer is bounded by the longest request"
        );
    }
    assert_eq!(rig.answers(), format!("{}\n", sum(&body)));
    assert_eq!(rig.toy.scanned, "body 1000000\n".len());
    assert!(rig.connection.own.is_empty());
}

#[test]
fn a_large_buffer_is_not_kept_for_a_small_rest() {
    let mut rig = Rig::new();
    rig.run(b"body 500000\n");
    let mut rest = vec![b'a'; 500_000];
    rest.extend_from_slice(b"echo begun");
    rig.run(&rest);
    assert!(rig.connection.own.len() <= 16 << 10, "{}", rig.connection.own.len());
    rig.run(b"\n");
    assert_eq!(rig.answers(), format!("{}\n=begun\n", sum(&[b'a'; 500_000])));
}

#[test]
fn a_deep_pipeline_reads_more_at_once() {
    let mut rig = Rig::new();
    let batch = b"echo 0123456789\n".repeat(50_000);
    for part in batch.chunks(100_001) {
        rig.run(part);
    }
    assert_eq!(rig.answers().len(), 12 * 50_000);
    // 800 kB in reads of 8 KiB and then 64 KiB, not in 8 KiB all along.
    assert!(rig.writes < 60, "{}", rig.writes);
}

#[test]
fn a_client_that_does_not_read_is_not_read_from() {
    let mut rig = Rig::new();
    rig.takes = 10;
    assert_eq!(rig.run(&b"big 100000\n".repeat(1_000)), Action::Write);
    let held = rig.connection.unsent.len() + rig.connection.own.len();
    assert!(held <= OUTPUT_PAUSE_BYTES + 100_001 + READ_BYTES + (16 << 10), "{held}");
    assert_eq!(rig.wait(), Some(Wait::Write));
    assert_eq!(rig.run(b"not taken"), Action::Write);
    assert_eq!(rig.wait(), None, "no progress, the deadline stands");
    rig.takes = 1;
    rig.run(b"");
    assert_eq!(rig.wait(), Some(Wait::Write), "progress");
    rig.takes = usize::MAX;
    // The rest of what was read is answered now; the test's socket lost what was not read.
    assert_eq!(rig.run(b""), Action::Read);
    assert_eq!(rig.answers().len() % 100_001, 0);
    assert!(rig.connection.unsent.capacity() == 0);
}

#[test]
fn a_fault_closes_after_its_answer_was_read() {
    let mut rig = Rig::new();
    assert_eq!(rig.run(b"echo a\nfault\necho not answered\n"), Action::Read);
    assert_eq!(rig.answers(), "=a\nfault\n");
    assert_eq!(rig.wait(), Some(Wait::Linger));
    // Input is thrown away, so that closing does not reset the connection.
    assert_eq!(rig.run(b"echo not answered\n"), Action::Read);
    assert_eq!(rig.answers(), "");
    assert_eq!(rig.wait(), None);
    rig.connection.handle_eof();
    assert_eq!(rig.run(b""), Action::Close);
}

#[test]
fn a_lingering_close_has_an_end() {
    let mut rig = Rig::new();
    rig.run(b"fault\n");
    let flood = vec![0; 1 << 20];
    let closed = (0..=LINGER_BYTES >> 20).position(|_| rig.run(&flood) == Action::Close);
    assert_eq!(closed, Some(LINGER_BYTES >> 20));
    let mut rig = Rig::new();
    rig.run(b"fault\n");
    rig.wait();
    rig.time_out();
    assert_eq!(rig.run(b""), Action::Close);
}

#[test]
fn what_came_before_the_end_of_the_stream_is_answered() {
    let mut rig = Rig::new();
    rig.run(b"echo a\necho b\necho c");
    rig.connection.handle_eof();
    assert_eq!(rig.run(b""), Action::Close);
    assert_eq!(rig.answers(), "=a\n=b\n");
}

#[test]
fn the_end_of_the_stream_waits_for_the_answers_to_be_taken() {
    let mut rig = Rig::new();
    rig.takes = 0;
    rig.run(&b"big 200000\n".repeat(3));
    rig.connection.handle_eof();
    assert_eq!(rig.run(b""), Action::Write);
    rig.takes = usize::MAX;
    assert_eq!(rig.run(b""), Action::Close);
    assert_eq!(rig.answers().len(), 3 * 200_001);
}

#[test]
fn each_kind_of_waiting_starts_its_deadline_once() {
    let mut rig = Rig::new();
    assert_eq!(rig.wait(), Some(Wait::Idle));
    assert_eq!(rig.wait(), None);
    rig.run(b"bo");
    assert_eq!(rig.wait(), Some(Wait::Head));
    rig.run(b"dy 4");
    assert_eq!(rig.wait(), None, "a head's deadline is not put off by its next byte");
    rig.run(b"\na");
    assert_eq!(rig.wait(), Some(Wait::Body));
    rig.run(b"b");
    assert_eq!(rig.wait(), None);
    rig.run(b"cd");
    assert_eq!(rig.wait(), Some(Wait::Idle));
    rig.run(b"echo x\n");
    assert_eq!(rig.wait(), Some(Wait::Idle), "a request starts the idle time anew");
    rig.run(b"ec");
    assert_eq!(rig.wait(), Some(Wait::Head));
    rig.run(b"ho x\nec");
    assert_eq!(rig.wait(), Some(Wait::Head), "another request, another deadline");
}

#[test]
fn an_incomplete_request_is_told_of_its_deadline() {
    for begun in ["ech", "body 5\nab"] {
        let mut rig = Rig::new();
        rig.run(begun.as_bytes());
        rig.wait();
        rig.time_out();
        assert_eq!(rig.run(b""), Action::Read);
        assert_eq!(rig.answers(), "timeout\n");
        assert_eq!(rig.wait(), Some(Wait::Linger));
    }
}

#[test]
fn idle_and_stuck_connections_close_without_a_word() {
    let mut rig = Rig::new();
    rig.wait();
    rig.time_out();
    assert_eq!(rig.run(b""), Action::Close);
    let mut rig = Rig::new();
    rig.takes = 0;
    rig.run(b"echo a\n");
    rig.wait();
    rig.time_out();
    assert_eq!(rig.run(b""), Action::Close);
    assert_eq!(rig.answers(), "");
}

#[test]
fn a_stop_answers_what_is_in_flight_and_closes_what_is_idle() {
    let mut rig = Rig::new();
    rig.run(b"echo a\nech");
    rig.connection.handle_stop();
    assert!(!rig.connection.handle_drained(), "a request is being received");
    assert_eq!(rig.run(b"o b\n"), Action::Read);
    assert!(rig.connection.handle_drained());
    assert_eq!(rig.run(b""), Action::Read);
    assert_eq!(rig.answers(), "=a\n=b\n");
    assert_eq!(rig.wait(), Some(Wait::Linger));
}

#[test]
fn nothing_is_kept_beyond_the_longest_request() {
    let mut rig = Rig::new();
    rig.run(&vec![b'a'; REQUEST_LIMIT + (128 << 10)]);
    assert_eq!(rig.wait(), Some(Wait::Linger));
    assert!(rig.connection.own.is_empty());
}

#[test]
fn requests_behind_one_that_is_awaited_keep_their_order() {
    let mut rig = Rig::new();
    assert_eq!(rig.run(b"echo a\nlater 3\necho b\nlater 0\necho c\n"), Action::Read);
    assert_eq!(rig.answers(), "=a\nlate\n=b\nlate\n=c\n");
}

#[test]
fn what_is_awaited_too_long_is_given_up_and_the_connection_goes_on() {
    let mut rig = Rig::new();
    let input = b"later 9\necho a\n";
    let space = rig.connection.read_space(&mut rig.buffers);
    space[..input.len()].copy_from_slice(input);
    rig.connection.handle_read(input.len());
    rig.connection.answer(&mut rig.toy, NOW, &mut rig.buffers);
    assert_eq!(rig.connection.poll_action(&rig.buffers), Action::Await);
    rig.connection.park(&mut rig.buffers);
    assert_eq!(rig.wait(), Some(Wait::Handler(crate::server::toy::PATIENCE_MS)));
    rig.scribble();
    rig.time_out();
    assert_eq!(rig.run(b""), Action::Read);
    assert_eq!(rig.answers(), "expired\n=a\n");
}

#[test]
fn a_stopping_server_waits_for_what_was_begun() {
    let mut rig = Rig::new();
    let input = b"later 1\n";
    let space = rig.connection.read_space(&mut rig.buffers);
    space[..input.len()].copy_from_slice(input);
    rig.connection.handle_read(input.len());
    rig.connection.answer(&mut rig.toy, NOW, &mut rig.buffers);
    rig.connection.handle_stop();
    assert_eq!(rig.run(b""), Action::Read);
    assert_eq!(rig.answers(), "late\n");
    assert!(rig.connection.handle_drained());
}

#[test]
fn after_its_last_answer_a_connection_closes_whatever_follows() {
    for (input, answers) in [
        ("echo a\necho b\necho c\n", "=a\n=b\n"),
        ("echo a\nlater 2\necho c\n", "=a\nlate\n"),
        ("later 1\nlater 2\necho", "late\nlate\n"),
        ("echo a\nfault\n", "=a\nfault\n"),
    ] {
        for cut in 0..input.len() {
            let mut rig = Rig::limited(Some(2));
            rig.run(&input.as_bytes()[..cut]);
            let action = rig.run(&input.as_bytes()[cut..]);
            assert_eq!(rig.answers(), answers, "{input:?} cut at {cut}");
            // The client may not have read them yet: it is told of the end and waited for (D17).
            assert_eq!((action, rig.wait()), (Action::Read, Some(Wait::Linger)), "{input:?} cut at {cut}");
        }
    }
    let mut rig = Rig::limited(Some(2));
    assert_eq!(rig.run(b"echo a\n"), Action::Read);
    assert_eq!(rig.wait(), Some(Wait::Idle), "it has one left");
}

#[test]
fn an_expired_request_is_an_answer_too() {
    let mut rig = Rig::limited(Some(1));
    let input = b"later 9\n";
    let space = rig.connection.read_space(&mut rig.buffers);
    space[..input.len()].copy_from_slice(input);
    rig.connection.handle_read(input.len());
    rig.connection.answer(&mut rig.toy, NOW, &mut rig.buffers);
    rig.connection.park(&mut rig.buffers);
    assert_eq!(rig.wait(), Some(Wait::Handler(crate::server::toy::PATIENCE_MS)));
    rig.time_out();
    rig.run(b"");
    assert_eq!((rig.answers(), rig.wait()), ("expired\n".to_owned(), Some(Wait::Linger)));
}

#[test]
fn answers_that_are_held_back_are_sent_once_they_may_be_and_those_behind_them_wait() {
    let mut rig = Rig::new();
    rig.toy.holds = true;
    assert_eq!(rig.run(b"echo 1\necho 2\nlater 1\necho 3\n"), Action::Hold);
    assert_eq!(rig.wait(), Some(Wait::Write));
    assert_eq!(rig.run(b""), Action::Hold);
    assert!(rig.answers.is_empty());
    rig.toy.holds = false;
    assert_eq!(rig.run(b""), Action::Read);
    assert_eq!(rig.answers, b"=1\n=2\nlate\n=3\n");
    // One that is held for too long is never sent.
    rig.toy.holds = true;
    assert_eq!(rig.run(b"echo 4\n"), Action::Hold);
    rig.time_out();
    assert_eq!(rig.run(b""), Action::Close);
    assert_eq!(rig.answers, b"=1\n=2\nlate\n=3\n");
}
