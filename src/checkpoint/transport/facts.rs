//! Facts of a thread's checkpoints that its other records are checked against: of hundreds of thousands, a little of
//! each. Pure.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::checkpoint::threads::thread_records::StoredCheckpoint;
use crate::checkpoint::{
    AboutRecord, ChannelShape, CheckpointError, CheckpointId, CheckpointRecord, Key, Shape, TagRecord, TaskRecord,
    ThreadId, decode_record,
};

/// Facts of a thread's own records, each of which can be decoded.
#[derive(Default)]
pub(super) struct Facts {
    pub(super) about: Option<AboutRecord>,
    pub(super) checkpoints: BTreeMap<CheckpointId, CheckpointFacts>,
    pub(super) children: BTreeMap<(CheckpointId, u32, u32), CheckpointId>,
    pub(super) shapes: BTreeMap<u64, Shape>,
    pub(super) tags: BTreeMap<String, TagRecord>,
}

pub(super) struct CheckpointFacts {
    /// Set for a checkpoint of the root graph.
    pub(super) root: bool,
    pub(super) has_base: bool,
    pub(super) created_at: u64,
    pub(super) graph: Arc<GraphFacts>,
}

/// Facts that consecutive checkpoints of a graph share.
#[derive(PartialEq, Eq)]
pub(super) struct GraphFacts {
    pub(super) shape: u64,
    pub(super) namespace: String,
    /// Channels that the graph does not declare.
    pub(super) carried: Vec<ChannelShape>,
}

impl Facts {
    /// Reads the engine's own records among those of a thread, in the order of their keys.
    ///
    /// # Errors
    /// If one cannot be decoded.
    pub(super) fn of<'a>(
        thread: &ThreadId,
        records: impl IntoIterator<Item = (&'a Key, &'a [u8])>,
    ) -> Result<Self, CheckpointError> {
        let (mut facts, mut last) = (Self::default(), None);
        records.into_iter().try_for_each(|(key, bytes)| facts.add(thread, (key, bytes), &mut last))?;
        Ok(facts)
    }

    fn add(
        &mut self,
        thread: &ThreadId,
        (key, bytes): (&Key, &[u8]),
        last: &mut Option<Arc<GraphFacts>>,
    ) -> Result<(), CheckpointError> {
        match key {
            Key::About => self.about = Some(decode_record(thread, key, bytes)?),
            Key::Tag(name) => _ = self.tags.insert(name.clone(), decode_record(thread, key, bytes)?),
            Key::Shape(fingerprint) => _ = self.shapes.insert(*fingerprint, decode_record(thread, key, bytes)?),
            Key::Checkpoint(id) | Key::Nested(id) => {
                let root = matches!(key, Key::Checkpoint(_));
                let made = StoredCheckpoint { root, record: decode_record(thread, key, bytes)? };
                self.checkpoints.insert(*id, CheckpointFacts::of(made, last));
            }
            Key::Task { .. } => drop(decode_record::<TaskRecord>(thread, key, bytes)?),
            Key::Child { checkpoint, task, call } => {
                self.children.insert((*checkpoint, *task, *call), decode_record(thread, key, bytes)?);
            }
            Key::Head | Key::Row(_) | Key::Log { .. } | Key::Effect { .. } | Key::Event { .. } | Key::Signal { .. } => {
            }
        }
        Ok(())
    }

    /// Returns the channels of a checkpoint: those of its shape, then those that its graph does not declare.
    pub(super) fn channels<'a>(&'a self, record: &'a CheckpointRecord) -> Vec<&'a ChannelShape> {
        self.of_shape(record.shape).chain(record.carried.iter().map(|carried| &carried.channel)).collect()
    }

    /// Returns the channels of a checkpoint whose record is not at hand.
    pub(super) fn channels_of<'a>(&'a self, graph: &'a GraphFacts) -> Vec<&'a ChannelShape> {
        self.of_shape(graph.shape).chain(&graph.carried).collect()
    }

    fn of_shape(&self, shape: u64) -> impl Iterator<Item = &ChannelShape> {
        self.shapes.get(&shape).into_iter().flat_map(|shape| &shape.channels)
    }
}

impl GraphFacts {
    pub(super) fn of(record: &CheckpointRecord) -> Self {
        let carried = record.carried.iter().map(|carried| carried.channel.clone()).collect();
        Self { shape: record.shape, namespace: record.namespace.clone(), carried }
    }
}

impl CheckpointFacts {
    fn of(made: StoredCheckpoint, last: &mut Option<Arc<GraphFacts>>) -> Self {
        let StoredCheckpoint { root, record } = made;
        let graph = GraphFacts::of(&record);
        let graph = match last.take().filter(|last| **last == graph) {
            Some(last) => last,
            None => Arc::new(graph),
        };
        *last = Some(Arc::clone(&graph));
        Self { root, has_base: record.base.is_some(), created_at: record.created_at, graph }
    }
}
