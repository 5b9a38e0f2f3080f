//! The paths that callers name files in a sandbox by.

use std::path::{Component, Path, PathBuf};

use keepsake_types::limits::{FILE_BYTES, SANDBOX_DIRECTORY_DEPTH, SANDBOX_PATH_BYTES};

use crate::SandboxError;

/// The work directory, within the sandbox.
pub(crate) const WORK: &str = "/work";

/// A path as a caller gave it, checked: relative to the work directory, and
/// without `..`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WorkPath {
    pub(crate) given: String,
    /// Relative; empty for the work directory itself.
    pub(crate) inner: PathBuf,
}

impl WorkPath {
    pub(crate) fn parse(given: &str) -> Result<Self, SandboxError> {
        let refuse = |reason: String| Err(SandboxError::path(given, reason));
        if given.is_empty() {
            return refuse("it is empty; `.` is the work directory".into());
        }
        if given.len() > SANDBOX_PATH_BYTES {
            return refuse(format!(
                "it has {} bytes, {SANDBOX_PATH_BYTES} at most are possible",
                given.len()
            ));
        }
        if given.contains('\0') {
            return refuse("it holds a zero byte".into());
        }
        let path = Path::new(given);
        let path = if path.is_absolute() {
            match path.strip_prefix(WORK) {
                Ok(below) => below,
                Err(_) => {
                    return refuse(format!(
                        "files are reached below the work directory {WORK} only; \
                         a command can read and write others, such as those in /tmp"
                    ));
                }
            }
        } else {
            path
        };
        let mut inner = PathBuf::new();
        for component in path.components() {
            match component {
                Component::Normal(name) => inner.push(name),
                Component::CurDir => {}
                _ => return refuse("it holds `..`; give the path without it".into()),
            }
        }
        if inner.components().count() > SANDBOX_DIRECTORY_DEPTH {
            return refuse(format!(
                "it is more than {SANDBOX_DIRECTORY_DEPTH} levels deep"
            ));
        }
        Ok(Self {
            given: given.into(),
            inner,
        })
    }

    /// Refuses content that is too large for one file.
    pub(crate) fn check_content(&self, content: &[u8]) -> Result<(), SandboxError> {
        if content.len() > FILE_BYTES {
            return Err(too_large(&self.given, content.len() as u64));
        }
        Ok(())
    }

    /// The directory that it is in, and its name there.
    pub(crate) fn split(&self) -> Result<(&Path, &std::ffi::OsStr), SandboxError> {
        let Some(name) = self.inner.file_name() else {
            return Err(SandboxError::path(
                &self.given,
                "it is the work directory itself; name something in it",
            ));
        };
        let parent = self
            .inner
            .parent()
            .filter(|parent| !parent.as_os_str().is_empty());
        Ok((parent.unwrap_or(Path::new(".")), name))
    }

    /// Its parts below the work directory; none for that one itself.
    pub(crate) fn parts(&self) -> impl Iterator<Item = String> + '_ {
        // It was made of text.
        let parts = self.inner.iter();
        parts.map(|part| part.to_string_lossy().into_owned())
    }

    /// The absolute path as the sandbox sees it.
    pub(crate) fn shown(&self) -> PathBuf {
        Path::new(WORK).join(&self.inner)
    }
}

pub(crate) fn not_regular(given: &str) -> SandboxError {
    SandboxError::path(given, "it is neither a file nor a directory")
}

pub(crate) fn too_large(given: &str, size: u64) -> SandboxError {
    SandboxError::Limit {
        name: "file-bytes",
        message: format!(
            "`{}` has {size} bytes, {FILE_BYTES} at most can be read or written at once",
            given.escape_debug()
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_stays_within_the_work_directory() {
        for (given, inner) in [
            ("a", "a"),
            ("./a//b/", "a/b"),
            ("/work/a", "a"),
            ("/work", ""),
            (".", ""),
        ] {
            assert_eq!(
                WorkPath::parse(given).unwrap().inner,
                Path::new(inner),
                "{given}"
            );
        }
        for given in [
            "",
            "..",
            "a/../b",
            "/",
            "/tmp/a",
            "/workshop/a",
            "/work/../etc/passwd",
            "a\0b",
            &"d/".repeat(65),
            &"x".repeat(5_000),
        ] {
            let refused = WorkPath::parse(given);
            assert!(
                matches!(refused, Err(SandboxError::InvalidPath { .. })),
                "{given}: {refused:?}"
            );
        }
    }
}
