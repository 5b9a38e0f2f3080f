//! Echo: what memory showed in a turn is not remembered again in it.
//!
//! An agent that repeats what it just read learned nothing. Remembering that
//! would make a fact look confirmed that nobody said again, and would lend the
//! words of a snippet's frame to memory.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use keepsake_gate::{Statement, sentences, unframed};
use keepsake_types::limits;

use super::super::Change;
use super::super::facts::{self, Loader};
use super::super::model::{Fact, Recalled};
use super::checked::Checked;
use super::property::Property;
use crate::Result;

/// The facts that were shown in a turn.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shown(Arc<Mutex<Noted>>);

#[derive(Debug, Default)]
struct Noted {
    /// Ids and texts. Most turns remember nothing, so that they are taken apart
    /// only when one does.
    facts: Vec<(String, String)>,
    /// Shared, because a write takes it along.
    forms: Arc<ShownForms>,
}

impl Shown {
    /// Notes that facts were shown.
    pub(in super::super) fn note(&self, recalled: &[Recalled]) {
        let mut noted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = noted.facts.len() + noted.forms.count;
        let room = limits::SHOWN_FACTS.saturating_sub(known);
        let facts = recalled.iter().take(room).map(|recalled| {
            let Fact { id, content, .. } = &recalled.fact;
            (id.clone(), content.clone())
        });
        noted.facts.extend(facts);
    }

    /// What was shown, by what it says.
    pub(super) fn forms(&self) -> Arc<ShownForms> {
        let mut noted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let facts = std::mem::take(&mut noted.facts);
        if !facts.is_empty() {
            Arc::make_mut(&mut noted.forms).add(facts);
        }
        Arc::clone(&noted.forms)
    }
}

/// The ids of the facts that were shown, by the form of their statement.
#[derive(Clone, Debug, Default)]
pub(super) struct ShownForms {
    ids: HashMap<String, Vec<String>>,
    count: usize,
}

impl ShownForms {
    fn add(&mut self, facts: Vec<(String, String)>) {
        for (id, content) in facts {
            let form = Statement::new(&content).form().to_owned();
            let ids = self.ids.entry(form).or_default();
            if !ids.contains(&id) {
                ids.push(id);
                self.count += 1;
            }
        }
    }

    /// The fact that a new one echoes: its text, its line of a snippet, or each
    /// of its sentences was shown and still holds, and it adds nothing to that.
    pub(super) fn echoed(&self, change: &Change<'_>, checked: &Checked) -> Result<Option<i64>> {
        if self.count == 0 || checked.keep || !checked.supersedes.is_empty() {
            return Ok(None);
        }
        let content = &checked.fact.content;
        if let Some(known) = self.shown(change, checked, checked.statement.form())? {
            return Ok(Some(known));
        }
        let bare = unframed(content);
        if let Some(known) = self.shown(change, checked, Statement::new(&bare).form())? {
            return Ok(Some(known));
        }
        let mut first = None;
        for sentence in sentences(content) {
            let form = Statement::new(&unframed(sentence)).form().to_owned();
            match self.shown(change, checked, &form)? {
                Some(known) => first = first.or(Some(known)),
                None => return Ok(None),
            }
        }
        Ok(first)
    }

    /// The fact of that form that was shown and that the new one adds nothing to.
    fn shown(&self, change: &Change<'_>, checked: &Checked, form: &str) -> Result<Option<i64>> {
        for id in self.ids.get(form).into_iter().flatten() {
            let Some(number) = facts::number(change.connection, change.scope, id)? else {
                // It was forgotten since.
                continue;
            };
            let known = Loader::new(change.connection, change.scope).load(number)?;
            if known.is_some_and(|known| adds_nothing(checked, &known)) {
                return Ok(Some(number));
            }
        }
        Ok(None)
    }
}

/// Whether a fact is no more than a known one that holds: no evidence, property
/// or place of its own.
fn adds_nothing(checked: &Checked, known: &Fact) -> bool {
    let fact = &checked.fact;
    let holds =
        known.superseded_by.is_none() && known.valid_until.is_none_or(|until| until > checked.now);
    let evidence = fact.source.is_some() && known.source.is_none();
    let property = checked.property().is_none_or(|property| {
        Property::of(known.subject.as_ref(), known.attribute.as_ref())
            .is_some_and(|known| known.is(&property))
    });
    let placed = fact.thread.is_none() && fact.position.is_none()
        || fact.thread == known.thread && fact.position == known.position;
    holds && !evidence && property && placed
}
