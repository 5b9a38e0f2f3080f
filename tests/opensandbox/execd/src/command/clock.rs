//! Times as execd writes them.

use std::time::{SystemTime, UNIX_EPOCH};

/// Milliseconds since 1970.
pub(crate) fn milliseconds() -> u64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// RFC 3339 in UTC, with nine digits of a second.
pub(crate) fn rfc3339(time: SystemTime) -> String {
    humantime::format_rfc3339_nanos(time).to_string()
}
