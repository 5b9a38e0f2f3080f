//! The facts that may be recalled.

use std::collections::{HashMap, HashSet};

use keepsake_types::now;
use rusqlite::{Connection, OptionalExtension, params};
use serde_json::{Map, Value};
use uuid::Uuid;

use super::super::model::{RecallMode, RecallOptions};
use super::super::{identifiers, vectors};
use super::Query;
use super::lexical::Hits;
use super::turn::{self, Turn};
use crate::Result;
use crate::database::Snapshot;
use crate::scope::{self, ScopeId};

/// How many facts each ranking puts forward for each fact that is asked for,
/// and at the least. What stands lower in both cannot win in their sum but by a
/// hair.
const PUT_FORWARD_TIMES: usize = 8;
const PUT_FORWARD_LEAST: usize = 200;

/// A fact that may be recalled: what ranking needs to know of it.
pub(super) struct Candidate {
    pub(super) number: i64,
    pub(super) id: Uuid,
    pub(super) created_at: i64,
    /// Where it stands in a conversation, if it does.
    pub(super) place: Option<Place>,
    /// How much of the query's words it holds; none when it holds none.
    pub(super) coverage: Option<f64>,
    /// The cosine of its vector and the query's; none without a vector.
    pub(super) cosine: Option<f64>,
    /// How many identifiers of the query it holds.
    pub(super) identifiers: u32,
}

/// Where a fact stands in a conversation, and what is said there.
#[derive(Clone)]
pub(super) struct Place {
    pub(super) thread: String,
    pub(super) position: u32,
    pub(super) turn: Turn,
}

/// The candidates of one recall, and what finds more of them.
pub(super) struct Pool<'a> {
    connection: &'a Connection,
    scope: ScopeId,
    vector: Option<(i64, &'a [f32])>,
    hits: Hits,
    admission: Admission<'a>,
    pub(super) candidates: Vec<Candidate>,
}

impl<'a> Pool<'a> {
    pub(super) fn gather(
        snapshot: &'a Snapshot<'a>,
        scope: ScopeId,
        query: &'a Query,
        options: &'a RecallOptions,
    ) -> Result<Self> {
        let connection: &Connection = snapshot;
        let hits = if options.mode == RecallMode::Vectors {
            Hits::default()
        } else {
            let identifiers = identifiers::identifiers(&query.text);
            Hits::find(connection, scope, &query.text, &identifiers)?
        };
        let vector = match &query.vector {
            Some(vector) => vectors::find_model(connection, &vector.model, vector.vector.len())?
                .map(|model| (model, vector.vector.as_slice())),
            None => None,
        };
        let mut pool = Self {
            connection,
            scope,
            vector,
            hits,
            admission: Admission::new(connection, scope, options),
            candidates: Vec::new(),
        };
        let most = (options.limit * PUT_FORWARD_TIMES).max(PUT_FORWARD_LEAST);
        let holders = pool.best_admitted(Hits::holders, most)?;
        let by_words = pool.best_admitted(Hits::best_first, most)?;
        let by_vector = match vector {
            Some((model, vector)) => {
                let admission = &mut pool.admission;
                vectors::nearest(snapshot, scope, model, vector, most, &mut |fact| {
                    admission.admits(fact)
                })?
            }
            None => Vec::new(),
        };
        let mut facts = holders;
        facts.extend(by_words);
        facts.extend(by_vector.iter().map(|(fact, _)| *fact));
        pool.add(facts, &by_vector.into_iter().collect())?;
        Ok(pool)
    }

    /// The best facts of a ranking that the options admit, at most so many. Looks
    /// further down only where not enough are admitted.
    fn best_admitted(
        &mut self,
        ranking: impl Fn(&Hits, usize) -> Vec<i64>,
        most: usize,
    ) -> Result<Vec<i64>> {
        let mut looked_at = most.saturating_mul(2);
        loop {
            let best = ranking(&self.hits, looked_at);
            let all = best.len() < looked_at;
            let admitted = self.admitted(best, most)?;
            if all || admitted.len() == most {
                return Ok(admitted);
            }
            looked_at = looked_at.saturating_mul(8);
        }
    }

    /// Adds facts that the options admit and that are not in the pool yet.
    pub(super) fn add_more(&mut self, facts: Vec<i64>) -> Result<()> {
        let known: HashSet<i64> = self.candidates.iter().map(|known| known.number).collect();
        let mut admitted = self.admitted(facts, usize::MAX)?;
        admitted.retain(|fact| !known.contains(fact));
        self.add(admitted, &HashMap::new())
    }

