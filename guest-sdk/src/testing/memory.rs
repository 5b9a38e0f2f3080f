//! Memory in this process.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::forks::{BELOW, Base, TestBranch};
use super::gate::{self, Passing, Screened};
use super::{Host, compact, recall};
use crate::error::{Error, Result};
use crate::host::{BranchHost, ScopeHost};
use crate::memory::{
    CompactOptions, Compaction, EntryRef, Episode, EpisodeNode, EpisodePage, Fact, FactPage, Layer,
    NewFact, Outcome, Recollection, Remembered, Verification, WorkingPage,
};
use crate::session::Exchange;
use crate::wit;

/// When a test begins: 2026-01-01. Each event takes a millisecond.
const BEGINNING: u64 = 1_767_225_600_000;

/// The memory of all resources, and what happened.
#[derive(Default)]
pub(super) struct Store {
    resources: RefCell<BTreeMap<String, Resource>>,
    entries: RefCell<Vec<Entry>>,
    ticks: Cell<u64>,
    /// Ids of the facts that this turn showed.
    pub(super) shown: RefCell<BTreeSet<String>>,
}

#[derive(Default)]
pub(super) struct Resource {
    pub(super) working: BTreeMap<String, Value>,
    pub(super) profile: Map<String, Value>,
    /// Oldest first.
    pub(super) facts: Vec<Fact>,
    /// Where it is a fork, what it is one of.
    pub(super) base: Option<Base>,
}

struct Entry {
    resource: String,
    reference: EntryRef,
    at: u64,
    kind: String,
    payload: Value,
}

impl Store {
    pub(super) fn now(&self) -> u64 {
        BEGINNING + self.ticks.get()
    }

    pub(super) fn tick(&self) -> u64 {
        self.ticks.set(self.ticks.get() + 1);
        self.now()
    }

    /// What was said in a session before a turn, newest first.
    pub(super) fn exchanges(&self, session: &str, before: u32) -> Vec<Exchange> {
        let entries = self.entries.borrow();
        let own = entries
            .iter()
            .filter(|entry| entry.reference.session == session);
        let said = |entry: &Entry, kind: &str, member: &str| {
            let turn = entry.payload["turn"].as_u64()?;
            let turn = u32::try_from(turn).ok().filter(|turn| *turn < before)?;
            let text = entry.payload[member].as_str()?;
            (entry.kind == kind).then(|| (turn, text.to_owned()))
        };
        let replies: BTreeMap<u32, String> = own
            .clone()
            .filter_map(|entry| said(entry, "turn-completed", "reply"))
            .collect();
        let exchanges = own.rev().filter_map(|entry| {
            let (turn, message) = said(entry, "turn-started", "message")?;
            Some(Exchange {
                turn,
                at: entry.at,
                message,
                reply: replies.get(&turn)?.clone(),
            })
        });
        exchanges.collect()
    }

    pub(super) fn record(
        &self,
        resource: &str,
        session: &str,
        kind: &str,
        payload: Value,
    ) -> EntryRef {
        let at = self.tick();
        let mut entries = self.entries.borrow_mut();
        let index = entries
            .iter()
            .filter(|entry| entry.reference.session == session)
            .count() as u64;
        let reference = EntryRef {
            session: session.to_owned(),
            index,
            hash: None,
        };
        entries.push(Entry {
            resource: resource.to_owned(),
            reference: reference.clone(),
            at,
            kind: kind.to_owned(),
            payload,
        });
        reference
    }

    pub(super) fn profile(&self, resource: &str) -> Value {
        self.read(resource, |resource| Value::Object(resource.profile.clone()))
    }

    pub(super) fn get(&self, resource: &str, key: &str) -> Option<Value> {
        self.read(resource, |resource| resource.working.get(key).cloned())
    }

    /// Current facts, newest first.
    pub(super) fn facts(&self, resource: &str) -> Vec<Fact> {
        let now = self.now();
        self.read(resource, |resource| {
            let current = resource.facts.iter().rev().filter(|fact| holds(fact, now));
            current.cloned().collect()
        })
    }

