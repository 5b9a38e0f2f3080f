//! `host sessions`: who talked to which agent, and when.

use keepsake_storage::{Session, SessionStatus};
use keepsake_types::limits;
use serde_json::json;

use crate::app::App;
use crate::cli::Team;
use crate::failure::Failure;
use crate::output;

pub(crate) async fn run(
    app: &App,
    resource: Option<String>,
    team: &Team,
    limit: u32,
    json: bool,
) -> Result<(), Failure> {
    let database = app.existing_database().await?;
    let resource = resource
        .map(|name| team.member(&app.config, &name))
        .transpose()?;
    let mut sessions = Vec::new();
    let mut after: Option<String> = None;
    while sessions.len() < limit as usize {
        let wanted = (limit as usize - sessions.len()).min(limits::PAGE_ITEMS);
        let page = database
            .list_sessions(resource.as_ref(), after.as_deref(), wanted)
            .await?;
        sessions.extend(page.sessions);
        match page.next {
            Some(next) => after = Some(next),
            None => break,
        }
    }
    if json {
        return output::json(&json!({ "sessions": sessions }));
    }
    if sessions.is_empty() {
        let whose = resource.map_or_else(String::new, |resource| {
            format!(" of {}", output::whose(&resource, 100))
        });
        output::note!("there is no session{whose} yet; `host run support-agent` begins one");
        return Ok(());
    }
    output::line(&format!(
        "{:<36}  {:<20}  {:<8}  {:>5}  {:<16}  {:<16}  SANDBOXES",
        "SESSION", "BEGUN", "STATUS", "TURNS", "RESOURCE", "AGENT"
    ))?;
    for session in &sessions {
        output::line(&row(session))?;
    }
    Ok(())
}

fn row(session: &Session) -> String {
    let status = match session.status {
        SessionStatus::Running => "running",
        SessionStatus::Ended => "ended",
    };
    let sandboxes = if session.sandboxes.is_empty() {
        "-".to_owned()
    } else {
        session.sandboxes.join(", ")
    };
    format!(
        "{:<36}  {:<20}  {status:<8}  {:>5}  {:<16}  {:<16}  {}",
        session.id,
        output::time(session.started_at),
        session.turns,
        output::whose(&session.resource, 16),
        output::one_line(&session.agent, 16),
        output::one_line(&sandboxes, 200),
    )
}
