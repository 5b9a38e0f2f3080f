//! Printing. Results go to standard output; everything else to standard error.
//! What plugins and customers wrote is data: no terminal obeys it.

use std::io::{self, Write};

use keepsake_types::calendar::day;
pub(crate) use keepsake_types::text::printable;
pub(crate) use keepsake_types::text::printable_json;
use keepsake_types::{ResourceRef, Timestamp};
use serde::Serialize;

use crate::failure::{ExitCode, Failure};

/// Writes a line to standard error. One that cannot be written is let go: the
/// work that it tells of goes on, and a panic would end it in the middle.
macro_rules! note {
    ($($argument:tt)*) => {{
        use std::io::Write as _;
        // Whatever an error quotes, no terminal obeys it.
        let text = keepsake_types::text::printable(&format!($($argument)*));
        let _ = writeln!(std::io::stderr(), "{text}");
    }};
}
pub(crate) use note;

/// What is printable of a text, on one line, cut to so many characters.
pub(crate) fn one_line(text: &str, characters: usize) -> String {
    let line = printable(text).replace(['\n', '\t'], " ");
    if line.chars().count() <= characters {
        return line;
    }
    let cut: String = line.chars().take(characters.saturating_sub(1)).collect();
    format!("{cut}…")
}

/// Whose memory it is, for people.
pub(crate) fn whose(resource: &ResourceRef, characters: usize) -> String {
    one_line(&resource.to_string(), characters)
}

/// The options that name it to a command.
pub(crate) fn options_for(resource: &ResourceRef) -> String {
    let team = resource.team.as_ref().map(|team| ("--team", team));
    let fork = resource.fork.as_ref().map(|fork| ("--fork", fork));
    let name = Some(("--resource", &resource.resource)).filter(|(_, name)| !name.is_empty());
    let options = name.into_iter().chain(team).chain(fork);
    let options = options.map(|(option, name)| format!("{option} {}", one_line(name, 100)));
    options.collect::<Vec<_>>().join(" ")
}

/// Writes an answer about a memory as one line of JSON: whose it is, then the
/// members of `answer`.
pub(crate) fn json_of(resource: &ResourceRef, answer: serde_json::Value) -> Result<(), Failure> {
    let mut members = serde_json::Map::new();
    members.insert("resource".into(), resource.resource.clone().into());
    if let Some(team) = &resource.team {
        members.insert("team".into(), team.clone().into());
    }
    if let Some(fork) = &resource.fork {
        members.insert("fork".into(), fork.clone().into());
    }
    if let serde_json::Value::Object(answer) = answer {
        members.extend(answer);
    }
    json(&members)
}

/// Writes to standard output at once. What a terminal would obey and nobody
/// escaped before is escaped here.
pub(crate) fn write(text: &str) -> Result<(), Failure> {
    let mut output = io::stdout().lock();
    output
        .write_all(printable(text).as_bytes())
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
    line(&printable_json(&text))
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
pub(crate) fn time(at: Timestamp) -> String {
    let seconds = at / 1000;
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    format!("{} {hour:02}:{minute:02}:{second:02}Z", day(at))
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
