//! What a fork changed is told, and brought into its parent whole or not at all;
//! what both sides changed stays as the parent has it.

use std::sync::Arc;

use keepsake_storage::{
    Branch, Conflict, Difference, Fact, Kind, Memory, MergeReport, NewFact, ProfileCheck,
    RecallOptions, Verification,
};
use keepsake_types::now;
use serde_json::json;

use crate::common::{
    TestFile, assert_invalid, assert_limit, assert_not_found, contents, remember, remember_text,
};
use crate::forks::{said, value};
use crate::recall::by_words;
use crate::vectors::{query_vector, vectors};

async fn forked(file: &TestFile) -> (Memory, Branch) {
    let memory = file.memory("jordan").await;
    memory.set("ticket", json!("T-1")).await.unwrap();
    memory.set("language", json!("en")).await.unwrap();
    memory
        .update_profile(json!({ "name": "Jordan", "plan": "Free" }), None)
        .await
        .unwrap();
    remember(&memory, value("city", "Jordan lives in Oslo")).await;
    for text in ["Jordan likes tea", "Jordan has a red bicycle"] {
        remember_text(&memory, text).await;
    }
    let branch = memory.fork("draft").await.unwrap();
    (memory, branch)
}

async fn fact(memory: &Memory, text: &str) -> Fact {
    let facts = memory.list_facts(None, 100).await.unwrap().facts;
    let found = facts.into_iter().find(|fact| fact.content == text);
    found.unwrap_or_else(|| panic!("no current fact says {text}"))
}

async fn forget(memory: &Memory, text: &str) -> String {
    let id = fact(memory, text).await.id;
    assert_eq!(memory.forget(vec![id.clone()]).await.unwrap(), 1);
    id
}

fn texts(facts: &[Fact]) -> Vec<&str> {
    facts.iter().map(|fact| fact.content.as_str()).collect()
}

/// A merge has nothing left to bring.
async fn assert_merged(branch: &Branch) {
    assert_eq!(branch.diff().await.unwrap(), Difference::default());
    let again = branch.merge(None).await.unwrap();
    assert_eq!(again, MergeReport::default());
}

async fn assert_sound(file: &TestFile) {
    let check = file.database.check().await.unwrap();
    assert!(check.sound, "{:?}", check.damage);
    file.assert_intact().await;
}

