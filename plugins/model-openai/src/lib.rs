//! A model provider that asks a server: any that answers
//! `POST /chat/completions` as OpenAI's does.

mod assembly;
mod calls;
mod provider;
mod question;
mod settings;
mod stream;
mod wire;

pub use provider::ModelOpenai;
