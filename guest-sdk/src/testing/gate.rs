//! The gate that facts pass, by the rules of the real host; only that no
//! vectors are compared.

use std::collections::BTreeSet;

use keepsake_gate::{
    Likeness, Statement, mask, mask_members, reads_like_instructions, sentences, unframed,
};
use serde_json::{Map, Value};

use crate::error::{Error, Result};
use crate::memory::{Fact, NewFact};

/// Known facts that one answer names as nearly the same.
const NAMED_FACTS: usize = 8;

/// A fact as it is kept.
pub(super) struct Screened {
    pub(super) fact: NewFact,
    pub(super) masked: bool,
    pub(super) instruction_like: bool,
    keep: bool,
}

/// What becomes of a fact, with the places of the known ones that decide it.
pub(super) enum Passing {
    New,
    Repeated(usize),
    Merged(usize),
    Near(Vec<usize>),
    Echo(usize),
}

/// Takes secrets out of a fact, and what it says to the gate.
pub(super) fn screen(new: &NewFact) -> Result<Screened> {
    let mut fact = new.clone();
    let mut places = 0;
    let texts = [
        Some(&mut fact.content),
        fact.quote.as_mut(),
        fact.subject.as_mut(),
        fact.attribute.as_mut(),
    ];
    for text in texts.into_iter().flatten() {
        let masked = mask(text);
        places += masked.places;
        *text = masked.text.into_owned();
    }
    for name in [&mut fact.subject, &mut fact.attribute]
        .into_iter()
        .flatten()
    {
        *name = Statement::even(name);
    }
    let mut keep = false;
    let mut extras = members(fact.extras.as_deref(), "a fact's extras")?;
    if let Some(members) = &mut extras {
        if let Some(Value::Bool(kept)) = members.get("keep") {
            keep = *kept;
            members.remove("keep");
        }
        places += mask_members(members);
    }
    fact.extras = extras
        .filter(|members| !members.is_empty())
        .map(|members| Value::Object(members).to_string());
    if let Some(mut metadata) = members(fact.metadata.as_deref(), "a fact's metadata")? {
        places += mask_members(&mut metadata);
        fact.metadata = Some(Value::Object(metadata).to_string());
    }
    Ok(Screened {
        masked: places > 0,
        instruction_like: reads_like_instructions(&fact.content),
        keep,
        fact,
    })
}

fn members(text: Option<&str>, what: &str) -> Result<Option<Map<String, Value>>> {
    match text.map(serde_json::from_str).transpose()? {
        None => Ok(None),
        Some(Value::Object(members)) => Ok(Some(members)),
        Some(_) => Err(Error::invalid(format!("{what} must be a JSON object"))),
    }
}

/// Lets a fact through or finds what it repeats. `shown` are the ids of the
/// facts that this turn showed, `now` is the host's time.
pub(super) fn pass(
    known: &[Fact],
    shown: &BTreeSet<String>,
    screened: &Screened,
    now: u64,
) -> Passing {
    let new = &screened.fact;
    let holds = |fact: &Fact| {
        fact.superseded_by.is_none() && fact.valid_until.is_none_or(|until| until > now)
    };
    if let Some(place) = echoed(known, shown, screened, &holds) {
        return Passing::Echo(place);
    }
    let statement = Statement::new(&new.content);
    let here = || {
        let places = known.iter().enumerate();
        places.filter(|(_, fact)| {
            holds(fact) && fact.thread == new.thread && fact.position == new.position
        })
    };
    let same = here().find(|(_, fact)| {
        may_share(new, fact) && Statement::even(&fact.content) == Statement::even(&new.content)
    });
    if let Some((place, _)) = same {
        return Passing::Repeated(place);
    }
    if screened.keep {
        return Passing::New;
    }
    let merged = here().find(|(_, fact)| {
        let other = Statement::new(&fact.content);
        let form = may_share(new, fact) && statement.form() == other.form();
        let value = gives_same_property(new, fact)
            && statement.gives_same_value(
                &other,
                &[new.subject.as_deref(), new.attribute.as_deref()].map(Option::unwrap_or_default),
            );
        form || value
    });
    if let Some((place, _)) = merged {
        return Passing::Merged(place);
    }
    if new.subject.is_some() || !new.supersedes.is_empty() {
        return Passing::New;
    }
    let mut near = Vec::new();
    for (place, fact) in here() {
        match statement.likeness(&Statement::new(&fact.content)) {
            Likeness::Same => return Passing::Merged(place),
            Likeness::Near => near.push(place),
            Likeness::Different => {}
        }
    }
    if near.is_empty() {
        return Passing::New;
    }
    // The newest first.
    near.reverse();
    near.truncate(NAMED_FACTS);
    Passing::Near(near)
}

/// The fact that a new one echoes, whole, as a line of a snippet, or with each
/// of its sentences.
fn echoed(
    known: &[Fact],
    shown: &BTreeSet<String>,
    screened: &Screened,
    holds: &dyn Fn(&Fact) -> bool,
) -> Option<usize> {
    let new = &screened.fact;
    if screened.keep || !new.supersedes.is_empty() {
        return None;
    }
    let shows = |text: &str| {
        let form = Statement::new(text).form().to_owned();
        known.iter().position(|fact| {
            shown.contains(&fact.id)
                && holds(fact)
                && adds_nothing(new, fact)
                && Statement::new(&fact.content).form() == form
        })
    };
    shows(&new.content)
        .or_else(|| shows(&unframed(&new.content)))
        .or_else(|| {
            let found: Option<Vec<usize>> = sentences(&new.content)
                .into_iter()
                .map(|sentence| shows(&unframed(sentence)))
                .collect();
            found?.first().copied()
        })
}

fn adds_nothing(new: &NewFact, known: &Fact) -> bool {
    let evidence = new.source.is_some() && known.source.is_none();
    let property = new.subject.is_none() || gives_same_property(new, known);
    let placed = new.thread.is_none() && new.position.is_none()
        || new.thread == known.thread && new.position == known.position;
    !evidence && property && placed
}

/// Whether both may be one fact: they give no different properties.
fn may_share(new: &NewFact, known: &Fact) -> bool {
    new.subject.is_none() || known.subject.is_none() || gives_same_property(new, known)
}

/// Whether both give a value of the same property.
pub(super) fn gives_same_property(new: &NewFact, known: &Fact) -> bool {
    same_property(
        [&new.subject, &new.attribute],
        [&known.subject, &known.attribute],
    )
}

/// Whether two subjects with their attributes are the same, in any case of their
/// letters; none is the same as nothing.
pub(super) fn same_property(one: [&Option<String>; 2], other: [&Option<String>; 2]) -> bool {
    one.into_iter().zip(other).all(|names| match names {
        (Some(one), Some(other)) => one.to_lowercase() == other.to_lowercase(),
        _ => false,
    })
}
