//! Tools that a model may ask for.

mod schema;

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::error::{Error, Result};
use crate::model::{ToolCall, ToolDefinition};
use crate::session::Session;

type Run<'a> = dyn Fn(&Session, Value) -> Result<Value, NotRun> + 'a;

/// Why a tool gave no answer.
enum NotRun {
    /// What the model gave it does not fit, as this sentence says.
    Arguments(String),
    /// The tool's own reason.
    Failed(Error),
}

impl From<Error> for NotRun {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl From<serde_json::Error> for NotRun {
    fn from(error: serde_json::Error) -> Self {
        Self::Failed(error.into())
    }
}

/// One tool: its name, what it is for, the schema of its arguments, and what
/// it does.
///
/// ```
/// use keepsake_sdk::{Session, tool::Tool};
/// use schemars::JsonSchema;
/// use serde::Deserialize;
///
/// /// Where a parcel is.
/// #[derive(Deserialize, JsonSchema)]
/// struct Track {
///     /// The number on the label.
///     parcel: String,
/// }
///
/// let tool = Tool::new("track_parcel", "Says where a parcel is.", |_: &Session, track: Track| {
///     Ok(format!("{} is in Oslo", track.parcel))
/// });
/// assert_eq!(tool.definition().name, "track_parcel");
/// assert!(tool.definition().parameters.contains("number on the label"));
/// ```
pub struct Tool<'a> {
    definition: ToolDefinition,
    run: Box<Run<'a>>,
}

impl<'a> Tool<'a> {
    /// A tool whose arguments have a type. The schema that the model sees is
    /// made of the type and its doc comments.
    pub fn new<Arguments, Output>(
        name: &str,
        description: &str,
        run: impl Fn(&Session, Arguments) -> Result<Output> + 'a,
    ) -> Self
    where
        Arguments: DeserializeOwned + JsonSchema,
        Output: Serialize,
    {
        let mut schema = schemars::schema_for!(Arguments);
        // Models do without these, and they cost tokens.
        schema.remove("$schema");
        schema.remove("title");
        let schema = schema.to_value();
        let run = move |session: &Session, value: Value| -> Result<Value, NotRun> {
            let arguments = serde_json::from_value(value)
                .map_err(|error| NotRun::Arguments(error.to_string()))?;
            Ok(serde_json::to_value(run(session, arguments)?)?)
        };
        Self::made(name, description, &schema, Box::new(run))
    }

    /// A tool whose arguments fit a schema of its own. They are held to what the
    /// schema says of types, of required members and of words that are allowed;
    /// the tool has to look after the rest.
    pub fn with_schema(
        name: &str,
        description: &str,
        parameters: &Value,
        run: impl Fn(&Session, Value) -> Result<Value> + 'a,
    ) -> Self {
        let schema = parameters.clone();
        let run = move |session: &Session, value: Value| -> Result<Value, NotRun> {
            schema::check(&schema, &value).map_err(NotRun::Arguments)?;
            Ok(run(session, value)?)
        };
        Self::made(name, description, parameters, Box::new(run))
    }

    fn made(name: &str, description: &str, parameters: &Value, run: Box<Run<'a>>) -> Self {
        Self {
            definition: ToolDefinition {
                name: name.to_owned(),
                description: description.to_owned(),
                parameters: parameters.to_string(),
            },
            run,
        }
    }

    /// What the model is told of it.
    pub fn definition(&self) -> &ToolDefinition {
        &self.definition
    }
}

/// The tools of one turn.
#[derive(Default)]
pub struct Toolbox<'a> {
    tools: Vec<Tool<'a>>,
}

impl<'a> Toolbox<'a> {
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same with one more tool. One of the same name takes the place of
    /// the earlier one.
    #[must_use]
    pub fn with(mut self, tool: Tool<'a>) -> Self {
        self.tools
            .retain(|earlier| earlier.definition.name != tool.definition.name);
        self.tools.push(tool);
        self
    }

    /// The same with these tools.
    #[must_use]
    pub fn with_all(self, tools: impl IntoIterator<Item = Tool<'a>>) -> Self {
        tools.into_iter().fold(self, Self::with)
    }

    /// What the model is told.
    pub fn definitions(&self) -> Vec<ToolDefinition> {
        self.tools
            .iter()
            .map(|tool| tool.definition.clone())
            .collect()
    }

    /// Runs a call. What goes wrong is part of the answer, so that the model
    /// can do better: `{"error": {"code", "message"}}`, and `parameters`, the
    /// tool's schema, where the arguments do not fit it.
    pub fn answer(&self, session: &Session, call: &ToolCall) -> Answered {
        let tool = match self.find(&call.name) {
            Ok(tool) => tool,
            Err(error) => return Answered::failed(error),
        };
        let arguments = arguments(&call.arguments).map_err(NotRun::Arguments);
        match arguments.and_then(|arguments| (tool.run)(session, arguments)) {
            Ok(value) => Answered {
                content: value.to_string(),
                error: None,
            },
            Err(NotRun::Failed(error)) => Answered::failed(error),
            Err(NotRun::Arguments(reason)) => Answered::misfit(&tool.definition, &reason),
        }
    }

    fn find(&self, name: &str) -> Result<&Tool<'a>> {
        let found = self.tools.iter().find(|tool| tool.definition.name == name);
        found.ok_or_else(|| {
            let names: Vec<_> = self
                .tools
                .iter()
                .map(|tool| tool.definition.name.as_str())
                .collect();
            let names = match names.as_slice() {
                [] => "no tools at all".to_owned(),
                names => names.join(", "),
            };
            Error::NotFound(format!("there is no tool `{name}`; there are {names}"))
        })
    }
}

/// A tool's answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Answered {
    /// What the model is given, as JSON.
    pub content: String,
    /// Why the tool failed, if it did.
    pub error: Option<Error>,
}

impl Answered {
    pub(crate) fn failed(error: Error) -> Self {
        let told = json!({ "code": error.code(), "message": error.message() });
        Self {
            content: json!({ "error": told }).to_string(),
            error: Some(error),
        }
    }

    /// The arguments do not fit: with what would, so that the model need not
    /// look for it at the beginning of a long conversation.
    fn misfit(tool: &ToolDefinition, reason: &str) -> Self {
        let error = Error::Invalid(format!(
            "the arguments of `{}` do not fit: {reason}; call it again with arguments that fit `parameters`",
            tool.name
        ));
        let schema = serde_json::from_str(&tool.parameters).unwrap_or(Value::Null);
        let told = json!({
            "code": error.code(), "message": error.message(), "parameters": schema,
        });
        Self {
            content: json!({ "error": told }).to_string(),
            error: Some(error),
        }
    }
}

/// Models write nothing where a tool takes no arguments.
fn arguments(text: &str) -> Result<Value, String> {
    if text.trim().is_empty() {
        return Ok(json!({}));
    }
    serde_json::from_str(text).map_err(|error| format!("they are not JSON: {error}"))
}
