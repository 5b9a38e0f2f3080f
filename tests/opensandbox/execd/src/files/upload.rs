//! `POST /files/upload`: pairs of parts, what the file is to be and its content.

use super::blocking;
use super::mode::Wanted;
use crate::answer::{self, Answer, Failure};
use axum::body::Bytes;
use axum::extract::Multipart;
use axum::extract::multipart::{MultipartError, MultipartRejection};
use axum::http::StatusCode;
use serde::Deserialize;
use std::fs::{DirBuilder, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

/// The mode of a new file or directory, less the umask.
const NEW_MODE: u32 = 0o777;

#[derive(Deserialize)]
struct Metadata {
    #[serde(default)]
    path: String,
    #[serde(flatten)]
    wanted: Wanted,
}

/// Writes the files one after the other. A failure leaves those before it, and
/// may leave its own file written.
pub(crate) async fn upload(form: Result<Multipart, MultipartRejection>) -> Answer {
    let mut form = form.map_err(|_| bad("INVALID_FILE", "multipart form is empty"))?;
    let mut metadata = Vec::new();
    let mut contents = Vec::new();
    while let Some(part) = form.next_field().await.map_err(broken)? {
        // A part without a file name is a plain field, and execd does not see it.
        if part.file_name().is_none() {
            continue;
        }
        match part.name() {
            Some("metadata") => metadata.push(part.bytes().await.map_err(broken)?),
            Some("file") => contents.push(part.bytes().await.map_err(broken)?),
            _ => {}
        }
    }
    if metadata.is_empty() {
        return Err(bad("INVALID_FILE_METADATA", "metadata file is missing"));
    }
    if contents.is_empty() {
        return Err(bad("INVALID_FILE_CONTENT", "file is missing"));
    }
    if metadata.len() != contents.len() {
        let counts = format!(
            "metadata and file count mismatch: {} vs {}",
            metadata.len(),
            contents.len()
        );
        return Err(bad("INVALID_FILE", counts));
    }
    blocking(move || {
        for (metadata, content) in metadata.iter().zip(contents) {
            let metadata = parse(metadata)?;
            write(&metadata, &content)?;
        }
        Ok(answer::done())
    })
    .await
}

fn bad(code: &'static str, message: impl Into<String>) -> Failure {
    Failure::new(StatusCode::BAD_REQUEST, code, message)
}

fn broken(error: MultipartError) -> Failure {
    bad("INVALID_FILE", error.body_text())
}

fn parse(bytes: &Bytes) -> Result<Metadata, Failure> {
    let invalid = |why: String| {
        bad(
            "INVALID_FILE_METADATA",
            format!("invalid metadata format. {why}"),
        )
    };
    let value: serde_json::Value =
        serde_json::from_slice(bytes).map_err(|error| invalid(error.to_string()))?;
    // The one mistake whose words were recorded: a mode in quotes.
    if value["mode"].is_string() {
        return Err(invalid(
            "json: cannot unmarshal string into Go struct field FileMetadata.mode of type int"
                .to_owned(),
        ));
    }
    let metadata: Metadata =
        serde_json::from_value(value).map_err(|error| invalid(error.to_string()))?;
    if metadata.path.is_empty() {
        return Err(bad("INVALID_FILE_METADATA", "metadata path is empty"));
    }
    Ok(metadata)
}

fn write(metadata: &Metadata, content: &[u8]) -> Result<(), Failure> {
    let path = Path::new(&metadata.path);
    let doing = format!("open {}", path.display());
    let failed = |error| Failure::of_file(&doing, &error);
    if let Some(parent) = path.parent() {
        DirBuilder::new()
            .recursive(true)
            .mode(NEW_MODE)
            .create(parent)
            .map_err(failed)?;
    }
    // `fs::write` would give a new file no right to run.
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(NEW_MODE)
        .open(path)
        .map_err(failed)?;
    file.write_all(content).map_err(failed)?;
    metadata
        .wanted
        .apply(path)
        .map_err(|why| Failure::runtime(format!("error chmoding file {}. {why}", path.display())))
}
