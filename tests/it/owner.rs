//! The owner's rights: `host memory export`, `erase` and `why`.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::program::{Folder, Ran};

/// A memory with some of everything, learned in a conversation.
fn with_memory() -> Folder {
    let folder = Folder::new();
    folder
        .say(
            "support-agent",
            "Hi, I'm Jordan. I upgraded to the Pro plan on the 3rd.",
            &["--resource", "jordan"],
        )
        .succeeded();
    memory(&folder, &["set", "colour", "marmalade-green"]);
    folder.write(
        "facts.jsonl",
        [
            json!({ "content": "Jordan lives in marmalade street", "created_at": 10,
                "subject": "jordan", "attribute": "street", "metadata": { "n": [1, 2] } }),
            json!({ "content": "Jordan lives in tangerine street", "created_at": 20,
                "subject": "jordan", "attribute": "street", "thread": "t", "position": 2 }),
        ]
        .map(|line| line.to_string())
        .join("\n"),
    );
    memory(&folder, &["import", "--file", "facts.jsonl"]);
    folder
}

fn memory(folder: &Folder, arguments: &[&str]) -> Ran {
    let mut all = vec!["memory"];
    all.extend(arguments);
    all.extend(["--resource", "jordan"]);
    folder.host(&all).succeeded()
}

fn export(folder: &Folder, more: &[&str]) -> Vec<Value> {
    let mut arguments = vec!["export"];
    arguments.extend(more);
    memory(folder, &arguments)
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// What an export says that is the same wherever it was made.
fn lasting(mut lines: Vec<Value>) -> Vec<Value> {
    for line in &mut lines {
        let line = line.as_object_mut().unwrap();
        line.remove("exported_at");
        line.remove("verification");
    }
    lines
}

/// Whether a file of the data folder holds these bytes.
fn on_disk(folder: &Folder, text: &str) -> bool {
    fs::read_dir(folder.path().join(".keepsake"))
        .unwrap()
        .any(|entry| {
            let bytes = fs::read(entry.unwrap().path()).unwrap();
            bytes
                .windows(text.len())
                .any(|window| window.eq_ignore_ascii_case(text.as_bytes()))
        })
}

#[test]
fn an_export_comes_back_the_same_in_an_empty_data_folder() {
    let folder = with_memory();
    let lines = export(&folder, &["--vectors"]);
    let kinds: Vec<&str> = lines
        .iter()
        .map(|line| line["keepsake"].as_str().unwrap())
        .collect();
    assert_eq!(
        kinds,
        [
            "export", "profile", "working", "fact", "fact", "fact", "end"
        ]
    );
    assert_eq!(lines[3]["verification"], "verified", "{}", lines[3]);
    assert_eq!(lines[4]["superseded_by"], lines[5]["id"]);
    assert_eq!(lines[4]["valid_until"], 20);
    assert_eq!(lines[6]["facts"], 3);

    let other = Folder::new();
    let text: Vec<String> = lines.iter().map(Value::to_string).collect();
    other.write("export.jsonl", text.join("\n"));
    let import = ["memory", "import", "--file", "export.jsonl", "--json"];
    let done = other.host(&import).succeeded().json();
    assert_eq!(
        (
            &done["imported"],
            &done["working_keys"],
            &done["profiles"],
            &done["broken_off"]
        ),
        (&json!(3), &json!(1), &json!(1), &json!(false))
    );
    assert_eq!(
        lasting(export(&other, &["--vectors"])),
        lasting(lines.clone())
    );
    // Its sources are entries of another ledger.
    assert_eq!(export(&other, &[])[3]["verification"], "dangling");
    let again = other.host(&import).succeeded().json();
    assert_eq!(
        (&again["imported"], &again["repeated"]),
        (&json!(0), &json!(3))
    );
    assert_eq!(lasting(export(&other, &["--vectors"])), lasting(lines));
    other.host(&["ledger", "verify"]).succeeded();
    assert_eq!(
        other.recalled_by_vectors("which street does Jordan live in", &["--top-k", "1"]),
        ["Jordan lives in tangerine street"]
    );
}

#[test]
fn an_export_to_a_file_is_whole_private_and_told() {
    let folder = with_memory();
    let told = memory(&folder, &["export", "--file", "out.jsonl"]);
    assert!(
        told.stderr.contains("wrote 3 facts") && told.stdout.is_empty(),
        "{told:?}"
    );
    let path = folder.path().join("out.jsonl");
    let mode = fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.ends_with("}\n") && !text.contains("base64"), "{text}");
    let json = memory(&folder, &["export", "--file", "out.jsonl", "--json"]).json();
    assert_eq!(
        (&json["facts"], &json["file"]),
        (&json!(3), &json!("out.jsonl"))
    );
    folder
        .host(&[
            "memory",
            "export",
            "--resource",
            "jordan",
            "--file",
            "no/where.jsonl",
        ])
        .failed(1, &["cannot write `no/where.jsonl`"]);
    let nobody = folder
        .host(&["memory", "export", "--resource", "nobody"])
        .succeeded();
    assert_eq!(nobody.stdout.lines().count(), 2, "{nobody:?}");

    // What was broken off is restored, and that there was more is told.
    let broken: Vec<&str> = text.lines().take(4).collect();
    let other = Folder::new();
    other.write("broken.jsonl", broken.join("\n"));
    let done = other
        .host(&["memory", "import", "--file", "broken.jsonl", "--json"])
        .succeeded();
    assert_eq!(done.json()["broken_off"], true);
    assert!(done.stderr.contains("without its last line"), "{done:?}");
}

