//! What a session has asked of models, read from its entries.

use keepsake_storage::{Kind, ModelUse};
use serde_json::json;

use crate::common::{TestFile, assert_not_found};

#[tokio::test]
async fn what_a_session_asked_of_models_is_the_sum_of_its_own_entries() {
    let file = TestFile::new().await;
    for id in ["a", "b"] {
        file.session_with_commands(id, "jordan", 1).await;
    }
    let none = file.database.model_use("a").await.unwrap();
    assert_eq!(none, ModelUse::default());
    for payload in [
        json!({ "tokens": 30, "usage": { "input_tokens": 1, "output_tokens": 1 } }),
        // As hosts wrote it that kept no budget.
        json!({ "usage": { "input_tokens": 7, "output_tokens": 2 } }),
        json!({ "usage": null, "finish": "abandoned" }),
    ] {
        let appended = file.database.append("a", Kind::ModelCalled, payload);
        appended.await.unwrap();
    }
    let used = file.database.model_use("a").await.unwrap();
    assert_eq!((used.calls, used.tokens), (3, 39));
    let other = file.database.model_use("b").await.unwrap();
    assert_eq!(other, ModelUse::default());
    assert_not_found(file.database.model_use("c").await);
}

#[tokio::test]
async fn entries_that_were_erased_altered_or_absurd_still_count_as_questions() {
    let file = TestFile::new().await;
    file.session_with_commands("a", "jordan", 0).await;
    for payload in [
        json!({ "tokens": 30 }),
        json!({ "tokens": u64::MAX }),
        json!({ "tokens": "many" }),
    ] {
        let appended = file.database.append("a", Kind::ModelCalled, payload);
        appended.await.unwrap();
    }
    let used = file.database.model_use("a").await.unwrap();
    assert_eq!((used.calls, used.tokens), (3, u64::MAX));
    file.tamper("UPDATE entries SET payload = NULL WHERE place = 1");
    file.tamper("UPDATE entries SET payload = '{' WHERE place = 2");
    let used = file.database.model_use("a").await.unwrap();
    assert_eq!((used.calls, used.tokens), (3, 0));
}
