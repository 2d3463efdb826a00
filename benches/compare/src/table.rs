//! The servers beside each other.

use crate::Failure;
use crate::child::Server;
use crate::session::{DEPTH_1, DEPTH_16, LONE, Load, Options, Round, SERVER_CORE, Session};
use crate::statistics::Summary;
use agtp::bench::Protocol;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// A server that is compared.
#[derive(Clone, Copy, Debug)]
struct Contestant {
    name: &'static str,
    kind: Kind,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Ours {
        runtime: &'static str,
        tls: bool,
    },
    /// One of this package's, and what it speaks.
    Other(Protocol),
}

const CONTESTANTS: [Contestant; 8] = [
    Contestant { name: "agtp-epoll", kind: Kind::Ours { runtime: "epoll", tls: false } },
    Contestant { name: "constant-epoll", kind: Kind::Other(Protocol::Agtp) },
    Contestant { name: "agtp-uring", kind: Kind::Ours { runtime: "uring", tls: false } },
    Contestant { name: "constant-uring", kind: Kind::Other(Protocol::Agtp) },
    Contestant { name: "axum", kind: Kind::Other(Protocol::Http) },
    Contestant { name: "actix", kind: Kind::Other(Protocol::Http) },
    Contestant { name: "agtp-epoll-tls", kind: Kind::Ours { runtime: "epoll", tls: true } },
    Contestant { name: "agtp-uring-tls", kind: Kind::Ours { runtime: "uring", tls: true } },
];

/// An open loop at half of what the closed one reached at depth 1, with room for what comes late.
const HALF: Load = Load { name: "half rate", depth: 16, ..DEPTH_1 };

const LOADS: [Load; 4] = [DEPTH_1, DEPTH_16, LONE, HALF];

/// By load and server.
type Rounds = BTreeMap<(usize, usize), Vec<Round>>;

pub fn run(options: &Options) -> Result<(), Failure> {
    let session = Session::begin(options)?;
    let mut rounds = Rounds::new();
    let wanted = || CONTESTANTS.iter().enumerate().filter(|(_, contestant)| options.wants(contestant.name));
    if wanted().next().is_none() {
        let names = CONTESTANTS.map(|contestant| contestant.name).join(", ");
        return Err(format!("--only names none of {names}").into());
    }
    for round in 1..=options.rounds {
        for (index, contestant) in wanted() {
            eprintln!("round {round} of {}: {}", options.rounds, contestant.name);
            let measured = contestant.measure(&session, options.seconds);
            let measured = measured.map_err(|error| format!("{}: {error}", contestant.name))?;
            for (load, round) in measured.into_iter().enumerate() {
                rounds.entry((load, index)).or_default().push(round);
            }
        }
    }
    print!("{}", text(&rounds));
    let file = options.csv("results.csv");
    std::fs::write(&file, csv(&rounds)).map_err(|error| format!("{}: {error}", file.display()))?;
    eprintln!("written to {}", file.display());
    Ok(())
}

impl Contestant {
    fn start(&self, session: &Session) -> Result<Server, Failure> {
        match self.kind {
            Kind::Ours { runtime, tls } => session.serve(runtime, tls, &[]),
            Kind::Other(_) => Server::start(SERVER_CORE, &std::env::current_exe()?, &["serve", self.name]),
        }
    }

    /// Each load once, on a server of its own.
    fn measure(&self, session: &Session, seconds: f64) -> Result<Vec<Round>, Failure> {
        session.check()?;
        let server = self.start(session)?;
        let (protocol, trust) = match self.kind {
            Kind::Ours { tls: true, .. } => (Protocol::Agtp, Some(session.trust()?)),
            Kind::Ours { .. } => (Protocol::Agtp, None),
            Kind::Other(protocol) => (protocol, None),
        };
        let mut rounds: Vec<Round> = Vec::new();
        for load in &LOADS {
            let rate = rounds.first().filter(|_| *load == HALF).map(|round| round.rate / 2.0);
            rounds.push(session.measure(&server, protocol, trust.clone(), load, rate, seconds)?);
        }
        Ok(rounds)
    }
}

/// The medians of a figure.
fn summary(rounds: &[Round], figure: impl Fn(&Round) -> f64) -> Summary {
    let values: Vec<f64> = rounds.iter().map(figure).collect();
    Summary::of(&values).unwrap_or(Summary { median: 0.0, least: 0.0, most: 0.0 })
}

fn text(rounds: &Rounds) -> String {
    let mut text = String::new();
    for (number, load) in LOADS.iter().enumerate() {
        let core = if load.client_core == SERVER_CORE { ", client and server on one core" } else { "" };
        let _ =
            writeln!(text, "\n{}: {} connections, depth {}{core}", load.name, load.connections, load.depth);
        let _ = writeln!(
            text,
            "{:16}{:>12}{:>9}{:>10}{:>10}{:>10}{:>12}{:>9}",
            "", "answers/s", "spread", "p50 us", "p99 us", "p99.9 us", "CPU us/req", "spread"
        );
        for (index, contestant) in CONTESTANTS.iter().enumerate() {
            if let Some(rounds) = rounds.get(&(number, index)) {
                write_row(&mut text, contestant.name, rounds);
            }
        }
    }
    write_ratios(&mut text, rounds);
    text
}

fn write_row(text: &mut String, name: &str, rounds: &[Round]) {
    let (rate, cpu) = (summary(rounds, |round| round.rate), summary(rounds, |round| round.cpu));
    let p50 = summary(rounds, |round| round.p50).median;
    let p99 = summary(rounds, |round| round.p99).median;
    let p999 = summary(rounds, |round| round.p999).median;
    let _ = writeln!(
        text,
        "{name:16}{:>12.0}{:>8.0}%{p50:>10.1}{p99:>10.1}{p999:>10.1}{:>12.3}{:>8.0}%",
        rate.median,
        rate.spread(),
        cpu.median,
        cpu.spread()
    );
    let doubtful = rounds.iter().filter(|round| !round.doubts.is_empty()).count();
    if let Some(doubt) = rounds.iter().find_map(|round| round.doubts.first()) {
        let _ = writeln!(text, "{:16}in {doubtful} of {} rounds: {doubt}", "", rounds.len());
    }
}

