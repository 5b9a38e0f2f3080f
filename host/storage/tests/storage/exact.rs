//! Recall against plain calculations over all facts, and what must come first.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use keepsake_storage::{FactVectors, Memory, NewFact, QueryVector, RecallMode, RecallOptions};

use crate::common::{TestFile, remember_text};
use crate::recall::{by, by_words};

/// A generator of numbers that is the same everywhere (Marsaglia's xorshift).
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }

    /// A number from -1 to 1.
    fn value(&mut self) -> f32 {
        self.below(20_001) as f32 / 10_000.0 - 1.0
    }

    /// Words such as `zqbk`, some more often than others. They have no ending that
    /// could be taken off, and no digit that would make them identifiers.
    fn text(&mut self, words: u64) -> String {
        let word = |numbers: &mut Self| {
            let bound = numbers.below(200) + 1;
            let number = numbers.below(bound);
            let letter = |number: u64| b"bcdfghjklmnpqrvw"[number as usize % 16] as char;
            format!("zq{}{}", letter(number / 16), letter(number))
        };
        let count = self.below(words) + 1;
        let words: Vec<String> = (0..count).map(|_| word(self)).collect();
        words.join(" ")
    }

    fn vector(&mut self) -> Vec<f32> {
        (0..12).map(|_| self.value()).collect()
    }
}

const FACTS: u64 = 700;

async fn filled(file: &TestFile, numbers: &mut Numbers) -> (Memory, Vec<String>, Vec<Vec<f32>>) {
    let memory = file.memory("jordan").await;
    let texts: BTreeSet<String> = (0..FACTS)
        .map(|place| format!("{} only{place}x", numbers.text(12)))
        .collect();
    let texts: Vec<String> = texts.into_iter().collect();
    let vectors: Vec<Vec<f32>> = texts.iter().map(|_| numbers.vector()).collect();
    let given = FactVectors {
        model: "m".to_owned(),
        dimensions: 12,
        vectors: vectors.clone(),
    };
    let facts = texts.iter().map(NewFact::new).collect();
    memory.remember_many(facts, Some(given)).await.unwrap();
    (memory, texts, vectors)
}

/// BM25 of each text that holds a word of the query, as the books have it.
fn bm25(texts: &[String], query: &str) -> HashMap<String, f64> {
    let count = texts.len() as f64;
    let words = |text: &str| -> Vec<String> { text.split(' ').map(str::to_owned).collect() };
    let average = texts.iter().map(|text| words(text).len()).sum::<usize>() as f64 / count;
    let asked: BTreeSet<String> = words(query).into_iter().collect();
    let mut scores = HashMap::new();
    for word in asked {
        let holding: Vec<&String> = texts
            .iter()
            .filter(|text| words(text).contains(&word))
            .collect();
        let weight =
            (1.0 + (count - holding.len() as f64 + 0.5) / (holding.len() as f64 + 0.5)).ln();
        for text in &holding {
            let held = words(text);
            let times = held.iter().filter(|other| **other == word).count() as f64;
            let length = 1.0 - 0.75 + 0.75 * (held.len() as f64 / average).min(2.0);
            *scores.entry((*text).clone()).or_insert(0.0) +=
                weight * times * 2.2 / (times + 1.2 * length);
        }
    }
    scores
}

#[tokio::test]
async fn recall_by_words_is_what_a_calculation_over_all_facts_gives() {
    let mut numbers = Numbers(7);
    let file = TestFile::new().await;
    let (memory, texts, _) = filled(&file, &mut numbers).await;
    for _ in 0..40 {
        let query = numbers.text(5);
        let expected = bm25(&texts, &query);
        let mut best: Vec<f64> = expected.values().copied().collect();
        best.sort_by(|left, right| right.total_cmp(left));
        let found = by_words(&memory, &query).await;
        assert_eq!(found.len(), best.len().min(10), "{query}");
        for (text, best) in found.iter().zip(best) {
            // Equal scores may stand in any order here.
            assert!((expected[text] - best).abs() < 1e-9, "{query}: {text}");
        }
    }
}

