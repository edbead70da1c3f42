//! Hints that a thread may have become due: to be sent to other handles, and those that have come. Knows no connection.
//!
//! A hint is no part of a commit: a notification takes a lock of the whole server as its transaction ends. It is sent afterwards, on
//! one connection, many as one, and only for what can make a thread due: a post, and the end of a lease.
//!
//! Small because a hint says nothing more.

use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::{Notify, watch};

use crate::checkpoint::watch::StoreWatch;

/// The hints of one handle.
#[derive(Debug, Default)]
pub(super) struct Hints {
    /// Set when one is to be sent.
    pub(super) wanted: Notify,
    /// The number of hints that were to be sent, and of those that were.
    counts: (AtomicU64, AtomicU64),
    arrived: watch::Sender<()>,
}

impl Hints {
    /// Has a hint sent to all handles, and passes it to the watches of this one.
    pub(super) fn send(&self) {
        self.counts.0.fetch_add(1, Ordering::AcqRel);
        self.wanted.notify_one();
        self.arrive();
    }

    /// Returns the number of hints that were to be sent so far.
    pub(super) fn count(&self) -> u64 {
        self.counts.0.load(Ordering::Acquire)
    }

    /// Notes that as many were sent.
    pub(super) fn note_sent(&self, count: u64) {
        self.counts.1.fetch_max(count, Ordering::AcqRel);
    }

    /// Returns whether one is still to be sent.
    pub(super) fn is_unsent(&self) -> bool {
        self.counts.1.load(Ordering::Acquire) < self.count()
    }

    /// Passes a hint to the watches of this handle.
    pub(super) fn arrive(&self) {
        self.arrived.send_replace(());
    }

    /// Returns a watch of the hints that come from now on.
    pub(super) fn watch(&self) -> StoreWatch {
        StoreWatch::new(self.arrived.subscribe())
    }
}
