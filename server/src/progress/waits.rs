//! The positions of threads when they were read last, so that an unchanged thread is not read again. Must not know how one is read.
//!
//! Small because it only remembers.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use superstep::checkpoint::{ListedThread, ThreadId};
use superstep::graph::InterruptId;

/// The position of a thread, beyond its summary in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum KnownPosition {
    /// Another version of the graph has stored it, and the present one cannot run it.
    NeedsMigration,
    /// The open questions, if there are any.
    Fits(Vec<InterruptId>),
}

/// The positions of threads, each with the summary that it goes with.
#[derive(Default)]
pub(crate) struct KnownPositions(Mutex<HashMap<ThreadId, (ListedThread, KnownPosition)>>);

impl KnownPositions {
    /// Returns the position of a thread that has not changed since.
    pub(crate) fn get(&self, listed: &ListedThread) -> Option<KnownPosition> {
        let positions = self.lock();
        positions.get(&listed.id).filter(|(known, _)| known == listed).map(|(_, position)| position.clone())
    }

    pub(crate) fn put(&self, listed: &ListedThread, position: KnownPosition) {
        self.lock().insert(listed.id.clone(), (listed.clone(), position));
    }

    /// Forgets the threads that are not in a list of all that are open.
    pub(crate) fn keep(&self, open: &[ListedThread]) {
        let mut positions = self.lock();
        if positions.len() > open.len() {
            let names: HashSet<&ThreadId> = open.iter().map(|listed| &listed.id).collect();
            positions.retain(|name, _| names.contains(name));
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ThreadId, (ListedThread, KnownPosition)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
