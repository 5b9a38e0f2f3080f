//! What changes files as a whole: removed, moved, given away, created.

use super::blocking;
use super::mode::Wanted;
use crate::answer::{self, Answer, Failure, reason};
use crate::query::Query;
use axum::body::Bytes;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;

/// `DELETE /files?path=`: what is not there is as good as removed.
pub(crate) async fn remove(query: Query) -> Answer {
    blocking(move || {
        for path in query.all("path") {
            let failed =
                |why: String| Failure::runtime(format!("error removing file {path}. {why}"));
            if fs::symlink_metadata(&path).is_ok_and(|found| found.is_dir()) {
                return Err(failed(format!("path is a directory: {path}")));
            }
            gone(fs::remove_file(&path))
                .map_err(|error| failed(format!("remove {path}: {}", reason(&error))))?;
        }
        Ok(answer::done())
    })
    .await
}

/// `DELETE /directories?path=`: with all that is in them.
pub(crate) async fn remove_directories(query: Query) -> Answer {
    blocking(move || {
        for path in query.all("path") {
            let removed = match fs::symlink_metadata(&path) {
                Ok(found) if found.is_dir() => fs::remove_dir_all(&path),
                Ok(_) => fs::remove_file(&path),
                Err(error) => Err(error),
            };
            gone(removed).map_err(|error| {
                Failure::runtime(format!(
                    "error removing directory {path}. {}",
                    reason(&error)
                ))
            })?;
        }
        Ok(answer::done())
    })
    .await
}

fn gone(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

#[derive(Deserialize)]
struct Move {
    #[serde(default)]
    src: String,
    #[serde(default)]
    dest: String,
}

/// `POST /files/mv`: one after the other; a failure leaves those before it done.
pub(crate) async fn rename(body: Bytes) -> Answer {
    let moves: Vec<Move> = answer::parse(&body)?;
    blocking(move || {
        for Move { src, dest } in moves {
            fs::metadata(&src).map_err(|error| {
                Failure::of_file(&format!("source path not found: {src}: stat {src}"), &error)
            })?;
            if fs::symlink_metadata(&dest).is_ok() {
                return Err(Failure::runtime(format!(
                    "error accessing file: destination path already exists: {dest}"
                )));
            }
            if let Some(parent) = Path::new(&dest).parent() {
                fs::create_dir_all(parent).map_err(|error| {
                    Failure::of_file(&format!("mkdir {}", parent.display()), &error)
                })?;
            }
            fs::rename(&src, &dest)
                .map_err(|error| Failure::of_file(&format!("rename {src} {dest}"), &error))?;
        }
        Ok(answer::done())
    })
    .await
}

/// `POST /files/permissions`: mode and owner for each path.
pub(crate) async fn permissions(body: Bytes) -> Answer {
    let wanted: BTreeMap<String, Wanted> = answer::parse(&body)?;
    blocking(move || {
        for (path, wanted) in wanted {
            wanted.apply(Path::new(&path)).map_err(|why| {
                Failure::runtime(format!("error changing permissions for {path}. {why}"))
            })?;
        }
        Ok(answer::done())
    })
    .await
}

/// `POST /directories`: with their parents.
pub(crate) async fn create_directories(body: Bytes) -> Answer {
    let wanted: BTreeMap<String, Wanted> = answer::parse(&body)?;
    blocking(move || {
        for (path, wanted) in wanted {
            let failed =
                |why: String| Failure::runtime(format!("error creating directory {path}. {why}"));
            fs::create_dir_all(&path)
                .map_err(|error| failed(format!("mkdir {path}: {}", reason(&error))))?;
            wanted.apply(Path::new(&path)).map_err(failed)?;
        }
        Ok(answer::done())
    })
    .await
}
