//! Compaction: what goes, what stays, and what stands for what went.

use keepsake_storage::{
    CompactOptions, Compaction, CompactionPlan, Fact, Kind, Memory, NewFact, RecallMode,
    RecallOptions, StorageError, Summary, Verification,
};
use keepsake_types::now;
use serde_json::json;

use crate::common::{TestFile, remember, remember_text};

pub(crate) fn at_most(max_facts: usize) -> CompactOptions {
    CompactOptions {
        max_facts: Some(max_facts),
        ..CompactOptions::default()
    }
}

/// Every fact of the memory, current or not.
pub(crate) async fn contents(file: &TestFile) -> Vec<String> {
    let connection = file.other_program();
    let mut statement = connection
        .prepare("SELECT content FROM facts ORDER BY content")
        .unwrap();
    let contents = statement.query_map([], |row| row.get(0)).unwrap();
    contents.collect::<Result<_, _>>().unwrap()
}

/// Facts `fact 0`, `fact 1`, ... of which each was remembered a second after
/// the one before it; the last one at the time that is the answer.
async fn a_second_apart(file: &TestFile, memory: &Memory, facts: u64) -> u64 {
    let last = now();
    for number in 0..facts {
        remember_text(memory, &format!("fact {number}")).await;
        let at = last - (facts - 1 - number) * 1_000;
        file.tamper(&format!(
            "UPDATE facts SET created_at = {at}, updated_at = {at} WHERE content = 'fact {number}'"
        ));
    }
    last
}

pub(crate) async fn verified(file: &TestFile, memory: &Memory, text: &str) -> Fact {
    let source = file.command(memory.session_id(), text).await;
    let fact = NewFact {
        source: Some(source),
        ..NewFact::new(text)
    };
    let fact = remember(memory, fact).await.fact;
    assert_eq!(fact.verification, Verification::Verified);
    fact
}

pub(crate) async fn planned(memory: &Memory, options: CompactOptions) -> CompactionPlan {
    memory.view().plan_compaction(options, true).await.unwrap()
}

pub(crate) fn texts(plan: &CompactionPlan) -> Vec<&str> {
    let group = plan.group().unwrap();
    group
        .facts
        .iter()
        .map(|fact| fact.content.as_str())
        .collect()
}

pub(crate) fn summary(content: &str) -> Summary {
    Summary {
        content: content.to_owned(),
        of: Vec::new(),
    }
}

pub(crate) async fn summarised(
    memory: &Memory,
    plan: CompactionPlan,
    content: &str,
) -> Result<Compaction, StorageError> {
    memory.carry_out(plan, vec![summary(content)], None).await
}

#[tokio::test]
async fn facts_that_are_strictly_older_go_and_the_rest_stays() {
    let file = TestFile::new().await;
    let memory = file.memory("jordan").await;
    let last = a_second_apart(&file, &memory, 5).await;
    let options = CompactOptions {
        max_age_ms: Some(2_000),
        now: Some(last),
        ..CompactOptions::default()
    };
    let done = memory.compact(options).await.unwrap();
    // `fact 2` is exactly as old as is allowed.
    assert_eq!(contents(&file).await, ["fact 2", "fact 3", "fact 4"]);
    assert_eq!(
        done,
        Compaction {
            removed: 2,
            summarised: 0,
            remaining: 3
        }
    );
    file.assert_intact().await;
}

#[tokio::test]
async fn age_goes_before_number_and_number_drops_the_oldest() {
    let file = TestFile::new().await;
    let memory = file.memory("jordan").await;
    let last = a_second_apart(&file, &memory, 6).await;
    let options = CompactOptions {
        max_age_ms: Some(3_000),
        max_facts: Some(3),
        now: Some(last),
    };
    let done = memory.compact(options).await.unwrap();
    assert_eq!(contents(&file).await, ["fact 3", "fact 4", "fact 5"]);
    assert_eq!((done.removed, done.remaining), (3, 3));
    let none = memory.compact(at_most(0)).await.unwrap();
    assert_eq!((none.removed, none.remaining), (3, 0));
}

#[tokio::test]
async fn without_age_and_number_nothing_is_done() {
    let file = TestFile::new().await;
    let memory = file.memory("jordan").await;
    a_second_apart(&file, &memory, 3).await;
    let done = memory.compact(CompactOptions::default()).await.unwrap();
    assert_eq!((done.removed, done.summarised, done.remaining), (0, 0, 3));
    let entries = file
        .database
        .entries(memory.session_id(), None, 100)
        .await
        .unwrap();
    assert!(
        entries
            .entries
            .iter()
            .all(|entry| entry.kind != Kind::FactsCompacted)
    );
    // A memory that was never written to is compacted as well as any other.
    let nobody = file.memory("nobody").await;
    assert_eq!(
        nobody.compact(at_most(1)).await.unwrap(),
        Compaction::default()
    );
}

#[tokio::test]
async fn compaction_touches_only_its_own_scope() {
    let file = TestFile::new().await;
    let (jordan, robin) = (file.memory("jordan").await, file.memory("robin").await);
    for number in 0..4 {
        remember_text(&jordan, &format!("jordan {number}")).await;
        remember_text(&robin, &format!("robin {number}")).await;
    }
    jordan.compact(at_most(1)).await.unwrap();
    assert_eq!(
        contents(&file).await,
        ["jordan 3", "robin 0", "robin 1", "robin 2", "robin 3"]
    );
}

