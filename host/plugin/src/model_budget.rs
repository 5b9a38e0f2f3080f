//! How much a session may ask of models. A session is more than one turn and
//! often more than one process, so that what earlier ones used counts too.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use keepsake_storage::ModelUse;
use keepsake_types::limits;

use crate::bindings::agent::keepsake::host::types::{Error, LimitReached};

/// What one session may ask of models.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModelLimits {
    /// Questions.
    pub calls: u64,
    /// Tokens of questions and answers together.
    pub tokens: u64,
}

impl Default for ModelLimits {
    fn default() -> Self {
        Self {
            calls: limits::SESSION_MODEL_CALLS,
            tokens: limits::SESSION_MODEL_TOKENS,
        }
    }
}

/// What a session has left to ask of models. All that asks on the session's
/// behalf shares one.
#[derive(Debug, Default)]
pub struct ModelBudget {
    limits: ModelLimits,
    spent: Mutex<Spent>,
}

#[derive(Debug, Default)]
struct Spent {
    used: ModelUse,
    /// The operator was told that nothing is left.
    told: bool,
}

impl ModelBudget {
    /// A budget of which a session has used so much by now.
    pub fn new(limits: ModelLimits, used: ModelUse) -> Self {
        Self {
            limits,
            spent: Mutex::new(Spent { used, told: false }),
        }
    }

    /// Takes one question out of the budget, and what its text is worth until
    /// the answer says what it cost.
    ///
    /// A question is refused only when nothing is left: how long an answer will
    /// be is not known before, so that the last one may pass the bound.
    pub(crate) fn take(self: &Arc<Self>, question_bytes: usize) -> Result<Spending, Error> {
        let mut spent = self.spent();
        let (name, used, bound, what) = if spent.used.calls >= self.limits.calls {
            (
                "session-model-calls",
                spent.used.calls,
                self.limits.calls,
                "questions",
            )
        } else if spent.used.tokens >= self.limits.tokens {
            (
                "session-model-tokens",
                spent.used.tokens,
                self.limits.tokens,
                "tokens",
            )
        } else {
            let tokens = estimated(question_bytes);
            spent.used.calls = spent.used.calls.saturating_add(1);
            spent.used.tokens = spent.used.tokens.saturating_add(tokens);
            return Ok(Spending {
                budget: Arc::clone(self),
                tokens,
            });
        };
        let message = format!(
            "this session has used {used} {what} of its model, and may use {bound}: begin a new session, or raise `limits.{name}` in the host's configuration"
        );
        // Once is enough: an agent that does not give up would fill the log.
        if !std::mem::replace(&mut spent.told, true) {
            tracing::warn!("no model is asked any more: {message}");
        }
        Err(Error::Limit(LimitReached {
            name: name.into(),
            message,
        }))
    }

    fn spent(&self) -> MutexGuard<'_, Spent> {
        // The numbers are sound whatever else failed while they were held.
        self.spent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What one question has cost so far.
#[derive(Debug)]
pub(crate) struct Spending {
    budget: Arc<ModelBudget>,
    tokens: u64,
}

impl Spending {
    /// What is known of the cost now, instead of what was known before.
    pub(crate) fn costs(&mut self, tokens: u64) {
        let mut spent = self.budget.spent();
        let others = spent.used.tokens.saturating_sub(self.tokens);
        spent.used.tokens = others.saturating_add(tokens);
        self.tokens = tokens;
    }

    /// Tokens that it counts for by now.
    pub(crate) fn tokens(&self) -> u64 {
        self.tokens
    }
}

/// About how many tokens a text has, where nobody counts them.
pub(crate) fn estimated(bytes: usize) -> u64 {
    bytes.div_ceil(limits::SNIPPET_TOKEN_BYTES) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn budget(calls: u64, tokens: u64, used: ModelUse) -> Arc<ModelBudget> {
        Arc::new(ModelBudget::new(ModelLimits { calls, tokens }, used))
    }

    fn refused(budget: &Arc<ModelBudget>) -> (String, String) {
        match budget.take(4) {
            Err(Error::Limit(limit)) => (limit.name, limit.message),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_earlier_processes_asked_counts() {
        let used = ModelUse {
            calls: 2,
            tokens: 10,
        };
        let budget = budget(3, 1_000, used);
        assert!(budget.take(4).is_ok());
        let (name, message) = refused(&budget);
        assert_eq!(name, "session-model-calls");
        assert!(message.contains("limits.session-model-calls"), "{message}");
    }

    #[test]
    fn an_answer_costs_what_the_provider_counted_and_an_estimate_until_then() {
        let budget = budget(100, 50, ModelUse::default());
        let mut spending = budget.take(40).unwrap();
        assert_eq!(spending.tokens(), 10);
        spending.costs(49);
        let mut other = budget.take(0).unwrap();
        other.costs(1);
        assert_eq!(refused(&budget).0, "session-model-tokens");
        // What turned out to cost less gives back what was held for it.
        spending.costs(0);
        assert!(budget.take(0).is_ok());
    }

    #[test]
    fn a_question_that_waits_counts_for_those_beside_it() {
        let budget = budget(100, 10, ModelUse::default());
        let waiting = budget.take(40).unwrap();
        assert_eq!(refused(&budget).0, "session-model-tokens");
        drop(waiting);
        assert_eq!(refused(&budget).0, "session-model-tokens");
    }

    #[test]
    fn a_provider_that_counts_absurdly_ends_the_budget_and_nothing_else() {
        let budget = budget(100, 50, ModelUse::default());
        budget.take(0).unwrap().costs(u64::MAX);
        budget.take(0).unwrap_err();
    }
}
