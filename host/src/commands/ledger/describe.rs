//! A ledger entry as a sentence for a reader.

use keepsake_storage::{Entry, Kind};
use keepsake_types::ResourceRef;
use serde_json::Value;

use crate::output::one_line;

/// Characters of one value that are shown.
const SHOWN: usize = 160;

/// What an entry records, on one line.
pub(super) fn sentence(entry: &Entry) -> String {
    let Some(payload) = &entry.payload else {
        return "(erased)".into();
    };
    let text = |name: &str| {
        payload[name]
            .as_str()
            .map(|text| one_line(text, SHOWN))
            .unwrap_or_default()
    };
    let quoted = |name: &str| format!("\"{}\"", text(name));
    match &entry.kind {
        Kind::SessionStarted | Kind::SessionResumed => {
            let resource = ResourceRef {
                resource: text("resource"),
                team: payload["team"].as_str().map(|team| one_line(team, SHOWN)),
                fork: payload["fork"].as_str().map(|fork| one_line(fork, SHOWN)),
            };
            let account = match text("account") {
                account if account.is_empty() => account,
                account => format!(", account {account}"),
            };
            format!("{} for {resource}{account}", text("agent"))
        }
        Kind::TurnStarted => quoted("message"),
        Kind::TurnCompleted => quoted("reply"),
        Kind::TurnFailed => text("error"),
        Kind::SandboxOpened | Kind::SandboxForked => {
            let isolation = if payload["isolated"] == Value::Bool(true) {
                "isolated"
            } else {
                "NOT isolated"
            };
            format!("{} ({}, {isolation})", text("sandbox"), text("backend"))
        }
        Kind::SandboxClosed => text("sandbox"),
        Kind::ExecStarted => format!("$ {}", text("line")),
        Kind::ExecOutput => format!("{}{}", text("stdout"), text("stderr")),
        Kind::ExecCompleted => format!(
            "{} in {} ms",
            status(&payload["status"]),
            payload["milliseconds"]
        ),
        Kind::HttpRequest => format!("{} {}{}", text("method"), text("server"), text("path")),
        Kind::HttpResponse => {
            let outcome = match payload["status"].as_u64() {
                Some(status) => status.to_string(),
                None => text("error"),
            };
            format!("{outcome} in {} ms", payload["milliseconds"])
        }
        Kind::FileWritten => format!("{} ({} bytes)", text("path"), payload["bytes"]),
        Kind::FileRemoved => text("path"),
        Kind::ProfileUpdated => one_line(&payload["patch"].to_string(), SHOWN),
        Kind::FactRemembered => format!("{}{}", quoted("content"), source(&payload["source"])),
        Kind::FactsCompacted => compacted(payload),
        Kind::SnippetBuilt => format!("{} bytes for {}", payload["bytes"], quoted("query")),
        Kind::ModelCalled => model(payload),
        Kind::ProviderCalled => format!(
            "{}: {} {} in {} ms",
            text("model"),
            payload["texts"],
            text("kind"),
            payload["milliseconds"]
        ),
        _ => members(payload),
    }
}

fn compacted(payload: &Value) -> String {
    if let Some(error) = payload["error"].as_str() {
        return one_line(error, SHOWN);
    }
    let count = |name: &str| payload[name].as_array().map_or(0, Vec::len);
    format!(
        "{} facts went, with {} summaries in their place; {} remain",
        count("facts"),
        count("summaries"),
        payload["remaining"]
    )
}

fn source(source: &Value) -> String {
    match source["index"].as_u64() {
        Some(index) => format!(", source entry {index}"),
        None => String::new(),
    }
}

fn status(status: &Value) -> String {
    match status {
        Value::String(name) => name.clone(),
        Value::Object(one) => one
            .iter()
            .map(|(name, value)| match (name.as_str(), value) {
                ("code", code) => format!("exit {code}"),
                (name, Value::String(text)) => format!("{name} {}", one_line(text, SHOWN)),
                (name, value) => format!("{name} {value}"),
            })
            .collect(),
        _ => "ended".into(),
    }
}

fn model(payload: &Value) -> String {
    if let Some(error) = payload["error"].as_str() {
        return one_line(error, SHOWN);
    }
    let calls: Vec<_> = payload["tool_calls"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|call| {
            let name = call["name"].as_str().unwrap_or_default();
            let arguments = call["arguments"].as_str().unwrap_or_default();
            format!("{}({})", one_line(name, 64), one_line(arguments, SHOWN))
        })
        .collect();
    if calls.is_empty() {
        let text = payload["text"].as_str().unwrap_or_default();
        return format!("answered \"{}\"", one_line(text, SHOWN));
    }
    format!("calls {}", calls.join(", "))
}

/// `name: value` pairs, longest texts cut.
fn members(payload: &Value) -> String {
    let Value::Object(members) = payload else {
        return one_line(&payload.to_string(), SHOWN);
    };
    members
        .iter()
        .filter(|(_, value)| !value.is_null())
        .map(|(name, value)| match value {
            Value::String(text) => format!("{name}: {}", one_line(text, SHOWN)),
            other => format!("{name}: {}", one_line(&other.to_string(), SHOWN)),
        })
        .collect::<Vec<_>>()
        .join(", ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn entry(kind: Kind, payload: Option<Value>) -> Entry {
        Entry {
            session: "s".into(),
            index: 0,
            at: 0,
            kind,
            payload,
            hash: String::new(),
            prev: String::new(),
        }
    }

    #[test]
    fn an_entry_is_told_in_one_printable_line() {
        let ran = entry(
            Kind::ExecCompleted,
            Some(json!({ "status": { "code": 3 }, "milliseconds": 12 })),
        );
        assert_eq!(sentence(&ran), "exit 3 in 12 ms");
        let hostile = entry(
            Kind::TurnStarted,
            Some(json!({ "message": "a\u{1b}[2J\nb" })),
        );
        assert_eq!(sentence(&hostile), "\"a\\u{1b}[2J b\"");
        assert_eq!(sentence(&entry(Kind::Recalled, None)), "(erased)");
        let learned = entry(
            Kind::FactRemembered,
            Some(json!({ "content": "Jordan is on Pro.", "source": { "index": 10 } })),
        );
        assert_eq!(sentence(&learned), "\"Jordan is on Pro.\", source entry 10");
        let compacted = entry(
            Kind::FactsCompacted,
            Some(json!({ "facts": ["a", "b"], "summaries": [{}], "remaining": 4 })),
        );
        assert_eq!(
            sentence(&compacted),
            "2 facts went, with 1 summaries in their place; 4 remain"
        );
        let late = entry(
            Kind::Other("later".into()),
            Some(json!({ "a": 1, "b": "c" })),
        );
        assert_eq!(sentence(&late), "a: 1, b: c");
    }
}
