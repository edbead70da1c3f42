//! Decoded records of a thread (checkpoints, tasks, child pointers, shapes, tags), and the references between them: the
//! one place that knows which record refers to which.

use std::collections::BTreeMap;

use super::pages::{Pages, structure};
use crate::checkpoint::{
    AboutRecord, ChannelShape, CheckpointError, CheckpointId, CheckpointRecord, Checkpointer, ControlRecord, Key,
    LogRange, RowId, SendRecord, Shape, Slot, Source, TagRecord, TaskRecord, TaskStatus, ThreadId, WriteRecord,
    decode_record,
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
    pub(in crate::checkpoint) fn nested_in(&self, root: CheckpointId) -> impl Iterator<Item = CheckpointId> {
        let after = self.checkpoints.range(CheckpointId(root.0.saturating_add(1))..);
        after.take_while(|(_, made)| !made.root).map(|(id, _)| *id)
    }
}

/// Reference from a checkpoint or its tasks to another record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::checkpoint) enum Reference {
    /// A value.
    Row(RowId),
    /// A written value: a row, or an entry of this log.
    Written { log: String, row: RowId },
    /// Entries of a log.
    Entries { log: String, range: LogRange },
    /// Names behind its indexes.
    Shape(u64),
    /// Another checkpoint, with its own references.
    Checkpoint(CheckpointId),
    /// Another checkpoint, if it exists: without it this one can still be loaded and resumed.
    Optional(CheckpointId),
}

/// Collects the references of one checkpoint, each with the record that contains it.
struct ReferenceCollector<'a> {
    channels: &'a [&'a ChannelShape],
    namespace: &'a str,
    by: Key,
    found: Vec<(Key, Reference)>,
}

impl ThreadRecords {
    /// Returns the references of a checkpoint, each with the key of the record that contains it; none if the checkpoint
    /// is unknown.
    pub(in crate::checkpoint) fn references(&self, id: CheckpointId) -> Vec<(Key, Reference)> {
        let Some(made) = self.checkpoints.get(&id) else { return vec![] };
        let channels: Vec<&ChannelShape> = self.channels(&made.record).collect();
        let mut found = checkpoint_references(id, made, &channels);
        for (task, record) in self.tasks_of(id) {
            found.extend(task_references((id, task), record, &made.record.namespace, &channels));
        }
        for ((checkpoint, task, call), child) in self.children.range((id, 0, 0)..=(id, u32::MAX, u32::MAX)) {
            let by = Key::Child { checkpoint: *checkpoint, task: *task, call: *call };
            found.push((by, Reference::Checkpoint(*child)));
        }
        found
    }

    /// Returns the channels behind the indexes of a checkpoint: those of its shape, then those the graph does not
    /// declare.
    pub(in crate::checkpoint) fn channels<'a>(
        &'a self,
        record: &'a CheckpointRecord,
    ) -> impl Iterator<Item = &'a ChannelShape> {
        let shape = self.shapes.get(&record.shape).into_iter().flat_map(|shape| &shape.channels);
        shape.chain(record.carried.iter().map(|carried| &carried.channel))
    }
}

/// Returns the references of a checkpoint's own record; `channels` are those behind its indexes.
pub(in crate::checkpoint) fn checkpoint_references(
    id: CheckpointId,
    made: &StoredCheckpoint,
    channels: &[&ChannelShape],
) -> Vec<(Key, Reference)> {
    let record = &made.record;
    let mut all = ReferenceCollector { channels, namespace: &record.namespace, by: made.key(id), found: vec![] };
    all.add(Reference::Shape(record.shape));
    record.base.into_iter().for_each(|base| all.add(Reference::Checkpoint(base)));
    record.channels.iter().for_each(|(channel, slot)| all.add_slot(*channel, slot));
    let own = channels.len() - record.carried.len();
    (own as u32..).zip(&record.carried).for_each(|(channel, carried)| all.add_slot(channel, &carried.slot));
    all.add_control(&record.control);
    record.children.iter().for_each(|(_, child)| all.add(Reference::Checkpoint(*child)));
    if !made.root {
        // The result of a subgraph over its parent's state is computed from its whole activation.
        let before = record.parent.filter(|_| record.source != Source::Input);
        before.into_iter().for_each(|parent| all.add(Reference::Checkpoint(parent)));
        calling_checkpoint(&record.namespace).into_iter().for_each(|caller| all.add(Reference::Optional(caller)));
    }
    all.found
}

