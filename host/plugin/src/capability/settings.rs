//! `keepsake:host/settings`: the operator's settings for one plugin.

use std::sync::Arc;

use serde_json::{Map, Value};
use wasmtime::component::HasData;

use crate::bindings::agent::keepsake::host::settings;
use crate::bindings::agent::keepsake::host::types::Error;

/// One plugin's settings. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Settings(Arc<Map<String, Value>>);

impl From<Map<String, Value>> for Settings {
    fn from(settings: Map<String, Value>) -> Self {
        Self(Arc::new(settings))
    }
}

pub(crate) struct HasSettings;

impl HasData for HasSettings {
    type Data<'a> = &'a mut Settings;
}

impl settings::Host for &mut Settings {
    async fn get(&mut self, key: String) -> wasmtime::Result<Result<Option<String>, Error>> {
        Ok(Ok(self.0.get(&key).map(Value::to_string)))
    }
}
