//! The engine's own records of a thread, read again and again one page at a time, without secret channels. Knows the
//! contract and the records.
//!
//! Those of the newest superstep may change while a run holds the thread: they are read once, and held. Older ones do
//! not change, so a thread of any length needs little memory.
//!
//! A channel is removed wherever any version of the graph or of a subgraph marks a channel of its name as secret: nothing
//! refers to its stored values any more. Other data is not inspected: payloads of sends, questions, answers, effects,
//! events, errors.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use superstep_base::gather;

use super::facts::GraphFacts;
use crate::checkpoint::threads::pages::{Pages, structure};
use crate::checkpoint::threads::reach::{IdSet, Reach};
use crate::checkpoint::threads::thread_records::{Reference, StoredCheckpoint, checkpoint_references, task_references};
use crate::checkpoint::{
    ChannelShape, CheckpointError, CheckpointId, CheckpointRecord, Checkpointer, Key, Order, Shape, Slot, TaskRecord,
    ThreadId, WriteRecord, decode_record, encode_again,
};

type Result<T> = std::result::Result<T, CheckpointError>;

/// The records of a thread as of one moment.
pub(super) struct Structure<'a> {
    store: &'a dyn Checkpointer,
    thread: &'a ThreadId,
    /// Newest checkpoint of the root graph.
    newest: CheckpointId,
    /// Records that are not read again: those of the thread as a whole, and of the newest superstep.
    held: BTreeMap<Key, Vec<u8>>,
    pub(super) shapes: BTreeMap<u64, Shape>,
}

impl<'a> Structure<'a> {
    pub(super) async fn load(store: &'a dyn Checkpointer, thread: &'a ThreadId, newest: CheckpointId) -> Result<Self> {
        let last = CheckpointId(u64::MAX);
        let mut held = BTreeMap::new();
        // What refers to others is read before them.
        let ranges: [RangeInclusive<Key>; 4] = [
            Key::Child { checkpoint: newest, task: 0, call: 0 }..=structure().into_inner().1,
            Key::Task { checkpoint: newest, task: 0 }..=Key::Task { checkpoint: last, task: u32::MAX },
            Key::About..=Key::Checkpoint(CheckpointId(0)),
            Key::Nested(newest)..=Key::Nested(last),
        ];
        for range in ranges {
            held.extend(store.scan(thread, range, Order::Ascending, usize::MAX).await?);
        }
        let root = Key::Checkpoint(newest);
        let record = store.get(thread, vec![root.clone()]).await?.pop().flatten();
        held.insert(root, record.ok_or_else(|| CheckpointError::damaged_record(thread, newest, "it is missing"))?);
        let mut shapes = BTreeMap::new();
        for (key, bytes) in &held {
            if let Key::Shape(fingerprint) = key {
                shapes.insert(*fingerprint, decode_record(thread, key, bytes)?);
            }
        }
        Ok(Self { store, thread, newest, held, shapes })
    }

    /// Returns a record of the thread as a whole.
    pub(super) fn record(&self, key: &Key) -> Option<&[u8]> {
        self.held.get(key).map(Vec::as_slice)
    }

    /// Calls a function with each record, in the order of keys.
    pub(super) async fn for_each(&self, mut take: impl FnMut(&Key, &[u8]) -> Result<()>) -> Result<()> {
        let mut held = self.held.iter().peekable();
        let mut pages = Pages::of(self.store, self.thread, structure());
        while let Some(page) = pages.next().await? {
            for (key, bytes) in page.iter().filter(|(key, _)| self.is_older(key)) {
                while let Some((key, bytes)) = held.next_if(|(held, _)| *held < key) {
                    take(key, bytes)?;
                }
                take(key, bytes)?;
            }
        }
        held.try_for_each(|(key, bytes)| take(key, bytes))
    }

    fn is_older(&self, key: &Key) -> bool {
        key.checkpoint().is_some_and(|id| id < self.newest)
    }

    /// Returns the channels behind the indexes of a checkpoint and its tasks.
    fn channels<'b>(&'b self, shape: u64, carried: &'b [ChannelShape]) -> Vec<&'b ChannelShape> {
        let shape = self.shapes.get(&shape).into_iter().flat_map(|shape| &shape.channels);
        shape.chain(carried).collect()
    }

    fn decode<T: serde::de::DeserializeOwned>(&self, key: &Key, bytes: &[u8]) -> Result<T> {
        decode_record(self.thread, key, bytes)
    }
}

