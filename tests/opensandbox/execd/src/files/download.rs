//! `GET /files/download`: a whole file, a range of its bytes, or some lines.

use super::blocking;
use crate::answer::{self, Answer, Failure};
use crate::query::Query;
use axum::body::{Body, Bytes};
use axum::http::header::{
    ACCEPT_RANGES, CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, LAST_MODIFIED,
    RANGE, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, StatusCode};
use axum::response::IntoResponse;
use futures_util::{StreamExt, stream};
use std::convert::Infallible;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::ops::RangeInclusive;
use std::path::Path;
use std::time::Duration;
use tokio::io::AsyncReadExt;

/// Bytes handed on at once.
const READ_SIZE: usize = 64 << 10;

/// The most that an answer with lines holds, in bytes.
const MOST_LINES: u64 = 64 << 20;

/// How long a body that is too short stays open.
const BEFORE_BREAKING_OFF: Duration = Duration::from_millis(50);

/// The length that execd announces for a directory, before it sends nothing.
const LENGTH_OF_A_DIRECTORY: u64 = i64::MAX.cast_unsigned();

/// Answers with the content, or with the part that was asked for.
pub(crate) async fn download(query: Query, headers: HeaderMap) -> Answer {
    let path = query.need("path")?;
    let offset = query.number("offset", 1)?;
    let limit = query.number("limit", 1)?;
    let range = headers
        .get(RANGE)
        .map(|value| value.to_str().unwrap_or_default().to_owned());
    if offset.is_some() || limit.is_some() {
        if range.is_some() {
            return Err(Failure::invalid(
                "line-based reading (offset/limit) and byte range (Range header) are mutually exclusive",
            ));
        }
        let first = offset.unwrap_or(1);
        return blocking(move || lines(&path, first, limit.unwrap_or(usize::MAX))).await;
    }
    blocking(move || bytes(&path, range.as_deref())).await
}

fn open(path: &str) -> Result<File, Failure> {
    File::open(path).map_err(|error| Failure::of_file(&format!("open {path}"), &error))
}

/// Lines from the `first` on (the first is 1), put together with `\n`.
fn lines(path: &str, first: usize, limit: usize) -> Answer {
    let reader = BufReader::new(open(path)?.take(MOST_LINES));
    let lines: Result<Vec<_>, _> = reader.split(b'\n').skip(first - 1).take(limit).collect();
    let lines = lines.map_err(|error| Failure::of_file(&format!("read {path}"), &error))?;
    Ok(answer::text(lines.join(&b'\n')))
}

fn bytes(path: &str, range: Option<&str>) -> Answer {
    let mut file = open(path)?;
    let failed = |error| Failure::of_file(&format!("stat {path}"), &error);
    let found = file.metadata().map_err(failed)?;
    let size = found.len();
    let modified = httpdate::fmt_http_date(found.modified().map_err(failed)?);
    let common = [
        (CONTENT_DISPOSITION, attachment(path)),
        (CONTENT_TYPE, "application/octet-stream".to_owned()),
    ];
    if found.is_dir() {
        // Broken as recorded: the length promises what does not come.
        let extra = [
            (ACCEPT_RANGES, "bytes".to_owned()),
            (LAST_MODIFIED, modified),
            (CONTENT_LENGTH, LENGTH_OF_A_DIRECTORY.to_string()),
        ];
        let status = StatusCode::INTERNAL_SERVER_ERROR;
        return Ok((status, common, extra, short("")).into_response());
    }
    let Some(range) = range else {
        let extra = [
            (ACCEPT_RANGES, "bytes".to_owned()),
            (LAST_MODIFIED, modified),
            (CONTENT_LENGTH, size.to_string()),
        ];
        return Ok((common, extra, content(file, size)).into_response());
    };
    match parse_range(range, size) {
        Range::Part(part) => {
            let length = part.end() - part.start() + 1;
            file.seek(SeekFrom::Start(*part.start())).map_err(failed)?;
            let told = format!("bytes {}-{}/{size}", part.start(), part.end());
            let extra = [(CONTENT_RANGE, told), (CONTENT_LENGTH, length.to_string())];
            let status = StatusCode::PARTIAL_CONTENT;
            Ok((status, common, extra, content(file, length)).into_response())
        }
        Range::Past => Ok((
            StatusCode::RANGE_NOT_SATISFIABLE,
            [
                (CONTENT_DISPOSITION, attachment(path)),
                (CONTENT_TYPE, "text/plain; charset=utf-8".to_owned()),
                (CONTENT_RANGE, format!("bytes */{size}")),
                (LAST_MODIFIED, modified),
                (X_CONTENT_TYPE_OPTIONS, "nosniff".to_owned()),
            ],
            "invalid range: failed to overlap\n",
        )
            .into_response()),
        Range::Malformed => {
            // Broken as recorded: the length is the file's, the body a shorter one.
            let extra = [(CONTENT_LENGTH, size.to_string())];
            let body = short("{\"code\":\"UNKNOWN\"}");
            Ok((StatusCode::RANGE_NOT_SATISFIABLE, common, extra, body).into_response())
        }
    }
}

