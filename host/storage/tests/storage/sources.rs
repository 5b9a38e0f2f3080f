//! A fact is verified only as long as what it was learned from can be.

use keepsake_storage::{Memory, NewFact, Outcome, SourceState, Verification};
use keepsake_types::EntryRef;
use serde_json::json;

use crate::common::{TestFile, assert_invalid, contents, remember, resource};

fn learned(text: &str, source: &EntryRef) -> NewFact {
    NewFact {
        source: Some(source.clone()),
        ..NewFact::new(text)
    }
}

/// A memory, and a command in its session that printed the plan.
async fn with_command(file: &TestFile, name: &str) -> (Memory, EntryRef) {
    let memory = file.memory(name).await;
    let entry = file
        .command(memory.session_id(), "plan: Pro\nseats: 12\n")
        .await;
    (memory, entry)
}

async fn refuses(file: &TestFile, memory: &Memory, fact: NewFact, words: &str) {
    let before = contents(memory).await;
    let entries = file.database.check().await.unwrap().counts.entries;
    // With a good fact before it, which is not remembered either.
    let answer = memory
        .remember_many(vec![NewFact::new("a good fact"), fact], None)
        .await;
    assert_invalid(answer, words);
    assert_eq!(contents(memory).await, before);
    assert_eq!(file.database.check().await.unwrap().counts.entries, entries);
}

#[tokio::test]
async fn a_fact_with_a_sound_source_is_verified_in_this_and_later_sessions() {
    let file = TestFile::new().await;
    let (memory, entry) = with_command(&file, "jordan").await;
    let fact = NewFact {
        quote: Some("plan: Pro".to_owned()),
        ..learned("Jordan is on the Pro plan", &entry)
    };
    let remembered = remember(&memory, fact).await.fact;
    assert_eq!(remembered.verification, Verification::Verified);
    assert_eq!(remembered.source.as_ref(), Some(&entry));
    assert_eq!(remembered.quote.as_deref(), Some("plan: Pro"));

    file.database
        .end_session(memory.session_id(), json!({}))
        .await
        .unwrap();
    let later = file.memory("jordan").await;
    assert_eq!(later.find(&remembered.id).await.unwrap(), Some(remembered));
    let from_earlier = remember(&later, learned("Jordan has 12 seats", &entry))
        .await
        .fact;
    assert_eq!(from_earlier.verification, Verification::Verified);
}

#[tokio::test]
async fn a_source_without_a_hash_is_kept_with_the_one_it_has() {
    let file = TestFile::new().await;
    let (memory, entry) = with_command(&file, "jordan").await;
    let without = EntryRef {
        hash: None,
        ..entry.clone()
    };
    let fact = remember(&memory, learned("Jordan is on the Pro plan", &without))
        .await
        .fact;
    assert_eq!(fact.source, Some(entry));
}

#[tokio::test]
async fn a_source_that_does_not_exist_is_refused() {
    let file = TestFile::new().await;
    let (memory, entry) = with_command(&file, "jordan").await;
    for missing in [
        EntryRef {
            index: 99,
            ..entry.clone()
        },
        EntryRef {
            index: u64::MAX,
            ..entry.clone()
        },
        EntryRef {
            session: "no-such-session".to_owned(),
            ..entry.clone()
        },
        EntryRef {
            session: "\u{1b}[2J".to_owned(),
            ..entry.clone()
        },
    ] {
        refuses(
            &file,
            &memory,
            learned("a guess", &missing),
            "has no such entry",
        )
        .await;
    }
}

#[tokio::test]
async fn a_source_of_another_resource_is_refused_as_if_it_did_not_exist() {
    let file = TestFile::new().await;
    let (_, foreign) = with_command(&file, "taylor").await;
    let (memory, _) = with_command(&file, "jordan").await;
    let missing = EntryRef {
        session: "no-such-session".to_owned(),
        ..foreign.clone()
    };
    let answer = |source| memory.remember_many(vec![learned("a guess", source)], None);
    let foreign_answer = answer(&foreign).await.unwrap_err().to_string();
    let missing_answer = answer(&missing).await.unwrap_err().to_string();
    assert_eq!(
        foreign_answer.replace(&foreign.session, "no-such-session"),
        missing_answer
    );
    refuses(
        &file,
        &memory,
        learned("a guess", &foreign),
        "has no such entry",
    )
    .await;
}

