//! Remembering: all facts of a call or none, in one transaction with their
//! ledger entries, their words and their vectors.
//!
//! Each fact goes through a gate first, which asks no model: `checked.rs` masks
//! secrets and marks what reads like instructions, `echo.rs` holds back what was
//! shown in this turn, `known.rs` finds what is known already or nearly. What
//! two texts have to do with each other, the crate `keepsake-gate` tells.

mod checked;
mod echo;
mod import;
mod known;
mod property;
mod sources;
mod supersede;
mod write;

use keepsake_types::now;

use super::facts::Loader;
use super::model::{FactVectors, NewFact, Outcome, Remembered};
use super::{Change, Memory, vectors};
use crate::{Result, StorageError};

use checked::check_number;
pub(super) use checked::{Checked, content_keys};
pub use checked::{check_new_facts, kept_texts};
pub(super) use echo::Shown;
use echo::ShownForms;
pub use import::{ImportedFact, check_imported_facts};
use known::{Fresh, Near, find_near, find_same, find_same_value};
pub(super) use property::Property;
pub(super) use sources::Source;
use sources::check_sources;
use write::{Done, hold_back, repeat};
pub(super) use write::{insert, next_number};

impl Memory {
    /// Remembers facts, all or none, and answers in the order given. `vectors`
    /// holds one for each fact, made of [`kept_texts`]; without it, facts are
    /// found by their words only.
    ///
    /// A current fact with the same text in the same thread and position is
    /// repeated, and one that says the same with other punctuation, word forms
    /// or words that say nothing is merged with: its times grow, and it takes
    /// over metadata and, where it had none, source, subject and attribute. One
    /// that says nearly the same is reported, and one that was recalled or put
    /// into a snippet in this turn is an echo; neither is stored. `extras` with
    /// a member `keep` that is true has a fact stored that is not the same to
    /// the letter. Another value for the same subject and attribute, in any case
    /// of their letters, ends the validity of the older fact, as `supersedes`
    /// does.
    ///
    /// # Errors
    /// `Invalid` for a source that is missing, foreign or tampered with, a
    /// quote that the source does not hold, a fact to be superseded that is not
    /// known, and vectors that do not fit their model; `Limit` with one of
    /// `remember-many-facts`, `fact-bytes`, `fact-metadata-bytes`,
    /// `fact-name-bytes`, `fact-supersedes`, `json-depth`.
    pub async fn remember_many(
        &self,
        facts: Vec<NewFact>,
        vectors: Option<FactVectors>,
    ) -> Result<Vec<Remembered>> {
        check_number(&facts)?;
        let now = now();
        let facts: Vec<Checked> = facts
            .into_iter()
            .map(|fact| Checked::new(fact, now))
            .collect::<Result<_>>()?;
        if let Some(vectors) = &vectors {
            vectors::check(vectors, facts.len())?;
        }
        if facts.is_empty() {
            return Ok(Vec::new());
        }
        let shown = self.shown.forms();
        self.write(move |change| remember(change, &facts, vectors.as_ref(), &shown))
            .await
    }
}

fn remember(
    change: &Change<'_>,
    facts: &[Checked],
    vectors: Option<&FactVectors>,
    shown: &ShownForms,
) -> Result<Vec<Remembered>> {
    let claims = facts
        .iter()
        .map(|checked| (checked.fact.source.as_ref(), checked.quote.as_deref()));
    let sources = check_sources(change, claims)?;
    let vectors = vectors::Given::new(change.connection, vectors)?;
    let mut fresh = Fresh::default();
    let mut done = Vec::with_capacity(facts.len());
    for (place, checked) in facts.iter().enumerate() {
        let vector = vectors.as_ref().map(|vectors| (vectors, place));
        let one = pass(
            change,
            checked,
            sources[place].as_ref(),
            vector,
            &fresh,
            shown,
        )?;
        if one.is_new() {
            fresh.note(one.number, checked);
        }
        if let Some(vectors) = vectors.as_ref().filter(|_| one.has_its_text()) {
            vectors.store(place, one.number)?;
        }
        done.push(one);
    }
    answers(change, done)
}

/// Lets one fact through the gate, or holds it back.
fn pass(
    change: &Change<'_>,
    checked: &Checked,
    source: Option<&Source>,
    vector: Option<(&vectors::Given<'_>, usize)>,
    fresh: &Fresh,
    shown: &ShownForms,
) -> Result<Done> {
    if let Some(number) = shown.echoed(change, checked)? {
        return hold_back(change, checked, Outcome::Echo, vec![number]);
    }
    if let Some(known) = find_same(change, checked)? {
        return repeat(change, checked, source, &known);
    }
    if checked.keep {
        return insert(change, checked, source);
    }
    if let Some(known) = find_same_value(change, checked)? {
        return repeat(change, checked, source, &known);
    }
    // A value of a property, or what names the facts that it replaces, is never
    // held back: the older fact ends, and nothing is lost.
    if checked.fact.subject.is_none() && checked.supersedes.is_empty() {
        match find_near(change, checked, fresh, vector)? {
            Near::Same(known) => return repeat(change, checked, source, &known),
            Near::Facts(near) => {
                return hold_back(change, checked, Outcome::NearDuplicate, near);
            }
            Near::Nothing => {}
        }
    }
    insert(change, checked, source)
}

/// The facts as they stand at the end of the call.
fn answers(change: &Change<'_>, done: Vec<Done>) -> Result<Vec<Remembered>> {
    let mut loader = Loader::new(change.connection, change.scope);
    let mut load = |number| {
        loader.load(number)?.ok_or_else(|| {
            StorageError::Internal("a fact that was just remembered is not there".to_owned())
        })
    };
    done.into_iter()
        .map(|done| {
            Ok(Remembered {
                outcome: done.outcome,
                fact: load(done.number)?,
                near: done
                    .near
                    .into_iter()
                    .map(&mut load)
                    .collect::<Result<_>>()?,
            })
        })
        .collect()
}
