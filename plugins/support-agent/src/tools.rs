//! The tools of this agent. Whatever keeps something refuses secrets first.

mod remember;

use keepsake_sdk::tool::{Tool, Toolbox};
use keepsake_sdk::{Error, Result, Session, get_working_memory, recall_facts, run_command};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::case_file::CaseFile;
use crate::{profile, secrets};

/// The tools of one turn. Commands are run only where there is a sandbox.
pub(crate) fn toolbox(case: Option<&CaseFile>) -> Toolbox<'_> {
    let toolbox = Toolbox::new()
        .with(update_profile())
        .with(set_working_memory())
        .with(get_working_memory())
        .with(remember::remember_fact(case))
        .with(recall_facts());
    match case {
        Some(_) => toolbox.with(run_command()),
        None => toolbox,
    }
}

/// Sets values of the profile.
fn update_profile() -> Tool<'static> {
    #[derive(Deserialize)]
    struct UpdateProfile {
        patch: Map<String, Value>,
    }
    Tool::with_schema(
        "update_profile",
        "Sets values of the customer's profile, which every later conversation begins with: name, \
         plan, email, phone, language, and others of the same kind.",
        &profile::patch_schema(),
        |session, arguments| {
            let UpdateProfile { patch } = serde_json::from_value(arguments)
                .map_err(|error| Error::invalid(format!("the arguments do not fit: {error}")))?;
            for (name, value) in &patch {
                secrets::refuse_in(name, value)?;
            }
            let profile = session.scope()?.update_profile(&patch)?;
            Ok(json!({ "profile": profile }))
        },
    )
}

/// Keeps a value of working memory. As the SDK's tool of this name, which knows
/// nothing of secrets.
fn set_working_memory() -> Tool<'static> {
    use keepsake_sdk::schemars::{self, JsonSchema};

    #[derive(Deserialize, JsonSchema)]
    struct SetWorkingMemory {
        /// The name of the value, such as `open_case`.
        key: String,
        /// The value, any JSON; null deletes it.
        value: Value,
    }
    Tool::new(
        "set_working_memory",
        "Keeps a value that the work on this customer's case needs in this and later \
         conversations, such as the step that comes next. Use remember_fact for what the customer \
         told about themselves, update_profile for who they are.",
        |session: &Session, SetWorkingMemory { key, value }| -> Result<Value> {
            secrets::refuse_in(&key, &value)?;
            let scope = session.scope()?;
            if value.is_null() {
                scope.delete(&key)?;
            } else {
                scope.set(&key, &value)?;
            }
            Ok(json!({ "ok": true }))
        },
    )
}
