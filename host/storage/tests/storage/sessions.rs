//! Sessions: beginning, ending, going on, and listing them.

use keepsake_storage::{
    BeginSession, Database, Kind, NewFact, OPERATOR_AGENT, RecallOptions, ResumeSession,
    SessionStatus, SnippetOptions, StorageError,
};
use keepsake_types::now;
use serde_json::json;

use crate::common::{TestFile, assert_invalid, assert_limit, assert_not_found, resource};

fn begin(id: &str) -> BeginSession {
    BeginSession {
        id: Some(id.to_owned()),
        agent_hash: Some("hash-1".to_owned()),
        plugin: Some("agent.wasm".to_owned()),
        parent: None,
        ..BeginSession::new(resource("jordan"), "support")
    }
}

fn resume(id: &str) -> ResumeSession {
    ResumeSession {
        id: id.to_owned(),
        resource: resource("jordan"),
        account: None,
        agent: "support".to_owned(),
        agent_hash: Some("hash-2".to_owned()),
    }
}

async fn kinds(file: &TestFile, id: &str) -> Vec<Kind> {
    let entries = file.database.entries(id, None, 100).await.unwrap().entries;
    entries.into_iter().map(|entry| entry.kind).collect()
}

#[tokio::test]
async fn a_session_begins_ends_and_goes_on() {
    let file = TestFile::new().await;
    let before = now();
    let begun = file.database.begin_session(begin("s-1")).await.unwrap();
    assert_eq!(
        (begun.id.as_str(), begun.agent.as_str()),
        ("s-1", "support")
    );
    assert_eq!(
        (begun.turns, begun.entries, begun.status),
        (0, 1, SessionStatus::Running)
    );
    assert!((before..=now()).contains(&begun.started_at));
    assert_eq!(
        file.database.session("s-1").await.unwrap(),
        Some(begun.clone())
    );
    assert_eq!(file.database.session("s-2").await.unwrap(), None);

    file.database
        .append("s-1", Kind::TurnStarted, json!({ "message": "hello" }))
        .await
        .unwrap();
    assert!(
        file.database
            .end_session("s-1", json!({ "reason": "done" }))
            .await
            .unwrap()
    );
    assert!(!file.database.end_session("s-1", json!({})).await.unwrap());
    let ended = file.database.session("s-1").await.unwrap().unwrap();
    assert_eq!(
        (ended.turns, ended.entries, ended.status),
        (1, 3, SessionStatus::Ended)
    );
    assert!(ended.ended_at.is_some());

    let resumed = file.database.resume_session(resume("s-1")).await.unwrap();
    assert_eq!(
        (resumed.status, resumed.ended_at),
        (SessionStatus::Running, None)
    );
    assert_eq!((resumed.turns, resumed.entries), (1, 4));
    assert_eq!(resumed.agent_hash.as_deref(), Some("hash-2"));
    assert_eq!(resumed.started_at, begun.started_at);
    use Kind::{SessionEnded, SessionResumed, SessionStarted, TurnStarted};
    assert_eq!(
        kinds(&file, "s-1").await,
        [SessionStarted, TurnStarted, SessionEnded, SessionResumed]
    );
    // One whose process was killed was never ended.
    file.database.resume_session(resume("s-1")).await.unwrap();
    file.assert_intact().await;
}

#[tokio::test]
async fn a_session_that_has_ended_writes_nothing_more() {
    let file = TestFile::new().await;
    let memory = file.memory("jordan").await;
    memory.set("plan", json!("Pro")).await.unwrap();
    file.database
        .end_session(memory.session_id(), json!({}))
        .await
        .unwrap();
    let entries = file.database.check().await.unwrap().counts.entries;
    let words = "has ended";
    assert_invalid(memory.set("plan", json!("Free")).await, words);
    assert_invalid(memory.delete("plan").await, words);
    assert_invalid(memory.compare_and_set("plan", None, None).await, words);
    assert_invalid(memory.update_profile(json!({ "a": 1 }), None).await, words);
    assert_invalid(memory.clear_profile().await, words);
    assert_invalid(
        memory.remember_many(vec![NewFact::new("x")], None).await,
        words,
    );
    assert_invalid(memory.forget(Vec::new()).await, words);
    assert_invalid(memory.expire("x", 1).await, words);
    assert_invalid(
        memory.recall("x", None, RecallOptions::default()).await,
        words,
    );
    assert_invalid(memory.snippet(SnippetOptions::default(), None).await, words);
    let append = file
        .database
        .append(memory.session_id(), Kind::Denied, json!({}))
        .await;
    assert_invalid(append, words);
    assert_eq!(file.database.check().await.unwrap().counts.entries, entries);
    // Reading leaves no trace, and goes on.
    assert_eq!(memory.get("plan").await.unwrap(), Some(json!("Pro")));
    file.assert_intact().await;
}

