//! Compaction in the host of tests, as the real one does it.

use keepsake_sdk::memory::{CompactOptions, Fact};
use keepsake_sdk::testing::Host;
use keepsake_sdk::{Error, Result, Session, Summarizer, Summary};

struct Joins;

impl Summarizer for Joins {
    fn summarize(_: &Session, facts: &[Fact], _: usize) -> Result<Vec<Summary>> {
        let texts: Vec<_> = facts.iter().map(|fact| fact.content.as_str()).collect();
        Ok(vec![Summary::new(texts.join(" "))])
    }
}

struct Fails;

impl Summarizer for Fails {
    fn summarize(_: &Session, _: &[Fact], _: usize) -> Result<Vec<Summary>> {
        Err(Error::unavailable("no model"))
    }
}

fn texts(host: &Host) -> Vec<String> {
    host.facts().into_iter().map(|fact| fact.content).collect()
}

fn filled(host: Host) -> Host {
    let scope = host.session().scope().unwrap();
    for text in ["One.", "Two.", "Three.", "Four."] {
        scope.remember(text).unwrap();
    }
    host
}

#[test]
fn the_oldest_go_beyond_a_number() {
    let host = filled(Host::new());
    let scope = host.session().scope().unwrap();
    let done = scope.compact(&CompactOptions::new().max_facts(2)).unwrap();
    assert_eq!((done.removed, done.summarised, done.remaining), (2, 0, 2));
    assert_eq!(texts(&host), ["Four.", "Three."]);
    let nothing = scope.compact(&CompactOptions::new()).unwrap();
    assert_eq!((nothing.removed, nothing.remaining), (0, 2));
}

#[test]
fn summaries_take_the_place_of_what_goes_and_are_counted() {
    let host = filled(Host::new().summarizer::<Joins>());
    let scope = host.session().scope().unwrap();
    let done = scope.compact(&CompactOptions::new().max_facts(2)).unwrap();
    assert_eq!((done.removed, done.summarised, done.remaining), (3, 3, 2));
    assert_eq!(texts(&host), ["One. Two. Three.", "Four."]);
    // A summary is not summarised again, and `Six.` is not older than now.
    scope.remember("Five.").unwrap();
    scope.remember("Six.").unwrap();
    let done = scope.compact(&CompactOptions::new().max_age_ms(0)).unwrap();
    assert_eq!((done.removed, done.summarised), (3, 2));
}

#[test]
fn facts_stay_where_the_summarizer_fails() {
    let host = filled(Host::new().summarizer::<Fails>());
    let scope = host.session().scope().unwrap();
    let failed = scope
        .compact(&CompactOptions::new().max_facts(2))
        .unwrap_err();
    assert!(failed.to_string().contains("the facts stay"), "{failed}");
    assert_eq!(texts(&host).len(), 4);
}
