//! Memory beside `sqlite-vec` and beside bare inserts, on the same vectors in
//! the same run. `MILLION=1` adds a scope of a million facts, `BESIDE=1` ten
//! thousand other scopes; each takes minutes to fill.

use std::path::Path;
use std::time::{Duration, Instant};

use keepsake_storage::{BeginSession, Database, FactVectors, Memory, NewFact, QueryVector};
use keepsake_types::ResourceRef;
use rusqlite::{Connection, params};

const WIDTH: usize = 256;
const BATCH: usize = 10_000;
const QUERIES: usize = 40;
const SCOPES: usize = 10_000;
const SCOPE_FACTS: usize = 100;

fn main() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(run());
}

async fn run() {
    let sizes: &[usize] = if std::env::var_os("MILLION").is_some() {
        &[1_000, 10_000, 100_000, 1_000_000]
    } else {
        &[1_000, 10_000, 100_000]
    };
    println!(
        "| facts in the scope | Keepsake | `sqlite-vec` | ratio | recall@10 | first after a start |"
    );
    println!("| --- | --- | --- | --- | --- | --- |");
    for size in sizes {
        one_scope(*size).await;
    }
    writes().await;
    if std::env::var_os("BESIDE").is_some() {
        beside_others().await;
    }
}

async fn one_scope(size: usize) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("keepsake.db");
    let peer = Peer::new(&folder.path().join("peer.db"));
    let mut chance = Chance(size as u64);
    let mut vectors = Vec::with_capacity(size);
    {
        let memory = memory(&Database::open(&file).await.unwrap(), "jordan").await;
        while vectors.len() < size {
            let batch: Vec<Vec<f32>> = (0..BATCH.min(size - vectors.len()))
                .map(|_| chance.vector())
                .collect();
            remember(&memory, vectors.len(), &batch).await;
            peer.insert(1, vectors.len(), &batch);
            vectors.extend(batch);
        }
    }
    let queries: Vec<Vec<f32>> = (0..QUERIES).map(|_| chance.vector()).collect();

    let database = Database::open(&file).await.unwrap();
    let view = database.view(&ResourceRef::new("jordan").unwrap()).unwrap();
    let begun = Instant::now();
    view.nearest(query(&queries[0]), 10).await.unwrap();
    let first = begun.elapsed();
    peer.nearest(1, &queries[0]);

    // Each by itself, as it runs when it is used: neither finds its memory
    // pushed out by the other.
    let (mut ours, mut theirs, mut found) = (Vec::new(), Vec::new(), Vec::new());
    for asked in &queries {
        let begun = Instant::now();
        found.push(view.nearest(query(asked), 10).await.unwrap());
        ours.push(begun.elapsed());
    }
    for asked in &queries {
        let begun = Instant::now();
        let nearest = peer.nearest(1, asked);
        theirs.push(begun.elapsed());
        assert_eq!(nearest.len(), 10);
    }
    let mut hits = 0;
    for (asked, found) in queries.iter().zip(found) {
        let mut cosines: Vec<f64> = vectors.iter().map(|vector| cosine(asked, vector)).collect();
        cosines.sort_by(|left, right| right.total_cmp(left));
        hits += found
            .iter()
            .filter(|near| near.cosine >= cosines[9] - 2e-5)
            .count();
    }
    let (ours, theirs) = (median(ours), median(theirs));
    println!(
        "| {size} | {ours:.3?} | {theirs:.3?} | {:.1} | {:.3} | {first:.1?} |",
        theirs.as_secs_f64() / ours.as_secs_f64(),
        hits as f64 / (10 * QUERIES) as f64,
    );
}

