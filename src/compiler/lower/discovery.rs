//! The index of ranked discovery: words of the semantic blocks, of the catalog and of agents' skills (D28).

use super::LowerError;
use super::builtins::Entry;
use super::text::{Interner, index};
use crate::compiler::ir::{AgentDecl, Deployment, EndpointDecl};
use crate::identity::{Agents, parse_agent_id};
use crate::registry::{
    Builtin, Candidate, Disclosure, Discovery, Endpoint, EndpointId, IndexedWord, MOST_POSTINGS, MOST_WEIGHT,
    Method, Posting, Rows, Subject, Text, Word, words,
};

/// How telling the places are in which a word may stand.
const NAME: u32 = MOST_WEIGHT;
const PURPOSE: u32 = 3;
const SURROUNDINGS: u32 = 2;
const VOCABULARY: u32 = 1;

/// A word of a candidate. The order is that of the index; of one candidate's equal words the weightiest comes first.
type Occurrence = (Word, u32, std::cmp::Reverse<u32>);

/// The candidates and what they say of themselves.
struct Builder<'t> {
    text: &'t mut Interner,
    candidates: Vec<Candidate>,
    occurrences: Vec<Occurrence>,
}

/// Indexes the endpoints that can be invoked and, unless nobody is told of them, the agents.
pub(super) fn index_of(
    deployment: &Deployment,
    entries: &[Entry<'_>],
    methods: &[Method],
    endpoints: &[Endpoint],
    agents: &Agents,
    text: &mut Interner,
) -> Result<Discovery, LowerError> {
    let mut builder = Builder { text, candidates: Vec::new(), occurrences: Vec::new() };
    let synthesis = deployment.settings.policies.synthesis_enabled;
    let served = |builtin: Option<Builtin>| match builtin {
        Some(Builtin::FloorUnserved) => false,
        Some(Builtin::Propose) => synthesis,
        _ => true,
    };
    let mut rows: Vec<usize> = (0..entries.len()).filter(|row| served(entries[*row].builtin)).collect();
    rows.retain(|row| methods[usize::from(endpoints[*row].method.0)].admitted);
    // The operator's own first: they are what a server is for.
    rows.sort_by_key(|row| entries[*row].builtin.is_some());
    for row in rows {
        builder.endpoint(EndpointId(index(row)), &entries[row].decl, deployment);
    }
    if deployment.settings.disclosure != Disclosure::Private {
        deployment.agents.iter().for_each(|agent| builder.agent(agent, agents));
    }
    builder.finish()
}

impl Builder<'_> {
    fn endpoint(&mut self, id: EndpointId, decl: &EndpointDecl, deployment: &Deployment) {
        let semantic = &decl.semantic;
        for (weight, text) in [
            (NAME, &decl.method),
            (NAME, &decl.path.text),
            (PURPOSE, &semantic.intent),
            (PURPOSE, &decl.description),
            (SURROUNDINGS, &semantic.outcome),
            (SURROUNDINGS, &semantic.capability),
        ] {
            self.say(weight, text);
        }
        self.say(SURROUNDINGS, decl.namespace.as_deref().unwrap_or(""));
        if let Some(verb) = deployment.catalog.verb(&decl.method) {
            self.say(VOCABULARY, &verb.description);
            verb.categories.iter().for_each(|category| self.say(VOCABULARY, category));
        }
        self.candidates.push(Candidate {
            subject: Subject::Endpoint(id),
            name: self.text.add(&format!("{} {}", decl.method, decl.path.text)),
            description: self.text.add(&decl.description),
            capability: self.text.add(&semantic.capability),
            impact: self.text.add(&semantic.impact),
        });
    }

    fn agent(&mut self, decl: &AgentDecl, agents: &Agents) {
        let row = parse_agent_id(decl.agent_id.as_bytes())
            .and_then(|id| agents.agents.binary_search_by(|agent| agent.id.cmp(&id)).ok());
        let Some(row) = row else { return };
        self.say(NAME, &decl.name);
        decl.skills.iter().for_each(|skill| self.say(PURPOSE, skill));
        let description = decl.description.as_deref().filter(|text| !text.trim().is_empty());
        self.say(SURROUNDINGS, description.unwrap_or(""));
        self.candidates.push(Candidate {
            subject: Subject::Agent(index(row)),
            name: self.text.add(&decl.name),
            description: self.text.add(description.unwrap_or(&decl.skills_summary)),
            capability: Text::EMPTY,
            impact: Text::EMPTY,
        });
    }

    /// Adds the words of a text to the candidate that is about to be pushed.
    fn say(&mut self, weight: u32, text: &str) {
        let candidate = index(self.candidates.len());
        self.occurrences.extend(words(text).map(|word| (word, candidate, std::cmp::Reverse(weight))));
    }

    fn finish(mut self) -> Result<Discovery, LowerError> {
        if self.candidates.len() > Posting::MOST_CANDIDATES {
            return Err(LowerError::TooMany { what: "endpoints and agents", most: Posting::MOST_CANDIDATES });
        }
        self.occurrences.sort_unstable();
        // Only the most telling place counts, so that nobody ranks higher for repeating a word.
        self.occurrences.dedup_by_key(|(word, candidate, _)| (*word, *candidate));
        let mut words = Vec::new();
        let mut postings = Vec::new();
        for having in self.occurrences.chunk_by(|a, b| a.0 == b.0) {
            let start = index(postings.len());
            postings.extend(champions(having));
            words.push(IndexedWord {
                word: self.text.add(having[0].0.as_str()),
                rarity: rarity(self.candidates.len(), having.len()),
                postings: Rows { start, end: index(postings.len()) },
            });
        }
        Ok(Discovery {
            words: words.into(),
            postings: postings.into(),
            unknown_rarity: rarity(self.candidates.len(), 1),
            candidates: self.candidates.into(),
        })
    }
}

