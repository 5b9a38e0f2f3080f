//! The fields of a question's body.

use serde_json::{Map, Value, json};

use super::settings::ChatSettings;
use crate::error::{Error, Result};
use crate::model::{Request, ToolDefinition};

/// A body in the making, with what is the same in every form.
#[derive(Debug)]
pub struct Fields(Map<String, Value>);

impl Fields {
    /// The model, and whether the answer shall come piece by piece.
    pub fn of(settings: &ChatSettings) -> Self {
        let mut fields = Self(Map::new());
        fields.set("model", json!(settings.service.model));
        fields.set("stream", json!(settings.stream));
        fields
    }

    /// Sets a field.
    pub fn set(&mut self, name: &str, value: Value) {
        self.0.insert(name.to_owned(), value);
    }

    /// Sets how freely the model chooses, where anybody says so.
    ///
    /// # Errors
    /// [`Error::Invalid`] for what is no number.
    pub fn set_temperature(&mut self, settings: &ChatSettings, request: &Request) -> Result<()> {
        if let Some(temperature) = request.temperature.or(settings.temperature) {
            self.set("temperature", decimal(temperature)?);
        }
        Ok(())
    }

    /// Sets the texts that end the answer, where there are some.
    pub fn set_stop(&mut self, name: &str, request: &Request) {
        let stop = request.stop.iter().filter(|text| !text.is_empty());
        let stop: Vec<_> = stop.collect();
        if !stop.is_empty() {
            self.set(name, json!(stop));
        }
    }

    /// The body, with the operator's further fields over it and the request's
    /// over those. The request's may hold none that the plugin sets, and none of
    /// `denied`, which an agent says by the request itself.
    ///
    /// # Errors
    /// [`Error::Invalid`] where they do.
    pub fn finish(
        mut self,
        settings: &ChatSettings,
        request: &Request,
        denied: &[&str],
    ) -> Result<Value> {
        self.merge(&settings.extra);
        self.merge(&extras(settings, request, denied)?);
        Ok(Value::Object(self.0))
    }

    /// Puts fields over those of the body. Null takes one out, for servers that
    /// refuse a field which the plugin sends by itself.
    fn merge(&mut self, fields: &Map<String, Value>) {
        for (name, value) in fields {
            if value.is_null() {
                self.0.remove(name);
            } else {
                self.set(name, value.clone());
            }
        }
    }
}

/// A number as it was written: 0.7, not 0.699999988079071.
fn decimal(number: f32) -> Result<Value> {
    number
        .to_string()
        .parse::<serde_json::Number>()
        .map(Value::Number)
        .map_err(|_| Error::invalid(format!("the temperature cannot be {number}")))
}

fn extras(
    settings: &ChatSettings,
    request: &Request,
    denied: &[&str],
) -> Result<Map<String, Value>> {
    let Some(text) = &request.extras else {
        return Ok(Map::new());
    };
    let extras: Map<String, Value> = serde_json::from_str(text).map_err(|error| {
        Error::invalid(format!("the request's extras are no JSON object: {error}"))
    })?;
    let mut refused = settings.own_fields.iter().chain(denied);
    match refused.find(|field| extras.contains_key(**field)) {
        Some(field) => Err(Error::invalid(format!(
            "the request's extras may not hold `{field}`: the provider sets it"
        ))),
        None => Ok(extras),
    }
}

/// A tool's parameters as JSON.
///
/// # Errors
/// [`Error::Invalid`] when they are none.
pub fn parameters(tool: &ToolDefinition) -> Result<Value> {
    serde_json::from_str(&tool.parameters).map_err(|error| {
        Error::invalid(format!(
            "the parameters of the tool `{}`: {error}",
            tool.name
        ))
    })
}

/// The arguments of an earlier call as an object. Servers read them and fail on
/// what a model got wrong: that is kept as text within one, so that the model
/// sees what it wrote.
pub fn arguments_object(text: &str) -> Value {
    match serde_json::from_str(text) {
        Ok(object @ Value::Object(_)) => object,
        _ => json!({ "malformed": text }),
    }
}

/// The same for servers that want text: as the model wrote it, where it is sound.
pub fn arguments_text(text: &str) -> String {
    match serde_json::from_str::<Map<String, Value>>(text) {
        Ok(_) => text.to_owned(),
        Err(_) => arguments_object(text).to_string(),
    }
}
