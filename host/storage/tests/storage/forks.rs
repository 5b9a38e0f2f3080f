//! A fork is a memory of its own: whole from its first moment, out of others'
//! reach, verified by what happened before it, and gone when it is discarded.

use keepsake_storage::{
    BeginSession, EpisodeOptions, Kind, Memory, NewFact, RecallOptions, StorageError, Verification,
    View,
};
use keepsake_types::{ResourceRef, limits};
use serde_json::{Value, json};

use crate::common::{
    TestFile, assert_invalid, assert_limit, assert_not_found, contents, remember, remember_text,
    resource,
};
use crate::compaction::{at_most, planned};
use crate::owner_erasure::{fill_memory, on_disk};
use crate::recall::by_words;
use crate::vectors::{query_vector, vectors};

/// What can be read of a memory, without what is each fact's own.
pub(crate) async fn said(memory: &Memory) -> Value {
    let mut contents = contents(memory).await;
    for fact in contents["facts"].as_array_mut().unwrap() {
        let fact = fact.as_object_mut().unwrap();
        fact.remove("id");
        fact.remove("superseded_by");
    }
    contents
}

pub(crate) fn value(attribute: &str, content: &str) -> NewFact {
    NewFact {
        subject: Some("Jordan".to_owned()),
        attribute: Some(attribute.to_owned()),
        ..NewFact::new(content)
    }
}

async fn assert_sound(file: &TestFile) {
    let check = file.database.check().await.unwrap();
    assert!(check.sound, "{:?}", check.damage);
    file.assert_intact().await;
}

async fn view(file: &TestFile, fork: &str) -> View {
    let fork = resource("jordan").with_fork(fork).unwrap();
    file.database.view(&fork).unwrap()
}

/// Some of everything: values, a profile, sources, history and vectors.
async fn jordan(file: &TestFile) -> Memory {
    let memory = file.memory("jordan").await;
    memory.set("open-ticket", json!("T-1")).await.unwrap();
    memory
        .update_profile(json!({ "name": "Jordan", "plan": "Free" }), None)
        .await
        .unwrap();
    let source = file.command(memory.session_id(), "plan: Free").await;
    let sourced = NewFact {
        source: Some(source),
        quote: Some("plan: Free".to_owned()),
        ..value("plan", "Jordan is on the Free plan")
    };
    remember(&memory, sourced).await;
    remember(&memory, value("city", "Jordan lives in Oslo")).await;
    remember(&memory, value("city", "Jordan lives in Bergen")).await;
    let facts = ["Jordan likes tea", "Jordan has a red bicycle"];
    let vectors = vectors("m", &[&[1.0, 0.0], &[0.0, 1.0]]);
    memory
        .remember_many(facts.map(NewFact::new).to_vec(), Some(vectors))
        .await
        .unwrap();
    memory
}

#[tokio::test]
async fn a_fork_is_as_its_parent_was_to_the_last_time_and_vector() {
    let file = TestFile::new().await;
    let memory = jordan(&file).await;
    let branch = memory.fork("draft").await.unwrap();
    let fork = branch.memory();
    assert_eq!(said(fork).await, said(&memory).await);
    assert_eq!(
        by_words(fork, "bicycle").await,
        ["Jordan has a red bicycle"]
    );
    let found = fork
        .recall(
            "x",
            Some(query_vector("m", &[0.9, 0.1])),
            Default::default(),
        )
        .await
        .unwrap();
    assert_eq!(found.facts[0].fact.content, "Jordan likes tea");
    assert_eq!(fork.view().count_unembedded("m").await.unwrap(), 3);

    // History: what was superseded was so by the copy.
    let all = async |memory: &Memory| {
        let options = RecallOptions {
            include_superseded: true,
            ..RecallOptions::default()
        };
        memory.recall("Oslo", None, options).await.unwrap().facts
    };
    let (was, is) = (all(&memory).await, all(fork).await);
    assert_eq!(was[0].fact.valid_until, is[0].fact.valid_until);
    assert_ne!(was[0].fact.id, is[0].fact.id);
    let newer = is[0].fact.superseded_by.clone().unwrap();
    let newer = fork.find(&newer).await.unwrap().unwrap();
    assert_eq!(newer.content, "Jordan lives in Bergen");
    assert_eq!(memory.find(&newer.id).await.unwrap(), None);
    assert_sound(&file).await;
}

