//! What is told of a file.

use super::{blocking, mode};
use crate::answer::{self, Answer, Failure};
use crate::command::clock;
use crate::names;
use crate::query::Query;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A file, a directory or a link itself.
#[derive(Serialize)]
pub(super) struct FileInfo {
    path: String,
    #[serde(rename = "type")]
    kind: &'static str,
    size: u64,
    modified_at: String,
    created_at: String,
    owner: String,
    group: String,
    mode: u32,
}

impl FileInfo {
    /// Looks at a path, without following a link.
    pub(super) fn of(path: &Path) -> io::Result<Self> {
        let found = fs::symlink_metadata(path)?;
        Ok(Self {
            path: path.to_string_lossy().into_owned(),
            kind: kind(&found),
            size: found.size(),
            modified_at: clock::rfc3339(found.modified()?),
            // execd tells the last change of the entry, which is no creation.
            created_at: clock::rfc3339(changed(&found)),
            owner: names::of_user(found.uid()),
            group: names::of_group(found.gid()),
            mode: mode::digits(found.mode()),
        })
    }
}

fn kind(found: &Metadata) -> &'static str {
    if found.is_file() {
        "file"
    } else if found.is_dir() {
        "directory"
    } else if found.is_symlink() {
        "symlink"
    } else {
        "other"
    }
}

fn changed(found: &Metadata) -> SystemTime {
    let seconds = u64::try_from(found.ctime()).unwrap_or(0);
    let nanoseconds = u32::try_from(found.ctime_nsec()).unwrap_or(0);
    UNIX_EPOCH + Duration::new(seconds, nanoseconds)
}

/// `GET /files/info?path=`: one missing path fails all.
pub(crate) async fn info(query: Query) -> Answer {
    blocking(move || {
        let mut infos = BTreeMap::new();
        for path in query.all("path") {
            let info = FileInfo::of(Path::new(&path)).map_err(|error| {
                let doing = format!("file not found: {path}: lstat {path}");
                Failure::of_file(&doing, &error)
            })?;
            infos.insert(path, info);
        }
        Ok(answer::json(&infos))
    })
    .await
}
