//! The shell scripts that run within a sandbox. They need a POSIX shell and
//! the usual tools; those of busybox do.

use keepsake_types::limits::EXEC_OUTPUT_BYTES;

use crate::SandboxLimits;
use crate::paths::WorkPath;

/// The variable by which all that a command started is found.
pub(super) const MARK: &str = "KEEPSAKE_EXECUTION";
/// What the script says once the command begins.
pub(super) const STARTED: &str = "keepsake-started";
/// What it says where the command's directory is not there.
pub(super) const NO_DIRECTORY: &str = "keepsake-no-directory";
/// A line that is longer when quoted goes into a file: the system takes no
/// argument beyond 128 KiB.
const QUOTED_LINE_BYTES: usize = 96 * 1024;

/// Makes a new sandbox fit for use; prints `ready` or what is missing.
pub(super) const PREPARE: &str = include_str!("scripts/prepare.sh");
/// Prints what a sandbox uses.
pub(super) const MEASURE: &str = include_str!("scripts/measure.sh");

const RUN: &str = include_str!("scripts/run.sh");
const KILL: &str = include_str!("scripts/kill.sh");
const CLEAR: &str = include_str!("scripts/clear.sh");
const WALK: &str = include_str!("scripts/walk.sh");
const LOOK: &str = include_str!("scripts/look.sh");
const REMOVE: &str = include_str!("scripts/remove.sh");

/// Where one command's outputs are kept in the sandbox.
pub(super) fn directory(id: &str) -> String {
    format!("/tmp/.keepsake/{id}")
}

/// The script that runs a line, and whether the line has to be put into the
/// file `line` of the command's directory.
pub(super) fn run(id: &str, at: &str, line: &str, limits: &SandboxLimits) -> (String, bool) {
    let quoted = quote(line);
    let in_file = quoted.len() > QUOTED_LINE_BYTES;
    let keep = limits.output_bytes.min(EXEC_OUTPUT_BYTES as u64);
    let rest = limits.output_bytes - keep + 1;
    let script = format!(
        "_k_dir={}; _k_at={}; _k_line={}; _k_keep={keep}; _k_rest={rest}; _k_files={}; \
         _k_blocks={}\n{RUN}",
        quote(&directory(id)),
        quote(at),
        if in_file { "''" } else { &quoted },
        limits.open_files,
        limits.file_size_bytes.div_ceil(512),
    );
    (script, in_file)
}

/// Kills a command with all that it started.
pub(super) fn kill(id: &str) -> String {
    format!(
        "_k_dir={}; _k_mark={}\n{KILL}",
        quote(&directory(id)),
        quote(id)
    )
}

/// The same, and removes its outputs.
pub(super) fn clear(id: &str) -> String {
    format!("{}{CLEAR}", kill(id))
}

/// Tells what a path is, after all symlinks.
pub(super) fn look(path: &WorkPath) -> String {
    format!("{}{LOOK}", walk(path, "follow"))
}

/// Removes what a path names.
pub(super) fn remove(path: &WorkPath) -> String {
    format!("{}{REMOVE}", walk(path, "keep"))
}

fn walk(path: &WorkPath, last: &str) -> String {
    let mut script = format!("_k_last={last}\nset --");
    for part in path.parts() {
        script.push(' ');
        script.push_str(&quote(&part));
    }
    script.push('\n');
    script.push_str(WALK);
    script
}

/// A text as one word of a shell.
fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn quoted_texts_arrive_unchanged() {
        for text in ["", "a b", "it's", "''", "$(id) `id` \\ \" \n ü", "-n"] {
            let line = format!("printf %s {}", quote(text));
            let printed = Command::new("sh").args(["-c", &line]).output().unwrap();
            assert_eq!(printed.stdout, text.as_bytes(), "{text}");
        }
    }

    #[test]
    fn a_line_that_grows_too_long_goes_into_a_file() {
        let limits = SandboxLimits::default();
        let (script, in_file) = run("x", "/work", &"'".repeat(64 * 1024), &limits);
        assert!(in_file);
        assert!(script.len() < 16 * 1024, "{}", script.len());
        let (script, in_file) = run("x", "/work", &"y".repeat(64 * 1024), &limits);
        assert!(!in_file);
        assert!(script.len() < 128 * 1024, "{}", script.len());
    }
}
