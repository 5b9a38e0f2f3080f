//! One call into a guest: its time limits, and what is made of its failures.

use std::future::Future;
use std::time::Duration;

use keepsake_types::text::printable;
use wasmtime::{Store, StoreContextMut, Trap, UpdateDeadline, WasmBacktrace};

use crate::bindings::agent::keepsake::host::types::Error;
use crate::capability::describe;
use crate::capability::http::HttpAccess;
use crate::capability::session::TurnState;
use crate::capability::settings::Settings;
use crate::engine::{GuestLimits, PluginEngine, TICK};
use crate::error::{FailureCause, PluginError, PluginFailure};
use crate::state::State;
use crate::used::HostCallsExhausted;

/// Frames of a guest's backtrace that are worth showing.
const BACKTRACE_FRAMES: usize = 20;

/// The guest used up its computing time. Raised from the epoch callback and
/// recognised again in [`cause`].
#[derive(Debug, thiserror::Error)]
#[error("the guest used up its computing time of {0:?}")]
struct CpuExhausted(Duration);

/// A plugin as far as all kinds are alike: its name, and what a store for it is
/// made of.
pub(crate) struct Guest {
    pub(crate) name: String,
    engine: PluginEngine,
    limits: GuestLimits,
    settings: Settings,
    http: HttpAccess,
}

impl Guest {
    pub(crate) fn new(
        name: &str,
        engine: &PluginEngine,
        limits: GuestLimits,
        settings: Settings,
        http: HttpAccess,
    ) -> Self {
        Self {
            name: name.to_owned(),
            engine: engine.clone(),
            limits,
            settings,
            http,
        }
    }

    /// A store with the plugin's limits set. Only an agent has a turn.
    pub(crate) fn store(&self, turn: Option<TurnState>) -> Store<State> {
        let state = State::new(
            &self.name,
            &self.limits,
            self.settings.clone(),
            self.http.clone(),
            turn,
        );
        let mut store = Store::new(self.engine.wasmtime(), state);
        store.limiter(|state| &mut state.budget);
        store.set_hostcall_fuel(self.limits.call_bytes);
        store.set_max_component_handles(self.limits.handles);
        self.arm(&mut store);
        store
    }

    /// Gives the guest its whole computing time again. A warm instance is armed
    /// before each call.
    pub(crate) fn arm(&self, store: &mut Store<State>) {
        store.data_mut().begin_call();
        if let Some(fuel) = self.limits.fuel {
            // Fails only where the engine does not count it, and then there is
            // nothing to run out of.
            let _ = store.set_fuel(fuel);
        }
        let cpu = self.limits.cpu;
        let mut ticks_left = cpu.as_millis().div_ceil(TICK.as_millis()).max(1);
        store.set_epoch_deadline(1);
        // Called at the first check after each tick in which the guest computed.
        // Time in which it waits for the host costs one tick at the most.
        store.epoch_deadline_callback(move |store: StoreContextMut<'_, State>| {
            store.data().used.check_calls()?;
            ticks_left -= 1;
            if ticks_left == 0 {
                return Err(CpuExhausted(cpu).into());
            }
            // Yielding lets the time-out on the whole call, and other sessions, in.
            Ok(UpdateDeadline::Yield(1))
        });
    }

    /// Waits for a guest call, but no longer than it may take. On failure the
    /// store must be dropped: a trapped instance cannot be entered again, and a
    /// dropped call leaves it in mid-work.
    pub(crate) async fn within<T>(
        &self,
        call: impl Future<Output = wasmtime::Result<T>>,
    ) -> Result<T, CallError> {
        match tokio::time::timeout(self.limits.wall, call).await {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(error)) => Err(CallError::Trap(error)),
            Err(_) => Err(CallError::TimedOut),
        }
    }

    /// What to tell about a failed call.
    pub(crate) fn failure(&self, store: &Store<State>, error: CallError) -> PluginFailure {
        let state = store.data();
        let (cause, backtrace) = match error {
            CallError::TimedOut => (FailureCause::WallTime(self.limits.wall), Vec::new()),
            CallError::Trap(error) => (cause(&error, state, &self.limits), backtrace(&error)),
        };
        PluginFailure {
            plugin: self.name.clone(),
            cause,
            backtrace,
            standard_error: state.standard_error.text(),
        }
    }

    /// The plugin failed while it was asked what it is.
    pub(crate) fn failed(&self, failure: PluginFailure) -> PluginError {
        PluginError::Failed {
            name: self.name.clone(),
            failure: Box::new(failure),
        }
    }

    /// The plugin was asked what it is and answered with an error.
    pub(crate) fn mute(&self, error: &Error) -> PluginError {
        if let Error::Unavailable(unavailable) = error {
            return PluginError::Unready {
                name: self.name.clone(),
                reason: unavailable.message.clone(),
                retry_after_ms: unavailable.retry_after_ms,
            };
        }
        self.broken(format!(
            "it cannot say what it is, and may need settings in [settings.{}]: {}",
            self.name,
            describe(error)
        ))
    }

    /// The plugin told of itself what cannot be.
    pub(crate) fn broken(&self, reason: impl Into<String>) -> PluginError {
        PluginError::BrokenContract {
            name: self.name.clone(),
            reason: reason.into(),
        }
    }
}

