//! The wasmtime engine: how plugins are compiled, where their instances live,
//! and the clock that interrupts them.

use std::sync::Arc;
use std::time::Duration;

use wasmtime::{
    Config, Enabled, Engine, EngineWeak, InstanceAllocationStrategy, OptLevel,
    PoolingAllocationConfig, WasmBacktraceDetails,
};

use crate::error::PluginError;
use keepsake_types::limits;

/// How often a running guest is interrupted to let others run and to count the
/// time it took. One tick is the precision of [`GuestLimits::cpu`].
pub(crate) const TICK: Duration = Duration::from_millis(10);

/// The name of this crate's settings in the key of compiled components; raise
/// it whenever [`config`] changes. Wasmtime does not check all of its own
/// settings when it loads compiled code.
const SETTINGS_VERSION: &str = "keepsake-engine-1";

/// Wasmtime's version is part of the key: code of another one is not loaded.
const WASMTIME_VERSION: &str = "48.0.8";

/// Slots of the instance pool that a host gets unless it asks for another number.
pub const DEFAULT_INSTANCES: u32 = 100;

/// The largest linear memory that the pool has room for, in bytes.
pub const LARGEST_MEMORY: usize = 512 << 20;

/// What one call into a guest may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuestLimits {
    /// From the beginning to the end of a call, waiting included.
    pub wall: Duration,
    /// Time in which the guest itself computes, in steps of 10 ms.
    pub cpu: Duration,
    /// Linear memory of all the instances of the plugin together, in bytes.
    pub memory: usize,
    /// Elements of all its tables together.
    pub table_elements: usize,
    /// Units of computing, about one an instruction; without a bound where none.
    /// Unlike time, it is the same on every machine. Only an engine that was made
    /// with [`EngineLimits::fuel`] counts it.
    pub fuel: Option<u64>,
    /// Core instances within the plugin, and as many memories.
    pub instances: usize,
    /// Handles that it holds at a time.
    pub handles: usize,
    /// Calls of the host.
    pub host_calls: u64,
    /// What it hands to the host in one call of the host, in bytes.
    pub call_bytes: usize,
    /// Lines of its log.
    pub log_lines: u64,
    /// What it emits, in bytes.
    pub emitted_bytes: usize,
    /// Facts and values that it writes or removes.
    pub memory_writes: u64,
    /// Texts that it has embedded.
    pub embedded_texts: u64,
    /// Answers of a model that it waits for at a time.
    pub completions: usize,
    /// Requests over HTTP.
    pub http_requests: u64,
}

impl Default for GuestLimits {
    fn default() -> Self {
        Self {
            wall: Duration::from_secs(limits::TURN_SECONDS),
            cpu: Duration::from_secs(limits::TURN_CPU_SECONDS),
            memory: limits::MEMORY_MIB << 20,
            table_elements: limits::TABLE_ELEMENTS,
            fuel: None,
            instances: limits::INSTANCES,
            handles: limits::HANDLES,
            host_calls: limits::HOST_CALLS,
            call_bytes: limits::CALL_MIB << 20,
            log_lines: limits::LOG_LINES,
            emitted_bytes: limits::EMITTED_BYTES,
            memory_writes: limits::MEMORY_WRITES,
            embedded_texts: limits::EMBEDDED_TEXTS,
            completions: limits::COMPLETIONS,
            http_requests: limits::HTTP_REQUESTS,
        }
    }
}

/// What all plugins of one engine share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EngineLimits {
    /// Plugins that are alive at once.
    pub plugins: u32,
    /// The stack of compiled code, in bytes.
    pub stack: usize,
    /// Whether [`GuestLimits::fuel`] is counted, which makes compiled code slower.
    pub fuel: bool,
}

impl Default for EngineLimits {
    fn default() -> Self {
        Self {
            plugins: limits::CONCURRENT_PLUGINS,
            stack: limits::STACK_KIB << 10,
            fuel: false,
        }
    }
}

/// A wasmtime engine with Keepsake's settings. Cheap to clone.
#[derive(Clone)]
pub struct PluginEngine {
    engine: Engine,
    fingerprint: Arc<str>,
}

