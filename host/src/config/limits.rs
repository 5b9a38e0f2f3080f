//! The bounds that an operator may set: `[limits]`. One table says what there is;
//! reading them, showing them and `docs/limits.md` go by it.

use std::collections::BTreeMap;
use std::time::Duration;

use keepsake_plugin::{EngineLimits, GuestLimits, LARGEST_MEMORY, ModelLimits};
use keepsake_types::limits;

use super::{AgentLimits, wrong};
use crate::failure::Failure;

/// All that may be bounded, as it is in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    /// What one call into a plugin may use.
    pub(crate) guest: GuestLimits,
    /// What plugins share.
    pub(crate) engine: EngineLimits,
    /// What a session may ask of models.
    pub(crate) model: ModelLimits,
    /// All turns of a session in one program, together.
    pub(crate) session: Duration,
    /// Sandboxes of a session at a time.
    pub(crate) sandboxes: usize,
    /// Agents that one message may start.
    pub(crate) agents: AgentLimits,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            guest: GuestLimits::default(),
            engine: EngineLimits::default(),
            model: ModelLimits::default(),
            session: Duration::from_secs(limits::SESSION_SECONDS),
            sandboxes: limits::SESSION_SANDBOXES,
            agents: AgentLimits::default(),
        }
    }
}

/// What a limit's number is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    /// Seconds, with a fraction.
    Seconds,
    /// A whole number.
    Whole,
}

/// One bound: its name, which is its key in `[limits]`, and how it is set.
pub(crate) struct Limit {
    pub(crate) name: &'static str,
    /// The key in the configuration.
    pub(crate) key: &'static str,
    /// The variable that overrides it.
    pub(crate) variable: &'static str,
    /// What it bounds.
    pub(crate) what: &'static str,
    pub(crate) unit: Unit,
    lowest: f64,
    highest: f64,
    set: fn(&mut Limits, f64),
    get: fn(&Limits) -> Option<f64>,
}

impl Limit {
    /// What is in force; none where there is no bound.
    pub(crate) fn value(&self, limits: &Limits) -> Option<f64> {
        (self.get)(limits)
    }

    /// The same as a number of JSON.
    pub(crate) fn json(&self, limits: &Limits) -> serde_json::Value {
        match (self.value(limits), self.unit) {
            (None, _) => serde_json::Value::Null,
            (Some(value), Unit::Seconds) => value.into(),
            (Some(value), Unit::Whole) => (value as u64).into(),
        }
    }

    fn put(&self, limits: &mut Limits, value: f64) -> Result<(), Failure> {
        let (lowest, highest) = (self.lowest, self.highest);
        let fits = (lowest..=highest).contains(&value)
            && (self.unit == Unit::Seconds || value.fract() == 0.0);
        if !fits {
            let unit = match self.unit {
                Unit::Seconds => " seconds",
                Unit::Whole => " and whole",
            };
            return Err(wrong(format!(
                "`{}` is {value}; it must be from {lowest} to {highest}{unit}",
                self.key
            )));
        }
        (self.set)(limits, value);
        Ok(())
    }
}

macro_rules! limit {
    ($name:literal, $variable:literal, $what:literal, $unit:ident, $lowest:expr, $highest:expr,
     $set:expr, $get:expr $(,)?) => {
        Limit {
            name: $name,
            key: concat!("limits.", $name),
            variable: concat!("HOST_LIMITS_", $variable),
            what: $what,
            unit: Unit::$unit,
            lowest: $lowest as f64,
            highest: $highest as f64,
            set: $set,
            get: $get,
        }
    };
}

/// A day; a turn or a session of more is none.
const DAY: f64 = 86_400.0;
/// Anything shorter could not even start a plugin.
const MOMENT: f64 = 0.01;

