//! What was exported comes back as it was, wherever it is restored.

use keepsake_storage::{
    BeginSession, Database, Exported, Fact, FactVectors, Memory, NewFact, RestoredFact,
    RestoredProfile, RestoredValue, Verification,
};
use keepsake_types::EntryRef;
use serde_json::{Map, Value, json};

use crate::common::{TestFile, assert_invalid, assert_limit, remember, remember_text, resource};
use crate::compaction::{at_most, planned, summarised, verified};

/// All that an export of a memory holds.
async fn exported(memory: &Memory) -> Vec<Exported> {
    let (sender, mut receiver) = tokio::sync::mpsc::channel(2);
    let view = memory.view().clone();
    let exporting = tokio::spawn(async move { view.export(true, sender).await });
    let mut records = Vec::new();
    while let Some(record) = receiver.recv().await {
        records.push(record);
    }
    exporting.await.unwrap().unwrap();
    records
}

fn as_restored(fact: Fact) -> RestoredFact {
    RestoredFact {
        id: Some(fact.id),
        created_at: Some(fact.created_at),
        updated_at: Some(fact.updated_at),
        superseded_by: fact.superseded_by,
        summary_of: fact.summary_of,
        further_sources: fact.further_sources,
        fact: NewFact {
            content: fact.content,
            metadata: fact.metadata,
            source: fact.source,
            quote: fact.quote,
            subject: fact.subject,
            attribute: fact.attribute,
            supersedes: Vec::new(),
            valid_from: Some(fact.valid_from),
            expires_at: fact.valid_until,
            thread: fact.thread,
            position: fact.position,
            flags: fact.flags,
            extras: fact.extras,
        },
    }
}

/// Restores an export. Answers how many records were new.
async fn restore(memory: &Memory, records: Vec<Exported>) -> u64 {
    let mut stored = 0;
    for record in records {
        let restored = match record {
            Exported::Profile { value, updated_at } => {
                let profile = RestoredProfile { value, updated_at };
                memory.restore_profile(profile).await
            }
            Exported::Working {
                key,
                value,
                updated_at,
            } => {
                let value = RestoredValue {
                    key,
                    value,
                    updated_at,
                };
                memory.restore_working(vec![value]).await
            }
            Exported::Fact { fact, vector } => {
                memory.restore_facts(vec![as_restored(*fact)], vector).await
            }
        };
        stored += restored.unwrap().stored;
    }
    stored
}

/// A memory with some of everything.
async fn full_memory(file: &TestFile, name: &str) -> Memory {
    let memory = file.memory(name).await;
    let source = file.command(memory.session_id(), "plan: Pro").await;
    memory.set("colour", json!("green")).await.unwrap();
    memory.set("nothing", Value::Null).await.unwrap();
    memory
        .update_profile(json!({ "name": "Jordan" }), None)
        .await
        .unwrap();
    let plan = |plan: &str| NewFact {
        subject: Some("jordan".to_owned()),
        attribute: Some("plan".to_owned()),
        ..NewFact::new(format!("Jordan is on {plan}"))
    };
    remember(&memory, plan("Free")).await;
    tokio::time::sleep(std::time::Duration::from_millis(2)).await;
    let with_source = NewFact {
        source: Some(source),
        quote: Some("plan: Pro".to_owned()),
        metadata: Map::from_iter([("a".to_owned(), json!([1, null]))]),
        extras: Some(Map::from_iter([("x".to_owned(), json!("y"))])),
        thread: Some("t".to_owned()),
        position: Some(4),
        ..plan("Pro")
    };
    remember(&memory, with_source).await;
    let expired = NewFact {
        valid_from: Some(keepsake_types::now() - 2_000),
        expires_at: Some(keepsake_types::now() - 1_000),
        ..NewFact::new("Jordan is travelling")
    };
    let vectors = FactVectors {
        model: "m".to_owned(),
        dimensions: 2,
        vectors: vec![vec![0.25, -1.5]],
    };
    memory
        .remember_many(vec![expired], Some(vectors))
        .await
        .unwrap();
    memory
}

/// The records, with what cannot be the same elsewhere made equal.
fn without_verification(mut records: Vec<Exported>) -> Vec<Exported> {
    for record in &mut records {
        if let Exported::Fact { fact, .. } = record {
            fact.verification = Verification::Unverified;
        }
    }
    records
}

