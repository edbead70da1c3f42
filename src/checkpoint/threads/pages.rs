//! Reads many records of a thread page by page, and finds ids of git's objects in them. Knows the contract only.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use crate::checkpoint::{CheckpointError, CheckpointId, Checkpointer, Key, Order, RowId, ThreadId};

/// Maximum number of records in a page: their values are in memory together.
const PAGE: usize = 64;
/// Number of records in the first page, when their sizes are unknown.
const FIRST: usize = 8;
/// Target size of a page in bytes: after a larger page, fewer records are read at once.
const PAGE_BYTES: usize = 4 << 20;

/// Greatest key of a thread.
pub(in crate::checkpoint) const LAST: Key = Key::Signal { order: u64::MAX, id: u64::MAX };

/// Returns the key range of values, journals, events and signals: all keys after [`structure`].
pub(in crate::checkpoint) fn values() -> RangeInclusive<Key> {
    Key::Row(RowId::default())..=LAST
}

/// Returns the key range of the engine's own records, without head, journals and events.
pub(in crate::checkpoint) fn structure() -> RangeInclusive<Key> {
    let last = Key::Child { checkpoint: CheckpointId(u64::MAX), task: u32::MAX, call: u32::MAX };
    Key::About..=last
}

/// Reads a range of keys page by page.
pub(in crate::checkpoint) struct Pages<'a> {
    store: &'a dyn Checkpointer,
    thread: &'a ThreadId,
    from: Option<Key>,
    to: Key,
    started: bool,
    /// Number of records in the next page.
    size: usize,
}

impl<'a> Pages<'a> {
    pub(in crate::checkpoint) fn of(
        store: &'a dyn Checkpointer,
        thread: &'a ThreadId,
        range: RangeInclusive<Key>,
    ) -> Self {
        let (from, to) = range.into_inner();
        Self { store, thread, from: Some(from), to, started: false, size: FIRST }
    }

    /// Returns the next records; `None` after the last.
    pub(in crate::checkpoint) async fn next(&mut self) -> Result<Option<Vec<(Key, Vec<u8>)>>, CheckpointError> {
        let Some(from) = self.from.take() else { return Ok(None) };
        let range = from.clone()..=self.to.clone();
        let mut page = self.store.scan(self.thread, range, Order::Ascending, self.size + 1).await?;
        let full = page.len() > self.size;
        self.size = fitting(&page);
        // The range starts with the last record of the previous page, if that still exists.
        if self.started && page.first().is_some_and(|(key, _)| *key == from) {
            page.remove(0);
        }
        self.started = true;
        if full {
            self.from = page.last().map(|(key, _)| key.clone());
        }
        Ok((!page.is_empty()).then_some(page))
    }
}

/// Returns the number of records of this size that fit in a page.
fn fitting(page: &[(Key, Vec<u8>)]) -> usize {
    let bytes: usize = page.iter().map(|(_, value)| value.len()).sum();
    (PAGE_BYTES * page.len() / bytes.max(1)).clamp(1, PAGE)
}

/// Length of an id of one of git's objects.
const ID: usize = 40;

/// Returns everything in the records that looks like an id of 40 hexadecimal digits.
#[cfg_attr(not(feature = "agents"), allow(dead_code, reason = "only agents work on git repositories"))]
pub(crate) async fn hex_ids(store: &dyn Checkpointer, thread: &ThreadId) -> Result<BTreeSet<String>, CheckpointError> {
    let (mut ids, mut pages) = (BTreeSet::new(), Pages::of(store, thread, Key::About..=LAST));
    while let Some(page) = pages.next().await? {
        page.iter().for_each(|(_, bytes)| ids.extend(ids_in(bytes)));
    }
    Ok(ids)
}

/// Returns the ids in bytes. What follows an id may look like another digit; what precedes it is the length of its text.
fn ids_in(bytes: &[u8]) -> impl Iterator<Item = String> {
    let runs = bytes.split(|byte| !byte.is_ascii_digit() && !(b'a'..=b'f').contains(byte));
    runs.filter_map(|run| String::from_utf8(run.get(..ID)?.to_vec()).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_found_in_packed_values_and_texts() {
        let [one, two] = ["a".repeat(ID), "0".repeat(ID)];
        let mut bytes = vec![0x92, 0xd9, 0x28];
        bytes.extend(one.as_bytes());
        bytes.extend([0x31, 0xd9]); // the number 49
        bytes.extend(format!("\"{two}\", {}", "f".repeat(ID - 1)).as_bytes());
        assert_eq!(ids_in(&bytes).collect::<Vec<_>>(), [one, two]);
    }
}
