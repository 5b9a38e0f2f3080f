//! The loop of an agent: ask the model, run the tools that it wants, tell it
//! their answers, until it has a final message.

use crate::error::{Error, Result};
use crate::model::{Delta, FinishReason, Message, Request, Response, Usage};
use crate::session::Session;
use crate::tool::Toolbox;

/// Model answers of one loop, unless another number is asked for.
pub const ROUNDS: u32 = 8;
/// Calls that are run of one model answer; the rest are told to wait.
pub const CALLS_PER_ROUND: usize = 16;
/// Bytes of one tool's answer that the model is given.
pub const TOOL_ANSWER_BYTES: usize = 32 * 1_024;

/// A bounded loop over a toolbox.
///
/// ```
/// use keepsake_sdk::testing::Host;
/// use keepsake_sdk::{AgentLoop, memory_tools, model::Message, tool::Toolbox};
///
/// let host = Host::new().model_says("Hello, Jordan!");
/// let toolbox = Toolbox::new().with_all(memory_tools());
/// let outcome = AgentLoop::new(&toolbox)
///     .run(&host.session(), vec![Message::user("Hi!")])
///     .unwrap();
/// assert_eq!(outcome.text, "Hello, Jordan!");
/// ```
pub struct AgentLoop<'a> {
    toolbox: &'a Toolbox<'a>,
    rounds: u32,
    stream: bool,
    temperature: Option<f32>,
    max_tokens: Option<u32>,
}

/// How a loop ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// All that the model said to the customer, with an empty line between
    /// what it said before and after tools. Where the loop streams, the
    /// customer has seen exactly this.
    pub text: String,
    /// Why the last answer ended.
    pub finish_reason: FinishReason,
    /// How many times the model was asked.
    pub rounds: u32,
    /// The tools that were run, in order.
    pub calls: Vec<CallMade>,
    /// What all answers cost together; none when the provider does not count.
    pub usage: Option<Usage>,
    /// The whole conversation with all that came to it.
    pub messages: Vec<Message>,
}

/// A tool that was run.
#[derive(Clone, Debug, PartialEq)]
pub struct CallMade {
    /// The tool's name.
    pub name: String,
    /// What the model gave it, as JSON.
    pub arguments: String,
    /// What it answered, as JSON.
    pub answer: String,
    /// Whether it failed.
    pub failed: bool,
}

impl<'a> AgentLoop<'a> {
    /// A loop that streams, with at most [`ROUNDS`] model answers.
    pub fn new(toolbox: &'a Toolbox<'a>) -> Self {
        Self {
            toolbox,
            rounds: ROUNDS,
            stream: true,
            temperature: None,
            max_tokens: None,
        }
    }

    /// At most so many model answers, at least 1.
    #[must_use]
    pub fn rounds(mut self, rounds: u32) -> Self {
        self.rounds = rounds.max(1);
        self
    }

    /// Whether text is shown to the customer as it comes.
    #[must_use]
    pub fn stream(mut self, stream: bool) -> Self {
        self.stream = stream;
        self
    }

    /// How freely the model chooses.
    #[must_use]
    pub fn temperature(mut self, temperature: f32) -> Self {
        self.temperature = Some(temperature);
        self
    }

    /// At most so many tokens an answer.
    #[must_use]
    pub fn max_tokens(mut self, tokens: u32) -> Self {
        self.max_tokens = Some(tokens);
        self
    }

    /// Runs the loop on a conversation. In the last round no tools are
    /// offered, so that the model has to answer.
    ///
    /// # Errors
    /// What the model answers with, and [`Error::Limit`] `agent-rounds` when it
    /// still wants tools at the end. What tools answer with is told to the
    /// model and no error.
    pub fn run(&self, session: &Session, messages: Vec<Message>) -> Result<Outcome> {
        let mut outcome = Outcome {
            text: String::new(),
            finish_reason: FinishReason::Stop,
            rounds: 0,
            calls: Vec::new(),
            usage: None,
            messages,
        };
        let tools = self.toolbox.definitions();
        for round in 1..=self.rounds {
            let mut request = Request::new(outcome.messages.clone());
            request.temperature = self.temperature;
            request.max_tokens = self.max_tokens;
            if round < self.rounds || self.rounds == 1 {
                request.tools.clone_from(&tools);
            }
            let response = self.ask(session, &request, &mut outcome.text)?;
            outcome.rounds = round;
            outcome.usage = sum(outcome.usage, response.usage);
            outcome.finish_reason = response.finish_reason;
            let calls = response.message.tool_calls.clone();
            outcome.messages.push(response.message);
            if calls.is_empty() {
                return Ok(outcome);
            }
            for (number, call) in calls.iter().enumerate() {
                let answer = if number < CALLS_PER_ROUND {
                    let answered = self.toolbox.answer(session, call);
                    outcome.calls.push(CallMade {
                        name: call.name.clone(),
                        arguments: call.arguments.clone(),
                        answer: answered.content.clone(),
                        failed: answered.error.is_some(),
                    });
                    bounded(answered.content)
                } else {
                    format!(
                        r#"{{"error":{{"code":"limit","message":"at most {CALLS_PER_ROUND} calls are run at a time: call it again"}}}}"#
                    )
                };
                outcome.messages.push(Message::tool(call, answer));
            }
        }
        Err(Error::limit(
            "agent-rounds",
            format!("the model still wants tools after {} rounds", self.rounds),
        ))
    }

    /// One answer. Its text goes to the customer and to what was said so far.
    fn ask(&self, session: &Session, request: &Request, said: &mut String) -> Result<Response> {
        let completion = session.chat(request)?;
        let mut first = true;
        let mut say = |piece: &str| -> Result<()> {
            if piece.is_empty() {
                return Ok(());
            }
            let gap = if first && !said.is_empty() {
                "\n\n"
            } else {
                ""
            };
            first = false;
            let piece = format!("{gap}{piece}");
            if self.stream {
                session.emit(&piece)?;
            }
            said.push_str(&piece);
            Ok(())
        };
        let mut streamed = false;
        while let Some(delta) = completion.next()? {
            if let Delta::Text(piece) = delta {
                streamed = true;
                say(&piece)?;
            }
        }
        let response = completion.finish()?;
        if !streamed {
            say(&response.message.content)?;
        }
        Ok(response)
    }
}

fn sum(one: Option<Usage>, other: Option<Usage>) -> Option<Usage> {
    match (one, other) {
        (Some(one), Some(other)) => Some(Usage {
            input_tokens: one.input_tokens + other.input_tokens,
            output_tokens: one.output_tokens + other.output_tokens,
        }),
        (one, other) => one.or(other),
    }
}

fn bounded(answer: String) -> String {
    if answer.len() <= TOOL_ANSWER_BYTES {
        return answer;
    }
    let end = answer.floor_char_boundary(TOOL_ANSWER_BYTES);
    format!(
        "{} … (cut: the answer has {} bytes)",
        &answer[..end],
        answer.len()
    )
}
