//! Customers, accounts, teams and forks side by side, against a plain map each:
//! whatever is done to one, the others are as they were.

use keepsake_storage::Memory;
use keepsake_types::ResourceRef;

use crate::common::{TestFile, remember_text, resource};
use crate::exact::{Numbers, Plain, act};
use crate::recall::by_words;

const ROUNDS: u64 = 120;

/// Names that are near each other, and one name in several places.
fn owners() -> Vec<ResourceRef> {
    let team = |name: &str, team: &str| resource(name).with_team(team).unwrap();
    vec![
        resource("jordan"),
        resource("Jordan"),
        resource("jordan:acme"),
        team("jordan", "acme"),
        team("jordan", "beta"),
        team("acme", "jordan"),
        ResourceRef::of_team("acme").unwrap(),
        ResourceRef::of_team("beta").unwrap(),
        ResourceRef::of_team("jordan").unwrap(),
    ]
}

/// A text of another owner; none where that one knows nothing.
fn text_of_another<'a>(
    all: &'a [(Memory, Plain)],
    own: usize,
    numbers: &mut Numbers,
) -> Option<&'a String> {
    let other = numbers.below(all.len() as u64) as usize;
    all.get(other)
        .filter(|_| other != own)
        .and_then(|(_, plain)| plain.texts.first())
}

#[tokio::test]
async fn what_is_done_to_one_memory_touches_no_other() {
    for seed in 1..=4 {
        let mut numbers = Numbers(seed * 104_729);
        let file = TestFile::new().await;
        let mut all: Vec<(Memory, Plain)> = Vec::new();
        for owner in owners() {
            all.push((file.session_of(&owner).await, Plain::default()));
        }
        let mut next = 0;
        for round in 0..ROUNDS {
            let one = numbers.below(all.len() as u64) as usize;
            match numbers.below(10) {
                // A fork begins as its parent is and goes its own way.
                0 if all.len() < 14 => {
                    let (memory, plain) = &all[one];
                    let fork = memory.fork(&format!("draft-{round}")).await.unwrap();
                    let plain = plain.clone();
                    all.push((fork.memory().clone(), plain));
                }
                1 => {
                    if let Some(text) = text_of_another(&all, one, &mut numbers).cloned() {
                        let (memory, plain) = &all[one];
                        let found = by_words(memory, &text).await;
                        assert!(
                            found.iter().all(|text| plain.texts.contains(text)),
                            "seed {seed}, round {round}: {found:?}"
                        );
                    }
                }
                // The same words may be remembered by several.
                2 => {
                    if let Some(text) = text_of_another(&all, one, &mut numbers).cloned() {
                        let (memory, plain) = &mut all[one];
                        remember_text(memory, &text).await;
                        plain.texts.insert(text);
                    }
                }
                _ => {
                    let (memory, plain) = &mut all[one];
                    act(memory, plain, &mut numbers, &mut next).await;
                }
            }
            if round % 20 == 0 {
                for (place, (memory, plain)) in all.iter().enumerate() {
                    let found = Plain::of(memory).await;
                    assert_eq!(&found, plain, "seed {seed}, round {round}, {place}");
                }
            }
        }
        // One who wants to be forgotten is, with the forks, and nobody else.
        let forks = all.split_off(owners().len());
        drop(forks);
        let gone = numbers.below(all.len() as u64) as usize;
        file.database.erase(&owners()[gone]).await.unwrap();
        for (place, (_, plain)) in all.iter().enumerate() {
            let now = file.session_of(&owners()[place]).await;
            let expected = match place == gone {
                true => &Plain::default(),
                false => plain,
            };
            assert_eq!(&Plain::of(&now).await, expected, "seed {seed}, {place}");
        }
        let check = file.database.check().await.unwrap();
        assert!(check.sound, "seed {seed}: {:?}", check.damage);
        file.assert_intact().await;
    }
}
