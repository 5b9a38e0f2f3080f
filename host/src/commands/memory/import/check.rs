//! Looking through a file before anything of it is written.

use std::fs::File;
use std::io::BufReader;

use super::lines::Lines;
use super::members::Unsaid;
use super::record::Record;
use super::source::BUFFER;
use crate::failure::{ExitCode, Failure};

/// Bad lines that are named; nobody reads further.
const NAMED: usize = 10;

/// What a file holds.
pub(super) struct Checked {
    /// Lines that can be imported.
    pub(super) good: u64,
    /// What is wrong with the others.
    pub(super) bad: BadLines,
}

/// Lines that cannot be imported.
#[derive(Debug, Default)]
pub(super) struct BadLines {
    count: u64,
    first: Vec<(u64, String)>,
}

impl BadLines {
    pub(super) fn add(&mut self, number: u64, reason: String) {
        self.count += 1;
        if self.first.len() < NAMED {
            self.first.push((number, reason));
        }
    }

    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// The first of them with their numbers, for programs.
    pub(super) fn first(&self) -> &[(u64, String)] {
        &self.first
    }

    /// A line for each of the first, and how many more there are.
    pub(super) fn told(&self) -> String {
        let mut lines: Vec<String> = self
            .first
            .iter()
            .map(|(number, reason)| format!("  line {number}: {reason}"))
            .collect();
        let more = self.count - self.first.len() as u64;
        if more > 0 {
            lines.push(format!("  and {more} more"));
        }
        lines.join("\n")
    }
}

/// Reads the whole file.
pub(super) fn check(file: &File, unsaid: &Unsaid) -> Result<Checked, Failure> {
    let mut lines = Lines::new(BufReader::with_capacity(BUFFER, file));
    let mut checked = Checked {
        good: 0,
        bad: BadLines::default(),
    };
    while let Some(line) = lines.next().map_err(unreadable)? {
        match Record::read(&line, unsaid) {
            Ok(Record::Bound(_)) => {}
            Ok(_) => checked.good += 1,
            Err(reason) => checked.bad.add(line.number, reason),
        }
    }
    Ok(checked)
}

pub(super) fn unreadable(error: std::io::Error) -> Failure {
    Failure::new(
        ExitCode::Other,
        format!("the file cannot be read to its end: {error}"),
    )
}
