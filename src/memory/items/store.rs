//! The store over the items of a checkpointer: writes and reads of single items. Knows no database.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use superstep_base::time::{millis, now};
use tokio::sync::Mutex;

use super::super::embed::Embed;
use super::super::error::StoreError;
use super::super::item::{StoreItem, StoreRead, StoreSearch, StoreWrite};
use super::super::namespace::{ItemName, Namespace, NamespaceQuery};
use super::super::store::Store;
use super::change::{Change, FoundItem, ITEMS, NewVectors};
use super::index::VectorIndex;
use super::name::encode_name;
use super::record::{ItemRecord, VectorRecord};
use crate::checkpoint::{BoxFuture, CheckpointError, Checkpointer, ItemKey};

/// Number of times that a change is tried again after the item was written in the meantime.
const TRIES: usize = 64;
/// Milliseconds of a minute.
const MINUTE: f64 = 60_000.0;

/// [`Store`] over the items of a checkpointer: memory beside the threads, in the same file or database.
///
/// The namespaces and the key of an item may take 1,968 bytes together, its value 64 MiB. Several handles, in any number of
/// processes, may share a checkpointer.
///
/// ```
/// # use std::sync::Arc;
/// # use superstep::checkpoint::MemoryCheckpointer;
/// # use superstep::memory::{CheckpointerStore, Store, StoreRead, StoreWrite};
/// # use serde_json::json;
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), superstep::memory::StoreError> {
/// let store = CheckpointerStore::new(Arc::new(MemoryCheckpointer::new()));
/// store.put(StoreWrite::new(["users", "ada"], "prefs", json!({"units": "metric"}))).await?;
/// let found = store.get(StoreRead::new(["users", "ada"], "prefs")).await?;
/// assert_eq!(found.map(|item| item.value), Some(json!({"units": "metric"})));
/// # Ok(()) }
/// ```
pub struct CheckpointerStore {
    pub(super) checkpointer: Arc<dyn Checkpointer>,
    pub(super) index: Option<VectorIndex>,
    /// When expired items were last removed here.
    pub(super) removed_at: AtomicU64,
    /// Held while a change of vectors is written, so that changes of this process do not refuse each other.
    changing: Mutex<()>,
    clock: fn() -> u64,
}

impl fmt::Debug for CheckpointerStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CheckpointerStore").field(&self.checkpointer).finish()
    }
}

impl CheckpointerStore {
    /// Returns the store over the items of a checkpointer. A search with a query is a search for its words.
    pub fn new(checkpointer: Arc<dyn Checkpointer>) -> Self {
        Self { checkpointer, index: None, removed_at: AtomicU64::new(0), changing: Mutex::default(), clock: now }
    }

    /// Embeds what is written from now on, so that a search with a query finds items by their meaning: those with vectors, by the
    /// cosine of their most similar one. The vectors are kept with the items, and in memory once a search has read them.
    #[must_use]
    pub fn with_embed(mut self, embed: Arc<dyn Embed>) -> Self {
        self.index = Some(VectorIndex::new(embed));
        self
    }

    /// Sets the fields that are embedded unless a write says otherwise, by [paths](crate::memory::IndexFields); the whole value
    /// unless set. Does nothing without an embedding.
    #[must_use]
    pub fn index_fields<P: Into<String>>(mut self, paths: impl IntoIterator<Item = P>) -> Self {
        if let Some(index) = &mut self.index {
            index.fields = paths.into_iter().map(Into::into).collect();
        }
        self
    }

    /// Replaces the clock of the machine.
    #[cfg(test)]
    pub(super) fn with_clock(mut self, clock: fn() -> u64) -> Self {
        self.clock = clock;
        self
    }

    /// Returns the time in milliseconds since 1970, by the clock of the checkpointer if it has one.
    pub(super) fn now(&self) -> u64 {
        self.checkpointer.time().map_or_else(self.clock, millis)
    }

    /// Reads an item, expired or not.
    pub(super) async fn find(&self, key: &str) -> Result<Option<FoundItem>, StoreError> {
        let found = self.checkpointer.get_items(vec![ItemKey::new(ITEMS, key)]).await?.pop().flatten();
        found.map(|bytes| Ok(FoundItem { record: ItemRecord::decode(key, &bytes)?, bytes })).transpose()
    }

