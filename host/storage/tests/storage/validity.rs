//! Since when and until when facts hold.

use keepsake_storage::{Kind, NewFact, Outcome};
use keepsake_types::now;
use serde_json::json;

use crate::common::{TestFile, assert_invalid, assert_limit, contents, remember, remember_text};
use crate::facts::{about, known, texts};

#[tokio::test]
async fn a_new_value_for_the_same_property_ends_the_old_one() {
    let file = TestFile::new().await;
    let memory = file.memory("jordan").await;
    let free = remember(&memory, about("jordan", "plan", "Jordan is on Free"))
        .await
        .fact;
    let colour = remember(&memory, about("jordan", "colour", "Jordan likes red"))
        .await
        .fact;
    let other = remember(&memory, about("taylor", "plan", "Taylor is on Free"))
        .await
        .fact;
    let pro = remember(&memory, about("jordan", "plan", "Jordan is on Pro")).await;
    assert_eq!(pro.outcome, Outcome::Superseded);
    let free = known(&memory, &free).await;
    assert_eq!(free.superseded_by.as_deref(), Some(pro.fact.id.as_str()));
    assert_eq!(free.valid_until, Some(pro.fact.valid_from));
    for kept in [&colour, &other] {
        assert_eq!(known(&memory, kept).await.superseded_by, None);
    }
    assert_eq!(
        texts(&memory).await,
        ["Jordan is on Pro", "Taylor is on Free", "Jordan likes red"]
    );
    // What was true once can become true again, as a new fact.
    let back = remember(&memory, about("jordan", "plan", "Jordan is on Free")).await;
    assert_eq!(back.outcome, Outcome::Superseded);
    assert_ne!(back.fact.id, free.id);
    let entries = file
        .database
        .entries(memory.session_id(), None, 100)
        .await
        .unwrap()
        .entries;
    let last = entries.last().unwrap();
    assert_eq!(last.kind, Kind::FactSuperseded);
    assert_eq!(
        last.payload.as_ref().unwrap()["superseded"],
        json!([pro.fact.id])
    );
}

#[tokio::test]
async fn facts_within_one_call_repeat_and_supersede_each_other_in_their_order() {
    let file = TestFile::new().await;
    let memory = file.memory("jordan").await;
    let answers = memory
        .remember_many(
            vec![
                about("jordan", "plan", "Free"),
                NewFact::new("tea"),
                about("jordan", "plan", "Pro"),
                NewFact::new("tea"),
            ],
            None,
        )
        .await
        .unwrap();
    let outcomes: Vec<Outcome> = answers.iter().map(|answer| answer.outcome).collect();
    use Outcome::{Repeated, Stored, Superseded};
    assert_eq!(outcomes, [Stored, Stored, Superseded, Repeated]);
    // Each as it stands at the end of the call.
    assert_eq!(
        answers[0].fact.superseded_by.as_ref(),
        Some(&answers[2].fact.id)
    );
    assert_eq!(answers[1].fact, answers[3].fact);
    assert_eq!(texts(&memory).await, ["Pro", "tea"]);
}

#[tokio::test]
async fn named_facts_are_superseded_and_unknown_ones_refused() {
    let file = TestFile::new().await;
    let memory = file.memory("jordan").await;
    let old = remember_text(&memory, "old").await.fact;
    let foreign = remember_text(&file.memory("taylor").await, "foreign")
        .await
        .fact;
    let replacing = |ids: &[&str]| NewFact {
        supersedes: ids.iter().map(|id| (*id).to_owned()).collect(),
        ..NewFact::new("new")
    };
    let before = contents(&memory).await;
    for id in [
        foreign.id.as_str(),
        "018f0000-0000-7000-8000-000000000000",
        "",
        "no id",
    ] {
        let answer = memory
            .remember_many(vec![replacing(&[&old.id, id])], None)
            .await;
        assert_invalid(answer, "no fact of this memory");
    }
    assert_eq!(contents(&memory).await, before);
    let new = remember(&memory, replacing(&[&old.id, &old.id])).await;
    assert_eq!(new.outcome, Outcome::Superseded);
    assert_eq!(known(&memory, &old).await.superseded_by, Some(new.fact.id));
    let too_many = NewFact {
        supersedes: vec![old.id; 1_001],
        ..NewFact::new("more")
    };
    assert_limit(
        memory.remember_many(vec![too_many], None).await,
        "fact-supersedes",
    );
}

