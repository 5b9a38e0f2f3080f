//! Forks of memory in this process: copies, compared with what both sides were
//! when they were last the same.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::Host;
use super::gate;
use super::memory::{Resource, Store, TestScope};
use crate::error::{Error, Result};
use crate::host::{BranchHost, ScopeHost};
use crate::memory::{Fact, ForkDifference, MergeReport};

/// Between the names that lead to a fork. No name has it.
pub(super) const BELOW: char = '\u{1f}';
/// The bound of a name, as the real host has it.
const NAME_BYTES: usize = 64;

/// What a fork was when it and its parent were last the same.
pub(super) struct Base {
    pub(super) parent: String,
    /// When it was made.
    pub(super) at: u64,
    working: BTreeMap<String, Value>,
    profile: Map<String, Value>,
    /// By the ids that facts have in the fork.
    facts: BTreeMap<String, Shared>,
}

/// A fact that both sides have.
struct Shared {
    parent: String,
    fact: Fact,
}

/// A fork as a test's agent holds it.
pub(super) struct TestBranch {
    host: Host,
    fork: String,
}

impl TestBranch {
    /// The fork of a resource's memory with the name `child`, made if need be.
    pub(super) fn open(host: Host, parent: &str, child: &str) -> Result<Self> {
        let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        if child.is_empty()
            || child.len() > NAME_BYTES
            || child.starts_with('-')
            || !child.chars().all(allowed)
        {
            return Err(Error::invalid(format!(
                "`{child}` is no name of a fork: it has from 1 to {NAME_BYTES} of A-Z a-z 0-9 . _ - \
                 and does not begin with `-`"
            )));
        }
        let fork = format!("{parent}{BELOW}{child}");
        let store = &host.shared.store;
        if !store.knows(&fork) {
            let copy = copy(store, parent);
            store.write(&fork, |resource| *resource = copy);
            host.record("memory-forked", serde_json::json!({ "fork": child }));
        }
        Ok(Self { host, fork })
    }

    fn store(&self) -> &Store {
        &self.host.shared.store
    }

    fn compared(&self) -> Result<Compared> {
        self.store()
            .read_fork(&self.fork, |fork, base, parent| compare(base, fork, parent))
            .ok_or_else(|| Error::NotFound("the fork was discarded".into()))
    }
}

fn copy(store: &Store, parent: &str) -> Resource {
    let at = store.tick();
    store.read(parent, |resource| {
        let mut ids = BTreeMap::new();
        for fact in &resource.facts {
            ids.insert(fact.id.clone(), format!("fact-{}", store.tick()));
        }
        let mut facts = resource.facts.clone();
        let mut shared = BTreeMap::new();
        for (fact, original) in facts.iter_mut().zip(&resource.facts) {
            fact.id.clone_from(&ids[&original.id]);
            fact.superseded_by = rename(original.superseded_by.as_ref(), &ids);
            let one = Shared {
                parent: original.id.clone(),
                fact: fact.clone(),
            };
            shared.insert(fact.id.clone(), one);
        }
        Resource {
            working: resource.working.clone(),
            profile: resource.profile.clone(),
            facts,
            base: Some(Base {
                parent: parent.to_owned(),
                at,
                working: resource.working.clone(),
                profile: resource.profile.clone(),
                facts: shared,
            }),
        }
    })
}

fn rename(id: Option<&String>, ids: &BTreeMap<String, String>) -> Option<String> {
    id.map(|id| ids.get(id).unwrap_or(id).clone())
}

/// What a fork changed. Of each, what is in conflict stands in `conflicts` too.
#[derive(Default)]
struct Compared {
    /// The ids that facts have in the parent, by those in the fork.
    ids: BTreeMap<String, String>,
    added: Vec<Fact>,
    /// With the id that the parent's fact has.
    changed: Vec<(String, Fact)>,
    removed: Vec<String>,
    working: Vec<(String, Option<Value>)>,
    profile: Vec<(String, Option<Value>)>,
    /// Ids in the fork, keys and members that are left.
    held_back: BTreeSet<String>,
    conflicts: BTreeSet<String>,
}

impl Compared {
    fn conflict(&mut self, held_back: &str, told_as: &str) {
        self.held_back.insert(held_back.to_owned());
        self.conflicts.insert(told_as.to_owned());
    }

    fn is_brought(&self, name: &str) -> bool {
        !self.held_back.contains(name)
    }
}

/// A fact without what differs on each side by nature.
fn bare(fact: &Fact) -> Fact {
    Fact {
        id: String::new(),
        superseded_by: fact.superseded_by.as_ref().map(|_| String::new()),
        ..fact.clone()
    }
}

