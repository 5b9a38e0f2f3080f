//! An embedding provider that asks a server: any that answers
//! `POST /embeddings` as OpenAI's does.

mod provider;
mod settings;
mod space;
mod wire;

pub use provider::{ANSWER_BYTES, EmbedOpenai, TEXT_BYTES};
