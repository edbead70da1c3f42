//! Decoded records of a thread: checkpoints, tasks, child pointers, shapes, tags. Knows the records; the references
//! between them are in `references`.

use std::collections::BTreeMap;

use super::pages::{Pages, structure};
use crate::checkpoint::{
    AboutRecord, CheckpointError, CheckpointId, CheckpointRecord, Checkpointer, Key, Shape, TagRecord, TaskRecord,
    ThreadId, decode_record,
};

#[derive(Debug)]
pub(in crate::checkpoint) struct StoredCheckpoint {
    /// Set for a checkpoint of the root graph.
    pub(in crate::checkpoint) root: bool,
    pub(in crate::checkpoint) record: CheckpointRecord,
}

impl StoredCheckpoint {
    pub(in crate::checkpoint) fn key(&self, id: CheckpointId) -> Key {
        if self.root { Key::Checkpoint(id) } else { Key::Nested(id) }
    }
}

/// The engine's own records of a thread.
#[derive(Debug, Default)]
pub(in crate::checkpoint) struct ThreadRecords {
    pub(in crate::checkpoint) about: Option<AboutRecord>,
    pub(in crate::checkpoint) checkpoints: BTreeMap<CheckpointId, StoredCheckpoint>,
    pub(in crate::checkpoint) tasks: BTreeMap<(CheckpointId, u32), TaskRecord>,
    pub(in crate::checkpoint) children: BTreeMap<(CheckpointId, u32, u32), CheckpointId>,
    pub(in crate::checkpoint) shapes: BTreeMap<u64, Shape>,
    pub(in crate::checkpoint) tags: BTreeMap<String, TagRecord>,
}

impl ThreadRecords {
    /// Reads the records of a thread.
    ///
    /// # Errors
    /// If a record is damaged or the store cannot be read.
    pub(in crate::checkpoint) async fn read(
        store: &dyn Checkpointer,
        thread: &ThreadId,
    ) -> Result<Self, CheckpointError> {
        let mut decoded = Self::default();
        let mut pages = Pages::of(store, thread, structure());
        while let Some(page) = pages.next().await? {
            for (key, bytes) in page {
                decoded.add(thread, &key, &bytes)?;
            }
        }
        Ok(decoded)
    }

    /// Decodes the engine's own records among all records of a thread.
    ///
    /// # Errors
    /// If one cannot be decoded.
    pub(in crate::checkpoint) fn of<'a>(
        thread: &ThreadId,
        records: impl IntoIterator<Item = (&'a Key, &'a [u8])>,
    ) -> Result<Self, CheckpointError> {
        let mut decoded = Self::default();
        records.into_iter().try_for_each(|(key, bytes)| decoded.add(thread, key, bytes))?;
        Ok(decoded)
    }

    /// Adds a record; other records than the engine's own are ignored.
    pub(in crate::checkpoint) fn add(
        &mut self,
        thread: &ThreadId,
        key: &Key,
        bytes: &[u8],
    ) -> Result<(), CheckpointError> {
        match key {
            Key::About => self.about = Some(decode_record(thread, key, bytes)?),
            Key::Tag(name) => {
                self.tags.insert(name.clone(), decode_record(thread, key, bytes)?);
            }
            Key::Shape(fingerprint) => {
                self.shapes.insert(*fingerprint, decode_record(thread, key, bytes)?);
            }
            Key::Checkpoint(id) | Key::Nested(id) => {
                let root = matches!(key, Key::Checkpoint(_));
                self.checkpoints.insert(*id, StoredCheckpoint { root, record: decode_record(thread, key, bytes)? });
            }
            Key::Task { checkpoint, task } => {
                self.tasks.insert((*checkpoint, *task), decode_record(thread, key, bytes)?);
            }
            Key::Child { checkpoint, task, call } => {
                self.children.insert((*checkpoint, *task, *call), decode_record(thread, key, bytes)?);
            }
            Key::Head | Key::Row(_) | Key::Log { .. } | Key::Effect { .. } | Key::Event { .. } | Key::Signal { .. } => {
            }
        }
        Ok(())
    }

    /// Returns the checkpoints of the root graph, newest first.
    pub(in crate::checkpoint) fn roots(&self) -> impl Iterator<Item = (CheckpointId, &CheckpointRecord)> {
        self.checkpoints.iter().rev().filter(|(_, made)| made.root).map(|(id, made)| (*id, &made.record))
    }

    pub(in crate::checkpoint) fn tasks_of(&self, id: CheckpointId) -> impl Iterator<Item = (u32, &TaskRecord)> {
        self.tasks.range((id, 0)..=(id, u32::MAX)).map(|((_, task), record)| (*task, record))
    }

    /// Returns the checkpoints of subgraphs made in the superstep that starts at a checkpoint of the root graph.
    pub(in crate::checkpoint) fn made_in(&self, root: CheckpointId) -> impl Iterator<Item = CheckpointId> {
        let after = self.checkpoints.range(CheckpointId(root.0.saturating_add(1))..);
        after.take_while(|(_, made)| !made.root).map(|(id, _)| *id)
    }
}
