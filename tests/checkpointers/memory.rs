//! Long-term memory over the stores of this crate: the kit, and what an embedding adds.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rstest::rstest;
use serde_json::{Value, json};
use superstep::checkpoint::kit::Harness;
use superstep::checkpoint::{BoxFuture, Checkpointer, ItemScan, MemoryCheckpointer};
use superstep::memory::{
    CheckpointerStore, Embed, EmbedError, IndexFields, ItemName, Store, StoreError, StoreFilter, StoreItem,
    StoreSearch, StoreWrite, kit,
};

use crate::stores::{Embedded, Memory};

/// Long-term memory over the checkpointers of a harness.
pub(crate) struct Over<'a>(pub(crate) &'a dyn Harness);

impl kit::StoreHarness for Over<'_> {
    fn open(&self) -> BoxFuture<'_, Result<Arc<dyn Store>, StoreError>> {
        Box::pin(async { Ok(Arc::new(CheckpointerStore::new(self.0.open().await?)) as _) })
    }

    fn open_again(&self) -> BoxFuture<'_, Option<Result<Arc<dyn Store>, StoreError>>> {
        Box::pin(async {
            let opened = self.0.open_again().await?;
            Some(opened.map(|store| Arc::new(CheckpointerStore::new(store)) as _).map_err(StoreError::from))
        })
    }
}

#[rstest]
#[case::memory(&Memory)]
#[case::sled(&Embedded::sled())]
#[case::fjall(&Embedded::fjall())]
#[tokio::test]
async fn long_term_memory_over_every_checkpointer_passes_the_kit(#[case] harness: &dyn Harness) {
    let failures = kit::check_all(&Over(harness)).await;
    assert!(failures.is_empty(), "{failures:#?}");
}

/// A harness over a store of which one property is broken.
struct Broken;

#[derive(Debug)]
struct Forgetful(CheckpointerStore);

impl Store for Forgetful {
    fn put(&self, write: StoreWrite) -> BoxFuture<'_, Result<(), StoreError>> {
        self.0.put(write)
    }
    fn get(&self, read: superstep::memory::StoreRead) -> BoxFuture<'_, Result<Option<StoreItem>, StoreError>> {
        self.0.get(read)
    }
    fn delete(&self, _: ItemName) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async { Ok(()) })
    }
    fn search(&self, search: StoreSearch) -> BoxFuture<'_, Result<Vec<StoreItem>, StoreError>> {
        self.0.search(StoreSearch { offset: 0, ..search })
    }
    fn list_namespaces(
        &self,
        query: superstep::memory::NamespaceQuery,
    ) -> BoxFuture<'_, Result<Vec<superstep::memory::Namespace>, StoreError>> {
        self.0.list_namespaces(query)
    }
    fn remove_expired(&self) -> BoxFuture<'_, Result<usize, StoreError>> {
        self.0.remove_expired()
    }
}

impl kit::StoreHarness for Broken {
    fn open(&self) -> BoxFuture<'_, Result<Arc<dyn Store>, StoreError>> {
        let store = Forgetful(CheckpointerStore::new(Arc::new(MemoryCheckpointer::new())));
        Box::pin(async { Ok(Arc::new(store) as _) })
    }
}

#[tokio::test]
async fn the_kit_finds_what_a_store_does_wrong() {
    let failures = kit::check_all(&Broken).await;
    let mut failed: Vec<&str> = failures.iter().map(|failure| failure.check).collect();
    failed.sort_unstable();
    assert_eq!(
        failed,
        [
            "a_deleted_item_is_new_when_it_is_written_again",
            "a_namespace_without_items_is_not_listed",
            "an_item_is_written_read_and_deleted",
            "pages_have_every_item_once",
            "the_best_matches_of_a_query_come_first",
            "wrong_requests_are_refused",
        ]
    );
}

/// Counts letters, and its own calls.
#[derive(Default)]
struct Letters {
    name: &'static str,
    calls: AtomicUsize,
}

impl Embed for Letters {
    fn name(&self) -> &str {
        self.name
    }

    fn embed(&self, texts: Vec<String>) -> BoxFuture<'_, Result<Vec<Vec<f32>>, EmbedError>> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        Box::pin(async move {
            if texts.iter().any(|text| text.contains("unspeakable")) {
                return Err("the model refuses".into());
            }
            let count = |text: &String| ('a'..='d').map(|letter| text.matches(letter).count() as f32).collect();
            Ok(texts.iter().map(count).collect())
        })
    }
}