#[tokio::test]
async fn ids_are_used_once_and_fit_a_file_name() {
    let file = TestFile::new().await;
    file.database.begin_session(begin("s-1")).await.unwrap();
    assert_invalid(file.database.begin_session(begin("s-1")).await, "already");
    file.database.begin_session(begin("S-1")).await.unwrap();
    let longest = "x".repeat(64);
    file.database.begin_session(begin(&longest)).await.unwrap();
    for id in ["", &(longest + "x"), "a b", "a/b", "é", "a\n", "\u{1b}[2J"] {
        let error = file.database.begin_session(begin(id)).await.unwrap_err();
        assert!(!error.to_string().contains('\u{1b}'));
        assert_invalid::<()>(Err(error), "no session id");
    }
    let first = file
        .database
        .begin_session(BeginSession::new(resource("jordan"), "a"))
        .await
        .unwrap();
    let second = file
        .database
        .begin_session(BeginSession::new(resource("jordan"), "a"))
        .await
        .unwrap();
    assert!(first.id < second.id, "new ids ascend");
    file.assert_intact().await;
}

#[tokio::test]
async fn a_session_goes_on_only_for_its_own_resource_and_agent() {
    let file = TestFile::new().await;
    file.database.begin_session(begin("s-1")).await.unwrap();
    let before = file.database.session("s-1").await.unwrap();
    let other_resource = ResumeSession {
        resource: resource("taylor"),
        ..resume("s-1")
    };
    assert_invalid(
        file.database.resume_session(other_resource).await,
        "belongs to `jordan`",
    );
    let team = resource("jordan").with_team("acme").unwrap();
    let other_team = ResumeSession {
        resource: team,
        ..resume("s-1")
    };
    assert_invalid(
        file.database.resume_session(other_team).await,
        "of team acme`",
    );
    let other_agent = ResumeSession {
        agent: "sales".to_owned(),
        ..resume("s-1")
    };
    assert_invalid(
        file.database.resume_session(other_agent).await,
        "agent `sales`",
    );
    assert_not_found(file.database.resume_session(resume("s-2")).await);
    assert_not_found(file.database.end_session("s-2", json!({})).await);
    assert_not_found(file.database.append("s-2", Kind::Denied, json!({})).await);
    assert_invalid(
        file.database.end_session("s-1", json!([])).await,
        "JSON object",
    );
    assert_eq!(file.database.session("s-1").await.unwrap(), before);
}

#[tokio::test]
async fn sessions_are_listed_newest_first_by_pages() {
    let file = TestFile::new().await;
    for number in 0..7 {
        let name = if number % 2 == 0 { "jordan" } else { "taylor" };
        file.session_with_commands(&format!("s-{number}"), name, 0)
            .await;
    }
    let list = async |name: Option<&str>, limit: usize| {
        let (mut found, mut after) = (Vec::new(), None);
        let whose = name.map(resource);
        loop {
            let page = file
                .database
                .list_sessions(whose.as_ref(), after.as_deref(), limit)
                .await
                .unwrap();
            found.extend(page.sessions.into_iter().map(|session| session.id));
            after = page.next;
            if after.is_none() {
                return found;
            }
        }
    };
    for limit in [1, 3, 7, 8] {
        assert_eq!(
            list(None, limit).await,
            ["s-6", "s-5", "s-4", "s-3", "s-2", "s-1", "s-0"]
        );
        assert_eq!(list(Some("taylor"), limit).await, ["s-5", "s-3", "s-1"]);
        assert!(list(Some("nobody"), limit).await.is_empty());
    }
    assert_invalid(
        file.database.list_sessions(None, Some("x"), 5).await,
        "`next`",
    );
    assert_limit(
        file.database.list_sessions(None, None, 1_001).await,
        "page-items",
    );
}

#[tokio::test]
async fn a_session_lists_the_sandboxes_that_it_used() {
    let file = TestFile::new().await;
    file.database.begin_session(begin("s-1")).await.unwrap();
    for (kind, sandbox) in [
        (Kind::SandboxOpened, "box-b"),
        (Kind::SandboxForked, "box-a"),
        (Kind::SandboxClosed, "box-b"),
        (Kind::SandboxOpened, "box-b"),
    ] {
        file.database
            .append("s-1", kind, json!({ "sandbox": sandbox }))
            .await
            .unwrap();
    }
    let refused = file
        .database
        .append("s-1", Kind::SandboxOpened, json!({ "id": "x" }))
        .await;
    assert_invalid(refused, "`sandbox`");
    let session = file.database.session("s-1").await.unwrap().unwrap();
    assert_eq!(session.sandboxes, ["box-b", "box-a"]);
    assert_eq!(session.entries, 5);
    file.assert_intact().await;
}

#[tokio::test]
async fn what_an_operator_writes_stands_in_a_session_of_its_own() {
    let file = TestFile::new().await;
    let memory = file
        .database
        .operator_session(&resource("jordan"))
        .await
        .unwrap();
    memory.set("plan", json!("Pro")).await.unwrap();
    file.database
        .end_session(memory.session_id(), json!({}))
        .await
        .unwrap();
    let session = file
        .database
        .session(memory.session_id())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(session.agent, OPERATOR_AGENT);
    assert_eq!(session.status, SessionStatus::Ended);
    assert_eq!(
        file.memory("jordan").await.get("plan").await.unwrap(),
        Some(json!("Pro"))
    );
}

