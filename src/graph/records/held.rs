//! What a run holds back until its end, with durability `exit`.

use std::ops::RangeInclusive;

use crate::checkpoint::{Key, RowId};

use super::recorder::{Durability, Recorder};

impl Recorder {
    /// With durability `exit`: a value that nothing refers to any more is not stored.
    pub(crate) fn free(&self, rows: &mut Vec<RowId>) {
        if self.durability() == Durability::Exit {
            let mut inner = self.lock();
            rows.iter().for_each(|row| drop(inner.held.remove(&Key::Row(*row))));
        }
        rows.clear();
    }

    /// What is held back under these keys.
    pub(crate) fn held(&self, keys: &[Key]) -> Vec<Option<Vec<u8>>> {
        let inner = self.lock();
        keys.iter().map(|key| inner.held.get(key).cloned()).collect()
    }

    /// What is held back in a range of keys.
    pub(crate) fn held_in(&self, range: &RangeInclusive<Key>) -> Vec<(Key, Vec<u8>)> {
        let inner = self.lock();
        inner.held.range(range.clone()).map(|(key, record)| (key.clone(), record.clone())).collect()
    }
}
