//! The only thread that writes: takes the queued requests, writes them as one batch with one sync, then answers all of
//! them.
//!
//! Knows the queue, the view and the engine. After a failed write it never writes again: the state of the disk is
//! unknown, so no sync is retried and readers keep seeing what was acknowledged.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use super::batch::Batch;
use super::commit_marker::MarkerFile;
use super::delete::Deletion;
use super::engine::Engine;
use super::epoch::EPOCH_SHIFT;
use super::queue::{Operation, Queue, ReplySender, Request};
use super::recent::Recent;
use super::rows::STORE;
use super::view::View;
use crate::checkpoint::{CheckpointError, Commit, Leases, ThreadId};

type Result<T> = std::result::Result<T, CheckpointError>;
type Outcome = (ThreadId, ReplySender, Result<()>);

/// State shared by the committer and its callers.
#[derive(Debug)]
pub(in crate::checkpoint) struct Shared<E: Engine> {
    pub(in crate::checkpoint) engine: Arc<E>,
    pub(in crate::checkpoint) view: View<E>,
    pub(in crate::checkpoint) queue: Queue,
    pub(in crate::checkpoint) leases: Leases,
    pub(in crate::checkpoint) marker_file: MarkerFile,
    /// Number of times the store was opened.
    pub(in crate::checkpoint) epoch: u64,
    /// Number of the last commit; grows across openings.
    pub(in crate::checkpoint) commits: AtomicU64,
    pub(in crate::checkpoint) poison: OnceLock<Arc<str>>,
}

impl<E: Engine> Shared<E> {
    pub(in crate::checkpoint) fn new(engine: E, marker_file: MarkerFile, epoch: u64) -> Self {
        let engine = Arc::new(engine);
        Self {
            view: View::new(engine.clone()),
            engine,
            marker_file,
            epoch,
            queue: Queue::default(),
            leases: Leases::above(epoch << EPOCH_SHIFT),
            commits: AtomicU64::new(epoch << EPOCH_SHIFT),
            poison: OnceLock::new(),
        }
    }

    /// Writes until the queue is closed and empty.
    pub(in crate::checkpoint) fn run(&self) {
        let _end = CloseOnDrop(&self.queue);
        self.engine.maintain();
        let mut recent = Recent::default();
        while let Some(requests) = self.queue.next() {
            let answers = self.execute(requests, &mut recent);
            self.queue.answer(answers);
            self.engine.maintain();
        }
    }

    pub(in crate::checkpoint) fn check_poison(&self) -> Result<()> {
        match self.poison.get() {
            Some(reason) => Err(CheckpointError::Poisoned { reason: reason.clone() }),
            None => Ok(()),
        }
    }

    fn execute(&self, requests: Vec<Request>, recent: &mut Recent) -> Vec<Outcome> {
        let mut batch = Batch::new(&*self.engine, &self.leases, recent);
        let mut answers: Vec<_> = requests.into_iter().map(|request| self.take(request, &mut batch)).collect();
        if let Err(error) = self.write(batch) {
            answers.iter_mut().filter(|(.., result)| result.is_ok()).for_each(|(.., ok)| *ok = Err(error.clone()));
        }
        answers
    }

    fn take(&self, request: Request, batch: &mut Batch<'_, E>) -> Outcome {
        let Request { thread, operation, answer } = request;
        let result = match operation {
            Operation::Commit(commit) => self.check_poison().and_then(|()| batch.add(commit, self.next_number())),
            Operation::Post(records) => {
                self.check_poison().and_then(|()| batch.post(&thread, records, self.next_number()))
            }
            Operation::Delete(epoch) => {
                batch.forget(&thread);
                self.check_poison().and_then(|()| self.delete(&thread, epoch))
            }
            Operation::Barrier => Ok(()),
        };
        (thread, answer, result)
    }

    fn write(&self, batch: Batch<'_, E>) -> Result<()> {
        let Some(change) = batch.finish() else { return Ok(()) };
        if E::SHOWS_UNSYNCED {
            self.view.hold(change.before);
        }
        self.engine.write(change.rows).map_err(|error| self.stop(&error))?;
        let (number, key) = change.newest;
        self.marker_file.write(number, &key).map_err(|error| self.stop(&error))?;
        if E::SHOWS_UNSYNCED {
            self.view.release();
        }
        Ok(())
    }

    fn delete(&self, thread: &ThreadId, epoch: u64) -> Result<()> {
        self.leases.check_not_superseded(thread, epoch)?;
        let deletion = Deletion::of(thread);
        let number = self.next_number();
        deletion.mark(&*self.engine, self.epoch, number).map_err(|error| self.stop(&error))?;
        self.marker_file.write(number, STORE).map_err(|error| self.stop(&error))?;
        deletion.hide(&self.view);
        deletion.finish(&*self.engine).map_err(|error| self.stop(&error))?;
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

pub(in crate::checkpoint) fn check<E: Engine>(shared: &Shared<E>, commit: &Commit) -> Result<()> {
    shared.check_poison()?;
    shared.leases.check(&commit.thread, commit.epoch)?;
    commit.check_records()
}
