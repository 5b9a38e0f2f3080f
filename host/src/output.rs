//! Printing. Results go to standard output; everything else to standard error.
//! What plugins and customers wrote is data: no terminal obeys it.

use std::io::{self, Write};

use serde::Serialize;

use crate::failure::{ExitCode, Failure};

/// The text with control characters escaped, line breaks and tabs excepted.
pub(crate) fn printable(text: &str) -> String {
    let mut printable = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_control() && character != '\n' && character != '\t' {
            printable.extend(character.escape_default());
        } else {
            printable.push(character);
        }
    }
    printable
}

/// The same on one line, cut to so many characters.
pub(crate) fn one_line(text: &str, characters: usize) -> String {
    let line = printable(text).replace(['\n', '\t'], " ");
    if line.chars().count() <= characters {
        return line;
    }
    let cut: String = line.chars().take(characters.saturating_sub(1)).collect();
    format!("{cut}…")
}

/// Writes to standard output at once.
pub(crate) fn write(text: &str) -> Result<(), Failure> {
    let mut output = io::stdout().lock();
    output
        .write_all(text.as_bytes())
        .and_then(|()| output.flush())
        .map_err(broken_output)
}

/// Writes a line to standard output.
pub(crate) fn line(text: &str) -> Result<(), Failure> {
    write(&format!("{text}\n"))
}

/// Writes a value as one line of JSON.
pub(crate) fn json(value: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string(value).map_err(|error| {
        Failure::new(
            ExitCode::Other,
            format!("the answer cannot be written as JSON: {error}"),
        )
    })?;
    line(&text)
}

fn broken_output(error: io::Error) -> Failure {
    // A reader such as `head` that has enough is no failure worth words.
    let words = if error.kind() == io::ErrorKind::BrokenPipe {
        "standard output was closed".to_owned()
    } else {
        format!("standard output cannot be written: {error}")
    };
    Failure::new(ExitCode::Other, words)
}

/// A time as `2026-12-01 17:31:28Z`.
pub(crate) fn time(at: keepsake_types::Timestamp) -> String {
    let seconds = at / 1000;
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = civil(days);
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}Z")
}

/// Year, month and day of a day counted from 1970-01-01, by Howard Hinnant's
/// `civil_from_days`.
fn civil(days: u64) -> (u64, u64, u64) {
    let shifted = days + 719_468;
    let era = shifted / 146_097;
    let day_of_era = shifted % 146_097;
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 {
        shifted_month + 3
    } else {
        shifted_month - 9
    };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_never_obeys_what_is_printed() {
        assert_eq!(
            printable("a\u{1b}[2Jb\tc\nd\u{7}"),
            "a\\u{1b}[2Jb\tc\nd\\u{7}"
        );
        assert_eq!(one_line("a\nb", 10), "a b");
        assert_eq!(one_line("abcdef", 4), "abc…");
    }

    #[test]
    fn times_are_shown_in_utc() {
        assert_eq!(time(0), "1970-01-01 00:00:00Z");
        assert_eq!(time(951_782_400_000), "2000-02-29 00:00:00Z");
        assert_eq!(time(1_796_146_288_123), "2026-12-01 17:31:28Z");
    }
}