/// The postings of one word: the weightiest, of equal ones the first, in the order of the candidates.
fn champions(having: &[Occurrence]) -> Vec<Posting> {
    let mut best: Vec<_> = having.iter().map(|(_, candidate, weight)| (*weight, *candidate)).collect();
    best.sort_unstable();
    best.truncate(MOST_POSTINGS);
    let mut postings: Vec<_> = best.iter().map(|(weight, row)| Posting::new(*row, weight.0)).collect();
    postings.sort_unstable();
    postings
}

/// Inverse document frequency in thousandths: whole, so that every machine ranks alike.
fn rarity(candidates: usize, having: usize) -> u32 {
    (1000.0 * (1.0 + candidates as f64 / having as f64).ln()).round() as u32
}

#[cfg(test)]
mod tests {
    use crate::compiler::lower::fixture::{agent, deployment, endpoint, times};
    use crate::compiler::lower::lower;
    use crate::registry::{
        MOST_POSTINGS, MOST_RESULTS, MOST_WORDS, Question, Ranking, Registry, SCORE_UNITS, words,
    };
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    /// Agents' names and skills to a registry; ids follow their positions.
    fn hosting(agents: &[(String, String)]) -> Registry {
        let mut deployment = deployment(vec![endpoint("BOOK", "/rooms")]);
        for (position, (name, skills)) in agents.iter().enumerate() {
            let mut decl = agent('a', name);
            decl.agent_id = format!("{position:064x}");
            decl.skills = vec![skills.clone()];
            deployment.agents.push(decl);
        }
        lower(&deployment, &times()).unwrap().registry
    }

    fn ask(registry: &Registry, text: &str, most: usize) -> Vec<(String, u64)> {
        let mut question = Question::default();
        words(text).for_each(|word| question.add(word));
        let mut ranking = Ranking::new(most);
        registry.discovery.rank(&registry.text, &question, |_| true, &mut ranking);
        let name = |row: u32| registry.str(registry.discovery.candidates[row as usize].name).to_owned();
        ranking.hits().iter().map(|hit| (name(hit.candidate), hit.score)).collect()
    }