    pub(super) fn read<T>(&self, resource: &str, read: impl FnOnce(&Resource) -> T) -> T {
        let mut resources = self.resources.borrow_mut();
        read(resources.entry(resource.to_owned()).or_default())
    }

    pub(super) fn write<T>(&self, resource: &str, write: impl FnOnce(&mut Resource) -> T) -> T {
        let mut resources = self.resources.borrow_mut();
        write(resources.entry(resource.to_owned()).or_default())
    }

    /// Whether a memory of that name was ever used.
    pub(super) fn knows(&self, resource: &str) -> bool {
        self.resources.borrow().contains_key(resource)
    }

    /// Reads a fork with its parent; none where it was discarded.
    pub(super) fn read_fork<T>(
        &self,
        fork: &str,
        read: impl FnOnce(&Resource, &Base, &Resource) -> T,
    ) -> Option<T> {
        let resources = self.resources.borrow();
        let fork = resources.get(fork)?;
        let base = fork.base.as_ref()?;
        let nothing = Resource::default();
        let parent = resources.get(&base.parent).unwrap_or(&nothing);
        Some(read(fork, base, parent))
    }

    /// Takes a fork and its own forks away.
    pub(super) fn remove_below(&self, fork: &str) {
        let below = format!("{fork}{BELOW}");
        let mut resources = self.resources.borrow_mut();
        resources.retain(|name, _| name != fork && !name.starts_with(&below));
    }

    /// Notes that facts were shown in this turn.
    fn show<'f>(&self, facts: impl Iterator<Item = &'f Fact>) {
        let mut shown = self.shown.borrow_mut();
        shown.extend(facts.map(|fact| fact.id.clone()));
    }

    /// Whose sessions a memory's are, and up to when those before a fork count for it.
    fn lineage(&self, resource: &str) -> (String, u64) {
        let owner = resource.split(BELOW).next().unwrap_or_default().to_owned();
        let base = |resource: &Resource| resource.base.as_ref().map(|base| base.at);
        (owner, self.read(resource, base).unwrap_or(u64::MAX))
    }

    /// A session may learn for its account, its team or a fork from what it did itself.
    fn check_source(&self, resource: &str, session: &str, fact: &NewFact) -> Result<()> {
        let Some(source) = &fact.source else {
            return match fact.quote {
                Some(_) => Err(Error::invalid(
                    "a quote needs the source that it is taken from",
                )),
                None => Ok(()),
            };
        };
        let (owner, until) = self.lineage(resource);
        let entries = self.entries.borrow();
        let entry = entries.iter().find(|entry| {
            (entry.resource == owner && entry.at <= until || entry.reference.session == session)
                && entry.reference.session == source.session
                && entry.reference.index == source.index
        });
        let Some(entry) = entry else {
            return Err(Error::invalid("the source is no entry of this scope"));
        };
        let printed = |key: &str| entry.payload[key].as_str().unwrap_or_default();
        match &fact.quote {
            Some(quote)
                if !printed("stdout").contains(quote) && !printed("stderr").contains(quote) =>
            {
                Err(Error::invalid(
                    "the quote does not stand in the source's output",
                ))
            }
            _ => Ok(()),
        }
    }
}

/// The name under which a team's memory is kept, which no resource can have.
pub(super) fn of_team(team: &str) -> String {
    format!("\0{team}")
}

fn holds(fact: &Fact, now: u64) -> bool {
    fact.valid_until.is_none_or(|until| until > now)
}

/// One resource's memory as an agent sees it.
pub(super) struct TestScope {
    host: Host,
    resource: String,
}

impl TestScope {
    pub(super) fn new(host: Host, resource: String) -> Self {
        Self { host, resource }
    }

    /// Refuses what is done to a fork that was discarded.
    fn check_there(&self) -> Result<()> {
        if self.resource.contains(BELOW) && !self.store().knows(&self.resource) {
            return Err(Error::NotFound("the fork was discarded".into()));
        }
        Ok(())
    }

    fn store(&self) -> &Store {
        &self.host.shared.store
    }

