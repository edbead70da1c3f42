//! Records that a recorder stores later than it gets them. Checkpoints of subgraphs and recorded events ride on the run's next
//! commit: a subgraph that begins and ends while nobody waits for anything is stored with the superstep of its caller. With
//! durability `exit` everything is held back until the run ends.

use std::borrow::Cow;
use std::ops::RangeInclusive;

use super::recorder::{Durability, Inner, LAG, Puts, Recorder};
use crate::checkpoint::{CheckpointError, CheckpointId, EventRecord, Key, Order, Record, Row, RowId, encode_record};

/// The largest event that is recorded, in bytes.
const LARGEST: usize = 1 << 20;

impl Recorder {
    /// Takes records along with the next commit. Whoever lets time pass before that sends them on their way
    /// ([`send_riders`](Self::send_riders)).
    pub(crate) fn add_riders(&self, puts: Puts) {
        let mut inner = self.lock();
        if self.durability() == Durability::Exit || inner.is_gathering() {
            drop(inner);
            return self.queue(puts, None);
        }
        inner.riders.extend(puts);
    }

    /// Queues what waits for the next commit.
    pub(crate) fn send_riders(&self) {
        let mut inner = self.lock();
        if !inner.riders.is_empty() {
            self.send_now(&mut inner, vec![], vec![]);
        }
    }

    /// Waits until a reader finds everything in the store that was queued.
    pub(super) async fn catch_up(&self) -> Result<(), CheckpointError> {
        self.send_riders();
        self.drain(0).await
    }

    /// Notes an event of the superstep that starts at a checkpoint of the root graph. Too large a one is left out, unless it
    /// `is_kept` in any case.
    pub(crate) async fn note(
        &self,
        checkpoint: CheckpointId,
        event: &EventRecord,
        is_kept: bool,
    ) -> Result<(), CheckpointError> {
        let bytes = encode_record(event)?;
        if bytes.len() > LARGEST && !is_kept {
            return Ok(());
        }
        let first = self.first_number(checkpoint).await?;
        {
            let mut inner = self.lock();
            inner.noted.add(checkpoint, first, bytes);
            if !inner.noted.is_full() {
                return Ok(());
            }
            self.send_now(&mut inner, vec![], vec![]);
        }
        self.drain(LAG).await
    }

    /// The number of a superstep's first event: an earlier run may have started it.
    async fn first_number(&self, checkpoint: CheckpointId) -> Result<u64, CheckpointError> {
        if checkpoint >= self.first || self.lock().noted.counts(checkpoint) {
            return Ok(0);
        }
        let key = |number| Key::Event { checkpoint, number };
        let range = key(0)..=key(u64::MAX);
        let found = self.store().scan(self.lease().thread(), range, Order::Descending, 1).await?;
        Ok(match found.first() {
            Some((Key::Event { number, .. }, _)) => number + 1,
            _ => 0,
        })
    }
}

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
    pub(crate) fn keep_child_end(&self, namespace: &str) {
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
    pub(crate) fn held_records(&self, keys: &[Key]) -> Result<Vec<Option<Vec<u8>>>, CheckpointError> {
        let inner = self.lock();
        let bytes = |row: &Row| row.to_bytes().map(Cow::into_owned);
        keys.iter().map(|key| inner.held.get(key).map(bytes).transpose()).collect()
    }

    /// Returns the records held back in a range of keys.
    pub(crate) fn held_in(&self, range: &RangeInclusive<Key>) -> Result<Vec<Record>, CheckpointError> {
        let inner = self.lock();
        let record = |(key, row): (&Key, &Row)| Ok((key.clone(), row.to_bytes()?.into_owned()));
        inner.held.range(range.clone()).map(record).collect()
    }
}