/// Every bound that an operator may set.
pub(crate) const LIMITS: [Limit; 23] = [
    limit!(
        "turn-seconds",
        "TURN_SECONDS",
        "a turn, or any other call of a plugin, from beginning to end",
        Seconds,
        MOMENT,
        DAY,
        |limits, value| limits.guest.wall = Duration::from_secs_f64(value),
        |limits| Some(limits.guest.wall.as_secs_f64()),
    ),
    limit!(
        "turn-cpu-seconds",
        "TURN_CPU_SECONDS",
        "computing of the plugin itself in one call, in steps of 10 ms",
        Seconds,
        MOMENT,
        DAY,
        |limits, value| limits.guest.cpu = Duration::from_secs_f64(value),
        |limits| Some(limits.guest.cpu.as_secs_f64()),
    ),
    limit!(
        "turn-fuel",
        "TURN_FUEL",
        "computing in one call as units of fuel, about one an instruction: the same on every machine, and slower",
        Whole,
        1,
        1_000_000_000_000_000_u64,
        |limits, value| {
            limits.guest.fuel = Some(value as u64);
            limits.engine.fuel = true;
        },
        |limits| limits.guest.fuel.map(|fuel| fuel as f64),
    ),
    limit!(
        "session-seconds",
        "SESSION_SECONDS",
        "all turns of a session in one program, together",
        Seconds,
        MOMENT,
        365.0 * DAY,
        |limits, value| limits.session = Duration::from_secs_f64(value),
        |limits| Some(limits.session.as_secs_f64()),
    ),
    limit!(
        "memory-mib",
        "MEMORY_MIB",
        "linear memory of all instances of a plugin, in MiB",
        Whole,
        2,
        LARGEST_MEMORY >> 20,
        |limits, value| limits.guest.memory = (value as usize) << 20,
        |limits| Some((limits.guest.memory >> 20) as f64),
    ),
    limit!(
        "table-elements",
        "TABLE_ELEMENTS",
        "elements of all tables of a plugin",
        Whole,
        1,
        200_000,
        |limits, value| limits.guest.table_elements = value as usize,
        |limits| Some(limits.guest.table_elements as f64),
    ),
    limit!(
        "stack-kib",
        "STACK_KIB",
        "the stack of compiled code, in KiB",
        Whole,
        64,
        8_192,
        |limits, value| limits.engine.stack = (value as usize) << 10,
        |limits| Some((limits.engine.stack >> 10) as f64),
    ),
    limit!(
        "instances",
        "INSTANCES",
        "core instances within a plugin, and as many memories",
        Whole,
        1,
        1_000,
        |limits, value| limits.guest.instances = value as usize,
        |limits| Some(limits.guest.instances as f64),
    ),
    limit!(
        "concurrent-plugins",
        "CONCURRENT_PLUGINS",
        "plugins that are alive at once in one program: those of all turns that run at once, and their providers'",
        Whole,
        2,
        1_000,
        |limits, value| limits.engine.plugins = value as u32,
        |limits| Some(limits.engine.plugins.into()),
    ),
    limit!(
        "handles",
        "HANDLES",
        "handles that a plugin holds at a time: scopes, sandboxes, commands, answers, and WASI's",
        Whole,
        16,
        1_000_000,
        |limits, value| limits.guest.handles = value as usize,
        |limits| Some(limits.guest.handles as f64),
    ),
    limit!(
        "host-calls",
        "HOST_CALLS",
        "calls of the host in one call of a plugin",
        Whole,
        1,
        1_000_000_000,
        |limits, value| limits.guest.host_calls = value as u64,
        |limits| Some(limits.guest.host_calls as f64),
    ),
    limit!(
        "call-mib",
        "CALL_MIB",
        "what a plugin hands to the host in one call, in MiB",
        Whole,
        1,
        1_024,
        |limits, value| limits.guest.call_bytes = (value as usize) << 20,
        |limits| Some((limits.guest.call_bytes >> 20) as f64),
    ),
    limit!(
        "log-lines",
        "LOG_LINES",
        "lines of a plugin's log that are shown of one call",
        Whole,
        1,
        1_000_000,
        |limits, value| limits.guest.log_lines = value as u64,
        |limits| Some(limits.guest.log_lines as f64),
    ),
    limit!(
        "emitted-bytes",
        "EMITTED_BYTES",
        "what an agent emits in one turn, in bytes",
        Whole,
        1,
        64 << 20,
        |limits, value| limits.guest.emitted_bytes = value as usize,
        |limits| Some(limits.guest.emitted_bytes as f64),
    ),
    limit!(
        "memory-writes",
        "MEMORY_WRITES",
        "facts and values that one turn writes or removes",
        Whole,
        1,
        10_000_000,
        |limits, value| limits.guest.memory_writes = value as u64,
        |limits| Some(limits.guest.memory_writes as f64),
    ),
    limit!(
        "embedded-texts",
        "EMBEDDED_TEXTS",
        "texts that one turn has embedded: facts, questions and others",
        Whole,
        1,
        10_000_000,
        |limits, value| limits.guest.embedded_texts = value as u64,
        |limits| Some(limits.guest.embedded_texts as f64),
    ),
    limit!(
        "completions",
        "COMPLETIONS",
        "answers of a model that one turn waits for at a time",
        Whole,
        1,
        16,
        |limits, value| limits.guest.completions = value as usize,
        |limits| Some(limits.guest.completions as f64),
    ),
    limit!(
        "http-requests",
        "HTTP_REQUESTS",
        "requests over HTTP in one call of a provider",
        Whole,
        1,
        1_000_000,
        |limits, value| limits.guest.http_requests = value as u64,
        |limits| Some(limits.guest.http_requests as f64),
    ),
    limit!(
        "session-sandboxes",
        "SESSION_SANDBOXES",
        "sandboxes of a session at a time, its own and its forks",
        Whole,
        1,
        64,
        |limits, value| limits.sandboxes = value as usize,
        |limits| Some(limits.sandboxes as f64),
    ),
    limit!(
        "session-model-calls",
        "SESSION_MODEL_CALLS",
        "questions to models in a session, in all its programs",
        Whole,
        1,
        limits::SESSION_MODEL_CALLS_MAXIMUM,
        |limits, value| limits.model.calls = value as u64,
        |limits| Some(limits.model.calls as f64),
    ),
    limit!(
        "session-model-tokens",
        "SESSION_MODEL_TOKENS",
        "tokens of those questions and answers",
        Whole,
        1,
        limits::SESSION_MODEL_TOKENS_MAXIMUM,
        |limits, value| limits.model.tokens = value as u64,
        |limits| Some(limits.model.tokens as f64),
    ),
    limit!(
        "agent-depth",
        "AGENT_DEPTH",
        "agents that stand below one another, started by agents",
        Whole,
        0,
        limits::AGENT_DEPTH_MAXIMUM,
        |limits, value| limits.agents.depth = value as u64,
        |limits| Some(limits.agents.depth as f64),
    ),
    limit!(
        "agent-children",
        "AGENT_CHILDREN",
        "agents that one message starts, whoever starts them",
        Whole,
        0,
        limits::AGENT_CHILDREN_MAXIMUM,
        |limits, value| limits.agents.children = value as u64,
        |limits| Some(limits.agents.children as f64),
    ),
];