fn compare(base: &Base, fork: &Resource, parent: &Resource) -> Compared {
    let mut compared = Compared::default();
    let find = |resource: &Resource, id: &str| {
        let found = resource.facts.iter().find(|fact| fact.id == id);
        found.cloned()
    };
    for (id, shared) in &base.facts {
        compared.ids.insert(id.clone(), shared.parent.clone());
        let (ours, theirs) = (find(fork, id), find(parent, &shared.parent));
        let left = theirs
            .as_ref()
            .is_some_and(|theirs| bare(theirs) == bare(&shared.fact));
        match (ours, theirs) {
            (None, Some(_)) => {
                compared.removed.push(shared.parent.clone());
                if !left {
                    compared.conflict(&shared.parent, &shared.parent);
                }
            }
            (Some(ours), theirs)
                if bare(&ours) != bare(&shared.fact)
                    && theirs
                        .as_ref()
                        .is_none_or(|theirs| bare(theirs) != bare(&ours)) =>
            {
                if !left {
                    let told_as = theirs.map_or_else(|| id.clone(), |theirs| theirs.id);
                    compared.conflict(id, &told_as);
                }
                compared.changed.push((shared.parent.clone(), ours));
            }
            _ => {}
        }
    }
    let shared: BTreeSet<&String> = base.facts.values().map(|shared| &shared.parent).collect();
    for ours in &fork.facts {
        if base.facts.contains_key(&ours.id) {
            continue;
        }
        let learned = parent
            .facts
            .iter()
            .filter(|theirs| !shared.contains(&theirs.id));
        let mut learned = learned.filter(|theirs| theirs.superseded_by.is_none());
        if learned.clone().any(|theirs| theirs.content == ours.content) {
            continue;
        }
        let rival = learned.find(|theirs| {
            gate::same_property(
                [&ours.subject, &ours.attribute],
                [&theirs.subject, &theirs.attribute],
            )
        });
        if let Some(rival) = rival {
            compared.conflict(&ours.id, &rival.id);
        }
        compared.added.push(ours.clone());
    }
    hold_back_what_was_superseded(&mut compared);
    compared.working = values(&base.working, &fork.working, &parent.working);
    for (key, _) in compared.working.clone() {
        if parent.working.get(&key) != base.working.get(&key) {
            compared.conflict(&key, &key);
        }
    }
    let map = |members: &Map<String, Value>| -> BTreeMap<String, Value> {
        members.clone().into_iter().collect()
    };
    compared.profile = values(
        &map(&base.profile),
        &map(&fork.profile),
        &map(&parent.profile),
    );
    for (member, _) in compared.profile.clone() {
        if parent.profile.get(&member) != base.profile.get(&member) {
            let name = format!("profile.{member}");
            compared.conflict(&name, &name);
        }
    }
    compared
}

/// A fact that was superseded by one which is not brought goes on in the parent.
fn hold_back_what_was_superseded(compared: &mut Compared) {
    for (parent, ours) in compared.changed.clone() {
        let newer = ours.superseded_by.as_ref();
        if newer.is_some_and(|newer| !compared.is_brought(newer)) {
            compared.conflict(&ours.id, &parent);
        }
    }
}

/// The values that the fork has otherwise than before and than its parent.
fn values(
    base: &BTreeMap<String, Value>,
    fork: &BTreeMap<String, Value>,
    parent: &BTreeMap<String, Value>,
) -> Vec<(String, Option<Value>)> {
    let names: BTreeSet<&String> = base.keys().chain(fork.keys()).collect();
    let changed = names.into_iter().filter(|name| {
        let ours = fork.get(*name);
        ours != base.get(*name) && ours != parent.get(*name)
    });
    changed
        .map(|name| (name.clone(), fork.get(name).cloned()))
        .collect()
}

impl BranchHost for TestBranch {
    fn scope(&self) -> Result<Box<dyn ScopeHost>> {
        Ok(Box::new(TestScope::new(
            self.host.clone(),
            self.fork.clone(),
        )))
    }

    fn diff(&self) -> Result<ForkDifference> {
        let compared = self.compared()?;
        let names = |values: &[(String, Option<Value>)]| -> Vec<String> {
            values.iter().map(|(name, _)| name.clone()).collect()
        };
        Ok(ForkDifference {
            working: names(&compared.working),
            profile: names(&compared.profile),
            added: compared.added,
            changed: compared.changed.into_iter().map(|(_, fact)| fact).collect(),
            removed: compared.removed,
            conflicts: compared.conflicts.into_iter().collect(),
        })
    }