#[tokio::test]
async fn what_a_fork_changed_is_told_and_then_brought() {
    let file = TestFile::new().await;
    let (memory, branch) = forked(&file).await;
    assert_eq!(branch.diff().await.unwrap(), Difference::default());
    let fork = branch.memory();
    let new = NewFact::new("Jordan wants a refund");
    fork.remember_many(vec![new], Some(vectors("m", &[&[1.0, 0.0]])))
        .await
        .unwrap();
    remember(fork, value("city", "Jordan lives in Bergen")).await;
    forget(fork, "Jordan likes tea").await;
    let tea = fact(&memory, "Jordan likes tea").await.id;
    fork.set("ticket", json!("T-2")).await.unwrap();
    fork.delete("language").await.unwrap();
    fork.set("mood", json!("calm")).await.unwrap();
    let patch = json!({ "plan": "Pro", "name": null, "tier": 1 });
    fork.update_profile(patch, None).await.unwrap();
    // What only the parent learned is no difference of the fork.
    remember_text(&memory, "Jordan called on Monday").await;
    memory.set("channel", json!("phone")).await.unwrap();

    let difference = branch.diff().await.unwrap();
    assert_eq!(
        texts(&difference.added),
        ["Jordan wants a refund", "Jordan lives in Bergen"]
    );
    assert_eq!(texts(&difference.changed), ["Jordan lives in Oslo"]);
    assert_eq!(difference.removed, [tea]);
    assert_eq!(difference.working, ["language", "mood", "ticket"]);
    assert_eq!(difference.profile, ["name", "plan", "tier"]);
    assert!(difference.conflicts.is_empty());

    let report = branch.merge(None).await.unwrap();
    assert_eq!(
        (report.added, report.changed, report.removed),
        (2 + 2, 1 + 2, 1 + 2),
        "facts, keys and members of the profile"
    );
    assert_eq!(
        memory.list(None, 10).await.unwrap().items,
        [
            ("channel".to_owned(), json!("phone")),
            ("mood".to_owned(), json!("calm")),
            ("ticket".to_owned(), json!("T-2")),
        ]
    );
    let profile = memory.profile().await.unwrap();
    assert_eq!(json!(profile), json!({ "plan": "Pro", "tier": 1 }));
    let facts = memory.list_facts(None, 100).await.unwrap().facts;
    assert_eq!(
        texts(&facts),
        [
            "Jordan lives in Bergen",
            "Jordan wants a refund",
            "Jordan called on Monday",
            "Jordan has a red bicycle"
        ]
    );
    // History, words and vectors came along; ids and what names them are the parent's.
    let options = RecallOptions {
        include_superseded: true,
        ..RecallOptions::default()
    };
    let old = memory.recall("Oslo", None, options).await.unwrap().facts;
    let newer = old[0].fact.superseded_by.clone().unwrap();
    let newer = memory.find(&newer).await.unwrap().unwrap();
    assert_eq!(newer.content, "Jordan lives in Bergen");
    assert_eq!(old[0].fact.valid_until, Some(newer.valid_from));
    assert_eq!(by_words(&memory, "refund").await, ["Jordan wants a refund"]);
    let query = Some(query_vector("m", &[1.0, 0.0]));
    let near = memory.recall("x", query, RecallOptions::default());
    assert_eq!(
        near.await.unwrap().facts[0].fact.content,
        "Jordan wants a refund"
    );

    assert_merged(&branch).await;
    assert_sound(&file).await;
    // Both go on: a second merge brings what came after the first.
    remember_text(fork, "The parcel arrived").await;
    remember(fork, value("city", "Jordan lives in Molde")).await;
    let report = branch.merge(None).await.unwrap();
    assert_eq!((report.added, report.changed, report.removed), (2, 1, 0));
    assert_eq!(by_words(&memory, "lives").await, ["Jordan lives in Molde"]);
    assert_merged(&branch).await;
    assert_sound(&file).await;
}

#[tokio::test]
async fn a_merge_stands_in_the_ledger_and_one_that_brings_nothing_does_not() {
    let file = TestFile::new().await;
    let (memory, branch) = forked(&file).await;
    branch.merge(None).await.unwrap();
    remember_text(branch.memory(), "Jordan wants a refund").await;
    branch.memory().set("mood", json!("calm")).await.unwrap();
    branch.merge(None).await.unwrap();
    branch.merge(None).await.unwrap();
    let entries = file.database.entries(memory.session_id(), None, 100).await;
    let entries = entries.unwrap().entries.into_iter();
    let merges: Vec<_> = entries
        .filter(|entry| entry.kind == Kind::MemoryMerged)
        .map(|entry| entry.payload.unwrap())
        .collect();
    let added = fact(&memory, "Jordan wants a refund").await.id;
    assert_eq!(
        merges,
        [json!({
            "fork": "draft", "added": [added], "changed": [], "removed": [],
            "working": ["mood"], "profile": [], "conflicts": [],
        })]
    );
}

