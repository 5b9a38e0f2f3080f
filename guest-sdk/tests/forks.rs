//! Forks in the host of tests behave as the real host's, in what an agent sees.

use keepsake_sdk::Error;
use keepsake_sdk::memory::{EntryRef, EpisodeOptions, Fact, NewFact, Scope};
use keepsake_sdk::testing::Host;
use serde_json::json;

fn scope(host: &Host) -> Scope {
    host.session().scope().unwrap()
}

fn facts(scope: &Scope) -> Vec<String> {
    let facts = scope.each_fact().map(Result::unwrap);
    facts.map(|fact| fact.content).collect()
}

fn id(scope: &Scope, text: &str) -> String {
    let mut facts = scope.each_fact().map(Result::unwrap);
    facts.find(|fact| fact.content == text).unwrap().id
}

fn texts(facts: &[Fact]) -> Vec<&str> {
    facts.iter().map(|fact| fact.content.as_str()).collect()
}

fn filled() -> (Host, Scope) {
    let host = Host::new();
    let scope = scope(&host);
    scope.set("ticket", &"T-1").unwrap();
    scope.update_profile(&json!({ "plan": "Free" })).unwrap();
    let city = NewFact::new("Jordan lives in Oslo").about("jordan", "city");
    scope.remember(city).unwrap();
    scope.remember("Jordan likes tea").unwrap();
    (host, scope)
}

#[test]
fn a_fork_is_a_copy_that_goes_its_own_way_and_is_opened_by_its_name_again() {
    let (host, scope) = filled();
    let fork = scope.fork("draft").unwrap().scope().unwrap();
    assert_eq!(facts(&fork), facts(&scope));
    assert_eq!(fork.get("ticket").unwrap(), Some("T-1".to_owned()));
    assert_ne!(
        id(&fork, "Jordan likes tea"),
        id(&scope, "Jordan likes tea")
    );
    fork.remember("Jordan wants a refund").unwrap();
    fork.set("ticket", &"T-2").unwrap();
    scope.remember("Jordan called on Monday").unwrap();
    host.new_session();
    let later = host.session().scope().unwrap();
    let again = later.fork("draft").unwrap().scope().unwrap();
    assert!(facts(&again).contains(&"Jordan wants a refund".to_owned()));
    assert!(!facts(&again).contains(&"Jordan called on Monday".to_owned()));
    assert_eq!(later.get("ticket").unwrap(), Some("T-1".to_owned()));
    for wrong in ["", "a/b", "-a", "a b"] {
        assert!(
            matches!(scope.fork(wrong), Err(Error::Invalid(_))),
            "{wrong}"
        );
    }
}

#[test]
fn what_a_fork_changed_is_told_and_brought() {
    let (_host, scope) = filled();
    let branch = scope.fork("draft").unwrap();
    let fork = branch.scope().unwrap();
    fork.remember("Jordan wants a refund").unwrap();
    let city = NewFact::new("Jordan lives in Bergen").about("jordan", "city");
    fork.remember(city).unwrap();
    fork.forget(&[id(&fork, "Jordan likes tea")]).unwrap();
    fork.delete("ticket").unwrap();
    fork.set("mood", &"calm").unwrap();
    fork.update_profile(&json!({ "plan": "Pro" })).unwrap();
    let difference = branch.diff().unwrap();
    assert_eq!(
        texts(&difference.added),
        ["Jordan wants a refund", "Jordan lives in Bergen"]
    );
    assert_eq!(texts(&difference.changed), ["Jordan lives in Oslo"]);
    assert_eq!(difference.removed, [id(&scope, "Jordan likes tea")]);
    assert_eq!(difference.working, ["mood", "ticket"]);
    assert_eq!(difference.profile, ["plan"]);
    assert!(difference.conflicts.is_empty());
    let report = branch.merge().unwrap();
    assert_eq!((report.added, report.changed, report.removed), (3, 2, 2));
    assert_eq!(
        facts(&scope),
        ["Jordan lives in Bergen", "Jordan wants a refund"]
    );
    assert_eq!(scope.profile().unwrap(), json!({ "plan": "Pro" }));
    assert_eq!(scope.working().unwrap().len(), 1);
    let nothing = branch.merge().unwrap();
    assert_eq!((nothing.added, nothing.changed, nothing.removed), (0, 0, 0));
    assert!(branch.diff().unwrap().added.is_empty());
}

