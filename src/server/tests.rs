//! Whole servers with the toy service, over sockets, on both runtimes.

use super::toy::{Toy, sum};
use super::*;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::num::{NonZeroU32, NonZeroU64};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Nothing here depends on timing, except that a hung test ends.
const PATIENCE: Duration = Duration::from_secs(60);

fn config(runtime: Runtime) -> ServerConfig {
    ServerConfig {
        listen: vec![SocketAddr::from(([127, 0, 0, 1], 0))],
        cores: 1,
        runtime,
        ..ServerConfig::default()
    }
}

fn start_toy(config: &ServerConfig) -> Running {
    start_with(|_| Toy::default(), config).unwrap()
}

/// Runs a test on each runtime that can be used here.
fn on_each(test: impl Fn(Runtime)) {
    test(Runtime::Epoll);
    let probe = probe();
    if probe.usable {
        test(Runtime::Uring);
    } else {
        println!("not tested on io_uring: {}", probe.reason);
    }
}

fn on_each_server(test: impl Fn(&Running)) {
    on_each(|runtime| {
        let running = start_toy(&config(runtime));
        assert_eq!(running.runtime(), runtime);
        test(&running);
        running.stop().unwrap();
    });
}

fn connect(running: &Running) -> TcpStream {
    let stream = TcpStream::connect(running.addresses()[0]).unwrap();
    stream.set_nodelay(true).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    stream
}

fn send(mut stream: &TcpStream, bytes: impl AsRef<[u8]>) {
    stream.write_all(bytes.as_ref()).unwrap();
}

#[track_caller]
fn expect(mut stream: &TcpStream, wanted: impl AsRef<[u8]>) {
    let wanted = wanted.as_ref();
    let mut answer = vec![0; wanted.len()];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(String::from_utf8_lossy(&answer), String::from_utf8_lossy(wanted));
}

#[track_caller]
fn expect_end(mut stream: &TcpStream) {
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).unwrap();
    assert_eq!(String::from_utf8_lossy(&rest), "");
}

/// For what no socket tells: counters of the server.
#[track_caller]
fn wait_until(condition: impl Fn() -> bool) {
    let started = Instant::now();
    while !condition() {
        assert!(started.elapsed() < PATIENCE, "it does not come true");
        std::thread::yield_now();
    }
}

/// How many connections a test may have, up to `wanted`: both ends are in this process.
fn affordable(wanted: usize) -> usize {
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"));
    let files = line.and_then(|line| line.split_whitespace().next()?.parse::<usize>().ok());
    files.map_or(wanted, |files| wanted.min(files.saturating_sub(200) / 2))
}

#[test]
fn a_batch_cut_at_every_byte_gets_the_same_answers() {
    let batch = b"echo one\nbody 5\nabcdeecho two\n";
    let wanted = format!("=one\n{}\n=two\n", sum(b"abcde"));
    on_each_server(|running| {
        for cut in 0..=batch.len() {
            let stream = connect(running);
            send(&stream, [b"echo first\n", &batch[..cut]].concat());
            // With its answer here, the server has read the first part.
            expect(&stream, "=first\n");
            send(&stream, &batch[cut..]);
            expect(&stream, &wanted);
        }
    });
}

#[test]
fn bytes_may_come_one_at_a_time() {
    on_each_server(|running| {
        let stream = connect(running);
        b"echo one\nbody 5\nabcde".chunks(1).for_each(|byte| send(&stream, byte));
        expect(&stream, format!("=one\n{}\n", sum(b"abcde")));
    });
}

#[test]
fn a_hundred_requests_in_one_write_are_answered_in_order() {
    on_each_server(|running| {
        let stream = connect(running);
        send(&stream, (0..100).map(|n| format!("echo {n}\n")).collect::<String>());
        expect(&stream, (0..100).map(|n| format!("={n}\n")).collect::<String>());
        let large = vec![7; 1 << 20];
        send(&stream, [format!("body {}\n", large.len()).as_bytes(), &large].concat());
        expect(&stream, format!("{}\n", sum(&large)));
    });
}

#[test]
fn what_came_before_a_half_close_is_answered() {
    on_each_server(|running| {
        let stream = connect(running);
        send(&stream, "echo a\necho b\necho incomplete");
        stream.shutdown(Shutdown::Write).unwrap();
        expect(&stream, "=a\n=b\n");
        expect_end(&stream);
        wait_until(|| running.stats().open() == 0);
    });
}