fn embedding(checkpointer: &Arc<dyn Checkpointer>) -> CheckpointerStore {
    let embed = Letters { name: "letters", ..Letters::default() };
    CheckpointerStore::new(Arc::clone(checkpointer)).with_embed(Arc::new(embed)).index_fields(["text"])
}

async fn write(store: &dyn Store, key: &str, text: &str) {
    store.put(StoreWrite::new(["notes"], key, json!({"text": text}))).await.unwrap();
}

async fn found(store: &dyn Store, query: &str) -> Vec<(String, f64)> {
    let items = store.search(StoreSearch::new(["notes"]).query(query)).await.unwrap();
    items.into_iter().map(|item| (item.key, item.score.unwrap())).collect()
}

async fn ranked(store: &dyn Store, query: &str) -> Vec<String> {
    found(store, query).await.into_iter().map(|(key, _)| key).collect()
}

fn memory() -> Arc<dyn Checkpointer> {
    Arc::new(MemoryCheckpointer::new())
}

#[tokio::test]
async fn items_are_ranked_by_the_cosine_of_their_texts() {
    let store = embedding(&memory());
    for (key, text) in [("a", "aaaa"), ("ab", "ab"), ("b", "b"), ("c", "ccc")] {
        write(&store, key, text).await;
    }
    let found = found(&store, "aa").await;
    let expected = [("a", 1.0), ("ab", 0.5_f64.sqrt()), ("b", 0.0), ("c", 0.0)];
    assert_eq!(found.len(), expected.len());
    for ((key, score), (name, cosine)) in found.iter().zip(expected) {
        assert!(key == name && (score - cosine).abs() < 1e-6, "{key} {score} instead of {name} {cosine}");
    }
}

#[tokio::test]
async fn a_query_is_combined_with_a_filter_and_a_page() {
    let store = embedding(&memory());
    for n in 0..200 {
        let value = json!({"text": format!("a{}", "b".repeat(n)), "even": n % 2 == 0});
        store.put(StoreWrite::new(["notes"], format!("{n:03}"), value)).await.unwrap();
    }
    let filter = StoreFilter::new(json!({"even": true})).unwrap();
    let search = StoreSearch::new(["notes"]).query("a").filter(filter).limit(3).offset(2);
    let keys: Vec<String> = store.search(search).await.unwrap().into_iter().map(|item| item.key).collect();
    assert_eq!(keys, ["004", "006", "008"]);
}

#[rstest]
#[case::nothing(IndexFields::Nothing, &[])]
#[case::the_fields_of_the_store(IndexFields::OfStore, &["one"])]
#[case::fields_of_the_write(IndexFields::Paths(vec!["tags[*]".into()]), &["one"])]
#[case::fields_that_are_not_there(IndexFields::Paths(vec!["nothing".into()]), &[])]
#[tokio::test]
async fn a_write_says_which_fields_are_embedded(#[case] fields: IndexFields, #[case] expected: &[&str]) {
    let store = embedding(&memory());
    write(&store, "one", "a").await; // has vectors, which the next write replaces
    let value = json!({"text": "a", "tags": ["b", "c"]});
    store.put(StoreWrite::new(["notes"], "one", value).index(fields)).await.unwrap();
    assert_eq!(ranked(&store, "a").await, expected);
    // Without a query it is found in any case.
    assert_eq!(store.search(StoreSearch::new(["notes"])).await.unwrap().len(), 1);
}

/// A change of an item beside the store that searches.
#[derive(Clone, Copy, Debug)]
enum Change {
    Put,
    PutWithoutEmbedding,
    Delete,
    Expire,
}

#[rstest]
#[tokio::test]
async fn a_search_sees_what_other_handles_have_changed(
    #[values(Change::Put, Change::PutWithoutEmbedding, Change::Delete, Change::Expire)] change: Change,
    #[values(0, 1, 2)] opener: usize,
) {
    let directory = tempfile::tempdir().unwrap();
    let checkpointer = crate::copy::OPENERS[opener](directory.path());
    let (store, other) = (embedding(&checkpointer), embedding(&checkpointer));
    write(&store, "one", "a").await;
    write(&store, "two", "ab").await;
    assert_eq!(ranked(&store, "a").await, ["one", "two"]);
    match change {
        Change::Put => write(&other, "one", "b").await,
        Change::PutWithoutEmbedding => write(&CheckpointerStore::new(Arc::clone(&checkpointer)), "one", "a").await,
        Change::Delete => other.delete(ItemName::new(["notes"], "one")).await.unwrap(),
        Change::Expire => {
            let brief = StoreWrite::new(["notes"], "one", json!({"text": "a"})).ttl_minutes(1.0 / 60_000.0);
            other.put(brief).await.unwrap();
            while other.remove_expired().await.unwrap() == 0 {
                tokio::task::yield_now().await;
            }
        }
    }
    let expected: &[&str] = if let Change::Put = change { &["two", "one"] } else { &["two"] };
    assert_eq!(ranked(&store, "a").await, expected);
    write(&other, "three", "a").await;
    assert_eq!(ranked(&store, "a").await[0], "three");
}

