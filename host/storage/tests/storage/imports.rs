//! Taking facts over from a file.

use keepsake_storage::{FactVectors, ImportedFact, Kind, Memory, NewFact, Outcome, RecallOptions};
use keepsake_types::now;
use serde_json::json;

use crate::common::{TestFile, assert_invalid, assert_limit, contents, remember_text};
use crate::facts::{about, texts};

fn line(fact: NewFact, created_at: Option<u64>) -> ImportedFact {
    ImportedFact { fact, created_at }
}

async fn import(memory: &Memory, lines: Vec<ImportedFact>) -> Vec<Outcome> {
    let answers = memory.import_many(lines, None).await.unwrap();
    answers.into_iter().map(|answer| answer.outcome).collect()
}

#[tokio::test]
async fn an_imported_fact_keeps_the_time_at_which_it_was_first_remembered() {
    let file = TestFile::new().await;
    let memory = file.memory("jordan").await;
    let ahead = now() + 1_000_000;
    let answers = memory
        .import_many(
            vec![
                line(NewFact::new("old"), Some(5)),
                line(NewFact::new("undated"), None),
                line(NewFact::new("from a clock that is ahead"), Some(ahead)),
                line(
                    NewFact {
                        valid_from: Some(7),
                        expires_at: Some(7),
                        ..NewFact::new("ceased at once")
                    },
                    Some(5),
                ),
            ],
            None,
        )
        .await
        .unwrap();
    let facts: Vec<_> = answers.into_iter().map(|answer| answer.fact).collect();
    assert_eq!(
        (
            facts[0].created_at,
            facts[0].updated_at,
            facts[0].valid_from
        ),
        (5, 5, 5)
    );
    assert!(facts[1].created_at > 5 && facts[1].valid_from == facts[1].created_at);
    assert!(facts[2].created_at == ahead && facts[2].valid_from < ahead);
    assert_eq!((facts[3].valid_from, facts[3].valid_until), (7, Some(7)));
    assert_eq!(
        texts(&memory).await,
        ["from a clock that is ahead", "undated", "old"]
    );
    let past = RecallOptions {
        as_of: Some(6),
        ..RecallOptions::default()
    };
    let then = memory.recall("old undated", None, past).await.unwrap();
    assert_eq!(then.facts.len(), 1);
    file.assert_intact().await;
}

#[tokio::test]
async fn a_line_is_the_same_only_when_all_of_it_is() {
    let file = TestFile::new().await;
    let memory = file.memory("jordan").await;
    let base = || NewFact::new("Jordan likes tea");
    let lines = || {
        vec![
            line(base(), Some(5)),
            line(base(), Some(6)),
            line(NewFact::new("jordan likes tea"), Some(5)),
            line(NewFact::new("Jordan likes tea."), Some(5)),
            line(
                NewFact {
                    metadata: json!({ "a": 1, "b": [2] }).as_object().unwrap().clone(),
                    ..base()
                },
                Some(5),
            ),
            line(
                NewFact {
                    thread: Some("t".to_owned()),
                    ..base()
                },
                Some(5),
            ),
            line(
                NewFact {
                    thread: Some("t".to_owned()),
                    position: Some(0),
                    ..base()
                },
                Some(5),
            ),
            line(about("jordan", "drink", "Jordan likes tea"), Some(5)),
            line(about("jordan", "drink", "Jordan likes coffee"), Some(6)),
        ]
    };
    use Outcome::{Repeated, Stored, Superseded};
    let mut expected = vec![Stored; 8];
    expected.push(Superseded);
    assert_eq!(import(&memory, lines()).await, expected);
    let before = contents(&memory).await;
    let view = memory.view();
    assert_eq!(view.holds_imported(lines()).await.unwrap(), vec![true; 9]);
    // Superseded ones too; and nothing is changed or recorded for them.
    assert_eq!(import(&memory, lines()).await, vec![Repeated; 9]);
    assert_eq!(contents(&memory).await, before);
    let entries = file
        .database
        .entries(memory.session_id(), None, 100)
        .await
        .unwrap()
        .entries;
    let facts = |entry: &&keepsake_storage::Entry| {
        matches!(entry.kind, Kind::FactRemembered | Kind::FactSuperseded)
    };
    assert_eq!(entries.iter().filter(facts).count(), 9);
    assert_eq!(
        entries.last().unwrap().payload.as_ref().unwrap()["imported"],
        true
    );

    // A line without a time is the one without regard to its time.
    let undated = vec![line(base(), None), line(NewFact::new("new"), None)];
    assert_eq!(
        view.holds_imported(undated.clone()).await.unwrap(),
        [true, false]
    );
    assert_eq!(import(&memory, undated.clone()).await, [Repeated, Stored]);
    assert_eq!(import(&memory, undated).await, [Repeated, Repeated]);
    file.assert_intact().await;
}

