//! A model provider that asks a server: any that answers `POST /messages` as
//! Anthropic's does.

mod answer;
mod conversation;
mod provider;
mod question;
mod settings;
mod wire;

pub use provider::ModelAnthropic;
