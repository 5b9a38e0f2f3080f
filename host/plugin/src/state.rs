//! What a store holds: one plugin instance's WASI, its limits, and a field for
//! each capability.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use wasmtime::ResourceLimiter;
use wasmtime::component::ResourceTable;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamResult};
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};
use wasmtime_wasi_http::{WasiHttpCtx, WasiHttpCtxView, WasiHttpView};

use crate::capability::http::{HttpAccess, HttpRequests};
use crate::capability::log::LogState;
use crate::capability::session::TurnState;
use crate::capability::settings::Settings;
use crate::engine::GuestLimits;
use crate::used::Used;
use keepsake_types::limits;
use keepsake_types::text::printable;

/// One instance's state. Agents and providers share the type; a provider has
/// no turn, and its linker offers nothing that would need one.
pub(crate) struct State {
    pub(crate) table: ResourceTable,
    wasi: WasiCtx,
    pub(crate) budget: Budget,
    pub(crate) used: Used,
    pub(crate) standard_error: LastLines,
    pub(crate) settings: Settings,
    pub(crate) log: LogState,
    pub(crate) http: HttpRequests,
    http_context: WasiHttpCtx,
    pub(crate) turn: Option<TurnState>,
}

impl State {
    pub(crate) fn new(
        plugin: &str,
        limits: &GuestLimits,
        settings: Settings,
        http: HttpAccess,
        turn: Option<TurnState>,
    ) -> Self {
        let standard_error = LastLines::default();
        let ledger = turn.as_ref().map(|turn| turn.context.ledger.clone());
        // No files, no environment, no arguments, no sockets: what a plugin
        // gets, it gets through the interfaces of this host.
        let wasi = WasiCtx::builder()
            .stderr(standard_error.clone())
            .stdout(standard_error.clone())
            .allow_tcp(false)
            .allow_udp(false)
            .allow_ip_name_lookup(false)
            .build();
        let mut table = ResourceTable::new();
        table.set_max_capacity(limits.handles);
        Self {
            table,
            wasi,
            budget: Budget::new(limits),
            used: Used::new(plugin, limits),
            standard_error,
            settings,
            log: LogState::new(plugin, limits.log_lines),
            http: HttpRequests::new(plugin, http, ledger, limits.http_requests),
            http_context: WasiHttpCtx::new(),
            turn,
        }
    }

    /// A new call into the guest begins, for which nothing is used up. What it
    /// holds stays with it.
    pub(crate) fn begin_call(&mut self) {
        self.used.begin_call();
        self.log.begin_call();
        self.http.begin_call();
        self.budget.memory_refused = None;
        self.budget.table_refused = None;
    }
}

impl WasiView for State {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        // Every function of WASI begins here. What is past the bound ends at the
        // next tick of the epoch.
        self.used.called();
        WasiCtxView {
            ctx: &mut self.wasi,
            table: &mut self.table,
        }
    }
}

impl WasiHttpView for State {
    fn http(&mut self) -> WasiHttpCtxView<'_> {
        self.used.called();
        WasiHttpCtxView {
            ctx: &mut self.http_context,
            table: &mut self.table,
            hooks: &mut self.http,
        }
    }
}

/// Counts the memory of all of a plugin's instances together, since a component
/// may hold many modules.
pub(crate) struct Budget {
    memory_limit: usize,
    memory: usize,
    table_limit: usize,
    table: usize,
    instances: usize,
    /// The largest number of table elements that was refused.
    pub(crate) table_refused: Option<usize>,
    /// The largest total that was refused, in bytes.
    pub(crate) memory_refused: Option<usize>,
}

impl Budget {
    fn new(limits: &GuestLimits) -> Self {
        Self {
            memory_limit: limits.memory,
            memory: 0,
            table_limit: limits.table_elements,
            table: 0,
            instances: limits.instances,
            table_refused: None,
            memory_refused: None,
        }
    }
}

impl ResourceLimiter for Budget {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let wanted = self.memory.saturating_add(desired.saturating_sub(current));
        if wanted > self.memory_limit {
            self.memory_refused = Some(wanted);
            // The guest is told no and may go on with what it has.
            return Ok(false);
        }
        self.memory = wanted;
        Ok(true)
    }

    fn table_growing(
        &mut self,
        current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let wanted = self.table.saturating_add(desired.saturating_sub(current));
        if wanted > self.table_limit {
            self.table_refused = Some(wanted);
            return Ok(false);
        }
        self.table = wanted;
        Ok(true)
    }

    fn instances(&self) -> usize {
        self.instances
    }

    fn memories(&self) -> usize {
        self.instances
    }
}

/// Keeps the newest bytes that were written and never refuses any: a guest that
/// writes more than is kept must not fail for it.
#[derive(Clone, Default)]
pub(crate) struct LastLines(Arc<Mutex<VecDeque<u8>>>);

impl LastLines {
    fn push(&self, bytes: &[u8]) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let newest = &bytes[bytes.len().saturating_sub(limits::STANDARD_ERROR_BYTES)..];
        let overflow = (kept.len() + newest.len()).saturating_sub(limits::STANDARD_ERROR_BYTES);
        kept.drain(..overflow);
        kept.extend(newest);
    }

    /// What is kept, with control characters made visible, so that no terminal
    /// obeys a plugin.
    pub(crate) fn text(&self) -> String {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes: Vec<u8> = kept.iter().copied().collect();
        printable(&String::from_utf8_lossy(&bytes))
    }
}

impl IsTerminal for LastLines {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for LastLines {
    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.clone())
    }

    fn async_stream(&self) -> Box<dyn tokio::io::AsyncWrite + Send + Sync> {
        Box::new(self.clone())
    }
}

#[async_trait::async_trait]
impl Pollable for LastLines {
    async fn ready(&mut self) {}
}

impl OutputStream for LastLines {
    fn write(&mut self, bytes: bytes::Bytes) -> StreamResult<()> {
        self.push(&bytes);
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(64 * 1024)
    }
}

impl tokio::io::AsyncWrite for LastLines {
    fn poll_write(
        self: std::pin::Pin<&mut Self>,
        _context: &mut std::task::Context<'_>,
        bytes: &[u8],
    ) -> std::task::Poll<std::io::Result<usize>> {
        self.push(bytes);
        std::task::Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(
        self: std::pin::Pin<&mut Self>,
        _context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<std::io::Result<()>> {
        std::task::Poll::Ready(Ok(()))
    }

    fn poll_shutdown(
        self: std::pin::Pin<&mut Self>,
        _context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<std::io::Result<()>> {
        std::task::Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn standard_error_keeps_the_newest_bytes_and_refuses_none() {
        let lines = LastLines::default();
        for number in 0..10_000 {
            lines.push(format!("line {number}\n").as_bytes());
        }
        let text = lines.text();
        assert!(text.len() <= limits::STANDARD_ERROR_BYTES);
        assert!(text.ends_with("line 9999\n"));
        lines.push(&vec![b'x'; 100_000]);
        assert_eq!(lines.text().len(), limits::STANDARD_ERROR_BYTES);
    }

    #[test]
    fn memory_is_counted_over_all_instances() {
        let mut budget = Budget::new(&GuestLimits {
            memory: 100,
            ..GuestLimits::default()
        });
        assert!(budget.memory_growing(0, 60, None).unwrap());
        assert!(!budget.memory_growing(0, 60, None).unwrap());
        assert_eq!(budget.memory_refused, Some(120));
        assert!(budget.memory_growing(60, 100, None).unwrap());
    }
}