impl PluginEngine {
    /// An engine with room for `instances` plugins at a time, which compiles
    /// and runs but keeps nothing on disk.
    ///
    /// # Errors
    /// When this machine cannot run compiled WebAssembly.
    pub fn new(instances: u32) -> Result<Self, PluginError> {
        Self::within(EngineLimits {
            plugins: instances,
            ..EngineLimits::default()
        })
    }

    /// The same with all that may be bounded.
    ///
    /// # Errors
    /// When this machine cannot run compiled WebAssembly.
    pub fn within(limits: EngineLimits) -> Result<Self, PluginError> {
        let pooled = config(limits, true);
        let engine = Engine::new(&pooled).or_else(|error| {
            // The pool reserves address space, which some machines and
            // containers are short of. Without it a turn costs some
            // microseconds more.
            tracing::warn!(
                "the instance pool cannot be had, instances are made one by one: {error:#}"
            );
            Engine::new(&config(limits, false))
        });
        let engine = engine.map_err(|error| PluginError::Engine {
            reason: format!("{error:#}"),
        })?;
        let fingerprint = fingerprint(&engine).into();
        start_ticker(engine.weak())?;
        Ok(Self {
            engine,
            fingerprint,
        })
    }

    pub(crate) fn wasmtime(&self) -> &Engine {
        &self.engine
    }

    /// Names everything that compiled code depends on besides the component.
    pub(crate) fn fingerprint(&self) -> &str {
        &self.fingerprint
    }
}

/// Room for the host's own functions on a stack, beyond what the guest has.
const HOST_STACK: usize = 1 << 20;

fn config(limits: EngineLimits, pooled: bool) -> Config {
    let mut config = Config::new();
    config.wasm_component_model(true);
    config.cranelift_opt_level(OptLevel::Speed);
    // Interrupts a guest that computes for ever. Time-outs of the host
    // interrupt one that waits; neither can do the other's work.
    config.epoch_interruption(true);
    config.wasm_backtrace_details(WasmBacktraceDetails::Enable);
    // Deterministic results, so that a session can be replayed.
    config.wasm_relaxed_simd(false);
    config.max_wasm_stack(limits.stack);
    config.async_stack_size(limits.stack + HOST_STACK);
    config.consume_fuel(limits.fuel);
    if pooled {
        let instances = limits.plugins;
        let mut pool = PoolingAllocationConfig::new();
        pool.total_component_instances(instances);
        pool.total_core_instances(instances * 4);
        pool.total_memories(instances);
        pool.total_tables(instances * 4);
        // An agent's call and the provider's call within it each hold a stack.
        pool.total_stacks(instances * 2);
        pool.max_memory_size(LARGEST_MEMORY);
        pool.table_elements(50_000);
        pool.max_tables_per_module(4);
        pool.max_component_instance_size(4 << 20);
        pool.max_core_instance_size(4 << 20);
        // Keeping pages resident pays only when the kernel tells which ones
        // were touched; otherwise each reuse clears over a megabyte.
        pool.linear_memory_keep_resident(2 << 20);
        pool.table_keep_resident(64 << 10);
        pool.pagemap_scan(Enabled::Auto);
        config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
    }
    config
}

fn fingerprint(engine: &Engine) -> String {
    use std::hash::{Hash, Hasher};
    // What wasmtime itself says decides whether compiled code fits: target,
    // processor features and most settings.
    struct Bytes(blake3::Hasher);
    impl Hasher for Bytes {
        fn finish(&self) -> u64 {
            0
        }
        fn write(&mut self, bytes: &[u8]) {
            self.0.update(bytes);
        }
    }
    let mut hasher = Bytes(blake3::Hasher::new());
    engine.precompile_compatibility_hash().hash(&mut hasher);
    hasher.write(SETTINGS_VERSION.as_bytes());
    hasher.write(WASMTIME_VERSION.as_bytes());
    hasher.0.finalize().to_hex().to_string()
}

/// Advances the engine's epoch until the engine is gone.
fn start_ticker(engine: EngineWeak) -> Result<(), PluginError> {
    std::thread::Builder::new()
        .name("keepsake-ticker".into())
        .spawn(move || {
            loop {
                std::thread::sleep(TICK);
                match engine.upgrade() {
                    Some(engine) => engine.increment_epoch(),
                    None => return,
                }
            }
        })
        .map(drop)
        .map_err(|error| PluginError::Engine {
            reason: format!("the thread that interrupts plugins cannot be started: {error}"),
        })
}
