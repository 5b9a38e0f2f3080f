//! One text put for another inside files.

use super::blocking;
use crate::answer::{self, Answer, Failure};
use crate::query::Query;
use axum::body::Bytes;
use serde::Deserialize;
use serde_json::json;
use std::collections::BTreeMap;
use std::fs;

#[derive(Deserialize)]
struct Replacement {
    #[serde(default)]
    old: String,
    #[serde(default)]
    new: String,
}

/// `POST /files/replace[?verbose=true]`: all occurrences, in each file.
pub(crate) async fn replace(query: Query, body: Bytes) -> Answer {
    let replacements: BTreeMap<String, Replacement> = answer::parse(&body)?;
    let verbose = query.one("verbose").is_some_and(|value| value == "true");
    blocking(move || {
        let mut counts = BTreeMap::new();
        for (path, Replacement { old, new }) in replacements {
            if old.is_empty() {
                return Err(Failure::invalid("old content must not be empty"));
            }
            fs::metadata(&path)
                .map_err(|error| Failure::of_file(&format!("stat {path}"), &error))?;
            let text = fs::read_to_string(&path)
                .map_err(|error| Failure::of_file(&format!("open {path}"), &error))?;
            let count = text.matches(&old).count();
            if count > 0 {
                fs::write(&path, text.replace(&old, &new))
                    .map_err(|error| Failure::of_file(&format!("open {path}"), &error))?;
            }
            counts.insert(path, json!({ "replacedCount": count }));
        }
        Ok(if verbose {
            answer::json(&counts)
        } else {
            answer::done()
        })
    })
    .await
}
