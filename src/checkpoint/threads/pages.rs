//! Reading many records of a thread a page at a time. Knows the contract only.

use std::ops::RangeInclusive;

use crate::checkpoint::{CheckpointError, CheckpointId, Checkpointer, Key, Order, RowId, ThreadId};

/// How many records are read at once, unless they are large: their values are in memory together.
const PAGE: usize = 64;
/// How many are read first, when nothing is known of their sizes.
const FIRST: usize = 8;
/// How many bytes the values of a page should have at most: after a page with more, fewer are read at once.
const PAGE_BYTES: usize = 4 << 20;

/// The greatest key of a thread.
pub(in crate::checkpoint) const LAST: Key = Key::Signal { order: u64::MAX, id: u64::MAX };

/// The keys of values, journals and events: those after [`structure`].
pub(in crate::checkpoint) fn values() -> RangeInclusive<Key> {
    Key::Row(RowId::default())..=LAST
}

/// The keys of the engine's own records, apart from the head, journals and events.
pub(in crate::checkpoint) fn structure() -> RangeInclusive<Key> {
    let last = Key::Child { checkpoint: CheckpointId(u64::MAX), task: u32::MAX, call: u32::MAX };
    Key::About..=last
}

/// Reads a range of keys, page by page.
pub(in crate::checkpoint) struct Pages<'a> {
    store: &'a dyn Checkpointer,
    thread: &'a ThreadId,
    from: Option<Key>,
    to: Key,
    begun: bool,
    /// How many records the next page has.
    size: usize,
}

impl<'a> Pages<'a> {
    pub(in crate::checkpoint) fn of(
        store: &'a dyn Checkpointer,
        thread: &'a ThreadId,
        range: RangeInclusive<Key>,
    ) -> Self {
        let (from, to) = range.into_inner();
        Self { store, thread, from: Some(from), to, begun: false, size: FIRST }
    }

    /// Returns the next records; none after the last.
    pub(in crate::checkpoint) async fn next(&mut self) -> Result<Option<Vec<(Key, Vec<u8>)>>, CheckpointError> {
        let Some(from) = self.from.take() else { return Ok(None) };
        let range = from.clone()..=self.to.clone();
        let mut page = self.store.scan(self.thread, range, Order::Ascending, self.size + 1).await?;
        let full = page.len() > self.size;
        self.size = fitting(&page);
        // A range begins with the record that the page before it ended with, if that is still there.
        if self.begun && page.first().is_some_and(|(key, _)| *key == from) {
            page.remove(0);
        }
        self.begun = true;
        if full {
            self.from = page.last().map(|(key, _)| key.clone());
        }
        Ok((!page.is_empty()).then_some(page))
    }
}

/// Returns how many records like these a page takes.
fn fitting(page: &[(Key, Vec<u8>)]) -> usize {
    let bytes: usize = page.iter().map(|(_, value)| value.len()).sum();
    (PAGE_BYTES * page.len() / bytes.max(1)).clamp(1, PAGE)
}
