//! The model provider that Keepsake uses when the configuration names no other.
//! It needs nothing and invents nothing: it answers by quoting what the prompt
//! holds, and calls tools for what a customer plainly states.

pub mod completion;
pub mod conversation;
mod memory;
mod patterns;
mod provider;
mod question;
mod statements;
mod text;
mod turn;
// One word a line would bury the lists.
#[rustfmt::skip]
mod words;

pub use provider::ModelOffline;
pub use turn::{IDENTITY, UNKNOWN, answer};