#[tokio::test]
async fn a_source_with_another_hash_is_refused() {
    let file = TestFile::new().await;
    let (memory, entry) = with_command(&file, "jordan").await;
    for hash in ["00".repeat(32), String::new(), "not hexadecimal".to_owned()] {
        let other = EntryRef {
            hash: Some(hash),
            ..entry.clone()
        };
        refuses(
            &file,
            &memory,
            learned("a guess", &other),
            "not what was written",
        )
        .await;
    }
}

#[tokio::test]
async fn a_source_in_a_broken_chain_is_refused() {
    for change in [
        "UPDATE entries SET payload = '{}' WHERE place = 1",
        "UPDATE entries SET at = at + 1 WHERE place = 0",
        "DELETE FROM entries WHERE place = 0",
        "UPDATE entries SET salt = NULL, payload = NULL WHERE place = 0",
        "UPDATE entries SET salt = NULL, payload = NULL WHERE place = 1",
        "UPDATE scopes SET resource = 'renamed' WHERE resource = 'taylor';
         UPDATE sessions SET scope = (SELECT id FROM scopes WHERE resource = 'jordan')",
    ] {
        let file = TestFile::new().await;
        // Someone else's session, for the last case.
        let (_, foreign) = with_command(&file, "taylor").await;
        let (memory, entry) = with_command(&file, "jordan").await;
        file.tamper(change);
        let source = if change.contains("renamed") {
            foreign
        } else {
            entry
        };
        refuses(
            &file,
            &memory,
            learned("a guess", &source),
            "not what was written",
        )
        .await;
    }
}

#[tokio::test]
async fn a_quote_must_occur_in_what_the_source_gave_out() {
    let file = TestFile::new().await;
    let (memory, entry) = with_command(&file, "jordan").await;
    let quoting = |quote: &str| NewFact {
        quote: Some(quote.to_owned()),
        ..learned("a fact", &entry)
    };
    for quote in [
        "plan: Free",
        "plan: pro",
        "plan:  Pro",
        "cat plan",
        "stdout",
    ] {
        refuses(&file, &memory, quoting(quote), "quote does not occur").await;
    }
    refuses(&file, &memory, quoting(""), "must not be 0").await;
    let without_source = NewFact {
        source: None,
        ..quoting("plan: Pro")
    };
    refuses(&file, &memory, without_source, "needs the source").await;
    let over_lines = remember(&memory, quoting("Pro\nseats: 12\n")).await;
    assert_eq!(over_lines.fact.verification, Verification::Verified);
}

async fn verification_after(change: &str) -> Verification {
    let file = TestFile::new().await;
    let (memory, entry) = with_command(&file, "jordan").await;
    let fact = remember(&memory, learned("Jordan is on the Pro plan", &entry))
        .await
        .fact;
    // An entry after all that the fact rests on.
    memory.set("later", json!(true)).await.unwrap();
    file.tamper(change);
    let listed = memory.list_facts(None, 10).await.unwrap().facts;
    let found = memory.find(&fact.id).await.unwrap().unwrap();
    assert_eq!(listed, std::slice::from_ref(&found));
    found.verification
}

#[tokio::test]
async fn a_fact_reads_tampered_once_its_source_or_an_entry_before_it_was_changed() {
    for change in [
        r#"UPDATE entries SET payload = '{"stdout":"plan: Free"}' WHERE place = 1"#,
        "UPDATE entries SET hash = zeroblob(32) WHERE place = 1",
        "UPDATE entries SET kind = 'exec-started' WHERE place = 1",
        "UPDATE entries SET at = at + 1 WHERE place = 0",
        "UPDATE entries SET salt = NULL, payload = NULL WHERE place = 1",
        "UPDATE entries SET salt = NULL, payload = NULL, erased_by = 3 WHERE place = 1",
        "DELETE FROM entries WHERE place = 0",
        "UPDATE facts SET source_hash = zeroblob(32)",
        "UPDATE facts SET content = 'Jordan is on the Gold plan.'",
        // Another entry that is sound by itself, and a quote that nobody gave.
        "UPDATE facts SET source_place = 0, source_hash = (SELECT hash FROM entries WHERE place = 0)",
        "UPDATE facts SET quote = 'seats: 12'",
        r#"UPDATE facts SET content = 'x'; UPDATE entries SET payload = '{"content":"x"}' WHERE place = 2"#,
        "UPDATE entries SET at = at + 1 WHERE place = 2",
        "DELETE FROM fact_entries",
        "INSERT INTO scopes (resource, team) VALUES ('taylor', ''); UPDATE sessions SET scope = 2",
    ] {
        assert_eq!(
            verification_after(change).await,
            Verification::Tampered,
            "{change}"
        );
    }
}