#[tokio::test]
async fn what_does_not_hold_goes_first_and_what_is_verified_goes_last() {
    let file = TestFile::new().await;
    let memory = file.memory("jordan").await;
    let value = |text: &str| NewFact {
        subject: Some("jordan".to_owned()),
        attribute: Some("plan".to_owned()),
        ..NewFact::new(text)
    };
    verified(&file, &memory, "1 verified").await;
    remember(&memory, value("2 old plan")).await;
    remember(&memory, value("3 plan")).await;
    remember_text(&memory, "4 plain").await;
    let expired = remember_text(&memory, "5 expired").await.fact;
    memory.expire(&expired.id, now()).await.unwrap();
    let dangling = verified(&file, &memory, "6 dangling").await;
    file.tamper(&format!(
        "UPDATE facts SET source_place = 9999 WHERE content = '{}'",
        dangling.content
    ));
    let mut left = Vec::new();
    for most in (0..6).rev() {
        memory.compact(at_most(most)).await.unwrap();
        left.push(contents(&file).await);
    }
    assert_eq!(left[1], ["1 verified", "3 plan", "4 plain", "6 dangling"]);
    assert_eq!(left[2], ["1 verified", "3 plan", "6 dangling"]);
    assert_eq!(left[3], ["1 verified", "3 plan"]);
    assert_eq!(left[4], ["1 verified"]);
    assert!(left[5].is_empty());
}

#[tokio::test]
async fn what_was_compacted_away_is_gone_for_good() {
    let file = TestFile::new().await;
    let memory = file.memory("jordan").await;
    remember_text(&memory, "the password is swordfish").await;
    remember_text(&memory, "Jordan likes tea").await;
    memory.compact(at_most(1)).await.unwrap();
    let found = memory
        .recall("swordfish password", None, RecallOptions::default())
        .await
        .unwrap();
    assert!(found.facts.is_empty());
    let kept: i64 = file
        .other_program()
        .query_row(
            "SELECT (SELECT count(*) FROM entries WHERE payload LIKE '%swordfish%'
                        AND kind <> 'recalled')
                  + (SELECT count(*) FROM postings WHERE word LIKE 'swordfish%')",
            [],
            |row| row.get(0),
        )
        .unwrap();
    assert_eq!(kept, 0);
    file.assert_intact().await;
}

#[tokio::test]
async fn the_ledger_says_what_was_compacted_and_what_stands_for_it() {
    let file = TestFile::new().await;
    let memory = file.memory("jordan").await;
    let mut ids = Vec::new();
    for number in 0..4 {
        ids.push(
            remember_text(&memory, &format!("fact {number}"))
                .await
                .fact
                .id,
        );
    }
    let plan = planned(&memory, at_most(2)).await;
    summarised(&memory, plan, "three facts").await.unwrap();
    let summary = memory.list_facts(None, 1).await.unwrap().facts.remove(0);
    memory
        .record_failed_compaction("the summariser failed")
        .await
        .unwrap();
    let entries = file
        .database
        .entries(memory.session_id(), None, 100)
        .await
        .unwrap();
    let compacted: Vec<_> = entries
        .entries
        .iter()
        .filter(|entry| entry.kind == Kind::FactsCompacted)
        .map(|entry| entry.payload.clone().unwrap())
        .collect();
    assert_eq!(
        compacted[0],
        json!({
            "max-age-ms": null, "max-facts": 2, "facts": ids[..3], "remaining": 2,
            "summaries": [{ "fact": summary.id, "of": ids[..3] }],
        })
    );
    assert_eq!(
        compacted[1],
        json!({ "facts": [], "error": "the summariser failed" })
    );
    let found = memory
        .recall(
            "three",
            None,
            RecallOptions {
                mode: RecallMode::Words,
                ..RecallOptions::default()
            },
        )
        .await
        .unwrap();
    assert_eq!(found.facts[0].fact.id, summary.id);
}

#[tokio::test]
async fn a_compaction_is_due_after_so_many_new_facts_whoever_counts() {
    let file = TestFile::new().await;
    let memory = file.memory("jordan").await;
    let due = async |memory: &Memory| memory.view().compaction_due(3).await.unwrap();
    assert!(!due(&memory).await);
    remember_text(&memory, "fact 0").await;
    remember_text(&memory, "fact 0").await;
    assert!(!due(&memory).await, "a repeated fact counts as a new one");
    // A bulk write counts, and so does what another session or process wrote.
    let other = file.memory("jordan").await;
    let two = vec![NewFact::new("fact 1"), NewFact::new("fact 2")];
    other.remember_many(two, None).await.unwrap();
    assert!(due(&memory).await);
    memory.compact(at_most(10)).await.unwrap();
    assert!(!due(&memory).await);
    for number in 3..6 {
        remember_text(&memory, &format!("fact {number}")).await;
    }
    assert!(due(&other).await);
    memory.record_failed_compaction("it failed").await.unwrap();
    assert!(!due(&other).await);
}
