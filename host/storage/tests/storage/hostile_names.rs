//! Names that were chosen to be mistaken for others: no read and no write ever
//! crosses from one to the other.

use std::collections::BTreeSet;

use keepsake_storage::{Memory, NewFact, RecallOptions};
use keepsake_types::{InvalidName, ResourceRef, limits};
use serde_json::json;

use crate::common::{TestFile, assert_invalid, assert_limit, remember, resource};

/// Names that joining, folding, normalising, cutting or matching would mix up.
const ALIKE: [&str; 26] = [
    "a",
    "b",
    "a:b",
    "b:a",
    "a/b",
    "a|b",
    "a b",
    "a  b",
    " a",
    "a ",
    "A",
    "á",
    "a\u{301}",
    "\u{430}",
    "\u{200b}a",
    "a\u{200d}",
    "\u{ff41}",
    "%",
    "_",
    "*",
    "a'--",
    "a\"b",
    "\\",
    "null",
    "0",
    "ſ",
];

/// More of them, put together by a generator that is the same in each run.
fn generated(count: usize) -> Vec<String> {
    const PIECES: [&str; 12] = [
        "a", "b", ":", "/", "|", " ", "A", "\u{301}", "%", "_", "'", "\u{202e}",
    ];
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut piece = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        PIECES[(state >> 33) as usize % PIECES.len()]
    };
    let mut names = BTreeSet::new();
    while names.len() < count {
        let length = 2 + names.len() % 4;
        names.insert((0..length).map(|_| piece()).collect::<String>());
    }
    names.into_iter().collect()
}

fn names() -> Vec<String> {
    let mut names: BTreeSet<String> = ALIKE.iter().map(|name| (*name).to_owned()).collect();
    names.extend(generated(30));
    names.into_iter().collect()
}

/// Each name alone, in teams of such names, and as a team.
fn owners() -> Vec<ResourceRef> {
    let names = names();
    let mut owners: Vec<_> = names.iter().map(|name| resource(name)).collect();
    for (name, team) in names.iter().zip(names.iter().skip(1)) {
        owners.push(resource(name).with_team(team).unwrap());
        owners.push(resource(team).with_team(name).unwrap());
    }
    owners.extend(names.iter().map(|team| ResourceRef::of_team(team).unwrap()));
    owners
}

#[tokio::test]
async fn owners_whose_names_are_alike_have_nothing_in_common() {
    let file = TestFile::new().await;
    let owners = owners();
    let mut memories: Vec<Memory> = Vec::new();
    for (number, owner) in owners.iter().enumerate() {
        let memory = file.session_of(owner).await;
        memory.set("key", json!(number)).await.unwrap();
        memory
            .update_profile(json!({ "number": number }), None)
            .await
            .unwrap();
        let fact = NewFact {
            subject: Some("plan".into()),
            attribute: Some("name".into()),
            thread: Some("talk".into()),
            ..NewFact::new(format!("the common word and number n{number}"))
        };
        remember(&memory, fact).await;
        memories.push(memory);
    }
    for (number, memory) in memories.iter().enumerate() {
        let owner = &owners[number];
        assert_eq!(
            memory.get("key").await.unwrap(),
            Some(json!(number)),
            "{owner:?}"
        );
        assert_eq!(
            memory.profile().await.unwrap()["number"],
            number,
            "{owner:?}"
        );
        let facts = memory.list_facts(None, 10).await.unwrap().facts;
        assert_eq!(facts.len(), 1, "{owner:?}");
        let own = format!("the common word and number n{number}");
        assert_eq!(facts[0].content, own, "{owner:?}");
        let found = memory
            .recall("common word number", None, RecallOptions::default())
            .await
            .unwrap();
        let found: Vec<_> = found.facts.iter().map(|fact| &fact.fact.content).collect();
        assert_eq!(found, [&own], "{owner:?}");
        // Ids of others are nobody's.
        let other = &memories[(number + 1) % memories.len()];
        assert_eq!(other.find(&facts[0].id).await.unwrap(), None, "{owner:?}");
        assert_eq!(other.forget(vec![facts[0].id.clone()]).await.unwrap(), 0);
    }
    file.assert_intact().await;
}

