//! Lifetimes of items: begun anew by reads, and removal of what has expired. Knows no search.

use std::sync::atomic::Ordering;

use futures::future::try_join_all;

use super::super::error::StoreError;
use super::change::{EXPIRY, FoundItem, NewVectors, read_expiry};
use super::record::ItemRecord;
use super::store::CheckpointerStore;
use crate::checkpoint::{ItemKey, ItemScan, ItemWrite};

/// Milliseconds between two removals by the writes of a process.
const INTERVAL: u64 = 60_000;
/// Number of items that are removed at once.
const PAGE: usize = 64;

impl CheckpointerStore {
    /// Begins the lifetime of an item anew, unless it has ended.
    pub(super) async fn refresh(&self, key: &str) -> Result<(), StoreError> {
        let now = self.now();
        let next = |found: Option<&FoundItem>| {
            let record = found.map(|found| &found.record).filter(|record| !record.has_expired(now))?;
            let expires_at = Some(now.saturating_add(record.ttl?));
            (expires_at > record.expires_at).then(|| Some(ItemRecord { expires_at, ..record.clone() }))
        };
        self.change(key, NewVectors::Same, next).await
    }

    /// Removes expired items once a minute, for writes of items that expire. If that fails, the write goes on.
    pub(super) async fn remove_expired_now_and_then(&self, expires: bool) {
        let (now, last) = (self.now(), self.removed_at.load(Ordering::Relaxed));
        if !expires || now < last.saturating_add(INTERVAL) {
            return;
        }
        self.removed_at.store(now, Ordering::Relaxed);
        if let Err(error) = self.remove_all_expired().await {
            tracing::warn!(%error, "expired items of the long-term store were not removed");
        }
    }

    /// Removes all expired items, and returns their number.
    pub(super) async fn remove_all_expired(&self) -> Result<usize, StoreError> {
        let (mut count, now) = (0, self.now());
        loop {
            let page = self.checkpointer.scan_items(&ItemScan::of(EXPIRY).limit(PAGE)).await?;
            let expired: Vec<ItemKey> = page.into_iter().map(|(entry, _)| entry).collect();
            let expired: Vec<_> = expired.iter().filter_map(|entry| Some((entry, read_expiry(&entry.key)?))).collect();
            let expired: Vec<_> = expired.into_iter().filter(|(_, (at, _))| *at <= now).collect();
            try_join_all(expired.iter().map(|(entry, (_, key))| self.remove(entry, key, now))).await?;
            count += expired.len();
            if expired.len() < PAGE {
                return Ok(count);
            }
        }
    }

    /// Removes an item that has expired, and its entry in the order of expiry.
    async fn remove(&self, entry: &ItemKey, key: &str, now: u64) -> Result<(), StoreError> {
        let delete = |found: Option<&FoundItem>| found.filter(|found| found.record.has_expired(now)).map(|_| None);
        self.change(key, NewVectors::Set(None), delete).await?;
        // Its own entry went with the item; one that does not belong to it stays otherwise, and would be met again and again.
        Ok(self.checkpointer.write_items(vec![ItemWrite::delete(entry.clone())]).await?)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::sync::Arc;

    use rstest::rstest;
    use serde_json::json;

    use super::*;
    use crate::checkpoint::MemoryCheckpointer;
    use crate::memory::items::change::ITEMS;
    use crate::memory::{Store, StoreRead, StoreSearch, StoreWrite};

    const MINUTE: u64 = 60_000;

    thread_local! {
        static NOW: Cell<u64> = const { Cell::new(0) };
    }

    fn at(minute: u64) {
        NOW.set(minute * MINUTE);
    }

    fn store() -> CheckpointerStore {
        at(0);
        CheckpointerStore::new(Arc::new(MemoryCheckpointer::new())).with_clock(|| NOW.get())
    }

    fn write(key: &str) -> StoreWrite {
        StoreWrite::new(["notes"], key, json!({}))
    }

    async fn stored(store: &CheckpointerStore) -> usize {
        let places = [ITEMS, EXPIRY];
        let counts = places.map(|place| async move { store.checkpointer.scan_items(&ItemScan::of(place)).await });
        try_join_all(counts).await.unwrap().iter().map(Vec::len).sum()
    }

    #[rstest]
    #[case::get(true, true, true)]
    #[case::get_without_refresh(true, false, false)]
    #[case::search(false, true, true)]
    #[case::search_without_refresh(false, false, false)]
    #[tokio::test]
    async fn a_read_begins_the_lifetime_anew_unless_it_says_otherwise(
        #[case] by_name: bool,
        #[case] refresh: bool,
        #[case] is_there: bool,
    ) {
        let store = store();
        store.put(write("one").ttl_minutes(10.0)).await.unwrap();
        at(9);
        let found = match by_name {
            true => store.get(StoreRead::new(["notes"], "one").refresh_ttl(refresh)).await.unwrap().is_some(),
            false => !store.search(StoreSearch::new(["notes"]).refresh_ttl(refresh)).await.unwrap().is_empty(),
        };
        assert!(found);
        at(11);
        let read = StoreRead::new(["notes"], "one").refresh_ttl(false);
        let item = store.get(read).await.unwrap();
        assert_eq!(item.is_some(), is_there);
        assert!(item.is_none_or(|item| item.updated_at == 0), "a read is no write");
        at(20);
        assert!(store.search(StoreSearch::new(["notes"])).await.unwrap().is_empty());
    }

    #[tokio::test]
    async fn an_item_that_has_expired_is_new_when_it_is_written_again() {
        let store = store();
        store.put(write("one").ttl_minutes(1.0)).await.unwrap();
        at(2);
        store.put(write("one")).await.unwrap();
        let item = store.get(StoreRead::new(["notes"], "one")).await.unwrap().unwrap();
        assert_eq!(item.created_at, 2 * MINUTE);
        assert_eq!(stored(&store).await, 1);
    }

    #[tokio::test]
    async fn expired_items_are_removed_all_and_alone() {
        let store = store();
        for n in 0..150 {
            store.put(write(&format!("brief {n}")).ttl_minutes(1.0)).await.unwrap();
        }
        store.put(write("long").ttl_minutes(10.0)).await.unwrap();
        store.put(write("forever")).await.unwrap();
        at(2);
        assert_eq!(store.remove_expired().await.unwrap(), 150);
        assert_eq!(stored(&store).await, 3);
        assert_eq!(store.search(StoreSearch::new(["notes"])).await.unwrap().len(), 2);
    }

    #[tokio::test]
    async fn writes_of_items_that_expire_remove_those_that_have() {
        let store = store();
        store.put(write("one").ttl_minutes(0.5)).await.unwrap();
        at(2);
        store.put(write("two").ttl_minutes(1.0)).await.unwrap();
        assert_eq!(stored(&store).await, 2);
        let found = store.checkpointer.scan_items(&ItemScan::of(ITEMS)).await.unwrap();
        assert_eq!(&*found[0].0.key, "notes/=two");
    }
}
