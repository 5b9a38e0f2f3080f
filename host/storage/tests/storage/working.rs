//! Working memory and the profile.

use std::sync::Arc;

use keepsake_storage::{Kind, Memory, ProfileCheck};
use serde_json::{Value, json};

use crate::common::{TestFile, assert_invalid, assert_limit, contents, resource};

async fn kinds(file: &TestFile, memory: &Memory) -> Vec<Kind> {
    let entries = file
        .database
        .entries(memory.session_id(), None, 1_000)
        .await
        .unwrap()
        .entries;
    entries.into_iter().map(|entry| entry.kind).collect()
}

#[tokio::test]
async fn a_value_reads_as_it_was_set() {
    let file = TestFile::new().await;
    let memory = file.memory("jordan").await;
    assert_eq!(memory.get("plan").await.unwrap(), None);
    for value in [
        json!(null),
        json!(true),
        json!(-0.1),
        json!(1.7976931348623157e308),
        json!(5e-324),
        json!(u64::MAX),
        json!(i64::MIN),
        json!(""),
        json!("\u{0}\u{7f}\u{2028}\u{1f600}\"\\"),
        json!([]),
        json!({ "": { "é": [1, [2, []]] } }),
    ] {
        memory.set("plan", value.clone()).await.unwrap();
        assert_eq!(memory.get("plan").await.unwrap(), Some(value));
    }
    let later = file.memory("jordan").await;
    assert_eq!(
        later.get("plan").await.unwrap(),
        memory.get("plan").await.unwrap()
    );
    file.assert_intact().await;
}

#[tokio::test]
async fn what_is_set_and_deleted_stands_in_the_ledger() {
    let file = TestFile::new().await;
    let memory = file.memory("jordan").await;
    memory.set("plan", json!("Pro")).await.unwrap();
    assert!(memory.delete("plan").await.unwrap());
    assert!(!memory.delete("plan").await.unwrap());
    assert_eq!(memory.get("plan").await.unwrap(), None);
    assert_eq!(
        kinds(&file, &memory).await,
        [Kind::SessionStarted, Kind::WorkingSet, Kind::WorkingDeleted]
    );
}

#[tokio::test]
async fn a_key_is_any_text_up_to_its_bound_without_control_characters() {
    let file = TestFile::new().await;
    let memory = file.memory("jordan").await;
    let longest = "é".repeat(128);
    for key in [
        "a",
        " ",
        "_hidden",
        "a:b/c",
        "clé 🗝",
        "%",
        "'; DROP TABLE working; --",
        &longest,
    ] {
        memory.set(key, json!(key)).await.unwrap();
        assert_eq!(memory.get(key).await.unwrap(), Some(json!(key)));
    }
    // Different texts are different keys, however alike they look.
    memory.set("e\u{301}", json!(1)).await.unwrap();
    assert_eq!(memory.get("é").await.unwrap(), None);
    assert_eq!(memory.get("A").await.unwrap(), None);

    let before = contents(&memory).await;
    for key in ["", "a\nb", "\u{0}", "\u{1b}[2J", "a\u{7f}", "a\u{85}"] {
        let words = if key.is_empty() { "empty" } else { "control" };
        assert_invalid(memory.set(key, json!(1)).await, words);
        assert_invalid(memory.get(key).await, words);
        assert_invalid(memory.delete(key).await, words);
        assert_invalid(memory.compare_and_set(key, None, None).await, words);
    }
    let too_long = longest + "x";
    assert_limit(memory.set(&too_long, json!(1)).await, "working-key-bytes");
    assert_limit(memory.get(&too_long).await, "working-key-bytes");
    assert_eq!(contents(&memory).await, before);
}

#[tokio::test]
async fn a_value_may_be_as_large_as_its_bound_and_no_larger() {
    let file = TestFile::new().await;
    let memory = file.memory("jordan").await;
    let largest = json!("x".repeat(64 * 1024 - 2));
    memory.set("plan", largest.clone()).await.unwrap();
    let larger = json!("x".repeat(64 * 1024 - 1));
    assert_limit(
        memory.set("plan", larger.clone()).await,
        "working-value-bytes",
    );
    assert_limit(
        memory
            .compare_and_set("plan", Some(largest.clone()), Some(larger))
            .await,
        "working-value-bytes",
    );
    let nested = |levels: usize| (1..levels).fold(json!(1), |inner, _| json!([inner]));
    assert_limit(memory.set("plan", nested(65)).await, "json-depth");
    assert_limit(
        memory.compare_and_set("plan", Some(nested(65)), None).await,
        "json-depth",
    );
    assert_eq!(memory.get("plan").await.unwrap(), Some(largest));
    memory.set("plan", nested(64)).await.unwrap();
    assert_eq!(memory.get("plan").await.unwrap(), Some(nested(64)));
    file.assert_intact().await;
}

