//! Recall by words, by vectors and by both.

use keepsake_storage::{Kind, Memory, NewFact, RecallMode, RecallOptions, Recalled};
use keepsake_types::now;
use serde_json::json;

use crate::common::{TestFile, assert_invalid, assert_limit, remember, remember_text};
use crate::vectors::{embedded, query_vector};

pub(crate) fn by(mode: RecallMode) -> RecallOptions {
    RecallOptions {
        mode,
        ..RecallOptions::default()
    }
}

pub(crate) fn texts(facts: &[Recalled]) -> Vec<&str> {
    facts
        .iter()
        .map(|recalled| recalled.fact.content.as_str())
        .collect()
}

pub(crate) async fn by_words(memory: &Memory, query: &str) -> Vec<String> {
    let found = memory
        .recall(query, None, by(RecallMode::Words))
        .await
        .unwrap();
    texts(&found.facts).into_iter().map(str::to_owned).collect()
}

#[tokio::test]
async fn words_find_facts_whatever_their_case_form_or_accents() {
    let file = TestFile::new().await;
    let memory = file.memory("jordan").await;
    for text in [
        "The invoice ORD-1234 was charged twice",
        "Jordan visits the CAFÉ daily",
        "東京に住んでいます",
    ] {
        remember_text(&memory, text).await;
    }
    for (query, expected) in [
        ("CHARGES", "The invoice ORD-1234 was charged twice"),
        (
            "what about ord-1234?",
            "The invoice ORD-1234 was charged twice",
        ),
        ("1234", "The invoice ORD-1234 was charged twice"),
        ("cafe", "Jordan visits the CAFÉ daily"),
        ("東京", "東京に住んでいます"),
    ] {
        assert_eq!(by_words(&memory, query).await, [expected], "{query}");
    }
    for nothing in [
        "zebra",
        "the and of",
        "?!",
        "'; DROP TABLE words; --",
        "\u{0}",
        "NEAR(\"a\"",
    ] {
        assert!(by_words(&memory, nothing).await.is_empty(), "{nothing}");
    }
}

#[tokio::test]
async fn a_fact_with_more_of_the_query_comes_first() {
    let file = TestFile::new().await;
    let memory = file.memory("jordan").await;
    for text in ["red", "red green", "red green blue", "yellow"] {
        remember_text(&memory, text).await;
    }
    assert_eq!(
        by_words(&memory, "blue green red").await,
        ["red green blue", "red green", "red"]
    );
    let found = memory
        .recall("blue green red", None, RecallOptions::default())
        .await
        .unwrap();
    let ranks: Vec<Option<u32>> = found.facts.iter().map(|one| one.score.word_rank).collect();
    assert_eq!(ranks, [Some(1), Some(2), Some(3)]);
    assert!(
        found
            .facts
            .iter()
            .all(|one| one.score.vector_rank.is_none() && one.score.cosine.is_none())
    );
    assert!(
        found
            .facts
            .iter()
            .all(|one| (0.0..=1.0).contains(&one.score.total))
    );
}

#[tokio::test]
async fn equal_scores_are_ordered_newest_first_then_by_id_each_time() {
    let file = TestFile::new().await;
    let memory = file.memory("jordan").await;
    let facts = (0..30).map(|number| NewFact {
        thread: Some(number.to_string()),
        ..NewFact::new("tea")
    });
    memory.remember_many(facts.collect(), None).await.unwrap();
    file.tamper("UPDATE facts SET created_at = 5 WHERE number % 3 = 0; UPDATE facts SET created_at = 7 WHERE number % 3 <> 0");
    let options = RecallOptions {
        limit: 1_000,
        ..RecallOptions::default()
    };
    let found = memory
        .recall("tea", None, options.clone())
        .await
        .unwrap()
        .facts;
    let keys: Vec<(u64, String)> = found
        .iter()
        .map(|one| (u64::MAX - one.fact.created_at, one.fact.id.clone()))
        .collect();
    assert_eq!(keys.len(), 30);
    assert!(keys.is_sorted());
    assert_eq!(
        memory
            .recall("tea", None, options.clone())
            .await
            .unwrap()
            .facts,
        found
    );
    let few = memory
        .recall(
            "tea",
            None,
            RecallOptions {
                limit: 4,
                ..options
            },
        )
        .await
        .unwrap()
        .facts;
    assert_eq!(few, found[..4]);
}

