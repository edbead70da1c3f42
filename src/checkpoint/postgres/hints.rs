//! Hints that a thread may have become due: to be sent to other handles, and those that have come. Knows no connection.
//!
//! A hint is no part of a commit: a notification takes a lock of the whole server as its transaction ends. It is sent afterwards, on
//! one connection, many as one, and only for what can make a thread due: a post, and the end of a lease.
//!
//! Small because a hint says nothing more.

use tokio::sync::{Notify, watch};

use crate::checkpoint::watch::StoreWatch;

/// The hints of one handle.
#[derive(Debug, Default)]
pub(super) struct Hints {
    /// Set when one is to be sent.
    pub(super) wanted: Notify,
    arrived: watch::Sender<()>,
}

impl Hints {
    /// Has a hint sent to all handles, and passes it to the watches of this one.
    pub(super) fn send(&self) {
        self.wanted.notify_one();
        self.arrive();
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
