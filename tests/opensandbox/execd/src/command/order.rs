//! What a caller orders with `POST /command`.

use crate::answer::{self, Failure};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{env, fs};

/// A command that is fit to be started.
pub(crate) struct Order {
    /// What the shell is handed.
    pub(crate) command: String,
    /// Where it runs; without one, where execd does.
    pub(crate) directory: Option<PathBuf>,
    /// Whether the caller does not wait for its end.
    pub(crate) background: bool,
    /// After this it is killed.
    pub(crate) limit: Option<Duration>,
    /// Whom it runs as: user and group.
    pub(crate) user: Option<(u32, Option<u32>)>,
    /// What stands in its environment besides execd's own.
    pub(crate) environment: BTreeMap<String, String>,
}

/// The body of the request. Unknown fields are let pass, as execd does.
#[derive(Deserialize)]
struct Body {
    #[serde(default)]
    command: String,
    cwd: Option<String>,
    #[serde(default)]
    background: bool,
    #[serde(default)]
    timeout: i64,
    uid: Option<u32>,
    gid: Option<u32>,
    envs: Option<BTreeMap<String, String>>,
}

impl Order {
    /// Reads and checks a body. Fails with 400.
    pub(crate) fn parse(body: &[u8]) -> Result<Self, Failure> {
        let body: Body = answer::parse(body)?;
        if body.command.is_empty() {
            return Err(unfit(&field("Command", "required")));
        }
        let Ok(milliseconds) = u64::try_from(body.timeout) else {
            return Err(unfit(&field("TimeoutMs", "gte")));
        };
        if body.gid.is_some() && body.uid.is_none() {
            return Err(unfit("uid is required when gid is provided"));
        }
        Ok(Self {
            directory: body
                .cwd
                .filter(|cwd| !cwd.is_empty())
                .map(directory)
                .transpose()?,
            command: body.command,
            background: body.background,
            limit: (milliseconds > 0).then(|| Duration::from_millis(milliseconds)),
            user: body.uid.map(|uid| (uid, body.gid)),
            environment: kept_environment()
                .into_iter()
                .chain(body.envs.unwrap_or_default())
                .collect(),
        })
    }
}

fn unfit(reason: &str) -> Failure {
    Failure::invalid(format!("invalid request, validation error {reason}"))
}

/// The words for a field that breaks a rule.
fn field(name: &str, rule: &str) -> String {
    format!(
        "Key: 'RunCommandRequest.{name}' Error:Field validation for '{name}' failed on the '{rule}' tag"
    )
}

fn directory(cwd: String) -> Result<PathBuf, Failure> {
    let path = PathBuf::from(expand(&cwd));
    match fs::metadata(&path) {
        Ok(found) if found.is_dir() => Ok(path),
        Ok(_) => Err(unfit(&format!(
            "working directory is not a directory: {}",
            path.display()
        ))),
        Err(error) => Err(unfit(&format!(
            "working directory does not exist: {0}: stat {0}: {1}",
            path.display(),
            answer::reason(&error)
        ))),
    }
}

/// Puts the home directory for a leading `~` and values for `$NAME` and `${NAME}`.
fn expand(text: &str) -> String {
    let home = || env::var("HOME").unwrap_or_else(|_| "/root".to_owned());
    let text = match text.strip_prefix('~') {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => home() + rest,
        _ => text.to_owned(),
    };
    let mut parts = text.split('$');
    let mut expanded = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, rest) = match part.strip_prefix('{').and_then(|part| part.split_once('}')) {
            Some(named) => named,
            None => part.split_at(
                part.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_')
                    .unwrap_or(part.len()),
            ),
        };
        expanded += &env::var(name).unwrap_or_default();
        expanded += rest;
    }
    expanded
}

/// The variables in the file that `EXECD_ENVS` names, read anew for each
/// command: so one command can leave variables to later ones.
fn kept_environment() -> BTreeMap<String, String> {
    let Some(path) = env::var_os("EXECD_ENVS") else {
        return BTreeMap::new();
    };
    let text = fs::read_to_string(Path::new(&path)).unwrap_or_default();
    text.lines()
        .filter_map(|line| line.split_once('='))
        .map(|(name, value)| (name.trim().to_owned(), value.to_owned()))
        .filter(|(name, _)| !name.is_empty() && !name.starts_with('#'))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::expand;

    #[test]
    fn home_and_variables_stand_for_their_values() {
        let home = std::env::var("HOME").unwrap();
        assert_eq!(expand("~"), home);
        assert_eq!(expand("~/a"), format!("{home}/a"));
        assert_eq!(expand("$HOME/b"), format!("{home}/b"));
        assert_eq!(expand("/x${HOME}y"), format!("/x{home}y"));
        assert_eq!(expand("/a~b"), "/a~b");
        assert_eq!(expand("/none$NOT_A_VARIABLE/c"), "/none/c");
    }
}
