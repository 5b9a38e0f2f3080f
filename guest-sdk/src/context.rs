//! What every plugin may ask for: its settings and the operator's log.

use std::fmt::Display;
use std::ops::RangeInclusive;
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

    /// The operator's value for a setting that the plugin cannot do without.
    ///
    /// # Errors
    /// As [`Context::setting`], and [`Error::Invalid`] with the example where
    /// the operator did not set it.
    pub fn needed_setting<T: DeserializeOwned>(&self, key: &str, example: &str) -> Result<T> {
        self.setting(key)?.ok_or_else(|| {
            Error::Invalid(format!(
                "the setting `{key}` is missing: set it in the host's configuration, for example \
                 to `{example}`"
            ))
        })
    }

    /// The operator's value for a setting that has bounds; none when there is
    /// none.
    ///
    /// # Errors
    /// As [`Context::setting`], and [`Error::Invalid`] with the bounds for a
    /// value out of them.
    pub fn setting_within<T>(&self, key: &str, bounds: &RangeInclusive<T>) -> Result<Option<T>>
    where
        T: DeserializeOwned + PartialOrd + Display,
    {
        let value: Option<T> = self.setting(key)?;
        match value {
            Some(value) if !bounds.contains(&value) => Err(Error::Invalid(format!(
                "the setting `{key}` is {value}, and must be from {} to {}: change it in the \
                 host's configuration",
                bounds.start(),
                bounds.end()
            ))),
            value => Ok(value),
        }
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