#[test]
fn what_both_sides_changed_is_left_and_told() {
    let (_host, scope) = filled();
    let branch = scope.fork("draft").unwrap();
    let fork = branch.scope().unwrap();
    for (side, city, plan) in [(&scope, "Bergen", "Pro"), (&fork, "Molde", "Max")] {
        let city = NewFact::new(format!("Jordan lives in {city}")).about("jordan", "city");
        side.remember(city).unwrap();
        side.set("ticket", &plan).unwrap();
        side.update_profile(&json!({ "plan": plan })).unwrap();
    }
    let bergen = id(&scope, "Jordan lives in Bergen");
    let report = branch.merge().unwrap();
    assert_eq!((report.added, report.changed, report.removed), (0, 0, 0));
    assert_eq!(report.conflicts.len(), 4);
    for conflict in [bergen.as_str(), "ticket", "profile.plan"] {
        assert!(
            report.conflicts.iter().any(|one| one == conflict),
            "{report:?}"
        );
    }
    assert_eq!(scope.profile().unwrap(), json!({ "plan": "Pro" }));
    assert!(facts(&scope).contains(&"Jordan lives in Bergen".to_owned()));
    assert!(!facts(&scope).contains(&"Jordan lives in Molde".to_owned()));
}

#[test]
fn a_discarded_fork_is_gone_with_its_own_forks() {
    let (_host, scope) = filled();
    let branch = scope.fork("draft").unwrap();
    let fork = branch.scope().unwrap();
    let below = fork.fork("below").unwrap();
    branch.discard().unwrap();
    let gone = |answer: Result<(), Error>| assert!(matches!(answer, Err(Error::NotFound(_))));
    gone(fork.set("ticket", &"T-2"));
    gone(branch.discard());
    gone(below.merge().map(drop));
    gone(fork.profile().map(drop));
    assert_eq!(facts(&scope).len(), 2);
}

#[test]
fn what_happened_before_the_fork_is_a_source_and_an_episode_of_it() {
    let (host, scope) = filled();
    let entry = |index| EntryRef {
        session: "session-1".to_owned(),
        index,
        hash: None,
    };
    struct Noting;
    impl keepsake_sdk::Agent for Noting {
        fn describe() -> keepsake_sdk::Description {
            keepsake_sdk::Description::new("noting", "0.1.0", "Answers.")
        }
        fn handle(
            _session: &keepsake_sdk::Session,
            _turn: keepsake_sdk::Turn,
        ) -> keepsake_sdk::Result<keepsake_sdk::Reply> {
            Ok(keepsake_sdk::Reply::new("noted"))
        }
    }
    host.turn::<Noting>("before").unwrap();
    scope.fork("draft").unwrap();
    host.new_session();
    host.turn::<Noting>("after").unwrap();
    let of_first = scope.episodes(&EpisodeOptions::new(100)).unwrap().episodes;
    let of_first = of_first
        .into_iter()
        .filter(|one| one.entry.session == "session-1");
    let known = of_first.clone().count();
    host.new_session();
    let fork = host.session().scope().unwrap().fork("draft").unwrap();
    let fork = fork.scope().unwrap();
    let before = NewFact::new("Jordan wrote before").source(entry(0));
    assert!(fork.remember(before).unwrap().fact.is_verified());
    let later = EntryRef {
        session: "session-2".to_owned(),
        ..entry(0)
    };
    let after = NewFact::new("Jordan wrote after").source(later);
    assert!(matches!(fork.remember(after), Err(Error::Invalid(_))));
    let own = fork.episodes(&EpisodeOptions::new(100)).unwrap().episodes;
    assert!(own.is_empty());
    let lineage = EpisodeOptions::new(100).lineage();
    let lineage = fork.episodes(&lineage).unwrap().episodes;
    // Its own making is the parent's entry, and comes after.
    assert_eq!(lineage.len(), known - 1);
    assert_eq!(scope.episode_tree().unwrap().len(), 2);
}
