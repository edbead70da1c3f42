//! Searches and lists of a store: by name, by words, by meaning. Knows no writes.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures::future::try_join_all;

use super::super::error::StoreError;
use super::super::item::{StoreItem, StoreSearch};
use super::super::namespace::{Namespace, NamespaceQuery};
use super::super::text::WordSearch;
use super::change::ITEMS;
use super::name::{decode_name, encode_prefix, end_of};
use super::record::ItemRecord;
use super::store::CheckpointerStore;
use crate::checkpoint::{Item, ItemKey, ItemScan};

/// Number of items that are read at once.
const PAGE: usize = 128;
/// Number of items that are read at once for a list of namespaces.
const LIST_PAGE: usize = 16;

/// Item that a search has found.
struct Hit {
    key: Arc<str>,
    record: ItemRecord,
    score: Option<f64>,
}

impl CheckpointerStore {
    pub(super) async fn find_items(&self, search: StoreSearch) -> Result<Vec<StoreItem>, StoreError> {
        let hits = match (search.words(), &self.index) {
            (None, _) => self.by_name(&search).await?,
            (Some(query), None) => self.by_words(&search, &WordSearch::new(query)).await?,
            (Some(query), Some(index)) => {
                let query = index.embed_query(query).await?;
                let vectors = index.vectors(&*self.checkpointer, query.len()).await?;
                let prefix = encode_prefix(&search.namespace_prefix);
                // Comparing many vectors takes milliseconds, in which this thread runs nothing else.
                let ranked = tokio::task::spawn_blocking(move || vectors.rank(&query, &prefix)).await;
                let ranked = ranked.map_err(|source| StoreError::Backend { source: source.into() })?;
                self.by_meaning(&search, ranked).await?
            }
        };
        self.return_hits(&search, hits).await
    }

    /// Returns the items of a page of hits.
    async fn return_hits(&self, search: &StoreSearch, hits: Vec<Hit>) -> Result<Vec<StoreItem>, StoreError> {
        let page: Vec<Hit> = hits.into_iter().skip(search.offset).take(search.limit).collect();
        if search.refresh_ttl {
            let expiring = page.iter().filter(|hit| hit.record.ttl.is_some());
            try_join_all(expiring.map(|hit| self.refresh(&hit.key))).await?;
        }
        page.into_iter().map(|hit| hit.record.into_item(&hit.key, hit.score)).collect()
    }

    /// Finds items in the order of their names, until there are enough.
    async fn by_name(&self, search: &StoreSearch) -> Result<Vec<Hit>, StoreError> {
        let (mut hits, mut after) = (vec![], None);
        loop {
            let page = self.page(&search.namespace_prefix, after.take()).await?;
            after = next_page(&page, PAGE);
            hits.extend(self.alive(search, page)?);
            if after.is_none() || hits.len() >= search.enough() {
                return Ok(hits);
            }
        }
    }

    /// Finds items by their words, those with the most matches first.
    async fn by_words(&self, search: &StoreSearch, words: &WordSearch) -> Result<Vec<Hit>, StoreError> {
        let (mut hits, mut after): (Vec<Hit>, _) = (vec![], None);
        loop {
            let page = self.page(&search.namespace_prefix, after.take()).await?;
            after = next_page(&page, PAGE);
            let scored = self.alive(search, page)?.into_iter().filter_map(|hit| {
                let score = words.score(&hit.record.value)?;
                Some(Hit { score: Some(score), ..hit })
            });
            hits.extend(scored);
            // Equal ones stay in the order of their names, and what can never be in the answer is not kept.
            hits.sort_by(|one, other| other.score.unwrap_or(0.0).total_cmp(&one.score.unwrap_or(0.0)));
            hits.truncate(search.enough());
            if after.is_none() {
                return Ok(hits);
            }
        }
    }

    /// Reads ranked items in their order, until there are enough.
    async fn by_meaning(&self, search: &StoreSearch, ranked: Vec<(Arc<str>, f32)>) -> Result<Vec<Hit>, StoreError> {
        let mut hits = vec![];
        for page in ranked.chunks(search.enough().clamp(1, PAGE)) {
            let keys: Vec<ItemKey> = page.iter().map(|(key, _)| ItemKey::new(ITEMS, Arc::clone(key))).collect();
            let found = self.checkpointer.get_items(keys.clone()).await?;
            for (((_, score), key), bytes) in page.iter().zip(keys).zip(found) {
                let found = bytes.map(|bytes| (key, bytes)).into_iter().collect();
                let scored = self.alive(search, found)?.into_iter();
                hits.extend(scored.map(|hit| Hit { score: Some(f64::from(*score)), ..hit }));
            }
            if hits.len() >= search.enough() {
                break;
            }
        }
        Ok(hits)
    }

    /// Returns the items that have not expired and meet the conditions of a search.
    fn alive(&self, search: &StoreSearch, items: Vec<Item>) -> Result<Vec<Hit>, StoreError> {
        let (now, mut hits) = (self.now(), vec![]);
        for (name, bytes) in items {
            let record = ItemRecord::decode(&name.key, &bytes)?;
            if !record.has_expired(now) && search.filter.fits(&record.value) {
                hits.push(Hit { key: name.key, record, score: None });
            }
        }
        Ok(hits)
    }

    async fn page(&self, namespace: &Namespace, after: Option<ItemKey>) -> Result<Vec<Item>, StoreError> {
        let scan = ItemScan { after, limit: PAGE, ..ItemScan::of(ITEMS).prefix(encode_prefix(namespace)) };
        Ok(self.checkpointer.scan_items(&scan).await?)
    }

    /// Lists namespaces. The rest of a namespace that was seen is skipped.
    pub(super) async fn list(&self, query: NamespaceQuery) -> Result<Vec<Namespace>, StoreError> {
        let (mut all, mut after) = (BTreeSet::new(), None);
        let prefix = encode_prefix(&query.literal_prefix());
        loop {
            let scan =
                ItemScan { after: after.take(), limit: LIST_PAGE, ..ItemScan::of(ITEMS).prefix(prefix.as_str()) };
            let page = self.checkpointer.scan_items(&scan).await?;
            after = next_page(&page, LIST_PAGE);
            for (item, bytes) in &page {
                if ItemRecord::decode(&item.key, bytes)?.has_expired(self.now()) {
                    continue;
                }
                let Some(name) = decode_name(&item.key) else { continue };
                after = after.map(|last| last.max(ItemKey::new(ITEMS, end_of(&name.namespace))));
                all.extend(query.list(&name.namespace));
            }
            if after.is_none() {
                return Ok(all.into_iter().skip(query.offset).take(query.limit).collect());
            }
        }
    }
}

impl StoreSearch {
    /// Returns the number of hits after which no more are needed.
    fn enough(&self) -> usize {
        self.offset.saturating_add(self.limit)
    }
}

/// Returns the item after which the next page begins; `None` after the last page.
fn next_page(page: &[Item], size: usize) -> Option<ItemKey> {
    page.last().filter(|_| page.len() == size).map(|(name, _)| name.clone())
}
