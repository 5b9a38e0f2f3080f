//! The memory of one resource is not that of another.

use keepsake_storage::{BeginSession, Database, EpisodeOptions, Memory, NewFact, RecallOptions};
use keepsake_types::ResourceRef;
use serde_json::json;

use crate::common::{
    TestFile, assert_invalid, assert_limit, assert_not_found, contents, remember, remember_text,
    resource,
};

async fn memory_of(database: &Database, resource: &ResourceRef) -> Memory {
    let begin = BeginSession::new(resource.clone(), "support");
    let session = database.begin_session(begin).await.unwrap();
    database.memory(resource, &session.id).await.unwrap()
}

#[tokio::test]
async fn nothing_that_one_resource_wrote_is_seen_or_changed_by_another() {
    let file = TestFile::new().await;
    let jordan = file.memory("jordan").await;
    jordan.set("plan", json!("Pro")).await.unwrap();
    jordan
        .update_profile(json!({ "name": "Jordan" }), None)
        .await
        .unwrap();
    let fact = remember_text(&jordan, "Jordan likes tea").await.fact;
    let before = contents(&jordan).await;

    // Names that a joined key, a pattern or a fold of case could mix up.
    for name in [
        "taylor",
        "jorda",
        "jordan2",
        "Jordan",
        "jordan ",
        "%",
        "jordan'--",
        "1",
    ] {
        let other = file.memory(name).await;
        assert_eq!(
            contents(&other).await,
            json!({ "working": [], "profile": {}, "facts": [] })
        );
        assert_eq!(other.get("plan").await.unwrap(), None);
        assert_eq!(other.find(&fact.id).await.unwrap(), None);
        assert!(!other.delete("plan").await.unwrap());
        assert!(!other.expire(&fact.id, 1).await.unwrap());
        assert_eq!(other.forget(vec![fact.id.clone()]).await.unwrap(), 0);
        other.clear_profile().await.unwrap();
        let found = other
            .recall("tea", None, RecallOptions::default())
            .await
            .unwrap();
        assert!(found.facts.is_empty());
        assert_eq!(other.snippet(Default::default(), None).await.unwrap(), "");
        let episodes = other
            .episodes(EpisodeOptions::default())
            .await
            .unwrap()
            .episodes;
        assert!(
            episodes
                .iter()
                .all(|episode| episode.session == other.session_id())
        );
        let sessions = EpisodeOptions {
            session: Some(jordan.session_id().to_owned()),
            ..EpisodeOptions::default()
        };
        assert!(other.episodes(sessions).await.unwrap().episodes.is_empty());
        other.set("plan", json!("Free")).await.unwrap();
        remember_text(&other, "Jordan likes tea").await;
    }
    assert_eq!(contents(&jordan).await, before);
}

#[tokio::test]
async fn what_others_remember_moves_no_score() {
    let file = TestFile::new().await;
    let jordan = file.memory("jordan").await;
    for text in [
        "Jordan likes tea",
        "Jordan likes coffee",
        "the invoice is paid",
    ] {
        remember_text(&jordan, text).await;
    }
    let recall = || jordan.recall("tea for Jordan", None, RecallOptions::default());
    let before = recall().await.unwrap().facts;
    let taylor = file.memory("taylor").await;
    let facts = (0..200).map(|number| NewFact::new(format!("tea number {number} for Jordan")));
    taylor.remember_many(facts.collect(), None).await.unwrap();
    assert_eq!(recall().await.unwrap().facts, before);
}

#[tokio::test]
async fn a_team_and_its_resources_are_scopes_of_their_own() {
    let file = TestFile::new().await;
    let alone = resource("jordan");
    let acme = alone.clone().with_team("acme").unwrap();
    let other = alone.clone().with_team("other").unwrap();
    // A name and a team that would be the same if they were joined.
    let joined = resource("jordanacme");
    for (number, whose) in [&alone, &acme, &other, &joined].into_iter().enumerate() {
        memory_of(&file.database, whose)
            .await
            .set("number", json!(number))
            .await
            .unwrap();
    }
    for (number, whose) in [&alone, &acme, &other, &joined].into_iter().enumerate() {
        let view = file.database.view(whose).unwrap();
        assert_eq!(view.get("number").await.unwrap(), Some(json!(number)));
    }
}

