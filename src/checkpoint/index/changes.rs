//! Threads that have changed since an index was brought up to date. Knows names and numbers of changes; must not know how a
//! store writes the index.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::checkpoint::key::ThreadId;

/// Threads that have changed, each with the number of its last change. Nothing is noted before somebody has asked for a list.
#[derive(Debug, Default)]
pub(in crate::checkpoint) struct ChangedThreads {
    is_tracked: AtomicBool,
    /// Set once every thread is in the index or among those that have changed.
    is_complete: AtomicBool,
    inner: Mutex<Inner>,
    turn: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct Inner {
    changes: u64,
    threads: HashMap<ThreadId, u64>,
}

impl ChangedThreads {
    /// Returns the changes of a store that has an index from before.
    #[cfg_attr(not(feature = "_embedded"), allow(dead_code, reason = "only stores on disk have one from before"))]
    pub(in crate::checkpoint) fn since_closing(threads: impl IntoIterator<Item = ThreadId>) -> Self {
        let threads = threads.into_iter().map(|thread| (thread, 0)).collect();
        Self {
            is_tracked: true.into(),
            is_complete: true.into(),
            inner: Mutex::new(Inner { changes: 0, threads }),
            turn: tokio::sync::Mutex::default(),
        }
    }

    /// Waits until nobody else brings the index up to date.
    pub(super) async fn turn(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.turn.lock().await
    }

    /// Returns true if changes are noted.
    pub(in crate::checkpoint) fn is_tracked(&self) -> bool {
        self.is_tracked.load(Ordering::SeqCst)
    }

    pub(super) fn is_complete(&self) -> bool {
        self.is_complete.load(Ordering::SeqCst)
    }

    /// Notes changes from now on; the index is made anew.
    pub(super) fn track(&self) {
        self.is_complete.store(false, Ordering::SeqCst);
        self.is_tracked.store(true, Ordering::SeqCst);
    }

    pub(super) fn complete(&self) {
        self.is_complete.store(true, Ordering::SeqCst);
    }

    /// Notes that the index cannot be read: it is made anew.
    pub(super) fn discard(&self) {
        self.is_complete.store(false, Ordering::SeqCst);
    }

    /// Notes that a change of a thread can be read, and returns its number.
    pub(in crate::checkpoint) fn note(&self, thread: &ThreadId) -> Option<u64> {
        if !self.is_tracked() {
            return None;
        }
        let mut inner = self.lock();
        inner.changes += 1;
        let number = inner.changes;
        inner.threads.insert(thread.clone(), number);
        Some(number)
    }

    /// Returns the number of a thread's last change; `None` if it has not changed.
    pub(in crate::checkpoint) fn number(&self, thread: &ThreadId) -> Option<u64> {
        self.lock().threads.get(thread).copied()
    }

    /// Notes that the index has a thread as it was after a change. Returns false if it has changed since.
    pub(in crate::checkpoint) fn settle(&self, thread: &ThreadId, number: Option<u64>) -> bool {
        let mut inner = self.lock();
        let is_same = inner.threads.get(thread).copied() == number;
        if is_same {
            inner.threads.remove(thread);
        }
        is_same
    }

    /// Notes that a thread which was removed is gone from the index as well, unless that is being made.
    pub(in crate::checkpoint) fn settle_removed(&self, thread: &ThreadId, number: Option<u64>) {
        if self.is_complete() {
            self.settle(thread, number);
        }
    }

    /// Returns all threads that have changed.
    pub(super) fn all(&self) -> Vec<(ThreadId, u64)> {
        self.lock().threads.iter().map(|(thread, number)| (thread.clone(), *number)).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
