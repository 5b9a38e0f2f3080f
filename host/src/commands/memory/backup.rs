//! `host memory backup` and `restore`: the whole database as one file, and back.

use std::path::Path;

use keepsake_storage::{Counts, Database};
use serde_json::json;

use crate::app::App;
use crate::failure::{ExitCode, Failure};
use crate::{output, progress};

/// Writes a backup; the database may be in use.
pub(super) async fn back_up(app: &App, file: &Path, json: bool) -> Result<(), Failure> {
    let database = app.existing_database().await?;
    let working = progress::after_a_moment("copying the database");
    let bytes = database.back_up(file).await?;
    drop(working);
    if json {
        return output::json(&json!({ "file": file, "bytes": bytes }));
    }
    output::note!(
        "wrote `{}` ({bytes} bytes); it is as secret as the database itself, and an erasure does not reach it",
        output::one_line(&file.display().to_string(), 300)
    );
    Ok(())
}

/// Makes the database out of a backup.
pub(super) async fn restore(
    app: &App,
    file: &Path,
    replace: bool,
    json: bool,
) -> Result<(), Failure> {
    let path = app.database_path();
    if path.exists() && !replace {
        return Err(Failure::new(
            ExitCode::Usage,
            format!(
                "there is a memory at `{}`, and nothing was restored: add --replace to put the backup in its place, which keeps it beside under another name, or name another folder with --data",
                path.display()
            ),
        ));
    }
    let working = progress::after_a_moment("looking the backup over and copying it");
    let restored = Database::restore(file, path, replace).await?;
    drop(working);
    let counts = &restored.check.counts;
    if json {
        return output::json(&json!({
            "database": restored.check.path,
            "bytes": restored.check.bytes,
            "counts": counts,
            "ledger_entries_verified": restored.report.entries,
            "replaced": restored.replaced,
        }));
    }
    output::note!(
        "restored {}; its {} ledger entries are intact",
        held(counts),
        restored.report.entries
    );
    if let Some(replaced) = &restored.replaced {
        output::note!(
            "what was there before is kept as `{}`: delete it once it is not needed",
            replaced.display()
        );
    }
    Ok(())
}

fn held(counts: &Counts) -> String {
    format!(
        "{} facts and {} sessions of {} memories",
        counts.facts, counts.sessions, counts.resources
    )
}