/// Facts of a thread's checkpoints that need little memory.
#[derive(Default)]
pub(super) struct Outline {
    roots: CheckpointRuns,
    nested: CheckpointRuns,
    /// References to checkpoints from before the oldest one of the root graph: what is left of removed supersteps.
    early: Vec<(CheckpointId, CheckpointId)>,
    secrets: Secrets,
}

/// Checkpoints, and the facts that many of them share.
#[derive(Default)]
struct CheckpointRuns {
    checkpoints: IdSet,
    /// Facts of each checkpoint from this one to the next entry.
    runs: Vec<(CheckpointId, GraphFacts)>,
}

impl CheckpointRuns {
    /// Adds a checkpoint; they come in order.
    fn add(&mut self, id: CheckpointId, graph: GraphFacts) {
        self.checkpoints.insert(id);
        if self.runs.last().is_none_or(|(_, last)| *last != graph) {
            self.runs.push((id, graph));
        }
    }

    fn get(&self, id: CheckpointId) -> Option<&GraphFacts> {
        let after = self.runs.partition_point(|(first, _)| *first <= id);
        let known = after.checked_sub(1).filter(|_| self.checkpoints.contains(id));
        known.map(|at| &self.runs[at].1)
    }
}

impl Outline {
    /// Reads all records once.
    pub(super) async fn of(structure: &Structure<'_>, with_secrets: bool) -> Result<Self> {
        let mut outline = Self::default();
        if !with_secrets {
            outline.secrets.note(structure.shapes.values().flat_map(|shape| &shape.channels));
        }
        let mut oldest = CheckpointId(u64::MAX);
        structure
            .for_each(|key, bytes| {
                let references = match key {
                    Key::Checkpoint(id) | Key::Nested(id) => {
                        let is_root = matches!(key, Key::Checkpoint(_));
                        let made = StoredCheckpoint { root: is_root, record: structure.decode(key, bytes)? };
                        oldest = if is_root { oldest.min(*id) } else { oldest };
                        let graph = GraphFacts::of(&made.record);
                        let found = checkpoint_references(*id, &made, &structure.channels(graph.shape, &graph.carried));
                        outline.note(*id, is_root, graph, with_secrets);
                        found
                    }
                    Key::Task { checkpoint, task } => {
                        task_references((*checkpoint, *task), &structure.decode(key, bytes)?, "", &[])
                    }
                    Key::Child { .. } => vec![(key.clone(), Reference::Checkpoint(structure.decode(key, bytes)?))],
                    _ => vec![],
                };
                let Some(from) = key.checkpoint() else { return Ok(()) };
                for (_, reference) in references {
                    match reference {
                        Reference::Checkpoint(to) | Reference::Optional(to) if to < oldest => {
                            outline.early.push((from, to));
                        }
                        _ => {}
                    }
                }
                Ok(())
            })
            .await?;
        outline.keep_reached(oldest);
        Ok(outline)
    }

    fn note(&mut self, id: CheckpointId, is_root: bool, graph: GraphFacts, with_secrets: bool) {
        if !with_secrets {
            self.secrets.note(&graph.carried);
        }
        let kinds = if is_root { &mut self.roots } else { &mut self.nested };
        kinds.add(id, graph);
    }

    fn graph_facts(&self, id: CheckpointId) -> Option<&GraphFacts> {
        self.roots.get(id).or_else(|| self.nested.get(id))
    }

    /// Drops the checkpoints that no one of the root graph leads to: all are from before the oldest.
    fn keep_reached(&mut self, oldest: CheckpointId) {
        let mut reached: BTreeSet<CheckpointId> = BTreeSet::new();
        loop {
            let leads = |from: &CheckpointId| *from >= oldest || reached.contains(from);
            let more: Vec<CheckpointId> = self
                .early
                .iter()
                .filter(|(from, to)| leads(from) && !reached.contains(to))
                .map(|(_, to)| *to)
                .collect();
            if more.is_empty() {
                break;
            }
            reached.extend(more);
        }
        for kinds in [&mut self.roots, &mut self.nested] {
            kinds.checkpoints.retain(|id| id >= oldest || reached.contains(&id));
        }
        self.early = vec![];
    }

    /// Returns the names of secret channels.
    pub(super) fn secrets(&self) -> Vec<String> {
        self.secrets.names()
    }

