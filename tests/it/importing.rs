//! `host memory import`: a fact a line, all or none, once, and again after a kill.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::program::{Folder, Ran};

fn import(folder: &Folder, file: &str, more: &[&str]) -> Ran {
    let mut arguments = vec!["memory", "import", "--file", file];
    arguments.extend(more);
    folder.host(&arguments)
}

fn lines(lines: &[Value]) -> String {
    lines.iter().fold(String::new(), |mut text, line| {
        let _ = writeln!(text, "{line}");
        text
    })
}

/// So many facts of one customer, no two alike.
fn many(folder: &Folder, number: usize) -> PathBuf {
    let facts: Vec<Value> = (0..number)
        .map(|number| {
            json!({
                "content": format!("Jordan bought item {number} of the catalogue"),
                "thread": format!("order-{}", number / 10),
                "position": number % 10,
                "created_at": 1_700_000_000_000_u64 + number as u64,
            })
        })
        .collect();
    folder.write("many.jsonl", lines(&facts))
}

fn count(folder: &Folder) -> i64 {
    rusqlite::Connection::open(folder.database())
        .unwrap()
        .query_row("SELECT count(*) FROM facts", [], |row| row.get(0))
        .unwrap()
}

#[test]
fn each_line_is_a_fact_of_its_customer_with_its_times() {
    let folder = Folder::new();
    folder.write(
        "facts.jsonl",
        lines(&[
            json!({ "content": "Jordan likes green tea", "metadata": { "n": 1 },
                "created_at": "2023-05-08T13:56:00+02:00", "thread": "t", "position": 3,
                "subject": "jordan", "attribute": "drink", "turn": "D1:3" }),
            json!({ "resource": "robin", "content": "Robin likes coffee", "created_at": 1_000 }),
        ]),
    );
    let done = import(&folder, "facts.jsonl", &["--resource", "jordan", "--json"]);
    assert_eq!(
        done.succeeded().json(),
        json!({
            "imported": 2, "repeated": 0, "working_keys": 0, "profiles": 0, "skipped": 0,
            "bad_lines": [], "broken_off": false, "model": "static-minilm-256",
        })
    );
    let jordan = folder.facts("jordan").remove(0);
    for (name, expected) in [
        ("content", json!("Jordan likes green tea")),
        ("metadata", json!({ "n": 1 })),
        ("created_at", json!(1_683_546_960_000_u64)),
        ("subject", json!("jordan")),
        ("attribute", json!("drink")),
        ("verified", json!(false)),
    ] {
        assert_eq!(jordan[name], expected, "{name}");
    }
    assert_eq!(folder.facts("robin")[0]["created_at"], 1_000);
    assert_eq!(
        folder.recalled_by_vectors("what does Jordan drink", &[]),
        ["Jordan likes green tea"]
    );
    folder.host(&["ledger", "verify"]).succeeded();
}

#[test]
fn a_file_that_was_imported_changes_nothing_the_second_time() {
    let folder = Folder::new();
    let same = json!({ "content": "Jordan likes tea", "thread": "a", "created_at": 5 });
    let untimed = json!({ "content": "Jordan likes rain" });
    let other = json!({ "content": "Jordan likes tea", "thread": "b", "created_at": 5 });
    folder.write("facts.jsonl", lines(&[same.clone(), untimed, other, same]));
    let run = || {
        let ran = import(&folder, "facts.jsonl", &["--resource", "jordan", "--json"]);
        let done = ran.succeeded().json();
        (done["imported"].clone(), done["repeated"].clone())
    };
    assert_eq!(run(), (json!(3), json!(1)));
    let before = folder.facts("jordan");
    assert_eq!(run(), (json!(0), json!(4)));
    assert_eq!(folder.facts("jordan"), before);
    let text = import(&folder, "facts.jsonl", &["--resource", "jordan"]).succeeded();
    assert!(
        text.stderr
            .contains("imported 0 facts; 4 were there already")
            && text.stdout.is_empty(),
        "{text:?}"
    );
}

#[test]
fn bad_lines_are_named_before_anything_is_written() {
    let folder = Folder::new();
    let mut text = lines(&[json!({ "content": "Jordan likes tea" })]);
    text.push_str("\nno json\n{\"content\": 7}\n");
    for _ in 0..20 {
        text.push_str("{\"content\": \"\"}\n");
    }
    folder.write("facts.jsonl", &text);
    let refused = import(&folder, "facts.jsonl", &["--resource", "jordan"]).failed(
        2,
        &[
            "22 of the lines",
            "nothing was",
            "line 3: it is not JSON",
            "line 4: `content` must be a text, and is 7",
            "line 12: a fact must not be empty",
            "and 12 more",
            "--skip-bad",
        ],
    );
    assert!(!refused.stderr.contains("line 13"), "{refused:?}");
    assert!(
        !folder.path().join(".keepsake").exists(),
        "something was made"
    );

    let skipped = import(
        &folder,
        "facts.jsonl",
        &["--resource", "jordan", "--skip-bad", "--json"],
    )
    .succeeded()
    .json();
    assert_eq!(
        (&skipped["imported"], &skipped["skipped"]),
        (&json!(1), &json!(22))
    );
    assert_eq!(skipped["bad_lines"][0]["line"], 3);
    assert_eq!(skipped["bad_lines"].as_array().unwrap().len(), 10);
    assert_eq!(folder.facts("jordan").len(), 1);
}

