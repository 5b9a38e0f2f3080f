//! The indexes of the scopes that were searched last, bounded in bytes.
//!
//! An index is brought up to date by what was added since; a count of other
//! changes, kept in the file by triggers, tells when it has to be made anew.
//! Both are read in the transaction that searches, so that what another process
//! wrote is seen as soon as any of it is.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use hashlink::LinkedHashMap;
use rusqlite::{Connection, OptionalExtension, params};

use super::code::{self, Probe};
use super::foreign_width;
use super::index::{Index, Near};
use crate::Result;
use crate::scope::{self, ScopeId};

/// Whose vectors, and of which model.
type Key = (ScopeId, i64);

/// The indexes that are held in memory.
pub(crate) struct Indexes {
    bound: usize,
    held: Mutex<Held>,
}

#[derive(Default)]
struct Held {
    /// The one that was not used for longest comes first.
    slots: LinkedHashMap<Key, Slot>,
    bytes: usize,
}

#[derive(Clone)]
struct Slot {
    index: Arc<RwLock<Current>>,
    /// As they were counted last.
    bytes: usize,
}

/// An index and which state of the file it has.
struct Current {
    index: Index,
    changes: i64,
    /// The number of the last fact that was looked at.
    seen: i64,
    /// It takes more memory than there is; the index is empty.
    too_large: bool,
}

/// What searching an index found.
pub(super) struct Found {
    pub(super) near: Vec<Near>,
    /// How many vectors were searched.
    pub(super) of: usize,
}

impl Indexes {
    /// Holds at most so many bytes.
    pub(crate) fn new(bound: usize) -> Self {
        Self {
            bound,
            held: Mutex::default(),
        }
    }

    /// Searches the index of a scope and model, made or brought up to date if
    /// need be. None where there is none: it is too large, or newer than what
    /// this transaction sees.
    pub(super) fn search(
        &self,
        connection: &Connection,
        (scope, model): Key,
        probe: &Probe,
        want: usize,
    ) -> Result<Option<Found>> {
        let (_, to) = scope::fact_range(scope);
        let changes = changes(connection, scope)?;
        let slot = self.slot((scope, model), probe.unit.len());
        let found = |current: &Current| Found {
            near: current.index.nearest(probe, want),
            of: current.index.len(),
        };
        if let Ok(current) = slot.index.read()
            && current.changes == changes
            && !anything_after(connection, current.seen, to)?
        {
            return Ok((!current.too_large).then(|| found(&current)));
        }
        {
            let mut current = slot.index.write().unwrap_or_else(|poisoned| {
                // Whoever panicked may have left half of a vector.
                let mut current = poisoned.into_inner();
                *current = Current::new(scope, probe.unit.len());
                slot.index.clear_poison();
                current
            });
            if current.changes > changes {
                return Ok(None);
            }
            if current.changes < changes {
                *current = Current::new(scope, probe.unit.len());
                current.changes = changes;
            }
            current.load(connection, (scope, model), self.bound)?;
        }
        let answer = {
            let current = slot.index.read().unwrap_or_else(PoisonError::into_inner);
            // Another thread may have been here between the two locks.
            let usable = current.changes == changes && !current.too_large;
            self.account((scope, model), current.index.bytes());
            usable.then(|| found(&current))
        };
        Ok(answer)
    }

    fn slot(&self, key: Key, width: usize) -> Slot {
        let mut held = self.held();
        if let Some(slot) = held.slots.to_back(&key) {
            return slot.clone();
        }
        let slot = Slot {
            index: Arc::new(RwLock::new(Current::new(key.0, width))),
            bytes: 0,
        };
        held.slots.insert(key, slot.clone());
        slot
    }

    /// Notes what an index takes, and lets go of those that were not used for
    /// longest where that is too much.
    fn account(&self, key: Key, bytes: usize) {
        let mut held = self.held();
        let Held { slots, bytes: all } = &mut *held;
        let Some(slot) = slots.get_mut(&key) else {
            return;
        };
        let bytes = bytes + size_of::<Current>() + size_of::<Slot>();
        *all = *all + bytes - slot.bytes;
        slot.bytes = bytes;
        while *all > self.bound && slots.len() > 1 {
            if let Some((_, dropped)) = slots.pop_front() {
                *all -= dropped.bytes;
            }
        }
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        // Nothing in it can be half done.
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many indexes are held, and their bytes.
    #[cfg(test)]
    pub(super) fn held_now(&self) -> (usize, usize) {
        let held = self.held();
        (held.slots.len(), held.bytes)
    }
}

impl Current {
    fn new(scope: ScopeId, width: usize) -> Self {
        Self {
            index: Index::new(width),
            changes: 0,
            seen: scope::fact_range(scope).0,
            too_large: false,
        }
    }

