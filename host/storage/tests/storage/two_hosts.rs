//! Several hosts on one file, within this process and beside it.

use std::process::Stdio;

use keepsake_storage::{BeginSession, Database, Memory, NewFact};
use serde_json::{Value, json};

use crate::common::{TestFile, child, child_file, resource};

async fn memory_in(database: &Database) -> Memory {
    let begin = BeginSession::new(resource("jordan"), "support");
    let session = database.begin_session(begin).await.unwrap();
    database
        .memory(&resource("jordan"), &session.id)
        .await
        .unwrap()
}

/// Adds 1 to a shared number so many times, and remembers a fact each time.
async fn count_up(memory: &Memory, who: &str, times: usize) {
    for number in 0..times {
        loop {
            let before = memory.get("count").await.unwrap();
            let after = before.as_ref().and_then(Value::as_u64).unwrap_or(0) + 1;
            if memory
                .compare_and_set("count", before, Some(json!(after)))
                .await
                .unwrap()
            {
                break;
            }
        }
        let fact = NewFact::new(format!("{who} counted {number}"));
        memory.remember_many(vec![fact], None).await.unwrap();
    }
}

async fn assert_counted(file: &TestFile, times: usize) {
    let memory = file.memory("jordan").await;
    assert_eq!(memory.get("count").await.unwrap(), Some(json!(times)));
    let check = file.database.check().await.unwrap();
    assert!(check.sound, "{:?}", check.damage);
    assert_eq!(check.counts.facts, times as u64);
    file.assert_intact().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_hosts_that_write_at_once_lose_nothing() {
    let file = TestFile::new().await;
    let second = Database::open(file.path()).await.unwrap();
    let writers: Vec<_> = [&file.database, &second, &file.database, &second]
        .into_iter()
        .enumerate()
        .map(|(number, database)| {
            let database = database.clone();
            tokio::spawn(async move {
                let memory = memory_in(&database).await;
                count_up(&memory, &format!("writer {number}"), 25).await;
            })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap();
    }
    assert_counted(&file, 100).await;
}

#[tokio::test]
async fn one_session_written_by_two_hosts_is_one_chain() {
    let file = TestFile::new().await;
    let second = Database::open(file.path()).await.unwrap();
    let memory = file.memory("jordan").await;
    let id = memory.session_id();
    for number in 0..20 {
        let database = if number % 2 == 0 {
            &file.database
        } else {
            &second
        };
        let kind = keepsake_storage::Kind::ExecCompleted;
        let entry = database
            .append(id, kind, json!({ "stdout": number }))
            .await
            .unwrap();
        assert_eq!(entry.index, number + 1);
    }
    file.assert_intact().await;
}

#[tokio::test]
async fn what_one_host_wrote_the_other_reads_at_once() {
    let file = TestFile::new().await;
    let second = Database::open(file.path()).await.unwrap();
    let view = second.view(&resource("jordan")).unwrap();
    let memory = file.memory("jordan").await;
    for number in 0..50 {
        memory.set("plan", json!(number)).await.unwrap();
        assert_eq!(view.get("plan").await.unwrap(), Some(json!(number)));
    }
}

#[tokio::test]
#[ignore = "a child process of `a_second_process_that_writes_at_once_loses_nothing`"]
async fn child_counts_up() {
    let Some(path) = child_file() else { return };
    let database = Database::open(path).await.unwrap();
    count_up(&memory_in(&database).await, "the child", 40).await;
}

#[tokio::test]
async fn a_second_process_that_writes_at_once_loses_nothing() {
    let file = TestFile::new().await;
    let mut children: Vec<_> = (0..2)
        .map(|_| {
            child("two_hosts::child_counts_up", &file.path())
                .stdout(Stdio::null())
                .spawn()
                .unwrap()
        })
        .collect();
    let memory = memory_in(&file.database).await;
    count_up(&memory, "the parent", 40).await;
    for child in &mut children {
        assert!(child.wait().unwrap().success());
    }
    // Both children say the same, so that their facts are repeated.
    assert_eq!(memory.get("count").await.unwrap(), Some(json!(120)));
    let check = file.database.check().await.unwrap();
    assert!(check.sound);
    assert_eq!((check.counts.facts, check.counts.sessions), (80, 3));
    file.assert_intact().await;
}

#[tokio::test]
async fn a_call_that_nobody_waits_for_any_more_leaves_a_whole_file() {
    let file = TestFile::new().await;
    let memory = file.memory("jordan").await;
    for number in 0..50 {
        let memory = memory.clone();
        let call =
            tokio::spawn(async move { memory.set(&format!("key {number}"), json!(1)).await });
        if number % 2 == 0 {
            tokio::task::yield_now().await;
        }
        call.abort();
        let _ = call.await;
    }
    memory.set("last", json!(1)).await.unwrap();
    let counts = file.database.check().await.unwrap().counts;
    assert_eq!(counts.entries, counts.working_keys + 1);
    file.assert_intact().await;
}
