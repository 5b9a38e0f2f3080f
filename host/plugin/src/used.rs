//! What one call into a guest has used up of what is counted, and what is told
//! when nothing is left.

use std::collections::BTreeSet;

use wasmtime::component::{Resource, ResourceTable, ResourceTableError};

use crate::bindings::agent::keepsake::host::types::{Error, LimitReached};
use crate::engine::GuestLimits;

/// The guest called the host more often than it may. Raised from within a call
/// or from the epoch callback, and recognised again by [`crate::call`].
#[derive(Debug, thiserror::Error)]
#[error("the guest called the host more than {0} times")]
pub(crate) struct HostCallsExhausted(pub(crate) u64);

/// One call's counts. A turn is one call of an agent.
pub(crate) struct Used {
    plugin: String,
    limits: GuestLimits,
    host_calls: u64,
    emitted_bytes: usize,
    memory_writes: u64,
    embedded_texts: u64,
    /// Answers of a model that are waited for.
    completions: usize,
    /// Limits of which the operator was told.
    told: BTreeSet<&'static str>,
}

impl Used {
    pub(crate) fn new(plugin: &str, limits: &GuestLimits) -> Self {
        Self {
            plugin: plugin.to_owned(),
            limits: limits.clone(),
            host_calls: 0,
            emitted_bytes: 0,
            memory_writes: 0,
            embedded_texts: 0,
            completions: 0,
            told: BTreeSet::new(),
        }
    }

    /// A new call begins, for which nothing is used up.
    pub(crate) fn begin_call(&mut self) {
        *self = Self::new(&self.plugin, &self.limits);
    }

    /// The guest calls the host.
    pub(crate) fn called(&mut self) {
        self.host_calls = self.host_calls.saturating_add(1);
    }

    /// Whether the guest may go on after all its calls of the host.
    pub(crate) fn check_calls(&self) -> Result<(), HostCallsExhausted> {
        let most = self.limits.host_calls;
        if self.host_calls > most {
            return Err(HostCallsExhausted(most));
        }
        Ok(())
    }

    /// The guest emits a chunk of so many bytes.
    pub(crate) fn emits(&mut self, bytes: usize) -> Result<(), Error> {
        let total = self.emitted_bytes.saturating_add(bytes);
        let most = self.limits.emitted_bytes;
        if total > most {
            return Err(self.reached(
                "emitted-bytes",
                format!("a turn may emit {most} bytes, and this chunk would make it {total}"),
            ));
        }
        self.emitted_bytes = total;
        Ok(())
    }

    /// The guest writes or removes so many facts and values. A call that would go
    /// past the bound does nothing.
    pub(crate) fn writes(&mut self, count: usize) -> Result<(), Error> {
        let total = self.memory_writes.saturating_add(count as u64);
        let most = self.limits.memory_writes;
        if total > most {
            return Err(self.reached(
                "memory-writes",
                format!("a turn may write {most} facts and values, and this would make it {total}"),
            ));
        }
        self.memory_writes = total;
        Ok(())
    }

    /// The guest has so many texts embedded.
    pub(crate) fn embeds(&mut self, count: usize) -> Result<(), Error> {
        let total = self.embedded_texts.saturating_add(count as u64);
        let most = self.limits.embedded_texts;
        if total > most {
            return Err(self.reached(
                "embedded-texts",
                format!("a turn may have {most} texts embedded, and this would make it {total}"),
            ));
        }
        self.embedded_texts = total;
        Ok(())
    }

    /// The guest asks a model while it may still read other answers.
    pub(crate) fn completes(&mut self) -> Result<(), Error> {
        let most = self.limits.completions;
        if self.completions >= most {
            return Err(self.reached(
                "completions",
                format!(
                    "a turn may wait for {most} answers of a model at a time: finish or drop one first"
                ),
            ));
        }
        self.completions += 1;
        Ok(())
    }

    /// One of those answers is over.
    pub(crate) fn completed(&mut self) {
        self.completions = self.completions.saturating_sub(1);
    }

    /// What a guest is told whose limit of this name is reached; the operator is
    /// told at the first time, with the key that would raise it.
    fn reached(&mut self, name: &'static str, message: String) -> Error {
        if self.told.insert(name) {
            tracing::warn!(
                target: "plugin",
                "{}: the limit `{name}` was reached: {message}; if it needs more, raise `limits.{name}`",
                self.plugin
            );
        }
        Error::Limit(LimitReached {
            name: name.into(),
            message,
        })
    }
}

