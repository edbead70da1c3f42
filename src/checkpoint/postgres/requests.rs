//! What callers want written, in the order of their calls for each thread. Knows no connection: `writer` takes the requests of one
//! thread at a time, and different threads do not wait for each other.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use super::leases::Ticket;
use super::put::{commit_bytes, record_bytes};
use crate::checkpoint::{CheckpointError, Claim, Commit, Lease, LeaseKeeper, Record, ThreadId};

/// The number of commits that are sent without waiting for the first of them.
const PIPELINE: usize = 24;
/// Beyond so many bytes, commits are not sent together.
const PIPELINE_BYTES: usize = 8 << 20;

pub(super) type Reply<T> = oneshot::Sender<Result<T, CheckpointError>>;

/// A change of one thread.
#[derive(Debug)]
pub(super) enum Request {
    Commit {
        ticket: Arc<Ticket>,
        commit: Commit<Vec<u8>>,
        reply: Reply<()>,
    },
    Post {
        id: [u8; 16],
        records: Vec<Record>,
        /// Set to store nothing if the thread has one of the records.
        is_new: bool,
        reply: Reply<()>,
    },
    Claim {
        claim: Claim,
        keeper: Arc<dyn LeaseKeeper>,
        reply: Reply<Lease>,
    },
    Release {
        ticket: Arc<Ticket>,
        is_left: bool,
        reply: Option<Reply<()>>,
    },
    Delete {
        ticket: Arc<Ticket>,
        reply: Reply<()>,
    },
    /// Nothing: answered when everything before it is.
    Barrier {
        reply: Reply<()>,
    },
}

impl Request {
    fn is_commit(&self) -> bool {
        matches!(self, Self::Commit { .. } | Self::Post { .. })
    }

    /// Returns the number of bytes to send.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Commit { commit, .. } => commit_bytes(commit),
            Self::Post { records, .. } => record_bytes(records),
            Self::Claim { .. } | Self::Release { .. } | Self::Delete { .. } | Self::Barrier { .. } => 0,
        }
    }

    /// Answers with an error.
    pub(super) fn fail(self, error: CheckpointError) {
        match self {
            Self::Claim { reply, .. } => _ = reply.send(Err(error)),
            Self::Release { reply, .. } => _ = reply.map(|reply| reply.send(Err(error))),
            Self::Commit { ticket, reply, .. } => {
                ticket.set_ending(false);
                _ = reply.send(Err(error));
            }
            Self::Post { reply, .. } => _ = reply.send(Err(error)),
            Self::Delete { reply, .. } | Self::Barrier { reply } => _ = reply.send(Err(error)),
        }
    }
}

/// The requests of all threads. A thread is in the table while its requests are being written.
#[derive(Debug, Default)]
pub(super) struct Requests(Mutex<HashMap<ThreadId, VecDeque<Request>>>);

impl Requests {
    /// Queues a request, and returns whether the caller has to see to it that the thread's requests are written.
    pub(super) fn push(&self, thread: &ThreadId, request: Request) -> bool {
        let mut threads = self.lock();
        match threads.get_mut(thread) {
            Some(waiting) => {
                waiting.push_back(request);
                false
            }
            None => {
                threads.insert(thread.clone(), VecDeque::from([request]));
                true
            }
        }
    }

    /// Returns whether requests of a thread are waiting or being written.
    pub(super) fn is_busy(&self, thread: &ThreadId) -> bool {
        self.lock().contains_key(thread)
    }

    /// Returns the threads with requests.
    pub(super) fn threads(&self) -> Vec<ThreadId> {
        self.lock().keys().cloned().collect()
    }

    /// Takes the next requests of a thread that may be sent together. Without any, the thread leaves the table.
    pub(super) fn take(&self, thread: &ThreadId) -> Option<VecDeque<Request>> {
        let mut threads = self.lock();
        let waiting = threads.get_mut(thread)?;
        let Some(first) = waiting.pop_front() else {
            threads.remove(thread);
            return None;
        };
        let mut bytes = first.bytes();
        let mut batch = VecDeque::from([first]);
        while batch[0].is_commit() && batch.len() < PIPELINE {
            let fits = |next: &Request| next.is_commit() && bytes + next.bytes() <= PIPELINE_BYTES;
            if !waiting.front().is_some_and(fits) {
                break;
            }
            let Some(next) = waiting.pop_front() else { break };
            bytes += next.bytes();
            batch.push_back(next);
        }
        Some(batch)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ThreadId, VecDeque<Request>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
