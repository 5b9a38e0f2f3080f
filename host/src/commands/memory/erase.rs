//! `host memory erase`: all that is known of a customer goes, for good.

use std::io::{self, IsTerminal, Write};

use keepsake_storage::{Database, Erased, Holdings, Scrubbed};
use keepsake_types::ResourceRef;
use serde_json::json;

use crate::app::App;
use crate::cli::EraseArguments;
use crate::failure::{ExitCode, Failure};
use crate::{output, progress};

pub(super) async fn erase(app: &App, arguments: EraseArguments, json: bool) -> Result<(), Failure> {
    let resource = arguments.whose.resource(&app.config)?;
    let database = app.existing_database().await?;
    if let Some(holdings) = database.holdings(&resource).await?
        && !arguments.yes
    {
        confirm(&resource, holdings)?;
    }
    let erased = database.erase(&resource).await?;
    let before = if erased.is_some() {
        "everything was erased and can be read by nobody through this program, but "
    } else {
        ""
    };
    let scrubbed = scrub(&database, before).await?;
    report(&resource, erased.as_ref(), scrubbed, json)
}

/// Writes the file anew, without what was deleted, which stays so whatever becomes
/// of this. `before` says it first where this fails.
pub(super) async fn scrub(database: &Database, before: &str) -> Result<Scrubbed, Failure> {
    let _working = progress::after_a_moment("writing the file anew, without what was erased");
    database.scrub().await.map_err(|error| {
        Failure::new(
            ExitCode::Storage,
            format!(
                "{before}the file could not be written anew, so that bytes of it may be left between its records: {error}; then run the command again"
            ),
        )
    })
}

/// Asks whoever sits at the terminal to type the name, which nobody does by
/// mistake.
fn confirm(resource: &ResourceRef, holdings: Holdings) -> Result<(), Failure> {
    let name = output::whose(resource, 300);
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return Err(Failure::new(
            ExitCode::Usage,
            format!(
                "this erases all that is known of `{name}` ({}) for good: add --yes to do it",
                counted(holdings)
            ),
        ));
    }
    let mut terminal = io::stderr().lock();
    write!(
        terminal,
        "This erases all that is known of `{name}` for good: {}.\nType the name to go on: ",
        counted(holdings)
    )?;
    terminal.flush()?;
    let mut answer = String::new();
    io::stdin().read_line(&mut answer)?;
    if answer.trim_end_matches(['\r', '\n']) == resource.to_string() {
        return Ok(());
    }
    Err(Failure::new(
        ExitCode::Other,
        "that is not the name: nothing was erased",
    ))
}

fn counted(holdings: Holdings) -> String {
    let forks = match holdings.forks {
        0 => String::new(),
        1 => " in the memory and its fork".to_owned(),
        forks => format!(" in the memory and its {forks} forks"),
    };
    format!(
        "{} facts, {} keys of working memory, {}{forks}, and what {} ledger entries of {} sessions say",
        holdings.facts,
        holdings.working_keys,
        if holdings.profiles == 0 {
            "no profile"
        } else {
            "the profile"
        },
        holdings.entries,
        holdings.sessions
    )
}

fn report(
    resource: &ResourceRef,
    erased: Option<&Erased>,
    scrubbed: Scrubbed,
    json: bool,
) -> Result<(), Failure> {
    if json {
        let answer = json!({
            "erased": erased.map(|erased| erased.erased).unwrap_or_default(),
            "known_as": erased.map(|erased| &erased.known_as),
            "log_emptied": scrubbed.log_emptied,
        });
        output::json_of(resource, answer)?;
    } else {
        let name = output::whose(resource, 100);
        match erased {
            Some(erased) => output::note!(
                "erased all of {name}: {}; its sessions are listed as {} from now on",
                counted(erased.erased),
                erased.known_as
            ),
            None => output::note!("nothing is known of {name}"),
        }
    }
    check_log(scrubbed, "what was erased")
}

/// Another process may keep the log from being emptied.
pub(super) fn check_log(scrubbed: Scrubbed, what: &str) -> Result<(), Failure> {
    if scrubbed.log_emptied {
        return Ok(());
    }
    Err(Failure::new(
        ExitCode::Storage,
        format!(
            "another process reads from the database, so that its log could not be emptied and may hold bytes of {what}: end that process and run the command again"
        ),
    ))
}