#[tokio::test]
async fn options_choose_among_facts() {
    let file = TestFile::new().await;
    let memory = file.memory("jordan").await;
    let plan = |text: &str| NewFact {
        subject: Some("jordan".to_owned()),
        attribute: Some("plan".to_owned()),
        metadata: json!({ "channel": "chat", "n": 1 })
            .as_object()
            .unwrap()
            .clone(),
        ..NewFact::new(text)
    };
    let free = remember(&memory, plan("the plan is Free")).await.fact;
    // So that the two do not begin to hold in the same millisecond.
    file.tamper("UPDATE facts SET valid_from = 1000, created_at = 1000");
    remember(&memory, plan("the plan is Pro")).await;
    let entry = file.command(memory.session_id(), "x").await;
    let sourced = NewFact {
        source: Some(entry),
        ..NewFact::new("a plan with a source")
    };
    remember(&memory, sourced).await;

    let recall = async |options: RecallOptions| {
        let found = memory.recall("plan", None, options).await.unwrap();
        let mut texts: Vec<String> = found
            .facts
            .into_iter()
            .map(|one| one.fact.content)
            .collect();
        texts.sort_unstable();
        texts
    };
    let default = RecallOptions::default;
    let (old, new, proven) = (
        "the plan is Free",
        "the plan is Pro",
        "a plan with a source",
    );
    assert_eq!(recall(default()).await, [proven, new]);
    assert_eq!(
        recall(RecallOptions {
            include_superseded: true,
            ..default()
        })
        .await,
        [proven, old, new]
    );
    assert_eq!(
        recall(RecallOptions {
            as_of: Some(2_000),
            ..default()
        })
        .await,
        [old]
    );
    assert!(
        recall(RecallOptions {
            as_of: Some(999),
            ..default()
        })
        .await
        .is_empty()
    );
    assert_eq!(
        recall(RecallOptions {
            verified_only: true,
            ..default()
        })
        .await,
        [proven]
    );
    let metadata = |value: serde_json::Value| RecallOptions {
        metadata: value.as_object().unwrap().clone(),
        ..default()
    };
    assert_eq!(recall(metadata(json!({ "channel": "chat" }))).await, [new]);
    assert!(
        recall(metadata(json!({ "channel": "chat", "n": 2 })))
            .await
            .is_empty()
    );
    assert!(recall(metadata(json!({ "absent": null }))).await.is_empty());
    let all = RecallOptions {
        include_superseded: true,
        ..default()
    };
    assert_eq!(
        recall(RecallOptions {
            until: Some(1_001),
            ..all.clone()
        })
        .await,
        [old]
    );
    assert!(
        recall(RecallOptions {
            until: Some(1_000),
            ..all.clone()
        })
        .await
        .is_empty()
    );
    assert_eq!(
        recall(RecallOptions {
            since: Some(1_001),
            ..all.clone()
        })
        .await,
        [proven, new]
    );
    assert!(
        recall(RecallOptions {
            since: Some(u64::MAX),
            ..all.clone()
        })
        .await
        .is_empty()
    );
    assert!(
        recall(RecallOptions {
            min_score: Some(1.5),
            ..all.clone()
        })
        .await
        .is_empty()
    );
    assert!(
        recall(RecallOptions {
            min_score: Some(f64::NAN),
            ..all.clone()
        })
        .await
        .is_empty()
    );
    assert_eq!(
        recall(RecallOptions {
            min_score: Some(-1.0),
            ..all.clone()
        })
        .await
        .len(),
        3
    );
    assert_eq!(recall(RecallOptions { limit: 1, ..all }).await.len(), 1);
    memory.expire(&free.id, now()).await.unwrap();
}

