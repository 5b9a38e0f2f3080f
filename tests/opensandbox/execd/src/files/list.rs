//! What is in a directory.

use super::blocking;
use super::info::FileInfo;
use crate::answer::{self, Answer, Failure};
use crate::query::Query;
use globset::GlobBuilder;
use std::fs;
use std::path::{Path, PathBuf};

/// The most entries that one answer holds.
const MOST_ENTRIES: usize = 100_000;

/// `GET /directories/list?path=&depth=`: a flat list, parents before children.
pub(crate) async fn list(query: Query) -> Answer {
    let path = query.need("path")?;
    let depth = query.number("depth", 0)?.unwrap_or(1);
    blocking(move || {
        let found = fs::symlink_metadata(&path)
            .map_err(|error| Failure::of_file(&format!("lstat {path}"), &error))?;
        if found.is_symlink() {
            return Err(Failure::invalid(format!(
                "path is a symbolic link, refusing to traverse: {path}"
            )));
        }
        if !found.is_dir() {
            return Err(Failure::invalid(format!("path is not a directory: {path}")));
        }
        let mut entries = Vec::new();
        walk(Path::new(&path), depth, &mut |path, _| entries.push(path));
        Ok(answer::json(&infos(entries)))
    })
    .await
}

/// `GET /files/search?path=&pattern=`: files below a path whose own name fits.
pub(crate) async fn search(query: Query) -> Answer {
    let path = query.need("path")?;
    let pattern = query.one("pattern").unwrap_or_else(|| "**".to_owned());
    blocking(move || {
        fs::metadata(&path).map_err(|error| Failure::of_file(&format!("stat {path}"), &error))?;
        let glob = GlobBuilder::new(&pattern)
            .literal_separator(true)
            .build()
            .map_err(|_| {
                Failure::runtime(format!(
                    "error searching files. invalid pattern {pattern}: syntax error in pattern"
                ))
            })?
            .compile_matcher();
        let mut entries = Vec::new();
        walk(Path::new(&path), usize::MAX, &mut |path, directory| {
            if !directory && path.file_name().is_some_and(|name| glob.is_match(name)) {
                entries.push(path);
            }
        });
        Ok(answer::json(&infos(entries)))
    })
    .await
}

/// What vanished in between is left out.
fn infos(paths: Vec<PathBuf>) -> Vec<FileInfo> {
    paths
        .iter()
        .take(MOST_ENTRIES)
        .filter_map(|path| FileInfo::of(path).ok())
        .collect()
}

/// Visits what is below a directory, by name, each directory before its content.
/// Links are not followed; what cannot be read is passed over.
fn walk(directory: &Path, depth: usize, visit: &mut impl FnMut(PathBuf, bool)) {
    if depth == 0 {
        return;
    }
    let Ok(entries) = fs::read_dir(directory) else {
        return;
    };
    let mut entries: Vec<_> = entries.flatten().collect();
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
        visit(entry.path(), is_directory);
        if is_directory {
            walk(&entry.path(), depth - 1, visit);
        }
    }
}
