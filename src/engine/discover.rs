//! `DISCOVER /` with `criteria`: the endpoints and agents it is about, best first (D28).
//!
//! `criteria` is a text, or an array or object whose texts count together; the keys of an object do not. `filter` leaves
//! out what does not fit and changes no score. The ranking itself is the registry's: see [`crate::registry::Discovery`].

use super::Engine;
use crate::identity::{Agent, Status};
use crate::json::{ArrayWriter, ObjectWriter, Value, write_object};
use crate::registry::{Candidate, Hit, MOST_RESULTS, Question, Ranking, SCORE_UNITS, Subject, words};

/// What is read of the criteria: bytes of text, and one for each value that is none. More would say nothing new.
const MOST_READ: usize = 8192;

/// Results when `max_results` does not say.
const USUAL_RESULTS: u64 = 10;

/// Writes the candidates for valid input into `body`.
pub(super) fn rank(engine: &Engine<'_>, input: Value<'_>, criteria: Value<'_>, body: &mut Vec<u8>) {
    let mut question = Question::default();
    let mut left = MOST_READ;
    gather(criteria, &mut left, &mut question);
    let most = input.get("max_results").and_then(|most| most.as_u64()).unwrap_or(USUAL_RESULTS);
    let mut ranking = Ranking::new(usize::try_from(most).unwrap_or(MOST_RESULTS));
    let filter = Filter(input.get("filter"));
    let discovery = &engine.registry.discovery;
    let accepts = |candidate: &Candidate| filter.accepts(engine, candidate);
    discovery.rank(&engine.registry.text, &question, accepts, &mut ranking);
    body.clear();
    write_object(body, |o| {
        o.array("candidates", |list| ranking.hits().iter().for_each(|hit| write(engine, hit, list)));
    });
}

/// Adds the words of a value and its parts to the question, as long as there is something `left` to read.
fn gather(value: Value<'_>, left: &mut usize, question: &mut Question) {
    if *left == 0 || question.is_full() {
        return;
    }
    let text = value.as_str().unwrap_or("");
    let text = &text[..text.floor_char_boundary(*left)];
    *left -= text.len().max(1);
    for word in words(text) {
        question.add(word);
        if question.is_full() {
            return;
        }
    }
    for part in value.elements().chain(value.members().map(|(_, part)| part)) {
        if *left == 0 {
            return;
        }
        gather(part, left, question);
    }
}

/// What `filter` asks for: a kind, method, capability or impact, in an object by name or alone as a text.
struct Filter<'v>(Option<Value<'v>>);

impl Filter<'_> {
    fn accepts(&self, engine: &Engine<'_>, candidate: &Candidate) -> bool {
        let facts = facts(engine, candidate);
        let Some(filter) = self.0 else { return facts.is_some() };
        let Some(facts) = facts else { return false };
        match filter.as_str() {
            Some(text) => facts.iter().any(|(_, fact)| *fact == text),
            None => filter.members().all(|(name, wanted)| {
                facts.iter().any(|(of, fact)| *of == name && wanted.as_str() == Some(*fact))
            }),
        }
    }
}

/// What a candidate can be filtered by; nothing if it is an agent that does not act.
fn facts<'e>(engine: &'e Engine<'_>, candidate: &Candidate) -> Option<[(&'static str, &'e str); 4]> {
    let registry = engine.registry;
    let (kind, method) = match candidate.subject {
        Subject::Endpoint(id) => ("endpoint", registry.method_name(registry.endpoint(id).method)),
        Subject::Agent(row) => {
            engine.agents.agents.get(row as usize).filter(|agent| acts(engine, agent))?;
            ("agent", "")
        }
    };
    let (capability, impact) = (registry.str(candidate.capability), registry.str(candidate.impact));
    Some([("kind", kind), ("method", method), ("capability", capability), ("impact", impact)])
}

fn acts(engine: &Engine<'_>, agent: &Agent) -> bool {
    matches!(engine.status_of(agent), Status::Active | Status::Deprecated)
}

fn write(engine: &Engine<'_>, hit: &Hit, list: &mut ArrayWriter<'_>) {
    let registry = engine.registry;
    let Some(candidate) = registry.discovery.candidates.get(hit.candidate as usize) else { return };
    let Candidate { subject, name, description, capability, impact } = *candidate;
    let kind = if matches!(subject, Subject::Endpoint(_)) { "endpoint" } else { "agent" };
    list.object(|o| {
        o.str("kind", kind).str("name", registry.str(name)).str("description", registry.str(description));
        o.f64("score", hit.score as f64 / SCORE_UNITS as f64);
        match subject {
            Subject::Endpoint(id) => {
                let endpoint = registry.endpoint(id);
                o.str("method", registry.method_name(endpoint.method))
                    .str("path", registry.str(endpoint.path));
                o.str("capability", registry.str(capability)).str("impact", registry.str(impact));
            }
            Subject::Agent(row) => {
                let agent = engine.agents.agents.get(row as usize);
                agent.into_iter().for_each(|agent| write_id(agent, o));
            }
        }
    });
}

fn write_id(agent: &Agent, o: &mut ObjectWriter<'_>) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut hex = [0; 64];
    for (pair, byte) in hex.as_chunks_mut::<2>().0.iter_mut().zip(agent.id) {
        *pair = [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 0xf)]];
    }
    o.bytes_lossy("agent_id", &hex);
}