#[tokio::test]
async fn neither_side_sees_what_the_other_learns_or_forgets() {
    let file = TestFile::new().await;
    let memory = jordan(&file).await;
    let branch = memory.fork("draft").await.unwrap();
    let fork = branch.memory();
    let before = contents(&memory).await;

    fork.set("open-ticket", json!("T-2")).await.unwrap();
    fork.clear_profile().await.unwrap();
    remember(fork, value("city", "Jordan lives in Molde")).await;
    let all = fork.list_facts(None, 100).await.unwrap().facts;
    let ids = all.into_iter().map(|fact| fact.id).collect();
    assert_eq!(fork.forget(ids).await.unwrap(), 4);
    assert_eq!(contents(&memory).await, before);

    let other = memory.fork("other").await.unwrap();
    let third = contents(other.memory()).await;
    memory.set("open-ticket", json!("T-3")).await.unwrap();
    let all = memory.list_facts(None, 100).await.unwrap().facts;
    let ids = all.into_iter().map(|fact| fact.id).collect();
    assert_eq!(memory.forget(ids).await.unwrap(), 4);
    assert_eq!(contents(other.memory()).await, third);
    assert_sound(&file).await;
}

#[tokio::test]
async fn forking_again_opens_the_same_fork_and_copies_nothing() {
    let file = TestFile::new().await;
    let memory = jordan(&file).await;
    let first = memory.fork("draft").await.unwrap();
    remember_text(first.memory(), "Jordan wants a refund").await;
    remember_text(&memory, "Jordan called twice").await;
    let before = contents(first.memory()).await;
    for _ in 0..2 {
        let again = memory.fork("draft").await.unwrap();
        assert_eq!(contents(again.memory()).await, before);
    }
    // From another session, by opening it, and without any.
    let later = file.memory("jordan").await;
    let opened = later.branch("draft").await.unwrap();
    assert_eq!(contents(opened.memory()).await, before);
    let forks = later.view().forks().await.unwrap();
    let names: Vec<(&str, u64)> = forks
        .iter()
        .map(|fork| (fork.name.as_str(), fork.facts))
        .collect();
    assert_eq!(names, [("draft", 6)]);
    let entries = file
        .database
        .entries(memory.session_id(), None, 100)
        .await
        .unwrap()
        .entries;
    let forked = entries.iter().filter(|one| one.kind == Kind::MemoryForked);
    let said: Vec<&Value> = forked.map(|one| one.payload.as_ref().unwrap()).collect();
    assert_eq!(said, [&json!({ "fork": "draft", "facts": 5 })]);
}

#[tokio::test]
async fn a_fork_that_cannot_be_finished_is_not_begun() {
    let file = TestFile::new().await;
    let memory = jordan(&file).await;
    let before = contents(&memory).await;
    file.tamper(
        "CREATE TRIGGER stop BEFORE INSERT ON forks BEGIN SELECT RAISE(ABORT, 'stop'); END",
    );
    assert!(memory.fork("draft").await.is_err());
    let rows = |table: &str| -> i64 {
        file.other_program()
            .query_row(&format!("SELECT count(*) FROM {table}"), [], |row| {
                row.get(0)
            })
            .unwrap()
    };
    assert_eq!((rows("scopes"), rows("facts")), (1, 5));
    assert_eq!((rows("fork_facts"), rows("fork_values")), (0, 0));
    assert_not_found(memory.branch("draft").await);
    assert_eq!(contents(&memory).await, before);
    file.tamper("DROP TRIGGER stop");
    memory.fork("draft").await.unwrap();
    assert_eq!((rows("scopes"), rows("facts")), (2, 10));
    assert_sound(&file).await;
}