#[tokio::test]
async fn recall_by_vectors_is_what_a_calculation_over_all_facts_gives() {
    let mut numbers = Numbers(11);
    let file = TestFile::new().await;
    let (memory, texts, vectors) = filled(&file, &mut numbers).await;
    for _ in 0..40 {
        let query = numbers.vector();
        let cosine = |vector: &[f32]| {
            let dot = |left: &[f32], right: &[f32]| -> f64 {
                left.iter()
                    .zip(right)
                    .map(|(l, r)| f64::from(*l) * f64::from(*r))
                    .sum()
            };
            dot(&query, vector) / (dot(&query, &query) * dot(vector, vector)).sqrt()
        };
        let mut best: Vec<(f64, &String)> = vectors
            .iter()
            .map(|vector| cosine(vector))
            .zip(&texts)
            .collect();
        best.sort_by(|left, right| right.0.total_cmp(&left.0));
        let asked = QueryVector {
            model: "m".to_owned(),
            vector: query.clone(),
            relevance_threshold: None,
        };
        let found = memory
            .recall("x", Some(asked), by(RecallMode::Vectors))
            .await
            .unwrap();
        for (found, (cosine, text)) in found.facts.iter().zip(best) {
            assert_eq!(&found.fact.content, text);
            assert!((found.score.cosine.unwrap() - cosine).abs() < 1e-5);
        }
    }
}

#[tokio::test]
async fn the_facts_that_hold_an_identifier_come_first_however_near_others_are() {
    let file = TestFile::new().await;
    let memory = file.memory("jordan").await;
    let facts = [
        (
            "the order for the red bicycle is late, late, late",
            [1.0, 0.0],
        ),
        ("ORD-1243 is a red bicycle that is late", [0.99, 0.1]),
        ("ord1234 was paid", [0.0, 1.0]),
        ("jo@example.com wrote about ORD-1234", [0.1, 1.0]),
        ("jo@example.org wrote about an order", [0.9, 0.1]),
    ];
    let vectors = FactVectors {
        model: "m".to_owned(),
        dimensions: 2,
        vectors: facts.iter().map(|(_, vector)| vector.to_vec()).collect(),
    };
    let texts = facts.iter().map(|(text, _)| NewFact::new(*text)).collect();
    memory.remember_many(texts, Some(vectors)).await.unwrap();
    let first = async |query: &str, count: usize| -> Vec<String> {
        let asked = QueryVector {
            model: "m".to_owned(),
            vector: vec![1.0, 0.0],
            relevance_threshold: Some(0.5),
        };
        let found = memory
            .recall(query, Some(asked), RecallOptions::default())
            .await
            .unwrap();
        found
            .facts
            .iter()
            .take(count)
            .map(|found| found.fact.content.clone())
            .collect()
    };
    let both = first("is order ORD-1234 the late red bicycle?", 2).await;
    assert!(
        both.iter()
            .all(|text| text.to_lowercase().replace('-', "").contains("ord1234")),
        "{both:?}"
    );
    assert_eq!(
        first(
            "did jo@example.com ask about order ORD-1234, the late red bicycle?",
            1
        )
        .await,
        ["jo@example.com wrote about ORD-1234"]
    );
    assert_eq!(
        first("the red bicycle", 1).await,
        ["the order for the red bicycle is late, late, late"]
    );
}

#[tokio::test]
async fn a_word_may_be_asked_for_by_its_beginning() {
    let file = TestFile::new().await;
    let memory = file.memory("jordan").await;
    remember_text(&memory, "the invoices were paid").await;
    remember_text(&memory, "an invitation was sent").await;
    assert_eq!(by_words(&memory, "invo*").await, ["the invoices were paid"]);
    assert_eq!(by_words(&memory, "inv*").await.len(), 2);
    assert!(by_words(&memory, "invo").await.is_empty());
}

#[tokio::test]
async fn the_turn_after_a_question_answers_it() {
    let file = TestFile::new().await;
    let memory = file.memory("jordan").await;
    let turns = [
        "Ana: Good morning, how are you today?",
        "Ben: Fine, thanks. It rained all night.",
        "Ana: When did your sister get back from Lisbon?",
        "Ben: Two weeks ago, and she loved it.",
        "Ana: The trains were late again.",
        "Ben: As always around here.",
    ];
    let facts = turns.iter().zip(0..).map(|(turn, position)| NewFact {
        thread: Some("monday".to_owned()),
        position: Some(position),
        ..NewFact::new(*turn)
    });
    memory.remember_many(facts.collect(), None).await.unwrap();
    let found = memory
        .recall(
            "When was Ben's sister back from Lisbon?",
            None,
            RecallOptions::default(),
        )
        .await
        .unwrap();
    let first: Vec<&str> = found
        .facts
        .iter()
        .take(2)
        .map(|found| found.fact.content.as_str())
        .collect();
    assert!(first.contains(&turns[3]), "{first:?}");
}

/// A memory as a plain map would have it: values by key, and texts.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Plain {
    values: BTreeMap<String, u64>,
    pub(crate) texts: BTreeSet<String>,
}

