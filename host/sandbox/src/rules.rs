//! The rules that a command keeps before anything is started.

use std::sync::Arc;

use keepsake_types::limits::{
    CHECKPOINT_NAME_BYTES, COMMAND_LINE_BYTES, EXEC_ENVIRONMENT_BYTES, EXEC_STDIN_BYTES,
    SANDBOX_EXECUTIONS, SANDBOX_PATH_BYTES,
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::paths::WORK;
use crate::{Command, SandboxError};

/// Checks a command and answers the directory to run it in.
pub(crate) fn check_command(command: &Command) -> Result<String, SandboxError> {
    if command.line.is_empty() || command.line.contains('\0') {
        return Err(SandboxError::invalid(
            "a command line must not be empty or hold a zero byte",
        ));
    }
    let limit = |name, what: &str, actual: usize, most: usize| {
        if actual <= most {
            return Ok(());
        }
        Err(SandboxError::Limit {
            name,
            message: format!("{what} has {actual} bytes, {most} at most are possible"),
        })
    };
    limit(
        "command-line-bytes",
        "the command line",
        command.line.len(),
        COMMAND_LINE_BYTES,
    )?;
    let stdin = command.stdin.as_ref().map_or(0, Vec::len);
    limit(
        "exec-stdin-bytes",
        "the standard input",
        stdin,
        EXEC_STDIN_BYTES,
    )?;
    let variables = command.environment.iter();
    check_environment(variables.map(|(name, value)| (name.as_str(), value.as_str())))?;
    let Some(directory) = &command.directory else {
        return Ok(WORK.into());
    };
    if directory.is_empty() || directory.len() > SANDBOX_PATH_BYTES || directory.contains('\0') {
        return Err(SandboxError::path(
            directory,
            format!("a directory has from 1 to {SANDBOX_PATH_BYTES} bytes, none of them zero"),
        ));
    }
    Ok(if directory.starts_with('/') {
        directory.clone()
    } else {
        format!("{WORK}/{directory}")
    })
}

pub(crate) fn check_environment<'v>(
    variables: impl Iterator<Item = (&'v str, &'v str)>,
) -> Result<(), SandboxError> {
    let mut bytes = 0;
    for (name, value) in variables {
        if name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') {
            return Err(SandboxError::invalid(format!(
                "the variable `{}` cannot be set: a name must not be empty or hold `=`, and \
                 neither it nor its value may hold a zero byte",
                name.escape_debug()
            )));
        }
        bytes += name.len() + value.len();
    }
    if bytes > EXEC_ENVIRONMENT_BYTES {
        return Err(SandboxError::Limit {
            name: "exec-environment-bytes",
            message: format!(
                "the variables have {bytes} bytes, {EXEC_ENVIRONMENT_BYTES} at most are possible"
            ),
        });
    }
    Ok(())
}

/// Checks the name of a checkpoint.
pub(crate) fn check_checkpoint_name(name: &str) -> Result<(), SandboxError> {
    if name.is_empty() || name.len() > CHECKPOINT_NAME_BYTES || name.chars().any(char::is_control) {
        return Err(SandboxError::invalid(format!(
            "a checkpoint's name has from 1 to {CHECKPOINT_NAME_BYTES} bytes without control characters"
        )));
    }
    Ok(())
}

/// A place among the commands that run in one sandbox, given back when it is
/// dropped.
pub(crate) fn command_slot(slots: &Arc<Semaphore>) -> Result<OwnedSemaphorePermit, SandboxError> {
    Arc::clone(slots)
        .try_acquire_owned()
        .map_err(|_| SandboxError::Limit {
            name: "sandbox-executions",
            message: format!(
                "{SANDBOX_EXECUTIONS} commands run in the sandbox already; wait for one"
            ),
        })
}
