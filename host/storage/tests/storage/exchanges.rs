//! What was said in a session, read from its entries.

use keepsake_storage::{Exchange, Kind};
use keepsake_types::limits;
use serde_json::json;

use crate::common::{TestFile, assert_invalid, assert_limit, assert_not_found};

async fn say(file: &TestFile, session: &str, turn: u64, message: &str, reply: Option<&str>) {
    let entry = |kind, payload| file.database.append(session, kind, payload);
    let started = json!({ "turn": turn, "message": message });
    entry(Kind::TurnStarted, started).await.unwrap();
    let ended = match reply {
        Some(reply) => entry(Kind::TurnCompleted, json!({ "turn": turn, "reply": reply })),
        None => entry(Kind::TurnFailed, json!({ "turn": turn, "error": "no" })),
    };
    ended.await.unwrap();
}

fn said(exchanges: &[Exchange]) -> Vec<(u64, &str, &str)> {
    exchanges
        .iter()
        .map(|it| (it.turn, it.message.as_str(), it.reply.as_str()))
        .collect()
}

#[tokio::test]
async fn the_last_exchanges_come_newest_first_without_turns_that_failed() {
    let file = TestFile::new().await;
    for id in ["a", "b"] {
        file.session_with_commands(id, "jordan", 2).await;
    }
    say(&file, "a", 0, "one", Some("1")).await;
    say(&file, "b", 0, "elsewhere", Some("e")).await;
    say(&file, "a", 1, "two", None).await;
    file.command("a", "something between").await;
    say(&file, "a", 2, "three", Some("3")).await;
    say(&file, "a", 3, "four", Some("4")).await;
    let found = file.database.exchanges("a", 3, 10).await.unwrap();
    assert_eq!(said(&found), [(2, "three", "3"), (0, "one", "1")]);
    let found = file.database.exchanges("a", 9, 2).await.unwrap();
    assert_eq!(said(&found), [(3, "four", "4"), (2, "three", "3")]);
    assert!(file.database.exchanges("a", 0, 2).await.unwrap().is_empty());
    assert_not_found(file.database.exchanges("c", 1, 2).await);
    assert_invalid(file.database.exchanges("a", 1, 0).await, "at least 1");
    assert_limit(file.database.exchanges("a", 1, 1_001).await, "page-items");
}

#[tokio::test]
async fn what_was_erased_or_altered_is_left_out_and_no_more_is_read_than_its_bound() {
    let file = TestFile::new().await;
    file.session_with_commands("a", "jordan", 0).await;
    for turn in 0..3 {
        say(&file, "a", turn, &format!("message {turn}"), Some("yes")).await;
    }
    file.tamper("UPDATE entries SET payload = NULL WHERE place = 3");
    file.tamper("UPDATE entries SET payload = '{' WHERE place = 5");
    let found = file.database.exchanges("a", 9, 10).await.unwrap();
    assert_eq!(said(&found), [(0, "message 0", "yes")]);
    let long = "x".repeat(limits::EXCHANGES_BYTES / 2);
    for turn in 3..6 {
        say(&file, "a", turn, "more", Some(&long)).await;
    }
    let found = file.database.exchanges("a", 9, 10).await.unwrap();
    assert_eq!(found.len(), 2);
}
