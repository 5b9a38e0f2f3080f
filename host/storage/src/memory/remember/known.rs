//! Known facts that say what a new one says, or nearly that.

use std::collections::HashMap;

use keepsake_gate::{Likeness, Statement};
use rusqlite::params;
use uuid::Uuid;

use super::super::{Change, postings, vectors, words};
use super::checked::Checked;
use super::property::Property;
use crate::{Result, scope};

/// Known facts that are compared word by word with a new one. Those that share
/// the most telling words come first; more would make a write slow.
const COMPARED_FACTS: usize = 16;
/// Facts of one call that are looked at for holding a word; as many as a
/// segment of the index has.
const NEWEST_HOLDERS: usize = 256;
/// Known facts that one answer names as nearly the same.
const NAMED_FACTS: usize = 8;
/// Facts with the same words whose vectors are further apart than this are not
/// nearly the same. Embedding models place such pairs above 0.9; what lies
/// below is another meaning of the same words.
const LEAST_COSINE: f64 = 0.8;
/// How many words more or fewer an index counts in statements that are nearly
/// the same: it counts words that comparing leaves out.
const WORDS_APART: u32 = 6;

/// A known fact that a new one repeats.
pub(super) struct Known {
    pub(super) number: i64,
    pub(super) id: Uuid,
    /// Both are the same to the letter, as a reader sees them.
    pub(super) to_the_letter: bool,
    /// What the fact gives a value of, or comes to by the new one.
    pub(super) property: Option<Property>,
}

/// What of the new facts' words is not in the index yet.
#[derive(Default)]
pub(super) struct Fresh {
    holders: HashMap<String, Vec<i64>>,
}

impl Fresh {
    /// Notes a fact that was stored in this call.
    pub(super) fn note(&mut self, number: i64, checked: &Checked) {
        for word in words::words(&checked.fact.content).into_keys() {
            self.holders.entry(word).or_default().push(number);
        }
    }

    /// The newest of them that hold a word.
    fn newest(&self, word: &str) -> impl Iterator<Item = i64> {
        let holders = self.holders.get(word).map_or(&[][..], Vec::as_slice);
        holders.iter().rev().take(NEWEST_HOLDERS).copied()
    }
}

/// A current fact that says the same about the same, in the same place and at
/// a time that meets the new one's.
pub(super) fn find_same(change: &Change<'_>, checked: &Checked) -> Result<Option<Known>> {
    let (from, to) = scope::fact_range(change.scope);
    let fact = &checked.fact;
    let mut statement = change.connection.prepare_cached(
        "SELECT number, id, valid_from, content, subject, attribute FROM facts
         WHERE content_key IN (?1, ?2) AND number BETWEEN ?3 AND ?4
            AND thread IS ?5 AND position IS ?6
            AND (valid_until IS NULL OR valid_until > ?7 AND valid_until >= ?8)
            AND (?9 IS NULL OR valid_from <= ?9)
         ORDER BY number",
    )?;
    let mut rows = statement.query(params![
        checked.keys[0],
        checked.keys[1],
        from,
        to,
        fact.thread,
        fact.position,
        checked.now,
        checked.valid_from,
        checked.valid_until
    ])?;
    let property = checked.property();
    let mut merged = None;
    while let Some(row) = rows.next()? {
        let content = row.get_ref(3)?.as_str().map_err(rusqlite::Error::from)?;
        let to_the_letter =
            content == fact.content || Statement::even(content) == Statement::even(&fact.content);
        if !to_the_letter && Statement::new(content).form() != checked.statement.form() {
            continue;
        }
        let (subject, attribute) = (row.get(4)?, row.get(5)?);
        let known = Property::of(Option::as_ref(&subject), Option::as_ref(&attribute));
        if let (Some(one), Some(other)) = (&property, &known)
            && !one.is(other)
        {
            continue;
        }
        let known = Known {
            number: row.get(0)?,
            id: Uuid::from_bytes(row.get(1)?),
            to_the_letter,
            property: known.or_else(|| property.clone()),
        };
        if !may_grow(change, &known, checked, row.get(2)?)? {
            continue;
        }
        if to_the_letter {
            return Ok(Some(known));
        }
        merged = merged.or(Some(known));
    }
    Ok(merged.filter(|_| !checked.keep))
}

/// A current value of the same property that is the same in other words.
pub(super) fn find_same_value(change: &Change<'_>, checked: &Checked) -> Result<Option<Known>> {
    let Some(property) = checked.property() else {
        return Ok(None);
    };
    let fact = &checked.fact;
    let place = (fact.thread.as_ref(), fact.position);
    let time = (checked.valid_from, checked.valid_until);
    for value in property.values(change, place, time, checked.now)? {
        let statement = Statement::new(&value.content);
        if !checked
            .statement
            .gives_same_value(&statement, &property.names())
        {
            continue;
        }
        let known = Known {
            number: value.number,
            id: value.id,
            to_the_letter: false,
            property: Some(property.clone()),
        };
        if may_grow(change, &known, checked, value.valid_from)? {
            return Ok(Some(known));
        }
    }
    Ok(None)
}

