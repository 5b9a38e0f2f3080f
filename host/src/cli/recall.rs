//! What `host memory recall` is asked.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use keepsake_storage::{RecallMode, RecallOptions};
use keepsake_types::{Timestamp, limits};
use serde_json::{Map, Value};

use super::Whose;
use crate::config::time::moment;

/// What is asked of a memory, and how.
#[derive(Debug, Args)]
pub(crate) struct RecallArguments {
    #[command(flatten)]
    pub(crate) whose: Whose,
    /// The question; `invo*` in it asks for any word that begins so
    #[arg(required_unless_present = "queries", conflicts_with = "queries")]
    pub(crate) query: Option<String>,
    /// Ask many questions: a file with a line `{"id": …, "query": …}` for each,
    /// or `-` for standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) queries: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) which: Which,
    /// Also what the team knows, and the account where one is named
    #[arg(long)]
    pub(crate) wider: bool,
    /// The account that the customer belongs to
    #[arg(long, value_name = "NAME", requires = "wider")]
    pub(crate) account: Option<String>,
    /// Show why each fact was recalled, and how old it is
    #[arg(long)]
    pub(crate) explain: bool,
    /// The embedding provider: a component's file or a built-in's name
    #[arg(long, value_name = "PLUGIN")]
    pub(crate) embeddings: Option<String>,
}

/// Which facts may come, and in which order.
#[derive(Debug, Args)]
pub(crate) struct Which {
    /// At most so many facts
    #[arg(long, value_name = "K", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=limits::PAGE_ITEMS as i64))]
    top_k: u32,
    /// Which rankings to use
    #[arg(long, value_enum, default_value_t = Mode::Hybrid)]
    mode: Mode,
    /// Leave out facts that score lower
    #[arg(long, value_name = "S", allow_negative_numbers = true)]
    min_score: Option<f64>,
    /// What held at this time, instead of now: a day such as 2026-12-31, or
    /// 2026-12-31T18:00:00Z
    #[arg(long, value_name = "TIME", value_parser = moment)]
    as_of: Option<Timestamp>,
    /// Only facts remembered at this time or later
    #[arg(long, value_name = "TIME", value_parser = moment)]
    since: Option<Timestamp>,
    /// Only facts remembered before this time
    #[arg(long, value_name = "TIME", value_parser = moment)]
    until: Option<Timestamp>,
    /// Only facts whose metadata has this member with this value, JSON or text;
    /// may be repeated, and all must fit
    #[arg(long, value_name = "KEY=VALUE", value_parser = member)]
    metadata: Vec<(String, Value)>,
    /// Only verified facts
    #[arg(long)]
    verified_only: bool,
    /// Facts that were superseded or have expired, too
    #[arg(long)]
    include_superseded: bool,
}

impl Which {
    pub(crate) fn needs_vectors(&self) -> bool {
        self.mode != Mode::Words
    }

    pub(crate) fn options(&self) -> RecallOptions {
        RecallOptions {
            limit: self.top_k as usize,
            mode: match self.mode {
                Mode::Hybrid => RecallMode::Hybrid,
                Mode::Words => RecallMode::Words,
                Mode::Vectors => RecallMode::Vectors,
            },
            min_score: self.min_score,
            metadata: Map::from_iter(self.metadata.iter().cloned()),
            since: self.since,
            until: self.until,
            as_of: self.as_of,
            verified_only: self.verified_only,
            include_superseded: self.include_superseded,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Mode {
    /// Words and vectors together
    Hybrid,
    /// Exact words only
    Words,
    /// Vectors only
    Vectors,
}

/// `plan="Pro"`, `seats=5` or, as a shell leaves it, `plan=Pro`.
fn member(text: &str) -> Result<(String, Value), String> {
    let Some((key, value)) = text.split_once('=').filter(|(key, _)| !key.is_empty()) else {
        return Err(format!(
            "{text:?} has no key and value: write it as plan=Pro or seats=5"
        ));
    };
    let value = serde_json::from_str(value).unwrap_or_else(|_| Value::String(value.to_owned()));
    Ok((key.to_owned(), value))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_member_is_a_key_and_json_or_text() {
        for (text, key, value) in [
            ("seats=5", "seats", json!(5)),
            ("plan=Pro", "plan", json!("Pro")),
            ("plan=\"5\"", "plan", json!("5")),
            ("note=a=b", "note", json!("a=b")),
            ("empty=", "empty", json!("")),
            ("gone=null", "gone", Value::Null),
        ] {
            assert_eq!(member(text), Ok((key.to_owned(), value)), "{text}");
        }
        for text in ["", "plan", "=Pro"] {
            assert!(member(text).unwrap_err().contains("plan=Pro"), "{text}");
        }
    }
}
