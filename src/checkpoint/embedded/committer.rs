//! The only thread that writes: takes the queued requests, writes them as one batch with one sync, then answers all of
//! them.
//!
//! Knows the queue, the view and the engine. After a failed write it never writes again: the state of the disk is
//! unknown, so no sync is retried and readers keep seeing what was acknowledged.
//!
//! A whole thread, of any size, is deleted in steps: first a mark that makes the deletion final, then the rows in
//! batches, then the mark. After a crash in between, the next opening continues. Only the prefix of row keys is looked
//! at, so that damaged rows can be deleted too.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use super::batch::{Batch, Change, Indexing, RecentRecords};
use super::commit_marker::MarkerFile;
use super::engine::{Engine, Rows, Tree};
use super::index::removed_rows;
use super::queue::{Operation, Queue, ReplySender, Request};
use super::rows::{
    CHANGED, DELETING, DELETIONS, EPOCH_SHIFT, INDEX, RECORDS, STORE, deletion_rows, in_space, prefix_end, store_row,
    thread_name,
};
use super::view::View;
use crate::checkpoint::index::changes::ChangedThreads;
use crate::checkpoint::index::upkeep::IndexWrite;
use crate::checkpoint::{CheckpointError, Commit, Leases, Order, ThreadId};

type Result<T> = std::result::Result<T, CheckpointError>;
type Outcome = (ThreadId, ReplySender, Result<()>);

/// State shared by the committer and its callers.
#[derive(Debug)]
pub(super) struct CommitterState<E: Engine> {
    pub(super) engine: Arc<E>,
    pub(super) view: View<E>,
    pub(super) queue: Queue,
    pub(super) leases: Leases,
    pub(super) changes: ChangedThreads,
    pub(super) marker_file: MarkerFile,
    /// Number of times the store was opened.
    pub(super) epoch: u64,
    /// Number of the last commit; grows across openings.
    pub(super) commits: AtomicU64,
    pub(super) poison: OnceLock<Arc<str>>,
    /// Number of bytes of the index that were written since the last sync.
    unsynced: AtomicUsize,
}

/// Number of bytes of the index that may be written without a sync: if power fails, few segments of a log are torn.
const UNSYNCED: usize = 64 << 10;

impl<E: Engine> CommitterState<E> {
    pub(super) fn new(engine: E, marker_file: MarkerFile, epoch: u64, changes: ChangedThreads) -> Self {
        let engine = Arc::new(engine);
        Self {
            view: View::new(engine.clone()),
            engine,
            marker_file,
            epoch,
            changes,
            unsynced: AtomicUsize::new(0),
            queue: Queue::default(),
            leases: Leases::above(epoch << EPOCH_SHIFT),
            commits: AtomicU64::new(epoch << EPOCH_SHIFT),
            poison: OnceLock::new(),
        }
    }

    /// Writes until the queue is closed and empty.
    pub(super) fn run(&self) {
        let _end = CloseOnDrop(&self.queue);
        self.engine.maintain();
        let mut recent = RecentRecords::default();
        while let Some(requests) = self.queue.next() {
            let answers = self.execute(requests, &mut recent);
            self.queue.send_replies(answers);
            self.engine.maintain();
        }
        if self.check_poison().is_ok() {
            self.engine.settle();
        }
    }

    pub(super) fn check_poison(&self) -> Result<()> {
        match self.poison.get() {
            Some(reason) => Err(CheckpointError::Poisoned { reason: reason.clone() }),
            None => Ok(()),
        }
    }

    /// Checks and encodes a commit before it is queued.
    pub(super) fn encode(&self, commit: Commit) -> Result<Commit<Vec<u8>>> {
        self.check_poison()?;
        self.leases.check(&commit.thread, commit.epoch)?;
        commit.encode()
    }