async fn beside_others() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("keepsake.db");
    let mut chance = Chance(3);
    let database = Database::open(&file).await.unwrap();
    for size in [1_000, 10_000] {
        let own = memory(&database, &format!("own{size}")).await;
        let vectors: Vec<Vec<f32>> = (0..size).map(|_| chance.vector()).collect();
        remember(&own, 0, &vectors).await;
    }
    let mut alone = Vec::new();
    for size in [1_000, 10_000] {
        alone.push(timed(&database, size, &mut chance).await);
    }
    let begun = Instant::now();
    for other in 0..SCOPES {
        let memory = memory(&database, &format!("other{other}")).await;
        let vectors: Vec<Vec<f32>> = (0..SCOPE_FACTS).map(|_| chance.vector()).collect();
        remember(&memory, 0, &vectors).await;
    }
    println!("filled {SCOPES} scopes in {:?}", begun.elapsed());
    drop(database);
    let database = Database::open(&file).await.unwrap();
    for (size, alone) in [1_000, 10_000].into_iter().zip(alone) {
        let beside = timed(&database, size, &mut chance).await;
        println!(
            "{size} facts alone {alone:?}, beside {SCOPES} scopes {beside:?}: {:.2}",
            beside.as_secs_f64() / alone.as_secs_f64()
        );
    }
    for other in 0..100 {
        let view = database
            .view(&ResourceRef::new(format!("other{other}")).unwrap())
            .unwrap();
        view.nearest(query(&chance.vector()), 10).await.unwrap();
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    for line in status
        .lines()
        .filter(|line| line.starts_with("VmRSS") || line.starts_with("VmHWM"))
    {
        println!("{line}");
    }
}

async fn timed(database: &Database, size: usize, chance: &mut Chance) -> Duration {
    let view = database
        .view(&ResourceRef::new(format!("own{size}")).unwrap())
        .unwrap();
    view.nearest(query(&chance.vector()), 10).await.unwrap();
    let mut times = Vec::new();
    for _ in 0..4 * QUERIES {
        let query = query(&chance.vector());
        let begun = Instant::now();
        view.nearest(query, 10).await.unwrap();
        times.push(begun.elapsed());
    }
    median(times)
}

/// One fact a transaction, and many, beside bare inserts of the same bytes.
async fn writes() {
    let folder = tempfile::tempdir().unwrap();
    let database = Database::open(folder.path().join("keepsake.db"))
        .await
        .unwrap();
    let memory = memory(&database, "jordan").await;
    let bare = Connection::open(folder.path().join("bare.db")).unwrap();
    bare.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
         CREATE TABLE facts (id INTEGER PRIMARY KEY, content TEXT, vector BLOB)",
    )
    .unwrap();
    let peer = Peer::new(&folder.path().join("peer.db"));
    let insert = |number: usize, vector: &[f32]| {
        bare.prepare_cached("INSERT INTO facts (content, vector) VALUES (?1, ?2)")
            .unwrap()
            .execute(params![text(number), bytes(vector)])
            .unwrap();
    };
    let mut chance = Chance(5);
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for number in 0..300 {
        let vector = chance.vector();
        let begun = Instant::now();
        remember(&memory, 1_000_000 + number, std::slice::from_ref(&vector)).await;
        ours.push(begun.elapsed());
        let begun = Instant::now();
        insert(number, &vector);
        theirs.push(begun.elapsed());
    }
    let (ours, theirs) = (median(ours), median(theirs));
    println!(
        "one fact: {ours:?}, bare {theirs:?}: {:.2}",
        ours.as_secs_f64() / theirs.as_secs_f64()
    );
    let (mut ours, mut theirs, mut peers) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..3 {
        let vectors: Vec<Vec<f32>> = (0..BATCH).map(|_| chance.vector()).collect();
        let begun = Instant::now();
        remember(&memory, round * BATCH, &vectors).await;
        ours.push(begun.elapsed());
        let begun = Instant::now();
        bare.execute_batch("BEGIN").unwrap();
        for (number, vector) in vectors.iter().enumerate() {
            insert(round * BATCH + number, vector);
        }
        bare.execute_batch("COMMIT").unwrap();
        theirs.push(begun.elapsed());
        let begun = Instant::now();
        peer.insert(1, round * BATCH, &vectors);
        peers.push(begun.elapsed());
    }
    let (ours, theirs, peers) = (median(ours), median(theirs), median(peers));
    println!(
        "10,000 facts: {ours:?}, bare {theirs:?}, sqlite-vec {peers:?}: {:.2}",
        ours.as_secs_f64() / theirs.as_secs_f64()
    );
}

