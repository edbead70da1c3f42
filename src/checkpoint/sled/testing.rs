//! Access to an open store for tests that make it fail. Knows rows and switches; does not keep the store open.

use std::sync::{Arc, Weak};

use super::committer::Shared;
use super::rows::row_key;
use super::store::SledCheckpointer;
use crate::checkpoint::envelope::name_of;
use crate::checkpoint::{Key, ThreadId};

/// Makes an open store fail, for tests. Does not keep the store open.
#[derive(Clone, Debug)]
pub struct SledFaults(Weak<Shared>);

impl SledCheckpointer {
    /// Returns the switches with which a test makes this store fail.
    pub fn faults(&self) -> SledFaults {
        SledFaults(self.shared.as_ref().map(Arc::downgrade).unwrap_or_default())
    }
}

impl SledFaults {
    /// Makes the next sync fail; returns whether the store is open.
    pub fn fail_next_sync(&self) -> bool {
        self.0.upgrade().map(|shared| shared.disk.faults().fail_next_sync()).is_some()
    }

    /// Runs `action` while no sync can start; `None` if the store is not open.
    pub fn hold_syncs<T>(&self, action: impl FnOnce() -> T) -> Option<T> {
        Some(self.0.upgrade()?.disk.faults().hold_syncs(action))
    }

    /// Returns whether a sync is being held.
    pub fn is_sync_held(&self) -> bool {
        self.0.upgrade().is_some_and(|shared| shared.disk.faults().is_waiting())
    }

    /// Flips a bit of a stored record; returns whether the record exists.
    pub fn damage(&self, thread: &ThreadId, key: &Key) -> bool {
        let row = row_key(&name_of(thread, key), 0);
        self.0.upgrade().is_some_and(|shared| shared.disk.flip_a_bit(&row))
    }
}
