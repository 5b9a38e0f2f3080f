//! The host against its bounds, measured in the same run. `make bench` runs
//! this and prints the ratios.

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use keepsake_bench::Bare;
use keepsake_plugin::{
    AgentPlugin, ComponentCache, EmbeddingPlugin, GuestLimits, HttpAccess, Ledger, LoadedPlugin,
    PluginEngine, PluginSource, Settings, TurnContext,
};
use keepsake_storage::{BeginSession, Database, NewFact};
use keepsake_test_artifacts::BENCH_AGENT;
use keepsake_types::embedding::{Embedder, EmbeddingKind};
use keepsake_types::{ResourceRef, now};
use tokio::runtime::Runtime;

/// Host calls within one turn, so that the turn itself hardly counts.
const CALLS: u32 = 1_000;

/// What is embedded: a support question of usual length.
const QUESTION: &str = "Which plan am I on, and since when?";

criterion_group! {
    name = benches;
    config = Criterion::default()
        .measurement_time(Duration::from_secs(5))
        .warm_up_time(Duration::from_secs(1));
    targets = turns, host_calls, embeddings, starts
}
criterion_main!(benches);

/// An agent in the host, with a memory that holds five facts.
struct Hosted {
    runtime: Runtime,
    agent: Arc<AgentPlugin>,
    context: TurnContext,
    _folder: tempfile::TempDir,
}

impl Hosted {
    fn new() -> Self {
        let runtime = Runtime::new().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let (agent, context) = runtime.block_on(async {
            let engine = PluginEngine::new(100).unwrap();
            let source = PluginSource::new("bench-agent", std::fs::read(BENCH_AGENT).unwrap());
            let plugin = LoadedPlugin::load(&engine, &ComponentCache::disabled(), &source).unwrap();
            let agent = AgentPlugin::new(
                &engine,
                plugin,
                GuestLimits::default(),
                Settings::default(),
                HttpAccess::default(),
            )
            .await
            .unwrap();
            let database = Database::open(folder.path().join("bench.db"))
                .await
                .unwrap();
            let resource = ResourceRef::new("jordan").unwrap();
            let session = database
                .begin_session(BeginSession::new(resource.clone(), "bench-agent"))
                .await
                .unwrap();
            let memory = database.memory(&resource, &session.id).await.unwrap();
            let facts = (0..5)
                .map(|number| {
                    NewFact::new(format!(
                        "Jordan asked for invoice number {number} of last year."
                    ))
                })
                .collect();
            memory.remember_many(facts, None).await.unwrap();
            let (emit, _) = tokio::sync::mpsc::unbounded_channel();
            let context = TurnContext {
                session: session.id.clone(),
                resource,
                agent: "bench-agent".into(),
                turn: 0,
                started_at: now(),
                channel: serde_json::json!({}),
                memory,
                wider: Vec::new(),
                profile_schema: None,
                ledger: Ledger::new(database, &session.id),
                embedder: None,
                model: None,
                model_budget: std::sync::Arc::default(),
                sandboxes: None,
                compactor: None,
                agents: None,
                emit,
            };
            (agent, context)
        });
        Self {
            runtime,
            agent,
            context,
            _folder: folder,
        }
    }
}

/// A fresh instance, one trivial message, and the instance dropped.
fn turns(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("turn");
    let hosted = Hosted::new();
    let bare = Bare::compile(&std::fs::read(BENCH_AGENT).unwrap()).unwrap();
    group.bench_function("bare", |bencher| {
        bencher
            .to_async(&hosted.runtime)
            .iter(async || bare.handle("nothing").await.unwrap());
    });
    group.bench_function("host", |bencher| {
        bencher.to_async(&hosted.runtime).iter(async || {
            let (message, context) = ("nothing".to_owned(), hosted.context.clone());
            assert!(hosted.agent.handle(message, context).await.is_ok());
        });
    });
    group.finish();
}

