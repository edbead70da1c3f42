//! What waits for the committer: commits, deletions, and callers that want to see everything before them settled.
//! Knows order and size; must not know how anything is written.

use std::collections::{HashMap, VecDeque};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use crate::checkpoint::{CheckpointError, Commit, Record, ThreadId};

/// The answer to one order.
pub(super) type Answer = oneshot::Sender<Result<(), CheckpointError>>;
/// Where the answer arrives.
pub(super) type Answered = oneshot::Receiver<Result<(), CheckpointError>>;

/// The most bytes in one batch, unless a single commit has more.
const BATCH_BYTES: usize = 8 << 20;
/// The most orders in one batch.
const BATCH_ORDERS: usize = 1024;

/// One thing to do.
#[derive(Debug)]
pub(super) struct Order {
    pub(super) thread: ThreadId,
    pub(super) task: Task,
    pub(super) answer: Answer,
}

/// What is to be done.
#[derive(Debug)]
pub(super) enum Task {
    Commit(Commit),
    /// Write records of the thread under no lease, if the thread is known.
    Post(Vec<Record>),
    /// Delete the thread, under the lease of this epoch.
    Delete(u64),
    /// Only answer, after everything before.
    Settle,
}

/// Orders in the order in which they came.
#[derive(Debug, Default)]
pub(super) struct Queue {
    inner: Mutex<Inner>,
    arrived: Condvar,
}

#[derive(Debug, Default)]
struct Inner {
    waiting: VecDeque<Order>,
    /// How many orders of each thread are not answered yet.
    open: HashMap<ThreadId, usize>,
    closed: bool,
}

impl Queue {
    /// Adds an order; if the queue is closed, the answer is that none will come.
    pub(super) fn push(&self, thread: ThreadId, task: Task) -> Answered {
        let (answer, answered) = oneshot::channel();
        let mut inner = self.lock();
        if !inner.closed {
            inner.push(Order { thread, task, answer });
            self.arrived.notify_one();
        }
        answered
    }

    /// Returns where it arrives that all orders of the thread so far are answered; none if they are.
    pub(super) fn settled(&self, thread: &ThreadId) -> Option<Answered> {
        let open = self.lock().open.contains_key(thread);
        open.then(|| self.push(thread.clone(), Task::Settle))
    }

    /// Waits for orders and takes as many as belong in one batch; none once the queue is closed and empty.
    pub(super) fn next(&self) -> Option<Vec<Order>> {
        let mut inner = self.lock();
        while inner.waiting.is_empty() {
            if inner.closed {
                return None;
            }
            inner = self.arrived.wait(inner).unwrap_or_else(PoisonError::into_inner);
        }
        Some(inner.take_batch())
    }

    /// Answers orders of one batch.
    pub(super) fn answer(&self, answers: Vec<(ThreadId, Answer, Result<(), CheckpointError>)>) {
        let mut inner = self.lock();
        answers.iter().for_each(|(thread, ..)| inner.forget(thread));
        drop(inner);
        for (_, answer, result) in answers {
            // A caller that no longer waits has nothing to learn.
            let _ = answer.send(result);
        }
    }

    /// Takes no more orders; those that wait are still done.
    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.arrived.notify_one();
    }

    /// Takes no more orders and drops those that wait: whoever waits for an answer learns that none will come.
    pub(super) fn abandon(&self) {
        let mut inner = self.lock();
        inner.closed = true;
        inner.waiting.clear();
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn push(&mut self, order: Order) {
        *self.open.entry(order.thread.clone()).or_default() += 1;
        self.waiting.push_back(order);
    }

    fn forget(&mut self, thread: &ThreadId) {
        if let Some(open) = self.open.get_mut(thread) {
            *open -= 1;
            if *open == 0 {
                self.open.remove(thread);
            }
        }
    }

    /// A deletion is a batch of its own.
    fn take_batch(&mut self) -> Vec<Order> {
        let mut batch = Vec::new();
        let mut bytes = 0;
        while let Some(next) = self.waiting.front() {
            bytes += next.task.bytes();
            let full = bytes > BATCH_BYTES || batch.len() >= BATCH_ORDERS;
            if !batch.is_empty() && (full || next.task.is_delete()) {
                break;
            }
            let alone = next.task.is_delete();
            batch.extend(self.waiting.pop_front());
            if alone {
                break;
            }
        }
        batch
    }
}

impl Task {
    fn is_delete(&self) -> bool {
        matches!(self, Self::Delete(_))
    }

    fn bytes(&self) -> usize {
        match self {
            Self::Commit(commit) => bytes(&commit.puts),
            Self::Post(records) => bytes(records),
            Self::Delete(_) | Self::Settle => 0,
        }
    }
}

fn bytes(records: &[Record]) -> usize {
    records.iter().map(|(_, value)| value.len() + 64).sum()
}