#[tokio::test]
async fn a_fact_ceases_to_hold_when_it_expires() {
    let file = TestFile::new().await;
    let memory = file.memory("jordan").await;
    let fact = remember_text(&memory, "Jordan is on holiday").await.fact;
    assert!(memory.expire(&fact.id, now() + 60_000).await.unwrap());
    assert_eq!(texts(&memory).await.len(), 1);
    assert!(memory.expire(&fact.id, now()).await.unwrap());
    assert!(texts(&memory).await.is_empty());
    assert!(known(&memory, &fact).await.valid_until.is_some());
    assert_eq!(
        remember_text(&memory, "Jordan is on holiday").await.outcome,
        Outcome::Stored
    );

    assert!(
        !memory
            .expire("018f0000-0000-7000-8000-000000000000", 5)
            .await
            .unwrap()
    );
    assert!(!memory.expire("no id", 5).await.unwrap());
    assert_invalid(
        memory.expire(&fact.id, u64::MAX).await,
        "past what can be stored",
    );
    let foreign = file.memory("taylor").await;
    assert!(!foreign.expire(&fact.id, 5).await.unwrap());
}

#[tokio::test]
async fn a_superseded_fact_does_not_come_back_by_expiring_later() {
    let file = TestFile::new().await;
    let memory = file.memory("jordan").await;
    let free = remember(&memory, about("jordan", "plan", "Free"))
        .await
        .fact;
    remember(&memory, about("jordan", "plan", "Pro")).await;
    let ended = known(&memory, &free).await.valid_until;
    assert!(memory.expire(&free.id, now() + 60_000).await.unwrap());
    assert_eq!(known(&memory, &free).await.valid_until, ended);
    assert_eq!(texts(&memory).await, ["Pro"]);
}

#[tokio::test]
async fn a_fact_that_holds_later_is_not_listed_yet() {
    let file = TestFile::new().await;
    let memory = file.memory("jordan").await;
    let later = NewFact {
        valid_from: Some(now() + 60_000),
        ..NewFact::new("next year")
    };
    let later = remember(&memory, later).await.fact;
    assert!(texts(&memory).await.is_empty());
    assert_eq!(known(&memory, &later).await, later);
}

#[tokio::test]
async fn an_older_value_that_arrives_later_does_not_become_current() {
    let file = TestFile::new().await;
    let memory = file.memory("jordan").await;
    let since = |text: &str, at| NewFact {
        valid_from: Some(at),
        ..about("jordan", "plan", text)
    };
    let pro = remember(&memory, since("Pro", 100)).await.fact;
    let free = remember(&memory, since("Free", 50)).await;
    assert_eq!(free.outcome, Outcome::Stored);
    assert_eq!(free.fact.valid_until, Some(100));
    assert_eq!(free.fact.superseded_by.as_ref(), Some(&pro.id));
    // Between the two: it takes the end of the older one's time.
    let team = remember(&memory, since("Team", 70)).await;
    assert_eq!(team.outcome, Outcome::Superseded);
    let free = known(&memory, &free.fact).await;
    assert_eq!(
        (free.valid_until, free.superseded_by),
        (Some(70), Some(team.fact.id.clone()))
    );
    assert_eq!(team.fact.valid_until, Some(100));
    assert_eq!(texts(&memory).await, ["Pro"]);
    // Pro before Free is another time of it than Pro now.
    let earlier = remember(&memory, since("Pro", 20)).await;
    assert_eq!(earlier.outcome, Outcome::Stored);
    assert_eq!(earlier.fact.valid_until, Some(50));
    // Since a little earlier, with no other value between, it is the same.
    let longer = remember(&memory, since("Pro", 90)).await;
    assert_eq!(
        (longer.outcome, &longer.fact.id, longer.fact.valid_from),
        (Outcome::Repeated, &pro.id, 90)
    );
    assert_eq!(known(&memory, &team.fact).await.valid_until, Some(90));
    assert_eq!(texts(&memory).await, ["Pro"]);
}