    /// Those of the facts that the options admit, at most so many.
    fn admitted(&mut self, facts: Vec<i64>, most: usize) -> Result<Vec<i64>> {
        let mut admitted = Vec::new();
        for fact in facts {
            if admitted.len() == most {
                break;
            }
            if self.admission.admits(fact)? {
                admitted.push(fact);
            }
        }
        Ok(admitted)
    }

    fn add(&mut self, mut facts: Vec<i64>, known: &HashMap<i64, f64>) -> Result<()> {
        facts.sort_unstable();
        facts.dedup();
        let mut cosines = known.clone();
        if let Some((model, vector)) = self.vector {
            let missing: Vec<i64> = facts
                .iter()
                .copied()
                .filter(|fact| !known.contains_key(fact))
                .collect();
            let found = vectors::cosines_of(self.connection, self.scope, model, vector, &missing)?;
            let found = missing.into_iter().zip(found);
            cosines.extend(found.filter_map(|(fact, cosine)| Some((fact, cosine?))));
        }
        for number in facts {
            let Some(row) = self.admission.row(number) else {
                continue;
            };
            self.candidates.push(Candidate {
                number,
                id: row.id,
                created_at: row.created_at,
                place: row.place.clone(),
                coverage: self.hits.coverage(number),
                cosine: cosines.get(&number).copied(),
                identifiers: self.hits.identifiers(number),
            });
        }
        Ok(())
    }

    pub(super) fn connection(&self) -> (&'a Connection, ScopeId) {
        (self.connection, self.scope)
    }
}

/// What the options let in, each fact asked for once.
struct Admission<'a> {
    connection: &'a Connection,
    from: i64,
    to: i64,
    options: &'a RecallOptions,
    held_at: i64,
    known: HashMap<i64, Option<Row>>,
}

struct Row {
    id: Uuid,
    created_at: i64,
    place: Option<Place>,
}

impl<'a> Admission<'a> {
    fn new(connection: &'a Connection, scope: ScopeId, options: &'a RecallOptions) -> Self {
        let (from, to) = scope::fact_range(scope);
        Self {
            connection,
            from,
            to,
            options,
            held_at: stored(options.as_of.unwrap_or_else(now)),
            known: HashMap::new(),
        }
    }

    fn admits(&mut self, fact: i64) -> Result<bool> {
        if let Some(known) = self.known.get(&fact) {
            return Ok(known.is_some());
        }
        let row = self.read(fact)?;
        let admitted = row.is_some();
        self.known.insert(fact, row);
        Ok(admitted)
    }

    fn row(&self, fact: i64) -> Option<&Row> {
        self.known.get(&fact)?.as_ref()
    }

    fn read(&self, fact: i64) -> Result<Option<Row>> {
        let options = self.options;
        let found = self
            .connection
            .prepare_cached(
                "SELECT id, created_at, thread, position, CASE WHEN ?7 THEN metadata END,
                    CASE WHEN position IS NOT NULL THEN substr(content, 1, ?10) END FROM facts
                 WHERE number = ?1 AND number BETWEEN ?2 AND ?3 AND valid_from <= ?4
                    AND (?5 OR valid_until IS NULL OR valid_until > ?4)
                    AND (?6 IS NULL OR created_at >= ?6) AND (?8 IS NULL OR created_at < ?8)
                    AND (NOT ?9 OR source_session IS NOT NULL)",
            )?
            .query_row(
                params![
                    fact,
                    self.from,
                    self.to,
                    self.held_at,
                    options.include_superseded,
                    options.since.map(stored),
                    !options.metadata.is_empty(),
                    options.until.map(stored),
                    options.verified_only,
                    turn::LOOKED_AT_BYTES,
                ],
                |row| {
                    let thread: Option<String> = row.get(2)?;
                    let position: Option<u32> = row.get(3)?;
                    let metadata: Option<String> = row.get(4)?;
                    let text: Option<String> = row.get(5)?;
                    let found = Row {
                        id: Uuid::from_bytes(row.get(0)?),
                        created_at: row.get(1)?,
                        place: thread.zip(position).map(|(thread, position)| Place {
                            thread,
                            position,
                            turn: Turn::read(text.as_deref().unwrap_or_default()),
                        }),
                    };
                    Ok((found, metadata))
                },
            )
            .optional()?;
        let Some((row, metadata)) = found else {
            return Ok(None);
        };
        match metadata {
            Some(metadata) if !holds_all(&metadata, &options.metadata)? => Ok(None),
            _ => Ok(Some(row)),
        }
    }
}

fn stored(time: u64) -> i64 {
    i64::try_from(time).unwrap_or(i64::MAX)
}

fn holds_all(metadata: &str, wanted: &Map<String, Value>) -> Result<bool> {
    let metadata = crate::json::stored(metadata, "the metadata of a fact")?;
    Ok(wanted
        .iter()
        .all(|(name, value)| metadata.get(name) == Some(value)))
}
