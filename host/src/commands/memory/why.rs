//! `host memory why`: what of memory reached a prompt, and why.

use keepsake_storage::{Database, Entry, Fact, Kind, Session, StorageError, View};
use keepsake_types::{EntryRef, ResourceRef, limits};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::app::App;
use crate::cli::WhyArguments;
use crate::failure::{ExitCode, Failure};
use crate::output;

pub(super) async fn why(app: &App, arguments: WhyArguments, json: bool) -> Result<(), Failure> {
    let database = app.existing_database().await?;
    let session = session(&database, arguments.session.as_deref()).await?;
    let asked = EntryRef {
        session: session.id.clone(),
        index: arguments.entry,
        hash: None,
    };
    let Some(entry) = database.entry(&asked).await? else {
        return Err(Failure::new(
            ExitCode::Other,
            format!(
                "session `{}` has no entry {}: `host ledger show --session {}` lists its {}",
                session.id, arguments.entry, session.id, session.entries
            ),
        ));
    };
    let mut memories = Memories::of(&database, &session).await?;
    let mut explained = Vec::new();
    for receipt in receipts(&database, &entry).await? {
        memories.own = database.view(&asked_of(&receipt, &session.resource))?;
        explained.push(Explained::read(&memories, receipt).await?);
    }
    if json {
        return output::json(&json!({
            "session": session.id,
            "entry": entry.index,
            "kind": entry.kind,
            "receipts": explained.iter().map(Explained::as_json).collect::<Vec<_>>(),
        }));
    }
    if explained.is_empty() {
        output::note!(
            "entry {} is `{}`: nothing of memory was asked for before it in its turn",
            entry.index,
            entry.kind.name()
        );
    }
    explained.iter().try_for_each(Explained::print)
}

/// The session that is meant: the newest where none is named.
async fn session(database: &Database, id: Option<&str>) -> Result<Session, Failure> {
    let found = match id {
        Some(id) => database.session(id).await?,
        None => {
            let newest = database.list_sessions(None, None, 1).await?;
            newest.sessions.into_iter().next()
        }
    };
    found.ok_or_else(|| {
        Failure::new(
            ExitCode::Other,
            match id {
                Some(id) => format!(
                    "there is no session `{}`; `host sessions` lists them",
                    output::one_line(id, 80)
                ),
                None => "there is no session yet: `host run` begins one".to_owned(),
            },
        )
    })
}

/// Whose memory a receipt is of: the session's own, unless it names another, a
/// team's or a fork.
fn asked_of(receipt: &Entry, own: &ResourceRef) -> ResourceRef {
    let scope = receipt.payload.as_ref().map(|payload| &payload["scope"]);
    let named = scope.and_then(|scope| ResourceRef::deserialize(scope).ok());
    named.unwrap_or_else(|| own.clone())
}

fn is_receipt(entry: &Entry) -> bool {
    matches!(entry.kind, Kind::Recalled | Kind::SnippetBuilt)
}

/// The receipt itself; for any other entry those of its turn up to it, which are
/// what a prompt of that turn can have been made from.
async fn receipts(database: &Database, entry: &Entry) -> Result<Vec<Entry>, Failure> {
    if is_receipt(entry) {
        return Ok(vec![entry.clone()]);
    }
    let mut receipts = Vec::new();
    let mut after = None;
    loop {
        let page = database
            .entries(&entry.session, after, limits::PAGE_ITEMS)
            .await?;
        for one in page.entries {
            if one.index >= entry.index {
                return Ok(receipts);
            }
            if one.kind == Kind::TurnStarted {
                receipts.clear();
            } else if is_receipt(&one) {
                receipts.push(one);
            }
        }
        match page.next {
            Some(next) => after = Some(next),
            None => return Ok(receipts),
        }
    }
}

/// The memories that a session could recall from, by the names of their layers.
struct Memories {
    own: View,
    wider: Vec<(Value, View)>,
}

impl Memories {
    async fn of(database: &Database, session: &Session) -> Result<Self, Failure> {
        let wider = database.wider_memories(&session.id).await?;
        let wider = wider.into_iter();
        Ok(Self {
            own: database.view(&session.resource)?,
            wider: wider
                .map(|(layer, memory)| (json!(layer), memory.view().clone()))
                .collect(),
        })
    }

    /// The session's own where no layer is named.
    fn layer(&self, name: Option<&str>) -> Option<&View> {
        let Some(name) = name else {
            return Some(&self.own);
        };
        let mut wider = self.wider.iter();
        wider.find_map(|(layer, view)| (layer == name).then_some(view))
    }
}