#[test]
fn a_client_that_does_not_read_is_not_read_from() {
    let request = [b"echo ", vec![b'a'; 60_000].as_slice(), b"\n"].concat();
    on_each_server(|running| {
        let mut stream = connect(running);
        stream.set_write_timeout(Some(Duration::from_millis(200))).unwrap();
        // Sends until the sockets' buffers are full. (Were the pause not one, the test would just begin to read early.)
        let (mut sent, mut part) = (0, 0);
        while let Ok(len) = stream.write(&request[part..]) {
            part = (part + len) % request.len();
            sent += usize::from(part == 0);
            assert!(sent < 4_000, "240 MB were read from a client that does not read");
        }
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        std::thread::scope(|scope| {
            let reader = scope.spawn(|| {
                let mut answers = Vec::new();
                (&stream).read_to_end(&mut answers).unwrap();
                answers.len()
            });
            send(&stream, &request[part..]);
            stream.shutdown(Shutdown::Write).unwrap();
            assert_eq!(reader.join().unwrap(), (sent + 1) * (1 + 60_000 + 1));
        });
    });
}

#[test]
fn a_thousand_connections_at_once() {
    on_each(|runtime| {
        let running = start_toy(&ServerConfig { cores: 2, ..config(runtime) });
        let streams: Vec<_> = (0..affordable(1_000)).map(|_| connect(&running)).collect();
        for round in 0..3 {
            streams.iter().enumerate().for_each(|(n, stream)| send(stream, format!("echo {round} {n}\n")));
            streams.iter().enumerate().for_each(|(n, stream)| expect(stream, format!("={round} {n}\n")));
        }
        assert_eq!(running.stats().open(), streams.len());
        drop(streams);
        wait_until(|| running.stats().open() == 0);
        running.stop().unwrap();
    });
}

#[test]
fn a_reset_in_the_middle_of_a_request_costs_nobody_else() {
    on_each_server(|running| {
        let other = connect(running);
        for begun in ["echo incompl", "body 100\nabc", "big 10000000\n"] {
            let stream = connect(running);
            send(&stream, format!("echo a\n{begun}"));
            expect(&stream, "=a\n");
            // Closing with a linger of 0 is a reset.
            let socket = socket2::Socket::from(stream);
            socket.set_linger(Some(Duration::ZERO)).unwrap();
            drop(socket);
            send(&other, "echo b\n");
            expect(&other, "=b\n");
        }
        wait_until(|| running.stats().open() == 1);
    });
}

#[test]
fn a_fault_is_told_even_to_a_client_in_the_middle_of_sending() {
    on_each_server(|running| {
        let stream = connect(running);
        send(&stream, "echo a\nfault\n");
        send(&stream, vec![b'z'; 4 << 20]);
        expect(&stream, "=a\nfault\n");
        expect_end(&stream);
        drop(stream);
        wait_until(|| running.stats().open() == 0);
    });
}

#[test]
fn a_panic_costs_its_connection_only() {
    on_each_server(|running| {
        let (stream, other) = (connect(running), connect(running));
        send(&stream, "echo a\n");
        expect(&stream, "=a\n");
        send(&stream, "panic\n");
        expect_end(&stream);
        send(&other, "echo b\n");
        expect(&other, "=b\n");
    });
}

#[test]
fn a_client_that_always_sends_does_not_starve_another() {
    on_each_server(|running| {
        let (flood, other) = (connect(running), connect(running));
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| while (&flood).write_all(&b"echo a\n".repeat(1_000)).is_ok() {});
            let reader = scope.spawn(|| while (&flood).read(&mut [0; 1 << 16]).is_ok_and(|len| len > 0) {});
            for n in 0..100 {
                send(&other, format!("echo {n}\n"));
                expect(&other, format!("={n}\n"));
            }
            flood.shutdown(Shutdown::Both).unwrap();
            writer.join().unwrap();
            reader.join().unwrap();
        });
    });
}

