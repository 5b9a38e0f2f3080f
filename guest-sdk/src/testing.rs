//! A host within the test: unit tests of an agent run on the build machine,
//! without a component and without the real host.
//!
//! Memory is kept in this process and behaves as the real one does in what an
//! agent can see: working memory, profiles by merge patch, facts with sources
//! that are checked against recorded commands, values that supersede older
//! ones, the write gate's outcomes (near facts by their words, as no vectors
//! are compared), recall by words, snippets in the host's form, forks with their
//! differences and merges. Models and commands
//! answer what the test says. What is not simulated answers
//! [`Unsupported`](crate::Error::Unsupported).
//!
//! ```
//! use keepsake_sdk::{Agent, Description, Reply, Result, Session, Turn, testing::Host};
//!
//! struct Greeter;
//!
//! impl Agent for Greeter {
//!     fn describe() -> Description {
//!         Description::new("greeter", "0.1.0", "Greets by name.")
//!     }
//!
//!     fn handle(session: &Session, turn: Turn) -> Result<Reply> {
//!         session.scope()?.update_profile(&serde_json::json!({ "name": turn.message }))?;
//!         Ok(Reply::new(format!("Hello, {}!", turn.message)))
//!     }
//! }
//!
//! let host = Host::new();
//! let reply = host.turn::<Greeter>("Jordan").unwrap();
//! assert_eq!(reply.text, "Hello, Jordan!");
//! assert_eq!(host.profile()["name"], "Jordan");
//! ```

mod compact;
mod completion;
mod forks;
mod gate;
#[cfg(feature = "http")]
mod http;
mod memory;
mod recall;
mod sandbox;
mod told;

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use serde_json::{Value, json};

use crate::context::Context;
use crate::embeddings::{EmbeddingInfo, Kind};
use crate::error::{Error, Result};
use crate::host::{
    ChildHost, CompletionHost, Host as HostFunctions, SandboxHost, ScopeHost, Surroundings,
    not_simulated,
};
use crate::log::Level;
use crate::memory::{Fact, Layer};
use crate::model::{Answer, ModelInfo, Request, Response, ToolCall};
use crate::plugin::{Agent, ModelProvider, Reply, Summarizer, Summary, Turn};
use crate::sandbox::Command;
use crate::session::{Exchange, Session, SessionInfo};
use crate::wit;

use completion::TestCompletion;

#[cfg(feature = "http")]
pub use http::HttpAnswer;
pub use sandbox::CommandAnswer;
pub use told::Told;

/// The customer of a test, unless it names another.
const RESOURCE: &str = "customer";

type Model = dyn Fn(&Request) -> Result<Answer>;
type Info = dyn Fn() -> Result<ModelInfo>;
type Commands = dyn Fn(&Command) -> CommandAnswer;
type Summarise = dyn Fn(&Session, &[Fact], usize) -> Result<Vec<Summary>>;

/// The host of a test. Clones share everything.
#[derive(Clone)]
pub struct Host {
    shared: Rc<Shared>,
}

/// A part of the host that a test can take away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// Opening the memory.
    Memory,
    /// Opening the sandbox.
    Sandbox,
    /// Asking the model.
    Model,
}

#[derive(Default)]
struct Shared {
    resource: RefCell<String>,
    account: RefCell<Option<String>>,
    team: RefCell<Option<String>>,
    session: RefCell<u32>,
    turn: RefCell<u32>,
    settings: RefCell<BTreeMap<String, Value>>,
    broken: RefCell<BTreeMap<Part, Error>>,
    answers: RefCell<VecDeque<Result<Response>>>,
    model: RefCell<Option<Box<Model>>>,
    model_info: RefCell<Option<Box<Info>>>,
    commands: RefCell<Option<Box<Commands>>>,
    summarizer: RefCell<Option<Rc<Summarise>>>,
    requests: RefCell<Vec<Request>>,
    emitted: RefCell<Vec<String>>,
    lines: RefCell<Vec<(Level, String)>>,
    store: memory::Store,
    files: RefCell<BTreeMap<String, Vec<u8>>>,
    ran: RefCell<Vec<String>>,
    #[cfg(feature = "http")]
    servers: http::Servers,
}

