//! Long-term memory in PostgreSQL: the kit, and searches that see what other processes have changed.

use std::sync::Arc;

use serde_json::json;
use superstep::checkpoint::{BoxFuture, Checkpointer};
use superstep::memory::{
    CheckpointerStore, Embed, EmbedError, ItemName, Store, StoreError, StoreSearch, StoreWrite, kit,
};

use crate::server;

/// Long-term memory in schemas of its own.
#[derive(Default)]
struct Postgres(std::sync::Mutex<String>);

impl kit::StoreHarness for Postgres {
    fn open(&self) -> BoxFuture<'_, Result<Arc<dyn Store>, StoreError>> {
        let address = server::new_store().unwrap();
        self.0.lock().unwrap().clone_from(&address);
        Box::pin(async move { Ok(Arc::new(CheckpointerStore::new(server::open(&address))) as _) })
    }

    fn open_again(&self) -> BoxFuture<'_, Option<Result<Arc<dyn Store>, StoreError>>> {
        let address = self.0.lock().unwrap().clone();
        Box::pin(async move { Some(Ok(Arc::new(CheckpointerStore::new(server::open(&address))) as _)) })
    }
}

#[tokio::test]
async fn long_term_memory_in_postgres_passes_the_kit() {
    if server::shared().is_none() {
        return;
    }
    let failures = kit::check_all(&Postgres::default()).await;
    assert!(failures.is_empty(), "{failures:#?}");
}

struct Lengths;

impl Embed for Lengths {
    fn name(&self) -> &str {
        "lengths"
    }

    fn embed(&self, texts: Vec<String>) -> BoxFuture<'_, Result<Vec<Vec<f32>>, EmbedError>> {
        Box::pin(async move { Ok(texts.iter().map(|text| vec![1.0, text.len() as f32]).collect()) })
    }
}

fn embedding(checkpointer: Arc<dyn Checkpointer>) -> CheckpointerStore {
    CheckpointerStore::new(checkpointer).with_embed(Arc::new(Lengths)).index_fields(["text"])
}

async fn write(store: &CheckpointerStore, key: &str, length: usize) -> Result<(), StoreError> {
    store.put(StoreWrite::new(["notes"], key, json!({"text": "x".repeat(length)}))).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_search_sees_what_another_connection_has_changed() {
    let Some(address) = server::new_store() else { return };
    let (one, other) = (embedding(server::open(&address)), embedding(server::open(&address)));
    let best = async |store: &CheckpointerStore| {
        let found = store.search(StoreSearch::new(["notes"]).query("xx").limit(1)).await.unwrap();
        found.into_iter().next().map(|item| item.key)
    };
    write(&one, "far", 9).await.unwrap();
    assert_eq!(best(&one).await.as_deref(), Some("far"));
    let both = (0..20).map(|n| {
        let (store, key) = (if n % 2 == 0 { &one } else { &other }, format!("{n}"));
        async move { write(store, &key, 20 + n).await }
    });
    futures::future::try_join_all(both).await.unwrap();
    write(&other, "near", 2).await.unwrap();
    assert_eq!(best(&one).await.as_deref(), Some("near"));
    other.delete(ItemName::new(["notes"], "near")).await.unwrap();
    assert_eq!(best(&one).await.as_deref(), Some("far"));
    let all = one.search(StoreSearch::new(["notes"]).query("xx").limit(100)).await.unwrap();
    assert_eq!(all.len(), 21);
}