    fn remember(&self, screened: &Screened) -> Remembered {
        let at = self.store().tick();
        let new = &screened.fact;
        let shown = self.store().shown.borrow();
        self.store().write(&self.resource, |resource| {
            let facts = &mut resource.facts;
            let (outcome, place, near) = match gate::pass(facts, &shown, screened, at) {
                Passing::New => {
                    let outcome = store(facts, screened, at);
                    (outcome, facts.len() - 1, Vec::new())
                }
                Passing::Repeated(place) => (Outcome::Repeated, place, Vec::new()),
                Passing::Merged(place) => (Outcome::Merged, place, Vec::new()),
                Passing::Echo(place) => (Outcome::Echo, place, Vec::new()),
                Passing::Near(near) => (Outcome::NearDuplicate, near[0], near),
            };
            if matches!(outcome, Outcome::Repeated | Outcome::Merged) {
                repeat(&mut facts[place], new, at);
            }
            Remembered {
                outcome,
                fact: facts[place].clone(),
                near: near.into_iter().map(|place| facts[place].clone()).collect(),
            }
        })
    }
}

/// Stores a new fact and ends those that it replaces.
fn store(facts: &mut Vec<Fact>, screened: &Screened, at: u64) -> Outcome {
    let new = &screened.fact;
    let mut outcome = Outcome::Stored;
    let fact = Fact {
        masked: screened.masked,
        instruction_like: screened.instruction_like,
        extras: new.extras.clone(),
        ..fact(new, format!("fact-{at}"), at)
    };
    for older in facts.iter_mut().filter(|older| holds(older, at)) {
        if gate::gives_same_property(new, older) || new.supersedes.contains(&older.id) {
            outcome = Outcome::Superseded;
            older.valid_until = Some(at);
            older.superseded_by = Some(fact.id.clone());
        }
    }
    facts.push(fact);
    outcome
}

/// Lets a known fact take over what it has not.
fn repeat(known: &mut Fact, new: &NewFact, at: u64) {
    known.updated_at = at;
    if known.source.is_none() && new.source.is_some() {
        known.source.clone_from(&new.source);
        known.verification = Verification::Verified;
    }
    if known.subject.is_none() {
        known.subject.clone_from(&new.subject);
        known.attribute.clone_from(&new.attribute);
    }
}

pub(super) fn fact(new: &NewFact, id: String, at: u64) -> Fact {
    Fact {
        id,
        content: new.content.clone(),
        metadata: new.metadata.clone().unwrap_or_else(|| "{}".to_owned()),
        source: new.source.clone(),
        verification: match new.source {
            Some(_) => Verification::Verified,
            None => Verification::Unverified,
        },
        created_at: at,
        updated_at: at,
        subject: new.subject.clone(),
        attribute: new.attribute.clone(),
        valid_from: new.valid_from.unwrap_or(at),
        valid_until: new.expires_at,
        superseded_by: None,
        thread: new.thread.clone(),
        position: new.position,
        instruction_like: false,
        masked: false,
        extras: None,
    }
}

impl ScopeHost for TestScope {
    fn get(&self, key: &str) -> Result<Option<String>> {
        self.check_there()?;
        let value = self.store().get(&self.resource, key);
        Ok(value.map(|value| value.to_string()))
    }

    fn set(&self, key: &str, value: &str) -> Result<()> {
        self.check_there()?;
        if key.is_empty() || key.len() > 256 || key.contains(char::is_control) {
            return Err(Error::invalid(
                "a key is from 1 to 256 bytes without control characters",
            ));
        }
        let value = serde_json::from_str(value)?;
        self.store().write(&self.resource, |resource| {
            resource.working.insert(key.to_owned(), value);
        });
        Ok(())
    }

    fn compare_and_set(
        &self,
        key: &str,
        expected: Option<&str>,
        value: Option<&str>,
    ) -> Result<bool> {
        self.check_there()?;
        let parse = |text: Option<&str>| text.map(serde_json::from_str::<Value>).transpose();
        if self.store().get(&self.resource, key) != parse(expected)? {
            return Ok(false);
        }
        match value {
            Some(value) => self.set(key, value)?,
            None => {
                self.delete(key)?;
            }
        }
        Ok(true)
    }

    fn delete(&self, key: &str) -> Result<bool> {
        self.check_there()?;
        let deleted = self
            .store()
            .write(&self.resource, |resource| resource.working.remove(key));
        Ok(deleted.is_some())
    }