#[tokio::test]
async fn what_both_sides_changed_is_told_and_left_as_the_parent_has_it() {
    let file = TestFile::new().await;
    let (memory, branch) = forked(&file).await;
    let fork = branch.memory();
    // Values: one that both set, one that one set and the other deleted.
    memory.set("ticket", json!("T-8")).await.unwrap();
    fork.set("ticket", json!("T-9")).await.unwrap();
    memory.delete("language").await.unwrap();
    fork.set("language", json!("no")).await.unwrap();
    memory
        .update_profile(json!({ "plan": "Pro" }), None)
        .await
        .unwrap();
    fork.update_profile(json!({ "plan": "Max", "tier": 2 }), None)
        .await
        .unwrap();
    // Facts: another value, an end that the other side forgot, and the reverse.
    remember(&memory, value("city", "Jordan lives in Bergen")).await;
    // Otherwise both could end the value before them in the same millisecond.
    tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    remember(fork, value("city", "Jordan lives in Molde")).await;
    let tea = fact(fork, "Jordan likes tea").await.id;
    forget(&memory, "Jordan likes tea").await;
    fork.expire(&tea, now() + 1_000_000).await.unwrap();
    let bicycle = fact(&memory, "Jordan has a red bicycle").await.id;
    forget(fork, "Jordan has a red bicycle").await;
    memory.expire(&bicycle, now() + 2_000_000).await.unwrap();
    remember_text(fork, "Jordan wants a refund").await;

    let before = contents(&memory).await;
    let options = RecallOptions {
        include_superseded: true,
        ..RecallOptions::default()
    };
    let oslo = memory.recall("Oslo", None, options).await.unwrap().facts;
    let oslo = oslo[0].fact.id.clone();
    let bergen = fact(&memory, "Jordan lives in Bergen").await.id;
    let mut expected = vec![
        Conflict::Fact(oslo),
        Conflict::Fact(bergen),
        Conflict::Fact(tea),
        Conflict::Fact(bicycle),
        Conflict::Working("language".to_owned()),
        Conflict::Working("ticket".to_owned()),
        Conflict::Profile("plan".to_owned()),
    ];
    expected.sort_unstable();
    assert_eq!(branch.diff().await.unwrap().conflicts, expected);
    let report = branch.merge(None).await.unwrap();
    assert_eq!(report.conflicts, expected);
    assert_eq!((report.added, report.changed, report.removed), (2, 0, 0));

    let after = contents(&memory).await;
    assert_eq!(after["working"], before["working"]);
    assert_eq!(
        after["profile"],
        json!({ "name": "Jordan", "plan": "Pro", "tier": 2 })
    );
    let facts = memory.list_facts(None, 100).await.unwrap().facts;
    assert_eq!(
        texts(&facts),
        [
            "Jordan wants a refund",
            "Jordan lives in Bergen",
            "Jordan has a red bicycle"
        ]
    );
    // A conflict is told until one side gives way; then there is none.
    assert_eq!(branch.diff().await.unwrap().conflicts, expected);
    fork.set("ticket", json!("T-8")).await.unwrap();
    memory.set("language", json!("no")).await.unwrap();
    fork.update_profile(json!({ "plan": "Pro" }), None)
        .await
        .unwrap();
    let left = branch.merge(None).await.unwrap().conflicts;
    assert!(
        left.iter().all(|one| matches!(one, Conflict::Fact(_))),
        "{left:?}"
    );
    assert_eq!(left.len(), 4);
    assert_sound(&file).await;
}

#[tokio::test]
async fn what_a_value_in_conflict_superseded_goes_on_in_the_parent() {
    let file = TestFile::new().await;
    let (memory, branch) = forked(&file).await;
    let fork = branch.memory();
    let tea = fact(fork, "Jordan likes tea").await.id;
    // It ends the tea by its name, and gives a value that the parent has otherwise.
    let cocoa = NewFact {
        supersedes: vec![tea],
        ..value("drink", "Jordan's drink is cocoa")
    };
    remember(fork, cocoa).await;
    remember(&memory, value("drink", "Jordan's drink is water")).await;
    let report = branch.merge(None).await.unwrap();
    let water = fact(&memory, "Jordan's drink is water").await;
    let tea = fact(&memory, "Jordan likes tea").await;
    assert_eq!(report.conflicts.len(), 2);
    for conflict in [water, tea] {
        let conflict = Conflict::Fact(conflict.id);
        assert!(report.conflicts.contains(&conflict), "{report:?}");
    }
    assert_eq!((report.added, report.changed), (0, 0));
}

