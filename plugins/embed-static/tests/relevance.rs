//! What the README says about ranking and about the relevance threshold, on 60
//! facts of support customers and 60 questions, one for each fact, that share
//! hardly a word with it.

use embed_static::{RELEVANCE_THRESHOLD, embed};
use serde::Deserialize;

#[derive(Deserialize)]
struct Support {
    facts: Vec<Fact>,
    questions: Vec<Question>,
}

#[derive(Deserialize)]
struct Fact {
    id: String,
    text: String,
}

#[derive(Deserialize)]
struct Question {
    text: String,
    gold: String,
}

/// For each question the cosine of its answer, and those of the other facts.
fn cosines() -> Vec<(f32, Vec<f32>)> {
    let support: Support = serde_json::from_str(include_str!("data/support-facts.json")).unwrap();
    assert_eq!((support.facts.len(), support.questions.len()), (60, 60));
    let facts = embed(
        &support
            .facts
            .iter()
            .map(|fact| fact.text.clone())
            .collect::<Vec<_>>(),
    );
    support
        .questions
        .iter()
        .map(|question| {
            let asked = embed(std::slice::from_ref(&question.text)).remove(0);
            let cosine = |fact: &Vec<f32>| asked.iter().zip(fact).map(|(a, b)| a * b).sum::<f32>();
            let gold = support
                .facts
                .iter()
                .position(|fact| fact.id == question.gold)
                .unwrap();
            let others = facts.iter().enumerate().filter(|(place, _)| *place != gold);
            (
                cosine(&facts[gold]),
                others.map(|(_, fact)| cosine(fact)).collect(),
            )
        })
        .collect()
}

#[test]
fn the_answer_stands_first_for_43_and_among_five_for_51_of_60_questions() {
    let places: Vec<usize> = cosines()
        .iter()
        .map(|(answer, others)| others.iter().filter(|other| *other > answer).count())
        .collect();
    assert_eq!(places.iter().filter(|place| **place == 0).count(), 43);
    assert_eq!(places.iter().filter(|place| **place < 5).count(), 51);
}

#[test]
fn the_threshold_has_the_error_rates_that_are_documented() {
    let cosines = cosines();
    let lost = cosines
        .iter()
        .filter(|(answer, _)| *answer < RELEVANCE_THRESHOLD)
        .count();
    let others = cosines.iter().flat_map(|(_, others)| others);
    let (pairs, passed) = others.fold((0, 0), |(pairs, passed), other| {
        (
            pairs + 1,
            passed + usize::from(*other >= RELEVANCE_THRESHOLD),
        )
    });
    assert_eq!((lost, pairs, passed), (11, 3_540, 332));
}

#[test]
fn small_talk_is_under_the_threshold_for_what_a_customer_said() {
    let facts = embed(&[
        "Jordan is on the Pro plan. Upgraded on the 3rd.".to_owned(),
        "Jordan's order number is A-1042.".to_owned(),
        "Jordan prefers to be contacted by email.".to_owned(),
    ]);
    let best = |question: &str| {
        let asked = embed(&[question.to_owned()]).remove(0);
        facts
            .iter()
            .map(|fact| asked.iter().zip(fact).map(|(a, b)| a * b).sum::<f32>())
            .fold(f32::MIN, f32::max)
    };
    for asked in [
        "What is the capital of France?",
        "Why is the sky blue?",
        "Tell me a joke",
    ] {
        assert!(best(asked) < RELEVANCE_THRESHOLD, "{asked}");
    }
    for asked in [
        "Which plan am I on?",
        "What's my order number?",
        "How should you contact me?",
    ] {
        assert!(best(asked) >= RELEVANCE_THRESHOLD, "{asked}");
    }
}