    /// Adds what is in the file and was not looked at.
    fn load(&mut self, connection: &Connection, (scope, model): Key, bound: usize) -> Result<()> {
        let (from, to) = scope::fact_range(scope);
        let width = self.index.width();
        let most = bound / Index::bytes_each(width);
        let mut statement = connection.prepare_cached(
            "SELECT fact, model, vector FROM vectors WHERE fact > ?1 AND fact <= ?2 ORDER BY fact",
        )?;
        let mut rows = statement.query(params![self.seen, to])?;
        while let Some(row) = rows.next()? {
            let fact: i64 = row.get(0)?;
            self.seen = fact;
            if self.too_large || row.get::<_, i64>(1)? != model {
                continue;
            }
            if self.index.len() >= most {
                self.index = Index::new(width);
                self.too_large = true;
                self.seen = to;
                break;
            }
            let bytes = row.get_ref(2)?.as_blob().map_err(rusqlite::Error::from)?;
            let coarse = code::coarse(bytes, width).ok_or_else(foreign_width)?;
            self.index.push((fact - from) as u32, &coarse);
        }
        self.index.settle();
        Ok(())
    }
}

/// How often vectors of a scope were changed otherwise than by new ones at the end.
fn changes(connection: &Connection, scope: ScopeId) -> Result<i64> {
    Ok(connection
        .prepare_cached("SELECT changes FROM vector_changes WHERE scope = ?1")?
        .query_row([scope], |row| row.get(0))
        .optional()?
        .unwrap_or(0))
}

fn anything_after(connection: &Connection, seen: i64, to: i64) -> Result<bool> {
    Ok(connection
        .prepare_cached("SELECT 1 FROM vectors WHERE fact > ?1 AND fact <= ?2 LIMIT 1")?
        .exists([seen, to])?)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WIDTH: usize = 64;

    /// Scopes 1 to `scopes` with ten vectors each, of models 1 and 2 in turn.
    fn file(scopes: i64) -> Connection {
        let connection = Connection::open_in_memory().unwrap();
        connection
            .execute_batch(
                "CREATE TABLE vectors (fact INTEGER PRIMARY KEY, model INTEGER, vector BLOB);
                 CREATE TABLE vector_changes (scope INTEGER PRIMARY KEY, changes INTEGER);",
            )
            .unwrap();
        for scope in 1..=scopes {
            for fact in 1..=10 {
                let vector: Vec<f32> = (0..WIDTH as i64)
                    .map(|place| ((place * fact + scope) as f32).sin())
                    .collect();
                connection
                    .execute(
                        "INSERT INTO vectors VALUES (?1, ?2, ?3)",
                        params![(scope << 32) + fact, 1 + fact % 2, code::encode(&vector)],
                    )
                    .unwrap();
            }
        }
        connection
    }

    fn search(indexes: &Indexes, connection: &Connection, key: Key) -> Option<usize> {
        let probe = Probe::new(&[1.0; WIDTH]);
        let found = indexes.search(connection, key, &probe, 3).unwrap();
        found.map(|found| found.of)
    }

    #[test]
    fn indexes_take_no_more_memory_than_their_bound_and_the_one_used_last_stays() {
        let connection = file(40);
        let roomy = Indexes::new(usize::MAX);
        assert_eq!(search(&roomy, &connection, (1, 1)), Some(5));
        let each = roomy.held_now().1;
        let indexes = Indexes::new(5 * each);
        for scope in 1..=40 {
            assert_eq!(search(&indexes, &connection, (scope, 1)), Some(5));
            // Used again and again, so that others go.
            search(&indexes, &connection, (1, 1));
            let (held, bytes) = indexes.held_now();
            assert!(held <= 5 && bytes <= 5 * each, "{held} {bytes}");
        }
        assert!(indexes.held().slots.contains_key(&(1, 1)));
        assert!(indexes.held().slots.contains_key(&(40, 1)));
    }

    #[test]
    fn an_index_that_alone_is_too_large_is_not_held() {
        let connection = file(1);
        let indexes = Indexes::new(4 * Index::bytes_each(WIDTH));
        assert_eq!(search(&indexes, &connection, (1, 1)), None);
        assert_eq!(search(&indexes, &connection, (1, 1)), None);
        assert!(indexes.held_now().1 < 4 * Index::bytes_each(WIDTH) + 1_000);
    }

    #[test]
    fn a_transaction_that_sees_less_than_the_index_does_not_use_it() {
        let connection = file(1);
        let indexes = Indexes::new(usize::MAX);
        let changes = |number: i64| {
            connection
                .execute("REPLACE INTO vector_changes VALUES (1, ?1)", [number])
                .unwrap();
        };
        changes(2);
        assert_eq!(search(&indexes, &connection, (1, 1)), Some(5));
        changes(1);
        assert_eq!(search(&indexes, &connection, (1, 1)), None);
        changes(3);
        assert_eq!(search(&indexes, &connection, (1, 1)), Some(5));
    }
}