#[tokio::test]
async fn what_both_sides_did_alike_is_no_conflict() {
    let file = TestFile::new().await;
    let (memory, branch) = forked(&file).await;
    let fork = branch.memory();
    for side in [&memory, fork] {
        side.set("ticket", json!("T-5")).await.unwrap();
        side.delete("language").await.unwrap();
        side.update_profile(json!({ "plan": "Pro" }), None)
            .await
            .unwrap();
        forget(side, "Jordan likes tea").await;
    }
    assert_merged(&branch).await;
}

#[tokio::test]
async fn a_fact_that_both_sides_learned_stays_one_and_takes_the_forks_evidence() {
    let file = TestFile::new().await;
    let (memory, branch) = forked(&file).await;
    let child = file.session_of(branch.memory().resource()).await;
    let source = file.command(child.session_id(), "refund granted").await;
    let sourced = NewFact {
        source: Some(source.clone()),
        quote: Some("refund granted".to_owned()),
        ..NewFact::new("The refund was granted")
    };
    remember(&child, sourced).await;
    let known = remember_text(&memory, "The refund was granted").await.fact;
    assert_eq!(known.verification, Verification::Unverified);
    let report = branch.merge(None).await.unwrap();
    assert_eq!((report.added, report.changed), (0, 1));
    let known = memory.find(&known.id).await.unwrap().unwrap();
    assert_eq!(known.source, Some(source));
    assert_eq!(known.verification, Verification::Verified);
    assert_eq!(by_words(&memory, "refund").await.len(), 1);
    assert_merged(&branch).await;
}

#[tokio::test]
async fn a_fact_that_was_only_repeated_grows_newer_in_the_parent() {
    let file = TestFile::new().await;
    let (memory, branch) = forked(&file).await;
    file.tamper("UPDATE facts SET updated_at = updated_at - 1000");
    file.tamper("UPDATE fork_facts SET updated_at = updated_at - 1000");
    let before = fact(&memory, "Jordan likes tea").await;
    remember_text(branch.memory(), "Jordan likes tea").await;
    memory.expire(&before.id, now() + 5_000_000).await.unwrap();
    file.tamper("UPDATE facts SET updated_at = updated_at - 1000 WHERE valid_until IS NOT NULL");
    let before = fact(&memory, "Jordan likes tea").await;
    let report = branch.merge(None).await.unwrap();
    assert_eq!((report.changed, report.conflicts.len()), (1, 0));
    let after = fact(&memory, "Jordan likes tea").await;
    assert!(after.updated_at > before.updated_at);
    assert_eq!(after.valid_until, before.valid_until);
    assert_merged(&branch).await;
}

#[tokio::test]
async fn a_merged_fact_stays_verified_when_the_fork_is_discarded() {
    let file = TestFile::new().await;
    let (memory, branch) = forked(&file).await;
    let child = file.session_of(branch.memory().resource()).await;
    let source = file.command(child.session_id(), "the lock is broken").await;
    let sourced = NewFact {
        source: Some(source),
        ..NewFact::new("The lock is broken")
    };
    remember(&child, sourced).await;
    remember_text(&child, "nothing of this is merged").await;
    forget(&child, "nothing of this is merged").await;
    branch.merge(None).await.unwrap();
    assert_eq!(
        fact(&memory, "The lock is broken").await.verification,
        Verification::Verified
    );
    branch.discard().await.unwrap();
    assert_eq!(
        fact(&memory, "The lock is broken").await.verification,
        Verification::Verified
    );
    assert_sound(&file).await;
    file.tamper("UPDATE entries SET hash = zeroblob(32) WHERE kind = 'exec-completed'");
    assert_eq!(
        fact(&memory, "The lock is broken").await.verification,
        Verification::Tampered
    );
}

