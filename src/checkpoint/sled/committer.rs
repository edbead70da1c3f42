//! The only thread that writes: takes the queued requests, writes them as one batch with one sync, then answers all of
//! them.
//!
//! Knows the queue, the view and the disk. After a failed write it never writes again: the state of the disk is
//! unknown, so no sync is retried and readers keep seeing what was acknowledged.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use super::batch::{Batch, Newest};
use super::commit_marker::MarkerFile;
use super::delete::Deletion;
use super::disk::Disk;
use super::epoch::EPOCH_SHIFT;
use super::queue::{Operation, Queue, ReplySender, Request};
use super::reserve;
use super::rows::STORE;
use super::view::View;
use crate::checkpoint::{CheckpointError, Commit, Leases, ThreadId};

type Result<T> = std::result::Result<T, CheckpointError>;
type Outcome = (ThreadId, ReplySender, Result<()>);

/// State shared by the committer and its callers.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) disk: Arc<Disk>,
    pub(super) view: View,
    pub(super) queue: Queue,
    pub(super) leases: Leases,
    pub(super) marker_file: MarkerFile,
    /// Number of times the store was opened.
    pub(super) epoch: u64,
    /// Number of the last commit; grows across openings.
    pub(super) commits: AtomicU64,
    /// Set while the space reserved for a full disk is in use.
    pub(super) spends_reserve: bool,
    pub(super) poison: OnceLock<Arc<str>>,
}

impl Shared {
    pub(super) fn new(disk: Disk, marker_file: MarkerFile, epoch: u64, spends_reserve: bool) -> Self {
        let disk = Arc::new(disk);
        Self {
            view: View::new(disk.clone()),
            disk,
            marker_file,
            epoch,
            queue: Queue::default(),
            leases: Leases::above(epoch << EPOCH_SHIFT),
            commits: AtomicU64::new(epoch << EPOCH_SHIFT),
            spends_reserve,
            poison: OnceLock::new(),
        }
    }

    /// Writes until the queue is closed and empty.
    pub(super) fn run(&self) {
        let _end = CloseOnDrop(&self.queue);
        let mut has_reserve = self.spends_reserve || reserve::take(self.disk.path());
        while let Some(requests) = self.queue.next() {
            let (answers, newest) = self.execute(requests);
            self.queue.answer(answers);
            if let Some((number, key)) = newest {
                self.marker_file.write(number, &key);
            }
            has_reserve = has_reserve || reserve::take(self.disk.path());
        }
    }

    pub(super) fn check_poison(&self) -> Result<()> {
        match self.poison.get() {
            Some(reason) => Err(CheckpointError::Poisoned { reason: reason.clone() }),
            None => Ok(()),
        }
    }

    fn execute(&self, requests: Vec<Request>) -> (Vec<Outcome>, Option<Newest>) {
        let mut batch = Batch::new(&self.disk, &self.leases);
        let mut answers: Vec<_> = requests.into_iter().map(|request| self.take(request, &mut batch)).collect();
        match self.write(batch) {
            Ok(newest) => (answers, newest),
            Err(error) => {
                answers.iter_mut().filter(|(.., result)| result.is_ok()).for_each(|(.., ok)| *ok = Err(error.clone()));
                (answers, None)
            }
        }
    }

    fn take(&self, request: Request, batch: &mut Batch<'_>) -> Outcome {
        let Request { thread, operation, answer } = request;
        let result = match operation {
            Operation::Commit(commit) => self.check_poison().and_then(|()| batch.add(commit, self.next_number())),
            Operation::Post(records) => {
                self.check_poison().and_then(|()| batch.post(&thread, records, self.next_number()))
            }
            Operation::Delete(epoch) => self.check_poison().and_then(|()| self.delete(&thread, epoch)),
            Operation::Barrier => Ok(()),
        };
        (thread, answer, result)
    }

    fn write(&self, batch: Batch<'_>) -> Result<Option<Newest>> {
        let Some(change) = batch.finish() else { return Ok(None) };
        self.view.hold(change.before);
        let written = self.disk.write(change.rows).and_then(|()| self.disk.weigh_all(&change.heavy));
        written.map_err(|error| self.stop(&error))?;
        self.view.release();
        Ok(Some(change.newest))
    }

    fn delete(&self, thread: &ThreadId, epoch: u64) -> Result<()> {
        self.leases.check_not_superseded(thread, epoch)?;
        let deletion = Deletion::of(thread);
        let number = self.next_number();
        deletion.mark(&self.disk, self.epoch, number).map_err(|error| self.stop(&error))?;
        self.marker_file.write(number, STORE);
        deletion.hide(&self.view);
        deletion.finish(&self.disk).map_err(|error| self.stop(&error))?;
        deletion.show(&self.view);
        Ok(())
    }

    fn next_number(&self) -> u64 {
        self.commits.fetch_add(1, Ordering::Relaxed) + 1
    }

    fn stop(&self, error: &CheckpointError) -> CheckpointError {
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

pub(super) fn check(shared: &Shared, commit: &Commit) -> Result<()> {
    shared.check_poison()?;
    shared.leases.check(&commit.thread, commit.epoch)?;
    commit.check_records()
}
