//! One writer per thread: the live leases and their epochs.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::error::CheckpointError;
use super::key::ThreadId;

/// Mode of claiming a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    /// Fails while another lease is alive.
    IfFree,
    /// Takes over: from now on commits under the earlier lease are refused.
    TakeOver,
}

/// Right to write one thread. Dropping it frees the thread.
#[derive(Debug)]
pub struct Lease {
    thread: ThreadId,
    epoch: u64,
    /// The epoch of the lease before, if its holder [marked](Self::mark_end) its end and nobody has claimed the thread in
    /// between.
    follows: Option<u64>,
    table: Leases,
}

impl Lease {
    /// Returns the thread.
    pub fn thread(&self) -> &ThreadId {
        &self.thread
    }

    /// Returns the epoch that commits must carry.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Returns the epoch of the lease before, if its holder marked its end and nobody has claimed the thread in between:
    /// then no record of the thread has changed since, apart from signals.
    pub(crate) fn follows(&self) -> Option<u64> {
        self.follows
    }

    /// Marks the end of the work under this lease: the next lease [follows](Self::follows) it.
    pub(crate) fn mark_end(&self) {
        let mut inner = self.table.lock();
        if inner.live.get(&self.thread) == Some(&self.epoch) {
            if inner.ended.len() >= MARKS {
                inner.ended.clear();
            }
            inner.ended.insert(self.thread.clone(), self.epoch);
        }
    }

    /// Frees the thread now, even if the lease is still referenced elsewhere: later commits under it are refused.
    pub fn release(&self) {
        let mut inner = self.table.lock();
        if inner.live.get(&self.thread) == Some(&self.epoch) {
            inner.live.remove(&self.thread);
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.release();
    }
}

/// Leases of one open store. Epochs grow across all threads, starting above the epoch at which the store was opened.
#[derive(Clone, Debug, Default)]
pub struct Leases(Arc<Mutex<Inner>>);

#[derive(Debug, Default)]
struct Inner {
    newest: u64,
    live: HashMap<ThreadId, u64>,
    /// The epochs of leases whose holders marked their end, of threads that nobody has claimed since.
    ended: HashMap<ThreadId, u64>,
}

/// The maximum number of marked ends; beyond it they are forgotten.
const MARKS: usize = 4096;

impl Leases {
    /// Returns a table whose epochs start above `floor`.
    pub fn above(floor: u64) -> Self {
        Self(Arc::new(Mutex::new(Inner { newest: floor, ..Inner::default() })))
    }

    /// Claims a thread.
    ///
    /// # Errors
    /// [`CheckpointError::ThreadBusy`] if a lease is alive and `claim` does not take over.
    pub fn claim(&self, thread: &ThreadId, claim: Claim) -> Result<Lease, CheckpointError> {
        let mut inner = self.lock();
        if claim == Claim::IfFree && inner.live.contains_key(thread) {
            return Err(CheckpointError::ThreadBusy { thread: thread.clone() });
        }
        inner.newest += 1;
        let epoch = inner.newest;
        inner.live.insert(thread.clone(), epoch);
        let follows = inner.ended.remove(thread);
        Ok(Lease { thread: thread.clone(), epoch, follows, table: self.clone() })
    }

    /// Checks that `epoch` is the live lease of the thread.
    ///
    /// # Errors
    /// [`CheckpointError::StaleLease`] if it is not.
    pub fn check(&self, thread: &ThreadId, epoch: u64) -> Result<(), CheckpointError> {
        match self.lock().live.get(thread) {
            Some(&current) if current == epoch => Ok(()),
            current => Err(CheckpointError::StaleLease {
                thread: thread.clone(),
                held: epoch,
                current: current.copied().unwrap_or(0),
            }),
        }
    }

    /// Checks that no claim later than `epoch` is alive: commits queued under a lease that has ended since remain
    /// valid.
    ///
    /// # Errors
    /// [`CheckpointError::StaleLease`] if one is.
    pub fn check_not_superseded(&self, thread: &ThreadId, epoch: u64) -> Result<(), CheckpointError> {
        match self.lock().live.get(thread) {
            Some(&current) if current > epoch => {
                Err(CheckpointError::StaleLease { thread: thread.clone(), held: epoch, current })
            }
            _ => Ok(()),
        }
    }

    /// Returns whether a lease on the thread is alive.
    pub fn is_claimed(&self, thread: &ThreadId) -> bool {
        self.lock().live.contains_key(thread)
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
