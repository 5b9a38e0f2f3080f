//! A model provider that asks a server: any that answers
//! `POST /chat/completions` as OpenAI's does.

mod assembly;
mod calls;
mod provider;
mod question;
mod refused;
mod settings;
mod stream;
mod wire;

pub use assembly::ANSWER_BYTES;
pub use calls::CALLS;
pub use provider::ModelOpenai;
pub use stream::EVENT_BYTES;
