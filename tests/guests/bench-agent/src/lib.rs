//! An agent that does as little as can be measured. Built on the raw bindings,
//! so that only the host's part is timed.
#![cfg(target_arch = "wasm32")]

wit_bindgen::generate!({
    path: "../../../wit",
    world: "agent-plugin",
});

use exports::keepsake::host::agent::{Description, Guest, Reply, Turn};
use keepsake::host::session;
use keepsake::host::types::{Error, Page};

struct Bench;

export!(Bench);

impl Guest for Bench {
    fn describe() -> Description {
        Description {
            name: "bench-agent".into(),
            version: "0.1.0".into(),
            summary: "Is measured.".into(),
            profile_schema: None,
            extras: None,
        }
    }

    /// `nothing` replies at once; `info N` asks N times what the session is,
    /// `list N` N times for a page of facts.
    fn handle(turn: Turn) -> Result<Reply, Error> {
        let (verb, calls) = turn.message.split_once(' ').unwrap_or((&turn.message, "0"));
        let calls: u32 = calls
            .parse()
            .map_err(|_| Error::Invalid(format!("`{verb}` takes a number")))?;
        let seen = match verb {
            "info" => info(calls),
            "list" => list(calls)?,
            _ => 0,
        };
        Ok(Reply {
            text: seen.to_string(),
            data: None,
        })
    }
}

fn info(calls: u32) -> usize {
    (0..calls).map(|_| session::info().agent.len()).sum()
}

fn list(calls: u32) -> Result<usize, Error> {
    let scope = session::open_scope()?;
    let mut facts = 0;
    for _ in 0..calls {
        let page = Page {
            after: None,
            limit: 5,
        };
        facts += scope.list_facts(&page)?.facts.len();
    }
    Ok(facts)
}