fn attachment(path: &str) -> String {
    let name = Path::new(path).file_name().unwrap_or_default();
    format!("attachment; filename={:?}", name.to_string_lossy())
}

/// A body that may be shorter than the length that was announced.
fn short(text: &'static str) -> Body {
    let chunk = stream::iter((!text.is_empty()).then_some(Ok::<_, Infallible>(text)));
    // The head and the text must be on their way when the lie comes out, and
    // the connection is broken off.
    let end = stream::once(tokio::time::sleep(BEFORE_BREAKING_OFF)).filter_map(async |()| None);
    Body::from_stream(chunk.chain(end))
}

/// The next `length` bytes of a file, read as they are sent.
fn content(file: File, length: u64) -> Body {
    let file = tokio::fs::File::from_std(file).take(length);
    Body::from_stream(stream::unfold(file, async |mut file| {
        let mut chunk = vec![0; READ_SIZE];
        match file.read(&mut chunk).await {
            Ok(0) => None,
            Ok(read) => {
                chunk.truncate(read);
                Some((Ok(Bytes::from(chunk)), file))
            }
            Err(error) => Some((Err(error), file)),
        }
    }))
}

#[derive(Debug, PartialEq)]
enum Range {
    Part(RangeInclusive<u64>),
    /// Well formed, but begins behind the end.
    Past,
    Malformed,
}

/// Reads a `Range` header for a file of `size` bytes. Only the first range counts.
fn parse_range(header: &str, size: u64) -> Range {
    let Some((from, to)) = header
        .strip_prefix("bytes=")
        .and_then(|ranges| ranges.split(',').next())
        .and_then(|range| range.trim().split_once('-'))
    else {
        return Range::Malformed;
    };
    let (from, to) = (from.trim(), to.trim());
    let part = match (from.parse::<u64>(), to.parse::<u64>()) {
        (Err(_), Ok(last)) if from.is_empty() => size.saturating_sub(last)..=size.saturating_sub(1),
        (Ok(from), Ok(to)) if from <= to => from..=to.min(size.saturating_sub(1)),
        (Ok(from), Err(_)) if to.is_empty() => from..=size.saturating_sub(1),
        _ => return Range::Malformed,
    };
    if *part.start() >= size {
        return Range::Past;
    }
    Range::Part(part)
}

#[cfg(test)]
mod tests {
    use super::{Range, parse_range};

    #[test]
    fn a_range_is_cut_to_the_file() {
        assert_eq!(parse_range("bytes=0-4", 32), Range::Part(0..=4));
        assert_eq!(parse_range("bytes=30-99", 32), Range::Part(30..=31));
        assert_eq!(parse_range("bytes=-5", 32), Range::Part(27..=31));
        assert_eq!(parse_range("bytes=-99", 32), Range::Part(0..=31));
        assert_eq!(parse_range("bytes=7-", 32), Range::Part(7..=31));
        assert_eq!(parse_range("bytes=1-2, 4-5", 32), Range::Part(1..=2));
        assert_eq!(parse_range("bytes=32-", 32), Range::Past);
        assert_eq!(parse_range("bytes=0-", 0), Range::Past);
        for broken in ["lines=1", "bytes=", "bytes=-", "bytes=5-4", "bytes=a-b"] {
            assert_eq!(parse_range(broken, 32), Range::Malformed, "{broken}");
        }
    }
}