impl Default for Host {
    fn default() -> Self {
        Self::new()
    }
}

impl Host {
    /// A host with an empty memory, for one customer.
    pub fn new() -> Self {
        Self {
            shared: Rc::new(Shared {
                resource: RefCell::new(RESOURCE.to_owned()),
                session: RefCell::new(1),
                ..Shared::default()
            }),
        }
    }

    /// Whose memory sessions work on from now on.
    #[must_use]
    pub fn resource(self, name: &str) -> Self {
        name.clone_into(&mut self.shared.resource.borrow_mut());
        self
    }

    /// The account whose memory sessions are granted from now on.
    #[must_use]
    pub fn account(self, name: &str) -> Self {
        *self.shared.account.borrow_mut() = Some(name.to_owned());
        self
    }

    /// The team whose memory sessions are granted from now on.
    #[must_use]
    pub fn team(self, name: &str) -> Self {
        *self.shared.team.borrow_mut() = Some(name.to_owned());
        self
    }

    /// An operator's setting.
    #[must_use]
    pub fn setting(self, key: &str, value: Value) -> Self {
        self.shared
            .settings
            .borrow_mut()
            .insert(key.to_owned(), value);
        self
    }

    /// Several settings of the operator's.
    #[must_use]
    pub fn settings(self, settings: &[(&str, Value)]) -> Self {
        settings
            .iter()
            .fold(self, |host, (key, value)| host.setting(key, value.clone()))
    }

    /// What the model answers next, as text.
    #[must_use]
    pub fn model_says(self, text: &str) -> Self {
        self.model_answers(Ok(Response::text("scripted", text)))
    }

    /// The tools that the model calls next, by name and arguments.
    #[must_use]
    pub fn model_calls(self, calls: &[(&str, Value)]) -> Self {
        let so_far = self.shared.answers.borrow().len();
        let calls = calls.iter().enumerate();
        let calls = calls.map(|(number, (name, arguments))| {
            ToolCall::new(format!("call-{so_far}-{number}"), *name, arguments)
        });
        let calls = calls.collect();
        self.model_answers(Ok(Response::calls("scripted", calls)))
    }

    /// What the model answers next.
    #[must_use]
    pub fn model_answers(self, answer: Result<Response>) -> Self {
        self.shared.answers.borrow_mut().push_back(answer);
        self
    }

    /// A real provider as the model, for what is not scripted.
    #[must_use]
    pub fn model<P: ModelProvider>(self) -> Self {
        let context = Context::new(Rc::new(self.clone()));
        let told = context.clone();
        *self.shared.model_info.borrow_mut() = Some(Box::new(move || P::info(&told)));
        let ask = move |request: &Request| P::chat(&context, request.clone());
        *self.shared.model.borrow_mut() = Some(Box::new(ask));
        self
    }

    /// How commands end. Without this, there is no sandbox.
    #[must_use]
    pub fn commands(self, answer: impl Fn(&Command) -> CommandAnswer + 'static) -> Self {
        *self.shared.commands.borrow_mut() = Some(Box::new(answer));
        self
    }

    /// Who summarises facts that are let go; without it they just go.
    #[must_use]
    pub fn summarizer<S: Summarizer>(self) -> Self {
        let summarize =
            |session: &Session, facts: &[Fact], most: usize| S::summarize(session, facts, most);
        *self.shared.summarizer.borrow_mut() = Some(Rc::new(summarize));
        self
    }

    /// Has a part answer with an error from now on.
    #[must_use]
    pub fn broken(self, part: Part, error: Error) -> Self {
        self.shared.broken.borrow_mut().insert(part, error);
        self
    }

    /// Has a part work again.
    #[must_use]
    pub fn repaired(self, part: Part) -> Self {
        self.shared.broken.borrow_mut().remove(&part);
        self
    }