    /// The documented formula over the index's own weights, candidate by candidate.
    fn naive(registry: &Registry, text: &str, most: usize) -> Vec<(String, u64)> {
        let index = &registry.discovery;
        let asked: BTreeSet<String> = words(text).map(|word| word.as_str().to_owned()).collect();
        let row = |word: &str| index.words.iter().find(|row| registry.str(row.word) == word);
        let all: u64 = asked
            .iter()
            .map(|word| u64::from(row(word).map_or(index.unknown_rarity, |row| row.rarity)) * 4)
            .sum();
        let mut scored: Vec<(u64, usize)> = Vec::new();
        for candidate in 0..index.candidates.len() {
            let weight = |word: &String| {
                let Some(row) = row(word) else { return 0 };
                let mut postings = row.postings.of(&index.postings).iter();
                let posting = postings.find(|posting| posting.candidate() as usize == candidate);
                posting.map_or(0, |posting| u64::from(posting.weight()) * u64::from(row.rarity))
            };
            let sum: u64 = asked.iter().map(weight).sum();
            if sum > 0 {
                scored.push(((sum * SCORE_UNITS / all).max(1), candidate));
            }
        }
        scored.sort_by_key(|(score, candidate)| (std::cmp::Reverse(*score), *candidate));
        scored.truncate(most);
        let named =
            |(score, row): &(u64, usize)| (registry.str(index.candidates[*row].name).to_owned(), *score);
        scored.iter().map(named).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn the_merge_ranks_as_the_formula_does(
            agents in prop::collection::vec(("[a-d]{2,3}", "([a-d]{2} ){0,5}"), 0..12),
            text in "([a-d]{2,3} ){1,8}",
            most in 1usize..12,
        ) {
            let registry = hosting(&agents);
            prop_assert_eq!(ask(&registry, &text, most), naive(&registry, &text, most));
        }
    }

    #[test]
    fn telling_places_and_rare_words_weigh_more_and_repeats_nothing() {
        let agents = [
            ("porter", "carries bags"),
            ("carrier", "talks of porters, porters, porters and porters"),
            ("janitor", "carries keys"),
        ];
        let registry = hosting(&agents.map(|(name, skills)| (name.to_owned(), skills.to_owned())));
        let ranked = ask(&registry, "porter", 9);
        assert_eq!(ranked, [("porter".to_owned(), SCORE_UNITS), ("carrier".to_owned(), SCORE_UNITS * 3 / 4)]);
        // Two have the one word, one has the other.
        assert_eq!(ask(&registry, "carries keys", 9)[0].0, "janitor");
        // A word nobody has counts against all alike.
        let with_unknown = ask(&registry, "porter zeppelin", 9);
        assert_eq!(with_unknown.iter().map(|hit| &hit.0).collect::<Vec<_>>(), ["porter", "carrier"]);
        assert!(with_unknown[0].1 < ranked[0].1);
        assert_eq!(ask(&registry, "zeppelin", 9), []);
        assert_eq!(ask(&registry, "", 9), []);
    }

    #[test]
    fn equal_scores_keep_the_order_of_the_candidates() {
        let agents: Vec<_> = (0..8).map(|n| (format!("n{n}"), "sweeps floors".to_owned())).collect();
        let names: Vec<_> = ask(&hosting(&agents), "floors", 5).into_iter().map(|hit| hit.0).collect();
        assert_eq!(names, ["n0", "n1", "n2", "n3", "n4"]);
    }

    #[test]
    fn a_question_is_bounded_however_many_candidates_there_are() {
        let agents: Vec<_> = (0..3_000).map(|n| (format!("n{n}"), "sweeps floors".to_owned())).collect();
        let registry = hosting(&agents);
        let index = &registry.discovery;
        assert!(index.candidates.len() > 3_000);
        for row in index.words.iter() {
            let postings = row.postings.of(&index.postings);
            assert!(!postings.is_empty() && postings.len() <= MOST_POSTINGS, "{}", registry.str(row.word));
            assert!(postings.is_sorted_by(|a, b| a.candidate() < b.candidate()));
        }
        assert!(index.words.is_sorted_by(|a, b| registry.str(a.word) < registry.str(b.word)));
        assert_eq!(ask(&registry, "floors", usize::MAX).len(), MOST_RESULTS);
        // Whom a common word does not list is found by a rare one.
        assert_eq!(ask(&registry, "floors n2999", 1)[0].0, "n2999");
        // The first words count.
        let before = |count: usize| (0..count).map(|n| format!("w{n} ")).collect::<String>() + "n2999";
        assert_eq!(ask(&registry, &before(MOST_WORDS - 1), 9).len(), 1);
        assert_eq!(ask(&registry, &before(MOST_WORDS), 9), []);
    }
}
