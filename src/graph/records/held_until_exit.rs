//! What a run holds back until its end, with durability `exit`.

use std::ops::RangeInclusive;

use super::recorder::{Durability, Inner, Recorder};
use crate::checkpoint::{CheckpointId, Key, RowId};

impl Inner {
    fn keys(&self, range: &RangeInclusive<Key>) -> Vec<Key> {
        self.held.range(range.clone()).map(|(key, _)| key.clone()).collect()
    }
}

fn tasks_of(checkpoint: CheckpointId) -> RangeInclusive<Key> {
    Key::Task { checkpoint, task: 0 }..=Key::Task { checkpoint, task: u32::MAX }
}

impl Recorder {
    /// Notes that a checkpoint follows another: with durability `exit` only the last of a run is kept, and nothing is noted
    /// at the one the run began with.
    pub(crate) fn supersede(&self, namespace: &str, before: CheckpointId, id: CheckpointId) {
        if self.durability() != Durability::Exit {
            return; // every checkpoint is kept
        }
        let mut inner = self.lock();
        let ours = inner.replaced.newest.insert(namespace.to_owned(), id);
        inner.replaced.left.insert(before);
        if let Some(old) = ours {
            inner.replaced.checkpoints.insert(old);
            inner.held.remove(&Key::Checkpoint(old));
            inner.held.remove(&Key::Nested(old));
        }
        let entries = |key: &str, task| Key::Effect { checkpoint: before, task, key: key.to_owned() };
        let journals = entries("", 0)..=entries("", u32::MAX);
        for key in inner.keys(&tasks_of(before)).into_iter().chain(inner.keys(&journals)) {
            if !inner.replaced.kept.contains(&key) {
                inner.held.remove(&key);
            }
        }
    }

    /// With durability `exit`: where a subgraph with state of its own ended is kept, whatever its next activation comes to.
    pub(crate) fn ended(&self, namespace: &str) {
        self.lock().replaced.newest.remove(namespace);
    }

    /// With durability `exit`: a subgraph that came to its end leaves nothing behind; what an earlier run stored of it stays.
    pub(crate) fn forget(&self, namespace: &str, pointer: &Key) {
        let mut inner = self.lock();
        let Some(last) = inner.replaced.newest.remove(namespace).filter(|_| self.durability() == Durability::Exit)
        else {
            return;
        };
        inner.held.remove(&Key::Nested(last));
        inner.held.remove(pointer);
        for key in inner.keys(&tasks_of(last)) {
            inner.held.remove(&key);
        }
    }

    /// With durability `exit`: stores a record even if the run moves on from its checkpoint.
    pub(crate) fn keep(&self, key: &Key) {
        if self.durability() == Durability::Exit {
            self.lock().replaced.kept.insert(key.clone());
        }
    }

    /// With durability `exit`: a value that nothing refers to any more is not stored.
    pub(crate) fn free(&self, rows: &mut Vec<RowId>) {
        if self.durability() == Durability::Exit {
            let mut inner = self.lock();
            for row in rows.iter().map(|row| Key::Row(*row)) {
                if !inner.replaced.kept.contains(&row) {
                    inner.held.remove(&row);
                }
            }
        }
        rows.clear();
    }

    /// Returns the records held back under these keys.
    pub(crate) fn held(&self, keys: &[Key]) -> Vec<Option<Vec<u8>>> {
        let inner = self.lock();
        keys.iter().map(|key| inner.held.get(key).cloned()).collect()
    }

    /// Returns the records held back in a range of keys.
    pub(crate) fn held_in(&self, range: &RangeInclusive<Key>) -> Vec<(Key, Vec<u8>)> {
        let inner = self.lock();
        inner.held.range(range.clone()).map(|(key, record)| (key.clone(), record.clone())).collect()
    }
}