    /// Begins another session of the same customer, with a sandbox of its own.
    pub fn new_session(&self) {
        *self.shared.session.borrow_mut() += 1;
        *self.shared.turn.borrow_mut() = 0;
        self.shared.files.borrow_mut().clear();
    }

    /// Handles one message as the real host does: the turn and its reply are
    /// recorded, and what was emitted is what [`Host::emitted`] gives.
    ///
    /// # Errors
    /// The agent's own.
    pub fn turn<A: Agent>(&self, message: &str) -> Result<Reply> {
        self.shared.emitted.borrow_mut().clear();
        self.shared.store.shown.borrow_mut().clear();
        let turn = *self.shared.turn.borrow();
        self.record("turn-started", json!({ "turn": turn, "message": message }));
        let reply = A::handle(&self.session(), Turn::new(message));
        match &reply {
            Ok(reply) => self.record(
                "turn-completed",
                json!({ "turn": turn, "reply": reply.text }),
            ),
            Err(error) => self.record(
                "turn-failed",
                json!({ "turn": turn, "error": error.to_string() }),
            ),
        };
        *self.shared.turn.borrow_mut() += 1;
        reply
    }

    /// The session as an agent sees it, for tests of parts of an agent.
    pub fn session(&self) -> Session {
        Session::new(Rc::new(self.clone()))
    }

    /// What a provider sees.
    pub fn context(&self) -> Context {
        Context::new(Rc::new(self.clone()))
    }

    /// What was emitted in the last turn.
    pub fn emitted(&self) -> String {
        self.shared.emitted.borrow().concat()
    }

    /// What the model was asked so far.
    pub fn requests(&self) -> Vec<Request> {
        self.shared.requests.borrow().clone()
    }

    /// The commands that were run so far.
    pub fn commands_run(&self) -> Vec<String> {
        self.shared.ran.borrow().clone()
    }

    /// The lines that were logged so far.
    pub fn logged(&self) -> Vec<(Level, String)> {
        self.shared.lines.borrow().clone()
    }

    /// The customer's profile.
    pub fn profile(&self) -> Value {
        self.shared.store.profile(&self.shared.resource.borrow())
    }

    /// A value of working memory.
    pub fn working(&self, key: &str) -> Option<Value> {
        self.shared.store.get(&self.shared.resource.borrow(), key)
    }

    /// The customer's current facts, newest first.
    pub fn facts(&self) -> Vec<Fact> {
        self.shared.store.facts(&self.shared.resource.borrow())
    }

    fn session_id(&self) -> String {
        format!("session-{}", self.shared.session.borrow())
    }

    fn record(&self, kind: &str, payload: Value) -> wit::types::EntryRef {
        self.shared.store.record(
            &self.shared.resource.borrow(),
            &self.session_id(),
            kind,
            payload,
        )
    }

    /// The memories beyond the customer's own; others have none.
    fn wider_than(&self, resource: &str) -> Vec<(Layer, String)> {
        let owner = resource.split(forks::BELOW).next().unwrap_or_default();
        if *owner != *self.shared.resource.borrow() {
            return Vec::new();
        }
        let account = self.shared.account.borrow().clone();
        let team = self.shared.team.borrow().as_deref().map(memory::of_team);
        let account = account.map(|account| (Layer::Account, account));
        let team = team.map(|team| (Layer::Team, team));
        account.into_iter().chain(team).collect()
    }

    fn scope_of(&self, resource: String) -> Box<dyn ScopeHost> {
        Box::new(memory::TestScope::new(self.clone(), resource))
    }

    fn works(&self, part: Part) -> Result<()> {
        match self.shared.broken.borrow().get(&part) {
            Some(error) => Err(error.clone()),
            None => Ok(()),
        }
    }
}

impl Surroundings for Host {
    fn setting(&self, key: &str) -> Result<Option<String>> {
        Ok(self.shared.settings.borrow().get(key).map(Value::to_string))
    }