    fn list_working(&self, page: &wit::types::Page) -> Result<WorkingPage> {
        self.check_there()?;
        let limit = page.limit as usize;
        let mut items: Vec<_> = self.store().read(&self.resource, |resource| {
            let after = page.after.as_deref().unwrap_or_default();
            let rest = resource
                .working
                .iter()
                .filter(|(key, _)| key.as_str() > after);
            rest.take(limit + 1)
                .map(|(key, value)| (key.clone(), value.to_string()))
                .collect()
        });
        let more = items.len() > limit;
        items.truncate(limit);
        let last = items.last().map(|(key, _)| key.clone());
        Ok(WorkingPage {
            items,
            next: last.filter(|_| more),
        })
    }

    fn profile(&self) -> Result<String> {
        self.check_there()?;
        Ok(self.store().profile(&self.resource).to_string())
    }

    fn update_profile(&self, patch: &str) -> Result<String> {
        self.check_there()?;
        let patch: Value = serde_json::from_str(patch)?;
        let Value::Object(_) = patch else {
            return Err(Error::invalid(
                "a profile is an object, and so is its patch",
            ));
        };
        let mut profile = self.store().profile(&self.resource);
        merge(&mut profile, patch);
        let text = profile.to_string();
        if let Value::Object(profile) = profile {
            self.store()
                .write(&self.resource, |resource| resource.profile = profile);
        }
        Ok(text)
    }

    fn clear_profile(&self) -> Result<()> {
        self.check_there()?;
        self.store()
            .write(&self.resource, |resource| resource.profile.clear());
        Ok(())
    }

    fn remember_many(&self, facts: &[NewFact]) -> Result<Vec<Remembered>> {
        self.check_there()?;
        for fact in facts {
            if fact.content.trim().is_empty() {
                return Err(Error::invalid("a fact must not be empty"));
            }
            if fact.subject.is_some() != fact.attribute.is_some() {
                return Err(Error::invalid(
                    "a fact's subject and attribute are given together or not at all",
                ));
            }
            self.store()
                .check_source(&self.resource, &self.host.session_id(), fact)?;
        }
        let screened = facts.iter().map(gate::screen).collect::<Result<Vec<_>>>()?;
        Ok(screened.iter().map(|fact| self.remember(fact)).collect())
    }

    fn recall(&self, query: &str, options: &wit::memory::RecallOptions) -> Result<Recollection> {
        self.check_there()?;
        let mut layers = vec![(Layer::This, self.store().facts(&self.resource))];
        if options.wider {
            let wider = self.host.wider_than(&self.resource).into_iter();
            layers.extend(wider.map(|(layer, whose)| (layer, self.store().facts(&whose))));
        }
        let layers: Vec<_> = layers
            .iter()
            .map(|(layer, facts)| (*layer, facts.as_slice()))
            .collect();
        let facts = recall::recall(&layers, query, options);
        self.store().show(facts.iter().map(|found| &found.fact));
        let receipt = self
            .host
            .record("recalled", json!({ "query": query, "facts": facts.len() }));
        Ok(Recollection { facts, receipt })
    }

    fn find(&self, id: &str) -> Result<Option<Fact>> {
        self.check_there()?;
        Ok(self.store().read(&self.resource, |resource| {
            resource.facts.iter().find(|fact| fact.id == id).cloned()
        }))
    }

    fn list_facts(&self, page: &wit::types::Page) -> Result<FactPage> {
        self.check_there()?;
        let all = self.store().facts(&self.resource);
        let begin = match &page.after {
            Some(after) => all
                .iter()
                .position(|fact| fact.id == *after)
                .map(|place| place + 1)
                .ok_or_else(|| Error::invalid("no page answered with this"))?,
            None => 0,
        };
        let end = all.len().min(begin + page.limit as usize);
        let facts = all[begin..end].to_vec();
        let next = facts.last().map(|fact| fact.id.clone());
        Ok(FactPage {
            facts,
            next: next.filter(|_| end < all.len()),
        })
    }