#[tokio::test]
async fn keys_that_are_alike_are_different_keys() {
    let file = TestFile::new().await;
    let memory = file.memory("jordan").await;
    let names = names();
    for (number, name) in names.iter().enumerate() {
        memory.set(name, json!(number)).await.unwrap();
    }
    for (number, name) in names.iter().enumerate() {
        assert_eq!(
            memory.get(name).await.unwrap(),
            Some(json!(number)),
            "{name:?}"
        );
    }
    for (number, name) in names.iter().enumerate() {
        assert!(memory.delete(name).await.unwrap(), "{name:?}");
        let left = memory.list(None, 1_000).await.unwrap().items;
        assert_eq!(left.len(), names.len() - number - 1, "{name:?}");
    }
}

#[tokio::test]
async fn a_property_never_replaces_another_whose_joined_name_is_the_same() {
    let file = TestFile::new().await;
    let memory = file.memory("jordan").await;
    let properties = [
        ("a", "b:c"),
        ("a:b", "c"),
        ("a/b", "c"),
        ("a", "b/c"),
        ("a b", "c"),
        ("a", "b c"),
        ("ab", "c"),
        ("a", "bc"),
        ("%", "c"),
        ("_", "c"),
    ];
    for (number, (subject, attribute)) in properties.iter().enumerate() {
        let fact = NewFact {
            subject: Some((*subject).into()),
            attribute: Some((*attribute).into()),
            ..NewFact::new(format!("value number n{number} of a property"))
        };
        remember(&memory, fact).await;
    }
    let current = memory.list_facts(None, 100).await.unwrap().facts;
    assert_eq!(current.len(), properties.len());
    assert!(current.iter().all(|fact| fact.superseded_by.is_none()));
}

#[tokio::test]
async fn names_that_are_none_are_refused_everywhere() {
    let file = TestFile::new().await;
    let memory = file.memory("jordan").await;
    for name in ["a\0b", "\0", "a\nb", "\u{1b}[31m", "\u{9b}31m", "\u{7f}"] {
        assert!(
            matches!(
                ResourceRef::new(name),
                Err(InvalidName::ControlCharacter("resource"))
            ),
            "{name:?}"
        );
        assert!(ResourceRef::of_team(name).is_err(), "{name:?}");
        assert!(resource("a").with_team(name).is_err(), "{name:?}");
        assert!(resource("a").with_fork(name).is_err(), "{name:?}");
        assert_invalid(memory.set(name, json!(1)).await, "control characters");
        for fact in [
            NewFact {
                subject: Some(name.into()),
                attribute: Some("a".into()),
                ..NewFact::new("a fact")
            },
            NewFact {
                subject: Some("a".into()),
                attribute: Some(name.into()),
                ..NewFact::new("a fact")
            },
            NewFact {
                thread: Some(name.into()),
                ..NewFact::new("a fact")
            },
        ] {
            let refused = memory.remember_many(vec![fact], None).await;
            assert_invalid(refused, "control characters");
        }
    }
    assert!(ResourceRef::new("").is_err() && resource("a").with_team("").is_err());
    assert_invalid(memory.set("", json!(1)).await, "empty");
    let long = "x".repeat(1 << 20);
    assert!(matches!(
        ResourceRef::new(long.clone()),
        Err(InvalidName::TooLong {
            limit: limits::RESOURCE_ID_BYTES,
            ..
        })
    ));
    assert_limit(memory.set(&long, json!(1)).await, "working-key-bytes");
    let fact = NewFact {
        thread: Some(long),
        ..NewFact::new("a fact")
    };
    let refused = memory.remember_many(vec![fact], None).await;
    assert_limit(refused, "fact-name-bytes");
    assert!(memory.list_facts(None, 10).await.unwrap().facts.is_empty());
}
