//! `host memory export`: all that is known of a customer, a JSON object a line.

mod form;

use std::fs::{self, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use keepsake_storage::Exported;
use keepsake_types::{ResourceRef, now};
use serde_json::json;
use tokio::sync::mpsc;

use crate::app::App;
use crate::cli::ExportArguments;
use crate::failure::{ExitCode, Failure};
use crate::{output, progress};
pub(super) use form::{KIND, VERSION};

/// Records that wait to be written.
const AHEAD: usize = 256;

pub(super) async fn export(
    app: &App,
    arguments: ExportArguments,
    json: bool,
) -> Result<(), Failure> {
    let resource = arguments.whose.resource(&app.config)?;
    let view = app.existing_database().await?.view(&resource)?;
    let (sender, receiver) = mpsc::channel(AHEAD);
    let counting = progress::counting("exporting", None);
    let owner = resource.clone();
    let file = arguments.file.clone();
    // Files and pipes may block, and so does the channel's other end.
    let writing = tokio::task::spawn_blocking(move || {
        let written = match &file {
            Some(path) => to_file(path, &owner, receiver, &counting),
            None => to(io::stdout().lock(), &owner, receiver, &counting).map_err(broken),
        };
        counting.finish();
        written
    });
    let read = view.export(arguments.vectors, sender).await;
    let written = writing.await.map_err(|error| {
        Failure::new(
            ExitCode::Other,
            format!("writing the export was ended from within: {error}"),
        )
    })?;
    read?;
    report(&resource, arguments.file, &written?, json)
}

/// How many lines of each kind were written.
#[derive(Default)]
struct Written {
    facts: u64,
    working_keys: u64,
    profiles: u64,
}

/// Writes beside the file and takes its place at the end, so that there is never
/// half an export under its name. Only its owner can read it.
fn to_file(
    path: &Path,
    owner: &ResourceRef,
    records: mpsc::Receiver<Exported>,
    counting: &progress::Counting,
) -> Result<Written, Failure> {
    let refused = |error: io::Error| {
        Failure::new(
            ExitCode::Other,
            format!("cannot write `{}`: {error}", path.display()),
        )
    };
    if path.is_dir() {
        return Err(Failure::new(
            ExitCode::Usage,
            format!("`{}` is a folder: name a file to write", path.display()),
        ));
    }
    let mut unfinished = path.as_os_str().to_owned();
    unfinished.push(".unfinished");
    let unfinished = PathBuf::from(unfinished);
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let written = options.open(&unfinished).and_then(|file| {
        let written = to(&file, owner, records, counting)?;
        file.sync_all()?;
        fs::rename(&unfinished, path)?;
        Ok(written)
    });
    written.map_err(|error| {
        let _ = fs::remove_file(&unfinished);
        refused(error)
    })
}

fn to(
    target: impl Write,
    owner: &ResourceRef,
    mut records: mpsc::Receiver<Exported>,
    counting: &progress::Counting,
) -> io::Result<Written> {
    let mut target = BufWriter::with_capacity(256 * 1024, target);
    let mut line = |value: &serde_json::Value| {
        // It may be a terminal that reads it.
        writeln!(target, "{}", output::printable_json(&value.to_string()))
    };
    line(&form::header(owner, now()))?;
    let mut written = Written::default();
    let mut done = 0;
    while let Some(record) = records.blocking_recv() {
        match &record {
            Exported::Profile { .. } => written.profiles += 1,
            Exported::Working { .. } => written.working_keys += 1,
            Exported::Fact { .. } => written.facts += 1,
        }
        line(&form::record(owner, record))?;
        done += 1;
        counting.at(done);
    }
    line(&form::end(&written))?;
    target.flush()?;
    Ok(written)
}

fn broken(error: io::Error) -> Failure {
    Failure::new(
        ExitCode::Other,
        format!("standard output cannot be written: {error}"),
    )
}

fn report(
    resource: &ResourceRef,
    file: Option<PathBuf>,
    written: &Written,
    json: bool,
) -> Result<(), Failure> {
    let Some(file) = file else {
        // Standard output holds the export itself.
        return Ok(());
    };
    if json {
        let answer = json!({
            "file": file,
            "facts": written.facts,
            "working_keys": written.working_keys,
            "profiles": written.profiles,
        });
        return output::json_of(resource, answer);
    }
    output::note!(
        "wrote {} facts, {} keys of working memory and {} of {} to {}; whoever can read the file can read all of it",
        written.facts,
        written.working_keys,
        if written.profiles == 0 {
            "no profile"
        } else {
            "the profile"
        },
        output::whose(resource, 100),
        file.display()
    );
    Ok(())
}
