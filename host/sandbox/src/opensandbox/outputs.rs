//! The two outputs of a command in a remote sandbox, read from its files.

use keepsake_types::limits::EXEC_OUTPUT_BYTES;
use tokio::sync::mpsc;

use super::execd::Execd;
use super::failure::Failure;
use super::scripts;
use crate::ExecEvent;

/// What the file that says how much there was can hold.
const NUMBER_BYTES: usize = 32;

/// Both outputs.
pub(super) struct Outputs {
    stdout: Output,
    stderr: Output,
    /// What both may have together.
    most: u64,
    lost: bool,
}

struct Output {
    /// The file with its first bytes.
    data: String,
    /// The file that says how many there were in all, once it is closed.
    end: String,
    kept: Vec<u8>,
    total: Option<u64>,
    event: fn(Vec<u8>) -> ExecEvent,
}

impl Outputs {
    pub(super) fn new(id: &str, most: u64) -> Self {
        let directory = scripts::directory(id);
        let output = |name: &str, event| Output {
            data: format!("{directory}/{name}.data"),
            end: format!("{directory}/{name}.end"),
            kept: Vec::new(),
            total: None,
            event,
        };
        Self {
            stdout: output("o", ExecEvent::Stdout),
            stderr: output("e", ExecEvent::Stderr),
            most,
            lost: false,
        }
    }

    /// Reads what is new, passes it on, and answers whether there was any.
    pub(super) async fn collect(
        &mut self,
        execd: &Execd,
        events: &mpsc::UnboundedSender<ExecEvent>,
    ) -> Result<bool, Failure> {
        let both = [&self.stdout, &self.stderr];
        let paths: Vec<&str> = both
            .iter()
            .flat_map(|output| [output.data.as_str(), output.end.as_str()])
            .collect();
        let Some(found) = execd.info(&paths).await? else {
            return Err(Failure::malformed(
                "read a command's output",
                "its files are gone; did the command remove `/tmp/.keepsake`?",
            ));
        };
        let size = |path: &str| found.get(path).map_or(0, |entry| entry.size);
        let mut grew = false;
        for output in [&mut self.stdout, &mut self.stderr] {
            let mut data = size(&output.data);
            let mut total = output.total;
            if total.is_none() && size(&output.end) > 0 {
                // The two were looked at one after the other: what came
                // between is counted by the second only.
                let told = output.read_total(execd).await?;
                data = data.max(told);
                total = Some(told);
            }
            grew |= output.read(execd, data, events).await?;
            output.total = total;
        }
        Ok(grew)
    }

    /// Whether all of both was read.
    pub(super) fn ended(&self) -> bool {
        self.stdout.total.is_some() && self.stderr.total.is_some()
    }

    /// The rest cannot be read.
    pub(super) fn lost(&mut self) {
        self.lost = true;
    }

    pub(super) fn over_limit(&self) -> bool {
        self.stdout.total() + self.stderr.total() > self.most
    }

    /// What is kept of both, and whether there was more.
    pub(super) fn take(&mut self) -> (Vec<u8>, Vec<u8>, bool) {
        let cut = |output: &Output| output.total() > output.kept.len() as u64;
        let truncated = self.lost || cut(&self.stdout) || cut(&self.stderr);
        (
            std::mem::take(&mut self.stdout.kept),
            std::mem::take(&mut self.stderr.kept),
            truncated,
        )
    }
}

impl Output {
    fn total(&self) -> u64 {
        self.total.unwrap_or_default().max(self.kept.len() as u64)
    }

    async fn read(
        &mut self,
        execd: &Execd,
        size: u64,
        events: &mpsc::UnboundedSender<ExecEvent>,
    ) -> Result<bool, Failure> {
        let had = self.kept.len();
        let room = EXEC_OUTPUT_BYTES - had;
        if size <= had as u64 || room == 0 {
            return Ok(false);
        }
        let more = execd.download(&self.data, had as u64, room).await?;
        let mut more = more.unwrap_or_default();
        more.truncate(room);
        if more.is_empty() {
            return Ok(false);
        }
        self.kept.extend_from_slice(&more);
        // Nobody listens to a command that is no longer held.
        let _ = events.send((self.event)(more));
        Ok(true)
    }

    async fn read_total(&self, execd: &Execd) -> Result<u64, Failure> {
        let told = execd.download(&self.end, 0, NUMBER_BYTES).await?;
        let told = told.unwrap_or_default();
        let number = std::str::from_utf8(&told).ok();
        // Whatever a command wrote over it, it is closed.
        Ok(number
            .and_then(|text| text.trim().parse().ok())
            .unwrap_or(0))
    }
}