#[tokio::test]
async fn a_fork_is_out_of_reach_of_other_resources_and_of_names() {
    let file = TestFile::new().await;
    let memory = jordan(&file).await;
    memory.fork("draft").await.unwrap();
    let fork = resource("jordan").with_fork("draft").unwrap();
    let taylor = file.memory("taylor").await;
    // Neither by its name, nor by a name that leads there, nor as a resource.
    assert_not_found(taylor.branch("draft").await);
    let reached = file.database.memory(&fork, taylor.session_id()).await;
    assert_invalid(reached, "another resource");
    for wrong in ["../jordan/draft", "jordan/draft", "draft/", "", "a\n"] {
        assert_invalid(taylor.fork(wrong).await, "no name of a fork");
        assert_invalid(memory.fork(wrong).await, "no name of a fork");
    }
    let own = taylor.fork("draft").await.unwrap();
    assert_eq!(
        contents(own.memory()).await,
        json!({ "working": [], "profile": {}, "facts": [] })
    );
    let named = file.memory("jordan/draft").await;
    assert!(named.list_facts(None, 10).await.unwrap().facts.is_empty());
    // Not made by asking for it either.
    let none = resource("jordan").with_fork("none").unwrap();
    let begun = file
        .database
        .begin_session(BeginSession::new(none.clone(), "support"))
        .await;
    assert_not_found(begun);
    assert_not_found(file.database.view(&none).unwrap().profile().await);
}

#[tokio::test]
async fn a_member_of_the_team_does_not_reach_the_forks_of_another() {
    let file = TestFile::new().await;
    let acme = |name: &str| resource(name).with_team("acme").unwrap();
    let begin = async |whose: ResourceRef| {
        let begin = BeginSession::new(whose, "support");
        file.database.begin_session(begin).await.unwrap().id
    };
    let session = begin(acme("jordan")).await;
    let memory = file
        .database
        .memory(&acme("jordan"), &session)
        .await
        .unwrap();
    memory.fork("draft").await.unwrap();
    let robin = begin(acme("robin")).await;
    let fork = acme("jordan").with_fork("draft").unwrap();
    let reached = file.database.memory(&fork, &robin).await;
    assert_invalid(reached, "another resource");
    // A session of the fork's own does, and stays within it.
    let child = begin(fork.clone()).await;
    file.database.memory(&fork, &child).await.unwrap();
}

#[tokio::test]
async fn what_happened_before_the_fork_is_what_its_facts_are_verified_by() {
    let file = TestFile::new().await;
    let memory = jordan(&file).await;
    let earlier = file.command(memory.session_id(), "the courier came").await;
    let branch = memory.fork("draft").await.unwrap();
    let fork = branch.memory();
    let facts = fork.list_facts(None, 10).await.unwrap().facts;
    let plan = facts.iter().find(|fact| fact.source.is_some()).unwrap();
    assert_eq!(plan.verification, Verification::Verified);

    // In a session of the fork: an entry of the parent from before, none from after.
    let own = file.session_of(fork.resource()).await;
    let from = |source, text: &str| NewFact {
        source: Some(source),
        ..NewFact::new(text)
    };
    let learned = remember(&own, from(earlier, "The courier came at noon"))
        .await
        .fact;
    assert_eq!(learned.verification, Verification::Verified);
    let later = file
        .command(memory.session_id(), "the scales show nine kilos")
        .await;
    let refused = own
        .remember_many(vec![from(later.clone(), "Nine kilos were shipped")], None)
        .await;
    assert_invalid(refused, "no such entry");
    // What the fork's own session did is a source there, and not in the parent.
    let done = file.command(own.session_id(), "the lock is broken").await;
    let learned = remember(&own, from(done.clone(), "The lock is broken"))
        .await
        .fact;
    assert_eq!(learned.verification, Verification::Verified);
    let refused = memory
        .remember_many(vec![from(done, "The lock is broken")], None)
        .await;
    assert_invalid(refused, "no such entry");
    // The session that made the fork learns for it from what it does itself.
    let learned = remember(fork, from(later, "Nine kilos were shipped"))
        .await
        .fact;
    assert_eq!(learned.verification, Verification::Verified);

    file.tamper("UPDATE entries SET payload = '{}' WHERE kind = 'exec-completed' AND session = 1");
    let plan = fork.find(&plan.id).await.unwrap().unwrap();
    assert_eq!(plan.verification, Verification::Tampered);
}

