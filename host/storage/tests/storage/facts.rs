//! Remembering, superseding, expiring and listing facts.

use keepsake_storage::{Fact, Memory, NewFact, Outcome, check_new_facts};
use keepsake_types::now;
use serde_json::{Map, Value, json};

use crate::common::{TestFile, assert_invalid, assert_limit, contents, remember, remember_text};

fn object(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

pub(crate) fn about(subject: &str, attribute: &str, text: &str) -> NewFact {
    NewFact {
        subject: Some(subject.to_owned()),
        attribute: Some(attribute.to_owned()),
        ..NewFact::new(text)
    }
}

pub(crate) async fn texts(memory: &Memory) -> Vec<String> {
    let page = memory.list_facts(None, 1_000).await.unwrap();
    page.facts.into_iter().map(|fact| fact.content).collect()
}

pub(crate) async fn known(memory: &Memory, fact: &Fact) -> Fact {
    memory.find(&fact.id).await.unwrap().unwrap()
}

#[tokio::test]
async fn a_fact_comes_back_with_all_that_was_given() {
    let file = TestFile::new().await;
    let memory = file.memory("jordan").await;
    let before = now();
    let new = NewFact {
        metadata: object(json!({ "from": "chat", "weight": 0.1, "tags": ["a"] })),
        subject: Some("jordan".to_owned()),
        attribute: Some("plan".to_owned()),
        valid_from: Some(1_000),
        expires_at: Some(before + 1_000_000),
        thread: Some("thread-1".to_owned()),
        position: Some(u32::MAX),
        flags: keepsake_storage::FactFlags {
            instruction_like: true,
            masked: true,
        },
        extras: Some(object(json!({ "later": null }))),
        ..NewFact::new(" Jordan’s plan is \u{1f680}\nPro\u{0} ")
    };
    let answer = remember(&memory, new.clone()).await;
    assert_eq!(answer.outcome, Outcome::Stored);
    let fact = answer.fact;
    assert_eq!(fact.content, new.content);
    assert_eq!(fact.metadata, new.metadata);
    assert_eq!(
        (fact.subject.as_deref(), fact.attribute.as_deref()),
        (Some("jordan"), Some("plan"))
    );
    assert_eq!((fact.valid_from, fact.valid_until), (1_000, new.expires_at));
    assert_eq!(
        (fact.thread.as_deref(), fact.position),
        (Some("thread-1"), Some(u32::MAX))
    );
    assert_eq!((fact.flags, fact.extras.clone()), (new.flags, new.extras));
    assert!((before..=now()).contains(&fact.created_at));
    assert_eq!(fact.updated_at, fact.created_at);
    assert_eq!(known(&memory, &fact).await, fact);
    file.assert_intact().await;
}

#[tokio::test]
async fn the_same_text_is_repeated_and_takes_over_what_is_new() {
    let file = TestFile::new().await;
    let memory = file.memory("jordan").await;
    let first = remember(
        &memory,
        NewFact {
            metadata: object(json!({ "a": 1, "b": 1 })),
            ..NewFact::new("Jordan likes tea")
        },
    )
    .await
    .fact;
    let again = remember(
        &memory,
        NewFact {
            metadata: object(json!({ "b": 2, "c": 3 })),
            extras: Some(object(json!({ "x": 1 }))),
            valid_from: Some(5),
            ..NewFact::new("Jordan likes tea")
        },
    )
    .await;
    assert_eq!(again.outcome, Outcome::Repeated);
    assert_eq!(again.fact.id, first.id);
    assert_eq!(
        Value::Object(again.fact.metadata),
        json!({ "a": 1, "b": 2, "c": 3 })
    );
    assert_eq!(
        again.fact.extras.map(Value::Object),
        Some(json!({ "x": 1 }))
    );
    assert_eq!(
        (again.fact.created_at, again.fact.valid_from),
        (first.created_at, 5)
    );
    assert!(again.fact.updated_at >= first.updated_at);
    assert_eq!(texts(&memory).await.len(), 1);
}

#[tokio::test]
async fn what_differs_in_text_or_place_is_another_fact() {
    let file = TestFile::new().await;
    let memory = file.memory("jordan").await;
    let base = NewFact::new("Jordan likes tea");
    let in_thread = |position| NewFact {
        thread: Some("t".to_owned()),
        position,
        ..base.clone()
    };
    for fact in [
        base.clone(),
        NewFact::new("Jordan likes coffee"),
        in_thread(None),
        in_thread(Some(0)),
        in_thread(Some(1)),
        about("jordan", "drink", "Jordan likes wine"),
        about("jordan", "hobby", "Jordan likes wine"),
    ] {
        assert_eq!(remember(&memory, fact).await.outcome, Outcome::Stored);
    }
    assert_eq!(texts(&memory).await.len(), 7);
}

#[tokio::test]
async fn texts_and_values_are_held_to_their_bounds_before_anything_is_spent() {
    let file = TestFile::new().await;
    let memory = file.memory("jordan").await;
    let name = "n".repeat(256);
    let metadata = |bytes: usize| object(json!({ "k": "v".repeat(bytes - r#"{"k":""}"#.len()) }));
    let largest = NewFact {
        metadata: metadata(16 * 1024),
        extras: Some(metadata(16 * 1024)),
        thread: Some(name.clone()),
        ..about(&name, &name, &"x".repeat(64 * 1024))
    };
    check_new_facts(std::slice::from_ref(&largest)).unwrap();
    assert_eq!(
        remember(&memory, largest.clone()).await.outcome,
        Outcome::Stored
    );

    let longer = Some(format!("{name}n"));
    let before = contents(&memory).await;
    for (bound, fact) in [
        ("fact-bytes", NewFact::new("x".repeat(64 * 1024 + 1))),
        (
            "fact-metadata-bytes",
            NewFact {
                metadata: metadata(16 * 1024 + 1),
                ..NewFact::new("x")
            },
        ),
        (
            "fact-metadata-bytes",
            NewFact {
                extras: Some(metadata(16 * 1024 + 1)),
                ..NewFact::new("x")
            },
        ),
        (
            "fact-name-bytes",
            NewFact {
                thread: longer.clone(),
                ..NewFact::new("x")
            },
        ),
        (
            "fact-name-bytes",
            NewFact {
                subject: longer.clone(),
                ..about("a", "b", "x")
            },
        ),
        (
            "fact-name-bytes",
            NewFact {
                attribute: longer,
                ..about("a", "b", "x")
            },
        ),
        (
            "json-depth",
            NewFact {
                metadata: object((0..64).fold(json!(1), |inner, _| json!({ "a": inner }))),
                ..NewFact::new("x")
            },
        ),
    ] {
        assert_limit(check_new_facts(std::slice::from_ref(&fact)), bound);
        assert_limit(memory.remember_many(vec![fact], None).await, bound);
    }
    let half = |subject: Option<&str>, attribute: Option<&str>| NewFact {
        subject: subject.map(str::to_owned),
        attribute: attribute.map(str::to_owned),
        ..NewFact::new("x")
    };
    for (words, fact) in [
        ("must not be empty", NewFact::new("")),
        ("must not be empty", NewFact::new(" \n\t")),
        ("together or not at all", half(Some("a"), None)),
        ("together or not at all", half(None, Some("a"))),
        ("leave it out", half(Some(""), Some("a"))),
        (
            "leave it out",
            NewFact {
                thread: Some(String::new()),
                ..NewFact::new("x")
            },
        ),
        (
            "past what can be stored",
            NewFact {
                valid_from: Some(u64::MAX),
                ..NewFact::new("x")
            },
        ),
        (
            "past what can be stored",
            NewFact {
                expires_at: Some(u64::MAX),
                ..NewFact::new("x")
            },
        ),
        (
            "expire before it holds",
            NewFact {
                expires_at: Some(5),
                ..NewFact::new("x")
            },
        ),
        (
            "expire before it holds",
            NewFact {
                valid_from: Some(7),
                expires_at: Some(7),
                ..NewFact::new("x")
            },
        ),
    ] {
        assert_invalid(check_new_facts(std::slice::from_ref(&fact)), words);
        assert_invalid(memory.remember_many(vec![fact], None).await, words);
    }
    let many = vec![NewFact::new("x"); 10_001];
    assert_limit(check_new_facts(&many), "remember-many-facts");
    assert_limit(
        memory.remember_many(many, None).await,
        "remember-many-facts",
    );
    assert_eq!(contents(&memory).await, before);
    assert!(
        memory
            .remember_many(Vec::new(), None)
            .await
            .unwrap()
            .is_empty()
    );
}

#[tokio::test]
async fn metadata_that_grows_past_its_bound_by_repetition_is_refused() {
    let file = TestFile::new().await;
    let memory = file.memory("jordan").await;
    let with = |key: &str| NewFact {
        metadata: object(json!({ key: "v".repeat(9_000) })),
        ..NewFact::new("Jordan likes tea")
    };
    remember(&memory, with("a")).await;
    let before = contents(&memory).await;
    assert_limit(
        memory.remember_many(vec![with("b")], None).await,
        "fact-metadata-bytes",
    );
    assert_eq!(contents(&memory).await, before);
}

#[tokio::test]
async fn metadata_as_deep_as_allowed_is_remembered_with_its_entry() {
    let file = TestFile::new().await;
    let memory = file.memory("jordan").await;
    let deepest = object((0..63).fold(json!(1), |inner, _| json!({ "a": inner })));
    let fact = NewFact {
        metadata: deepest.clone(),
        extras: Some(deepest.clone()),
        ..NewFact::new("deep")
    };
    assert_eq!(remember(&memory, fact).await.fact.metadata, deepest);
}

#[tokio::test]
async fn facts_come_by_pages_newest_first_each_once() {
    let file = TestFile::new().await;
    let memory = file.memory("jordan").await;
    for number in 0..11 {
        remember_text(&memory, &format!("fact {number}")).await;
    }
    remember_text(&file.memory("taylor").await, "foreign").await;
    let newest: Vec<String> = (0..11)
        .rev()
        .map(|number| format!("fact {number}"))
        .collect();
    for limit in [1, 3, 10, 11, 12, 1_000] {
        let (mut found, mut after) = (Vec::new(), None);
        loop {
            let page = memory.list_facts(after.as_deref(), limit).await.unwrap();
            assert!(page.facts.len() <= limit);
            found.extend(page.facts.into_iter().map(|fact| fact.content));
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        assert_eq!(found, newest, "by pages of {limit}");
    }
    assert_invalid(memory.list_facts(None, 0).await, "at least 1");
    assert_limit(memory.list_facts(None, 1_001).await, "page-items");
    assert_invalid(memory.list_facts(Some("x\u{1b}"), 5).await, "`next`");
    for position in ["-5", "0", "9223372036854775807", "-9223372036854775808"] {
        for fact in memory.list_facts(Some(position), 100).await.unwrap().facts {
            assert!(
                fact.content.starts_with("fact "),
                "{position} leads to {}",
                fact.content
            );
        }
    }
}

#[tokio::test]
async fn a_page_goes_on_where_it_was_after_facts_were_forgotten() {
    let file = TestFile::new().await;
    let memory = file.memory("jordan").await;
    let mut ids = Vec::new();
    for number in 0..6 {
        ids.push(
            remember_text(&memory, &format!("fact {number}"))
                .await
                .fact
                .id,
        );
    }
    let first = memory.list_facts(None, 2).await.unwrap();
    memory.forget(ids[2..].to_vec()).await.unwrap();
    remember_text(&memory, "fact 6").await;
    let second = memory.list_facts(first.next.as_deref(), 10).await.unwrap();
    let second: Vec<String> = second.facts.into_iter().map(|fact| fact.content).collect();
    assert_eq!(second, ["fact 1", "fact 0"]);
}

#[tokio::test]
async fn ten_thousand_facts_are_one_call() {
    let file = TestFile::new().await;
    let memory = file.memory("jordan").await;
    let facts: Vec<NewFact> = (0..10_000)
        .map(|number| NewFact::new(format!("invoice {number} was paid")))
        .collect();
    let answers = memory.remember_many(facts, None).await.unwrap();
    assert_eq!(answers.len(), 10_000);
    assert_eq!(answers[9_999].fact.content, "invoice 9999 was paid");
    assert_eq!(file.database.check().await.unwrap().counts.facts, 10_000);
}
