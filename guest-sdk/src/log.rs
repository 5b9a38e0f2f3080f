//! How much a line of the log matters.

pub use crate::bindings::agent_plugin::keepsake::host::log::Level;
