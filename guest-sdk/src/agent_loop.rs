//! The loop of an agent: ask the model, run the tools that it wants, tell it
//! their answers, until it has a final message.

mod repeats;

use serde::de::IgnoredAny;

use crate::error::{Error, Result};
use crate::model::{FinishReason, Message, Request, Response, ToolCall, Usage};
use crate::session::Session;
use crate::tool::{Answered, Toolbox};
use repeats::Repeats;

pub use repeats::SAME_ANSWERS;

/// Model answers of one loop, unless another number is asked for.
pub const ROUNDS: u32 = 8;
/// Calls that are run of one model answer; the rest are told to wait.
pub const CALLS_PER_ROUND: usize = 16;
/// Bytes of one tool's answer that the model is given.
pub const TOOL_ANSWER_BYTES: usize = 32 * 1_024;
/// Bytes of all tool answers of one loop, unless another number is asked for.
/// They are sent again with every later question, and have to be paid for.
pub const TOOL_OUTPUT_BYTES: usize = 256 * 1_024;

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
    tool_output_bytes: usize,
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

/// What one loop has left.
struct Bounds {
    /// Bytes of tool answers.
    room: usize,
    repeats: Repeats,
    /// The model wanted nothing but what it has had too often.
    stuck: bool,
}

impl<'a> AgentLoop<'a> {
    /// A loop that streams, with at most [`ROUNDS`] model answers.
    pub fn new(toolbox: &'a Toolbox<'a>) -> Self {
        Self {
            toolbox,
            rounds: ROUNDS,
            tool_output_bytes: TOOL_OUTPUT_BYTES,
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

    /// At most so many bytes of all tool answers together. Calls beyond it are
    /// not run, and the model is told to answer with what it has.
    #[must_use]
    pub fn tool_output_bytes(mut self, bytes: usize) -> Self {
        self.tool_output_bytes = bytes;
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
    /// A call that has given the same answer [`SAME_ANSWERS`] times, while nothing
    /// else new was learned, is not run again; a model that then wants nothing
    /// else is offered no tools any more, and has to answer.
    ///
    /// An answer that the provider held back, or cut off, ends the loop too:
    /// see [`Outcome::is_complete`]. Calls in an answer that was held back are
    /// not run.
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
        let mut bounds = Bounds {
            room: self.tool_output_bytes,
            repeats: Repeats::default(),
            stuck: false,
        };
        for round in 1..=self.rounds {
            let last = round == self.rounds;
            let with_tools = !last && bounds.room > 0 && !bounds.stuck;
            let request = self.request(&outcome.messages, with_tools);
            let response = self.ask(session, &request, &mut outcome.text)?;
            outcome.rounds = round;
            outcome.usage = sum(outcome.usage, response.usage);
            outcome.finish_reason = response.finish_reason;
            let calls = response.message.tool_calls.clone();
            outcome.messages.push(response.message);
            if calls.is_empty() || outcome.finish_reason == FinishReason::ContentFilter {
                return Ok(outcome);
            }
            if !last {
                self.run_tools(session, &calls, &mut bounds, &mut outcome);
            }
        }
        Err(Error::limit(
            "agent-rounds",
            format!("the model still wants tools after {} rounds", self.rounds),
        ))
    }

    fn request(&self, messages: &[Message], with_tools: bool) -> Request {
        Request {
            temperature: self.temperature,
            max_tokens: self.max_tokens,
            tools: if with_tools {
                self.toolbox.definitions()
            } else {
                Vec::new()
            },
            ..Request::new(messages.to_vec())
        }
    }

    /// Runs the calls of one answer and puts what came of them behind it. Every
    /// call gets an answer: providers refuse a conversation in which one has none.
    fn run_tools(
        &self,
        session: &Session,
        calls: &[ToolCall],
        bounds: &mut Bounds,
        outcome: &mut Outcome,
    ) {
        let cut_off = outcome.finish_reason == FinishReason::Length;
        let mut repeated = 0;
        for (number, call) in calls.iter().enumerate() {
            let refusal = if number >= CALLS_PER_ROUND {
                Some(format!(
                    "at most {CALLS_PER_ROUND} calls are run at a time: call it again"
                ))
            } else if bounds.room == 0 {
                Some(format!(
                    "tools have answered with {} bytes, which is all that one turn may have: \
                     answer with what is there",
                    self.tool_output_bytes
                ))
            } else if cut_off && !is_json(&call.arguments) {
                Some("your answer was cut off within this call: make it shorter".to_owned())
            } else if let Some(times) = bounds.repeats.too_often(call) {
                repeated += 1;
                Some(format!(
                    "this call was run {times} times with these arguments and gave the same answer \
                     each time, so it is not run again: do something else, or answer with what is there"
                ))
            } else {
                None
            };
            if let Some(refusal) = refusal {
                let refused = Answered::failed(Error::limit("agent-tools", refusal));
                outcome.messages.push(Message::tool(call, refused.content));
                continue;
            }
            let answered = self.toolbox.answer(session, call);
            bounds.repeats.answered(call, &answered.content);
            let content = bounded(&answered.content, TOOL_ANSWER_BYTES.min(bounds.room));
            bounds.room = bounds.room.saturating_sub(content.len());
            outcome.messages.push(Message::tool(call, content));
            outcome.calls.push(CallMade {
                name: call.name.clone(),
                arguments: call.arguments.clone(),
                failed: answered.error.is_some(),
                answer: answered.content,
            });
        }
        bounds.stuck = repeated == calls.len();
    }

    /// One answer. Its text goes to the customer and to what was said so far.
    fn ask(&self, session: &Session, request: &Request, said: &mut String) -> Result<Response> {
        let mut gap = if said.is_empty() { "" } else { "\n\n" };
        session.chat(request)?.finish_with(|piece| {
            let piece = format!("{}{piece}", std::mem::take(&mut gap));
            if self.stream {
                session.emit(&piece)?;
            }
            said.push_str(&piece);
            Ok(())
        })
    }
}

impl Outcome {
    /// Whether the model came to an end by itself: nothing was cut off by a
    /// limit or held back by the provider.
    pub fn is_complete(&self) -> bool {
        !matches!(
            self.finish_reason,
            FinishReason::Length | FinishReason::ContentFilter
        )
    }
}

fn sum(one: Option<Usage>, other: Option<Usage>) -> Option<Usage> {
    match (one, other) {
        (Some(one), Some(other)) => Some(Usage {
            input_tokens: one.input_tokens.saturating_add(other.input_tokens),
            output_tokens: one.output_tokens.saturating_add(other.output_tokens),
        }),
        (one, other) => one.or(other),
    }
}

fn is_json(text: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(text).is_ok()
}

/// The beginning of an answer, in at most `bound` bytes but for the note on
/// what is missing.
fn bounded(answer: &str, bound: usize) -> String {
    if answer.len() <= bound {
        return answer.to_owned();
    }
    let end = answer.floor_char_boundary(bound);
    format!(
        "{} … (cut: the answer has {} bytes)",
        &answer[..end],
        answer.len()
    )
}
