//! Working memory and the profile where little is known: keys that are not
//! there, values that are null, and what outlasts a restart.

use keepsake_storage::{Database, ProfileCheck};
use serde_json::{Value, json};

use crate::common::{TestFile, contents, resource};

#[tokio::test]
async fn what_was_never_set_is_absent_and_deleting_it_is_no_error() {
    let file = TestFile::new().await;
    let memory = file.memory("jordan").await;
    assert_eq!(memory.get("unknown").await.unwrap(), None);
    assert!(!memory.delete("unknown").await.unwrap());
    let empty = json!({ "working": [], "profile": {}, "facts": [] });
    assert_eq!(contents(&memory).await, empty);
    let stranger = file.database.view(&resource("stranger")).unwrap();
    assert_eq!(stranger.get("unknown").await.unwrap(), None);
    assert!(stranger.list(None, 10).await.unwrap().items.is_empty());
}

#[tokio::test]
async fn null_is_a_value_like_any_other() {
    let file = TestFile::new().await;
    let memory = file.memory("jordan").await;
    memory.set("nothing", Value::Null).await.unwrap();
    assert_eq!(memory.get("nothing").await.unwrap(), Some(Value::Null));
    assert_eq!(memory.list(None, 10).await.unwrap().items.len(), 1);
    // It differs from no value where one is expected, too.
    let set = memory.compare_and_set("nothing", None, Some(json!(1)));
    assert!(!set.await.unwrap());
    let set = memory.compare_and_set("nothing", Some(Value::Null), Some(json!(1)));
    assert!(set.await.unwrap());
}

#[tokio::test]
async fn keys_that_look_like_numbers_are_ordered_as_the_texts_that_they_are() {
    let file = TestFile::new().await;
    let memory = file.memory("jordan").await;
    for key in ["10", "9", "a", "-1", "2", "1.5", "02"] {
        memory.set(key, json!(key)).await.unwrap();
    }
    let mut keys = Vec::new();
    let mut after = None;
    loop {
        let page = memory.list(after.as_deref(), 2).await.unwrap();
        keys.extend(page.items.into_iter().map(|(key, _)| key));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(keys, ["-1", "02", "1.5", "10", "2", "9", "a"]);
}

#[tokio::test]
async fn values_and_the_profile_outlast_a_restart() {
    let file = TestFile::new().await;
    let memory = file.memory("jordan").await;
    let value = json!({ "list": [1, 2.5, null, true], "nested": { "é": "\u{0}" } });
    memory.set("case", value).await.unwrap();
    let profile = json!({ "plan": "Pro", "seats": 12 });
    memory.update_profile(profile, None).await.unwrap();
    let before = contents(&memory).await;
    let path = file.path();
    drop(memory);
    let TestFile { folder, database } = file;
    drop(database);
    let database = Database::open(path).await.unwrap();
    let again = TestFile { folder, database };
    assert_eq!(contents(&again.memory("jordan").await).await, before);
}

#[tokio::test]
async fn a_profile_is_read_as_it_was_written_whatever_the_schema_says_now() {
    let file = TestFile::new().await;
    let memory = file.memory("jordan").await;
    let old = json!({ "plan": "Legacy" });
    memory.update_profile(old.clone(), None).await.unwrap();
    let only_pro: ProfileCheck = std::sync::Arc::new(|profile| match profile["plan"].as_str() {
        Some("Pro") => Ok(()),
        _ => Err("`/plan` must be Pro".to_owned()),
    });
    let refused = memory.update_profile(json!({ "name": "Jordan" }), Some(only_pro));
    assert!(refused.await.is_err());
    assert_eq!(Value::Object(memory.profile().await.unwrap()), old);
}

#[tokio::test]
async fn clearing_a_profile_leaves_those_of_others_and_working_memory() {
    let file = TestFile::new().await;
    let (jordan, robin) = (file.memory("jordan").await, file.memory("robin").await);
    for memory in [&jordan, &robin] {
        memory
            .update_profile(json!({ "plan": "Pro" }), None)
            .await
            .unwrap();
        memory
            .set("profile", json!("a key of this name"))
            .await
            .unwrap();
    }
    jordan.clear_profile().await.unwrap();
    assert!(jordan.profile().await.unwrap().is_empty());
    assert_eq!(
        jordan.get("profile").await.unwrap(),
        Some(json!("a key of this name"))
    );
    assert_eq!(
        Value::Object(robin.profile().await.unwrap()),
        json!({ "plan": "Pro" })
    );
}
