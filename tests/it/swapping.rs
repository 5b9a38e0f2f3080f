//! Providers are swapped with one line, by option, file or variable.

use keepsake_test_artifacts::{HASHED_EMBEDDINGS, MINIMAL_AGENT, SUMMARISING_AGENT, UNRULY_AGENT};

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
            && told.contains("host memory reindex --resource jordan")
            && told.contains("1 facts were embedded"),
        "{told}"
    );
    // Even a run of one message embeds some of them in the background.
    assert_eq!(recall(), 1);
    assert!(!with_another().stderr.contains("reindex"));

    // Back again, in the foreground.
    let reindexed = folder
        .host(&["memory", "reindex", "--resource", "jordan", "--json"])
        .succeeded()
        .json();
    assert_eq!(reindexed["embedded"], 1);
    assert_eq!(recall(), 0);
    assert_eq!(folder.recalled_by_vectors("green tea", &[]).len(), 1);
    folder.host(&["ledger", "verify"]).succeeded();
}

#[test]
fn facts_are_embedded_anew_beside_a_conversation_and_found_by_words_meanwhile() {
    let folder = Folder::new();
    folder
        .host_with_input(
            &["run", SUMMARISING_AGENT, "--resource", "jordan"],
            b"many 300\nremember Jordan likes green tea\n",
        )
        .succeeded();
    let run = |input: &str| {
        let arguments = [
            "run",
            SUMMARISING_AGENT,
            "--resource",
            "jordan",
            "--embeddings",
            HASHED_EMBEDDINGS,
        ];
        folder
            .host_with_input(&arguments, input.as_bytes())
            .succeeded()
    };
    // Whatever a run leaves, the next ones go on with.
    let mut runs = 0;
    loop {
        let ran = run("recall green tea\nrecall green tea\n");
        let found = ran.stdout.matches("Jordan likes green tea").count();
        assert_eq!(found, 2, "{ran:?}");
        if !ran.stderr.contains("have no vectors") {
            break;
        }
        runs += 1;
        assert!(runs <= 6, "nothing gets on: {ran:?}");
    }
    let found = folder.recalled_by_vectors("green tea", &["--embeddings", HASHED_EMBEDDINGS]);
    assert_eq!(found[0], "Jordan likes green tea");
    let background = folder
        .entries("provider-called")
        .into_iter()
        .filter(|entry| {
            entry["payload"]["background"] == true && entry["payload"]["error"].is_null()
        });
    let texts: u64 = background
        .map(|entry| entry["payload"]["texts"].as_u64().unwrap())
        .sum();
    assert_eq!(texts, 301);
}

#[test]
fn a_query_that_was_asked_before_is_not_embedded_again() {
    let folder = Folder::new();
    let arguments = ["run", SUMMARISING_AGENT, "--resource", "jordan"];
    let input =
        b"remember Jordan likes green tea\nrecall which tea\nrecall which tea\nrecall a cup\n";
    folder.host_with_input(&arguments, input).succeeded();
    let queries = folder
        .entries("provider-called")
        .into_iter()
        .filter(|entry| entry["payload"]["kind"] == "query");
    assert_eq!(queries.count(), 2);
}

#[test]
fn a_sentence_deep_in_a_long_text_is_found() {
    let folder = Folder::new();
    let filler = "The weather was mild and nothing else happened on that day. ";
    let mut text = filler.repeat(1_000);
    let deep = text.len() - 10 * filler.len();
    text.insert_str(deep, "Jordan's parrot is called Captain Biscuit. ");
    assert!(text.len() <= 64 * 1024);
    // One line: it is one message.
    let mut input = format!("remember {text}\nmany 30\n");
    let questions = [
        "what is Jordan's parrot called",
        "who is Captain Biscuit",
        "a parrot",
    ];
    for question in questions {
        input.push_str(&format!("recall {question}\n"));
    }
    let arguments = ["run", SUMMARISING_AGENT, "--resource", "jordan"];
    let ran = folder
        .host_with_input(&arguments, input.as_bytes())
        .succeeded();
    assert_eq!(ran.stdout.matches("Captain Biscuit").count(), 3, "{ran:?}");
    let passages = folder.entries("provider-called");
    assert!(
        passages
            .iter()
            .all(|entry| entry["payload"]["error"].is_null())
    );
    assert_eq!(folder.facts("jordan").len(), 31);
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
