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

    /// Removes expired items once a minute, for writes of items that expire.
    pub(super) async fn remove_expired_now_and_then(&self, expires: bool) -> Result<(), StoreError> {
        let (now, last) = (self.now(), self.removed_at.load(Ordering::Relaxed));
        if !expires || now < last.saturating_add(INTERVAL) {
            return Ok(());
        }
        self.removed_at.store(now, Ordering::Relaxed);
        self.remove_all_expired().await.map(|_| ())
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