/// The bounds in force: those that are set, and the others as they are.
///
/// The keys are known to be ours; numbers out of range are errors that name theirs.
pub(super) fn resolve(table: &BTreeMap<String, f64>) -> Result<Limits, Failure> {
    let mut limits = Limits::default();
    for limit in &LIMITS {
        if let Some(value) = table.get(limit.name) {
            limit.put(&mut limits, *value)?;
        }
    }
    Ok(limits)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(name: &str, value: f64) -> Result<Limits, Failure> {
        resolve(&[(name.to_owned(), value)].into())
    }

    #[test]
    fn each_limit_is_set_by_its_own_name_and_by_no_other() {
        for limit in &LIMITS {
            for value in [limit.lowest, limit.highest] {
                let limits = set(limit.name, value).unwrap();
                assert_eq!(limit.value(&limits), Some(value), "{}", limit.name);
                for other in LIMITS.iter().filter(|other| other.name != limit.name) {
                    assert_eq!(
                        other.value(&limits),
                        other.value(&Limits::default()),
                        "{} sets {}",
                        limit.name,
                        other.name
                    );
                }
            }
        }
    }

    #[test]
    fn a_number_out_of_range_is_an_error_that_names_the_key() {
        for limit in &LIMITS {
            for value in [
                limit.lowest - 1.0,
                limit.highest * 2.0,
                f64::NAN,
                f64::INFINITY,
                f64::NEG_INFINITY,
            ] {
                let error = set(limit.name, value).unwrap_err().to_string();
                assert!(error.contains(limit.key), "{value}: {error}");
            }
            if limit.unit == Unit::Whole {
                assert!(set(limit.name, limit.lowest + 0.5).is_err());
            }
        }
    }

    #[test]
    fn each_default_is_one_that_could_be_set() {
        for limit in &LIMITS {
            if let Some(value) = limit.value(&Limits::default()) {
                set(limit.name, value).unwrap();
            }
        }
    }

    /// The table of `docs/limits.md`, as it has to be.
    fn documented() -> String {
        let defaults = Limits::default();
        let settable = LIMITS.iter().map(|limit| {
            let default = match limit.json(&defaults) {
                serde_json::Value::Null => "none".to_owned(),
                value => value.to_string(),
            };
            [
                limit.name.to_owned(),
                limit.what.to_owned(),
                default,
                format!("`{}`", limit.key),
            ]
        });
        let fixed = limits::all().into_iter().filter_map(|bound| {
            let name = bound.name();
            let settable = LIMITS.iter().any(|limit| limit.name == name);
            (!settable).then(|| [name, bound.what, bound.value, "fixed".to_owned()])
        });
        let rows = settable.chain(fixed);
        let rows = rows.map(|[name, what, default, key]| {
            format!("| `{name}` | {what} | {default} | {key} |\n")
        });
        format!(
            "| name | what | default | key |\n| --- | --- | --- | --- |\n{}",
            rows.collect::<String>()
        )
    }

    #[test]
    fn the_documented_table_of_limits_is_that_of_the_code() {
        let documented_now = include_str!("../../../docs/limits.md");
        let wanted = documented();
        assert!(
            documented_now.ends_with(&wanted),
            "docs/limits.md has to end with this table:\n\n{wanted}"
        );
    }

    #[test]
    fn each_variable_is_named_like_its_key() {
        for limit in &LIMITS {
            let named = limit.key.replace(['.', '-'], "_").to_uppercase();
            assert_eq!(limit.variable, format!("HOST_{named}"));
        }
    }
}
