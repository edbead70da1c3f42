//! The index of threads in a store: its rows, in a space of keys of their own, and the marks of threads that have changed. Knows
//! rows; must not know who asks for threads.
//!
//! The index is complete as of an opening, whose number is in a row of its own: a release that knows no index raises the number
//! of openings without that row, and the index is made anew.

use super::engine::{RowSource, Rows, Tree};
use super::rows::{CHANGED, INDEX, in_space, prefix_end};
use super::view::Snapshot;
use crate::checkpoint::index::changes::ChangedThreads;
use crate::checkpoint::index::keys::{COMPLETE, IndexReads, decode_summary, index_change, summary_key};
use crate::checkpoint::index::upkeep::IndexEntry;
use crate::checkpoint::key_bytes::{put_number, take_thread};
use crate::checkpoint::{CheckpointError, Order, ThreadId};

type Result<T> = std::result::Result<T, CheckpointError>;

/// Returns the row that says that the index is complete as of an opening.
pub(super) fn complete_row(epoch: u64) -> (Vec<u8>, Vec<u8>) {
    let (key, format) = COMPLETE;
    let mut row = format.to_vec();
    put_number(epoch, &mut row);
    (in_space(INDEX, key), row)
}

/// Returns whether the index is complete as of an opening.
pub(super) fn is_complete(tree: &impl Tree, epoch: u64) -> Result<bool> {
    let (key, row) = complete_row(epoch);
    Ok(tree.get(&key)?.is_some_and(|found| found.as_ref() == row))
}

/// Returns the threads that have changed since the index was brought up to date, if there is one.
pub(super) fn changed_threads(tree: &impl Tree, has_index: bool) -> Result<ChangedThreads> {
    if !has_index {
        return Ok(ChangedThreads::default());
    }
    let mut changed = vec![];
    for row in tree.range(&[CHANGED], &prefix_end(&[CHANGED]), Order::Ascending) {
        changed.extend(take_thread(&mut &row?.0.as_ref()[1..]));
    }
    Ok(ChangedThreads::since_closing(changed))
}

/// Returns the key of the mark of a changed thread.
pub(super) fn mark_key(thread_name: &[u8]) -> Vec<u8> {
    in_space(CHANGED, thread_name)
}

/// Returns the rows that replace a thread in the index, and remove its mark.
pub(super) fn entry_rows(tree: &impl Tree, thread_name: &[u8], entry: &IndexEntry) -> Result<Rows> {
    let mut rows = changed_rows(tree, &entry.thread, entry)?;
    if entry.change.is_some() {
        rows.push((mark_key(thread_name), None));
    }
    Ok(rows)
}

fn changed_rows(tree: &impl Tree, thread: &ThreadId, entry: &IndexEntry) -> Result<Rows> {
    let before = tree.get(&in_space(INDEX, &summary_key(thread)))?;
    let before = before.map(|row| decode_summary(row.as_ref())).transpose()?;
    let rows = index_change(thread, before.as_ref(), entry.summary.as_ref())?;
    Ok(rows.into_iter().map(|(key, row)| (in_space(INDEX, &key), row)).collect())
}

/// Returns the removal of a thread from the index. Keys without a summary, if its row is damaged, find nothing.
pub(super) fn removed_rows(tree: &impl Tree, mut thread_name: &[u8]) -> Result<Rows> {
    let mut rows = vec![(mark_key(thread_name), None)];
    let Some(thread) = take_thread(&mut thread_name) else { return Ok(rows) };
    let gone = IndexEntry { thread, change: None, summary: None };
    rows.extend(changed_rows(tree, &gone.thread, &gone).unwrap_or_default());
    rows.push((in_space(INDEX, &summary_key(&gone.thread)), None));
    Ok(rows)
}

impl<S: RowSource> IndexReads for Snapshot<'_, S> {
    fn keys(&self, from: &[u8], to: &[u8], limit: usize) -> Result<Vec<Vec<u8>>> {
        keys(self, (from, to), Order::Ascending, limit)
    }

    fn last_keys(&self, from: &[u8], to: &[u8], limit: usize) -> Result<Vec<Vec<u8>>> {
        keys(self, (from, to), Order::Descending, limit)
    }

    fn row(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        Ok(self.tree().get(&in_space(INDEX, key))?.map(|row| row.as_ref().to_vec()))
    }
}

/// Returns up to `limit` keys of the index from one bound to before another.
fn keys<S: RowSource>(
    rows: &Snapshot<'_, S>,
    (from, to): (&[u8], &[u8]),
    order: Order,
    limit: usize,
) -> Result<Vec<Vec<u8>>> {
    let (from, to) = (in_space(INDEX, from), in_space(INDEX, to));
    let tree = rows.tree();
    let before =
        tree.range(&from, &to, order).filter(|row| row.as_ref().map_or(true, |(key, _)| key.as_ref() < to.as_slice()));
    before.take(limit).map(|row| Ok(row?.0.as_ref()[1..].to_vec())).collect()
}