/// A fact as it is now; none where it was forgotten since, or the fork discarded
/// that it was in.
async fn found(view: &View, id: &str) -> Result<Option<Fact>, Failure> {
    match view.find(id).await {
        Err(StorageError::NotFound(_)) => Ok(None),
        found => Ok(found?),
    }
}

/// A receipt with the facts that it names, as they are now.
struct Explained {
    receipt: Entry,
    facts: Vec<Named>,
}

/// A fact that a receipt names.
struct Named {
    /// What the receipt says of it.
    said: Map<String, Value>,
    /// Its text now; none where it was forgotten since.
    content: Option<String>,
    /// How far its source holds now.
    verification: Option<&'static str>,
}

impl Explained {
    async fn read(memories: &Memories, receipt: Entry) -> Result<Self, Failure> {
        let named = receipt
            .payload
            .as_ref()
            .and_then(|payload| payload["facts"].as_array())
            .cloned()
            .unwrap_or_default();
        let mut facts = Vec::with_capacity(named.len());
        for said in named {
            let Value::Object(said) = said else { continue };
            let id = said.get("fact").and_then(Value::as_str).unwrap_or_default();
            let layer = said.get("layer").and_then(Value::as_str);
            let fact = match memories.layer(layer) {
                Some(view) => found(view, id).await?,
                None => None,
            };
            facts.push(Named {
                verification: fact.as_ref().map(|fact| fact.verification.name()),
                content: fact.map(|fact| fact.content),
                said,
            });
        }
        Ok(Self { receipt, facts })
    }

    /// What was asked and how: all of the receipt but its facts.
    fn question(&self) -> Map<String, Value> {
        let mut members = match &self.receipt.payload {
            Some(Value::Object(members)) => members.clone(),
            _ => Map::new(),
        };
        members.remove("facts");
        members.retain(|_, value| !value.is_null());
        members
    }

    fn as_json(&self) -> Value {
        let facts: Vec<Value> = self
            .facts
            .iter()
            .map(|named| {
                let mut fact = named.said.clone();
                fact.insert("content".into(), json!(named.content));
                fact.insert("verification_now".into(), json!(named.verification));
                Value::Object(fact)
            })
            .collect();
        json!({
            "entry": self.receipt.index,
            "at": self.receipt.at,
            "kind": self.receipt.kind,
            "erased": self.receipt.payload.is_none(),
            "question": self.question(),
            "facts": facts,
        })
    }

    fn print(&self) -> Result<(), Failure> {
        output::line(&format!(
            "entry {}, {} at {}",
            self.receipt.index,
            self.receipt.kind.name(),
            output::time(self.receipt.at)
        ))?;
        if self.receipt.payload.is_none() {
            return output::line("  what it said was erased");
        }
        for (name, value) in self.question() {
            let value = match value {
                Value::String(text) => format!("\"{}\"", output::one_line(&text, 200)),
                other => output::one_line(&other.to_string(), 200),
            };
            output::line(&format!("  {}: {value}", output::one_line(&name, 60)))?;
        }
        if self.facts.is_empty() {
            output::line("  no fact was relevant")?;
        }
        for (place, named) in self.facts.iter().enumerate() {
            output::line(&format!("  {}. {}", place + 1, named.line()))?;
        }
        Ok(())
    }
}

impl Named {
    fn line(&self) -> String {
        let text = self.content.as_ref().map_or_else(
            || "a fact that was forgotten since".to_owned(),
            |content| format!("\"{}\"", output::one_line(content, 200)),
        );
        let number = |name: &str| self.said.get(name).and_then(Value::as_f64);
        let mut why = vec![format!("score {:.3}", number("score").unwrap_or_default())];
        for (name, words) in [("word-rank", "word rank"), ("vector-rank", "vector rank")] {
            if let Some(rank) = number(name) {
                why.push(format!("{words} {rank}"));
            }
        }
        let layer = self.said.get("layer").and_then(Value::as_str);
        why.extend(layer.map(|layer| format!("of the {}", output::one_line(layer, 20))));
        if let Some(cosine) = number("cosine") {
            why.push(format!("cosine {cosine:.3}"));
        }
        let then = self.said.get("verification").and_then(Value::as_str);
        why.extend(then.map(|then| output::one_line(then, 20)));
        if let Some(now) = self.verification.filter(|now| Some(*now) != then) {
            why.push(format!("{now} now"));
        }
        format!("{text} ({})", why.join(", "))
    }
}