    fn execute(&self, requests: Vec<Request>, recent: &mut RecentRecords) -> Vec<Outcome> {
        // A refused request fails alone; all accepted ones share one write and one sync.
        let mut batch = Batch::new(&*self.engine, &self.leases, &self.changes, recent);
        let mut answers: Vec<_> = requests.into_iter().map(|request| self.apply_request(request, &mut batch)).collect();
        if let Err(error) = self.write_batch(batch) {
            // The batch is atomic: if its write fails, every accepted request fails with it.
            answers.iter_mut().filter(|(.., result)| result.is_ok()).for_each(|(.., ok)| *ok = Err(error.clone()));
        }
        answers
    }

    fn apply_request(&self, request: Request, batch: &mut Batch<'_, E>) -> Outcome {
        let Request { thread, operation, answer } = request;
        let result = match operation {
            Operation::Commit(commit) => self.check_poison().and_then(|()| batch.add(commit, self.next_number())),
            Operation::Post(records) => {
                self.check_poison().and_then(|()| batch.post(&thread, records, self.next_number()))
            }
            Operation::PostNew(records) => self.check_poison().and_then(|()| {
                batch.check_absent(&thread, &records)?;
                batch.post(&thread, records, self.next_number())
            }),
            // Takes effect at once and not with the batch: the queue returns a deletion alone.
            Operation::Delete(epoch) => {
                batch.forget(&thread);
                self.check_poison().and_then(|()| self.delete_thread(&thread, epoch))
            }
            Operation::Items(writes) => {
                self.check_poison().and_then(|()| batch.write_items(&writes, self.next_number()))
            }
            Operation::Index(write) => self.check_poison().and_then(|()| self.apply_index(write, batch)),
            Operation::Barrier => Ok(()),
        };
        (thread, answer, result)
    }

    fn apply_index(&self, write: IndexWrite, batch: &mut Batch<'_, E>) -> Result<()> {
        match write {
            // Takes effect at once: the queue returns it alone.
            IndexWrite::Start => self.clear_index().map_err(|error| self.poison(&error)),
            IndexWrite::Entries(entries) => batch.index(entries),
            IndexWrite::Complete => {
                batch.complete_index(self.epoch);
                Ok(())
            }
        }
    }

    fn clear_index(&self) -> Result<()> {
        for space in [INDEX, CHANGED] {
            remove_all(&*self.engine, &[space])?;
        }
        Ok(())
    }

    fn write_batch(&self, batch: Batch<'_, E>) -> Result<()> {
        let Some(change) = batch.finish() else { return Ok(()) };
        let Some((number, key)) = change.newest else { return self.write_to_index(change) };
        if E::SHOWS_UNSYNCED {
            // Readers see the rows as they were until the batch is on disk.
            self.view.hold(change.before);
        }
        self.engine.write(change.rows).map_err(|error| self.poison(&error))?;
        // After the sync and before the replies: the commit that the marker names is on disk.
        self.unsynced.store(0, Ordering::Relaxed);
        self.marker_file.write(number, &key).map_err(|error| self.poison(&error))?;
        if E::SHOWS_UNSYNCED {
            self.view.release();
        }
        self.note_changes(change.indexing);
        Ok(())
    }

    /// Writes a change of the index alone, which need not be on disk: it is made again from the records.
    fn write_to_index(&self, change: Change<E::Bytes>) -> Result<()> {
        let bytes: usize = change.rows.iter().map(|(key, row)| key.len() + row.as_ref().map_or(0, Vec::len)).sum();
        let written = if self.unsynced.fetch_add(bytes, Ordering::Relaxed) + bytes < UNSYNCED {
            self.engine.write_soon(change.rows)
        } else {
            self.unsynced.store(0, Ordering::Relaxed);
            self.engine.write(change.rows)
        };
        written.map_err(|error| self.poison(&error))?;
        self.note_changes(change.indexing);
        Ok(())
    }

    /// Notes changes once readers see them.
    fn note_changes(&self, indexing: Indexing) {
        for (thread, change) in &indexing.settled {
            self.changes.settle(thread, *change);
        }
        indexing.changed.iter().for_each(|thread| _ = self.changes.note(thread));
        indexing.posted.iter().for_each(|thread| self.leases.note_post(thread));
    }