/// What the targets speak of.
fn write_ratios(text: &mut String, rounds: &Rounds) {
    let place = |name: &str| CONTESTANTS.iter().position(|contestant| contestant.name == name);
    let found = |load: usize, name: &str| place(name).and_then(|place| rounds.get(&(load, place)));
    let rate =
        |load: usize, name: &str| found(load, name).map(|rounds| summary(rounds, |round| round.rate).median);
    let cpu =
        |load: usize, name: &str| found(load, name).map(|rounds| summary(rounds, |round| round.cpu).median);
    let better =
        |load: usize| [rate(load, "axum"), rate(load, "actix")].into_iter().flatten().reduce(f64::max);
    let ratio = |over: Option<f64>, under: Option<f64>| over.zip(under).map(|(over, under)| over / under);
    let added = |runtime: &str| {
        let (ours, limit) = (format!("agtp-{runtime}"), format!("constant-{runtime}"));
        cpu(1, &ours).zip(cpu(1, &limit)).map(|(ours, limit)| ours - limit)
    };
    let against = |load: usize, runtime: &str| {
        ratio(rate(load, &format!("agtp-{runtime}")), rate(load, &format!("constant-{runtime}")))
    };
    let tls =
        |runtime: &str| ratio(rate(1, &format!("agtp-{runtime}-tls")), rate(1, &format!("agtp-{runtime}")));
    let tail = found(3, "agtp-epoll")
        .map(|rounds| summary(rounds, |round| round.p999).median / summary(rounds, |round| round.p50).median);
    let _ = writeln!(text, "\nagainst the targets");
    for (figure, value) in [
        ("CPU the contract adds, depth 16, epoll, us", added("epoll")),
        ("CPU the contract adds, depth 16, uring, us", added("uring")),
        ("depth 16 against the constant responder, epoll", against(1, "epoll")),
        ("depth 1 against the constant responder, epoll", against(0, "epoll")),
        ("depth 16 against the constant responder, uring", against(1, "uring")),
        ("depth 1 against the constant responder, uring", against(0, "uring")),
        ("depth 16 against the better of the peers", ratio(rate(1, "agtp-epoll"), better(1))),
        ("depth 1 against the better of the peers", ratio(rate(0, "agtp-epoll"), better(0))),
        ("lone connection, CPU against axum", ratio(cpu(2, "agtp-epoll"), cpu(2, "axum"))),
        ("TLS against plaintext, depth 16, epoll", tls("epoll")),
        ("TLS against plaintext, depth 16, uring", tls("uring")),
        ("p99.9 against p50 at half the rate, epoll", tail),
    ] {
        if let Some(value) = value {
            let _ = writeln!(text, "{figure:52}{value:>8.2}");
        }
    }
}

/// One line for each load and server.
fn csv(rounds: &Rounds) -> String {
    let mut csv = "load,server,rounds,rate_median,rate_min,rate_max,p50_us,p99_us,p99_9_us,\
                   cpu_us_median,cpu_us_min,cpu_us_max,doubtful_rounds\n"
        .to_owned();
    for ((load, index), rounds) in rounds {
        let (rate, cpu) = (summary(rounds, |round| round.rate), summary(rounds, |round| round.cpu));
        let doubtful = rounds.iter().filter(|round| !round.doubts.is_empty()).count();
        let _ = writeln!(
            csv,
            "{},{},{},{:.0},{:.0},{:.0},{:.1},{:.1},{:.1},{:.3},{:.3},{:.3},{doubtful}",
            LOADS[*load].name,
            CONTESTANTS[*index].name,
            rounds.len(),
            rate.median,
            rate.least,
            rate.most,
            summary(rounds, |round| round.p50).median,
            summary(rounds, |round| round.p99).median,
            summary(rounds, |round| round.p999).median,
            cpu.median,
            cpu.least,
            cpu.most,
        );
    }
    csv
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounds() -> Rounds {
        let round =
            |rate: f64, cpu: f64| Round { rate, p50: 10.0, p99: 20.0, p999: 30.0, cpu, doubts: Vec::new() };
        let mut rounds = Rounds::new();
        for load in 0..LOADS.len() {
            rounds.insert((load, 0), vec![round(90.0, 1.5), round(110.0, 1.5), round(100.0, 1.5)]);
            rounds.insert((load, 1), vec![round(200.0, 1.0)]);
        }
        rounds
    }

    #[test]
    fn medians_spreads_and_ratios_are_shown() {
        let text = text(&rounds());
        for part in [
            "agtp-epoll               100      20%      10.0      20.0      30.0       1.500       0%",
            "CPU the contract adds, depth 16, epoll, us              0.50",
            "depth 1 against the constant responder, epoll           0.50",
            "p99.9 against p50 at half the rate, epoll               3.00",
        ] {
            assert!(text.contains(part), "{part} in\n{text}");
        }
        assert!(!text.contains("axum"), "what was not measured is not there");
    }

    #[test]
    fn csv_has_a_line_for_each_load_and_server() {
        let csv = csv(&rounds());
        assert_eq!(csv.lines().count(), 1 + 2 * LOADS.len());
        assert!(
            csv.contains("depth 1,agtp-epoll,3,100,90,110,10.0,20.0,30.0,1.500,1.500,1.500,0\n"),
            "{csv}"
        );
    }
}
