//! A session that goes on in another process, with a model that is reminded of
//! what was said.

use serde_json::Value;

use crate::http_providers::said;
use crate::http_server::{Request, Server};
use crate::program::{Folder, Ran};

/// The rules of a question that asks for a summary.
fn asks_for_a_summary(request: &Request) -> bool {
    request.body.contains("Sum up the conversation")
}

fn configured(server: &Server, context_tokens: u32) -> Folder {
    Folder::configured(&format!(
        "model = \"model-openai\"\n[settings.model-openai]\nbase-url = {:?}\nmodel = \"m\"\n\
         context-tokens = {context_tokens}\n",
        server.url()
    ))
}

fn say(folder: &Folder, message: &str) -> Ran {
    let mut command = folder.support(&["--session", "s", "-m", message]);
    crate::program::finish(command.spawn().unwrap()).succeeded()
}

/// The texts that the model was last reminded of, without the rules.
fn reminded(server: &Server) -> Vec<String> {
    let asked = server.requests();
    let last = asked
        .iter()
        .rev()
        .find(|it| !asks_for_a_summary(it))
        .unwrap();
    let messages = last.json()["messages"].as_array().unwrap().clone();
    let texts = messages
        .iter()
        .filter(|message| message["role"] != "system");
    texts
        .map(|it| it["content"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn another_process_goes_on_with_what_was_said() {
    let server = Server::start(|_, number| said(&format!("Answer {number}.")));
    let folder = configured(&server, 32_000);
    say(&folder, "My printer jams.");
    say(&folder, "It is the old one.");
    say(&folder, "What now?");
    assert_eq!(
        reminded(&server),
        [
            "My printer jams.",
            "Answer 0.",
            "It is the old one.",
            "Answer 1.",
            "What now?"
        ]
    );
    // Another session knows nothing of it but what memory holds.
    let mut command = folder.support(&["-m", "Hello"]);
    crate::program::finish(command.spawn().unwrap()).succeeded();
    assert_eq!(reminded(&server), ["Hello"]);
}

#[test]
fn a_conversation_that_outgrows_the_model_is_summed_up_and_goes_on() {
    let server = Server::start(|request, _| match asks_for_a_summary(request) {
        true => said("The customer's printer is called Gutenberg."),
        false => said(&format!("I see. {}", "Indeed. ".repeat(30))),
    });
    let folder = configured(&server, 1_200);
    say(&folder, "My printer is called Gutenberg.");
    for number in 0..6 {
        say(&folder, &format!("And another thing, number {number}."));
    }
    let asked = server.requests();
    let summaries: Vec<_> = asked.iter().filter(|it| asks_for_a_summary(it)).collect();
    assert!(
        !summaries.is_empty() && summaries.len() < 4,
        "{}",
        summaries.len()
    );
    assert!(summaries[0].body.contains("called Gutenberg"));
    let last = asked.last().unwrap().json();
    let rules = last["messages"][0]["content"].as_str().unwrap();
    assert!(
        rules.contains("The customer's printer is called Gutenberg."),
        "{rules}"
    );
    let texts = reminded(&server);
    assert!(
        !texts[0].contains("Gutenberg") && texts.len() >= 3,
        "{texts:?}"
    );
    // It counts, and is recorded, as every question to a model.
    assert_eq!(folder.entries("model-called").len(), asked.len());
    let list = folder.host(&["memory", "list", "--resource", "jordan", "--json"]);
    let list: Value = list.succeeded().json();
    assert!(list.to_string().contains("_conversation/s"), "{list}");
}
