//! Load and memory of the machine (not of the container: so it is with execd).

use crate::answer::{self, Answer, Failure};
use crate::command::clock;
use axum::body::{Body, Bytes};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use serde::Serialize;
use std::convert::Infallible;
use std::time::Duration;
use std::{fs, io, thread};

/// How long the processors are looked at for one answer.
const SAMPLE: Duration = Duration::from_secs(1);

/// How often a watcher is told.
const WATCH_EVERY: Duration = Duration::from_secs(2);

#[derive(Serialize)]
struct Metrics {
    cpu_count: usize,
    cpu_used_pct: f64,
    mem_total_mib: f64,
    mem_used_mib: f64,
    timestamp: u64,
}

/// `GET /metrics`: takes a second.
pub(crate) async fn once() -> Answer {
    let metrics = sample().await.map_err(|error| {
        Failure::runtime(format!("error reading metrics: {}", answer::reason(&error)))
    })?;
    Ok(answer::json(&metrics))
}

/// `GET /metrics/watch`: a line of JSON every two seconds, until the caller leaves.
pub(crate) async fn watch() -> Response {
    let lines = stream::unfold((), async |()| {
        tokio::time::sleep(WATCH_EVERY - SAMPLE).await;
        let line = match sample().await {
            Ok(metrics) => serde_json::to_string(&metrics).ok()?,
            Err(error) => serde_json::json!({ "error": answer::reason(&error) }).to_string(),
        };
        Some((Ok::<_, Infallible>(Bytes::from(line + "\n")), ()))
    });
    (
        [
            (header::CONTENT_TYPE, "text/event-stream"),
            (header::CACHE_CONTROL, "no-cache"),
            (header::HeaderName::from_static("x-accel-buffering"), "no"),
        ],
        Body::from_stream(lines),
    )
        .into_response()
}

async fn sample() -> io::Result<Metrics> {
    let (busy_before, all_before) = processor_time()?;
    tokio::time::sleep(SAMPLE).await;
    let (busy, all) = processor_time()?;
    let spent = all.saturating_sub(all_before).max(1) as f64;
    let memory = fs::read_to_string("/proc/meminfo")?;
    let total = mebibytes(&memory, "MemTotal:");
    Ok(Metrics {
        cpu_count: thread::available_parallelism()?.get(),
        cpu_used_pct: 100.0 * busy.saturating_sub(busy_before) as f64 / spent,
        mem_total_mib: total,
        mem_used_mib: total - mebibytes(&memory, "MemAvailable:"),
        timestamp: clock::milliseconds(),
    })
}

/// Time of all processors together, busy and in all, in ticks since the start.
fn processor_time() -> io::Result<(u64, u64)> {
    let text = fs::read_to_string("/proc/stat")?;
    let ticks: Vec<u64> = text
        .lines()
        .next()
        .unwrap_or_default()
        .split_whitespace()
        .skip(1)
        .map(|field| field.parse().unwrap_or(0))
        .collect();
    let all = ticks.iter().sum();
    // The fourth is idle, the fifth waits for disks.
    let idle: u64 = ticks.iter().skip(3).take(2).sum();
    Ok((all - idle, all))
}

fn mebibytes(memory: &str, name: &str) -> f64 {
    let kibibytes = memory
        .lines()
        .find_map(|line| line.strip_prefix(name))
        .and_then(|rest| rest.split_whitespace().next())
        .and_then(|number| number.parse::<f64>().ok());
    kibibytes.unwrap_or(0.0) / 1024.0
}
