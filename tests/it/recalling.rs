//! `host memory recall` and which facts it may give.

use std::fmt::Write as _;

use serde_json::json;

use crate::program::{Folder, Ran};

/// Two plans one after the other and two orders.
fn folder() -> Folder {
    let folder = Folder::new();
    let mut lines = String::new();
    for (day, content, attribute, metadata) in [
        (
            "2026-01-05",
            "Jordan's plan is Free",
            Some("plan"),
            json!({}),
        ),
        (
            "2026-03-01",
            "Jordan's plan is Pro",
            Some("plan"),
            json!({}),
        ),
        (
            "2026-02-01",
            "Jordan ordered a lamp",
            None,
            json!({ "shop": "north", "items": 1 }),
        ),
        (
            "2026-04-01",
            "Jordan ordered two chairs",
            None,
            json!({ "shop": "south", "items": 2 }),
        ),
    ] {
        let line = json!({
            "content": content, "created_at": format!("{day}T12:00:00Z"), "metadata": metadata,
            "subject": attribute.map(|_| "jordan"), "attribute": attribute,
        });
        let _ = writeln!(lines, "{line}");
    }
    let file = folder.write("facts.jsonl", lines);
    let file = file.to_str().unwrap();
    folder
        .host(&["memory", "import", "--resource", "jordan", "--file", file])
        .succeeded();
    folder
}

fn recall(folder: &Folder, query: &str, more: &[&str]) -> Ran {
    let mut arguments = vec!["memory", "recall", "--resource", "jordan", query];
    arguments.extend(more);
    folder.host(&arguments)
}

fn texts(folder: &Folder, query: &str, more: &[&str]) -> Vec<String> {
    let mut all = vec!["--json", "--mode", "words"];
    all.extend(more);
    let answer = recall(folder, query, &all).succeeded().json();
    let facts = answer["facts"].as_array().unwrap();
    let mut texts: Vec<String> = facts
        .iter()
        .map(|fact| fact["content"].as_str().unwrap().to_owned())
        .collect();
    texts.sort();
    texts
}

#[test]
fn a_recall_gives_what_holds_now_or_held_at_a_time_or_all_of_it() {
    let folder = folder();
    let plan = |more: &[&str]| texts(&folder, "which plan", more);
    assert_eq!(plan(&[]), ["Jordan's plan is Pro"]);
    assert_eq!(plan(&["--as-of", "2026-02-01"]), ["Jordan's plan is Free"]);
    assert_eq!(
        plan(&["--as-of", "2026-03-01T12:00:01Z"]),
        ["Jordan's plan is Pro"]
    );
    assert!(plan(&["--as-of", "2025-12-31"]).is_empty());
    assert_eq!(
        plan(&["--include-superseded"]),
        ["Jordan's plan is Free", "Jordan's plan is Pro"]
    );
}

#[test]
fn a_recall_is_narrowed_by_time_metadata_and_verification() {
    let folder = folder();
    let ordered = |more: &[&str]| texts(&folder, "ordered", more);
    let (lamp, chairs) = ("Jordan ordered a lamp", "Jordan ordered two chairs");
    assert_eq!(ordered(&[]), [lamp, chairs]);
    assert_eq!(ordered(&["--since", "2026-03-01"]), [chairs]);
    assert_eq!(ordered(&["--until", "2026-03-01"]), [lamp]);
    assert!(ordered(&["--since", "2026-02-02", "--until", "2026-03-31"]).is_empty());
    assert_eq!(ordered(&["--metadata", "shop=north"]), [lamp]);
    assert_eq!(ordered(&["--metadata", "items=2"]), [chairs]);
    assert!(ordered(&["--metadata", "items=\"2\""]).is_empty());
    assert!(ordered(&["--metadata", "shop=north", "--metadata", "items=2"]).is_empty());
    assert!(ordered(&["--verified-only"]).is_empty());
}

#[test]
fn a_recall_explained_says_ranks_and_age() {
    let folder = folder();
    let told = recall(
        &folder,
        "ordered a lamp",
        &["--explain", "--as-of", "2026-02-08", "--top-k", "1"],
    );
    let told = told.succeeded().stdout;
    assert!(told.contains("Jordan ordered a lamp"), "{told}");
    assert!(
        told.contains("word rank 1, vector rank 1, cosine 0."),
        "{told}"
    );
    assert!(told.contains(", 7 days ago"), "{told}");
}

#[test]
fn what_cannot_be_asked_is_told_with_what_can() {
    let folder = Folder::new();
    for (arguments, told) in [
        (["--as-of", "yesterday"], "2026-12-31"),
        (["--metadata", "shop"], "plan=Pro"),
        (["--top-k", "0"], "1..=1000"),
    ] {
        recall(&folder, "which plan", &arguments).failed(2, &[told]);
    }
}
