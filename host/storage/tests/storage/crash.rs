//! A host that is killed in the middle of writing.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use keepsake_storage::{BeginSession, Database, FactVectors, NewFact};
use serde_json::json;

use crate::common::{child, child_file, resource};

/// How often the host is killed; `make torture` does it more often.
fn rounds() -> usize {
    std::env::var("KEEPSAKE_ROUNDS").map_or(6, |rounds| rounds.parse().unwrap())
}

#[tokio::test]
#[ignore = "a child process of `a_host_that_is_killed_loses_nothing_that_was_acknowledged`"]
async fn child_writes_until_it_is_killed() {
    let Some(path) = child_file() else { return };
    let database = Database::open(path).await.unwrap();
    // Each round has a customer, so that none has more keys than one may have.
    let round = database.check().await.unwrap().counts.sessions;
    let customer = resource(&format!("jordan-{round}"));
    let begin = BeginSession::new(customer.clone(), "support");
    let session = database.begin_session(begin).await.unwrap();
    let memory = database.memory(&customer, &session.id).await.unwrap();
    let output = Arc::new(std::sync::Mutex::new(std::io::stdout()));
    // Several at once, so that commits are shared. Each call writes three facts.
    let writers = (0..8).map(|writer| {
        let (memory, output, session) = (memory.clone(), output.clone(), session.id.clone());
        tokio::spawn(async move {
            for number in 0.. {
                let name = format!("{session}-{writer}-{number}");
                let facts = (0..3)
                    .map(|part| NewFact::new(format!("fact {name} {part} {}", "x".repeat(2_000))));
                let vectors = FactVectors {
                    model: "m".to_owned(),
                    dimensions: 2,
                    vectors: vec![vec![1.0, number as f32]; 3],
                };
                let facts = facts.collect();
                memory.remember_many(facts, Some(vectors)).await.unwrap();
                memory.set(&name, json!(number)).await.unwrap();
                writeln!(output.lock().unwrap(), "\nacknowledged {name}").unwrap();
            }
        })
    });
    for writer in writers.collect::<Vec<_>>() {
        writer.await.unwrap();
    }
}

#[tokio::test]
async fn a_host_that_is_killed_loses_nothing_that_was_acknowledged() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("keepsake.db");
    let mut acknowledged = Vec::new();
    for round in 0..rounds() {
        let mut host = child("crash::child_writes_until_it_is_killed", &path)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(host.stdout.take().unwrap()).lines();
        let begun = Instant::now();
        let mut in_this_round = 0;
        while in_this_round < 5 + round % 7 * 17 {
            let line = lines.next().expect("the host ended by itself").unwrap();
            assert!(begun.elapsed() < Duration::from_secs(60), "the host hangs");
            if let Some(name) = line.strip_prefix("acknowledged ") {
                acknowledged.push((round, name.to_owned()));
                in_this_round += 1;
            }
        }
        host.kill().unwrap();
        host.wait().unwrap();
        // What it managed to say before it died counts as well.
        let rest = lines.map_while(Result::ok);
        acknowledged.extend(rest.filter_map(|line| {
            let name = line.strip_prefix("acknowledged ")?;
            Some((round, name.to_owned()))
        }));

        let database = Database::open(&path).await.unwrap();
        let report = database.verify(None).await.unwrap();
        assert!(report.intact, "{:?}", report.faults);
        let check = database.check().await.unwrap();
        assert!(check.sound, "{:?}", check.damage);
        // Calls are whole, and each stands in the ledger.
        assert_eq!(check.counts.facts % 3, 0);
        let vectors: u64 = check.counts.models.iter().map(|model| model.vectors).sum();
        assert_eq!(vectors, check.counts.facts);
        let kept = check.counts.facts + check.counts.working_keys + check.counts.sessions;
        assert_eq!(check.counts.entries, kept);
        for (round, name) in &acknowledged {
            let view = database
                .view(&resource(&format!("jordan-{round}")))
                .unwrap();
            assert!(
                view.get(name).await.unwrap().is_some(),
                "{name} was acknowledged and is lost"
            );
        }
    }
    assert!(acknowledged.len() >= rounds() * 5);
}