    fn forget(&self, ids: &[String]) -> Result<u64> {
        self.check_there()?;
        Ok(self.store().write(&self.resource, |resource| {
            let before = resource.facts.len();
            resource.facts.retain(|fact| !ids.contains(&fact.id));
            (before - resource.facts.len()) as u64
        }))
    }

    fn expire(&self, id: &str, at: u64) -> Result<bool> {
        self.check_there()?;
        Ok(self.store().write(&self.resource, |resource| {
            let found = resource.facts.iter_mut().find(|fact| fact.id == id);
            found.map(|fact| fact.valid_until = Some(at)).is_some()
        }))
    }

    fn compact(&self, options: &CompactOptions) -> Result<Compaction> {
        self.check_there()?;
        compact::compact(&self.host, self.store(), &self.resource, options)
    }

    fn snippet(&self, options: &wit::memory::SnippetOptions) -> Result<String> {
        self.check_there()?;
        let facts = self.store().facts(&self.resource);
        let (snippet, used) = self.store().read(&self.resource, |resource| {
            recall::snippet(&resource.profile, &resource.working, &facts, options)
        });
        self.store().show(used.into_iter());
        Ok(snippet)
    }

    fn episodes(&self, options: &wit::memory::EpisodeOptions) -> Result<EpisodePage> {
        self.check_there()?;
        let (owner, until) = self.store().lineage(&self.resource);
        let entries = self.store().entries.borrow();
        let wanted = entries.iter().enumerate().filter(|(_, entry)| {
            (entry.resource == self.resource
                || options.lineage && entry.resource == owner && entry.at <= until)
                && options
                    .session
                    .as_ref()
                    .is_none_or(|session| *session == entry.reference.session)
                && options.since.is_none_or(|since| entry.at >= since)
                && options.until.is_none_or(|until| entry.at < until)
        });
        let after = match &options.page.after {
            Some(after) => {
                after
                    .parse::<usize>()
                    .map_err(|_| Error::invalid("no page answered with this"))?
                    + 1
            }
            None => 0,
        };
        let mut rest: Vec<_> = wanted.filter(|(place, _)| *place >= after).collect();
        let limit = options.page.limit as usize;
        let more = rest.len() > limit;
        rest.truncate(limit);
        let next = rest.last().map(|(place, _)| place.to_string());
        Ok(EpisodePage {
            episodes: rest.into_iter().map(|(_, entry)| episode(entry)).collect(),
            next: next.filter(|_| more),
        })
    }

    fn fork(&self, child: &str) -> Result<Box<dyn BranchHost>> {
        self.check_there()?;
        let branch = TestBranch::open(self.host.clone(), &self.resource, child)?;
        Ok(Box::new(branch))
    }

    fn episode_tree(&self) -> Result<Vec<EpisodeNode>> {
        self.check_there()?;
        // Sessions of a test are the customer's: none is a fork's own.
        let entries = self.store().entries.borrow();
        let mut nodes: Vec<EpisodeNode> = Vec::new();
        for entry in entries.iter().filter(|one| one.resource == self.resource) {
            let session = &entry.reference.session;
            let known = nodes.iter().position(|node| node.session == *session);
            let place = known.unwrap_or_else(|| {
                nodes.push(EpisodeNode {
                    node: nodes.len() as u32,
                    parent: None,
                    session: session.clone(),
                    episodes: Vec::new(),
                });
                nodes.len() - 1
            });
            nodes[place].episodes.push(episode(entry));
        }
        Ok(nodes)
    }
}

fn episode(entry: &Entry) -> Episode {
    Episode {
        entry: entry.reference.clone(),
        at: entry.at,
        kind: entry.kind.clone(),
        payload: entry.payload.to_string(),
    }
}

/// A JSON merge patch (RFC 7386).
fn merge(target: &mut Value, patch: Value) {
    let Value::Object(patch) = patch else {
        *target = patch;
        return;
    };
    if !target.is_object() {
        *target = json!({});
    }
    let Value::Object(members) = target else {
        return;
    };
    for (key, value) in patch {
        if value.is_null() {
            members.remove(&key);
        } else {
            merge(members.entry(key).or_insert(Value::Null), value);
        }
    }
}