#[tokio::test]
async fn a_planned_value_stays_planned_when_the_present_one_changes() {
    let file = TestFile::new().await;
    let memory = file.memory("jordan").await;
    remember(&memory, about("jordan", "plan", "Free")).await;
    let from = now() + 60_000;
    let planned = NewFact {
        valid_from: Some(from),
        ..about("jordan", "plan", "Pro")
    };
    let planned = remember(&memory, planned).await.fact;
    assert_eq!(texts(&memory).await, ["Free"]);
    // The same again does not undo the plan.
    let free = remember(&memory, about("jordan", "plan", "Free")).await;
    assert_eq!(free.outcome, Outcome::Repeated);
    assert_eq!(free.fact.valid_until, Some(from));
    let team = remember(&memory, about("jordan", "plan", "Team")).await;
    assert_eq!(team.outcome, Outcome::Superseded);
    assert_eq!(team.fact.valid_until, Some(from));
    assert_eq!(texts(&memory).await, ["Team"]);
    assert_eq!(known(&memory, &planned).await.valid_until, None);
}

#[tokio::test]
async fn what_is_learned_last_wins_over_a_clock_that_is_ahead() {
    let file = TestFile::new().await;
    let memory = file.memory("jordan").await;
    let pro = remember(&memory, about("jordan", "plan", "Pro")).await.fact;
    // As another host wrote it whose clock is a minute ahead.
    let ahead = now() + 60_000;
    file.tamper(&format!(
        "UPDATE facts SET created_at = {ahead}, valid_from = {ahead}"
    ));
    let free = remember(&memory, about("jordan", "plan", "Free"))
        .await
        .fact;
    assert_eq!((free.valid_from, free.valid_until), (ahead, None));
    assert_eq!(known(&memory, &pro).await.superseded_by, Some(free.id));
}

#[tokio::test]
async fn a_text_that_held_at_another_time_is_another_fact() {
    let file = TestFile::new().await;
    let memory = file.memory("jordan").await;
    let away = |from, until| NewFact {
        valid_from: Some(from),
        expires_at: Some(until),
        ..NewFact::new("Jordan is on holiday")
    };
    let soon = now() + 60_000;
    let first = remember(&memory, away(soon, soon + 10)).await.fact;
    let apart = remember(&memory, away(soon + 20, soon + 30)).await;
    assert_eq!(apart.outcome, Outcome::Stored);
    let touching = remember(&memory, away(soon + 5, soon + 15)).await;
    assert_eq!(
        (touching.outcome, touching.fact.id),
        (Outcome::Repeated, first.id.clone())
    );
    assert_eq!(known(&memory, &first).await.valid_until, Some(soon + 15));
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_that_give_a_property_at_once_leave_one_value_current() {
    let file = TestFile::new().await;
    let mut writers = Vec::new();
    for number in 0..8 {
        let memory = file.memory("jordan").await;
        writers.push(tokio::spawn(async move {
            for round in 0..20 {
                let plan = format!("Jordan is on plan {number}-{round}");
                remember(&memory, about("jordan", "plan", &plan)).await;
            }
        }));
    }
    for writer in writers {
        writer.await.unwrap();
    }
    let memory = file.memory("jordan").await;
    assert_eq!(texts(&memory).await.len(), 1);
    let overlapping: i64 = file
        .other_program()
        .query_row(
            "SELECT count(*) FROM facts a JOIN facts b ON a.number <> b.number
             WHERE a.valid_from <= b.valid_from AND b.valid_until > b.valid_from
                AND (a.valid_until IS NULL OR a.valid_until > b.valid_from)",
            [],
            |row| row.get(0),
        )
        .unwrap();
    assert_eq!(overlapping, 0);
    file.assert_intact().await;
}
