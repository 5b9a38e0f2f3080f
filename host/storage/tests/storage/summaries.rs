//! Summaries: what stands in place of facts that were let go.

use keepsake_storage::{CompactOptions, Compaction, NewFact, Summary, Verification};
use keepsake_types::now;
use serde_json::json;

use crate::common::{TestFile, assert_invalid, remember, remember_text};
use crate::compaction::{at_most, contents, planned, summarised, summary, texts, verified};

#[tokio::test]
async fn a_summary_takes_the_place_of_its_facts_and_counts_as_one() {
    let file = TestFile::new().await;
    let memory = file.memory("jordan").await;
    for number in 0..10 {
        let fact = NewFact {
            metadata: [
                ("channel".to_owned(), json!("mail")),
                ("n".to_owned(), json!(number)),
            ]
            .into_iter()
            .collect(),
            valid_from: Some(1_000 + number),
            ..NewFact::new(format!("fact {number}"))
        };
        remember(&memory, fact).await;
    }
    let plan = planned(&memory, at_most(5)).await;
    // Five are too many, and a sixth makes room for the summary.
    assert_eq!(
        texts(&plan),
        ["fact 0", "fact 1", "fact 2", "fact 3", "fact 4", "fact 5"]
    );
    let done = summarised(&memory, plan, "six facts").await.unwrap();
    assert_eq!(
        done,
        Compaction {
            removed: 6,
            summarised: 6,
            remaining: 5
        }
    );
    let fact = memory.list_facts(None, 1).await.unwrap().facts.remove(0);
    assert_eq!(
        (fact.content.as_str(), fact.summary_of),
        ("six facts", Some(6))
    );
    assert_eq!(json!(fact.metadata), json!({ "channel": "mail" }));
    assert_eq!(fact.valid_from, 1_000);
    assert_eq!(fact.verification, Verification::Unverified);
    file.assert_intact().await;
}

#[tokio::test]
async fn a_summary_of_verified_facts_is_verified_by_all_of_their_sources() {
    let file = TestFile::new().await;
    let memory = file.memory("jordan").await;
    for number in 0..3 {
        verified(&file, &memory, &format!("verified {number}")).await;
    }
    for number in 0..3 {
        remember_text(&memory, &format!("plain {number}")).await;
    }
    // The two kinds are never in one group.
    let plan = planned(&memory, at_most(4)).await;
    assert_eq!(texts(&plan), ["plain 0", "plain 1", "plain 2"]);
    summarised(&memory, plan, "all plain").await.unwrap();
    let plan = planned(&memory, at_most(1)).await;
    assert_eq!(texts(&plan), ["verified 0", "verified 1", "verified 2"]);
    let done = summarised(&memory, plan, "all verified").await.unwrap();
    assert_eq!(done.remaining, 1);

    let read = async || memory.list_facts(None, 1).await.unwrap().facts.remove(0);
    let fact = read().await;
    assert_eq!(fact.verification, Verification::Verified);
    assert_eq!(fact.further_sources.len(), 2);
    assert!(fact.source.is_some());
    // Each of the sources counts.
    let place = fact.further_sources[1].index;
    file.tamper(&format!(
        "UPDATE entries SET at = at + 1 WHERE place = {place}"
    ));
    assert_eq!(read().await.verification, Verification::Tampered);
    file.tamper(&format!(
        "UPDATE entries SET at = at - 1 WHERE place = {place}"
    ));
    assert_eq!(read().await.verification, Verification::Verified);
    file.tamper("UPDATE fact_sources SET place = place + 9000");
    assert_eq!(read().await.verification, Verification::Dangling);
}

#[tokio::test]
async fn a_summary_is_not_summarised_again() {
    let file = TestFile::new().await;
    let memory = file.memory("jordan").await;
    for number in 0..4 {
        remember_text(&memory, &format!("fact {number}")).await;
    }
    let plan = planned(&memory, at_most(2)).await;
    summarised(&memory, plan, "a summary").await.unwrap();
    remember_text(&memory, "fact 4").await;
    remember_text(&memory, "fact 5").await;
    let aged = CompactOptions {
        max_age_ms: Some(0),
        now: Some(now() + 10),
        ..CompactOptions::default()
    };
    let plan = planned(&memory, aged).await;
    assert_eq!(texts(&plan), ["fact 3", "fact 4", "fact 5"]);
    let done = memory.carry_out(plan, Vec::new(), None).await.unwrap();
    // The summary itself went with the others.
    assert_eq!((done.removed, done.remaining), (4, 0));
}

