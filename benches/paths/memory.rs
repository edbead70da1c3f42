//! Long-term memory: a search by meaning compares the query with every vector, which are in memory once the first search has read
//! them. Written by another handle, one of them is read again.

use std::sync::Arc;

use futures::future::try_join_all;
use serde_json::json;
use superstep::checkpoint::{BoxFuture, Checkpointer, MemoryCheckpointer, SledCheckpointer};
use superstep::memory::{CheckpointerStore, Embed, EmbedError, Store, StoreSearch, StoreWrite};

use super::figure::Figure;
use super::harness::Bench;

/// The numbers in a vector.
const LENGTH: usize = 768;

/// Makes a vector of a text by chance: the same text has the same vector.
struct Chance;

impl Embed for Chance {
    fn name(&self) -> &str {
        "chance"
    }

    fn embed(&self, texts: Vec<String>) -> BoxFuture<'_, Result<Vec<Vec<f32>>, EmbedError>> {
        let vectors = texts.iter().map(|text| vector(text)).collect();
        Box::pin(async { Ok(vectors) })
    }
}

/// Returns numbers between -1 and 1 (xorshift).
fn vector(text: &str) -> Vec<f32> {
    let mix = |seed: u64, byte| (seed ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let mut seed = text.bytes().fold(0x9e37_79b9_7f4a_7c15, mix);
    let mut next = || {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        (seed >> 40) as f32 / (1 << 23) as f32 - 1.0
    };
    (0..LENGTH).map(|_| next()).collect()
}

pub(crate) fn run(bench: &Bench) {
    let folder = bench.folder();
    let items = bench.pick([10_000, 10_000, 50]);
    searched(bench, "memory", items, Arc::new(MemoryCheckpointer::new()));
    searched(bench, "sled", items, Arc::new(SledCheckpointer::open(folder.path().join("sled")).unwrap()));
}

fn open(checkpointer: &Arc<dyn Checkpointer>) -> CheckpointerStore {
    CheckpointerStore::new(Arc::clone(checkpointer)).with_embed(Arc::new(Chance)).index_fields(["text"])
}

async fn fill(store: &CheckpointerStore, items: u64) {
    for page in (0..items).collect::<Vec<_>>().chunks(100) {
        try_join_all(page.iter().map(|nth| store.put(write(*nth)))).await.unwrap();
    }
}

fn write(nth: u64) -> StoreWrite {
    StoreWrite::new(["notes"], nth.to_string(), json!({"text": format!("note {nth}")}))
}

fn searched(bench: &Bench, kind: &str, items: u64, checkpointer: Arc<dyn Checkpointer>) {
    let store = open(&checkpointer);
    bench.lone.block_on(fill(&store, items));
    let search = |nth: u64| {
        let query = StoreSearch::new(["notes"]).query(format!("note {nth}"));
        let found = bench.lone.block_on(store.search(query)).unwrap();
        assert_eq!(found[0].key, nth.to_string());
        1
    };
    search(0);
    let mut nth = 0;
    let warm = bench.each(|| {
        nth = (nth + 7919) % items;
        search(nth)
    });
    let what = format!("10 best of {items} vectors of {LENGTH}, {kind} store");
    bench.print(&Figure::wall("memory", what, warm).target("< 20000"));
    let other = open(&checkpointer);
    let changed = bench.each(|| {
        nth = (nth + 7919) % items;
        bench.lone.block_on(other.put(write(nth))).unwrap();
        search(nth)
    });
    let what = format!("the same, and before it a write by another handle, {kind} store");
    bench.print(&Figure::wall("memory", what, changed).target("< 20000"));
}