impl Plain {
    pub(crate) async fn of(memory: &Memory) -> Self {
        let values = memory.list(None, 1_000).await.unwrap().items;
        let facts = memory.list_facts(None, 1_000).await.unwrap().facts;
        Self {
            values: values
                .into_iter()
                .map(|(key, value)| (key, value.as_u64().unwrap()))
                .collect(),
            texts: facts.into_iter().map(|fact| fact.content).collect(),
        }
    }

    /// What a merge of `fork` makes of this, where `base` is what both were; and how
    /// much is in conflict.
    fn merged(&self, base: &Self, fork: &Self) -> (Self, usize) {
        let mut merged = self.clone();
        let mut conflicts = 0;
        let keys = base.values.keys().chain(fork.values.keys());
        for key in keys.collect::<BTreeSet<_>>() {
            let (was, ours, theirs) = (
                base.values.get(key),
                fork.values.get(key),
                self.values.get(key),
            );
            if ours == was || ours == theirs {
                continue;
            }
            if theirs != was {
                conflicts += 1;
                continue;
            }
            match ours {
                Some(value) => merged.values.insert(key.clone(), *value),
                None => merged.values.remove(key),
            };
        }
        merged
            .texts
            .extend(fork.texts.difference(&base.texts).cloned());
        for text in base.texts.difference(&fork.texts) {
            merged.texts.remove(text);
        }
        (merged, conflicts)
    }
}

/// Does something to a memory, and the same to what it is compared with.
pub(crate) async fn act(memory: &Memory, plain: &mut Plain, numbers: &mut Numbers, next: &mut u64) {
    match numbers.below(5) {
        0 | 1 => {
            *next += 1;
            // Texts that have no word in common, so that the gate holds none back.
            let text = format!("zq{next}x qz{next}y");
            remember_text(memory, &text).await;
            plain.texts.insert(text);
        }
        2 => {
            let facts = memory.list_facts(None, 1_000).await.unwrap().facts;
            if facts.is_empty() {
                return;
            }
            let fact = &facts[numbers.below(facts.len() as u64) as usize];
            memory.forget(vec![fact.id.clone()]).await.unwrap();
            plain.texts.remove(&fact.content);
        }
        3 => {
            let (key, value) = (format!("k{}", numbers.below(6)), numbers.below(3));
            memory.set(&key, value.into()).await.unwrap();
            plain.values.insert(key, value);
        }
        _ => {
            let key = format!("k{}", numbers.below(6));
            memory.delete(&key).await.unwrap();
            plain.values.remove(&key);
        }
    }
}

#[tokio::test]
async fn forks_and_merges_are_what_plain_maps_give() {
    for seed in 1..=6 {
        let mut numbers = Numbers(seed * 7_919);
        let file = TestFile::new().await;
        let memory = file.memory("jordan").await;
        let mut parent = Plain::default();
        let mut next = 0;
        for _ in 0..12 {
            act(&memory, &mut parent, &mut numbers, &mut next).await;
        }
        let branch = memory.fork("draft").await.unwrap();
        let mut fork = parent.clone();
        let mut base = parent.clone();
        for round in 0..6 {
            for _ in 0..numbers.below(12) {
                if numbers.below(2) == 0 {
                    act(&memory, &mut parent, &mut numbers, &mut next).await;
                } else {
                    act(branch.memory(), &mut fork, &mut numbers, &mut next).await;
                }
            }
            assert_eq!(
                Plain::of(&memory).await,
                parent,
                "seed {seed}, round {round}"
            );
            assert_eq!(
                Plain::of(branch.memory()).await,
                fork,
                "seed {seed}, round {round}"
            );
            let (merged, conflicts) = parent.merged(&base, &fork);
            let report = branch.merge(None).await.unwrap();
            assert_eq!(
                report.conflicts.len(),
                conflicts,
                "seed {seed}, round {round}"
            );
            assert_eq!(
                Plain::of(&memory).await,
                merged,
                "seed {seed}, round {round}"
            );
            parent = merged;
            // What both have now is what they are compared with from here on; what is
            // in conflict is compared as before.
            for key in base
                .values
                .keys()
                .chain(fork.values.keys())
                .cloned()
                .collect::<BTreeSet<_>>()
            {
                if fork.values.get(&key) == parent.values.get(&key) {
                    match fork.values.get(&key) {
                        Some(value) => base.values.insert(key, *value),
                        None => base.values.remove(&key),
                    };
                }
            }
            base.texts.clone_from(&fork.texts);
        }
        let check = file.database.check().await.unwrap();
        assert!(check.sound, "seed {seed}: {:?}", check.damage);
        file.assert_intact().await;
    }
}
