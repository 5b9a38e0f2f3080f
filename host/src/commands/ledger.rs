//! `host ledger`: the record of what happened, and whether it is intact.

mod describe;

use keepsake_storage::{Database, Entry, Fact, Kind, VerifyReport};
use keepsake_types::{ResourceRef, limits};

use crate::app::App;
use crate::cli::LedgerCommand;
use crate::failure::{ExitCode, Failure};
use crate::output;
use describe::sentence;

pub(crate) async fn run(app: &App, command: LedgerCommand, json: bool) -> Result<(), Failure> {
    let database = app.existing_database().await?;
    match command {
        LedgerCommand::Show { session } => show(&database, session, json).await,
        LedgerCommand::Verify { session } => verify(&database, session, json).await,
    }
}

/// Prints a session's entries, or those of all sessions, oldest session first.
async fn show(database: &Database, session: Option<String>, json: bool) -> Result<(), Failure> {
    let sessions = match session {
        Some(session) => {
            if database.session(&session).await?.is_none() {
                return Err(unknown_session(&session));
            }
            vec![session]
        }
        None => all_sessions(database).await?,
    };
    let mut first = true;
    if json {
        output::write("{\"entries\":[")?;
    }
    for session in sessions {
        let mut after = None;
        loop {
            let page = database
                .entries(&session, after, limits::PAGE_ITEMS)
                .await?;
            for entry in &page.entries {
                if json {
                    let text = serde_json::to_string(entry).unwrap_or_default();
                    let text = output::printable_json(&text);
                    output::write(&format!("{}{text}", if first { "\n" } else { ",\n" }))?;
                } else {
                    output::line(&entry_line(entry))?;
                }
                first = false;
            }
            match page.next {
                Some(next) => after = Some(next),
                None => break,
            }
        }
    }
    if json {
        output::write("\n]}\n")?;
    } else if first {
        output::note!("the ledger is empty");
    }
    Ok(())
}

async fn all_sessions(database: &Database) -> Result<Vec<String>, Failure> {
    let mut ids = Vec::new();
    let mut after = None;
    loop {
        let page = database
            .list_sessions(None, after.as_deref(), limits::PAGE_ITEMS)
            .await?;
        ids.extend(page.sessions.into_iter().map(|session| session.id));
        match page.next {
            Some(next) => after = Some(next),
            None => break,
        }
    }
    ids.reverse();
    Ok(ids)
}

fn unknown_session(session: &str) -> Failure {
    Failure::new(
        ExitCode::Other,
        format!(
            "there is no session `{}`; `host sessions` lists them",
            output::one_line(session, 80)
        ),
    )
}

fn entry_line(entry: &Entry) -> String {
    format!(
        "{}  {:>4}  {}  {:<18}  {}",
        entry.session,
        entry.index,
        output::time(entry.at),
        entry.kind.name(),
        sentence(entry)
    )
}

/// Prints what happened in a turn, from its first entry on, to standard error.
pub(crate) async fn steps(
    database: &Database,
    session: &str,
    resource: &ResourceRef,
    first_entry: u64,
) -> Result<(), Failure> {
    let memory = database.view(resource)?;
    let mut after = first_entry.checked_sub(1);
    loop {
        let page = database.entries(session, after, limits::PAGE_ITEMS).await?;
        for entry in &page.entries {
            // The ledger names facts and memory holds their texts, so that one
            // that is forgotten since is in neither.
            let remembered = match fact_remembered(entry) {
                Some(fact) => memory.find(fact).await?,
                None => None,
            };
            let verification = remembered.map_or_else(String::new, |fact| {
                format!(" ({})", fact.verification.name())
            });
            output::note!(
                "  [{:>3}] {:<18} {}{verification}",
                entry.index,
                entry.kind.name(),
                sentence(entry)
            );
            for fact in facts_of_snippet(entry) {
                if let Some(fact) = memory.find(fact).await? {
                    output::note!("        \u{2022} {}", fact_line(&fact));
                }
            }
        }
        match page.next {
            Some(next) => after = Some(next),
            None => return Ok(()),
        }
    }
}

/// The id of the fact that an entry records as learned.
fn fact_remembered(entry: &Entry) -> Option<&str> {
    match entry.kind {
        Kind::FactRemembered => entry.payload.as_ref()?["fact"].as_str(),
        _ => None,
    }
}

/// The ids of the facts that a snippet was built from.
fn facts_of_snippet(entry: &Entry) -> impl Iterator<Item = &str> {
    let payload = match entry.kind {
        Kind::SnippetBuilt => entry.payload.as_ref(),
        _ => None,
    };
    payload
        .and_then(|payload| payload["facts"].as_array())
        .into_iter()
        .flatten()
        .filter_map(|named| named["fact"].as_str())
}

fn fact_line(fact: &Fact) -> String {
    format!(
        "{} ({})",
        output::one_line(&fact.content, 200),
        fact.verification.name()
    )
}

async fn verify(database: &Database, session: Option<String>, json: bool) -> Result<(), Failure> {
    if let Some(session) = &session
        && database.session(session).await?.is_none()
    {
        return Err(unknown_session(session));
    }
    let report = database.verify(session.as_deref()).await?;
    if json {
        output::json(&report)?;
    } else {
        output::write(&verdict(&report))?;
    }
    if report.intact {
        return Ok(());
    }
    Err(Failure::new(
        ExitCode::Ledger,
        "the ledger was altered after it was written; facts that rest on altered entries are not verified any more",
    ))
}

fn verdict(report: &VerifyReport) -> String {
    use std::fmt::Write as _;
    let mut text = String::new();
    // Writing to a string cannot fail.
    if report.intact {
        let _ = writeln!(
            text,
            "intact: {} entries in {} sessions",
            report.entries, report.sessions
        );
        if let Some(head) = report.heads.last() {
            let _ = writeln!(
                text,
                "head of the newest session {}: {}",
                head.session, head.hash
            );
        }
        return text;
    }
    for fault in &report.faults {
        let place = fault
            .index
            .map_or_else(String::new, |index| format!(" entry {index}"));
        let _ = writeln!(
            text,
            "session {}{place}: {}",
            output::one_line(&fault.session, 100),
            output::printable(&fault.what)
        );
    }
    if report.more_faults {
        text.push_str("and more\n");
    }
    text
}