#[tokio::test]
async fn a_fact_stays_verified_while_the_other_side_forgets_it_and_goes_with_the_last() {
    let file = TestFile::new().await;
    let memory = jordan(&file).await;
    let branch = memory.fork("draft").await.unwrap();
    let plan = async |memory: &Memory| {
        let facts = memory.list_facts(None, 10).await.unwrap().facts;
        facts.into_iter().find(|fact| fact.source.is_some())
    };
    let remembered = async || {
        let entries = file.database.entries(memory.session_id(), None, 100).await;
        let mut entries = entries.unwrap().entries.into_iter();
        let first = entries.find(|entry| entry.kind == Kind::FactRemembered);
        first.unwrap().payload.is_some()
    };
    let id = plan(branch.memory()).await.unwrap().id;
    branch.memory().forget(vec![id]).await.unwrap();
    let there = plan(&memory).await.unwrap();
    assert_eq!(there.verification, Verification::Verified);
    assert!(remembered().await);
    memory.forget(vec![there.id]).await.unwrap();
    assert!(!remembered().await, "nobody has the fact any more");

    let plan = planned(&memory, at_most(0)).await;
    memory.carry_out(plan, vec![], None).await.unwrap();
    assert_eq!(memory.view().count_facts().await.unwrap(), 0);
    assert_eq!(branch.memory().view().count_facts().await.unwrap(), 4);
    assert_sound(&file).await;
}

#[tokio::test]
async fn a_fork_has_forks_of_its_own_and_their_facts_are_verified_along_the_line() {
    let file = TestFile::new().await;
    let memory = jordan(&file).await;
    let mut branches = vec![memory.fork("f1").await.unwrap()];
    for depth in 2..=limits::FORK_DEPTH {
        let parent = branches.last().unwrap().memory().clone();
        branches.push(parent.fork(&format!("f{depth}")).await.unwrap());
    }
    let deepest = branches.last().unwrap().memory();
    assert_eq!(deepest.resource().fork.as_deref(), Some("f1/f2/f3/f4"));
    let facts = deepest.list_facts(None, 10).await.unwrap().facts;
    let sourced = facts.iter().find(|fact| fact.source.is_some()).unwrap();
    assert_eq!(sourced.verification, Verification::Verified);
    assert_limit(deepest.fork("f5").await, "fork-depth");
    assert_eq!(memory.view().forks().await.unwrap().len(), 1);
    assert_eq!(view(&file, "f1/f2").await.forks().await.unwrap().len(), 1);
    assert_sound(&file).await;
}

#[tokio::test]
async fn a_resource_has_a_bounded_number_of_forks() {
    let file = TestFile::new().await;
    let memory = file.memory("jordan").await;
    let first = memory.fork("0").await.unwrap();
    for number in 1..limits::FORKS {
        // Those of forks count as well.
        let whose = if number % 2 == 0 {
            &memory
        } else {
            first.memory()
        };
        whose.fork(&number.to_string()).await.unwrap();
    }
    assert_limit(memory.fork("more").await, "forks");
    assert_limit(first.memory().fork("more").await, "forks");
    // One that is there is opened all the same, and one that goes makes room.
    let branch = memory.fork("2").await.unwrap();
    branch.discard().await.unwrap();
    memory.fork("more").await.unwrap();
    file.memory("taylor").await.fork("more").await.unwrap();
}

#[tokio::test]
async fn a_memory_that_is_too_large_is_not_forked() {
    let file = TestFile::new().await;
    let memory = file.memory("jordan").await;
    file.tamper(&format!(
        "UPDATE scopes SET facts = {}",
        limits::FORK_FACTS + 1
    ));
    assert_limit(memory.fork("draft").await, "fork-facts");
    file.tamper("UPDATE scopes SET facts = 0");
    memory.fork("draft").await.unwrap();
}

