//! Whether a provider keeps its contract, row by row, for those who write one
//! and those who choose one.
//!
//! The provider is asked as agents ask it, and is not believed: each row is
//! judged by what came back. A row that cannot mean anything because an earlier
//! one failed is skipped, so that what failed is what is wrong.

mod embeddings;
mod model;
mod texts;

use std::fmt::Display;

use serde::Serialize;

pub use embeddings::check_embeddings;
pub use model::check_model;

/// One row of what was checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    /// What was checked, as a stable name.
    pub check: &'static str,
    /// How it went.
    pub result: Verdict,
    /// What was found: a measure, or what is wrong. May hold words of the
    /// provider's own.
    pub detail: String,
    /// What to do about it, where it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advice: Option<&'static str>,
}

/// How a check went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The provider keeps this part of its contract.
    Passed,
    /// It breaks it.
    Failed,
    /// It could not be told.
    Skipped,
}

/// Why a check did not pass.
enum Fault {
    Failed(String),
    Skipped(String),
}

impl Fault {
    /// The same, where it failed told to be about that text.
    fn about(self, text: impl Display) -> Self {
        match self {
            Self::Failed(reason) => Self::Failed(format!("{text}: {reason}")),
            skipped @ Self::Skipped(_) => skipped,
        }
    }
}

impl From<&str> for Fault {
    fn from(reason: &str) -> Self {
        Self::Failed(reason.to_owned())
    }
}

impl From<String> for Fault {
    fn from(reason: String) -> Self {
        Self::Failed(reason)
    }
}

impl From<keepsake_types::embedding::EmbeddingError> for Fault {
    fn from(error: keepsake_types::embedding::EmbeddingError) -> Self {
        Self::Failed(error.to_string())
    }
}

/// What a check found.
type Found = Result<String, Fault>;

/// The rows so far.
#[derive(Default)]
struct Table(Vec<Check>);

impl Table {
    /// Adds a row; tells whether it passed.
    fn row(&mut self, check: &'static str, advice: &'static str, found: Found) -> bool {
        let (result, detail) = match found {
            Ok(detail) => (Verdict::Passed, detail),
            Err(Fault::Failed(reason)) => (Verdict::Failed, reason),
            Err(Fault::Skipped(reason)) => (Verdict::Skipped, reason),
        };
        self.0.push(Check {
            check,
            result,
            detail,
            advice: (result == Verdict::Failed).then_some(advice),
        });
        result == Verdict::Passed
    }

    /// Adds rows that say nothing because of what failed before them.
    fn skip(&mut self, checks: &[&'static str]) {
        for check in checks {
            let reason = "what failed above comes first".to_owned();
            self.row(check, "", Err(Fault::Skipped(reason)));
        }
    }
}