#[test]
fn a_line_that_names_nobody_needs_the_option() {
    let folder = Folder::new();
    folder.write("facts.jsonl", lines(&[json!({ "content": "tea" })]));
    import(&folder, "facts.jsonl", &[]).failed(2, &["line 1", "--resource"]);
    import(&folder, "nowhere.jsonl", &[]).failed(2, &["cannot read `nowhere.jsonl`"]);
    import(&folder, ".", &[]).failed(2, &["cannot read `.`", "folder"]);
}

#[test]
fn standard_input_is_imported_up_to_its_first_bad_line() {
    let folder = Folder::new();
    let input = lines(&[json!({ "content": "one" }), json!({ "content": "two" })]);
    let arguments = ["memory", "import", "--resource", "jordan", "--file", "-"];
    let broken = format!("{input}three\n{}", lines(&[json!({ "content": "four" })]));
    folder
        .host_with_input(&arguments, broken.as_bytes())
        .failed(2, &["line 3 cannot be imported", "not imported twice"]);
    assert_eq!(count(&folder), 2);
    let mended = input + &lines(&[json!({ "content": "three" }), json!({ "content": "four" })]);
    folder
        .host_with_input(&arguments, mended.as_bytes())
        .succeeded();
    assert_eq!(count(&folder), 4);
}

#[test]
fn an_import_that_was_killed_goes_on_and_each_fact_is_there_once() {
    let folder = Folder::new();
    let number = 20_000;
    many(&folder, number);
    let arguments = [
        "memory",
        "import",
        "--resource",
        "jordan",
        "--file",
        "many.jsonl",
    ];
    let mut kills = 0;
    // Killed at several points, and each time a little further on.
    for goal in [1, 4_000, 9_000] {
        let mut child = folder.command(&arguments).spawn().unwrap();
        let began = Instant::now();
        let reached = loop {
            if child.try_wait().unwrap().is_some() {
                break false;
            }
            if folder.database().exists() && written(&folder) >= goal {
                break true;
            }
            assert!(
                began.elapsed() < Duration::from_secs(120),
                "nothing is written"
            );
            std::thread::sleep(Duration::from_millis(2));
        };
        if reached {
            child.kill().unwrap();
            kills += 1;
        }
        child.wait().unwrap();
        let left = written(&folder);
        assert_eq!(
            left % 1_000,
            0,
            "a batch is there whole or not at all: {left}"
        );
    }
    assert!(kills > 0, "it was never caught at work");
    let ran = folder.host(&[
        "memory",
        "import",
        "--resource",
        "jordan",
        "--file",
        "many.jsonl",
        "--json",
    ]);
    let done = ran.succeeded().json();
    assert!(done["repeated"].as_u64().unwrap() >= 1, "{done}");
    let database = rusqlite::Connection::open(folder.database()).unwrap();
    let counts: (usize, usize, usize) = database
        .query_row(
            "SELECT (SELECT count(*) FROM facts), (SELECT count(DISTINCT content) FROM facts),
                    (SELECT count(*) FROM vectors)",
            [],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
        )
        .unwrap();
    assert_eq!(counts, (number, number, number));
    folder.host(&["ledger", "verify"]).succeeded();
}

/// Facts that are there while another process writes.
fn written(folder: &Folder) -> i64 {
    rusqlite::Connection::open(folder.database())
        .and_then(|database| database.query_row("SELECT count(*) FROM facts", [], |row| row.get(0)))
        .unwrap_or(0)
}

#[test]
fn facts_of_many_customers_in_one_file_go_to_each_of_them() {
    let folder = Folder::new();
    let facts: Vec<Value> = (0..3_000)
        .map(|number| {
            json!({ "resource": format!("customer-{}", number % 1_500), "content": format!("bought item {number}") })
        })
        .collect();
    folder.write("facts.jsonl", lines(&facts));
    let done = import(&folder, "facts.jsonl", &["--json"])
        .succeeded()
        .json();
    assert_eq!(done["imported"], 3_000);
    let mut found = folder.facts("customer-700");
    found.sort_by_key(|fact| fact["content"].to_string());
    assert_eq!(
        found
            .iter()
            .map(|fact| &fact["content"])
            .collect::<Vec<_>>(),
        ["bought item 2200", "bought item 700"]
    );
    let sessions = folder
        .host(&["sessions", "--limit", "10000", "--json"])
        .succeeded()
        .json();
    for session in sessions["sessions"].as_array().unwrap() {
        assert_eq!(session["status"], "ended");
    }
}

#[test]
fn a_provider_that_fails_is_told_with_what_was_imported() {
    let folder = Folder::configured(&format!(
        "embeddings = {:?}\n\n[settings.unruly-embeddings]\nmisbehave = \"unavailable\"\n",
        keepsake_test_artifacts::UNRULY_EMBEDDINGS
    ));
    many(&folder, 2_500);
    import(&folder, "many.jsonl", &["--resource", "jordan"]).failed(
        3,
        &[
            "try later",
            "0 facts were imported",
            "running the command again goes on",
        ],
    );
}