#[tokio::test]
async fn a_search_is_true_after_more_changes_than_are_logged() {
    let checkpointer = memory();
    let (store, other) = (embedding(&checkpointer), embedding(&checkpointer));
    write(&store, "one", "a").await;
    assert_eq!(ranked(&store, "a").await, ["one"]);
    write(&other, "one", "b").await;
    for n in 0..1100 {
        write(&other, &format!("{}", n % 3), if n % 2 == 0 { "ab" } else { "abb" }).await;
    }
    write(&other, "zero", "a").await;
    assert_eq!(ranked(&store, "a").await, ["zero", "0", "1", "2", "one"].map(str::to_owned));
    let log = checkpointer.scan_items(&ItemScan::of("superstep.memory.changes")).await.unwrap();
    assert_eq!(log.len(), 1025);
}

#[tokio::test]
async fn concurrent_writes_of_two_handles_are_all_found() {
    let checkpointer = memory();
    let (one, other) = (embedding(&checkpointer), embedding(&checkpointer));
    let writes = (0..40).map(|n| {
        let (store, key) = (if n % 2 == 0 { &one } else { &other }, format!("{n:02}"));
        async move { write(store, &key, "a").await }
    });
    futures::future::join_all(writes).await;
    let search = StoreSearch::new(["notes"]).query("a").limit(100);
    assert_eq!(one.search(search).await.unwrap().len(), 40);
}

#[tokio::test]
async fn vectors_of_another_model_are_not_compared() {
    let checkpointer = memory();
    write(&embedding(&checkpointer), "old", "a").await;
    let embed = Letters { name: "letters of another kind", ..Letters::default() };
    let store = CheckpointerStore::new(checkpointer).with_embed(Arc::new(embed));
    write(&store, "new", "a").await;
    assert_eq!(ranked(&store, "a").await, ["new"]);
    write(&store, "old", "a").await;
    assert_eq!(ranked(&store, "a").await, ["new", "old"]);
}

#[tokio::test]
async fn stored_vectors_are_not_made_again() {
    let checkpointer = memory();
    write(&embedding(&checkpointer), "one", "a").await;
    let embed = Arc::new(Letters { name: "letters", ..Letters::default() });
    let store = CheckpointerStore::new(checkpointer).with_embed(Arc::clone(&embed) as _);
    assert_eq!(ranked(&store, "a").await, ["one"]);
    assert_eq!(embed.calls.load(Ordering::SeqCst), 1, "the query alone is embedded");
}

#[tokio::test]
async fn an_item_whose_text_cannot_be_embedded_is_not_written() {
    let store = embedding(&memory());
    let value: Value = json!({"text": "unspeakable"});
    let error = store.put(StoreWrite::new(["notes"], "one", value)).await.unwrap_err();
    assert!(matches!(error, StoreError::Embedding { .. }), "{error}");
    assert_eq!(store.search(StoreSearch::new(["notes"])).await.unwrap(), vec![]);
}

#[tokio::test]
async fn nothing_of_a_deleted_item_is_left() {
    let checkpointer = memory();
    let store = embedding(&checkpointer);
    store.put(StoreWrite::new(["notes"], "one", json!({"text": "a"})).ttl_minutes(5.0)).await.unwrap();
    let count = async |namespace: &str| checkpointer.scan_items(&ItemScan::of(namespace)).await.unwrap().len();
    let places = ["superstep.memory.items", "superstep.memory.vectors", "superstep.memory.expiry"];
    for place in places {
        assert_eq!(count(place).await, 1, "{place}");
    }
    store.delete(ItemName::new(["notes"], "one")).await.unwrap();
    for place in places {
        assert_eq!(count(place).await, 0, "{place}");
    }
}