    fn merge(&self) -> Result<MergeReport> {
        let compared = self.compared()?;
        let parent = self.store().read(&self.fork, |fork| {
            fork.base.as_ref().map(|base| base.parent.clone())
        });
        let parent = parent.unwrap_or_default();
        let mut report = MergeReport {
            added: 0,
            changed: 0,
            removed: 0,
            conflicts: compared.conflicts.iter().cloned().collect(),
        };
        // The ids that new facts have in the parent.
        let mut ids: BTreeMap<String, String> = BTreeMap::new();
        for fact in compared
            .added
            .iter()
            .filter(|fact| compared.is_brought(&fact.id))
        {
            ids.insert(fact.id.clone(), format!("fact-{}", self.store().tick()));
        }
        let mut names = compared.ids.clone();
        names.extend(ids.clone());
        self.store().write(&parent, |target| {
            bring_facts(&compared, &ids, &names, target, &mut report);
            for (key, value) in &compared.working {
                if compared.is_brought(key) {
                    let had = match value {
                        Some(value) => target.working.insert(key.clone(), value.clone()),
                        None => target.working.remove(key),
                    };
                    count(&mut report, had.is_some(), value.is_some());
                }
            }
            for (member, value) in &compared.profile {
                if compared.is_brought(&format!("profile.{member}")) {
                    let had = match value {
                        Some(value) => target.profile.insert(member.clone(), value.clone()),
                        None => target.profile.remove(member),
                    };
                    count(&mut report, had.is_some(), value.is_some());
                }
            }
        });
        self.store()
            .write(&self.fork, |fork| settle(&compared, &ids, fork));
        self.host.record(
            "memory-merged",
            serde_json::json!({ "conflicts": report.conflicts }),
        );
        Ok(report)
    }

    fn discard(&self) -> Result<()> {
        self.compared()?;
        self.store().remove_below(&self.fork);
        self.host.record("fork-discarded", serde_json::json!({}));
        Ok(())
    }
}

fn count(report: &mut MergeReport, had: bool, has: bool) {
    match (had, has) {
        (false, _) => report.added += 1,
        (true, true) => report.changed += 1,
        (true, false) => report.removed += 1,
    }
}

fn bring_facts(
    compared: &Compared,
    ids: &BTreeMap<String, String>,
    names: &BTreeMap<String, String>,
    target: &mut Resource,
    report: &mut MergeReport,
) {
    for (parent, fact) in &compared.changed {
        let place = target.facts.iter().position(|theirs| theirs.id == *parent);
        if let (true, Some(place)) = (compared.is_brought(&fact.id), place) {
            target.facts[place] = Fact {
                id: parent.clone(),
                superseded_by: rename(fact.superseded_by.as_ref(), names),
                ..fact.clone()
            };
            report.changed += 1;
        }
    }
    for parent in compared.removed.iter().filter(|id| compared.is_brought(id)) {
        target.facts.retain(|fact| fact.id != *parent);
        report.removed += 1;
    }
    for fact in &compared.added {
        if let Some(id) = ids.get(&fact.id) {
            target.facts.push(Fact {
                id: id.clone(),
                superseded_by: rename(fact.superseded_by.as_ref(), names),
                ..fact.clone()
            });
            report.added += 1;
        }
    }
}

/// Notes what is the same on both sides now.
fn settle(compared: &Compared, ids: &BTreeMap<String, String>, fork: &mut Resource) {
    let Resource {
        working,
        profile,
        facts,
        base,
    } = fork;
    let Some(base) = base else { return };
    for (key, _) in compared
        .working
        .iter()
        .filter(|(key, _)| compared.is_brought(key))
    {
        match working.get(key) {
            Some(value) => base.working.insert(key.clone(), value.clone()),
            None => base.working.remove(key),
        };
    }
    for (member, _) in &compared.profile {
        if compared.is_brought(&format!("profile.{member}")) {
            match profile.get(member) {
                Some(value) => base.profile.insert(member.clone(), value.clone()),
                None => base.profile.remove(member),
            };
        }
    }
    base.facts.retain(|_, shared| {
        !compared.removed.contains(&shared.parent) || !compared.is_brought(&shared.parent)
    });
    for fact in facts.iter() {
        if let Some(parent) = ids.get(&fact.id) {
            let shared = Shared {
                parent: parent.clone(),
                fact: fact.clone(),
            };
            base.facts.insert(fact.id.clone(), shared);
        } else if let Some(shared) = base.facts.get_mut(&fact.id)
            && compared.is_brought(&fact.id)
        {
            shared.fact = fact.clone();
        }
    }
}
