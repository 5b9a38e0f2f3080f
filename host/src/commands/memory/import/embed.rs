//! From a batch of records to what is written of each customer: what is here
//! already is left out, and the rest gets its vectors in one call.

use std::collections::HashMap;

use keepsake_plugin::EmbeddingPlugin;
use keepsake_storage::{
    Database, FactVectors, ImportedFact, RestoredFact, RestoredProfile, RestoredValue,
};
use keepsake_types::ResourceRef;
use keepsake_types::embedding::{Embedder, EmbeddingInfo, EmbeddingKind};

use super::batches::Batch;
use super::record::Record;
use crate::failure::{ExitCode, Failure};

/// What a batch brings for one customer.
pub(super) struct Share {
    pub(super) resource: ResourceRef,
    pub(super) facts: Vec<ImportedFact>,
    pub(super) vectors: FactVectors,
    pub(super) restored: Vec<RestoredFact>,
    pub(super) restored_vectors: FactVectors,
    pub(super) working: Vec<RestoredValue>,
    pub(super) profiles: Vec<RestoredProfile>,
}

/// A batch that can be written.
pub(super) struct Embedded {
    pub(super) shares: Vec<Share>,
    /// Facts that are here already, and so cost no embedding.
    pub(super) known: u64,
}

/// Asks the provider once for all texts of a batch.
pub(super) async fn embedded(
    database: &Database,
    embedder: &EmbeddingPlugin,
    batch: Batch,
) -> Result<Embedded, Failure> {
    let info = embedder.info();
    let mut known = 0;
    let mut shares = by_resource(batch);
    for share in &mut shares {
        let view = database.view(&share.resource)?;
        let here = view.holds_imported(share.facts.clone()).await?;
        known += leave_out(&mut share.facts, &here);
        let restored = share.restored.iter().map(|(fact, _)| fact.clone());
        let here = view.holds_restored(restored.collect()).await?;
        known += leave_out(&mut share.restored, &here);
        for (_, vector) in &mut share.restored {
            // A vector of another model would not be found by the one in use.
            *vector = vector.take().filter(|vector| fits(vector, info));
        }
    }
    let texts: Vec<String> = shares.iter().flat_map(Gathered::texts).collect();
    let vectors = embedder
        .embed(texts, EmbeddingKind::Passage)
        .await
        .map_err(|error| Failure::new(ExitCode::Plugin, error.to_string()))?;
    let mut vectors = vectors.into_iter();
    let shares = shares
        .into_iter()
        .map(|share| share.with(info, &mut vectors))
        .collect();
    Ok(Embedded { shares, known })
}

/// Leaves out those that are here. Answers how many.
fn leave_out<T>(items: &mut Vec<T>, here: &[bool]) -> u64 {
    let all = items.len();
    let mut here = here.iter();
    items.retain(|_| !here.next().copied().unwrap_or(false));
    (all - items.len()) as u64
}

fn fits(vector: &FactVectors, info: &EmbeddingInfo) -> bool {
    vector.model == info.model && vector.dimensions == info.dimensions
}

/// What a batch brings for one customer, before it has all its vectors.
struct Gathered {
    resource: ResourceRef,
    facts: Vec<ImportedFact>,
    restored: Vec<(RestoredFact, Option<FactVectors>)>,
    working: Vec<RestoredValue>,
    profiles: Vec<RestoredProfile>,
}

impl Gathered {
    /// The texts that need a vector, in the order in which `with` takes them.
    fn texts(&self) -> impl Iterator<Item = String> {
        let facts = self.facts.iter().map(|one| &one.fact);
        let restored = self.restored.iter();
        facts
            .chain(
                restored
                    .filter(|(_, vector)| vector.is_none())
                    .map(|(one, _)| &one.fact),
            )
            .map(|fact| fact.content.clone())
    }

    fn with(self, info: &EmbeddingInfo, made: &mut impl Iterator<Item = Vec<f32>>) -> Share {
        let vectors = FactVectors::of(info, made.take(self.facts.len()).collect());
        let (restored, own): (Vec<_>, Vec<_>) = self.restored.into_iter().unzip();
        let restored_vectors = own
            .into_iter()
            .filter_map(|own| match own {
                Some(own) => own.vectors.into_iter().next(),
                None => made.next(),
            })
            .collect();
        Share {
            resource: self.resource,
            facts: self.facts,
            vectors,
            restored,
            restored_vectors: FactVectors::of(info, restored_vectors),
            working: self.working,
            profiles: self.profiles,
        }
    }
}

/// What belongs to each customer, in the order in which it stands in the file.
fn by_resource(batch: Batch) -> Vec<Gathered> {
    let mut places: HashMap<ResourceRef, usize> = HashMap::new();
    let mut shares: Vec<Gathered> = Vec::new();
    for record in batch {
        let resource = match &record {
            Record::Fact(resource, _)
            | Record::Restored(resource, ..)
            | Record::Working(resource, _)
            | Record::Profile(resource, _) => resource.clone(),
            Record::Bound(_) => continue,
        };
        let place = *places.entry(resource.clone()).or_insert_with(|| {
            shares.push(Gathered {
                resource,
                facts: Vec::new(),
                restored: Vec::new(),
                working: Vec::new(),
                profiles: Vec::new(),
            });
            shares.len() - 1
        });
        let share = &mut shares[place];
        match record {
            Record::Fact(_, fact) => share.facts.push(fact),
            Record::Restored(_, fact, vector) => share.restored.push((fact, vector)),
            Record::Working(_, value) => share.working.push(value),
            Record::Profile(_, profile) => share.profiles.push(profile),
            Record::Bound(_) => {}
        }
    }
    shares
}
