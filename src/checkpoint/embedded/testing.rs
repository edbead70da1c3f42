//! Access to an open store for tests that make it fail. Knows rows and switches; does not keep the store open.

use std::fmt::Debug;
use std::sync::{Arc, Weak};

use super::committer::CommitterState;
use super::engine::{Engine, Faults, Tree};
use super::rows::row_key;
use super::store::{EmbeddedStore, Store};
use crate::checkpoint::envelope::name_of;
use crate::checkpoint::{Key, ThreadId};

/// Makes an open store fail, for tests. Does not keep the store open.
#[derive(Clone, Debug)]
pub struct StoreFaults(Option<Weak<dyn FaultInjection>>);

/// The parts of an open store that tests reach, whatever its database is.
trait FaultInjection: Debug + Send + Sync {
    fn faults(&self) -> &Faults;

    fn fail_next_marker(&self);

    /// Flips the last bit of a row; returns whether the row exists.
    fn flip_a_bit(&self, key: &[u8]) -> bool;
}

impl<E: Engine> FaultInjection for CommitterState<E> {
    fn faults(&self) -> &Faults {
        self.engine.faults()
    }

    fn fail_next_marker(&self) {
        self.marker_file.fail_next_write();
    }

    fn flip_a_bit(&self, key: &[u8]) -> bool {
        let Ok(Some(row)) = self.engine.snapshot().get(key) else { return false };
        let mut row = row.as_ref().to_vec();
        row.last_mut().into_iter().for_each(|byte| *byte ^= 1);
        self.engine.write(vec![(key.to_vec(), Some(row))]).is_ok()
    }
}

impl<E: EmbeddedStore> Store<E> {
    /// Returns the switches with which a test makes this store fail.
    pub(in crate::checkpoint) fn faults(&self) -> StoreFaults {
        StoreFaults(self.shared.as_ref().map(|shared| {
            let shared: Arc<dyn FaultInjection> = shared.clone();
            Arc::downgrade(&shared)
        }))
    }
}

impl StoreFaults {
    /// Makes the next sync fail; returns whether the store is open.
    pub fn fail_next_sync(&self) -> bool {
        self.store().map(|store| store.faults().fail_next_sync()).is_some()
    }

    /// Makes the next write of the file `tip` fail, which names the newest commit; returns whether the store is open.
    pub fn fail_next_marker(&self) -> bool {
        self.store().map(|store| store.fail_next_marker()).is_some()
    }

    /// Runs `action` while no sync can start; `None` if the store is not open.
    pub fn hold_syncs<T>(&self, action: impl FnOnce() -> T) -> Option<T> {
        Some(self.store()?.faults().hold_syncs(action))
    }

    /// Returns whether a sync is being held.
    pub fn is_sync_held(&self) -> bool {
        self.store().is_some_and(|store| store.faults().is_waiting())
    }

    /// Flips a bit of a stored record; returns whether the record exists.
    pub fn damage(&self, thread: &ThreadId, key: &Key) -> bool {
        let row = row_key(&name_of(thread, key), 0);
        self.store().is_some_and(|store| store.flip_a_bit(&row))
    }

    fn store(&self) -> Option<Arc<dyn FaultInjection>> {
        self.0.as_ref()?.upgrade()
    }
}
