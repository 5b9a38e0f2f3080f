//! What the write gate finds out about texts, without a model: whether two say
//! the same, whether one holds a secret, whether one reads like instructions.
//!
//! Memory asks it about each fact that is to be remembered, and the SDK's
//! in-memory host asks it the same, so that an agent's tests meet the outcomes
//! that it will meet. It does no input or output and depends on no other part
//! of the host. `docs/write-gate.md` tells the rules with examples.

mod cards;
mod framing;
mod instructions;
mod keys;
mod masking;
mod named_secrets;
mod statement;
mod vocabulary;
mod word_forms;
mod words;

pub use framing::{sentences, unframed};
pub use instructions::{ROLES, reads_like_instructions};
pub use masking::{Masked, mask, mask_members};
pub use statement::{Likeness, Statement};
