//! All writes of one change of an item: the item, its place in the order of expiry, its vectors, and the log. Knows no search.

use super::super::error::StoreError;
use super::log::change_writes;
use super::record::{ItemRecord, VectorRecord};
use crate::checkpoint::{Checkpointer, ExpectedItem, ItemKey, ItemWrite};

/// Items of the store.
pub(super) const ITEMS: &str = "superstep.memory.items";
/// Their times of expiry, in the order of time: `TIME NAME`.
pub(super) const EXPIRY: &str = "superstep.memory.expiry";
/// Their vectors.
pub(super) const VECTORS: &str = "superstep.memory.vectors";

/// Item as it was read: a change of it is refused if it was written since.
#[derive(Clone, Debug)]
pub(super) struct FoundItem {
    pub record: ItemRecord,
    pub bytes: Vec<u8>,
}

/// Change of one item.
#[derive(Debug)]
pub(super) struct Change<'a> {
    /// Name of the item as a key.
    pub key: &'a str,
    /// The item before.
    pub found: Option<&'a FoundItem>,
    /// The item after; `None` to delete it.
    pub next: Option<ItemRecord>,
    pub vectors: NewVectors<'a>,
}

/// Vectors of an item after a change.
#[derive(Clone, Copy, Debug)]
pub(super) enum NewVectors<'a> {
    /// Those from before.
    Same,
    /// These; none to delete them.
    Set(Option<&'a VectorRecord>),
}

impl Change<'_> {
    /// Returns the writes, which are accepted together or not at all.
    pub(super) async fn writes(self, store: &dyn Checkpointer) -> Result<Vec<ItemWrite>, StoreError> {
        let mut writes = vec![self.item_write()?];
        writes.extend(self.expiry_writes());
        if let Some(write) = self.vector_write() {
            writes.push(write);
            writes.extend(change_writes(store, self.key).await?);
        }
        Ok(writes)
    }

    fn item_write(&self) -> Result<ItemWrite, StoreError> {
        let key = ItemKey::new(ITEMS, self.key);
        let write = match &self.next {
            Some(record) => ItemWrite::put(key, record.encode(self.key)?),
            None => ItemWrite::delete(key),
        };
        let expected = self.found.map_or(ExpectedItem::Absent, |found| ExpectedItem::Value(found.bytes.clone()));
        Ok(write.expecting(expected))
    }

    fn expiry_writes(&self) -> Vec<ItemWrite> {
        let before = self.found.and_then(|found| found.record.expires_at);
        let after = self.next.as_ref().and_then(|next| next.expires_at);
        if before == after {
            return vec![];
        }
        let old = before.map(|at| ItemWrite::delete(expiry_key(at, self.key)));
        let new = after.map(|at| ItemWrite::put(expiry_key(at, self.key), ""));
        old.into_iter().chain(new).collect()
    }

    fn vector_write(&self) -> Option<ItemWrite> {
        let had = self.found.is_some_and(|found| found.record.has_vectors);
        let key = ItemKey::new(VECTORS, self.key);
        match self.vectors {
            NewVectors::Set(Some(vectors)) => Some(ItemWrite::put(key, vectors.encode())),
            NewVectors::Set(None) if had => Some(ItemWrite::delete(key)),
            NewVectors::Set(None) | NewVectors::Same => None,
        }
    }
}

/// Number of digits of a time in a key.
const DIGITS: usize = 14;

/// Returns the place of an item in the order of expiry.
pub(super) fn expiry_key(at: u64, key: &str) -> ItemKey {
    let at = at.min(10_u64.pow(DIGITS as u32) - 1);
    ItemKey::new(EXPIRY, format!("{at:0DIGITS$} {key}"))
}

/// Returns the time and the item of a place in the order of expiry.
pub(super) fn read_expiry(key: &str) -> Option<(u64, &str)> {
    let (at, key) = key.split_once(' ')?;
    Some((at.parse().ok()?, key))
}
