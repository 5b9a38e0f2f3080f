//! Prints what criterion measured last as the table of `docs/performance.md`.

use std::path::Path;

use anyhow::Context as _;

/// Host calls within one measured turn.
const CALLS: f64 = 1_000.0;

fn main() -> anyhow::Result<()> {
    let folder = std::env::args_os()
        .nth(1)
        .context("name criterion's folder, usually target/criterion")?;
    let measured = |name: &str| nanoseconds(folder.as_ref(), name);
    let (turn, bare_turn) = (measured("turn/host")?, measured("turn/bare")?);
    let call = (measured("host-call/host")? - turn) / CALLS;
    let bare_call = (measured("host-call/bare")? - bare_turn) / CALLS;
    let (embed, native) = (measured("embedding/host")?, measured("embedding/native")?);
    let (start, bare_start) = (measured("start/host")?, measured("start/bare")?);
    let (memory, nothing) = (measured("start/memory")?, measured("start/nothing")?);
    println!("| what | Keepsake | bound | bound is | ratio |");
    println!("| --- | --- | --- | --- | --- |");
    let row = |what: &str, ours: f64, bound: f64, peer: &str| {
        println!(
            "| {what} | {} | {} | {peer} | {:.2} |",
            time(ours),
            time(bound),
            ours / bound
        );
    };
    row(
        "fresh instance, trivial turn, dropped",
        turn,
        bare_turn,
        "bare wasmtime, same component",
    );
    row(
        "host call without storage (`session.info`)",
        call,
        bare_call,
        "bare binding",
    );
    row(
        "one text embedded by `embed-static`",
        embed,
        native,
        "the same code native",
    );
    row(
        "`host run`, one message, nothing to compile",
        start,
        bare_start,
        "a program that loads and calls the same component",
    );
    row(
        "`host memory list`, whole process",
        memory,
        nothing,
        "`/bin/true`",
    );
    println!();
    println!(
        "A page of five facts: {} through the host, {} straight from storage, {} as a bare binding without any.",
        time(measured("facts-call/host")? / CALLS),
        time(measured("facts-call/storage")? / CALLS),
        time(measured("facts-call/bare")? / CALLS),
    );
    Ok(())
}

/// Criterion's median of one benchmark.
fn nanoseconds(folder: &Path, name: &str) -> anyhow::Result<f64> {
    let path = folder.join(name).join("new/estimates.json");
    let text = std::fs::read_to_string(&path)
        .with_context(|| format!("{} is missing: run `make bench`", path.display()))?;
    let estimates: serde_json::Value = serde_json::from_str(&text)?;
    estimates["median"]["point_estimate"]
        .as_f64()
        .with_context(|| format!("{} holds no median", path.display()))
}

fn time(nanoseconds: f64) -> String {
    match nanoseconds {
        small if small < 10_000.0 => format!("{:.2} µs", small / 1e3),
        middle if middle < 1e6 => format!("{:.1} µs", middle / 1e3),
        large => format!("{:.2} ms", large / 1e6),
    }
}