#[tokio::test]
async fn lines_that_repeat_each_other_within_one_import_are_one_fact() {
    let file = TestFile::new().await;
    let memory = file.memory("jordan").await;
    let twice = vec![line(NewFact::new("tea"), Some(5)); 2];
    let vectors = FactVectors {
        model: "test".to_owned(),
        dimensions: 2,
        vectors: vec![vec![1.0, 0.0]; 2],
    };
    let answers = memory.import_many(twice, Some(vectors)).await.unwrap();
    assert_eq!(answers[1].outcome, Outcome::Repeated);
    assert_eq!(answers[0].fact, answers[1].fact);
    let counts = file.database.check().await.unwrap().counts;
    assert_eq!(counts.facts, 1);
    let left = memory.view().unembedded("test", None, 10).await.unwrap();
    assert!(left.facts.is_empty());
}

#[tokio::test]
async fn an_import_keeps_the_rules_and_is_done_whole_or_not_at_all() {
    let file = TestFile::new().await;
    let memory = file.memory("jordan").await;
    remember_text(&memory, "known").await;
    let before = contents(&memory).await;
    for (words, fact) in [
        ("must not be empty", line(NewFact::new(" "), None)),
        (
            "past what can be stored",
            line(NewFact::new("x"), Some(u64::MAX)),
        ),
        (
            "expire before it holds",
            line(
                NewFact {
                    expires_at: Some(4),
                    ..NewFact::new("x")
                },
                Some(5),
            ),
        ),
    ] {
        let lines = vec![line(NewFact::new("good"), None), fact];
        assert_invalid(memory.view().holds_imported(lines.clone()).await, words);
        assert_invalid(memory.import_many(lines, None).await, words);
    }
    let many = vec![line(NewFact::new("x"), None); 10_001];
    assert_limit(memory.import_many(many, None).await, "remember-many-facts");
    assert_eq!(contents(&memory).await, before);
    assert!(import(&memory, Vec::new()).await.is_empty());
}

#[tokio::test]
async fn values_of_one_property_end_each_other_by_their_times_in_any_order() {
    let history = [("Free", 10), ("Pro", 20), ("Team", 30), ("Free", 40)];
    // Every order of the four.
    for order in 0..24_usize {
        let mut left: Vec<usize> = (0..4).collect();
        let mut code = order;
        let mut lines = Vec::new();
        for count in (1..=4).rev() {
            let (plan, at) = history[left.remove(code % count)];
            code /= count;
            lines.push(line(about("jordan", "plan", plan), Some(at)));
        }
        let file = TestFile::new().await;
        let memory = file.memory("jordan").await;
        import(&memory, lines).await;
        assert_eq!(texts(&memory).await, ["Free"], "order {order}");
        for (time, expected) in [
            (9, None),
            (10, Some("Free")),
            (19, Some("Free")),
            (20, Some("Pro")),
            (30, Some("Team")),
            (39, Some("Team")),
            (40, Some("Free")),
            (1_000, Some("Free")),
        ] {
            let options = RecallOptions {
                as_of: Some(time),
                ..RecallOptions::default()
            };
            let found = memory.recall("free pro team", None, options).await.unwrap();
            let found: Vec<_> = found
                .facts
                .iter()
                .map(|recalled| recalled.fact.content.as_str())
                .collect();
            assert_eq!(found, expected.as_slice(), "order {order} as of {time}");
        }
    }
}
