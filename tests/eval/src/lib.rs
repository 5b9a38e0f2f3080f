//! How well memory recalls, measured from outside: facts go in by `host memory
//! import`, questions by `host memory recall --queries`, and the answers are
//! compared with what the data says is right.

mod data;
mod program;
mod score;

pub use data::{
    Question, Set, conversations, identifiers, other_conversations, support, unrelated,
};
pub use program::{Memory, Mode};
pub use score::{Places, evidence_recall, mean_evidence_recall, places, silence};