    fn delete_thread(&self, thread: &ThreadId, epoch: u64) -> Result<()> {
        self.leases.check_not_superseded(thread, epoch)?;
        let deletion = Deletion::of(thread);
        let number = self.next_number();
        deletion.mark(&*self.engine, self.epoch, number).map_err(|error| self.poison(&error))?;
        self.marker_file.write(number, STORE).map_err(|error| self.poison(&error))?;
        // The deletion is final now: after a crash the next opening finds its mark and finishes it.
        self.view.hide_thread(deletion.name.clone());
        let change = self.changes.note(thread);
        deletion.finish(&*self.engine).map_err(|error| self.poison(&error))?;
        self.view.show_thread(&deletion.name);
        self.changes.settle_removed(thread, change);
        Ok(())
    }

    fn next_number(&self) -> u64 {
        self.commits.fetch_add(1, Ordering::Relaxed) + 1
    }

    fn poison(&self, error: &CheckpointError) -> CheckpointError {
        let reason = self.poison.get_or_init(|| error.to_string().into());
        CheckpointError::Poisoned { reason: reason.clone() }
    }
}

/// Guard that closes the queue when the committer ends, even by a panic, so that no caller waits forever.
struct CloseOnDrop<'a>(&'a Queue);

impl Drop for CloseOnDrop<'_> {
    fn drop(&mut self) {
        self.0.abandon();
    }
}

/// Maximum number of rows removed in one batch.
const PIECE: usize = 4096;

/// Deletion of one thread.
struct Deletion {
    name: Vec<u8>,
}

impl Deletion {
    fn of(thread: &ThreadId) -> Self {
        Self { name: thread_name(thread) }
    }

    /// Makes the deletion final, as commit `number`.
    fn mark(&self, engine: &impl Engine, epoch: u64, number: u64) -> Result<()> {
        let mut rows = vec![(STORE.to_vec(), store_row(epoch, number)?), (in_space(DELETING, &self.name), vec![])];
        rows.extend(deletion_rows(&self.name, number, &[]));
        engine.write(rows.into_iter().map(|(key, row)| (key, Some(row))).collect())
    }

    fn finish(&self, engine: &impl Engine) -> Result<()> {
        remove_all(engine, &in_space(RECORDS, &self.name))?;
        // The mark is removed last: until then, the next opening continues the deletion.
        let mut rows = vec![(in_space(DELETING, &self.name), None)];
        rows.extend(removals(engine, &in_space(DELETIONS, &self.name), usize::MAX)?);
        rows.extend(removed_rows(&engine.snapshot(), &self.name)?);
        engine.write(rows)
    }
}

/// Removes all rows whose keys start with `prefix`, in pieces of bounded size, so that any number is removed in little memory.
fn remove_all(engine: &impl Engine, prefix: &[u8]) -> Result<()> {
    loop {
        let piece = removals(engine, prefix, PIECE)?;
        if piece.is_empty() {
            return Ok(());
        }
        engine.write(piece)?;
    }
}

/// Returns the removal of up to `limit` rows whose keys start with `prefix`.
fn removals(engine: &impl Engine, prefix: &[u8], limit: usize) -> Result<Rows> {
    let tree = engine.snapshot();
    let rows = tree.range(prefix, &prefix_end(prefix), Order::Ascending).take(limit);
    rows.map(|row| Ok((row?.0.as_ref().to_vec(), None))).collect()
}

/// Returns the names of threads whose deletion was interrupted by a crash.
pub(super) fn unfinished_deletions(tree: &impl Tree) -> Result<Vec<Vec<u8>>> {
    let marks = tree.range(&[DELETING], &prefix_end(&[DELETING]), Order::Ascending);
    marks.map(|row| Ok(row?.0.as_ref()[1..].to_vec())).collect()
}

/// Finishes deletions that were interrupted by a crash.
pub(super) fn finish_deletions(engine: &impl Engine) -> Result<()> {
    let names = unfinished_deletions(&engine.snapshot())?;
    names.into_iter().try_for_each(|name| Deletion { name }.finish(engine))
}
