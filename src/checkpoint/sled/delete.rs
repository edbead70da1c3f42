//! Deletes a whole thread, of any size: first a mark that makes the deletion final, then the rows in batches, then the
//! mark. After a crash in between, the next opening continues. Looks only at the prefix of row keys, so that damaged
//! rows can be deleted too.

use std::ops::Bound;

use ::sled::Batch;

use super::disk::{Disk, Tree};
use super::epoch::store_row;
use super::read::thread_name;
use super::rows::{DELETING, DELETIONS, RECORDS, STORE, after, deletion_rows, in_space};
use super::view::View;
use crate::checkpoint::{CheckpointError, Order, ThreadId};

type Result<T> = std::result::Result<T, CheckpointError>;

/// Maximum number of rows removed in one batch.
const PIECE: usize = 4096;

/// Deletion of one thread.
pub(super) struct Deletion {
    name: Vec<u8>,
}

impl Deletion {
    pub(super) fn of(thread: &ThreadId) -> Self {
        Self { name: thread_name(thread) }
    }

    /// Makes the deletion final, as commit `number`.
    pub(super) fn mark(&self, disk: &Disk, epoch: u64, number: u64) -> Result<()> {
        let mut batch = Batch::default();
        batch.insert(STORE, store_row(epoch, number)?);
        batch.insert(in_space(DELETING, &self.name), &[]);
        deletion_rows(&self.name, number, &[]).into_iter().for_each(|(key, row)| batch.insert(key, row));
        disk.write(batch)
    }

    /// Hides the thread from readers.
    pub(super) fn hide(&self, view: &View) {
        view.hide_thread(self.name.clone());
    }

    /// Shows the rows under the thread's name again.
    pub(super) fn show(&self, view: &View) {
        view.show_thread(&self.name);
    }

    pub(super) fn finish(&self, disk: &Disk) -> Result<()> {
        loop {
            let (batch, rows) = self.piece(disk)?;
            if rows == 0 {
                break;
            }
            disk.write(batch)?;
        }
        let mut batch = Batch::default();
        batch.remove(in_space(DELETING, &self.name));
        let said = in_space(DELETIONS, &self.name);
        for row in disk.rows(&said, Bound::Excluded(&after(&said))) {
            batch.remove(row?.0);
        }
        disk.write(batch)
    }

    fn piece(&self, disk: &Disk) -> Result<(Batch, usize)> {
        let lo = in_space(RECORDS, &self.name);
        let mut batch = Batch::default();
        let mut rows = 0;
        for row in disk.rows(&lo, Bound::Excluded(&after(&lo))).take(PIECE) {
            batch.remove(row?.0);
            rows += 1;
        }
        Ok((batch, rows))
    }
}

/// Returns the names of threads whose deletion was interrupted by a crash.
pub(super) fn unfinished(tree: &dyn Tree) -> Result<Vec<Vec<u8>>> {
    let marks = tree.range(&[DELETING], &after(&[DELETING]), Order::Ascending);
    marks.map(|row| Ok(row?.0[1..].to_vec())).collect()
}

/// Finishes deletions that were interrupted by a crash.
pub(super) fn finish_all(disk: &Disk) -> Result<()> {
    unfinished(disk)?.into_iter().try_for_each(|name| Deletion { name }.finish(disk))
}