#[test]
fn a_stop_finishes_what_is_in_flight() {
    on_each(|runtime| {
        let running = start_toy(&ServerConfig { cores: 2, ..config(runtime) });
        let (begun, idle) = (connect(&running), connect(&running));
        send(&begun, "echo a\nech");
        expect(&begun, "=a\n");
        send(&idle, "echo i\n");
        expect(&idle, "=i\n");
        running.stopper().stop();
        running.stopper().stop();
        expect_end(&idle);
        drop(idle);
        send(&begun, "o b\n");
        expect(&begun, "=b\n");
        expect_end(&begun);
        drop(begun);
        let address = running.addresses()[0];
        running.wait().unwrap();
        assert!(TcpStream::connect(address).is_err());
    });
}

#[test]
fn a_stop_does_not_wait_beyond_its_grace() {
    on_each(|runtime| {
        let mut config = config(runtime);
        config.timeouts.grace = Duration::from_millis(50);
        let running = start_toy(&config);
        let begun = connect(&running);
        send(&begun, "echo a\nech");
        expect(&begun, "=a\n");
        running.stop().unwrap();
        expect_end(&begun);
    });
}

#[test]
fn idle_and_incomplete_connections_end_at_their_deadlines() {
    on_each(|runtime| {
        let mut config = config(runtime);
        config.timeouts.idle = Duration::from_millis(50);
        config.timeouts.header = Duration::from_millis(50);
        config.timeouts.body = Duration::from_millis(50);
        let running = start_toy(&config);
        expect_end(&connect(&running));
        for begun in ["ech", "body 9\nabc"] {
            let stream = connect(&running);
            send(&stream, begun);
            expect(&stream, "timeout\n");
            expect_end(&stream);
        }
        running.stop().unwrap();
    });
}

#[test]
fn a_connection_too_many_is_closed_and_counted() {
    on_each(|runtime| {
        let running = start_toy(&ServerConfig { max_connections: 2, ..config(runtime) });
        let streams = [connect(&running), connect(&running)];
        for stream in &streams {
            send(stream, "echo a\n");
            expect(stream, "=a\n");
        }
        expect_end(&connect(&running));
        assert_eq!((running.stats().refused(), running.stats().accepted()), (1, 2));
        drop(streams);
        wait_until(|| running.stats().open() == 0);
        let stream = connect(&running);
        send(&stream, "echo b\n");
        expect(&stream, "=b\n");
        running.stop().unwrap();
    });
}

#[test]
fn an_address_has_its_places_and_no_more() {
    on_each(|runtime| {
        let mut config = config(runtime);
        config.cores = 2;
        config.max_connections_per_address = NonZeroU32::new(3);
        let running = start_toy(&config);
        let streams = [connect(&running), connect(&running), connect(&running)];
        for stream in &streams {
            send(stream, "echo a\n");
            expect(stream, "=a\n");
        }
        expect_end(&connect(&running));
        assert_eq!((running.stats().crowded(), running.stats().refused()), (1, 0));
        let other = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
        other.bind(&SocketAddr::from(([127, 0, 0, 2], 0)).into()).unwrap();
        other.connect(&running.addresses()[0].into()).unwrap();
        let other = TcpStream::from(other);
        send(&other, "echo b\n");
        expect(&other, "=b\n");
        drop(streams);
        wait_until(|| running.stats().open() == 1);
        let stream = connect(&running);
        send(&stream, "echo c\n");
        expect(&stream, "=c\n");
        running.stop().unwrap();
    });
}

#[test]
fn a_connection_has_its_answers_and_no_more() {
    on_each(|runtime| {
        let mut config = config(runtime);
        config.max_requests_per_connection = NonZeroU64::new(1_000);
        let running = start_toy(&config);
        let stream = connect(&running);
        send(&stream, "echo a\n".repeat(1_001));
        expect(&stream, "=a\n".repeat(1_000));
        expect_end(&stream);
        drop(stream);
        running.stop().unwrap();
    });
}

