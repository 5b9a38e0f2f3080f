//! `keepsake:host/log`: lines for the operator, bounded and made printable.

use keepsake_types::limits;
use tracing::{debug, error, info, trace, warn};
use wasmtime::component::HasData;

use crate::bindings::agent::keepsake::host::log::{self, Level};
use keepsake_types::text::printable;

/// What an instance logged so far.
pub(crate) struct LogState {
    plugin: String,
    lines: u64,
    most: u64,
    panic: Option<String>,
}

impl LogState {
    /// At most so many lines are shown of a call.
    pub(crate) fn new(plugin: &str, most: u64) -> Self {
        Self {
            plugin: plugin.to_owned(),
            lines: 0,
            most,
            panic: None,
        }
    }

    /// A new call into the guest begins.
    pub(crate) fn begin_call(&mut self) {
        self.lines = 0;
        self.panic = None;
    }

    /// The last panic that the guest reported.
    pub(crate) fn panic(&self) -> Option<&str> {
        self.panic.as_deref()
    }
}

pub(crate) struct HasLog;

impl HasData for HasLog {
    type Data<'a> = &'a mut LogState;
}

impl log::Host for &mut LogState {
    async fn log(
        &mut self,
        level: Level,
        message: String,
        fields: Option<String>,
    ) -> wasmtime::Result<()> {
        self.lines += 1;
        let plugin = self.plugin.as_str();
        if self.lines > self.most {
            if self.lines == self.most + 1 {
                warn!(
                    target: "plugin",
                    "{plugin}: more than {} lines in one turn; the rest is not shown (log-lines); if they are needed, raise `limits.log-lines`",
                    self.most
                );
            }
            return Ok(());
        }
        let mut line = printable(cut(&message)).replace('\n', "\\n");
        if let Some(fields) = fields {
            line.push(' ');
            line.push_str(&printable(cut(&fields)).replace('\n', " "));
        }
        match level {
            Level::Trace => trace!(target: "plugin", "{plugin}: {line}"),
            Level::Debug => debug!(target: "plugin", "{plugin}: {line}"),
            Level::Info => info!(target: "plugin", "{plugin}: {line}"),
            Level::Warn => warn!(target: "plugin", "{plugin}: {line}"),
            Level::Error => error!(target: "plugin", "{plugin}: {line}"),
        }
        Ok(())
    }

    async fn report_panic(&mut self, message: String) -> wasmtime::Result<()> {
        self.panic = Some(printable(cut(&message)).replace('\n', " "));
        Ok(())
    }
}

/// The text's beginning, up to the bound of one line, cut between characters.
fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(limits::LOG_LINE_BYTES)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_is_kept_for_the_reader_without_its_control_characters() {
        let mut state = LogState::new("sample", 10);
        let mut host = &mut state;
        log::Host::report_panic(&mut host, "src/lib.rs:1:1:\nboom\u{1b}[31m".into())
            .await
            .unwrap();
        assert_eq!(state.panic(), Some("src/lib.rs:1:1: boom\\u{1b}[31m"));
    }

    #[test]
    fn a_long_line_is_cut_between_characters() {
        let text = "é".repeat(limits::LOG_LINE_BYTES);
        assert!(cut(&text).len() <= limits::LOG_LINE_BYTES);
        assert_eq!(cut("short"), "short");
    }
}
