//! Reads many records of a thread page by page. Knows the contract only.

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