#[test]
fn a_core_whose_loop_fails_begins_anew() {
    on_each(|runtime| {
        let doomed = Arc::new(AtomicBool::new(false));
        let toy = Arc::clone(&doomed);
        let make = move |_| Toy { doomed: Some(Arc::clone(&toy)), ..Toy::default() };
        let running = start_with(make, &config(runtime)).unwrap();
        for round in 1..=3 {
            let before = connect(&running);
            send(&before, "echo a\n");
            expect(&before, "=a\n");
            doomed.store(true, Ordering::SeqCst);
            let unlucky = connect(&running);
            // Both are lost with their core's loop; whether their ends are resets does not matter.
            for lost in [&before, &unlucky] {
                assert_eq!({ lost }.read(&mut [0]).unwrap_or(0), 0);
            }
            let after = connect(&running);
            send(&after, "echo b\n");
            expect(&after, "=b\n");
            assert_eq!(running.metrics().restarts(), round);
            drop(after);
            wait_until(|| running.stats().open() == 0);
        }
        running.stop().unwrap();
    });
}

/// In a process of its own, whose descriptors run out.
#[test]
fn out_of_descriptors_the_server_pauses_and_goes_on() {
    const INNER: &str = "AGTP_TEST_FEW_DESCRIPTORS";
    if std::env::var_os(INNER).is_some() {
        return on_each(few_descriptors);
    }
    let test = "server::tests::out_of_descriptors_the_server_pauses_and_goes_on";
    let status = std::process::Command::new("sh")
        .args(["-c", "ulimit -n 64 && exec \"$0\" --exact \"$1\" --nocapture"])
        .arg(std::env::current_exe().unwrap())
        .arg(test)
        .env(INNER, "1")
        .status()
        .unwrap();
    assert!(status.success());
}

fn few_descriptors(runtime: Runtime) {
    let running = start_toy(&config(runtime));
    let stream = connect(&running);
    send(&stream, "echo a\n");
    expect(&stream, "=a\n");
    let mut files: Vec<_> = std::iter::from_fn(|| std::fs::File::open("/dev/null").ok()).collect();
    drop(files.pop());
    // This takes the last one. The kernel completes the connection, but it cannot be accepted.
    let waiting = connect(&running);
    let started = Instant::now();
    wait_until(|| running.metrics().accept_pauses() >= 3);
    // A busy machine makes it fewer. A loop that spins would make it very many.
    let most = 1 + started.elapsed().as_millis() / 100;
    assert!(
        u128::from(running.metrics().accept_pauses()) <= most + 3,
        "{} pauses",
        running.metrics().accept_pauses()
    );
    send(&stream, "echo b\n");
    expect(&stream, "=b\n");
    drop(files);
    send(&waiting, "echo c\n");
    expect(&waiting, "=c\n");
    drop((stream, waiting));
    running.stop().unwrap();
}

#[test]
fn several_addresses_are_listened_on() {
    let v6 = std::net::TcpListener::bind("[::1]:0").is_ok();
    on_each(|runtime| {
        let mut config = config(runtime);
        config.listen.push(SocketAddr::from(([127, 0, 0, 1], 0)));
        config.listen.extend(v6.then(|| "[::1]:0".parse::<SocketAddr>().unwrap()));
        let running = start_toy(&config);
        assert_eq!(running.addresses().len(), config.listen.len());
        for address in running.addresses() {
            let stream = TcpStream::connect(address).unwrap();
            send(&stream, "echo a\n");
            expect(&stream, "=a\n");
        }
        running.stop().unwrap();
    });
}

#[test]
fn accepted_sockets_do_not_delay() {
    let listeners = listen::listen(&[SocketAddr::from(([127, 0, 0, 1], 0))], &[], 1).unwrap();
    let _client = TcpStream::connect(listeners.addresses[0]).unwrap();
    let (accepted, _) = listeners.cores[0][0].accept().unwrap();
    assert!(accepted.nodelay().unwrap());
}

#[test]
fn the_first_signal_stops_in_good_order() {
    let running = start_toy(&config(Runtime::Epoll));
    let (reloaded, reloads) = mpsc::channel();
    let reload = move || reloaded.send(()).unwrap();
    let stopper = running.stopper();
    let watch = signal::Watch::start(move || stopper.stop(), reload).unwrap();
    let stream = connect(&running);
    send(&stream, "echo a\n");
    expect(&stream, "=a\n");
    signal_hook::low_level::raise(signal_hook::consts::SIGHUP).unwrap();
    reloads.recv().unwrap();
    send(&stream, "echo b\n");
    expect(&stream, "=b\n");
    signal_hook::low_level::raise(signal_hook::consts::SIGTERM).unwrap();
    expect_end(&stream);
    drop(stream);
    running.wait().unwrap();
    drop(watch);
}