    /// Changes an item: `change` is called again with the item as it is then, if it was written in the meantime. Nothing is
    /// written if it returns `None`.
    pub(super) async fn change(
        &self,
        key: &str,
        vectors: NewVectors<'_>,
        change: impl Fn(Option<&FoundItem>) -> Option<Option<ItemRecord>> + Send + Sync,
    ) -> Result<(), StoreError> {
        for _ in 0..TRIES {
            let found = self.find(key).await?;
            let Some(next) = change(found.as_ref()) else { return Ok(()) };
            let changes_vectors = match vectors {
                NewVectors::Same => false,
                NewVectors::Set(new) => new.is_some() || found.as_ref().is_some_and(|found| found.record.has_vectors),
            };
            let _changing = if changes_vectors { Some(self.changing.lock().await) } else { None };
            let writes = Change { key, found: found.as_ref(), next, vectors }.writes(&*self.checkpointer).await?;
            match self.checkpointer.write_items(writes).await {
                Err(CheckpointError::ItemConflict { .. }) => tokio::task::yield_now().await,
                written => return Ok(written?),
            }
        }
        Err(CheckpointError::ItemConflict { item: ItemKey::new(ITEMS, key) }.into())
    }

    async fn put_item(&self, write: StoreWrite) -> Result<(), StoreError> {
        write.check()?;
        let key = encode_name(&write.name)?;
        let vectors = match &self.index {
            Some(index) => index.embed_value(&write.value, &write.index).await?,
            None => None,
        };
        self.remove_expired_now_and_then(write.ttl_minutes.is_some()).await;
        let next = |found: Option<&FoundItem>| Some(Some(self.next_record(&write, vectors.as_ref(), found)));
        self.change(&key, NewVectors::Set(vectors.as_ref()), next).await
    }

    /// Returns the record of a write. An expired item was never there.
    fn next_record(&self, write: &StoreWrite, vectors: Option<&VectorRecord>, found: Option<&FoundItem>) -> ItemRecord {
        let now = self.now();
        let alive = found.filter(|found| !found.record.has_expired(now));
        let ttl = write.ttl_minutes.map(|minutes| (minutes * MINUTE).ceil() as u64);
        ItemRecord {
            value: write.value.clone(),
            created_at: alive.map_or(now, |found| found.record.created_at),
            updated_at: now,
            ttl,
            expires_at: ttl.map(|ttl| now.saturating_add(ttl)),
            has_vectors: vectors.is_some(),
        }
    }

    async fn get_item(&self, read: StoreRead) -> Result<Option<StoreItem>, StoreError> {
        let key = encode_name(&read.name)?;
        let found = self.find(&key).await?.filter(|found| !found.record.has_expired(self.now()));
        let Some(found) = found else { return Ok(None) };
        if read.refresh_ttl && found.record.ttl.is_some() {
            self.refresh(&key).await?;
        }
        Ok(Some(found.record.into_item(&key, None)?))
    }

    async fn delete_item(&self, name: ItemName) -> Result<(), StoreError> {
        let key = encode_name(&name)?;
        self.change(&key, NewVectors::Set(None), |found| found.map(|_| None)).await
    }
}

impl Store for CheckpointerStore {
    fn put(&self, write: StoreWrite) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(self.put_item(write))
    }

    fn get(&self, read: StoreRead) -> BoxFuture<'_, Result<Option<StoreItem>, StoreError>> {
        Box::pin(self.get_item(read))
    }

    fn delete(&self, name: ItemName) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(self.delete_item(name))
    }

    fn search(&self, search: StoreSearch) -> BoxFuture<'_, Result<Vec<StoreItem>, StoreError>> {
        Box::pin(self.find_items(search))
    }

    fn list_namespaces(&self, query: NamespaceQuery) -> BoxFuture<'_, Result<Vec<Namespace>, StoreError>> {
        Box::pin(self.list(query))
    }

    fn remove_expired(&self) -> BoxFuture<'_, Result<usize, StoreError>> {
        Box::pin(self.remove_all_expired())
    }
}