/// Returns the references of a task's record; `namespace` and `channels` are those of its checkpoint.
pub(in crate::checkpoint) fn task_references(
    (checkpoint, task): (CheckpointId, u32),
    record: &TaskRecord,
    namespace: &str,
    channels: &[&ChannelShape],
) -> Vec<(Key, Reference)> {
    let mut all = ReferenceCollector { channels, namespace, by: Key::Task { checkpoint, task }, found: vec![] };
    all.add_task(record);
    all.found
}

impl ReferenceCollector<'_> {
    fn add(&mut self, reference: Reference) {
        self.found.push((self.by.clone(), reference));
    }

    fn log(&self, channel: u32) -> String {
        self.log_in(self.namespace, channel)
    }

    fn log_in(&self, namespace: &str, channel: u32) -> String {
        log_name(namespace, self.channels.get(channel as usize).map_or("", |channel| &channel.name))
    }

    fn add_slot(&mut self, channel: u32, slot: &Slot) {
        match slot {
            Slot::Absent => {}
            Slot::Row(row) => self.add(Reference::Row(*row)),
            Slot::Log { full, ranges, .. } => {
                full.iter().for_each(|row| self.add(Reference::Row(*row)));
                for range in ranges {
                    let log = self.log_in(range.log.as_deref().unwrap_or(self.namespace), channel);
                    self.add(Reference::Entries { log, range: range.clone() });
                }
            }
        }
    }

    fn add_control(&mut self, control: &ControlRecord) {
        control.start.iter().flatten().for_each(|write| self.add_write(write));
        control.sends.iter().for_each(|send| self.add_send(send));
    }

    fn add_write(&mut self, write: &WriteRecord) {
        let Some(row) = write.row else { return };
        // Only a channel that is kept as a log has entries; an overwrite of one is a row.
        let has_log = self.channels.get(write.channel as usize).is_none_or(|channel| channel.logged);
        self.add(if has_log { Reference::Written { log: self.log(write.channel), row } } else { Reference::Row(row) });
    }

    fn add_send(&mut self, send: &SendRecord) {
        self.add(Reference::Row(send.payload));
    }

    fn add_task(&mut self, record: &TaskRecord) {
        record.writes.iter().for_each(|write| self.add_write(write));
        record.sends.iter().for_each(|send| self.add_send(send));
        for question in &record.questions {
            self.add(Reference::Row(question.payload));
            if !question.answered && record.status == TaskStatus::Interrupted {
                self.add(Reference::Optional(question.checkpoint));
            }
        }
        record.answers.iter().for_each(|answer| self.add(Reference::Row(answer.value)));
        record.payloads.iter().for_each(|(_, payload)| self.add(Reference::Row(*payload)));
        record.children.iter().for_each(|(_, child)| self.add(Reference::Checkpoint(*child)));
    }
}

/// Returns the name of a channel's log: each subgraph has its own.
pub(crate) fn log_name(namespace: &str, channel: &str) -> String {
    if namespace.is_empty() { channel.to_owned() } else { format!("{namespace}\u{0}{channel}") }
}

/// Returns the checkpoint whose task runs a subgraph, from the last part of its namespace: `/name:checkpoint.task`.
fn calling_checkpoint(namespace: &str) -> Option<CheckpointId> {
    let (_, task) = namespace.rsplit('/').next()?.rsplit_once(':')?;
    task.split_once('.')?.0.parse().ok().map(CheckpointId)
}
