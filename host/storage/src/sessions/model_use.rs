//! What a session has asked of models, by what its ledger says.

use rusqlite::{Connection, params};

use super::known;
use crate::Result;
use crate::database::Database;
use crate::ledger::Kind;

/// How much a session has asked of models.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct ModelUse {
    /// Questions, answered or not.
    pub calls: u64,
    /// Tokens of questions and answers together.
    pub tokens: u64,
}

impl Database {
    /// What a session has asked of models so far, whichever process did, together
    /// with the agents that it started and that have ended. The
    /// tokens of an entry whose payload was erased are not known any more.
    ///
    /// # Errors
    /// `NotFound` for an unknown id.
    pub async fn model_use(&self, session: &str) -> Result<ModelUse> {
        let session = session.to_owned();
        self.read(move |connection| model_use(connection, &session))
            .await
    }
}

fn model_use(connection: &Connection, session: &str) -> Result<ModelUse> {
    let (number, _) = known(connection, session)?;
    // Only what the provider counted stands in entries that older hosts wrote.
    let counted = connection
        .prepare_cached(
            "SELECT total(CASE WHEN kind = ?2 THEN 1
                WHEN json_valid(payload) THEN payload ->> '$.\"model-calls\"' END),
                total(CASE WHEN json_valid(payload) THEN coalesce(
                payload ->> '$.tokens',
                payload ->> '$.\"model-tokens\"',
                coalesce(payload ->> '$.usage.input_tokens', 0)
                    + coalesce(payload ->> '$.usage.output_tokens', 0)) END)
             FROM entries WHERE session = ?1 AND kind IN (?2, ?3)",
        )?
        .query_row(
            params![number, Kind::ModelCalled.name(), Kind::AgentEnded.name()],
            |row| {
                let (calls, tokens): (f64, f64) = (row.get(0)?, row.get(1)?);
                // Past what fits, the largest number: no budget is as large.
                Ok(ModelUse {
                    calls: calls as u64,
                    tokens: tokens as u64,
                })
            },
        )?;
    Ok(counted)
}
