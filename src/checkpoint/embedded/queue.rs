//! Queue of the committer: commits, deletions, and barriers of callers that wait for everything before them. Knows
//! order and size; must not know how anything is written.

use std::collections::{HashMap, VecDeque};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use crate::checkpoint::index::upkeep::IndexWrite;
use crate::checkpoint::{CheckpointError, Commit, ItemWrite, Record, ThreadId};

/// Sender of the reply to one request.
pub(super) type ReplySender = oneshot::Sender<Result<(), CheckpointError>>;
/// Receiver of the reply.
pub(super) type ReplyReceiver = oneshot::Receiver<Result<(), CheckpointError>>;

/// Maximum size of a batch in bytes, unless a single commit is larger.
const BATCH_BYTES: usize = 8 << 20;
/// Size of a thread's rows in the index, roughly, in bytes.
const ENTRY_BYTES: usize = 1024;
/// Maximum number of requests in one batch.
const BATCH_REQUESTS: usize = 1024;

/// A request to the committer.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) thread: ThreadId,
    pub(super) operation: Operation,
    pub(super) answer: ReplySender,
}

/// Operation of a request.
#[derive(Debug)]
pub(super) enum Operation {
    Commit(Commit<Vec<u8>>),
    /// Write records of the thread without a lease, if the thread exists.
    Post(Vec<Record>),
    /// The same, if the thread has none of them.
    PostNew(Vec<Record>),
    /// Delete the thread, under the lease of this epoch.
    Delete(u64),
    /// Write items that belong to no thread.
    Items(Vec<ItemWrite>),
    /// Change the index of threads.
    Index(IndexWrite),
    /// Only reply, after everything before it.
    Barrier,
}

/// Requests in order of arrival.
#[derive(Debug, Default)]
pub(super) struct Queue {
    inner: Mutex<Inner>,
    arrived: Condvar,
}

#[derive(Debug, Default)]
struct Inner {
    waiting: VecDeque<Request>,
    /// Number of unanswered requests of each thread.
    open: HashMap<ThreadId, usize>,
    closed: bool,
}

impl Queue {
    /// Adds a request; if the queue is closed, the reply is dropped.
    pub(super) fn push(&self, thread: ThreadId, operation: Operation) -> ReplyReceiver {
        let (answer, answered) = oneshot::channel();
        let mut inner = self.lock();
        if !inner.closed {
            inner.push(Request { thread, operation, answer });
            drop(inner); // a committer that wakes takes the lock at once
            self.arrived.notify_one();
        }
        answered
    }

    /// Adds a request that concerns no thread.
    pub(super) fn push_apart(&self, operation: Operation) -> ReplyReceiver {
        self.push(ThreadId::from(""), operation)
    }

    /// Returns the receiver of a barrier behind all requests of the thread so far; `None` if there are none.
    pub(super) fn barrier(&self, thread: &ThreadId) -> Option<ReplyReceiver> {
        let open = self.lock().open.contains_key(thread);
        open.then(|| self.push(thread.clone(), Operation::Barrier))
    }

    /// Waits for requests and takes one batch of them; `None` once the queue is closed and empty.
    pub(super) fn next(&self) -> Option<Vec<Request>> {
        let mut inner = self.lock();
        while inner.waiting.is_empty() {
            if inner.closed {
                return None;
            }
            inner = self.arrived.wait(inner).unwrap_or_else(PoisonError::into_inner);
        }
        Some(inner.take_batch())
    }

    /// Replies to the requests of one batch.
    pub(super) fn send_replies(&self, answers: Vec<(ThreadId, ReplySender, Result<(), CheckpointError>)>) {
        let mut inner = self.lock();
        answers.iter().for_each(|(thread, ..)| inner.forget(thread));
        drop(inner);
        for (_, answer, result) in answers {
            // The receiver may be gone.
            let _ = answer.send(result);
        }
    }

    /// Accepts no more requests; those in the queue are still executed.
    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.arrived.notify_one();
    }

    /// Accepts no more requests and drops those in the queue: their receivers see a closed channel.
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
    fn push(&mut self, request: Request) {
        *self.open.entry(request.thread.clone()).or_default() += 1;
        self.waiting.push_back(request);
    }

    fn forget(&mut self, thread: &ThreadId) {
        if let Some(open) = self.open.get_mut(thread) {
            *open -= 1;
            if *open == 0 {
                self.open.remove(thread);
            }
        }
    }

    /// Takes the requests of one batch; some are a batch of their own.
    fn take_batch(&mut self) -> Vec<Request> {
        let mut batch = Vec::new();
        let mut bytes = 0;
        while let Some(next) = self.waiting.front() {
            bytes += next.operation.bytes();
            let full = bytes > BATCH_BYTES || batch.len() >= BATCH_REQUESTS;
            if !batch.is_empty() && (full || next.operation.is_alone()) {
                break;
            }
            let alone = next.operation.is_alone();
            batch.extend(self.waiting.pop_front());
            if alone {
                break;
            }
        }
        batch
    }
}

impl Operation {
    /// Returns whether the operation is a batch of its own.
    fn is_alone(&self) -> bool {
        matches!(self, Self::Delete(_) | Self::Index(IndexWrite::Start))
    }

    fn bytes(&self) -> usize {
        match self {
            Self::Commit(commit) => bytes(&commit.puts) + item_bytes(&commit.items),
            Self::Post(records) | Self::PostNew(records) => bytes(records),
            Self::Items(writes) => item_bytes(writes),
            Self::Index(IndexWrite::Entries(entries)) => entries.len() * ENTRY_BYTES,
            Self::Index(IndexWrite::Start | IndexWrite::Complete) | Self::Delete(_) | Self::Barrier => 0,
        }
    }
}

fn item_bytes(writes: &[ItemWrite]) -> usize {
    writes.iter().map(|write| write.bytes() + 64).sum()
}

fn bytes(records: &[Record]) -> usize {
    records.iter().map(|(_, value)| value.len() + 64).sum()
}
