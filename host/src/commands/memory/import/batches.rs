//! Reading records in batches, on a thread of their own, ahead of what embeds
//! and writes them.

use keepsake_types::limits;
use tokio::sync::mpsc::Sender;

use super::check::{BadLines, unreadable};
use super::lines::Lines;
use super::members::Unsaid;
use super::record::{Bound, Record};
use super::source::Source;
use crate::failure::{ExitCode, Failure};

/// Records that are embedded and written together.
pub(super) type Batch = Vec<Record>;

/// What becomes of lines that cannot be imported.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum OnBadLine {
    /// They are passed over and counted.
    Skip,
    /// The first ends the import.
    Stop,
}

/// What reading a source to its end found.
#[derive(Default)]
pub(super) struct Read {
    /// Lines that cannot be imported.
    pub(super) bad: BadLines,
    /// An export began in it, and its last line is not there.
    pub(super) broken_off: bool,
}

/// Reads all of `source`. Ends early, and without an error, where nobody takes
/// the batches any more: whoever took them has an error of his own.
pub(super) fn read(
    source: Source,
    unsaid: &Unsaid,
    on_bad_line: OnBadLine,
    batches: &Sender<Batch>,
) -> Result<Read, Failure> {
    let mut lines = Lines::new(source.reader()?);
    let mut read = Read::default();
    let mut batch = Batch::new();
    let mut bytes = 0;
    while let Some(line) = lines.next().map_err(unreadable)? {
        match Record::read(&line, unsaid) {
            Ok(Record::Bound(bound)) => read.broken_off = bound == Bound::Begin,
            Ok(record) => {
                bytes += line.bytes.map_or(0, <[u8]>::len);
                batch.push(record);
            }
            Err(reason) if on_bad_line == OnBadLine::Stop => {
                let number = line.number;
                // What came before it is as good as it was.
                let _ = batches.blocking_send(batch);
                return Err(Failure::new(
                    ExitCode::Usage,
                    format!(
                        "line {number} cannot be imported: {reason}; the lines before it were imported, and are not imported twice when you run the command again with that line corrected, or with --skip-bad"
                    ),
                ));
            }
            Err(reason) => read.bad.add(line.number, reason),
        }
        if batch.len() == limits::IMPORT_BATCH_FACTS || bytes >= limits::IMPORT_BATCH_BYTES {
            bytes = 0;
            if batches.blocking_send(std::mem::take(&mut batch)).is_err() {
                return Ok(read);
            }
        }
    }
    if !batch.is_empty() {
        let _ = batches.blocking_send(batch);
    }
    Ok(read)
}
