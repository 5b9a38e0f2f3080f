//! Import: facts from a file, as they were, with nothing judged about them but
//! whether the very same line is there already.

use keepsake_types::{Timestamp, now};
use rusqlite::{OptionalExtension, params};

use super::super::model::{FactVectors, NewFact, Outcome, Remembered};
use super::super::{Change, Memory, View, vectors};
use super::answers;
use super::checked::{Checked, check_number};
use super::sources::check_sources;
use super::write::{Done, insert};
use crate::scope::{self, ScopeId};
use crate::{Result, StorageError};

/// A fact as a file gives it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ImportedFact {
    /// The fact. Where it says nothing else, it holds since `created_at`.
    pub fact: NewFact,
    /// When it was first remembered; none means now.
    pub created_at: Option<Timestamp>,
}

impl Memory {
    /// Takes facts over from a file, all or none, and answers in the order
    /// given: [`Outcome::Stored`], [`Outcome::Superseded`], or
    /// [`Outcome::Repeated`] for one that is there already, which nothing is
    /// changed or recorded for. `vectors` holds one for each fact, repeats
    /// included; theirs are passed over.
    ///
    /// Nothing is judged but that: no text is masked, merged with another or
    /// reported as nearly the same; one that reads like instructions is marked.
    /// A fact is there already when text, metadata, thread, position, subject,
    /// attribute and `created_at` are equal, whether it still holds or not, so
    /// that a file can be imported again after it was interrupted. Without a
    /// `created_at`, the others decide. Values for the same subject and
    /// attribute supersede each other by the time since which they hold, in
    /// whatever order they come.
    ///
    /// # Errors
    /// As [`Memory::remember_many`].
    pub async fn import_many(
        &self,
        facts: Vec<ImportedFact>,
        vectors: Option<FactVectors>,
    ) -> Result<Vec<Remembered>> {
        let facts = checked(facts)?;
        if let Some(vectors) = &vectors {
            vectors::check(vectors, facts.len())?;
        }
        if facts.is_empty() {
            return Ok(Vec::new());
        }
        self.write(move |change| import(change, &facts, vectors.as_ref()))
            .await
    }
}

impl View {
    /// Which of these facts [`Memory::import_many`] would find to be there
    /// already, in the order given, so that no vectors are made for them.
    /// Repeats among the facts themselves are not looked for.
    ///
    /// # Errors
    /// As [`Memory::remember_many`], without those about sources and vectors.
    pub async fn holds_imported(&self, facts: Vec<ImportedFact>) -> Result<Vec<bool>> {
        let facts = checked(facts)?;
        self.read(vec![false; facts.len()], move |connection, scope| {
            facts
                .iter()
                .map(|fact| Ok(find_line(connection, scope, fact)?.is_some()))
                .collect()
        })
        .await
    }
}

/// Checks facts by every rule that needs no file, so that nothing is spent on a
/// file which [`Memory::import_many`] would refuse in the middle.
///
/// # Errors
/// As `import_many`, without those about sources and vectors.
pub fn check_imported_facts(facts: &[ImportedFact]) -> Result<()> {
    checked(facts.to_vec()).map(drop)
}

/// A fact that keeps the rules, with the time that a repeat of it has.
struct Line {
    checked: Checked,
    created_at: Option<i64>,
}

fn checked(facts: Vec<ImportedFact>) -> Result<Vec<Line>> {
    check_number(&facts)?;
    let now = now();
    facts
        .into_iter()
        .map(|fact| {
            let dated = fact.created_at.is_some();
            let checked = Checked::imported(fact, now)?;
            Ok(Line {
                created_at: dated.then_some(checked.created_at),
                checked,
            })
        })
        .collect()
}

fn import(
    change: &Change<'_>,
    lines: &[Line],
    vectors: Option<&FactVectors>,
) -> Result<Vec<Remembered>> {
    let claims = lines.iter().map(|line| {
        let fact = &line.checked.fact;
        (fact.source.as_ref(), fact.quote.as_deref())
    });
    let sources = check_sources(change, claims)?;
    let vectors = vectors::Given::new(change.connection, vectors)?;
    let mut done = Vec::with_capacity(lines.len());
    for (place, line) in lines.iter().enumerate() {
        if let Some(number) = find_line(change.connection, change.scope, line)? {
            done.push(Done::new(number, Outcome::Repeated));
            continue;
        }
        let one = insert(change, &line.checked, sources[place].as_ref())?;
        if let Some(vectors) = &vectors {
            vectors.store(place, one.number)?;
        }
        done.push(one);
    }
    answers(change, done)
}

/// The fact that an earlier import of the same line made.
fn find_line(
    connection: &rusqlite::Connection,
    scope: ScopeId,
    line: &Line,
) -> Result<Option<i64>, StorageError> {
    let (from, to) = scope::fact_range(scope);
    let Line {
        checked,
        created_at,
    } = line;
    let fact = &checked.fact;
    Ok(connection
        .prepare_cached(
            "SELECT number FROM facts
             WHERE content_key IN (?1, ?11) AND number BETWEEN ?2 AND ?3 AND content = ?4
                AND metadata = ?5 AND subject IS ?6 AND attribute IS ?7
                AND thread IS ?8 AND position IS ?9 AND (?10 IS NULL OR created_at = ?10)
             ORDER BY number LIMIT 1",
        )?
        .query_row(
            params![
                checked.keys[0],
                from,
                to,
                fact.content,
                checked.metadata,
                fact.subject,
                fact.attribute,
                fact.thread,
                fact.position,
                created_at,
                checked.keys[1]
            ],
            |row| row.get(0),
        )
        .optional()?)
}