#[tokio::test]
async fn a_fact_reads_dangling_once_its_source_is_gone() {
    for change in [
        "DELETE FROM entries WHERE place = 1",
        "DELETE FROM entries",
        "DELETE FROM entries; DELETE FROM sessions",
        "UPDATE facts SET source_session = 'no-such-session'",
        "UPDATE facts SET source_place = 77",
    ] {
        assert_eq!(
            verification_after(change).await,
            Verification::Dangling,
            "{change}"
        );
    }
}

#[tokio::test]
async fn a_change_after_the_fact_was_remembered_does_not_touch_it() {
    assert_eq!(
        verification_after("UPDATE entries SET at = at + 1 WHERE place = 3").await,
        Verification::Verified
    );
}

#[tokio::test]
async fn a_fact_without_a_source_is_unverified_and_takes_one_when_it_is_repeated_with_it() {
    let file = TestFile::new().await;
    let (memory, entry) = with_command(&file, "jordan").await;
    let text = "Jordan is on the Pro plan";
    let first = remember(&memory, NewFact::new(text)).await.fact;
    assert_eq!(first.verification, Verification::Unverified);
    let again = remember(&memory, learned(text, &entry)).await;
    assert_eq!(again.outcome, Outcome::Repeated);
    assert_eq!(again.fact.id, first.id);
    assert_eq!(again.fact.verification, Verification::Verified);
    // A source that no entry gave to a fact does not make it verified.
    let plain = remember(&memory, NewFact::new("Jordan likes tea"))
        .await
        .fact;
    file.tamper(
        "UPDATE facts SET source_session = (SELECT id FROM sessions), source_place = 1,
            source_hash = (SELECT hash FROM entries WHERE place = 1)
         WHERE content = 'Jordan likes tea'",
    );
    let claimed = memory.find(&plain.id).await.unwrap().unwrap();
    assert_eq!(claimed.verification, Verification::Tampered);
}

#[tokio::test]
async fn many_facts_of_many_entries_are_checked_in_whatever_order_they_come() {
    let file = TestFile::new().await;
    let (memory, _) = with_command(&file, "jordan").await;
    let mut sources = Vec::new();
    for number in 0..20 {
        sources.push(
            file.command(memory.session_id(), &format!("line {number}"))
                .await,
        );
    }
    sources.reverse();
    let facts = sources
        .iter()
        .map(|source| learned(&format!("fact of entry {}", source.index), source))
        .collect();
    let remembered = memory.remember_many(facts, None).await.unwrap();
    for (remembered, source) in remembered.iter().zip(&sources) {
        assert_eq!(remembered.fact.source.as_ref(), Some(source));
        assert_eq!(remembered.fact.verification, Verification::Verified);
    }
}

#[tokio::test]
async fn the_state_of_an_entry_can_be_asked_for() {
    let file = TestFile::new().await;
    let (_, entry) = with_command(&file, "jordan").await;
    let (_, foreign) = with_command(&file, "taylor").await;
    let state = async |entry: &EntryRef, name: &str| {
        file.database
            .verify_entry(entry, &resource(name))
            .await
            .unwrap()
    };
    assert_eq!(state(&entry, "jordan").await, SourceState::Verified);
    assert_eq!(state(&foreign, "jordan").await, SourceState::ForeignScope);
    assert_eq!(state(&entry, "nobody").await, SourceState::ForeignScope);
    let missing = EntryRef {
        index: 50,
        ..entry.clone()
    };
    assert_eq!(state(&missing, "jordan").await, SourceState::Dangling);
    assert_eq!(state(&missing, "nobody").await, SourceState::Dangling);
    file.tamper("UPDATE entries SET at = at + 1 WHERE place = 1");
    assert_eq!(state(&entry, "jordan").await, SourceState::Tampered);
}