#[tokio::test]
async fn episodes_lead_back_to_the_fork_and_no_further() {
    let file = TestFile::new().await;
    let memory = file.memory("jordan").await;
    let other = file.memory("jordan").await;
    file.command(memory.session_id(), "before").await;
    let branch = memory.fork("draft").await.unwrap();
    file.command(memory.session_id(), "after").await;
    let child = file.session_of(branch.memory().resource()).await;
    file.command(child.session_id(), "within").await;
    let below = child.fork("below").await.unwrap();
    let grandchild = file.session_of(below.memory().resource()).await;

    let outputs = async |memory: &Memory, lineage, limit| {
        let mut options = EpisodeOptions {
            lineage,
            limit,
            ..EpisodeOptions::default()
        };
        let mut kinds = Vec::new();
        loop {
            let page = memory.episodes(options.clone()).await.unwrap();
            kinds.extend(page.episodes.into_iter().map(|episode| {
                let payload = episode.payload.unwrap();
                let output = payload["stdout"].as_str().map(str::to_owned);
                output.unwrap_or_else(|| episode.kind.name().to_owned())
            }));
            match page.next {
                Some(next) => options.after = Some(next),
                None => return kinds,
            }
        }
    };
    let own = ["session-started", "within", "memory-forked"];
    assert_eq!(outputs(&child, false, 100).await, own);
    let past = [
        "session-started",
        "session-started",
        "before",
        "memory-forked",
    ];
    for limit in [1, 3, 100] {
        let line = outputs(&child, true, limit).await;
        assert_eq!(line, [&past[..], &own[..]].concat(), "pages of {limit}");
    }
    let line = outputs(&grandchild, true, 100).await;
    assert_eq!(line, [&past[..], &own[..], &["session-started"]].concat());

    let shape = async |memory: &Memory| {
        let tree = memory.episode_tree().await.unwrap();
        let nodes = tree.into_iter();
        nodes
            .map(|node| (node.session, node.parent, node.episodes.len()))
            .collect::<Vec<_>>()
    };
    let id = |memory: &Memory| memory.session_id().to_owned();
    assert_eq!(
        shape(&memory).await,
        [
            (id(&memory), None, 4),
            (id(&other), None, 1),
            (id(&child), Some(0), 3),
            (id(&grandchild), Some(2), 1),
        ]
    );
    assert_eq!(
        shape(&child).await,
        [(id(&child), None, 3), (id(&grandchild), Some(0), 1)]
    );
    file.tamper(&format!(
        "WITH RECURSIVE places (place) AS (
            SELECT 100 UNION ALL SELECT place + 1 FROM places WHERE place < 100 + {})
         INSERT INTO entries (session, place, scope, at, kind, payload_hash, prev, hash)
         SELECT 1, place, 1, 1, 'x', x'00', x'00', x'00' FROM places",
        limits::EPISODE_TREE_ENTRIES
    ));
    assert_limit(memory.episode_tree().await, "episode-tree-entries");
}

#[tokio::test]
async fn a_discarded_fork_is_gone_with_every_byte_that_it_learned() {
    let file = TestFile::new().await;
    let memory = jordan(&file).await;
    let before = contents(&memory).await;
    let branch = memory.fork("draft").await.unwrap();
    // In the session that forked, in one of the fork, and in a fork of it.
    let below = branch.memory().fork("below").await.unwrap();
    remember_text(branch.memory(), "marmalade-fact one").await;
    let asked = branch
        .memory()
        .recall("marmalade-message", None, Default::default());
    asked.await.unwrap();
    remember_text(below.memory(), "marmalade-fact two").await;
    let set = below
        .memory()
        .set("marmalade-key", json!("marmalade-value"));
    set.await.unwrap();
    let child = file.session_of(branch.memory().resource()).await;
    fill_memory(&file, &child).await;
    let done = branch.discard().await.unwrap();
    assert!(
        done.facts > 400 && done.sessions == 1 && done.forks == 1,
        "{done:?}"
    );

    file.database.scrub().await.unwrap();
    assert_eq!(on_disk(file.folder.path()), [""; 0]);
    assert_eq!(contents(&memory).await, before);
    assert_sound(&file).await;
    assert!(memory.view().forks().await.unwrap().is_empty());
    // Whoever held it holds nothing, a new fork of that name neither.
    for gone in [branch.memory(), below.memory()] {
        assert_not_found(gone.profile().await);
        assert_not_found(gone.set("plan", json!("Pro")).await);
    }
    assert_not_found(branch.diff().await);
    assert_not_found(branch.merge(None).await);
    assert_not_found(branch.discard().await);
    let ended = child.set("marmalade-key", json!(1)).await;
    assert!(matches!(ended, Err(StorageError::Invalid(_))), "{ended:?}");
    let again = memory.fork("draft").await.unwrap();
    assert_eq!(said(again.memory()).await, said(&memory).await);
    let set = below.memory().set("plan", json!("Pro"));
    assert_not_found(set.await);
}

