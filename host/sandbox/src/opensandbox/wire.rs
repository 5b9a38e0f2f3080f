//! What the server says, as far as it is used. Unknown fields are let pass.

use std::collections::BTreeMap;
use std::time::UNIX_EPOCH;

use keepsake_types::Timestamp;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SandboxRecord {
    pub(super) id: String,
    pub(super) status: Status,
    #[serde(default)]
    pub(super) metadata: Option<BTreeMap<String, String>>,
    #[serde(default)]
    pub(super) image: Option<Image>,
    #[serde(default)]
    pub(super) expires_at: Option<String>,
    #[serde(default)]
    pub(super) created_at: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Status {
    #[serde(default)]
    pub(super) state: String,
    #[serde(default)]
    pub(super) reason: Option<String>,
    #[serde(default)]
    pub(super) message: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Image {
    #[serde(default)]
    pub(super) uri: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct Page {
    pub(super) items: Vec<SandboxRecord>,
    #[serde(default)]
    pub(super) pagination: Pagination,
}

#[derive(Debug, Deserialize)]
pub(super) struct SnapshotPage {
    pub(super) items: Vec<SnapshotRecord>,
    #[serde(default)]
    pub(super) pagination: Pagination,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Pagination {
    #[serde(default)]
    pub(super) has_next_page: bool,
}

#[derive(Debug, Deserialize)]
pub(super) struct Endpoint {
    pub(super) endpoint: String,
    #[serde(default)]
    pub(super) headers: Option<BTreeMap<String, String>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct SnapshotRecord {
    pub(super) id: String,
    #[serde(default)]
    pub(super) name: Option<String>,
    #[serde(default)]
    pub(super) status: Status,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Diagnostics {
    #[serde(default)]
    pub(super) content: Option<String>,
    #[serde(default)]
    pub(super) content_url: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Version {
    pub(super) version: String,
}

/// A sandbox of this backend, as its server tells of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct RemoteSandbox {
    /// Its id at the server.
    pub id: String,
    /// `Running`, `Paused` and the like; the server's own word.
    pub state: String,
    /// Why it is in this state, where the server says so.
    pub reason: Option<String>,
    /// Its image, unless it was made from a checkpoint.
    pub image: Option<String>,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// When it was made.
    pub created_at: Option<Timestamp>,
    /// When the server removes it; none means never.
    pub expires_at: Option<Timestamp>,
}

impl From<SandboxRecord> for RemoteSandbox {
    fn from(record: SandboxRecord) -> Self {
        Self {
            id: record.id,
            state: record.status.state,
            reason: record.status.message.or(record.status.reason),
            image: record.image.map(|image| image.uri),
            labels: record.metadata.unwrap_or_default(),
            created_at: record.created_at.as_deref().and_then(timestamp),
            expires_at: record.expires_at.as_deref().and_then(timestamp),
        }
    }
}

/// A time as the server writes it, in milliseconds.
pub(super) fn timestamp(text: &str) -> Option<Timestamp> {
    // Both the server and the daemon write UTC, in either way.
    let text = text.strip_suffix("+00:00").unwrap_or(text);
    let time = humantime::parse_rfc3339_weak(text).ok()?;
    u64::try_from(time.duration_since(UNIX_EPOCH).ok()?.as_millis()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_both_planes_are_read() {
        for (text, time) in [
            ("2026-12-01T15:41:28Z", Some(1_796_139_688_000)),
            ("2026-12-01T15:41:28.438039Z", Some(1_796_139_688_438)),
            ("2026-12-01T15:42:40.587676202Z", Some(1_796_139_760_587)),
            ("2026-12-01T15:41:28.5+00:00", Some(1_796_139_688_500)),
            ("soon", None),
        ] {
            assert_eq!(timestamp(text), time, "{text}");
        }
    }
}
