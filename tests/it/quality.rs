//! What recall promises of its quality, measured through the program.

use std::path::Path;

use keepsake_eval::{
    Memory, Mode, Places, Set, conversations, identifiers, mean_evidence_recall,
    other_conversations, places, silence, support, unrelated,
};

fn memory(sets: &[&Set]) -> Memory {
    let program = Path::new(env!("CARGO_BIN_EXE_host"));
    let memory = Memory::new(program, "embed-static").unwrap();
    for set in sets {
        memory.import(set).unwrap();
    }
    memory
}

fn placed(memory: &Memory, set: &Set, mode: Mode) -> Places {
    places(&set.questions, &memory.ask(set, mode, 5).unwrap())
}

#[test]
fn hybrid_recall_loses_nothing_to_vectors_where_hardly_a_word_is_shared() {
    let set = support().unwrap();
    let memory = memory(&[&set]);
    let (hybrid, vectors) = (
        placed(&memory, &set, Mode::Hybrid),
        placed(&memory, &set, Mode::Vectors),
    );
    assert!(
        hybrid.top_1 >= vectors.top_1 && hybrid.top_5 >= vectors.top_5,
        "{hybrid:?} against {vectors:?}"
    );
    assert!(vectors.top_1 >= 40, "{vectors:?}");
}

#[test]
fn hybrid_recall_beats_words_and_vectors_where_an_identifier_is_named() {
    let set = identifiers().unwrap();
    let memory = memory(&[&set]);
    let hybrid = placed(&memory, &set, Mode::Hybrid);
    for mode in [Mode::Words, Mode::Vectors] {
        let other = placed(&memory, &set, mode);
        assert!(
            hybrid.top_1 > other.top_1 && hybrid.top_5 >= other.top_5,
            "{other:?}"
        );
    }
    assert_eq!(hybrid.top_5, set.questions.len());
}

#[test]
fn most_unrelated_questions_recall_nothing_and_the_others_little() {
    let set = unrelated().unwrap();
    let answers = memory(&[&set]).ask(&set, Mode::Hybrid, 5).unwrap();
    let (silent, facts) = silence(&answers);
    assert!(
        silent >= 27 && facts <= 40,
        "{silent} silent, {facts} facts"
    );
}

#[test]
fn a_conversation_helps_to_find_what_was_said_in_it() {
    for sets in [conversations().unwrap(), other_conversations().unwrap()] {
        let memory = memory(&sets.iter().collect::<Vec<_>>());
        let at_10 = |mode| {
            let asked: Vec<_> = sets
                .iter()
                .map(|set| (&set.questions[..], memory.ask(set, mode, 10).unwrap()))
                .collect();
            mean_evidence_recall(&asked, 10)
        };
        let (hybrid, words, vectors) = (
            at_10(Mode::Hybrid),
            at_10(Mode::Words),
            at_10(Mode::Vectors),
        );
        assert!(
            hybrid >= 0.58 && hybrid > words + 0.15 && hybrid > vectors + 0.15,
            "{hybrid} against {words} and {vectors}"
        );
    }
}
