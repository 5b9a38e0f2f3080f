//! What an account and a team know, beside what a customer's own memory holds.
//!
//! Each scope is searched by itself, so that nothing in a wider one moves a score
//! in a nearer one. Scores compare all the same: a cosine is a cosine, and the
//! part of words is a share of what the query could reach in that scope.

use std::collections::HashSet;

use keepsake_types::now;

use super::super::Memory;
use super::super::model::{Fact, Layer, RecallOptions, Recalled};
use super::super::remember::Property;
use super::{Found, Query, find};
use crate::database::Snapshot;
use crate::scope::ScopeId;
use crate::{Result, StorageError};

/// The scopes to look in, the nearest first.
pub(super) type Layers = Vec<(Layer, ScopeId)>;

/// # Errors
/// `Invalid` for a memory of another session, which may have other grants.
pub(super) fn of(own: &Memory, wider: &[(Layer, Memory)]) -> Result<Layers> {
    let mut layers = vec![(Layer::This, own.session.scope)];
    for (layer, memory) in wider {
        if memory.session.id != own.session.id {
            return Err(StorageError::Invalid(
                "a wider memory must be that of the same session".to_owned(),
            ));
        }
        layers.push((*layer, memory.session.scope));
    }
    Ok(layers)
}

/// The best facts of all layers.
pub(super) fn recall(
    snapshot: &Snapshot<'_>,
    layers: &[(Layer, ScopeId)],
    query: &Query,
    options: &RecallOptions,
) -> Result<Vec<Recalled>> {
    let at = i64::try_from(options.as_of.unwrap_or_else(now)).unwrap_or(i64::MAX);
    let mut nearer: Vec<ScopeId> = Vec::new();
    let mut said: HashSet<String> = HashSet::new();
    let mut found: Vec<Found> = Vec::new();
    for (layer, scope) in layers {
        let here = find(snapshot, *scope, query, options, |fact| {
            Ok(!said.contains(&fact.content) && !given_nearer(snapshot, &nearer, fact, at)?)
        })?;
        nearer.push(*scope);
        said.extend(here.iter().map(|found| found.recalled.fact.content.clone()));
        found.extend(here.into_iter().map(|mut found| {
            found.recalled.layer = *layer;
            found
        }));
    }
    // Stable: equals stay in the order of their layers, and within one as they were.
    found.sort_by(|left, right| {
        let identifiers = right.identifiers.cmp(&left.identifiers);
        let total = |found: &Found| found.recalled.score.total;
        identifiers.then_with(|| total(right).total_cmp(&total(left)))
    });
    found.truncate(options.limit);
    Ok(found.into_iter().map(|found| found.recalled).collect())
}

/// Whether a nearer memory has a value for the property that a fact gives, be it
/// recalled or not: the wider value is not what holds here.
fn given_nearer(snapshot: &Snapshot<'_>, nearer: &[ScopeId], fact: &Fact, at: i64) -> Result<bool> {
    let Some(property) = Property::of(fact.subject.as_ref(), fact.attribute.as_ref()) else {
        return Ok(false);
    };
    for scope in nearer {
        if property.has_value(snapshot, *scope, at)? {
            return Ok(true);
        }
    }
    Ok(false)
}