#[tokio::test]
async fn a_session_reaches_its_own_resource_and_what_belongs_to_its_team() {
    let file = TestFile::new().await;
    let acme = |name: &str| resource(name).with_team("acme").unwrap();
    let begin = BeginSession::new(acme("jordan"), "support");
    let session = file.database.begin_session(begin).await.unwrap();
    let reach = async |whose: ResourceRef| file.database.memory(&whose, &session.id).await;

    let shared = reach(acme("everyone")).await.unwrap();
    reach(acme("jordan")).await.unwrap();
    for foreign in [
        resource("jordan"),
        resource("taylor"),
        acme("x").with_team("other").unwrap(),
    ] {
        assert_invalid(reach(foreign).await, "another resource");
    }
    let without_team = file.memory("jordan").await;
    let from_there = file
        .database
        .memory(&acme("jordan"), without_team.session_id())
        .await;
    assert_invalid(from_there, "another resource");
    assert_not_found(
        file.database
            .memory(&acme("jordan"), "no-such-session")
            .await,
    );

    // What the session did is a source for its team's memory, and for others of the team.
    let entry = file.command(&session.id, "the office is in Oslo").await;
    let fact = NewFact {
        source: Some(entry),
        ..NewFact::new("the office is in Oslo")
    };
    let fact = remember(&shared, fact).await.fact;
    let entries = file
        .database
        .entries(&session.id, None, 10)
        .await
        .unwrap()
        .entries;
    assert_eq!(
        entries.last().unwrap().payload.as_ref().unwrap()["scope"],
        json!({ "resource": "everyone", "team": "acme" })
    );
    let view = file.database.view(&acme("everyone")).unwrap();
    assert_eq!(view.find(&fact.id).await.unwrap(), Some(fact.clone()));
    assert_eq!(fact.verification, keepsake_storage::Verification::Verified);

    // Forgotten by another member, with the entry in a session that is not hers.
    let begin = BeginSession::new(acme("robin"), "support");
    let robin = file.database.begin_session(begin).await.unwrap();
    let robin = file
        .database
        .memory(&acme("everyone"), &robin.id)
        .await
        .unwrap();
    assert_eq!(robin.forget(vec![fact.id]).await.unwrap(), 1);
    let entries = file
        .database
        .entries(&session.id, None, 10)
        .await
        .unwrap()
        .entries;
    assert_eq!(entries.last().unwrap().payload, None);
    file.assert_intact().await;
}

#[tokio::test]
async fn a_view_reads_without_a_session_and_makes_nothing() {
    let file = TestFile::new().await;
    let view = file.database.view(&resource("nobody")).unwrap();
    assert_eq!(view.get("plan").await.unwrap(), None);
    assert!(view.list_facts(None, 10).await.unwrap().facts.is_empty());
    assert!(
        view.unembedded("m", None, 10)
            .await
            .unwrap()
            .facts
            .is_empty()
    );
    let nobody = keepsake_types::EntryRef {
        session: "s".to_owned(),
        index: 0,
        hash: None,
    };
    file.database
        .verify_entry(&nobody, &resource("nobody"))
        .await
        .unwrap();
    assert_eq!(file.database.check().await.unwrap().counts.resources, 0);
}

#[tokio::test]
async fn a_resource_that_was_put_together_by_hand_is_checked() {
    let file = TestFile::new().await;
    let hand_made = |name: &str, team: Option<&str>| ResourceRef {
        resource: name.to_owned(),
        team: team.map(str::to_owned),
        fork: None,
    };
    for wrong in [
        hand_made("", None),
        hand_made("a\nb", None),
        hand_made("a", Some("")),
        hand_made(&"x".repeat(257), None),
    ] {
        assert!(file.database.view(&wrong).is_err());
        let begun = file
            .database
            .begin_session(BeginSession::new(wrong.clone(), "support"))
            .await;
        assert!(begun.is_err(), "{wrong:?}");
    }
    assert_eq!(file.database.check().await.unwrap().counts.resources, 0);
}

#[tokio::test]
async fn episodes_come_in_the_order_in_which_they_were_recorded() {
    let file = TestFile::new().await;
    let first = file.memory("jordan").await;
    let second = file.memory("jordan").await;
    file.memory("taylor").await;
    for number in 0..5 {
        file.command(first.session_id(), &format!("first {number}"))
            .await;
        file.command(second.session_id(), &format!("second {number}"))
            .await;
    }
    let (mut found, mut after) = (Vec::new(), None);
    loop {
        let page = first
            .episodes(EpisodeOptions {
                after,
                limit: 5,
                ..EpisodeOptions::default()
            })
            .await
            .unwrap();
        found.extend(page.episodes);
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(found.len(), 12);
    let outputs: Vec<String> = found[2..]
        .iter()
        .map(|episode| {
            episode.payload.as_ref().unwrap()["stdout"]
                .as_str()
                .unwrap()
                .to_owned()
        })
        .collect();
    assert_eq!(outputs[..4], ["first 0", "second 0", "first 1", "second 1"]);

    let options = |change: fn(&mut EpisodeOptions)| {
        let mut options = EpisodeOptions::default();
        change(&mut options);
        first.episodes(options)
    };
    assert!(
        options(|options| options.since = Some(u64::MAX))
            .await
            .unwrap()
            .episodes
            .is_empty()
    );
    assert!(
        options(|options| options.until = Some(0))
            .await
            .unwrap()
            .episodes
            .is_empty()
    );
    assert_eq!(
        options(|options| options.since = Some(0))
            .await
            .unwrap()
            .episodes
            .len(),
        12
    );
    assert_invalid(options(|options| options.limit = 0).await, "at least 1");
    assert_limit(options(|options| options.limit = 1_001).await, "page-items");
    assert_invalid(
        options(|options| options.after = Some("x".to_owned())).await,
        "`next`",
    );
}