#[tokio::test]
async fn a_write_that_ends_its_session_does_both_or_neither() {
    let file = TestFile::new().await;
    let jordan = resource("jordan");
    let status = async |id: &str| file.database.session(id).await.unwrap().unwrap().status;

    let memory = file.database.operator_session(&jordan).await.unwrap();
    memory.ending().set("plan", json!("Pro")).await.unwrap();
    assert_eq!(status(memory.session_id()).await, SessionStatus::Ended);

    let memory = file.database.operator_session(&jordan).await.unwrap();
    file.tamper(
        "CREATE TRIGGER full BEFORE UPDATE OF ended_at ON sessions
         BEGIN SELECT RAISE(ABORT, 'no room'); END",
    );
    assert!(memory.ending().set("plan", json!("Free")).await.is_err());
    file.tamper("DROP TRIGGER full");
    assert_eq!(memory.get("plan").await.unwrap(), Some(json!("Pro")));
    assert_eq!(status(memory.session_id()).await, SessionStatus::Running);
    file.assert_intact().await;
}

#[tokio::test]
async fn a_session_that_another_program_works_on_is_refused() {
    let file = TestFile::new().await;
    file.database.begin_session(begin("s-1")).await.unwrap();
    let other = Database::open(file.path()).await.unwrap();
    let refused = other.resume_session(resume("s-1")).await.unwrap_err();
    assert!(
        matches!(refused, StorageError::SessionInUse { .. }),
        "{refused:?}"
    );
    assert!(refused.to_string().contains("another program"), "{refused}");
    // Nor is it ended as one that was left.
    assert!(other.end_abandoned_sessions().await.unwrap().is_empty());
    let running = other.session("s-1").await.unwrap().unwrap();
    assert_eq!(
        (running.status, running.entries),
        (SessionStatus::Running, 1)
    );

    file.database.end_session("s-1", json!({})).await.unwrap();
    other.resume_session(resume("s-1")).await.unwrap();
    let refused = file.database.resume_session(resume("s-1")).await;
    assert!(matches!(refused, Err(StorageError::SessionInUse { .. })));
    // A second beginning fails and takes nothing from the one who has it.
    other.begin_session(begin("s-1")).await.unwrap_err();
    let refused = file.database.resume_session(resume("s-1")).await;
    assert!(matches!(refused, Err(StorageError::SessionInUse { .. })));
}

#[tokio::test]
async fn a_session_that_a_program_left_is_ended_with_the_turn_that_it_was_in() {
    let file = TestFile::new().await;
    let left = Database::open(file.path()).await.unwrap();
    for id in ["in-a-turn", "between-turns"] {
        left.begin_session(begin(id)).await.unwrap();
        let started = json!({ "turn": 0, "message": "hello" });
        left.append(id, Kind::TurnStarted, started).await.unwrap();
    }
    let completed = json!({ "turn": 0, "reply": "hi" });
    left.append("between-turns", Kind::TurnCompleted, completed)
        .await
        .unwrap();
    // The system lets go of a program's locks when it is killed.
    drop(left);
    file.database.begin_session(begin("own")).await.unwrap();
    let ended = file.database.end_abandoned_sessions().await.unwrap();
    assert_eq!(ended, ["in-a-turn", "between-turns"]);
    assert_eq!(
        kinds(&file, "in-a-turn").await[2..],
        [Kind::TurnFailed, Kind::SessionEnded]
    );
    assert_eq!(
        kinds(&file, "between-turns").await[2..],
        [Kind::TurnCompleted, Kind::SessionEnded]
    );
    let entries = file.database.entries("in-a-turn", None, 100).await.unwrap();
    let failed = entries.entries[2].payload.as_ref().unwrap();
    assert_eq!(
        (&failed["turn"], &failed["code"]),
        (&json!(0), &json!("host-ended"))
    );
    // Once, and not the one that goes on here.
    assert!(
        file.database
            .end_abandoned_sessions()
            .await
            .unwrap()
            .is_empty()
    );
    let own = file.database.session("own").await.unwrap().unwrap();
    assert_eq!(own.status, SessionStatus::Running);
    file.assert_intact().await;
}

#[tokio::test]
async fn resuming_a_session_in_mid_turn_records_that_the_turn_failed() {
    let file = TestFile::new().await;
    let left = Database::open(file.path()).await.unwrap();
    left.begin_session(begin("s-1")).await.unwrap();
    left.append("s-1", Kind::TurnStarted, json!({ "turn": 0 }))
        .await
        .unwrap();
    drop(left);
    let resumed = file.database.resume_session(resume("s-1")).await.unwrap();
    assert_eq!(resumed.turns, 1);
    assert_eq!(
        kinds(&file, "s-1").await[2..],
        [Kind::TurnFailed, Kind::SessionResumed]
    );
}
