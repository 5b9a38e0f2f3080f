//! Times and spans of time as people write them.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use keepsake_types::Timestamp;

/// `90d`, `12h`, `2 weeks` and the like in milliseconds.
///
/// # Errors
/// Says what is to be written instead.
pub(crate) fn milliseconds(text: &str) -> Result<u64, String> {
    humantime::parse_duration(text.trim())
        .ok()
        .and_then(whole_milliseconds)
        .ok_or_else(|| {
            format!(
                "{text:?} is no span of time: write a number with s, m, h, days or weeks, such as 90d"
            )
        })
}

/// `2026-12-31`, `2026-12-31T18:00:00Z` or milliseconds since 1970, in UTC.
///
/// # Errors
/// Says what is to be written instead.
pub(crate) fn moment(text: &str) -> Result<Timestamp, String> {
    let plain = text.trim();
    if let Ok(milliseconds) = plain.parse() {
        return Ok(milliseconds);
    }
    let day = format!("{plain}T00:00:00Z");
    humantime::parse_rfc3339_weak(plain)
        .or_else(|_| humantime::parse_rfc3339_weak(&day))
        .ok()
        .and_then(|time: SystemTime| time.duration_since(UNIX_EPOCH).ok())
        .and_then(whole_milliseconds)
        .ok_or_else(|| {
            format!(
                "{text:?} is no time: write a day such as 2026-12-31, or 2026-12-31T18:00:00Z, in UTC"
            )
        })
}

fn whole_milliseconds(duration: Duration) -> Option<u64> {
    u64::try_from(duration.as_millis()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_is_a_number_and_a_unit() {
        for (text, expected) in [
            ("0s", 0),
            ("90s", 90_000),
            ("12h", 43_200_000),
            ("90d", 7_776_000_000),
            (" 2 weeks ", 1_209_600_000),
        ] {
            assert_eq!(milliseconds(text), Ok(expected), "{text}");
        }
        for text in ["", "d", "90", "-1d", "soon", "99999999999999999999d"] {
            let told = milliseconds(text).unwrap_err();
            assert!(told.contains("such as 90d"), "{told}");
        }
    }

    #[test]
    fn a_moment_is_a_day_or_a_time_in_utc() {
        for (text, expected) in [
            ("1970-01-02", 86_400_000),
            ("2026-12-01", 1_796_083_200_000),
            ("2026-12-01T17:31:28Z", 1_796_146_288_000),
            ("2026-12-01 17:31:28", 1_796_146_288_000),
            ("1796146288123", 1_796_146_288_123),
        ] {
            assert_eq!(moment(text), Ok(expected), "{text}");
        }
        for text in ["", "tomorrow", "2026-13-01", "1969-12-31"] {
            let told = moment(text).unwrap_err();
            assert!(told.contains("2026-12-31"), "{told}");
        }
    }
}