#[tokio::test]
async fn a_handle_on_a_discarded_fork_never_writes_into_what_came_after_it() {
    let file = TestFile::new().await;
    let memory = file.memory("jordan").await;
    let old = memory.fork("old").await.unwrap();
    old.discard().await.unwrap();
    // The number of the row that went may be given again.
    let taylor = file.memory("taylor").await;
    let new = taylor.fork("new").await.unwrap();
    assert_not_found(old.memory().set("plan", json!("Pro")).await);
    let set = remember_one(old.memory()).await;
    assert_not_found(set);
    for untouched in [&taylor, new.memory()] {
        assert_eq!(
            contents(untouched).await,
            json!({ "working": [], "profile": {}, "facts": [] })
        );
    }
}

async fn remember_one(memory: &Memory) -> Result<(), StorageError> {
    let fact = NewFact::new("Jordan likes coffee");
    memory.remember_many(vec![fact], None).await.map(drop)
}

#[tokio::test]
async fn erasing_a_customer_takes_the_forks_along() {
    let file = TestFile::new().await;
    let robin = file.memory("robin").await;
    remember_text(&robin, "Robin likes tea").await;
    let others = contents(&robin).await;
    let whose = resource("marmalade-jordan");
    let memory = file.session_of(&whose).await;
    fill_memory(&file, &memory).await;
    let branch = memory.fork("marmalade-fork").await.unwrap();
    let child = file.session_of(branch.memory().resource()).await;
    fill_memory(&file, &child).await;
    branch.memory().fork("below").await.unwrap();
    let holdings = file.database.holdings(&whose).await.unwrap().unwrap();
    assert_eq!((holdings.forks, holdings.sessions), (2, 2));
    assert_invalid(
        file.database.erase(branch.memory().resource()).await,
        "discarded",
    );

    let erased = file.database.erase(&whose).await.unwrap().unwrap();
    let gone = erased.erased;
    assert_eq!(
        (gone.facts, gone.forks, gone.working_keys, gone.sessions),
        (
            holdings.facts,
            holdings.forks,
            holdings.working_keys,
            holdings.sessions
        )
    );
    file.database.scrub().await.unwrap();
    assert_eq!(on_disk(file.folder.path()), [""; 0]);
    assert_sound(&file).await;
    assert_eq!(contents(&robin).await, others);
    let rows = |table: &str| -> i64 {
        file.other_program()
            .query_row(&format!("SELECT count(*) FROM {table}"), [], |row| {
                row.get(0)
            })
            .unwrap()
    };
    for table in ["forks", "fork_facts", "fork_values", "working"] {
        assert_eq!(rows(table), 0, "{table}");
    }
    // Their sessions ended with the memories.
    for memory in [branch.memory(), &memory] {
        assert!(memory.set("plan", json!("Pro")).await.is_err());
    }
}

#[tokio::test]
async fn a_session_of_a_fork_cannot_be_given_to_another_fork() {
    let file = TestFile::new().await;
    let memory = file.memory("jordan").await;
    for name in ["one", "two"] {
        let fork = memory.fork(name).await.unwrap().memory().resource().clone();
        let begin = BeginSession::new(fork, "support");
        file.database.begin_session(begin).await.unwrap();
    }
    file.assert_intact().await;
    file.tamper(
        "UPDATE sessions SET scope = 3 WHERE number = 2;
         UPDATE entries SET scope = 3 WHERE session = 2",
    );
    let faults = file.database.verify(None).await.unwrap().faults;
    assert!(
        faults
            .iter()
            .any(|fault| fault.what.contains("resource or team")),
        "{faults:?}"
    );
}