#[tokio::test]
async fn a_profile_that_the_schema_refuses_keeps_the_whole_merge_back() {
    let file = TestFile::new().await;
    let (memory, branch) = forked(&file).await;
    let fork = branch.memory();
    remember_text(fork, "Jordan wants a refund").await;
    fork.set("mood", json!("calm")).await.unwrap();
    fork.update_profile(json!({ "plan": 7 }), None)
        .await
        .unwrap();
    let (before, copied) = (contents(&memory).await, contents(fork).await);
    let check: ProfileCheck = Arc::new(|profile| {
        if profile["plan"].is_string() {
            return Ok(());
        }
        Err("`/plan`: it is no text".to_owned())
    });
    assert_invalid(branch.merge(Some(check.clone())).await, "`/plan`");
    assert_eq!(contents(&memory).await, before);
    assert_eq!(contents(fork).await, copied);
    assert_eq!(branch.diff().await.unwrap().added.len(), 1);
    fork.update_profile(json!({ "plan": "Pro" }), None)
        .await
        .unwrap();
    let report = branch.merge(Some(check)).await.unwrap();
    assert_eq!((report.added, report.changed), (2, 1));
}

#[tokio::test]
async fn a_merge_that_fails_half_way_brings_nothing() {
    let file = TestFile::new().await;
    let (memory, branch) = forked(&file).await;
    remember_text(branch.memory(), "Jordan wants a refund").await;
    branch.memory().set("mood", json!("calm")).await.unwrap();
    let before = contents(&memory).await;
    file.tamper(
        "CREATE TRIGGER stop BEFORE UPDATE ON forks BEGIN SELECT RAISE(ABORT, 'stop'); END",
    );
    assert!(branch.merge(None).await.is_err());
    assert_eq!(contents(&memory).await, before);
    assert_sound(&file).await;
    file.tamper("DROP TRIGGER stop");
    branch.merge(None).await.unwrap();
    assert_eq!(said(&memory).await, said(branch.memory()).await);
}

#[tokio::test]
async fn a_fork_of_a_fork_is_merged_into_the_fork() {
    let file = TestFile::new().await;
    let (memory, branch) = forked(&file).await;
    let below = branch.memory().fork("below").await.unwrap();
    remember_text(below.memory(), "Jordan wants a refund").await;
    below.merge(None).await.unwrap();
    assert!(by_words(&memory, "refund").await.is_empty());
    assert_eq!(branch.diff().await.unwrap().added.len(), 1);
    below.discard().await.unwrap();
    branch.merge(None).await.unwrap();
    assert_eq!(by_words(&memory, "refund").await.len(), 1);
    assert_sound(&file).await;
}

#[tokio::test]
async fn what_is_no_fork_has_no_difference() {
    let file = TestFile::new().await;
    let (memory, branch) = forked(&file).await;
    assert_invalid(memory.view().difference().await, "is no fork");
    let gone = branch.memory().view().clone();
    branch.discard().await.unwrap();
    assert_not_found(gone.difference().await);
}

#[tokio::test]
async fn a_difference_lists_a_bounded_number_of_facts_and_a_merge_brings_them_all() {
    let file = TestFile::new().await;
    let memory = file.memory("jordan").await;
    let branch = memory.fork("draft").await.unwrap();
    for half in 0..2 {
        let facts = (0..5_001).map(|number| NewFact::new(format!("part {half} number {number}")));
        branch
            .memory()
            .remember_many(facts.collect(), None)
            .await
            .unwrap();
    }
    assert_limit(branch.diff().await, "fork-difference-facts");
    assert_eq!(branch.merge(None).await.unwrap().added, 10_002);
    assert_eq!(memory.view().count_facts().await.unwrap(), 10_002);
    assert_merged(&branch).await;
}
