//! `host memory import`: facts from a file, a fact a line.
//!
//! A file is looked through before anything is written, so that a bad line is
//! told before there is half an import. Then one thread reads, a provider
//! embeds a batch, and the batch before it is written, all at the same time.
//! Whatever was written when the program ends is recognised by the next run.

mod batches;
mod check;
mod embed;
mod lines;
mod members;
mod record;
mod source;
mod write;

use std::sync::Arc;

use keepsake_plugin::EmbeddingPlugin;
use keepsake_storage::Database;
use keepsake_types::embedding::Embedder;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::app::App;
use crate::cli::ImportArguments;
use crate::failure::{ExitCode, Failure};
use crate::progress::{self, Counting};
use crate::{output, progress::after_a_moment};
use batches::{Batch, OnBadLine, Read};
use embed::{Embedded, embedded};
use members::Unsaid;
use source::Source;
use write::Writer;

/// Batches that are read ahead.
const READ_AHEAD: usize = 2;

pub(super) async fn import(
    app: &App,
    arguments: ImportArguments,
    json: bool,
) -> Result<(), Failure> {
    let unsaid = Unsaid {
        team: arguments.team.granted(&app.config).map(str::to_owned),
        resource: arguments.resource,
    };
    let source = Source::open(&arguments.file)?;
    let on_bad_line = if arguments.skip_bad {
        OnBadLine::Skip
    } else {
        OnBadLine::Stop
    };
    let (source, lines) = looked_through(source, unsaid.clone(), on_bad_line).await?;

    let database = app.database().await?;
    let embedder = app.plugins()?.embedder().await?;
    refuse_other_width(&database, &embedder).await?;

    let (sender, receiver) = mpsc::channel(READ_AHEAD);
    let reading =
        tokio::task::spawn_blocking(move || batches::read(source, &unsaid, on_bad_line, &sender));
    let mut work = Work {
        counting: progress::counting("importing facts", lines),
        writer: Writer::new(database.clone()),
        database,
        embedder,
    };
    let written = work.all(receiver).await;
    let ended = work.writer.end_sessions().await;
    work.counting.finish();
    let told = |failure: Failure, work: &Work| {
        Failure::new(
            failure.exit_code(),
            format!(
                "{}; {} facts were imported, and running the command again goes on with the others",
                failure.message(),
                work.writer.done.imported
            ),
        )
    };
    written.map_err(|failure| told(failure, &work))?;
    ended?;
    let read = reading.await.map_err(|error| {
        Failure::new(
            ExitCode::Other,
            format!("reading the file was ended from within: {error}"),
        )
    })??;
    report(&work, &read, json)
}

/// A file is read once to find its bad lines and to count the others. What can
/// be read only once is taken as it comes.
async fn looked_through(
    source: Source,
    unsaid: Unsaid,
    on_bad_line: OnBadLine,
) -> Result<(Source, Option<u64>), Failure> {
    let Source::File(file, path) = source else {
        return Ok((source, None));
    };
    let working = after_a_moment("checking the file");
    let (file, checked) = tokio::task::spawn_blocking(move || {
        let checked = check::check(&file, &unsaid);
        (file, checked)
    })
    .await
    .map_err(|error| {
        Failure::new(
            ExitCode::Other,
            format!("checking the file was ended from within: {error}"),
        )
    })?;
    drop(working);
    let checked = checked?;
    if checked.bad.count() > 0 && on_bad_line == OnBadLine::Stop {
        return Err(Failure::new(
            ExitCode::Usage,
            format!(
                "{} of the lines in `{}` cannot be imported, and nothing was: correct them, or pass them over with --skip-bad\n{}",
                checked.bad.count(),
                path.display(),
                checked.bad.told()
            ),
        ));
    }
    Ok((Source::File(file, path), Some(checked.good)))
}

/// Told before the first fact is embedded, not after.
async fn refuse_other_width(
    database: &Database,
    embedder: &EmbeddingPlugin,
) -> Result<(), Failure> {
    let info = embedder.info();
    let known = database.model_dimensions(&info.model).await?;
    match known.filter(|known| *known != info.dimensions) {
        None => Ok(()),
        Some(known) => Err(Failure::new(
            ExitCode::Plugin,
            format!(
                "`{}` has vectors with {known} dimensions in this database and now gives {}: go back to the provider that made them, or run `host memory reindex` first",
                output::one_line(&info.model, 100),
                info.dimensions
            ),
        )),
    }
}

/// Embeds and writes.
struct Work {
    counting: Counting,
    writer: Writer,
    database: Database,
    embedder: Arc<EmbeddingPlugin>,
}

impl Work {
    /// Embeds each batch while the one before it is written.
    async fn all(&mut self, mut batches: mpsc::Receiver<Batch>) -> Result<(), Failure> {
        let mut embedding: Option<JoinHandle<Result<Embedded, Failure>>> = None;
        loop {
            let next = batches.recv().await;
            let last = next.is_none();
            let started = next.map(|batch| {
                let (database, embedder) = (self.database.clone(), Arc::clone(&self.embedder));
                tokio::spawn(async move { embedded(&database, &embedder, batch).await })
            });
            if let Some(embedding) = embedding.take() {
                let embedded = embedding.await.map_err(|error| {
                    Failure::new(
                        ExitCode::Other,
                        format!("embedding was ended from within: {error}"),
                    )
                })??;
                self.writer.done.repeated += embedded.known;
                self.writer.write(embedded.shares).await?;
                self.counting.at(self.writer.done.lines());
            }
            embedding = started;
            if last {
                return Ok(());
            }
        }
    }
}

fn report(work: &Work, read: &Read, json: bool) -> Result<(), Failure> {
    let done = work.writer.done;
    let skipped = read.bad.count();
    if read.broken_off {
        output::note!(
            "note: the file is an export without its last line: what came after it broke off is missing"
        );
    }
    if json {
        let first: Vec<Value> = read
            .bad
            .first()
            .iter()
            .map(|(line, reason)| json!({ "line": line, "reason": reason }))
            .collect();
        return output::json(&json!({
            "imported": done.imported,
            "repeated": done.repeated,
            "working_keys": done.working_keys,
            "profiles": done.profiles,
            "skipped": skipped,
            "bad_lines": first,
            "broken_off": read.broken_off,
            "model": work.embedder.info().model,
        }));
    }
    let mut told = format!("imported {} facts", done.imported);
    if done.working_keys + done.profiles > 0 {
        told.push_str(&format!(
            ", {} keys of working memory and {} profiles",
            done.working_keys, done.profiles
        ));
    }
    let there = done.repeated + done.left;
    if there > 0 {
        told.push_str(&format!("; {there} were there already"));
    }
    if skipped > 0 {
        told.push_str(&format!(
            "; {skipped} lines were passed over\n{}",
            read.bad.told()
        ));
    }
    output::note!("{told}");
    Ok(())
}