/// How a guest call ended, before its store was asked for the reasons.
#[derive(Debug)]
pub(crate) enum CallError {
    Trap(wasmtime::Error),
    TimedOut,
}

fn cause(error: &wasmtime::Error, state: &State, limits: &GuestLimits) -> FailureCause {
    if let Some(CpuExhausted(limit)) = error.downcast_ref() {
        return FailureCause::CpuTime(*limit);
    }
    if let Some(HostCallsExhausted(limit)) = error.downcast_ref() {
        return FailureCause::HostCalls(*limit);
    }
    if let Some(Trap::OutOfFuel) = error.downcast_ref() {
        return FailureCause::Fuel(limits.fuel.unwrap_or_default());
    }
    if let Some(cause) = by_its_words(error, limits) {
        return cause;
    }
    if error.is::<wasmtime_wasi::I32Exit>() {
        return FailureCause::Exit;
    }
    if error.is::<wasmtime::PoolConcurrencyLimitError>() {
        return FailureCause::Busy(error.to_string());
    }
    // A guest that is refused memory aborts with an ordinary trap, after a
    // panic or without one.
    if let Some(wanted) = state.budget.memory_refused {
        return FailureCause::Memory {
            limit: limits.memory,
            wanted,
        };
    }
    if let Some(wanted) = state.budget.table_refused {
        return FailureCause::Tables {
            limit: limits.table_elements,
            wanted,
        };
    }
    if let Some(message) = state.log.panic() {
        return FailureCause::Panic(message.to_owned());
    }
    match error.downcast_ref::<Trap>() {
        Some(Trap::StackOverflow) => FailureCause::StackOverflow,
        // Rust keeps its own stack at the bottom of linear memory, so that an
        // overflow runs out of the memory's bounds; a backtrace full of frames
        // tells it from a stray pointer.
        Some(Trap::MemoryOutOfBounds) if frames(error) >= BACKTRACE_FRAMES => {
            FailureCause::StackOverflow
        }
        Some(Trap::UnreachableCodeReached) => {
            match panic_on_standard_error(&state.standard_error.text()) {
                Some(message) => FailureCause::Panic(message),
                None => FailureCause::Trap("it reached code that must not be reached".into()),
            }
        }
        Some(trap) => FailureCause::Trap(trap.to_string()),
        None => FailureCause::Trap(root_cause(error)),
    }
}

/// What wasmtime has no public type for. Its version is pinned, and a test meets
/// each of these.
fn by_its_words(error: &wasmtime::Error, limits: &GuestLimits) -> Option<FailureCause> {
    let words = root_cause(error);
    if words.starts_with("too much data is being copied") {
        return Some(FailureCause::CallBytes(limits.call_bytes));
    }
    if words.starts_with("resource limit exceeded: ") {
        return Some(FailureCause::Instances(limits.instances));
    }
    if words.contains("limit on live component handles") {
        return Some(FailureCause::Handles(limits.handles));
    }
    None
}

fn root_cause(error: &wasmtime::Error) -> String {
    printable(
        &error
            .chain()
            .last()
            .map_or_else(|| error.to_string(), ToString::to_string),
    )
}

/// The text of a Rust panic that went to standard error, for guests that are
/// built without the SDK.
fn panic_on_standard_error(text: &str) -> Option<String> {
    let start = text.rfind("panicked at ")?;
    let message = &text[start + "panicked at ".len()..];
    let message = message.split("\nnote: run with").next()?.trim();
    Some(message.replace('\n', " "))
}

fn frames(error: &wasmtime::Error) -> usize {
    error
        .downcast_ref::<WasmBacktrace>()
        .map_or(0, |backtrace| backtrace.frames().len())
}

fn backtrace(error: &wasmtime::Error) -> Vec<String> {
    let Some(backtrace) = error.downcast_ref::<WasmBacktrace>() else {
        return Vec::new();
    };
    backtrace
        .frames()
        .iter()
        .take(BACKTRACE_FRAMES)
        .map(|frame| {
            let name = frame.func_name().map_or_else(
                || format!("function {}", frame.func_index()),
                |name| format!("{:#}", rustc_demangle::demangle(name)),
            );
            let place = frame.symbols().first().and_then(|symbol| {
                let file = symbol.file()?;
                Some(format!(" at {file}:{}", symbol.line().unwrap_or(0)))
            });
            printable(&format!("{name}{}", place.unwrap_or_default()))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_text_is_found_on_standard_error() {
        let text = "\nthread '<unnamed>' (1) panicked at src/lib.rs:7:33:\nboom\nnote: run with `RUST_BACKTRACE=1`";
        assert_eq!(
            panic_on_standard_error(text).as_deref(),
            Some("src/lib.rs:7:33: boom")
        );
        assert_eq!(panic_on_standard_error("all is well"), None);
    }
}