#[tokio::test]
async fn an_export_is_complete_and_comes_back_the_same_in_another_file() {
    let file = TestFile::new().await;
    let memory = full_memory(&file, "jordan").await;
    remember_text(&file.memory("robin").await, "Robin likes coffee").await;
    let records = exported(&memory).await;
    assert_eq!(records.len(), 6, "{records:?}");
    let Exported::Fact { fact, .. } = &records[4] else {
        panic!("{records:?}");
    };
    assert_eq!(fact.verification, Verification::Verified);

    let other = TestFile::new().await;
    let copy = other.memory("jordan").await;
    assert_eq!(restore(&copy, records.clone()).await, 6);
    let again = exported(&copy).await;
    let Exported::Fact { fact, .. } = &again[4] else {
        panic!("{again:?}");
    };
    assert_eq!(fact.verification, Verification::Dangling);
    assert_eq!(
        without_verification(again.clone()),
        without_verification(records.clone())
    );
    other.assert_intact().await;

    assert_eq!(restore(&copy, records.clone()).await, 0, "a second time");
    assert_eq!(exported(&copy).await, again);
    assert_eq!(
        restore(&memory, records.clone()).await,
        0,
        "where it is from"
    );
    assert_eq!(exported(&memory).await, records);
}

#[tokio::test]
async fn a_copy_in_the_same_file_has_ids_of_its_own_that_fit_together() {
    let file = TestFile::new().await;
    let memory = full_memory(&file, "jordan").await;
    let records = exported(&memory).await;
    let copy = file.memory("jordan-copy").await;
    assert_eq!(restore(&copy, records.clone()).await, 6);
    assert_eq!(restore(&copy, records.clone()).await, 0);
    let facts = |records: Vec<Exported>| -> Vec<Fact> {
        records
            .into_iter()
            .filter_map(|record| match record {
                Exported::Fact { fact, .. } => Some(*fact),
                _ => None,
            })
            .collect()
    };
    let (original, copied) = (facts(records.clone()), facts(exported(&copy).await));
    assert!(
        original
            .iter()
            .zip(&copied)
            .all(|(one, other)| one.id != other.id)
    );
    assert_eq!(copied[0].superseded_by.as_ref(), Some(&copied[1].id));
    assert_eq!(copied[0].valid_until, original[0].valid_until);
    // The source is another memory's, and says nothing here.
    assert_eq!(copied[1].source, None);
    assert_eq!(copied[1].verification, Verification::Unverified);
    assert_eq!(
        copied[1].extras.as_ref().unwrap()["source"],
        json!(original[1].source)
    );
    assert_eq!(
        exported(&memory).await,
        records,
        "the original is as it was"
    );
    file.assert_intact().await;
}

#[tokio::test]
async fn what_memory_learned_since_the_export_goes_on() {
    let file = TestFile::new().await;
    let memory = file.memory("jordan").await;
    memory.set("colour", json!("green")).await.unwrap();
    memory
        .update_profile(json!({ "name": "Jo" }), None)
        .await
        .unwrap();
    let records = exported(&memory).await;
    tokio::time::sleep(std::time::Duration::from_millis(2)).await;
    memory.set("colour", json!("red")).await.unwrap();
    memory
        .update_profile(json!({ "name": "Jordan" }), None)
        .await
        .unwrap();
    assert_eq!(restore(&memory, records).await, 0);
    assert_eq!(memory.get("colour").await.unwrap(), Some(json!("red")));
    assert_eq!(
        Value::Object(memory.profile().await.unwrap()),
        json!({ "name": "Jordan" })
    );
}

#[tokio::test]
async fn of_two_values_of_one_property_the_later_one_holds() {
    for order in [["Free", "Pro"], ["Pro", "Free"]] {
        let file = TestFile::new().await;
        let memory = file.memory("jordan").await;
        for plan in order {
            let restored = RestoredFact {
                created_at: Some(if plan == "Free" { 10 } else { 20 }),
                fact: NewFact {
                    subject: Some("jordan".to_owned()),
                    attribute: Some("plan".to_owned()),
                    ..NewFact::new(plan)
                },
                ..RestoredFact::default()
            };
            memory.restore_facts(vec![restored], None).await.unwrap();
        }
        let current = memory.list_facts(None, 10).await.unwrap().facts;
        assert_eq!(current.len(), 1, "{order:?}");
        assert_eq!(current[0].content, "Pro");
    }
}

