//! The embedding of a store, and the vectors of its items in memory: true as of the last change, whichever process made it. Knows
//! no search.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;
use superstep_base::gather;
use tokio::sync::Mutex;

use super::super::embed::Embed;
use super::super::error::StoreError;
use super::super::item::IndexFields;
use super::super::text::texts_at;
use super::change::VECTORS;
use super::log::{changes_between, last_change};
use super::record::VectorRecord;
use super::vectors::Vectors;
use crate::checkpoint::{Checkpointer, ItemKey, ItemScan};

/// Number of stored vectors that are read at once.
const PAGE: usize = 256;

/// Embedding with a cache of the vectors.
pub(super) struct VectorIndex {
    embed: Arc<dyn Embed>,
    /// Paths of the fields that are embedded unless a write says otherwise.
    pub fields: Vec<String>,
    cache: Mutex<VectorCache>,
}

/// Vectors as of a change.
#[derive(Clone, Debug, Default)]
struct VectorCache {
    /// `None` before they are read.
    change: Option<u64>,
    vectors: Arc<Vectors>,
}

impl VectorIndex {
    pub(super) fn new(embed: Arc<dyn Embed>) -> Self {
        Self { embed, fields: vec!["$".into()], cache: Mutex::default() }
    }

    /// Embeds the fields of a value; `None` if there is no text in them.
    pub(super) async fn embed_value(
        &self,
        value: &Value,
        fields: &IndexFields,
    ) -> Result<Option<VectorRecord>, StoreError> {
        let paths = match fields {
            IndexFields::OfStore => &self.fields,
            IndexFields::Paths(paths) => paths,
            IndexFields::Nothing => return Ok(None),
        };
        let texts: Vec<String> = paths.iter().flat_map(|path| texts_at(value, path)).collect();
        if texts.is_empty() {
            return Ok(None);
        }
        let vectors = self.embed_texts(texts).await?;
        Ok(Some(VectorRecord { model: self.embed.name().into(), vectors }))
    }

    /// Embeds the text of a query.
    pub(super) async fn embed_query(&self, query: &str) -> Result<Vec<f32>, StoreError> {
        Ok(self.embed_texts(vec![query.into()]).await?.swap_remove(0))
    }

    async fn embed_texts(&self, texts: Vec<String>) -> Result<Vec<Vec<f32>>, StoreError> {
        let count = texts.len();
        let vectors = self.embed.embed(texts).await.map_err(|source| StoreError::Embedding { source })?;
        match fault_of(&vectors, count) {
            Some(reason) => Err(StoreError::InvalidVectors { reason }),
            None => Ok(vectors),
        }
    }

    /// Returns the vectors of a length as they are now. Reads one item if nothing has changed, else what has.
    pub(super) async fn vectors(&self, store: &dyn Checkpointer, length: usize) -> Result<Arc<Vectors>, StoreError> {
        let mut cache = self.cache.lock().await;
        let last = last_change(store).await?;
        let is_of_length = cache.vectors.length() == length;
        match cache.change.filter(|_| is_of_length) {
            Some(change) if change == last => {}
            Some(change) => match changes_between(store, (change, last)).await? {
                Some(names) => self.reload(store, &names, &mut cache).await?,
                None => cache.vectors = Arc::new(self.load(store, length).await?),
            },
            None => cache.vectors = Arc::new(self.load(store, length).await?),
        }
        // What was read is as new as this change or newer, and reading a change twice does no harm.
        cache.change = Some(last);
        Ok(Arc::clone(&cache.vectors))
    }

    /// Reads the vectors of items that changed.
    async fn reload(
        &self,
        store: &dyn Checkpointer,
        names: &[Arc<str>],
        cache: &mut VectorCache,
    ) -> Result<(), StoreError> {
        // If this is not awaited to its end, everything is read the next time.
        cache.change = None;
        let names: Vec<&Arc<str>> = gather::<BTreeSet<_>, _>(names.iter()).into_iter().collect();
        for page in names.chunks(PAGE) {
            let keys = page.iter().map(|name| ItemKey::new(VECTORS, Arc::clone(name))).collect();
            let found = store.get_items(keys).await?;
            let vectors = Arc::make_mut(&mut cache.vectors);
            for (name, bytes) in page.iter().zip(found) {
                match bytes {
                    Some(bytes) => self.set(vectors, name, &bytes)?,
                    None => vectors.remove(name),
                }
            }
        }
        Ok(())
    }

    /// Reads all vectors of a length.
    async fn load(&self, store: &dyn Checkpointer, length: usize) -> Result<Vectors, StoreError> {
        let (mut vectors, mut after) = (Vectors::new(length), None);
        loop {
            let scan = ItemScan { after: after.take(), limit: PAGE, ..ItemScan::of(VECTORS) };
            let page = store.scan_items(&scan).await?;
            for (name, bytes) in &page {
                self.set(&mut vectors, &name.key, bytes)?;
            }
            match page.last() {
                Some((name, _)) if page.len() == PAGE => after = Some(name.clone()),
                _ => return Ok(vectors),
            }
        }
    }

    /// Sets the vectors of an item; those of another model are left out.
    fn set(&self, vectors: &mut Vectors, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
        let record = VectorRecord::decode(name, bytes)?;
        match record.model == self.embed.name() {
            true => vectors.set(name, &record.vectors),
            false => vectors.remove(name),
        }
        Ok(())
    }
}

/// Returns what is wrong with the vectors of texts.
fn fault_of(vectors: &[Vec<f32>], texts: usize) -> Option<String> {
    if vectors.len() != texts {
        return Some(format!("{} vectors for {texts} texts", vectors.len()));
    }
    let length = vectors.first().map_or(0, Vec::len);
    if length == 0 || vectors.iter().any(|vector| vector.len() != length) {
        return Some("vectors without numbers, or of several lengths".into());
    }
    let is_finite = vectors.iter().flatten().all(|number| number.is_finite());
    (!is_finite).then(|| "a number that is not finite".into())
}
