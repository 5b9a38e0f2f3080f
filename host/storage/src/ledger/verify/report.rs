//! What a verification answers with.

use keepsake_types::limits;

/// What a verification found.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct VerifyReport {
    /// How many entries were read.
    pub entries: u64,
    /// How many sessions were read.
    pub sessions: u64,
    /// Nothing is wrong.
    pub intact: bool,
    /// What is wrong, in the order of the ledger; at most
    /// [`limits::LEDGER_FAULTS`].
    pub faults: Vec<Fault>,
    /// There are more faults than are listed.
    pub more_faults: bool,
    /// The last entry of each session. Whoever keeps them elsewhere can tell
    /// later whether the whole file was replaced by another that is consistent.
    pub heads: Vec<SessionHead>,
}

/// One thing that is wrong with the ledger.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Fault {
    /// The session it is about; for a session that was removed, the one that
    /// was created next.
    pub session: String,
    /// The entry it is about; none when it is about the session as a whole.
    pub index: Option<u64>,
    /// What is wrong, as a sentence without a full stop.
    pub what: String,
}

/// How a session stands.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct SessionHead {
    /// The session.
    pub session: String,
    /// How many entries it has.
    pub entries: u64,
    /// The hash of the last one, lower-case hexadecimal.
    pub hash: String,
}

impl VerifyReport {
    /// Enters a fault, as long as there is room for more.
    pub(super) fn fault(&mut self, session: &str, index: Option<u64>, what: String) {
        if self.faults.len() < limits::LEDGER_FAULTS {
            self.faults.push(Fault {
                session: session.to_owned(),
                index,
                what,
            });
        } else {
            self.more_faults = true;
        }
    }
}
