//! Deletes a whole thread, of any size: first a mark that makes the deletion final, then the rows in batches, then the
//! mark. After a crash in between, the next opening continues. Looks only at the prefix of row keys, so that damaged
//! rows can be deleted too.

use super::engine::{Engine, Rows, Source, Tree};
use super::epoch::store_row;
use super::read::thread_name;
use super::rows::{DELETING, DELETIONS, RECORDS, STORE, after, deletion_rows, in_space};
use super::view::View;
use crate::checkpoint::{CheckpointError, Order, ThreadId};

type Result<T> = std::result::Result<T, CheckpointError>;

/// Maximum number of rows removed in one batch.
const PIECE: usize = 4096;

/// Deletion of one thread.
pub(in crate::checkpoint) struct Deletion {
    name: Vec<u8>,
}

impl Deletion {
    pub(in crate::checkpoint) fn of(thread: &ThreadId) -> Self {
        Self { name: thread_name(thread) }
    }

    /// Makes the deletion final, as commit `number`.
    pub(in crate::checkpoint) fn mark(&self, engine: &impl Engine, epoch: u64, number: u64) -> Result<()> {
        let mut rows = vec![(STORE.to_vec(), store_row(epoch, number)?), (in_space(DELETING, &self.name), vec![])];
        rows.extend(deletion_rows(&self.name, number, &[]));
        engine.write(rows.into_iter().map(|(key, row)| (key, Some(row))).collect())
    }

    /// Hides the thread from readers.
    pub(in crate::checkpoint) fn hide(&self, view: &View<impl Source>) {
        view.hide_thread(self.name.clone());
    }

    /// Shows the rows under the thread's name again.
    pub(in crate::checkpoint) fn show(&self, view: &View<impl Source>) {
        view.show_thread(&self.name);
    }

    pub(in crate::checkpoint) fn finish(&self, engine: &impl Engine) -> Result<()> {
        loop {
            let piece = removals(engine, &in_space(RECORDS, &self.name), PIECE)?;
            if piece.is_empty() {
                break;
            }
            engine.write(piece)?;
        }
        let mut rows = vec![(in_space(DELETING, &self.name), None)];
        rows.extend(removals(engine, &in_space(DELETIONS, &self.name), usize::MAX)?);
        engine.write(rows)
    }
}

/// Returns the removal of up to `limit` rows whose keys start with `prefix`.
fn removals(engine: &impl Engine, prefix: &[u8], limit: usize) -> Result<Rows> {
    let tree = engine.snapshot();
    let rows = tree.range(prefix, &after(prefix), Order::Ascending).take(limit);
    rows.map(|row| Ok((row?.0.as_ref().to_vec(), None))).collect()
}

/// Returns the names of threads whose deletion was interrupted by a crash.
pub(in crate::checkpoint) fn unfinished(tree: &impl Tree) -> Result<Vec<Vec<u8>>> {
    let marks = tree.range(&[DELETING], &after(&[DELETING]), Order::Ascending);
    marks.map(|row| Ok(row?.0.as_ref()[1..].to_vec())).collect()
}

/// Finishes deletions that were interrupted by a crash.
pub(in crate::checkpoint) fn finish_all(engine: &impl Engine) -> Result<()> {
    let names = unfinished(&engine.snapshot())?;
    names.into_iter().try_for_each(|name| Deletion { name }.finish(engine))
}