#[tokio::test]
async fn verified_facts_are_found_below_many_that_are_not() {
    let file = TestFile::new().await;
    let memory = file.memory("jordan").await;
    let entry = file.command(memory.session_id(), "x").await;
    let sourced = NewFact {
        source: Some(entry),
        ..NewFact::new("tea and a long text that ranks it low")
    };
    remember(&memory, sourced).await;
    let others = (0..200).map(|number| NewFact {
        thread: Some(number.to_string()),
        ..NewFact::new("tea")
    });
    memory.remember_many(others.collect(), None).await.unwrap();
    let options = RecallOptions {
        limit: 3,
        verified_only: true,
        ..RecallOptions::default()
    };
    assert_eq!(
        memory
            .recall("tea", None, options)
            .await
            .unwrap()
            .facts
            .len(),
        1
    );
}

#[tokio::test]
async fn a_receipt_says_what_was_recalled_and_why() {
    let file = TestFile::new().await;
    let memory = embedded(&file).await;
    let options = RecallOptions {
        limit: 1,
        as_of: Some(now()),
        ..RecallOptions::default()
    };
    let found = memory
        .recall(
            "overdue",
            Some(query_vector("m", &[0.0, 1.0, 0.0])),
            options.clone(),
        )
        .await
        .unwrap();
    let entry = file.database.entry(&found.receipt).await.unwrap().unwrap();
    assert_eq!(entry.kind, Kind::Recalled);
    let payload = entry.payload.unwrap();
    assert_eq!(payload["query"], "overdue");
    assert_eq!(
        (&payload["mode"], &payload["model"]),
        (&json!("hybrid"), &json!("m"))
    );
    assert_eq!(payload["as-of"], json!(options.as_of));
    assert_eq!(payload["limit"], 1);
    assert_eq!(payload.get("min-score"), None, "what was not asked");
    assert_eq!(
        payload["facts"],
        json!([{
            "fact": found.facts[0].fact.id,
            "score": found.facts[0].score.total,
            "word-rank": found.facts[0].score.word_rank,
            "vector-rank": found.facts[0].score.vector_rank,
            "cosine": found.facts[0].score.cosine,
            "verification": found.facts[0].fact.verification,
        }])
    );
    let empty = file
        .memory("nobody")
        .await
        .recall("x", None, RecallOptions::default())
        .await
        .unwrap();
    assert!(empty.facts.is_empty());
    assert!(file.database.entry(&empty.receipt).await.unwrap().is_some());
}

#[tokio::test]
async fn a_query_is_held_to_its_rules() {
    let file = TestFile::new().await;
    let memory = embedded(&file).await;
    let recall = async |query: String, options| memory.recall(&query, None, options).await;
    assert_invalid(
        recall(String::new(), RecallOptions::default()).await,
        "must not be empty",
    );
    assert_invalid(
        recall(" \n".to_owned(), RecallOptions::default()).await,
        "must not be empty",
    );
    assert_limit(
        recall("x".repeat(16 * 1024 + 1), RecallOptions::default()).await,
        "query-bytes",
    );
    recall("é ".repeat(16 * 1024 / 3), RecallOptions::default())
        .await
        .unwrap();
    let limit = |limit| RecallOptions {
        limit,
        ..RecallOptions::default()
    };
    assert_invalid(recall("x".to_owned(), limit(0)).await, "at least 1");
    assert_limit(recall("x".to_owned(), limit(1_001)).await, "page-items");
    recall("x".to_owned(), limit(1_000)).await.unwrap();
    assert_invalid(
        recall("x".to_owned(), by(RecallMode::Vectors)).await,
        "embedding provider",
    );
}
