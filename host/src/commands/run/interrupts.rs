//! Ctrl-C, a request to end, and a terminal that goes away.

use tokio::signal::unix::{Signal, SignalKind, signal};

/// Listens from its making on: a signal that comes while nobody waits, as between
/// two turns, is there for the next who does.
pub(super) struct Interrupts(Option<[Signal; 3]>);

impl Interrupts {
    pub(super) fn new() -> Self {
        let kinds = [
            SignalKind::interrupt(),
            SignalKind::terminate(),
            SignalKind::hangup(),
        ];
        let [Ok(interrupt), Ok(terminate), Ok(hangup)] = kinds.map(signal) else {
            // What cannot be listened for ends the program by itself.
            return Self(None);
        };
        Self(Some([interrupt, terminate, hangup]))
    }

    /// Waits for one.
    pub(super) async fn next(&mut self) {
        let Some([interrupt, terminate, hangup]) = &mut self.0 else {
            return std::future::pending().await;
        };
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, id};
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn a_signal_that_comes_while_nobody_waits_is_not_lost() {
        let mut interrupts = Interrupts::new();
        let mut kill = Command::new("kill");
        let sent = kill.arg("-HUP").arg(id().to_string()).status();
        assert!(sent.unwrap().success());
        // Until the runtime has taken it in, and nobody asks.
        tokio::time::sleep(Duration::from_millis(100)).await;
        let waited = tokio::time::timeout(Duration::from_secs(30), interrupts.next()).await;
        assert!(waited.is_ok());
        let again = tokio::time::timeout(Duration::from_millis(50), interrupts.next()).await;
        assert!(again.is_err(), "one signal is one interruption");
    }
}
