//! What an agent is reminded of, as a conversation outgrows its room.

use keepsake_sdk::model::{Answer, ModelInfo, Request, Response};
use keepsake_sdk::testing::{Host, Part};
use keepsake_sdk::{
    Agent, Context, Conversation, Description, Error, ModelProvider, Reply, Result, SUMMARY_BYTES,
    Session, Turn,
};
use serde_json::{Value, json};

const ROOM: usize = 2_000;

/// An agent that repeats its message and tells what it was reminded of.
struct Parrot;

impl Agent for Parrot {
    fn describe() -> Description {
        Description::new("parrot", "0.1.0", "Repeats what it hears.")
    }

    fn handle(session: &Session, turn: Turn) -> Result<Reply> {
        session.conversation(ROOM)?;
        if turn.message == "fail" {
            return Err(Error::invalid("as you wish"));
        }
        Ok(Reply::new(format!("You said: {}", turn.message)))
    }
}

/// A model that says in its summary which parts it was given.
struct Summing;

impl ModelProvider for Summing {
    fn info(_: &Context) -> Result<ModelInfo> {
        Ok(ModelInfo::new("summing"))
    }

    fn chat(_: &Context, request: Request) -> Result<Answer> {
        let text = &request.messages[1].content;
        let parts: Vec<_> = (0..40)
            .filter(|n| text.contains(&format!("(no. {n})")))
            .collect();
        let before = text.contains("What came before, in short: ");
        Ok(Answer::whole(Response::text(
            "summing",
            format!("before: {before}, parts {parts:?}"),
        )))
    }
}

fn talk(host: &Host, turns: std::ops::Range<usize>) {
    for number in turns {
        let message = format!("{} (no. {number})", "long ".repeat(20));
        host.turn::<Parrot>(&message).unwrap();
    }
}

fn reminded(host: &Host) -> Conversation {
    host.session().conversation(ROOM).unwrap()
}

/// Which numbers stand in what is word for word.
fn word_for_word(conversation: &Conversation) -> Vec<usize> {
    let said = |number: &usize| {
        let number = format!("(no. {number})");
        let mut exchanges = conversation.exchanges.iter();
        exchanges.any(|exchange| exchange.message.contains(&number))
    };
    (0..40).filter(said).collect()
}

#[test]
fn what_fits_is_told_word_for_word_and_turns_that_failed_are_not() {
    let host = Host::new();
    assert_eq!(reminded(&host), Conversation::default());
    host.turn::<Parrot>("Hello").unwrap();
    host.turn::<Parrot>("fail").unwrap_err();
    host.turn::<Parrot>("And?").unwrap();
    let conversation = reminded(&host);
    let texts: Vec<_> = conversation
        .messages()
        .into_iter()
        .map(|message| message.content)
        .collect();
    assert_eq!(
        texts,
        ["Hello", "You said: Hello", "And?", "You said: And?"]
    );
    assert_eq!(conversation.summary, None);
    assert!(host.requests().is_empty(), "no model was asked");
    host.new_session();
    assert_eq!(reminded(&host), Conversation::default());
}

#[test]
fn older_turns_are_summed_up_once_in_a_while_and_none_is_lost() {
    let host = Host::new().model::<Summing>();
    talk(&host, 0..30);
    let conversation = reminded(&host);
    let kept = word_for_word(&conversation);
    let asked = host.requests();
    assert!(
        !kept.is_empty() && asked.len() > 1 && asked.len() < 12,
        "{}",
        asked.len()
    );
    // Each turn stands in one of the summaries, or is there word for word.
    for number in 0..30 {
        let told = format!("(no. {number})");
        let summed = asked
            .iter()
            .any(|it| it.messages[1].content.contains(&told));
        assert!(summed || kept.contains(&number), "{number} is lost");
    }
    let summary = conversation.summary.unwrap();
    assert!(summary.starts_with("before: true"), "{summary}");
    let bytes: usize = conversation
        .exchanges
        .iter()
        .map(|it| it.message.len() + it.reply.len())
        .sum();
    assert!(bytes <= ROOM, "{bytes}");
}

#[test]
fn a_model_that_does_not_sum_up_leaves_the_beginnings() {
    /// As the model that only quotes.
    struct Quoting;
    impl ModelProvider for Quoting {
        fn info(_: &Context) -> Result<ModelInfo> {
            let mut info = ModelInfo::new("quoting");
            info.extras = Some(json!({ "summarises": false }).to_string());
            Ok(info)
        }

        fn chat(_: &Context, _: Request) -> Result<Answer> {
            panic!("it is not asked")
        }
    }
    let quoting = Host::new().model::<Quoting>();
    // Nor does one that is away.
    let away = Host::new().broken(Part::Model, Error::unavailable("away"));
    for host in [quoting, away] {
        talk(&host, 0..12);
        let conversation = reminded(&host);
        let summary = conversation.summary.clone().unwrap();
        assert!(
            summary.len() <= SUMMARY_BYTES.min(ROOM / 4),
            "{}",
            summary.len()
        );
        assert!(summary.contains("Customer: long long"), "{summary}");
        assert!(word_for_word(&conversation).contains(&11));
    }
}

#[test]
fn a_very_long_message_is_cut_and_leaves_room_for_others() {
    let host = Host::new().model::<Summing>();
    host.turn::<Parrot>(&"ä".repeat(100_000)).unwrap();
    host.turn::<Parrot>("short").unwrap();
    let conversation = reminded(&host);
    assert_eq!(conversation.exchanges.len(), 2);
    assert!(conversation.exchanges[0].message.len() < ROOM / 2);
}

#[test]
fn a_summary_that_another_wrote_in_its_place_is_passed_over() {
    let host = Host::new();
    host.turn::<Parrot>("Hello").unwrap();
    let key = format!("_conversation/{}", host.session().info().session);
    let scope = host.session().scope().unwrap();
    for value in [json!("mine"), json!({ "through": "all" }), Value::Null] {
        scope.set(&key, &value).unwrap();
        assert_eq!(reminded(&host).exchanges.len(), 1);
    }
}
