//! Criterion benches of each part of a request's way, beside the library that would do the same, and of the whole.
//!
//! `cargo bench --bench engine`, or with a filter: `cargo bench --bench engine -- route`.

#[path = "../tests/common/mod.rs"]
mod common;

use agtp::engine::{Core, Engine, Now, PADDING, Session};
use agtp::json::{Schema, TapeBuffers};
use agtp::registry::{LeakAutomaton, Question, Ranking, Registry, split_segments, words};
use agtp::wire::{HeadParser, Limits, Parsed};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::collections::HashSet;
use std::hint::black_box;

criterion_group!(benches, parse, verbs, route, route_scale, leak, tape, agents, discover, whole);
criterion_main!(benches);

/// The head of the sample BOOK.
fn parse(c: &mut Criterion) {
    let request = common::scenarios::all().swap_remove(0).request;
    let end = request.windows(4).position(|w| w == b"\r\n\r\n").expect("a head") + 4;
    let head = &request[..end];
    let mut group = c.benchmark_group("parse");
    group.throughput(Throughput::Bytes(end as u64));
    group.bench_function("agtp", |b| {
        let mut parser = HeadParser::new();
        b.iter(|| {
            parser.reset();
            assert_eq!(parser.advance(black_box(head), &Limits::DEFAULT), Parsed::Done);
        });
    });
    // httparse wants HTTP's order on the first line; the headers are the same bytes.
    let http = [
        b"BOOK /rooms/12 HTTP/1.1\r\n".as_slice(),
        &head[head.iter().position(|b| *b == b'\n').unwrap() + 1..],
    ]
    .concat();
    group.bench_function("httparse", |b| {
        b.iter(|| {
            let mut headers = [httparse::EMPTY_HEADER; 64];
            let mut request = httparse::Request::new(&mut headers);
            assert!(request.parse(black_box(&http)).expect("sound").is_complete());
        });
    });
    group.finish();
}

/// All catalog verbs, one look-up each; times are per verb.
fn verbs(c: &mut Criterion) {
    let registry = common::sample().registry();
    let names: Vec<&str> =
        registry.methods.iter().filter(|m| m.catalog).map(|m| registry.str(m.name)).collect();
    let set: HashSet<&[u8]> = names.iter().map(|name| name.as_bytes()).collect();
    let mut group = c.benchmark_group("verb");
    group.throughput(Throughput::Elements(names.len() as u64));
    group.bench_function("agtp", |b| {
        b.iter(|| names.iter().filter(|name| registry.lookup(black_box(name.as_bytes())).is_some()).count());
    });
    group.bench_function("HashSet", |b| {
        b.iter(|| names.iter().filter(|name| set.contains(black_box(name.as_bytes()))).count());
    });
    group.finish();
}

/// 130 templates, one path for each; times are per path.
fn route(c: &mut Criterion) {
    let templates = common::templates::all();
    let engine = common::engine_with(&templates.iter().map(|t| ("FIND", t.clone())).collect::<Vec<_>>());
    let paths = common::templates::paths();
    let mut matchit = matchit::Router::new();
    for template in &templates {
        matchit.insert(template.as_str(), ()).expect("no conflict");
    }
    let mut group = c.benchmark_group("route");
    group.throughput(Throughput::Elements(paths.len() as u64));
    group.bench_function("agtp", |b| {
        let mut segments = Vec::with_capacity(64);
        b.iter(|| routed(engine.registry(), &paths, &mut segments));
    });
    group.bench_function("matchit", |b| {
        b.iter(|| paths.iter().filter(|path| matchit.at(black_box(path)).is_ok()).count());
    });
    group.finish();
}

fn routed(registry: &Registry, paths: &[String], segments: &mut Vec<agtp::registry::Segment>) -> usize {
    let method = registry.lookup(b"FIND").expect("a verb");
    let root = registry.method(method).routes;
    let found = paths.iter().filter(|path| {
        let path = black_box(path.as_bytes());
        split_segments(path, registry.router.deepest as usize + 1, segments);
        registry.router.route(root, path, segments, &registry.text).is_some()
    });
    found.count()
}

/// The same look-ups among 10 and among 10,000 endpoints.
fn route_scale(c: &mut Criterion) {
    let mut group = c.benchmark_group("route_scale");
    for count in [10, 10_000] {
        let templates: Vec<_> =
            (0..count).map(|i| ("FIND", format!("/area{}/thing{i}/{{id}}", i % 100))).collect();
        let engine = common::engine_with(&templates);
        let paths: Vec<_> =
            (0..10).map(|i| i * (count / 10)).map(|i| format!("/area{}/thing{i}/77", i % 100)).collect();
        group.throughput(Throughput::Elements(paths.len() as u64));
        group.bench_function(format!("{count}_endpoints"), |b| {
            let mut segments = Vec::with_capacity(64);
            b.iter(|| assert_eq!(routed(engine.registry(), &paths, &mut segments), paths.len()));
        });
    }
    group.finish();
}