#[test]
fn an_erased_customer_is_in_no_file_and_the_ledger_holds() {
    let folder = with_memory();
    folder
        .say(
            "support-agent",
            "I like grapefruit.",
            &["--resource", "robin"],
        )
        .succeeded();
    let robin = folder.facts("robin");
    let personal = [
        "marmalade",
        "tangerine",
        "jordan",
        "I upgraded to the Pro plan",
    ];
    for text in personal {
        assert!(on_disk(&folder, text), "{text}");
    }
    folder
        .host(&["memory", "erase", "--resource", "jordan"])
        .failed(2, &["3 facts", "for good", "--yes"]);
    assert_eq!(folder.facts("jordan").len(), 2, "nothing was erased yet");

    let erased = memory(&folder, &["erase", "--yes", "--json"]).json();
    assert_eq!(erased["erased"]["facts"], 3);
    assert_eq!(erased["log_emptied"], true);
    for text in personal {
        assert!(!on_disk(&folder, text), "{text} is still there");
    }
    folder.host(&["ledger", "verify"]).succeeded();
    assert_eq!(folder.facts("robin"), robin);
    assert!(folder.facts("jordan").is_empty());
    let sessions = folder.host(&["sessions", "--json"]).succeeded().json();
    let known_as = &erased["known_as"];
    let named = |name: &Value| {
        let sessions = sessions["sessions"].as_array().unwrap();
        sessions
            .iter()
            .filter(|one| one["resource"] == *name)
            .count()
    };
    assert!(
        named(known_as) >= 3 && named(&json!("robin")) == 1,
        "{sessions}"
    );
    let again = memory(&folder, &["erase", "--yes"]);
    assert!(
        again.stderr.contains("nothing is known of jordan"),
        "{again:?}"
    );
}

#[test]
fn a_log_that_another_process_reads_from_is_told() {
    let folder = with_memory();
    let reader = rusqlite::Connection::open(folder.database()).unwrap();
    reader
        .execute_batch("BEGIN; SELECT count(*) FROM facts;")
        .unwrap();
    folder
        .host(&["memory", "erase", "--resource", "jordan", "--yes"])
        .failed(5, &["another process reads", "run the command again"]);
    drop(reader);
    memory(&folder, &["erase", "--yes"]);
    assert!(!on_disk(&folder, "marmalade"));
}

#[test]
fn what_reached_a_prompt_is_explained_from_its_receipt() {
    let folder = with_memory();
    let turn = folder
        .say(
            "support-agent",
            "Which plan am I on?",
            &["--resource", "jordan", "--json"],
        )
        .succeeded()
        .json();
    let session = turn["session"].as_str().unwrap();
    let snippet = folder.entries("snippet-built").pop().unwrap();
    assert_eq!(snippet["session"], session);
    let index = snippet["index"].to_string();
    let why = |entry: &str, more: &[&str]| {
        let mut arguments = vec!["memory", "why", entry];
        arguments.extend(more);
        folder.host(&arguments)
    };
    let explained = why(&index, &["--session", session, "--json"])
        .succeeded()
        .json();
    let receipt = &explained["receipts"][0];
    assert_eq!(receipt["question"]["query"], "Which plan am I on?");
    assert_eq!(receipt["question"]["model"], "static-minilm-256");
    let fact = &receipt["facts"][0];
    assert!(
        fact["content"].as_str().unwrap().contains("Pro plan"),
        "{fact}"
    );
    assert_eq!(
        (&fact["verification"], &fact["verification_now"]),
        (&json!("verified"), &json!("verified"))
    );
    assert!(
        fact["score"].is_number() && fact["cosine"].is_number(),
        "{fact}"
    );

    // The reply of that turn rests on the same receipts; the newest session is
    // the one that is meant.
    let reply = folder.entries("turn-completed").pop().unwrap();
    let of_reply = why(&reply["index"].to_string(), &["--json"])
        .succeeded()
        .json();
    assert!(
        of_reply["receipts"].as_array().unwrap().contains(receipt),
        "{of_reply}"
    );
    let text = why(&index, &[]).succeeded().stdout;
    assert!(
        text.contains("Pro plan") && text.contains("cosine"),
        "{text}"
    );

    // A fact that was forgotten since is not told again.
    let id = fact["fact"].as_str().unwrap().to_owned();
    memory(&folder, &["forget", &id]);
    let text = why(&index, &["--session", session]).succeeded().stdout;
    assert!(text.contains("forgotten since"), "{text}");
    why("9999", &["--session", session]).failed(1, &["no entry 9999", "host ledger show"]);
    why("0", &["--session", "nowhere"]).failed(1, &["there is no session `nowhere`"]);
    let first = why("0", &["--session", session]).succeeded();
    assert!(
        first.stderr.contains("nothing of memory was asked"),
        "{first:?}"
    );
}