#[tokio::test]
async fn a_source_in_this_memory_is_verified_and_one_with_another_hash_is_not() {
    let file = TestFile::new().await;
    let memory = file.memory("jordan").await;
    let source = file.command(memory.session_id(), "plan: Pro").await;
    let with_source = |content: &str, source: EntryRef| RestoredFact {
        created_at: Some(1),
        fact: NewFact {
            source: Some(source),
            ..NewFact::new(content)
        },
        ..RestoredFact::default()
    };
    let other_hash = EntryRef {
        hash: Some("ab".repeat(32)),
        ..source.clone()
    };
    let facts = vec![with_source("one", source), with_source("two", other_hash)];
    memory.restore_facts(facts, None).await.unwrap();
    let states: Vec<Verification> = memory
        .list_facts(None, 10)
        .await
        .unwrap()
        .facts
        .iter()
        .rev()
        .map(|fact| fact.verification)
        .collect();
    assert_eq!(states, [Verification::Verified, Verification::Tampered]);
}

#[tokio::test]
async fn nothing_is_restored_where_one_record_breaks_a_rule() {
    let file = TestFile::new().await;
    let memory = file.memory("jordan").await;
    let good = RestoredFact {
        fact: NewFact::new("good"),
        ..RestoredFact::default()
    };
    let named = RestoredFact {
        id: Some("no id".to_owned()),
        ..good.clone()
    };
    let superseding = RestoredFact {
        fact: NewFact {
            supersedes: vec!["018f0000-0000-7000-8000-000000000000".to_owned()],
            ..NewFact::new("x")
        },
        ..RestoredFact::default()
    };
    let unhashed = RestoredFact {
        fact: NewFact {
            source: Some(EntryRef {
                session: "s".to_owned(),
                index: 3,
                hash: None,
            }),
            ..NewFact::new("x")
        },
        ..RestoredFact::default()
    };
    for (bad, said) in [
        (named, "no id of a fact"),
        (superseding, "supersedes none"),
        (unhashed, "needs its `hash`"),
    ] {
        let both = vec![good.clone(), bad.clone()];
        assert_invalid(memory.restore_facts(both, None).await, said);
        assert_invalid(keepsake_storage::check_restored_facts(&[bad]), said);
    }
    let value = |key: &str, value: Value| RestoredValue {
        key: key.to_owned(),
        value,
        updated_at: 1,
    };
    let long = value("long", json!("x".repeat(70_000)));
    let values = vec![value("good", json!(1)), long.clone()];
    assert_limit(memory.restore_working(values).await, "working-value-bytes");
    assert_limit(long.check(), "working-value-bytes");
    assert_eq!(memory.get("good").await.unwrap(), None);
    assert!(exported(&memory).await.is_empty());
}

#[tokio::test]
async fn an_export_that_nobody_takes_ends_by_itself() {
    let file = TestFile::new().await;
    let memory = full_memory(&file, "jordan").await;
    let (sender, receiver) = tokio::sync::mpsc::channel(1);
    drop(receiver);
    memory.view().export(false, sender).await.unwrap();
    let nobody: Database = file.database.clone();
    let (sender, mut receiver) = tokio::sync::mpsc::channel(1);
    let view = nobody.view(&resource("nobody")).unwrap();
    view.export(false, sender).await.unwrap();
    assert_eq!(receiver.recv().await, None);
    nobody
        .begin_session(BeginSession::new(resource("nobody"), "support"))
        .await
        .unwrap();
}

#[tokio::test]
async fn a_summary_comes_back_with_what_it_stands_for() {
    let file = TestFile::new().await;
    let memory = file.memory("jordan").await;
    for number in 0..3 {
        verified(&file, &memory, &format!("verified {number}")).await;
    }
    let plan = planned(&memory, at_most(1)).await;
    summarised(&memory, plan, "all verified").await.unwrap();
    let records = exported(&memory).await;
    let [Exported::Fact { fact, .. }] = records.as_slice() else {
        panic!("{records:?}");
    };
    assert_eq!((fact.summary_of, fact.further_sources.len()), (Some(3), 2));

    let other = TestFile::new().await;
    let copy = other.memory("jordan").await;
    assert_eq!(restore(&copy, records.clone()).await, 1);
    let again = exported(&copy).await;
    assert_eq!(
        without_verification(again.clone()),
        without_verification(records)
    );
    let [Exported::Fact { fact, .. }] = again.as_slice() else {
        panic!("{again:?}");
    };
    assert_eq!(fact.verification, Verification::Dangling);
}
