//! Times as days.

use crate::Timestamp;

/// A day of the Gregorian calendar in UTC, as `2026-12-01`.
pub fn day(time: Timestamp) -> String {
    // Counted from 1 March of the year 0, so that a leap day ends a year: the
    // method of Howard Hinnant's `civil_from_days`.
    let days = time / 86_400_000 + 719_468;
    let era = days / 146_097;
    let of_era = days % 146_097;
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month_from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 {
        month_from_march + 3
    } else {
        month_from_march - 9
    };
    let year = era * 400 + year + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

/// How long before `now` a time was, in whole days of UTC, in words: the same
/// all day long. What is in the future is of today.
pub fn age(time: Timestamp, now: Timestamp) -> String {
    let days = (now / 86_400_000).saturating_sub(time / 86_400_000);
    match days {
        0 => "today".to_owned(),
        1 => "yesterday".to_owned(),
        2..14 => format!("{days} days ago"),
        14..60 => format!("{} weeks ago", days / 7),
        60..730 => format!("{} months ago", days / 30),
        _ => format!("{} years ago", days / 365),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_count_the_days_of_the_calendar() {
        const DAY: u64 = 86_400_000;
        let now = 1_796_083_200_000;
        for (time, expected) in [
            (now + 5 * DAY, "today"),
            (now, "today"),
            (now - 1, "yesterday"),
            (now - DAY - 1, "2 days ago"),
            (now - 13 * DAY, "13 days ago"),
            (now - 14 * DAY, "2 weeks ago"),
            (now - 60 * DAY, "2 months ago"),
            (now - 729 * DAY, "24 months ago"),
            (now - 730 * DAY, "2 years ago"),
        ] {
            assert_eq!(age(time, now), expected);
            // The hour of the day changes nothing.
            if time <= now {
                assert_eq!(age(time, now + DAY - 1), expected);
            }
        }
    }

    #[test]
    fn days_are_those_of_the_calendar() {
        for (time, expected) in [
            (0, "1970-01-01"),
            (951_782_400_000, "2000-02-29"),
            (951_868_800_000, "2000-03-01"),
            (1_796_083_199_999, "2026-11-30"),
            (1_796_083_200_000, "2026-12-01"),
            (4_107_542_400_000, "2100-03-01"),
        ] {
            assert_eq!(day(time), expected);
        }
    }
}
