//! Episodes: what happened in the sessions of one resource.

use std::collections::HashMap;

use keepsake_types::{Timestamp, limits};
use rusqlite::{Connection, OptionalExtension, params};
use serde_json::json;

use super::{Memory, View, check_page, position};
use crate::ledger::{ENTRY_COLUMNS, Entry, entry_from_row};
use crate::scope::{self, Reach, ScopeId};
use crate::{Result, StorageError};

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
    /// Also what happened in the memories that this one was forked from, up to the
    /// fork.
    pub lineage: bool,
}

impl Default for EpisodeOptions {
    fn default() -> Self {
        Self {
            after: None,
            limit: 100,
            since: None,
            until: None,
            session: None,
            lineage: false,
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

/// One session in the tree of forks.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct EpisodeNode {
    /// The session's id.
    pub session: String,
    /// The place in the list of the session that made the fork which this one worked
    /// on; none for a session of the memory itself.
    pub parent: Option<usize>,
    /// In the order in which they were recorded.
    pub episodes: Vec<Entry>,
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
            let lineage = if options.lineage {
                scope::lineage(connection, scope)?
            } else {
                vec![Reach::whole(scope)]
            };
            episodes(connection, &lineage, after, &options)
        })
        .await
    }

    /// The sessions of this memory and of its forks, those of a fork below the
    /// session that made it, with all that happened in them. In the order in which
    /// they began, so that a session comes after its parent.
    ///
    /// # Errors
    /// `Limit` `episode-tree-entries` for more episodes than one answer holds.
    pub async fn episode_tree(&self) -> Result<Vec<EpisodeNode>> {
        self.read(Vec::new(), |connection, scope| tree(connection, scope))
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

    /// As [`View::episode_tree`].
    ///
    /// # Errors
    /// As [`View::episode_tree`].
    pub async fn episode_tree(&self) -> Result<Vec<EpisodeNode>> {
        self.view.episode_tree().await
    }
}

fn episodes(
    connection: &Connection,
    lineage: &[Reach],
    after: i64,
    options: &EpisodeOptions,
) -> Result<EpisodePage> {
    let time = |time: Option<Timestamp>| time.map(|time| i64::try_from(time).unwrap_or(i64::MAX));
    let mut statement = connection.prepare_cached(&format!(
        "SELECT {ENTRY_COLUMNS}, e.number FROM entries e JOIN sessions s ON s.number = e.session
         WHERE e.scope = ?1 AND e.number > ?2 AND e.number <= ?7 AND (?3 IS NULL OR e.at >= ?3)
            AND (?4 IS NULL OR e.at < ?4) AND (?5 IS NULL OR s.id = ?5)
         ORDER BY e.number LIMIT ?6"
    ))?;
    // Entries of one memory are read in their order; those of several come together
    // by their numbers.
    let mut found: Vec<(i64, Entry)> = Vec::new();
    for reach in lineage {
        let mut rows = statement.query(params![
            reach.scope,
            after,
            time(options.since),
            time(options.until),
            options.session,
            options.limit + 1,
            reach.last_entry
        ])?;
        while let Some(row) = rows.next()? {
            found.push((row.get(7)?, entry_from_row(row)?));
        }
    }
    found.sort_by_key(|(number, _)| *number);
    let more = found.len() > options.limit;
    found.truncate(options.limit);
    let last = found.last().filter(|_| more);
    Ok(EpisodePage {
        next: last.map(|(number, _)| number.to_string()),
        episodes: found.into_iter().map(|(_, entry)| entry).collect(),
    })
}

fn tree(connection: &Connection, scope: ScopeId) -> Result<Vec<EpisodeNode>> {
    let (scopes, count) = below(connection, scope)?;
    if count > limits::EPISODE_TREE_ENTRIES {
        return Err(StorageError::limit(
            "episode-tree-entries",
            "episodes of one tree",
            count,
            limits::EPISODE_TREE_ENTRIES,
        ));
    }
    let mut statement = connection.prepare_cached(&format!(
        "SELECT {ENTRY_COLUMNS}, e.session FROM entries e JOIN sessions s ON s.number = e.session
         WHERE e.scope IN (SELECT value FROM json_each(?1)) ORDER BY e.session, e.place"
    ))?;
    let mut rows = statement.query([json!(scopes).to_string()])?;
    let mut nodes: Vec<EpisodeNode> = Vec::new();
    let mut places: HashMap<i64, usize> = HashMap::new();
    while let Some(row) = rows.next()? {
        let (entry, number): (Entry, i64) = (entry_from_row(row)?, row.get(7)?);
        let place = match places.get(&number) {
            Some(place) => *place,
            None => {
                let maker = maker(connection, number)?;
                nodes.push(EpisodeNode {
                    session: entry.session.clone(),
                    parent: maker.and_then(|maker| places.get(&maker).copied()),
                    episodes: Vec::new(),
                });
                places.insert(number, nodes.len() - 1);
                nodes.len() - 1
            }
        };
        nodes[place].episodes.push(entry);
    }
    Ok(nodes)
}

/// A scope and the forks below it, and how many entries they have.
fn below(connection: &Connection, scope: ScopeId) -> Result<(Vec<ScopeId>, usize)> {
    let mut statement = connection.prepare_cached(
        "WITH RECURSIVE below (scope) AS (
            SELECT ?1 UNION SELECT f.scope FROM forks f JOIN below ON f.parent = below.scope)
         SELECT scope, (SELECT count(*) FROM entries WHERE entries.scope = below.scope) FROM below",
    )?;
    let found = statement
        .query_map([scope], |row| Ok((row.get(0)?, row.get::<_, usize>(1)?)))?
        .collect::<rusqlite::Result<Vec<_>>>()?;
    let count = found.iter().map(|(_, entries)| entries).sum();
    Ok((found.into_iter().map(|(scope, _)| scope).collect(), count))
}

/// The number of the session that made the fork which a session works on.
fn maker(connection: &Connection, session: i64) -> Result<Option<i64>> {
    Ok(connection
        .prepare_cached(
            "SELECT e.session FROM sessions s JOIN forks f ON f.scope = s.scope
             JOIN entries e ON e.number = f.last_entry WHERE s.number = ?1",
        )?
        .query_row([session], |row| row.get(0))
        .optional()?)
}