    fn log(&self, level: Level, message: &str, _fields: Option<&str>) {
        self.shared
            .lines
            .borrow_mut()
            .push((level, message.to_owned()));
    }

    #[cfg(feature = "http")]
    fn transport(&self) -> Rc<dyn crate::http::Transport> {
        Rc::new(self.clone())
    }
}

impl HostFunctions for Host {
    fn info(&self) -> SessionInfo {
        SessionInfo {
            session: self.session_id(),
            resource: self.shared.resource.borrow().clone(),
            account: self.shared.account.borrow().clone(),
            team: self.shared.team.borrow().clone(),
            agent: "agent-under-test".to_owned(),
            turn: *self.shared.turn.borrow(),
            started_at: self.shared.store.now(),
            channel: "{}".to_owned(),
        }
    }

    fn exchanges(&self, before: Option<u32>, limit: u32) -> Result<Vec<Exchange>> {
        if limit == 0 {
            return Err(Error::invalid("a page holds at least 1 item"));
        }
        let turn = *self.shared.turn.borrow();
        let before = before.map_or(turn, |before| before.min(turn));
        let found = self.shared.store.exchanges(&self.session_id(), before);
        Ok(found.into_iter().take(limit as usize).collect())
    }

    fn open_scope(&self) -> Result<Box<dyn ScopeHost>> {
        self.works(Part::Memory)?;
        let resource = self.shared.resource.borrow().clone();
        Ok(self.scope_of(resource))
    }

    fn open_account_scope(&self) -> Result<Option<Box<dyn ScopeHost>>> {
        self.works(Part::Memory)?;
        let account = self.shared.account.borrow().clone();
        Ok(account.map(|account| self.scope_of(account)))
    }

    fn open_team_scope(&self) -> Result<Option<Box<dyn ScopeHost>>> {
        self.works(Part::Memory)?;
        let team = self.shared.team.borrow().clone();
        Ok(team.map(|team| self.scope_of(memory::of_team(&team))))
    }

    fn open_sandbox(&self) -> Result<Box<dyn SandboxHost>> {
        self.works(Part::Sandbox)?;
        if self.shared.commands.borrow().is_none() {
            return Err(Error::unavailable(
                "this test has no sandbox: give it one with `Host::commands`",
            ));
        }
        Ok(Box::new(sandbox::TestSandbox::new(self.clone())))
    }

    fn emit(&self, chunk: &str) -> Result<()> {
        self.shared.emitted.borrow_mut().push(chunk.to_owned());
        Ok(())
    }

    fn embedding_info(&self) -> Result<EmbeddingInfo> {
        Err(not_simulated("embeddings.info"))
    }

    fn embed(&self, _texts: &[String], _kind: Kind) -> Result<Vec<Vec<f32>>> {
        Err(not_simulated("embeddings.embed"))
    }

    fn model_info(&self) -> Result<ModelInfo> {
        match &*self.shared.model_info.borrow() {
            Some(info) => info(),
            None => Ok(ModelInfo::new("scripted")),
        }
    }

    fn chat(&self, request: &Request) -> Result<Box<dyn CompletionHost>> {
        self.works(Part::Model)?;
        self.shared.requests.borrow_mut().push(request.clone());
        if let Some(answer) = self.shared.answers.borrow_mut().pop_front() {
            return Ok(Box::new(TestCompletion(RefCell::new(Answer::whole(
                answer?,
            )))));
        }
        let model = self.shared.model.borrow();
        let Some(model) = &*model else {
            return Err(Error::unavailable(
                "the test says nothing of what the model answers now: use `Host::model_says`",
            ));
        };
        Ok(Box::new(TestCompletion(RefCell::new(model(request)?))))
    }

    fn spawn(
        &self,
        _agent: &str,
        _options: &wit::agents::SpawnOptions,
    ) -> Result<Box<dyn ChildHost>> {
        Err(not_simulated("agents.spawn"))
    }
}