/// A path of 40 bytes without a verb.
fn leak(c: &mut Criterion) {
    let registry = common::sample().registry();
    let path = b"/guests/octavia-e/parable_of_the_sower/1";
    let names: Vec<String> = registry.methods.iter().map(|m| format!("/{}/", registry.str(m.name))).collect();
    let dfa = aho_corasick::AhoCorasick::builder()
        .kind(Some(aho_corasick::AhoCorasickKind::DFA))
        .ascii_case_insensitive(true)
        .build(names)
        .expect("few patterns");
    let leak: &LeakAutomaton = &registry.leak;
    let mut group = c.benchmark_group("leak");
    group.bench_function("agtp", |b| b.iter(|| leak.first_leak(black_box(path)).is_none()));
    group.bench_function("aho_corasick", |b| b.iter(|| !dfa.is_match(black_box(path.as_slice()))));
    group.finish();
}

/// The body of the sample BOOK against its input schema.
fn tape(c: &mut Criterion) {
    let registry = common::sample().registry();
    let request = common::scenarios::all().swap_remove(0).request;
    let body = &request[request.windows(4).position(|w| w == b"\r\n\r\n").expect("a head") + 4..];
    let endpoint =
        registry.endpoints.iter().find(|e| registry.str(e.path) == "/rooms/{room_id}").expect("BOOK");
    let text = registry.str(registry.schemas[endpoint.input.0 as usize]);
    let mut value: serde_json::Value = serde_json::from_str(text).expect("JSON");
    // The path parameter is not in the body; here only the body counts.
    value["required"].as_array_mut().expect("an array").retain(|name| name != "room_id");
    let schema = Schema::compile(&value.to_string()).expect("a schema");
    let plain = jsonschema::options().should_validate_formats(true).build(&value).expect("a schema");
    let mut buffers = TapeBuffers::default();
    let mut buffer = vec![0; body.len() + PADDING];
    let mut group = c.benchmark_group("tape_and_validate");
    group.throughput(Throughput::Bytes(body.len() as u64));
    group.bench_function("agtp", |b| {
        b.iter(|| {
            buffer[..body.len()].copy_from_slice(black_box(body));
            let document = buffers.parse(&mut buffer, body.len(), 64).expect("JSON");
            let valid = schema.is_valid(document.root());
            buffers.recycle(document);
            assert!(valid);
        });
    });
    group.bench_function("serde_json", |b| {
        b.iter(|| {
            let value: serde_json::Value = serde_json::from_slice(black_box(body)).expect("JSON");
            assert!(plain.is_valid(&value));
        });
    });
    group.finish();
}

/// A deployment of this many agents whose skills have words in common.
fn crowd(count: usize) -> Engine<'static> {
    let document = |number: usize| {
        let skill = format!("Sweeps floor {} of house {number}", number % 40);
        let document = serde_json::json!({
            "agent_id": format!("{number:064x}"), "name": format!("agent{number}"), "skills": [skill],
        });
        (format!("agents/{number}.agent.json"), document.to_string())
    };
    let documents: Vec<_> = (0..count).map(document).collect();
    let documents: Vec<_> = documents.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let reading = agtp::compiler::read_documents(&documents, &agtp::compiler::ReadOptions::default());
    let deployment = reading.deployment.expect("a usable deployment");
    assert_eq!(deployment.agents.len(), count);
    let compiled = Box::leak(Box::new(agtp::compiler::lower(&deployment, &common::times()).expect("tables")));
    Engine::new(&compiled.registry, &compiled.agents, &[]).expect("nothing to bind")
}

/// Ten look-ups among 10 and among 100,000 agents; times are per look-up.
fn agents(c: &mut Criterion) {
    let mut group = c.benchmark_group("agent_scale");
    for count in [10, 100_000] {
        let engine = crowd(count);
        let agents = engine.agents();
        let ids: Vec<_> = (0..10).map(|i| agents.agents[i * (count / 10)].id).collect();
        group.throughput(Throughput::Elements(ids.len() as u64));
        group.bench_function(format!("{count}_agents"), |b| {
            b.iter(|| assert!(ids.iter().all(|id| agents.find(black_box(id)).is_some())));
        });
    }
    group.finish();
}

/// The ranking of `DISCOVER /` with criteria among 10 and among 100,000 agents.
fn discover(c: &mut Criterion) {
    let mut group = c.benchmark_group("discover");
    for count in [10, 100_000] {
        let registry = crowd(count).registry();
        let mut question = Question::default();
        words("sweep floor 17 of house 3 and list agents, tools, endpoints")
            .for_each(|word| question.add(word));
        group.bench_function(format!("{count}_agents"), |b| {
            b.iter(|| {
                let mut ranking = Ranking::new(10);
                registry.discovery.rank(&registry.text, black_box(&question), |_| true, &mut ranking);
                assert!(!ranking.hits().is_empty());
            });
        });
    }
    group.finish();
}

/// Whole requests, head to answer.
fn whole(c: &mut Criterion) {
    let engine = common::sample();
    let mut core = Core::new(engine, 1);
    let mut group = c.benchmark_group("request");
    for scenario in common::scenarios::all() {
        let (mut session, mut out) = (Session::new(), Vec::with_capacity(64 * 1024));
        let len = scenario.request.len();
        let mut buffer = vec![0; len + PADDING];
        group.bench_function(scenario.name, |b| {
            b.iter(|| {
                buffer[..len].copy_from_slice(&scenario.request);
                out.clear();
                engine.step(
                    &mut core,
                    &mut session,
                    Now { unix_ms: 1 },
                    black_box(&mut buffer),
                    len,
                    &mut out,
                )
            });
        });
    }
    group.finish();
}