    /// Calls a function with each record that is exported, without secrets.
    pub(super) async fn for_each(
        &self,
        structure: &Structure<'_>,
        mut take: impl FnMut(&Key, &[u8]) -> Result<()>,
    ) -> Result<()> {
        structure
            .for_each(|key, bytes| {
                let Some(id) = key.checkpoint() else { return take(key, bytes) };
                let Some(outlined) = self.graph_facts(id) else { return Ok(()) };
                if self.secrets.0.is_empty() {
                    return take(key, bytes);
                }
                let channels = structure.channels(outlined.shape, &outlined.carried);
                match key {
                    Key::Checkpoint(_) | Key::Nested(_) => {
                        let mut record: CheckpointRecord = structure.decode(key, bytes)?;
                        self.secrets.remove(&channels, &mut record);
                        take(key, &encode_again(bytes, &record)?)
                    }
                    Key::Task { .. } => {
                        let mut record: TaskRecord = structure.decode(key, bytes)?;
                        self.secrets.remove_writes(&channels, &mut record);
                        take(key, &encode_again(bytes, &record)?)
                    }
                    _ => take(key, bytes),
                }
            })
            .await
    }

    /// Returns what the exported records refer to.
    pub(super) async fn reach(&self, structure: &Structure<'_>) -> Result<Reach> {
        let all = self.roots.checkpoints.iter().chain(self.nested.checkpoints.iter()).collect();
        let mut reach = Reach::of(all, structure.newest);
        self.for_each(structure, |key, bytes| {
            let Some((id, outlined)) = key.checkpoint().and_then(|id| Some((id, self.graph_facts(id)?))) else {
                return Ok(());
            };
            let channels = structure.channels(outlined.shape, &outlined.carried);
            let references = match key {
                Key::Checkpoint(_) | Key::Nested(_) => {
                    let root = matches!(key, Key::Checkpoint(_));
                    let made = StoredCheckpoint { root, record: structure.decode(key, bytes)? };
                    checkpoint_references(id, &made, &channels)
                }
                Key::Task { checkpoint, task } => {
                    let record = structure.decode(key, bytes)?;
                    task_references((*checkpoint, *task), &record, &outlined.namespace, &channels)
                }
                _ => vec![],
            };
            references.into_iter().for_each(|(_, reference)| reach.add(reference));
            Ok(())
        })
        .await?;
        Ok(reach.finish())
    }
}

/// Number and size of records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) checkpoints: usize,
    pub(super) records: usize,
    pub(super) bytes: u64,
}

impl Size {
    pub(super) fn add(&mut self, (key, bytes): (&Key, &[u8])) {
        self.checkpoints += usize::from(matches!(key, Key::Checkpoint(_) | Key::Nested(_)));
        self.records += 1;
        self.bytes += bytes.len() as u64;
    }
}

/// Names of secret channels.
#[derive(Debug, Default)]
struct Secrets(BTreeSet<String>);

impl Secrets {
    /// Adds the secret ones among channels.
    fn note<'a>(&mut self, channels: impl IntoIterator<Item = &'a ChannelShape>) {
        let secret = channels.into_iter().filter(|channel| channel.secret && !self.0.contains(&channel.name));
        let names: Vec<String> = secret.map(|channel| channel.name.clone()).collect();
        self.0.extend(names);
    }

    fn names(&self) -> Vec<String> {
        self.0.iter().cloned().collect()
    }

    /// Removes secret channels from a checkpoint; `channels` are those behind its indexes.
    fn remove(&self, channels: &[&ChannelShape], record: &mut CheckpointRecord) {
        let secret = self.indexes(channels);
        let own = record.channels.iter_mut().filter(|(at, _)| secret.contains(at));
        own.for_each(|(_, slot)| *slot = Slot::Absent);
        let carried = record.carried.iter_mut().filter(|carried| carried.channel.secret);
        carried.for_each(|carried| carried.slot = Slot::Absent);
        record.control.start.iter_mut().flatten().for_each(|write| remove_value(&secret, write));
    }

    /// Removes secret channels from a task's writes; `channels` are those of its checkpoint.
    fn remove_writes(&self, channels: &[&ChannelShape], record: &mut TaskRecord) {
        let secret = self.indexes(channels);
        record.writes.iter_mut().for_each(|write| remove_value(&secret, write));
    }

    fn indexes(&self, channels: &[&ChannelShape]) -> BTreeSet<u32> {
        if self.0.is_empty() {
            return BTreeSet::new();
        }
        let channels = (0..).zip(channels);
        gather(channels.filter(|(_, channel)| self.0.contains(&channel.name)).map(|(at, _)| at))
    }
}

/// Removes the value of a write to a secret channel; a write without a row is one of a channel that is never stored.
fn remove_value(secret: &BTreeSet<u32>, write: &mut WriteRecord) {
    if secret.contains(&write.channel) {
        write.row = None;
    }
}