#[tokio::test]
async fn a_summary_never_brings_back_what_has_ended_or_can_be_replaced() {
    let file = TestFile::new().await;
    let memory = file.memory("jordan").await;
    let plan_of = |plan: &str| NewFact {
        subject: Some("jordan".to_owned()),
        attribute: Some("plan".to_owned()),
        ..NewFact::new(format!("Jordan is on {plan}"))
    };
    remember(&memory, plan_of("Free")).await;
    remember(&memory, plan_of("Pro")).await;
    let ends = NewFact {
        expires_at: Some(now() + 1_000_000),
        ..NewFact::new("Jordan is on holiday")
    };
    remember(&memory, ends).await;
    remember_text(&memory, "Jordan likes tea").await;
    remember_text(&memory, "Jordan likes cake").await;
    let aged = CompactOptions {
        max_age_ms: Some(0),
        now: Some(now() + 10),
        ..CompactOptions::default()
    };
    let plan = planned(&memory, aged).await;
    assert_eq!(texts(&plan), ["Jordan likes tea", "Jordan likes cake"]);
}

#[tokio::test]
async fn a_memory_ends_no_larger_than_it_may_be_whatever_is_summarised() {
    let file = TestFile::new().await;
    let memory = file.memory("jordan").await;
    let facts = (0..500).map(|number| NewFact::new(format!("fact {number}")));
    memory.remember_many(facts.collect(), None).await.unwrap();
    for most in [100, 7, 1, 0] {
        let mut rounds = 0;
        let remaining = loop {
            let plan = planned(&memory, at_most(most)).await;
            let summaries = plan.group().map_or(0, |group| {
                assert!(group.facts.len() <= 200);
                group.most
            });
            let summaries = (0..summaries).map(|n| summary(&format!("{most} {rounds} {n}")));
            let done = memory
                .carry_out(plan, summaries.collect(), None)
                .await
                .unwrap();
            rounds += 1;
            if done.removed == 0 {
                break done.remaining;
            }
            assert!(rounds < 20, "compaction does not end");
        };
        assert_eq!(remaining, most as u64);
    }
    file.assert_intact().await;
}

#[tokio::test]
async fn what_was_forgotten_meanwhile_does_not_come_back_in_a_summary() {
    let file = TestFile::new().await;
    let memory = file.memory("jordan").await;
    let secret = remember_text(&memory, "Jordan was ill").await.fact;
    remember_text(&memory, "Jordan likes tea").await;
    remember_text(&memory, "Jordan likes cake").await;
    let plan = planned(&memory, at_most(2)).await;
    memory.forget(vec![secret.id]).await.unwrap();
    let done = summarised(&memory, plan, "Jordan was ill and likes tea")
        .await
        .unwrap();
    // What the summary was to stand for stays as well.
    assert_eq!((done.removed, done.remaining), (0, 2));
    assert_eq!(
        contents(&file).await,
        ["Jordan likes cake", "Jordan likes tea"]
    );
}

#[tokio::test]
async fn two_compactions_at_once_summarise_no_fact_twice() {
    let file = TestFile::new().await;
    let memory = file.memory("jordan").await;
    for number in 0..6 {
        remember_text(&memory, &format!("fact {number}")).await;
    }
    let (one, other) = (
        planned(&memory, at_most(3)).await,
        planned(&memory, at_most(3)).await,
    );
    let (one, other) = tokio::join!(
        summarised(&memory, one, "one"),
        summarised(&memory, other, "other")
    );
    let (one, other) = (one.unwrap(), other.unwrap());
    assert_eq!(one.summarised + other.summarised, 4);
    assert_eq!(one.remaining.min(other.remaining), 3);
    assert_eq!(contents(&file).await.len(), 3);
    file.assert_intact().await;
}

#[tokio::test]
async fn summaries_that_break_a_rule_change_nothing() {
    let file = TestFile::new().await;
    let memory = file.memory("jordan").await;
    for number in 0..4 {
        remember_text(&memory, &format!("fact {number}")).await;
    }
    let plan = planned(&memory, at_most(2)).await;
    let two = vec![summary("one"), summary("two")];
    assert_invalid(
        memory.carry_out(plan.clone(), two, None).await,
        "room for 1",
    );
    let foreign = Summary {
        of: vec!["0198c0de-0000-7000-8000-000000000000".to_owned()],
        ..summary("foreign")
    };
    assert_invalid(
        memory.carry_out(plan.clone(), vec![foreign], None).await,
        "none of its facts",
    );
    assert_invalid(
        summarised(&memory, plan.clone(), " ").await,
        "must not be empty",
    );
    assert_invalid(
        summarised(&memory, plan, &"x".repeat(70_000)).await,
        "fact-bytes",
    );
    assert_eq!(contents(&file).await.len(), 4);
}
