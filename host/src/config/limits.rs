//! The bounds that an operator may set: `[limits]`.

use std::time::Duration;

use keepsake_plugin::{GuestLimits, ModelLimits};
use keepsake_types::limits;

use super::file::LimitsTable;
use super::{AgentLimits, bounded, wrong};
use crate::failure::Failure;

/// What a plugin may use in a turn.
pub(super) fn guest_limits(table: &LimitsTable) -> Result<GuestLimits, Failure> {
    let mut limits = GuestLimits::default();
    let seconds = |key: &str, value: f64| {
        // Anything shorter could not even start a plugin.
        if (0.01..=86_400.0).contains(&value) {
            Ok(Duration::from_secs_f64(value))
        } else {
            Err(wrong(format!(
                "`{key}` is {value}; it must be from 0.01 to 86400 seconds"
            )))
        }
    };
    if let Some(value) = table.turn_seconds {
        limits.wall = seconds("limits.turn-seconds", value)?;
    }
    if let Some(value) = table.turn_cpu_seconds {
        limits.cpu = seconds("limits.turn-cpu-seconds", value)?;
    }
    if let Some(value) = table.memory_mib {
        let largest = (keepsake_plugin::LARGEST_MEMORY >> 20) as u64;
        limits.memory = (bounded("limits.memory-mib", value, 2, largest)? as usize) << 20;
    }
    Ok(limits)
}

/// What a session may ask of models.
pub(super) fn model_limits(table: &LimitsTable) -> Result<ModelLimits, Failure> {
    let mut model = ModelLimits::default();
    if let Some(calls) = table.session_model_calls {
        let most = limits::SESSION_MODEL_CALLS_MAXIMUM;
        model.calls = bounded("limits.session-model-calls", calls, 1, most)?;
    }
    if let Some(tokens) = table.session_model_tokens {
        let most = limits::SESSION_MODEL_TOKENS_MAXIMUM;
        model.tokens = bounded("limits.session-model-tokens", tokens, 1, most)?;
    }
    Ok(model)
}

/// How many agents a message may start.
pub(super) fn agent_limits(table: &LimitsTable) -> Result<AgentLimits, Failure> {
    let (depth, children) = (table.agent_depth, table.agent_children);
    Ok(AgentLimits {
        depth: bounded(
            "limits.agent-depth",
            depth.unwrap_or(0),
            0,
            limits::AGENT_DEPTH_MAXIMUM,
        )?,
        children: bounded(
            "limits.agent-children",
            children.unwrap_or(0),
            0,
            limits::AGENT_CHILDREN_MAXIMUM,
        )?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_have_bounds() {
        let table = |memory_mib, turn_seconds| LimitsTable {
            memory_mib,
            turn_seconds,
            ..LimitsTable::default()
        };
        assert_eq!(
            guest_limits(&table(Some(64), Some(1.5))).unwrap().memory,
            64 << 20
        );
        assert!(guest_limits(&table(Some(1), None)).is_err());
        assert!(guest_limits(&table(Some(10_000), None)).is_err());
        assert!(guest_limits(&table(None, Some(0.0))).is_err());
        assert!(guest_limits(&table(None, Some(f64::NAN))).is_err());
    }

    #[test]
    fn what_a_session_may_ask_of_models_has_a_bound_whether_or_not_one_is_set() {
        let table = |session_model_calls, session_model_tokens| LimitsTable {
            session_model_calls,
            session_model_tokens,
            ..LimitsTable::default()
        };
        let default = model_limits(&table(None, None)).unwrap();
        assert_eq!(default.calls, limits::SESSION_MODEL_CALLS);
        assert_eq!(default.tokens, limits::SESSION_MODEL_TOKENS);
        let set = model_limits(&table(Some(5), Some(9_000))).unwrap();
        assert_eq!((set.calls, set.tokens), (5, 9_000));
        for (wrong, said) in [
            (table(Some(0), None), "limits.session-model-calls"),
            (table(None, Some(0)), "limits.session-model-tokens"),
            (table(None, Some(u64::MAX)), "limits.session-model-tokens"),
        ] {
            let error = model_limits(&wrong).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
    }
}