/// A call that storage has no part in, a thousand times a turn; and a page of
/// five facts, through the host and straight from storage.
fn host_calls(criterion: &mut Criterion) {
    let hosted = Hosted::new();
    let bare = Bare::compile(&std::fs::read(BENCH_AGENT).unwrap()).unwrap();
    for (name, verb) in [("host-call", "info"), ("facts-call", "list")] {
        let mut group = criterion.benchmark_group(name);
        let message = format!("{verb} {CALLS}");
        group.bench_function("bare", |bencher| {
            bencher
                .to_async(&hosted.runtime)
                .iter(async || bare.handle(&message).await.unwrap());
        });
        group.bench_function("host", |bencher| {
            bencher.to_async(&hosted.runtime).iter(async || {
                let (message, context) = (message.clone(), hosted.context.clone());
                assert!(hosted.agent.handle(message, context).await.is_ok());
            });
        });
        group.finish();
    }
    let mut group = criterion.benchmark_group("facts-call");
    group.bench_function("storage", |bencher| {
        bencher.to_async(&hosted.runtime).iter(async || {
            for _ in 0..CALLS {
                black_box(hosted.context.memory.list_facts(None, 5).await.unwrap());
            }
        });
    });
    group.finish();
}

/// One text through the provider's component, and through the same code
/// compiled for this machine.
fn embeddings(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("embedding");
    let runtime = Runtime::new().unwrap();
    let embedder = runtime.block_on(async {
        let engine = PluginEngine::new(100).unwrap();
        let (wasm, hash) = keepsake_builtin::find("embed-static").unwrap();
        let source = PluginSource::hashed("embed-static", wasm, hash);
        let plugin = LoadedPlugin::load(&engine, &ComponentCache::disabled(), &source).unwrap();
        let (limits, settings) = (GuestLimits::default(), Settings::default());
        EmbeddingPlugin::new(&engine, plugin, limits, settings, HttpAccess::default())
            .await
            .unwrap()
    });
    group.bench_function("native", |bencher| {
        bencher.iter(|| embed_static::embed(black_box(&[QUESTION.to_owned()])));
    });
    group.bench_function("host", |bencher| {
        bencher.to_async(&runtime).iter(async || {
            let texts = vec![black_box(QUESTION).to_owned()];
            embedder.embed(texts, EmbeddingKind::Query).await.unwrap()
        });
    });
    group.finish();
}

/// Whole processes, from their start to their end.
fn starts(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("start");
    group.sample_size(60);
    let folder = tempfile::tempdir().unwrap();
    let compiled = folder.path().join("agent.cwasm");
    std::fs::write(
        &compiled,
        Bare::precompile(&std::fs::read(BENCH_AGENT).unwrap()).unwrap(),
    )
    .unwrap();
    let bare = Path::new(env!("CARGO_BIN_EXE_bare-start"));
    group.bench_function("nothing", |bencher| {
        bencher.iter(|| run(Command::new("/bin/true")));
    });
    group.bench_function("bare", |bencher| {
        bencher.iter(|| {
            let mut command = Command::new(bare);
            command.arg(&compiled);
            run(command);
        });
    });
    let host = |arguments: &[&str]| {
        let mut command = Command::new(host_program());
        command.current_dir(folder.path()).args(arguments);
        command.env("HOST_CACHE", folder.path().join("cache"));
        command
    };
    let talk = [
        "run",
        BENCH_AGENT,
        "--resource",
        "jordan",
        "--sandbox",
        "none",
        "-m",
        "nothing",
    ];
    // Compiles once, which is not timed, and makes the memory.
    run(host(&talk));
    group.bench_function("host", |bencher| bencher.iter(|| run(host(&talk))));
    let list = ["memory", "list", "--resource", "jordan"];
    group.bench_function("memory", |bencher| bencher.iter(|| run(host(&list))));
    group.finish();
}

fn run(mut command: Command) {
    let status = command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .unwrap();
    assert!(status.success(), "{command:?}");
}

/// The program beside the benchmark's own folder, built by `make bench`.
fn host_program() -> PathBuf {
    let program = Path::new(env!("CARGO_BIN_EXE_bare-start")).with_file_name("host");
    assert!(
        program.is_file(),
        "{program:?} is missing: run `make bench`"
    );
    program
}