async fn memory(database: &Database, resource: &str) -> Memory {
    let resource = ResourceRef::new(resource).unwrap();
    let session = BeginSession::new(resource.clone(), "bench");
    let session = database.begin_session(session).await.unwrap();
    database.memory(&resource, &session.id).await.unwrap()
}

fn text(number: usize) -> String {
    format!(
        "The customer asked for invoice {number} of order {} again.",
        number * 7
    )
}

async fn remember(memory: &Memory, first: usize, vectors: &[Vec<f32>]) {
    let facts = (first..first + vectors.len()).map(|number| NewFact::new(text(number)));
    let vectors = FactVectors {
        model: "bench".to_owned(),
        dimensions: WIDTH as u32,
        vectors: vectors.to_vec(),
    };
    memory
        .remember_many(facts.collect(), Some(vectors))
        .await
        .unwrap();
}

fn query(vector: &[f32]) -> QueryVector {
    QueryVector {
        model: "bench".to_owned(),
        vector: vector.to_vec(),
        relevance_threshold: None,
    }
}

/// `sqlite-vec`, its scope as the partition key.
struct Peer(Connection);

impl Peer {
    fn new(path: &Path) -> Self {
        // SAFETY: the function has the signature that SQLite asks of an
        // extension's entry point.
        #[allow(unsafe_code, reason = "how sqlite-vec is registered")]
        unsafe {
            let entry = sqlite_vec::sqlite3_vec_init as *const ();
            rusqlite::ffi::sqlite3_auto_extension(Some(std::mem::transmute::<
                *const (),
                unsafe extern "C" fn(
                    *mut rusqlite::ffi::sqlite3,
                    *mut *mut std::ffi::c_char,
                    *const rusqlite::ffi::sqlite3_api_routines,
                ) -> std::ffi::c_int,
            >(entry)));
        }
        let connection = Connection::open(path).unwrap();
        connection
            .execute_batch(&format!(
                "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
                 CREATE VIRTUAL TABLE vectors USING vec0(
                    scope INTEGER PARTITION KEY, vector FLOAT[{WIDTH}] distance_metric=cosine)"
            ))
            .unwrap();
        Self(connection)
    }

    fn insert(&self, scope: i64, first: usize, vectors: &[Vec<f32>]) {
        self.0.execute_batch("BEGIN").unwrap();
        let mut statement = self
            .0
            .prepare("INSERT INTO vectors (rowid, scope, vector) VALUES (?1, ?2, ?3)")
            .unwrap();
        for (number, vector) in vectors.iter().enumerate() {
            statement
                .execute(params![first + number, scope, bytes(vector)])
                .unwrap();
        }
        self.0.execute_batch("COMMIT").unwrap();
    }

    fn nearest(&self, scope: i64, query: &[f32]) -> Vec<i64> {
        let mut statement = self
            .0
            .prepare_cached(
                "SELECT rowid FROM vectors WHERE vector MATCH ?1 AND scope = ?2 AND k = 10",
            )
            .unwrap();
        let rows = statement
            .query_map(params![bytes(query), scope], |row| row.get(0))
            .unwrap();
        rows.collect::<rusqlite::Result<_>>().unwrap()
    }
}

fn bytes(vector: &[f32]) -> Vec<u8> {
    vector
        .iter()
        .flat_map(|number| number.to_le_bytes())
        .collect()
}

fn cosine(left: &[f32], right: &[f32]) -> f64 {
    let (mut product, mut squares) = (0.0, [0.0; 2]);
    for (left, right) in left.iter().zip(right) {
        let (left, right) = (f64::from(*left), f64::from(*right));
        product += left * right;
        squares[0] += left * left;
        squares[1] += right * right;
    }
    product / (squares[0] * squares[1]).sqrt()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

/// Numbers that look like chance and are the same in each run.
struct Chance(u64);

impl Chance {
    fn vector(&mut self) -> Vec<f32> {
        (0..WIDTH)
            .map(|_| {
                let sum: u64 = (0..8)
                    .map(|_| {
                        self.0 ^= self.0 << 13;
                        self.0 ^= self.0 >> 7;
                        self.0 ^= self.0 << 17;
                        self.0 >> 40
                    })
                    .sum();
                sum as f32 / (1_u64 << 24) as f32 - 4.0
            })
            .collect()
    }
}
