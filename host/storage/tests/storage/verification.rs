//! What a verification tells, whatever it finds.

use serde_json::json;

use crate::common::{TestFile, assert_not_found};
use crate::tampering::{entry, ledger, names};

#[tokio::test]
async fn what_nobody_touched_is_intact() {
    let file = TestFile::new().await;
    let empty = file.database.verify(None).await.unwrap();
    assert!(empty.intact && empty.entries == 0 && empty.heads.is_empty());

    let file = ledger().await;
    file.database.end_session("a", json!({})).await.unwrap();
    file.command("b", "after another session ended").await;
    let whole = file.database.verify(None).await.unwrap();
    assert!(whole.intact, "{:?}", whole.faults);
    assert_eq!((whole.sessions, whole.entries), (3, 20));
    let heads: Vec<(&str, u64)> = whole
        .heads
        .iter()
        .map(|head| (head.session.as_str(), head.entries))
        .collect();
    assert_eq!(heads, [("a", 7), ("b", 7), ("c", 6)]);
    let one = file.database.verify(Some("b")).await.unwrap();
    assert!(one.intact);
    assert_eq!((one.sessions, one.entries), (1, 7));
    assert_eq!(one.heads[0], whole.heads[1]);
}

#[tokio::test]
async fn a_session_by_itself_says_nothing_of_the_others() {
    let file = ledger().await;
    file.tamper(&format!(
        "UPDATE entries SET at = at + 1 WHERE {}",
        entry(2)
    ));
    assert!(file.database.verify(Some("a")).await.unwrap().intact);
    assert!(file.database.verify(Some("c")).await.unwrap().intact);
    assert!(!file.database.verify(Some("b")).await.unwrap().intact);
    assert_not_found(file.database.verify(Some("d")).await);
    assert_not_found(file.database.verify(Some("")).await);
}

#[tokio::test]
async fn faults_are_listed_up_to_a_bound() {
    let file = TestFile::new().await;
    file.session_with_commands("a", "jordan", 1_100).await;
    file.tamper("UPDATE entries SET hash = zeroblob(32)");
    let report = file.database.verify(None).await.unwrap();
    assert_eq!(report.faults.len(), 1_000);
    assert!(report.more_faults && !report.intact);
    assert_eq!(report.entries, 1_101);
}

#[tokio::test]
async fn a_ledger_goes_on_after_tampering_and_still_says_so() {
    let file = ledger().await;
    file.tamper(&format!(
        "UPDATE entries SET at = at + 1 WHERE {}",
        entry(2)
    ));
    file.command("b", "later").await;
    let report = file.database.verify(None).await.unwrap();
    assert_eq!(report.faults.len(), 1, "{report:#?}");
    assert!(names(&report, "b", Some(2), "was changed"));
}