/// What a guest's handles stand for, as one call of the host sees it. Making this
/// counts the call; using it fails once there were too many.
pub(crate) struct Handles<'a> {
    table: &'a mut ResourceTable,
    pub(crate) used: &'a mut Used,
}

impl<'a> Handles<'a> {
    pub(crate) fn new(table: &'a mut ResourceTable, used: &'a mut Used) -> Self {
        used.called();
        Self { table, used }
    }

    pub(crate) fn get<T: Send + 'static>(&self, handle: &Resource<T>) -> wasmtime::Result<&T> {
        self.used.check_calls()?;
        Ok(self.table.get(handle)?)
    }

    pub(crate) fn get_mut<T: Send + 'static>(
        &mut self,
        handle: &Resource<T>,
    ) -> wasmtime::Result<&mut T> {
        self.used.check_calls()?;
        Ok(self.table.get_mut(handle)?)
    }

    pub(crate) fn delete<T: Send + 'static>(&mut self, handle: Resource<T>) -> wasmtime::Result<T> {
        self.used.check_calls()?;
        Ok(self.table.delete(handle)?)
    }

    /// A handle on this, unless there are as many as there may be.
    pub(crate) fn push<T: Send + 'static>(
        &mut self,
        entry: T,
    ) -> wasmtime::Result<Result<Resource<T>, Error>> {
        self.used.check_calls()?;
        match self.table.push(entry) {
            Ok(handle) => Ok(Ok(handle)),
            Err(ResourceTableError::Full) => {
                let most = self.used.limits.handles;
                Ok(Err(self.used.reached(
                    "handles",
                    format!("a plugin may hold {most} handles at a time: drop some first"),
                )))
            }
            Err(error) => Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(change: impl FnOnce(&mut GuestLimits)) -> Used {
        let mut limits = GuestLimits::default();
        change(&mut limits);
        Used::new("sample", &limits)
    }

    fn name(refused: Result<(), Error>) -> String {
        match refused {
            Err(Error::Limit(limit)) => limit.name,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_goes_past_a_bound_is_refused_and_what_fits_is_not() {
        let mut used = used(|limits| {
            limits.memory_writes = 3;
            limits.embedded_texts = 2;
            limits.emitted_bytes = 4;
            limits.completions = 1;
        });
        used.writes(2).unwrap();
        assert_eq!(name(used.writes(2)), "memory-writes");
        used.writes(1).unwrap();
        used.embeds(2).unwrap();
        assert_eq!(name(used.embeds(1)), "embedded-texts");
        used.emits(4).unwrap();
        assert_eq!(name(used.emits(1)), "emitted-bytes");
        used.completes().unwrap();
        assert_eq!(name(used.completes()), "completions");
        used.completed();
        used.completes().unwrap();
        used.begin_call();
        used.writes(3).unwrap();
    }

    #[test]
    fn a_count_that_no_number_holds_is_refused() {
        let mut used = used(|limits| limits.memory_writes = u64::MAX - 1);
        used.writes(1).unwrap();
        assert_eq!(name(used.writes(usize::MAX)), "memory-writes");
    }

    #[test]
    fn handles_are_bounded_and_a_dropped_one_makes_room() {
        let mut used = used(|limits| limits.handles = 2);
        let mut table = ResourceTable::new();
        table.set_max_capacity(2);
        let mut handles = Handles::new(&mut table, &mut used);
        let first = handles.push(1_u32).unwrap().unwrap();
        handles.push(2_u32).unwrap().unwrap();
        assert_eq!(name(handles.push(3_u32).unwrap().map(drop)), "handles");
        handles.delete(first).unwrap();
        handles.push(3_u32).unwrap().unwrap();
    }

    #[test]
    fn too_many_calls_end_the_guest() {
        let mut used = used(|limits| limits.host_calls = 1);
        let mut table = ResourceTable::new();
        Handles::new(&mut table, &mut used)
            .push(1_u32)
            .unwrap()
            .unwrap();
        let error = Handles::new(&mut table, &mut used).push(1_u32).unwrap_err();
        assert!(error.is::<HostCallsExhausted>());
    }
}
