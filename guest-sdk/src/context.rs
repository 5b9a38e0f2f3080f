//! What every plugin may ask for: its settings and the operator's log.

use std::rc::Rc;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::{Error, Result};
use crate::host::Surroundings;
use crate::log::Level;

/// A plugin's settings and its log.
#[derive(Clone)]
pub struct Context {
    surroundings: Rc<dyn Surroundings>,
}

impl Context {
    pub(crate) fn new(surroundings: Rc<dyn Surroundings>) -> Self {
        Self { surroundings }
    }

    /// The operator's value for a setting; none when there is none.
    ///
    /// # Errors
    /// [`Error::Invalid`] that names the setting when the value is not a `T`.
    pub fn setting<T: DeserializeOwned>(&self, key: &str) -> Result<Option<T>> {
        setting(&*self.surroundings, key)
    }

    /// What sends requests to the servers that the operator granted.
    #[cfg(feature = "http")]
    pub fn http(&self) -> crate::http::Client {
        #[cfg(target_arch = "wasm32")]
        let transport = Rc::new(crate::http::Outgoing);
        #[cfg(not(target_arch = "wasm32"))]
        let transport = self.surroundings.transport();
        crate::http::Client::new(transport)
    }

    /// Writes a line for the operator. Customers never see it.
    pub fn log(&self, level: Level, message: &str) {
        self.surroundings.log(level, message, None);
    }

    /// Writes a line with further values.
    pub fn log_with(&self, level: Level, message: &str, fields: &impl Serialize) {
        log_with(&*self.surroundings, level, message, fields);
    }
}

pub(crate) fn setting<T: DeserializeOwned>(
    surroundings: &(impl Surroundings + ?Sized),
    key: &str,
) -> Result<Option<T>> {
    let Some(value) = surroundings.setting(key)? else {
        return Ok(None);
    };
    serde_json::from_str(&value).map(Some).map_err(|error| {
        Error::Invalid(format!(
            "the setting `{key}` is {value}, which does not fit: {error}"
        ))
    })
}

pub(crate) fn log_with(
    surroundings: &(impl Surroundings + ?Sized),
    level: Level,
    message: &str,
    fields: &impl Serialize,
) {
    // A line is worth having without its values.
    let fields = serde_json::to_string(fields).ok();
    surroundings.log(level, message, fields.as_deref());
}