#[tokio::test]
async fn a_scope_holds_so_many_keys_and_an_old_one_can_still_be_set() {
    let file = TestFile::new().await;
    let memory = file.memory("jordan").await;
    memory.set("key", json!(0)).await.unwrap();
    // One by one would take a minute.
    file.tamper(
        "WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 9999)
         INSERT INTO working (scope, key, updated_at, value) SELECT 1, 'key' || n, 0, '1' FROM n",
    );
    assert_limit(memory.set("one more", json!(1)).await, "working-keys");
    assert_limit(
        memory
            .compare_and_set("one more", None, Some(json!(1)))
            .await,
        "working-keys",
    );
    memory.set("key", json!(1)).await.unwrap();
    memory.delete("key77").await.unwrap();
    memory.set("one more", json!(1)).await.unwrap();
    file.memory("taylor")
        .await
        .set("one more", json!(1))
        .await
        .unwrap();
}

#[tokio::test]
async fn compare_and_set_changes_only_what_was_expected() {
    let file = TestFile::new().await;
    let memory = file.memory("jordan").await;
    let cas = async |expected: Option<Value>, value: Option<Value>| {
        memory
            .compare_and_set("plan", expected, value)
            .await
            .unwrap()
    };
    assert!(!cas(Some(json!("Pro")), Some(json!("Free"))).await);
    assert!(cas(None, Some(json!({ "a": 1, "b": [2] }))).await);
    assert!(!cas(None, Some(json!("again"))).await);
    assert!(!cas(Some(json!({ "a": 1 })), Some(json!("other"))).await);
    let other_order: Value = serde_json::from_str(r#"{ "b": [2], "a": 1 }"#).unwrap();
    assert!(cas(Some(other_order), Some(json!(null))).await);
    // A null that is there is not the same as nothing.
    assert!(!cas(None, Some(json!(1))).await);
    assert!(cas(Some(json!(null)), None).await);
    assert!(cas(None, None).await);
    assert_eq!(memory.get("plan").await.unwrap(), None);
    assert_eq!(
        kinds(&file, &memory).await[1..],
        [Kind::WorkingSet, Kind::WorkingSet, Kind::WorkingDeleted]
    );
}

#[tokio::test]
async fn of_many_who_expect_the_same_one_alone_wins() {
    let file = TestFile::new().await;
    let memory = file.memory("jordan").await;
    let tries = (0..40).map(|number| {
        let memory = memory.clone();
        tokio::spawn(async move {
            memory
                .compare_and_set("owner", None, Some(json!(number)))
                .await
                .unwrap()
        })
    });
    let mut won = Vec::new();
    for (number, tried) in tries.collect::<Vec<_>>().into_iter().enumerate() {
        if tried.await.unwrap() {
            won.push(number);
        }
    }
    assert_eq!(won.len(), 1);
    assert_eq!(memory.get("owner").await.unwrap(), Some(json!(won[0])));
}

#[tokio::test]
async fn keys_come_by_pages_in_byte_order_each_once() {
    let file = TestFile::new().await;
    let memory = file.memory("jordan").await;
    let mut keys = vec!["b", "a", "B", "é", "z", "a b", "日本", "_x", "😀"];
    for key in &keys {
        memory.set(key, json!(key)).await.unwrap();
    }
    memory
        .update_profile(json!({ "plan": "Pro" }), None)
        .await
        .unwrap();
    keys.sort_unstable();
    for limit in [1, 2, 3, 8, 9, 10, 1_000] {
        let (mut found, mut after) = (Vec::new(), None);
        loop {
            let page = memory.list(after.as_deref(), limit).await.unwrap();
            assert!(page.items.len() <= limit);
            found.extend(page.items);
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        let expected: Vec<(String, Value)> = keys
            .iter()
            .map(|key| ((*key).to_owned(), json!(key)))
            .collect();
        assert_eq!(found, expected, "by pages of {limit}");
    }
    assert!(
        memory
            .list(Some("\u{10ffff}"), 5)
            .await
            .unwrap()
            .items
            .is_empty()
    );
    assert_invalid(memory.list(None, 0).await, "at least 1");
    assert_limit(memory.list(None, 1_001).await, "page-items");
}

#[tokio::test]
async fn a_profile_is_changed_by_merge_patches() {
    let file = TestFile::new().await;
    let memory = file.memory("jordan").await;
    assert_eq!(Value::Object(memory.profile().await.unwrap()), json!({}));
    // RFC 7386, section 3.
    let patches = [
        (
            json!({ "title": "Goodbye!", "author": { "givenName": "John", "familyName": "Doe" },
                    "tags": ["example", "sample"], "content": "This will be unchanged" }),
            json!({ "title": "Goodbye!", "author": { "givenName": "John", "familyName": "Doe" },
                    "tags": ["example", "sample"], "content": "This will be unchanged" }),
        ),
        (
            json!({ "title": "Hello!", "phoneNumber": "+01-123-456-7890",
                    "author": { "familyName": null }, "tags": ["example"] }),
            json!({ "title": "Hello!", "author": { "givenName": "John" }, "tags": ["example"],
                    "content": "This will be unchanged", "phoneNumber": "+01-123-456-7890" }),
        ),
        (
            json!({ "title": null, "author": "Doe", "tags": null, "phoneNumber": { "home": null } }),
            json!({ "author": "Doe", "content": "This will be unchanged", "phoneNumber": {} }),
        ),
        (
            json!({}),
            json!({ "author": "Doe", "content": "This will be unchanged", "phoneNumber": {} }),
        ),
    ];
    for (patch, expected) in patches {
        let answer = memory.update_profile(patch, None).await.unwrap();
        assert_eq!(Value::Object(answer), expected);
        assert_eq!(Value::Object(memory.profile().await.unwrap()), expected);
    }
    memory.clear_profile().await.unwrap();
    memory.clear_profile().await.unwrap();
    assert_eq!(Value::Object(memory.profile().await.unwrap()), json!({}));
    assert_eq!(
        kinds(&file, &memory).await[1..],
        vec![Kind::ProfileUpdated; 5]
    );
}

#[tokio::test]
async fn a_patch_that_is_no_object_or_too_much_changes_nothing() {
    let file = TestFile::new().await;
    let memory = file.memory("jordan").await;
    memory
        .update_profile(json!({ "plan": "Pro", "note": "x".repeat(60_000) }), None)
        .await
        .unwrap();
    let before = contents(&memory).await;
    for patch in [json!(null), json!([]), json!("text"), json!(1)] {
        assert_invalid(memory.update_profile(patch, None).await, "JSON object");
    }
    assert_limit(
        memory
            .update_profile(json!({ "more": "x".repeat(6_000) }), None)
            .await,
        "working-value-bytes",
    );
    let deep = (0..64).fold(json!(1), |inner, _| json!({ "a": inner }));
    assert_limit(memory.update_profile(deep, None).await, "json-depth");
    assert_eq!(contents(&memory).await, before);
    assert_eq!(kinds(&file, &memory).await.len(), 2);
}

#[tokio::test]
async fn a_check_that_refuses_sees_the_whole_result_and_leaves_all_as_it_was() {
    let file = TestFile::new().await;
    let memory = file.memory("jordan").await;
    let check: ProfileCheck = Arc::new(|profile| match profile.get("plan") {
        Some(Value::String(_)) => Ok(()),
        _ => Err("`/plan` must be a text".to_owned()),
    });
    let update = |patch| memory.update_profile(patch, Some(check.clone()));
    assert_invalid(
        update(json!({ "name": "Jordan" })).await,
        "`/plan` must be a text",
    );
    assert_eq!(contents(&memory).await["profile"], json!({}));
    update(json!({ "plan": "Pro" })).await.unwrap();
    update(json!({ "name": "Jordan" })).await.unwrap();
    assert_invalid(
        update(json!({ "plan": null })).await,
        "`/plan` must be a text",
    );
    assert_invalid(update(json!({ "plan": 7 })).await, "was not changed");
    assert_eq!(
        contents(&memory).await["profile"],
        json!({ "plan": "Pro", "name": "Jordan" })
    );
    assert_eq!(kinds(&file, &memory).await.len(), 3);
}

#[tokio::test]
async fn a_check_that_panics_is_an_error_and_the_next_write_works() {
    let file = TestFile::new().await;
    let memory = file.memory("jordan").await;
    let check: ProfileCheck = Arc::new(|_| panic!("a fault in the check"));
    let error = memory
        .update_profile(json!({ "a": 1 }), Some(check))
        .await
        .unwrap_err();
    assert!(
        error.to_string().contains("a fault in the check"),
        "{error}"
    );
    memory
        .update_profile(json!({ "b": 2 }), None)
        .await
        .unwrap();
    assert_eq!(contents(&memory).await["profile"], json!({ "b": 2 }));
    file.assert_intact().await;
}

#[tokio::test]
async fn updates_of_a_profile_at_once_all_count() {
    let file = TestFile::new().await;
    let memory = file.memory("jordan").await;
    let updates: Vec<_> = (0..50)
        .map(|number| {
            let memory = memory.clone();
            tokio::spawn(async move {
                memory
                    .update_profile(json!({ format!("key{number}"): number }), None)
                    .await
            })
        })
        .collect();
    for update in updates {
        update.await.unwrap().unwrap();
    }
    assert_eq!(memory.profile().await.unwrap().len(), 50);
    file.assert_intact().await;
}

#[tokio::test]
async fn a_value_that_another_program_broke_is_an_error_that_names_it() {
    let file = TestFile::new().await;
    let memory = file.memory("jordan").await;
    memory.set("plan", json!("Pro")).await.unwrap();
    file.tamper("UPDATE working SET value = 'no JSON'");
    assert_invalid(memory.get("plan").await, "`plan`");
    assert_invalid(memory.list(None, 10).await, "another program");
    memory.set("plan", json!("Pro")).await.unwrap();
    assert_eq!(memory.get("plan").await.unwrap(), Some(json!("Pro")));
    let view = file.database.view(&resource("jordan")).unwrap();
    assert_eq!(view.get("plan").await.unwrap(), Some(json!("Pro")));
}