/// Whether the known fact's time can grow to the new one's: not over the time
/// of another value.
fn may_grow(
    change: &Change<'_>,
    known: &Known,
    checked: &Checked,
    valid_from: i64,
) -> Result<bool> {
    match &known.property {
        Some(property) if checked.valid_from < valid_from => {
            let since = checked.valid_from;
            Ok(!property.begins_between(change, known.number, since, valid_from)?)
        }
        _ => Ok(true),
    }
}

/// What was found that says nearly the same.
pub(super) enum Near {
    /// Nothing.
    Nothing,
    /// A fact that says the same but for the forms of its words.
    Same(Known),
    /// Facts for someone to decide on, the closest first.
    Facts(Vec<i64>),
}

/// Current facts in the same place that say nearly what the new one says.
pub(super) fn find_near(
    change: &Change<'_>,
    checked: &Checked,
    fresh: &Fresh,
    vector: Option<(&vectors::Given<'_>, usize)>,
) -> Result<Near> {
    let mut near = Vec::new();
    for number in candidates(change, checked, fresh)? {
        match compare(change, checked, number)? {
            Some((Likeness::Same, known)) => return Ok(Near::Same(known)),
            Some((Likeness::Near, known)) => near.push(known.number),
            _ => {}
        }
    }
    if let (Some((vectors, place)), false) = (vector, near.is_empty()) {
        let cosines = vectors.cosines(place, change.scope, &near)?;
        let mut scored: Vec<(i64, f64)> = near
            .into_iter()
            .zip(cosines)
            // One without a vector is judged by its words alone.
            .map(|(number, cosine)| (number, cosine.unwrap_or(LEAST_COSINE)))
            .filter(|(_, cosine)| *cosine >= LEAST_COSINE)
            .collect();
        scored.sort_by(|one, other| other.1.total_cmp(&one.1).then(other.0.cmp(&one.0)));
        near = scored.into_iter().map(|(number, _)| number).collect();
    }
    near.truncate(NAMED_FACTS);
    Ok(if near.is_empty() {
        Near::Nothing
    } else {
        Near::Facts(near)
    })
}

/// The newest facts that hold the most of the new one's telling words.
fn candidates(change: &Change<'_>, checked: &Checked, fresh: &Fresh) -> Result<Vec<i64>> {
    let mut shared: HashMap<i64, u32> = HashMap::new();
    let length = words::words(&checked.fact.content).values().sum::<u32>();
    for telling in checked.statement.telling_words() {
        // What counts in its parts too is looked up whole.
        let Some(word) = words::words(telling).into_keys().max_by_key(String::len) else {
            continue;
        };
        let known = postings::newest(change.connection, change.scope, &word)?;
        let known = known
            .into_iter()
            .filter(|posting| posting.length.abs_diff(length) <= WORDS_APART)
            .map(|posting| posting.fact);
        let stored_now = fresh.newest(&word);
        let mut holders: Vec<i64> = known.chain(stored_now).collect();
        holders.sort_unstable();
        holders.dedup();
        for fact in holders {
            *shared.entry(fact).or_default() += 1;
        }
    }
    let mut found: Vec<(i64, u32)> = shared.into_iter().collect();
    found.sort_by_key(|(fact, words)| (std::cmp::Reverse(*words), std::cmp::Reverse(*fact)));
    found.truncate(COMPARED_FACTS);
    Ok(found.into_iter().map(|(fact, _)| fact).collect())
}

fn compare(
    change: &Change<'_>,
    checked: &Checked,
    number: i64,
) -> Result<Option<(Likeness, Known)>> {
    let fact = &checked.fact;
    let mut statement = change.connection.prepare_cached(
        "SELECT content, id, valid_from, subject, attribute FROM facts
         WHERE number = ?1 AND thread IS ?2 AND position IS ?3
            AND (valid_until IS NULL OR valid_until > ?4 AND valid_until >= ?5)
            AND (?6 IS NULL OR valid_from <= ?6)",
    )?;
    let mut rows = statement.query(params![
        number,
        fact.thread,
        fact.position,
        checked.now,
        checked.valid_from,
        checked.valid_until
    ])?;
    let Some(row) = rows.next()? else {
        return Ok(None);
    };
    let content = row.get_ref(0)?.as_str().map_err(rusqlite::Error::from)?;
    let likeness = checked.statement.likeness(&Statement::new(content));
    let (subject, attribute) = (row.get(3)?, row.get(4)?);
    let known = Known {
        number,
        id: Uuid::from_bytes(row.get(1)?),
        to_the_letter: false,
        property: Property::of(Option::as_ref(&subject), Option::as_ref(&attribute)),
    };
    if likeness == Likeness::Same && !may_grow(change, &known, checked, row.get(2)?)? {
        return Ok(None);
    }
    Ok(Some((likeness, known)))
}
