//! Episodes: what happened in the sessions of one resource.

use keepsake_types::Timestamp;
use rusqlite::{Connection, params};

use super::{Memory, View, check_page, position};
use crate::Result;
use crate::ledger::{ENTRY_COLUMNS, Entry, entry_from_row};
use crate::scope::ScopeId;

/// Which episodes to answer with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EpisodeOptions {
    /// The `next` of the page before; none for the first page.
    pub after: Option<String>,
    /// How many at the most, from 1 to
    /// [`PAGE_ITEMS`](keepsake_types::limits::PAGE_ITEMS).
    pub limit: usize,
    /// Only those at or after this time.
    pub since: Option<Timestamp>,
    /// Only those before this time.
    pub until: Option<Timestamp>,
    /// Only those of this session.
    pub session: Option<String>,
}

impl Default for EpisodeOptions {
    fn default() -> Self {
        Self {
            after: None,
            limit: 100,
            since: None,
            until: None,
            session: None,
        }
    }
}

/// One page of episodes.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct EpisodePage {
    /// In the order in which they were recorded.
    pub episodes: Vec<Entry>,
    /// What to give as `after` for the next page; none at the end.
    pub next: Option<String>,
}

impl View {
    /// What happened in the sessions of this resource, oldest first. A session
    /// of another resource has no episodes here.
    ///
    /// # Errors
    /// `Invalid` for a limit of 0 or an `after` that no page answered with,
    /// `Limit` for a limit that is too large.
    pub async fn episodes(&self, options: EpisodeOptions) -> Result<EpisodePage> {
        check_page(options.limit)?;
        let after = position(options.after.as_deref())?.unwrap_or(0);
        self.read(EpisodePage::default(), move |connection, scope| {
            episodes(connection, scope, after, &options)
        })
        .await
    }
}

impl Memory {
    /// As [`View::episodes`].
    ///
    /// # Errors
    /// As [`View::episodes`].
    pub async fn episodes(&self, options: EpisodeOptions) -> Result<EpisodePage> {
        self.view.episodes(options).await
    }
}

fn episodes(
    connection: &Connection,
    scope: ScopeId,
    after: i64,
    options: &EpisodeOptions,
) -> Result<EpisodePage> {
    let time = |time: Option<Timestamp>| time.map(|time| i64::try_from(time).unwrap_or(i64::MAX));
    let mut statement = connection.prepare_cached(&format!(
        "SELECT {ENTRY_COLUMNS}, e.number FROM entries e JOIN sessions s ON s.number = e.session
         WHERE e.scope = ?1 AND e.number > ?2 AND (?3 IS NULL OR e.at >= ?3)
            AND (?4 IS NULL OR e.at < ?4) AND (?5 IS NULL OR s.id = ?5)
         ORDER BY e.number LIMIT ?6"
    ))?;
    let mut rows = statement.query(params![
        scope,
        after,
        time(options.since),
        time(options.until),
        options.session,
        options.limit + 1
    ])?;
    let mut page = EpisodePage::default();
    let mut last: i64 = 0;
    while let Some(row) = rows.next()? {
        if page.episodes.len() == options.limit {
            page.next = Some(last.to_string());
            break;
        }
        page.episodes.push(entry_from_row(row)?);
        last = row.get(7)?;
    }
    Ok(page)
}
