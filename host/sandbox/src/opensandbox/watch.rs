//! How a command in a remote sandbox begins and ends.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::events::Event;
use super::execd::Execd;
use super::failure::{Failure, clean};
use super::scripts::{NO_DIRECTORY, STARTED};
use super::stream::Stream;
use crate::ExitStatus;

/// How often to ask for the end of a command whose stream broke.
const ASK: Duration = Duration::from_millis(300);
/// How often the daemon may fail to answer that before it is given up.
const FAILURES: u32 = 3;

/// A command that was started.
pub(super) struct Begun {
    /// What the daemon knows it by.
    id: String,
    /// What follows; none where the stream broke already.
    stream: Result<Stream, String>,
}

/// Starts a command and waits until it runs. None where its directory is not
/// there.
pub(super) async fn begin(
    execd: &Execd,
    script: &str,
    environment: &BTreeMap<String, String>,
    time: Duration,
) -> Result<Option<Begun>, Failure> {
    let mut stream = execd.command(script, environment, time).await?;
    let mut id = None;
    let mut said = String::new();
    loop {
        let event = stream.next().await;
        let reason = match event {
            Ok(Some(Event::Started(told))) => {
                id = Some(told);
                continue;
            }
            Ok(Some(Event::Stdout(line))) if line == STARTED => {
                return Ok(Some(Begun {
                    id: id.unwrap_or_default(),
                    stream: Ok(stream),
                }));
            }
            Ok(Some(Event::Stdout(line))) if line == NO_DIRECTORY => return Ok(None),
            Ok(Some(Event::Stdout(line) | Event::Stderr(line))) => {
                said = clean(&format!("{said} {line}"));
                continue;
            }
            Ok(Some(Event::Failed(reason))) => reason,
            Ok(Some(Event::Ended(status))) => {
                let reason = format!("the script that starts it ended with {status:?}: {said}");
                return Err(Failure::malformed(stream.what, reason));
            }
            Ok(None) => "the stream of its events ended early".into(),
            Err(failure) => failure.to_string(),
        };
        // It may run by now: once it has an id, it can be asked for.
        return match id {
            Some(id) => Ok(Some(Begun {
                id,
                stream: Err(reason),
            })),
            None => Err(Failure::malformed(
                stream.what,
                format!("{reason}; it is not known whether it was started"),
            )),
        };
    }
}

/// Waits for a command's end. A stream that breaks says nothing about it, so
/// that the daemon is asked then.
pub(super) async fn watch(execd: Arc<Execd>, begun: Begun) -> ExitStatus {
    let reason = match begun.stream {
        Err(reason) => reason,
        Ok(mut stream) => loop {
            match stream.next().await {
                Ok(Some(Event::Ended(status))) => return status,
                Ok(Some(Event::Failed(reason))) => break reason,
                Ok(Some(_)) => {}
                Ok(None) => break "the stream of its events ended without its end".into(),
                Err(failure) => break failure.to_string(),
            }
        },
    };
    tracing::debug!(%reason, "a command's stream broke; the sandbox is asked how it ends");
    let mut failures = 0;
    loop {
        match execd.state(&begun.id).await {
            Ok(Some(state)) => match state.ended() {
                Some(status) => return status,
                None => failures = 0,
            },
            Ok(None) => {
                return ExitStatus::Unknown(format!(
                    "{reason}, and the sandbox does not know the command any more"
                ));
            }
            Err(failure) => {
                failures += 1;
                if failures == FAILURES {
                    return ExitStatus::Unknown(format!("{reason}; then: {failure}"));
                }
            }
        }
        tokio::time::sleep(ASK).await;
    }
}
