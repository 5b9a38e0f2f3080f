//! Providers are swapped with one line, by option, file or variable.

use keepsake_test_artifacts::{HASHED_EMBEDDINGS, MINIMAL_AGENT, UNRULY_AGENT};

use crate::program::Folder;

fn width(ran: crate::program::Ran) -> String {
    ran.succeeded().stdout.trim().to_owned()
}

#[test]
fn an_embedding_provider_is_swapped_by_option_file_or_variable() {
    let folder = Folder::new();
    let of_default = width(folder.unruly("embed hello"));
    let by_option = width(folder.say(
        UNRULY_AGENT,
        "embed hello",
        &["--embeddings", HASHED_EMBEDDINGS],
    ));
    assert_eq!(of_default, "256 numbers");
    let info = |ran: crate::program::Ran| ran.succeeded().json();
    assert!(by_option.ends_with("numbers"));
    let models = |folder: &Folder| -> Vec<String> {
        folder
            .entries("provider-called")
            .iter()
            .map(|entry| entry["payload"]["model"].as_str().unwrap().to_owned())
            .collect()
    };
    let called = models(&folder);
    assert_eq!(called.len(), 2);
    assert_eq!(called[0], "static-minilm-256");
    assert_ne!(called[1], called[0]);

    let folder = Folder::configured(&format!("embeddings = {HASHED_EMBEDDINGS:?}\n"));
    folder.unruly("embed hello").succeeded();
    assert_eq!(models(&folder), [called[1].clone()]);
    // A variable goes before the file, an option before both.
    let mut command = folder.command(&[
        "run",
        UNRULY_AGENT,
        "--resource",
        "jordan",
        "--json",
        "-m",
        "embed hello",
    ]);
    let ran = crate::program::finish(
        command
            .env("HOST_EMBEDDINGS", "embed-static")
            .spawn()
            .unwrap(),
    );
    info(ran);
    assert_eq!(models(&folder)[1], "static-minilm-256");
}

#[test]
fn facts_of_one_provider_are_found_by_their_words_with_another() {
    let folder = Folder::new();
    folder.unruly("remember Jordan likes green tea").succeeded();
    let ran = folder.say(
        UNRULY_AGENT,
        "recall green tea",
        &["--resource", "jordan", "--embeddings", HASHED_EMBEDDINGS],
    );
    assert!(ran.succeeded().stdout.contains("Jordan likes green tea"));
}

#[test]
fn facts_of_one_provider_are_embedded_anew_for_another() {
    let folder = Folder::new();
    folder.unruly("remember Jordan likes green tea").succeeded();
    let recall = || {
        folder
            .recalled_by_vectors("green tea", &["--embeddings", HASHED_EMBEDDINGS])
            .len()
    };
    let with_another = || {
        folder
            .say(
                UNRULY_AGENT,
                "recall green tea",
                &["--resource", "jordan", "--embeddings", HASHED_EMBEDDINGS],
            )
            .succeeded()
    };
    assert_eq!(recall(), 0, "vectors of two models were compared");
    let told = with_another().stderr;
    assert!(
        told.contains("1 facts of jordan")
            && told.contains("host memory reindex --resource jordan"),
        "{told}"
    );

    let reindexed = folder
        .host(&[
            "memory",
            "reindex",
            "--resource",
            "jordan",
            "--embeddings",
            HASHED_EMBEDDINGS,
            "--json",
        ])
        .succeeded()
        .json();
    assert_eq!(reindexed["embedded"], 1);
    assert_eq!(recall(), 1);
    assert!(!with_another().stderr.contains("reindex"));
    folder.host(&["ledger", "verify"]).succeeded();
}

#[test]
fn the_example_agent_remembers_across_processes() {
    let folder = Folder::new();
    folder
        .say(
            MINIMAL_AGENT,
            "My cat is called Miso.",
            &["--resource", "jordan"],
        )
        .succeeded();
    let ran = folder
        .say(
            MINIMAL_AGENT,
            "What is my cat called?",
            &["--resource", "jordan"],
        )
        .succeeded();
    assert!(ran.stdout.contains("Miso"), "{ran:?}");
}
